"""What a tick keeps of a window: its outlook or its evaluation, and the change of status that follows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rocmonitor import store
from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.config.values import written
from rocmonitor.errors import TrackingError
from rocmonitor.policy.budget import Levels
from rocmonitor.policy.evaluation import Evaluation, Transition
from rocmonitor.policy.outlook import Outlook, repeated, rows_since
from rocmonitor.policy.revised import Revised, as_reason
from rocmonitor.policy.windows import Window
from rocmonitor.service.counted import stored
from rocmonitor.service.courses import Courses
from rocmonitor.service.outlooks import PUBLISH, Outlooks
from rocmonitor.service.pieces import pooled
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.standing import Standings
from rocmonitor.service.versions import Role, version
from rocmonitor.sources import LabelCounts

if TYPE_CHECKING:
    from rocmonitor.policy.lasting import Course
    from rocmonitor.policy.reference import Reference
    from rocmonitor.service.judging import Judged, Seen, WindowRequest


class Records:
    """The records of one monitor during one tick; keeps what it has read of the store and changed in it."""

    def __init__(self, runtime: Runtime, monitor: Monitor, now: datetime, *, dry_run: bool) -> None:
        self.runtime, self.monitor, self.now, self.dry_run = runtime, monitor, now, dry_run
        self.standings = Standings(runtime.store, monitor, now)
        self.levels = Levels(rules={})  # known with the references
        self.outlooks = Outlooks(runtime.store, monitor, now)
        self.courses = Courses(runtime.store, monitor, dry_run=dry_run)
        self.versions: dict[Role, tuple[str | None, tuple[Caveat, ...]]] = {}
        self.references: dict[str, tuple[dict[str, Any], str]] = {}  # with what names it

    @cached_property
    def settings_digest(self) -> str:
        """What names the settings by which this tick judges."""
        from rocmonitor.service import references

        return references.settings_digest(self.monitor)

    def at_levels(self, references: dict[str, Reference]) -> dict[str, Reference]:
        """The references at the levels that a budget asks for, for all windows of the tick."""
        from rocmonitor.policy.levels import at_levels
        from rocmonitor.policy.reference import followed
        from rocmonitor.service import budgets

        own: dict[str, float] = {}
        if self.monitor.joining is not None and "" in references:  # it may not be frozen yet
            found = budgets.windows_per_year(self.monitor, references[""].windows)
            own |= {} if found is None else {self.monitor.name: found}
        of = self.levels = budgets.levels(self.runtime.config, self.runtime.store, self.monitor.name, own)
        return {name: at_levels(followed(each), of.rules, of.derived) for name, each in references.items()}

    def outlook(self, window: Window, segment: str, judged: Judged) -> Outlook | None:
        """The outlook of a window and segment; None where there is one, none is wanted, or rows lack."""
        if self.monitor.outlook is None:
            return None
        seen, (champion, doubts) = judged.segments[segment], self._version("champion")
        return self.outlooks.make(
            window,
            segment,
            seen,
            version=champion or "unknown",
            provenance=_provenance(self.monitor, judged, seen, self.now),
            doubts=(*doubts, *self._circular(window)),
            made_at=self.runtime.clock(),
        )

    def request(
        self,
        window: Window,
        references: Mapping[str, Reference],
        *,
        before: store.Evaluated | None,
        judges: bool,
        labels: LabelCounts | None,
        as_of: datetime,
    ) -> WindowRequest:
        """What is asked of whoever reads and judges a window."""
        from rocmonitor.policy.reference import Reference
        from rocmonitor.service.judging import WindowRequest

        monitor = self.monitor
        courses = self._courses(window, references, before) if judges else {}
        made = self.outlooks.foreseen
        return WindowRequest(
            monitor=monitor,
            window=window,
            as_of=as_of,
            now=self.runtime.clock(),
            judges=judges,
            labels=labels,
            references=references,
            absent=Reference(auc=None, caveats=self._no_reference()),
            levels=self.levels,
            courses=courses,
            foresees=before is None and monitor.outlook_at(window) is not None,
            has_outlook=frozenset(segment for segment, other in made if other == window),
            # One that was judged is read again because its rows have changed.
            stored=stored(self.runtime.store, monitor, window) if before is None else (),
            keeps_counts=not self.dry_run and bool(self.runtime.config.keep.counts),
        )

    def _courses(
        self, window: Window, references: Mapping[str, Reference], before: store.Evaluated | None
    ) -> dict[str, Course]:
        """The windows before it, by segment; one without a reference has no chart to read them."""
        if not self.courses.wanted:
            return {}
        version = self._versions(before)[0] or "unknown"
        found = {segment: self.courses.leading_to(segment, window, version) for segment in references}
        return {segment: each for segment, each in found.items() if each is not None}

    def _no_reference(self) -> tuple[Caveat, ...]:
        """Why no segment has a reference; empty where others have one."""
        if self.monitor.reference_windows:
            return ()
        period = self.monitor.reference_period.in_zone(self.monitor.timezone)
        return (Caveat("no-reference-window", period=period, every=written(self.monitor.window.every)),)

    def record(
        self,
        window: Window,
        segment: str,
        judged: Judged,
        reference: Reference | None,
        *,
        before: store.Evaluated | None,
        as_of: datetime,
    ) -> store.WindowRecord:
        """The evaluation of a window and segment, with the change of status and the messages that follow."""
        seen, labels = judged.segments[segment], judged.labels
        assert labels is not None  # it was asked to judge
        warned = before is None and self.outlooks.warned(segment, window)
        outlook = self.outlook(window, segment, judged) if before is None else None
        degraded = self.standings.degraded_windows(segment) if before is not None else set()
        evaluation = self._evaluation(window, segment, judged, before, reference, as_of)
        self.courses.add(evaluation)
        revised = None if before is None else self._revised(evaluation, before, labels)
        change, notify = self._change(evaluation, seen, warned, revised)
        self.outlooks.forget(segment, window)
        outbox = [PUBLISH, *self.standings.messages(change, notify)]
        if revised is not None and change is None and degraded != self.standings.degraded_windows(segment):
            outbox += self.standings.revision_messages(revised)
        return store.WindowRecord(
            evaluation=evaluation,
            label_counts=labels.by_label,
            labels_digest=labels.digest,
            settings_digest=self.settings_digest,
            reference_digest=self.references[segment][1],
            transition=change,
            notified=notify,
            outbox=outbox,
            outlook=None if outlook is None else store.OutlookRecord(outlook=outlook, outbox=[PUBLISH]),
            counts=() if segment else judged.kept,
        )

    def _change(
        self, evaluation: Evaluation, seen: Seen, warned: bool, revised: Revised | None
    ) -> tuple[Transition | None, bool]:
        """The change of status that follows from a window, and whether somebody is notified."""
        from rocmonitor.policy.judge import reasons_for

        segment = evaluation.segment
        status = self.standings.after(segment)
        assert seen.finding is not None  # it has its labels
        reasons = reasons_for(
            seen.finding, status, seen.caveats, before=self.standings.current(segment), warned=warned
        )
        return self.standings.change(
            segment,
            status,
            at=evaluation.at,
            since=self.standings.since(segment, status, evaluation.window),
            reasons=reasons if revised is None else (*reasons, as_reason(revised)),
        )

    def _revised(
        self, evaluation: Evaluation, before: store.Evaluated, labels: LabelCounts
    ) -> Revised | None:
        """What a revision changes; None where its outcome is that of the one before."""
        window, segment = evaluation.window, evaluation.segment
        last = store.evaluations(
            self.runtime.store, self.monitor.name, segment=segment, start=window.start, end=window.end
        )
        if not last or last[-1].outcome is evaluation.outcome:
            return None
        same = before.digest == evaluation.provenance["data_digest"]
        more = sum(before.label_counts.values()) < labels.labelled
        return Revised(
            monitor=evaluation.monitor,
            segment=segment,
            window=window,
            revision=evaluation.revision,
            before=last[-1].outcome,
            after=evaluation.outcome,
            auc_before=last[-1].metrics.get("champion/auc"),
            auc=evaluation.metrics.get("champion/auc"),
            cause="settings" if same else "late" if more else "corrected",
            at=evaluation.at,
            status=self.standings.after(segment),
        )

    def _evaluation(
        self,
        window: Window,
        segment: str,
        judged: Judged,
        before: store.Evaluated | None,
        reference: Reference | None,
        as_of: datetime,
    ) -> Evaluation:
        monitor, seen = self.monitor, judged.segments[segment]
        finding = seen.finding
        assert finding is not None  # it has its labels
        champion, challenger, doubts = self._versions(before)
        self.standings.add_outcome(segment, window, finding.outcome)
        foreseen = self.outlooks.made(segment, window, judged=before is not None)
        return Evaluation(
            monitor=monitor.name,
            model=monitor.model.name,
            segment=segment,
            window=window,
            revision=0 if before is None else before.revision + 1,
            champion_version=champion or "unknown",
            challenger_version=challenger,
            at=min(self.now, monitor.labels.due_at(window)) if before is None else self.now,
            evaluated_at=self.runtime.clock(),
            outcome=finding.outcome,
            status=self.standings.after(segment, until=window),
            verdicts=finding.verdicts,
            counts=seen.counts,
            metrics=finding.metrics | repeated(foreseen),
            tables=finding.tables,
            reference=self._summary(segment, reference),
            provenance=_provenance(monitor, judged, seen, as_of),
            caveats=(*doubts, *self._doubts(window, seen, foreseen), *finding.caveats),
        )

    def _summary(self, segment: str, reference: Reference | None) -> dict[str, Any]:
        """The reference of a segment as its evaluations keep it: one for all of them."""
        if segment not in self.references:
            from rocmonitor.policy.reference import Reference
            from rocmonitor.service import references

            absent = Reference(auc=None, caveats=self._no_reference())
            found = references.summary(self.monitor, reference or absent)
            self.references[segment] = found, store.reference_digest(found)
        return self.references[segment][0]

    def _versions(self, before: store.Evaluated | None) -> tuple[str | None, str | None, tuple[Caveat, ...]]:
        """Champion and challenger, and what is doubtful about them; a revision keeps the first ones."""
        if before is not None:  # its rows were scored by the versions of then
            return before.champion_version, before.challenger_version, ()
        (champion, doubt), (challenger, other) = self._version("champion"), self._version("challenger")
        return champion, challenger, (*doubt, *other)

    def _doubts(self, window: Window, seen: Seen, foreseen: dict[str, float]) -> tuple[Caveat, ...]:
        return (
            *self._circular(window),
            *pooled(self.monitor, window),
            *seen.caveats,
            *rows_since(foreseen, seen.scored),
        )

    def _circular(self, window: Window) -> tuple[Caveat, ...]:
        period = self.monitor.reference_period
        inside = window.start < period.end and period.start < window.end
        return (Caveat("window-in-reference"),) if inside else ()

    def _version(self, role: Role) -> tuple[str | None, tuple[Caveat, ...]]:
        """The model version behind a role, looked up once a tick, and what is doubtful about it."""
        if role not in self.versions:
            try:
                self.versions[role] = version(self.runtime, self.monitor, role, keep=not self.dry_run)
            except TrackingError as error:
                if role == "champion":
                    raise
                # The champion is watched whatever becomes of the challenger.
                self.versions[role] = None, (Caveat("version-unknown", why=str(error)),)
        return self.versions[role]


def _provenance(monitor: Monitor, judged: Judged, seen: Seen, as_of: datetime) -> dict[str, Any]:
    """Enough to repeat the evaluation."""
    replayed = monitor.reads_as_of or monitor.columns.labelled_at is not None
    return {
        **monitor.read_as,
        **({"as_of": as_of.isoformat()} if replayed else {}),
        "grouped": judged.grouped,
        **({"condense": monitor.condense.model_dump()} if judged.condensed else {}),
        **seen.guaranteed,
        "data_digest": judged.data_digest,
        **judged.made_with,
    }
