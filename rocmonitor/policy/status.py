"""The status of a monitor: k-of-n, recovery, and when somebody is notified of a change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from rocmonitor.policy.evaluation import Status

_QUIET = frozenset({Status.OK, Status.IMPROVED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """When a verdict becomes an alarm.

    Parameters
    ----------
    after, of : int
        Degraded (or improved) when at least `after` of the last `of` sufficient windows were.
    recover_after : int
        Ok again after this many sufficient windows in a row that were not.
    cool_down : timedelta
        For so long after an alarm no recovery is sent; one that still holds is sent with the next window.
    """

    after: int = 1
    of: int = 1
    recover_after: int = 1
    cool_down: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class Health:
    """What the sufficient windows so far amount to: their status, and the last of their outcomes."""

    status: Status = Status.OK
    recent: tuple[Status, ...] = ()

    def after(self, outcome: Status, alarm: Alarm) -> Health:
        """The health after one more sufficient window."""
        recent = (*self.recent, outcome)[-max(alarm.of, alarm.recover_after) :]
        counted, calm = recent[-alarm.of :], recent[-alarm.recover_after :]
        for reached in (Status.DEGRADED, Status.IMPROVED):
            if counted.count(reached) >= alarm.after:
                return Health(reached, recent)
        recovered = len(calm) == alarm.recover_after and self.status not in calm
        return Health(Status.OK if recovered else self.status, recent)

    def with_last(self, outcome: Status) -> Status:
        """The status when the last window, sufficient or not, had this outcome."""
        if outcome is Status.INSUFFICIENT and self.status is not Status.DEGRADED:
            return Status.INSUFFICIENT
        return self.status


def status_after(outcomes: Iterable[Status], alarm: Alarm) -> Status:
    """The status after windows with these outcomes, oldest first.

    An insufficient window neither counts for k-of-n nor as a recovery: a status ``degraded`` stays, any other
    is ``insufficient`` until the next sufficient window.
    """
    health, last = Health(), Status.OK
    for last in outcomes:
        if last is not Status.INSUFFICIENT:
            health = health.after(last, alarm)
    return health.with_last(last)


def is_alarm(status: Status) -> bool:
    """Whether this status asks somebody to act."""
    return status not in _QUIET


def should_notify(
    status: Status, notified: Status, alarmed_at: datetime | None, at: datetime, cool_down: timedelta
) -> bool:
    """Whether somebody is notified of `status` now.

    Parameters
    ----------
    status : Status
        As it is after this window.
    notified : Status
        The status of the last notification; ok when there was none.
    alarmed_at : datetime or None
        When the last alarm was sent.
    at : datetime
        Now, on the same clock.
    cool_down : timedelta

    Notes
    -----
    Another alarm than the last one is always news. A recovery waits for the end of the cool-down, so a
    monitor that flaps within it sends one alarm, not ten. Errors have messages of their own, which name all
    monitors that fail for the same reason: see `rocmonitor.policy.outages`.
    """
    if status in (notified, Status.ERROR):
        return False
    return is_alarm(status) or not cool_down or alarmed_at is None or at - alarmed_at >= cool_down
