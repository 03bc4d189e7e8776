"""Two models on the same rows, known by cells: fine ones of each model, coarse ones of both.

Cells of both models at once would be nearly as many as the rows. So the fine cells of each model are joined
to strips, and rows are counted by the strips of both. Within these, sums of places (the number of a cell in
its strip) say how the two models go together. docs/condensed.md has the proofs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.errors import InputError
from rocmonitor.stats.ends import STRIP, Grid
from rocmonitor.stats.rows import Counts, Floats, require_classes, same_length
from rocmonitor.stats.sample import PairedSample, Sample

SUMS = ("sum_1", "sum_2", "squares_1", "squares_2", "products")
"""Sums over the rows of joint cells: of both places, of their squares, and of their products."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelCells:
    """Fine cells of one model, in any order; a cell may come in several lines, as one for each class.

    Attributes
    ----------
    low, high : ndarray, shape (k,)
        Lowest and highest score.
    strip : ndarray of int64, shape (k,)
        Number of the strip; any whole number, the same for all cells of it.
    place : ndarray, shape (k,)
        Number of the cell within its strip; whole.
    pos, neg : ndarray of int64, shape (k,)
    """

    low: Floats
    high: Floats
    strip: NDArray[np.int64]
    place: Floats
    pos: Counts
    neg: Counts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointCells:
    """Rows by the strips of both models, in any order; each line holds rows of one class.

    Attributes
    ----------
    strip_1, strip_2 : ndarray of int64, shape (c,)
        As in the `ModelCells` of the two models.
    positive : ndarray of bool, shape (c,)
    rows : ndarray of int64, shape (c,)
    sum_1, sum_2, squares_1, squares_2, products : ndarray, shape (c,)
        Sums over the rows: of the places of either model, of their squares, and of their products.
    reached_1, reached_2 : ndarray of int64, shape (c,)
        How many of the thresholds each of the rows reaches, the same for all of them; 0 without thresholds.
    """

    strip_1: NDArray[np.int64]
    strip_2: NDArray[np.int64]
    positive: NDArray[np.bool_]
    rows: Counts
    sum_1: Floats
    sum_2: Floats
    squares_1: Floats
    squares_2: Floats
    products: Floats
    reached_1: Counts
    reached_2: Counts


@dataclass(frozen=True, slots=True, eq=False, init=False)
class CondensedPair:
    """Labelled scores of two models on the same rows, of which only cells are known.

    Parameters
    ----------
    cells_1, cells_2 : ModelCells
    joint : JointCells
        Of the same rows.
    thresholds : array_like, shape (h,)
        Increasing: those that ``joint.reached_1`` and ``joint.reached_2`` count.
    grid : Grid, optional
        What cut the scores into cells.

    Attributes
    ----------
    first, second : Sample
        Each model on its own, condensed.
    n_pos, n_neg : int
        Class sizes.

    Raises
    ------
    InputError
        The three do not hold the same rows.

    Notes
    -----
    `condensed_pair` makes one from rows, and a source with ``grouped: condensed`` from a table.
    """

    cells_1: ModelCells
    cells_2: ModelCells
    joint: JointCells
    thresholds: Floats
    first: Sample
    second: Sample
    n_pos: int
    n_neg: int

    def __init__(
        self,
        cells_1: ModelCells,
        cells_2: ModelCells,
        joint: JointCells,
        *,
        thresholds: ArrayLike = (),
        grid: Grid | None = None,
    ) -> None:
        for number, cells in enumerate((cells_1, cells_2), 1):
            _require_same_rows(cells, joint, number)
        first, second = (
            Sample.from_cells(each.low, each.high, each.pos, each.neg, grid=grid)
            for each in (cells_1, cells_2)
        )
        values = np.asarray(thresholds, dtype=np.float64)
        if (np.diff(values) <= 0).any():
            raise InputError(f"thresholds must increase; they are {values.tolist()}")
        known = {"cells_1": cells_1, "cells_2": cells_2, "joint": joint, "thresholds": values}
        known |= {"first": first, "second": second, "n_pos": first.n_pos, "n_neg": first.n_neg}
        for name, value in known.items():
            object.__setattr__(self, name, value)

    @property
    def clusters(self) -> None:
        """None: clusters need the rows."""
        return None

    @classmethod
    def none(cls) -> Self:
        """No rows."""
        nothing = np.zeros(0)
        whole = nothing.astype(np.int64)
        cells = ModelCells(low=nothing, high=nothing, strip=whole, place=nothing, pos=whole, neg=whole)
        columns: dict[str, Any] = {field.name: whole for field in fields(JointCells)}
        columns |= dict.fromkeys(SUMS, nothing)
        joint = JointCells(**columns | {"positive": nothing.astype(np.bool_)})
        return cls(cells, cells, joint)

    def require_both_classes(self, *, at_least: int = 1) -> None:
        """Raise DegenerateDataError unless each class has `at_least` rows."""
        require_classes(self.n_pos, self.n_neg, at_least=at_least)

    def __repr__(self) -> str:
        cells = ", ".join(str(len(each.low)) for each in (self.cells_1, self.cells_2))
        return (
            f"CondensedPair(n_pos={self.n_pos}, n_neg={self.n_neg}, cells={cells}, joint="
            f"{len(self.joint.rows)})"
        )


def condensed_pair(
    pair: PairedSample, *, grid: Grid | None = None, strip: int = STRIP, thresholds: Sequence[float] = ()
) -> CondensedPair:
    """Return the same rows, of which only cells are known, as a source with ``grouped: condensed`` gives
    them.

    Parameters
    ----------
    pair : PairedSample
        Without clusters.
    grid : Grid, optional
        What cuts the scores of both models into cells; default ``Grid()``.
    strip : int
        Cells of a strip.
    thresholds : sequence of float
        Those at which `condensed_dominance` is wanted.

    Raises
    ------
    InputError
        Something that is no `PairedSample`, or one with clusters; a strip below 1.

    Examples
    --------
    >>> pair = PairedSample([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.9], [0.2, 0.3, 0.5, 0.8])
    >>> condensed_pair(pair, grid=Grid("linear", 4), strip=2)
    CondensedPair(n_pos=2, n_neg=2, cells=3, 4, joint=3)
    """
    if not isinstance(pair, PairedSample):
        raise InputError(f"pair must be a PairedSample, not a {type(pair).__name__}")
    if pair.clusters is not None:
        raise InputError("pair must be without clusters, which need the rows: compare the rows themselves")
    if strip < 1:
        raise InputError(f"strip must be at least 1, the number of cells in a strip; it is {strip}")
    if not len(pair.pos):
        return CondensedPair.none()
    grid, values = grid or Grid(), np.unique(np.asarray(thresholds, dtype=np.float64))
    scores = pair.first.score[pair.index_1], pair.second.score[pair.index_2]
    strips, places = zip(*(strip_and_place(grid.numbers(score), strip) for score in scores), strict=True)
    numbered = [_numbered([each])[1] for each in strips]
    cells_1, cells_2 = (
        _lines(at, place, score, pair) for at, place, score in zip(numbered, places, scores, strict=True)
    )
    reached = [np.searchsorted(values, score, side="right") for score in scores]
    joint = _joined([*numbered, *reached], places, pair)
    return CondensedPair(cells_1, cells_2, joint, thresholds=values, grid=grid)


def strip_and_place(number: Floats, strip: int = STRIP) -> tuple[Floats, Floats]:
    """Return the numbers of strips, and the places of the cells there, from 0 on, from the numbers of
    cells.
    """
    at = np.floor(number / strip)
    return at, number - strip * at


def _lines(strip: NDArray[np.intp], place: Floats, score: Floats, pair: PairedSample) -> ModelCells:
    index = _numbered([strip, place])[1]
    order = np.lexsort((score, index))
    starts = np.flatnonzero(np.diff(index[order], prepend=-1))
    ends = np.append(starts[1:], len(order)) - 1
    return ModelCells(
        low=score[order][starts],
        high=score[order][ends],
        strip=strip[order][starts].astype(np.int64),
        place=place[order][starts],
        pos=np.add.reduceat(pair.pos[order], starts),
        neg=np.add.reduceat(pair.neg[order], starts),
    )


def _numbered(columns: Sequence[NDArray[Any]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Lines of some columns, numbered so that equal ones share a number: where each is first, and which."""
    order = np.lexsort(columns[::-1])
    new = np.zeros(len(order), dtype=np.bool_)
    for column in columns:
        placed = column[order]
        new[1:] |= placed[1:] != placed[:-1]
    number = np.empty_like(order)
    number[order] = np.cumsum(new)
    new[:1] = True
    return order[new], number


def _joined(keys: Sequence[NDArray[np.intp]], places: tuple[Floats, ...], pair: PairedSample) -> JointCells:
    """Lines of one class each, by strips and thresholds reached."""
    at, index = _numbered(keys)
    which = np.column_stack([key[at] for key in keys])
    first, second = places
    of_row = (first, second, first**2, second**2, first * second)
    columns = [
        {
            name: np.asarray(np.bincount(index, weight * each, len(which)), dtype=np.float64)
            for name, each in zip(("rows", *SUMS), (np.ones(len(first)), *of_row), strict=True)
        }
        for weight in (pair.pos, pair.neg)
    ]
    both = {name: np.concatenate([each[name] for each in columns]) for name in columns[0]}
    seen = both["rows"] > 0
    names = ("strip_1", "strip_2", "reached_1", "reached_2")
    keyed: dict[str, Any] = {
        name: np.tile(which[:, column], 2)[seen].astype(np.int64) for column, name in enumerate(names)
    }
    sums: dict[str, Any] = {name: both[name][seen] for name in SUMS}
    rows, positive = both["rows"][seen].astype(np.int64), np.repeat([True, False], len(which))[seen]
    return JointCells(positive=positive, rows=rows, **keyed, **sums)


def _require_same_rows(cells: ModelCells, joint: JointCells, number: int) -> None:
    """Refuse cells of a model that do not have the rows of the joint ones, strip by strip and class by class.

    All sums are of whole numbers, so equality is exact.
    """
    same_length(**{name.name: getattr(cells, name.name) for name in fields(ModelCells)})
    same_length(**{name.name: getattr(joint, name.name) for name in fields(JointCells)})
    strip, total = getattr(joint, f"strip_{number}"), getattr(joint, f"sum_{number}")
    known = np.unique(np.concatenate([cells.strip, strip]))
    own, other = np.searchsorted(known, cells.strip), np.searchsorted(known, strip)

    def added(at: NDArray[np.intp], values: ArrayLike) -> Floats:
        return np.asarray(np.bincount(at, np.asarray(values, dtype=np.float64), len(known)), dtype=np.float64)

    for count, among in ((cells.pos, joint.positive), (cells.neg, ~joint.positive)):
        alike = np.array_equal(added(own, count), added(other, joint.rows * among)) and np.array_equal(
            added(own, count * cells.place), added(other, total * among)
        )
        if not alike:
            raise InputError(
                f"cells_{number} and joint must hold the same rows, and their counts differ "
                f"({int(cells.pos.sum() + cells.neg.sum()):,} and {int(joint.rows.sum()):,} rows): read both "
                "from one state of the table"
            )
