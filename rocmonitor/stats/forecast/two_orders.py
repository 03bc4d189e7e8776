"""The difference of two AUCs on the same rows as a kernel, psi_1 - psi_2: the closest population without one.

The s of `rocmonitor.stats.forecast.climbing` is 1 for each psi, so at most 2 for their difference, and it
is 2 where one model turns round what the other does: multipliers up to 4/2 prove the minimum. For a
difference Delta whose placement values have the variances zeta10 and zeta01 the multiplier is about
Delta / (zeta10 + zeta01): the proof holds for models that differ in many pairs and little on balance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rocmonitor.stats.forecast.climbing import Extreme, at_limit
from rocmonitor.stats.forecast.tilting import placement
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.sample import PairedSample

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
        """Every cell of the sample, in the first order: neighbours in memory are then close in both."""
        order = np.argsort(pair.index_1, kind="stable")
        shares = np.stack([pair.neg[order] / pair.n_neg, pair.pos[order] / pair.n_pos])
        return cls(shares, pair.index_1[order], pair.index_2[order])

    def swapped(self) -> TwoOrders:
        """The second AUC less the first, of the same cells."""
        return replace(self, first=self.second, second=self.first)

    def placement(self, weights: Floats) -> Floats:
        """(2, k): differences of the placement values in the two orders."""
        placed = _placed(self.first, weights)
        placed -= _placed(self.second, weights)
        return placed

    def areas(self, weights: Floats) -> tuple[float, float]:
        """The two AUCs of weights, shape (2, k)."""
        first, second = (_placed(rank, weights) for rank in (self.first, self.second))
        return float(np.sum(weights[0] * first[0])), float(np.sum(weights[0] * second[0]))

    def limit(self) -> Extreme:
        """All weight on one pair of rows that the first model orders better, or the shares themselves.

        This need not be the largest value: any above 0 is enough to bracket equality.
        """
        found = self._better_pair()
        if found is None:
            return at_limit(self, np.ones_like(self.shares), 0.0)
        return self._on_pair(*found)

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
        """All weight on two cells."""
        cells = (np.arange(2), np.array([negative, positive]))
        tilt = np.zeros_like(self.shares)
        tilt[cells] = 1 / self.shares[cells]
        return at_limit(self, tilt, float(-np.log(self.shares[cells]).sum()))


def _placed(rank: Ranks, weights: Floats) -> Floats:
    """(2, k): the placement values of the cells in one order."""
    by_rank: Floats = np.stack([np.bincount(rank, of).astype(np.float64) for of in weights])
    return placement(by_rank)[:, rank]


def _cut(rank: Ranks, mass: Floats, share: float) -> Floats:
    """(2, k): 1 for negatives up to the quantile of an order, and for positives above it."""
    reached = np.cumsum(np.bincount(rank, mass))
    below = rank <= np.searchsorted(reached, share)
    return np.stack([below, ~below]).astype(np.float64)
