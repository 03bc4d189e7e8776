"""The overview: every monitor in one line, the worst first."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from rocmonitor import store
from rocmonitor.config import Config, Monitor
from rocmonitor.policy.record import plain
from rocmonitor.report.pages import window_slug
from rocmonitor.service.budgets import alarm_year
from rocmonitor.service.standing import standing
from rocmonitor.store.glance import AllStates, all_states, last_changes, last_states
from rocmonitor.store.glance import signs as store_signs
from rocmonitor.store.history import history, newest_in_window, segments
from rocmonitor.web.monitor import METRICS, first_due
from rocmonitor.web.site import AbsentError, Site
from rocmonitor.wording import page as wording
from rocmonitor.wording.format import instant
from rocmonitor.wording.page import WORST_FIRST
from rocmonitor.wording.verdicts import reasons

Row = dict[str, Any]


def overview(site: Site, *, status: str = "", text: str = "", opened: str = "") -> dict[str, Any]:
    """Return all that the overview shows, in plain JSON types.

    Of the monitors those with a `status` and a `text` (empty for all), with the segments of one, if `opened`.
    """
    config, kept, now = site.config(), site.store(), site.clock()
    state = all_states(kept)
    rows = []
    for monitor in config.monitors.values():
        names = state.segments.get(monitor.name, ())
        of_segments = Counter(state.status(monitor.name, segment) for segment in names)
        worst = {name: of_segments[name] for name in WORST_FIRST if of_segments[name]}
        row = _segment(monitor, "", state, now)
        rows.append(row | {"model": monitor.model.name, "segments": worst})
    shown = []
    for row in rows:
        mentioned = (row["name"], row["model"], row["version"], row["owner"], row["attention"])
        is_named = text.casefold() in " ".join(filter(None, mentioned)).casefold()
        if is_named and status in ("", row["status"]):
            shown.append(row)
    shown.sort(key=lambda row: (WORST_FIRST.index(row["status"]), row["name"]))
    for row in shown:
        if row["name"] == opened:
            row["opened"] = [
                _segment(config.monitors[row["name"]], segment, state, now)
                for segment in state.segments.get(row["name"], ())
            ]
            row["opened"].sort(key=_badness)
    ended = [row["watched_until"] for row in rows]
    zones = [monitor.timezone for monitor in config.monitors.values()]
    over = wording.as_of(
        [(end and datetime.fromisoformat(end), zone) for end, zone in zip(ended, zones, strict=True)]
    )
    counted = Counter(row["status"] for row in rows)
    counts = {name: counted[name] for name in WORST_FIRST if counted[name]}
    ticks = store.ticks(kept)
    followed = {name: signs for name, signs in store_signs(kept).items() if name in config.monitors}
    ticked = max((ticks[name].ended_at for name in config.monitors if name in ticks), default=None)
    return {
        "now": plain(now),
        "headline": wording.headline(counts, None if ticked is None else now - ticked, over),
        "last_tick": plain(ticked),
        "calm": not {"error", "degraded", "at-risk"} & counts.keys(),
        "troubles": troubles(kept, config),
        "signs": [
            {"monitor": name, "text": words}
            for name, signs in followed.items()
            if (words := wording.signs(signs.warned, signs.outlooks, signs.charts))
        ],
        "no_signs": wording.no_signs(
            sum(signs.warned for signs in followed.values()),
            sum(signs.outlooks for signs in followed.values()),
            sum(len(signs.charts) for signs in followed.values()),
        ),
        "statuses": counts,
        "alarm_budget": alarm_year(config, kept, now),
        "filters": {"status": status, "text": text, "opened": opened},
        "monitors": shown,
    }


def _badness(row: Row) -> tuple[int, float]:
    """Return the order of segments: by status, then by how far they lie above the range's lower end."""
    inside = 1.0 if row["auc"] is None else row["auc"] - (row["expected_low"] or 0.0)
    return WORST_FIRST.index(row["status"]), inside


def as_json(view: dict[str, Any]) -> dict[str, Any]:
    """Return the view with the windows as objects; on the page they are tuples, for there are thousands."""
    return view | {"monitors": [_named(row) for row in view["monitors"]]}


def _named(row: Row) -> Row:
    named = row | {"windows": [brief._asdict() for brief in row["windows"]]}
    if "opened" in row:
        named["opened"] = [_named(segment) for segment in row["opened"]]
    return named


def troubles(kept: store.Store, config: Config) -> list[dict[str, str]]:
    """Return what rocmonitor itself fails at: sources, models, MLflow, channels."""
    waiting = store.outbox_summary(kept)
    failures = [
        {"where": destination, "text": wording.failing(destination, error, waiting.waiting)}
        for destination, error in waiting.errors.items()
    ]
    for (monitor, segment), change in last_changes(kept).items():
        if change.after == "error" and monitor in config.monitors:
            last = store.last_transition(kept, monitor, segment)
            why = "; ".join(reasons(last.reasons)) if last else ""
            failures.append({"where": monitor, "text": f"{monitor}: {why}"})
    return failures


def _segment(monitor: Monitor, segment: str, state: AllStates, now: datetime) -> Row:
    key = (monitor.name, segment)
    here = standing(monitor, segment, state, now)
    glance = state.seen.get(key)
    shown: Row = plain(here)
    for name in ("monitor", "zone", "reference", "unjudged"):
        del shown[name]
    change, since_alarm = state.changed.get(key), 0
    if glance is not None and change is not None and change.after == "degraded":
        share = (glance.window.end - change.since) / (glance.window.end - glance.window.start)
        since_alarm = min(max(round(share), 1), len(glance.briefs))
    return shown | {
        "name": monitor.name,
        "owner": None if segment else monitor.owner,
        "since": None if here.since is None else instant(here.since, here.zone),
        "windows": [] if glance is None else glance.briefs,
        "standing": since_alarm,  # of the newest windows those since the alarm that stands
        "ahead": [plain(outlook) for outlook in state.ahead.get(key, ())],
    }


def segments_view(site: Site, name: str, window: str = "") -> dict[str, Any]:
    """Return what the page shows of a window, by default the newest; AbsentError without such a window."""
    monitor = site.monitor(name)
    kept, zone = site.store(), monitor.timezone
    whole = history(kept, name, "")
    slugs = [window_slug(revisions[0].window, zone) for revisions in whole]
    if window and window not in slugs:
        raise AbsentError(wording.no_window(name, window))
    place = slugs.index(window) if window else len(slugs) - 1
    view: dict[str, Any] = {"name": name, "zone": str(zone), "window": None, "slug": "", "segments": []}
    view |= {"earlier": None, "later": None, "not_judged": ""}
    if not whole:
        joined = monitor.joining is not None
        view["not_judged"] = wording.not_judged(name, first_due(monitor, site.clock()), joined=joined)
        return view
    chosen = whole[place][0].window
    states, rows = last_states(kept), list[Row]()
    for segment in ["", *segments(kept, name)]:
        one = newest_in_window(kept, name, segment, chosen)
        rows.append(
            {
                "segment": segment,
                "name": segment or wording.ALL_ROWS,
                "status": states.status(name, segment) if (name, segment) in states.changed else "ok",
                "outcome": None if one is None else str(one.outcome),
                **{key: None if one is None else one.metrics.get(metric) for key, metric in METRICS.items()},
            }
        )
    whole_row, *others = rows
    others.sort(key=lambda row: (WORST_FIRST.index(row["outcome"] or "waiting"), row["auc"] or 0.0))
    return view | {
        "window": {"name": chosen.in_zone(zone), "start": plain(chosen.start), "end": plain(chosen.end)},
        "slug": slugs[place],
        "earlier": slugs[place - 1] if place else None,
        "later": slugs[place + 1] if place + 1 < len(slugs) else None,
        "segments": [whole_row, *others],
    }
