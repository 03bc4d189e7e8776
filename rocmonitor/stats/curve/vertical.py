"""The true positive rate at a fixed false positive rate: its exact bootstrap law and intervals.

In a resample with `m_neg` negatives, the threshold T_r of the nominal false positive rate r / m_neg is the
r-th largest negative score, repeats counted, and "flagged" means score >= T_r: exactly r negatives when the
r-th and (r+1)-th largest scores differ, more on a tie, which is never broken at random. [DG09] is Dugas and
Gadoury (2009), section 4.1; its s_k range over distinct scores here, which keeps eq. 3 to 7 right under ties.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rocmonitor.errors import InputError
from rocmonitor.stats import plotting
from rocmonitor.stats.binomial import NEGLIGIBLE, Counts, Floats, law_ends, mixed_binomials, require_room
from rocmonitor.stats.curve.kernel import Bandwidth, kernel_ends
from rocmonitor.stats.curve.laws import (
    BootstrapLaw,
    IntervalOptions,
    IntervalTable,
    interval_options,
    measured,
)
from rocmonitor.stats.curve.roc import (
    nearest_ranks,
    only_rank,
    require_rates,
    threshold_levels,
    tie_caveats,
)
from rocmonitor.stats.proportion import Rng, Smoothing, resample_caveats, resample_sizes
from rocmonitor.stats.sample import PairedSample, Sample, on_sample

VerticalMethod = Literal["agresti", "wald", "exact", "empirical", "kernel"]

_AT_ONCE = 1_000_000  # cells, for memory
_FINE = 32  # cells to a standard deviation from which quadrature is exact
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(3)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VerticalIntervals(IntervalTable):
    """ROC points at given false positive rates; the rest is as in `IntervalTable`.

    Attributes
    ----------
    fpr, shape (h,): The rates r / m_neg that were used: the nearest to those asked for.
    tpr, shape (h,): Mean of the exact bootstrap law: the vertically averaged curve.
    tpr_low, tpr_high, shape (h,): Ends of the intervals, each with the confidence level by itself.
    """

    _points: ClassVar[str] = "{} ROC points by false positive rate"

    fpr: Floats
    tpr: Floats
    tpr_low: Floats
    tpr_high: Floats

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.roc_plane(ax, self._about("intervals at each rate"))
        plotting.along(ax, self.fpr, self.tpr, self.tpr_low, self.tpr_high, label=label)


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
    fpr, shape (h,): Rates within (0, 1). Offered are r / m_neg, r = 1…m_neg - 1; the nearest is used and
        reported.
    method: ``agresti``: normal, with the exact moments of eq. 6 and 7 after adding 2 flagged and 2 unflagged
        positives; ``wald``: the same, nothing added; ``exact``: quantiles of the exact bootstrap law;
        ``empirical``: percentiles over drawn resamples; ``kernel``: normal, about the curve of smoothed
        distribution functions [HHF]: see `rocmonitor.stats.curve.kernel`.
    m_pos, m_neg: Sizes of a resample, the class sizes by default; ``kernel`` does not support others.
    bandwidth: Of ``kernel``, in place of its rule: in the units of the scores, for both or (positives,
        negatives).

    Returns
    -------
    ``agresti`` never gives an interval of zero length; the others can.

    Raises
    ------
    DegenerateDataError, InputError: No positive or fewer than two negatives (or `m_neg` below two); one score
        for all rows, or for a class by ``kernel`` without a `bandwidth`. Rates outside (0, 1), an unknown
        method or level, a `bandwidth` that is not above 0 or is given to another method, resample sizes given
        to ``kernel``.

    Notes
    -----
    Cost after sorting: O(k) for k distinct scores, then O(sqrt(m_neg)) for each rate, as only thresholds
    about the r-th largest negative carry mass; ``exact`` takes one Fourier transform of O(sqrt(m_pos)) more,
    ``kernel`` a sum over the rows within 9 bandwidths of the threshold. Measured coverage: docs/coverage.md.

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
    if method == "kernel" and (m_pos, m_neg) != (sample.n_pos, sample.n_neg):
        raise InputError("method 'kernel' does not support m_pos and m_neg: leave them out")
    if method != "kernel" and bandwidth is not None:
        raise InputError(f"bandwidth belongs to method 'kernel', not {method!r}: leave it out")
    r, moved = nearest_ranks(fpr, m_neg)
    law, at = rate_law(sample, r, m_pos, m_neg, bandwidth), r / m_neg
    caveats = resample_caveats(m_pos, sample.n_pos, m_neg, sample.n_neg) + tie_caveats(sample, at)
    return VerticalIntervals(fpr=at, **measured(sample, {"tpr": law}, options, at, moved + caveats))


@on_sample
def vertical_law(sample: Sample, fpr: float, *, m_pos: int | None = None, m_neg: int | None = None) -> Floats:
    """Exact stratified bootstrap law of the number of true positives at a false positive rate ([DG09] eq. 5).

    Parameters
    ----------
    y_true, y_score, m_pos, m_neg: As for `vertical_intervals`, with its errors.
    fpr: Within (0, 1); the nearest r / m_neg is used, as `vertical_intervals` reports it.

    Returns
    -------
    ndarray, shape (m_pos + 1,): Probabilities of 0, 1, …, m_pos true positives, with an absolute error about
        1e-14. A mixture of binomials over the thresholds that carry mass: O(m_pos + sqrt(m_neg m_pos)) work
        at most.

    Examples
    --------
    >>> vertical_law([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], 0.5).round(12).tolist()
    [0.1875, 0.375, 0.4375]
    """
    m_pos, m_neg = vertical_sizes(sample, m_pos, m_neg)
    require_room(m_pos + 1)
    low, mass = rate_law(sample, only_rank(fpr, m_neg), m_pos, m_neg).exact(0)
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


@dataclass(frozen=True, eq=False)
class VerticalLaw(BootstrapLaw):
    """A TPR, or the difference of two, at the r-th largest negative scores: a mixture over thresholds.

    A term of `mixtures` has weights, and the `net` count of positives that its thresholds flag, shape (w,).
    """

    rows: Sample | PairedSample
    r: Counts
    m_pos: int
    m_neg: int
    mixtures: Sequence[Any]

    @abstractmethod
    def of_a_row(self, added: Smoothing) -> tuple[Floats, Floats]:
        """Mean and variance of what one positive adds to the rate, in all terms of all mixtures."""

    @abstractmethod
    def exact(self, i: int) -> tuple[int, Floats]:
        """[DG09] eq. 5 and 23: the first net count at the i-th rate, and probabilities from there on."""

    @property
    def mean(self) -> Floats:
        """[DG09] eq. 6 and 24."""
        # Not @: threads cost more than so small a product.
        return np.array([np.sum(mix.weight * mix.net) for mix in self.mixtures]) / self.rows.n_pos

    def moments(self, added: Smoothing) -> tuple[Floats, Floats]:
        """[DG09] eq. 6 and 7, 24 to 27: the variance is the mean variance and the variance of the means.

        Of all rates together: each alone is too little work for a call.
        """
        sizes, weight = np.array([len(mix.weight) for mix in self.mixtures]), self.of_all("weight")
        starts = np.cumsum(sizes) - sizes
        share, variance = self.of_a_row(added)
        mean = np.add.reduceat(weight * share, starts)
        within = np.add.reduceat(weight * variance, starts)
        between = np.add.reduceat(weight * (share - np.repeat(mean, sizes)) ** 2, starts)
        return mean, np.maximum(within / (self.m_pos + added.rows) + between, 0.0)

    def of_all(self, name: str) -> Floats:
        """Return a column of the terms of all mixtures, one after the other."""
        return np.concatenate([getattr(mix, name) for mix in self.mixtures])

    def quantiles(self, i: int, tail: float) -> tuple[float, float]:
        """[DG09] alg. 4 and 5."""
        return law_ends(*self.exact(i), self.m_pos, tail)

    def drawn(self, n_resamples: int, rng: np.random.Generator) -> Floats:
        """Return values of resamples that serve all rates."""
        rows, pos, neg = self.rows, self.rows.pos, self.rows.neg
        if isinstance(rows, Sample):
            levels = [threshold_levels(rows)]
        else:
            levels = [threshold_levels(rows.first)[rows.index_1], threshold_levels(rows.second)[rows.index_2]]
        drawn = np.zeros((n_resamples, len(self.r)))
        for line in drawn:
            rows_pos = rng.multinomial(self.m_pos, pos / pos.sum())
            rows_neg = rng.multinomial(self.m_neg, neg / neg.sum())
            for sign, level in zip((1, -1), levels, strict=False):
                threshold = np.searchsorted(np.cumsum(np.bincount(level, weights=rows_neg)), self.r)
                line += sign * np.cumsum(np.bincount(level, weights=rows_pos))[threshold]
        return drawn / self.m_pos


class _Flagged(NamedTuple):
    """P(T_r = s_k), and the positives s_k flags; neighbours that flag the same positives may be one term."""

    weight: Floats
    net: Floats


@dataclass(frozen=True, eq=False)
class RateLaw(VerticalLaw):
    """The law of one model's rate: [DG09] section 4.1, or ends by ``kernel``."""

    rows: Sample
    bandwidth: Bandwidth | None

    def of_a_row(self, added: Smoothing) -> tuple[Floats, Floats]:
        """Return the mean and the variance of a positive: 1 or 0."""
        p = added.share(self.of_all("net"), self.rows.n_pos)
        return p, p * (1 - p)

    def exact(self, i: int) -> tuple[int, Floats]:
        """[DG09] eq. 5: the first count, and probabilities from there on."""
        weight, flagged = self.mixtures[i]
        return mixed_binomials(weight, flagged, self.rows.n_pos, self.m_pos)

    def ends(self, options: IntervalOptions) -> tuple[Floats, Floats]:
        """Return the ends of the intervals, by ``kernel`` too."""
        if options.method == "kernel":
            return kernel_ends(self.rows, self.r / self.m_neg, options.tail, self.bandwidth)
        return super().ends(options)


def rate_law(
    sample: Sample, r: Counts, m_pos: int, m_neg: int, bandwidth: Bandwidth | None = None
) -> RateLaw:
    """Return the laws at the ranks `r`, from which `vertical_intervals` takes its intervals."""
    above = np.cumsum(sample.neg[::-1]), np.cumsum(sample.pos[::-1])
    return RateLaw(sample, r, m_pos, m_neg, _mixtures(r, m_neg, *above), bandwidth)


def _mixtures(r: Counts, m: int, neg: Counts, pos: Counts) -> list[_Flagged]:
    """P(T_r = s_k) where it is not negligible ([DG09] eq. 3, 4), and the positives flagged there, for each r.

    `neg` and `pos`, shape (k,), are the rows at or above each distinct score, decreasing.
    P(T_r >= s_k) = P(Bin(m, share_k) >= r) is the distribution function of Beta(r, m - r + 1) at share_k.
    """
    a: Floats = r.astype(np.float64)
    b: Floats = np.asarray(m - r + 1.0)
    ends = scipy.special.betaincinv(a, b, NEGLIGIBLE), scipy.special.betainccinv(a, b, NEGLIGIBLE)
    # Whole numbers, or the search would copy all rows as floats.
    first, last = (
        np.searchsorted(neg, np.maximum(np.ceil(end * neg[-1]).astype(np.int64), 1)) for end in ends
    )
    begin, end, total = int(first.min()), int(last.max()) + 1, float(neg[-1])
    if len(r) > 1 and ((last - first).sum() > _AT_ONCE or end - begin > 2 * (last - first).sum()):
        half = len(r) // 2
        return [mixture for part in (r[:half], r[half:]) for mixture in _mixtures(part, m, neg, pos)]
    deviation = np.sqrt(a * (m - a) / m) / m  # floats: r * m may pass 2**63
    edges, flagged, coarse = [], [], deviation * m < _FINE
    before = int(neg[begin - 1]) if begin else 0
    width = np.diff(neg[begin:end], prepend=before)
    # The cell of a threshold lies between its share and the one before.
    at = begin + np.flatnonzero(width)
    width, bounds, net = width[at - begin], np.append(before, neg[at]) / total, pos[at]
    differs = np.append(net[1:] != net[:-1], True)
    spans = np.searchsorted(at, first), np.searchsorted(at, last, side="right")
    for i, (start, stop) in enumerate(zip(*(span.tolist() for span in spans), strict=True)):
        # So many neighbours are still narrow.
        together = int(deviation[i] / _FINE * total / width[start:stop].max())
        coarse[i] |= together < 1
        ends_cell = differs[start:stop].copy()
        ends_cell[-1] = True
        if not coarse[i]:
            ends_cell[::together] = True
        kept = start + np.flatnonzero(ends_cell)
        edges.append(np.append(bounds[start], bounds[kept + 1]))
        flagged.append(net[kept].astype(np.float64))
    exact = iter(_exact_cells(a[coarse], b[coarse], [edges[i] for i in np.flatnonzero(coarse)]))
    return [
        _Flagged(next(exact) if exactly else _beta_cells(rank, m, edges[i]), flagged[i])
        for i, (rank, exactly) in enumerate(zip(r.tolist(), coarse.tolist(), strict=True))
    ]


def _exact_cells(a: Floats, b: Floats, edges: list[Floats]) -> list[Floats]:
    """Mass of Beta(a, b) in the cells that hold all of it, for each a: in one call, which takes the time."""
    if not edges:
        return []
    sizes = np.array([len(edge) for edge in edges])
    starts = np.cumsum(sizes) - sizes
    of_a, of_b = np.repeat(a, sizes), np.repeat(b, sizes)
    reached = np.asarray(scipy.special.betainc(of_a, of_b, np.concatenate(edges)))
    reached[starts], reached[starts + sizes - 1] = 0.0, 1.0
    mass: Floats = np.asarray(np.diff(reached), dtype=np.float64)
    return [mass[i : i + n - 1] for i, n in zip(starts.tolist(), sizes.tolist(), strict=True)]


def _beta_cells(r: int, m: int, edges: Floats) -> Floats:
    """Mass of Beta(r, m - r + 1) in narrow cells that hold all of it: 5 times as fast as `betainc`.

    Three-point Gauss-Legendre. With cells of at most sd/32 the error is below h^6 2e-5 = 2e-14 in all.
    """
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    away = middle - (r - 1) / (m - 1) + _NODES[:, np.newaxis] * half  # from the mode
    # Relative to the mode the two logarithms nearly cancel while they are small: no digits are lost.
    log_density = np.log1p(away * ((m - 1) / (r - 1)))
    log_density *= r - 1
    away *= -((m - 1) / (m - r))
    log_density += np.multiply(m - r, np.log1p(away, out=away), out=away)
    density = np.exp(log_density, out=log_density)
    mass = half * (_NODE_WEIGHTS[0] * (density[0] + density[2]) + _NODE_WEIGHTS[1] * density[1])
    return np.asarray(mass / mass.sum())
