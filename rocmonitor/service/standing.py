"""How the segments of a monitor stand, and the changes of status that follow."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from rocmonitor import store
from rocmonitor.config import Monitor
from rocmonitor.policy.evaluation import Reason, Status, Transition
from rocmonitor.policy.revised import Revised
from rocmonitor.policy.status import Alarm, Health, is_alarm, should_notify
from rocmonitor.policy.windows import Window


@dataclass(frozen=True, slots=True)
class _Standing:
    """How a segment stands, and of which status people were last notified."""

    status: Status
    notified: Status
    alarmed_at: datetime | None


class _History:
    """The outcomes of a segment's windows in order, and the health after each, so that one more is cheap."""

    def __init__(self, outcomes: list[tuple[Window, Status]], alarm: Alarm) -> None:
        self.windows = [window for window, _ in outcomes]
        self.outcomes = [outcome for _, outcome in outcomes]
        self._alarm = alarm
        self._healths: list[Health] = []  # of the first windows; the rest when it is asked for

    def __contains__(self, window: Window) -> bool:
        at = bisect_left(self.windows, window)
        return at < len(self.windows) and self.windows[at] == window

    def add(self, window: Window, outcome: Status) -> None:
        """Count a window, or count it anew."""
        at = bisect_left(self.windows, window)
        if window not in self:
            self.windows.insert(at, window)
            self.outcomes.insert(at, outcome)
        elif self.outcomes[at] is outcome:
            return
        self.outcomes[at] = outcome
        del self._healths[at:]

    def status(self, until: Window | None) -> Status:
        """The status after all windows, or after those up to one: see `policy.status.status_after`."""
        count = len(self.windows) if until is None else bisect_left(self.windows, until)
        count += until is not None and until in self
        if not count:
            return Status.OK
        for outcome in self.outcomes[len(self._healths) : count]:
            last = self._healths[-1] if self._healths else Health()
            after = last if outcome is Status.INSUFFICIENT else last.after(outcome, self._alarm)
            self._healths.append(last if after == last else after)  # one object for many windows
        return self._healths[count - 1].with_last(self.outcomes[count - 1])

    def degraded(self) -> set[Window]:
        """After which windows the status was degraded."""
        self.status(None)
        known = zip(self.windows, self.outcomes, self._healths, strict=True)
        return {
            window
            for window, outcome, health in known
            if outcome is not Status.INSUFFICIENT and health.status is Status.DEGRADED
        }

    def counted(self) -> Iterator[tuple[Window, Status]]:
        """The sufficient windows, newest first."""
        for window, outcome in zip(reversed(self.windows), reversed(self.outcomes), strict=True):
            if outcome is not Status.INSUFFICIENT:
                yield window, outcome


class Standings:
    """The segments of one monitor during one tick: what the store has of them, and what the tick changed.

    Parameters
    ----------
    kept : Store
        Only read, each segment once.
    monitor : Monitor
    now : datetime
        While the monitor is muted, no change is notified.
    """

    def __init__(self, kept: store.Store, monitor: Monitor, now: datetime) -> None:
        self._store, self._monitor = kept, monitor
        self._muted = store.attention(kept, monitor.name).is_muted(now)
        self._segments: dict[str, _Standing] = {}
        self._histories: dict[str, _History] = {}
        self._warnings: dict[str, dict[Window, frozenset[str]]] = {}

    def current(self, segment: str) -> Status:
        """The status after the last change."""
        return self._standing(segment).status

    def forget_changes(self) -> None:
        """Read the store again: what the tick changed was not saved."""
        self._segments.clear()

    def add_outcome(self, segment: str, window: Window, outcome: Status) -> None:
        """Count a window that was judged, or judged anew."""
        self._history(segment).add(window, outcome)
        self._pending(segment).pop(window, None)

    def add_warning(self, segment: str, window: Window, rules: frozenset[str]) -> bool:
        """Count an outlook that warns; it holds until the window is judged.

        Returns whether one of `rules` warns that did not warn of any window before: that is news, also to
        people who know of another warning.
        """
        before = self._open_warnings(segment)
        known = frozenset[str]().union(*(self._pending(segment)[each] for each in before))
        self._pending(segment)[window] = rules
        return not rules <= known

    def after(self, segment: str, *, until: Window | None = None) -> Status:
        """The status that the windows so far amount to, or those up to one of them.

        With no degraded window, an outlook that warns of a later one makes it ``at-risk``.
        """
        status = self._history(segment).status(until)
        pending = self._open_warnings(segment)
        return Status.AT_RISK if pending and status is not Status.DEGRADED else status

    def since(self, segment: str, status: Status, window: Window) -> datetime:
        """Start of the first window that k-of-n counts for `status`, or that warns; of `window` when none."""
        if status is Status.AT_RISK:
            return min((other.start for other in self._open_warnings(segment)), default=window.start)
        recent = islice(self._history(segment).counted(), self._monitor.alarm.policy().of)
        return min([other.start for other, outcome in recent if outcome is status], default=window.start)

    def change(
        self,
        segment: str,
        status: Status,
        *,
        at: datetime,
        since: datetime,
        reasons: tuple[Reason, ...],
        news: bool = False,
    ) -> tuple[Transition | None, bool]:
        """The change of status that follows, if any, and whether somebody is notified of it.

        With `news` an alarm is notified although its status is known.
        """
        before = self._standing(segment)
        cool_down = self._monitor.alarm.cool_down
        due = should_notify(status, before.notified, before.alarmed_at, at, cool_down)
        notify = not self._muted and (due or (news and is_alarm(status)))
        if status is before.status and not notify:
            return None, False
        self._segments[segment] = _Standing(
            status=status,
            notified=status if notify else before.notified,
            alarmed_at=at if notify and is_alarm(status) else before.alarmed_at,
        )
        transition = Transition(
            monitor=self._monitor.name,
            segment=segment,
            at=at,
            # A recovery that waited for the end of a cool-down is a change from what people know.
            before=before.notified if status is before.status else before.status,
            after=status,
            reasons=reasons,
            since=since,
        )
        return transition, notify

    def degraded_windows(self, segment: str) -> set[Window]:
        """After which windows the segment was degraded, as they are judged now."""
        return self._history(segment).degraded()

    def revision_messages(self, revised: Revised) -> list[store.Outgoing]:
        """The outbox rows of a revision that leaves the status as it is: one for each channel.

        None while the monitor is muted. In the cool-down after an alarm, none that says that a window is no
        longer degraded.
        """
        alarmed_at, cool_down = self._standing(revised.segment).alarmed_at, self._monitor.alarm.cool_down
        cooling = alarmed_at is not None and revised.at - alarmed_at < cool_down
        if self._muted or (cooling and not revised.is_worse):
            return []
        payload = {"revised": revised.to_dict()}
        return [
            store.Outgoing(destination=f"channel:{channel}", payload=payload)
            for channel in self._monitor.notify
        ]

    def messages(self, change: Transition | None, notify: bool) -> list[store.Outgoing]:
        """The outbox rows of a change: one for each channel, if somebody is notified."""
        if change is None or not notify:
            return []
        payload = {"transition": change.to_dict()}
        return [
            store.Outgoing(destination=f"channel:{channel}", payload=payload)
            for channel in self._monitor.notify
        ]

    def _standing(self, segment: str) -> _Standing:
        if segment not in self._segments:
            last = store.last_transition(self._store, self._monitor.name, segment)
            notified = store.last_notified(self._store, self._monitor.name, segment)
            self._segments[segment] = _Standing(
                status=last.after if last else Status.OK,
                notified=notified.status,
                alarmed_at=notified.alarmed_at,
            )
        return self._segments[segment]

    def _pending(self, segment: str) -> dict[Window, frozenset[str]]:
        if segment not in self._warnings:
            found = store.pending_warnings(self._store, self._monitor.name, segment)
            # After a change of the calendar some windows are never judged: their warnings would never end.
            self._warnings[segment] = {
                window: rules for window, rules in found.items() if self._monitor.judges(window)
            }
        return self._warnings[segment]

    def _open_warnings(self, segment: str) -> list[Window]:
        judged = self._history(segment)
        return [window for window in self._pending(segment) if window not in judged]

    def _history(self, segment: str) -> _History:
        if segment not in self._histories:
            outcomes = store.outcomes(self._store, self._monitor.name, segment)
            self._histories[segment] = _History(outcomes, self._monitor.alarm.policy())
        return self._histories[segment]
