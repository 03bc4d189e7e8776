"""The plan of a tick: the windows it judges or foresees, from the store, the calendar and counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice, takewhile

from rocmonitor import store
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.joining import Counted, free
from rocmonitor.policy.windows import Window
from rocmonitor.service.arrivals import Arrivals
from rocmonitor.service.pieces import (
    before_empty,
    closed,
    count,
    judged_empty,
    outlook_is_due,
    together,
    within,
    without_rows,
)
from rocmonitor.service.progress import Step
from rocmonitor.service.tick.state import TickState
from rocmonitor.sources import LabelCounts, SqlSource
from rocmonitor.sources.sql import MOST_TOGETHER


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A window, and what to do with it; if nothing, `labels` shows why it waits or stays."""

    window: Window
    before: store.Evaluated | None
    as_of: datetime
    """When labels must have been known: a backfill sees what was known when the window was due."""
    labels: LabelCounts | None = None
    judges: bool = False
    foresees: bool = False
    """Only its outlook is made."""


@dataclass
class Plan:
    """The windows of a tick, and what to do with each; the source is only asked for counts."""

    state: TickState
    source: SqlSource
    arrivals: Arrivals
    progress: Callable[[str], None]
    counted: dict[Window, LabelCounts] = field(default_factory=dict)
    """Pieces of windows that are joined."""
    rest: Counted | None = None
    """The pieces after the last window: too few rows, or labels are awaited."""
    _labelled: dict[Window, LabelCounts] = field(default_factory=dict)  # counted before their turn

    def windows(self, ended: Sequence[Window]) -> Sequence[Window]:
        """Return the windows to look at: those of the calendar, or those that are joined from them."""
        state, monitor = self.state, self.state.monitor
        if monitor.joining is None:
            passed = set() if state.backfill else self._without_rows(ended)
            return [window for window in ended if window not in passed]
        ended = [window for window in ended if window.end <= state.now]
        fixed = {window for segment, window in [*state.judged, *state.foreseen] if not segment}
        inside, unjudged = within(fixed, ended), free(ended, fixed)
        passed = set[Window]()
        if not state.backfill:
            passed = self._without_rows(sorted([*inside, *unjudged]), set(unjudged))
        wanted = [piece for piece in unjudged if piece not in passed]
        new = [piece for piece in wanted if piece not in self.counted]
        for number, (piece, labels) in enumerate(count(self.source, monitor, new, state.now), 1):
            if state.runtime.stop.is_set():
                return []
            self.counted[piece] = labels
            words = f"{monitor.name} {piece.in_zone(monitor.timezone)} (count)"
            self.progress(Step(words, number, len(new)))
            state.beat()
        counted = [(piece, self.counted[piece]) for piece in wanted]
        usable = before_empty(counted, inside, passed)
        ranges = (state.ranges or {}).get("")
        past = [] if ranges is None else ranges.reference.windows
        n_pos, n_neg = (sum(window[name] for window in past) for name in ("n_pos", "n_neg"))
        usual_share = n_pos / (n_pos + n_neg) if n_pos + n_neg else None  # of positives
        windows = sorted([*inside, *closed(monitor, monitor.joining, usable, state.now, usual_share)])
        rest = [entry for entry in counted if not windows or entry[0].start >= windows[-1].end]
        for piece, labels in counted:
            self.arrivals.add(piece, labels, always=bool(rest) and piece >= rest[0][0])
        self.rest = together(rest)
        return windows

    def job(self, window: Window, following: Sequence[Window]) -> Job | None:
        """Return what to do with a window now; None where it is not even counted.

        If its labels are counted, those of the windows that follow are, too.
        """
        state, before = self.state, self.state.newest(window)
        age, as_of = self.state.monitor.labels.age(window, state.now), self._as_of(window, before)
        labels, judges = None, False
        if age != "open" and (before is None or state.backfill or self._is_revisable(window, before)):
            if before is None and age != "waiting":
                return Job(window=window, before=None, as_of=as_of, judges=True)
            labels = self._labels(window, following, as_of)
            if before is None:
                judges = self.state.monitor.labels.enough(labels.rows, labels.labelled)
            else:
                stored_labels = before.label_counts, before.labels_digest
                judges = state.again or (labels.by_label, labels.digest) != stored_labels
        foresees = not judges and before is None and outlook_is_due(self.state.monitor, window, state.now)
        foresees = foresees and ("", window) not in state.foreseen
        if labels is None and not foresees:
            return None
        return Job(window=window, before=before, as_of=as_of, labels=labels, judges=judges, foresees=foresees)

    def is_read_like(self, job: Job, window: Window) -> bool:
        """Return True if a window is new and read as that of a job is, without a look at its labels."""
        return (
            ("", window) not in self.state.judged
            and self.state.monitor.labels.age(window, self.state.now) in ("due", "closed")
            and (self._as_of(window, None) == job.as_of or not self.state.monitor.replays_labels)
        )

    def _labels(self, window: Window, following: Sequence[Window], as_of: datetime) -> LabelCounts:
        """Return how a window is labelled; count those that follow with it if they are looked at, too."""
        if window not in self._labelled:

            def is_asked(other: Window) -> bool:
                before = self.state.newest(other)
                age = self.state.monitor.labels.age(other, self.state.now)
                waits = age != "open" if before is None else self._is_revisable(other, before)
                return (waits or self.state.backfill) and self._as_of(other, before) == as_of

            some = [window, *islice(takewhile(is_asked, following), MOST_TOGETHER - 1)]
            some = list(self.source.side_by_side(self.state.monitor, some))
            self._labelled = dict(self.source.label_counts_together(self.state.monitor, some, as_of=as_of))
            self.state.beat()
        return self._labelled.pop(window)

    def _is_revisable(self, window: Window, before: store.Evaluated) -> bool:
        insufficient = before.outcome is Status.INSUFFICIENT
        return self.state.monitor.labels.is_revisable(window, self.state.now, insufficient=insufficient)

    def _as_of(self, window: Window, before: store.Evaluated | None) -> datetime:
        now = self.state.now
        if self.state.backfill and before is None:
            return min(now, self.state.monitor.labels.due_at(window))
        return now

    def _without_rows(self, windows: Sequence[Window], pieces: Collection[Window] = ()) -> set[Window]:
        """Return the windows before the first row and after the last; that these are empty is noted for
        alarms.
        """
        state = self.state
        due = [
            window
            for window in windows
            if self.state.monitor.labels.age(window, state.now) in ("due", "closed")
        ]

        def count_rows(window: Window) -> int:
            if window in pieces:
                if window not in self.counted:
                    self.counted |= count(self.source, self.state.monitor, [window], state.now)
                    state.beat()
                return self.counted[window].rows
            state.beat()
            return self.source.label_counts(self.state.monitor, window).rows

        empty = without_rows(due, state.judged, count_rows)
        maybe = empty | judged_empty(state.judged)
        trailing = takewhile(lambda window: window in maybe, reversed(due))
        # They had no rows when they were judged: rows may have stopped with them.
        self.arrivals.empty |= set(
            takewhile(lambda window: window in empty or not count_rows(window), trailing)
        )
        for window in sorted(empty):
            self.arrivals.add(window, LabelCounts(rows=0, labelled=0, by_label={}))
        return empty
