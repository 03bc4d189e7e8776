"""Rows and labels that stopped arriving or cannot be used, or arrive again, in words."""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from rocmonitor.policy.stops import MOST, NOTICED, AtAge, Stop
from rocmonitor.policy.windows import DAY
from rocmonitor.wording.format import count, days, instant, percent, set_aside

LABELS = "Rows with a label, by days after the end of their window."

_UNKNOWN = "–"

CHECK = {
    "rows": "did the scoring job run, and does the query find its rows by time?",
    "labels": "did the job that writes labels run, and does the query still find them?",
    "judged": "does the service run, and does the query find rows by time?",
    "watch": "is that meant? Else take window.end out of the configuration, or set a later one.",
    "usable": "does the query still return scores, labels, times and ids as before?",
}


PERIOD = {
    "rows": "rows stopped arriving",
    "labels": "labels stopped arriving",
    "judged": "nothing was judged",
    "watch": "not watched",
    "usable": "usable rows stopped arriving",
}

_LAPSES = {
    "judged": ("nothing has been judged for too long", "windows are judged again"),
    "watch": ("the watch is over", "the monitor is watched again"),
}
"""What is said of windows that are not judged, and when they are again."""


def title(stop: Stop) -> str:
    """Return what a title says after the monitor's name."""
    if stop.kind in _LAPSES:
        return _LAPSES[stop.kind][not stop.is_open]
    if stop.kind == "usable":
        share = f"{percent(_lost(stop))} of the rows cannot be used{_usually(stop)}"
        return "rows can be used again" if not stop.is_open else share
    if not stop.is_open:
        return f"{stop.kind} arrive again"
    if stop.kind == "rows":
        return f"{_rows(stop.rows)} arrived, usually {stop.lowest:,.0f} or more"
    return f"labels for {_share(stop)} of the rows, usually {_or_more(stop)}"


def headline(stop: Stop, zone: ZoneInfo) -> str:
    """Return what was found, in one line."""
    window = stop.window.in_zone(zone)
    if stop.kind in _LAPSES:
        last = "the newest window is" if stop.is_open or stop.kind == "watch" else "window"
        return f"{_LAPSES[stop.kind][not stop.is_open].capitalize()}: {last} {window}"
    if stop.kind == "usable":
        has = f"{sum(stop.unusable.values()):,} of {count(stop.rows, 'row')}"
        if not stop.is_open:
            return f"Rows can be used again: {has} of window {window} cannot"
        refused = _lost(stop) > max(MOST, 2 * (1 - stop.lowest))
        rest = f". With more than {percent(MOST)} a window is not judged" if refused else ""
        return (
            f"Many rows cannot be used: {has} ({percent(_lost(stop))}) of window {window}, "
            f"{set_aside(stop.unusable)}{_usually(stop)}{rest}"
        )
    if not stop.is_open:
        has = _rows(stop.rows) if stop.kind == "rows" else f"labels for {_share(stop)} of its rows"
        return f"{stop.kind.capitalize()} arrive again: window {window} has {has}"
    if stop.kind == "rows":
        has = f"has {_rows(stop.rows)}; the {stop.n_windows} windows before had {stop.lowest:,.0f} or more"
        return f"Rows stopped arriving: window {window} {has}"
    return (
        f"Labels stopped arriving: {_share(stop)} of the {count(stop.rows, 'row')} of window {window} have "
        f"one; in the {stop.n_windows} windows before, {_or_more(stop)} had one at that age"
    )


def since(stop: Stop, zone: ZoneInfo) -> str:
    """Since when."""
    when = f"{instant(stop.start, zone)} ({zone.key})"
    if stop.kind in _LAPSES:
        before = "Not judged" if stop.kind == "judged" else "Not watched"
        return f"{before} since {when}"
    came = "could be used" if stop.kind == "usable" else "came"
    return f"Too few {came} from {when} on" if not stop.is_open else f"Too few since {when}"


def how_sure(stop: Stop) -> str:
    """Return the level, and what it assumes."""
    if stop.kind == "judged":
        return "windows, label_delay and schedule explain no gap as long as this one"
    if stop.kind == "watch":
        return "window.end says so"
    if stop.kind == "usable":
        usual = f", and more than twice the share of any of the {stop.n_windows} reference windows"
        return f"this is more than {percent(NOTICED, 2)}{usual if stop.n_windows else ''}"
    return (
        f"a window like these {stop.n_windows} is below all of them by chance once in "
        f"{stop.n_windows + 1} at most; this one has less than half of the lowest"
    )


def by_age(ages: Sequence[AtAge], zone: ZoneInfo) -> dict[str, list[str]]:
    """Return a table of how many rows have a label by age: its known columns by head."""
    if not ages:
        return {}
    columns = {
        "days after the window": [days(at_age.age / DAY) for at_age in ages],
        "labelled, on average": [
            percent(at_age.expected.mean, 2) if at_age.expected else _UNKNOWN for at_age in ages
        ],
        "lowest to highest": [
            f"{percent(at_age.expected.lowest, 2)} to {percent(at_age.expected.highest, 2)}"
            if at_age.expected
            else _UNKNOWN
            for at_age in ages
        ],
        "newest window of this age": [
            f"{percent(at_age.latest.share or 0, 2)}, {at_age.latest.window.in_zone(zone)}"
            if at_age.latest
            else _UNKNOWN
            for at_age in ages
        ],
    }
    return {head: cells for head, cells in columns.items() if set(cells) != {_UNKNOWN}}


def standing(stop: Stop, zone: ZoneInfo) -> str:
    """Return how it stands, beside the status of a monitor."""
    if stop.kind in _LAPSES:
        state = "not judged since" if stop.kind == "judged" else "watched until"
        return f"{state} {instant(stop.start, zone)}"
    return f"{PERIOD[stop.kind]}: too few since {instant(stop.start, zone)}"


def _lost(stop: Stop) -> float:
    return sum(stop.unusable.values()) / stop.rows if stop.rows else 0.0


def _usually(stop: Stop) -> str:
    if not stop.n_windows:
        return ""
    return f", usually {percent(1 - stop.lowest)} or less" if stop.lowest < 1 else ", usually none"


def _rows(number: int) -> str:
    return count(number, "row") if number else "no rows"


def _or_more(stop: Stop) -> str:
    lowest = percent(stop.lowest, 2)
    return lowest if lowest == "100 %" else f"{lowest} or more"


def _share(stop: Stop) -> str:
    share = stop.labelled / stop.rows if stop.rows else 0.0
    return "none" if not stop.labelled else percent(share) if share < 0.01 else percent(share, 2)
