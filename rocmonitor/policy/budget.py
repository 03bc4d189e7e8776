"""A budget of false alarms for many monitors together, and the level of each rule that keeps to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Annotated, ClassVar

from annotated_types import Gt, MinLen

from rocmonitor.errors import InputError
from rocmonitor.halving import halved
from rocmonitor.rules import Rule, can_alarm
from rocmonitor.rules.base import STRICT

YEAR = timedelta(days=365.25)

LEAST_SHARE = 0.1
"""The least share of a budget that derived levels get, however much the written ones use."""

_HALVINGS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBudget:
    """A budget of their own for some monitors."""

    __pydantic_config__: ClassVar[dict[str, str | bool]] = STRICT

    false_alarms_per_year: Annotated[float, Gt(0)]
    monitors: Annotated[tuple[str, ...], MinLen(1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmBudget:
    """The acceptable number of false alarms a year, over all monitors and segments that are in no group."""

    __pydantic_config__: ClassVar[dict[str, str | bool]] = STRICT

    false_alarms_per_year: Annotated[float, Gt(0)]
    groups: dict[str, GroupBudget] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seen: dict[str, str] = {}
        for name, group in self.groups.items():
            for monitor in group.monitors:
                if monitor in seen:
                    raise InputError(
                        f"a monitor has one budget: {monitor} is in {seen[monitor]} and in {name}; keep it "
                        "in one of them"
                    )
                seen[monitor] = name


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The number of windows and segments that one monitor judges in a year."""

    monitor: str
    windows_per_year: float
    segmented: bool  # the segments of one window share one chance of a false alarm
    rules: Mapping[str, Rule]
    written: frozenset[str] = frozenset()  # rules whose level is written in the configuration: they keep it

    @property
    def families(self) -> float:
        """Verdicts a year of one rule that may be false alarms: all rows, and the segments together."""
        return self.windows_per_year * (2 if self.segmented else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """The rules of one monitor at the levels at which they are judged.

    The levels of `derived` come from the budget: these rules are judged by it also where the reference
    windows are too few to show it. With a budget the verdicts on the segments of a window allow for their
    number.
    """

    rules: Mapping[str, Rule]
    derived: Mapping[str, Rule] = field(default_factory=dict)
    budgeted: bool = False

    def for_outlook(self, segments: int) -> Levels:
        """Return the tail of one of several segments, which share the chance of a false warning."""
        if not self.budgeted or segments < 2:
            return self
        rules = {
            name: rule.at_tail(rule.tail / segments) if not rule.needs.labels else rule
            for name, rule in self.rules.items()
        }
        return replace(self, rules=rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allotment:
    """The use of one budget.

    `written` and `expected` are upper bounds, reached when verdicts are independent, reference windows are as
    later ones, and one window makes an alarm. The budget leaves the `uncounted` rules, which alarm and state
    no chance of a false alarm, as they are, and ``check`` counts what they say of simulated windows.
    """

    group: str  # empty for all monitors that are in no group
    budget: float  # false alarms a year
    levels: Mapping[str, Levels]  # by monitor
    tail: float  # chance of a false alarm of a verdict with a derived level, unless its default is smaller
    verdicts: float  # a year that may be false alarms
    written: float  # false alarms a year of the rules with a level of their own
    expected: float  # false alarms a year of all rules
    uncounted: tuple[str, ...] = ()  # as ``RULE of MONITOR``


def allot(budget: float, loads: Sequence[Load], group: str = "") -> Allotment:
    """Derive the levels of the rules that have none of their own.

    Notes
    -----
    All verdicts get the same chance of a false alarm, so that the sum over a year is what the written levels
    leave of the budget: an upper bound whatever the dependence between verdicts (Bonferroni). No rule gets a
    weaker level than its default; what it does not use goes to the others. When the written levels use all,
    the others still share a tenth of the budget.
    """
    raising = [(load, name, rule) for load in loads for name, rule in load.rules.items() if rule.tail > 0]
    written = sum(load.families * rule.tail for load, name, rule in raising if name in load.written)
    free = [(load.families, rule.tail) for load, name, rule in raising if name not in load.written]
    amount = max(budget - written, LEAST_SHARE * budget)
    tail = max((most for _, most in free), default=0.0)
    if sum(families * most for families, most in free) > amount:  # else all keep their defaults

        def is_too_much(chance: float) -> bool:
            return sum(families * min(chance, most) for families, most in free) > amount

        tail, _ = halved(0.0, tail, is_too_much, _HALVINGS)
    levels = {}
    for load in loads:
        derived = {
            name: rule.at_tail(min(tail, rule.tail))
            for owner, name, rule in raising
            if owner is load and name not in load.written
        }
        levels[load.monitor] = Levels(rules={**load.rules, **derived}, derived=derived, budgeted=True)
    return Allotment(
        group=group,
        budget=budget,
        levels=levels,
        tail=tail,
        verdicts=sum(load.families for load, *_ in raising),
        written=written,
        expected=written + sum(families * min(tail, most) for families, most in free),
        uncounted=tuple(
            f"{name} of {load.monitor}"
            for load in loads
            for name, rule in load.rules.items()
            if can_alarm(rule) and not rule.tail
        ),
    )


def allotments(budget: AlarmBudget, loads: Sequence[Load]) -> list[Allotment]:
    """Return each budget with its monitors: first that of all monitors in no group, if there are any."""
    grouped = {monitor: name for name, group in budget.groups.items() for monitor in group.monitors}
    rest = [load for load in loads if load.monitor not in grouped]
    allotted = [allot(budget.false_alarms_per_year, rest)] if rest else []
    for name, group in budget.groups.items():
        own = [load for load in loads if grouped.get(load.monitor) == name]
        allotted.append(allot(group.false_alarms_per_year, own, name))
    return allotted
