"""Evidence: the single value that a rule judges, whichever way a window became known."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from rocmonitor.caveat import Caveat

if TYPE_CHECKING:
    from rocmonitor.stats import (
        AucDifference,
        AucResult,
        CalibrationResult,
        ForecastInterval,
        LastingChart,
        PartlyLabelledAuc,
        Sample,
        ScoreForecast,
        ScoreHistory,
        WindowAuc,
    )
    from rocmonitor.stats.cost.conditions import WrongDecisions
    from rocmonitor.stats.forecast.learning import JudgedOutlook
    from rocmonitor.stats.forecast.partial_labels import LabelErrors


ABOVE = "above"
"""Key of a reference window whose AUROC lies far above the others: the chance of one so high."""


@dataclass(frozen=True, slots=True)
class AllLabels:
    """The law of an AUROC from all labels that there are."""

    of: AucResult

    @property
    def auc(self) -> float:
        """The estimate."""
        return self.of.auc

    @property
    def sizes(self) -> tuple[int, int]:
        """Positives and negatives."""
        return self.of.n_pos, self.of.n_neg

    def ci(self, confidence_level: float) -> tuple[float, float]:
        """Return the confidence interval of the population's AUROC."""
        low, high = self.of.ci(confidence_level)
        return low, high

    def change(self, reference: AucResult, confidence_level: float) -> tuple[float, float, float]:
        """Return the difference to the reference and its interval; DegenerateDataError without scatter."""
        from rocmonitor.stats import compare_auc

        difference = compare_auc(self.of, reference)
        low, high = difference.ci(confidence_level)
        return difference.difference, low, high


@dataclass(frozen=True, slots=True)
class PartOfLabels:
    """The law of an AUROC estimated from part of the labels, by the errors of past estimates."""

    of: PartlyLabelledAuc
    errors: LabelErrors
    sizes: tuple[int, int]  # to be expected in the end

    @property
    def auc(self) -> float:
        """The estimate."""
        return self.of.auc

    def ci(self, confidence_level: float) -> tuple[float, float]:
        """Return the confidence interval of the population's AUROC."""
        return self.errors.ci(self.of, confidence_level)

    def change(self, reference: AucResult, confidence_level: float) -> tuple[float, float, float]:
        """Return the difference to the reference and its interval; DegenerateDataError without scatter."""
        low, high = self.errors.ci(self.of, confidence_level, minus=reference.auc, minus_se=reference.se)
        return self.of.auc - reference.auc, low, high


class Past(Protocol):
    """The windows between the reference and the one that is judged."""

    @property
    def numbers(self) -> Sequence[WindowAuc | None]:
        """The AUROC of each window before the one that is judged, oldest first."""

    @property
    def day(self) -> float:
        """The day on which the judged window starts, for the season."""

    @property
    def unit(self) -> str:
        """The name of one window."""

    def name(self, place: int) -> str:
        """Return the start of a window, as a person writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The content of a window, as far as rules ask for it.

    The levels of the rules in `derived` come from a budget: they hold also where the reference windows are
    too few to show them.
    """

    law: AllLabels | PartOfLabels | None  # None where nothing can be compared, as `lacks` then says
    now: WindowAuc | None  # for charts; None before the labels
    sample: Sample | None  # the labelled rows
    forecasts: Mapping[str, ForecastInterval] = field(default_factory=dict)  # by rule, as the charts
    charts: Mapping[str, LastingChart] = field(default_factory=dict)
    derived: Collection[str] = ()
    past: Past | None = None  # None for the first window after the reference
    difference: AucDifference | None = None  # challenger minus champion
    calibration: CalibrationResult | None = None
    partly: Caveat | None = None  # that labels are missing; None where nothing more is expected
    lacks: tuple[Caveat, ...] = ()  # why the AUROC cannot be judged
    expected: ScoreForecast | None = None  # for rules that are judged before the labels
    limits: Mapping[str, float] = field(default_factory=dict)  # of the whole interval of `expected`
    since: Sequence[JudgedOutlook] = ()  # windows since the reference that had an outlook, oldest first
    stated: Mapping[str, Any] = field(default_factory=dict)  # in every verdict on this evidence


class ReferenceWindows(NamedTuple):
    """The windows of a reference that a rule learns from, in any order."""

    samples: Sequence[Sample]
    days: Sequence[float]  # on which each starts, for the season
    ages: Sequence[int]  # windows between each and the latest


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedReference:
    """The part of a `rocmonitor.policy.reference.Reference` that a rule may ask."""

    auc: AucResult | None  # None when the period has fewer than two rows of a class
    cells: Sample | None = None  # rows for later batches, neighbouring scores joined; None without an AUC
    history: ScoreHistory | None = None  # what the windows show of forecasts from scores
    cost_thresholds: dict[float, float] = field(default_factory=dict)  # that cost least, by condition w
    cost_errors: dict[float, WrongDecisions] = field(default_factory=dict)
    """The wrong decisions of the reference, each part of it at the threshold that the others choose."""
    windows: list[dict[str, Any]] = field(default_factory=list)
    caveats: tuple[Caveat, ...] = ()  # about one rule each, or about ``reference``

    def cost_at(self, w: float) -> float | None:
        """Return the operating condition of the reference that is written as `w`, or None."""
        return next((condition for condition in self.cost_thresholds if f"{condition:g}" == f"{w:g}"), None)

    def cost_of(self, w: float) -> tuple[float, tuple[WrongDecisions, int, int]]:
        """Return the threshold of an operating condition, and its errors, positives and negatives there."""
        at = self.cost_at(w)
        assert at is not None
        assert self.auc is not None
        return self.cost_thresholds[at], (self.cost_errors[at], self.auc.n_pos, self.auc.n_neg)


def is_usual(window: Mapping[str, Any]) -> bool:
    """Return True if the AUROC of a reference window shows how far windows differ."""
    return "auc" in window and ABOVE not in window
