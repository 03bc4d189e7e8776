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
from datetime import datetime
from pathlib import Path

from rocmonitor.config import Config
from rocmonitor.errors import StoreError
from rocmonitor.policy.outages import REMIND_EVERY, STORE, Member, Outage, is_lasting
from rocmonitor.service.delivery import CHANNEL_SECONDS
from rocmonitor.service.outages import LONGEST_ERROR, send_directly

log = logging.getLogger(__name__)

NAME = ".rocmonitor-store-fails.json"


def announce_store(config: Config, error: StoreError | None, now: datetime) -> None:
    """Send that the store fails, at once and then daily, or that it works again; without the store.

    A call from a scheduler is made once an hour or once a day: to wait for a second failure would be late.

    Parameters
    ----------
    config : Config
    error : StoreError or None
        None when it works.
    now : datetime
    """
    path = config.folder / NAME
    known = _remembered(path)
    if error is None and known is None:
        return
    since, notified_at = known or (now, None)
    outage = Outage(
        id=0,
        cause=STORE,
        since=since,
        error="" if error is None else str(error)[:LONGEST_ERROR],
        lasting=error is not None and is_lasting(error),
        members={name: Member(since=since, seen=now) for name in config.monitors},
        notified_at=notified_at,
        ended_at=now if error is None else None,
    )
    if error is None:
        threads = send_directly(config, outage, "ended", now)
        with suppress(OSError):
            path.unlink()
    elif notified_at is None or now - notified_at >= REMIND_EVERY:
        threads = send_directly(config, outage, "began" if notified_at is None else "lasts", now)
        _remember(path, since, now)
    else:
        return
    until = time.monotonic() + CHANNEL_SECONDS
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))


def _remembered(path: Path) -> tuple[datetime, datetime] | None:
    """Since when the store fails, and when people were last notified."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        since, notified_at = (datetime.fromisoformat(said[name]) for name in ("since", "notified_at"))
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return None if since.tzinfo is None or notified_at.tzinfo is None else (since, notified_at)


def _remember(path: Path, since: datetime, notified_at: datetime) -> None:
    text = json.dumps({"since": since.isoformat(), "notified_at": notified_at.isoformat()})
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        part.replace(path)
    except OSError as error:
        log.warning("%s cannot be written: the next call sends this message again: %s", path, error.strerror)
