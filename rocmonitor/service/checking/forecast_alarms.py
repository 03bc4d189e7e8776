"""What to expect of the rules: false alarms a year, and how soon a drop is found; in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import numpy as np
from scipy.special import bdtrc

from rocmonitor.config import Monitor
from rocmonitor.policy.alarm_rate import Rate
from rocmonitor.policy.calibrating import Beyond
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.false_alarms import (
    Detection,
    Simulation,
    detections,
    false_alarms,
    improvements,
    simulation,
    single_window_drop,
    usual_rate,
    window_rate,
)
from rocmonitor.policy.judge import Finding, judge, too_few
from rocmonitor.policy.levels import in_season
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.rules import Calibration, Challenger, Cost, Floor, Lasting, Rule, before_labels
from rocmonitor.policy.scenario import Margins, Scenario, margins_of, sampling_only, uncounted, without_chart
from rocmonitor.policy.windows import Window
from rocmonitor.sources.batch import Rows
from rocmonitor.wording.format import listed

POWER = 0.8
"""Power used for the detectable drop."""

DROPS = (0.02, 0.05, 0.1)
"""Drops of the AUROC whose detection is told."""

_LEAST_SHOWN = 0.01  # a year

MOST_JUDGED = 100
"""At most so many of the latest reference windows are judged by the rules."""

_MOST_NAMED = 3
_BY_CHANCE = 0.01
_NO_SCATTER = 0.0005  # of true AUROCs


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """How many reference windows each rule finds degraded, of so many that were judged, and which ones.

    `margins` has those of the rules that do not judge the AUROC.
    """

    windows: int
    described: str
    by_rule: Mapping[str, int]
    degraded: Sequence[str]
    margins: Mapping[str, Margins]


def expected(monitor: Monitor, scenario: Scenario, judged: Judged | None, every: timedelta) -> list[str]:
    """False alarms and what is found.

    Parameters
    ----------
    monitor : Monitor
    scenario : Scenario
    judged : Judged or None
        What the rules say of the reference windows themselves; None when these were not read.
    every : timedelta
        How long a window lasts.
    """
    missing = uncounted(scenario)
    lines = [f"not counted below, because its level is not known: {', '.join(missing)}"] if missing else []
    drawn = simulation(scenario, every)
    if not (drawn.rules or without_chart(scenario)):
        return [*lines, "none of these rules can raise an alarm whose rate is known"]
    lines += [_windows(drawn), *_false_alarms(drawn, monitor, every)]
    if judged is not None:
        lines.append(_judged(judged, drawn))
    if monitor.segments:
        lines.append("each segment value is watched separately and adds about as many")
    if window_rate(drawn) > 0.5:
        lines.append(_guilty(drawn))
    return [*lines, *_found(drawn, monitor, every)]


def _windows(drawn: Simulation) -> str:
    """What a window to come is like."""
    scenario, scale = drawn.scenario, math.sqrt(drawn.scenario.auc.auc * (1 - drawn.scenario.auc.auc))
    text = (
        f"expected windows: {scenario.n_pos:,.0f} positives and {scenario.n_neg:,.0f} negatives, with an "
        f"AUROC of {scenario.auc.auc:.4f} as in the reference"
    )
    if not scenario.is_read:
        return text
    noise = scenario.noise(scenario.auc.auc)
    between = scale * float(np.sqrt(np.median(np.maximum(drawn.coming.deviation**2 - noise, 0.0))))
    sampling = f"{scale * math.sqrt(noise):.3f}"
    if between < _NO_SCATTER:
        return f"{text}; they scatter by {sampling} (standard deviation), no more than sampling explains"
    return (
        f"{text}; true AUROCs differ from window to window by {between:.3f} (standard deviation), and "
        f"sampling adds {sampling}"
    )


def _false_alarms(drawn: Simulation, monitor: Monitor, every: timedelta) -> list[str]:
    scenario, alarm = drawn.scenario, monitor.alarm.policy()
    rules = [name for name in scenario.rules if name in drawn.rules or name in without_chart(scenario)]
    yearly = false_alarms(drawn, alarm, every)
    about = "" if yearly.expected < _LEAST_SHOWN else "about "
    text = f"when nothing is wrong: {about}{rate(yearly.expected)} false alarms a year"
    if rate(yearly.low) != rate(yearly.high):
        text += f"; {_range(yearly)} are possible (80 %)"
        if scenario.is_read:
            text += f", because the reference has only {scenario.reference_windows} windows"
    improved = improvements(drawn, alarm, every).expected
    if improved >= _LEAST_SHOWN:
        text += f"; and about {rate(improved)} messages a year of an improvement that is not real"
    if alarm.of > 1:
        text += f"; an alarm needs {alarm.after} of {alarm.of} windows degraded"
    lines = [text]
    if len(rules) > 1:
        each = [f"{name} {_short(false_alarms(drawn, alarm, every, rules=[name]))}" for name in rules]
        lines.append(f"each rule alone: {', '.join(each)}")
    lines += _lasting(scenario)
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
            doubts = () if chart is None else chart.caveats
            # The season is said once, with the reference.
            lines += [f"{name}: {caveat}" for caveat in doubts if caveat.code != "season-not-seen"]
    return lines


def _guilty(drawn: Simulation) -> str:
    """Which rule finds most windows degraded."""
    scenario = drawn.scenario
    rates = {name: window_rate(drawn, [name]) for name in drawn.limits}
    guilty = [name for name, each in rates.items() if each > 0.5] or [
        max(rates, key=lambda name: rates[name])
    ]
    text = f"most windows will be found degraded although nothing is wrong: see {' and '.join(guilty)}"
    for name in guilty:
        rule, auc = scenario.rules[name], scenario.auc.auc
        if isinstance(rule, Floor) and rule.value >= auc:
            text += f" ({name} {rule.value:g} is above the AUROC of the reference, {auc:.4f})"
    return text


def _found(drawn: Simulation, monitor: Monitor, every: timedelta) -> list[str]:
    """How soon a drop is found: a sentence and a table."""
    alarm = monitor.alarm.policy()
    seen = single_window_drop(drawn, power=POWER)
    if seen is None:
        lines = [f"no drop is found in a single window with {100 * POWER:.0f} % probability"]
    else:
        lines = [
            f"a drop by {math.ceil(seen[1] * 1000) / 1000:g} or more is found in "
            f"{'the first' if alarm.after == 1 else 'a single'} window with {100 * POWER:.0f} % probability, "
            f"by {seen[0]}"
        ]
    sizes = [drop for drop in DROPS if drop < drawn.scenario.auc.auc]
    found = [detections(drawn, drop, alarm) for drop in sizes]
    if not (found and found[0]):
        return lines if seen is None or seen[1] > 0 else []
    head = ["drop of", *(f"{drop:.2f}" for drop in sizes)]
    rows = [[name, *(_cell(each[name], drawn.windows) for each in found)] for name in found[0]]
    last = list(found[0])[-1]
    rows.append(["days", *(_days(each[last], drawn.windows, monitor, every) for each in found)])
    widths = [max(len(row[at]) for row in (head, *rows)) + 3 for at in range(len(head))]
    table = [
        "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)
    ]
    explained = (
        "windows until a drop that stays is found: in half of all cases (in 80 %); behind it the probability "
        "that a drop of one window alone is found; days include label_delay"
    )
    return [*(lines if seen is None or seen[1] > 0 else []), explained, *map(str.rstrip, table)]


def _cell(found: Detection, most: int) -> str:
    median, later = (f"over {most}" if each is None else str(each) for each in found.windows)
    times = median if median == later else f"{median} ({later})"
    return f"{times}; {100 * found.once:.0f} %"


def _days(found: Detection, most: int, monitor: Monitor, every: timedelta) -> str:
    ends = []
    for windows in found.windows:
        time = (windows or most) * every + monitor.window.label_delay
        ends.append(f"{'over ' if windows is None else ''}{_number(time / timedelta(days=1))}")
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} ({ends[1]})"


def _number(days: float) -> str:
    return f"{days:,.0f}" if days >= 10 else f"{days:.2g}"


def on_reference(
    monitor: Monitor,
    windows: Sequence[Window],
    rows: Sequence[Rows],
    reference: Reference,
    rules: Mapping[str, Rule],
) -> Judged | None:
    """What the rules say of the reference windows, each judged as a window to come would be.

    None where no rule can judge them, or there are fewer than two.
    """
    alarming = [
        name for name, rule in rules.items() if not isinstance(rule, Challenger) and not before_labels(rule)
    ]
    both = list(zip(rows, windows, strict=True))
    enough = [each for each in both if too_few(each[0].counts, monitor.min_per_class) is None]
    if not alarming or reference.auc is None or len(enough) < 2:
        return None
    latest = enough[-MOST_JUDGED:]
    least, beyond = monitor.min_per_class, Beyond(probability=monitor.is_probability)
    find = partial(judge, rules=rules, min_per_class=least, beyond=beyond)
    found = [
        find(rows.champion, None, rows.counts, reference=in_season(reference, window))
        for rows, window in latest
    ]
    by_rule = {
        name: sum(
            verdict.rule == name and verdict.outcome is Status.DEGRADED
            for one in found
            for verdict in one.verdicts
        )
        for name in alarming
    }
    of = f"the {len(latest)}" if len(latest) == len(enough) else f"the last {len(latest)}"
    large = "" if len(enough) == len(windows) else " that are large enough"
    pairs = zip(found, latest, strict=True)
    return Judged(
        windows=len(latest),
        described=f"{of} reference windows{large}",
        by_rule=by_rule,
        degraded=[at.in_zone(monitor.timezone) for one, (_, at) in pairs if one.outcome is Status.DEGRADED],
        margins=_margins(found, rules),
    )


def _margins(found: Sequence[Finding], rules: Mapping[str, Rule]) -> dict[str, Margins]:
    """Of the rules `cost` and `calibration`, in the windows that were judged."""
    margins = {}
    for name, rule in rules.items():
        if isinstance(rule, Cost | Calibration):
            of_rule = [{each.rule: each for each in one.verdicts}.get(name) for one in found]
            margins[name] = margins_of(of_rule)
    return {name: each for name, each in margins.items() if each is not None}


def _judged(judged: Judged, drawn: Simulation) -> str:
    """The count beside the one that is expected of later windows."""
    bad, by_rule = len(judged.degraded), judged.by_rule
    each = ", ".join(f"{name} {number or 'none'}" for name, number in by_rule.items())
    text = (
        f"judged by these rules, {bad or 'none'} of {judged.described} would be degraded"
        f"{f' ({each})' if bad and len(by_rule) > 1 else ''}; of as many later ones about "
        f"{judged.windows * window_rate(drawn):.1f} by chance"
    )
    if bad and float(bdtrc(bad - 1, judged.windows, usual_rate(drawn))) < _BY_CHANCE:
        named = [*judged.degraded[:_MOST_NAMED], *(["others"] if bad > _MOST_NAMED else [])]
        text += f". Most lie closer together: was something wrong in {listed(named)}?"
    return text


def rate(each_year: float) -> str:
    """A number of events a year, no more precise than it is."""
    if each_year < _LEAST_SHOWN:
        return f"less than {_LEAST_SHOWN:g}"
    return f"{each_year:.2g}" if each_year < 10 else f"{each_year:,.0f}"


def _range(of: Rate) -> str:
    low = "0" if of.low < _LEAST_SHOWN else rate(of.low)
    return f"{low} to {rate(of.high)}"


def _short(of: Rate) -> str:
    """A rate and its range."""
    return rate(of.expected) if rate(of.low) == rate(of.high) else f"{rate(of.expected)} ({_range(of)})"
