"""What corrected data of old windows change in what a chart said of later ones: saved as their revisions.

It is found from what the store keeps, so a tick that was killed before it came to this loses nothing: the
next one that judges a window finds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from rocmonitor import store
from rocmonitor.policy.evaluation import Evaluation, Reason
from rocmonitor.policy.windows import Window
from rocmonitor.service.outlooks import PUBLISH
from rocmonitor.service.tick.records import Records

if TYPE_CHECKING:
    from rocmonitor.policy.reference import Reference

Known = Mapping[tuple[str, Window], store.Evaluated]


def corrections(records: Records, references: Mapping[str, Reference]) -> list[store.WindowRecord]:
    """A revision of each window of which a chart now says something else, in all segments.

    The change of status that follows in a segment, and the messages about it, belong to the newest of them.
    """
    if not records.courses.wanted:
        return []
    known: Known | None = None
    found: list[store.WindowRecord] = []
    for segment, reference in references.items():
        again: dict[Window, Evaluation] = {}
        for rule, chart in reference.charts.items():
            for each in records.courses.outdated(segment, rule, chart):
                known = known or store.evaluated(records.runtime.store, records.monitor.name)
                old = again.get(each.window) or _stored(records, segment, each.window, known)
                if old is not None:
                    again[each.window] = records.courses.judged_again(old, rule, chart, each.finding)
        if again and known is not None:
            found += _records(records, segment, again, known)
    return found


def _stored(records: Records, segment: str, window: Window, known: Known) -> Evaluation | None:
    """The newest evaluation of a window, as its next revision; None when it is not saved (a dry run)."""
    if (segment, window) not in known:
        return None
    [old] = store.evaluations(
        records.runtime.store,
        records.monitor.name,
        segment=segment,
        start=window.start,
        end=window.end,
    )
    revision = max(each.revision for (_, other), each in known.items() if other == window) + 1
    return replace(old, revision=revision)


def _records(
    records: Records, segment: str, again: Mapping[Window, Evaluation], known: Known
) -> list[store.WindowRecord]:
    standings, at = records.standings, records.now
    for window, evaluation in again.items():
        standings.add_outcome(segment, window, evaluation.outcome)
        records.courses.add(evaluation)
    found = [
        store.WindowRecord(
            evaluation=_dated(records, again[window], at),
            label_counts=known[segment, window].label_counts,
            labels_digest=known[segment, window].labels_digest,
            settings_digest=known[segment, window].settings_digest,
            outbox=[PUBLISH],
        )
        for window in sorted(again)
    ]
    newest = found[-1]
    status = standings.after(segment)
    change, notify = standings.change(
        segment,
        status,
        at=at,
        since=standings.since(segment, status, newest.evaluation.window),
        reasons=_reasons(newest.evaluation),
        news=records.courses.newest(segment) == newest.evaluation.window,
    )
    outbox = [PUBLISH, *standings.messages(change, notify)]
    return [*found[:-1], replace(newest, transition=change, notified=notify, outbox=outbox)]


def _dated(records: Records, evaluation: Evaluation, at: datetime) -> Evaluation:
    status = records.standings.after(evaluation.segment, until=evaluation.window)
    return replace(evaluation, at=at, evaluated_at=records.runtime.clock(), status=status)


def _reasons(evaluation: Evaluation) -> tuple[Reason, ...]:
    """What was corrected, and what the rules say now."""
    corrected = [each for each in evaluation.caveats if each.code == "chart-corrected"]
    return (*corrected, *(each for each in evaluation.verdicts if each.margin is not None))
