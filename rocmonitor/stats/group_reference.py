"""A reference counted by groups of columns and cells of scores, for later windows to be split against."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from rocmonitor.errors import InputError
from rocmonitor.stats.decomposition import (
    CellCounts,
    GroupChanges,
    changes_of_cells,
    in_errors,
    parts_of_cells,
    require_other_column,
)
from rocmonitor.stats.grouping import BINS, Codes, Groups, Label, codes_of, learned_groups, named_groups
from rocmonitor.stats.proportion import Rng
from rocmonitor.stats.rows import Floats

EDGES = 400
"""Scores that part the cells: quantiles of the reference, or all of its scores where it has no more."""

OWN = 2_000  # distinct scores of a window up to which each is a cell of its own
COARSE = 81  # cells in which rows of two columns are counted together
_PAIRED = 6  # columns of which the reference keeps pairs
_MOST_PAIRS = 2_500  # groups of a pair
_DRAWS = 100

MIN_GROUP = 20  # rows from which a value of a column is a group of its own


class ColumnRows(NamedTuple):
    """Rows with a column, or counted groups of equal ones: labels, scores, values, and how many rows each is.

    A label is 1, 0, or -1 where it is not known.
    """

    label: NDArray[np.int8]
    score: Floats
    values: NDArray[Any]
    weight: Codes | None = None


class Split(NamedTuple):
    """A change by the groups of each column; `whole` is that of all rows; and why a column cannot be used.

    `without` returns the change by the groups of a column without the rows of some; by one group that has all
    others if its last argument is true.
    """

    whole: GroupChanges
    columns: dict[str, GroupChanges]
    refused: dict[str, str]
    without: Callable[[str, Collection[Label], bool], GroupChanges]


class PairChange(NamedTuple):
    """A change split by two groups of different columns: rows of both, of the first alone, second, neither.

    `pvalue` is that the rows of both did no more than their share of what either group did; `without` is the
    change of all other rows.
    """

    columns: tuple[str, str]
    groups: tuple[Label, Label]
    changes: GroupChanges
    pvalue: float
    without: GroupChanges


class GroupCounts(NamedTuple):
    """The groups of a column, and their rows by cell: of each group, of other values, without a value."""

    groups: Groups
    counts: CellCounts


class CountedRows(NamedTuple):
    """Rows counted by the groups of a reference, class and cell of scores, as `GroupReference.counted` does.

    Those of two periods add up, where both have the cells of the reference.
    """

    whole: CellCounts
    columns: dict[str, tuple[tuple[Label, ...], CellCounts]]  # the groups, others and missing ones at the end
    refused: dict[str, str]
    pairs: dict[tuple[str, str], CellCounts]

    def plus(self, other: CountedRows) -> CountedRows:
        """Return the rows of both; of what either lacks nothing is known."""
        columns, pairs = {}, {}
        for name in (name for name in self.columns if name in other.columns):
            (ours, counts), (theirs, more) = self.columns[name], other.columns[name]
            known = dict.fromkeys([*ours[:-2], *theirs[:-2]])
            place = {label: at for at, label in enumerate(known)}
            labels = (*known, *ours[-2:])
            both = _with_new(counts, len(labels))
            for table, added in zip(both, more, strict=True):
                table[[*(place[label] for label in theirs[:-2]), -2, -1]] += added
            columns[name] = labels, both
        for names in (names for names in self.pairs if names in other.pairs):
            pairs[names] = CellCounts(*map(np.add, self.pairs[names], other.pairs[names]))
        refused = self.refused | other.refused
        whole = CellCounts(*map(np.add, self.whole, other.whole))
        return CountedRows(whole, columns, refused, pairs)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; cells without rows are left out."""
        return {
            "whole": _sparse(self.whole),
            "columns": {
                name: [list(labels), _sparse(counts)] for name, (labels, counts) in self.columns.items()
            },
            "refused": self.refused,
            "pairs": [[*names, _sparse(counts)] for names, counts in self.pairs.items()],
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupReference:
    """Counts of the reference by group of each column, class and cell of scores; no row is kept."""

    edges: Floats  # scores, increasing. Each is a cell of its own, and so is what lies between two.
    whole: CellCounts  # of all rows, as one group
    columns: dict[str, GroupCounts]
    refused: dict[str, str] = field(default_factory=dict)  # why a column cannot be used, by name
    # Of the rows by the groups of two columns, those of the second within those of the first, in coarse
    # cells; of the first columns only.
    pairs: dict[tuple[str, str], CellCounts] = field(default_factory=dict)

    def counted(
        self, rows: Mapping[str, ColumnRows], *, fewest: int = MIN_GROUP, own: bool = False
    ) -> CountedRows:
        """Count later rows by the groups of the reference, and by new values.

        rows: For each column; those without a label count as negatives, for `expected`.
        fewest: Rows from which a new value is a group of its own.
        own: Rows of at most 2,000 distinct scores get cells of their own: their AUROC is exact. Else they can
            be added to others.

        Cost: O(n log n) for n rows, for each column and pair of columns.
        """
        first = next(iter(rows.values()))
        cells = _Cells(self.edges)
        if own and len(np.unique(first.score[: 2 * OWN])) <= OWN:  # of many rows not all are sorted
            scores = np.unique(first.score)
            cells = _Cells(scores) if len(scores) <= OWN else cells
        columns, refused = dict[str, tuple[tuple[Label, ...], CellCounts]](), dict[str, str]()
        placed = dict[str, Codes]()
        for name, (groups, counts) in self.columns.items():
            column = rows[name]
            try:
                labels, codes = codes_of(groups, column.values, column.weight, fewest=fewest, name=name)
            except InputError as error:
                refused[name] = str(error)
                continue
            columns[name] = labels, cells.counted(column, codes, len(labels))
            new, known = len(labels) - 2, len(counts.pos) - 2
            # Values that the reference lacks are others.
            placed[name] = np.where(codes < known, codes, np.where(codes == new + 1, known + 1, known))
        coarse, pairs = _Cells(self.edges), {}
        for names in self.pairs if first.weight is None else ():
            if placed.keys() >= set(names):
                sizes = self._groups(names)
                both = placed[names[0]] * sizes[1] + placed[names[1]]
                pairs[names] = coarse.counted(first, both, sizes[0] * sizes[1], coarse=True)
        return CountedRows(cells.counted(first, None, 1), columns, refused, pairs)

    def counted_from(self, plain: Mapping[str, Any]) -> CountedRows:
        """Return the inverse of `CountedRows.to_dict`, of rows that were counted by this reference."""
        cells = 2 * len(self.edges) + 1
        return CountedRows(
            whole=_dense(plain["whole"], 1, cells),
            columns={
                name: (tuple(labels), _dense(sparse, len(labels), cells))
                for name, (labels, sparse) in plain["columns"].items()
            },
            refused=dict(plain["refused"]),
            pairs={
                (a, b): _dense(sparse, math.prod(self._groups((a, b))), COARSE)
                for a, b, sparse in plain["pairs"]
            },
        )

    def split(self, window: CountedRows, *, fewest: int = MIN_GROUP) -> Split:
        """Split the change of the AUROC from the reference by the groups of each column.

        window: Labelled rows, counted.
        fewest: Groups with fewer rows, but some, in either sample are pooled.

        As `group_changes` on scores in cells. The AUROC of rows in cells of their own is exact; that of
        others, and of the reference, changes by less than 1e-4, and not at all where the reference has at
        most 400 distinct scores.
        Cost: O(4,001 k²) at most for k groups, for each column.
        """
        whole = changes_of_cells(self.whole, window.whole, ("all",))
        return self._split(whole, window, fewest, changes_of_cells)

    def _split(
        self,
        whole: GroupChanges,
        window: CountedRows,
        fewest: int,
        change: Callable[[CellCounts, CellCounts, tuple[Label, ...]], GroupChanges],
    ) -> Split:
        """Split by each column, with a function of both samples' counts by group."""
        by_column, refused = dict[str, GroupChanges](), self.refused | window.refused
        sides = {}
        for name, (_, counts) in self.columns.items():
            if name in refused:
                continue
            try:
                labels, here = window.columns[name]
                here, before = _pooled(here, _with_new(counts, len(labels)), fewest)
                some = sum(table.sum(axis=1) for table in (*here, *before)) > 0
                labels = tuple(label for label, there in zip(labels, some.tolist(), strict=True) if there)
                old, new = (CellCounts(sample.pos[some], sample.neg[some]) for sample in (before, here))
                by_column[name] = change(old, new, labels)
            except InputError as error:
                refused[name] = str(error)
                continue
            sides[name] = labels, old, new

        def without(name: str, groups: Collection[Label], pooled: bool) -> GroupChanges:
            labels, *samples = sides[name]
            kept = [at for at, label in enumerate(labels) if label not in groups]
            old, new = (CellCounts(sample.pos[kept], sample.neg[kept]) for sample in samples)
            if pooled:
                old, new = (
                    CellCounts(*(table.sum(axis=0)[None] for table in sample)) for sample in (old, new)
                )
                return change(old, new, ("others",))
            return change(old, new, tuple(labels[at] for at in kept))

        return Split(whole, by_column, refused, without)

    def pair_change(
        self,
        window: CountedRows,
        first: tuple[str, Label],
        second: tuple[str, Label],
        *,
        rng: Rng,
        fewest: int = MIN_GROUP,
    ) -> PairChange | None:
        """Split a change by two groups of different columns, each given as (column, group).

        PairChange or None: None where the reference has no counts of the two columns together, or either
            sample has fewer than `fewest` rows of both groups, of one alone, or of neither.

        With t_ab and r_ab the part and the rows of both groups, and a that of the first, tested is
        t_ab - r_ab / r_a t_a, and likewise for the second; the p-value is the larger of the two. The standard
        errors are from 100 Poisson draws of the rows in each cell.
        """
        names = first[0], second[0]
        chosen: list[int | None] = []  # the lines of both groups; the last is that of missing values
        for name, group in (first, second):
            labels_of_column = named_groups(self.columns[name].groups)
            places = {label: at for at, label in enumerate(labels_of_column)}
            chosen.append(len(places) + 1 if group is None else places.get(group))
        if None in chosen or names not in self.pairs or names not in window.pairs:
            return None
        a, b = chosen
        sides, sizes = [], []
        for sample in (self.pairs[names], window.pairs[names]):
            tables = []  # by class, the rows of both groups, the first alone, the second alone, and neither
            for table in sample:
                cells = table.reshape(*self._groups(names), -1)
                both = cells[a, b]
                one, other = cells[a].sum(axis=0) - both, cells[:, b].sum(axis=0) - both
                tables.append(np.array([both, one, other, cells.sum(axis=(0, 1)) - both - one - other]))
            sides.append(CellCounts(*tables))
            sizes.append((sides[-1].pos + sides[-1].neg).sum(axis=1))
        if min(map(min, sizes)) < fewest:
            return None
        labels: tuple[Label, ...] = ("both", "first", "second", "neither")
        changes = changes_of_cells(sides[0], sides[1], labels)
        shares = (sizes[0] / sizes[0].sum() + sizes[1] / sizes[1].sum()) / 2
        generator = np.random.default_rng(rng)
        drawn = [
            _beyond(parts_of_cells(*(CellCounts(*map(generator.poisson, side)) for side in sides))[2], shares)
            for _ in range(_DRAWS)
        ]
        se, ours = np.std(drawn, axis=0, ddof=1), _beyond(changes.parts, shares)
        away = in_errors(ours, se) * np.sign(ours * changes.change)
        pvalue = float(2 * ndtr(-away.min())) if away.min() > 0 else 1.0
        old, new = (CellCounts(side.pos[1:], side.neg[1:]) for side in sides)
        without = changes_of_cells(old, new, labels[1:])
        return PairChange(names, (first[1], second[1]), changes, pvalue, without)

    def _groups(self, names: tuple[str, str]) -> tuple[int, int]:
        """Return the numbers of groups of two columns, with those of other values and of none."""
        return len(self.columns[names[0]].counts.pos), len(self.columns[names[1]].counts.pos)

    def expected(self, window: CountedRows, *, rng: Rng, fewest: int = MIN_GROUP) -> Split:
        """Split the change of the AUROC that the scores of a window lead to, before its labels.

        window: Rows in the cells of the reference, labelled or not; labels are not read.

        Of reference and window, in which each row is a positive as likely as the rows of its cell were in the
        reference. So `whole.reference_auc` is the AUROC of the reference.

        Standard errors are of the numbers of rows by group and cell (100 Poisson draws): the labels that
        these will get, and what the reference lets one expect, are taken as given.
        """
        generator = np.random.default_rng(rng)
        # The share of positives in each cell; between the nearest cells with rows where one has none.
        rows_of_cells = (self.whole.pos + self.whole.neg)[0]
        at = np.flatnonzero(rows_of_cells)
        share = self.whole.pos[0, at] / rows_of_cells[at]
        chance = np.interp(np.arange(len(rows_of_cells)), at, share)

        def change(old: CellCounts, new: CellCounts, labels: tuple[Label, ...]) -> GroupChanges:
            changes = changes_of_cells(_as_expected(old, chance), _as_expected(new, chance), labels)
            drawn = []  # with other rows: as many by group and cell as a Poisson draw gives
            for _ in range(_DRAWS):
                draws = [generator.poisson(side.pos + side.neg) for side in (old, new)]
                drawn.append(parts_of_cells(*(CellCounts(n * chance, n * (1 - chance)) for n in draws)))
            errors = np.std(drawn, axis=0, ddof=1)
            mix_se, ranking_se, se, excess_se = errors
            return replace(
                changes,
                mix_se=mix_se,
                ranking_se=ranking_se,
                se=se,
                excess_se=excess_se,
                pvalue=2 * ndtr(-in_errors(changes.parts, se)),
            )

        whole = changes_of_cells(
            _as_expected(self.whole, chance), _as_expected(window.whole, chance), ("all",)
        )
        return self._split(whole, window, fewest, change)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; cells without rows are left out."""
        return {
            "edges": self.edges.tolist(),
            "whole": _sparse(self.whole),
            "columns": {
                name: {
                    "labels": list(groups.labels),
                    "ends": list(groups.ends),
                    "kind": groups.kind,
                    "cells": _sparse(counts),
                }
                for name, (groups, counts) in self.columns.items()
            },
            "refused": self.refused,
            "pairs": [[*names, _sparse(counts)] for names, counts in self.pairs.items()],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> GroupReference:
        """Return the inverse of `to_dict`."""
        cells = 2 * len(plain["edges"]) + 1
        columns = {}
        for name, column in plain["columns"].items():
            groups = Groups(tuple(column["labels"]), tuple(column["ends"]), column["kind"])
            columns[name] = GroupCounts(groups, _dense(column["cells"], len(named_groups(groups)) + 2, cells))
        sizes = {name: len(column.counts.pos) for name, column in columns.items()}
        return cls(
            edges=np.array(plain["edges"], dtype=np.float64),
            whole=_dense(plain["whole"], 1, cells),
            columns=columns,
            refused=dict(plain["refused"]),
            pairs={(a, b): _dense(sparse, sizes[a] * sizes[b], COARSE) for a, b, sparse in plain["pairs"]},
        )


def group_reference(
    rows: Mapping[str, ColumnRows],
    *,
    fewest: int = MIN_GROUP,
    groups: Mapping[str, Groups] | None = None,
) -> GroupReference:
    """Count the reference by group of each column and cell of scores.

    rows: Labelled rows of the reference, for each column.
    fewest: Rows from which a value is a group of its own; all others are pooled.
    groups: Of columns whose groups are known already.
    """
    if not rows:
        raise InputError("rows has no column: name at least one")
    first = next(iter(rows.values()))
    score = first.score
    if first.weight is not None:  # for quantiles, at most a few million rows
        score = np.repeat(score, np.maximum(first.weight // max(int(first.weight.sum()) // 4_000_000, 1), 1))
    edges = np.unique(score)
    if len(edges) > EDGES:
        ranks = np.linspace(0, len(score) - 1, EDGES).astype(np.intp)
        edges = np.unique(np.partition(score, ranks)[ranks])
    cells = _Cells(edges)
    whole = cells.counted(first, None, 1)
    columns, refused = dict[str, GroupCounts](), dict[str, str]()
    placed = dict[str, Codes]()
    for name, column in rows.items():
        try:
            if column.weight is None:
                require_other_column([(column.label, column.score, column.values)], name)
                require_other_column([(column.label, 0.0 - column.score, column.values)], name)
            column_groups = (groups or {}).get(name) or learned_groups(
                column.values, column.weight, bins=BINS, fewest=fewest, name=name
            )
            # No value is new: all that are in no group are rare.
            labels, codes = codes_of(column_groups, column.values, column.weight, fewest=2**62, name=name)
        except InputError as error:
            refused[name] = str(error)
            continue
        columns[name] = GroupCounts(column_groups, cells.counted(column, codes, len(labels)))
        placed[name] = codes
    pairs = {}
    for names in combinations(list(placed)[:_PAIRED] if first.weight is None else (), 2):
        sizes = len(columns[names[0]].counts.pos), len(columns[names[1]].counts.pos)
        if sizes[0] * sizes[1] <= _MOST_PAIRS:
            both = placed[names[0]] * sizes[1] + placed[names[1]]
            pairs[names] = cells.counted(first, both, sizes[0] * sizes[1], coarse=True)
    return GroupReference(edges=edges, whole=whole, columns=columns, refused=refused, pairs=pairs)


class _Cells:
    """The cells of rows by class and score, remembered while columns share these."""

    def __init__(self, edges: Floats) -> None:
        self._edges, self._score, self._label = edges, np.empty(0), np.empty(0, dtype=np.int8)
        self._at: dict[int, Codes] = {}

    def counted(
        self, rows: ColumnRows, codes: Codes | None, groups: int, *, coarse: bool = False
    ) -> CellCounts:
        """Count rows by class, group and cell; None is one group."""
        most = 2 * len(self._edges) + 1
        cells = COARSE if coarse else most
        if self._score is not rows.score or self._label is not rows.label:
            self._score, self._label, self._at = rows.score, rows.label, {}
        if cells not in self._at:  # the place of each row among those of negatives, followed by positives
            cell = np.searchsorted(self._edges, rows.score, "left")
            cell += np.searchsorted(self._edges, rows.score, "right")
            side = np.maximum(rows.label, 0) * np.intp(cells)
            self._at[cells] = (cell if cells == most else cell * cells // most) + side
        place = self._at[cells]
        if codes is not None:
            place = codes * (2 * cells) + place
        totals = np.bincount(place, weights=rows.weight, minlength=2 * groups * cells)
        table = np.rint(totals).astype(np.int64).reshape(groups, 2, cells)
        return CellCounts(table[:, 1], table[:, 0])


def _beyond(parts: Floats, rows: Floats) -> Floats:
    """Return what both groups did beyond their share of what the first did, and of the second, (2,)."""
    return np.array([parts[0] - rows[0] / (rows[0] + rows[at]) * (parts[0] + parts[at]) for at in (1, 2)])


def _with_new(counts: CellCounts, groups: int) -> CellCounts:
    """Return the counts with lines for the groups that only the window has, before the last two."""
    new = np.zeros((groups - len(counts.pos), counts.pos.shape[1]), dtype=np.int64)
    return CellCounts(*(np.concatenate([count[:-2], new, count[-2:]]) for count in counts))


def _as_expected(counts: CellCounts, chance: Floats) -> CellCounts:
    rows = counts.pos + counts.neg
    return CellCounts(rows * chance, rows * (1 - chance))


def _pooled(here: CellCounts, before: CellCounts, fewest: int) -> tuple[CellCounts, CellCounts]:
    """Return the counts with the rows of rare groups among the others, which are the last but one."""
    rows = [(sample.pos + sample.neg).sum(axis=1) for sample in (here, before)]
    rare = np.any([(row > 0) & (row < fewest) for row in rows], axis=0)
    rare[-2:] = False
    tables = []
    for counts in (*here, *before):
        table = counts.copy()
        table[-2] += table[rare].sum(axis=0)
        table[rare] = 0
        tables.append(table)
    return CellCounts(tables[0], tables[1]), CellCounts(tables[2], tables[3])


def _sparse(counts: CellCounts) -> list[list[int]]:
    """Return the places of all cells that have rows, group after group, their positives and negatives."""
    pos, neg = counts.pos.ravel(), counts.neg.ravel()
    places = np.flatnonzero(pos + neg)
    return [places.tolist(), pos[places].tolist(), neg[places].tolist()]


def _dense(sparse: Sequence[Sequence[int]], groups: int, cells: int) -> CellCounts:
    table = np.zeros((2, groups * cells), dtype=np.int64)
    table[:, sparse[0]] = sparse[1:]
    return CellCounts(*table.reshape(2, groups, cells))
