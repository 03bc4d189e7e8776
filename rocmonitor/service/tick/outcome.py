"""The result of a tick of a monitor."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rocmonitor import store
from rocmonitor.caveat import Caveat
from rocmonitor.errors import RocmonitorError, StoreError
from rocmonitor.policy.crontab import next_fire
from rocmonitor.policy.evaluation import Evaluation, Status
from rocmonitor.policy.joining import Counted
from rocmonitor.policy.outlook import Outlook
from rocmonitor.policy.record import plain
from rocmonitor.policy.windows import Window
from rocmonitor.service.runtime import Runtime

LATEST = 500
"""Results that a tick holds: a year that is caught up with must not fill the memory."""


@dataclass(kw_only=True)
class Tick:
    """The result of a tick, with the last 500 of what is new, by window and segment; the store has all."""

    monitor: str
    judged: int = 0
    """New evaluations."""
    evaluations: list[Evaluation] = field(default_factory=list)
    outlooks: list[Outlook] = field(default_factory=list)
    waiting: list[Window] = field(default_factory=list)
    """Ended, but not labelled enough yet."""
    rest: Counted | None = None
    """Pieces after the last window, where windows are joined: too few rows, or labels are awaited."""
    unchanged: list[Window] = field(default_factory=list)
    """Asked for and judged before: nothing about them has changed."""
    seconds: dict[Window, float] = field(default_factory=dict)
    """Seconds that each of the last 500 windows took, from its rows to the store."""
    status: dict[str, Status] = field(default_factory=dict)
    """The status of each segment after the tick; all rows are the segment ``""``."""
    error: RocmonitorError | None = None
    busy: bool = False
    """Another process works on this monitor; nothing was done."""
    doubt: Caveat | None = None
    """Why the clock is not believed; later windows wait."""

    def add(self, evaluations: Sequence[Evaluation], outlooks: Sequence[Outlook] = ()) -> None:
        """Count what is new, and hold the latest of it."""
        self.judged += len(evaluations)
        self.evaluations = [*self.evaluations, *evaluations][-LATEST:]
        self.outlooks = [*self.outlooks, *outlooks][-LATEST:]

    def took(self, window: Window, seconds: float) -> None:
        """Note how long a window took."""
        self.seconds[window] = seconds
        if len(self.seconds) > LATEST:
            del self.seconds[next(iter(self.seconds))]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "monitor": self.monitor,
            "status": {segment: str(status) for segment, status in self.status.items()},
            "judged": self.judged,
            "evaluations": [evaluation.to_dict() for evaluation in self.evaluations],
            "outlooks": [outlook.to_dict() for outlook in self.outlooks],
            "waiting": [str(window) for window in self.waiting],
            "rest": None if self.rest is None else plain(self.rest),
            "unchanged": [str(window) for window in self.unchanged],
            "error": None if self.error is None else str(self.error),
            "busy": self.busy,
            "doubt": None if self.doubt is None else self.doubt.to_dict(),
        }


log = logging.getLogger(__name__)

_LONGEST = 2000  # characters of an error: it may quote a value of any size


def save_last(
    runtime: Runtime, tick: Tick, *, started_at: datetime, seconds: float, next_due: datetime | None = None
) -> None:
    """Record a tick that has ended, unless another process makes it; a failure is only logged.

    Without `next_due` the next one is due when the schedule says so, whoever makes it.
    """
    if tick.busy:
        return
    monitor = runtime.config.monitors[tick.monitor]
    try:
        store.save_tick(
            runtime.store,
            tick.monitor,
            started_at=started_at,
            ended_at=runtime.clock(),
            seconds=seconds,
            windows=len(tick.evaluations),
            error=None if tick.error is None else str(tick.error)[:_LONGEST],
            next_due=next_due or next_fire(monitor.schedule, monitor.timezone, runtime.clock()),
        )
    except StoreError as error:
        log.warning("%s: the end of its check was not recorded: %s", tick.monitor, error)
