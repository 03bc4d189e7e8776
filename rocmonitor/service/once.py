"""One pass over some monitors and the outbox, as ``rocmonitor run`` makes it."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from rocmonitor import store
from rocmonitor.config import Config
from rocmonitor.errors import ExternalError, SourceError, StoreError
from rocmonitor.policy.outages import phase_due
from rocmonitor.service.delivery import CHANNEL_SECONDS, Delivered, drain
from rocmonitor.service.outages import send_directly, store_outage
from rocmonitor.service.progress import Progress
from rocmonitor.service.runtime import Runtime, leave
from rocmonitor.service.tick import Tick
from rocmonitor.service.workers import Workers
from rocmonitor.service.workers.threads import MOST_AT_ONCE

log = logging.getLogger(__name__)

STORE_FAILS = ".rocmonitor-store-fails.json"

_STOPPED, _INTERRUPTED = 143, 130
"""Exit codes, by custom."""


def run_once(
    runtime: Runtime,
    ticks: Mapping[str, Callable[[], Tick]],
    *,
    deliver: bool,
    progress: Progress = lambda _: None,
) -> tuple[list[Tick], Delivered | None]:
    """Judge monitors, as many at once as the executor takes, and deliver; a hung source holds up no other.

    `ticks` has what judges a monitor, by its name. SIGTERM ends it after the window at hand, or within
    seconds if that hangs: of monitors that were not begun then there is no tick.
    """
    monitors = [runtime.config.monitors[name] for name in ticks]
    pools = {monitor.source: Workers(runtime.work, at_once(runtime)) for monitor in monitors}
    done: dict[str, Tick | None] = {}
    tolerance = None
    if deliver:
        # Where the call before was longer ago than a failure lasts before people are notified, the next may
        # be, too: then this one says so.
        ended = [tick.ended_at for tick in store.ticks(runtime.store).values() if tick.monitor in ticks]
        is_often = ended and runtime.clock() - max(ended) < runtime.config.errors.notify_after
        tolerance = None if is_often else timedelta()
    with _stopped_by_signals(runtime):
        for monitor in monitors:
            hung = f"sources.{monitor.source}: reading hangs and was given up until the next run"
            pools[monitor.source].submit(
                monitor.name,
                partial(_begin, runtime, ticks[monitor.name]),
                partial(done.__setitem__, monitor.name),
                partial(done.__setitem__, monitor.name, Tick(monitor=monitor.name, error=SourceError(hung))),
            )
        _wait(runtime, list(pools.values()))
        answers: list[Any] = []
        if deliver and not runtime.stop.is_set():
            outbox = Workers(runtime.work)
            call = partial(runtime.work.on("outbox")(drain), runtime, progress=progress, tolerance=tolerance)
            outbox.submit("outbox", call, answers.append)
            _wait(runtime, [outbox])
    if answers and isinstance(answers[0], Exception):
        raise answers[0]
    delivered = answers[0] if answers else Delivered() if deliver else None
    return [tick for name in ticks if (tick := done.get(name)) is not None], delivered


def _begin(runtime: Runtime, tick: Callable[[], Tick]) -> Tick | None:
    return None if runtime.stop.is_set() else tick()


def run_alone(runtime: Runtime, name: str, call: Callable[[], Any]) -> Any:
    """Return what a call gives; SIGTERM ends it at its next step, or within seconds if it hangs.

    Raises
    ------
    ExternalError: It hung and was given up.
    """
    workers, answers = Workers(runtime.work), list[Any]()
    hung = ExternalError(f"{name} hangs and was given up; what was not saved is done at the next call")
    with _stopped_by_signals(runtime):
        workers.submit(name, call, answers.append, partial(answers.append, hung))
        _wait(runtime, [workers])
    if isinstance(answers[0], Exception):
        raise answers[0]
    return answers[0]


def at_once(runtime: Runtime) -> int:
    """Return how many monitors of a source are judged at the same time: while one is saved, the next is
    judged.
    """
    width = runtime.executor.width
    return width if width == 1 else min(width + 1, MOST_AT_ONCE)


def _wait(runtime: Runtime, pools: Sequence[Workers]) -> None:
    """Until all is done; a person who interrupts waits for the window at hand only."""
    try:
        attend_at = time.monotonic() + 1
        while not all(workers.idle() for workers in pools):
            if runtime.stop.wait(0.05):
                leave(runtime, pools, code=_STOPPED)
                return
            if time.monotonic() >= attend_at:
                attend_at += 1
                for workers in pools:
                    workers.attend()
    except KeyboardInterrupt:
        runtime.stop.set()
        leave(runtime, pools, code=_INTERRUPTED)
        raise


@contextmanager
def _stopped_by_signals(runtime: Runtime) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: runtime.stop.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def announce_store(config: Config, error: StoreError | None, now: datetime) -> None:
    """Send that the store fails, at once and then daily, or that it works again; without the store.

    A call from a scheduler is made once an hour or once a day: to wait for a second failure would be late.
    No process remembers the failure, so a small file beside the configuration does, and not every call sends
    a message. Where that file cannot be written, every call does.
    """
    path = config.folder / STORE_FAILS
    since, notified_at = now, None
    with suppress(OSError, ValueError, LookupError, TypeError):
        content = json.loads(path.read_text(encoding="utf-8"))
        before = [datetime.fromisoformat(content[name]) for name in ("since", "notified_at")]
        if all(instant.tzinfo for instant in before):
            since, notified_at = before
    outage = store_outage(config, error, since, now, notified_at)
    phase = phase_due(outage, now, tolerance=timedelta())
    if phase is None:
        return
    threads = send_directly(config, outage, phase, now)
    if phase == "ended":
        with suppress(OSError):
            path.unlink()
    else:
        text = json.dumps({"since": since.isoformat(), "notified_at": now.isoformat()})
        part = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            part.replace(path)
        except OSError as failure:
            why = failure.strerror
            log.warning("%s cannot be written: the next call sends this message again: %s", path, why)
    until = time.monotonic() + CHANNEL_SECONDS
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
