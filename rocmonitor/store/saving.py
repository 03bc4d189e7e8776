"""Saving what one tick found, in one transaction: results, changes of status, outbox rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Executable, Table, bindparam, func, select, update

from rocmonitor.policy.episode import Decline
from rocmonitor.policy.evaluation import Evaluation, Transition
from rocmonitor.policy.outlook import Outlook
from rocmonitor.policy.windows import Window
from rocmonitor.store import tables
from rocmonitor.store.connection import Store, having, insert, put_row, window_key
from rocmonitor.store.counts import KeptCounts, put_counts
from rocmonitor.store.episodes import put_episodes, put_warning
from rocmonitor.store.leases import Lease, require
from rocmonitor.store.outbox import Outgoing, Row, put, put_all, rows_of

_INSERTIONS: dict[tuple[str, str], Executable] = {}
_TABLES = tables.evaluation_tables.insert()
_FIND_SUMMARY = select(tables.summary.c.id).where(tables.summary.c.digest == bindparam("named"))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlookRecord:
    """The result of an outlook for one window and segment; the other fields are those of `WindowRecord`."""

    outlook: Outlook
    transition: Transition | None = None
    notified: bool = False
    outbox: Sequence[Outgoing] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRecord:
    """The result of judging one segment of one window.

    When the `label_counts` of the window have changed since it was read, late labels have come; when the
    `labels_digest` (`rocmonitor.sources.LabelCounts`) has, labels or scores were corrected.
    `settings_digest` is of what the window was judged by. The `reference_digest` takes milliseconds. The
    `outlook` is of a window that had none before it was judged. `counts` are the rows of all segments, with
    the evaluation of all rows; `episodes` those that the window began, changed or ended.
    """

    evaluation: Evaluation
    label_counts: dict[str, int]
    labels_digest: str
    settings_digest: str
    reference_digest: str | None = None
    transition: Transition | None = None
    notified: bool = False
    outbox: Sequence[Outgoing] = ()
    outlook: OutlookRecord | None = None
    counts: Sequence[KeptCounts] = ()
    episodes: Sequence[Decline] = ()


def save(store: Store, results: Sequence[WindowRecord], *, lease: Lease) -> None:
    """Save all results or none.

    A result whose evaluation is there already (same monitor, model version, segment, window and revision) is
    left out with its transition and outbox rows, so a repeat changes nothing.
    """
    outgoing: list[Row] = []
    kept: list[Row] = []
    summaries: dict[str, int] = {}
    with store.writing() as connection:
        require(connection, lease)
        for result in results:
            evaluation = result.evaluation
            plain, at = evaluation.to_dict(), evaluation.evaluated_at
            content = plain.pop("tables")
            evaluation_id = _put_evaluation(connection, result, plain, summaries)
            if evaluation_id is None:
                continue
            if content:
                kept.append({"evaluation_id": evaluation_id, "saved_at": at, "content": content})
            put_counts(connection, result.counts)
            put_episodes(connection, result.episodes)
            if result.outlook is not None:
                outgoing += _put_outlook(connection, result.outlook)
            if result.transition is not None:
                _put_transition(
                    connection, result.transition, result.notified, result.outbox, evaluation_id=evaluation_id
                )
            outgoing += rows_of(evaluation.monitor, result.outbox, at, evaluation_id=evaluation_id)
        if kept:
            connection.execute(_TABLES, kept)
        put_all(connection, outgoing)


def save_outlooks(store: Store, records: Sequence[OutlookRecord], *, lease: Lease) -> None:
    """Save all or none; an outlook that is there already is left out with all that follows from it."""
    with store.writing() as connection:
        require(connection, lease)
        for record in records:
            put_all(connection, _put_outlook(connection, record))


def remember_labels(
    store: Store,
    monitor: str,
    window: Window,
    *,
    label_counts: dict[str, int],
    labels_digest: str,
    lease: Lease,
) -> None:
    """Note how the rows of a window are labelled now, where that changes nothing of its newest evaluation."""
    table = tables.evaluation
    all_rows = having(table, monitor=monitor, segment="", **window_key(window))
    newest = select(func.max(table.c.revision)).where(*all_rows).scalar_subquery()
    with store.writing() as connection:
        require(connection, lease)
        connection.execute(
            table.update()
            .where(*all_rows, table.c.revision == newest)
            .values(label_counts=label_counts, labels_digest=labels_digest)
        )


def save_transition(
    store: Store,
    transition: Transition,
    notified: bool,
    outbox: Sequence[Outgoing],
    *,
    lease: Lease,
    episodes: Sequence[Decline] = (),
) -> None:
    """Save a change of status without an evaluation (an error, its end, a removal), and its episodes."""
    with store.writing() as connection:
        require(connection, lease)
        _put_transition(connection, transition, notified, outbox)
        put_episodes(connection, episodes)
        put(connection, transition.monitor, outbox, transition.at)


def _put_evaluation(
    connection: Connection, result: WindowRecord, plain: dict[str, Any], summaries: dict[str, int]
) -> int | None:
    """Return the number of the row; None where the evaluation is there already."""
    metrics, reference = plain.pop("metrics"), plain.pop("reference")
    digest = result.reference_digest or reference_digest(reference)
    if digest not in summaries:
        named, row = {"named": digest}, {"digest": digest, "content": reference}
        summary_id = connection.scalar(_FIND_SUMMARY, named)
        if summary_id is None:
            connection.execute(_unless_there(connection, tables.summary), row)
            summary_id = connection.execute(_FIND_SUMMARY, named).scalar_one()
        summaries[digest] = int(summary_id)
    evaluation = result.evaluation
    values = {
        "monitor": evaluation.monitor,
        "segment": evaluation.segment,
        **window_key(evaluation.window),
        "revision": evaluation.revision,
        "model_version": evaluation.champion_version,
        "challenger_version": evaluation.challenger_version,
        "at": evaluation.at,
        "outcome": evaluation.outcome,
        "data_digest": evaluation.provenance.get("data_digest", ""),
        "label_counts": result.label_counts,
        "labels_digest": result.labels_digest,
        "settings_digest": result.settings_digest,
        "metrics": metrics,
        "result": plain,
        "summary_id": summaries[digest],
        **{column: metrics.get(metric) for column, metric in tables.GLANCE.items()},
    }
    evaluation_id: int | None = connection.scalar(_unless_there(connection, tables.evaluation), values)
    return evaluation_id


def _unless_there(connection: Connection, table: Table) -> Executable:
    """Return the insertion that gives the row's number, or nothing where it is there; kept, for speed."""
    key = (connection.dialect.name, table.name)
    if key not in _INSERTIONS:
        _INSERTIONS[key] = insert(connection, table).on_conflict_do_nothing().returning(table.c.id)
    return _INSERTIONS[key]


def reference_digest(reference: Mapping[str, Any]) -> str:
    """Return the name of the evaluation's reference (`Evaluation.reference`)."""
    return hashlib.sha256(tables.as_json(reference).encode()).hexdigest()


def _put_outlook(connection: Connection, record: OutlookRecord) -> list[Row]:
    """Save an outlook that is not there yet; the rows of the outbox that follow."""
    outlook = record.outlook
    plain = outlook.to_dict()
    metrics = plain.pop("metrics")
    values = {
        "monitor": outlook.monitor,
        "segment": outlook.segment,
        **window_key(outlook.window),
        "model_version": outlook.champion_version,
        "at": outlook.at,
        "outcome": outlook.outcome,
        "metrics": metrics,
        "result": plain,
    }
    outlook_id = connection.scalar(_unless_there(connection, tables.outlook), values)
    if outlook_id is None:
        return []
    if record.transition is not None:
        _put_transition(connection, record.transition, record.notified, record.outbox, outlook_id=outlook_id)
    return rows_of(outlook.monitor, record.outbox, outlook.made_at, outlook_id=outlook_id)


def _put_transition(
    connection: Connection,
    transition: Transition,
    notified: bool,
    outbox: Sequence[Outgoing],
    *,
    evaluation_id: int | None = None,
    outlook_id: int | None = None,
) -> None:
    put_warning(connection, transition, notified, outbox)
    if transition.before is not transition.after:
        nobody = {"acknowledged_by": None, "acknowledged_at": None}
        people = tables.attention
        connection.execute(update(people).where(people.c.monitor == transition.monitor).values(nobody))
    connection.execute(
        tables.transition.insert().values(
            monitor=transition.monitor,
            segment=transition.segment,
            at=transition.at,
            before=transition.before,
            after=transition.after,
            reasons=transition.to_dict()["reasons"],
            since=transition.since,
            notified=notified,
            evaluation_id=evaluation_id,
            outlook_id=outlook_id,
        )
    )


def instance_id(store: Store) -> str:
    """Return a UUID that names this store in MLflow; made at the first call, then always the same."""
    query = select(tables.instance.c.uuid)
    uuid = store.scalar(query)
    if uuid is None:
        with store.writing() as connection:
            connection.execute(
                insert(connection, tables.instance).values(id=1, uuid=str(uuid4())).on_conflict_do_nothing()
            )
            uuid = connection.execute(query).scalar_one()
    return str(uuid)


def reference(store: Store, monitor: str, digest: str) -> dict[str, Any] | None:
    """Return the reference frozen under `digest` (of all that decides it), by segment, or None."""
    table = tables.reference
    query = select(table.c.content).where(*having(table, monitor=monitor, digest=digest))
    content: dict[str, Any] | None = store.scalar(query)
    return content


def reference_of(store: Store, evaluation: Evaluation) -> dict[str, Any] | None:
    """Return the frozen reference that a window was compared with, if it is kept."""
    digest = evaluation.reference.get("digest")
    return reference(store, evaluation.monitor, digest) if digest else None


def has_reference(store: Store, monitor: str, digest: str) -> bool:
    """Return True if a reference is frozen under `digest`."""
    table = tables.reference
    query = select(table.c.digest).where(*having(table, monitor=monitor, digest=digest))
    return store.scalar(query) is not None


def save_reference(
    store: Store,
    monitor: str,
    digest: str,
    content: dict[str, Any],
    *,
    counts: Sequence[KeptCounts] = (),
) -> None:
    """Freeze a reference; one that is frozen already is unchanged. The counts that it rests on are kept."""
    row = {"monitor": monitor, "digest": digest, "content": content}
    with store.writing() as connection:
        connection.execute(insert(connection, tables.reference).values(row).on_conflict_do_nothing())
        put_counts(connection, counts)


def alias(store: Store, model: str, name: str) -> tuple[str, datetime] | None:
    """Return the version that an alias of a model last stood for, and when that was seen; or None."""
    query = select(tables.alias).where(*having(tables.alias, model=model, alias=name))
    return next(((row["version"], row["seen_at"]) for row in store.rows(query)), None)


def save_alias(store: Store, model: str, name: str, version: str, seen_at: datetime) -> None:
    """Remember what alias `name` of a model stands for."""
    key, seen = {"model": model, "alias": name}, {"version": version, "seen_at": seen_at}
    with store.writing() as connection:
        put_row(connection, tables.alias, key, seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastTick:
    """The last tick of a monitor, and totals since the first."""

    monitor: str
    started_at: datetime
    ended_at: datetime
    seconds: float  # by a clock that is never set
    windows: int  # judged in it
    error: str | None  # why it ended early
    next_due: datetime  # whoever makes it
    ticks_total: int
    failures_total: int
    windows_total: int
    seconds_total: float


def save_tick(
    store: Store,
    monitor: str,
    *,
    started_at: datetime,
    ended_at: datetime,
    seconds: float,
    windows: int,
    error: str | None,
    next_due: datetime,
) -> None:
    """Replace the last tick of a monitor, and add this one to the totals."""
    last = {
        "started_at": started_at,
        "ended_at": ended_at,
        "seconds": seconds,
        "windows": windows,
        "error": error,
        "next_due": next_due,
    }
    more = {
        "ticks_total": 1,
        "failures_total": int(error is not None),
        "windows_total": windows,
        "seconds_total": seconds,
    }
    totals = {name: tables.tick.c[name] + by for name, by in more.items()}
    with store.writing() as connection:
        put_row(connection, tables.tick, {"monitor": monitor}, last | more, changed=last | totals)


def ticks(store: Store) -> dict[str, LastTick]:
    """Return the last tick by monitor; those that never had one are absent."""
    return {row["monitor"]: LastTick(**row) for row in store.rows(select(tables.tick))}
