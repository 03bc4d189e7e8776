"""A finding on labelled rows, once other rows are known to wait for their labels."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from rocmonitor.policy.arrival import Awaiting
from rocmonitor.policy.evaluation import Counts, Point, Status
from rocmonitor.policy.judge import Finding, judge
from rocmonitor.policy.lasting import course
from rocmonitor.policy.missing_labels import allow_for_missing
from rocmonitor.policy.reference import Reference, freeze, with_labels
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Lasting, by_name
from rocmonitor.stats import Sample, auc
from rocmonitor.stats.forecast.label_history import PastWindow
from rocmonitor.stats.unlabelled import ScoreCounts
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
    alone = judge(known, None, counts, reference=reference, rules=RULES, min_per_class=20, past=past)
    return allow_for_missing(
        alone, known, counts, reference=reference, rules=RULES, awaiting=awaiting, past=past
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


def test_labels_that_come_in_another_way_are_not_judged(reference: Reference) -> None:
    [slow] = course_of(reference, 1, known=-1.5)
    [judged] = slow.verdicts
    assert slow.outcome is judged.outcome is Status.INSUFFICIENT
    assert [lack.code for lack in judged.lacks] == ["labels-arrive-otherwise"]
    assert "lasting/statistic" not in slow.metrics
    assert slow.metrics["labelled/auc"] < slow.metrics["estimate/auc"]


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
