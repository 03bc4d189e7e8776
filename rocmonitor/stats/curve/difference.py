"""Two models at pairs of thresholds: intervals of the differences of their rates.

Within a class and a resample, (rows that only model 1 flags) - (rows that only model 2 flags) is a trinomial
difference. Dugas and Gadoury (2009), section 3.2 and algorithm 3, is [DG09] below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.stats.curve.counting import disagreements
from rocmonitor.stats.curve.full_sampling import (
    ClassSize,
    Sampling,
    drawn_sizes,
    rate_quantiles,
    require_sampling,
    sampled_size,
)
from rocmonitor.stats.curve.points import threshold_pairs
from rocmonitor.stats.proportion import (
    Intervals,
    clipped_intervals,
    interval_caveats,
    normal_quantile,
    require_level,
    require_method,
    resample_caveats,
    resample_size,
)
from rocmonitor.stats.resampling import Rng, drawn_differences, generator, percentiles
from rocmonitor.stats.result import Table
from rocmonitor.stats.sample import PairedSample, on_pair

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

DifferenceMethod = Literal["agresti-min", "wald", "exact", "empirical"]

SMOOTHING = 0.5
"""Rows that Agresti and Min add to each kind of disagreement, and twice that to agreement ([DG09] alg. 3)."""

_LOG_NEGLIGIBLE = 37.0  # exp(-37) < 1e-16: the mass the window may leave out on each side


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThresholdDifference(Table):
    """Differences of the rates of two models (first minus second) at pairs of thresholds.

    Attributes
    ----------
    threshold_1, threshold_2 : ndarray, shape (h,)
        Thresholds of the first and of the second model.
    dtpr, dtpr_low, dtpr_high, dfpr, dfpr_low, dfpr_high : ndarray, shape (h,)
        Observed differences (also the means of their exact bootstrap laws), and the ends of their intervals.
    method : str
    confidence_level : float
    joint : bool
        Whether the level is that of the rectangle (both differences at once) or of each interval.
    n_pos, n_neg : int
        Class sizes.
    caveats : tuple of str
        Intervals that were clipped to [-1, 1], have zero length, or lie off the observed difference.
    """

    threshold_1: Floats
    threshold_2: Floats
    dtpr: Floats
    dtpr_low: Floats
    dtpr_high: Floats
    dfpr: Floats
    dfpr_low: Floats
    dfpr_high: Floats
    method: str
    confidence_level: float
    joint: bool
    n_pos: int
    n_neg: int
    caveats: tuple[str, ...]

    @property
    def pairs(self) -> Floats:
        """The pairs of thresholds, shape (h, 2)."""
        return np.column_stack([self.threshold_1, self.threshold_2])

    def __str__(self) -> str:
        return (
            f"Differences at {len(self.dtpr)} pairs of thresholds, {100 * self.confidence_level:g} % "
            f"{'joint regions' if self.joint else 'intervals'} ({self.method}), "
            f"{self.n_pos} positives, {self.n_neg} negatives"
        )


@on_pair
def threshold_difference(
    pair: PairedSample,
    pairs: ArrayLike,
    *,
    method: DifferenceMethod = "agresti-min",
    confidence_level: float = 0.95,
    joint: bool = True,
    sampling: Sampling = "stratified",
    m_pos: int | None = None,
    m_neg: int | None = None,
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> ThresholdDifference:
    """Intervals of TPR and FPR of model 1 minus those of model 2 at pairs of thresholds ([DG09] alg. 3).

    Parameters
    ----------
    y_true, score_1, score_2 : array_like, shape (n,)
        Labels and the two models' scores on the same rows, or one `PairedSample` in their place.
    pairs : array_like, shape (h, 2)
        Thresholds (t1, t2) of model 1 and model 2; may be infinite.
    method : str
        ``agresti-min``: normal, after adding 1/2 row that only model 1 flags, 1/2 that only model 2 flags
        and 1 on which they agree; ``wald``: normal, nothing added; ``exact``: quantiles of the exact
        bootstrap law; ``empirical``: percentiles over drawn resamples.
    confidence_level : float
        Within (0, 1).
    joint : bool
        True: the rectangle of the two intervals has the level, each side 1 - alpha' with
        alpha' = 1 - sqrt(1 - alpha). False: each interval has it.
    m_pos, m_neg : int, optional
        Sizes of a resample, the class sizes by default.
    sampling : str
        ``stratified``: a resample keeps the class sizes; ``full``: m_pos + m_neg rows are drawn from both
        classes together (`rocmonitor.stats.curve.full_sampling`). The two rates are then uncorrelated, not
        independent, and `joint` is nearly right only.
    n_resamples : int
        Resamples drawn by ``empirical``.
    rng : int, SeedSequence or Generator, optional
        Randomness of ``empirical``, which needs it.

    Returns
    -------
    ThresholdDifference
        ``agresti-min`` never gives an interval of zero length; the other two do where the models never
        disagree, or always to the same side.

    Raises
    ------
    DegenerateDataError
        Fewer than one positive or negative; a model with one score for all rows.
    InputError
        No pairs, entries that are not pairs, NaN among them, an unknown method, a level outside (0, 1).

    Notes
    -----
    Cost: O(c + h log c) for c cells; ``exact`` takes O(h sqrt(m) log m) more.

    Examples
    --------
    >>> result = threshold_difference([0, 1, 1], [0.2, 0.9, 0.8], [0.6, 0.4, 0.7], [(0.5, 0.5)])
    >>> result.dtpr.tolist(), result.dfpr.tolist()
    ([0.5], [-1.0])
    """
    pair.require_both_classes()
    pair.require_distinct_scores()
    at = threshold_pairs(pairs)
    require_method(method, get_args(DifferenceMethod))
    level = require_level(confidence_level)
    tail = (1 - (math.sqrt(level) if joint else level)) / 2
    pos_1, pos_2, neg_1, neg_2 = disagreements(pair, at)
    dtpr, dfpr = (pos_1 - pos_2) / pair.n_pos, (neg_1 - neg_2) / pair.n_neg
    classes = (
        (pos_1, pos_2, pair.n_pos, resample_size(m_pos, pair.n_pos, "m_pos")),
        (neg_1, neg_2, pair.n_neg, resample_size(m_neg, pair.n_neg, "m_neg")),
    )
    require_sampling(sampling)
    total = sum(m for *_, m in classes)
    sizes = [sampled_size(sampling, m, total, n / (pair.n_pos + pair.n_neg)) for *_, n, m in classes]
    if method == "empirical":
        random = generator(rng, n_resamples)
        drawn = [
            drawn_differences(a, b, n, drawn_sizes(size, (n_resamples, len(at)), random), random)
            for (a, b, n, _), size in zip(classes, sizes, strict=True)
        ]
        in_pos, in_neg = (clipped_intervals(*percentiles(gaps, tail), least=-1.0) for gaps in drawn)
    else:
        in_pos, in_neg = (
            _intervals(a, b, n, size, method, tail) for (a, b, n, _), size in zip(classes, sizes, strict=True)
        )
    return ThresholdDifference(
        threshold_1=at[:, 0].copy(),
        threshold_2=at[:, 1].copy(),
        dtpr=dtpr,
        dtpr_low=in_pos.low,
        dtpr_high=in_pos.high,
        dfpr=dfpr,
        dfpr_low=in_neg.low,
        dfpr_high=in_neg.high,
        method=method,
        confidence_level=float(confidence_level),
        joint=joint,
        n_pos=pair.n_pos,
        n_neg=pair.n_neg,
        caveats=resample_caveats(classes[0][3], pair.n_pos, classes[1][3], pair.n_neg)
        + interval_caveats("TPR difference", dtpr, in_pos, within="[-1, 1]")
        + interval_caveats("FPR difference", dfpr, in_neg, within="[-1, 1]"),
    )


def trinomial_difference(m: int, a: float, b: float) -> tuple[int, Floats]:
    """Law of X - Y for (X, Y, rest) multinomial in `m` trials with shares `a`, `b`, 1 - a - b.

    Returns the first difference and the probabilities from there on: all but 2e-16 of the mass, by one
    inverse FFT of the characteristic function (1 + a (e^iθ - 1) + b (e^-iθ - 1))^m, at O(sqrt(m)) points.
    """
    low, high = difference_range(m, a, b)
    size = 1 << (high - low).bit_length()  # a power of 2, above high - low
    angle = 2 * np.pi * np.arange(size // 2 + 1) / size
    # The logarithm from the distance to 1, which keeps its digits through the power m.
    real, imaginary = -2 * (a + b) * np.sin(angle / 2) ** 2, (a - b) * np.sin(angle)
    with np.errstate(divide="ignore"):
        log_modulus = np.log1p(np.maximum(2 * real + real**2 + imaginary**2, -1.0)) / 2
    phase = m * np.arctan2(imaginary, 1 + real) - low * angle
    law = np.fft.irfft(np.exp(m * log_modulus) * np.exp(-1j * phase), size)[: high - low + 1]
    return low, np.maximum(law, 0.0)


def difference_range(m: int, a: float, b: float) -> tuple[int, int]:
    """The first and the last value of a range that holds all but 2e-16 of the mass of that law."""
    centre, third = round(m * (a - b)), 2 * _LOG_NEGLIGIBLE / 3
    # Bernstein as in `binomial_range`; a step deviates from its mean by up to 2, and 1 more for rounding.
    variance = m * max(a + b - (a - b) ** 2, 0.0)
    half = math.ceil(third + math.sqrt(third**2 + 2 * _LOG_NEGLIGIBLE * variance)) + 1
    return max(-m, centre - half), min(m, centre + half)


def _intervals(
    only_1: Counts, only_2: Counts, n: int, size: ClassSize, method: str, tail: float
) -> Intervals:
    if method == "exact":
        ends = [
            rate_quantiles(size, partial(trinomial_difference, a=a / n, b=b / n), tail)
            for a, b in zip(only_1.tolist(), only_2.tolist(), strict=True)
        ]
        low, high = np.array(ends, dtype=np.float64).T
        return clipped_intervals(low, high, least=-1.0)
    added = SMOOTHING if method == "agresti-min" else 0.0
    p1, p2 = (only_1 + added) / (n + 4 * added), (only_2 + added) / (n + 4 * added)
    variance = np.maximum(p1 + p2 - (p1 - p2) ** 2, 0.0) * size.mean_inverse(4 * added)
    half = normal_quantile(tail) * np.sqrt(variance)
    return clipped_intervals(p1 - p2 - half, p1 - p2 + half, least=-1.0)
