"""A reference counted by groups of columns and cells of scores, for later windows to be split against."""

from __future__ import annotations

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

    def split(self, window: Mapping[str, ColumnRows], *, fewest: int = MIN_GROUP) -> Split:
        """Split the change of the AUROC from the reference by the groups of each column.

        window: Labelled rows of the window, for each column.
        fewest: Groups with fewer rows, but some, in either sample are pooled.

        As `group_changes` on scores in cells. A window of at most 2,000 distinct scores has cells of its
        own, so its AUROC is exact; that of more rows, and of the reference, changes by less than 1e-4, and
        not at all where the reference has at most 400 distinct scores.
        Cost: O(n log n) for n rows and O(4,001 k²) at most for k groups, for each column.
        """
        first = next(iter(window.values()))
        cells = self._cells_of(first)
        here = cells.counted(first, None, 1)
        whole = changes_of_cells(self.whole, here, ("all",))
        return self._split(whole, window, fewest, cells, changes_of_cells)

    def _split(
        self,
        whole: GroupChanges,
        window: Mapping[str, ColumnRows],
        fewest: int,
        cells: _Cells,
        change: Callable[[CellCounts, CellCounts, tuple[Label, ...]], GroupChanges],
    ) -> Split:
        """Split by each column, with a function of both samples' counts by group."""
        by_column, refused = dict[str, GroupChanges](), dict(self.refused)
        sides = {}
        for name, (groups, counts) in self.columns.items():
            try:
                labels, old, new = self._sides(name, groups, counts, window[name], fewest, cells)
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
        window: Mapping[str, ColumnRows],
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
        counts = self.pairs.get(names)
        if counts is None:
            return None
        sides, sizes = [], []
        tables = self._pair_counts(window, names, fewest)
        for sample in (counts, tables):
            if sample is None:
                return None
            chosen = [self._places(name, group) for name, group in (first, second)]
            if None in chosen:
                return None
            sides.append(CellCounts(*(_four(table, chosen, self._groups(names)) for table in sample)))
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

    def _pair_counts(
        self, window: Mapping[str, ColumnRows], names: tuple[str, str], fewest: int
    ) -> CellCounts | None:
        codes = []
        for name in names:
            groups, rows = self.columns[name].groups, window[name]
            if rows.weight is not None:
                return None
            labels, numbers = codes_of(groups, rows.values, fewest=fewest, name=name)
            new, known = len(labels) - 2, _size(groups)
            # Values that the reference lacks are others.
            codes.append(np.where(numbers < known, numbers, np.where(numbers == new + 1, known + 1, known)))
        sizes = self._groups(names)
        both = codes[0] * sizes[1] + codes[1]
        return _Cells(self.edges).counted(window[names[0]], both, sizes[0] * sizes[1], coarse=True)

    def _groups(self, names: tuple[str, str]) -> tuple[int, int]:
        return _size(self.columns[names[0]].groups) + 2, _size(self.columns[names[1]].groups) + 2

    def _places(self, name: str, group: Label) -> int | None:
        groups = self.columns[name].groups
        labels = named_groups(groups)
        if group is None:
            return len(labels) + 1
        return labels.index(group) if group in labels else None

    def _cells_of(self, rows: ColumnRows) -> _Cells:
        """Return the cells for the labelled rows of a window: what is compared are areas, of either's own."""
        if len(np.unique(rows.score[: 2 * OWN])) > OWN:  # of many rows not all are sorted
            return _Cells(self.edges)
        own = np.unique(rows.score)
        return _Cells(own if len(own) <= OWN else self.edges)

    def expected(self, window: Mapping[str, ColumnRows], *, rng: Rng, fewest: int = MIN_GROUP) -> Split:
        """Split the change of the AUROC that the scores of a window lead to, before its labels.

        window: Rows of the window for each column, labelled or not; labels are not read.
        rng: For the standard errors.
        fewest: As for `split`.

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
        # Rows that count alike whatever their labels are.
        label = {id(rows.label): np.zeros_like(rows.label) for rows in window.values()}
        unlabelled = {name: rows._replace(label=label[id(rows.label)]) for name, rows in window.items()}
        first = next(iter(unlabelled.values()))
        cells = _Cells(self.edges)

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

        here = _as_expected(cells.counted(first, None, 1), chance)
        whole = changes_of_cells(_as_expected(self.whole, chance), here, ("all",))
        return self._split(whole, unlabelled, fewest, cells, change)

    def _sides(
        self, name: str, groups: Groups, counts: CellCounts, rows: ColumnRows, fewest: int, cells: _Cells
    ) -> tuple[tuple[Label, ...], CellCounts, CellCounts]:
        """Return the groups of a column, and their rows in the reference and in the window."""
        labels, codes = codes_of(groups, rows.values, rows.weight, fewest=fewest, name=name)
        # Groups that only the window has come before the last two.
        added = np.zeros((len(labels) - len(counts.pos), counts.pos.shape[1]), dtype=np.int64)
        wider = CellCounts(*(np.concatenate([table[:-2], added, table[-2:]]) for table in counts))
        here, before = _pooled(cells.counted(rows, codes, len(labels)), wider, fewest)
        some = sum(table.sum(axis=1) for table in (*here, *before)) > 0
        shown = tuple(label for label, there in zip(labels, some.tolist(), strict=True) if there)
        old, new = (CellCounts(sample.pos[some], sample.neg[some]) for sample in (before, here))
        return shown, old, new

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; cells without rows are left out."""
        return {
            "edges": self.edges.tolist(),
            "whole": [_sparse(*lines) for lines in zip(*self.whole, strict=True)],
            "columns": {
                name: {
                    "labels": list(groups.labels),
                    "ends": list(groups.ends),
                    "kind": groups.kind,
                    "cells": [_sparse(*lines) for lines in zip(*counts, strict=True)],
                }
                for name, (groups, counts) in self.columns.items()
            },
            "refused": self.refused,
            "pairs": [
                [*names, [_sparse(*lines) for lines in zip(*counts, strict=True)]]
                for names, counts in self.pairs.items()
            ],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> GroupReference:
        """Return the inverse of `to_dict`."""
        cells = 2 * len(plain["edges"]) + 1
        return cls(
            edges=np.array(plain["edges"], dtype=np.float64),
            whole=_dense(plain["whole"], cells),
            columns={
                name: GroupCounts(
                    Groups(tuple(column["labels"]), tuple(column["ends"]), column["kind"]),
                    _dense(column["cells"], cells),
                )
                for name, column in plain["columns"].items()
            },
            refused=dict(plain["refused"]),
            pairs={(a, b): _dense(lines, COARSE) for a, b, lines in plain["pairs"]},
        )


def group_reference(
    rows: Mapping[str, ColumnRows],
    *,
    fewest: int = MIN_GROUP,
    groups: Mapping[str, Groups] | None = None,
) -> GroupReference:
    """Count the reference by group of each column and cell of scores.

    rows: Labelled rows of the reference, for each column; at least one.
    fewest: Rows from which a value is a group of its own; all others are pooled.
    groups: Of columns whose groups are known already.
    """
    if not rows:
        raise InputError("rows has no column: name at least one")
    first = next(iter(rows.values()))
    edges = _edges(first)
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
        sizes = _size(columns[names[0]].groups) + 2, _size(columns[names[1]].groups) + 2
        if sizes[0] * sizes[1] <= _MOST_PAIRS:
            both = placed[names[0]] * sizes[1] + placed[names[1]]
            pairs[names] = cells.counted(first, both, sizes[0] * sizes[1], coarse=True)
    return GroupReference(edges=edges, whole=whole, columns=columns, refused=refused, pairs=pairs)


def _size(groups: Groups) -> int:
    return len(groups.ends) + 1 if groups.ends else len(groups.labels)


class _Cells:
    """The cells of rows by class and score, remembered while columns share these."""

    def __init__(self, edges: Floats) -> None:
        self._edges, self._score, self._label = edges, np.empty(0), np.empty(0, dtype=np.int8)
        self._at: dict[int, Codes] = {}

    def at(self, rows: ColumnRows, cells: int) -> Codes:
        """Return the place of each row among `cells` of negatives, followed by those of positives."""
        if self._score is not rows.score or self._label is not rows.label:
            self._score, self._label, self._at = rows.score, rows.label, {}
        if cells not in self._at:
            most = 2 * len(self._edges) + 1
            cell = np.searchsorted(self._edges, rows.score, "left")
            cell += np.searchsorted(self._edges, rows.score, "right")
            self._at[cells] = (cell if cells == most else cell * cells // most) + rows.label * np.intp(cells)
        return self._at[cells]

    def counted(
        self, rows: ColumnRows, codes: Codes | None, groups: int, *, coarse: bool = False
    ) -> CellCounts:
        """Count rows by class, group and cell; None is one group."""
        cells = COARSE if coarse else 2 * len(self._edges) + 1
        place = self.at(rows, cells)
        if codes is not None:
            place = codes * (2 * cells) + place
        totals = np.bincount(place, weights=rows.weight, minlength=2 * groups * cells)
        table = np.rint(totals).astype(np.int64).reshape(groups, 2, cells)
        return CellCounts(table[:, 1], table[:, 0])


def _four(table: NDArray[Any], chosen: Sequence[int | None], sizes: tuple[int, int]) -> NDArray[Any]:
    """Return the rows of both groups, the first alone, the second alone, and neither, (4, c)."""
    a, b = chosen
    cells = table.reshape(*sizes, -1)
    both = cells[a, b]
    first, second = cells[a].sum(axis=0) - both, cells[:, b].sum(axis=0) - both
    return np.array([both, first, second, cells.sum(axis=(0, 1)) - both - first - second])


def _beyond(parts: Floats, rows: Floats) -> Floats:
    """Return what both groups did beyond their share of what the first did, and of the second, (2,)."""
    return np.array([parts[0] - rows[0] / (rows[0] + rows[at]) * (parts[0] + parts[at]) for at in (1, 2)])


def _edges(rows: ColumnRows) -> Floats:
    score = rows.score
    if rows.weight is not None:  # for quantiles, at most a few million rows
        score = np.repeat(score, np.maximum(rows.weight // max(int(rows.weight.sum()) // 4_000_000, 1), 1))
    values = np.unique(score)
    if len(values) <= EDGES:
        return values
    ranks = np.linspace(0, len(score) - 1, EDGES).astype(np.intp)
    return np.unique(np.partition(score, ranks)[ranks])


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


def _sparse(pos: NDArray[Any], neg: NDArray[Any]) -> list[list[int]]:
    cells = np.flatnonzero(pos + neg)
    return [cells.tolist(), pos[cells].tolist(), neg[cells].tolist()]


def _dense(lines: list[list[list[int]]], cells: int) -> CellCounts:
    table = np.zeros((2, len(lines), cells), dtype=np.int64)
    for at, (places, pos, neg) in enumerate(lines):
        table[0, at, places], table[1, at, places] = pos, neg
    return CellCounts(table[0], table[1])
