"""A finding on labelled rows, once other rows are known to wait for their labels."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from rocmonitor.policy.arrival import Awaiting, Estimate, estimate, forecasts
from rocmonitor.policy.evaluation import Counts, Finding, Point, Status
from rocmonitor.policy.judge import judge
from rocmonitor.policy.lasting import course
from rocmonitor.policy.missing_labels import allow_for_missing
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference, freeze, with_labels
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Forecast, Lasting, by_name
from rocmonitor.stats import PartlyLabelledAuc, Sample, auc
from rocmonitor.stats.forecast.label_history import PastWindow, Reading
from rocmonitor.stats.sample import ScoreCounts
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.verdicts import verdict

FIRST = datetime(2026, 1, 5, tzinfo=UTC)
DAY = timedelta(days=1)
RULES = by_name([Lasting()])


class Rows:
    """Rows of which half have their label after 30 days: positives and high scores first."""

    def __init__(self, seed: int, known: float = -0.1) -> None:
        rng = np.random.default_rng([seed, 11])
        self.y = rng.random(800) < 0.3
        self.s = np.round(rng.normal(1.2 * self.y), 2)
        odds = known + 1.5 * self.y + self.s - 0.4
        self.known = rng.random(800) < 1 / (1 + np.exp(-odds))

    @property
    def labelled(self) -> Sample:
        return Sample(self.y[self.known], self.s[self.known])

    @property
    def late(self) -> Sample:
        return Sample(self.y[~self.known], self.s[~self.known])

    @property
    def final(self) -> Sample:
        return Sample(self.y, self.s)


def week(number: int) -> Window:
    return Window(FIRST + number * 7 * DAY, FIRST + (number + 1) * 7 * DAY)


@pytest.fixture(scope="module")
def reference() -> Reference:
    past, none = [Rows(seed) for seed in range(20)], ScoreCounts.of(np.zeros(0))
    frozen = freeze([(week(number), rows.final) for number, rows in enumerate(past)], RULES)
    windows = [PastWindow((rows.labelled, rows.late), none, 200 * DAY) for rows in past]
    return with_labels(frozen, windows, (30 * DAY, 100 * DAY))


def found(
    reference: Reference, rows: Rows, points: list[Point], min_labelled: float | None = None
) -> Finding:
    """On the window that follows those of the points."""
    window, known = week(20 + len(points)), rows.labelled
    counts = Counts(rows=800, n_pos=known.n_pos, n_neg=known.n_neg, unlabelled=int((~rows.known).sum()))
    past = course(points, window, champion="7", after=week(19).end, zone=ZoneInfo("UTC"))
    awaiting = Awaiting(
        unlabelled=ScoreCounts.of(rows.s[~rows.known]), age=30 * DAY, min_labelled=min_labelled
    )
    alone = judge(
        known, None, counts, ranges=NormalRanges.of(reference), rules=RULES, min_per_class=20, past=past
    )
    return allow_for_missing(
        alone, known, counts, ranges=NormalRanges.of(reference), rules=RULES, awaiting=awaiting, past=past
    )


def course_of(reference: Reference, windows: int, **changes: float) -> list[Finding]:
    points: list[Point] = []
    findings = []
    for number in range(windows):
        findings.append(found(reference, Rows(100 + number, **changes), points))
        window = week(20 + number)
        metrics = findings[-1].metrics
        points.append(Point(window=window, revision=0, at=window.end, metrics=metrics, champion_version="7"))
    return findings


def test_a_lasting_change_is_looked_for_in_the_estimates(reference: Reference) -> None:
    findings = course_of(reference, 6)
    values = [finding.metrics["champion/auc"] for finding in findings]
    finals = [auc(Rows(100 + number).final).auc for number in range(6)]
    alone = [finding.metrics["labelled/auc"] for finding in findings]
    assert np.mean(alone) < np.mean(finals) - 0.05
    assert np.mean(values) == pytest.approx(np.mean(finals), abs=0.01)
    for finding in findings:
        [judged] = finding.verdicts
        assert judged.outcome is finding.outcome is Status.OK
        assert judged.details["label_age_days"] == 30
        assert finding.metrics["lasting/statistic"] == judged.details["statistic"] < 2
    assert "estimated from" in verdict(findings[-1].verdicts[0])


def test_fewer_labels_than_in_the_reference_are_judged_with_a_wider_interval(reference: Reference) -> None:
    found = [course_of(reference, 1, known=known)[0] for known in (-0.1, -1.5, -3.0)]
    widths = [each.metrics["estimate/auc_high"] - each.metrics["estimate/auc_low"] for each in found]
    assert widths[0] < widths[1] < widths[2]
    assert {each.outcome for each in found} == {Status.OK}
    said = [any(each.code == "labels-arrive-otherwise" for each in of.caveats) for of in found]
    assert said == [False, True, True]


def test_scores_alone_judge_nothing(reference: Reference) -> None:
    rows = Rows(100)
    few = ~rows.y & (np.arange(800) < 60)  # one class only, and far fewer labels than ever
    awaiting = Awaiting(unlabelled=ScoreCounts.of(rows.s[~few]), age=30 * DAY)
    found = estimate(reference, Sample(rows.y[few], rows.s[few]), awaiting)
    assert isinstance(found, Estimate)
    assert [lack.code for lack in found.lacks] == ["labels-arrive-otherwise"]
    assert found.lacks[0].values["read_at_days"] is None
    assert "wait for the labels" in words_of(found.lacks[0])


def test_a_window_without_any_label_is_read_when_the_reference_had_none(reference: Reference) -> None:
    past, none = [Rows(seed) for seed in range(20)], ScoreCounts.of(np.zeros(0))
    windows = [PastWindow((Sample([], []), rows.labelled, rows.late), none, 200 * DAY) for rows in past]
    dated, rows = with_labels(reference, windows, (DAY, 30 * DAY, 100 * DAY)), Rows(100)
    found = estimate(dated, Sample([], []), Awaiting(unlabelled=ScoreCounts.of(rows.s), age=30 * DAY))
    assert isinstance(found, Estimate)
    assert found.reading.age == DAY
    assert found.partly.labelled_share == 0
    assert [lack.code for lack in found.lacks] == ["labels-arrive-otherwise"]


def test_what_is_open_beyond_sampling_is_not_judged(reference: Reference) -> None:
    rows = Rows(100, known=-1.5)
    awaiting = Awaiting(unlabelled=ScoreCounts.of(rows.s[~rows.known]), age=30 * DAY)
    found = estimate(reference, rows.labelled, awaiting)
    assert isinstance(found, Estimate)
    assert found.errors is not None
    assert not found.lacks
    assert found.errors.label_error(found.partly) < found.partly.sampling_se
    # Past estimates that were off by twice as much vouch for less.
    past = [
        replace(each, label_se=each.label_se / 2)
        for each in reference.labels.at(30 * DAY).estimates  # type: ignore[union-attr]
    ]
    history = replace(reference.labels, _read={0: replace_estimates(reference, past)})  # type: ignore[type-var]
    worse = estimate(replace(reference, labels=history), rows.labelled, awaiting)
    assert isinstance(worse, Estimate)
    assert worse.errors is not None
    assert worse.errors.label_error(worse.partly) > worse.partly.sampling_se
    assert [lack.code for lack in worse.lacks] == ["labels-arrive-otherwise"]


def test_a_share_that_suffices_without_a_history_is_never_refused_with_one(reference: Reference) -> None:
    rows = Rows(100, known=-1.5)
    past = [replace(each, label_se=each.label_se / 9) for each in reference.labels.at(30 * DAY).estimates]  # type: ignore[union-attr]
    history = replace(reference.labels, _read={0: replace_estimates(reference, past)})  # type: ignore[type-var]
    awaiting = Awaiting(unlabelled=ScoreCounts.of(rows.s[~rows.known]), age=30 * DAY)
    share = float(rows.known.mean())
    for needed, refused in ((share - 0.01, False), (share + 0.01, True)):
        found = estimate(
            replace(reference, labels=history), rows.labelled, replace(awaiting, min_labelled=needed)
        )
        assert isinstance(found, Estimate)
        assert found.errors is not None
        assert found.errors.label_error(found.partly) > found.partly.sampling_se
        assert bool(found.lacks) is refused


def replace_estimates(reference: Reference, estimates: list[PartlyLabelledAuc]) -> Reading:
    """The reference at 30 days, as if its estimates were others."""
    assert reference.labels is not None
    return reference.labels.at(30 * DAY)._replace(estimates=tuple(estimates))


@pytest.mark.parametrize("known", [2.0, 4.0, 5.0])
def test_more_labels_than_in_the_reference_are_not_worse(reference: Reference, known: float) -> None:
    [fast] = course_of(reference, 1, known=known)
    [judged] = fast.verdicts
    rows = Rows(100, known=known)
    assert fast.outcome is judged.outcome is Status.OK
    assert judged.details["labelled_share"] == pytest.approx(rows.known.mean())
    [caveat] = [each for each in fast.caveats if each.code == "labels-arrive-otherwise"]
    assert caveat.values["labelled_share"] > caveat.values["highest"]
    assert caveat.values["read_at_days"] is not None
    low, high = fast.metrics["estimate/auc_low"], fast.metrics["estimate/auc_high"]
    assert low <= auc(rows.final).auc <= high


@pytest.mark.parametrize("known", [-1.5, 2.0])
def test_another_pace_is_scatter_of_its_own_in_the_normal_range(reference: Reference, known: float) -> None:
    rows = Rows(100, known=known)
    awaiting = Awaiting(unlabelled=ScoreCounts.of(rows.s[~rows.known]), age=30 * DAY)
    found = estimate(reference, rows.labelled, awaiting)
    assert isinstance(found, Estimate)
    assert found.errors is not None
    assert found.errors.arrival > 0
    forecast = by_name([Forecast()])
    past = [(week(number), Rows(number).final) for number in range(20)]
    ranges = NormalRanges.of(replace(reference, fits=freeze(past, forecast).fits))
    at_one_pace = replace(found, errors=replace(found.errors, arrival=0.0))
    wider, usual = (forecasts(each, forecast, ranges)["forecast"] for each in (found, at_one_pace))
    assert wider.auc == usual.auc
    assert wider.auc - wider.low == pytest.approx(math.hypot(usual.auc - usual.low, found.errors.arrival))


def test_the_more_labels_are_in_the_less_is_open(reference: Reference) -> None:
    found = [course_of(reference, 1, known=known)[0].metrics for known in (2.0, 4.0, 5.0)]
    widths = [each["estimate/auc_high"] - each["estimate/auc_low"] for each in found]
    assert widths[0] > widths[1] > widths[2] > 0


@pytest.mark.parametrize("dated", [True, False])
def test_a_refused_window_leaves_a_gap_in_the_chart(reference: Reference, dated: bool) -> None:
    of = reference if dated else replace(reference, labels=None)
    refused = found(of, Rows(100), [], min_labelled=0.9)
    assert [lack.code for lack in refused.verdicts[0].lacks] == ["too-few-labels"]
    assert refused.metrics["champion/auc"] == auc(Rows(100).labelled).auc  # shown, and not judged
    point = Point(window=week(20), revision=0, at=week(20).end, metrics=refused.metrics, champion_version="7")
    after = found(reference, Rows(101), [point])
    alone = found(reference, Rows(101), [])
    assert after.metrics["lasting/statistic"] == pytest.approx(alone.metrics["lasting/statistic"])
