"""Forecast interval of the difference of two AUCs on the same rows, as far as drift can move it.

As `rocmonitor.stats.forecast.interval` for one AUC ([M18] section 3), with weights u on the negatives and v
on the positives that are the same for both models. What is maximised has the kernel psi_1 - psi_2 of
`rocmonitor.stats.forecast.tilting`; the other end is that of the models swapped.

Rows are cells of pairs of scores. The ceiling of the difference is 1 as soon as one negative is below a
positive in the first order and above it in the second: then all weight goes to negatives with first <= a,
second > b and positives with first > a, second <= b, for some a and b. Otherwise it is that of pairs of rows
which one model ties, 1/2, or less.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import plotting
from rocmonitor.stats.area.delong import ROUNDING
from rocmonitor.stats.forecast.calibration import conformal_root, own_distance
from rocmonitor.stats.forecast.climbing import Extreme, at_limit, closest, highest, optimum
from rocmonitor.stats.forecast.distance import valid_windows
from rocmonitor.stats.forecast.interval import WindowForecast, level_caveats
from rocmonitor.stats.forecast.kld import area
from rocmonitor.stats.forecast.tilting import Ranks, TwoOrders
from rocmonitor.stats.forecast.windows import UsedWindows, contained, found_in, past_of
from rocmonitor.stats.proportion import is_number, require_level
from rocmonitor.stats.rows import Floats, add_up
from rocmonitor.stats.sample import Counts, PairedSample, on_pair

EXACT_CELLS = 50_000  # pairs of scores up to which the ends are found on all of them: a second or two


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastDifference(WindowForecast):
    """The differences of two AUCs that are expected of a coming window.

    Attributes
    ----------
    auc_1, auc_2: Of the reference.
    difference: ``auc_1 - auc_2``.
    low_aucs, high_aucs: The two AUCs of the least favourable population at either end.
    method: "calibrated" by past windows, or "fixed".
    window_distances, window_shifts: The distance D of each window in the order given, and its root sqrt(2 D),
        negative where the window was below the reference.
    inside: Whether the windows were parts of the reference.
    residual: Of the first-order conditions, the larger of the two ends (see `AucBounds`).
    optimum: "proven" if no weights within the distance do better, "searched" if none better were found.
    """

    _estimate: ClassVar[str | None] = "difference"
    _flat: ClassVar[bool] = True

    auc_1: float
    auc_2: float
    difference: float
    low_aucs: tuple[float, float]
    high_aucs: tuple[float, float]
    window_distances: tuple[float, ...]
    window_shifts: tuple[float, ...] = ()
    inside: bool = False
    residual: float
    optimum: str

    def contains(self, difference: float) -> bool:
        """Return True if a difference lies within the interval."""
        return bool(self.low <= difference <= self.high)

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.zero(ax, vertical=True)
        plotting.rows(
            ax,
            ["forecast"],
            [(self.difference, self.low, self.high)],
            x="AUROC difference of a coming window, first minus second",
            note=f"{self.method}, {self._level()}; the point is the reference",
            label=label,
            sign="+",
        )

    def __str__(self) -> str:
        windows = f", {self.n_windows} windows" if self.n_windows else ""
        return (
            f"AUC difference forecast {self.low:+.4f} to {self.high:+.4f} around {self.difference:+.4f} "
            f"({self.method}, {self._level()}, distance {self.distance:.4g}{windows})"
        )


@on_pair
def forecast_difference(
    reference: PairedSample,
    /,
    *,
    distance: float | None = None,
    windows: Sequence[PairedSample] | None = None,
    inside: bool | None = None,
    confidence_level: float = 0.95,
) -> ForecastDifference:
    """Return the interval in which the difference of two AUCs is expected in a coming window.

    Parameters
    ----------
    y_true, score_1, score_2, shape (n,): The reference: labels 0 and 1, and finite scores of the two models.
        Or one `PairedSample`.
    distance: D >= 0, in nats: allow so much, without a level. Else give `windows`.
    windows: Past windows of the same two models, about as large as the coming one: D is the conformal
        quantile of their distances, each the smallest at which a reweighting of the reference has the
        window's difference.
    inside: Whether the windows are parts of the reference, which are taken out of it one by one; without it
        they are if all of them together are contained in it (both scores, both classes).
    confidence_level: Of an interval from windows, within (0, 1).

    Raises
    ------
    InputError: Unusable data (see `PairedSample`); both or none of `distance` and `windows`; a distance that
        is negative or no finite number; something that is no `PairedSample`; a level outside (0, 1).
    DegenerateDataError: A class without rows; no window with both classes; a window whose difference no
        reweighting of the reference reaches.

    Notes
    -----
    The largest sum of u_i v_j (psi_1 - psi_2) over KL(u||f) + KL(v||g) <= D is *the* maximum where its
    multiplier is at most 2, else the best of several starts, in which SLSQP found none better on small
    samples with ties. From the distance on at which the first model orders all pairs of some rows and the
    second turns them round, `high` is exactly 1.

    The level is that of `forecast_interval`. There is no correction for a coming window of another size.
    Cost: O(n log n) to sort the pairs of scores, then O(c) a sweep for c different ones. With more than
    20,000 of them (ends: 50,000) at most 128 by 128 joined cells take their place, and the result is moved to
    the difference of all rows (docs/coverage.md). A million rows take 1 to 3 s for two ends, and 20 windows
    of 50,000 another 4 s.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 0, 1, 1, 0, 1, 1]
    >>> first, second = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [1, 2, 6, 5, 3, 4, 9, 10, 8, 7]
    >>> print(forecast_difference(y, first, second, distance=0.05))
    AUC difference forecast +0.0362 to +0.2030 around +0.1200 (fixed, no level, distance 0.05)
    """
    level = require_level(confidence_level)
    reference.require_both_classes()
    if (distance is None) == (windows is None):
        given = "both were" if distance is not None else "none was"
        raise InputError(
            f"forecast_difference needs distance or windows, one of them; {given} given: past windows give "
            "the interval a level"
        )
    past, achieved = UsedWindows(), None
    if windows is not None:
        given_windows = valid_windows(windows, PairedSample)
        if not given_windows:
            raise InputError("windows is empty; give past windows, or a fixed distance")
        past = past_differences(reference, given_windows, inside=inside)
        ones = np.ones(len(past.shifts))
        root, achieved = conformal_root(np.array(past.shifts), 0 * ones, ones, level, "two-sided")
        distance = own_distance(past.distances, root)
    elif distance is None or not is_number(distance) or not 0 <= distance < math.inf:
        raise InputError(f"distance must be a finite number >= 0; it is {distance}")
    auc_1, auc_2 = area(reference.first), area(reference.second)
    difference = auc_1 - auc_2
    rows, moved = PairedRows.of(reference), 0.0
    kernel = rows.kernel(EXACT_CELLS)
    if kernel.shares.shape[1] != len(rows.first):  # what joining cells took from the difference
        joined = kernel.areas(kernel.shares)
        moved = difference - (joined[0] - joined[1])
    high, low = furthest(kernel, distance), furthest(kernel.swapped(), distance)
    method, n_windows = "fixed" if achieved is None else "calibrated", len(past.shifts)
    shown = level_caveats(method, level, achieved, n_windows, past.inside)
    return ForecastDifference(
        auc_1=auc_1,
        auc_2=auc_2,
        difference=difference,
        low=min(max(moved - low.value, -1.0), difference),
        high=max(min(high.value + moved, 1.0), difference),
        low_aucs=kernel.areas(kernel.shares * low.tilt),
        high_aucs=kernel.areas(kernel.shares * high.tilt),
        distance=float(distance),
        method=method,
        confidence_level=level,
        achieved_level=achieved,
        n_windows=n_windows,
        window_distances=past.distances,
        window_shifts=past.shifts,
        inside=past.inside,
        n_pos=reference.n_pos,
        n_neg=reference.n_neg,
        residual=max(low.residual, high.residual),
        optimum=optimum(kernel.unique, low, high),
        caveats=(*past.caveats, *shown, *_caveats(distance, reference, (low, high))),
    )


def _caveats(distance: float, reference: PairedSample, ends: tuple[Extreme, Extreme]) -> Iterator[Caveat]:
    if distance == 0:
        yield Caveat("zero-distance")
    if np.array_equal(reference.index_1, reference.index_2):
        yield Caveat("same-ranking")
        return
    for name, end in zip(("low", "high"), ends, strict=True):
        if math.isinf(end.multiplier):
            yield Caveat("end-at-limit", end=name)


EXACT_DISTANCES = 20_000  # cells up to which distances, and ends without joined ones first, are found on all
_BINS = 128  # of each order, where cells are joined
_DESCENTS = 50


@dataclass(frozen=True, slots=True)
class Reach(TwoOrders):
    """`TwoOrders` with its true ceiling, so that the largest difference within any distance can be asked."""

    def limit(self) -> Extreme:
        """Return the largest difference of all, at the smallest distance that was found for it."""
        cut = self._cut_between()
        if cut is not None:
            a, b = cut
            sides = (self.first <= a) & (self.second > b), (self.first > a) & (self.second <= b)
            return self._apart(*sides, 1.0)
        if self._better_pair() is None:
            # Cells of the largest psi_1 - psi_2. The models agree on the pair that the first orders right, or
            # on the one that the second orders wrong, or on one that both tie; else no pair is level.
            neg, pos = np.flatnonzero(self.shares[0]), np.flatnonzero(self.shares[1])
            lowest = neg[np.lexsort((-self.second[neg], self.first[neg]))[0]]
            highest = pos[np.lexsort((self.second[pos], -self.first[pos]))[0]]
            above, below = neg[np.argmax(self.second[neg])], pos[np.argmin(self.second[pos])]
            pairs = [(int(lowest), int(highest)), (int(above), int(below))]
            twice = [
                np.sign(self.first[p] - self.first[n]) - np.sign(self.second[p] - self.second[n])
                for n, p in pairs
            ]
            level = self._on_pair(*pairs[int(np.argmax(twice))])
            shares = at_limit(self, np.ones_like(self.shares), 0.0)
            return shares if shares.value >= level.value - ROUNDING else level
        # One model ties what the other orders: a cut within one score of the one that ties.
        ends = (
            _cut_within(self.second, self.first, *self.shares),
            _cut_within(self.first, self.second, *self.shares[::-1]),
        )
        negatives, positives = ends[0][1:] if ends[0][0] <= ends[1][0] else ends[1][:0:-1]
        return self._apart(negatives, positives, 0.5)

    def starts(self) -> list[Floats]:
        """Return those of `TwoOrders`, and the ceiling's own."""
        return [*TwoOrders.starts(self), self.limit().potential]

    def thinned(self) -> tuple[Reach, NDArray[np.intp]] | None:  # type: ignore[override]
        """At most 128 by 128 cells; ties are never split."""
        if self.shares.shape[1] <= EXACT_DISTANCES:
            return None
        first, second = (self._binned(rank)[rank] for rank in (self.first, self.second))
        code = first * _BINS + second
        seen, place = np.unique(code, return_inverse=True)
        shares = np.stack([np.bincount(place, share).astype(np.float64) for share in self.shares])
        return Reach(shares, seen // _BINS, seen % _BINS), place

    def _binned(self, rank: Ranks) -> Ranks:
        """Return the bin of each rank, by equal shares of the two classes; few ranks are their own."""
        mass = np.bincount(rank, self.shares.sum(axis=0) / 2)
        if len(mass) <= _BINS:
            return np.arange(len(mass))
        return np.minimum(((np.cumsum(mass) - mass / 2) * _BINS).astype(np.intp), _BINS - 1)

    def _cut_between(self) -> tuple[int, int] | None:
        """Ranks (a, b) between which the second model turns round what the first orders, or None."""
        # A negative and a positive on either side of both cuts.
        _, positives, highest = self._highest_below()
        lead = highest[self.first[positives]] - self.second[positives]
        place = int(np.argmax(lead))
        if lead[place] <= 0:
            return None
        pair = int(self.first[positives[place]]) - 1, int(self.second[positives[place]])
        on_grid = self._cut_on_grid()
        cuts = [pair] if on_grid is None else [pair, on_grid]
        f, g = self.shares
        descended = []
        for a, b in cuts:
            cost = math.inf
            for _ in range(_DESCENTS):
                a, _ = _cheapest(self.first, f * (self.second > b), g * (self.second <= b))
                b, reached = _cheapest(self.second, g * (self.first > a), f * (self.first <= a))
                if reached >= cost:
                    break
                cost = reached
            descended.append(((a, b), cost))
        return min(descended, key=lambda cut: cut[1])[0]

    def _cut_on_grid(self) -> tuple[int, int] | None:
        bins = [self._binned(rank) for rank in (self.first, self.second)]
        shape = tuple(int(binned[-1]) + 1 for binned in bins)
        code = bins[0][self.first] * shape[1] + bins[1][self.second]
        neg, pos = (
            np.bincount(code, share, minlength=shape[0] * shape[1]).reshape(shape) for share in self.shares
        )
        neg = np.cumsum(np.cumsum(neg, axis=0)[:, ::-1], axis=1)[:, ::-1]  # first <= a, second >= b
        pos = np.cumsum(np.cumsum(pos[::-1], axis=0)[::-1], axis=1)  # first >= a, second <= b
        if 1 in shape:
            return None
        with np.errstate(divide="ignore"):
            cost = -np.log(neg[:-1, 1:]) - np.log(pos[1:, :-1])
        a, b = np.unravel_index(int(np.argmin(cost)), cost.shape)
        if math.isinf(cost[a, b]):
            return None
        last = [
            int(np.searchsorted(binned, at, side="right")) - 1
            for binned, at in zip(bins, (a, b), strict=True)
        ]
        return last[0], last[1]

    def _apart(self, negatives: NDArray[np.bool_], positives: NDArray[np.bool_], value: float) -> Extreme:
        """Return all weight on some cells, on which every pair of rows has the same `value`."""
        tilt = np.stack([negatives, positives]) * (self.shares > 0)
        totals = (self.shares * tilt).sum(axis=1, keepdims=True)
        extreme = at_limit(self, tilt / totals, max(-float(np.log(totals).sum()), 0.0))
        return replace(extreme, value=value)


def furthest(kernel: TwoOrders, distance: float) -> Extreme:
    """Return the largest difference within `distance`, whose ceiling may be nearer than the limit."""
    extreme, ceiling = highest(kernel, distance), kernel.limit().value
    if extreme.value < ceiling - ROUNDING:
        return extreme
    return replace(extreme, value=ceiling, multiplier=math.inf)


class PairedRows(NamedTuple):
    """The different pairs of scores of a `PairedSample`, in the first order, then in the second."""

    first: Ranks
    second: Ranks
    neg: Counts
    pos: Counts
    codes: NDArray[np.int64]  # (k,), increasing: first rank times number of second scores, plus second rank

    @classmethod
    def of(cls, pair: PairedSample) -> PairedRows:
        """O(n log n)."""
        size = max(len(pair.second.score), 1)
        codes, place = np.unique(pair.index_1 * size + pair.index_2, return_inverse=True)
        neg, pos = (add_up(place, counts, len(codes)) for counts in (pair.neg, pair.pos))
        return cls(codes // size, codes % size, neg, pos, codes)

    def kernel(self, exact: int) -> Reach:
        """On all cells up to `exact`, else on joined ones."""
        shares = np.stack([self.neg / self.neg.sum(), self.pos / self.pos.sum()])
        kernel = Reach(shares, self.first, self.second)
        coarse = kernel.thinned() if len(self.first) > exact else None
        return kernel if coarse is None else coarse[0]

    def among(self, pair: PairedSample, window: PairedSample) -> NDArray[np.intp] | None:
        """Return the cell of each cell of a window; None if a pair of scores is not among the rows."""
        first = found_in(pair.first.score, window.first.score)
        second = found_in(pair.second.score, window.second.score)
        if first is None or second is None:
            return None
        code = first[window.index_1] * max(len(pair.second.score), 1) + second[window.index_2]
        at = np.searchsorted(self.codes, code)
        valid = at < len(self.codes)
        return at if valid.all() and (self.codes[at] == code).all() else None


def past_differences(
    pair: PairedSample, windows: Sequence[PairedSample], *, inside: bool | None = None
) -> UsedWindows:
    """Return the distances of all windows with both classes, parts of the reference taken out of it."""
    rows = PairedRows.of(pair)
    parts = contained(rows, windows, lambda window: rows.among(pair, window), inside=inside)
    kernel = rows.kernel(len(rows.first))
    # (2, k): sums of psi_1 - psi_2 of a negative in each cell with all positives, and of a positive.
    gained = kernel.placement(np.stack([rows.neg, rows.pos]).astype(np.float64))
    few, cell = kernel.thinned() or (kernel, np.arange(len(rows.first)))

    def root(place: int) -> tuple[float, float]:
        window, shares = windows[place], few.shares
        n_neg, n_pos = float(rows.neg.sum()), float(rows.pos.sum())
        pairs = float(np.sum(rows.pos * gained[1]))
        own = area(window.first) - area(window.second)
        if parts is not None:
            at = parts[place]
            # Pairs of the rest: all, less those with a row of the window; its own pairs were taken off twice.
            pairs -= float(np.sum(window.neg * gained[0][at]) + np.sum(window.pos * gained[1][at]))
            pairs += own * window.n_neg * window.n_pos
            lost = [add_up(cell[at], counts, shares.shape[1]) for counts in (window.neg, window.pos)]
            left = np.rint(shares * [[n_neg], [n_pos]]) - np.stack(lost)
            shares = left / left.sum(axis=1, keepdims=True)
            n_neg, n_pos = n_neg - window.n_neg, n_pos - window.n_pos
        before = pairs / (n_neg * n_pos)
        if abs(own - before) < ROUNDING:
            return 0.0, 0.0
        distance = _distance(replace(few, shares=shares), before, own, place + 1)
        return distance, math.copysign(math.sqrt(2 * distance), own - before)

    return past_of(pair, windows, root, inside=parts is not None)


def _distance(kernel: TwoOrders, before: float, after: float, number: int) -> float:
    """Return the smallest distance at which the difference `before` becomes `after`."""
    kernel = kernel if after > before else kernel.swapped()
    areas = kernel.areas(kernel.shares)
    # Joined cells have nearly the difference of all: what is asked for is moved as much.
    extreme = closest(kernel, min(areas[0] - areas[1] + abs(after - before), 1.0))
    if extreme is None:
        ahead = "first" if after > before else "second"
        raise DegenerateDataError(
            f"window {number}: no reweighting of the reference moves its difference from {before:+.6g} to "
            f"{after:+.6g}: on no pair of rows is the {ahead} model so far ahead; leave the window out, or "
            "give a distance"
        )
    return extreme.distance


def _cheapest(rank: Ranks, below: Floats, above: Floats) -> tuple[int, float]:
    """Return the cut of one order with the most `below` up to it and `above` after it; its distance."""
    up_to = np.cumsum(np.bincount(rank, below))[:-1]
    after = np.cumsum(np.bincount(rank, above)[::-1])[::-1][1:]
    with np.errstate(divide="ignore"):
        cost = -np.log(up_to) - np.log(after)
    place = int(np.argmin(cost))
    return place, float(cost[place])


def _cut_within(
    group: Ranks, rank: Ranks, below: Floats, above: Floats
) -> tuple[float, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the cheapest cut within a group: its distance, cells of `below` and of `above`."""
    order = np.lexsort((rank, group))
    first = np.concatenate([[True], np.diff(group[order]) > 0])
    start = np.flatnonzero(first)
    number = np.cumsum(first) - 1
    up_to, after = (np.cumsum(share[order]) for share in (below, above))
    up_to = up_to - (up_to[start] - below[order][start])[number]
    after = np.append(after[start[1:] - 1], after[-1])[number] - after
    with np.errstate(divide="ignore"):
        some, others = (np.log(np.where(share > ROUNDING, share, 0.0)) for share in (up_to, after))
    cost = -some - others
    place = order[int(np.argmin(cost))]
    own = group == group[place]
    return float(cost.min()), own & (rank <= rank[place]), own & (rank > rank[place])
