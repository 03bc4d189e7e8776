"""The rule of a review, as configured before the first check."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from annotated_types import Ge, Interval

from rocmonitor.conventions import Correlation, Estimand
from rocmonitor.errors import InputError
from rocmonitor.policy.record import digest_of
from rocmonitor.rules.base import STRICT, Level

if TYPE_CHECKING:
    from rocmonitor.stats import OperatingCondition

NEXT = (4, 13)
"""Numbers of coming windows whose mean difference is predicted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """Cost of an error of each kind where the model is used, in one unit; savings are given in it."""

    __pydantic_config__: ClassVar[dict[str, str | bool]] = STRICT

    false_positive: Annotated[float, Ge(0)]
    false_negative: Annotated[float, Ge(0)]
    prevalence: Annotated[float, Interval(gt=0, lt=1)]
    unit: str = ""
    decisions: Annotated[int, Ge(1)] = 1000

    def __post_init__(self) -> None:
        if not self.false_positive and not self.false_negative:
            raise InputError(
                "no error costs anything: false_positive and false_negative are 0; give one of them a cost "
                "above 0"
            )

    def condition(self) -> OperatingCondition:
        """Return the same, as the statistics take it."""
        from rocmonitor.stats import OperatingCondition  # slow to import, and costs are optional

        return OperatingCondition(
            false_positive=self.false_positive,
            false_negative=self.false_negative,
            prevalence=self.prevalence,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRule:
    """The written rule of the decision.

    Each window is one check. The AUROC difference (challenger minus champion) has a confidence sequence at
    half of 1 - `confidence_level`, and the TPR difference at each of `fpr` has one at an equal share of the
    other half. Without `fpr` the AUROC has all of 1 - `confidence_level`. With probability
    `confidence_level` all of them contain the true differences at all checks together:

    - `decides` "period": their average over the windows so far, however windows differ or depend;
    - `decides` "future": their mean in the long run, nearly so if neighbouring windows are alike, with
      `correlation` "none" only if windows are independent.

    The decision is the first of these that is shown:

    - trade-off: one model is better by one comparison, the other model by another;
    - challenger better, champion better: by more than `margin` in AUROC;
    - challenger not worse: by more than `margin`, if that is above 0;
    - no decision yet: none of the above.
    """

    decides: Estimand = "period"  # what the decision is about
    margin: float = 0.0  # the smallest AUROC difference that matters
    confidence_level: Level = 0.95  # of all checks and all comparisons together
    fpr: tuple[float, ...] = ()  # false positive rates at which a trade-off may show
    tuned_for: int = 8  # windows at which the sequences are narrowest; fixed before the first check
    correlation: Correlation = "estimated"
    """The serial correlation of windows that the sequences allow for, if "future" is decided; see
    `rocmonitor.stats.confidence_sequence`."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; `correlation` only where it matters."""
        plain = asdict(self) | {"fpr": list(self.fpr)}
        if self.decides == "period":
            del plain["correlation"]
        return plain

    @property
    def digest(self) -> str:
        """The name of the rule: another rule, another digest."""
        return digest_of(self.to_dict())


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSettings:
    """The rule of a review, and the settings of everything else that it reports."""

    rule: ReviewRule = ReviewRule()
    min_per_class: int = 50  # a window with fewer rows, scored by both, is listed but not checked
    thresholds: tuple[float, ...] = ()  # compared as given: the same number for both models
    w: tuple[float, ...] = ()  # operating conditions of the cost difference
    money: tuple[Money, ...] = ()
    flagged: int = 101  # shares, evenly spread, at which thresholds that flag equally many are compared
    n_resamples: int = 999  # of the simultaneous band
