"""The AUC as a kernel: its largest value within a distance, and the starts from which it is searched.

With psi = 1, 1/2, 0 for a positive above, level with or below a negative, psi_pj - psi_qj has one sign for
any p and q and keeps within 1. So the s of `rocmonitor.stats.forecast.climbing` is 1, and multipliers up to 4
prove the maximum. What is special to one order of the scores:

1.  Beyond lambda = 4 there can be several solutions (f = (1, 1, 0)/2, g = (0, 1, 1)/2 has three at
    D = 0.9 ln 2). Each is followed from the complete separation at one threshold.
2.  At D = min_t [ -ln f(x < t) - ln g(y >= t) ] complete separation is affordable and the AUC is exactly
    1: u ln u -> 0, so zero weights do not cost an infinite distance, as [M18] says below eq. 36.

A column of a kernel is one cell, or a cell of negatives and the cell of positives that follows it: of many
scores without ties this halves all arrays.

The difference of two AUCs on the same rows as a kernel, psi_1 - psi_2: the closest population without one.

The s of `rocmonitor.stats.forecast.climbing` is 1 for each psi, so at most 2 for their difference, and it
is 2 where one model turns round what the other does: multipliers up to 4/2 prove the minimum. For a
difference Delta whose placement values have the variances zeta10 and zeta01 the multiplier is about
Delta / (zeta10 + zeta01): the proof holds for models that differ in many pairs and little on balance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rocmonitor.stats.forecast.climbing import Extreme, at_limit
from rocmonitor.stats.rows import Floats, parts, run_starts
from rocmonitor.stats.sample import PairedSample

_STARTS = 32
_THIN = 2048  # cells: more than these are solved on thinned ones first
_THINNING = 16  # cells at most that become one: several times, if need be


def cell_shares(pos: NDArray[np.int64], neg: NDArray[np.int64]) -> Floats:
    """Return the shares of the cells that matter, (2, k); each of the classes, both present, adds up to 1.

    Neighbouring scores that hold the same one class have equal placement values, hence equal tilts, and are
    one cell without any loss.
    """
    start = np.flatnonzero(run_starts(pos, neg))
    counts = np.stack([np.add.reduceat(neg, start), np.add.reduceat(pos, start)])
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def placement(weights: Floats) -> Floats:
    """(2, k): P(a positive is higher) at each cell, and P(a negative is lower)."""
    placed = cumulated(weights)
    for part in parts(weights.shape[1]):
        placed[:, part] -= weights[::-1, part] / 2
    return placed


def cumulated(weights: Floats) -> Floats:
    """(2, k): the positives from each cell on, and the negatives up to it."""
    sums = np.empty_like(weights)
    np.cumsum(weights[1, ::-1], out=sums[0, ::-1])
    np.cumsum(weights[0], out=sums[1])
    return sums


def columns(shares: Floats) -> NDArray[np.intp]:
    """Return the column of each cell, shape (k,), for shares (2, k) at increasing scores."""
    kind = shares > 0
    second = kind[0, :-1] & ~kind[1, :-1] & ~kind[0, 1:] & kind[1, 1:]
    return np.cumsum(np.concatenate([[False], ~second]), dtype=np.intp)


@dataclass(frozen=True, slots=True)
class OneOrder:
    """The AUC of columns at increasing scores (a `Kernel` of `climbing`)."""

    shares: Floats
    level: Floats  # (k,): what its positives and negatives lack to 1: 1/2 of a tie, 0 for positives above
    unique = 4.0  # proven in the module's text

    @classmethod
    def of(cls, shares: Floats) -> OneOrder:
        """From the shares of cells at increasing scores, (2, c); reversed, one minus the AUC."""
        start = np.flatnonzero(np.diff(columns(shares), prepend=-1))
        size = np.diff(start, append=shares.shape[1])
        return cls(np.add.reduceat(shares, start, axis=1), np.where(size == 2, 0.0, 0.5))

    @property
    def joined(self) -> NDArray[np.bool_]:
        """(k,): the columns of two cells."""
        return np.asarray(self.level == 0)

    def placement(self, weights: Floats) -> Floats:
        """Return the placement as the function of this name does; only a column of one score is level."""
        placed = cumulated(weights)
        for part in parts(weights.shape[1]):
            placed[:, part] -= weights[::-1, part] * self.level[part]
        return placed

    def limit(self) -> Extreme:
        """Return the largest AUC that any weights reach, at the smallest distance that it takes."""
        separation = self._separation_distances()
        if math.isfinite(separation.min()):
            cut = int(np.argmin(separation))
            return replace(at_limit(self, self._separated(cut), float(separation[cut])), value=1.0)
        tied = np.all(self.shares > 0, axis=0)
        if tied.any():  # no positive is above a negative, so there is one tie and all weight goes to it
            tilt = tied / np.where(tied, self.shares, 1.0)
            return replace(at_limit(self, tilt, float(-np.log(self.shares[:, tied]).sum())), value=0.5)
        return replace(at_limit(self, np.ones_like(self.shares), 0.0), value=0.0)

    def starts(self) -> list[Floats]:
        """Return the potentials of complete separation at the cheapest cuts, spread over the scores.

        Only local minima of the cost of separation: a cut next to a cheaper one led to nothing better in any
        of the small cases that were searched exhaustively. Within a joined column it is always one: each
        neighbouring cut has one class less on its side. None when the limit is the one tie:
        A = u v / 2 at it, whose logarithm is concave.
        """
        cost, joined = self._separation_distances(), self.joined
        above, below = cumulated(self.shares)
        with np.errstate(divide="ignore"):
            after = -np.log(below[:-1]) - np.log(above[1:])  # all rows of a column below the cut
        least = (cost <= np.append(math.inf, after)) & (cost <= np.append(cost[1:], math.inf))
        cuts = np.flatnonzero((least | joined) & np.isfinite(cost))
        above = np.where(joined, above, np.append(above[1:], 0.0))
        mass = (below + 1 - above)[cuts] / 2
        segment = np.arange(len(cuts)) if len(cuts) <= _STARTS else (mass * _STARTS).astype(np.intp)
        order = np.lexsort((cost[cuts], segment))
        cheapest = order[np.diff(segment[order], prepend=-1) > 0]
        return [self.placement(self.shares * self._separated(int(cut))) for cut in cuts[cheapest]]

    def thinned(self) -> tuple[OneOrder, NDArray[np.intp]] | None:
        """Neighbouring columns added up to fewer of about equal mass.

        The column of the cheapest cut is unchanged, so that complete separation takes the same distance.
        """
        size = self.shares.shape[1]
        if size <= _THIN:
            return None
        groups = max(_THIN, size // _THINNING) - 2
        mass = np.cumsum(self.shares.sum(axis=0)) / 2
        group = np.minimum((mass * groups).astype(np.intp), groups - 1)
        first = np.concatenate([[True], group[1:] != group[:-1]])
        cut = int(np.argmin(self._separation_distances()))
        first[cut : cut + 2] = True
        start = np.flatnonzero(first)
        alone = np.diff(start, append=size) == 1
        level = np.where(alone, self.level[start], 0.5)
        return OneOrder(np.add.reduceat(self.shares, start, axis=1), level), np.cumsum(first) - 1

    def _separation_distances(self) -> Floats:
        """(k,): the cost of all negatives up to each column and all positives after its last negative."""
        above, below = cumulated(self.shares)
        joined = self.joined
        above[:-1] = np.where(joined[:-1], above[:-1], above[1:])
        above[-1] *= joined[-1]
        with np.errstate(divide="ignore"):
            cost: Floats = np.maximum(-np.log(below) - np.log(above), 0.0)
        return cost

    def _separated(self, cut: int) -> Floats:
        """Return the tilt of complete separation after the negatives of column `cut`."""
        tilt, upper = np.zeros_like(self.shares), cut + 1 - int(self.level[cut] == 0)
        tilt[0, : cut + 1] = 1 / self.shares[0, : cut + 1].sum()
        tilt[1, upper:] = 1 / self.shares[1, upper:].sum()
        return tilt


Ranks = NDArray[np.intp]

_MANY = 4096  # cells: with more than these only the median of each order is a cut to start from
_CUTS = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True)
class TwoOrders:
    """The first AUC less the second, of cells with a rank in each order (a `Kernel` of `climbing`)."""

    shares: Floats
    first: Ranks  # (k,): positions of the cells' scores among the distinct ones of the first model
    second: Ranks
    unique = 2.0  # proven in the module's text

    @classmethod
    def of(cls, pair: PairedSample) -> TwoOrders:
        """Return every cell of the sample, in the first order: near in memory is then near in both."""
        order = np.argsort(pair.index_1, kind="stable")
        shares = np.stack([pair.neg[order] / pair.n_neg, pair.pos[order] / pair.n_pos])
        return cls(shares, pair.index_1[order], pair.index_2[order])

    def swapped(self) -> TwoOrders:
        """Return the second AUC less the first, of the same cells."""
        return replace(self, first=self.second, second=self.first)

    def placement(self, weights: Floats) -> Floats:
        """(2, k): differences of the placement values in the two orders."""
        placed = placed_in(self.first, weights)
        placed -= placed_in(self.second, weights)
        return placed

    def areas(self, weights: Floats) -> tuple[float, float]:
        """Return the two AUCs of weights, shape (2, k)."""
        first, second = (placed_in(rank, weights) for rank in (self.first, self.second))
        return float(np.sum(weights[0] * first[0])), float(np.sum(weights[0] * second[0]))

    def limit(self) -> Extreme:
        """Return all weight on one pair of rows that the first model orders better, or the shares themselves.

        This need not be the largest value: any above 0 is enough to bracket equality.
        """
        pair = self._better_pair()
        if pair is None:
            return at_limit(self, np.ones_like(self.shares), 0.0)
        return self._on_pair(*pair)

    def starts(self) -> list[Floats]:
        """Potentials that separate the classes in the first order and turn them round in the second."""
        shares = _CUTS if self.shares.shape[1] <= _MANY else (0.5,)
        mass = self.shares.sum(axis=0) / 2
        good = [_cut(self.first, mass, share) for share in shares]
        bad = [-_cut(self.second, mass, share) for share in shares]
        return [*good, *bad, *(one + other for one in good for other in bad)]

    def thinned(self) -> None:
        """Never: joined neighbours of one order are not neighbours in the other."""

    def _better_pair(self) -> tuple[int, int] | None:
        """Cells of a negative and a positive that the first model orders better than the second; O(k)."""
        negatives, positives, highest = self._highest_below()
        # The highest second score of negatives below a positive in the first order, and of those level too.
        below, level = highest[self.first[positives]], highest[self.first[positives] + 1]
        own = self.second[positives]
        gained = 2 * (below >= own) + (level > own)
        place = int(np.argmax(gained))
        if not gained[place]:
            return None
        positive = positives[place]
        at_most = self.first[positive] - int(below[place] >= own[place])
        lower = negatives[self.first[negatives] <= at_most]
        return int(lower[np.argmax(self.second[lower])]), int(positive)

    def _highest_below(self) -> tuple[Ranks, Ranks, Ranks]:
        """Cells of negatives and of positives; the highest second rank of negatives below each first rank."""
        negatives, positives = np.flatnonzero(self.shares[0]), np.flatnonzero(self.shares[1])
        highest = np.full(int(self.first.max()) + 2, -1, dtype=np.intp)
        np.maximum.at(highest, self.first[negatives] + 1, self.second[negatives])
        return negatives, positives, np.maximum.accumulate(highest, out=highest)

    def _on_pair(self, negative: int, positive: int) -> Extreme:
        cells = (np.arange(2), np.array([negative, positive]))
        tilt = np.zeros_like(self.shares)
        tilt[cells] = 1 / self.shares[cells]
        return at_limit(self, tilt, float(-np.log(self.shares[cells]).sum()))


def placed_in(rank: Ranks, weights: Floats) -> Floats:
    """(2, k): the placement values of the cells in one order."""
    by_rank: Floats = np.stack([np.bincount(rank, weight).astype(np.float64) for weight in weights])
    return placement(by_rank)[:, rank]


def _cut(rank: Ranks, mass: Floats, share: float) -> Floats:
    """(2, k): 1 for negatives up to the quantile of an order, and for positives above it."""
    reached = np.cumsum(np.bincount(rank, mass))
    below = rank <= np.searchsorted(reached, share)
    return np.stack([below, ~below]).astype(np.float64)
