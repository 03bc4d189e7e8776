"""Frames: the rows of a judged window, for people who want to look at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, column

from rocmonitor.config import Monitor
from rocmonitor.errors import ConfigError, SourceError
from rocmonitor.policy.windows import Window
from rocmonitor.sources.batch import Explaining, to_batch
from rocmonitor.sources.chunk import Chunk
from rocmonitor.sources.connect import PlainValues
from rocmonitor.sources.sql import SqlSource
from rocmonitor.sources.values import Encoder, segment_value


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frame:
    """Rows with columns named as in the query, which of them have the positive label, and their digest.

    That is `Batch.digest` of the whole window, whichever rows were asked for; empty where they are bare.
    """

    rows: pd.DataFrame
    positive: NDArray[np.bool_]
    digest: str


def read_frame(
    source: SqlSource,
    monitor: Monitor,
    window: Window,
    *,
    segment: str = "",
    paired: bool = False,
    as_of: datetime | None = None,
    extra: Sequence[str] = (),
    labelled: bool = True,
    bare: bool = False,
) -> Frame:
    """Return the rows that the statistics of a window are based on, or of a segment, ``column=value``.

    They have all configured columns and the extra ones (`bare`: of the configured ones the champion's score
    alone), with the values of the database; scores as float64 and as the model gave them (also where low
    scores are positive), NaN for anything that is not a finite number. Rows outside the window, repeats, bad
    scores, rows without a label and bad labels are left out, as in `Batch`; without `labelled`, rows that
    wait for a label stay, and `paired` asks for those that both models scored.

    Fails as `SqlSource.pull` does, and with a SourceError when the window has more rows than ``max_rows``.
    Cost: O(n log n) for n rows of the window, all of them held in memory as Python objects.
    """
    encoder = Encoder(monitor)
    chunks: list[Chunk] = []
    wanted: list[NDArray[np.bool_]] = []
    parts: list[dict[str, Sequence[Any] | NDArray[Any]]] = []
    with source.reading(monitor, window, as_of=as_of, explains=bool(extra)) as (session, query, spec):
        if missing := [name for name in extra if name not in query.types]:
            raise ConfigError(
                f"monitors.{monitor.name}.query does not give {', '.join(missing)}, which should explain a "
                f"change; it gives {', '.join(query.types)}"
            )
        time: ColumnElement[Any] = column(monitor.columns.time)
        more = {f"extra_{number}": name for number, name in enumerate(extra)}
        added: list[ColumnElement[Any]] = [column(name).label(role) for role, name in more.items()]
        statement = query.rows(spec.max_rows + 1).add_columns(time.label("time_given"), *added)
        for chunk, values in session.chunks_and_values(statement, query, encoder):
            chunks.append(chunk)
            wanted.append(_wanted(monitor, values, chunk, segment, paired))
            others: dict[str, Sequence[Any] | NDArray[Any]] = {
                name: values(role) for role, name in more.items()
            }
            if bare:
                own: dict[str, Any] = {monitor.columns.champion: encoder.original(chunk.champion)}
            else:
                own = _own_names(monitor, encoder, values, chunk)
            parts.append(own | others)
    if sum(map(len, chunks)) > spec.max_rows:
        raise SourceError(
            f"sources.{monitor.source}: {window} has more than max_rows ({spec.max_rows:,}) rows; raise "
            "it to read them one by one",
            transient=False,
        )
    chosen = np.concatenate(wanted)
    batch = to_batch(chunks, encoder, monitor, grouped=False, truncated=False, explain=[chosen])
    assert batch.explaining is not None
    read = batch.explaining
    used = chosen & (read.labelled if labelled else read.labelled | read.waiting)
    rows = pd.DataFrame(
        {name: np.concatenate([_array(part[name]) for part in parts]) for name in parts[0]}
    ).infer_objects()[used]
    digest = "" if bare else batch.digest
    return Frame(rows=rows.reset_index(drop=True), positive=read.positive[used], digest=digest)


def bare_frame(monitor: Monitor, columns: Sequence[str], read: Explaining, *, labelled: bool = True) -> Frame:
    """Return the `read_frame` of a window with some extra columns, bare, from what was read of it before."""
    used = read.labelled if labelled else read.labelled | read.waiting
    given = {monitor.columns.champion: read.score, **dict(zip(columns, read.columns, strict=True))}
    rows = pd.DataFrame(given).infer_objects()[used]
    return Frame(rows=rows.reset_index(drop=True), positive=read.positive[used], digest="")


def _own_names(
    monitor: Monitor, encoder: Encoder, values: PlainValues, chunk: Chunk
) -> dict[str, Sequence[Any] | NDArray[Any]]:
    """Return the columns of a chunk under the query's names, in the order of the configuration."""
    columns = monitor.columns
    named: dict[str, Sequence[Any] | NDArray[Any]] = {}
    if columns.id is not None:
        named[columns.id] = values("id")
    named |= {columns.time: values("time_given"), columns.champion: encoder.original(chunk.champion)}
    if columns.challenger is not None and chunk.challenger is not None:
        named[columns.challenger] = encoder.original(chunk.challenger)
    named[columns.label] = values("label")
    return named | {name: values(f"segment_{number}") for number, name in enumerate(monitor.segments)}


def _array(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    if isinstance(values, np.ndarray):
        return values
    objects = np.empty(len(values), dtype=object)  # np.array would look into values that are lists
    objects[:] = values
    return objects


def _wanted(
    monitor: Monitor, values: PlainValues, chunk: Chunk, segment: str, paired: bool
) -> NDArray[np.bool_]:
    wanted = np.full(len(chunk), not segment, dtype=np.bool_)
    for number, name in enumerate(monitor.segments if segment else ()):
        names = (f"{name}={segment_value(value)}" for value in values(f"segment_{number}"))
        wanted |= np.array([row_segment == segment for row_segment in names], dtype=np.bool_)
    if paired:
        wanted &= False if chunk.challenger is None else ~np.isnan(chunk.challenger)
    return wanted
