"""Other variances of one AUC, intervals by its variance at the area supposed, and areas of drawn resamples.

The closed forms start from the moments of `rocmonitor.stats.area.delong`; their papers are those of `auc`.
None subtracts large numbers: near areas of 0 and 1 no digits are lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.delong import Moments, delong_variance, exact_bootstrap_variance, mean_and_variance
from rocmonitor.stats.binomial import require_room
from rocmonitor.stats.proportion import whole_number
from rocmonitor.stats.rows import run_starts
from rocmonitor.stats.sample import Counts, Floats, Sample

_NEGLIGIBLE = 1e-12  # a standard error that no interval shows


class Variance(NamedTuple):
    """The variance of an AUC, and what must be said about it."""

    value: float
    caveat: Caveat | None = None


def _wmk16(sample: Sample, pairs: Moments, m_pos: int, m_neg: int) -> Variance:
    """[WMK16] eq. 13-15, rewritten so that nothing cancels.

    In eq. 13, Q² + Q P + P²/3 = (Q + P/2)² + P²/12, and the mean of the first term less A² is zeta01;
    likewise eq. 14 and zeta10. So it is the exact bootstrap variance with three terms added for ties.
    """
    level = np.flatnonzero((sample.pos > 0) & (sample.neg > 0))
    share_pos, share_neg = sample.pos[level] / sample.n_pos, sample.neg[level] / sample.n_neg
    both = share_pos * share_neg
    tied_pos, tied_neg = float(np.sum(both * share_pos)) / 12, float(np.sum(both * share_neg)) / 12
    return Variance(
        exact_bootstrap_variance(
            pairs.zeta10 + tied_neg, pairs.zeta01 + tied_pos, pairs.auc * pairs.lost, m_pos, m_neg
        )
    )


def _binormal(sample: Sample, pairs: Moments, _m_pos: int, _m_neg: int) -> Variance:
    """[D12]: delta method on Phi(d), d = (mean_pos - mean_neg) / sqrt(var_pos + var_neg)."""
    # A power of two loses no digit, and keeps the squares of scores like 1e300 finite.
    largest = max(-sample.score[0], sample.score[-1])
    score = np.ldexp(sample.score, -math.frexp(largest)[1])
    mean_pos, var_pos = mean_and_variance(score, sample.pos)
    mean_neg, var_neg = mean_and_variance(score, sample.neg)
    var_pos = var_pos * sample.n_pos / (sample.n_pos - 1)
    var_neg = var_neg * sample.n_neg / (sample.n_neg - 1)
    both = var_pos + var_neg
    if both == 0:  # each class has one score
        return Variance(0.0)
    d = (mean_pos - mean_neg) / math.sqrt(both)
    share_pos, share_neg = var_pos / both, var_neg / both
    square = min(d * d, 1e4)  # beyond, the density is 0 whatever it is multiplied with
    means = share_pos / sample.n_pos + share_neg / sample.n_neg
    variances = share_pos**2 / (sample.n_pos - 1) + share_neg**2 / (sample.n_neg - 1)
    se = math.exp(-square / 2) * math.sqrt((means + square / 2 * variances) / (2 * math.pi))
    if se < _NEGLIGIBLE:
        if pairs.alike:
            return Variance(0.0)
        raise DegenerateDataError(
            f"the normal laws that method 'binormal' fits lie {abs(d):.3g} standard deviations apart, where "
            "their area has no measurable error, and yet pairs are in the wrong order: use another method"
        )
    return Variance(se**2, Caveat("error-of-normal-scores", area=float(scipy.special.ndtr(d))))


# By method: the variance, from the sample, its moments and the sizes m_pos and m_neg of a resample.
CLOSED_FORMS: dict[str, Callable[[Sample, Moments, int, int], Variance]] = {
    "delong": lambda rows, of, *_: Variance(delong_variance(of.zeta10, of.zeta01, rows.n_pos, rows.n_neg)),
    "exact-bootstrap": lambda _, of, *sizes: Variance(exact_bootstrap_variance(*of[2:], *sizes)),
    "wmk16": _wmk16,
    # [HM82] eq. 1 and 2: Q1 = A/(2 - A), Q2 = 2 A²/(1 + A), each less A² without loss.
    "hanley-mcneil": lambda rows, of, *_: Variance(
        exact_bootstrap_variance(
            of.auc**2 * of.lost / (1 + of.auc),
            of.auc * of.lost**2 / (1 + of.lost),
            of.auc * of.lost,
            rows.n_pos,
            rows.n_neg,
        )
    ),
    "binormal": _binormal,
    "upper-bound": lambda rows, of, *_: Variance(of.auc * of.lost / min(rows.n_pos, rows.n_neg)),
}


def normal_zeta(auc: float) -> float:
    """Variance of the placement values, of either class, under two normal score laws of equal variance."""
    rarer = min(auc, 1 - auc)  # the law is symmetric, and keeps its digits in this tail
    return (
        rarer
        - 2 * float(scipy.special.owens_t(float(scipy.special.ndtri(rarer)), math.sqrt(1 / 3)))
        - rarer**2
    )


def score_ends(auc: float, se: float, sizes: tuple[float, float], z: float) -> tuple[float, float]:
    """Return the areas t with (auc - t)² = z² c normal_zeta(t), for an `auc` within (0, 1), as Wilson's.

    An AUC near 1 that is too high by chance has too small a standard error too, so an end that uses this
    standard error lies too near. Here an end is the area whose own standard error the estimate just keeps to
    ([W27], [N06]). The variance goes with the area as that of two normal score laws of equal variance, scaled
    to the one that was seen, and is never less than with normal scores: c = max(se² / normal_zeta(auc),
    1 / n_pos + 1 / n_neg). With few rows of a class near 1 the model counts; with many, what was seen.
    """
    n_pos, n_neg = sizes
    own = normal_zeta(auc)
    scale = 1 / n_pos + 1 / n_neg
    if own > 0:  # beyond 1e-12 of an end its digits are lost
        scale = max(scale, se * se / own)
    reach = z * math.sqrt(scale)
    return _end(auc, 0.0, reach), _end(auc, 1.0, reach)


def _end(auc: float, limit: float, reach: float) -> float:
    side = math.copysign(1.0, limit - auc)

    def beyond(away: float) -> float:
        return away - reach * math.sqrt(max(normal_zeta(auc + side * away), 0.0))

    return auc + side * float(scipy.optimize.brentq(beyond, 0.0, abs(limit - auc), xtol=1e-15))


_CELLS_AT_ONCE = 2**15  # rows or runs held in memory together: few enough for the processor's cache
_ROWS_PER_RUN = 20  # above, drawing the count of a run is cheaper than drawing its rows


def drawn_areas(sample: Sample, m_pos: int, m_neg: int, n_resamples: int, rng: np.random.Generator) -> Floats:
    """AUCs of `n_resamples` resamples of m_pos positives and m_neg negatives, shape (n_resamples,).

    Neighbouring scores that hold rows of one class are one run, and a resample is the number of rows that
    each run gets; none is sorted. Cost of a resample: O(m_pos + m_neg) where rows are drawn; O(k) where a
    class has many rows to a run, and their counts are drawn. Memory: O(k + m_pos + m_neg).
    """
    begins = np.flatnonzero(run_starts(sample.pos, sample.neg))
    pos, neg = np.add.reduceat(sample.pos, begins), np.add.reduceat(sample.neg, begins)
    draw_pos, draw_neg = drawing(pos, m_pos, rng), drawing(neg, m_neg, rng)
    at_once = max(1, _CELLS_AT_ONCE // max(len(pos), _largest_draw(pos, m_pos), _largest_draw(neg, m_neg)))
    areas = np.empty(n_resamples)
    for done in range(0, n_resamples, at_once):
        part = min(at_once, n_resamples - done)
        drawn_pos, drawn_neg = draw_pos(part), draw_neg(part)
        below = np.cumsum(drawn_neg, axis=1).astype(np.float64)  # faster than adding up as float64
        below -= 0.5 * drawn_neg
        below *= drawn_pos
        np.sum(below, axis=1, out=areas[done : done + part])
    areas /= float(m_pos) * m_neg
    return areas


def drawing(
    counts: Counts, m: int, rng: np.random.Generator, rows_per_run: int = _ROWS_PER_RUN
) -> Callable[[int], Counts]:
    """Return a function that draws how often each run is hit by `m` rows: shape (resamples, runs)."""
    runs, n = len(counts), int(counts.sum())
    if not _largest_draw(counts, m, rows_per_run):
        return lambda resamples: rng.multinomial(m, counts / n, size=resamples)
    run = np.repeat(np.arange(runs), counts)

    def draw(resamples: int) -> Counts:
        hit = run[rng.integers(n, size=(resamples, m))]
        hit += runs * np.arange(resamples)[:, np.newaxis]
        return np.bincount(hit.ravel(), minlength=resamples * runs).reshape(resamples, runs)

    return draw


def _largest_draw(counts: Counts, m: int, rows_per_run: int = _ROWS_PER_RUN) -> int:
    """Rows of a class in memory for each resample: all when single rows are drawn, none when counts are."""
    return m if max(m, int(counts.sum())) <= rows_per_run * np.count_nonzero(counts) else 0


def cortes_mohri(sample: Sample, pairs: Moments, n_errors: int | None = None) -> Variance:
    """Variance of the AUC over all rankings and thresholds with `n_errors` errors ([CM04], see `auc`).

    The paper's sums of binomial coefficients are right for k up to the smaller class only, as enumeration
    shows, and their terms cancel. Here the same law is added up by the number x of positives among the
    errors: given x, the rows above the threshold are in random order, and so are those below, two
    Mann-Whitney statistics with known mean and variance. All terms are positive.

    InputError for `n_errors` that is no whole number within [0, n], or 0 or n, so that every ranking is
    perfect or reversed, when the sample's is neither. Cost: O(k + n_errors).
    """
    fewest = fewest_errors(sample)
    n = sample.n_pos + sample.n_neg
    errors = fewest if n_errors is None else whole_number(n_errors, "n_errors", 0, n)
    lost, variance = area_given_errors(sample.n_pos, sample.n_neg, errors)
    certain = {0: pairs.lost, n: pairs.auc}  # no error: an area of 1; nothing else: an area of 0
    if certain.get(errors, 0.0) > 0:
        raise InputError(
            f"with n_errors={n_errors} every ranking is {'reversed' if errors else 'perfect'}, and the "
            f"sample's is not: its best threshold makes {fewest} errors, which is the default"
        )
    return Variance(variance, Caveat("error-of-rankings", n_errors=errors, mean=1 - lost))


def fewest_errors(sample: Sample) -> int:
    """Fewest errors of all thresholds, "all" and "none" too. Rows of one score are flagged together."""
    # At "all" the errors are the negatives. Each score left out adds its positives and saves its negatives.
    gain = np.cumsum(sample.pos - sample.neg)
    return sample.n_neg + min(int(gain.min()), 0)


def area_given_errors(n_pos: int, n_neg: int, n_errors: int) -> tuple[float, float]:
    """Mean of 1 - AUC, and variance of the AUC, over all rankings and thresholds with `n_errors` errors."""
    require_room(min(n_pos, n_errors) - max(0, n_errors - n_neg) + 1)
    x = np.arange(max(0, n_errors - n_neg), min(n_pos, n_errors) + 1, dtype=np.float64)
    low_pos, high_neg = x, n_errors - x  # the errors: positives not flagged, negatives flagged
    high_pos, low_neg = n_pos - low_pos, n_neg - high_neg
    # Shares of the binomial(high, high_neg) binomial(low, low_pos) orders, by their ratios in log space.
    high, low = (high_pos + high_neg)[:-1], (low_pos + low_neg)[:-1]
    ratio = (high_pos * high_neg)[:-1] / (high * (high - 1)) * ((low + 1) * (low + 2))
    ratio /= ((low_pos + 1) * (low_neg + 1))[:-1]
    log = np.concatenate([[0.0], np.cumsum(np.log(ratio))])
    share = np.exp(log - log.max())
    share /= share.sum()
    pairs_high, pairs_low = high_pos * high_neg, low_pos * low_neg
    lost = low_pos * high_neg + (pairs_high + pairs_low) / 2
    within = (pairs_high * (high_pos + high_neg + 1) + pairs_low * (low_pos + low_neg + 1)) / 12
    mean = float(np.sum(share * lost))
    variance = float(np.sum(share * (within + (lost - mean) ** 2)))
    pairs = float(n_pos) * n_neg
    return mean / pairs, variance / pairs**2
