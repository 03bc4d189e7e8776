"""Rule `lasting`: the AUROC has dropped and stayed down."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Interval

from rocmonitor.conventions import FEWEST_WINDOWS
from rocmonitor.errors import DegenerateDataError
from rocmonitor.rules.base import Needs, Rule
from rocmonitor.rules.evidence import Evidence, LearnedReference, ReferenceWindows
from rocmonitor.verdict import Status, Verdict

if TYPE_CHECKING:
    from rocmonitor.stats import LastingChart, Sample


LEVEL = 0.95
"""The level of the interval of a change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lasting(Rule):
    """The AUROC has dropped and stayed down, over all windows since the reference.

    With ``false_alarm_probability`` some of the first ``horizon`` windows alarms although nothing lasts.
    ``alternative="two-sided"`` looks for a lasting rise, too.
    """

    kind: Literal["lasting"] = "lasting"
    false_alarm_probability: Annotated[float, Interval(ge=0.001, le=0.5)] = 0.05
    horizon: Annotated[int, Interval(ge=1, le=1000)] = 52
    alternative: Literal["two-sided", "less"] = "less"

    needs = Needs(auc=True, chart=True, windows=FEWEST_WINDOWS)

    @property
    def tail(self) -> float:
        """Largest chance of a false alarm on one window: that of the horizon, spread over its windows."""
        return -math.expm1(math.log1p(-self.false_alarm_probability) / self.horizon) / self._sides

    def at_tail(self, tail: float) -> Lasting:
        """Return the rule at the probability at which `tail` is this."""
        within_horizon = -math.expm1(math.log1p(-self._sides * tail) * self.horizon)
        return replace(self, false_alarm_probability=within_horizon)

    @property
    def _sides(self) -> int:
        return 2 if self.alternative == "two-sided" else 1

    def learn(self, past: ReferenceWindows, whole: Sample) -> LastingChart:
        """Return the chart that the windows set up; DegenerateDataError if these are too few or alike."""
        from rocmonitor.stats import WindowAuc, lasting_chart
        from rocmonitor.stats.area.delong import moments

        numbers = [
            WindowAuc(moments(sample).auc, sample.n_pos, sample.n_neg, day)
            if sample.n_pos and sample.n_neg
            else None
            for sample, day in zip(past.samples, past.days, strict=True)
        ]
        numbers = [numbers[place] for place in sorted(range(len(numbers)), key=past.days.__getitem__)]
        if not any(numbers):
            raise DegenerateDataError("no reference window has rows of both classes")
        pairs = moments(whole)
        return lasting_chart(
            numbers,
            (pairs.auc, pairs.zeta10, pairs.zeta01, pairs.kernel),
            false_alarm_probability=self.false_alarm_probability,
            horizon=self.horizon,
            alternative=self.alternative,
        )

    def _verdict(self, name: str, evidence: Evidence, reference: LearnedReference) -> Verdict:
        """Follow the chart up to this window, by default the first one after the reference."""
        from rocmonitor.stats.lasting.windows import ENDS

        chart, now, past = evidence.charts[name], evidence.now, evidence.past
        assert now is not None
        if past is not None:
            now = now._replace(day=past.day)
        numbers = [*(past.numbers if past else ()), now]
        followed = chart.follow(numbers)
        last, sign = float(followed.statistic[-1]), int(followed.alarm[-1])
        change = chart.apply(numbers) if sign else None
        interval = None if change is None else change.ci(LEVEL)
        since: dict[str, str] = {}
        ends = None if change is None else change.since_ci(LEVEL)
        if change is not None and past is not None and change.since is not None and ends is not None:
            names = [past.name(place) for place in (change.since, *ends)]
            since = {
                "unit": past.unit,
                **dict(zip(("since", "since_first", "since_last"), names, strict=True)),
            }
        ahead = abs(last) if chart.alternative == "two-sided" else last
        return Verdict(
            rule=name,
            kind=self.kind,
            outcome={1: Status.DEGRADED, -1: Status.IMPROVED}.get(sign, Status.OK),
            estimate=None if change is None else change.change,
            low=None if interval is None else interval.low,
            high=None if interval is None else interval.high,
            confidence_level=None if interval is None else LEVEL,
            margin=ENDS * chart.limit - sign * last if sign else chart.limit - ahead,
            details={
                "statistic": last,
                "chart_limit": chart.limit,
                "mean_change": float(followed.mean_change[-1]),
                "alarm_change": float(followed.alarm_change[-1]),
                "alternative": chart.alternative,
                "windows": len(numbers),
                "false_alarm_probability": chart.false_alarm_probability,
                "horizon": chart.horizon,
                **since,
                **evidence.stated,
            },
        )
