"""What one process works with, and how it sees to it that no other does the same work."""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

from rocmonitor import store
from rocmonitor.config import Config
from rocmonitor.errors import StoreError
from rocmonitor.store import leases
from rocmonitor.tracking import Tracking, connect

LEASE = leases.LEASE


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """What one process works with: configuration, store, MLflow, a name, a clock, a way to stop."""

    config: Config
    store: store.Store
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    owner: str = field(default_factory=lambda: f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}")
    stop: threading.Event = field(default_factory=threading.Event)

    @cached_property
    def tracking(self) -> Tracking:
        """MLflow, connected at the first use."""
        return connect(self.config.tracking_uri, self.config.folder, page=self.config.mlflow.page)


@contextmanager
def hold_lease(runtime: Runtime, name: str) -> Iterator[store.Lease | None]:
    """The lease on `name` while the block runs; None when another process holds it."""
    lease = store.acquire(runtime.store, name, runtime.owner, runtime.clock(), LEASE)
    try:
        yield lease
    finally:
        if lease is not None:
            store.release(runtime.store, lease)


def renew_lease(runtime: Runtime, lease: store.Lease) -> store.Lease:
    """The lease, renewed when half of its time is over.

    Raises
    ------
    StoreError
        Another process has taken it over; what it guards must not go on.
    """
    now = runtime.clock()
    if lease.expires_at - now > LEASE / 2:
        return lease
    renewed = store.renew(runtime.store, lease, now, LEASE)
    if renewed is None:
        raise StoreError(f"{lease.name} was taken over by another process while {lease.owner} was at work")
    return renewed
