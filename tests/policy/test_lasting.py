"""Rule `lasting`: what the chart says of a window after the windows before it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from rocmonitor.policy.evaluation import Counts, Finding, Point, Status, Verdict
from rocmonitor.policy.judge import judge
from rocmonitor.policy.lasting import Course, course
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference, freeze
from rocmonitor.policy.scenario import Scenario, simulation
from rocmonitor.policy.status import Alarm
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Lasting, by_name
from rocmonitor.stats import AucResult, AucSpread, Sample, WindowAuc
from rocmonitor.wording.verdicts import verdict

FIRST = datetime(2026, 1, 5, tzinfo=UTC)
WEEK = timedelta(days=7)
UTC_ZONE = ZoneInfo("UTC")
RULES = by_name([Lasting()])


def week(number: int) -> Window:
    return Window(FIRST + number * WEEK, FIRST + (number + 1) * WEEK)


def drawn(seed: int, shift: float = 1.2) -> Sample:
    rng = np.random.default_rng([seed, 7])
    y = np.repeat([1, 0], [200, 300])
    return Sample(y, rng.normal(size=500) + shift * y)


@pytest.fixture(scope="module")
def reference() -> Reference:
    return freeze([(week(number), drawn(number)) for number in range(20)], RULES)


def point(number: int, auc: float | None, version: str = "7", revision: int = 0) -> Point:
    metrics = {"data/positives": 200.0, "data/negatives": 300.0}
    if auc is not None:
        metrics["champion/auc"] = auc
    at = FIRST + number * WEEK
    return Point(window=week(number), revision=revision, at=at, metrics=metrics, champion_version=version)


def leading(points: list[Point], number: int, champion: str = "7") -> Course:
    return course(points, week(number), champion=champion, after=week(19).end, zone=UTC_ZONE)


def judged(window: Sample, reference: Reference, past: Course | None, rules=RULES) -> Finding:
    counts = Counts(rows=500, n_pos=window.n_pos, n_neg=window.n_neg)
    ranges = NormalRanges.of(reference)
    return judge(window, None, counts, ranges=ranges, rules=rules, min_per_class=20, past=past)


def test_a_drop_that_lasts_is_degraded_and_says_since_when(reference):
    past = leading([point(20, 0.8), point(21, 0.81), *(point(22 + n, 0.74) for n in range(5))], 27)
    finding = judged(drawn(27, 0.9), reference, past)
    [found] = finding.verdicts
    assert finding.outcome is found.outcome is Status.DEGRADED
    assert found.low < found.estimate < found.high < 0 > found.margin
    assert found.details["since"] == "2026-06-08"  # week 22
    assert verdict(found).startswith("lasting drop of the AUROC: the weighted mean of recent windows is 0.0")
    assert finding.metrics["lasting/statistic"] > finding.metrics["lasting/limit"]
    assert finding.metrics["lasting/change"] == found.estimate
    assert Verdict.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert [caveat.code for caveat in finding.caveats] == ["season-not-seen"]


def test_the_sentence():
    found = Verdict(
        rule="lasting",
        kind="lasting",
        outcome=Status.DEGRADED,
        estimate=-0.031,
        low=-0.044,
        high=-0.018,
        confidence_level=0.95,
        details={
            "statistic": 5.0,
            "chart_limit": 3.0,
            "mean_change": -0.03,
            "alarm_change": -0.024,
            "unit": "week",
            "since": "2026-03-02",
            "since_first": "2026-02-16",
            "since_last": "2026-03-09",
        },
    )
    assert verdict(found) == (
        "lasting drop of the AUROC: the weighted mean of recent windows is 0.030 below the reference; an "
        "alarm needs 0.024"
    )


@pytest.mark.parametrize(
    ("alternative", "change", "what", "far"),
    [
        ("less", -0.01, "drop", "0.010 below the reference; an alarm needs 0.024"),
        ("less", 0.01, "drop", "0.010 above the reference; an alarm needs 0.024 below"),
        ("two-sided", 0.0, "change", "0.000 above the reference; an alarm needs 0.024 either way"),
    ],
)
def test_how_far_an_alarm_is(alternative, change, what, far):
    details = {"statistic": 1.2, "chart_limit": 2.9, "mean_change": change, "alarm_change": -0.024}
    details |= {"alternative": alternative}
    said = verdict(Verdict(rule="lasting", kind="lasting", outcome=Status.OK, details=details))
    assert said == f"no lasting {what} of the AUROC: the weighted mean of recent windows is {far}"


def test_an_alarm_that_is_about_to_end_says_so() -> None:
    details = {"statistic": 1.9, "chart_limit": 2.9, "mean_change": -0.015, "alarm_change": -0.024}
    found = Verdict(
        rule="lasting",
        kind="lasting",
        outcome=Status.DEGRADED,
        estimate=-0.031,
        low=-0.044,
        high=-0.018,
        details=details,
    )
    assert verdict(found) == (
        "lasting drop of the AUROC: the weighted mean of recent windows is 0.015 below the reference; the "
        "alarm ends at 0.012"
    )


def test_a_quiet_window_is_ok_and_says_where_the_chart_is(reference):
    [found] = judged(drawn(20), reference, leading([], 20)).verdicts
    assert found.outcome is Status.OK
    assert found.estimate is None
    assert found.margin > 0
    assert verdict(found).startswith(
        "no lasting drop of the AUROC: the weighted mean of recent windows is 0.0"
    )
    assert judged(drawn(20), reference, None).verdicts[0].margin == found.margin


def test_a_lasting_rise_is_an_improvement_when_it_is_looked_for():
    rules = by_name([Lasting(alternative="two-sided")])
    both = freeze([(week(number), drawn(number)) for number in range(20)], rules)
    [found] = judged(
        drawn(25, 1.8), both, leading([point(20 + n, 0.9) for n in range(5)], 25), rules
    ).verdicts
    assert found.outcome is Status.IMPROVED
    assert verdict(found).startswith("lasting rise of the AUROC: the weighted mean of recent windows is 0.0")


def test_only_windows_after_the_reference_under_the_same_champion_count():
    points = [point(18, 0.5), point(20, 0.6, "6"), point(21, 0.61, "6"), point(22, 0.8), point(23, 0.81)]
    past = leading(points, 24)
    assert past.windows == (week(22), week(23), week(24))
    assert [each.auc for each in past.numbers if each] == [0.8, 0.81]
    assert leading(points, 24, champion="8").windows == (week(24),)


def test_gaps_are_kept_and_later_windows_left_out():
    past = leading([point(20, 0.8), point(21, None), point(24, 0.7), point(26, 0.6)], 25)
    assert past.windows == tuple(week(number) for number in range(20, 26))
    assert [None if each is None else each.auc for each in past.numbers] == [0.8, None, None, None, 0.7]


def test_a_corrected_window_changes_what_is_found(reference):
    low = [point(20 + n, 0.74) for n in range(5)]
    corrected = [point(20 + n, 0.81, revision=1) for n in range(5)]
    now = drawn(25)
    before, after = (judged(now, reference, leading(points, 25)).outcome for points in (low, corrected))
    assert (before, after) == (Status.DEGRADED, Status.OK)


def test_a_reference_of_one_window_cannot_serve(reference):
    one = freeze([(week(0), drawn(0))], RULES)
    finding = judged(drawn(20), one, leading([], 20))
    assert finding.outcome is Status.INSUFFICIENT
    assert "needs at least 3 reference windows with both classes" in verdict(finding.verdicts[0])
    old = Reference.from_dict({k: v for k, v in reference.to_dict().items() if k != "charts"})
    assert judged(drawn(20), old, None).outcome is Status.INSUFFICIENT


def test_a_frozen_reference_gives_its_chart_back(reference):
    read = Reference.from_dict(json.loads(json.dumps(reference.to_dict(), allow_nan=False)))
    assert read.charts["lasting"].to_dict() == reference.charts["lasting"].to_dict()


def test_names_of_windows_are_those_of_the_zone():
    day = timedelta(days=1)
    windows = (Window(FIRST - timedelta(hours=1), FIRST - timedelta(hours=1) + day),)
    days = Course(windows=windows, zone=ZoneInfo("Europe/Berlin"))
    assert (days.name(0), days.unit) == ("2026-01-05", "day")
    hours = Course(windows=(Window(FIRST, FIRST + timedelta(hours=6)),), zone=UTC_ZONE)
    assert hours.unit == "window"
    assert Course(windows=(Window(FIRST + timedelta(hours=6), FIRST + day),), zone=UTC_ZONE).name(0) == (
        "2026-01-05 06:00"
    )


def test_its_false_alarms_are_the_stated_probability_as_a_rate():
    def a_year(*rules) -> tuple[float, float]:
        scenario = Scenario(
            rules=by_name(rules),
            ranges=NormalRanges.of(
                Reference(auc=AucResult(auc=0.8, se=0.01, n_pos=5000, n_neg=20_000, method="delong"))
            ),
            spread=AucSpread.normal(0.8),
            n_pos=300,
            n_neg=1200,
        )
        drawn = simulation(scenario, WEEK)
        return drawn.false_alarms(Alarm()).expected, drawn.improvements(Alarm()).expected

    assert a_year(Lasting()) == pytest.approx((0.0515, 0), rel=0.01)
    assert a_year(Lasting(alternative="two-sided")) == pytest.approx((0.0257, 0.0257), rel=0.01)
    assert a_year(Lasting(false_alarm_probability=0.5)) == pytest.approx((0.6955, 0), rel=0.01)


def test_numbers_without_a_course_are_the_first_window(reference):
    chart = reference.charts["lasting"]
    assert chart.apply([WindowAuc(0.5, 200, 300)]).statistic[0] < chart.limit
