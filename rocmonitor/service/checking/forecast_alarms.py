"""What to expect of the rules: false alarms a year, and the drop that one window shows; in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.false_alarms import (
    Scenario,
    false_alarms_a_year,
    first_window_drop,
    improved_a_year,
    sampling_only,
    uncounted,
    window_rate,
)
from rocmonitor.policy.judge import judge, too_few
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.rules import Challenger, Floor, Lasting, Rule, before_labels
from rocmonitor.policy.status import Alarm
from rocmonitor.sources.batch import Rows

POWER = 0.8
"""Power used for the detectable drop."""

_LEAST_SHOWN = 0.01  # a year

MOST_JUDGED = 100
"""At most so many of the latest reference windows are judged by the rules."""


def expected(
    scenario: Scenario, alarm: Alarm, every: timedelta, *, judged: str, segmented: bool
) -> list[str]:
    """False alarms and what is seen.

    Parameters
    ----------
    scenario : Scenario
    alarm : Alarm
    every : timedelta
        Length of a window.
    judged : str
        What the rules say of the reference windows themselves; empty when these were not read.
    segmented : bool
        Whether segments are watched, too.
    """
    missing = uncounted(scenario)
    counted = {
        name: rule
        for name, rule in scenario.rules.items()
        if not isinstance(rule, Challenger) and name not in missing and not before_labels(rule)
    }
    lines = [f"not counted below, because it has no level: {', '.join(missing)}"] if missing else []
    if not counted:
        return [*lines, "none of these rules can raise an alarm whose rate is known"]
    lines.append(
        f"expected windows: {scenario.n_pos:,.0f} positives and {scenario.n_neg:,.0f} negatives, with an "
        f"AUROC of {scenario.auc.auc:.4f} as in the reference"
    )
    alone = {name: replace(scenario, rules={name: rule}) for name, rule in counted.items()}
    lines += _false_alarms(scenario, alone, alarm, every)
    if judged:
        lines.append(judged)
    if segmented:
        lines.append("each segment value is watched separately and adds about as many")
    if window_rate(scenario) > 0.5:
        lines.append(_guilty(alone))
    seen = first_window_drop(scenario, power=POWER)
    if seen is None:
        lines.append(f"no drop is found in a single window with {100 * POWER:.0f} % probability")
    elif seen[1] > 0:
        lines.append(
            f"a drop by {math.ceil(seen[1] * 1000) / 1000:g} or more is found in "
            f"{'the first' if alarm.after == 1 else 'a single'} window with {100 * POWER:.0f} % probability, "
            f"by {seen[0]}"
        )
    return lines


def _false_alarms(
    scenario: Scenario, alone: Mapping[str, Scenario], alarm: Alarm, every: timedelta
) -> list[str]:
    each = [f"{name} {rate(false_alarms_a_year(one, alarm, every))}" for name, one in alone.items()]
    yearly = false_alarms_a_year(scenario, alarm, every)
    about = "" if yearly < _LEAST_SHOWN else "about "
    text = f"when nothing is wrong: {about}{rate(yearly)} false alarms a year"
    if len(each) > 1:
        text += f" (each rule alone: {', '.join(each)})"
    improved = improved_a_year(scenario, alarm, every)
    if improved >= _LEAST_SHOWN:
        text += f", and about {rate(improved)} messages a year of an improvement that is not real"
    if alarm.of > 1:
        text += f"; an alarm needs {alarm.after} of {alarm.of} windows degraded"
    lines = [text, *_lasting(scenario)]
    if sampling := sampling_only(scenario):
        lines.append(
            f"for {' and '.join(sampling)} this counts sampling error only: where the true AUROC "
            "differs between windows, there are more alarms"
        )
    return lines


def _lasting(scenario: Scenario) -> list[str]:
    """What the level of each rule `lasting` means, and what its reference does not show."""
    lines = []
    for name, rule in scenario.rules.items():
        if isinstance(rule, Lasting):
            chance = f"{100 * rule.false_alarm_probability:g}"
            lines.append(
                f"{name}: {chance} % probability of an alarm within {rule.horizon} windows when nothing lasts"
            )
            chart = scenario.reference.charts.get(name)
            lines += [f"{name}: {caveat}" for caveat in (() if chart is None else chart.caveats)]
    return lines


def _guilty(alone: Mapping[str, Scenario]) -> str:
    """Which rule finds most windows degraded."""
    rates = {name: window_rate(one) for name, one in alone.items()}
    guilty = [name for name, rate in rates.items() if rate > 0.5] or [
        max(rates, key=lambda name: rates[name])
    ]
    text = f"most windows will be found degraded although nothing is wrong: see {' and '.join(guilty)}"
    for name in guilty:
        rule, auc = alone[name].rules[name], alone[name].auc.auc
        if isinstance(rule, Floor) and rule.value >= auc:
            text += f" ({name} {rule.value:g} is above the AUROC of the reference, {auc:.4f})"
    return text


def on_reference(
    windows: Sequence[Rows], reference: Reference, rules: Mapping[str, Rule], min_per_class: int
) -> str:
    """What the rules say of the reference windows, each judged as a window to come would be."""
    alarming = [
        name for name, rule in rules.items() if not isinstance(rule, Challenger) and not before_labels(rule)
    ]
    enough = [rows for rows in windows if too_few(rows.counts, min_per_class) is None]
    if not alarming or reference.auc is None or len(enough) < 2:
        return ""
    latest = enough[-MOST_JUDGED:]
    found = [
        judge(rows.champion, None, rows.counts, reference=reference, rules=rules, min_per_class=min_per_class)
        for rows in latest
    ]
    bad = sum(one.outcome is Status.DEGRADED for one in found)
    by_rule = {
        name: sum(
            verdict.rule == name and verdict.outcome is Status.DEGRADED
            for one in found
            for verdict in one.verdicts
        )
        for name in alarming
    }
    each = ", ".join(f"{name} {count or 'none'}" for name, count in by_rule.items())
    of = f"the {len(latest)}" if len(latest) == len(enough) else f"the last {len(latest)}"
    large = "" if len(enough) == len(windows) else " that are large enough"
    return (
        f"judged by these rules, {bad or 'none'} of {of} reference windows{large} would be degraded"
        f"{f' ({each})' if bad and len(by_rule) > 1 else ''}: they belong to the reference, so this "
        "is slightly too few"
    )


def rate(each_year: float) -> str:
    """A number of events a year, no more precise than it is."""
    if each_year < _LEAST_SHOWN:
        return f"less than {_LEAST_SHOWN:g}"
    return f"{each_year:.2g}" if each_year < 10 else f"{each_year:,.0f}"
