"""Rule `calibration`: probabilities are shown to be miscalibrated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.rules.base import AtLevel, Level, Needs
from rocmonitor.rules.evidence import Evidence, LearnedReference
from rocmonitor.verdict import Status, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration(AtLevel):
    """The calibration slope or intercept of probabilities is shown to be outside of a range."""

    kind: Literal["calibration"] = "calibration"
    slope: tuple[float, float] | None = None
    intercept: tuple[float, float] | None = None
    confidence_level: Level = 0.95

    needs = Needs(all_labels=True, rows=True, probabilities=True)

    @property
    def share(self) -> float:  # type: ignore[override]
        """Largest part of the level's miss that is a false alarm: both ends of each range are looked at."""
        return float((self.slope is not None) + (self.intercept is not None))

    def __post_init__(self) -> None:
        if self.slope is None and self.intercept is None:
            raise InputError(
                "calibration needs slope, such as [0.8, 1.25], or intercept, such as [-0.2, 0.2]"
            )
        for name, held in (("slope", self.slope), ("intercept", self.intercept)):
            if held is not None and not held[0] < held[1]:
                raise InputError(f"{name} must be two numbers, the lower one first; it is {list(held)}")

    def _verdict(self, name: str, evidence: Evidence, reference: LearnedReference) -> Verdict:
        """Compare slope and intercept with their ranges; the one further outside decides."""
        fit = evidence.calibration
        if fit is None:
            return Verdict.lacking(name, self.kind, Caveat("window-not-probabilities"))
        tested: list[Verdict] = []
        for what, held in (("slope", self.slope), ("intercept", self.intercept)):
            value = getattr(fit, what)
            if held is None or value is None:
                continue
            low, high = getattr(fit, f"{what}_ci")(self.confidence_level)
            inside = min(high - held[0], held[1] - low)
            tested.append(
                Verdict(
                    rule=name,
                    kind=self.kind,
                    outcome=Status.DEGRADED if inside < 0 else Status.OK,
                    estimate=value,
                    low=low,
                    high=high,
                    confidence_level=self.confidence_level,
                    limit=held,
                    margin=inside,
                    details={"what": what},
                )
            )
        if not tested:
            return Verdict.lacking(name, self.kind, Caveat("no-calibration-slope"))
        worst = min(tested, key=lambda verdict: verdict.margin or 0.0)
        values = {verdict.details["what"]: verdict.estimate for verdict in tested}
        return replace(worst, details=worst.details | values)
