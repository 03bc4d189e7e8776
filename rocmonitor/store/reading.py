"""Reading evaluations and changes of status back."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, FromClause, RowMapping, Select, Table, func, select

from rocmonitor.errors import StoreError
from rocmonitor.policy.evaluation import Evaluation, Point, Status, Transition, read_reasons
from rocmonitor.policy.status import Said, is_alarm
from rocmonitor.policy.windows import Window
from rocmonitor.store.connection import Store, shown
from rocmonitor.store.tables import evaluation as table
from rocmonitor.store.tables import evaluation_tables, summary
from rocmonitor.store.tables import transition as transition_table

_WINDOW = (table.c.segment, table.c.window_start, table.c.window_end)
_WHOLE = (
    table.c.metrics,
    table.c.result,
    evaluation_tables.c.content.label("tables"),
    summary.c.content.label("reference"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """The facts that decide whether a window is judged again.

    Attributes
    ----------
    revision: The newest.
    digest: Of the data it rests on.
    label_counts: Rows by label when they were read.
    labels_digest, settings_digest: As `WindowRecord` has them.
    champion_version, challenger_version: As pinned.
    """

    revision: int
    digest: str
    label_counts: dict[str, int]
    outcome: Status
    labels_digest: str
    settings_digest: str
    champion_version: str
    challenger_version: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedTransition(Transition):
    """A change of status, and whether somebody was notified."""

    notified: bool


def evaluated(
    store: Store, monitor: str, since: datetime | None = None
) -> dict[tuple[str, Window], Evaluated]:
    """Return the newest revision of each window that starts at or after `since`, by segment and window."""
    query = select(
        *_WINDOW,
        table.c.revision,
        table.c.data_digest,
        table.c.label_counts,
        table.c.outcome,
        table.c.labels_digest,
        table.c.settings_digest,
        table.c.model_version,
        table.c.challenger_version,
    ).where(table.c.monitor == monitor)
    if since is not None:
        query = query.where(table.c.window_start >= since)
    return {
        (row["segment"], _window(row)): Evaluated(
            revision=row["revision"],
            digest=row["data_digest"],
            label_counts=row["label_counts"],
            outcome=Status(row["outcome"]),
            labels_digest=row["labels_digest"],
            settings_digest=row["settings_digest"],
            champion_version=row["model_version"],
            challenger_version=row["challenger_version"],
        )
        for row in _rows(store, _newest(query))
    }


def outcomes(store: Store, monitor: str, segment: str) -> list[tuple[Window, Status]]:
    """Return what was found of each window (its newest revision), oldest first."""
    query = select(*_WINDOW, table.c.outcome).where(table.c.monitor == monitor, table.c.segment == segment)
    return [(_window(row), Status(row["outcome"])) for row in _rows(store, _newest(query))]


def series(store: Store, monitor: str, segment: str, *, newest: int | None = None) -> list[Point]:
    """Return the metrics of each window (its newest revision), or of the newest ones, oldest first."""
    columns = (table.c.revision, table.c.at, table.c.metrics, table.c.model_version, table.c.outcome)
    chosen = [table.c.monitor == monitor, table.c.segment == segment]
    if newest is not None:
        starts = select(table.c.window_start).where(*chosen).distinct()
        first = starts.order_by(table.c.window_start.desc()).limit(1).offset(newest - 1).scalar_subquery()
        chosen.append(table.c.window_start >= func.coalesce(first, datetime(1, 1, 1, tzinfo=UTC)))
    query = select(*_WINDOW, *columns).where(*chosen)
    return [
        Point(
            window=_window(row),
            revision=row["revision"],
            at=row["at"],
            metrics=row["metrics"],
            champion_version=row["model_version"],
            outcome=Status(row["outcome"]),
        )
        for row in _rows(store, _newest(query))
    ]


def evaluations(
    store: Store,
    monitor: str,
    *,
    segment: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    every_revision: bool = False,
) -> list[Evaluation]:
    """Return the evaluations of windows inside [start, end), oldest first, by segment and revision.

    Parameters
    ----------
    segment: One segment only (empty: all rows); default every segment.
    every_revision: Also the revisions that later ones have replaced.
    """
    chosen = of_windows(table, monitor, segment, start, end)
    query = select(*_WINDOW, *_WHOLE).select_from(_joined()).where(*chosen)
    if not every_revision:
        return [_evaluation(row) for row in _rows(store, _newest(query))]
    in_order = query.order_by(
        table.c.window_start, table.c.window_end, table.c.segment, table.c.revision, table.c.id
    )
    return [_evaluation(row) for row in _rows(store, in_order)]


def of_windows(
    table: Table, monitor: str, segment: str | None, start: datetime | None, end: datetime | None
) -> list[ColumnElement[bool]]:
    """Conditions for the rows of a monitor, of one segment if named, with windows inside [start, end)."""
    conditions = [table.c.monitor == monitor]
    if segment is not None:
        conditions.append(table.c.segment == segment)
    if start is not None:
        conditions.append(table.c.window_start >= start)
    if end is not None:
        conditions.append(table.c.window_end <= end)
    return conditions


def evaluation(store: Store, id: int) -> Evaluation:
    """One evaluation, by the number that a delivery names.

    Raises
    ------
    StoreError: Also when there is none.
    """
    rows = _rows(store, select(*_WHOLE).select_from(_joined()).where(table.c.id == id))
    if not rows:
        raise StoreError(f"store {shown(store.engine.url)}: there is no evaluation {id}", transient=False)
    return _evaluation(rows[0])


def newest_revision(store: Store, evaluation: Evaluation) -> int:
    """Return the highest revision saved of the window that `evaluation` is of."""
    query = select(func.max(table.c.revision)).where(
        table.c.monitor == evaluation.monitor,
        table.c.segment == evaluation.segment,
        table.c.window_start == evaluation.window.start,
        table.c.window_end == evaluation.window.end,
    )
    with store.reading() as connection:
        return connection.scalar(query) or 0


def transitions(store: Store, monitor: str, segment: str | None = None) -> list[SavedTransition]:
    """Return the changes of status in the order they were saved; of all segments unless one is named."""
    query = _transitions(monitor).order_by(transition_table.c.id)
    if segment is not None:
        query = query.where(transition_table.c.segment == segment)
    return [transition_of(row) for row in _rows(store, query)]


def last_transition(store: Store, monitor: str, segment: str) -> SavedTransition | None:
    """Return the change of status that was saved last, or None."""
    rows = _rows(store, _newest_first(monitor, segment))
    return transition_of(rows[0]) if rows else None


def last_said(store: Store, monitor: str) -> dict[str, Said]:
    """Return the last change of status, and what people were last notified of, by segment."""
    change = transition_table.c

    def last(*conditions: ColumnElement[bool]) -> dict[str, RowMapping]:
        newest = select(func.max(change.id)).where(change.monitor == monitor, *conditions)
        query = select(change.segment, change.after, change.at)
        rows = connection.execute(query.where(change.id.in_(newest.group_by(change.segment))))
        return {row["segment"]: row for row in rows.mappings()}

    alarming = change.after.in_([status for status in Status if is_alarm(status)])
    with store.reading() as connection:
        changed, heard, alarms = last(), last(change.notified), last(change.notified, alarming)
    return {
        segment: Said(
            status=Status(row["after"]),
            notified=Status(heard[segment]["after"]) if segment in heard else Status.OK,
            alarmed_at=alarms[segment]["at"] if segment in alarms else None,
        )
        for segment, row in changed.items()
    }


def _newest(query: Select[Any]) -> Select[Any]:
    """Return the newest revision of each window, oldest window first.

    A window function, for an anti-join on a table without statistics makes PostgreSQL compare all with all.
    """
    rank = func.row_number().over(partition_by=_WINDOW, order_by=(table.c.revision.desc(), table.c.id.desc()))
    ranked = query.add_columns(rank.label("rank")).subquery()
    return (
        select(ranked)
        .where(ranked.c.rank == 1)
        .order_by(ranked.c.window_start, ranked.c.window_end, ranked.c.segment)
    )


def _transitions(monitor: str) -> Select[Any]:
    return select(*(transition_table.c[field.name] for field in fields(SavedTransition))).where(
        transition_table.c.monitor == monitor
    )


def _newest_first(monitor: str, segment: str) -> Select[Any]:
    return (
        _transitions(monitor)
        .where(transition_table.c.segment == segment)
        .order_by(transition_table.c.id.desc())
        .limit(1)
    )


def _joined() -> FromClause:
    """Return evaluations joined with the reference they were compared with, and their tables if kept."""
    with_tables = table.outerjoin(evaluation_tables, evaluation_tables.c.evaluation_id == table.c.id)
    return with_tables.join(summary, summary.c.id == table.c.summary_id)


def _rows(store: Store, query: Select[Any]) -> list[RowMapping]:
    with store.reading() as connection:
        return list(connection.execute(query).mappings())


def _window(row: RowMapping) -> Window:
    return Window(row["window_start"], row["window_end"])


def _evaluation(row: RowMapping) -> Evaluation:
    apart = {"metrics": row["metrics"], "reference": row["reference"], "tables": row["tables"] or {}}
    return Evaluation.from_dict({**row["result"], **apart})


def transition_of(row: RowMapping) -> SavedTransition:
    """Return the change of status of a row."""
    parsed = {
        "before": Status(row["before"]),
        "after": Status(row["after"]),
        "reasons": read_reasons(row["reasons"] or []),
    }
    return SavedTransition(**{**row, **parsed})
