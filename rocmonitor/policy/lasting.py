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
from rocmonitor.policy.windows import Window, day_of
from rocmonitor.stats import LastingChange, LastingChart, Sample, ScoreHistory, WindowAuc, lasting_chart
from rocmonitor.stats.area.variances import moments
from rocmonitor.stats.lasting.adjusting import expected_by_the_others, with_expected
from rocmonitor.stats.lasting.ewma import ENDS

LONGEST = 520
"""Windows that a chart looks back at most."""

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

    Notes
    -----
    At most the latest `LONGEST` windows: what is older weighs nothing in a chart.
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
        numbers.append(numbers_of(point))
    for missing in _between(windows[-1] if windows else None, window):
        windows.append(missing)
        numbers.append(None)
    windows, numbers = windows[-LONGEST:], numbers[-LONGEST:]
    return Course(windows=(*windows, window), numbers=tuple(numbers), zone=zone)


def chart_of(
    windows: Sequence[tuple[Window, Sample]], whole: Sample, rule: Lasting, history: ScoreHistory | None
) -> LastingChart:
    """The chart that reference windows set up for a rule.

    Parameters
    ----------
    windows : sequence of (Window, Sample)
        In any order.
    whole : Sample
        All of them.
    rule : Lasting
    history : ScoreHistory or None
        Of the same windows; needed for a rule with `given`.

    Raises
    ------
    DegenerateDataError
        Too few usable windows, or windows without any scatter.
    """
    ordered = sorted(windows, key=lambda part: part[0])
    numbers = [
        WindowAuc(moments(sample).auc, sample.n_pos, sample.n_neg, None, day_of(window))
        if sample.n_pos and sample.n_neg
        else None
        for window, sample in ordered
    ]
    given = history if rule.given else None
    if given is not None:
        in_order = expected_by_the_others(given, [sample for _, sample in windows])
        expected = {window: auc for (window, _), auc in zip(windows, in_order, strict=True)}
        numbers = with_expected(numbers, [expected[window] for window, _ in ordered])
    if not any(numbers):
        raise DegenerateDataError("no reference window has rows of both classes")
    of = moments(whole)
    return lasting_chart(
        numbers,
        (of.auc, of.zeta10, of.zeta01, of.kernel),
        false_alarm_probability=rule.false_alarm_probability,
        horizon=rule.horizon,
        alternative=rule.alternative,
        score_variance=0.0 if given is None else given.score_variance,
    )


def lasting_verdict(name: str, chart: LastingChart, now: WindowAuc, past: Course | None) -> Verdict:
    """What the chart says after a window.

    Without a course the window is taken to be the first one after the reference.
    """
    if past is not None:
        now = now._replace(day=day_of(past.windows[-1]))
    numbers = [*(past.numbers if past else ()), now]
    followed = chart.follow(numbers)
    last, sign = float(followed.statistic[-1]), int(followed.alarm[-1])
    found = chart.apply(numbers) if sign else None
    interval = None if found is None else found.ci(LEVEL)
    ahead = abs(last) if chart.alternative == "two-sided" else last
    return Verdict(
        rule=name,
        kind="lasting",
        outcome={1: Status.DEGRADED, -1: Status.IMPROVED}.get(sign, Status.OK),
        estimate=None if found is None else found.change,
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
            "given": "scores" if chart.slope else None,
            "windows": len(numbers),
            "false_alarm_probability": chart.false_alarm_probability,
            "horizon": chart.horizon,
            **({} if found is None else _since(found, past)),
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


def numbers_of(point: Point) -> WindowAuc | None:
    """What a chart reads of a window; None for one that could not be measured, or has too few labels."""
    of = point.metrics
    if "champion/auc" not in of:
        return None
    if of["champion/auc"] == of.get("labelled/auc"):  # too few labels to be judged, or to be estimated
        return None
    sizes = int(of["data/positives"]), int(of["data/negatives"])
    return WindowAuc(of["champion/auc"], *sizes, of.get("expected/auc"), day_of(point.window))


def _between(last: Window | None, following: Window) -> list[Window]:
    """Windows that nobody judged, between two that somebody did."""
    if last is None or following.start <= last.end:
        return []
    length = following.end - following.start
    missing = round((following.start - last.end) / length)
    return [Window(last.end + n * length, last.end + (n + 1) * length) for n in range(missing)]
