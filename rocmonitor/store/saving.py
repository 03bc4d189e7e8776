"""Saving what one tick found, in one transaction: results, changes of status, outbox rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from rocmonitor.policy.evaluation import Evaluation, Transition
from rocmonitor.policy.outlook import Outlook
from rocmonitor.policy.windows import Window
from rocmonitor.store import tables
from rocmonitor.store.attention import end_acknowledgement
from rocmonitor.store.connection import Store, insert
from rocmonitor.store.leases import Lease, require
from rocmonitor.store.outbox import Outgoing, put


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlookRecord:
    """What the outlook of one window and segment led to; the other fields are those of `WindowRecord`."""

    outlook: Outlook
    transition: Transition | None = None
    notified: bool = False
    outbox: Sequence[Outgoing] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRecord:
    """What one window of one segment led to.

    Attributes
    ----------
    evaluation : Evaluation
    label_counts : dict of str to int
        Rows by label when the window was read: when they have changed, late labels have come.
    labels_digest : str
        Of the labelled rows then (`rocmonitor.sources.LabelCounts`): when it has changed, labels or scores
        were corrected.
    settings_digest : str
        Of what the window was judged by.
    transition : Transition or None
        The change of status, if there was one.
    notified : bool
        Whether somebody is notified of the transition.
    outbox : sequence of Outgoing
    outlook : OutlookRecord or None
        The outlook of a window that had none before it was judged.
    """

    evaluation: Evaluation
    label_counts: dict[str, int]
    labels_digest: str | None = None
    settings_digest: str | None = None
    transition: Transition | None = None
    notified: bool = False
    outbox: Sequence[Outgoing] = ()
    outlook: OutlookRecord | None = None


def save(store: Store, results: Sequence[WindowRecord], *, lease: Lease) -> None:
    """Save all results or none.

    A result whose evaluation is there already (same monitor, model version, segment, window and revision) is
    left out with its transition and outbox rows, so a repeat changes nothing.

    Raises
    ------
    StoreError
        Also (transient) when another process has taken over the lease.
    """
    with store.writing() as connection:
        require(connection, lease)
        for result in results:
            _save_result(connection, result)


def save_outlooks(store: Store, records: Sequence[OutlookRecord], *, lease: Lease) -> None:
    """Save all or none; an outlook that is there already is left out with all that follows from it.

    Raises
    ------
    StoreError
        Also (transient) when another process has taken over the lease.
    """
    with store.writing() as connection:
        require(connection, lease)
        for record in records:
            _put_outlook(connection, record)


def remember_labels(
    store: Store,
    monitor: str,
    window: Window,
    *,
    label_counts: dict[str, int],
    labels_digest: str,
    lease: Lease,
) -> None:
    """Note how the rows of a window are labelled now, where that changes nothing of its newest evaluation.

    Raises
    ------
    StoreError
        Also (transient) when another process has taken over the lease.
    """
    found = tables.evaluation
    all_rows = (
        found.c.monitor == monitor,
        found.c.segment == "",
        found.c.window_start == window.start,
        found.c.window_end == window.end,
    )
    with store.writing() as connection:
        require(connection, lease)
        newest = connection.scalar(select(func.max(found.c.revision)).where(*all_rows))
        connection.execute(
            found.update()
            .where(*all_rows, found.c.revision == newest)
            .values(label_counts=label_counts, labels_digest=labels_digest)
        )


def save_transition(
    store: Store, transition: Transition, notified: bool, outbox: Sequence[Outgoing], *, lease: Lease
) -> None:
    """Save a change of status that no evaluation made: a monitor that fails, or works again.

    Raises
    ------
    StoreError
        Also (transient) when another process has taken over the lease.
    """
    with store.writing() as connection:
        require(connection, lease)
        _put_transition(connection, transition, notified)
        put(connection, transition.monitor, outbox, transition.at)


def _save_result(connection: Connection, result: WindowRecord) -> None:
    evaluation, evaluation_id = result.evaluation, _put_evaluation(connection, result)
    if evaluation_id is None:
        return
    if result.outlook is not None:
        _put_outlook(connection, result.outlook)
    if result.transition is not None:
        _put_transition(connection, result.transition, result.notified, evaluation_id=evaluation_id)
    put(
        connection,
        evaluation.monitor,
        result.outbox,
        evaluation.evaluated_at,
        evaluation_id=evaluation_id,
    )


def _put_evaluation(connection: Connection, result: WindowRecord) -> int | None:
    """The number of the row; None where the evaluation is there already."""
    evaluation = result.evaluation
    plain = evaluation.to_dict()
    metrics, kept, reference = (plain.pop(part) for part in ("metrics", "tables", "reference"))
    values = _columns(result) | {
        "metrics": metrics,
        "result": plain,
        "summary_id": put_summary(connection, reference),
        **{column: metrics.get(metric) for column, metric in tables.GLANCE.items()},
    }
    evaluation_id: int | None = connection.scalar(
        insert(connection, tables.evaluation)
        .values(values)
        .on_conflict_do_nothing()
        .returning(tables.evaluation.c.id)
    )
    if evaluation_id is not None and kept:
        connection.execute(
            tables.evaluation_tables.insert().values(
                evaluation_id=evaluation_id, saved_at=evaluation.evaluated_at, content=kept
            )
        )
    return evaluation_id


def _columns(result: WindowRecord) -> dict[str, Any]:
    """What has a column of its own."""
    evaluation = result.evaluation
    return {
        "monitor": evaluation.monitor,
        "segment": evaluation.segment,
        "window_start": evaluation.window.start,
        "window_end": evaluation.window.end,
        "revision": evaluation.revision,
        "model_version": evaluation.champion_version,
        "challenger_version": evaluation.challenger_version,
        "at": evaluation.at,
        "outcome": evaluation.outcome,
        "data_digest": evaluation.provenance.get("data_digest", ""),
        "label_counts": result.label_counts,
        "labels_digest": result.labels_digest,
        "settings_digest": result.settings_digest,
    }


def put_summary(connection: Connection, reference: Mapping[str, Any]) -> int:
    """The row that holds what an evaluation was compared with, made where there is none."""
    table = tables.summary
    digest = hashlib.sha256(tables.as_json(reference).encode()).hexdigest()
    find = select(table.c.id).where(table.c.digest == digest)
    found = connection.scalar(find)
    if found is None:
        row = {"digest": digest, "content": reference}
        connection.execute(insert(connection, table).values(row).on_conflict_do_nothing())
        found = connection.scalar(find)
    return int(found or 0)


def _put_outlook(connection: Connection, record: OutlookRecord) -> None:
    outlook = record.outlook
    plain = outlook.to_dict()
    metrics = plain.pop("metrics")
    outlook_id = connection.scalar(
        insert(connection, tables.outlook)
        .values(
            monitor=outlook.monitor,
            segment=outlook.segment,
            window_start=outlook.window.start,
            window_end=outlook.window.end,
            model_version=outlook.champion_version,
            at=outlook.at,
            outcome=outlook.outcome,
            metrics=metrics,
            result=plain,
        )
        .on_conflict_do_nothing()
        .returning(tables.outlook.c.id)
    )
    if outlook_id is None:
        return
    if record.transition is not None:
        _put_transition(connection, record.transition, record.notified, outlook_id=outlook_id)
    put(connection, outlook.monitor, record.outbox, outlook.made_at, outlook_id=outlook_id)


def _put_transition(
    connection: Connection,
    transition: Transition,
    notified: bool,
    *,
    evaluation_id: int | None = None,
    outlook_id: int | None = None,
) -> None:
    if transition.before is not transition.after:
        end_acknowledgement(connection, transition.monitor)
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
