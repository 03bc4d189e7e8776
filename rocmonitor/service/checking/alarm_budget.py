"""The budget of false alarms beside what the rules are expected to use of it, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rocmonitor.config import Monitor
from rocmonitor.policy.budget import AlarmBudget, Load, Shortfall, shortfalls, tail_probability
from rocmonitor.policy.false_alarms import YEAR, Scenario, false_alarms_a_year
from rocmonitor.policy.rules import by_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What one monitor is expected to use: None where that is not known."""

    load: Load
    false_alarms_per_year: float | None


def spending(monitor: Monitor, scenario: Scenario | None, segments: int) -> Spending:
    """What a monitor with so many segment values judges in a year, and the false alarms expected of it."""
    every, streams, expects = monitor.window.every, 1 + segments, None
    if scenario is not None:
        expects = streams * false_alarms_a_year(scenario, monitor.alarm.policy(), every)
    load = Load(
        monitor=monitor.name,
        windows_per_year=YEAR / every,
        streams=streams,
        rules=by_name(monitor.rules),
        reference_windows=len(monitor.reference_windows),
    )
    return Spending(load=load, false_alarms_per_year=expects)


def budget_lines(budget: AlarmBudget, spendings: Sequence[Spending]) -> list[str]:
    """Budget, expected false alarms, and the levels that would keep to it."""
    loads = [each.load for each in spendings]
    tail, streams = tail_probability(budget, loads), sum(load.streams for load in loads)
    verdicts = sum(load.judgements for load in loads)
    lines = [
        f"{budget.false_alarms_per_year:g} false alarms a year for {_many(len(loads), 'monitor')} and "
        f"{_many(streams, 'stream')}: {verdicts:,.0f} verdicts a year, of which each may be false with "
        f"probability {tail:.2g}"
    ]
    known = {
        each.load.monitor: each.false_alarms_per_year
        for each in spendings
        if each.false_alarms_per_year is not None
    }
    if known:
        total = sum(known.values())
        each = ", ".join(f"{name} {rate:.2g}" for name, rate in known.items())
        within = "within the budget" if total <= budget.false_alarms_per_year else "more than the budget"
        lines.append(f"expected with the configured levels: about {total:.2g} a year ({each}): {within}")
    if missing := [each.load.monitor for each in spendings if each.false_alarms_per_year is None]:
        lines.append(f"not counted, because nothing is known of them: {', '.join(missing)}")
    return [*lines, *map(_advice, shortfalls(budget, loads))]


def _advice(short: Shortfall) -> str:
    text = f"{short.monitor}, {short.rule}: "
    # Rounded up, so that the level that is shown keeps to the budget; as many digits as its tail needs.
    digits = max(3, 2 - math.floor(math.log10(max(1 - short.needed_level, 1e-12))))
    level = math.ceil(short.needed_level * 10**digits - 1e-9) / 10**digits
    if short.confidence_level < short.needed_level - 1e-9:
        text += f"confidence_level {level:.{digits}g} keeps to the budget, "
        text += f"not {short.confidence_level:g}"
    else:
        text += f"confidence_level {short.confidence_level:g} keeps to the budget"
    if short.needed_windows is None:
        return text
    return (
        f"{text}; level {level:.{digits}g} takes {short.needed_windows:,} reference windows, and there are "
        f"{short.reference_windows:,}: choose a longer reference or shorter windows, watch fewer segments, "
        "or raise the budget"
    )


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
