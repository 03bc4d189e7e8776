"""``rocmonitor check``: what a configuration means, told before anything runs. Changes nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median_low

from rocmonitor import alerts, tracking
from rocmonitor.config import Config, Monitor
from rocmonitor.errors import ConfigError, DegenerateDataError, RocmonitorError
from rocmonitor.policy.false_alarms import (
    Outlook,
    false_alarms_a_year,
    first_window_drop,
    uncounted,
    window_rate,
)
from rocmonitor.policy.judge import too_few
from rocmonitor.policy.reference import Reference, freeze
from rocmonitor.policy.rules import Challenger, Floor, Forecast, named
from rocmonitor.policy.windows import Window
from rocmonitor.sources import SqlSource, open_source
from rocmonitor.sources.batch import LabelCounts
from rocmonitor.sources.values import name_of
from rocmonitor.stats import AucResult, AucSpread, Sample
from rocmonitor.stats.forecast.calibration import windows_needed
from rocmonitor.store import migrate

MOST_ROWS = 2_000_000
"""A larger window is counted, but not read."""

MOST_REFERENCE_ROWS = 200_000
"""A larger reference is counted, but not read."""

ASSUMED_AUC = 0.8
"""Where neither the reference nor a window was read."""

POWER = 0.8
"""With which the drop is seen that is told."""

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
        seen = _Seen()
        section("windows", partial(_windows, config, monitor, now, seen))
        section("reference", partial(_reference, config, monitor, now, seen))
        section("rules", partial(_rules, monitor, seen))
    return problems


@dataclass(slots=True)
class _Seen:
    """What earlier sections of a monitor have read, for the later ones."""

    last: Sample | None = None
    outlook: Outlook | None = None
    assumed: str = ""


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


def _windows(config: Config, monitor: Monitor, now: datetime, seen: _Seen) -> list[str]:
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
    seen.last = rows.champion
    lines.append(f"usable: {rows.counts.n_pos:,} positives, {rows.counts.n_neg:,} negatives")
    return [*lines, *rows.caveats]


def _reference(config: Config, monitor: Monitor, now: datetime, seen: _Seen) -> list[str]:
    windows = monitor.reference_windows
    with _source(config, monitor) as source:
        counts = [source.label_counts(monitor, window) for window in windows]
        samples = None
        if sum(counted.rows for counted in counts) <= MOST_REFERENCE_ROWS:
            samples = [source.pull(monitor, window).segments[""].champion for window in windows]
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
    try:
        seen.outlook, seen.assumed = _outlook(
            monitor, list(zip(windows, counts, strict=True)), samples, seen.last
        )
    except DegenerateDataError as error:
        seen.assumed = str(error)
    return lines


def _outlook(
    monitor: Monitor,
    counts: Sequence[tuple[Window, LabelCounts]],
    samples: Sequence[Sample] | None,
    last: Sample | None,
) -> tuple[Outlook, str]:
    """What is to be expected of a window, and what had to be assumed for it."""
    rules, assumed = named(monitor.rules), ""
    if samples is not None:
        reference = freeze(
            [(window, sample) for (window, _), sample in zip(counts, samples, strict=True)], rules
        )
        if reference.auc is None:
            raise DegenerateDataError("; ".join(reference.caveats))
        spread = AucSpread.from_sample(Sample.merge(samples))
    else:
        if last is not None:
            spread = AucSpread.from_sample(last)
            like = f"to scatter as the last window does, about its AUROC of {spread.auc:.4f}"
        else:
            spread = AucSpread.normal(ASSUMED_AUC)
            like = f"to have an AUROC of {ASSUMED_AUC:g}, and no floor is counted below"
            rules = {name: rule for name, rule in rules.items() if not isinstance(rule, Floor)}
        assumed = (
            f"the reference has more than {MOST_REFERENCE_ROWS:,} rows, which are not read here: "
            f"it is taken {like}"
        )
        reference = _counted(monitor, counts, spread)
    sizes = [(w["n_pos"], w["n_neg"]) for w in reference.windows if w["n_pos"] and w["n_neg"]]
    if not sizes:
        raise DegenerateDataError("no window of the reference has rows of both classes")
    n_pos, n_neg = (median_low(size) for size in zip(*sizes, strict=True))
    return Outlook(rules=rules, reference=reference, spread=spread, n_pos=n_pos, n_neg=n_neg), assumed


def _counted(monitor: Monitor, counts: Sequence[tuple[Window, LabelCounts]], spread: AucSpread) -> Reference:
    """The reference as far as counts tell of it."""
    pos, neg = (
        [counted.by_label.get(name_of(label), 0) for _, counted in counts]
        for label in (monitor.positive.label, monitor.positive.negative)
    )
    if not sum(pos) or not sum(neg):
        raise DegenerateDataError(f"the reference has {sum(pos):,} positives and {sum(neg):,} negatives")
    return Reference(
        auc=AucResult(
            auc=spread.auc,
            se=math.sqrt(spread.variance(sum(pos), sum(neg))),
            n_pos=sum(pos),
            n_neg=sum(neg),
            method="delong",
        ),
        windows=[{"n_pos": n_pos, "n_neg": n_neg} for n_pos, n_neg in zip(pos, neg, strict=True)],
    )


def _source(config: Config, monitor: Monitor) -> SqlSource:
    return open_source(config.sources[monitor.source], config.folder, name=monitor.source)


def _rules(monitor: Monitor, seen: _Seen) -> list[str]:
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
    if seen.outlook is None:
        lines.append(f"false alarms cannot be told: {seen.assumed or 'the reference cannot be read'}")
    else:
        lines += _expected(monitor, seen.outlook, seen.assumed)
    return lines


def _expected(monitor: Monitor, outlook: Outlook, assumed: str) -> list[str]:
    """False alarms and what is seen, in words."""
    alarm, every = monitor.alarm.policy(), monitor.window.every
    missing = uncounted(outlook)
    counted = {
        name: rule
        for name, rule in outlook.rules.items()
        if not isinstance(rule, Challenger) and name not in missing
    }
    lines = [assumed] if assumed else []
    if missing:
        lines.append(f"not counted below, for it has no level: {', '.join(missing)}")
    if not counted:
        return [*lines, "no rule here can be counted on to alarm"]
    lines.append(
        f"windows of {outlook.n_pos:,.0f} positives and {outlook.n_neg:,.0f} negatives are expected, with an "
        f"AUROC of {outlook.auc.auc:.4f} as in the reference"
    )
    each = [
        f"{name} {_number(false_alarms_a_year(replace(outlook, rules={name: rule}), alarm, every))}"
        for name, rule in counted.items()
    ]
    alone = f" (each rule alone: {', '.join(each)})" if len(each) > 1 else ""
    lines.append(
        f"when nothing is wrong: about {_number(false_alarms_a_year(outlook, alarm, every))} false alarms a "
        f"year{alone}{'' if alarm.of == 1 else f'; degraded is told at {alarm.after} of {alarm.of} windows'}"
    )
    if monitor.segments:
        lines.append("each segment value is watched on its own, and adds about as many")
    if window_rate(outlook) > 0.5:
        lines.append("most windows will be found degraded although nothing is wrong: see the floor")
    seen = first_window_drop(outlook, power=POWER)
    if seen is None:
        lines.append(f"no drop is found in a single window with {100 * POWER:.0f} % probability")
    elif seen[1] > 0:
        lines.append(
            f"a drop by {math.ceil(seen[1] * 1000) / 1000:g} or more is found in "
            f"{'the first' if alarm.after == 1 else 'a single'} window with {100 * POWER:.0f} % probability, "
            f"by {seen[0]}"
        )
    return lines


def _number(rate: float) -> str:
    if rate < 0.01:
        return "less than 0.01"
    return f"{rate:.2g}" if rate < 10 else f"{rate:,.0f}"


def _short(duration: timedelta) -> str:
    """A duration as it is written in the configuration."""
    seconds = round(duration.total_seconds())
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds and not seconds % length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"
