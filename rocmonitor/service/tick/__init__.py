"""One tick of one monitor: plan what is due, judge it window by window, commit each before the next."""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from itertools import takewhile
from typing import TYPE_CHECKING

from rocmonitor import store
from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor, Spark
from rocmonitor.errors import RocmonitorError, StoreError, unforeseen
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.windows import Window
from rocmonitor.service import budgets, explaining, references
from rocmonitor.service.arrivals import Arrivals
from rocmonitor.service.counted import ReadAhead, stored
from rocmonitor.service.explaining import CountedParts
from rocmonitor.service.judging import SpanRequest, WindowRequest
from rocmonitor.service.leases import hold_lease
from rocmonitor.service.outages import note_tick
from rocmonitor.service.progress import Progress, Step
from rocmonitor.service.references import complete_at, digest
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick import commit
from rocmonitor.service.tick.outcome import Tick
from rocmonitor.service.tick.plan import Job, Plan
from rocmonitor.service.tick.state import TickState
from rocmonitor.service.timekeeping import believed
from rocmonitor.service.workers import Answer, Caller, InProcess, Request, StoppedError, Task
from rocmonitor.service.workers.threads import HUNG_AFTER
from rocmonitor.sources import Batch, LabelCounts, SqlSource, open_source

if TYPE_CHECKING:
    from rocmonitor.policy.explanation import Explanation
    from rocmonitor.policy.lasting import Course
    from rocmonitor.service.judging import Judged
    from rocmonitor.sources.batch import Explaining
    from rocmonitor.stats.forecast.learning import JudgedOutlook
    from rocmonitor.stats.group_reference import GroupReference

__all__ = ["Tick", "run_monitor"]

log = logging.getLogger(__name__)

NOW = timedelta(hours=1)
"""A tick for an earlier time than this shows nothing of how rows and labels arrive."""

_COUNTED_AT_ONCE = 100
"""Windows whose rows are counted together."""

_KNOWING = (Status.OK, Status.IMPROVED, Status.DEGRADED, Status.AT_RISK)
"""Statuses that rest on judged windows."""

CHANGED = (Status.DEGRADED, Status.IMPROVED, Status.AT_RISK)
"""Outcomes of windows that columns may explain."""


def run_monitor(
    runtime: Runtime,
    monitor: Monitor,
    *,
    now: datetime,
    windows: Sequence[Window] | None = None,
    again: bool = False,
    dry_run: bool = False,
    progress: Progress = lambda _: None,
) -> Tick:
    """Judge every window of a monitor that is due at an instant.

    What goes wrong inside one monitor is not raised: it is in ``.error`` and in the monitor's status.

    A backfill looks at `windows` instead of all since the monitor's start, closed to revision or not; with
    `again` it judges again also those whose rows or settings have changed although their labels have not.
    With `dry_run` everything is computed, and nothing kept.
    """
    tick = Tick(monitor=monitor.name)
    limit = runtime.config.sources[monitor.source].deadline + HUNG_AFTER
    try:
        with (
            runtime.work.on(f"monitor:{monitor.name}", limit),
            hold_lease(runtime, f"monitor:{monitor.name}") as lease,
        ):
            if lease is None:
                tick.busy = True
            else:
                until, tick.doubt = believed(runtime, now, keep=not dry_run)
                state = TickState(
                    runtime=runtime,
                    monitor=monitor,
                    now=until,
                    lease=lease,
                    dry_run=dry_run,
                    backfill=windows is not None,
                    again=again,
                )
                _work(state, tick, windows, progress)
    except Exception as error:  # one failing monitor never stops another
        tick.error = tick.error or _foreseen(error, monitor)
    return tick


def _work(state: TickState, tick: Tick, windows: Sequence[Window] | None, progress: Progress) -> None:
    config, monitor = state.runtime.config, state.monitor
    try:
        with open_source(config.sources[monitor.source], config.folder, name=monitor.source) as source:
            ended = monitor.windows(state.now) if windows is None else windows
            with suppress(StoppedError):
                _Work(state, source, tick, progress).on(ended)
    except Exception as error:  # recorded below
        tick.error = _foreseen(error, monitor)
    try:
        if tick.error is not None:  # what was not saved is not so
            state.forget_changes()
        change, notify = commit.failure(state, None if tick.error is None else str(tick.error))
        if change is not None and not state.dry_run:
            outbox = commit.change_messages(state, change, notify)
            store.save_transition(state.runtime.store, change, notify, outbox, lease=state.lease)
        tick.status = state.statuses()
    except StoreError as error:
        tick.error = tick.error or error
    if not state.dry_run:
        note_tick(state.runtime, monitor, tick.error)


def _foreseen(error: Exception, monitor: Monitor) -> RocmonitorError:
    if isinstance(error, RocmonitorError):
        return error
    log.error("monitor %s failed unexpectedly", monitor.name, exc_info=error)
    return unforeseen(error)


class _Work:
    """The windows of a tick in order, each planned, judged and committed; a stop is heeded between two."""

    def __init__(self, state: TickState, source: SqlSource, tick: Tick, progress: Progress) -> None:
        self._state, self._source, self._tick, self._progress = state, source, tick, progress
        self._arrivals = Arrivals(state.runtime.store, state.monitor, state.now)
        self._plan = Plan(state, source, self._arrivals, progress)
        self._groups: GroupReference | None = None  # counted once in a tick, kept or not
        self._windows: list[Window] = []
        self._rows: dict[Window, int] = {}  # of windows whose times are compared as text
        self._ahead: ReadAhead | None = None
        self._explaining: Explaining | None = None  # the rows of the window at hand

    @cached_property
    def _parts(self) -> CountedParts:
        """What is counted of losses; kept where the reference that it is counted by is, too."""
        state, monitor = self._state, self._state.monitor
        wanted = not state.dry_run and bool(state.runtime.config.keep.counts)
        reading = explaining.digest(monitor, monitor.columns.explain)
        return CountedParts(state.runtime.store, reading, keep=wanted and state.now >= complete_at(monitor))

    def on(self, ended: Sequence[Window]) -> None:
        """Work on windows that have ended."""
        state, name = self._state, self._state.monitor.name
        judged = {window for _, window in state.judged}
        log.debug("%s: %d windows have ended, %d are judged", name, len(ended), len(judged))
        state.segments |= {segment for segment, _ in state.judged}
        if state.monitor.window.pool is not None and state.monitor.outlook is not None:
            self._load_references()  # they say how many of each class an outlook may count on
        windows = self._plan.windows(ended)
        self._tick.rest = self._plan.rest
        if self._plan.counted and not (state.dry_run or state.backfill):
            # The reference before a window has enough rows shows whether rows have stopped.
            due = state.now >= complete_at(state.monitor)
            if due and not store.has_reference(state.runtime.store, name, digest(state.monitor)):
                self._load_references()
        new = [window for window in windows if ("", window) not in state.judged]
        self._each(windows)
        if state.backfill and not state.dry_run and state.monitor.replays_labels:
            # These were judged by the labels known at the time; later ones make a revision.
            state.forget_judged()
            self._each(new)
        is_live = not (state.dry_run or state.backfill or state.now < state.runtime.clock() - NOW)
        if state.runtime.stop.is_set() or not is_live:
            return
        judged_now = (evaluation.window for evaluation in self._tick.evaluations)
        last = max([*judged_now, *filter(None, [state.last_judged])], default=None)
        seen = state.monitor.lapse(last, state.now)
        before = store.ticks(state.runtime.store).get(name) if seen is not None else None
        # What was over before anybody watched is no news, nor what the status says already.
        watched = before is not None and state.monitor.lapse(last, before.ended_at) is None
        news = seen is not None and watched and state.statuses().get("") in _KNOWING
        self._arrivals.conclude(state.lease, seen, news=news)

    def _each(self, windows: Sequence[Window]) -> None:
        monitor = self._state.monitor
        self._windows = sorted(windows)
        for number, window in enumerate(windows, 1):
            if self._state.runtime.stop.is_set():
                break
            job = self._plan.job(window, windows[number:])
            if job is None:
                continue
            if not job.judges and job.labels is not None:
                if monitor.joining is None:  # else its pieces are counted
                    self._arrivals.add(window, job.labels)
                if job.before is None:
                    self._tick.waiting.append(window)
                else:
                    self._keep_unchanged(window, job.before, job.labels)
            if job.judges or job.foresees:
                step = Step(f"{monitor.name} {window.in_zone(monitor.timezone)}", number, len(windows))
                self._do(job, step, windows[number:])

    def _do(self, job: Job, step: Step, following: Sequence[Window]) -> None:
        """Have a window read, and commit what was found."""
        state, name = self._state, self._state.monitor.name
        self._progress(step)
        self._load_references()
        began = time.monotonic()
        request = self._read_ahead(_request(state, job), job, following)
        self._explaining = None if request.read is None else request.read.explaining
        judged = self._run(request)
        counts = judged.counts
        classes = f"{counts.n_pos:,} positive, {counts.n_neg:,} negative"
        words = f"{counts.rows:,} rows in {judged.seconds:.2f} s, {classes}"
        log.debug("%s %s: %s", name, job.window, words, extra={"monitor": name, "window": str(job.window)})
        if job.before is None and not counts.truncated:
            self._require_complete(job.window, counts.inside)
        ranges, last = (state.ranges or {}).get(""), state.last_judged
        # How many rows can be used now shows in a window after which no other was judged.
        if not state.backfill and ranges is not None and (last is None or last <= job.window):
            passed = any(other > job.window for segment, other in state.foreseen if not segment)
            reference = ranges.reference
            self._arrivals.add_read(job.window, counts, reference, labelled=job.judges, passed=passed)
        if job.judges:
            self._judge(job, judged)
        else:
            outlooks = commit.outlooks(state, job, self._explained(job, judged))
            if not state.dry_run:
                store.save_outlooks(state.runtime.store, outlooks, lease=state.lease)
            state.segments |= {record.outlook.segment for record in outlooks}
            self._tick.add([], [record.outlook for record in outlooks])
        self._tick.took(job.window, time.monotonic() - began)

    def _read_ahead(self, request: WindowRequest, job: Job, following: Sequence[Window]) -> WindowRequest:
        """Return a request with the rows of its window, if they are read with those of windows after it."""
        state, monitor = self._state, self._state.monitor
        if not job.judges or job.before is not None or job.labels is not None or request.stored:
            return request
        if self._ahead is None:
            ranges = (state.ranges or {}).get("")
            sizes = [] if ranges is None else ranges.reference.windows
            self._ahead = ReadAhead(max((past["n_pos"] + past["n_neg"] for past in sizes), default=0))

        def new() -> Iterator[Window]:
            alike = takewhile(partial(self._plan.is_read_like, job), following)
            return takewhile(lambda window: not stored(state.runtime.store, monitor, window), alike)

        def read(windows: Sequence[Window]) -> list[Batch] | None:
            return self._run(SpanRequest(monitor=monitor, windows=windows, as_of=job.as_of))

        batch = self._ahead.take(job.window, new, self._source, monitor, read)
        if batch is None:
            return request
        self._ahead.saw(batch)
        return replace(request, read=batch)

    def _require_complete(self, window: Window, read: int) -> None:
        """Require that all rows of a window were read, from a source that compares times as they are written.

        Whether the query compares times in other sources, `check` looks.
        """
        monitor, source = self._state.monitor, self._source
        if not source.compares_texts:
            return
        if window not in self._rows:
            at = bisect_left(self._windows, window)
            some = self._windows[at : at + _COUNTED_AT_ONCE] or [window]
            self._rows = dict.fromkeys(some, 0) | {
                other: rows for other, (rows, *_) in source.rows_by_window(monitor, some).items()
            }
        if self._rows[window] > read:  # or rows were deleted meanwhile
            source.require_complete(monitor, {window: read})

    def _judge(self, job: Job, judged: Judged) -> None:
        state = self._state
        assert judged.labels is not None  # it was asked to judge
        if state.monitor.joining is None:  # else its pieces are counted
            self._arrivals.add(job.window, judged.labels)
        if job.before is not None and not judged.segments:
            self._keep_unchanged(job.window, job.before, judged.labels)
            return
        if job.before is not None and state.monitor.columns.explain:
            self._parts.forget(job.window)
        records = commit.evaluations(state, job, self._explained(job, judged))
        if not state.dry_run:
            store.save(state.runtime.store, records, lease=state.lease)
        state.segments |= {record.evaluation.segment for record in records}
        self._tick.add([record.evaluation for record in records])

    def _explained(self, job: Job, judged: Judged) -> Judged:
        """Return what was found with the groups that made the change, if columns may explain one."""
        seen = judged.segments.get("")
        finding = None if seen is None else seen.finding or seen.foreseen
        if not self._state.monitor.columns.explain or finding is None or finding.outcome not in CHANGED:
            return judged
        expected = seen is not None and seen.finding is None
        explanation = self._explanation(job, judged, job.window, expected=expected)
        if isinstance(explanation, Caveat):
            return judged.finding_that(replace(finding, caveats=(*finding.caveats, explanation)))
        explained = judged.finding_that(explanation.added_to(finding))

        def explain(start: datetime) -> Explanation | None:
            period = Window(min(start, job.window.start), job.window.end)
            since = explanation if period == job.window else self._explanation(job, judged, period)
            return None if isinstance(since, Caveat) else since

        return explained if expected else replace(explained, explain=explain)

    def _explanation(
        self, job: Job, judged: Judged, window: Window, *, expected: bool = False
    ) -> Explanation | Caveat:
        """Return what made the change of a period, or why that cannot be said."""
        state, monitor = self._state, self._state.monitor
        try:
            ask = explaining.request(
                monitor,
                window,
                self._source,
                state.runtime.store,
                now=state.now,
                as_of=job.as_of,
                grouped=judged.grouped,
                expected=expected,
                reference=self._groups,
                read=self._explaining if window == job.window else None,
                counted=() if window == job.window else self._parts.inside(window),
            )
            explained = self._run(ask)
            self._groups = explained.reference
            if ask.reference is None and not state.dry_run:
                explaining.keep(monitor, state.runtime.store, state.now, explained)
            if not expected:
                self._parts.add(explained.counted, explained.whole, state.now)
            return explained.explanation
        except (StoppedError, StoreError):
            raise
        except Exception as error:  # what was judged stands, and is told
            why = str(_foreseen(error, monitor))
            log.warning("%s %s: groups are not computed: %s", monitor.name, window, why)
            return Caveat("not-computed", why=why).concerning("explanation")

    def _keep_unchanged(self, window: Window, before: store.Evaluated, labels: LabelCounts) -> None:
        """Note how the window is labelled now, so that the next tick does not read it."""
        state = self._state
        if state.backfill:
            self._tick.unchanged.append(window)
        stored_labels = before.label_counts, before.labels_digest
        if not state.dry_run and (labels.by_label, labels.digest) != stored_labels:
            store.remember_labels(
                state.runtime.store,
                state.monitor.name,
                window,
                label_counts=labels.by_label,
                labels_digest=labels.digest,
                lease=state.lease,
            )

    def _load_references(self) -> None:
        """Hold the references at the levels that a budget asks for, for all windows of the tick."""
        state, monitor, kept = self._state, self._state.monitor, self._state.runtime.store
        if state.ranges is not None:
            return
        built = references.load_or_build(
            monitor,
            self._source,
            kept,
            now=state.now,
            keep=not state.dry_run,
            keep_counts=bool(state.runtime.config.keep.counts),
            on_step=self._said,
            build=self._run,
        )
        own: dict[str, float] = {}
        if monitor.joining is not None and "" in built:  # it may not be frozen yet
            yearly = budgets.windows_per_year(monitor, built[""].windows)
            own |= {} if yearly is None else {monitor.name: yearly}
        config = state.runtime.config
        state.levels = config.levels(monitor.name, budgets.allotments(config, kept, own))
        derived = state.levels.derived
        state.ranges = {name: NormalRanges.of(reference, derived) for name, reference in built.items()}

    def _run(self, request: Request[Answer]) -> Answer:
        """Return what is asked, answered by the executor; it may take other processes."""
        runtime, monitor = self._state.runtime, self._state.monitor
        config, executor = runtime.config, runtime.executor
        task = Task(
            name=monitor.source, spec=config.sources[monitor.source], folder=config.folder, request=request
        )
        if isinstance(task.spec, Spark):  # the cluster works; each process would make a session of its own
            executor = InProcess()
        limit = task.spec.deadline * (1 if executor.reports else request.size) + HUNG_AFTER
        caller = Caller(stop=runtime.stop, on_step=self._said, is_hung=runtime.work.is_hung)
        with runtime.work.on(f"monitor:{monitor.name}", limit):
            return executor.run(task, self._source, caller)

    def _said(self, text: str) -> None:
        self._state.beat()
        if text:
            self._progress(text)


def _request(state: TickState, job: Job) -> WindowRequest:
    """Return what is asked of whoever reads and judges a window."""
    monitor, before, window = state.monitor, job.before, job.window
    same = before is not None and not (state.again and before.settings_digest != state.settings_digest)
    foresees = before is None and monitor.outlook_at(window) is not None
    courses: dict[str, Course] = {}
    if job.judges and state.courses.wanted:
        version = state.versions(before)[0] or "unknown"
        # A segment without a reference has no chart to read them.
        courses = {
            segment: state.courses.leading_to(segment, window, version, state.episode_ends(segment))
            for segment in state.ranges or {}
        }
    since: dict[str, list[JudgedOutlook]] = {}
    if foresees:
        champion = state.version("champion")[0] or "unknown"
        since = {
            segment: state.courses.outlooks_before(segment, window, champion)
            for segment in state.ranges or {}
        }
    return WindowRequest(
        monitor=monitor,
        window=window,
        as_of=job.as_of,
        now=state.runtime.clock(),
        judges=job.judges,
        labels=job.labels if job.judges else None,
        ranges=state.ranges or {},
        absent=state.absent,
        levels=state.levels,
        courses=courses,
        foresees=foresees,
        has_outlook=frozenset(segment for segment, other in state.foreseen if other == window),
        since=since,
        # One that was judged is read again because its rows have changed.
        stored=stored(state.runtime.store, monitor, window) if before is None else (),
        keeps_counts=not state.dry_run and bool(state.runtime.config.keep.counts),
        judged_as=before.digest if before is not None and same else None,
    )
