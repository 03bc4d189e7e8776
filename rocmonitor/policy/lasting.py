"""Rule `lasting`: has the AUROC dropped and stayed down, over all windows since the reference?

The rule reads the windows before the one that is judged as numbers, never their rows. It starts anew when
another version becomes the champion, and corrected numbers of an old window change what is found later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.evaluation import Point, Status, Verdict
from rocmonitor.policy.measure import LEVEL
from rocmonitor.policy.rules import Lasting
from rocmonitor.policy.windows import Window
from rocmonitor.stats import AucResult, LastingChange, LastingChart, Sample, WindowAuc, lasting_chart
from rocmonitor.stats.area.variances import moments

_DAY = timedelta(days=1)
_UNITS = {7 * _DAY: "week", _DAY: "day"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The windows since the reference under one champion, up to the one that is judged; oldest first.

    Attributes
    ----------
    windows : tuple of Window
        The last one is judged.
    numbers : tuple of WindowAuc or None
        Of all but the last; None for one that could not be measured, or has too few labels.
    zone : ZoneInfo
        In which their starts are written.
    """

    windows: tuple[Window, ...]
    numbers: tuple[WindowAuc | None, ...] = ()
    zone: ZoneInfo

    def name(self, place: int) -> str:
        """When a window starts, as a person in the zone writes it; a midnight as a plain date."""
        start = self.windows[place].start.astimezone(self.zone)
        return f"{start:%Y-%m-%d}" if start.time() == time() else f"{start:%Y-%m-%d %H:%M}"

    @property
    def unit(self) -> str:
        """What one window is called."""
        last = self.windows[-1]
        return _UNITS.get(round((last.end - last.start) / _DAY) * _DAY, "window")


def course(
    points: Sequence[Point], window: Window, *, champion: str, after: datetime, zone: ZoneInfo
) -> Course:
    """The course that leads to a window.

    Parameters
    ----------
    points : sequence of Point
        Windows judged so far (newest revisions), oldest first.
    window : Window
        The one that is judged.
    champion : str
        Its champion's version; windows before another champion's last one do not count.
    after : datetime
        End of the reference period; windows inside it do not count.
    zone : ZoneInfo
    """
    windows: list[Window] = []
    numbers: list[WindowAuc | None] = []
    for point in points:
        if point.window.start < after or point.window >= window:
            continue
        if point.champion_version not in ("", champion):
            windows, numbers = [], []
            continue
        for missing in _between(windows[-1] if windows else None, point.window):
            windows.append(missing)
            numbers.append(None)
        windows.append(point.window)
        numbers.append(_numbers(point))
    for missing in _between(windows[-1] if windows else None, window):
        windows.append(missing)
        numbers.append(None)
    return Course(windows=(*windows, window), numbers=tuple(numbers), zone=zone)


def chart_of(windows: Sequence[tuple[Window, Sample]], rule: Lasting) -> LastingChart:
    """The chart that reference windows set up for a rule.

    Raises
    ------
    DegenerateDataError
        Too few usable windows, or windows without any scatter.
    """
    usable = [sample for _, sample in windows if sample.n_pos and sample.n_neg]
    if not usable:
        raise DegenerateDataError("no reference window has rows of both classes")
    whole = moments(Sample.merge(usable))
    numbers = [
        WindowAuc(moments(sample).auc, sample.n_pos, sample.n_neg, None, _day(window))
        if sample.n_pos and sample.n_neg
        else None
        for window, sample in windows
    ]
    return lasting_chart(
        numbers,
        (whole.auc, whole.zeta10, whole.zeta01, whole.kernel),
        false_alarm_probability=rule.false_alarm_probability,
        horizon=rule.horizon,
        alternative=rule.alternative,
    )


def lasting_verdict(name: str, chart: LastingChart, measured: AucResult, past: Course | None) -> Verdict:
    """What the chart says after a window.

    Without a course the window is taken to be the first one after the reference.
    """
    day = None if past is None else _day(past.windows[-1])
    now = WindowAuc(measured.auc, measured.n_pos, measured.n_neg, None, day)
    found = chart.apply([*(past.numbers if past else ()), now])
    last = float(found.statistic[-1])
    outcome = Status.OK
    if found.active:
        outcome = Status.DEGRADED if last > 0 else Status.IMPROVED
    interval = found.ci(LEVEL) if found.active else None
    return Verdict(
        rule=name,
        kind="lasting",
        outcome=outcome,
        estimate=found.change if found.active else None,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        confidence_level=None if interval is None else LEVEL,
        margin=chart.limit - (abs(last) if chart.alternative == "two-sided" else last),
        details={
            "statistic": last,
            "chart_limit": chart.limit,
            "windows": len(found.statistic),
            "false_alarm_probability": chart.false_alarm_probability,
            "horizon": chart.horizon,
            **(_since(found, past) if found.active else {}),
        },
    )


def lasting_metrics(verdicts: Sequence[Verdict]) -> dict[str, float]:
    """``RULE/statistic`` and ``RULE/limit`` of each chart; with an alarm ``RULE/change`` and its interval."""
    metrics: dict[str, float] = {}
    for verdict in verdicts:
        if verdict.kind == "lasting" and not verdict.lacks:
            values = {
                "statistic": verdict.details["statistic"],
                "limit": verdict.details["chart_limit"],
                "change": verdict.estimate,
                "change_low": verdict.low,
                "change_high": verdict.high,
            }
            metrics |= {f"{verdict.rule}/{k}": float(v) for k, v in values.items() if v is not None}
    return metrics


def _since(found: LastingChange, past: Course | None) -> Mapping[str, object]:
    ends = found.since_ci(LEVEL)
    if past is None or found.since is None or ends is None:
        return {}
    names = [past.name(place) for place in (found.since, *ends)]
    return {"unit": past.unit, **dict(zip(("since", "since_first", "since_last"), names, strict=True))}


def _numbers(point: Point) -> WindowAuc | None:
    of = point.metrics
    if "champion/auc" not in of:
        return None
    if of["champion/auc"] == of.get("labelled/auc"):  # too few labels to be judged, or to be estimated
        return None
    sizes = int(of["data/positives"]), int(of["data/negatives"])
    return WindowAuc(of["champion/auc"], *sizes, None, _day(point.window))


def _between(last: Window | None, following: Window) -> list[Window]:
    """Windows that nobody judged, between two that somebody did."""
    if last is None or following.start <= last.end:
        return []
    length = following.end - following.start
    missing = round((following.start - last.end) / length)
    return [Window(last.end + n * length, last.end + (n + 1) * length) for n in range(missing)]


def _day(window: Window) -> float:
    """Days since 1970, for the season."""
    return window.start.timestamp() / 86400
