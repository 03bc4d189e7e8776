"""What a tick keeps of a window: its outlook or its evaluation, and the change of status that follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache, cached_property
from importlib.metadata import version as installed
from typing import TYPE_CHECKING, Any

from rocmonitor import __version__, store
from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.errors import TrackingError
from rocmonitor.policy.budget import with_tail
from rocmonitor.policy.evaluation import Evaluation, Status, Transition
from rocmonitor.policy.outlook import Outlook, repeated, rows_since
from rocmonitor.policy.record import caveats_of
from rocmonitor.policy.revised import Revised, as_reason
from rocmonitor.policy.rules import Rule
from rocmonitor.policy.windows import Window
from rocmonitor.service.courses import Courses
from rocmonitor.service.outlooks import PUBLISH, Outlooks
from rocmonitor.service.pieces import pooled
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.standing import Standings
from rocmonitor.service.versions import Role, version
from rocmonitor.sources import Batch, LabelCounts, Rows

if TYPE_CHECKING:
    from rocmonitor.policy.judge import Finding
    from rocmonitor.policy.reference import Reference


class Records:
    """The records of one monitor during one tick; keeps what it has read of the store and changed in it."""

    def __init__(self, runtime: Runtime, monitor: Monitor, now: datetime, *, dry_run: bool) -> None:
        self.runtime, self.monitor, self.now, self.dry_run = runtime, monitor, now, dry_run
        self.standings = Standings(runtime.store, monitor, now)
        self.levels = runtime.config.levels(monitor.name)
        self.segments = 0
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

        self.segments = len(references.keys() - {""})
        of = self.levels
        return {name: at_levels(followed(each), of.rules, of.derived) for name, each in references.items()}

    def outlook(
        self, window: Window, segment: str, batch: Batch, rows: Rows, reference: Reference
    ) -> Outlook | None:
        """The outlook of a window and segment; None where there is one, none is wanted, or rows lack."""
        if self.monitor.outlook is None:
            return None
        from rocmonitor.policy.levels import in_season

        champion, doubts = self._version("champion")
        return self.outlooks.make(
            window,
            segment,
            rows,
            in_season(reference, window),
            self.levels.for_outlook(self.segments if segment else 1).rules,
            version=champion or "unknown",
            provenance=_provenance(self.monitor, batch, rows, self.now),
            doubts=(*doubts, *self._circular(window)),
            made_at=self.runtime.clock(),
        )

    def findings(
        self,
        window: Window,
        segments: Mapping[str, tuple[Rows, Reference]],
        *,
        before: store.Evaluated | None,
        as_of: datetime,
    ) -> dict[str, Finding]:
        """What the rules find on a window, by segment; with a budget their number is allowed for."""
        from rocmonitor.policy.discoveries import allow_for_segments
        from rocmonitor.policy.levels import at_levels, in_season
        from rocmonitor.service.finding import find

        levels, age = self.levels, as_of - window.end
        version, *_ = self._versions(before)

        def found(segment: str, rules: Mapping[str, Rule], names: frozenset[str]) -> Finding:
            rows, reference = segments[segment]
            reference = in_season(at_levels(reference, rules, names), window)
            past = self.courses.leading_to(segment, window, version or "unknown")
            return find(self.monitor, rows, reference, age, past, rules=rules)

        def outcome(segment: str, name: str, chance: float) -> Status:
            rule = with_tail(levels.rules[name], chance)
            return found(segment, {name: rule}, frozenset({name})).outcome

        alone = {segment: found(segment, levels.rules, frozenset()) for segment in segments}
        return allow_for_segments(alone, levels.rules, outcome) if levels.budgeted else alone

    def record(
        self,
        window: Window,
        segment: str,
        batch: Batch,
        rows: Rows,
        reference: Reference,
        finding: Finding,
        *,
        before: store.Evaluated | None,
        labels: LabelCounts,
        as_of: datetime,
        counts: Sequence[store.KeptCounts] = (),
    ) -> store.WindowRecord:
        """The evaluation of a window and segment, with the change of status and the messages that follow."""
        warned = before is None and self.outlooks.warned(segment, window)
        outlook = self.outlook(window, segment, batch, rows, reference) if before is None else None
        degraded = self.standings.degraded_windows(segment) if before is not None else set()
        evaluation = self._evaluation(window, segment, batch, before, rows, finding, reference, as_of)
        self.courses.add(evaluation)
        revised = None if before is None else self._revised(evaluation, before, labels)
        change, notify = self._change(evaluation, finding, rows, warned, revised)
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
            counts=counts,
        )

    def _change(
        self, evaluation: Evaluation, finding: Finding, rows: Rows, warned: bool, revised: Revised | None
    ) -> tuple[Transition | None, bool]:
        """The change of status that follows from a window, and whether somebody is notified."""
        from rocmonitor.policy.judge import reasons_for

        segment = evaluation.segment
        status = self.standings.after(segment)
        reasons = reasons_for(
            finding, status, caveats_of(rows), before=self.standings.current(segment), warned=warned
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
        batch: Batch,
        before: store.Evaluated | None,
        rows: Rows,
        finding: Finding,
        reference: Reference,
        as_of: datetime,
    ) -> Evaluation:
        monitor = self.monitor
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
            counts=rows.counts,
            metrics=finding.metrics | repeated(foreseen),
            tables=finding.tables,
            reference=self._summary(segment, reference),
            provenance=_provenance(monitor, batch, rows, as_of),
            caveats=(*doubts, *self._doubts(window, rows, foreseen), *finding.caveats),
        )

    def _summary(self, segment: str, reference: Reference) -> dict[str, Any]:
        """The reference of a segment as its evaluations keep it: one for all of them."""
        if segment not in self.references:
            from rocmonitor.service import references

            found = references.summary(self.monitor, reference)
            self.references[segment] = found, store.reference_digest(found)
        return self.references[segment][0]

    def _versions(self, before: store.Evaluated | None) -> tuple[str | None, str | None, tuple[Caveat, ...]]:
        """Champion and challenger, and what is doubtful about them; a revision keeps the first ones."""
        if before is not None:  # its rows were scored by the versions of then
            return before.champion_version, before.challenger_version, ()
        (champion, doubt), (challenger, other) = self._version("champion"), self._version("challenger")
        return champion, challenger, (*doubt, *other)

    def _doubts(self, window: Window, rows: Rows, foreseen: dict[str, float]) -> tuple[Caveat, ...]:
        return (
            *self._circular(window),
            *pooled(self.monitor, window),
            *caveats_of(rows),
            *rows_since(foreseen, rows.scored),
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


def _provenance(monitor: Monitor, batch: Batch, rows: Rows, as_of: datetime) -> dict[str, Any]:
    """Enough to repeat the evaluation."""
    from rocmonitor.policy.condensing import guaranteed

    replayed = monitor.reads_as_of or monitor.columns.labelled_at is not None
    return {
        **monitor.read_as,
        **({"as_of": as_of.isoformat()} if replayed else {}),
        "grouped": batch.grouped,
        **({"condense": monitor.condense.model_dump()} if batch.condensed else {}),
        **guaranteed(rows.champion),
        "data_digest": batch.digest,
        "rocmonitor": __version__,
        **_installed(),
    }


@cache
def _installed() -> dict[str, str]:
    """Versions of the packages that results depend on; reading one takes milliseconds."""
    return {package: installed(package) for package in ("numpy", "scipy")}
