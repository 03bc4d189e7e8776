"""Two models at the same false positive rate: the exact bootstrap law of the difference of their TPRs.

Each model has a threshold of its own, as in `rocmonitor.stats.curve.vertical`. Given the two thresholds the
difference of the true positive counts is a trinomial difference; `rocmonitor.stats.curve.joint` gives the
law of the two thresholds. [DG09] is Dugas and Gadoury (2009), section 4.2 and appendix B. (Erratum: in their
eq. 22 the sum for d < 0 ends at floor((m_pos + d) / 2), not at m_pos - d. Nothing here sums over that index.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.stats import plotting
from rocmonitor.stats.binomial import (
    LOG_NEGLIGIBLE,
    Counts,
    Floats,
    bernstein,
    few_differences,
    require_room,
    waves,
)
from rocmonitor.stats.curve.joint import ThresholdLevels, thresholds_laws
from rocmonitor.stats.curve.laws import IntervalTable, interval_options, measured
from rocmonitor.stats.curve.roc import nearest_ranks, only_rank, tie_caveats
from rocmonitor.stats.curve.vertical import VerticalLaw, vertical_sizes
from rocmonitor.stats.proportion import (
    AGRESTI_MIN,
    NOT_SMOOTHED,
    Rng,
    Smoothing,
    resample_caveats,
    whole_number,
)
from rocmonitor.stats.sample import PairedSample, on_pair

VerticalDifferenceMethod = Literal["agresti", "wald", "exact", "empirical"]

MAX_THRESHOLDS = 1000
"""Thresholds of a model that enter exactly: enough for 17,000 negatives at any rate, 80,000 at 5 %."""


_CELLS_AT_ONCE = 1 << 14  # a few arrays of these fit a core's cache


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VerticalDifference(IntervalTable):
    """Differences of two models' true positive rates (first minus second) at given false positive rates.

    Attributes
    ----------
    fpr, shape (h,): The rates r / m_neg that were used: the nearest to those asked for.
    dtpr, dtpr_low, dtpr_high, shape (h,): Means of the bootstrap laws, and ends of the intervals, each with
        the confidence level by itself.
    dtpr_se, shape (h,): Standard deviations of the bootstrap laws; of ``agresti``, of the smoothed ones, so
        never 0.
    method: As asked for; ``agresti-thinned`` and so on where thresholds were thinned (see
        `vertical_difference`).
    confidence_level, n_pos, n_neg, caveats: As in `IntervalTable`.
    """

    _points: ClassVar[str] = "Differences at {} false positive rates"

    fpr: Floats
    dtpr: Floats
    dtpr_low: Floats
    dtpr_high: Floats
    dtpr_se: Floats

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.zero(ax)
        plotting.along(ax, self.fpr, self.dtpr, self.dtpr_low, self.dtpr_high, label=label)
        about = self._about("intervals at each rate")
        plotting.describe(ax, x="false positive rate", y="TPR difference, first minus second", note=about)


@on_pair
def vertical_difference(
    pair: PairedSample,
    fpr: ArrayLike,
    *,
    method: VerticalDifferenceMethod = "agresti",
    confidence_level: float = 0.95,
    m_pos: int | None = None,
    m_neg: int | None = None,
    max_thresholds: int = MAX_THRESHOLDS,
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> VerticalDifference:
    """Intervals of TPR of model 1 minus TPR of model 2 at given false positive rates ([DG09] alg. 5).

    Parameters
    ----------
    fpr, confidence_level, m_pos, m_neg, n_resamples, rng: As for `vertical_intervals`.
    method: ``agresti``: normal, with the exact moments of eq. 24 to 27 after adding 1/2 positive that only
        model 1 flags, 1/2 that only model 2 flags and 1 on which they agree; ``wald``: the same, nothing
        added; ``exact``: quantiles of the exact bootstrap law; ``empirical``: percentiles over drawn
        resamples.
    max_thresholds: The law is exact at each rate where at most this many thresholds of either model carry
        mass: about 15 sqrt(r (1 - r / m_neg)). Where more do, they are thinned to this number: the joint law
        at these stays exact, and a threshold between two of them counts as the middle one.

    Returns
    -------
    ``agresti`` never gives an interval of zero length; the other two do where the models never disagree.

    Notes
    -----
    Cost of a rate: O(n + w² sqrt(m_neg)) with w <= `max_thresholds` thresholds of each model, so O(n^1.5)
    while exact, and nearly O(n) where `rocmonitor.stats.curve.joint.excess_on_grid` applies; ``exact`` takes
    at most O(w² sqrt(m_pos)) more. Memory O(n + w²). The error of thinning is in docs/coverage.md.

    Examples
    --------
    >>> result = vertical_difference([0, 0, 1, 1], [1, 3, 2, 4], [2, 1, 3, 4], [0.5], method="wald")
    >>> result.fpr.tolist(), result.dtpr.tolist()
    ([0.5], [-0.375])
    """
    m_pos, m_neg = vertical_sizes(pair, m_pos, m_neg)
    options = interval_options(
        method, get_args(VerticalDifferenceMethod), confidence_level, n_resamples=n_resamples, rng=rng
    )
    r, moved = nearest_ranks(fpr, m_neg)
    law, at = difference_law(pair, r, m_pos, m_neg, max_thresholds), r / m_neg
    thinned = np.array([mix.thinned for mix in law.mixtures])
    if thinned.any():
        count = np.count_nonzero(thinned)
        moved += (Caveat("thinned", count=count, total=len(r), at=at[thinned], kept=max_thresholds),)
    caveats = (
        *moved,
        *resample_caveats(m_pos, pair.n_pos, m_neg, pair.n_neg),
        *tie_caveats(pair.first, at, model="first"),
        *tie_caveats(pair.second, at, model="second"),
    )
    fields = measured(pair, {"dtpr": law}, options, at, caveats)
    if thinned.any():
        fields["method"] = f"{method}-thinned"
    _, variance = law.moments(AGRESTI_MIN if method == "agresti" else NOT_SMOOTHED)
    return VerticalDifference(fpr=at, dtpr_se=np.sqrt(variance), **fields)


@on_pair
def vertical_difference_law(
    pair: PairedSample,
    fpr: float,
    *,
    m_pos: int | None = None,
    m_neg: int | None = None,
    max_thresholds: int = MAX_THRESHOLDS,
) -> Floats:
    """Exact stratified bootstrap law of the difference of true positives at one rate ([DG09] eq. 23).

    Parameters
    ----------
    y_true, score_1, score_2, m_pos, m_neg, max_thresholds: As for `vertical_difference`, with its errors; it
        says in its result whether thresholds were thinned.
    fpr: Within (0, 1); the nearest r / m_neg is used, as `vertical_difference` reports it.

    Returns
    -------
    ndarray, shape (2 m_pos + 1,): Probabilities of -m_pos, …, m_pos: true positives of model 1 minus those of
        model 2, with an absolute error about 1e-13. Cost as for ``method="exact"`` there.

    Examples
    --------
    >>> vertical_difference_law([0, 0, 1, 1], [1, 3, 2, 4], [2, 1, 3, 4], 0.5).round(6).tolist()
    [0.1875, 0.375, 0.4375, 0.0, 0.0]
    """
    m_pos, m_neg = vertical_sizes(pair, m_pos, m_neg)
    require_room(2 * m_pos + 1)
    low, mass = difference_law(pair, only_rank(fpr, m_neg), m_pos, m_neg, max_thresholds).exact(0)
    law = np.zeros(2 * m_pos + 1)
    law[m_pos + low : m_pos + low + len(mass)] = mass
    return law


class _Differences(NamedTuple):
    """Positives that only model 1 and only model 2 flags: `net` is their difference, `apart` their sum."""

    weight: Floats
    net: Counts
    apart: Counts
    thinned: bool


class DifferenceLaw(VerticalLaw):
    """The law of two models' difference: [DG09] section 4.2."""

    smoothing = AGRESTI_MIN
    least = -1.0

    rows: PairedSample

    def of_a_row(self, added: Smoothing) -> tuple[Floats, Floats]:
        """Return the difference of each positive: 1, -1 or 0."""
        total = self.rows.n_pos + added.rows
        gap, apart = self.of_all("net") / total, (self.of_all("apart") + 2 * added.kind) / total
        return gap, apart - gap**2

    def exact(self, i: int) -> tuple[int, Floats]:
        """[DG09] eq. 23: the first difference, and probabilities from there on.

        One inverse FFT of sum of weight (1 + a (e^iθ - 1) + b (e^-iθ - 1))^m over the terms, whose shares are
        a and b, or over `few_differences` in their place.
        """
        n, m, mix = self.rows.n_pos, self.m_pos, self.mixtures[i]
        gap, apart = mix.net / n, mix.apart / n
        variance = np.maximum(apart - gap**2, 0.0)
        # A step is at most 2 off. What a term has beyond its range is negligible for all of them together.
        log_share = np.log(np.maximum(np.abs(mix.weight) * len(mix.weight), 1e-300))
        half = bernstein(m * variance, np.maximum(LOG_NEGLIGIBLE + log_share, 0.0), step=2.0)
        low = max(-m, int(np.floor((m * gap - half).min())))
        high = min(m, int(np.ceil((m * gap + half).max())))
        require_room(high - low + 1)
        size = scipy.fft.next_fast_len(high - low + 1, real=True)
        terms = few_differences(mix.weight, gap, apart, m)
        angles = np.linspace(0, 2 * np.pi * (size // 2) / size, size // 2 + 1)
        transform = _transform(*terms, m, low, angles)
        law = scipy.fft.irfft(transform, size)[: high - low + 1]
        return low, np.maximum(law, 0.0)


def _transform(
    weight: Floats, gap: Floats, apart: Floats, m: int, low: int, angles: Floats
) -> NDArray[np.complex128]:
    """At each angle, the conjugate of sum of weight (1 + a (e^iθ - 1) + b (e^-iθ - 1))^m e^(-i low θ).

    `gap` is a - b, `apart` a + b, the angles increase within [0, π]. A term counts while it is not negligible
    for its weight, most at O(sqrt(size)) angles: those left out are below 1e-16 together.
    """
    # The 1 - cos θ from which a term is negligible for good, or infinity. 1 - |…|² is concave in it: above
    # the limit at the end, 2, it passes that once, at the first root of a quadratic. Negative where the
    # weight itself is negligible.
    limit = 2 * (LOG_NEGLIGIBLE + np.log(np.maximum(np.abs(weight) * len(weight), 1e-300))) / m
    variance = apart - gap**2
    root = np.sqrt(np.maximum(variance**2 - (apart**2 - gap**2) * limit, 0.0))
    lasts = 4 * apart * (1 - apart) <= limit
    reach = np.where(lasts, np.inf, limit / np.where(lasts, 1.0, np.maximum(variance + root, 1e-300)))

    order = np.argsort(-reach)
    weight, gap, apart, reach = weight[order], gap[order], apart[order], reach[order]
    spread, variance = apart * (1 - apart), variance[order]
    transform = np.zeros(len(angles), dtype=np.complex128)
    bends, sines = 2 * np.sin(angles / 2) ** 2, np.sin(angles)
    left = np.searchsorted(-reach, -bends)  # terms at each angle
    room = np.empty((3, max(_CELLS_AT_ONCE, len(weight))))  # fresh memory costs more than the arithmetic
    k = 0
    while k < len(angles) and left[k]:
        part, some = slice(k, k + max(1, _CELLS_AT_ONCE // int(left[k]))), slice(left[k])
        angle, bend, sine = (values[part, np.newaxis] for values in (angles, bends, sines))
        shape = len(angle), int(left[k])
        square, phase, other = (cells[: math.prod(shape)].reshape(shape) for cells in room)
        np.multiply(bend, spread[some], out=square)
        square += np.multiply(2 - bend, variance[some], out=other)
        square *= -bend
        np.multiply(apart[some], bend, out=other)
        np.arctan2(np.multiply(gap[some], sine, out=phase), np.subtract(1, other, out=other), out=phase)
        transform[part] = waves(square, phase, weight[some], m, low, angle)
        k = part.stop
    return transform


def difference_law(pair: PairedSample, r: Counts, m_pos: int, m_neg: int, most: int) -> DifferenceLaw:
    """Return the laws at the ranks `r`, from which all methods take their intervals."""
    whole_number(most, "max_thresholds", 2)
    levels = ThresholdLevels.of(pair)
    mixtures = []  # the joint laws of the thresholds, one term for each (only_1, only_2)
    for joint in thresholds_laws(pair, levels, r, m_neg, most):
        both, flagged_1, flagged_2 = levels.flagged(pair.pos, joint.at_1, joint.at_2)
        seen = joint.weight != 0
        only_1, only_2 = (flagged_1[:, np.newaxis] - both)[seen], (flagged_2 - both)[seen]
        # All combinations within their range fit a table: O(sqrt(n)) each.
        least_1, least_2 = only_1.min(), only_2.min()
        width = int(only_2.max() - least_2) + 1
        weight = np.bincount((only_1 - least_1) * width + only_2 - least_2, weights=joint.weight[seen])
        kept = np.flatnonzero(weight)
        only_1, only_2 = kept // width + least_1, kept % width + least_2
        mixtures.append(
            _Differences(weight[kept].astype(np.float64), only_1 - only_2, only_1 + only_2, joint.thinned)
        )
    return DifferenceLaw(pair, r, m_pos, m_neg, mixtures)
