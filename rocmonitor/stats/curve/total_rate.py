"""The rates at a fixed total positive rate: flag the top share of all rows, as a budget for treatment asks.

In a stratified resample of n rows, the threshold T_r of the nominal total positive rate r / n is the r-th
largest score of both classes together, repeats counted, and "flagged" means score >= T_r: at least r rows,
more on a tie, as in `rocmonitor.stats.curve.vertical`. Dugas and Gadoury (2009) close with the wish for
this case.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.errors import InputError
from rocmonitor.stats.curve.threshold import interval_caveats
from rocmonitor.stats.curve.vertical import nearest_ranks
from rocmonitor.stats.proportion import (
    SMOOTHING,
    Intervals,
    binomial_window,
    clipped_intervals,
    law_ends,
    log_binomial,
    log_characteristic,
    normal_quantile,
    require_level,
    require_method,
)
from rocmonitor.stats.resampling import Rng, generator, percentiles
from rocmonitor.stats.result import Result, Table
from rocmonitor.stats.sample import Sample, on_sample

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

TotalRateMethod = Literal["agresti", "wald", "exact", "empirical"]

_LOG_NEGLIGIBLE = 37.0  # exp(-37) < 1e-16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TotalRateIntervals(Table):
    """ROC points at given total positive rates, with an interval for each rate.

    Attributes
    ----------
    rate : ndarray, shape (h,)
        The total positive rates r / n that were used: the nearest to those asked for.
    tpr, tpr_low, tpr_high, fpr, fpr_low, fpr_high : ndarray, shape (h,)
        Means of the exact bootstrap laws, and the ends of the intervals, each with the level by itself.
    method : str
    confidence_level : float
    n_pos, n_neg : int
        Class sizes.
    caveats : tuple of str
        Rates that had to move to r / n; intervals that were clipped, have zero length, or lie off the mean.
    """

    rate: Floats
    tpr: Floats
    tpr_low: Floats
    tpr_high: Floats
    fpr: Floats
    fpr_low: Floats
    fpr_high: Floats
    method: str
    confidence_level: float
    n_pos: int
    n_neg: int
    caveats: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{len(self.rate)} ROC points by total positive rate, {100 * self.confidence_level:g} % "
            f"intervals ({self.method}), {self.n_pos} positives, {self.n_neg} negatives"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TotalRateLaw(Result):
    """Exact stratified bootstrap laws of the flagged counts at a total positive rate.

    Attributes
    ----------
    rate : float
        The rate r / n that was used.
    tp : ndarray, shape (n_pos + 1,)
        Probability that 0, 1, …, n_pos of a resample's positives are flagged.
    fp : ndarray, shape (n_neg + 1,)
        The same for its negatives. Not independent of the positives: at least r rows are flagged in all.
    n_pos, n_neg : int
        Class sizes.
    """

    rate: float
    tp: Floats
    fp: Floats
    n_pos: int
    n_neg: int


@on_sample
def total_rate_intervals(
    sample: Sample,
    rates: ArrayLike,
    *,
    method: TotalRateMethod = "agresti",
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> TotalRateIntervals:
    """Intervals of TPR and FPR when a given share of all rows is flagged.

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,)
        Labels and scores, or one `Sample` in their place.
    rates : array_like, shape (h,)
        Total positive rates within (0, 1). Offered are r / n, r = 1…n - 1; the nearest is used and reported.
    method : str
        ``agresti``: normal, with the exact moments after adding 2 flagged and 2 unflagged rows of the class;
        ``wald``: the same, nothing added; ``exact``: quantiles of the exact bootstrap law; ``empirical``:
        percentiles over drawn resamples.
    confidence_level : float
        Of each interval, within (0, 1).
    n_resamples : int
        Resamples drawn by ``empirical``.
    rng : int, SeedSequence or Generator, optional
        Randomness of ``empirical``, which needs it.

    Returns
    -------
    TotalRateIntervals
        ``agresti`` never gives an interval of zero length; the other three can.

    Raises
    ------
    DegenerateDataError
        Fewer than one positive or negative.
    InputError
        No rates, rates outside (0, 1) or NaN, an unknown method, a level outside (0, 1).

    Notes
    -----
    A positive of score s is flagged when fewer than r of the other rows score above s, and two positives are
    when the lower one is: the moments need only tails of the sum of two binomials, O(sqrt(n)) of them at a
    bounded number of steps each. ``exact`` takes O(n) for each rate: see `total_rate_law`.

    ``agresti``: with m positives, pi the chance of one to be flagged and gamma the covariance of two, the
    variance of TPR is pi (1 - pi) / m + (1 - 1/m) gamma. Adding rows makes m into m + 4, pi into
    (m pi + 2) / (m + 4) and gamma into gamma m² / (m + 4)²: [DG09] alg. 4 is the same in these terms.

    Examples
    --------
    >>> points = total_rate_intervals([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], [0.5], method="wald")
    >>> points.rate.tolist(), points.tpr.round(4).tolist(), points.fpr.round(4).tolist()
    ([0.5], [0.75], [0.375])
    """
    sample.require_both_classes()
    require_method(method, get_args(TotalRateMethod))
    tail = (1 - require_level(confidence_level)) / 2
    r, moved = nearest_ranks(rates, sample.n_pos + sample.n_neg, "rates")
    pos, neg = _above(sample)
    found = []
    if method == "empirical":
        drawn = _drawn(pos, neg, r, n_resamples, generator(rng, n_resamples))
    for line, (own, other) in enumerate(((pos, neg), (neg, pos))):
        moments = [_moments(int(rank), own, other) for rank in r]
        mean = np.array([pi for pi, _ in moments])
        if method == "empirical":
            low, high = percentiles(drawn[line], tail)
        elif method == "exact":
            laws = (_law(int(rank), own, other) for rank in r)
            ends = [law_ends(0, law, len(law) - 1, tail) for law in laws]
            low, high = np.array(ends).T
        else:
            added = SMOOTHING if method == "agresti" else 0.0
            low, high = _normal_ends(np.array(moments), own.total, tail, added)
        found.append((mean, clipped_intervals(low, high)))
    return _result(sample, r, found, method, float(confidence_level), moved)


@on_sample
def total_rate_law(sample: Sample, rate: float) -> TotalRateLaw:
    """Exact stratified bootstrap laws of the true and the false positives at a total positive rate.

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,)
        Labels and scores, or one `Sample` in their place.
    rate : float
        Within (0, 1); the nearest r / n is used and reported.

    Returns
    -------
    TotalRateLaw

    Raises
    ------
    DegenerateDataError, InputError
        As for `total_rate_intervals`.

    Notes
    -----
    Going down the distinct scores s_k, let B_k positives and F_k negatives of the resample score above s_k,
    and h_k(b) = P(B_k = b) P(F_k < r - b), the law of B_k where s_k still is flagged. Passing s_k, b grows by
    Bin(n_pos - b, c_k / (positives not above)), c_k the positives at s_k. The law of the true positives is
    the sum over k of what that moves: h_k after the step less h_k. Only O(sqrt(n)) scores and counts matter,
    and few steps where few rows tie: O(n) work, absolute error about 1e-12.

    Examples
    --------
    >>> law = total_rate_law([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], 0.5)
    >>> law.tp.round(6).tolist(), law.fp.round(6).tolist()
    ([0.0625, 0.375, 0.5625], [0.4375, 0.375, 0.1875])
    """
    sample.require_both_classes()
    r, _ = nearest_ranks(rate, sample.n_pos + sample.n_neg, "rate")
    if len(r) != 1:
        raise InputError(f"rate must be one number; {len(r)} were given")
    pos, neg = _above(sample)
    return TotalRateLaw(
        rate=float(r[0] / (sample.n_pos + sample.n_neg)),
        tp=_law(int(r[0]), pos, neg),
        fp=_law(int(r[0]), neg, pos),
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
    )


class _Class(NamedTuple):
    """Rows of a class at, and strictly above, each distinct score, decreasing: shapes (k,)."""

    at: Counts
    above: Counts
    total: int


def _above(sample: Sample) -> tuple[_Class, _Class]:
    pos, neg = (
        _Class(count[::-1].astype(np.int64), np.cumsum(count[::-1]).astype(np.int64) - count[::-1], total)
        for count, total in ((sample.pos, sample.n_pos), (sample.neg, sample.n_neg))
    )
    return pos, neg


def _result(
    sample: Sample,
    r: Counts,
    found: list[tuple[Floats, Intervals]],
    method: str,
    confidence_level: float,
    moved: tuple[str, ...],
) -> TotalRateIntervals:
    (tpr, in_pos), (fpr, in_neg) = found
    return TotalRateIntervals(
        rate=r / (sample.n_pos + sample.n_neg),
        tpr=tpr,
        tpr_low=in_pos.low,
        tpr_high=in_pos.high,
        fpr=fpr,
        fpr_low=in_neg.low,
        fpr_high=in_neg.high,
        method=method,
        confidence_level=confidence_level,
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
        caveats=moved + interval_caveats("TPR", tpr, in_pos) + interval_caveats("FPR", fpr, in_neg),
    )


def _window(r: int, own: _Class, other: _Class) -> tuple[int, int]:
    """Scores between the last that is surely flagged and the first that surely is not."""
    mean, reach = _spread(own.total, own.above / own.total, other.total, other.above / other.total)
    flagged, not_flagged = np.flatnonzero(mean + reach < r), np.flatnonzero(mean - reach > r)
    first = int(flagged[-1]) if len(flagged) else 0
    return first, int(not_flagged[0]) if len(not_flagged) else len(mean)


def _spread(m1: int, p: Floats, m2: int, q: Floats) -> tuple[Floats, Floats]:
    """Mean of Bin(m1, p) + Bin(m2, q), and the deviation it exceeds with probability below 1e-16."""
    variance = m1 * p * (1 - p) + m2 * q * (1 - q)
    third = _LOG_NEGLIGIBLE / 3
    return m1 * p + m2 * q, third + np.sqrt(third**2 + 2 * _LOG_NEGLIGIBLE * variance)


def _moments(r: int, own: _Class, other: _Class) -> tuple[float, float]:
    """Chance that a row of a class is flagged, and the covariance of two of its rows; see the Notes."""
    first, stop = _window(r, own, other)
    inside = first + np.flatnonzero(own.at[first:stop])
    p, q, c = own.above[inside] / own.total, other.above[inside] / other.total, own.at[inside] / own.total
    sure = own.above[first] / own.total  # the share of the class at scores that surely are flagged
    fewer, few = _below(r, max(own.total - 2, 0), p, other.total, q)
    one = sure + c @ (p * fewer + (1 - p) * few)
    two = sure**2 + c @ (2 * p * fewer + c * few)
    return float(one), float(two - one**2)


def _below(r: int, m1: int, p: Floats, m2: int, q: Floats) -> tuple[Floats, Floats]:
    """P(S < r - 1) and P(S < r) for S = Bin(m1, p) + Bin(m2, q), each shape (w,).

    Summed from the characteristic function on a lattice that holds all of the mass, where it is not
    negligible: |phi(theta)| <= exp(-variance (1 - cos theta)).
    """
    mean, reach = _spread(m1, p, m2, q)
    low = max(int(np.floor((mean - reach).min(initial=r))), 0)
    high = min(int(np.ceil((mean + reach).max(initial=r))), m1 + m2)
    size = (high - low + 1) | 1
    angle = 2 * np.pi * np.arange(1, size // 2 + 1) / size
    least = (m1 * p * (1 - p) + m2 * q * (1 - q)).min(initial=np.inf)
    angle = angle[least * (1 - np.cos(angle)) <= _LOG_NEGLIGIBLE + 3]
    log_phi = m1 * log_characteristic(angle, p) + m2 * log_characteristic(angle, q)
    phi = np.exp(log_phi - 1j * low * angle[:, np.newaxis])
    tails = []
    for bound in (r - 1, r):
        count = min(max(bound - low, 0), size)
        kernel = -np.expm1(-1j * count * angle) / -np.expm1(-1j * angle)
        tails.append(np.clip((count + 2 * (kernel @ phi).real) / size, 0.0, 1.0))
    return tails[0], tails[1]


def _normal_ends(moments: Floats, m: int, tail: float, added: float) -> tuple[Floats, Floats]:
    pi, covariance = moments.T
    size = m + 2 * added
    pi = (m * pi + added) / size
    variance = pi * (1 - pi) / size + (1 - 1 / size) * (m / size) ** 2 * covariance
    half = normal_quantile(tail) * np.sqrt(np.maximum(variance, 0.0))
    return pi - half, pi + half


def _law(r: int, own: _Class, other: _Class) -> Floats:
    """Law of the flagged rows of a class, shape (total + 1,); see the Notes of `total_rate_law`."""
    n = own.total
    first, stop = _window(r, own, other)
    law = np.zeros(n + 1)
    low, mass = binomial_window(n, own.above[first] / n)
    law[low : low + len(mass)] = mass
    for k in first + np.flatnonzero(own.at[first:stop]):
        low, mass = binomial_window(n, own.above[k] / n)
        held = mass * _fewer(r - np.arange(low, low + len(mass)), other.total, other.above[k] / other.total)
        law[low : low + len(mass)] -= held
        _pass(law, low, held, own.at[k] / (n - own.above[k]))
    return np.maximum(law, 0.0)


def _fewer(bound: Counts, m: int, p: float) -> Floats:
    """P(Bin(m, p) < bound)."""
    low, mass = binomial_window(m, p)
    reached = np.concatenate([[0.0], np.cumsum(mass)])
    return np.asarray(reached[np.clip(bound - low, 0, len(mass))])


def _pass(law: Floats, low: int, held: Floats, share: float) -> None:
    """Add to `law` the mass `held` of the counts from `low` on, each grown by Bin(the rest, share).

    The rarer kind is counted, those that are added or those that stay behind: its laws for different counts
    lie so close together that none of them is lost by starting all at one number.
    """
    n = len(law) - 1
    rest = n - np.arange(low, low + len(held))
    staying = share > 0.5
    p = 1 - share if staying else share
    least, most, third = rest[-1] * p, rest[0] * p, _LOG_NEGLIGIBLE / 3
    reach = third + math.sqrt(third**2 + 2 * _LOG_NEGLIGIBLE * most * (1 - p))
    start, last = max(int(least - reach), 0), min(math.ceil(most + reach), int(rest[0]))
    grown = held * np.exp(log_binomial(rest, np.minimum(start, rest), np.asarray(p)))
    for j in range(start, last + 1):
        if staying:
            law[n - j] += grown.sum()
        else:
            inside = min(len(held), n + 1 - low - j)
            law[low + j : low + j + inside] += grown[:inside]
        grown = grown * (np.maximum(rest - j, 0) * (p / (1 - p) / (j + 1)))


def _drawn(pos: _Class, neg: _Class, r: Counts, n_resamples: int, rng: np.random.Generator) -> Floats:
    """TPR and FPR in drawn resamples, shape (2, n_resamples, h); each resample serves all ranks."""
    drawn = np.empty((2, n_resamples, len(r)))
    for line in range(n_resamples):
        above = [np.cumsum(rng.multinomial(rows.total, rows.at / rows.total)) for rows in (pos, neg)]
        threshold = np.searchsorted(above[0] + above[1], r)
        for label, rows in enumerate((pos, neg)):
            drawn[label, line] = above[label][threshold] / rows.total
    return drawn
