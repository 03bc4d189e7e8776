"""One tick of one monitor: every due window is judged, in order, and committed before the next.

The statistics are imported with the first window that is due: most ticks find none.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib.metadata import version as installed
from typing import TYPE_CHECKING, Any

from rocmonitor import __version__, store
from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.errors import RocmonitorError, StoreError, TrackingError
from rocmonitor.policy.evaluation import Counts, Evaluation, Reason, Status
from rocmonitor.policy.orientation import as_scored, negated
from rocmonitor.policy.record import caveats_of
from rocmonitor.policy.rules import by_name
from rocmonitor.policy.windows import Window
from rocmonitor.service.progress import Progress, Step
from rocmonitor.service.runtime import Runtime, hold_lease, renew_lease
from rocmonitor.service.standing import Standings
from rocmonitor.service.versions import Role, version
from rocmonitor.sources import Batch, LabelCounts, Rows, SqlSource, open_source
from rocmonitor.stats.sample import PairedSample, Sample

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
        self.standings = Standings(runtime.store, monitor)
        self.segments = {""}

    def work(self, source: SqlSource, windows: Sequence[Window] | None) -> None:
        """Judge what is due, window by window; a stop is heeded between two windows."""
        monitor = self.monitor
        chosen = monitor.windows(self.now) if windows is None else windows
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
            if labels is not None:
                words = f"{monitor.name} {window.in_zone(monitor.timezone)}"
                self.progress(Step(words, number, len(chosen)))
                self._judge(source, window, before, labels)

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
        labels = source.label_counts(self.monitor, window)
        self._beat()
        if before is not None:
            return None if labels.by_label == before.label_counts else labels
        if age == "waiting" and not self.monitor.labels.enough(labels.rows, labels.labelled):
            self.tick.waiting.append(window)
            return None
        return labels

    def _judge(
        self, source: SqlSource, window: Window, before: store.Evaluated | None, labels: LabelCounts
    ) -> None:
        from rocmonitor.service import references

        monitor = self.monitor
        if self.references is None:
            self.references = references.load_or_build(
                monitor,
                source,
                self.runtime.store,
                now=self.now,
                keep=not self.dry_run,
                progress=self.progress,
                on_rows=lambda _: self._beat(),
            )
        batch = source.pull(monitor, window, on_progress=lambda _: self._beat())
        counts = batch.segments[""].counts
        log.debug(
            "%s %s: %s rows, %s positives, %s negatives, %s",
            *(monitor.name, window, counts.rows, counts.n_pos, counts.n_neg),
            "grouped by the database" if batch.grouped else "row by row",
        )
        if before is not None and before.digest == batch.digest:
            return
        # A segment of the reference without rows now is insufficient, not absent.
        results = [
            self._result(window, segment, batch, before, labels)
            for segment in sorted({*batch.segments, *self.references})
        ]
        if not self.dry_run:
            store.save(self.runtime.store, results, lease=self.lease)
        self.segments |= {result.evaluation.segment for result in results}
        self.tick.evaluations += [result.evaluation for result in results]

    def _result(
        self, window: Window, segment: str, batch: Batch, before: store.Evaluated | None, labels: LabelCounts
    ) -> store.WindowRecord:
        from rocmonitor.policy.reference import Reference

        rows = batch.segments.get(segment) or _no_rows(self.monitor)
        reference = (self.references or {}).get(segment, Reference(auc=None))
        finding = self._finding(rows, reference)
        evaluation = self._evaluation(window, segment, batch, before, rows, finding, reference)
        status = self.standings.after(segment)
        change, notify = self.standings.change(
            segment,
            status,
            at=evaluation.at,
            since=self.standings.since(segment, status, window),
            reasons=_reasons(finding, status, rows),
        )
        return store.WindowRecord(
            evaluation=evaluation,
            label_counts=labels.by_label,
            transition=change,
            notified=notify,
            outbox=[
                store.Outgoing(destination="mlflow", payload={}),
                *self.standings.messages(change, notify),
            ],
        )

    def _finding(self, rows: Rows, reference: Reference) -> Finding:
        """What the rules say of the rows, with scores as the models gave them."""
        from rocmonitor.policy.judge import judge

        low_is_positive = self.monitor.positive.low_is_positive
        thresholds = self.monitor.operating_points.thresholds
        finding = judge(
            rows.champion,
            rows.pair,
            rows.counts,
            reference=reference,
            rules=by_name(self.monitor.rules),
            min_per_class=self.monitor.min_per_class,
            fprs=self.monitor.operating_points.fpr,
            thresholds={each: negated(each) if low_is_positive else each for each in thresholds},
        )
        if low_is_positive:
            tables, caveats = as_scored(finding.tables, finding.caveats)
            return replace(finding, tables=tables, caveats=caveats)
        return finding

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
        if before is None:
            (champion, doubt), (challenger, other) = self._version("champion"), self._version("challenger")
            doubts = (*doubt, *other)
        else:  # its rows were scored by the versions of then
            champion, challenger, doubts = before.champion_version, before.challenger_version, ()
        self.standings.add_outcome(segment, window, finding.outcome)
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
            metrics=finding.metrics,
            tables=finding.tables,
            reference=references.summary(monitor, reference),
            provenance=_provenance(monitor, batch),
            caveats=(*doubts, *self._circular(window), *caveats_of(rows), *finding.caveats),
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

    def _beat(self) -> None:
        self.lease = renew_lease(self.runtime, self.lease)


def _provenance(monitor: Monitor, batch: Batch) -> dict[str, Any]:
    """Enough to repeat the evaluation."""
    return {
        **monitor.read_as,
        "grouped": batch.grouped,
        "data_digest": batch.digest,
        "rocmonitor": __version__,
        **{package: installed(package) for package in ("numpy", "scipy")},
    }


def _no_rows(monitor: Monitor) -> Rows:
    pair = None if monitor.columns.challenger is None else PairedSample([], [], [])
    return Rows(champion=Sample([], []), pair=pair, counts=Counts(), caveats=())


def _reasons(finding: Finding, status: Status, rows: Rows) -> tuple[Reason, ...]:
    """The verdicts behind the outcome, after what is said first of broken scores; a recovery's, all."""
    if status is Status.OK:
        return tuple(verdict for verdict in finding.verdicts if verdict.margin is not None)
    agreeing = [verdict for verdict in finding.verdicts if verdict.outcome is finding.outcome]
    broken = [caveat for caveat in finding.caveats if caveat.code == "one-score"]
    others = caveats_of(rows) if finding.outcome is Status.INSUFFICIENT else ()
    return (*broken, *agreeing, *others)
