"""Rows and labels that arrive, stop to, or cannot be used, during one tick."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from rocmonitor import store
from rocmonitor.config import Monitor
from rocmonitor.policy.episode import REMOVED
from rocmonitor.policy.evaluation import Counts
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.stops import (
    ARRIVES,
    Arrival,
    Arrived,
    AtAge,
    CountedKind,
    Stop,
    stop,
    unusable,
    usable_stop,
)
from rocmonitor.policy.windows import DAY, Window
from rocmonitor.service.references import digest
from rocmonitor.sources import LabelCounts

WINDOWS_KEPT = 60
"""Earlier windows that a young one is compared with."""

_COUNTED: tuple[CountedKind, ...] = ("rows", "labels")
_LAPSES = ("judged", "watch")


@dataclass
class Arrivals:
    """The rows of a monitor's windows that one tick counted."""

    kept: store.Store
    monitor: Monitor
    now: datetime
    empty: set[Window] = field(default_factory=set)
    _counted: list[Arrived] = field(default_factory=list)
    _recent: list[Arrived] = field(default_factory=list)  # those of which rows or labels are awaited
    _read: dict[bool, _Read] = field(default_factory=dict)  # the newest with its labels, and without

    def add(self, window: Window, labels: LabelCounts, *, always: bool = False) -> None:
        """Note how a window is labelled now.

        Of one so old that nothing is awaited only that it is empty, unless `always`: it waits to be joined
        with others.
        """
        if not labels.rows:
            self.empty.add(window)
        arrived = Arrived(window=window, at=self.now, rows=labels.rows, labelled=labels.labelled)
        recent = self.now - window.end <= self.monitor.labels.delay + self.monitor.labels.awaited_for
        if recent:
            self._recent.append(arrived)
        if always or recent:
            self._counted.append(arrived)

    def add_read(
        self, window: Window, counts: Counts, reference: Reference, *, labelled: bool, passed: bool
    ) -> None:
        """Note how many rows of a window can be used; `passed` if a later one was read by an earlier tick."""
        before = self._read.get(labelled)
        if counts.rows and (before is None or before.window <= window):
            goes_on = before is not None and unusable(before.reference, before.counts)
            since = before.since if before is not None and goes_on else window.start
            self._read[labelled] = _Read(window, counts, reference, passed, since)

    def conclude(self, lease: store.Lease, lapse: Stop | None, *, news: bool) -> None:
        """Save what was counted, and send what has stopped or arrives again.

        `lapse` says that nothing has been judged for too long, or that the watch is over. It is `news` if the
        status does not say so yet, and the monitor was watched before.
        """
        if not self._counted and not self._read and not (lapse and news):
            return
        name = self.monitor.name
        arrival, before = read_arrival(self.kept, self.monitor, self.now)
        oldest = min((arrived.window.start for arrived in self._counted), default=self.now)
        if oldest < compared_since(self.monitor, self.now):
            before = store.arrivals(self.kept, name, oldest)
        last = {arrived.window: (arrived.rows, arrived.labelled) for arrived in before}
        muted = store.attention(self.kept, name).is_muted(self.now)
        stops, outbox = list[Stop](), list[store.Outgoing]()
        already = {open_stop.kind: open_stop for open_stop in store.open_stops(self.kept).get(name, ())}
        changes = [self._changed(kind, arrival, already.get(kind)) for kind in _COUNTED]
        changes += [self._usable(already.get("usable")), *self._lapses(lapse, already, news=news)]
        for change in changes:
            if change is None or (muted and not change.is_open and change.first_message):
                continue  # its end is sent when the monitor is no longer muted
            # People who did not hear of the stop need not hear of its end.
            is_told = not muted and (change.is_open or change.first_message is not None)
            stops.append(change.told(self.now, self.monitor.notify) if is_told else change)
            if is_told:
                outbox += store.to_channels(self.monitor.notify, {"stop": stops[-1].to_dict()})
        is_over = lapse is not None and lapse.kind == "watch" and news
        open_ = [decline for decline in store.declines(self.kept, name) if decline.is_open] if is_over else []
        over = [decline.closed(self.now, REMOVED) for decline in open_]
        store.save_arrivals(
            self.kept,
            name,
            [
                arrived
                for arrived in self._counted
                if last.get(arrived.window) != (arrived.rows, arrived.labelled)
            ],
            [*stops, *over],
            outbox,
            at=self.now,
            lease=lease,
        )

    def _changed(self, kind: CountedKind, arrival: Arrival, before: Stop | None) -> Stop | None:
        outlook = self.monitor.outlook
        rows_after = min(DAY, self.monitor.labels.delay) if outlook is None else outlook.after
        old_enough = [arrived for arrived in self._recent if kind == "labels" or arrived.age >= rows_after]
        seen = stop(self.monitor.name, kind, old_enough, arrival)
        if isinstance(seen, Stop):
            if kind == "rows":  # they stopped with the first of the empty windows that lead up to this one
                starts, start = {window.end: window.start for window in self.empty}, seen.start
                while start in starts:
                    start = starts[start]
                seen = replace(seen, start=start)
            return _begun(seen, before)
        if before is None or seen is None:
            return None
        ended = before.closed(self.now, ARRIVES)
        return replace(ended, window=seen.window, rows=seen.rows, labelled=seen.labelled)

    def _lapses(self, seen: Stop | None, already: Mapping[str, Stop], *, news: bool) -> Iterator[Stop | None]:
        """Yield that nothing has been judged for too long, or that the watch is over, and the end of that."""
        if seen is not None:
            yield _begun(seen, already.get(seen.kind)) if news else None
            return
        for before in (already[kind] for kind in _LAPSES if kind in already):
            last = max((read.window for read in self._read.values()), default=before.window)
            yield replace(before.closed(self.now, ARRIVES), window=last)

    def _usable(self, before: Stop | None) -> Stop | None:
        """Return the same of rows that can be used: the newest window that was read decides.

        Labels come when later windows have been read without them: of such a window they alone count.
        """
        early, late = self._read.get(False), self._read.get(True)
        if late is not None and (late.passed or (early is not None and early.window > late.window)):
            late = late._replace(counts=replace(late.counts, bad_score=0, duplicates=0, outside=0))
        read = [part for part in (late, early) if part is not None]
        stops = [usable_stop(self.monitor.name, part.window, part.counts, part.reference) for part in read]
        short = [
            replace(seen, start=part.since)
            for part, (seen, is_short) in zip(read, stops, strict=True)
            if is_short
        ]
        if short:
            return _begun(short[0], before)
        if before is None:
            return None
        by_labels = before.unusable["bad_label"] + before.unusable["two_labels"] > 0
        ends = [
            seen
            for part, (seen, _) in zip(read, stops, strict=True)
            if seen.window >= before.window and (part is late or not by_labels)
        ]
        if not ends:
            return None
        return _known(ends[-1], before).closed(self.now, ARRIVES)


class _Read(NamedTuple):
    """The rows of a window that was read; `since`, the first of those in a row before it with too few usable
    ones, or its own start.
    """

    window: Window
    counts: Counts
    reference: Reference
    passed: bool
    since: datetime


def _begun(seen: Stop, before: Stop | None) -> Stop | None:
    """Return a stop to save: a new one, or one that nobody has heard of; None if somebody has."""
    if before is None:
        return seen
    return None if before.first_message else _known(seen, before)


def _known(seen: Stop, before: Stop) -> Stop:
    messages = {name: getattr(before, name) for name in ("first_message", "last_message", "told_to")}
    return replace(seen, start=before.start, **messages)


def labels_by_age(kept: store.Store, monitor: Monitor, now: datetime) -> list[AtAge]:
    """Return how many rows have a label at some ages, from the reference's instants or what ticks counted."""
    arrival, _ = read_arrival(kept, monitor, now)
    return arrival.by_age(monitor.labels.shown_ages)


def read_arrival(kept: store.Store, monitor: Monitor, now: datetime) -> tuple[Arrival, list[Arrived]]:
    """Return what to expect of the windows of a monitor, and what earlier ticks counted of them."""
    spec = monitor.labels
    counted = store.arrivals(kept, monitor.name, compared_since(monitor, now))
    frozen = store.reference(kept, monitor.name, digest(monitor))
    whole = None if frozen is None else frozen.get("")
    return Arrival(whole, counted, label_delay=spec.delay, zone=monitor.timezone), counted


def compared_since(monitor: Monitor, now: datetime) -> datetime:
    """Start of the first window that young ones are compared with."""
    spec = monitor.labels
    return now - spec.delay - spec.awaited_for - WINDOWS_KEPT * spec.every
