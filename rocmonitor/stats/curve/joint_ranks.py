"""Two models' thresholds at one rank among all rows, and what they flag of a class: exact, or approximated.

Going down the scores of model i, N_i(k) rows of a resample lie at or above the k-th distinct score, a sum of
two binomials, and the threshold T_i of rank r is the first score at which N_i >= r.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from rocmonitor.stats.binomial import LOG_NEGLIGIBLE, Counts, Floats
from rocmonitor.stats.curve.roc import flagged_table
from rocmonitor.stats.curve.shared_threshold import ClassCounts, class_rows, flagging
from rocmonitor.stats.sample import PairedSample

MOST_STEPS = 3_000_000  # values of characteristic functions that are enumerated for one rank: about 16 rows
THRESHOLDS = 48  # runs of thresholds of a model in the approximation
_LEAST_WEIGHT = 1e-9  # of a pair of thresholds, as a share of the largest
_STEEP = 0.7  # correlation from which the complement is integrated
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(12)
_SMOOTH = 3.0  # variance from which a lattice law may be normal
_REACH = 8.5  # deviations
_FEW_LEVEL = 3  # rows with one score whose number in a resample is as good as a Poisson one
_STEPS = 64
_BEYOND = 3
_FEW_TERMS = 200
_VARIANCES = 8


@dataclass(frozen=True, eq=False)
class RankedPair:
    """A paired sample by distinct scores of both classes together, decreasing.

    `level_1`, `level_2`, shape (c,), are the place of each cell's score; `rows` and `others` its rows of the
    class that is looked at and of the other one; `own_1`, `other_1`, `own_2`, `other_2` the same by distinct
    score of each model.
    """

    level_1: NDArray[np.intp]
    level_2: NDArray[np.intp]
    rows: Counts
    others: Counts
    own_1: ClassCounts
    other_1: ClassCounts
    own_2: ClassCounts
    other_2: ClassCounts

    @classmethod
    def of(cls, pair: PairedSample) -> RankedPair:
        """Return the sample by score; looked at are the positives. Refuse one whose curves have no point."""
        pair.require_both_classes()
        pair.require_distinct_scores()
        level_1 = len(pair.first.score) - 1 - pair.index_1
        level_2 = len(pair.second.score) - 1 - pair.index_2
        return cls(level_1, level_2, pair.pos, pair.neg, *class_rows(pair.first), *class_rows(pair.second))

    def turned(self) -> RankedPair:
        """Return the same with the classes exchanged."""
        return replace(
            self,
            rows=self.others,
            others=self.rows,
            own_1=self.other_1,
            other_1=self.own_1,
            own_2=self.other_2,
            other_2=self.own_2,
        )


def enumerable(ranked: RankedPair) -> bool:
    """Return True if every pair of thresholds is enumerated; the same for both classes."""
    n, m = ranked.own_1.total + ranked.other_1.total, max(ranked.own_1.total, ranked.other_1.total)
    pairs = len(ranked.own_1.at) * len(ranked.own_2.at)
    return pairs * 4 * (m + 1) * (n + 1) ** 2 <= MOST_STEPS


def net_laws(ranked: RankedPair, r: int) -> tuple[NetLaw, NetLaw]:
    """Laws at a rank: of the class that is looked at, and of the other one."""
    if enumerable(ranked):
        return _enumerated(ranked, r), _enumerated(ranked.turned(), r)
    one = _runs(r, ranked.own_1, ranked.other_1)
    two = _runs(r, ranked.own_2, ranked.other_2)
    weight = _weights(ranked, one, two)
    kept = weight > _LEAST_WEIGHT * weight.max()
    weight = weight[kept] / weight[kept].sum()
    own, other = (_quadrants(ranked, rows, one.middle, two.middle) for rows in (ranked.rows, ranked.others))
    terms = []
    for at, (side, rest) in enumerate(((own, other), (other, own))):
        mean, variance, apart = (part[kept] for part in _given_thresholds(side, rest, one, two))
        # A model flags no more than about r rows that the other leaves, and leaves no more than n - r.
        most = min(side.m, r + _BEYOND, side.m + rest.m - r)
        mean, variance, apart = (
            np.clip(mean, -most, most),
            np.minimum(variance, most**2),
            np.minimum(apart, 2 * most),
        )
        exact = side.m * (one.chances[at] - two.chances[at])
        mean = mean + (exact - float(np.sum(weight * mean)))
        terms.append(_Terms(weight, mean, variance, apart, side.m))
    return terms[0], terms[1]


# Exact


class _Enumerated(NamedTuple):
    """Probabilities of -m…m, and the mean of the rows that one model flags alone."""

    mass: Floats
    apart: float

    @property
    def spread(self) -> tuple[float, float, float]:
        count = np.arange(len(self.mass)) - len(self.mass) // 2
        mean = float(self.mass @ count)
        return mean, self.apart, float(self.mass @ (count - mean) ** 2)

    def law(self) -> tuple[int, Floats]:
        return -(len(self.mass) // 2), self.mass


def _enumerated(ranked: RankedPair, r: int) -> _Enumerated:
    """Return the law over all pairs of thresholds.

    With K rows at or strictly above threshold k, L likewise, the law given T_1 = k and T_2 = l is that of
    N_1, N_2 >= r at (at, at) less (strictly, at) and (at, strictly), plus (strictly, strictly). Each is a sum
    over the angles of both counts of the characteristic function and of that of a tail.
    """
    m, n = ranked.own_1.total, ranked.own_1.total + ranked.other_1.total
    angle = 2 * np.pi * np.arange(n + 1) / (n + 1)
    tail = np.exp(-1j * np.outer(angle, np.arange(r, n + 1))).sum(axis=1) / (n + 1)
    of_pair = np.outer(tail, tail)
    turn = np.exp(1j * angle)
    wave = np.exp(2j * np.pi * np.arange(2 * m + 1) / (2 * m + 1))[: m + 1]
    transform, apart = np.zeros(m + 1, dtype=np.complex128), 0.0
    for k in range(len(ranked.own_1.at)):
        above_1 = (ranked.level_1 < k).astype(np.intp) + (ranked.level_1 <= k)
        for level in range(len(ranked.own_2.at)):
            place = 3 * above_1 + (ranked.level_2 < level) + (ranked.level_2 <= level)
            own, other = (
                np.bincount(place, weights=rows, minlength=9).reshape(3, 3) / rows.sum()
                for rows in (ranked.rows, ranked.others)
            )
            for sign, of_1, of_2 in ((1, 1, 1), (-1, 2, 1), (-1, 1, 2), (1, 2, 2)):
                waves, alone = _characteristic(own, of_1, of_2, turn, wave)
                weights = sign * of_pair * _characteristic(other, of_1, of_2, turn, wave[:1])[0][0] ** (n - m)
                transform += np.tensordot(waves**m, weights, axes=2)
                apart += m * float(np.sum(weights * waves[0] ** (m - 1) * alone).real)
    law = np.fft.irfft(np.conj(transform), 2 * m + 1)
    return _Enumerated(np.maximum(np.roll(law, m), 0.0), apart)


def _characteristic(
    share: Floats, of_1: int, of_2: int, turn: NDArray[np.complex128], wave: NDArray[np.complex128]
) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """One row's function of (difference, N_1, N_2), (w, a, a), and its part that one model flags alone."""
    one, two = np.ones_like(turn), np.ones_like(wave)
    total = np.zeros((len(wave), len(turn), len(turn)), dtype=np.complex128)
    alone = np.zeros((len(turn), len(turn)), dtype=np.complex128)
    for u in range(3):
        for v in range(3):
            if share[u, v]:
                counted = np.outer(turn if u >= of_1 else one, turn if v >= of_2 else one) * share[u, v]
                step = (u >= 1) - (v >= 1)
                total += (two if step == 0 else wave if step > 0 else np.conj(wave))[:, None, None] * counted
                if step:
                    alone += counted
    return total, alone


# Approximated


class _Terms(NamedTuple):
    """Pairs of thresholds: their chance, and given them mean and variance of the difference, (w,) each.

    `apart` is the mean of the rows that one model flags alone, `m` the rows of the class.
    """

    weight: Floats
    mean: Floats
    variance: Floats
    apart: Floats
    m: int

    @property
    def spread(self) -> tuple[float, float, float]:
        mean = float(np.sum(self.weight * self.mean))
        variance = np.sum(self.weight * (self.variance + (self.mean - mean) ** 2))
        return mean, float(np.sum(self.weight * self.apart)), float(variance)

    def law(self) -> tuple[int, Floats]:
        """Law with these means and variances: of trinomial differences, or normal where none has them."""
        m = self.m
        weight, mean, variance = _grouped(self)
        mean = np.clip(mean, -m, m)
        gap = mean / m
        share = np.maximum(variance / m + gap**2, 0.0)
        normal = (share < np.abs(gap)) & (variance > _SMOOTH)
        apart = np.clip(share, np.abs(gap), 1.0)
        variance = np.where(normal, variance, m * (apart - gap**2))
        half = _REACH * np.sqrt(variance) + 30
        low, high = max(-m, math.floor((mean - half).min())), min(m, math.ceil((mean + half).max()))
        size = scipy.fft.next_fast_len(high - low + 1, real=True)
        angle = 2 * np.pi * np.arange(size // 2 + 1) / size
        least = float(variance.min())
        angle = angle[least * (1 - np.cos(angle)) <= LOG_NEGLIGIBLE] if least > 0 else angle
        transform = np.zeros(size // 2 + 1, dtype=np.complex128)
        bend, sine = 1 - np.cos(angle), np.sin(angle)
        for part, trinomial in ((~normal, True), (normal, False)):
            if part.any():
                w, g, s = weight[part], gap[part][:, np.newaxis], apart[part][:, np.newaxis]
                if trinomial:
                    with np.errstate(divide="ignore"):
                        power = m * np.log(1 - s * bend + 1j * g * sine)
                else:
                    power = -variance[part][:, np.newaxis] * bend + 1j * mean[part][:, np.newaxis] * angle
                transform[: len(angle)] += np.einsum("w,wa->a", w, np.exp(power - 1j * low * angle))
        law = np.maximum(scipy.fft.irfft(np.conj(transform), size)[: high - low + 1], 0.0)
        return low, np.asarray(law / law.sum())


NetLaw = _Enumerated | _Terms
"""The law of the rows of a class that model 1 flags less those that model 2 flags.

`spread` is the mean, the mean of the rows that one model flags alone, and the variance; `law` the first
difference, and probabilities from there on.
"""


class _Runs(NamedTuple):
    """Runs of thresholds of one model: the first edge has `reach` 0, the last one 1.

    `reach` is the exact chance that the threshold is at or above an edge; `middle` stands for a run. Given
    that it is the threshold, the rows that it flags have about the law of a normal prior of variance `prior`
    after seeing `seen` rows more than expected with a variance of `noise`. `chances` are those of a row of
    either class to be flagged, exactly.
    """

    edge: NDArray[np.int64]
    middle: NDArray[np.int64]
    reach: Floats
    chances: tuple[float, float]
    seen: Floats
    noise: Floats


class _Quadrants(NamedTuple):
    """Shares of a class at or above both thresholds, and above either one, (w1, w2)."""

    both: Floats
    first: Floats
    second: Floats
    m: int

    @property
    def common(self) -> Floats:
        return self.m * (self.both - self.first * self.second)

    @property
    def variances(self) -> tuple[Floats, Floats]:
        return self.m * self.first * (1 - self.first), self.m * self.second * (1 - self.second)


def _runs(r: int, own: ClassCounts, other: ClassCounts) -> _Runs:
    flagged = flagging(r, own, other)
    first, stop = flagged.first, flagged.stop
    count = min(THRESHOLDS, stop - first)
    edge = np.unique(np.rint(np.linspace(first - 1, stop - 1, count + 1)).astype(np.int64))
    reach = np.ones(len(edge))
    reach[0] = 0.0
    reach[1:-1] = np.maximum.accumulate(flagged.reach[edge[1:-1] - first])
    at = (edge[1:] + edge[:-1] + 1) // 2

    # What a score that is the threshold says of the number N of rows at or above it. Given N = x, a share of
    # the x rows is at the score itself, which is the threshold if fewer than r are above. Mean and variance
    # of N - r given this are those of a normal N after seeing N with some noise.
    p, q = ((rows.above[at] + rows.at[at]) / rows.total for rows in (own, other))
    mean, prior = own.m * p + other.m * q, own.m * p * (1 - p) + other.m * q * (1 - q)
    level = (own.at + other.at)[at].astype(np.float64)
    # With few rows at the score, N - r is 0 to M - 1, and M has nearly the law of Poisson.
    beyond, scatter = level / 2, level**2 / 12 + level / 2
    many = (level > _FEW_LEVEL) | (prior < 4 * scatter)
    if many.any():
        share = level[many] / (own.above + own.at + other.above + other.at)[at[many]]
        most = np.minimum(level[many] + 9 * np.sqrt(level[many]) + 9, own.m + other.m - r)
        x = (most[:, np.newaxis] * (np.arange(_STEPS) + 0.5) / _STEPS) + 0.5
        total = r + x
        sd = np.sqrt(np.maximum(total * (share * (1 - share))[:, np.newaxis], 1e-9))
        above = scipy.special.ndtr((r - 0.5 - total * (1 - share)[:, np.newaxis]) / sd)
        off = total - mean[many][:, np.newaxis]
        chance = np.exp(-(off**2) / (2 * np.maximum(prior[many], 1e-9)[:, np.newaxis])) * above
        chance /= np.maximum(chance.sum(axis=1, keepdims=True), 1e-300)
        x -= 0.5
        centre = (chance * x).sum(axis=1)
        beyond[many], scatter[many] = centre, (chance * (x - centre[:, np.newaxis]) ** 2).sum(axis=1)
    rest = np.maximum(1 - scatter / np.maximum(prior, 1e-300), 0.02)
    seen, noise = (r + beyond - mean) / rest, np.minimum(scatter, prior) / rest
    return _Runs(edge, at, reach, (flagged.own, flagged.other), seen, noise)


def _quadrants(ranked: RankedPair, rows: Counts, at_1: Counts, at_2: Counts) -> _Quadrants:
    place_1, place_2 = np.searchsorted(at_1, ranked.level_1), np.searchsorted(at_2, ranked.level_2)
    shape = len(at_1) + 1, len(at_2) + 1
    both = flagged_table(place_1, place_2, rows, shape)
    m = int(both[-1, -1])
    share = both / m
    ones = np.ones((len(at_1), len(at_2)))
    return _Quadrants(share[:-1, :-1], share[:-1, -1:] * ones, share[-1:, :-1] * ones, m)


def _weights(ranked: RankedPair, one: _Runs, two: _Runs) -> Floats:
    """Chances of pairs of runs: exact for each model, tied by a normal law of the two counts."""
    own, other = (
        _quadrants(ranked, rows, one.edge[1:-1], two.edge[1:-1]) for rows in (ranked.rows, ranked.others)
    )
    reach = np.zeros((len(one.edge), len(two.edge)))
    reach[-1], reach[:, -1] = two.reach, one.reach
    reach_1, reach_2 = (
        chances * np.ones(own.both.shape) for chances in (one.reach[1:-1, np.newaxis], two.reach[1:-1])
    )
    v_1, v_2 = (a + b for a, b in zip(own.variances, other.variances, strict=True))
    scale = np.sqrt(np.maximum(v_1 * v_2, 1e-300))
    rho = np.clip((own.common + other.common) / scale, -1.0, 1.0)

    # P(X < x, Y < y) of a standard normal pair, by P(X < x), P(Y < y) and the correlation: the density
    # integrated over the angle of the correlation (Plackett's identity), from 0 or from the end.
    x, y = (np.clip(scipy.special.ndtri(chances), -_REACH, _REACH) for chances in (reach_1, reach_2))
    angle = np.arcsin(rho)
    start = np.where(rho > _STEEP, np.pi / 2, np.where(rho < -_STEEP, -np.pi / 2, 0.0))
    base = np.where(
        rho > _STEEP,
        np.minimum(reach_1, reach_2),
        np.where(rho < -_STEEP, np.maximum(reach_1 + reach_2 - 1, 0.0), reach_1 * reach_2),
    )
    half, total = (angle - start) / 2, np.zeros(rho.shape)
    squares, product = x**2 + y**2, 2 * x * y
    for node, of_node in zip(_NODES, _NODE_WEIGHTS, strict=True):
        t = start + half * (1 + node)
        total += of_node * np.exp((product * np.sin(t) - squares) / (2 * np.maximum(np.cos(t) ** 2, 1e-12)))
    inner = base + half * total / (2 * np.pi)

    # Where one model flags all that the other does, the counts are in order.
    only_1 = own.m * (own.first - own.both) + other.m * (other.first - other.both)
    only_2 = own.m * (own.second - own.both) + other.m * (other.second - other.both)
    inner = np.where(only_1 < 0.5, reach_1, np.where(only_2 < 0.5, reach_2, inner))
    reach[1:-1, 1:-1] = inner
    weight = np.maximum(np.diff(np.diff(reach, axis=0), axis=1), 0.0)
    return np.asarray(weight / weight.sum())


def _given_thresholds(
    own: _Quadrants, other: _Quadrants, one: _Runs, two: _Runs
) -> tuple[Floats, Floats, Floats]:
    """Mean and variance of the difference, and mean of the rows flagged once, as if counts were normal.

    By regression on what is seen of N_1 and N_2: on the mean of both, and on what is left of the difference.
    """
    (own_1, own_2), (other_1, other_2) = own.variances, other.variances
    common = own.common + other.common
    v_1, v_2 = own_1 + other_1 + one.noise[:, np.newaxis], own_2 + other_2 + two.noise
    off_1, off_2 = one.seen[:, np.newaxis], two.seen
    a, b = own.first - own.both, own.second - own.both
    lines = (
        (own.m * (a - b), own_1 - own.common, own.common - own_2),
        (
            own.m * (a + b),
            own.m * (a * (1 - own.first) - b * own.first),
            own.m * (b * (1 - own.second) - a * own.second),
        ),
    )
    middle, apart = np.maximum((v_1 + v_2 + 2 * common) / 4, 1e-300), v_1 + v_2 - 2 * common
    tied = (v_1 - v_2) / 2 / middle
    left = apart - tied**2 * middle
    seen = left > 1e-9 * np.maximum(middle, 1.0)
    left = np.where(seen, left, 1.0)
    at_middle = (off_1 + off_2) / 2
    at_left = np.where(seen, off_1 - off_2 - tied * at_middle, 0.0)
    means, explained = [], []
    for mean, with_1, with_2 in lines:
        by_middle = (with_1 + with_2) / 2
        by_left = with_1 - with_2 - tied * by_middle
        means.append(mean + by_middle / middle * at_middle + by_left / left * at_left)
        explained.append(by_middle**2 / middle + np.where(seen, by_left**2 / left, 0.0))
    variance = own.m * (a + b - (a - b) ** 2) - explained[0]
    disagree = (a + b) > 0
    mean, variance = np.where(disagree, means[0], 0.0), np.where(disagree, np.maximum(variance, 0.0), 0.0)
    return mean, variance, np.clip(means[1], 0.0, own.m)


def _grouped(terms: _Terms) -> tuple[Floats, Floats, Floats]:
    """Weights, means and variances, fewer: those nearly alike are one, with the same moments together."""
    weight, mean, variance = terms.weight, terms.mean, terms.variance
    narrow = math.sqrt(float(np.sum(weight * variance))) / 8
    if len(weight) < _FEW_TERMS or narrow < 1 / 8:
        return weight, mean, variance
    of_mean = ((mean - mean.min()) / narrow).astype(np.intp)
    width = float(np.ptp(variance)) / _VARIANCES or 1.0
    of_variance = np.minimum(((variance - variance.min()) / width).astype(np.intp), _VARIANCES - 1)
    _, group = np.unique(of_mean * _VARIANCES + of_variance, return_inverse=True)
    total: Floats = np.bincount(group, weight).astype(np.float64)
    centre = np.bincount(group, weight * mean) / total
    spread = np.bincount(group, weight * (variance + (mean - centre[group]) ** 2)) / total
    return total, centre, spread
