"""One tick at work: what is due is pulled, judged or foreseen, and saved, window by window."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING

from rocmonitor import store
from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor, Spark
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.joining import free
from rocmonitor.policy.windows import Window
from rocmonitor.service.arrivals import Arrivals
from rocmonitor.service.empty import judged_empty, without_rows
from rocmonitor.service.executor import Answer, Caller, InProcess, Request, StoppedError, Task
from rocmonitor.service.outlooks import record
from rocmonitor.service.pieces import before_empty, closed, count, together, within
from rocmonitor.service.progress import Progress, Step
from rocmonitor.service.runtime import Runtime, renew_lease
from rocmonitor.service.tick.correcting import corrections
from rocmonitor.service.tick.outcome import Tick
from rocmonitor.service.tick.records import Records
from rocmonitor.service.work import HUNG_AFTER
from rocmonitor.sources import LabelCounts, SqlSource

if TYPE_CHECKING:
    from rocmonitor.policy.reference import Reference
    from rocmonitor.service.judging import Judged

log = logging.getLogger(__name__)


NOW = timedelta(hours=1)
"""A tick for an earlier time than this shows nothing of how rows and labels arrive."""


class TickRun:
    """One tick at work; keeps what it has read of the source."""

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
        self.records = Records(runtime, monitor, now, dry_run=dry_run)
        self.arrivals = Arrivals(runtime.store, monitor, now)
        self.references: dict[str, Reference] | None = None
        self.segments = {""}
        self.counted: dict[Window, LabelCounts] = {}  # pieces of windows that are joined
        self.backfill = self.again = False
        self.revised = False  # a window, since the later ones were looked at

    def work(self, source: SqlSource, windows: Sequence[Window] | None, *, again: bool = False) -> None:
        """Judge or foresee what is due, window by window; a stop is heeded between two windows."""
        monitor = self.monitor
        ended = monitor.windows(self.now) if windows is None else windows
        self.backfill, self.again = windows is not None, again
        judged = store.evaluated(self.runtime.store, monitor.name)
        log.debug(
            "%s: %d windows have ended, %d are judged", monitor.name, len(ended), len({w for _, w in judged})
        )
        self.segments |= {segment for segment, _ in judged}
        with suppress(StoppedError):
            chosen = self._chosen(source, ended, judged)
            for number, window in enumerate(chosen, 1):
                if self.runtime.stop.is_set():
                    return
                step = Step(f"{monitor.name} {window.in_zone(monitor.timezone)}", number, len(chosen))
                if self._work_on(source, window, judged, step):
                    judged = store.evaluated(self.runtime.store, monitor.name)
            self._correct()
            if not (self.dry_run or self.backfill or self.now < self.runtime.clock() - NOW):
                self.arrivals.conclude(self.lease)

    def _work_on(
        self,
        source: SqlSource,
        window: Window,
        judged: Mapping[tuple[str, Window], store.Evaluated],
        step: Step,
    ) -> bool:
        """Judge or foresee a window, if that is due; whether corrections were saved before it."""
        before = self._newest(judged, window)
        due, labels = self._is_due(source, window, before)
        if not due and not (before is None and self.records.outlooks.due(window)):
            return False
        corrected = before is None and self.revised and self._correct()
        self.progress(step)
        self._load_references(source)
        began = time.monotonic()
        found = self._ask(source, window, before, labels, judges=due)
        if due:
            self._judge(found, window, before)
        else:
            self._foresee(found, window)
        self.tick.took(window, time.monotonic() - began)
        return corrected

    def _ask(
        self,
        source: SqlSource,
        window: Window,
        before: store.Evaluated | None,
        labels: LabelCounts | None,
        *,
        judges: bool,
    ) -> Judged:
        """Have a window read and judged; one that was judged is read again because they have changed."""
        request = self.records.request(
            window,
            self.references or {},
            before=before,
            judges=judges,
            labels=labels,
            as_of=self._as_of(window, before),
        )
        if before is not None and not self._settings_changed(before):
            request = replace(request, judged_as=before.digest)
        found = self._run(source, request)
        said, counts = {"monitor": self.monitor.name, "window": str(window)}, found.counts
        classes = f"{counts.n_pos:,} positive, {counts.n_neg:,} negative"
        words = f"{counts.rows:,} rows in {found.seconds:.2f} s, {classes}"
        log.debug("%s %s: %s", self.monitor.name, window, words, extra=said)
        return found

    def _run(self, source: SqlSource, request: Request[Answer]) -> Answer:
        """What is asked, answered by the executor; it may take other processes."""
        monitor, config = self.monitor, self.runtime.config
        task = Task(
            name=monitor.source, spec=config.sources[monitor.source], folder=config.folder, request=request
        )
        work, executor = self.runtime.work, self.runtime.executor
        if isinstance(task.spec, Spark):  # the cluster works; each process would make a session of its own
            executor = InProcess()
        limit = task.spec.deadline * (1 if executor.reports else request.size) + HUNG_AFTER
        caller = Caller(stop=self.runtime.stop, said=self._said, is_hung=work.is_hung, computes=work.computes)
        with work.on(f"monitor:{monitor.name}", limit):
            return executor.run(task, source, caller)

    def _said(self, text: str) -> None:
        self._beat()
        if text:
            self.progress(text)

    def _chosen(
        self, source: SqlSource, ended: Sequence[Window], judged: Mapping[tuple[str, Window], store.Evaluated]
    ) -> Sequence[Window]:
        """The windows to look at: those of the calendar, or those that are joined from them."""
        joining = self.monitor.joining
        if joining is None:
            passed = set() if self.backfill else self._without_rows(source, ended, judged)
            return [each for each in ended if each not in passed]
        ended = [each for each in ended if each.end <= self.now]
        fixed = {window for segment, window in judged if not segment} | self.records.outlooks.windows
        inside = within(fixed, ended)
        unjudged = free(ended, fixed)
        passed = set[Window]()
        if not self.backfill:
            passed = self._without_rows(source, sorted([*inside, *unjudged]), judged, set(unjudged))
        counted: list[tuple[Window, LabelCounts]] = []
        for number, piece in enumerate(unjudged, 1):
            if self.runtime.stop.is_set():
                return []
            if piece not in passed:
                words = f"{self.monitor.name} {piece.in_zone(self.monitor.timezone)} (count)"
                self.progress(Step(words, number, len(unjudged)))
                counted.append((piece, self._count(source, piece)))
        usable = before_empty(counted, inside, passed)
        windows = sorted([*inside, *closed(self.monitor, joining, usable, self.now)])
        rest = [each for each in counted if not windows or each[0].start >= windows[-1].end]
        for piece, labels in counted:
            self.arrivals.add(piece, labels, always=bool(rest) and piece >= rest[0][0])
        self.tick.rest = together(rest)
        if counted and not (self.dry_run or self.backfill):
            self._freeze_reference(source)
        return windows

    def _freeze_reference(self, source: SqlSource) -> None:
        """Have the reference before a window has enough rows: it shows whether rows have stopped."""
        from rocmonitor.service.references import complete_at, digest

        known = partial(store.has_reference, self.runtime.store, self.monitor.name)
        if self.now >= complete_at(self.monitor) and not known(digest(self.monitor)):
            self._load_references(source)

    def _count(self, source: SqlSource, piece: Window) -> LabelCounts:
        """What a piece holds; it is asked for once."""
        if piece not in self.counted:
            self.counted[piece] = count(source, self.monitor, piece, self.now)
            self._beat()
        return self.counted[piece]

    def _without_rows(
        self,
        source: SqlSource,
        windows: Sequence[Window],
        judged: Mapping[tuple[str, Window], store.Evaluated],
        pieces: Collection[Window] = (),
    ) -> set[Window]:
        """The windows before the first row and after the last; that these are empty is noted for alarms."""
        due = [each for each in windows if self.monitor.labels.age(each, self.now) in ("due", "closed")]

        def count_rows(window: Window) -> int:
            if window in pieces:
                return self._count(source, window).rows
            self._beat()
            return source.label_counts(self.monitor, window).rows

        found = without_rows(due, judged, count_rows)
        maybe = found | judged_empty(judged)
        trailing = takewhile(lambda each: each in maybe, reversed(due))
        self.arrivals.note_empty(
            list(takewhile(lambda each: each in found or not count_rows(each), trailing))
        )
        for window in sorted(found):
            self.arrivals.add(window, LabelCounts(rows=0, labelled=0, by_label={}))
        return found

    def close(self) -> None:
        """Record that the monitor fails, or works again; and how it stands."""
        error = self.tick.error
        if error is not None:  # what was not saved is not so
            self.records.standings.forget_changes()
        if error is not None or self.records.standings.current("") is Status.ERROR:
            status = Status.ERROR if error else self.records.standings.after("")
            why = Caveat("error", text=str(error)) if error else Caveat("works-again")
            change, notify = self.records.standings.change(
                "", status, at=self.now, since=self.now, reasons=(why,)
            )
            if change is not None and not self.dry_run:
                outbox = self.records.standings.messages(change, notify)
                store.save_transition(self.runtime.store, change, notify, outbox, lease=self.lease)
        self.tick.status = {
            segment: self.records.standings.current(segment) for segment in sorted(self.segments)
        }

    def _newest(
        self, judged: Mapping[tuple[str, Window], store.Evaluated], window: Window
    ) -> store.Evaluated | None:
        """What is stored of all rows of a window, with the newest revision of any segment."""
        found = judged.get(("", window))
        if found is None:
            return None
        each = [judged[segment, window].revision for segment in self.segments if (segment, window) in judged]
        return replace(found, revision=max(each))

    def _is_due(
        self, source: SqlSource, window: Window, before: store.Evaluated | None
    ) -> tuple[bool, LabelCounts | None]:
        """Whether a window is to be judged now, and its label counts where that depends on them."""
        age = self.monitor.labels.age(window, self.now)
        if age == "open" or not (before is None or self.backfill or self._is_revisable(window, before)):
            return False, None
        if before is None and age != "waiting":
            return True, None
        labels = source.label_counts(self.monitor, window, as_of=self._as_of(window, before))
        self._beat()
        if before is None:
            due = self.monitor.labels.enough(labels.rows, labels.labelled)
        else:
            due = self.again or _have_changed(before, labels)
        if due:
            return True, labels
        self._note_labels(window, labels)
        if before is None:
            self.tick.waiting.append(window)
        else:
            self._keep_unchanged(window, before, labels)
        return False, labels

    def _note_labels(self, window: Window, labels: LabelCounts) -> None:
        if self.monitor.joining is None:  # else its pieces are counted
            self.arrivals.add(window, labels)

    def _load_references(self, source: SqlSource) -> None:
        from rocmonitor.service import references

        if self.references is None:
            self.references = references.load_or_build(
                self.monitor,
                source,
                self.runtime.store,
                now=self.now,
                keep=not self.dry_run,
                keep_counts=bool(self.runtime.config.keep.counts),
                said=self._said,
                build=partial(self._run, source),
            )
            self.references = self.records.at_levels(self.references)

    def _judge(self, judged: Judged, window: Window, before: store.Evaluated | None) -> None:
        assert judged.labels is not None  # it was asked to judge
        self._note_labels(window, judged.labels)
        if before is not None and not judged.segments:
            self._keep_unchanged(window, before, judged.labels)
            return
        results = [
            self.records.record(
                window,
                segment,
                judged,
                (self.references or {}).get(segment),
                before=before,
                as_of=self._as_of(window, before),
            )
            for segment in judged.segments
        ]
        self._save(results)
        self.revised = self.revised or before is not None

    def _correct(self) -> bool:
        """Judge again the windows of which a chart says something else, now that older ones were revised."""
        if self.references is None:
            return False
        self.revised = False
        results = corrections(self.records, self.references)
        self._save(results)
        return bool(results)

    def _save(self, results: Sequence[store.WindowRecord]) -> None:
        if not self.dry_run:
            store.save(self.runtime.store, results, lease=self.lease)
        self.segments |= {result.evaluation.segment for result in results}
        self.tick.add([result.evaluation for result in results])

    def _is_revisable(self, window: Window, before: store.Evaluated) -> bool:
        insufficient = before.outcome is Status.INSUFFICIENT
        return self.monitor.labels.is_revisable(window, self.now, insufficient=insufficient)

    def _settings_changed(self, before: store.Evaluated) -> bool:
        """Whether the window is to be judged by other settings than it was; only when that was asked for."""
        return self.again and before.settings_digest != self.records.settings_digest

    def _keep_unchanged(self, window: Window, before: store.Evaluated, labels: LabelCounts) -> None:
        """Note how the window is labelled now, so that the next tick does not read it."""
        if self.backfill:
            self.tick.unchanged.append(window)
        if not self.dry_run and (labels.by_label, labels.digest) != (
            before.label_counts,
            before.labels_digest,
        ):
            store.remember_labels(
                self.runtime.store,
                self.monitor.name,
                window,
                label_counts=labels.by_label,
                labels_digest=labels.digest,
                lease=self.lease,
            )

    def _foresee(self, judged: Judged, window: Window) -> None:
        """The outlook of every segment of a window that waits for its labels."""
        made = [self.records.outlook(window, segment, judged) for segment in judged.segments]
        records = [record(each, self.records.standings) for each in made if each is not None]
        if not self.dry_run:
            store.save_outlooks(self.runtime.store, records, lease=self.lease)
        self.segments |= {each.outlook.segment for each in records}
        self.tick.add([], [each.outlook for each in records])

    def _as_of(self, window: Window, before: store.Evaluated | None) -> datetime:
        """At which instant labels must have been known: a backfill sees what was known when it was due."""
        if self.backfill and before is None:
            return min(self.now, self.monitor.labels.due_at(window))
        return self.now

    def _beat(self) -> None:
        self.lease = renew_lease(self.runtime, self.lease)


def _have_changed(before: store.Evaluated, labels: LabelCounts) -> bool:
    """Whether labels came, or labels or scores were corrected; an earlier version did not note the latter."""
    known = before.labels_digest
    return labels.by_label != before.label_counts or (known is not None and known != labels.digest)
