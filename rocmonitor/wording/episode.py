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
from rocmonitor.wording.explanation import how, named, without
from rocmonitor.wording.format import (
    count,
    decimals,
    instant,
    listed,
    lower,
    number,
    one_line,
    signed,
    span_of,
    still,
    with_interval,
)
from rocmonitor.wording.outages import place_name

_MOST_NAMED = 2
_YEAR_DAYS = 365.25


def headline(decline: Decline, zone: ZoneInfo) -> str:
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
    if decline.auc is None or decline.size is None or decline.size_low is None or decline.size_high is None:
        return ""
    digits = decimals(decline.size_low, decline.size_high)
    before = decline.auc - decline.size
    return (
        f"AUROC about {decline.auc:.{digits}f} since {instant(decline.start, zone)}, "
        f"{before:.{digits}f} before: {lower(decline.size, decline.size_low, decline.size_high)}"
    )


def began(decline: Decline, zone: ZoneInfo) -> str:
    """Return when it began, as far as that is known.

    Examples
    --------
    >>> from datetime import UTC, datetime, timedelta
    >>> from rocmonitor.policy.windows import Window
    >>> may, week = datetime(2026, 5, 25, tzinfo=UTC), timedelta(days=7)
    >>> began(Decline(
    ...     monitor="credit", champion_version="3", start=may, start_low=may, start_high=may + week,
    ...     from_first=True, alarm=Window(may, may + week),
    ... ), ZoneInfo("UTC"))
    'Began at or before 2026-05-25, the first judged window'
    """
    start, low, high = (instant(at, zone) for at in (decline.start, decline.start_low, decline.start_high))
    is_sure = decline.start_low == decline.start and decline.start_high in (decline.start, decline.alarm.end)
    came_later = not is_sure or decline.start_high < decline.alarm.start
    alarm = f"; alarm with the window of {instant(decline.alarm.start, zone)}" if came_later else ""
    if decline.from_first:
        latest = "" if is_sure else f" ({high} at the latest)"
        return f"Began at or before {start}, the first judged window{latest}{alarm}"
    if is_sure:
        return f"Began with the window of {start}{alarm}"
    return f"Began about {start} ({low} to {high}){alarm}"


def uncertain(decline: Decline | None) -> str:
    """Return how much lower the AUROC still may be after an alarm that has not ended; else empty."""
    if decline is None or not decline.is_uncertain:
        return ""
    return still(decline.still_low, decline.still_high)


def brief(decline: Decline | None) -> str:
    """Return why an open episode needs attention, in a few words; empty without one."""
    if decline is None or not decline.is_open:
        return ""
    if decline.is_uncertain:
        return uncertain(decline)
    parts = [f"{name} ranked worse" for name in decline.group_names[:1]]
    if decline.size is not None and decline.size_low is not None and decline.size_high is not None:
        parts.insert(0, f"AUROC {signed(decline.size, decimals(decline.size_low, decline.size_high))}")
    return ": ".join(parts)


def brief_since(decline: Decline | None, zone: ZoneInfo) -> str:
    """Return the same with its start."""
    text = brief(decline)
    return f"{text} since {instant(decline.start, zone)}" if decline is not None and text else text


def back(decline: Decline, zone: ZoneInfo) -> str:
    """Return that an episode is over, and what shows it."""
    if decline.end is None or decline.still is None or decline.auc is None or decline.size is None:
        return ""
    assert decline.still_low is not None
    assert decline.still_high is not None
    before = decline.auc - decline.size
    ends = with_interval(before + decline.still, before + decline.still_low, before + decline.still_high)
    digits = decimals(decline.still_low, decline.still_high, 1)
    return f"Back: AUROC {ends} since {instant(decline.end, zone)}, {before:.{digits}f} before the loss"


def groups(decline: Decline) -> str:
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
    'channel = Broker (−0.020): its rows are ranked worse; its share is unchanged (30 %).'
    """
    parts = list(map(GroupPart.from_row, decline.groups[:_MOST_NAMED]))
    texts = [f"{named(part)} ({number(part.part, 3)}): {how(part)}" for part in parts]
    return f"{'; '.join(texts)}. {without(parts[0])}".rstrip() if texts else ""


def challenger(decline: Decline) -> str:
    """Return the challenger in the same windows; empty without one."""
    if decline.challenger is None:
        return ""
    low, high = decline.challenger["low"], decline.challenger["high"]
    digits = decimals(low, high)
    place = f"no clear difference ({span_of(low, high)})"
    if low > 0:
        place = f"better by {span_of(low, high)}"
    elif high < 0:
        place = f"worse by {span_of(-high, -low)}"
    return f"{decline.challenger['auc']:.{digits}f} in the same windows, {place}."


def now_what(decline: Decline | None, zone: ZoneInfo, *, reviewed: bool = False) -> str:
    """Return what to do first about an open loss; empty without one. A review stands below if `reviewed`."""
    if decline is None or not decline.is_open:
        return ""
    where = f" for {listed(decline.group_names[:_MOST_NAMED])}" if decline.groups else ""
    about = "at or before" if decline.from_first else "about"
    text = f"see what changed {about} {instant(decline.start, zone)}{where}"
    if decline.challenger is not None and decline.challenger["low"] > 0:
        review = "see the review" if reviewed else f"`rocmonitor review {decline.monitor}`"
        text += f"; {review}: should the challenger take over?"
    return text


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


def who_was_told(decline: Decline | None, zone: ZoneInfo) -> str:
    """Return which channels got the message about an open episode, and when; empty if nobody was told."""
    if decline is None or not decline.is_open or decline.first_message is None:
        return ""
    last = decline.last_message
    again = "" if last in (None, decline.first_message) else f", last on {instant(last, zone)}"
    whom = listed(decline.told_to) or "nobody (notify is empty)"
    return f"{whom}, first on {instant(decline.first_message, zone)}{again}"


def line(episode: Episode, zone: ZoneInfo) -> str:
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
    earlier = "or before " if isinstance(episode, Decline) and episode.from_first else ""
    period = (
        f"{instant(episode.start, zone)} {earlier}"
        f"{'on' if episode.end is None else f'to {instant(episode.end, zone)}'}"
    )
    match episode:
        case Decline():
            size = "a loss"
            if episode.size is not None and episode.size_low is not None and episode.size_high is not None:
                size = (
                    f"{lower(episode.size, episode.size_low, episode.size_high)} "
                    f"in {count(episode.windows, 'window')}"
                )
            behind = listed(episode.group_names[:_MOST_NAMED])
            state = uncertain(episode) or (f"ended: {episode.end_why}" if episode.end_why else "open")
            parts = [size, ", ".join(episode.rules), behind and f"{behind} behind it", state]
            what = "; ".join(filter(None, parts))
        case Warned():
            state = f"then {episode.end_why}" if episode.end_why else "open"
            what = f"warning by {listed(episode.rules)}; {state}"
        case Outage():
            failing = "it" if episode.place == "monitor" else place_name(episode.place)
            what = f"{failing} failed {count(episode.failures, 'time')}: {one_line(episode.error, 200)}"
        case _:
            what = stops.PERIOD[episode.kind]
    return f"{f'{episode.segment}: ' if episode.segment else ''}{period}: {what}"


_INTERNAL = {"id", "cause", "members", "monitor", "told_size", "told_groups", "told_to", "ended_with"}


def as_json(episode: Episode | None, attention: Attention) -> dict[str, Any] | None:
    """Return an episode as programs read it, with who was told and who took it on."""
    if episode is None:
        return None
    content = {name: value for name, value in episode.to_dict().items() if name not in _INTERNAL}
    told = {"first": episode.first_message, "last": content.pop("last_message"), "channels": episode.told_to}
    taken = {"by": attention.acknowledged_by, "at": attention.acknowledged_at}
    muted = {"by": attention.muted_by, "until": attention.muted_until}
    if isinstance(episode, Outage):
        content |= {"place": episode.place, "monitors": episode.monitors, "reviews": episode.reviews}
    return content | {
        "told": plain(told) if episode.first_message else None,
        "taken_on": plain(taken) if episode.is_open and attention.acknowledged_by else None,
        "muted": plain(muted) if episode.is_open and attention.muted_until else None,
    }
