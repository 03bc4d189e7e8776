"""Where each monitor and segment stands: one value for `status`, the page and its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rocmonitor.config import Monitor
from rocmonitor.policy.left_out import doubts_of
from rocmonitor.policy.stops import as_shown
from rocmonitor.policy.windows import Window
from rocmonitor.report.text import Standing
from rocmonitor.store import Store
from rocmonitor.store.glance import AllStates
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.episode import as_json
from rocmonitor.wording.facts import briefly
from rocmonitor.wording.status import attention
from rocmonitor.wording.window import unjudged_rows


def standing(
    monitor: Monitor,
    segment: str,
    states: AllStates,
    now: datetime,
    *,
    unjudged: str = "",
    reference: Mapping[str, Any] | None = None,
) -> Standing:
    """Return where a monitor stands, or a segment of it.

    `unjudged` is as `unjudged_text` gives it; `reference` the summary of that of the newest window.
    """
    key, zone = (monitor.name, segment), monitor.timezone
    said, stops = states.said(monitor.name)
    glance, change = states.seen.get(key), states.changed.get(key)
    window = None if glance is None else glance.window
    episode = states.episodes.get(key)
    shown = as_shown(
        states.status(*key),
        None if change is None else change.since,
        stops,
        monitor.lapse(window, now),
        episode,
    )
    newest = None if glance is None else glance.briefs[-1]
    numbers = {} if newest is None else newest._asdict()
    numbers.pop("outcome", None)
    return Standing(
        monitor=monitor.name,
        segment=segment,
        status=shown.status,
        since=shown.since,
        zone=zone,
        window=window,
        version=None if glance is None else glance.version,
        attention="" if segment else attention(said, shown.stops, now, zone),
        why=briefly(shown.status, () if change is None else change.reasons, episode, newest),
        episode=as_json(episode, said),
        not_judged_since=shown.not_judged_since,
        watched_until=shown.watched_until,
        reference="; ".join(map(words_of, doubts_of(reference or {}))),
        unjudged=unjudged,
        **numbers,
    )


def unjudged_text(store: Store, monitor: Monitor, windows: Sequence[Window]) -> str:
    """Return the rows that are no window yet, in words, where windows are joined.

    `windows` are the newest that was judged, and those that wait for their labels.
    """
    if monitor.joining is None:
        return ""
    from rocmonitor.service.pieces import unjudged

    rest = unjudged(store, monitor, max((window.end for window in windows), default=None))
    return "" if rest is None else unjudged_rows(rest, monitor.joining, monitor.timezone)
