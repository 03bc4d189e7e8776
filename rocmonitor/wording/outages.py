"""Outages in words: what fails, what follows from it, and what to check."""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from rocmonitor.policy.outages import EXECUTOR, MLFLOW, STORE, Notice, Outage
from rocmonitor.wording.format import count, duration, first_few, instant, listed, one_line

FEW_NAMES, MOST_NAMES = 3, 20

_ABOUT_MONITORS, _ABOUT_REVIEWS = "cannot be judged", "does not work"
_KEPT = "Nothing is lost: windows stay due, and rocmonitor tries again by itself."
_WAITS = "Nothing is lost: what was not delivered waits, and rocmonitor tries again by itself."


def subject(notice: Notice) -> str:
    """Return what fails, within a sentence.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> at = datetime(2026, 6, 1, tzinfo=UTC)
    >>> down = Outage(kind="source", cause="source:dwh", start=at, error="", lasting=True)
    >>> subject(Notice(outage=down, phase="began", at=at, monitors=("credit",)))
    'source dwh'
    """
    if notice.outage.place != "monitor":
        return place_name(notice.outage.place)
    if not notice.unjudged and notice.unreviewed:
        alone = len(notice.unreviewed) == 1
        return f"review of {notice.unreviewed[0] if alone else count(len(notice.unreviewed), 'monitor')}"
    return notice.unjudged[0] if len(notice.unjudged) == 1 else count(len(notice.unjudged), "monitor")


def place_name(place: str) -> str:
    """Return what fails, where that is no monitor.

    Examples
    --------
    >>> place_name("source:dwh"), place_name("mlflow")
    ('source dwh', 'MLflow')
    """
    kind, _, name = place.partition(":")
    if kind == MLFLOW:
        return "MLflow"
    return f"{kind} {name}" if name else kind


def in_status(outage: Outage) -> str:
    """Return an outage in one line: what fails, since when, and the error."""
    failing = [*outage.monitors, *(f"review of {name}" for name in outage.reviews)]
    what = listed(failing) if outage.place == "monitor" else place_name(outage.place)
    verb = "have" if outage.place == "monitor" and len(failing) > 1 else "has"
    if outage.place != "monitor":  # names of monitors stay as they are
        what = f"{what[0].upper()}{what[1:]}"
    return (
        f"{what} {verb} been failing since {outage.start:%Y-%m-%d %H:%M:%SZ}: {one_line(outage.error, 500)}"
    )


def effect(notice: Notice, *, named: bool = False) -> str:
    """Return what does not happen meanwhile, and to which monitors."""
    kind, parts = notice.outage.place.partition(":")[0], list[str]()
    unjudged, unreviewed, concerned = (
        first_few(monitors, FEW_NAMES) if named else count(len(monitors), "monitor")
        for monitors in (notice.unjudged, notice.unreviewed, notice.concerned)
    )
    if kind == "monitor":
        parts.append(_ABOUT_MONITORS if notice.unjudged else _ABOUT_REVIEWS)
    elif notice.unjudged:
        parts.append(f"{unjudged} cannot be judged")
    if notice.unreviewed and kind != "monitor":
        parts.append(f"{unreviewed} cannot be reviewed")
    if notice.concerned and kind == MLFLOW:
        parts.append(f"results of {concerned} do not reach it")
    if notice.concerned and kind == "channel":
        parts.append(f"messages of {concerned} do not arrive")
    return listed(parts)


def title(notice: Notice) -> str:
    """Return what the title says after what fails."""
    if notice.phase == "ended":
        return f"works again after {duration(notice.at - notice.outage.start)}"
    if notice.phase == "lasts":
        return f"still failing after {duration(notice.at - notice.outage.start)}"
    return effect(notice)


def headline(notice: Notice, zone: ZoneInfo) -> str:
    """Return what fails, since when, and what follows, in one line."""
    what, since = subject(notice), f"{instant(notice.outage.start, zone)} ({zone.key})"
    if notice.outage.place == STORE:
        what = "The store"
    elif notice.outage.place != "monitor" or not notice.unjudged:
        what = f"{what[0].upper()}{what[1:]}"
    many = notice.outage.place == "monitor" and len(notice.unjudged) > 1
    if notice.phase == "ended":
        verb = "work" if many else "works"
        failed = duration(notice.at - notice.outage.start)
        return f"{what} {verb} again after failing for {failed}, since {since}"
    if notice.outage.place == "monitor":
        still = "still " if notice.phase == "lasts" else ""
        return f"{what} {still}{effect(notice)}; the first failure was at {since}"
    verb = "is still failing," if notice.phase == "lasts" else "has been failing"
    return f"{what} {verb} since {since}: {effect(notice, named=True)}"


def more_names(notice: Notice) -> str:
    """Return the monitors by name, where the headline does not have all of them."""
    monitors = [*notice.unjudged, *notice.unreviewed, *notice.concerned]
    is_named = notice.outage.place != "monitor" and notice.phase != "ended" and len(monitors) <= FEW_NAMES
    alone = notice.outage.place == "monitor" and len(monitors) == 1
    return "" if is_named or alone else first_few(monitors, MOST_NAMES)


def advice(notice: Notice) -> str:
    """Return what to check first; nothing once it works again."""
    kind, _, name = notice.outage.place.partition(":")
    if notice.phase == "ended":
        return ""
    if notice.outage.lasting and notice.unreviewed and not notice.unjudged:
        alone = notice.unreviewed[0] if len(notice.unreviewed) == 1 else "MONITOR"
        return f"does `rocmonitor review {alone}` work? Windows are still judged."
    if kind == "channel":
        return f"does `rocmonitor channel test {name}` work? {_WAITS}"
    if kind == MLFLOW:
        asked = "does the tracking server answer, and is mlflow.tracking_uri right?"
        return f"{asked} {_KEPT if notice.unjudged else _WAITS}"
    if kind == STORE:
        return (
            "is the database running, is its disk full, and may rocmonitor write to it? No monitor is judged "
            "meanwhile; windows stay due."
        )
    if kind == EXECUTOR:
        return f"has the machine memory left, and may rocmonitor start processes on it? {_KEPT}"
    if notice.outage.lasting:
        return f"somebody must fix this; `rocmonitor check` shows whether it works. {_KEPT}"
    if kind == "source":
        return f"is the database running, and does it answer this account? {_KEPT}"
    return _KEPT


def in_log(notice: Notice, channels: Sequence[str]) -> str:
    """Return the outage in one line of the log, and who hears of it."""
    heard = f"for {listed([f'channel {name}' for name in channels])}" if channels else "no channel is left"
    why = "" if notice.phase == "ended" else f": {one_line(notice.outage.error, 500)}"
    return f"{headline(notice, ZoneInfo('UTC'))} ({heard}){why}"
