"""Deletion of data older than ``keep`` allows, a little at a time: a stop or a kill loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from rocmonitor import store
from rocmonitor.errors import TrackingError
from rocmonitor.service.arrivals import compared_since
from rocmonitor.service.leases import hold_lease, renew_lease
from rocmonitor.service.progress import Progress
from rocmonitor.service.runtime import Runtime

AT_ONCE = 500
"""Rows deleted in one transaction: other processes wait for some milliseconds."""

_LATEST = timedelta(days=3)
"""A request that was given up and made again comes through within that time, or never."""


@dataclass(kw_only=True)
class Deleted:
    """The rows deleted, by kind."""

    deliveries: int = 0
    """Outbox rows that had arrived."""
    tables: int = 0
    """Evaluations that lost their tables. What was counted of arrivals goes with them."""
    counts: int = 0
    """Windows that lost their counts."""
    runs: int = 0
    doubles: int = 0
    """Runs that MLflow made of requests that were given up and made again."""
    error: TrackingError | None = None
    """Why runs were left for the next time."""
    busy: bool = False
    """Another process does the same; nothing was done."""


def delete_old(runtime: Runtime, *, progress: Progress = lambda _: None) -> Deleted:
    """Delete what is older than ``keep`` allows; the undelivered, and the newest of each segment, stay."""
    done, keep, now = Deleted(), runtime.config.keep, runtime.clock()
    with hold_lease(runtime, "keep") as lease:
        if lease is None:
            done.busy = True
            return done
        work = _Keeping(runtime, lease, progress)
        kept = runtime.store
        done.deliveries = work.repeat(
            partial(store.delete_delivered, kept, now - keep.outbox, AT_ONCE), "old deliveries"
        )
        done.tables = work.repeat(
            partial(store.delete_tables, kept, now - keep.tables, AT_ONCE), "old tables"
        )
        done.counts = work.repeat(
            partial(store.delete_counts, kept, now - keep.counts, AT_ONCE), "old counts of windows"
        )
        compared = {
            name: compared_since(configured, now) for name, configured in runtime.config.monitors.items()
        }
        store.delete_arrivals(kept, now - keep.tables, compared)
        try:
            for monitor in store.published_again(kept, now - _LATEST):
                done.doubles += runtime.tracking.delete_doubles(store.instance_id(kept), monitor)
                work.renew()
            work.delete_runs(now - keep.mlflow, done)
        except TrackingError as error:
            done.error = error
    return done


@dataclass(slots=True)
class _Keeping:
    """One pass under its lease."""

    runtime: Runtime
    lease: store.Lease
    progress: Progress

    def renew(self) -> None:
        """Keep the lease."""
        self.lease = renew_lease(self.runtime, self.lease)

    def repeat(self, delete: Callable[[], int], what: str) -> int:
        """Delete until no more is old enough, or a stop is asked for."""
        total, deleted = 0, AT_ONCE
        while deleted == AT_ONCE and not self.runtime.stop.is_set():
            deleted = delete()
            total += deleted
            if deleted:
                self.progress(f"deleted {total:,} {what}")
            self.renew()
        return total

    def delete_runs(self, before: datetime, done: Deleted) -> None:
        """Delete runs in MLflow one by one."""
        stop, old = self.runtime.stop, None
        instance = store.instance_id(self.runtime.store)
        while not stop.is_set() and (old is None or len(old) == AT_ONCE):
            old = store.old_publications(self.runtime.store, before, AT_ONCE)
            for publication in old:
                if stop.is_set():
                    break
                # The run first: after a kill in between, it is found gone.
                done.runs += self.runtime.tracking.delete_window(
                    instance, publication.monitor, publication.key
                )
                store.delete_publications(self.runtime.store, [publication])
                self.progress(f"deleted {done.runs:,} old runs in MLflow")
                self.renew()
