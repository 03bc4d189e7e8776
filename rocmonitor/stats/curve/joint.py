"""Exact joint law of two models' thresholds at one false positive rate.

A resample of `m` negatives holds (both, only 1, only 2) multinomial counts of rows at or above a threshold
of model 1 and one of model 2. With N1, N2 the models' own counts, the r-th largest scores T1, T2 satisfy
P(T1 >= s, T2 >= s') = P(N1 >= r, N2 >= r), and that is all the joint law needs. [DG09] is Dugas and Gadoury
(2009), appendix B, eq. 13 to 19: they take O(n^4) in all. Here one rate takes O(n^1.5): only O(sqrt(n))
thresholds of each model carry mass, and for a pair of them only O(sqrt(n)) counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from rocmonitor.stats.binomial import LOG_NEGLIGIBLE, Counts, Floats, bernstein, log_binomial
from rocmonitor.stats.curve.roc import flagged_table, threshold_levels
from rocmonitor.stats.sample import PairedSample

_LOG_NEGLIGIBLE = 32.0  # exp(-32) = 1e-14: what differences of four probabilities near 1 can resolve
_ROUNDING = 2e-16  # of four probabilities near 1
_FEW = 2000  # pairs up to which a series does not pay
_PAIRS_AT_ONCE = 4096  # twenty arrays of these fit a core's cache
_TOGETHER = 1 << 18  # cells of grids that are filled together, for memory


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThresholdLevels:
    """A paired sample on the scale of its thresholds, the distinct negative scores of each model, decreasing.

    `level_1`, `level_2`, shape (c,), are the first threshold that flags each cell of the sample, their number
    when none does; `above_1`, `above_2` the negatives at or above each threshold, increasing to ``n_neg``.
    """

    level_1: NDArray[np.intp]
    level_2: NDArray[np.intp]
    above_1: Counts
    above_2: Counts

    @classmethod
    def of(cls, pair: PairedSample) -> ThresholdLevels:
        """Return the levels of `pair`."""
        above_1, above_2 = (
            np.cumsum(model.neg[::-1])[model.neg[::-1] > 0] for model in (pair.first, pair.second)
        )
        return cls(
            level_1=threshold_levels(pair.first)[pair.index_1],
            level_2=threshold_levels(pair.second)[pair.index_2],
            above_1=above_1,
            above_2=above_2,
        )

    def flagged(self, counts: Counts, at_1: Counts, at_2: Counts) -> tuple[Counts, Counts, Counts]:
        """Rows at or above both thresholds, shape (w1, w2), and at or above either one, (w1,) and (w2,)."""
        place_1, place_2 = np.searchsorted(at_1, self.level_1), np.searchsorted(at_2, self.level_2)
        shape = len(at_1) + 1, len(at_2) + 1
        both = flagged_table(place_1, place_2, counts, shape).astype(np.int64)
        return both[:-1, :-1], both[:-1, -1], both[-1, :-1]


class ThresholdsLaw(NamedTuple):
    """`weight`, (w1, w2): the probability that model 1 has its threshold number `at_1` and model 2 `at_2`.

    Where `thinned`, a threshold stands for its neighbours too.
    """

    weight: Floats
    at_1: Counts
    at_2: Counts
    thinned: bool


class _Grid(NamedTuple):
    """P(T1, T2 at or above the edges) at one rate: `reach`, which has its borders and lacks the `needed`."""

    r: int
    edges_1: Counts
    edges_2: Counts
    both: Counts
    above_1: Counts
    above_2: Counts
    reach: Floats
    active: NDArray[np.bool_]
    needed: NDArray[np.bool_]


def thresholds_laws(
    pair: PairedSample, levels: ThresholdLevels, ranks: Counts, m: int, most: int
) -> Iterator[ThresholdsLaw]:
    """Joint laws of the r-th largest negative scores of both models in a resample of `m` ([DG09] eq. 19).

    One for each of `ranks`, in order; small grids of several rates are filled together, as calls take longer
    than they do. Cells of probability below about 1e-14 are left out. With more than `most` thresholds of a
    model, those of runs of thresholds are found, exactly, each put on the middle of its run.
    """
    waiting: list[_Grid] = []
    pairs = 0
    for r in ranks.tolist():
        grid = _grid(pair, levels, r, m, most)
        waiting.append(grid)
        pairs += grid.needed.size
        if pairs > _TOGETHER:
            yield from _filled(waiting, m, pair.n_neg)
            waiting, pairs = [], 0
    yield from _filled(waiting, m, pair.n_neg)


def _grid(pair: PairedSample, levels: ThresholdLevels, r: int, m: int, most: int) -> _Grid:
    edges_1, edges_2 = (_edges(r, m, above, pair.n_neg, most) for above in (levels.above_1, levels.above_2))
    both, above_1, above_2 = levels.flagged(pair.neg, edges_1, edges_2)
    # P(T_r is at or above a threshold), 0 at the first and 1 at the last.
    reach_1, reach_2 = (
        scipy.special.betainc(r, m - r + 1, above / pair.n_neg) for above in (above_1, above_2)
    )
    reach_1[[0, -1]] = reach_2[[0, -1]] = 0.0, 1.0

    # Where the joint law may hold more than about 1e-14 in a cell between neighbouring edges. Draws of model
    # 1 are uniform numbers: with the r-th smallest at u, r - 1 of the others are uniform below u and m - r
    # above it, so that the second model's count is a sum of two binomials and at most 1, its shares between
    # those at the two edges about u. Bernstein's bound of that sum, beside the mass of the edges.
    inside = both / np.maximum(above_1, 1)[:, np.newaxis]
    outside = (above_2 - both) / np.maximum(pair.n_neg - above_1, 1)[:, np.newaxis]
    low_in, high_in = np.minimum(inside[1:], inside[:-1]), np.maximum(inside[1:], inside[:-1])
    low_out, high_out = np.minimum(outside[1:], outside[:-1]), np.maximum(outside[1:], outside[:-1])
    least, largest = (r - 1) * low_in + (m - r) * low_out, (r - 1) * high_in + (m - r) * high_out
    spread = (r - 1) * high_in * (1 - low_in) + (m - r) * high_out * (1 - low_out)
    with np.errstate(divide="ignore"):
        log_mass = np.log(np.maximum(np.diff(reach_1), 0.0))
    wide = bernstein(spread, np.maximum(_LOG_NEGLIGIBLE + log_mass, 0.0)[:, np.newaxis])
    # Not all of the cell's first edge reaches r, and not none of its second.
    active = (least[:, :-1] - wide[:, :-1] < r) & (largest[:, 1:] + 1 + wide[:, 1:] >= r)

    needed = np.zeros(both.shape, dtype=np.bool_)  # the corners of active cells
    for rows in (slice(None, -1), slice(1, None)):
        for columns in (slice(None, -1), slice(1, None)):
            needed[rows, columns] |= active
    reach = np.zeros(both.shape)
    reach[-1], reach[:, -1] = reach_2, reach_1
    needed[[0, -1]] = needed[:, [0, -1]] = False
    return _Grid(r, edges_1, edges_2, both, above_1, above_2, reach, active, needed)


def _filled(grids: Sequence[_Grid], m: int, n: int) -> Iterator[ThresholdsLaw]:
    """Return the laws of grids: a large one by the series if that holds, all others in one go."""
    inner, others = (slice(1, -1), slice(1, -1)), []
    for grid in grids:
        needed, above_1, above_2 = grid.needed[inner], grid.above_1[1:-1], grid.above_2[1:-1]
        large = np.count_nonzero(grid.needed) > _FEW
        excess = excess_on_grid(grid.r, m, n, grid.both[inner], above_1, above_2, needed) if large else None
        if excess is None:
            others.append(grid)
        else:
            product = np.multiply.outer(grid.reach[1:-1, -1], grid.reach[-1, 1:-1])
            grid.reach[inner] = np.where(needed, product + excess, 0.0)
    places = [np.nonzero(grid.needed) for grid in others]
    if sum(len(i) for i, _ in places):
        both = [grid.both[at] for grid, at in zip(others, places, strict=True)]
        first = [grid.above_1[i] for grid, (i, _) in zip(others, places, strict=True)]
        second = [grid.above_2[j] for grid, (_, j) in zip(others, places, strict=True)]
        r = np.repeat([grid.r for grid in others], [len(i) for i, _ in places])
        inside = np.concatenate(both)
        only = (np.concatenate(above) - inside for above in (first, second))
        reach = both_reach(r, m, n, inside, *only)
        stops = np.cumsum([len(i) for i, _ in places])
        for grid, at, part in zip(others, places, np.split(reach, stops[:-1]), strict=True):
            grid.reach[at] = part
    for grid in grids:
        weight = np.diff(np.diff(grid.reach, axis=0), axis=1) * grid.active
        weight[np.abs(weight) < _ROUNDING] = 0.0
        edges = grid.edges_1, grid.edges_2
        # The middle of the run (e, e'] that ends an interval of edges.
        at_1, at_2 = ((edge[1:] + edge[:-1] + 1) // 2 for edge in edges)
        thinned = max(np.diff(edge[1:]).max(initial=1) for edge in edges) > 1
        yield ThresholdsLaw(weight, at_1, at_2, bool(thinned))


def _edges(r: int, m: int, above: Counts, n: int, most: int) -> Counts:
    """Positions e_0 < e_1 < … of thresholds such that T_r lies after e_0 and not after the last, surely.

    At most `most` + 1 of them, at odd and equal distances but for the last; -1 when nothing comes before.
    """
    tail = math.exp(-_LOG_NEGLIGIBLE)
    ends = scipy.special.betaincinv(r, m - r + 1, tail), scipy.special.betainccinv(r, m - r + 1, tail)
    first, last = np.searchsorted(above, np.multiply(ends, n))
    if last - first < most:
        return np.arange(first - 1, last + 1)
    stride = (last - first) // most + 1
    stride += 1 - stride % 2  # a run of odd length has a middle
    return np.append(np.arange(first - 1, last, stride), last)


def both_reach(r: int | Counts, m: int, n: int, both: Counts, only_1: Counts, only_2: Counts) -> Floats:
    """P(N1 >= r, N2 >= r) in `m` draws out of `n` rows ([DG09] eq. 13), shape (h,); error about 1e-15.

    `both`, `only_1` and `only_2`, shape (h,), are the rows at or above both thresholds, only that of model
    1 and only that of model 2. Let A, B, C count the draws of the three kinds, and N = m - r. Given A = r -
    x, the other N + x draws hold B and C with shares q1 = only_1 / (n - both) and q2. P(B >= x, C >= x)
    falls, when x grows by one, by

        D(x) = NB(x; N, q2) P(Bin(N + 1, b1) >= x) + NB(x; N, q1) P(Bin(N, b2) >= x - 1)

    where NB(x; N, q) = C(N + x - 1, x - 1) q^(x-1) (1-q)^(N+1) and b1 = q1 / (1 - q2), b2 = q2 / (1 - q1).
    Summed by parts, P = 1 - sum over x >= 1 of D(x) P(A <= r - x). Every factor runs along with x by a
    ratio, so a step costs O(1), and only O(sqrt(m)) steps matter.
    """
    p11, q1, q2 = both / n, _share(only_1, n - both), _share(only_2, n - both)
    b1, b2 = _share(only_1, n - both - only_2), _share(only_2, n - both - only_1)
    r = np.broadcast_to(r, both.shape)
    begin, stop = _steps(r, m, p11, q1, q2, b1, b2)
    reach = np.empty(len(both))
    order = np.argsort(begin.min(axis=0), kind="stable")  # neighbours begin alike
    for k in range(0, len(order), _PAIRS_AT_ONCE):
        some = order[k : k + _PAIRS_AT_ONCE]
        shares = [share[some] for share in (p11, q1, q2, b1, b2)]
        # P(Bin(m, both / n) <= count), each combination computed once.
        keys, index = np.unique((r[some] - begin[2, some]) * (n + 1) + both[some], return_inverse=True)
        least, p = keys // (n + 1), keys % (n + 1) / n
        below = np.asarray(scipy.special.betaincc(least + 1, m - least, p)[index], dtype=np.float64)
        alike = r[some[0]] if (r[some] == r[some[0]]).all() else r[some]  # numbers are quicker than arrays
        reach[some] = 1 - _missed(alike, m, begin[:, some], int(stop[some].max()), below, shares)
    return reach


def _missed(r: Counts, m: int, begin: Counts, stop: int, below: Floats, shares: list[Floats]) -> Floats:
    """Sum of D(x) P(A <= r - x) over x <= stop; see `both_reach`.

    Five laws run along: Bin(N + 1, b1) at x, Bin(N, b2) at x - 1, A at r - x, NB(N, q2) and NB(N, q1) at x.
    Each is 0 until its row of `begin`, where it gets its value. The first three eat up P(.. >= x),
    P(.. >= x - 1) and P(A <= r - x), which are 1, 1 and `below` at first.
    """
    N, (x1, x2, xa, y2, y1), (p11, q1, q2, b1, b2) = m - r, begin, shares
    first = np.exp(
        [
            log_binomial(N + 1, x1, b1),
            log_binomial(N, x2 - 1, b2),
            log_binomial(m, r - xa, p11),
            log_binomial(N + y2 - 1, y2 - 1, q2),
            log_binomial(N + y1 - 1, y1 - 1, q1),
        ]
    )
    first[3] *= 1 - q2
    first[4] *= 1 - q1
    # Odds p / (1 - p). Where p = 1 the law is one point, which the recursion starts at or never reaches: 0.
    chances = np.array([b1, b2, 1 - p11])
    odds = np.where(chances < 1, chances, 0.0) / np.where(chances < 1, 1 - chances, 1.0)
    ratio = np.array([*odds, q2, q1])
    law, scaled = np.zeros(begin.shape), np.empty(begin.shape)
    tails = np.array([np.ones(len(p11)), np.ones(len(p11)), below])
    change, missed = np.empty((2, len(p11))), np.zeros(len(p11))
    beginning = _by_step(begin)
    # With several r: no x above min(r, N + 1) counts, but a law at its one point (p = 1) does not see that.
    ending = _by_step(np.minimum(r, N + 1) + 1) if r.ndim else {}
    for x in range(min(beginning), stop + 1):
        if x in beginning:
            law.flat[beginning[x]] = first.flat[beginning[x]]
        if x in ending:
            law[3:, ending[x]] = 0.0
        np.multiply(law[3:], tails[:2], out=change)
        total = np.add(change[0], change[1], out=change[0])
        total *= tails[2]
        missed += total
        tails -= law[:3]
        after = max(x, 1)
        steps = (N + 1 - x) / (x + 1), (N + 1 - x) / after, (r - x) / (N + x + 1), (N + x) / after
        np.multiply(ratio, np.array([*steps, steps[3]]).reshape(5, -1), out=scaled)
        law *= scaled
    return missed


def _steps(
    r: Counts, m: int, p11: Floats, q1: Floats, q2: Floats, b1: Floats, b2: Floats
) -> tuple[Counts, Counts]:
    """For each pair the x at which each of the five laws begins to matter, and the last x that does.

    Before its x a law is negligible (that of A: P(A <= r - x) is 1, or nothing else has begun); after `stop`
    one of P(B >= x), P(C >= x), P(A <= r - x) is negligible.
    """
    N, most = m - r, np.minimum(r, m - r + 1)

    def deviation(variance: Floats, step: Floats | float = 1.0) -> Floats:
        return np.asarray(bernstein(variance, _LOG_NEGLIGIBLE, step))

    nb, stop = [], np.minimum(most, r - m * p11 + deviation(m * p11 * (1 - p11)))
    for q in (q2, q1):
        # Fewer than x among N + x draws: centre N q / (1 - q) in x, deviations shrunk by 1 - q.
        miss = np.maximum(1 - q, 1e-300)
        nb.append(np.clip(np.floor((N * q - deviation(N * q)) / miss), 1, most))
        stop = np.minimum(stop, (N * q + deviation(N * q, 3 * q + 1)) / miss)
    bin_1 = np.clip(np.floor(N * b1 - deviation(N * b1 * (1 - b1))), 0, most)
    bin_2 = np.clip(np.floor(N * b2 - deviation(N * b2 * (1 - b2))) + 1, 1, most)
    last_certain = r - m * p11 - deviation(m * p11 * (1 - p11))
    law_a = np.clip(np.floor(last_certain), np.minimum(*nb), most)
    return np.array([bin_1, bin_2, law_a, *nb]).astype(np.int64), np.ceil(stop).astype(np.int64)


def _by_step(begin: Counts) -> dict[int, NDArray[np.intp]]:
    order = np.argsort(begin, axis=None, kind="stable")
    steps, first = np.unique(begin.ravel()[order], return_index=True)
    return dict(zip(steps.tolist(), np.split(order, first[1:]), strict=True))


def _share(part: Counts, whole: Counts) -> Floats:
    """Part / whole, 0 where there is nothing to share."""
    return np.asarray(part / np.maximum(whole, 1), dtype=np.float64)


_LONGEST = 1000  # terms up to which the series is quicker than `both_reach`
_NEGLIGIBLE = 1e-17  # of the series: it is at most 1
_CELLS_AT_ONCE = 1 << 14  # a few arrays of these fit a core's cache


def excess_on_grid(
    r: int, m: int, n: int, both: Counts, above_1: Counts, above_2: Counts, where: NDArray[np.bool_]
) -> Floats | None:
    """P(N1 >= r, N2 >= r) - P(N1 >= r) P(N2 >= r) for every pair of thresholds, shape (w1, w2).

    1 <= r <= m draws out of `n` rows, of which `both`, shape (w1, w2), lie at or above both thresholds, and
    `above_1` and `above_2` at or above each, neither none nor all. Only the pairs `where` it is asked for are
    right. None where the series would be long or lose digits: |rho| near 1, or r near 0 or m.

    The two counts have the law of Aitken and Gonin (1935): the product of two binomials times the sum of
    rho^i K_i(a) K_i(b), with K_i the Krawtchouk polynomials, orthonormal under each binomial. The excess is
    the sum over i >= 1 of rho^i phi_i(p1) phi_i(p2), with phi_i the sum of Bin(a; m, p) K_i(a) over a >= r:
    phi_i(p) = sqrt(m p (1-p) / i) Bin(r-1; m-1, p) K_(i-1)(r-1) with K for m - 1 draws. It ends at i = m, or
    where the rest is negligible, and is added up from its end (Horner). Error about 1e-13 at m = 10,000.
    """
    p1, p2 = above_1 / n, above_2 / n
    scale = np.sqrt(np.multiply.outer(p1 * (1 - p1), p2 * (1 - p2)))
    rho = (both / n - np.multiply.outer(p1, p2)) / scale
    largest = float(np.abs(rho[where]).max())
    # Terms up to where rho^i is negligible; there are m.
    length = m if largest else 1
    if 0 < largest < 1:
        length = min(m, math.ceil(LOG_NEGLIGIBLE / -math.log(largest)))
    if length > min(_LONGEST, _stable_length(r, m, p1), _stable_length(r, m, p2)):
        return None
    phi_1, phi_2 = np.split(_phi(r, m, np.concatenate([p1, p2]), length), [len(p1)], axis=1)
    excess = np.zeros(rho.shape)
    orders = np.arange(1, length + 1)
    lines = max(1, _CELLS_AT_ONCE // len(p2))
    for first in range(0, len(p1), lines):
        part = slice(first, first + lines)
        seen = np.flatnonzero(where[part].any(axis=0))
        if len(seen):
            across = slice(int(seen[0]), int(seen[-1]) + 1)
            power = rho[part, across]
            steepest = float(np.abs(power[where[part, across]]).max())
            one, other = phi_1[:, part], phi_2[:, across]
            # Far from r the phi are small, too.
            largest = steepest**orders * np.abs(one).max(axis=1) * np.abs(other).max(axis=1)
            last = int(np.count_nonzero(np.cumsum(largest[::-1]) > _NEGLIGIBLE))
            total, term = np.zeros(power.shape), np.empty(power.shape)
            for i in reversed(range(last)):
                total += np.multiply.outer(one[i], other[i], out=term)
                total *= power
            excess[part, across] = total
    return excess


def _phi(r: int, m: int, p: Floats, length: int) -> Floats:
    """phi_1, …, phi_length of `excess_on_grid`, shape (length, w), by the recurrence of orthonormal K."""
    phi = np.empty((length, len(p)))
    M, x, root = m - 1, r - 1, np.sqrt(p * (1 - p))
    away, skewed = (x - p * M) / root, (1 - 2 * p) / root
    before, now = np.zeros(len(p)), math.sqrt(m) * root * np.exp(log_binomial(M, x, p))
    for i in range(length):
        phi[i] = now / math.sqrt(i + 1)
        if i < M:
            after = (away - i * skewed) * now - math.sqrt(i * (M - i + 1)) * before
            before, now = now, after / math.sqrt((i + 1) * (M - i))
    return phi


def _stable_length(r: int, m: int, p: Floats) -> float:
    """Up to which degree K_i(r - 1) oscillates or grows: beyond it K_i fades, and the recurrence loses it."""
    M = m - 1
    away = r - 1 - p * M
    half = (1 - 2 * p) * away + 2 * p * (1 - p) * M
    return float((half + np.sqrt(np.maximum(half**2 - away**2, 0.0))).min())
