"""People take on alarms and mute monitors, by a command or a button."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError

from rocmonitor import store
from rocmonitor.caveat import Caveat
from rocmonitor.config.values import Duration
from rocmonitor.errors import ConfigError
from rocmonitor.policy.episode import CLOSED
from rocmonitor.policy.evaluation import Status, Transition
from rocmonitor.policy.status import Said, is_alarm
from rocmonitor.store import Store
from rocmonitor.store.glance import last_changes

_LONGEST_NOTE = 200
_CLOSING = timedelta(minutes=1)


def has_alarm(kept: Store, monitor: str) -> bool:
    """Return True if all rows or a segment of a monitor have a status that asks somebody to act."""
    changes = last_changes(kept)
    return any(is_alarm(change.after) for (name, _), change in changes.items() if name == monitor)


def acknowledge(kept: Store, monitor: str, *, by: str, note: str, now: datetime) -> None:
    """Save that somebody takes care of a monitor's alarm.

    Raises
    ------
    ConfigError: There is no alarm, or the texts cannot be shown.
    StoreError
    """
    by, note = one_line(by), one_line(note)
    if not has_alarm(kept, monitor):
        raise ConfigError(f"{monitor} has no alarm that could be acknowledged")
    store.acknowledge(kept, monitor, by=by, at=now, note=note)


def close(kept: Store, monitor: str, *, by: str, now: datetime) -> int:
    """Close the open episodes of a monitor, for somebody knows that they are over; how many these were.

    The status is ok, and the next window that a rule finds degraded is news.

    Raises
    ------
    ConfigError: None is open, or the monitor is being judged.
    StoreError
    """
    why = f"{CLOSED} by {one_line(by)}"
    lease = store.acquire(kept, f"monitor:{monitor}", f"close {uuid4()}", now, _CLOSING)
    if lease is None:
        raise ConfigError(f"{monitor} is being judged: try again in a moment")
    try:
        declines = [decline for decline in store.declines(kept, monitor) if decline.is_open]
        if not declines:
            raise ConfigError(f"{monitor} has no open loss that could be closed")
        said = store.last_said(kept, monitor)
        for decline in declines:
            newest = store.outcomes(kept, monitor, decline.segment)[-1][0]
            ended = Transition(
                monitor=monitor,
                segment=decline.segment,
                at=now,
                before=said.get(decline.segment, Said()).status,
                after=Status.OK,
                reasons=(Caveat("episode-closed", why=why),),
                since=now,
            )
            over = replace(decline.closed(newest.end, why), ended_with=newest)
            store.save_transition(kept, ended, True, (), lease=lease, episodes=[over])
    finally:
        store.release(kept, lease)
    return len(declines)


def mute(kept: Store, monitor: str, *, by: str, note: str, until: datetime | None) -> None:
    """Save until when nothing is sent about a monitor; None sends again from now on."""
    store.mute(kept, monitor, by=one_line(by), until=until, note=one_line(note))


def after(now: datetime, length: str, option: str = "--for") -> datetime:
    """Return the end of a duration such as ``12h`` or ``2d``; ConfigError for any other text."""
    try:
        end: datetime = (now + TypeAdapter(Duration).validate_python(length)).astimezone(UTC)
    except (ValidationError, OverflowError):
        raise ConfigError(
            f"{option} must be a whole number with s, m, h or d, such as 12h or 2d; it is {length!r}"
        ) from None
    return end


def one_line(text: str) -> str:
    """Return a text on one line; ConfigError if it is too long for a table."""
    line = " ".join(text.split())
    if len(line) > _LONGEST_NOTE or not line.isprintable():
        raise ConfigError(f"A name and a note take up to {_LONGEST_NOTE} printable characters")
    return line
