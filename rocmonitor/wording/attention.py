"""Who looks after an alarm, and until when messages are muted, in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from rocmonitor.policy.attention import Attention
from rocmonitor.policy.stops import Stop
from rocmonitor.wording.format import instant, one_line
from rocmonitor.wording.stops import standing

_LONGEST_NOTE = 80


def attention(said: Attention, now: datetime, zone: ZoneInfo, stops: Sequence[Stop] = ()) -> str:
    """What people said about a monitor and still holds, after what has stopped arriving; may be empty."""
    stopped = [standing(each, zone) for each in stops]
    parts = []
    if said.acknowledged_by is not None:
        parts.append(f"{said.acknowledged_by} takes care of it")
    if said.is_muted(now):
        assert said.muted_until is not None
        parts.append(f"muted until {instant(said.muted_until, zone)}")
    if parts and said.note:
        parts.append(one_line(said.note, _LONGEST_NOTE))
    return "; ".join([*stopped, *parts])
