"""Rules: what counts as an alarm, as configured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, ClassVar, Literal, get_args

from annotated_types import Ge, Gt, Interval

from rocmonitor.errors import InputError
from rocmonitor.stats.dependence import Correlation

Level = Annotated[float, Interval(gt=0.5, lt=1)]
_STRICT: dict[str, str | bool] = {
    "extra": "forbid",
    "allow_inf_nan": False,
}  # for pydantic, which reads these from the configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The realised AUROC leaves the forecast interval of the reference ([M18], calibrated by default).

    ``alternative="less"`` looks for a loss only. ``half_life``, in windows, lets recent reference windows
    count for more: one that is `half_life` windows older than the latest counts half. ``given="scores"``
    compares with the forecast given the window's scores: sharper, and blind to a loss that they explain.
    ``correlation="estimated"`` widens the interval as far as neighbouring reference windows may be alike;
    with `half_life` or `given` nothing is widened. Likewise only without them the interval lies around the
    season that a year and more of reference windows shows. With fewer windows than show `confidence_level`,
    and without `half_life`, the level holds under a model (`rocmonitor.policy.levels`).
    """

    __pydantic_config__: ClassVar[dict[str, str | bool]] = _STRICT

    kind: Literal["forecast"] = "forecast"
    method: Literal["calibrated", "binned", "dual", "fixed"] = "calibrated"
    confidence_level: Level = 0.95
    distance: Annotated[float, Ge(0)] | None = None
    alternative: Literal["two-sided", "less"] = "two-sided"
    half_life: Annotated[float, Gt(0)] | None = None
    given: Literal["scores"] | None = None
    correlation: Correlation = "estimated"

    @property
    def widens(self) -> bool:
        """Whether the interval allows for neighbouring windows that are alike."""
        return self.takes_season and self.correlation == "estimated"

    @property
    def takes_season(self) -> bool:
        """Whether the interval lies around the season of a window, where the reference shows one."""
        return self.method == "calibrated" and self.half_life is None and self.given is None

    def __post_init__(self) -> None:
        if (self.distance is not None) != (self.method == "fixed"):
            raise InputError(
                "distance belongs to method fixed, which needs it; the others find it themselves"
            )
        if self.half_life is not None and self.method != "calibrated":
            raise InputError("half_life belongs to method calibrated: leave one of the two out")
        if self.given is not None and (self.method != "calibrated" or self.half_life is not None):
            raise InputError("given belongs to method calibrated without half_life: leave one of the two out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """The whole confidence interval of the AUROC lies below a value."""

    __pydantic_config__: ClassVar[dict[str, str | bool]] = _STRICT

    kind: Literal["floor"] = "floor"
    value: Annotated[float, Interval(gt=0, lt=1)]
    confidence_level: Level = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """The AUROC is lower than the reference's by more than `value`, both uncertainties counted."""

    __pydantic_config__: ClassVar[dict[str, str | bool]] = _STRICT

    kind: Literal["drop"] = "drop"
    value: Annotated[float, Interval(ge=0, lt=1)] = 0.0
    confidence_level: Level = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenger:
    """The challenger's AUROC against the champion's on the same rows; reported, never an alarm."""

    __pydantic_config__: ClassVar[dict[str, str | bool]] = _STRICT

    kind: Literal["challenger"] = "challenger"
    confidence_level: Level = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Lasting:
    """The AUROC has dropped and stayed down, over all windows since the reference.

    With ``false_alarm_probability`` some of the first ``horizon`` windows alarms although nothing lasts.
    ``alternative="two-sided"`` looks for a lasting rise, too. ``given="scores"`` judges what is left when
    the scores are accounted for: sharper, and blind to a loss that they explain.
    """

    __pydantic_config__: ClassVar[dict[str, str | bool]] = _STRICT

    kind: Literal["lasting"] = "lasting"
    false_alarm_probability: Annotated[float, Interval(ge=0.001, le=0.5)] = 0.05
    horizon: Annotated[int, Interval(ge=1, le=1000)] = 52
    alternative: Literal["two-sided", "less"] = "less"
    given: Literal["scores"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The champion's normalised cost at the operating condition `w` is shown to be too high.

    Above `value`, or above that of the reference by more than `margin`, both uncertainties counted: one of
    the two.
    """

    __pydantic_config__: ClassVar[dict[str, str | bool]] = _STRICT

    kind: Literal["cost"] = "cost"
    w: Annotated[float, Interval(ge=0, le=1)]
    value: Annotated[float, Interval(gt=0, lt=1)] | None = None
    margin: Annotated[float, Interval(ge=0, lt=1)] | None = None
    confidence_level: Level = 0.95

    def __post_init__(self) -> None:
        if (self.value is None) == (self.margin is None):
            raise InputError(
                "cost needs value (it is above) or margin (it is above the reference's by more), one of them"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The calibration slope or intercept of probabilities is shown to be outside of a range."""

    __pydantic_config__: ClassVar[dict[str, str | bool]] = _STRICT

    kind: Literal["calibration"] = "calibration"
    slope: tuple[float, float] | None = None
    intercept: tuple[float, float] | None = None
    confidence_level: Level = 0.95

    def __post_init__(self) -> None:
        if self.slope is None and self.intercept is None:
            raise InputError(
                "calibration needs slope, such as [0.8, 1.25], or intercept, such as [-0.2, 0.2]"
            )
        for name, held in (("slope", self.slope), ("intercept", self.intercept)):
            if held is not None and not held[0] < held[1]:
                raise InputError(f"{name} must be two numbers, the lower one first; it is {list(held)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The law of the scores has left what reference windows do to one another; judged without labels."""

    __pydantic_config__: ClassVar[dict[str, str | bool]] = _STRICT

    kind: Literal["scores"] = "scores"
    confidence_level: Level = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """The AUROC expected from the scores is lower than in the reference windows; judged without labels.

    It also warns when the whole interval of the outlook lies below a ``floor`` of the monitor, or below the
    forecast that leaves the scores aside.
    """

    __pydantic_config__: ClassVar[dict[str, str | bool]] = _STRICT

    kind: Literal["outlook"] = "outlook"
    confidence_level: Level = 0.95


Rule = Forecast | Lasting | Floor | Drop | Cost | Calibration | Challenger | Scores | Outlook
KINDS: tuple[str, ...] = tuple(
    str(one.default) for each in get_args(Rule) for one in fields(each) if one.name == "kind"
)
"""Of all rules, as configured."""


def before_labels(rule: Rule) -> bool:
    """Whether a rule is judged on an outlook; the others need labels."""
    return isinstance(rule, Scores | Outlook)


def by_name(rules: Sequence[Rule]) -> dict[str, Rule]:
    """The rules by name: the kind, numbered from the second of a kind on (``floor``, ``floor_2``)."""
    names: dict[str, Rule] = {}
    for rule in rules:
        same = sum(other.kind == rule.kind for other in names.values())
        names[f"{rule.kind}_{same + 1}" if same else rule.kind] = rule
    return names
