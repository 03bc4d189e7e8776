"""The true positive rate at a fixed false positive rate: its exact bootstrap law and intervals.

In a resample with `m_neg` negatives, the threshold T_r of the nominal false positive rate r / m_neg is the
r-th largest negative score, repeats counted, and "flagged" means score >= T_r. So at least r of its
negatives are flagged: exactly r when its r-th and (r+1)-th largest scores differ, more on a tie. No tie is
broken at random. Dugas and Gadoury (2009), section 4.1, is [DG09] below; its s_k range over distinct scores
here, which keeps equations 3 to 7 right under ties.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from rocmonitor.errors import InputError
from rocmonitor.stats.binomial import Counts, Floats, law_ends
from rocmonitor.stats.caveat import Caveat
from rocmonitor.stats.curve.counting import negative_thresholds, threshold_levels, tie_caveats
from rocmonitor.stats.curve.kernel import Bandwidth, kernel_ends
from rocmonitor.stats.curve.laws import BootstrapLaw, IntervalOptions, interval_options, measured
from rocmonitor.stats.curve.mixtures import mixed_binomials
from rocmonitor.stats.curve.points import nearest_ranks, only_rank, require_rates
from rocmonitor.stats.proportion import Smoothing, resample_caveats, resample_sizes
from rocmonitor.stats.resampling import Rng, drawn_at_ranks
from rocmonitor.stats.result import Table
from rocmonitor.stats.sample import PairedSample, Sample, on_sample

VerticalMethod = Literal["agresti", "wald", "exact", "empirical", "kernel"]

_NEGLIGIBLE = 1e-16  # probability that the window of thresholds leaves out on each side
_FINE = 32  # cells to a standard deviation from which quadrature is exact
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(3)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VerticalIntervals(Table):
    """ROC points at given false positive rates, with an interval for the true positive rate.

    Attributes
    ----------
    fpr : ndarray, shape (h,)
        The rates r / m_neg that were used: the nearest to those asked for.
    tpr : ndarray, shape (h,)
        Mean of the exact bootstrap law: the vertically averaged curve.
    tpr_low, tpr_high : ndarray, shape (h,)
        Ends of the intervals, each with the confidence level by itself.
    method : str
    confidence_level : float
    n_pos, n_neg : int
        Class sizes.
    caveats : tuple of Caveat
        Rates that had to move to r / m_neg, or that ties exceed; intervals that were clipped, have zero
        length, or do not contain `tpr`.
    """

    fpr: Floats
    tpr: Floats
    tpr_low: Floats
    tpr_high: Floats
    method: str
    confidence_level: float
    n_pos: int
    n_neg: int
    caveats: tuple[Caveat, ...]

    def __str__(self) -> str:
        return (
            f"{len(self.fpr)} ROC points by false positive rate, {100 * self.confidence_level:g} % intervals "
            f"({self.method}), {self.n_pos} positives, {self.n_neg} negatives"
        )


@on_sample
def vertical_intervals(
    sample: Sample,
    fpr: ArrayLike,
    *,
    method: VerticalMethod = "agresti",
    confidence_level: float = 0.95,
    m_pos: int | None = None,
    m_neg: int | None = None,
    n_resamples: int = 999,
    rng: Rng | None = None,
    bandwidth: Bandwidth | None = None,
) -> VerticalIntervals:
    """Intervals of TPR at given false positive rates ([DG09] alg. 4).

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,)
        Labels and scores, or one `Sample` in their place.
    fpr : array_like, shape (h,)
        Rates within (0, 1). Offered are r / m_neg, r = 1…m_neg - 1; the nearest is used and reported.
    method : str
        ``agresti``: normal, with the exact moments of eq. 6 and 7 after adding 2 flagged and 2 unflagged
        positives; ``wald``: the same, nothing added; ``exact``: quantiles of the exact bootstrap law;
        ``empirical``: percentiles over drawn resamples; ``kernel``: normal, about the curve of smoothed
        distribution functions [HHF]: see `rocmonitor.stats.curve.kernel`.
    confidence_level : float
        Of each interval, within (0, 1).
    m_pos, m_neg : int, optional
        Sizes of a resample, the class sizes by default; ``kernel`` does not support others.
    n_resamples : int
        Resamples drawn by ``empirical``.
    rng : int, SeedSequence or Generator, optional
        Randomness of ``empirical``, which needs it.
    bandwidth : float or (float, float), optional
        Of ``kernel`` only, in place of its rule: in the units of the scores, for both classes or for
        (positives, negatives).

    Returns
    -------
    VerticalIntervals
        ``agresti`` never gives an interval of zero length; the others can.

    Raises
    ------
    DegenerateDataError
        Fewer than one positive or two negatives (or `m_neg` below two): no rate lies within (0, 1). One score
        for all rows; or for a class, by ``kernel`` without a `bandwidth`.
    InputError
        No rates, rates outside (0, 1) or NaN, an unknown method, a level outside (0, 1), a `bandwidth` that
        is not above 0 or is given to another method, resample sizes given to ``kernel``.

    Notes
    -----
    Cost after sorting: O(k) for k distinct scores, then O(sqrt(m_neg)) for each rate, as only thresholds
    about the r-th largest negative carry mass; ``exact`` takes one Fourier transform of O(sqrt(m_pos)) more,
    ``kernel`` a sum over the rows within 9 bandwidths of the threshold. `tpr` is the mean of the exact
    law with ``kernel`` too. Measured coverage is in docs/coverage.md.

    References
    ----------
    .. [DG09] C. Dugas and D. Gadoury (2010, online 2009). Pointwise exact bootstrap distributions of ROC
       curves. Machine Learning 78, 103-136.
    .. [HHF] P. Hall, R. J. Hyndman and Y. Fan (2004). Nonparametric confidence intervals for receiver
       operating characteristic curves. Biometrika 91, 743-750.

    Examples
    --------
    >>> points = vertical_intervals([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], [0.5], method="wald")
    >>> points.fpr.tolist(), points.tpr.tolist()
    ([0.5], [0.625])
    """
    m_pos, m_neg = vertical_sizes(sample, m_pos, m_neg)
    options = interval_options(
        method, get_args(VerticalMethod), confidence_level, n_resamples=n_resamples, rng=rng
    )
    _require_apart(method, (m_pos, m_neg) == (sample.n_pos, sample.n_neg), bandwidth)
    r, moved = nearest_ranks(fpr, m_neg)
    law = _VerticalRate.of(sample, r, m_pos, m_neg, bandwidth)
    at = r / m_neg
    caveats = (
        *moved,
        *resample_caveats(m_pos, sample.n_pos, m_neg, sample.n_neg),
        *tie_caveats(sample, at),
    )
    return VerticalIntervals(
        fpr=at,
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
        **measured({"tpr": law}, options, at, caveats),
    )


@on_sample
def vertical_law(sample: Sample, fpr: float, *, m_pos: int | None = None, m_neg: int | None = None) -> Floats:
    """Exact stratified bootstrap law of the number of true positives at a false positive rate ([DG09] eq. 5).

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,)
        Labels and scores, or one `Sample` in their place.
    fpr : float
        Within (0, 1); the nearest r / m_neg is used, as `vertical_intervals` reports it.
    m_pos, m_neg : int, optional
        Sizes of a resample, the class sizes by default.

    Returns
    -------
    ndarray, shape (m_pos + 1,)
        Probabilities of 0, 1, …, m_pos true positives.

    Raises
    ------
    DegenerateDataError, InputError
        As for `vertical_intervals`.

    Notes
    -----
    A mixture of binomials over the thresholds that carry mass: O(m_pos + sqrt(m_neg m_pos)) work at most,
    mostly less by its characteristic function. Absolute error about 1e-14.

    References
    ----------
    .. [DG09] C. Dugas and D. Gadoury (2010, online 2009). Pointwise exact bootstrap distributions of ROC
       curves. Machine Learning 78, 103-136.

    Examples
    --------
    >>> vertical_law([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], 0.5).round(12).tolist()
    [0.1875, 0.375, 0.4375]
    """
    m_pos, m_neg = vertical_sizes(sample, m_pos, m_neg)
    r = np.array([only_rank(fpr, m_neg)])
    ((low, mass),) = _VerticalRate.of(sample, r, m_pos, m_neg).exact()
    law = np.zeros(m_pos + 1)
    law[low : low + len(mass)] = mass
    return law


def vertical_sizes(rows: Sample | PairedSample, m_pos: int | None, m_neg: int | None) -> tuple[int, int]:
    """Positives and negatives of a resample; refuses rows or sizes for which no rate lies within (0, 1)."""
    rows.require_both_classes()
    rows.require_distinct_scores()
    m_pos, m_neg = resample_sizes(m_pos, rows.n_pos, m_neg, rows.n_neg)
    require_rates(m_neg)
    return m_pos, m_neg


class _Mixture(NamedTuple):
    """`weight` of each threshold s_k, P(T_r = s_k), and the positives it flags."""

    weight: Floats
    flagged: Floats


@dataclass(frozen=True, eq=False)
class _VerticalRate(BootstrapLaw):
    """TPR at the r-th largest negative score: a mixture of Bin(m_pos, flagged / n_pos) / m_pos over s_k."""

    sample: Sample
    r: Counts
    m_pos: int
    m_neg: int
    bandwidth: Bandwidth | None
    mixtures: list[_Mixture]

    @classmethod
    def of(
        cls, sample: Sample, r: Counts, m_pos: int, m_neg: int, bandwidth: Bandwidth | None = None
    ) -> _VerticalRate:
        share, flagged = negative_thresholds(sample)
        mixtures = [_mixture(rank, m_neg, share, flagged) for rank in r.tolist()]
        return cls(sample, r, m_pos, m_neg, bandwidth, mixtures)

    @property
    def mean(self) -> Floats:
        return np.array([weight @ flagged for weight, flagged in self.mixtures]) / self.sample.n_pos

    def moments(self, added: Smoothing) -> tuple[Floats, Floats]:
        """[DG09] eq. 6 and 7."""
        found = []
        for weight, flagged in self.mixtures:
            p = added.share(flagged, self.sample.n_pos)
            mean = weight @ p
            within, between = weight @ (p * (1 - p)), weight @ (p - mean) ** 2
            found.append((mean, within / (self.m_pos + added.rows) + between))
        mean, variance = np.array(found).T
        return mean, variance

    def exact(self) -> list[tuple[int, Floats]]:
        """[DG09] eq. 5: for each rate the first count of true positives, and its law from there on."""
        return [mixed_binomials(*mixture, self.sample.n_pos, self.m_pos) for mixture in self.mixtures]

    def quantiles(self, tail: float) -> tuple[Floats, Floats]:
        low, high = np.array([law_ends(*law, self.m_pos, tail) for law in self.exact()]).T
        return low, high

    def drawn(self, n_resamples: int, rng: np.random.Generator) -> Floats:
        sample, levels = self.sample, (threshold_levels(self.sample),)
        return drawn_at_ranks(
            self.r, sample.neg, sample.pos, levels, (self.m_pos, self.m_neg), n_resamples, rng
        )

    def ends(self, options: IntervalOptions) -> tuple[Floats, Floats]:
        if options.method == "kernel":
            return kernel_ends(self.sample, self.r / self.m_neg, options.tail, self.bandwidth)
        return super().ends(options)


def _mixture(r: int, m: int, share: Floats, flagged: Floats) -> _Mixture:
    """P(T_r = s_k) where it is not negligible ([DG09] eq. 3, 4), and the positives flagged there.

    P(T_r >= s_k) = P(Bin(m, share_k) >= r) is the distribution function of Beta(r, m - r + 1) at share_k.
    """
    ends = special.betaincinv(r, m - r + 1, _NEGLIGIBLE), special.betainccinv(r, m - r + 1, _NEGLIGIBLE)
    first, last = np.searchsorted(share, ends)
    window = slice(first, last + 1)
    edges = np.concatenate([share[first - 1 : first] if first else [0.0], share[window]])
    variance = r * (m - r) / m
    if variance >= _FINE**2 and np.diff(edges).max() * _FINE <= np.sqrt(variance) / m:
        return _Mixture(_beta_cells(r, m, edges), flagged[window])
    reached = special.betainc(r, m - r + 1, edges)
    reached[[0, -1]] = 0.0, 1.0
    return _Mixture(np.diff(reached), flagged[window])


def _beta_cells(r: int, m: int, edges: Floats) -> Floats:
    """Mass of Beta(r, m - r + 1) in narrow cells that hold all of it: 5 times as fast as `betainc`.

    Three-point Gauss-Legendre. With cells of at most sd/32 the error is below h^6 2e-5 = 2e-14 in all.
    """
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    away = middle - (r - 1) / (m - 1) + _NODES[:, np.newaxis] * half  # from the mode
    # Relative to the mode the two logarithms nearly cancel while they are small: no digits are lost.
    log_density = (r - 1) * np.log1p(away * ((m - 1) / (r - 1))) + (m - r) * np.log1p(
        -away * ((m - 1) / (m - r))
    )
    mass = half * (_NODE_WEIGHTS @ np.exp(log_density))
    return np.asarray(mass / mass.sum())


def _require_apart(method: str, whole: bool, bandwidth: Bandwidth | None) -> None:
    """Refuse resample sizes to ``kernel``, and a bandwidth to the others."""
    if method == "kernel" and not whole:
        raise InputError("method 'kernel' does not support m_pos and m_neg: leave them out")
    if method != "kernel" and bandwidth is not None:
        raise InputError(f"bandwidth belongs to method 'kernel', not {method!r}: leave it out")
