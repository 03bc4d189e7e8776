"""A budget of false alarms for all monitors together, and the level of each rule that keeps to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Gt

from rocmonitor.errors import InputError
from rocmonitor.policy.rules import Drop, Floor, Forecast, Rule
from rocmonitor.stats.forecast.calibration import windows_needed

_LEAST_LEVEL = 0.5
"""Rules take no lower level: a budget beyond that asks for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmBudget:
    """How many false alarms a year are acceptable, over all monitors and segments."""

    __pydantic_config__: ClassVar[dict[str, str | bool]] = {"extra": "forbid", "allow_inf_nan": False}

    false_alarms_per_year: Annotated[float, Gt(0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one monitor judges in a year.

    Attributes
    ----------
    monitor : str
    windows_per_year : float
    streams : int
        All rows together, and each segment value.
    rules : dict of str to Rule
        By name, as from `rocmonitor.policy.rules.by_name`.
    reference_windows : int
        Windows that a calibrated forecast learns from.
    """

    monitor: str
    windows_per_year: float
    streams: int
    rules: Mapping[str, Rule]
    reference_windows: int

    @property
    def counted(self) -> dict[str, Forecast | Floor | Drop]:
        """The rules that raise alarms at a level."""
        return {name: rule for name, rule in self.rules.items() if has_level(rule)}  # type: ignore[misc]

    @property
    def judgements(self) -> float:
        """Verdicts a year that may be false alarms."""
        return self.windows_per_year * self.streams * len(self.counted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """A rule whose level does not keep to the budget, or whose reference is too short for the one that does.

    Attributes
    ----------
    monitor, rule : str
    confidence_level, needed_level : float
        As configured, and as the budget needs it.
    needed_windows : int or None
        Reference windows that `needed_level` takes, where there are fewer; None where there are enough, and
        for rules that learn from none.
    reference_windows : int
    """

    monitor: str
    rule: str
    confidence_level: float
    needed_level: float
    needed_windows: int | None
    reference_windows: int


def has_level(rule: Rule) -> bool:
    """Whether the level of a rule says how often it alarms when nothing is wrong."""
    return isinstance(rule, Floor | Drop) or (isinstance(rule, Forecast) and rule.method == "calibrated")


def tail_probability(budget: AlarmBudget, loads: Sequence[Load]) -> float:
    """The chance of a false alarm that each verdict may have.

    Raises
    ------
    InputError
        No rule of any monitor has a level.

    Notes
    -----
    The budget over the verdicts of a year: an upper bound of the alarms, whatever the dependence between
    verdicts (Bonferroni), and close to them when verdicts are independent and ``alarm`` is 1 of 1.
    """
    total = sum(load.judgements for load in loads)
    if not total:
        raise InputError(
            "alarm_budget.false_alarms_per_year: no monitor has a rule with a confidence level (forecast "
            "with method calibrated, floor, drop), so nothing can be derived from it; add such a rule, or "
            "leave alarm_budget out"
        )
    return min(budget.false_alarms_per_year / total, 1.0)


def level_for(rule: Rule, tail: float) -> float:
    """The confidence level at which a rule finds a good window degraded with the chance `tail`.

    Of a two-sided interval only the lower side is an alarm: its level is 1 - 2 `tail`.
    """
    sides = 1 if isinstance(rule, Forecast) and rule.alternative == "less" else 2
    return max(1 - sides * tail, _LEAST_LEVEL)


def shortfalls(budget: AlarmBudget, loads: Sequence[Load]) -> Iterator[Shortfall]:
    """The rules that do not keep to the budget, in the order of the monitors."""
    tail = tail_probability(budget, loads)
    for load in loads:
        for name, rule in load.counted.items():
            needed, windows = level_for(rule, tail), None
            if isinstance(rule, Forecast):
                enough = windows_needed(needed)
                windows = enough if enough > load.reference_windows else None
            if rule.confidence_level < needed - 1e-9 or windows is not None:
                yield Shortfall(
                    monitor=load.monitor,
                    rule=name,
                    confidence_level=rule.confidence_level,
                    needed_level=needed,
                    needed_windows=windows,
                    reference_windows=load.reference_windows,
                )
