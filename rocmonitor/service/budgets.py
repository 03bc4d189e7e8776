"""The number of windows each monitor judges in a year, and the levels that its budget leaves to its rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from weakref import WeakKeyDictionary

from rocmonitor import store
from rocmonitor.config import Config, Monitor
from rocmonitor.policy.budget import YEAR, Allotment
from rocmonitor.policy.windows import Window
from rocmonitor.service.pieces import usual_length
from rocmonitor.service.references import digest
from rocmonitor.store import Store
from rocmonitor.store.history import AlarmCount, alarms_since
from rocmonitor.wording.report import yearly


@dataclass(slots=True)
class _Known:
    """The findings with one store: a frozen reference does not change, nor does anything derived from it."""

    per_year: dict[str, tuple[Monitor, float]] = field(default_factory=dict)
    last: tuple[Config, Mapping[str, float], tuple[Allotment, ...]] | None = None


_known: WeakKeyDictionary[object, _Known] = WeakKeyDictionary()
"""Findings by the store's engine: monitors that share a budget ask for the same ones again and again."""


def allotments(config: Config, kept: Store, own: Mapping[str, float] | None = None) -> tuple[Allotment, ...]:
    """Return how each alarm budget is shared by its monitors; empty without any.

    A monitor that joins windows counts those that it is expected to judge: as many a year as its reference
    has, frozen in the store. Until then each piece counts as one, so that the budget is kept. `own` has the
    windows a year of monitors about which more is known than the store has. Cost: one query for each monitor
    that joins windows, until its reference is frozen and was read once.
    """
    if config.alarm_budget is None:
        return ()
    memory, per_year = _known.setdefault(kept.engine, _Known()), dict(own or {})
    for monitor in config.monitors.values():
        if monitor.joining is None or monitor.name in per_year:
            continue
        seen = memory.per_year.get(monitor.name)
        if seen is not None and seen[0] is monitor:
            per_year[monitor.name] = seen[1]
            continue
        frozen = store.reference(kept, monitor.name, digest(monitor)) or {}
        learned = windows_per_year(monitor, frozen.get("", {}).get("windows", ()))
        if learned is not None:
            per_year[monitor.name] = learned
            memory.per_year[monitor.name] = monitor, learned
    last = memory.last
    if last is not None and last[0] is config and last[1] == per_year:
        return last[2]
    allotted = config.allot(per_year)
    memory.last = config, per_year, allotted
    return allotted


def windows_per_year(monitor: Monitor, windows: Sequence[Mapping[str, Any]]) -> float | None:
    """Return how many windows a monitor that joins them will judge, as its reference shows; None without any.

    `windows` are those of the reference, each with ``start, end, n_pos, n_neg, unlabelled``.
    """
    if not windows:
        return None
    spans = [Window.from_dict(window) for window in windows]
    rows = sum(window["n_pos"] + window["n_neg"] + (window.get("unlabelled") or 0) for window in windows)
    return YEAR / usual_length(monitor, spans, rows)


SPAN = timedelta(days=365)


def alarm_year(config: Config, kept: Store, now: datetime) -> list[dict[str, Any]]:
    """Budget, expected and sent alarms of each group, in plain JSON types; empty without a budget."""
    if not (allotted := allotments(config, kept)):
        return []
    counts, groups = alarms_since(kept, now - SPAN), []
    for allotment in allotted:
        total = sum((counts.get(monitor, AlarmCount()) for monitor in allotment.levels), AlarmCount())
        came = {"sent": total.sent, "acknowledged": total.acknowledged, "not_sent": total.not_sent}
        groups.append(
            {
                "group": allotment.group,
                "monitors": len(allotment.levels),
                "false_alarms_per_year": allotment.budget,
                "expected": allotment.expected,
                **came,
                "text": yearly(allotment, **came),
            }
        )
    return groups
