"""The normal ranges and charts that a reference gives, at the levels that rules have now.

Where its windows are too few to show the level of a forecast, its range is the one that has it under a
model of the windows (`rocmonitor.stats.series`). With a half-life only a budget asks for that:
windows that count less the older they are do not scatter about one mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType

from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.windows import Window, day_of
from rocmonitor.rules import Rule, settings_of
from rocmonitor.rules.evidence import ABOVE, is_usual
from rocmonitor.stats import ForecastFit, ForecastInterval, LastingChart, WindowAuc, lasting_chart
from rocmonitor.stats.area.delong import moments
from rocmonitor.stats.forecast.kld import Bounds, FollowedBounds
from rocmonitor.stats.lasting.chart import at_probability
from rocmonitor.stats.series import YEAR_DAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalRanges:
    """The ranges and charts of one reference, for many windows; made by `of`."""

    reference: Reference
    derived: Mapping[str, Rule]  # whose levels come from a budget; the others keep those of the reference
    charts: Mapping[str, LastingChart]  # by the name of the rule `lasting`
    bounds: Bounds | None  # of the reference's rows: what sizes of windows have in common is computed once
    level: LastingChart | None = None
    """With which a window is compared to tell the end of a drop; None where the reference windows are too
    few, or show no scatter."""

    @classmethod
    def of(cls, reference: Reference, derived: Mapping[str, Rule] = MappingProxyType({})) -> NormalRanges:
        """Return the ranges of a reference that was frozen for the same rules, at any levels."""
        level = next(iter(reference.charts.values()), None)
        if level is None and reference.cells is not None:
            windows: list[WindowAuc | None] = []
            for window in reference.windows:
                if not is_usual(window):
                    windows.append(None)
                    continue
                day = day_of(Window.from_dict(window)) if "start" in window else None  # or it is counted only
                windows.append(WindowAuc(window["auc"], window["n_pos"], window["n_neg"], day))
            pairs = moments(reference.cells)
            whole = (pairs.auc, pairs.zeta10, pairs.zeta01, pairs.kernel)
            with suppress(DegenerateDataError):
                level = lasting_chart(windows, whole, horizon=1)
        bounds = None if reference.cells is None else FollowedBounds(reference.cells)
        ranges = cls(reference=reference, derived={}, charts=reference.charts, bounds=bounds, level=level)
        return ranges.at(derived)

    def at(self, derived: Mapping[str, Rule]) -> NormalRanges:
        """Return the same with the levels of these rules, too."""
        charts = {
            name: at_probability(chart, settings_of(derived[name])["false_alarm_probability"])
            for name, chart in self.reference.charts.items()
            if name in derived
        }
        return replace(self, derived={**self.derived, **derived}, charts={**self.charts, **charts})

    def range(
        self,
        name: str,
        batch: tuple[int, int] | None = None,
        *,
        day: float | None = None,
        fit: ForecastFit | None = None,
        **more: float,
    ) -> ForecastInterval:
        """Return the normal range by which a rule, which is in `Reference.fits`, judges a window.

        `batch` are its positives and negatives, by default those of the median reference window. Where the
        reference shows a season, the range lies around that of `day`, on which the window starts. `more` are
        `around`, `error` and `scatter` of `ForecastFit.interval`.
        """
        own, cells = self.reference.fits[name], self.reference.cells
        assert cells is not None
        level = settings_of(self.derived[name])["confidence_level"] if name in self.derived else None
        fit = fit or own
        interval = fit.interval(
            cells,
            batch or own.batch,
            confidence_level=level or own.confidence_level,
            day=day if own.season else None,
            full_level=name in self.derived or not fit.weights,
            bounds=self.bounds,
            **more,
        )
        highest = max((window["auc"] for window in self.reference.windows if ABOVE in window), default=0.0)
        return replace(interval, high=highest) if highest > interval.high else interval

    def first(self, day: float | None = None) -> ForecastInterval | None:
        """Return the range of the first rule that has one, for a window of the usual size."""
        name = next(iter(self.reference.fits), None)
        return None if name is None else self.range(name, day=day)

    def over_the_year(self, name: str) -> tuple[float, float] | None:
        """Return the least and the largest AUROC that a range lies around; None without a season."""
        fit = self.reference.fits[name]
        if not fit.season or self.bounds is None:
            return None
        aucs = [fit.auc_at(self.bounds, fit.seasonal_root(month * YEAR_DAYS / 12)) for month in range(12)]
        return min(aucs), max(aucs)
