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


def title(found: Stop) -> str:
    """Return what a title says after the monitor's name."""
    if found.kind in _LAPSES:
        return _LAPSES[found.kind][not found.is_open]
    if found.kind == "usable":
        share = f"{percent(_lost(found))} of the rows cannot be used{_usually(found)}"
        return "rows can be used again" if not found.is_open else share
    if not found.is_open:
        return f"{found.kind} arrive again"
    if found.kind == "rows":
        return f"{_rows(found.rows)} arrived, usually {found.lowest:,.0f} or more"
    return f"labels for {_share(found)} of the rows, usually {_or_more(found)}"


def headline(found: Stop, zone: ZoneInfo) -> str:
    """Return what was found, in one line."""
    window = found.window.in_zone(zone)
    if found.kind in _LAPSES:
        last = "the newest window is" if found.is_open or found.kind == "watch" else "window"
        return f"{_LAPSES[found.kind][not found.is_open].capitalize()}: {last} {window}"
    if found.kind == "usable":
        return _unusable(found, window)
    if not found.is_open:
        has = _rows(found.rows) if found.kind == "rows" else f"labels for {_share(found)} of its rows"
        return f"{found.kind.capitalize()} arrive again: window {window} has {has}"
    if found.kind == "rows":
        has = f"has {_rows(found.rows)}; the {found.n_windows} windows before had {found.lowest:,.0f} or more"
        return f"Rows stopped arriving: window {window} {has}"
    return (
        f"Labels stopped arriving: {_share(found)} of the {count(found.rows, 'row')} of window {window} have "
        f"one; in the {found.n_windows} windows before, {_or_more(found)} had one at that age"
    )


def since(found: Stop, zone: ZoneInfo) -> str:
    """Since when."""
    when = f"{instant(found.start, zone)} ({zone.key})"
    if found.kind in _LAPSES:
        before = "Not judged" if found.kind == "judged" else "Not watched"
        return f"{before} since {when}"
    came = "could be used" if found.kind == "usable" else "came"
    return f"Too few {came} from {when} on" if not found.is_open else f"Too few since {when}"


def how_sure(found: Stop) -> str:
    """Return the level, and what it assumes."""
    if found.kind == "judged":
        return "windows, label_delay and schedule explain no gap as long as this one"
    if found.kind == "watch":
        return "window.end says so"
    if found.kind == "usable":
        usual = f", and more than twice the share of any of the {found.n_windows} reference windows"
        return f"this is more than {percent(NOTICED, 2)}{usual if found.n_windows else ''}"
    return (
        f"a window like these {found.n_windows} is below all of them by chance once in "
        f"{found.n_windows + 1} at most; this one has less than half of the lowest"
    )


def by_age(found: Sequence[AtAge], zone: ZoneInfo) -> dict[str, list[str]]:
    """Return a table of how many rows have a label by age: its columns by head; empty when nothing is
    known.
    """
    if not found:
        return {}
    return {
        "days after the window": [days(each.age / DAY) for each in found],
        "labelled, on average": [
            percent(each.expected.mean, 2) if each.expected else _UNKNOWN for each in found
        ],
        "lowest to highest": [
            f"{percent(each.expected.lowest, 2)} to {percent(each.expected.highest, 2)}"
            if each.expected
            else _UNKNOWN
            for each in found
        ],
        "newest window so old": [
            f"{percent(each.latest.share or 0, 2)}, {each.latest.window.in_zone(zone)}"
            if each.latest
            else _UNKNOWN
            for each in found
        ],
    }


def standing(found: Stop, zone: ZoneInfo) -> str:
    """Return how it stands, beside the status of a monitor."""
    if found.kind in _LAPSES:
        said = "not judged since" if found.kind == "judged" else "watched until"
        return f"{said} {instant(found.start, zone)}"
    return f"{PERIOD[found.kind]}: too few since {instant(found.start, zone)}"


def _unusable(found: Stop, window: str) -> str:
    lost = sum(found.unusable.values())
    has = f"{lost:,} of {count(found.rows, 'row')}"
    if not found.is_open:
        return f"Rows can be used again: {has} of window {window} cannot"
    refused = _lost(found) > max(MOST, 2 * (1 - found.lowest))
    rest = f". With more than {percent(MOST)} a window is not judged" if refused else ""
    return (
        f"Many rows cannot be used: {has} ({percent(_lost(found))}) of window {window}, "
        f"{set_aside(found.unusable)}{_usually(found)}{rest}"
    )


def _lost(found: Stop) -> float:
    return sum(found.unusable.values()) / found.rows if found.rows else 0.0


def _usually(found: Stop) -> str:
    if not found.n_windows:
        return ""
    return f", usually {percent(1 - found.lowest)} or less" if found.lowest < 1 else ", usually none"


def _rows(number: int) -> str:
    return count(number, "row") if number else "no rows"


def _or_more(found: Stop) -> str:
    lowest = percent(found.lowest, 2)
    return lowest if lowest == "100 %" else f"{lowest} or more"


def _share(found: Stop) -> str:
    share = found.labelled / found.rows if found.rows else 0.0
    return "none" if not found.labelled else percent(share) if share < 0.01 else percent(share, 2)
