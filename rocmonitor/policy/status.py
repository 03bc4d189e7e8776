"""The status of a monitor: k-of-n, recovery, and when somebody is notified of a change."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, islice, takewhile
from typing import Any, Literal

from rocmonitor.policy.evaluation import Reason, Status, Transition
from rocmonitor.policy.record import Stored
from rocmonitor.policy.windows import Window

_QUIET = frozenset({Status.OK, Status.IMPROVED})
_QUIET_WINDOWS = 3  # without a finding, after which one that comes again is news


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """When a verdict becomes an alarm."""

    after: int = 1  # degraded (or improved) when so many of the last `of` sufficient windows were
    of: int = 1
    recover_after: int = 1  # ok again after this many sufficient windows in a row that were not
    cool_down: timedelta = timedelta()
    """Time after an alarm in which no recovery is sent; one that still holds is sent with the next window."""


Cause = Literal["late", "corrected", "settings"]
"""Labels or rows came late; some were corrected; the data are the same and were judged by other settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revised(Stored):
    """A past window that was judged again and is found otherwise than before."""

    monitor: str
    segment: str = ""
    window: Window
    revision: int  # the new one
    before: Status  # outcomes of the window
    after: Status
    auc_before: float | None  # None where the window was not measured
    auc: float | None
    cause: Cause
    at: datetime  # when it was found
    status: Status  # of the monitor and segment now

    @property
    def is_worse(self) -> bool:
        """True if the window is degraded now, and was not."""
        return self.after is Status.DEGRADED


@dataclass(frozen=True, slots=True)
class StatusSoFar:
    """The status that the sufficient windows so far amount to, and the last of their outcomes."""

    status: Status = Status.OK
    recent: tuple[Status, ...] = ()

    def after(self, outcome: Status, alarm: Alarm) -> StatusSoFar:
        """Return the health after one more sufficient window."""
        recent = (*self.recent, outcome)[-max(alarm.of, alarm.recover_after) :]
        counted, calm = recent[-alarm.of :], recent[-alarm.recover_after :]
        for reached in (Status.DEGRADED, Status.IMPROVED):
            if counted.count(reached) >= alarm.after:
                return StatusSoFar(reached, recent)
        recovered = len(calm) == alarm.recover_after and self.status not in calm
        return StatusSoFar(Status.OK if recovered else self.status, recent)


@dataclass(frozen=True, slots=True)
class Said:
    """The status of a segment that was said last."""

    status: Status = Status.OK  # after the last change
    notified: Status = Status.OK  # that people were last notified of; ok when there was none
    alarmed_at: datetime | None = None  # when the last alarm was sent


class SegmentState:
    """The status of a segment of a monitor: what its windows amount to, and what people know of it.

    An insufficient window neither counts for k-of-n nor as a recovery, and the status stays: until more of
    them follow one another than ever did in the reference. Then any status but ``degraded`` is
    ``insufficient`` until the next sufficient window. Before the first sufficient window it is so from the
    start, and people are notified at the same time.

    `outcomes` are those of the judged windows, in order. `warnings` are the rules that warn of windows
    without labels; a warning holds until its window is judged. So many insufficient windows in a row as
    `patience` says are no news (see `usual_run`); None: however many they are, although the status shows
    them. After each of the windows `ends`, with which an episode ended, the count of outcomes begins anew.
    """

    def __init__(
        self,
        monitor: str,
        segment: str,
        alarm: Alarm,
        *,
        outcomes: Sequence[tuple[Window, Status]] = (),
        warnings: Mapping[Window, frozenset[str]] | None = None,
        said: Said | None = None,
        muted: bool = False,
        patience: int | None = 0,
        ends: Collection[Window] = (),
    ) -> None:
        self._monitor, self._segment, self._alarm, self._muted = monitor, segment, alarm, muted
        self._patience = patience
        self._ends = dict.fromkeys(ends, False)  # by the window, whether its own outcome counts again
        self._windows = [window for window, _ in outcomes]
        self._outcomes = [outcome for _, outcome in outcomes]
        self._healths: list[StatusSoFar] = []  # of the first windows; the rest when it is asked for
        self._warnings = {window: rules for window, rules in (warnings or {}).items() if window not in self}
        self._said = said or Said()

    def __contains__(self, window: Window) -> bool:
        at = bisect_left(self._windows, window)
        return at < len(self._windows) and self._windows[at] == window

    @property
    def newest(self) -> Window | None:
        """The newest judged window."""
        return self._windows[-1] if self._windows else None

    @property
    def first(self) -> Window | None:
        """The oldest sufficient window."""
        judged = zip(self._windows, self._outcomes, strict=True)
        return next((window for window, outcome in judged if outcome is not Status.INSUFFICIENT), None)

    @property
    def status(self) -> Status:
        """The status after the last change that was said."""
        return self._said.status

    def add(self, window: Window, outcome: Status) -> None:
        """Count a window that was judged, or judged anew; a warning of it ends."""
        self._warnings.pop(window, None)
        at = bisect_left(self._windows, window)
        if window in self and window in self._ends:
            self._ends[window] = True
        if window not in self:
            self._windows.insert(at, window)
            self._outcomes.insert(at, outcome)
        elif self._outcomes[at] is outcome:
            return
        self._outcomes[at] = outcome
        del self._healths[at:]

    def end(self, window: Window) -> None:
        """Begin the count anew after a window: it showed that an episode is over."""
        self._ends.setdefault(window, False)
        del self._healths[bisect_left(self._windows, window) :]

    def found_again(self, window: Window) -> bool:
        """Return True if none of the three judged windows before it was degraded."""
        earlier = self._outcomes[: bisect_left(self._windows, window)]
        last = [outcome for outcome in earlier if outcome is not Status.INSUFFICIENT][-_QUIET_WINDOWS:]
        return len(last) == _QUIET_WINDOWS and Status.DEGRADED not in last

    def warn(self, window: Window, rules: frozenset[str]) -> bool:
        """Count an outlook that warns of a window; True if one of its rules warned of no window before."""
        news = not rules <= frozenset[str]().union(*self._warnings.values())
        if window not in self:
            self._warnings[window] = rules
        return news

    def after(self, until: Window | None = None) -> Status:
        """Return the status that the windows so far amount to, or those up to one of them.

        With no degraded window, a warning of a later one makes it ``at-risk``.
        """
        status = self._counted(until)
        return Status.AT_RISK if self._warnings and status is not Status.DEGRADED else status

    def since(self, status: Status, window: Window) -> datetime:
        """Start of the first window that k-of-n counts for `status`, or that warns; of `window` when none."""
        if status is Status.AT_RISK:
            return min((other.start for other in self._warnings), default=window.start)
        newest_first = zip(reversed(self._windows), reversed(self._outcomes), strict=True)
        sufficient = (entry for entry in newest_first if entry[1] is not Status.INSUFFICIENT)
        recent = islice(sufficient, self._alarm.of)
        return min([other.start for other, outcome in recent if outcome is status], default=window.start)

    def change(
        self,
        status: Status,
        *,
        at: datetime,
        since: datetime,
        reasons: tuple[Reason, ...],
        news: bool = False,
        hold: bool = False,
    ) -> tuple[Transition | None, bool]:
        """Return the change of status that follows, if any, and whether somebody is notified of it.

        With `news` an alarm is notified although its status is known; with `hold` a recovery is not.
        """
        before = self._said
        due = should_notify(status, before.notified, before.alarmed_at, at, self._alarm.cool_down)
        # Windows that cannot be judged are no news if as many in a row were in the reference.
        is_usual = status is Status.INSUFFICIENT and (
            self._patience is None or self._insufficient(len(self._outcomes)) <= self._patience
        )
        held = self._muted or is_usual or (hold and not is_alarm(status))
        notify = not held and (due or (news and is_alarm(status)))
        is_quiet = not is_alarm(status) and not is_alarm(before.status)
        if status is before.status and not notify:
            return None, False
        self._said = Said(
            status=status,
            notified=status if notify else before.notified,
            alarmed_at=at if notify and is_alarm(status) else before.alarmed_at,
        )
        transition = Transition(
            monitor=self._monitor,
            segment=self._segment,
            at=at,
            # A recovery that was held is a change from what people know.
            before=before.notified if status is before.status or (notify and is_quiet) else before.status,
            after=status,
            reasons=reasons,
            since=since,
        )
        return transition, notify

    def tells(self, revised: Revised) -> bool:
        """Return True if people are told of a revision that does not change the status.

        Not while muted, and in the cool-down after an alarm not that a window is no longer degraded.
        """
        alarmed_at = self._said.alarmed_at
        cooling = alarmed_at is not None and revised.at - alarmed_at < self._alarm.cool_down
        return not self._muted and (revised.is_worse or not cooling)

    def degraded(self) -> set[Window]:
        """After which windows the status was degraded, as they are judged now."""
        self._counted(None)
        judged = zip(self._windows, self._outcomes, self._healths, strict=True)
        return {
            window
            for window, outcome, health in judged
            if outcome is not Status.INSUFFICIENT and health.status is Status.DEGRADED
        }

    def _counted(self, until: Window | None) -> Status:
        """Return the status without the warnings."""
        count = len(self._windows) if until is None else bisect_left(self._windows, until)
        count += until is not None and until in self
        if not count:
            return Status.OK
        for at in range(len(self._healths), count):
            last, outcome = self._healths[-1] if self._healths else StatusSoFar(), self._outcomes[at]
            after = last if outcome is Status.INSUFFICIENT else last.after(outcome, self._alarm)
            if (counts := self._ends.get(self._windows[at])) is not None:
                after = StatusSoFar().after(outcome, self._alarm) if counts else StatusSoFar()
            self._healths.append(last if after == last else after)  # one object for many windows
        status = self._healths[count - 1].status
        run = self._insufficient(count)
        lasts = run == count or self._patience is None or run > self._patience
        return Status.INSUFFICIENT if run and lasts and status is not Status.DEGRADED else status

    def _insufficient(self, count: int) -> int:
        """Return how many of the first windows, counted from the last of them, are insufficient in a row."""
        newest_first = (self._outcomes[at] for at in reversed(range(count)))
        return sum(1 for _ in takewhile(lambda outcome: outcome is Status.INSUFFICIENT, newest_first))


def usual_run(windows: Sequence[Mapping[str, Any]], min_per_class: int) -> int | None:
    """Return how many reference windows in a row were too small to be judged, at most; None if all were."""
    small = [min(window["n_pos"], window["n_neg"]) < min_per_class for window in windows]
    if all(small):
        return None
    return max((len(list(run)) for is_small, run in groupby(small) if is_small), default=0)


def is_alarm(status: Status) -> bool:
    """Return True if this status asks somebody to act."""
    return status not in _QUIET


def should_notify(
    status: Status, notified: Status, alarmed_at: datetime | None, at: datetime, cool_down: timedelta
) -> bool:
    """Return True if somebody is notified now of a status; `notified` is the one of the last notification.

    Another alarm than the last one is always news. A recovery waits for the end of the cool-down, so a
    monitor that flaps within it sends one alarm, not ten. Errors have messages of their own, which name all
    monitors that fail for the same reason: see `rocmonitor.policy.outages`.
    """
    if status in (notified, Status.ERROR):
        return False
    return is_alarm(status) or not cool_down or alarmed_at is None or at - alarmed_at >= cool_down


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """The notes of people about a monitor: acknowledged, muted or silenced."""

    acknowledged_by: str | None = None  # who has taken on the alarm, until the next change of status
    acknowledged_at: datetime | None = None
    muted_by: str | None = None
    muted_until: datetime | None = None
    """Until then no message is sent. Windows are judged as ever; a status that differs from the one that was
    sent last is sent with the first window after that."""
    note: str = ""  # the last one
    note_by: str | None = None

    def is_muted(self, now: datetime) -> bool:
        """Return True if messages are held back now."""
        return self.muted_until is not None and now < self.muted_until
