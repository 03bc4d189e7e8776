"""Outages: what fails for the same reason is one outage, and when people are notified of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from rocmonitor.errors import ExecutorError, ExternalError, SourceError, StoreError, TrackingError
from rocmonitor.policy.episode import Episode
from rocmonitor.policy.record import Stored

Phase = Literal["began", "lasts", "ended"]

TOLERANCE = timedelta(minutes=5)
REMIND_EVERY = timedelta(days=1)
SETTLE = timedelta(minutes=2)
"""Time in which others may join an outage that does not pass by itself, before people are notified."""

REVIEW = "review:"
"""The prefix before a monitor's name that marks the monitor's review as a member of an outage."""
WORKS = "works again"
"""Why an outage ended."""
MLFLOW, STORE, EXECUTOR = "mlflow", "store", "executor"
"""Places; the others are ``source:NAME``, ``channel:NAME`` and ``monitor``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A monitor, review or destination that fails in an outage."""

    since: datetime  # its first failure in a row
    seen: datetime  # its last
    works_at: datetime | None = None  # since when it works again, while others still fail


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage(Episode):
    """Failures for the same reason.

    The members are all that failed so far: monitors by name, their reviews as ``review:NAME``, deliveries as
    ``outbox:DESTINATION``.
    """

    id: int = 0  # of its row in the store; 0 of an outage of the store
    cause: str  # the place, and for what does not pass by itself also which error
    failures: int = 0
    error: str  # the last one
    lasting: bool  # True if somebody must mend it
    members: Mapping[str, Member] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """``mlflow``, ``store``, ``executor``, ``source:NAME``, ``channel:NAME`` or ``monitor``."""
        return place_in(self.cause)

    @property
    def about(self) -> list[str]:
        """The members that fail; once it has ended, those that failed."""
        return [name for name, member in self.members.items() if not self.is_open or member.works_at is None]

    @property
    def monitors(self) -> list[str]:
        """The monitors among those that it is about."""
        return [name for name in self.about if not name.startswith(("outbox:", REVIEW))]

    @property
    def reviews(self) -> list[str]:
        """The monitors whose reviews are among those that it is about."""
        return [name.removeprefix(REVIEW) for name in self.about if name.startswith(REVIEW)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(Stored):
    """The content of a message about an outage."""

    outage: Outage
    phase: Phase
    at: datetime
    monitors: tuple[str, ...]  # those of the channel that it concerns

    @property
    def unjudged(self) -> list[str]:
        """Monitors that cannot be judged."""
        return [name for name in self.monitors if name in self.outage.about]

    @property
    def unreviewed(self) -> list[str]:
        """Others that can be judged, but not reviewed."""
        return [name for name in self.monitors if name in self.outage.reviews and name not in self.unjudged]

    @property
    def concerned(self) -> list[str]:
        """Other monitors whose messages or runs do not arrive."""
        return [name for name in self.monitors if name not in {*self.unjudged, *self.unreviewed}]


def place_in(cause: str) -> str:
    """Return the place in a cause."""
    return cause.partition("#")[0]


def is_lasting(error: Exception) -> bool:
    """Return True if an error stays until somebody mends something."""
    return not (isinstance(error, ExternalError) and error.transient)


def place_of(error: Exception, source: str) -> str:
    """Return where a tick failed, whose monitor reads from `source`."""
    if isinstance(error, SourceError):
        return f"source:{source}"
    if isinstance(error, TrackingError):
        return MLFLOW
    if isinstance(error, ExecutorError):
        return EXECUTOR
    return STORE if isinstance(error, StoreError) else "monitor"


def cause_of(error: Exception, place: str, monitor: str = "") -> str:
    """Return what groups failures: the place, and the error's text where it does not pass by itself.

    Examples
    --------
    >>> cause_of(SourceError("sources.dwh: no answer within 60 s"), "source:dwh")
    'source:dwh'
    >>> first, other = (ValueError(f"monitors.{name}.query: no table scored") for name in "ab")
    >>> cause_of(first, "monitor", "a") == cause_of(other, "monitor", "b")
    True
    """
    if not is_lasting(error):
        return place
    # Names and numbers differ between monitors, and between two tries.
    text = re.sub(rf"\b{re.escape(monitor)}\b", "", str(error)) if monitor else str(error)
    return f"{place}#{hashlib.sha256(re.sub(r'[0-9]+', '', text).encode()).hexdigest()[:12]}"


def phase_due(
    outage: Outage, now: datetime, *, tolerance: timedelta = TOLERANCE, settled: bool = False
) -> Phase | None:
    """Return what to notify people of now, if anything.

    What passes by itself within `tolerance` is not mentioned. No other failure is about to join a `settled`
    outage.
    """
    last = outage.last_message
    if not outage.is_open:
        return None if last is None else "ended"
    if last is not None:
        return "lasts" if now - last >= REMIND_EVERY else None
    wait = min(tolerance, timedelta() if settled else SETTLE) if outage.lasting else tolerance
    return "began" if now - outage.start >= wait else None


FIRST_PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(minutes=10)


def retry_pause(failures: int, *, transient: bool = True) -> timedelta:
    """Return how long to wait after a number of failures in a row.

    A failure that may pass by itself is tried again after 5 seconds, and after twice as long each time. One
    that somebody must mend waits for 10 minutes, which is also the longest pause.

    Examples
    --------
    >>> [int(retry_pause(number).total_seconds()) for number in range(1, 10)]
    [5, 10, 20, 40, 80, 160, 320, 600, 600]
    """
    if not transient:
        return LONGEST_PAUSE
    return min(FIRST_PAUSE * 2.0 ** min(failures - 1, 20), LONGEST_PAUSE)
