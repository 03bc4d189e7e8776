"""Champion and challenger as cells: counts of rows in the cells of each, and in the strips of both.

All three are read in one session. A source whose tables may change in between gives cells that do not belong
together: that is seen, and nothing is judged by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    ColumnElement,
    Double,
    Select,
    and_,
    case,
    cast,
    func,
    literal,
    null,
    select,
)

from rocmonitor.config import Monitor
from rocmonitor.errors import InputError, SourceError
from rocmonitor.policy.record import negated
from rocmonitor.sources.batch import Batch, categories, is_used, segment_places, to_batch
from rocmonitor.sources.chunk import Chunk, joined
from rocmonitor.sources.condensing import Floats, cell, double, is_number, ordered, too_many_cells
from rocmonitor.sources.connect import Session
from rocmonitor.sources.digest import digest_of
from rocmonitor.sources.lines import to_chunk
from rocmonitor.sources.query import Query
from rocmonitor.sources.values import POSITIVE, Encoder
from rocmonitor.stats import CondensedPair
from rocmonitor.stats.ends import STRIP
from rocmonitor.stats.paired_cells import SUMS, JointCells, ModelCells, strip_and_place

_MODELS = ("champion", "challenger")


def read_pairs(session: Session, query: Query, most: int, report: Callable[[int], None]) -> Batch:
    """Return a window of two models, from cells.

    Parameters
    ----------
    session : Session
    query : Query
        Of a monitor with a challenger that may be condensed.
    most : int
        Lines of each statement; more are refused.
    report : callable
        Called with the number of rows in the cells of the champion.

    Raises
    ------
    ConfigError
        More cells than `most`.
    SourceError
        The table changed between two statements (transient).
    """
    encoder = Encoder(query.monitor)
    statements = [champion_cells(query)]
    if _all_numbers(query):
        statements += [challenger_cells(query), joint_cells(query)]
    found = []
    for statement in statements:
        found.append(_columns(session, query, statement.limit(most + 1)))
        if len(found[-1]["weight"]) > most:
            raise too_many_cells(query.monitor, most)
    champion = to_chunk(found[0], encoder, query)
    report(champion.rows)
    rows, ages = champion.take(slice(None)), len(query.instants)
    parts = [_Part(each, encoder, query) for each in found]  # after all segments are known
    batch = to_batch([rows], encoder, query.monitor, grouped=True, truncated=False, ages=ages)
    segments = {
        name: replace(each, pair=pair)
        for (name, each), pair in zip(batch.segments.items(), _pairs(parts, query.monitor), strict=True)
    }
    digest = digest_of(segments, champion.arrival is not None)
    return replace(batch, segments=segments, digest=digest, cells=None)


def champion_cells(query: Query) -> Select[Any]:
    """Rows by the cells of the champion and by whether they have a challenger's score, with both ends."""
    return _of_model(query, *_MODELS)


def challenger_cells(query: Query) -> Select[Any]:
    """Rows with both scores by the cells of the challenger; roles are as of the champion's."""
    counted = _of_model(query, *_MODELS[::-1])
    rows = counted.get_final_froms()[0]
    return counted.where(and_(rows.c.challenger.is_not(None), rows.c.number.is_not(None)))


def _of_model(query: Query, model: str, other: str) -> Select[Any]:
    roles = query.apart_from_scores()
    own = {"score": _score(query, model), "number": _cell(query, model)}
    own["challenger"] = case((_cell(query, other).is_not(None), literal(1)))
    rows = query.named(roles | own, once=True)
    chosen, by = query.told_apart({role: rows.c[role] for role in roles})
    by += [rows.c.number, rows.c.challenger]
    ends = query.ends(getattr(query.monitor.columns, model), rows.c.score)
    if not _is_number(query, model):
        by.append(rows.c.score)
        ends = rows.c.score, rows.c.score
    named = [each.label(name) for each, name in zip(ends, ("champion", "champion_high"), strict=True)]
    chosen += [*named, rows.c.number, rows.c.challenger, func.count().label("weight")]
    return select(*chosen).group_by(*by)


def joint_cells(query: Query) -> Select[Any]:
    """Rows with both scores by the strips of both models and the thresholds that each reaches, with sums."""
    roles = query.apart_from_scores()
    inner = dict(roles)
    for at, model in enumerate(_MODELS[::-1], 1):  # challenger first
        number = _cell(query, model)
        strip = cast(func.floor(number * double(1 / STRIP)), Double)
        inner |= {f"strip_{at}": strip, f"place_{at}": number - strip * double(float(STRIP))}
        inner[f"reached_{at}"] = _reached(query, model)
    rows = query.named(inner, once=True)
    chosen, by = query.told_apart({role: rows.c[role] for role in roles})
    keys = [rows.c[f"{name}_{at}"] for at in (1, 2) for name in ("strip", "reached")]
    first, second = rows.c.place_1, rows.c.place_2
    of_row = (first, second, first * first, second * second, first * second)
    sums = [func.sum(each).label(name) for name, each in zip(SUMS, of_row, strict=True)]
    counted = select(*chosen, *keys, *sums, func.count().label("weight"))
    return counted.where(and_(rows.c.strip_1.is_not(None), rows.c.strip_2.is_not(None))).group_by(*by, *keys)


def _score(query: Query, model: str) -> ColumnElement[Any]:
    return query.score(getattr(query.monitor.columns, model))


def _number(query: Query, model: str) -> ColumnElement[Any]:
    return query.number(getattr(query.monitor.columns, model), _score(query, model))


def _cell(query: Query, model: str) -> ColumnElement[Any]:
    """Return the number of the cell; NULL where the score is no number."""
    if not _is_number(query, model):
        return cast(null(), Double)
    return cell(query.backend, _number(query, model), query.monitor.condense.grid)


def _reached(query: Query, model: str) -> ColumnElement[Any]:
    """Return how many of the monitor's thresholds flag a row."""
    score = cast(_number(query, model), Double)
    lower = query.monitor.positive.low_is_positive
    found: ColumnElement[Any] = literal(0)
    for threshold in _thresholds(query.monitor):
        at = double(negated(threshold) if lower else threshold)
        found = found + case((score <= at if lower else score >= at, literal(1)), else_=literal(0))
    return found


def _thresholds(monitor: Monitor) -> list[float]:
    """Increasing, where higher scores are more positive."""
    given = {float(each) for each in monitor.operating_points.thresholds}
    return sorted(negated(each) if monitor.positive.low_is_positive else each for each in given)


def _is_number(query: Query, model: str) -> bool:
    found: bool = is_number(query.backend, query.types[getattr(query.monitor.columns, model)])
    return found


def _all_numbers(query: Query) -> bool:
    return all(_is_number(query, model) for model in _MODELS)


def _columns(session: Session, query: Query, statement: Select[Any]) -> dict[str, list[Any]]:
    names = [str(name) for name in statement.selected_columns.keys()]  # noqa: SIM118 not a mapping
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for part in session.parts(statement, query):
        for name, values in zip(names, zip(*part, strict=True), strict=False):
            columns[name].extend(values)
    return columns


@dataclass(slots=True, init=False)
class _Part:
    """The lines of one statement, with what became of their rows, and their numbers."""

    chunk: Chunk
    used: NDArray[np.bool_]
    numbers: dict[str, Floats]
    places: list[NDArray[np.intp]]

    def __init__(self, columns: Mapping[str, Sequence[Any]], encoder: Encoder, query: Query) -> None:
        size = len(columns["weight"])
        given: dict[str, Sequence[Any]] = {"champion": [0.0] * size, "challenger": [0.0] * size, **columns}
        self.chunk = joined([to_chunk(given, encoder, query)], encoder)
        self.used = is_used(categories(self.chunk))
        if self.chunk.challenger is not None:
            self.used &= ~np.isnan(self.chunk.challenger)
        self.numbers = {
            name: np.array(values, dtype=np.float64)  # NULL is NaN
            for name, values in columns.items()
            if name in ("number", *SUMS) or name.startswith(("strip_", "reached_"))
        }
        every = np.arange(size)
        self.places = [every, *(index for _, index in segment_places(self.chunk, encoder))]

    def among(self, segment: int) -> NDArray[np.intp]:
        """Return the usable lines of a segment; 0 is all rows."""
        index = self.places[segment]
        return index[self.used[index]]


def _pairs(parts: Sequence[_Part], monitor: Monitor) -> Iterator[CondensedPair]:
    """Yield the pair of each segment; the first is that of all rows."""
    for segment in range(len(parts[0].places)):
        if len(parts) < 3:  # a column holds no numbers
            yield CondensedPair.none()
            continue
        champion, challenger, both = (each.among(segment) for each in parts)
        try:
            yield _pair(parts, (champion, challenger, both), monitor)
        except InputError as error:
            raise SourceError(
                f"sources.{monitor.source}: rows changed while they were read: {error}", transient=True
            ) from None


def _pair(parts: Sequence[_Part], among: tuple[NDArray[np.intp], ...], monitor: Monitor) -> CondensedPair:
    champion, challenger, both = parts
    second, strips_2 = _model_cells(champion, among[0])
    first, strips_1 = _model_cells(challenger, among[1])
    numbers = {name: values[among[2]] for name, values in both.numbers.items()}
    joint = JointCells(
        strip_1=_number_of(numbers["strip_1"], strips_1),
        strip_2=_number_of(numbers["strip_2"], strips_2),
        positive=both.chunk.label[among[2]] == POSITIVE,
        rows=_weight(both.chunk, among[2]),
        reached_1=numbers["reached_1"].astype(np.int64),
        reached_2=numbers["reached_2"].astype(np.int64),
        **{name: numbers[name] for name in SUMS},
    )
    grid = monitor.condense.grid
    return CondensedPair(first, second, joint, thresholds=_thresholds(monitor), grid=grid)


def _model_cells(part: _Part, among: NDArray[np.intp]) -> tuple[ModelCells, Floats]:
    """Return the cells of a model, and its strips in order."""
    strip, place = strip_and_place(part.numbers["number"][among])
    known = np.unique(strip)
    low, high = ordered(part.chunk.champion[among], _of(part.chunk.high, among))
    positive, weight = part.chunk.label[among] == POSITIVE, _weight(part.chunk, among)
    cells = ModelCells(
        low=low,
        high=low if high is None else high,
        strip=_number_of(strip, known),
        place=place,
        pos=weight * positive,
        neg=weight * ~positive,
    )
    return cells, known


def _number_of(strip: Floats, known: Floats) -> NDArray[np.int64]:
    """Return the number of each strip; -1 where it holds no cell of the model, which then is refused."""
    at = np.searchsorted(known, strip)
    found = np.append(known, np.nan)[at] == strip
    return np.where(found, at, -1).astype(np.int64)


def _of(values: Floats | None, among: NDArray[np.intp]) -> Floats | None:
    return None if values is None else values[among]


def _weight(chunk: Chunk, among: NDArray[np.intp]) -> NDArray[np.int64]:
    assert chunk.weight is not None
    return chunk.weight[among]
