"""The common part of every rule: name, settings, needs, and how often it may be wrong.

Rules import statistics where they apply them: the configuration imports all rules, and commands that read the
store only must not wait for numpy and scipy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from annotated_types import Interval

from rocmonitor.caveat import Caveat
from rocmonitor.conventions import ENOUGH_WINDOWS
from rocmonitor.rules.evidence import Evidence, LearnedReference, ReferenceWindows
from rocmonitor.verdict import Status, Verdict

if TYPE_CHECKING:
    from rocmonitor.stats import ForecastFit, LastingChart, Sample


Level = Annotated[float, Interval(gt=0.5, lt=1)]
STRICT: dict[str, str | bool] = {
    "extra": "forbid",
    "allow_inf_nan": False,
}  # for pydantic, which reads these from the configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """The data without which a rule cannot be applied."""

    labels: bool = True  # else it is judged on an outlook, from scores alone
    all_labels: bool = False  # an estimate from part of them is not enough
    auc: bool = False  # of the reference, which that of the window is compared with
    range: bool = False  # normal for the window, learned from the reference windows
    chart: bool = False  # learned from the reference windows, and the windows since then
    history: bool = False  # of which AUROC the scores of reference windows led to
    rows: bool = False  # of the window, not only its AUROC and the size of its classes
    windows: int = 0  # of the reference, with both classes
    challenger: bool = False
    probabilities: bool = False
    costs: tuple[float, ...] = ()  # operating conditions at which the reference's threshold must be known


class Rule(ABC):
    """A rule as configured: a frozen dataclass whose fields are the keys of the configuration."""

    __slots__ = ()

    __pydantic_config__: ClassVar[dict[str, str | bool]] = STRICT

    @property
    @abstractmethod
    def kind(self) -> str:
        """The name of the kind in the configuration."""

    @property
    def needs(self) -> Needs:
        """The data without which the rule cannot be applied."""
        return Needs()

    @property
    def tail(self) -> float:
        """Largest chance that the rule finds one good window degraded, or warns of it; 0 if unknown."""
        return 0.0

    def at_tail(self, tail: float) -> Self:
        """Return the rule at the level at which `tail` is this; of a rule that has one."""
        raise NotImplementedError(f"{self.kind} has no level")

    def learn(self, past: ReferenceWindows, whole: Sample) -> ForecastFit | LastingChart | None:
        """Return what a rule that needs a range or a chart learns; DegenerateDataError if that fails."""
        return None

    def judge(self, name: str, evidence: Evidence, reference: LearnedReference) -> Verdict:
        """Judge a window, or say why the rule cannot."""
        needs, lacks = self.needs, tuple[Caveat, ...]()
        no_range = needs.range and name not in evidence.forecasts
        if evidence.partly is not None and needs.all_labels:
            lacks = (evidence.partly,)
        elif evidence.lacks and not (needs.challenger or needs.all_labels):
            lacks = evidence.lacks
        elif needs.rows and evidence.sample is None and evidence.calibration is None:
            lacks = (Caveat("no-rows"),)
        elif evidence.partly is not None and no_range:
            lacks = (evidence.partly,)
        elif (
            no_range
            or (needs.chart and name not in evidence.charts)
            or (needs.auc and not (needs.range or needs.chart) and reference.auc is None)
            or any(reference.cost_at(w) is None for w in needs.costs)
        ):
            own = tuple(caveat.bare() for caveat in reference.caveats if caveat.about[:1] == (name,))
            lacks = own or reference.caveats or (Caveat("segment-not-in-reference"),)
        if lacks:
            return Verdict.lacking(name, self.kind, *lacks)
        return self._verdict(name, evidence, reference)

    def _verdict(self, name: str, evidence: Evidence, reference: LearnedReference) -> Verdict:
        """Judge evidence that has all that the rule needs."""
        raise NotImplementedError


class AtLevel(Rule):
    """A rule that alarms at a confidence level."""

    __slots__ = ()

    share = 1.0
    """Largest part of the level's miss that makes a good window a false alarm; 0 without a known level."""

    @property
    def tail(self) -> float:
        """Largest chance that the rule finds one good window degraded, or warns of it; 0 if unknown."""
        rule: Any = self  # whose fields belong to its dataclass
        return float((1 - rule.confidence_level) * self.share)

    def at_tail(self, tail: float) -> Self:
        """Return the rule at the level at which `tail` is this; of a rule that has one."""
        rule: Any = self
        strict: Self = replace(rule, confidence_level=1 - tail / self.share)
        return strict


class TwoSided(AtLevel):
    """A rule whose interval misses on two sides, of which one is an alarm."""

    __slots__ = ()

    share = 0.5


class BeforeLabels(AtLevel):
    """A rule that is judged from scores, and warns before the labels come."""

    __slots__ = ()

    needs = Needs(labels=False, history=True, windows=ENOUGH_WINDOWS)


def settings_of(rule: Rule) -> dict[str, Any]:
    """Return the keys of the configuration with their values, `kind` first."""
    frozen: Any = rule  # a dataclass
    return {field.name: getattr(rule, field.name) for field in fields(frozen)}


def can_alarm(rule: Rule) -> bool:
    """Return True if the rule can find a window degraded; others report, or warn before the labels."""
    return rule.needs.labels and not rule.needs.challenger


def highest_floor(rules: Iterable[Rule]) -> float | None:
    """Return the highest AUROC that some rule calls too low, or None."""
    return max((settings_of(rule)["value"] for rule in rules if rule.kind == "floor"), default=None)


def beyond(below: bool, above: bool) -> Status:
    """Return the outcome of a value below its lower or above its upper limit."""
    return Status.DEGRADED if below else Status.IMPROVED if above else Status.OK


def is_shown(name: str, evidence: Evidence, level: float, achieved: float) -> bool:
    """Return True if a rule is judged at the level that the reference windows show."""
    from rocmonitor.stats.forecast.calibration import LEVEL_ROUNDING

    return name not in evidence.derived or achieved >= level - LEVEL_ROUNDING
