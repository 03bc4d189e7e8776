"""Reading evaluations, outlooks and changes of status back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, FromClause, RowMapping, Select, func, select

from rocmonitor.policy.evaluation import Evaluation, Point, Status, Transition, read_reasons
from rocmonitor.policy.outlook import Outlook
from rocmonitor.policy.status import Said, is_alarm
from rocmonitor.policy.windows import Window
from rocmonitor.store.connection import Store, columns_of, fields_of, having, window_key, window_of
from rocmonitor.store.tables import evaluation as table
from rocmonitor.store.tables import evaluation_tables, summary
from rocmonitor.store.tables import outlook as foreseen
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
    """The facts of a window's newest revision that decide whether it is judged again; see `WindowRecord`."""

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


def evaluated(store: Store, monitor: str) -> dict[tuple[str, Window], Evaluated]:
    """Return the newest revision of each window, by segment and window."""
    query = select(*_WINDOW, *columns_of(table, Evaluated)).where(table.c.monitor == monitor)
    return {
        (row["segment"], window_of(row)): Evaluated(**_with_status(row, Evaluated))
        for row in store.rows(_newest(query))
    }


def outcomes(store: Store, monitor: str, segment: str) -> list[tuple[Window, Status]]:
    """Return what was found of each window (its newest revision), oldest first."""
    query = select(*_WINDOW, table.c.outcome).where(table.c.monitor == monitor, table.c.segment == segment)
    return [(window_of(row), Status(row["outcome"])) for row in store.rows(_newest(query))]


def series(store: Store, monitor: str, segment: str, *, newest: int | None = None) -> list[Point]:
    """Return the metrics of each window (its newest revision), or of the newest ones, oldest first."""
    chosen = [table.c.monitor == monitor, table.c.segment == segment]
    if newest is not None:
        starts = select(table.c.window_start).where(*chosen).distinct()
        first = starts.order_by(table.c.window_start.desc()).limit(1).offset(newest - 1).scalar_subquery()
        chosen.append(table.c.window_start >= func.coalesce(first, datetime(1, 1, 1, tzinfo=UTC)))
    query = select(*_WINDOW, *columns_of(table, Point, "window")).where(*chosen)
    return [point_of(row) for row in store.rows(_newest(query))]


def point_of(row: RowMapping) -> Point:
    """Return the point of a row of evaluations."""
    return Point(window=window_of(row), **_with_status(row, Point, "window"))


def _with_status(row: RowMapping, kind: type, *but: str) -> dict[str, Any]:
    return fields_of(row, kind, *but) | {"outcome": Status(row["outcome"])}


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

    They are those of all segments unless one is named (empty: all rows), in the newest revision unless
    `every_revision` is asked for.
    """
    chosen = having(table, monitor=monitor, **({} if segment is None else {"segment": segment}))
    chosen += [] if start is None else [table.c.window_start >= start]
    chosen += [] if end is None else [table.c.window_end <= end]
    query = select(*_WINDOW, *_WHOLE).select_from(_joined()).where(*chosen)
    if not every_revision:
        return [_evaluation(row) for row in store.rows(_newest(query))]
    in_order = query.order_by(
        table.c.window_start, table.c.window_end, table.c.segment, table.c.revision, table.c.id
    )
    return [_evaluation(row) for row in store.rows(in_order)]


def evaluation(store: Store, id: int) -> Evaluation:
    """Return one evaluation, by the number that a delivery names; a StoreError if there is none."""
    query = select(*_WHOLE).select_from(_joined()).where(table.c.id == id)
    return _evaluation(store.row("evaluation", id, query))


def newest_revision(store: Store, evaluation: Evaluation) -> int:
    """Return the highest revision saved of the window that `evaluation` is of."""
    key = {"monitor": evaluation.monitor, "segment": evaluation.segment, **window_key(evaluation.window)}
    return store.scalar(select(func.max(table.c.revision)).where(*having(table, **key))) or 0


def transitions(store: Store, monitor: str, segment: str | None = None) -> list[SavedTransition]:
    """Return the changes of status in the order they were saved; of all segments unless one is named."""
    key = {} if segment is None else {"segment": segment}
    rows = store.rows(_transitions(monitor, **key).order_by(transition_table.c.id))
    return list(map(transition_of, rows))


def last_transition(store: Store, monitor: str, segment: str) -> SavedTransition | None:
    """Return the change of status that was saved last, or None."""
    query = _transitions(monitor, segment=segment).order_by(transition_table.c.id.desc())
    return next(map(transition_of, store.rows(query.limit(1))), None)


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


def _transitions(monitor: str, **key: str) -> Select[Any]:
    chosen = having(transition_table, monitor=monitor, **key)
    return select(*columns_of(transition_table, SavedTransition)).where(*chosen)


def _joined() -> FromClause:
    """Return evaluations joined with the reference they were compared with, and their tables if kept."""
    with_tables = table.outerjoin(evaluation_tables, evaluation_tables.c.evaluation_id == table.c.id)
    return with_tables.join(summary, summary.c.id == table.c.summary_id)


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


def outlook(store: Store, id: int) -> Outlook:
    """Return one outlook, by the number that a delivery names; a StoreError if there is none."""
    return _outlook(store.row("outlook", id, _outlooks(id=id)))


def outlooks(
    store: Store, monitor: str, *, start: datetime | None = None, pending: bool = False
) -> list[Outlook]:
    """Return the outlooks of the windows from `start` on, oldest first, then by segment.

    `pending` ones are of windows that have not been judged.
    """
    query = _outlooks(monitor=monitor)
    query = query if start is None else query.where(foreseen.c.window_start >= start)
    query = _unjudged(query) if pending else query
    return [_outlook(row) for row in store.rows(query.order_by(foreseen.c.segment))]


def outlooks_pending(store: Store, monitor: str) -> dict[tuple[str, Window], dict[str, float]]:
    """Return the metrics of each outlook of a window that was not judged, by segment and window."""
    rows = store.rows(_unjudged(_outlooks("segment", "metrics", monitor=monitor)))
    return {(row["segment"], window_of(row)): row["metrics"] for row in rows}


def outlook_metrics(store: Store, monitor: str, segment: str, window: Window) -> dict[str, float]:
    """Return the metrics of the outlook of one window; empty where it has none."""
    query = _outlooks("metrics", monitor=monitor, segment=segment, **window_key(window))
    return next((dict(row["metrics"]) for row in store.rows(query)), {})


def pending_warnings(store: Store, monitor: str, segment: str) -> dict[Window, frozenset[str]]:
    """Return the windows with a warning that are not judged yet, with the rules that warn."""
    rows = store.rows(_unjudged(_outlooks(monitor=monitor, segment=segment, outcome=Status.AT_RISK)))
    return {window_of(row): _outlook(row).warning_rules for row in rows}


def outlook_series(store: Store, monitor: str, segment: str) -> list[Point]:
    """Return the metrics of each outlook of a segment, oldest window first."""
    rows = store.rows(_outlooks("at", "metrics", monitor=monitor, segment=segment))
    return [Point(window=window_of(row), revision=0, at=row["at"], metrics=row["metrics"]) for row in rows]


def _outlooks(*names: str, **key: Any) -> Select[Any]:
    """Return a query of outlooks, oldest window first, by default of all that makes one."""
    ends = (foreseen.c.window_start, foreseen.c.window_end)
    columns = [foreseen.c[name] for name in names or ("metrics", "result")]
    return select(*ends, *columns).where(*having(foreseen, **key)).order_by(*ends)


def _unjudged(query: Select[Any]) -> Select[Any]:
    same = ("monitor", "segment", "window_start", "window_end")
    return query.where(~select(table.c.id).where(*(table.c[n] == foreseen.c[n] for n in same)).exists())


def _outlook(row: RowMapping) -> Outlook:
    return Outlook.from_dict({**row["result"], "metrics": row["metrics"]})
