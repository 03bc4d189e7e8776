"""The area under the ROC curve and its sampling error.

With psi = 1, 1/2, 0 for a positive above, level with or below a negative, the AUC is the mean of psi
over all pairs. Its sampling error comes from the placement values V10 (a positive's mean psi over the
negatives) and V01 (a negative's mean psi over the positives), which take one value at each distinct
score: everything here is O(k) in the number of distinct scores once the sample is sorted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri

from rocmonitor.errors import InputError
from rocmonitor.stats.proportion import require_level, require_method, resample_size
from rocmonitor.stats.result import Result
from rocmonitor.stats.sample import (
    Counts,
    Floats,
    Sample,
    on_sample,
)

SINGLE_ROW = "one class has a single row, whose own variation the standard error cannot contain"

ROUNDING = 1e-13  # variances this far below the scale they were subtracted at are rounding


class Interval(NamedTuple):
    """A confidence interval, both ends included."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AucResult(Result):
    """An area under the ROC curve and how well it is known.

    Attributes
    ----------
    auc : float
        Share of (positive, negative) pairs in the right order; ties count one half.
    se : float
        Standard error by `method`. It is 0 only when every pair compares alike (see `ci`).
    n_pos, n_neg : int
        Class sizes of the sample.
    method : str
        As given to `auc`.
    caveats : tuple of str
        What a reader of the numbers must know; empty when there is nothing.
    """

    auc: float
    se: float
    n_pos: int
    n_neg: int
    method: str
    caveats: tuple[str, ...] = ()

    def ci(self, confidence_level: float = 0.95, transform: Literal["none", "logit"] = "none") -> Interval:
        """Two-sided confidence interval, within [0, 1].

        Parameters
        ----------
        confidence_level : float
            Between 0 and 1, exclusive.
        transform : {"none", "logit"}
            Scale on which the error is taken as normal. "logit" stays inside (0, 1) by itself, "none"
            is clipped; "logit" is the better of the two near 0 and 1.

        Notes
        -----
        When `se` is 0 (perfect separation, AUC 0 or 1, or one score for all, AUC 1/2) a normal interval
        would be a point, which claims what the data cannot know. The interval is then the exact bound
        that follows from all m = min(n_pos, n_neg) disjoint pairs having the same psi: that happens
        with probability P(psi)**m, so P(psi) >= q = ((1 - confidence_level) / 2)**(1 / m) (Clopper &
        Pearson 1934, m successes in m trials), and the AUC lies in [q psi, 1 - q (1 - psi)] whatever the
        distributions. `caveats` says so.
        """
        tail = (1 - require_level(confidence_level)) / 2
        if transform not in ("none", "logit"):
            raise InputError(f"transform must be 'none' or 'logit', not {transform!r}")
        if self.se == 0:
            q = tail ** (1 / min(self.n_pos, self.n_neg))
            return Interval(q * self.auc, 1 - q * (1 - self.auc))
        z = -float(ndtri(tail))
        if transform == "logit" and 0 < self.auc < 1:
            half = z * self.se / (self.auc * (1 - self.auc))
            centre = float(logit(self.auc))
            return Interval(float(expit(centre - half)), float(expit(centre + half)))
        return Interval(max(self.auc - z * self.se, 0.0), min(self.auc + z * self.se, 1.0))

    def __str__(self) -> str:
        return (
            f"AUC {self.auc:.4f} (standard error {self.se:.4f}, {self.method}; "
            f"{self.n_pos} positives, {self.n_neg} negatives)"
        )


@on_sample
def auc(
    sample: Sample, /, *, method: str = "delong", m_pos: int | None = None, m_neg: int | None = None
) -> AucResult:
    """Area under the ROC curve with its standard error.

    Parameters
    ----------
    y_true : array_like, shape (n,)
        Labels, 1 for positive and 0 for negative. Or one `Sample` in place of the two arrays.
    y_score : array_like, shape (n,)
        Finite scores; higher means more positive.
    method : str
        How the variance is estimated:

        - "delong": unbiased (n - 1 denominators), DeLong, DeLong & Clarke-Pearson 1988, eq. 4-6.
        - "exact-bootstrap": the variance over all stratified resamples, in closed form and for any
          ties (Noether 1967; Bamber 1975): what a Monte Carlo bootstrap converges to.
    m_pos, m_neg : int, optional
        Resample sizes of "exact-bootstrap"; the class sizes by default. Other sizes answer how much
        the AUC of a batch of m_pos positives and m_neg negatives would scatter.

    Returns
    -------
    AucResult
        ``.auc .se .n_pos .n_neg .method .caveats``, ``.ci()`` and ``.to_dict()``.

    Raises
    ------
    InputError
        Unusable data (see `Sample`), an unknown method, resample sizes that are not positive.
    DegenerateDataError
        A class without rows; with "delong" fewer than two of a class (its variance is undefined).

    Notes
    -----
    Cost: the sort of the sample, then O(k) for k distinct scores.

    Examples
    --------
    >>> result = auc([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.3, 0.5, 0.7, 0.9])
    >>> print(result)
    AUC 0.8333 (standard error 0.1925, delong; 3 positives, 3 negatives)
    >>> low, high = result.ci(transform="logit")
    >>> round(low, 3), round(high, 3)
    (0.249, 0.987)
    """
    require_method(method, tuple(_VARIANCES))
    sample.require_both_classes(at_least=2 if method == "delong" else 1)
    sizes = _resample_sizes(sample, method, m_pos, m_neg)
    parts = _parts(sample, *sizes)
    se = math.sqrt(_VARIANCES[method](parts))
    return AucResult(
        auc=parts.auc,
        se=se,
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
        method=method,
        caveats=_caveats(sample, se, sizes),
    )


def placements(sample: Sample) -> tuple[Floats, Floats]:
    """Placement values at each distinct score, as counts.

    Returns
    -------
    below, above : ndarray, shape (k,)
        Negatives below each score and positives above it, rows level with it counted one half:
        n_neg V10 of a positive there and n_pos V01 of a negative there. Multiples of 1/2, exact.
    """
    # In place here and below: fresh memory costs more than the arithmetic.
    below = np.cumsum(sample.neg, dtype=np.float64)
    below -= 0.5 * sample.neg
    above = np.cumsum(sample.pos, dtype=np.float64)
    above -= 0.5 * sample.pos
    np.subtract(sample.n_pos, above, out=above)
    return below, above


def mean_over_pairs(below: Floats, above: Floats, pos: Counts, neg: Counts) -> tuple[float, float, float]:
    """Mean of a pair statistic, and the variances zeta10 and zeta01 of its placement values.

    Parameters
    ----------
    below, above : ndarray, shape (c,)
        Placement values of each cell as counts (see `placements`), or differences of such.
    pos, neg : ndarray, shape (c,)
        Positives and negatives in each cell.
    """
    n_pos, n_neg = float(pos.sum()), float(neg.sum())
    mean, variance10 = _mean_and_variance(below, pos)
    _, variance01 = _mean_and_variance(above, neg)
    return mean / n_neg, variance10 / n_neg**2, variance01 / n_pos**2


def delong_variance(zeta10: float, zeta01: float, n_pos: int, n_neg: int) -> float:
    """Unbiased variance of a mean over pairs from its placement variances (n denominators)."""
    return zeta10 / (n_pos - 1) + zeta01 / (n_neg - 1)


def exact_bootstrap_variance(zeta10: float, zeta01: float, kernel: float, m_pos: int, m_neg: int) -> float:
    """Variance of a mean over pairs in resamples of m_pos positives and m_neg negatives.

    Two pairs of a resample share both rows, the positive, the negative or neither; with the variance
    `kernel` of one pair, zeta10 and zeta01 of the placement values, that is Hoeffding 1948, eq. 5.13,
    for the empirical distribution.
    """
    return (kernel + (m_neg - 1) * zeta10 + (m_pos - 1) * zeta01) / (float(m_pos) * m_neg)


def _mean_and_variance(values: Floats, weights: Counts) -> tuple[float, float]:
    # Measured from a value that occurs, so that equal values leave residuals of exactly 0: rounding
    # must not turn "no variance" into a tiny one.
    origin = float(values[np.argmax(weights > 0)])
    shifted = values - origin
    n = float(weights.sum())
    mean = float(np.sum(weights * shifted)) / n  # not @: its rounding and its time depend on the processors
    shifted -= mean
    np.square(shifted, out=shifted)
    shifted *= weights
    return origin + mean, float(np.sum(shifted)) / n


class _Parts(NamedTuple):
    """What the variances are made of."""

    n_pos: int
    n_neg: int
    m_pos: int
    m_neg: int
    auc: float
    zeta10: float  # variance of V10 over the positives
    zeta01: float  # variance of V01 over the negatives
    kernel: float  # variance of psi over all pairs


def _parts(sample: Sample, m_pos: int, m_neg: int) -> _Parts:
    mean, zeta10, zeta01 = mean_over_pairs(*placements(sample), sample.pos, sample.neg)
    ties = float(sample.pos @ sample.neg) / (float(sample.n_pos) * sample.n_neg)
    # psi**2 is psi, but 1/4 and not 1/2 on a tie; rounding may go a hair below 0.
    kernel = max(mean * (1 - mean) - ties / 4, 0.0)
    return _Parts(sample.n_pos, sample.n_neg, m_pos, m_neg, mean, zeta10, zeta01, kernel)


def _delong(parts: _Parts) -> float:
    return delong_variance(parts.zeta10, parts.zeta01, parts.n_pos, parts.n_neg)


def _exact_bootstrap(parts: _Parts) -> float:
    return exact_bootstrap_variance(parts.zeta10, parts.zeta01, parts.kernel, parts.m_pos, parts.m_neg)


_VARIANCES: dict[str, Callable[[_Parts], float]] = {
    "delong": _delong,
    "exact-bootstrap": _exact_bootstrap,
}


def _resample_sizes(sample: Sample, method: str, m_pos: int | None, m_neg: int | None) -> tuple[int, int]:
    if method != "exact-bootstrap" and not (m_pos is None and m_neg is None):
        raise InputError(f"m_pos and m_neg are for method='exact-bootstrap'; {method!r} resamples nothing")
    return resample_size(m_pos, sample.n_pos, "m_pos"), resample_size(m_neg, sample.n_neg, "m_neg")


def _caveats(sample: Sample, se: float, sizes: tuple[int, int]) -> tuple[str, ...]:
    caveats = []
    smaller = min(sample.n_pos, sample.n_neg)
    if sizes != (sample.n_pos, sample.n_neg):
        caveats.append(f"the standard error is that of {sizes[0]} positives and {sizes[1]} negatives")
    if se == 0:
        caveats.append(
            "every positive compares alike with every negative, so the standard error is 0; "
            f"ci() is the exact bound from {smaller} disjoint pairs instead of a point"
        )
    elif smaller == 1:
        caveats.append(SINGLE_ROW)
    return tuple(caveats)
