"""The record of the last tick: that ticks happen is seen from other processes."""

from __future__ import annotations

import logging
from datetime import datetime

from rocmonitor import store
from rocmonitor.errors import StoreError
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick.outcome import Tick

log = logging.getLogger(__name__)

_LONGEST = 2000  # characters of an error: it may quote a value of any size


def save_last(
    runtime: Runtime, tick: Tick, *, started_at: datetime, seconds: float, next_due: datetime | None = None
) -> None:
    """Record a tick that has ended, unless another process makes it; a failure is only logged.

    Parameters
    ----------
    runtime : Runtime
    tick : Tick
    started_at : datetime
    seconds : float
        How long it took.
    next_due : datetime, optional
        When this process makes the next.
    """
    if tick.busy:
        return
    try:
        store.save_tick(
            runtime.store,
            tick.monitor,
            started_at=started_at,
            ended_at=runtime.clock(),
            seconds=seconds,
            windows=len(tick.evaluations),
            error=None if tick.error is None else str(tick.error)[:_LONGEST],
            next_due=next_due,
        )
    except StoreError as error:
        log.warning("%s: the end of its tick was not recorded: %s", tick.monitor, error)
