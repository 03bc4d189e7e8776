"""The budgets of false alarms beside what the rules are expected to use of them, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from rocmonitor.config import Monitor
from rocmonitor.policy.budget import Allotment
from rocmonitor.policy.false_alarms import false_alarms_a_year
from rocmonitor.policy.scenario import Scenario
from rocmonitor.wording.budget import allotment


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What one monitor is expected to use: None where that is not known."""

    monitor: str
    false_alarms_per_year: float | None


def spending(monitor: Monitor, scenario: Scenario | None, every: timedelta) -> Spending:
    """The false alarms that are expected of a monitor; its segments together add as many as all rows.

    A window lasts `every`.
    """
    if scenario is None:
        return Spending(monitor=monitor.name, false_alarms_per_year=None)
    families = 2 if monitor.segments else 1
    alone = false_alarms_a_year(scenario, monitor.alarm.policy(), every)
    return Spending(monitor=monitor.name, false_alarms_per_year=families * alone)


def budget_lines(allotments: Sequence[Allotment], spendings: Sequence[Spending]) -> list[str]:
    """Each budget, the levels that follow, and the false alarms that are expected with these."""
    return [line for each in allotments for line in _lines(each, spendings)]


def _lines(each: Allotment, spendings: Sequence[Spending]) -> list[str]:
    lines = [allotment(each)]
    own = [one for one in spendings if one.monitor in each.levels]
    known = {one.monitor: rate for one in own if (rate := one.false_alarms_per_year) is not None}
    if known:
        total = sum(known.values())
        parts = ", ".join(f"{name} {rate:.2g}" for name, rate in known.items())
        within = "within the budget" if total <= each.budget else "more than the budget"
        lines.append(f"expected with these levels: about {total:.2g} a year ({parts}): {within}")
    if missing := [one.monitor for one in own if one.false_alarms_per_year is None]:
        lines.append(f"not counted, because nothing is known of them: {', '.join(missing)}")
    if each.written > each.budget:
        lines.append(
            f"the levels written in the file alone use {each.written:.2g}: leave confidence_level and "
            "false_alarm_probability out, so that they are derived, or raise the budget"
        )
    return lines
