"""Leases while work goes on: taken, renewed beside it, and given back when it ends or hangs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rocmonitor import store
from rocmonitor.errors import StoreError
from rocmonitor.service.runtime import Runtime
from rocmonitor.store.leases import LEASE

RENEW_EVERY = LEASE / 4

log = logging.getLogger(__name__)


@contextmanager
def hold_lease(runtime: Runtime, name: str) -> Iterator[store.Lease | None]:
    """Hold the lease on `name` while the block runs; None when another process holds it.

    It is renewed beside the work, until the work hangs: then it is given back, so that the work can be done
    anew, and whoever hung cannot save any more.
    """
    lease = store.acquire(runtime.store, name, runtime.owner, runtime.clock(), LEASE)
    if lease is None:
        yield None
        return
    ended = threading.Event()
    keeper = threading.Thread(
        target=_keep, args=(runtime, lease, threading.get_ident(), ended), daemon=True, name=f"lease {name}"
    )
    keeper.start()
    try:
        yield lease
    finally:
        ended.set()
        keeper.join(1)
        try:
            store.release(runtime.store, lease)
        except StoreError as error:  # what was done is saved all the same
            log.warning("%s stays taken for %d s: %s", name, LEASE.total_seconds(), error)


def _keep(runtime: Runtime, lease: store.Lease, worker: int, ended: threading.Event) -> None:
    while not ended.wait(RENEW_EVERY.total_seconds()):
        work = runtime.work.of_thread(worker)
        try:
            if work is not None and work.is_hung:
                store.release(runtime.store, lease)
                return
            if store.renew(runtime.store, lease, runtime.clock(), LEASE) is None:
                log.warning("%s was taken over by another process", lease.name)
                return
        except StoreError as error:
            log.debug("the lease on %s is not renewed: %s", lease.name, error)


def renew_lease(runtime: Runtime, lease: store.Lease) -> store.Lease:
    """Return the lease, renewed when half of its time is over; to be called at each step of the work.

    A StoreError says that another process has taken it over; what it guards must not go on.
    """
    runtime.work.beat()
    now = runtime.clock()
    if LEASE / 2 < lease.expires_at - now <= LEASE:
        return lease
    renewed = store.renew(runtime.store, lease, now, LEASE)
    if renewed is None:
        raise StoreError(f"{lease.name} was taken over by another process while {lease.owner} was at work")
    return renewed
