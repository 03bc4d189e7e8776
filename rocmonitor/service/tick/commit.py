"""The rows of one transaction: what was found of a window, the change of status, and its messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from rocmonitor import store
from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.policy.episode import ANOTHER, Decline, due_for_update, episodes_after
from rocmonitor.policy.evaluation import IN_DOUBT, Evaluation, Status, Transition
from rocmonitor.policy.judge import reasons_for
from rocmonitor.policy.lessons import judged_outlook
from rocmonitor.policy.outlook import Outlook, repeated
from rocmonitor.policy.status import Revised, is_alarm
from rocmonitor.policy.windows import Window
from rocmonitor.service.pieces import pooled
from rocmonitor.service.tick.plan import Job
from rocmonitor.service.tick.state import TickState
from rocmonitor.sources import LabelCounts
from rocmonitor.stats.forecast.learning import Answer

if TYPE_CHECKING:
    from rocmonitor.service.judging import Judged, MeasuredSegment

PUBLISH = store.Outgoing(destination="mlflow", payload={})

_Record = TypeVar("_Record", store.WindowRecord, store.OutlookRecord)


def evaluations(state: TickState, job: Job, judged: Judged) -> list[store.WindowRecord]:
    """Return the evaluation of each segment of a window, with what follows from it."""
    return _together(state, [_record(state, job, segment, judged) for segment in judged.segments])


def outlooks(state: TickState, job: Job, judged: Judged) -> list[store.OutlookRecord]:
    """Return the outlook of each segment of a window without labels, with what follows from it."""
    records, window = list[store.OutlookRecord](), job.window
    for segment in judged.segments:
        outlook = _outlook(state, window, segment, judged)
        if outlook is None:
            continue
        segment_state = state.of(segment)
        joins = outlook.outcome is Status.AT_RISK and segment_state.warn(window, outlook.warning_rules)
        status = segment_state.after()
        change, notify = segment_state.change(
            status,
            at=outlook.at,
            since=window.start,
            reasons=tuple(verdict for verdict in outlook.verdicts if verdict.outcome is outlook.outcome),
            news=joins and status is Status.AT_RISK,
        )
        outbox = [PUBLISH, *change_messages(state, change, notify)]
        records.append(
            store.OutlookRecord(outlook=outlook, transition=change, notified=notify, outbox=outbox)
        )
    return _together(state, records)


def _together(state: TickState, records: list[_Record]) -> list[_Record]:
    """Return the records with one message on all changes of status, where there are several.

    It belongs to the gravest, and the others have none.
    """
    changes = [
        (record.transition, at) for at, record in enumerate(records) if record.transition and record.notified
    ]
    if len(changes) < 2:
        return records
    changes.sort(key=lambda entry: (_GRAVEST.index(entry[0].after), entry[0].segment))
    (first, place), *others = changes
    outboxes = {at: [PUBLISH] for _, at in changes}
    episodes = getattr(records[place], "episodes", ())
    also = [change.to_dict() for change, _ in others]
    outboxes[place] += change_messages(state, first, True, episodes, also=also)
    return [replace(record, outbox=outboxes.get(at, record.outbox)) for at, record in enumerate(records)]


_GRAVEST = (
    Status.ERROR,
    Status.DEGRADED,
    Status.AT_RISK,
    Status.INSUFFICIENT,
    Status.IMPROVED,
    Status.OK,
)


def failure(state: TickState, error: str | None) -> tuple[Transition | None, bool]:
    """Return the change of status when a monitor fails (`error`), or works again."""
    if error is None and state.statuses()[""] is not Status.ERROR:
        return None, False
    segment_state = state.of("")
    why = Caveat("error", text=error) if error is not None else Caveat("works-again")
    status = segment_state.after() if error is None else Status.ERROR
    hold = state.episode("") is not None
    return segment_state.change(status, at=state.now, since=state.now, reasons=(why,), hold=hold)


def change_messages(
    state: TickState,
    change: Transition | None,
    notify: bool,
    episodes: Sequence[Decline] = (),
    **more: object,
) -> list[store.Outgoing]:
    """Return the outbox rows of a change of status, if somebody is notified."""
    if change is None or not notify:
        return []
    told = {"episode": episodes[-1].to_dict()} if episodes else {}
    return state.messages(transition=change.to_dict(), **more, **told)


def _record(state: TickState, job: Job, segment: str, judged: Judged) -> store.WindowRecord:
    window, before, segment_state, labels = job.window, job.before, state.of(segment), judged.labels
    assert labels is not None  # it was asked to judge
    warned = before is None and bool(state.foreseen.get((segment, window), {}).get("outlook/warned"))
    outlook = _outlook(state, window, segment, judged) if before is None else None
    degraded = segment_state.degraded() if before is not None else set()
    evaluation = _evaluation(state, job, segment, judged)
    state.courses.add(evaluation)
    revised = None if before is None else _revised(state, evaluation, before, labels)
    warning = None
    if warned:
        learned = judged_outlook(evaluation)
        warning = Answer.UNDECIDED if learned is None else learned.answer()
    change, notify, episodes = _change(state, evaluation, judged, warning, revised)
    if episodes:
        evaluation = replace(
            evaluation,
            metrics=evaluation.metrics | episodes[-1].metrics,
            provenance=evaluation.provenance | {"episode": episodes[-1].facts()},
        )
    state.foreseen.pop((segment, window), None)  # it is in the store, and in the evaluation
    outbox = [PUBLISH, *change_messages(state, change, notify, episodes)]
    if (
        revised is not None
        and change is None
        and degraded != segment_state.degraded()
        and segment_state.tells(revised)
    ):
        outbox += state.messages(revised=revised.to_dict())
    return store.WindowRecord(
        evaluation=evaluation,
        label_counts=labels.by_label,
        labels_digest=labels.digest,
        settings_digest=state.settings_digest,
        reference_digest=state.summary(segment)[1],
        transition=change,
        notified=notify,
        outbox=outbox,
        outlook=None if outlook is None else store.OutlookRecord(outlook=outlook, outbox=[PUBLISH]),
        counts=() if segment else judged.kept,
        episodes=episodes,
    )


def _evaluation(state: TickState, job: Job, segment: str, judged: Judged) -> Evaluation:
    monitor, window, before, seen = state.monitor, job.window, job.before, judged.segments[segment]
    finding, segment_state = seen.finding, state.of(segment)
    assert finding is not None  # it has its labels
    champion, challenger, doubts = state.versions(before)
    segment_state.add(window, finding.outcome)
    if before is not None and monitor.outlook:
        foreseen = store.outlook_metrics(state.runtime.store, monitor.name, segment, window)
    else:
        foreseen = state.foreseen.get((segment, window), {})
    then = round(foreseen.get("outlook/scored", seen.scored))
    grown = () if then == seen.scored else (Caveat("rows-since-outlook", then=then, now=seen.scored),)
    return Evaluation(
        monitor=monitor.name,
        model=monitor.model.name,
        segment=segment,
        window=window,
        revision=0 if before is None else before.revision + 1,
        champion_version=champion or "unknown",
        challenger_version=challenger,
        at=min(state.now, monitor.labels.due_at(window)) if before is None else state.now,
        evaluated_at=state.runtime.clock(),
        outcome=finding.outcome,
        status=segment_state.after(window),
        verdicts=finding.verdicts,
        counts=seen.counts,
        metrics=finding.metrics | repeated(foreseen),
        tables=finding.tables,
        reference=state.summary(segment)[0],
        provenance=_provenance(monitor, judged, seen, job.as_of) | {"settings_digest": state.settings_digest},
        caveats=(
            *doubts,
            *_circular(monitor, window),
            *pooled(monitor, window),
            *seen.caveats,
            *grown,
            *finding.caveats,
        ),
    )


def _change(
    state: TickState,
    evaluation: Evaluation,
    judged: Judged,
    warning: Answer | None,
    revised: Revised | None,
) -> tuple[Transition | None, bool, list[Decline]]:
    """Return the change of status that follows from a window, whether somebody is notified, and what it makes
    of the segment's episodes.
    """
    segment = evaluation.segment
    segment_state, seen, open_ = state.of(segment), judged.segments[segment], state.episode(segment)
    episodes = episodes_after(
        open_,
        segment_state,
        evaluation,
        lambda: state.courses.up_to(evaluation, max(state.episode_ends(segment), default=None)),
        state.monitor.timezone,
    )
    if judged.explain is not None and not segment:  # the window may have moved the start
        explain = judged.explain
        episodes = [one.explained(explain(one.start)) if one.is_open else one for one in episodes]
    last = episodes[-1] if episodes else open_
    status = segment_state.after()
    assert seen.finding is not None  # it has its labels
    reasons = reasons_for(seen.finding, status, seen.caveats, before=segment_state.status, warning=warning)
    if last is not None and last.still is not None and not is_alarm(status):
        ends = {"change": last.still, "low": last.still_low, "high": last.still_high}
        reasons = (Caveat(IN_DOUBT if last.is_open else "recovered", **ends), *reasons)
    if revised is not None:
        aucs = {"auc_before": revised.auc_before, "auc": revised.auc}
        outcomes = {"before": str(revised.before), "after": str(revised.after)}
        values = outcomes | {name: value for name, value in aucs.items() if value is not None}
        reasons = (*reasons, Caveat("judged-again", cause=revised.cause, **values))
    holds = last is not None and last.is_open
    again = segment_state.status is not Status.DEGRADED or segment_state.found_again(evaluation.window)
    another = bool(episodes) and episodes[0].end_why == ANOTHER
    began = None
    if last is not None:
        began = last.end or (last.start if status is Status.DEGRADED else None)
    change, notify = segment_state.change(
        status,
        at=evaluation.at,
        since=began or segment_state.since(status, evaluation.window),
        reasons=reasons,
        news=another or (open_ is not None and holds and due_for_update(open_, state.now, again=again)),
        hold=holds,
    )
    # A message of this tick goes out after it, and tells of the windows that follow, too.
    told = notify or (bool(episodes) and episodes[-1].last_message == state.now)
    if told and episodes and episodes[-1].is_open and status is Status.DEGRADED:
        episodes[-1] = episodes[-1].told(state.now, state.monitor.notify)
    state.put_episodes(segment, episodes)
    return change, notify, episodes


def _revised(
    state: TickState, evaluation: Evaluation, before: store.Evaluated, labels: LabelCounts
) -> Revised | None:
    """Return what a revision changes; None where its outcome is that of the one before."""
    window, segment = evaluation.window, evaluation.segment
    revisions = store.evaluations(
        state.runtime.store, state.monitor.name, segment=segment, start=window.start, end=window.end
    )
    if not revisions or revisions[-1].outcome is evaluation.outcome:
        return None
    last = revisions[-1]
    same = before.digest == evaluation.provenance["data_digest"]
    more = sum(before.label_counts.values()) < labels.labelled
    return Revised(
        monitor=evaluation.monitor,
        segment=segment,
        window=window,
        revision=evaluation.revision,
        before=last.outcome,
        after=evaluation.outcome,
        auc_before=last.metrics.get("champion/auc"),
        auc=evaluation.metrics.get("champion/auc"),
        cause="settings" if same else "late" if more else "corrected",
        at=evaluation.at,
        status=state.of(segment).after(),
    )


def _outlook(state: TickState, window: Window, segment: str, judged: Judged) -> Outlook | None:
    """Return the outlook of a window and segment.

    None when it has one already, when the monitor wants none, and while too few rows are in: then the next
    tick tries again, but for a segment alone only the tick that judges the window.
    """
    monitor, at, seen = state.monitor, state.monitor.outlook_at(window), judged.segments[segment]
    finding = seen.foreseen
    if (
        at is None
        or (segment, window) in state.foreseen
        or finding is None
        or any(
            lack.code in ("no-rows", "too-few-scores")
            for verdict in finding.verdicts
            for lack in verdict.lacks
        )
    ):
        return None
    champion, doubts = state.version("champion")
    outlook = Outlook(
        monitor=monitor.name,
        model=monitor.model.name,
        segment=segment,
        window=window,
        champion_version=champion or "unknown",
        at=at,
        made_at=state.runtime.clock(),
        outcome=None if finding.outcome is Status.OK else finding.outcome,
        verdicts=finding.verdicts,
        scored=seen.scored,
        labelled=seen.counts.used,
        metrics=finding.metrics
        | {
            "outlook/scored": float(seen.scored),
            "outlook/warned": float(finding.outcome is Status.AT_RISK),
        },
        tables=finding.tables,
        provenance=_provenance(monitor, judged, seen, state.now),
        caveats=(*doubts, *_circular(monitor, window), *seen.caveats, *finding.caveats),
    )
    state.foreseen[segment, window] = outlook.metrics
    return outlook


def _circular(monitor: Monitor, window: Window) -> tuple[Caveat, ...]:
    return (Caveat("window-in-reference"),) if window.overlaps(monitor.reference_period) else ()


def _provenance(monitor: Monitor, judged: Judged, seen: MeasuredSegment, as_of: datetime) -> dict[str, Any]:
    """Enough to repeat the evaluation."""
    return {
        **monitor.read_as,
        **({"as_of": as_of.isoformat()} if monitor.replays_labels else {}),
        "grouped": judged.grouped,
        **({"condense": monitor.condense.model_dump()} if judged.condensed else {}),
        **seen.guaranteed,
        "data_digest": judged.data_digest,
        **judged.made_with,
    }
