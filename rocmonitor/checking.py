"""``rocmonitor check``: what a configuration means, told before anything runs. Changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from rocmonitor import alerts, tracking
from rocmonitor.config import Config, Monitor
from rocmonitor.errors import ConfigError, DegenerateDataError, RocmonitorError
from rocmonitor.policy.false_alarms import false_alarms_a_year
from rocmonitor.policy.judge import too_few
from rocmonitor.policy.rules import Forecast, named
from rocmonitor.sources import SqlSource, open_source
from rocmonitor.stats.forecast.interval import windows_needed
from rocmonitor.store import migrate

MOST_ROWS = 2_000_000
"""A larger window is counted, but not read."""

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
        section("reference", partial(_reference, config, monitor, now))
        section("rules", partial(_rules, monitor))
    return problems


def _store(config: Config) -> list[str]:
    if config.store_url.startswith("sqlite") and not migrate.is_current(config.store_url):
        return ["a SQLite file that the first run will make or bring to this version"]
    migrate.check(config.store_url)
    return ["reachable, at this version"]


def _channel(config: Config, name: str) -> list[str]:
    alerts.understood(config.channels[name].read(config.folder), folder=config.folder)
    return [f"{name}; `rocmonitor channel test {name}` sends a message marked as a test"]


def _model(config: Config, monitor: Monitor) -> list[str]:
    model = monitor.model
    by_alias = model.champion is not None or model.challenger is not None
    registry = _registry(config) if by_alias else None
    lines = []
    for role, alias, fixed in (
        ("champion", model.champion, model.version),
        ("challenger", model.challenger, model.challenger_version),
    ):
        if alias is not None and registry is not None:
            lines.append(
                f"{model.name}: {role} is version {registry.version(model.name, alias)} (alias {alias})"
            )
        elif fixed is not None:
            lines.append(f"{model.name}: {role} is called version {fixed} (fixed; the registry is not asked)")
    return lines


def _registry(config: Config) -> tracking.Tracking:
    uri = config.tracking_uri
    file = Path(uri.removeprefix("sqlite:///"))
    if uri.startswith("sqlite:///") and not file.exists():  # connecting would make it
        raise ConfigError(f"mlflow.tracking_uri: {file} is not there yet, so no model has an alias in it")
    return tracking.connect(uri, config.folder)


def _windows(config: Config, monitor: Monitor, now: datetime) -> list[str]:
    spec, zone = monitor.window, monitor.timezone
    ended = monitor.windows(now)
    due = [window for window in ended if monitor.labels.age(window, now) in ("due", "closed")]
    lines = [
        f"every {_short(spec.every)}, labels awaited {_short(spec.label_delay)}, {zone}: "
        f"{len(ended):,} have ended since {monitor.start.astimezone(zone):%Y-%m-%d %H:%M}, "
        f"{len(due):,} of them are old enough to be judged"
    ]
    with _source(config, monitor) as source:
        source.explain(monitor)
        if not due:
            return [*lines, "none can be judged yet"]
        last = due[-1]
        counted = source.label_counts(monitor, last)
        lines.append(
            f"the last of these, {last.in_zone(zone)}: {counted.rows:,} rows, {counted.labelled:,} labelled"
        )
        if counted.rows > MOST_ROWS:
            return [*lines, f"not read, for it has more than {MOST_ROWS:,} rows"]
        rows = source.pull(monitor, last).segments[""]
    small = too_few(rows.counts, monitor.min_per_class)
    if small is not None:
        raise DegenerateDataError(
            "; ".join(
                [f"the last window, {last.in_zone(zone)}, is insufficient: {small.text}", *rows.caveats]
            )
        )
    lines.append(f"usable: {rows.counts.n_pos:,} positives, {rows.counts.n_neg:,} negatives")
    return [*lines, *rows.caveats]


def _reference(config: Config, monitor: Monitor, now: datetime) -> list[str]:
    windows = monitor.reference_windows
    with _source(config, monitor) as source:
        counts = [source.label_counts(monitor, window) for window in windows]
    labelled = [counted.labelled for counted in counts]
    rows = sum(counted.rows for counted in counts)
    period = monitor.reference_period.in_zone(monitor.timezone)
    if not sum(labelled):
        raise DegenerateDataError(
            f"{period}: {len(windows)} windows, {rows:,} rows, none labelled: no rule can compare with it"
        )
    lines = [
        f"{period}: {len(windows)} windows, {rows:,} rows, "
        f"{sum(labelled):,} labelled, {min(labelled):,} in the smallest window"
    ]
    if now < monitor.labels.due_at(monitor.reference_period):
        lines.append("its labels are not all due yet: until then it is computed anew at every run")
    if poor := [window for window, counted in zip(windows, counts, strict=True) if len(counted.by_label) < 2]:
        names = ", ".join(window.in_zone(monitor.timezone) for window in poor[:3])
        lines.append(f"{len(poor)} windows have labels of one kind or none, and are set aside: {names} …")
    for rule in monitor.rules:
        if isinstance(rule, Forecast) and rule.method == "calibrated":
            needed = windows_needed(rule.confidence_level)
            usable = len(windows) - len(poor)
            if usable < needed:
                lines.append(
                    f"a calibrated level of {rule.confidence_level:g} needs {needed} windows; "
                    f"{usable} give {usable / (usable + 1):.3f}"
                )
    return lines


def _source(config: Config, monitor: Monitor) -> SqlSource:
    return open_source(config.sources[monitor.source], config.folder, name=monitor.source)


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
