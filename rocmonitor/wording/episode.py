"""Episodes in words: since when, how much lower, in which groups, and whether it is over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor.policy.episode import Episode
from rocmonitor.policy.explanation import GroupPart
from rocmonitor.policy.record import plain
from rocmonitor.policy.status import Attention
from rocmonitor.wording.explanation import how, named
from rocmonitor.wording.format import (
    count,
    decimals,
    instant,
    listed,
    lower,
    number,
    span_of,
    still,
    with_interval,
)

_MOST_NAMED = 2
_YEAR_DAYS = 365.25


def headline(of: Episode, zone: ZoneInfo) -> str:
    """Return the AUROC since the start beside the one before.

    Examples
    --------
    >>> from datetime import UTC, datetime, timedelta
    >>> from rocmonitor.policy.windows import Window
    >>> may, week = datetime(2026, 5, 25, tzinfo=UTC), timedelta(days=7)
    >>> found = Episode(
    ...     monitor="credit", champion_version="3", start=may, start_low=may - week, start_high=may + week,
    ...     alarm=Window(may + 2 * week, may + 3 * week), windows=3, auc=0.762, auc_low=0.755, auc_high=0.769,
    ...     size=-0.022, size_low=-0.029, size_high=-0.015,
    ... )
    >>> headline(found, ZoneInfo("UTC"))
    'AUROC about 0.762 since 2026-05-25, 0.784 before: 0.022 lower (0.015 to 0.029)'
    >>> began(found, ZoneInfo("UTC"))
    'Began about 2026-05-25 (2026-05-18 to 2026-06-01); alarm with the window of 2026-06-08'
    """
    if of.auc is None or of.size is None or of.size_low is None or of.size_high is None:
        return ""
    digits = decimals(of.size_low, of.size_high)
    before = of.auc - of.size
    return (
        f"AUROC about {of.auc:.{digits}f} since {instant(of.start, zone)}, {before:.{digits}f} before: "
        f"{lower(of.size, of.size_low, of.size_high)}"
    )


def began(of: Episode, zone: ZoneInfo) -> str:
    """Return when it began, as far as that is known."""
    if of.start_low == of.start and of.start_high == of.alarm.end:
        return f"Began with the window of {instant(of.start, zone)}"
    return (
        f"Began about {instant(of.start, zone)} ({instant(of.start_low, zone)} to "
        f"{instant(of.start_high, zone)}); alarm with the window of {instant(of.alarm.start, zone)}"
    )


def uncertain(of: Episode | None) -> str:
    """Return how much lower the AUROC still may be after an alarm that has not ended; else empty."""
    if of is None or not of.is_uncertain:
        return ""
    return still(of.still, of.still_low, of.still_high)


def brief(of: Episode | None) -> str:
    """Return why an open episode needs attention, in a few words; empty without one."""
    if of is None or not of.is_open:
        return ""
    if of.is_uncertain:
        return uncertain(of)
    parts = [f"{each} ranked worse" for each in of.group_names[:1]]
    if of.size is not None and of.size_low is not None and of.size_high is not None:
        parts.append(f"AUROC {number(of.size, decimals(of.size_low, of.size_high), sign=True)}")
    return ", ".join(parts)


def back(of: Episode, zone: ZoneInfo) -> str:
    """Return that an episode is over, and what shows it."""
    if of.end is None or of.still is None or of.auc is None or of.size is None:
        return ""
    assert of.still_low is not None
    assert of.still_high is not None
    before = of.auc - of.size
    ends = with_interval(before + of.still, before + of.still_low, before + of.still_high)
    digits = decimals(of.still_low, of.still_high, 1)
    return f"Back: AUROC {ends} since {instant(of.end, zone)}, {before:.{digits}f} before the loss"


def groups(of: Episode) -> str:
    """Return which groups are behind it; empty where none is known.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from rocmonitor.policy.windows import Window
    >>> may, june = (datetime(2026, month, 1, tzinfo=UTC) for month in (5, 6))
    >>> row = GroupPart(
    ...     column="channel", group="Broker", part=-0.02, mix=0.0, ranking=-0.02, se=0.003,
    ...     adjusted_pvalue=0.001, rows=900, share=0.3, reference_share=0.3,
    ... ).to_row()
    >>> groups(Episode(
    ...     monitor="credit", champion_version="3", start=may, start_low=may, start_high=june,
    ...     alarm=Window(may, june), size=-0.022, groups=(row,),
    ... ))
    'channel = Broker (−0.020 of −0.022): its rows are ranked worse; its share is unchanged (30 %).'
    """
    found = []
    for part in map(GroupPart.from_row, of.groups[:_MOST_NAMED]):
        size = "" if of.size is None else f" ({number(part.part, 3)} of {number(of.size, 3)})"
        found.append(f"{named(part)}{size}: {how(part)}")
    return f"{'; '.join(found)}." if found else ""


def challenger(of: Episode) -> str:
    """Return the challenger in the same windows; empty without one."""
    if of.challenger is None:
        return ""
    low, high = of.challenger["low"], of.challenger["high"]
    digits = decimals(low, high)
    place = f"no clear difference ({span_of(low, high)})"
    if low > 0:
        place = f"better by {span_of(low, high)}"
    elif high < 0:
        place = f"worse by {span_of(-high, -low)}"
    return f"{of.challenger['auc']:.{digits}f} in the same windows, {place}."


def chance(days_between: float) -> str:
    """Return how often chance alone makes such an alarm.

    Examples
    --------
    >>> chance(98)
    'chance alone would do this about once in 14 weeks'
    >>> chance(5110)
    'chance alone would do this about once in 14 years'
    >>> chance(1e9)
    'chance alone would do this less than once in 100 years'
    """
    if days_between >= 100 * _YEAR_DAYS:
        return "chance alone would do this less than once in 100 years"
    if days_between >= 2 * _YEAR_DAYS:
        often = count(round(days_between / _YEAR_DAYS), "year")
    elif days_between >= 14:
        often = count(round(days_between / 7), "week")
    else:
        often = count(max(round(days_between), 1), "day")
    return f"chance alone would do this about once in {often}"


def who_was_told(of: Episode | None, channels: Sequence[str], zone: ZoneInfo) -> str:
    """Return which channels got the message about an open episode, and when; empty if nobody was told."""
    if of is None or not of.is_open or of.first_message is None:
        return ""
    last = of.last_message
    again = "" if last in (None, of.first_message) else f", last on {instant(last, zone)}"
    whom = listed(list(channels)) or "nobody (notify is empty)"
    return f"{whom}, first on {instant(of.first_message, zone)}{again}"


def line(of: Episode, zone: ZoneInfo) -> str:
    """Return an episode in one line: its period, its size, and how it stands."""
    until = "" if of.end is None else f" to {instant(of.end, zone)}"
    size = ""
    if of.size is not None and of.size_low is not None and of.size_high is not None:
        size = f": {lower(of.size, of.size_low, of.size_high)} in {count(of.windows, 'window')}"
    state = uncertain(of) or (f"ended: {of.end_why}" if of.end_why else "open")
    behind = listed(of.group_names[:_MOST_NAMED])
    behind = f"; {behind} behind it" if behind else ""
    return f"{instant(of.start, zone)}{until or ' on'}{size}; {', '.join(of.rules)}{behind}; {state}"


def of_segment(segment: str, text: str) -> str:
    """Return a line with the segment that it is about."""
    return f"{segment}: {text}" if segment else text


def as_json(of: Episode | None, said: Attention, channels: Sequence[str]) -> dict[str, Any] | None:
    """Return an episode as programs read it, with who was told and who took it on."""
    if of is None:
        return None
    stored = of.to_dict()
    for name in ("told_size", "told_groups", "ended_with", "monitor"):
        del stored[name]
    last = stored.pop("last_message")
    told = {"first": of.first_message, "last": last, "channels": list(channels)}
    taken = {"by": said.acknowledged_by, "at": said.acknowledged_at}
    muted = {"by": said.muted_by, "until": said.muted_until}
    return stored | {
        "told": plain(told) if of.first_message else None,
        "taken_on": plain(taken) if of.is_open and said.acknowledged_by else None,
        "muted": plain(muted) if of.is_open and said.muted_until else None,
    }
