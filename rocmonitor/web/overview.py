"""The overview: every monitor in one line, the worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor import store
from rocmonitor.config import Config, Monitor
from rocmonitor.policy.attention import Attention
from rocmonitor.policy.record import plain
from rocmonitor.service.alarm_year import alarm_year
from rocmonitor.service.runtime import LEASE
from rocmonitor.store.glance import Ahead, Glance, Standing, ahead, glances, last_activity, standings
from rocmonitor.web.site import Site
from rocmonitor.wording import page as wording
from rocmonitor.wording.attention import attention
from rocmonitor.wording.format import instant

WORST_FIRST = ("error", "degraded", "at-risk", "insufficient", "improved", "waiting", "ok")
"""Statuses in the order of the table."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What the address asks for; empty asks for all.

    Attributes
    ----------
    status, text : str
    opened : str
        The monitor whose segments are shown.
    """

    status: str = ""
    text: str = ""
    opened: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What the store has of all monitors, by monitor and segment."""

    seen: Mapping[tuple[str, str], Glance]
    stands: Mapping[tuple[str, str], Standing]
    ahead: Mapping[tuple[str, str], tuple[Ahead, ...]]
    attention: Mapping[str, Attention]
    stops: Mapping[str, Sequence[store.SavedStop]]
    now: datetime

    def status(self, key: tuple[str, str]) -> str:
        """After the last change; without one ok, or waiting for its first window."""
        if key in self.stands:
            return str(self.stands[key].status)
        return "ok" if key in self.seen else "waiting"


def overview(site: Site, filters: Filters) -> dict[str, Any]:
    """All that the overview shows, in plain JSON types.

    Raises
    ------
    ConfigError, StoreError
    """
    config, kept, now = site.config(), site.store(), site.clock()
    state = _State(
        seen=glances(kept),
        stands=standings(kept),
        ahead=ahead(kept),
        attention=store.attentions(kept),
        stops=store.open_stops(kept),
        now=now,
    )
    seen, stands = state.seen, state.stands
    segments: dict[str, list[str]] = {}
    for monitor, segment in seen.keys() | stands.keys():
        if segment:
            segments.setdefault(monitor, []).append(segment)
    rows = [_monitor(each, segments.get(each.name, []), state) for each in config.monitors.values()]
    shown = [row for row in rows if _asked_for(row, filters)]
    shown.sort(key=lambda row: (WORST_FIRST.index(row["status"]), row["name"]))
    for row in shown:
        if row["name"] == filters.opened:
            row["opened"] = [
                _segment(config.monitors[row["name"]], segment, state)
                for segment in sorted(segments.get(row["name"], ()))
            ]
    counted = Counter(row["status"] for row in rows)
    counts = {status: counted[status] for status in WORST_FIRST if counted[status]}
    ticked = _last_tick(kept, config, now)
    return {
        "now": plain(now),
        "headline": wording.headline(counts, None if ticked is None else now - ticked),
        "last_tick": plain(ticked),
        "calm": not {"error", "degraded", "at-risk"} & counts.keys(),
        "troubles": troubles(kept, config),
        "statuses": counts,
        "alarm_budget": alarm_year(config, kept, now),
        "filters": {"status": filters.status, "text": filters.text, "opened": filters.opened},
        "monitors": shown,
    }


def as_json(view: dict[str, Any]) -> dict[str, Any]:
    """The view with the windows as objects; on the page they are tuples, for there are thousands."""
    return view | {"monitors": [_named(row) for row in view["monitors"]]}


def _named(row: Row) -> Row:
    named = row | {"windows": [brief._asdict() for brief in row["windows"]]}
    if "opened" in row:
        named["opened"] = [_named(each) for each in row["opened"]]
    return named


def troubles(kept: store.Store, config: Config) -> list[dict[str, str]]:
    """What rocmonitor itself fails at: sources and models (monitors with an error), MLflow, channels."""
    waiting = store.outbox_summary(kept)
    found = [
        {"where": destination, "text": wording.failing(destination, error, waiting.waiting)}
        for destination, error in waiting.errors.items()
    ]
    for (monitor, segment), standing in standings(kept).items():
        if standing.status == "error" and monitor in config.monitors:
            last = store.last_transition(kept, monitor, segment)
            why = "; ".join(map(str, last.reasons)) if last else ""
            found.append({"where": monitor, "text": f"{monitor}: {why}"})
    return found


def _asked_for(row: Row, filters: Filters) -> bool:
    if filters.status and row["status"] != filters.status:
        return False
    names = (row["name"], row["model"], row["version"], row["owner"], row["attention"])
    return filters.text.casefold() in " ".join(filter(None, names)).casefold()


def _monitor(monitor: Monitor, segments: list[str], state: _State) -> Row:
    row = _segment(monitor, "", state)
    counted = Counter(state.status((monitor.name, segment)) for segment in segments)
    worst = {status: counted[status] for status in WORST_FIRST if counted[status]}
    return row | {"model": monitor.model.name, "segments": worst}


def _segment(monitor: Monitor, segment: str, state: _State) -> Row:
    key, zone = (monitor.name, segment), monitor.timezone
    glance, standing = state.seen.get(key), state.stands.get(key)
    row: Row = {
        "name": monitor.name,
        "segment": segment,
        "owner": None if segment else monitor.owner,
        "attention": "" if segment else _attention(monitor, state),
        "status": state.status(key),
        "since": None if standing is None else _day(standing.since, zone),
        "version": None,
        "window": None,
        "auc": None,
        "low": None,
        "high": None,
        "expected_low": None,
        "expected_high": None,
        "labelled_share": None,
        "windows": [],
        "ahead": [plain(each) for each in state.ahead.get(key, ())],
    }
    if glance is None:
        return row
    judged = next((each for each in reversed(glance.briefs) if each.auc is not None), glance.briefs[-1])
    return row | {
        "version": glance.version,
        "window": plain(glance.window),
        "labelled_share": glance.briefs[-1].labelled_share,
        **{name: getattr(judged, name) for name in ("auc", "low", "high", "expected_low", "expected_high")},
        "windows": glance.briefs,
    }


def _attention(monitor: Monitor, state: _State) -> str:
    said, stops = state.attention.get(monitor.name, Attention()), state.stops.get(monitor.name, ())
    return attention(said, state.now, monitor.timezone, [each.stop for each in stops])


def _day(moment: datetime, zone: ZoneInfo) -> str:
    return instant(moment, zone)


def _last_tick(kept: store.Store, config: Config, now: datetime) -> datetime | None:
    """When somebody last worked on a monitor; a lease lasts so long after that."""
    leases = last_activity(kept)
    ends = [leases[name] - LEASE for each in config.monitors if (name := f"monitor:{each}") in leases]
    return min(max(ends), now) if ends else None
