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
        ForecastFit,
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


class Law(Protocol):
    """The AUROC of a window with its sampling law."""

    @property
    def auc(self) -> float:
        """The estimate."""

    @property
    def sizes(self) -> tuple[int, int]:
        """Positives and negatives, of an estimate those to be expected in the end."""

    def ci(self, confidence_level: float) -> tuple[float, float]:
        """Return the confidence interval of the population's AUROC."""

    def change(self, reference: AucResult, confidence_level: float) -> tuple[float, float, float]:
        """Return the difference to the reference and its interval; DegenerateDataError without scatter."""


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
    sizes: tuple[int, int]

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

    Attributes
    ----------
    law : Law or None
        Of the champion's AUROC; None where nothing can be compared, as `lacks` then says.
    now : WindowAuc or None
        The AUROC and the sizes of the window, for charts; None before the labels.
    sample : Sample or None
        The labelled rows.
    forecasts : dict of str to ForecastInterval
        The normal range for this window, by the rule that asks for it.
    charts : dict of str to LastingChart
        The chart that goes on with this window, likewise.
    derived : collection of str
        Names of the rules whose level comes from a budget: it holds also where the reference windows are too
        few to show it.
    past : Past or None
        The windows before; None for the first one after the reference.
    difference : AucDifference or None
        Challenger minus champion.
    calibration : Calibration or None
        Of scores that are probabilities.
    partly : Caveat or None
        That labels are missing, for rules that need all; None where nothing more is expected.
    lacks : tuple of Caveat
        The reasons why the AUROC cannot be judged.
    expected : ScoreForecast or None
        The AUROC that the scores lead to, for rules that are judged before the labels.
    limits : dict of str to float
        Values that the whole interval of `expected` is compared with: ``floor``, ``forecast``.
    since : sequence of JudgedOutlook
        Windows since the reference that were judged after their outlook, oldest first.
    stated : dict
        Details of every verdict on this evidence.
    """

    law: Law | None
    now: WindowAuc | None
    sample: Sample | None
    forecasts: Mapping[str, ForecastInterval] = field(default_factory=dict)
    charts: Mapping[str, LastingChart] = field(default_factory=dict)
    derived: Collection[str] = ()
    past: Past | None = None
    difference: AucDifference | None = None
    calibration: CalibrationResult | None = None
    partly: Caveat | None = None
    lacks: tuple[Caveat, ...] = ()
    expected: ScoreForecast | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    since: Sequence[JudgedOutlook] = ()
    stated: Mapping[str, Any] = field(default_factory=dict)


class ReferenceWindows(NamedTuple):
    """The windows of a reference that a rule learns from, in any order.

    Attributes
    ----------
    samples : sequence of Sample
    days : sequence of float
        The day on which each starts, for the season.
    ages : sequence of int
        Windows between each and the latest.
    """

    samples: Sequence[Sample]
    days: Sequence[float]
    ages: Sequence[int]


class LearnedReference(Protocol):
    """The questions that a rule may ask of a reference; `rocmonitor.policy.reference` answers them."""

    @property
    def auc(self) -> AucResult | None:
        """The AUROC of the whole period."""

    @property
    def fits(self) -> Mapping[str, ForecastFit]:
        """Fits that give the normal range of any window, by the rule that asks for it."""

    @property
    def cells(self) -> Sample | None:
        """The rows, neighbouring scores joined."""

    @property
    def history(self) -> ScoreHistory | None:
        """A record of which AUROC the scores of its windows led to."""

    @property
    def windows(self) -> Sequence[Mapping[str, Any]]:
        """Its windows with sizes and AUROCs."""

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """Doubts about one rule each, or about the reference."""

    def cost_at(self, w: float) -> float | None:
        """Return its operating condition of the name of `w`; None where there is none."""

    def cost_of(self, w: float) -> tuple[float, tuple[WrongDecisions, int, int]]:
        """Return the threshold of an operating condition, and its errors, positives and negatives there."""


def is_usual(window: Mapping[str, Any]) -> bool:
    """Return True if the AUROC of a reference window shows how far windows differ."""
    return "auc" in window and ABOVE not in window
