"""What windows that were foreseen and judged teach a new outlook."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from rocmonitor.policy.evaluation import Finding, Point, Status
from rocmonitor.policy.judge import foresee
from rocmonitor.policy.lessons import judged_outlook, withdrawn, wrong_share
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference, freeze
from rocmonitor.policy.windows import Window
from rocmonitor.rules import OutlookRule, Rule, Scores, by_name
from rocmonitor.stats import Sample, auc
from rocmonitor.stats.forecast.learning import Answer, JudgedOutlook
from rocmonitor.stats.sample import ScoreCounts
from rocmonitor.wording.caveats import words_of

RULES = by_name([OutlookRule()])
START, WEEK = datetime(2026, 1, 5, tzinfo=UTC), timedelta(days=7)


def scores(rng: np.random.Generator, wide: float = 1.0) -> np.ndarray:
    """Log odds of 600 rows; a smaller `wide` makes them harder to rank."""
    return np.round(wide * rng.normal(size=600) * 1.5 - 1, 2)


@pytest.fixture(scope="module")
def reference() -> Reference:
    rng = np.random.default_rng(5)
    windows = []
    for number in range(25):
        s = scores(rng)
        y = rng.random(600) < 1 / (1 + np.exp(-s))
        windows.append((Window(START + number * WEEK, START + (number + 1) * WEEK), Sample(y, s)))
    return freeze(windows, RULES)


def foreseen(reference: Reference, since: list[JudgedOutlook], wide: float = 0.85) -> Finding:
    of = ScoreCounts.of(scores(np.random.default_rng(6), wide))
    return foresee(of, ranges=NormalRanges.of(reference), rules=RULES, min_rows=40, since=since)


def judged(metrics: dict[str, float], outcome: Status = Status.OK) -> Point:
    window = Window(START, START + WEEK)
    return Point(window=window, revision=0, at=window.end, metrics=metrics, outcome=outcome)


def came(
    finding: Finding, auc: float, degraded: bool = False, half: float = 0.005, reference: float = 0.81
) -> JudgedOutlook:
    """What came of an outlook."""
    metrics = finding.metrics | {
        "reference/auc": reference,
        "champion/auc": auc,
        "champion/auc_low": auc - half,
        "champion/auc_high": auc + half,
        "outlook/scored": 600.0,
        "outlook/warned": float(finding.outcome is Status.AT_RISK),
    }
    found = judged_outlook(judged(metrics, Status.DEGRADED if degraded else Status.OK))
    assert found is not None
    return found


def test_a_warning_that_was_wrong_is_not_repeated_at_once(reference: Reference) -> None:
    first = foreseen(reference, [])
    assert first.outcome is Status.AT_RISK
    again = foreseen(reference, [came(first, 0.81)])
    assert again.outcome is Status.OK
    [verdict] = again.verdicts
    learned = verdict.details["learned"]
    assert verdict.limit[0] == pytest.approx(first.verdicts[0].limit[0] - learned)  # type: ignore[operator]
    assert learned >= -first.metrics["outlook/margin"]
    worse = foreseen(reference, [came(first, 0.81)], wide=0.5)
    assert worse.outcome is Status.AT_RISK


def test_only_a_wrong_warning_changes_the_limit(reference: Reference) -> None:
    """A loss that came as foretold is right, also within the normal range; so is a window in alarm."""
    first = foreseen(reference, [])
    foretold = first.metrics["outlook/auc"]
    assert first.metrics["outlook/foretold"] == pytest.approx(foretold)
    for lesson, answer in (
        (came(first, foretold), Answer.RIGHT),
        (came(first, 0.81, half=0.1), Answer.UNDECIDED),
        (came(first, 0.805, degraded=True), Answer.RIGHT),
    ):
        assert lesson.answer() is answer
        again = foreseen(reference, [lesson] * 3)
        assert again.outcome is Status.AT_RISK
        assert again.verdicts[0].limit == first.verdicts[0].limit


def test_a_loss_that_was_not_warned_of_takes_some_of_it_back(reference: Reference) -> None:
    first = foreseen(reference, [])
    wrong, right = came(first, 0.81), came(first, first.metrics["outlook/auc"])
    learned = [
        foreseen(reference, [wrong, *[right] * times]).verdicts[0].details.get("learned", 0.0)
        for times in range(4)
    ]
    assert learned[0] > learned[1] > learned[2] or learned[1] == 0
    again = foreseen(reference, [wrong, *[right] * 2])
    assert again.outcome is Status.AT_RISK


def test_ends_that_were_wrong_lie_further_out_and_are_known_without_it(reference: Reference) -> None:
    first = foreseen(reference, [], wide=1.0)
    low, high = first.metrics["outlook/low"], first.metrics["outlook/high"]
    again = foreseen(reference, [came(first, high + 0.02)], wide=1.0)
    assert again.metrics["outlook/high"] >= high + 0.02
    assert again.metrics["outlook/low"] == low
    assert "outlook/learned_low" not in again.metrics
    # From the second outlook the same is learned as from the first: what was added is taken off again.
    raw = came(again, 0.8)
    assert (raw.low, raw.high) == pytest.approx((low, high))


def test_mostly_withdrawn_warnings_are_said(reference: Reference) -> None:
    first = foreseen(reference, [])
    fine, bad, open_ = came(first, 0.81), came(first, 0.75), came(first, 0.81, half=0.1)
    assert withdrawn([fine] * 2) == withdrawn([fine] * 3 + [bad] * 3) == withdrawn([open_] * 9) == ()
    [caveat] = withdrawn([fine] * 4 + [bad] * 3 + [open_] * 9)
    assert caveat.code == "warnings-withdrawn"
    assert caveat.values == {"warnings": 7, "withdrawn": 4}
    assert "ask for more" in words_of(caveat)
    assert caveat in foreseen(reference, [fine] * 4 + [bad] * 3).caveats


def followed(reference: Reference, windows: list[Sample], rules: dict[str, Rule]) -> list[bool]:
    """Whether each window was warned of, when the labels of the others before it are in."""
    since: list[JudgedOutlook] = []
    for window in windows:
        counts = ScoreCounts(window.score, window.pos + window.neg)
        found = foresee(counts, ranges=NormalRanges.of(reference), rules=rules, min_rows=40, since=since)
        area = auc(window)
        assert reference.auc is not None
        half = 1.96 * area.se
        since.append(came(found, area.auc, half=half, reference=reference.auc.auc))
    return [each.warned for each in since]


def window(rng: np.random.Generator, wide: float = 1.0, up: float = 0.0) -> Sample:
    s = scores(rng, wide)
    return Sample(rng.random(600) < 1 / (1 + np.exp(-s)), np.round(s + up, 2))


def test_scores_that_wander_harmlessly_are_warned_of_less_and_less(reference: Reference) -> None:
    rng = np.random.default_rng(3)
    up = np.cumsum(np.full(40, 0.3) * rng.choice([-1, 1], 40, p=[0.4, 0.6]))
    warned = followed(reference, [window(rng, up=by) for by in up], by_name([Scores()]))
    without = [
        foresee(
            ScoreCounts.of(scores(rng) + by),
            ranges=NormalRanges.of(reference),
            rules=by_name([Scores()]),
            min_rows=40,
        ).outcome
        is Status.AT_RISK
        for by in up
    ]
    assert sum(without) > 25
    assert sum(warned) < sum(without) / 3


def test_a_decline_that_the_scores_foretell_goes_on_being_warned_of(reference: Reference) -> None:
    rng = np.random.default_rng(4)
    warned = followed(reference, [window(rng, wide=0.75) for _ in range(25)], RULES)
    assert sum(warned) >= 20


def test_a_warning_of_scores_alone_foretells_no_auroc(reference: Reference) -> None:
    """Cases are easier to rank, so no loss is foretold: an AUROC as before is no reason to warn."""
    of = ScoreCounts.of(scores(np.random.default_rng(6), 1.3))
    found = foresee(of, ranges=NormalRanges.of(reference), rules=by_name([Scores()]), min_rows=40)
    assert found.outcome is Status.AT_RISK
    assert "outlook/foretold" not in found.metrics
    assert came(found, 0.811).answer() is Answer.WRONG
    assert came(found, 0.80, half=0.02).answer() is Answer.UNDECIDED
    assert came(found, 0.77, half=0.02).answer() is Answer.RIGHT


def test_the_share_of_wrong_warnings_follows_from_the_law_of_the_auroc() -> None:
    assert wrong_share(0.97, 0.97, mean=0.97, se=0.01) == 0.5
    assert wrong_share(0.90, 0.97, mean=0.97, se=0.005) == 1
    assert wrong_share(0.90, 0.97, mean=0.90, se=0.005) == 0
    assert wrong_share(0.96, 0.97, mean=0.97, se=0.05) <= 0.05


def test_what_is_not_known_teaches_nothing() -> None:
    metrics = {
        "outlook/expected_auc": 0.7,
        "outlook/low": 0.6,
        "outlook/high": 0.8,
        "outlook/scored": 10.0,
        "outlook/score_distance": 0.1,
        "reference/auc": 0.7,
        "champion/auc": 0.7,
        "champion/auc_low": 0.65,
        "champion/auc_high": 0.75,
    }
    assert judged_outlook(judged(metrics)) is not None
    assert judged_outlook(judged(metrics, Status.INSUFFICIENT)) is None
    for name in ("outlook/expected_auc", "champion/auc", "champion/auc_low", "reference/auc"):
        assert judged_outlook(judged({k: v for k, v in metrics.items() if k != name})) is None
