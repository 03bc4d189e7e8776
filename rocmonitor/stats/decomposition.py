"""The change of an AUROC from a reference to a window, split by the groups of a column.

With p_g the share of positives in group g, q_h that of negatives in group h, and a_gh the chance that a
positive of g scores above a negative of h (ties count one half), the AUROC is the sum of p_g q_h a_gh. So a
change of it comes from the mix (p and q) and from the ranking (a), and each of these from single groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats import plotting
from rocmonitor.stats.area.delong import mean_over_pairs
from rocmonitor.stats.grouping import BINS, Codes, Label, grouping
from rocmonitor.stats.nouns import classes, decimals
from rocmonitor.stats.proportion import quantile_beyond
from rocmonitor.stats.result import Table
from rocmonitor.stats.rows import (
    Counts,
    Floats,
    require_classes,
    run_starts,
    same_length,
    same_order,
    valid_labels,
    valid_scores,
)

if TYPE_CHECKING:
    import pandas as pd

Rows = tuple[ArrayLike, ArrayLike, ArrayLike]  # labels, scores and a column of the same rows

ENOUGH = 10  # rows of a class in a group from which its standard error is not called uncertain
CELLS = 4096  # cells of neighbouring scores from which standard errors are taken; areas are of all scores
_FEWEST = 20  # rows from which a column that equals the labels is taken for them
_SHOWN = 8  # groups in a picture


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupChanges(Table):
    """A change of the AUROC, by group.

    The arrays, shape (k,), have one line for each group. `n_pos` and `n_neg` are of the window.

    Attributes
    ----------
    groups: Values of the column, in order, or names of bins; None are the rows without a value.
    mix_parts, ranking_parts: How much a group added to the change by its share of either class, and by its
        ranking, within it and against the others. All together they add up to `change`.
    excess: What `ranking_parts` is beyond the group's share of `ranking`, by its share of the rows. It is 0
        where a group ranks as much better or worse as all others do: of every group of an irrelevant column.
    mix_se, ranking_se, excess_se, se: Standard errors: of `mix_parts`, of `ranking_parts`, of `excess`, and
        of both parts of a group together.
    pvalue: That both parts of a group together are 0, by the normal law, two-sided; 1 where `se` is 0.
    pos_reference, neg_reference, pos_window, neg_window: Rows of the group by class.
    change, change_se: ``auc - reference_auc``, and its standard error.
    mix, ranking: The two parts of `change`.
    reference_auc, auc: Of the reference and of the window.
    """

    groups: tuple[Label, ...]
    mix_parts: Floats
    mix_se: Floats
    ranking_parts: Floats
    ranking_se: Floats
    excess: Floats
    excess_se: Floats
    se: Floats
    pvalue: Floats
    pos_reference: Counts
    neg_reference: Counts
    pos_window: Counts
    neg_window: Counts
    change: float
    change_se: float
    mix: float
    ranking: float
    reference_auc: float
    auc: float
    n_pos: int
    n_neg: int
    n_pos_reference: int
    n_neg_reference: int
    caveats: tuple[Caveat, ...] = ()

    _estimate = "change"
    _flat = True

    @property
    def parts(self) -> Floats:
        """The change by group: both parts together, shape (k,)."""
        return self.mix_parts + self.ranking_parts

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one row for each group, named in the column ``group``."""
        frame = Table.to_frame(self)
        frame.insert(0, "group", list(self.groups))
        return frame

    def _largest(self) -> list[int]:
        """Return the places of the groups, the one with the largest part first."""
        return [int(at) for at in np.argsort(-np.abs(self.parts), kind="stable")]

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.zero(ax, vertical=True)
        shown = self._largest()[:_SHOWN]
        half, parts = quantile_beyond(0.025) * self.se, self.parts
        plotting.rows(
            ax,
            [_named(self.groups[at]) for at in shown],
            [(float(parts[at]), float(parts[at] - half[at]), float(parts[at] + half[at])) for at in shown],
            x="part of the change of the AUROC, 95 % intervals",
            note=f"AUROC {self.change:+.4f}: mix {self.mix:+.4f}, ranking {self.ranking:+.4f}",
            label=label,
            sign="+",
        )

    def __str__(self) -> str:
        at = self._largest()[0]
        digits = f".{decimals(self.change_se)}f"
        return (
            f"AUROC {self.change:+{digits}} (standard error {self.change_se:{digits}}): mix "
            f"{self.mix:+{digits}}, ranking {self.ranking:+{digits}}; largest part of {len(self.groups)} "
            f"groups: {_named(self.groups[at])} {self.parts[at]:+{digits}} (standard error "
            f"{self.se[at]:{digits}}), {classes(self.n_pos, self.n_neg)}"
        )


def group_changes(reference: Rows, window: Rows, *, bins: int = BINS) -> GroupChanges:
    """Split the change of the AUROC from a reference to a window by the groups of a column.

    Parameters
    ----------
    reference, window : tuple of three array_like, shape (n,) each: ``(y_true, y_score, group)`` of the same
        rows: labels 0 and 1, finite scores, and numbers, texts or truth values. None, NaN and the NA of
        pandas are a group of their own. The two share no row.
    bins: Numbers with more than `bins` values are cut at quantiles of the reference; from 2 to 500.

    Returns
    -------
    Parts in units of the AUROC.

    Raises
    ------
    DegenerateDataError: A sample with one class only.
    InputError: Not three arrays of equal length; unusable labels or scores; a column that is the label or the
        score, an id, dates, numbers in one sample and texts in the other, missing in all rows, or with more
        than 500 values.

    Notes
    -----
    Mix and ranking, Shapley values, are those of docs/method.md, section 8. A group's part of the mix is dp_g
    (sum_h qbar_h abar_gh - c) + dq_g (sum_h pbar_h abar_hg - c) with c = sum pbar_g qbar_h abar_gh: as dp and
    dq add up to 0, a constant changes no sum, and with this one more rows of an average group change nothing.
    Of each pair (g, h) of the ranking half is g's and half is h's. A loss in one group therefore shows in
    part in those it is compared with; `excess` does not count what all groups share. Where one sample lacks a
    pair, a_gh of the other stands for it, and all that the pair does is mix; a pair that both lack counts as
    c.

    Standard errors are those of the delta method: parts are smooth functions of p, q and a, which depend on
    the rows by the placement values of each row in each group of the other class. They assume independent
    rows. From 4,096 runs of scores on, rows are placed by cells of neighbouring runs, which changes a
    standard error by less than 0.1 %; areas and parts stay exact.
    Cost: one sort of each sample and O(n k) for k groups, and 4,096 k² for the standard errors.

    Examples
    --------
    >>> rows = [0, 0, 1, 1] * 2, [1, 2, 3, 4, 1, 3, 2, 4], ["a"] * 4 + ["b"] * 4
    >>> later = [0, 0, 1, 1] * 2, [1, 2, 3, 4, 3, 4, 1, 2], ["a"] * 4 + ["b"] * 4
    >>> found = group_changes(rows, later)
    >>> found.change, found.mix, found.ranking
    (-0.375, 0.0, -0.375)
    >>> found.groups, found.ranking_parts.tolist()
    (('a', 'b'), [-0.09375, -0.28125])
    """
    samples = []
    for rows, name in ((reference, "reference"), (window, "window")):
        y_true, y_score, group = three(rows, name, "group")
        samples.append(ranked_rows(y_true, y_score, name, group=group))
    return changes_by(samples[0], samples[1], reference[2], window[2], bins=bins)


def changes_by(
    reference: RankedRows,
    window: RankedRows,
    group_0: ArrayLike,
    group_1: ArrayLike,
    *,
    bins: int = BINS,
    name: str = "group",
) -> GroupChanges:
    """Split a change by a column of two samples that are ranked already; see `group_changes`."""
    rows = [(reference.positive, reference.score, group_0), (window.positive, window.score, group_1)]
    require_other_column(rows, name)
    grouped = grouping(group_0, group_1, bins=bins, name=name)
    groups = len(grouped.labels)
    sides = _side(reference, grouped.reference, groups), _side(window, grouped.window, groups)
    return _between_sides(*sides, grouped.labels)


def three(rows: object, name: str, third: str) -> tuple[Any, Any, Any]:
    """Return the three parts of the rows of a sample."""
    if not isinstance(rows, tuple | list) or len(rows) != 3:
        raise InputError(f"{name} must be (y_true, y_score, {third}), of the same rows")
    return rows[0], rows[1], rows[2]


class RankedRows(NamedTuple):
    """Labels and scores by row, with the run of each score: neighbours with rows of one class are one run."""

    positive: NDArray[np.bool_]
    score: Floats
    run: NDArray[np.intp]
    runs: int

    @property
    def sizes(self) -> tuple[int, int]:
        """Positives and negatives."""
        n_pos = int(np.count_nonzero(self.positive))
        return n_pos, len(self.positive) - n_pos


class CellCounts(NamedTuple):
    """Rows of each class by group and cell of neighbouring scores, low cells first: (k, c) each."""

    pos: NDArray[Any]
    neg: NDArray[Any]


class _Side(NamedTuple):
    """One sample by group: rows, shares and areas, (k,) and (k, k), and rows by cell, (k, c).

    `area` is 0 where the sample has no pair (not `known`).
    """

    pos: Counts
    neg: Counts
    p: Floats
    q: Floats
    area: Floats
    known: NDArray[np.bool_]
    pos_cells: Floats
    neg_cells: Floats

    @property
    def auc(self) -> float:
        return float(self.p @ self.area @ self.q)


def ranked_rows(y_true: ArrayLike, y_score: ArrayLike, name: str, **columns: Any) -> RankedRows:
    """Return valid rows with their scores ranked; `name` begins the messages. O(n log n)."""
    try:
        same_order(y_true=y_true, y_score=y_score, **columns)
        positive, score = valid_labels(y_true), valid_scores(y_score, "y_score")
        same_length(
            y_true=positive, y_score=score, **{key: np.asarray(column) for key, column in columns.items()}
        )
        n_pos = int(np.count_nonzero(positive))
        require_classes(n_pos, len(positive) - n_pos, at_least=1)
    except InputError as error:
        raise type(error)(f"{name}: {error}") from error
    order = np.argsort(score)
    ordered, ones = score[order], positive[order].astype(np.int64)
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    starts = np.flatnonzero(first)
    pos = np.add.reduceat(ones, starts)
    new_run = run_starts(pos, np.diff(starts, append=len(order)) - pos)
    run = np.empty(len(order), dtype=np.intp)
    run[order] = np.repeat(np.cumsum(new_run) - 1, np.diff(starts, append=len(order)))
    return RankedRows(positive, score, run, int(np.count_nonzero(new_run)))


def require_other_column(samples: Sequence[tuple[NDArray[Any], Floats, ArrayLike]], name: str) -> None:
    """Refuse a column that is the score, or the label, of all samples of (labels, scores, column)."""
    if all(_equal(column, score) for _, score, column in samples):
        raise InputError(
            f"{name} is the score itself: give another column; explain_shift splits by the score"
        )
    rows = sum(len(score) for _, score, _ in samples)
    if rows >= _FEWEST and all(_equal(column, label) for label, _, column in samples):
        raise InputError(f"{name} is the label itself: give a column that is known before the label")


def _equal(column: ArrayLike, values: NDArray[Any]) -> bool:
    given = np.asarray(column)
    return given.dtype.kind in "biuf" and given.shape == values.shape and bool(np.all(given == values))


def changes_of_cells(reference: CellCounts, window: CellCounts, labels: tuple[Label, ...]) -> GroupChanges:
    """Split a change by groups that are counted in the same cells of neighbouring scores.

    Rows of one cell count as level. Counts need not be whole numbers.
    """
    return _between_sides(_side_of_cells(reference, "reference"), _side_of_cells(window, "window"), labels)


def in_errors(effect: Floats, se: Floats) -> Floats:
    """Return how many standard errors each effect lies away from 0; none where the error is 0."""
    return np.where(se > 0, np.abs(effect) / np.where(se > 0, se, 1.0), 0.0)


def parts_of_cells(reference: CellCounts, window: CellCounts) -> Floats:
    """Return the parts of `changes_of_cells` alone: of mix, ranking, both, and the excess, (4, k)."""
    split = _split(_side_of_cells(reference, "reference"), _side_of_cells(window, "window"))
    mix, ranking = split.mix_parts(), split.ranking_parts()
    return np.array([mix, ranking, mix + ranking, ranking - split.rows() * ranking.sum()])


def _side_of_cells(counts: CellCounts, name: str) -> _Side:
    n_pos, n_neg = float(counts.pos.sum()), float(counts.neg.sum())
    require_classes(math.ceil(n_pos), math.ceil(n_neg), what=f"{name}: ")
    pos, neg = counts.pos.sum(axis=1), counts.neg.sum(axis=1)
    # As floats: products of whole numbers take no fast path.
    tables = counts.pos.astype(np.float64), counts.neg.astype(np.float64)
    pairs = np.outer(pos.astype(np.float64), neg)
    area = (tables[0] @ (np.cumsum(tables[1], axis=1) - tables[1] / 2).T) / np.where(pairs > 0, pairs, 1.0)
    return _Side(pos, neg, pos / n_pos, neg / n_neg, area, pairs > 0, *tables)


def _between_sides(old: _Side, new: _Side, labels: tuple[Label, ...]) -> GroupChanges:
    split = _split(old, new)
    variances = [
        _variances(split, side, sign) + _variances(split.turned(), _turned(side), sign)
        for side, sign in ((old, -1.0), (new, 1.0))
    ]
    mix_se, ranking_se, se, excess_se = np.sqrt(np.maximum(sum(variances), 0.0))
    mix_parts, ranking_parts = split.mix_parts(), split.ranking_parts()
    mix, ranking = float(mix_parts.sum()), float(ranking_parts.sum())
    rows, caveats = (old.pos + old.neg, new.pos + new.neg), []
    for sample, seen, there in (("reference", rows[0], rows[1]), ("window", rows[1], rows[0])):
        lacking = np.flatnonzero((seen == 0) & (there > 0))
        if len(lacking):
            names = [_named(labels[at]) for at in lacking.tolist()]
            caveats.append(
                Caveat("groups-lacking", sample=sample, count=len(names), total=len(labels), groups=names)
            )
    few = np.zeros(len(labels), dtype=np.bool_)
    for side in (old, new):
        few |= (np.minimum(side.pos, side.neg) < ENOUGH) & (side.pos + side.neg > 0)
    if few.any():
        count = int(np.count_nonzero(few))
        caveats.append(Caveat("few-rows-per-group", count=count, total=len(labels), enough=ENOUGH))
    return GroupChanges(
        groups=labels,
        mix_parts=mix_parts,
        mix_se=mix_se,
        ranking_parts=ranking_parts,
        ranking_se=ranking_se,
        excess=ranking_parts - split.rows() * ranking,
        excess_se=excess_se,
        se=se,
        pvalue=np.asarray(2 * scipy.special.ndtr(-in_errors(mix_parts + ranking_parts, se))),
        pos_reference=old.pos,
        neg_reference=old.neg,
        pos_window=new.pos,
        neg_window=new.neg,
        change=mix + ranking,
        change_se=math.sqrt(_area_variance(old) + _area_variance(new)),
        mix=mix,
        ranking=ranking,
        reference_auc=old.auc,
        auc=new.auc,
        n_pos=round(float(new.pos.sum())),
        n_neg=round(float(new.neg.sum())),
        n_pos_reference=round(float(old.pos.sum())),
        n_neg_reference=round(float(old.neg.sum())),
        caveats=tuple(caveats),
    )


def _side(sample: RankedRows, codes: Codes, groups: int) -> _Side:
    n_pos, n_neg = sample.sizes
    pos, neg = (np.bincount(codes[rows], minlength=groups) for rows in (sample.positive, ~sample.positive))
    pairs = np.outer(pos, neg).astype(np.float64)

    # Pairs of a positive of g above a negative of h, ties one half, (k, k): exact, O(n k) at most. The larger
    # class is counted along the runs, group by group, and looked up at the rows of the smaller one.
    few_pos = 2 * n_pos <= len(sample.positive)
    few = sample.positive if few_pos else ~sample.positive
    run, group = sample.run[few], codes[few]
    order = np.argsort(codes[~few].astype(np.uint16), kind="stable")
    stops = np.cumsum(np.bincount(codes[~few], minlength=groups))
    wins = np.empty((groups, groups))
    for h, runs in enumerate(np.split(sample.run[~few][order], stops[:-1])):
        at = np.bincount(runs, minlength=sample.runs)
        below_twice = 2 * np.cumsum(at) - at
        twice = below_twice if few_pos else 2 * len(runs) - below_twice
        wins[:, h] = np.bincount(group, weights=twice[run], minlength=groups) / 2
    area = (wins if few_pos else wins.T) / np.maximum(pairs, 1.0)

    cells = min(sample.runs, CELLS)
    cell = sample.run if cells == sample.runs else sample.run * cells // sample.runs
    place = codes * cells + cell
    tables = [
        np.bincount(place[rows], minlength=groups * cells).astype(np.float64).reshape(groups, cells)
        for rows in (sample.positive, ~sample.positive)
    ]
    return _Side(pos, neg, pos / n_pos, neg / n_neg, area, pairs > 0, tables[0], tables[1])


class _Split(NamedTuple):
    """The pieces of the parts; own is the class of the first index, (k,) and (k, k)."""

    own: tuple[Floats, Floats]
    other: tuple[Floats, Floats]
    weight: Floats  # mean of the products of shares, where both samples have the pair; else 0
    gain: Floats  # change of the areas, where both samples have the pair; else 0
    excess: Floats  # mean area less the mean of all, where a sample has the pair; else 0
    known: tuple[NDArray[np.bool_], NDArray[np.bool_]]

    def turned(self) -> _Split:
        known = self.known[0].T, self.known[1].T
        return _Split(self.other, self.own, self.weight.T, self.gain.T, self.excess.T, known)

    def mix_parts(self) -> Floats:
        (mean_own, d_own), (mean_other, d_other) = _mean_and_change(self.own), _mean_and_change(self.other)
        return np.asarray(d_own * (self.excess @ mean_other) + d_other * (mean_own @ self.excess))

    def rows(self) -> Floats:
        return np.asarray((_mean_and_change(self.own)[0] + _mean_and_change(self.other)[0]) / 2)

    def ranking_parts(self) -> Floats:
        moved = self.weight * self.gain
        return np.asarray((moved.sum(axis=1) + moved.sum(axis=0)) / 2)


def _mean_and_change(shares: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    old, new = shares
    return (old + new) / 2, new - old


def _split(old: _Side, new: _Side) -> _Split:
    both, any_side = old.known & new.known, old.known | new.known
    mean = (np.where(old.known, old.area, new.area) + np.where(new.known, new.area, old.area)) / 2
    weights = np.outer(old.p + new.p, old.q + new.q) * any_side
    centre = float((weights * mean).sum() / weights.sum())
    return _Split(
        own=(old.p, new.p),
        other=(old.q, new.q),
        weight=(np.outer(old.p, old.q) + np.outer(new.p, new.q)) / 2 * both,
        gain=(new.area - old.area) * both,
        excess=(mean - centre) * any_side,
        known=(old.known, new.known),
    )


def _turned(side: _Side) -> _Side:
    """Return the sample with the classes exchanged: scores turned around."""
    return _Side(
        side.neg,
        side.pos,
        side.q,
        side.p,
        side.area.T,
        side.known.T,
        side.neg_cells[:, ::-1],
        side.pos_cells[:, ::-1],
    )


def _variances(split: _Split, side: _Side, sign: float) -> Floats:
    """Variances by the class `own` of one sample: of mix, ranking, both, and the excess of ranking, (4, k).

    `sign` is that of the sample in a difference. A row of group g moves part k by what its placements v_h in
    the groups of the other class do, alpha X + beta v_k + gamma Y with X = sum m_gh rbar_h v_h and
    Y = sum w_gh v_h, and by being of group g.
    """
    (mean_own, d_own), (mean_other, d_other) = _mean_and_change(split.own), _mean_and_change(split.other)
    seen = split.known[0] | split.known[1]
    # The share of this sample in the mean area: one half, or all where the other lacks the pair.
    share = side.known / np.maximum(split.known[0].astype(np.float64) + split.known[1], 1.0)
    by_centre = d_own * (seen @ mean_other) + d_other * (mean_own @ seen)
    by_centre = by_centre / (mean_own @ seen @ mean_other)
    k = np.arange(len(mean_own))
    mix = -np.outer(mean_own, by_centre), np.outer(mean_own, d_other) * share, np.zeros_like(share)
    mix[0][k, k] += d_own
    ranking = np.zeros_like(share), sign / 2 * split.weight, sign / 2 * np.eye(len(k))
    lines = (
        mix,
        ranking,
        tuple(a + b for a, b in zip(mix, ranking, strict=True)),
        (ranking[0], ranking[1], ranking[2] - sign * split.rows()),
    )
    moments = _moments(side, share * mean_other, split.weight)
    within = []  # variance of each part by the rows within the groups, (k,)
    for alpha, beta, gamma in lines:
        total = alpha**2 * moments.x[:, np.newaxis] + beta**2 * moments.v + 2 * alpha * beta * moments.xv
        total += gamma**2 * moments.y[:, np.newaxis] + 2 * gamma * (
            alpha * moments.xy[:, np.newaxis] + beta * moments.yv
        )
        within.append(total.sum(axis=0))
    level = split.excess @ mean_other
    of_mix = (split.excess * d_other - np.outer(level, by_centre)) / 2
    of_mix[k, k] += sign * level
    of_ranking = split.gain * side.q / 4
    of_ranking[k, k] += split.gain @ side.q / 4
    of_excess = of_ranking - np.outer(of_ranking.sum(axis=1), split.rows())
    of_excess[k, k] -= split.ranking_parts().sum() / 4
    # Variance of each part by the numbers of rows in the groups; slopes are by share and part.
    slopes = of_mix, of_ranking, of_mix + of_ranking, of_excess
    rows = max(int(side.pos.sum()) - 1, 1)
    between = [side.p @ (slope - side.p @ slope) ** 2 / rows for slope in slopes]
    return np.array(within) + np.array(between)


class _Moments(NamedTuple):
    """Variances of X, Y and v_h within each group of the class, over its rows; covariances likewise."""

    x: Floats
    y: Floats
    xy: Floats
    v: Floats
    xv: Floats
    yv: Floats


def _moments(side: _Side, of_x: Floats, of_y: Floats) -> _Moments:
    """Return the variances of the means over the rows of each group; 0 for a group with one row."""
    # Share of each group below each cell, level rows one half, less one half for digits, (k, c).
    placed = np.cumsum(side.neg_cells, axis=1)
    placed -= side.neg_cells / 2
    placed /= np.maximum(side.neg, 1)[:, np.newaxis]
    placed -= 0.5
    n = np.maximum(side.pos, 1)[:, np.newaxis]
    share = side.pos_cells / n
    x, y = of_x @ placed, of_y @ placed
    x -= (share * x).sum(axis=1, keepdims=True)
    y -= (share * y).sum(axis=1, keepdims=True)
    share_x, share_y = share * x, share * y
    mean = share @ placed.T
    scale = np.where(n > 1, 1 / np.maximum(n - 1, 1), 0.0)
    squares = share @ (placed**2).T - mean**2
    return _Moments(
        x=(share_x * x).sum(axis=1) * scale[:, 0],
        y=(share_y * y).sum(axis=1) * scale[:, 0],
        xy=(share_x * y).sum(axis=1) * scale[:, 0],
        v=np.maximum(squares, 0.0) * scale,
        xv=(share_x @ placed.T) * scale,
        yv=(share_y @ placed.T) * scale,
    )


def _area_variance(side: _Side) -> float:
    """Return the variance of the AUROC of one sample, DeLong's, by its cells."""
    pos, neg = side.pos_cells.sum(axis=0), side.neg_cells.sum(axis=0)
    below, above = np.cumsum(neg) - neg / 2, np.cumsum(pos[::-1])[::-1] - pos / 2
    _, zeta10, zeta01 = mean_over_pairs(below, above, pos, neg)
    return zeta10 / max(float(pos.sum()) - 1, 1) + zeta01 / max(float(neg.sum()) - 1, 1)


def _named(label: Label) -> str:
    return "missing" if label is None else str(label)
