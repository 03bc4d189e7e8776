"""The expectation for the rules, in words: false alarms a year, and how soon a drop is found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import numpy as np
from scipy.special import bdtrc

from rocmonitor.config import Monitor
from rocmonitor.policy.budget import Allotment
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.judge import judge, too_few
from rocmonitor.policy.measure import Wanted
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.scenario import CODES, Early, Margins, Scenario, margins_of, sampling_only, uncounted
from rocmonitor.policy.windows import Window, day_of
from rocmonitor.rules import Rule, can_alarm, settings_of
from rocmonitor.service.checking.words import LEAST_SHOWN, POWER, STAYS, Doubt, possible, rate
from rocmonitor.sources.batch import Rows
from rocmonitor.stats import WindowAuc
from rocmonitor.stats.simulated import Detection, Simulation
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.format import duration, listed
from rocmonitor.wording.report import allotment

DROPS = (0.02, 0.05, 0.1)
"""Drops of the AUROC whose detection is told."""

MOST_JUDGED = 100
"""Latest reference windows that the rules judge, at most."""

_MOST_NAMED = 3
_BY_CHANCE = 0.01
_NO_SCATTER = 0.0005  # of true AUROCs


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedReference:
    """The number of judged reference windows, and the windows that each rule finds degraded.

    `margins` and `outcomes` have those of the rules that judge rows: as of `Scenario`.
    """

    windows: int
    described: str
    by_rule: Mapping[str, int]
    degraded: Sequence[str]
    margins: Mapping[str, Margins]
    outcomes: Mapping[str, tuple[int, ...]]


def expected(
    monitor: Monitor, scenario: Scenario, drawn: Simulation, judged: JudgedReference | None, every: timedelta
) -> list[str]:
    """Return the lines on false alarms and on drops that are found.

    `judged` is what the rules say of the reference windows themselves; None when these were not read.
    """
    missing = uncounted(scenario)
    lines = [f"not counted below, because its level is not known: {', '.join(missing)}"] if missing else []
    if not (drawn.rules or drawn.stated):
        return [*lines, "none of these rules can raise an alarm whose rate is known"]
    lines += [_windows(scenario, drawn), *_false_alarms(scenario, drawn, monitor)]
    if judged is not None:
        bad, by_rule = len(judged.degraded), judged.by_rule
        numbers = ", ".join(f"{name} {number or 'none'}" for name, number in by_rule.items())
        text = (
            f"judged by these rules, {bad or 'none'} of {judged.described} would be degraded"
            f"{f' ({numbers})' if bad and len(by_rule) > 1 else ''}; of as many later ones about "
            f"{judged.windows * drawn.window_rate():.1f} by chance"
        )
        if bad and float(bdtrc(bad - 1, judged.windows, drawn.usual_rate())) < _BY_CHANCE:
            named = [*judged.degraded[:_MOST_NAMED], *(["others"] if bad > _MOST_NAMED else [])]
            text += f". Most lie closer together: was something wrong in {listed(named)}?"
        lines.append(text)
    if monitor.segments:
        lines.append("each segment value is watched separately and adds about as many")
    lines += [*guilty(scenario, drawn), *_found(drawn, monitor, every)]
    level = scenario.ranges.level
    if level is not None and drawn.auc > 0.5 + STAYS:
        usual = level.change(WindowAuc(drawn.auc, round(scenario.n_pos), round(scenario.n_neg)))
        share = drawn.said_over(STAYS, monitor.alarm.policy(), usual.error, usual.reference_error)
        if share is not None:
            lines.append(
                f"a drop of {STAYS:g} that stays and was found is said to be over by mistake within a year "
                f"in about {100 * share:.0f} % of cases"
            )
    return lines


def _windows(scenario: Scenario, drawn: Simulation) -> str:
    scale = math.sqrt(scenario.auc.auc * (1 - scenario.auc.auc))
    text = (
        f"expected windows: {scenario.n_pos:,.0f} positives and {scenario.n_neg:,.0f} negatives, with an "
        f"AUROC of {scenario.auc.auc:.3f} as in the reference"
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


def _false_alarms(scenario: Scenario, drawn: Simulation, monitor: Monitor) -> list[str]:
    alarm = monitor.alarm.policy()
    rules = [name for name in scenario.rules if name in drawn.rules or name in drawn.stated]
    yearly = drawn.false_alarms(alarm)
    about = "" if yearly.expected < LEAST_SHOWN else "about "
    number = rate(yearly.expected)
    text = f"when nothing is wrong: {about}{number} false alarm{'' if number == '1' else 's'} a year"
    if rate(yearly.low) != rate(yearly.high):
        why = f": the reference has {scenario.reference_windows} windows" if scenario.is_read else ""
        text += f" (80 % range {possible(yearly)}{why})"
    improved = drawn.improvements(alarm).expected
    if improved >= LEAST_SHOWN:
        text += f"; and about {rate(improved)} messages a year of an improvement that is not real"
    if alarm.of > 1:
        text += f"; an alarm needs {alarm.after} of {alarm.of} windows degraded"
    lines = [text]
    if len(rules) > 1:
        alone = []
        for name in rules:
            own = drawn.false_alarms(alarm, rules=[name])
            ends = "" if rate(own.low) == rate(own.high) else f" ({possible(own)})"
            alone.append(f"{name} {rate(own.expected)}{ends}")
        lines.append(f"each rule alone: {', '.join(alone)}")
    for name, rule in scenario.rules.items():
        if rule.needs.chart:
            chance, horizon = (settings_of(rule)[key] for key in ("false_alarm_probability", "horizon"))
            lines.append(
                f"{name}: {100 * chance:g} % probability of an alarm within {horizon} windows "
                "when nothing lasts"
            )
            chart = scenario.ranges.charts.get(name)
            doubts = () if chart is None else chart.caveats
            # The season is said once, with the reference.
            lines += [f"{name}: {words_of(caveat)}" for caveat in doubts if caveat.code != "season-not-seen"]
    if sampling := sampling_only(scenario):
        lines.append(
            f"for {' and '.join(sampling)} this counts sampling error only: where the true AUROC "
            "differs between windows, there are more alarms"
        )
    return lines


def guilty(scenario: Scenario | None, drawn: Simulation | None) -> list[str]:
    """Return which rule finds most windows degraded, as a doubt; none where none does."""
    if scenario is None or drawn is None or drawn.window_rate() <= 0.5:
        return []
    rates = {name: drawn.window_rate([name]) for name in drawn.single}
    names = [name for name, share in rates.items() if share > 0.5] or [
        max(rates, key=lambda name: rates[name])
    ]
    text = f"most windows will be found degraded although nothing is wrong: see {' and '.join(names)}"
    for name in names:
        rule, auc = scenario.rules[name], scenario.auc.auc
        if rule.kind == "floor" and settings_of(rule)["value"] >= auc:
            text += f" ({name} {settings_of(rule)['value']:g} is above the AUROC of the reference, {auc:.3f})"
    return [Doubt(text)]


def _found(drawn: Simulation, monitor: Monitor, every: timedelta) -> list[str]:
    """Return how soon a drop is found: a sentence and a table."""
    alarm = monitor.alarm.policy()
    seen = drawn.single_window_drop(power=POWER)
    if seen is None:
        lines = [f"no drop is found in a single window with {100 * POWER:.0f} % probability"]
    else:
        lines = [
            f"a drop by {math.ceil(seen[1] * 1000) / 1000:g} or more is found in "
            f"{'the first' if alarm.after == 1 else 'a single'} window with {100 * POWER:.0f} % probability, "
            f"by {seen[0]}"
        ]
    sizes = [drop for drop in DROPS if drop < drawn.auc]
    detections = [drawn.detections(drop, alarm) for drop in sizes]
    if not (detections and detections[0]):
        return lines if seen is None or seen[1] > 0 else []
    head = ["drop of", *(f"{drop:.2f}" for drop in sizes)]
    rows = [
        [name, *(_cell(by_rule[name], drawn.windows) for by_rule in detections)] for name in detections[0]
    ]
    last = list(detections[0])[-1]
    rows.append(["days", *(_days(by_rule[last], drawn.windows, monitor, every) for by_rule in detections)])
    widths = [max(len(row[at]) for row in (head, *rows)) + 3 for at in range(len(head))]
    table = [
        "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)
    ]
    explained = (
        "windows until a drop that stays is found: in half of all cases (in 80 %); behind it the probability "
        "that a drop of one window alone is found; days include label_delay"
    )
    return [*(lines if seen is None or seen[1] > 0 else []), explained, *map(str.rstrip, table)]


def _cell(detection: Detection, most: int) -> str:
    median, later = (
        f"more than {most}" if windows is None else str(windows) for windows in detection.windows
    )
    times = median if median == later else f"{median} ({later})"
    return f"{times}; {100 * detection.once:.0f} %"


def _days(detection: Detection, most: int, monitor: Monitor, every: timedelta) -> str:
    ends = []
    for windows in detection.windows:
        days = ((windows or most) * every + monitor.window.label_delay) / timedelta(days=1)
        number = f"{days:,.0f}" if days >= 10 else f"{days:.2g}"
        ends.append(f"more than {number}" if windows is None else number)
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} ({ends[1]})"


def on_reference(
    monitor: Monitor,
    windows: Sequence[Window],
    rows: Sequence[Rows],
    ranges: NormalRanges,
    rules: Mapping[str, Rule],
) -> JudgedReference | None:
    """Return what the rules say of the reference windows, each judged like a coming one.

    None where no rule can judge them, or there are fewer than two.
    """
    alarming = [name for name, rule in rules.items() if can_alarm(rule)]
    both = list(zip(rows, windows, strict=True))
    enough = [entry for entry in both if too_few(entry[0].counts, monitor.min_per_class) is None]
    if not alarming or ranges.reference.auc is None or len(enough) < 2:
        return None
    latest = enough[-MOST_JUDGED:]
    least, wanted = monitor.min_per_class, Wanted(probability=monitor.is_probability)
    find = partial(judge, ranges=ranges, rules=rules, min_per_class=least, wanted=wanted)
    findings = [find(rows.champion, None, rows.counts, day=day_of(window)) for rows, window in latest]
    by_rule = {
        name: sum(
            verdict.rule == name and verdict.outcome is Status.DEGRADED
            for one in findings
            for verdict in one.verdicts
        )
        for name in alarming
    }
    which = f"the {len(latest)}" if len(latest) == len(enough) else f"the last {len(latest)}"
    large = "" if len(enough) == len(windows) else " that are large enough"
    pairs = zip(findings, latest, strict=True)
    of_rows = {
        name: [verdict for one in findings for verdict in one.verdicts if verdict.rule == name]
        for name in alarming
        if rules[name].needs.rows
    }
    return JudgedReference(
        windows=len(latest),
        described=f"{which} reference windows{large}",
        by_rule=by_rule,
        degraded=[at.in_zone(monitor.timezone) for one, (_, at) in pairs if one.outcome is Status.DEGRADED],
        margins={name: margins for name, one in of_rows.items() if (margins := margins_of(one)) is not None},
        outcomes={
            name: tuple(CODES.get(verdict.outcome, 0) for verdict in one)
            for name, one in of_rows.items()
            if all(verdict.margin is None and not verdict.lacks for verdict in one)
        },
    )


def budget_lines(allotments: Sequence[Allotment], spendings: Mapping[str, float | None]) -> list[str]:
    """Return each budget, the levels that follow, and the false alarms that are expected with these.

    `spendings` are the false alarms a year expected of all monitors, by name; None: unknown.
    """
    lines = []
    for allotted in allotments:
        lines.append(allotment(allotted))
        own = {name: rate for name, rate in spendings.items() if name in allotted.levels}
        rates = {name: rate for name, rate in own.items() if rate is not None}
        if rates:
            total = sum(rates.values())
            parts = ", ".join(f"{name} {rate:.2g}" for name, rate in rates.items())
            within = "within the budget" if total <= allotted.budget else "more than the budget"
            lines.append(f"expected with these levels: about {total:.2g} a year ({parts}): {within}")
        if missing := [name for name in own if name not in rates]:
            lines.append(f"not counted, because nothing is known of them: {', '.join(missing)}")
        if allotted.written > allotted.budget:
            lines.append(
                f"the levels written in the file alone use {allotted.written:.2g}: leave confidence_level "
                "and false_alarm_probability out, so that they are derived, or raise the budget"
            )
    return lines


def warnings(monitor: Monitor, scenario: Scenario, by_rule: Mapping[str, Early]) -> list[str]:
    """Return a line on the outlook, and one for each rule that reads it."""
    if monitor.outlook is None:
        return []
    rules, reference = scenario.rules, scenario.reference
    sooner = monitor.window.label_delay - monitor.outlook.after
    lines = [f"an outlook of each window comes {duration(sooner)} before its labels are due"]
    mine = {name: rule for name, rule in rules.items() if not rule.needs.labels}
    if reference.history is None or reference.cells is None:
        if own := [caveat.bare() for caveat in reference.caveats if caveat.about[:1] == ("outlook",)]:
            return [f"no window can have an outlook: {words_of(own[0])}"]
        return [
            *lines,
            *(f"how often {name} warns is not known: the reference was not read" for name in mine),
        ]
    return [*lines, *(f"{name}: {_line(warning, sooner)}" for name, warning in by_rule.items())]


def _line(warning: Early, sooner: timedelta) -> str:
    usual = (
        f"about {rate(warning.warnings_a_year)} windows a year warn although nothing is wrong (of what the "
        f"reference leaves possible, one in ten has more than {rate(warning.unlucky_warnings_a_year)}), and "
        f"the labels withdraw about {rate(warning.withdrawn_a_year)} of them"
    )
    losses = {
        "that the scores foretell": warning.foretold,
        "when positives score like negatives": warning.lost,
    }
    seen = [
        f"a loss of {math.ceil(loss * 1000) / 1000:g} {why}"
        for why, loss in losses.items()
        if loss is not None
    ]
    if not seen:
        return f"{usual}; it does not see positives that come to score like negatives"
    return (
        f"{usual}; {' or '.join(seen)} is found with {100 * POWER:.0f} % probability, "
        f"{duration(sooner)} before the labels"
    )
