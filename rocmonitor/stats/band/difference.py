"""A simultaneous band for the difference of the ROC curves of two models on the same rows.

D(t) = R_1(t) - R_2(t) is the difference of the true positive rates at the same false positive rate t. Rows
are drawn with replacement in each class, both scores of a row together. The fluctuation of the difference in
a resample around that in the sample, in standard deviations of the resamples at that rate, has a maximum over
the rates; the quantile of this maximum is laid around the sample's difference at all rates at once.

A resample is a count for every cell of equal rows of a class. The cells are sorted once by each model's
score; after that a resample takes cumulated counts in the two orders, and looks up where the negatives first
reach a rank and how many positives there are by then. Nothing is sorted again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.stats import plotting
from rocmonitor.stats.area.variances import drawing
from rocmonitor.stats.band.drawing import Progress, cumulated, in_parts, require_curve, whole_resamples
from rocmonitor.stats.curve.laws import IntervalTable
from rocmonitor.stats.curve.roc import nearest_ranks
from rocmonitor.stats.proportion import Rng, generator, quantile_beyond, require_level, require_method
from rocmonitor.stats.result import Result
from rocmonitor.stats.rows import Counts, Floats
from rocmonitor.stats.sample import PairedSample, on_pair

DifferenceBandMethod = Literal["studentized-sup", "naive-sup"]

Better = Literal["first", "second"]

SMOOTHING = 4.0
"""Positives added on which the models are assumed to disagree: see the notes of `roc_difference_band`."""

_ENDS = (0.001, 0.002, 0.005)  # rates beside 0.01, 0.02, …, 0.99, at both ends
_LEAST_RANK = 5  # negatives above the first threshold, and below the last
_FEW = 20  # rows of a class: the coverage was not measured with fewer


@dataclass(frozen=True, slots=True, kw_only=True)
class Region(Result):
    """False positive rates, from `low_fpr` to `high_fpr`, at all of which one model is better."""

    # The first and the last rate of the table at which the band leaves 0 out; they may be the same one.
    low_fpr: float
    high_fpr: float
    better: Better  # ``first`` or ``second``
    # The difference of largest size seen in the region, first minus second, and where.
    largest_difference: float
    at_fpr: float

    def __str__(self) -> str:
        return (
            f"{self.better} model better from FPR {self.low_fpr:.4g} to {self.high_fpr:.4g}, "
            f"by up to {abs(self.largest_difference):.4f} at {self.at_fpr:.4g}"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RocDifferenceBand(IntervalTable):
    """A band that holds the difference of two true ROC curves at all its rates with the confidence level.

    Attributes
    ----------
    fpr, shape (h,): False positive rates r / n_neg, increasing, within (0, 1).
    difference, shape (h,): TPR of the first model minus TPR of the second there; straight lines across ties.
    low, high, shape (h,): Ends of the band, within [-1, 1]. Between two rates: on the straight lines (see the
        coverages).
    radius: Half of the band's height before it is clipped: in TPR with "naive-sup"; with "studentized-sup" in
        standard deviations, which vary along the curve.
    n_resamples: Resamples drawn.
    method, confidence_level, n_pos, n_neg, caveats: As in `IntervalTable`; the level is that of the band, and
        so of all its regions together.
    """

    fpr: Floats
    difference: Floats
    low: Floats
    high: Floats
    radius: float
    n_resamples: int

    def regions(self) -> tuple[Region, ...]:
        """From which FPR to which one model is better, all at once with the confidence level.

        Runs of neighbouring rates at which the band lies above 0, or below it; elsewhere models need not be
        equal.
        """
        side = np.where(self.low > 0, 1, np.where(self.high < 0, -1, 0))
        start = np.flatnonzero(np.diff(side, prepend=0))
        stop = np.concatenate([start[1:], [len(side)]])
        regions = []
        for a, b in zip(start, stop[: len(start)], strict=True):
            if not side[a]:
                continue
            largest = a + int(np.argmax(np.abs(self.difference[a:b])))
            region = Region(
                low_fpr=float(self.fpr[a]),
                high_fpr=float(self.fpr[b - 1]),
                better="first" if self.low[a] > 0 else "second",
                largest_difference=float(self.difference[largest]),
                at_fpr=float(self.fpr[largest]),
            )
            regions.append(region)
        return tuple(regions)

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.zero(ax)
        plotting.along(ax, self.fpr, self.difference, self.low, self.high, label=label)
        regions = self.regions()
        for better in sorted({region.better for region in regions}):
            ends = [(region.low_fpr, region.high_fpr) for region in regions if region.better == better]
            plotting.stretches(ax, ends, f"{better} model better")
        about = self._about(f"band for all {len(self.fpr)} rates")
        plotting.describe(ax, x="false positive rate", y="TPR difference, first minus second", note=about)

    def __str__(self) -> str:
        regions = "; ".join(map(str, self.regions())) or "no rate at which one model is clearly better"
        return self._line("Difference of two ROC curves", f"for all {len(self.fpr)} rates") + f": {regions}"


@on_pair
def roc_difference_band(
    pair: PairedSample,
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    rng: Rng | None = None,
    fpr: ArrayLike | None = None,
    method: DifferenceBandMethod = "studentized-sup",
    progress: Progress | None = None,
) -> RocDifferenceBand:
    """Band for the difference of two ROC curves, first minus second, over a range of false positive rates.

    Parameters
    ----------
    confidence_level, n_resamples, rng, progress: As for `roc_band`; `rng` is needed.
    fpr, shape (h,): Rates within (0, 1), in any order; the nearest r / n_neg are used, each once. By default
        0.01, 0.02, …, 0.99 and 0.001, 0.002, 0.005 from either end, but not nearer to an end than 5 negatives
        (a quarter of them where they are fewer than 20): there the curve hangs on single rows.
    method: ``studentized-sup``: the largest fluctuation in standard deviations, narrow where the difference
        is known well; ``naive-sup``: in TPR, the same height at all rates, wider.

    Notes
    -----
    Where both models flag the same positives no resample differs, and the truth still may. So the variance of
    the resamples has 4 / (n_pos + 2)² added at every rate, as if they disagreed on four more positives
    ([AM05] add one at 1.96 deviations; a band is 3 wide), and the radius is at least that of one rate. The
    band of a model against itself is 0 with ends of about ± 4 / n_pos. Coverage by simulation:
    docs/coverage.md.

    Rows and grouped counts, rows in any order, and scores under increasing maps give the same band for the
    same `rng`; with the two models swapped its mirror image. Cost: O(n log n), then O(n + h log n) a
    resample; with 8 rows a cell of equal rows, or more, O(cells + h log n). Memory O(n + B h).

    Examples
    --------
    >>> y, first = [0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8]
    >>> band = roc_difference_band(y, first, [1, 2, 5, 6, 3, 4, 7, 8], fpr=[0.25, 0.5], rng=1)
    >>> band.difference.tolist(), band.regions()
    ([0.5, 0.5], ())
    """
    require_method(method, get_args(DifferenceBandMethod))
    alpha = 1 - require_level(confidence_level)
    require_curve(pair)
    moved: tuple[Caveat, ...] = ()
    if fpr is None:
        rates = np.concatenate([np.arange(1, 100) / 100, _ENDS, 1 - np.array(_ENDS)])
        least = max(1, min(_LEAST_RANK, pair.n_neg // 4))
        ranks = np.clip(np.rint(rates * pair.n_neg), least, pair.n_neg - least).astype(np.int64)
    else:
        ranks, moved = nearest_ranks(fpr, pair.n_neg)
    ranks = np.unique(ranks)
    source = generator(rng, n_resamples, method=method)
    resamples, place, adjusted = whole_resamples(n_resamples, alpha, method)
    rows = pairing(pair)
    difference = rows.observed(ranks)
    fluctuation = np.abs(drawn_differences(rows, ranks, resamples, source, progress) - difference)
    least = SMOOTHING**0.5 / (pair.n_pos + 2)
    sd = np.full(len(ranks), least)
    if method == "studentized-sup":
        sd = np.sqrt(np.mean(fluctuation**2, axis=0) + least**2)
    largest = np.partition((fluctuation / sd).max(axis=1), place)[place]
    half = max(float(largest), quantile_beyond(alpha / 2)) * sd
    caveats = [*moved, *adjusted]
    for name, sample in (("first", pair.first), ("second", pair.second)):
        if tied := np.count_nonzero((sample.pos > 0) & (sample.neg > 0)):
            caveats.append(Caveat("ties-between-classes", tied=tied, distinct=len(sample.score), model=name))
    if min(pair.n_pos, pair.n_neg) < _FEW:
        caveats.append(Caveat("few-rows-for-band", n_pos=pair.n_pos, n_neg=pair.n_neg, enough=_FEW))
    if unchanged := np.count_nonzero(fluctuation.max(axis=0) == 0):
        caveats.append(
            Caveat("resamples-never-differ", unchanged=unchanged, rates=len(ranks), added=SMOOTHING)
        )
    return RocDifferenceBand(
        fpr=ranks / pair.n_neg,
        difference=difference,
        low=np.clip(difference - half, -1.0, 1.0),
        high=np.clip(difference + half, -1.0, 1.0),
        radius=float(half[0] if method == "naive-sup" else half[0] / sd[0]),
        method=method,
        confidence_level=float(confidence_level),
        n_resamples=resamples,
        n_pos=pair.n_pos,
        n_neg=pair.n_neg,
        caveats=tuple(caveats),
    )


_AT_ONCE = 2**15  # rows resampled together: they stay in the processor's cache
_ROWS_PER_CELL = 8  # above, drawing the count of a cell is cheaper than drawing its rows
_BYTE = 256


class OrderedCells(NamedTuple):
    """The cells of one class, by decreasing score of model 1, equal ones by model 2; shape (c,) each."""

    size: Counts  # rows in each cell
    by_2: Counts  # the cells by decreasing score of model 2

    def cumulated(self, times: Counts) -> tuple[Counts, Counts]:
        """Rows among the first 0, 1, …, c cells in the order of model 1, and of model 2, (b, c + 1) each."""
        # One byte a cell, while it holds the counts: three times as fast as eight to put in another order.
        narrow = times.astype(np.uint8) if times.max() < _BYTE else times
        return cumulated(times), cumulated(np.take(narrow, self.by_2, axis=1))


class ScoreOrder(NamedTuple):
    """The order of the cells by one model: by levels, its distinct scores from the highest to the lowest."""

    level: Counts  # of the negatives' cells in the model's order, (c_neg,)
    before_pos: Counts  # cells of positives above each of the k levels, and all of them, (k + 1,)
    before_neg: Counts  # the same of negatives

    def flagged(self, pos: Counts, neg: Counts, ranks: Counts) -> Floats:
        """Positives that the model flags at FPR `ranks` / n_neg of each resample, shape (b, h).

        On a straight line where positives and negatives share the threshold's score.
        """
        line = np.arange(len(neg))[:, np.newaxis]
        level = self.level[np.array([np.searchsorted(reached[1:], ranks) for reached in neg])]
        over, under = neg[line, self.before_neg[level]], neg[line, self.before_neg[level + 1]]
        least, most = pos[line, self.before_pos[level]], pos[line, self.before_pos[level + 1]]
        return np.asarray(least + (most - least) * ((ranks - over) / (under - over)))


class Pairing(NamedTuple):
    """The rows of two models, ready to be resampled."""

    pos: OrderedCells
    neg: OrderedCells
    order_1: ScoreOrder
    order_2: ScoreOrder
    sign: int  # -1 where model 1 here is the second of the two that were given

    def differences(self, times_pos: Counts, times_neg: Counts, ranks: Counts) -> Floats:
        """TPR of the first model given less that of the second, in resamples, at `ranks`, shape (b, h)."""
        pos_1, pos_2 = self.pos.cumulated(times_pos)
        neg_1, neg_2 = self.neg.cumulated(times_neg)
        gap = self.order_1.flagged(pos_1, neg_1, ranks) - self.order_2.flagged(pos_2, neg_2, ranks)
        return np.asarray(gap * (self.sign / int(self.pos.size.sum())) + 0.0)  # no -0

    def observed(self, ranks: Counts) -> Floats:
        """Return the difference in the sample itself, shape (h,)."""
        return self.differences(self.pos.size[np.newaxis], self.neg.size[np.newaxis], ranks).ravel()


def pairing(pair: PairedSample) -> Pairing:
    """Sort the cells by both models: O(c log c).

    Rows and their counts, rows in any order, and the two models swapped all come out the same, but for the
    sign, so that one generator gives all of them the same resamples.
    """
    here, swapped = _cells(pair), _cells(pair.swapped())
    first = min(here, swapped, key=lambda cells: [table.tolist() for table in cells])
    level_1, level_2, pos, neg = first
    of_pos, of_neg = pos > 0, neg > 0
    by_2_pos, by_2_neg = (np.argsort(level_2[seen], kind="stable") for seen in (of_pos, of_neg))
    neg_1, neg_2 = level_1[of_neg], level_2[of_neg][by_2_neg]
    return Pairing(
        OrderedCells(pos[of_pos], by_2_pos),
        OrderedCells(neg[of_neg], by_2_neg),
        ScoreOrder(neg_1, _before(level_1, of_pos), _before(level_1, of_neg)),
        ScoreOrder(neg_2, _before(level_2, of_pos), _before(level_2, of_neg)),
        1 if first is here else -1,  # the smaller table, line by line
    )


def drawn_differences(
    rows: Pairing, ranks: Counts, n_resamples: int, rng: np.random.Generator, progress: Progress | None = None
) -> Floats:
    """`Pairing.differences` of resamples of each class, shape (n_resamples, h): O(n) a resample."""
    drawn = np.empty((n_resamples, len(ranks)))
    at_once = _AT_ONCE // max(int(rows.pos.size.sum()), int(rows.neg.size.sum()), len(ranks))
    for part in in_parts(drawn, at_once, progress, "resamples of the difference of the ROC curves"):
        times_pos, times_neg = (  # how often the resamples hold each cell
            drawing(size, int(size.sum()), rng, _ROWS_PER_CELL)(len(part))
            for size in (rows.pos.size, rows.neg.size)
        )
        part[:] = rows.differences(times_pos, times_neg, ranks)
    return drawn


def _cells(pair: PairedSample) -> tuple[Counts, Counts, Counts, Counts]:
    """Levels of both models, positives and negatives of the distinct cells, sorted by level 1, then 2."""
    level_1 = len(pair.first.score) - 1 - pair.index_1
    level_2 = len(pair.second.score) - 1 - pair.index_2
    key = level_1 * len(pair.second.score) + level_2
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    at = order[first]
    pos, neg = (np.add.reduceat(count[order], first) for count in (pair.pos, pair.neg))
    return level_1[at], level_2[at], pos, neg


def _before(level: Counts, seen: NDArray[np.bool_]) -> Counts:
    """Return how many of the cells `seen` lie above each level, and all of them."""
    return np.concatenate([[0], np.cumsum(np.bincount(level[seen], minlength=int(level.max()) + 1))])
