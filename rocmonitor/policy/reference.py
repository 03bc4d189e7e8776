"""The reference: the period that later windows are compared with, reduced to what the rules need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.measure import LEVEL
from rocmonitor.policy.rules import Forecast, Rule
from rocmonitor.policy.windows import Window
from rocmonitor.stats import AucResult, ForecastInterval, Sample, auc, forecast_interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A reference period of one segment, frozen when it was first computed.

    Attributes
    ----------
    auc : AucResult or None
        Of the whole period; None when it has fewer than two rows of a class.
    forecasts : dict of str to ForecastInterval
        By the name of the rule that asks for it; a rule is missing when its interval cannot be computed.
    windows : list of dict
        ``start, end, n_pos, n_neg`` of each reference window.
    caveats : tuple of str
    """

    auc: AucResult | None
    forecasts: dict[str, ForecastInterval] = field(default_factory=dict)
    windows: list[dict[str, Any]] = field(default_factory=list)
    caveats: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        plain: dict[str, Any] = {
            "auc": None,
            "forecasts": {name: interval.to_dict() for name, interval in self.forecasts.items()},
            "windows": self.windows,
            "caveats": list(self.caveats),
        }
        if self.auc is not None:
            low, high = self.auc.ci(LEVEL, transform="logit")
            plain["auc"] = self.auc.to_dict() | {"low": low, "high": high}
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Reference:
        """The inverse of `to_dict`."""
        whole = plain["auc"]
        return cls(
            auc=None if whole is None else AucResult(**_known(AucResult, whole)),
            forecasts={
                name: ForecastInterval(**_known(ForecastInterval, interval))
                for name, interval in plain["forecasts"].items()
            },
            windows=list(plain["windows"]),
            caveats=tuple(plain["caveats"]),
        )


def _known(kind: type, plain: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `kind`, with lists of JSON made tuples again."""
    return {
        field.name: tuple(value) if isinstance(value := plain[field.name], list) else value
        for field in fields(kind)
    }


def freeze(windows: Sequence[tuple[Window, Sample]], rules: Mapping[str, Rule]) -> Reference:
    """Reduce the reference windows of one segment to what `rules` need.

    A rule whose interval cannot be computed on these windows is left out, with a caveat that says why.
    """
    samples = [sample for _, sample in windows]
    told = [
        {
            "start": window.start.isoformat(),
            "end": window.end.isoformat(),
            "n_pos": sample.n_pos,
            "n_neg": sample.n_neg,
        }
        for window, sample in windows
    ]
    try:
        whole = Sample.merge(samples)
        overall = auc(whole)
    except DegenerateDataError as error:
        return Reference(auc=None, windows=told, caveats=(f"reference: {error}",))
    forecasts, caveats = {}, list(overall.caveats)
    for name, rule in rules.items():
        if not isinstance(rule, Forecast):
            continue
        try:
            forecasts[name] = forecast_interval(
                whole,
                windows=None if rule.method == "fixed" else samples,
                distance=rule.distance,
                method=rule.method,
                confidence_level=rule.confidence_level,
            )
        except DegenerateDataError as error:
            caveats.append(f"{name}: {error}")
    return Reference(auc=overall, forecasts=forecasts, windows=told, caveats=tuple(dict.fromkeys(caveats)))
