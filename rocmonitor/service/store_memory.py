"""A store that fails while ``rocmonitor run`` is called by a scheduler: no process remembers it.

A small file beside the configuration does, so that not every call sends a message. Where that file cannot be
written, every call does.
"""

from __future__ import annotations

import json
import logging
import os
import time
from contextlib import suppress
from datetime import datetime, timedelta

from rocmonitor.config import Config
from rocmonitor.errors import StoreError
from rocmonitor.policy.outages import phase_due
from rocmonitor.service.delivery import CHANNEL_SECONDS
from rocmonitor.service.outages import send_directly, store_outage

log = logging.getLogger(__name__)

NAME = ".rocmonitor-store-fails.json"


def announce_store(config: Config, error: StoreError | None, now: datetime) -> None:
    """Send that the store fails, at once and then daily, or that it works again; without the store.

    A call from a scheduler is made once an hour or once a day: to wait for a second failure would be late.
    """
    path = config.folder / NAME
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
