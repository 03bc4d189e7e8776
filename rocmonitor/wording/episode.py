"""Episodes in words: since when, how much lower, in which groups, and whether it is over."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor.policy.episode import Decline, Episode, Warned
from rocmonitor.policy.explanation import GroupPart
from rocmonitor.policy.outages import Outage
from rocmonitor.policy.record import plain
from rocmonitor.policy.status import Attention
from rocmonitor.wording import stops
from rocmonitor.wording.explanation import how, named
from rocmonitor.wording.format import (
    count,
    decimals,
    instant,
    listed,
    lower,
    number,
    one_line,
    span_of,
    still,
    with_interval,
)
from rocmonitor.wording.outages import place_name

_MOST_NAMED = 2
_YEAR_DAYS = 365.25


def headline(of: Decline, zone: ZoneInfo) -> str:
    """Return the AUROC since the start beside the one before.

    Examples
    --------
    >>> from datetime import UTC, datetime, timedelta
    >>> from rocmonitor.policy.windows import Window
    >>> may, week = datetime(2026, 5, 25, tzinfo=UTC), timedelta(days=7)
    >>> found = Decline(
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


def began(of: Decline, zone: ZoneInfo) -> str:
    """Return when it began, as far as that is known."""
    if of.start_low == of.start and of.start_high == of.alarm.end:
        return f"Began with the window of {instant(of.start, zone)}"
    return (
        f"Began about {instant(of.start, zone)} ({instant(of.start_low, zone)} to "
        f"{instant(of.start_high, zone)}); alarm with the window of {instant(of.alarm.start, zone)}"
    )


def uncertain(of: Decline | None) -> str:
    """Return how much lower the AUROC still may be after an alarm that has not ended; else empty."""
    if of is None or not of.is_uncertain:
        return ""
    return still(of.still, of.still_low, of.still_high)


def brief(of: Decline | None) -> str:
    """Return why an open episode needs attention, in a few words; empty without one."""
    if of is None or not of.is_open:
        return ""
    if of.is_uncertain:
        return uncertain(of)
    parts = [f"{each} ranked worse" for each in of.group_names[:1]]
    if of.size is not None and of.size_low is not None and of.size_high is not None:
        parts.append(f"AUROC {number(of.size, decimals(of.size_low, of.size_high), sign=True)}")
    return ", ".join(parts)


def back(of: Decline, zone: ZoneInfo) -> str:
    """Return that an episode is over, and what shows it."""
    if of.end is None or of.still is None or of.auc is None or of.size is None:
        return ""
    assert of.still_low is not None
    assert of.still_high is not None
    before = of.auc - of.size
    ends = with_interval(before + of.still, before + of.still_low, before + of.still_high)
    digits = decimals(of.still_low, of.still_high, 1)
    return f"Back: AUROC {ends} since {instant(of.end, zone)}, {before:.{digits}f} before the loss"


def groups(of: Decline) -> str:
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
    >>> groups(Decline(
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


def challenger(of: Decline) -> str:
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


def who_was_told(of: Decline | None, zone: ZoneInfo) -> str:
    """Return which channels got the message about an open episode, and when; empty if nobody was told."""
    if of is None or not of.is_open or of.first_message is None:
        return ""
    last = of.last_message
    again = "" if last in (None, of.first_message) else f", last on {instant(last, zone)}"
    whom = listed(of.told_to) or "nobody (notify is empty)"
    return f"{whom}, first on {instant(of.first_message, zone)}{again}"


def line(of: Episode, zone: ZoneInfo) -> str:
    """Return an episode in one line: its period, what it was, and how it stands.

    Examples
    --------
    >>> from datetime import UTC, datetime, timedelta
    >>> at = datetime(2026, 6, 1, 3, 10, tzinfo=UTC)
    >>> down = Outage(
    ...     kind="source", cause="source:dwh", start=at, end=at + timedelta(minutes=72), failures=14,
    ...     error="sources.dwh: no answer within 60 s", lasting=False,
    ... )
    >>> line(down, ZoneInfo("UTC"))
    '2026-06-01 03:10 to 2026-06-01 04:22: source dwh failed 14 times: sources.dwh: no answer within 60 s'
    """
    period = f"{instant(of.start, zone)} {'on' if of.end is None else f'to {instant(of.end, zone)}'}"
    return f"{f'{of.segment}: ' if of.segment else ''}{period}: {_what(of)}"


def _what(of: Episode) -> str:
    match of:
        case Decline():
            size = "a loss"
            if of.size is not None and of.size_low is not None and of.size_high is not None:
                size = f"{lower(of.size, of.size_low, of.size_high)} in {count(of.windows, 'window')}"
            behind = listed(of.group_names[:_MOST_NAMED])
            state = uncertain(of) or (f"ended: {of.end_why}" if of.end_why else "open")
            return "; ".join(
                filter(None, [size, ", ".join(of.rules), behind and f"{behind} behind it", state])
            )
        case Warned():
            return f"warning by {listed(of.rules)}; {f'then {of.end_why}' if of.end_why else 'open'}"
        case Outage():
            what = "it" if of.place == "monitor" else place_name(of.place)
            return f"{what} failed {count(of.failures, 'time')}: {one_line(of.error, 200)}"
        case _:
            return stops.PERIOD[of.kind]


_INTERNAL = {"id", "cause", "members", "monitor", "told_size", "told_groups", "told_to", "ended_with"}


def as_json(of: Episode | None, said: Attention) -> dict[str, Any] | None:
    """Return an episode as programs read it, with who was told and who took it on."""
    if of is None:
        return None
    content = {name: value for name, value in of.to_dict().items() if name not in _INTERNAL}
    told = {"first": of.first_message, "last": content.pop("last_message"), "channels": of.told_to}
    taken = {"by": said.acknowledged_by, "at": said.acknowledged_at}
    muted = {"by": said.muted_by, "until": said.muted_until}
    if isinstance(of, Outage):
        content |= {"place": of.place, "monitors": of.monitors, "reviews": of.reviews}
    return content | {
        "told": plain(told) if of.first_message else None,
        "taken_on": plain(taken) if of.is_open and said.acknowledged_by else None,
        "muted": plain(muted) if of.is_open and said.muted_until else None,
    }
