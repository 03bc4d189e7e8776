"""One tick of one monitor: every due window is judged, in order, and committed before the next.

The statistics are imported with the first window that is due: most ticks find none.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import version as installed
from typing import TYPE_CHECKING, Any

from rocmonitor import __version__, store
from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.errors import RocmonitorError, StoreError, TrackingError
from rocmonitor.policy.evaluation import Evaluation, Status
from rocmonitor.policy.outlook import Outlook, repeated, rows_since
from rocmonitor.policy.record import caveats_of
from rocmonitor.policy.windows import Window
from rocmonitor.service.courses import Courses
from rocmonitor.service.outlooks import PUBLISH, Outlooks, record
from rocmonitor.service.progress import Progress, Step
from rocmonitor.service.runtime import Runtime, hold_lease, renew_lease
from rocmonitor.service.standing import Standings
from rocmonitor.service.versions import Role, version
from rocmonitor.sources import Batch, LabelCounts, Rows, SqlSource, open_source

if TYPE_CHECKING:
    from rocmonitor.policy.judge import Finding
    from rocmonitor.policy.reference import Reference

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Tick:
    """What a tick did.

    Attributes
    ----------
    monitor : str
    evaluations : list of Evaluation
        New ones, in order of window and segment.
    outlooks : list of Outlook
        New ones of windows that wait for labels, in order of window and segment.
    waiting : list of Window
        Ended, but not labelled enough yet.
    status : dict of str to Status
        By segment, after the tick; all rows are the segment ``""``.
    error : RocmonitorError or None
        Why the tick ended early.
    busy : bool
        Another process works on this monitor; nothing was done.
    """

    monitor: str
    evaluations: list[Evaluation] = field(default_factory=list)
    outlooks: list[Outlook] = field(default_factory=list)
    waiting: list[Window] = field(default_factory=list)
    status: dict[str, Status] = field(default_factory=dict)
    error: RocmonitorError | None = None
    busy: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "monitor": self.monitor,
            "status": {segment: str(status) for segment, status in self.status.items()},
            "evaluations": [evaluation.to_dict() for evaluation in self.evaluations],
            "outlooks": [outlook.to_dict() for outlook in self.outlooks],
            "waiting": [str(window) for window in self.waiting],
            "error": None if self.error is None else str(self.error),
            "busy": self.busy,
        }


def run_monitor(
    runtime: Runtime,
    monitor: Monitor,
    *,
    now: datetime,
    windows: Sequence[Window] | None = None,
    dry_run: bool = False,
    progress: Progress = lambda _: None,
) -> Tick:
    """Judge every due window of a monitor.

    Parameters
    ----------
    runtime : Runtime
    monitor : Monitor
    now : datetime
        Which windows are due is decided at this instant.
    windows : sequence of Window, optional
        Look at these instead of all since the monitor's start (a backfill), closed to revision or not.
    dry_run : bool
        Compute everything, keep nothing.
    progress : callable
        Called with a short text that says how far the work is.

    Returns
    -------
    Tick
        What goes wrong inside one monitor is not raised: it is in ``.error`` and in the monitor's status.
    """
    tick = Tick(monitor=monitor.name)
    with hold_lease(runtime, f"monitor:{monitor.name}") as lease:
        if lease is None:
            tick.busy = True
            return tick
        run = TickRun(runtime, monitor, lease, now, dry_run, progress, tick)
        try:
            with open_source(
                runtime.config.sources[monitor.source], runtime.config.folder, name=monitor.source
            ) as source:
                run.work(source, windows)
        except RocmonitorError as error:
            tick.error = error
        except Exception as error:  # one failing monitor never stops another
            log.exception("monitor %s failed in a way that is not foreseen", monitor.name)
            tick.error = RocmonitorError(f"unforeseen {type(error).__name__}: {error}")
        try:
            run.close()
        except StoreError as error:
            tick.error = tick.error or error
    return tick


class TickRun:
    """One tick at work; keeps what it has read of the store and changed in it."""

    def __init__(
        self,
        runtime: Runtime,
        monitor: Monitor,
        lease: store.Lease,
        now: datetime,
        dry_run: bool,
        progress: Progress,
        tick: Tick,
    ) -> None:
        self.runtime, self.monitor, self.lease, self.now = runtime, monitor, lease, now
        self.dry_run, self.progress, self.tick = dry_run, progress, tick
        self.references: dict[str, Reference] | None = None
        self.versions: dict[Role, tuple[str | None, tuple[Caveat, ...]]] = {}
        self.standings = Standings(runtime.store, monitor, now)
        self.outlooks = Outlooks(runtime.store, monitor, now)
        self.courses = Courses(runtime.store, monitor)
        self.segments = {""}
        self.backfill = False

    def work(self, source: SqlSource, windows: Sequence[Window] | None) -> None:
        """Judge or foresee what is due, window by window; a stop is heeded between two windows."""
        monitor = self.monitor
        chosen = monitor.windows(self.now) if windows is None else windows
        self.backfill = windows is not None
        judged = store.evaluated(self.runtime.store, monitor.name)
        log.debug(
            "%s: %d windows have ended, %d are judged", monitor.name, len(chosen), len({w for _, w in judged})
        )
        self.segments |= {segment for segment, _ in judged}
        for number, window in enumerate(chosen, 1):
            if self.runtime.stop.is_set():
                return
            before = judged.get(("", window))
            labels = self._label_counts_if_due(source, window, before, again=windows is not None)
            foresee = labels is None and before is None and self.outlooks.due(window)
            if labels is None and not foresee:
                continue
            words = f"{monitor.name} {window.in_zone(monitor.timezone)}"
            self.progress(Step(words, number, len(chosen)))
            self._load_references(source)
            as_of = self._as_of(window, before)
            batch = source.pull(monitor, window, as_of=as_of, on_progress=lambda _: self._beat())
            log.debug("%s %s: %s", monitor.name, window, batch.segments[""].counts)
            if labels is not None:
                self._judge(batch, window, before, labels)
            else:
                self._foresee(batch, window)

    def close(self) -> None:
        """Record that the monitor fails, or works again; and how it stands."""
        error = self.tick.error
        if error is not None:  # what was not saved is not so
            self.standings.forget_changes()
        if error is not None or self.standings.current("") is Status.ERROR:
            status = Status.ERROR if error else self.standings.after("")
            why = Caveat("error", text=str(error)) if error else Caveat("works-again")
            change, notify = self.standings.change("", status, at=self.now, since=self.now, reasons=(why,))
            if change is not None and not self.dry_run:
                outbox = self.standings.messages(change, notify)
                store.save_transition(self.runtime.store, change, notify, outbox, lease=self.lease)
        self.tick.status = {segment: self.standings.current(segment) for segment in sorted(self.segments)}

    def _label_counts_if_due(
        self, source: SqlSource, window: Window, before: store.Evaluated | None, *, again: bool
    ) -> LabelCounts | None:
        """The window's label counts if it is to be judged now, else None."""
        age = self.monitor.labels.age(window, self.now)
        if age == "open" or (age == "closed" and before is not None and not again):
            return None
        labels = source.label_counts(self.monitor, window, as_of=self._as_of(window, before))
        self._beat()
        if before is not None:
            return None if labels.by_label == before.label_counts else labels
        if age == "waiting" and not self.monitor.labels.enough(labels.rows, labels.labelled):
            self.tick.waiting.append(window)
            return None
        return labels

    def _load_references(self, source: SqlSource) -> None:
        from rocmonitor.service import references

        if self.references is None:
            self.references = references.load_or_build(
                self.monitor,
                source,
                self.runtime.store,
                now=self.now,
                keep=not self.dry_run,
                progress=self.progress,
                on_rows=lambda _: self._beat(),
            )

    def _judge(
        self, batch: Batch, window: Window, before: store.Evaluated | None, labels: LabelCounts
    ) -> None:
        if before is not None and before.digest == batch.digest:
            return
        results = [
            self._result(window, segment, batch, before, labels) for segment in self._segments_of(batch)
        ]
        if not self.dry_run:
            store.save(self.runtime.store, results, lease=self.lease)
        self.segments |= {result.evaluation.segment for result in results}
        self.tick.evaluations += [result.evaluation for result in results]

    def _foresee(self, batch: Batch, window: Window) -> None:
        """The outlook of every segment of a window that waits for its labels."""
        made = [self._outlook(window, segment, batch) for segment in self._segments_of(batch)]
        records = [record(each, self.standings) for each in made if each is not None]
        if not self.dry_run:
            store.save_outlooks(self.runtime.store, records, lease=self.lease)
        self.segments |= {each.outlook.segment for each in records}
        self.tick.outlooks += [each.outlook for each in records]

    def _segments_of(self, batch: Batch) -> list[str]:
        """A segment of the reference without rows now is insufficient, not absent."""
        return sorted({*batch.segments, *(self.references or {})})

    def _outlook(self, window: Window, segment: str, batch: Batch) -> Outlook | None:
        champion, doubts = self._version("champion")
        return self.outlooks.make(
            window,
            segment,
            self._rows(batch, segment),
            self._reference(segment),
            version=champion or "unknown",
            provenance=_provenance(self.monitor, batch, self.now),
            doubts=(*doubts, *self._circular(window)),
            made_at=self.runtime.clock(),
        )

    def _rows(self, batch: Batch, segment: str) -> Rows:
        return batch.segments.get(segment) or Rows.none(paired=self.monitor.columns.challenger is not None)

    def _reference(self, segment: str) -> Reference:
        from rocmonitor.policy.reference import Reference

        return (self.references or {}).get(segment, Reference(auc=None))

    def _result(
        self, window: Window, segment: str, batch: Batch, before: store.Evaluated | None, labels: LabelCounts
    ) -> store.WindowRecord:
        from rocmonitor.policy.judge import reasons_for
        from rocmonitor.service.finding import find

        rows, reference = self._rows(batch, segment), self._reference(segment)
        warned = before is None and self.outlooks.warned(segment, window)
        outlook = self._outlook(window, segment, batch) if before is None else None
        version, *_ = self._versions(before)
        past = self.courses.leading_to(segment, window, version or "unknown")
        finding = find(self.monitor, rows, reference, self._as_of(window, before) - window.end, past)
        evaluation = self._evaluation(window, segment, batch, before, rows, finding, reference)
        self.courses.add(evaluation)
        status = self.standings.after(segment)
        change, notify = self.standings.change(
            segment,
            status,
            at=evaluation.at,
            since=self.standings.since(segment, status, window),
            reasons=reasons_for(
                finding,
                status,
                caveats_of(rows),
                before=self.standings.current(segment),
                warned=warned,
            ),
        )
        return store.WindowRecord(
            evaluation=evaluation,
            label_counts=labels.by_label,
            transition=change,
            notified=notify,
            outbox=[PUBLISH, *self.standings.messages(change, notify)],
            outlook=None if outlook is None else store.OutlookRecord(outlook=outlook, outbox=[PUBLISH]),
        )

    def _as_of(self, window: Window, before: store.Evaluated | None) -> datetime:
        """At which instant labels must have been known: a backfill sees what was known when it was due."""
        if self.backfill and before is None:
            return min(self.now, self.monitor.labels.due_at(window))
        return self.now

    def _evaluation(
        self,
        window: Window,
        segment: str,
        batch: Batch,
        before: store.Evaluated | None,
        rows: Rows,
        finding: Finding,
        reference: Reference,
    ) -> Evaluation:
        from rocmonitor.service import references

        monitor = self.monitor
        champion, challenger, doubts = self._versions(before)
        self.standings.add_outcome(segment, window, finding.outcome)
        foreseen = self.outlooks.made(segment, window)
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
            reference=references.summary(monitor, reference),
            provenance=_provenance(monitor, batch, self._as_of(window, before)),
            caveats=(*doubts, *self._doubts(window, rows, foreseen), *finding.caveats),
        )

    def _versions(self, before: store.Evaluated | None) -> tuple[str | None, str | None, tuple[Caveat, ...]]:
        """Champion and challenger, and what is doubtful about them; a revision keeps the first ones."""
        if before is not None:  # its rows were scored by the versions of then
            return before.champion_version, before.challenger_version, ()
        (champion, doubt), (challenger, other) = self._version("champion"), self._version("challenger")
        return champion, challenger, (*doubt, *other)

    def _doubts(self, window: Window, rows: Rows, foreseen: dict[str, float]) -> tuple[Caveat, ...]:
        return (*self._circular(window), *caveats_of(rows), *rows_since(foreseen, rows.scored))

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

    def _beat(self) -> None:
        self.lease = renew_lease(self.runtime, self.lease)


def _provenance(monitor: Monitor, batch: Batch, as_of: datetime) -> dict[str, Any]:
    """Enough to repeat the evaluation."""
    replayed = monitor.reads_as_of or monitor.columns.labelled_at is not None
    return {
        **monitor.read_as,
        **({"as_of": as_of.isoformat()} if replayed else {}),
        "grouped": batch.grouped,
        "data_digest": batch.digest,
        "rocmonitor": __version__,
        **{package: installed(package) for package in ("numpy", "scipy")},
    }
