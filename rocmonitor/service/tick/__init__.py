"""One tick of one monitor: every due window is judged, in order, and committed before the next.

The statistics are imported with the first window that is due: most ticks find none.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime

from rocmonitor.config import Monitor
from rocmonitor.errors import RocmonitorError, StoreError
from rocmonitor.policy.windows import Window
from rocmonitor.service.outages import note_tick
from rocmonitor.service.progress import Progress
from rocmonitor.service.runtime import Runtime, hold_lease
from rocmonitor.service.tick.outcome import Tick
from rocmonitor.service.tick.run import TickRun
from rocmonitor.service.timekeeping import believed
from rocmonitor.service.work import HUNG_AFTER
from rocmonitor.sources import open_source

__all__ = ["Tick", "run_monitor"]

log = logging.getLogger(__name__)


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
    """Judge every due window of a monitor.

    Parameters
    ----------
    runtime : Runtime
    monitor : Monitor
    now : datetime
        Which windows are due is decided at this instant.
    windows : sequence of Window, optional
        Look at these instead of all since the monitor's start (a backfill), closed to revision or not.
    again : bool
        Of these, judge again those whose rows or settings have changed although their labels have not.
    dry_run : bool
        Compute everything, keep nothing.
    progress : callable
        Called with a short text that says how far the work is.

    Returns
    -------
    Tick
        What goes wrong inside one monitor is not raised: it is in ``.error`` and in the monitor's status.
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
                _work(TickRun(runtime, monitor, lease, until, dry_run, progress, tick), windows, again)
    except Exception as error:  # one failing monitor never stops another
        tick.error = tick.error or _foreseen(error, monitor)
    return tick


def _work(run: TickRun, windows: Sequence[Window] | None, again: bool) -> None:
    """Judge what is due, and record how the monitor stands."""
    config, monitor = run.runtime.config, run.monitor
    try:
        with open_source(config.sources[monitor.source], config.folder, name=monitor.source) as source:
            run.work(source, windows, again=again)
    except Exception as error:  # recorded below
        run.tick.error = _foreseen(error, monitor)
    try:
        run.close()
    except StoreError as error:
        run.tick.error = run.tick.error or error
    if not run.dry_run:
        note_tick(run.runtime, monitor, run.tick.error)


def _foreseen(error: Exception, monitor: Monitor) -> RocmonitorError:
    if isinstance(error, RocmonitorError):
        return error
    log.error("monitor %s failed in a way that is not foreseen", monitor.name, exc_info=error)
    return RocmonitorError(f"unforeseen {type(error).__name__}: {error}")
