"""The segments of a monitor side by side in one window, the worst first."""

from __future__ import annotations

from typing import Any

from rocmonitor.policy.record import plain
from rocmonitor.policy.windows import Window
from rocmonitor.store import Store
from rocmonitor.store.glance import standings
from rocmonitor.store.history import history, newest_in_window, segments
from rocmonitor.web.monitor import METRICS, window_slug
from rocmonitor.web.overview import WORST_FIRST
from rocmonitor.web.site import Site
from rocmonitor.wording import page as wording


def segments_view(site: Site, name: str, window: str = "") -> dict[str, Any] | None:
    """All that the page shows, in plain JSON types; None when there is no such monitor or window.

    Parameters
    ----------
    window : str
        As from `rocmonitor.web.monitor.window_slug`; empty for the newest.

    Raises
    ------
    ConfigError, StoreError
    """
    monitor = site.config().monitors.get(name)
    if monitor is None:
        return None
    kept, zone = site.store(), monitor.timezone
    whole = history(kept, name, "")
    slugs = [window_slug(each[0].window, zone) for each in whole]
    if window and window not in slugs:
        return None
    place = slugs.index(window) if window else len(slugs) - 1
    view: dict[str, Any] = {"name": name, "zone": str(zone), "window": None, "slug": "", "segments": []}
    view |= {"earlier": None, "later": None}
    if not whole:
        return view
    chosen = whole[place][0].window
    whole_row, *others = _rows(kept, name, chosen)
    others.sort(key=lambda row: (WORST_FIRST.index(row["outcome"] or "waiting"), row["auc"] or 0.0))
    return view | {
        "window": {"name": chosen.in_zone(zone), "start": plain(chosen.start), "end": plain(chosen.end)},
        "slug": slugs[place],
        "earlier": slugs[place - 1] if place else None,
        "later": slugs[place + 1] if place + 1 < len(slugs) else None,
        "segments": [whole_row, *others],
    }


def _rows(kept: Store, name: str, window: Window) -> list[dict[str, Any]]:
    """All rows first, then each segment."""
    stands = standings(kept)
    rows = []
    for segment in ["", *segments(kept, name)]:
        one = newest_in_window(kept, name, segment, window)
        standing = stands.get((name, segment))
        rows.append(
            {
                "segment": segment,
                "name": segment or wording.ALL_ROWS,
                "status": "ok" if standing is None else str(standing.status),
                "outcome": None if one is None else str(one.outcome),
                **{key: None if one is None else one.metrics.get(metric) for key, metric in METRICS.items()},
            }
        )
    return rows
