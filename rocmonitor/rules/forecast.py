"""Rule `forecast`: the AUROC leaves its normal range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Ge, Gt

from rocmonitor.conventions import Correlation
from rocmonitor.errors import InputError
from rocmonitor.rules.base import AtLevel, Level, Needs, Rule, beyond, settings_of
from rocmonitor.rules.evidence import Evidence, LearnedReference, ReferenceWindows
from rocmonitor.verdict import Verdict

if TYPE_CHECKING:
    from rocmonitor.stats import ForecastFit, Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast(AtLevel):
    """The realised AUROC leaves the forecast interval of the reference ([M18], calibrated by default).

    ``alternative="less"`` looks for a loss only. ``half_life``, in windows, lets recent reference windows
    count for more: one that is `half_life` windows older than the latest counts half.
    ``correlation="estimated"`` widens the interval as far as neighbouring reference windows may be alike;
    with `half_life` nothing is widened. Likewise only without it the interval lies around the
    season that a year and more of reference windows shows. With fewer windows than show `confidence_level`,
    and without `half_life`, the level holds under a model (`rocmonitor.policy.reference`).
    """

    kind: Literal["forecast"] = "forecast"
    method: Literal["calibrated", "binned", "dual", "fixed"] = "calibrated"
    confidence_level: Level = 0.95
    distance: Annotated[float, Ge(0)] | None = None
    alternative: Literal["two-sided", "less"] = "two-sided"
    half_life: Annotated[float, Gt(0)] | None = None
    correlation: Correlation = "estimated"

    @property
    def needs(self) -> Needs:
        """The AUROC of the reference, a normal range, and windows that show how far they differ."""
        return Needs(auc=True, range=True, windows=0 if self.method == "fixed" else 2)

    @property
    def share(self) -> float:  # type: ignore[override]
        """Largest part of the level's miss that is a false alarm."""
        if self.method != "calibrated":
            return 0.0
        return 0.5 if self.alternative == "two-sided" else 1.0

    def learn(self, past: ReferenceWindows, whole: Sample) -> ForecastFit:
        """Return the fit for a batch as large as the median window."""
        from rocmonitor.stats import forecast_fit

        # Around the season of a window, where the reference shows one.
        takes_season = self.method == "calibrated" and self.half_life is None
        return forecast_fit(
            whole,
            windows=None if self.method == "fixed" else past.samples,
            inside=True if self.method == "calibrated" else None,
            distance=self.distance,
            method=self.method,
            confidence_level=self.confidence_level,
            batch=(
                median_low(sample.n_pos for sample in past.samples if sample.n_pos),
                median_low(sample.n_neg for sample in past.samples if sample.n_neg),
            ),
            alternative=self.alternative,
            correlation=self.correlation if takes_season else "none",
            days=past.days if takes_season else None,
            weights=window_weights(self, past.ages),
        )

    def __post_init__(self) -> None:
        if (self.distance is not None) != (self.method == "fixed"):
            raise InputError(
                "distance belongs to method fixed, which needs it; the others find it themselves"
            )
        if self.half_life is not None and self.method != "calibrated":
            raise InputError("half_life belongs to method calibrated: leave one of the two out")

    def _verdict(self, name: str, evidence: Evidence, reference: LearnedReference) -> Verdict:
        """Compare the AUROC with the normal range of the window."""
        assert evidence.now is not None
        interval, auc = evidence.forecasts[name], evidence.now.auc
        details: dict[str, Any] = {"method": interval.method}
        details |= {end: getattr(interval, end) for end in ("sampling_low", "sampling_high")}
        if interval.seasonal_auc is not None:  # by how much the time of year moves what is expected
            details["season"] = interval.seasonal_auc - interval.auc
        by_model = [caveat.values for caveat in interval.caveats if caveat.code == "level-by-model"]
        if by_model:
            details |= {"known_level": by_model[0]["known"], "n_windows": by_model[0]["n_windows"]}
        return Verdict(
            rule=name,
            kind=self.kind,
            outcome=beyond(auc < interval.low, auc > interval.high),
            estimate=auc,
            confidence_level=interval.achieved_level,
            limit=(interval.low, interval.high),
            margin=interval.margin(auc),
            details={**evidence.stated, **details},
        )


def window_weights(rule: Rule, ages: Sequence[int]) -> list[float] | None:
    """Return half as much for every `half_life` windows of age; None where all windows count alike."""
    half_life = settings_of(rule).get("half_life")
    return None if half_life is None else [0.5 ** (age / half_life) for age in ages]
