"""``rocmonitor check``: what a configuration means, told before anything runs. Changes nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial

from rocmonitor import tracking
from rocmonitor.config import Config, Monitor
from rocmonitor.errors import RocmonitorError
from rocmonitor.policy.false_alarms import false_alarms_a_year
from rocmonitor.policy.rules import Forecast, named
from rocmonitor.sources import open_source
from rocmonitor.store import migrate

Tell = Callable[[str], object]


def check(config: Config, *, now: datetime, tell: Tell) -> list[RocmonitorError]:
    """Connect to everything the configuration names, and explain what it will do.

    Parameters
    ----------
    config : Config
    now : datetime
    tell : callable
        Takes each line of the explanation.

    Returns
    -------
    list of RocmonitorError
        What is wrong, told already; empty when every monitor can run.
    """
    problems: list[RocmonitorError] = []

    def section(topic: str, explain: Callable[[], list[str]]) -> None:
        try:
            lines = explain()
        except RocmonitorError as error:
            problems.append(error)
            lines = [f"PROBLEM: {error}"]
        for number, line in enumerate(lines):
            tell(f"  {'' if number else topic:<10}{line}")

    tell("everywhere")
    section("store", partial(_store, config))
    for name in config.channels:
        section("channel", partial(_channel, config, name))
    for monitor in config.monitors.values():
        tell(f"{monitor.name}")
        section("model", partial(_model, config, monitor))
        section("windows", partial(_windows, config, monitor, now))
        section("reference", partial(_reference, config, monitor))
        section("rules", partial(_rules, monitor))
    return problems


def _store(config: Config) -> list[str]:
    if config.store_url.startswith("sqlite") and not migrate.is_current(config.store_url):
        return ["a SQLite file that the first run will make or bring to this version"]
    migrate.check(config.store_url)
    return ["reachable, at this version"]


def _channel(config: Config, name: str) -> list[str]:
    config.channels[name].read(config.folder)
    return [f"{name}; `rocmonitor channel test {name}` sends a message marked as a test"]


def _model(config: Config, monitor: Monitor) -> list[str]:
    model = monitor.model
    registry = tracking.connect(config.tracking_uri, config.folder)
    lines = []
    for role, alias, fixed in (
        ("champion", model.champion, model.version),
        ("challenger", model.challenger, model.challenger_version),
    ):
        if alias is not None:
            lines.append(
                f"{model.name}: {role} is version {registry.version(model.name, alias)} (alias {alias})"
            )
        elif fixed is not None:
            lines.append(f"{model.name}: {role} is version {fixed} (fixed)")
    return lines


def _windows(config: Config, monitor: Monitor, now: datetime) -> list[str]:
    spec = monitor.window
    ended = monitor.windows(now)
    due = [window for window in ended if monitor.labels.age(window, now) in ("due", "closed")]
    lines = [
        f"every {_short(spec.every)}, labels awaited {_short(spec.label_delay)}, {monitor.timezone}: "
        f"{len(ended):,} have ended since {monitor.start.astimezone(monitor.timezone):%Y-%m-%d %H:%M}, "
        f"{len(due):,} of them are old enough to be judged"
    ]
    with open_source(config.sources[monitor.source], config.folder, name=monitor.source) as source:
        source.explain(monitor)
        if ended:
            labels = source.label_counts(monitor, ended[-1])
            last = ended[-1].in_zone(monitor.timezone)
            lines.append(f"the last, {last}: {labels.rows:,} rows, {labels.labelled:,} labelled")
    return lines


def _reference(config: Config, monitor: Monitor) -> list[str]:
    windows = monitor.reference_windows
    with open_source(config.sources[monitor.source], config.folder, name=monitor.source) as source:
        counts = [source.label_counts(monitor, window) for window in windows]
    smallest = min((counted.labelled for counted in counts), default=0)
    lines = [
        f"{monitor.reference_period.in_zone(monitor.timezone)}: {len(windows)} windows, "
        f"{sum(counted.rows for counted in counts):,} rows, "
        f"{sum(counted.labelled for counted in counts):,} labelled, {smallest:,} in the smallest window"
    ]
    for rule in monitor.rules:
        if isinstance(rule, Forecast) and rule.method == "calibrated":
            needed = math.ceil(1 / (1 - rule.confidence_level) - 1e-9) - 1
            if len(windows) < needed:
                lines.append(
                    f"a calibrated level of {rule.confidence_level:g} needs {needed} windows; "
                    f"{len(windows)} give {len(windows) / (len(windows) + 1):.3f}"
                )
    return lines


def _rules(monitor: Monitor) -> list[str]:
    lines = [
        ", ".join(
            [
                name,
                *(
                    f"{key} {value}"
                    for key, value in asdict(rule).items()
                    if value is not None and key != "kind"
                ),
            ]
        )
        for name, rule in named(monitor.rules).items()
    ]
    alarm = monitor.alarm.policy()
    rate = false_alarms_a_year(monitor.rules, alarm, monitor.window.every)
    per = " for all rows, and as many for each segment value" if monitor.segments else ""
    lines.append(
        f"when nothing is wrong: at most about {rate:.2g} false alarms a year{per} "
        f"(degraded at {alarm.after} of {alarm.of} windows)"
    )
    if monitor.operating_points.cost:
        lines.append("operating_points.cost is read, but not measured by this version")
    return lines


def _short(duration: timedelta) -> str:
    """A duration as it is written in the configuration."""
    seconds = round(duration.total_seconds())
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds and not seconds % length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"
