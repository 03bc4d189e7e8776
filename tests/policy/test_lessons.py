"""What windows that were foreseen and judged teach a new outlook."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from rocmonitor.policy.evaluation import Point, Status
from rocmonitor.policy.judge import Finding, foresee
from rocmonitor.policy.lessons import judged_outlook, withdrawn
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference, freeze
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Outlook, by_name
from rocmonitor.stats import Sample
from rocmonitor.stats.forecast.learning import JudgedOutlook
from rocmonitor.stats.unlabelled import ScoreCounts

RULES = by_name([Outlook()])
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


def came(finding: Finding, auc: float, good: bool = True) -> JudgedOutlook:
    """What came of an outlook."""
    metrics = finding.metrics | {
        "champion/auc": auc,
        "outlook/scored": 600.0,
        "outlook/warned": float(finding.outcome is Status.AT_RISK),
    }
    found = judged_outlook(judged(metrics, Status.OK if good else Status.DEGRADED))
    assert found is not None
    return found


def test_a_warning_that_was_withdrawn_is_not_repeated_at_once(reference: Reference) -> None:
    first = foreseen(reference, [])
    assert first.outcome is Status.AT_RISK
    again = foreseen(reference, [came(first, first.metrics["outlook/auc"])])
    assert again.outcome is Status.OK
    [verdict] = again.verdicts
    learned = verdict.details["learned"]
    assert verdict.limit[0] == pytest.approx(first.verdicts[0].limit[0] - learned)  # type: ignore[operator]
    assert learned >= -first.metrics["outlook/margin"]
    worse = foreseen(reference, [came(first, first.metrics["outlook/auc"])], wide=0.5)
    assert worse.outcome is Status.AT_RISK


def test_a_warning_that_was_confirmed_changes_no_limit(reference: Reference) -> None:
    first = foreseen(reference, [])
    again = foreseen(reference, [came(first, first.metrics["outlook/auc"], good=False)] * 3)
    assert again.outcome is Status.AT_RISK
    assert again.verdicts[0].limit == first.verdicts[0].limit
    assert again.caveats == first.caveats


def test_a_worse_window_that_was_not_warned_of_takes_some_of_it_back(reference: Reference) -> None:
    first = foreseen(reference, [])
    fine, bad = came(first, first.metrics["outlook/auc"]), came(first, 0.6, good=False)
    learned = [
        foreseen(reference, [fine, *[bad] * times]).verdicts[0].details.get("learned", 0.0)
        for times in range(4)
    ]
    assert learned[0] > learned[1] > learned[2] or learned[1] == 0
    again = foreseen(reference, [fine, *[bad] * 2])
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
    fine, bad = came(first, 0.8), came(first, 0.8, good=False)
    assert withdrawn([fine] * 2) == withdrawn([fine] * 3 + [bad] * 3) == ()
    [caveat] = withdrawn([fine] * 4 + [bad] * 3)
    assert caveat.code == "warnings-withdrawn"
    assert caveat.values == {"warnings": 7, "withdrawn": 4}
    assert "asks for more" in str(caveat)
    assert caveat in foreseen(reference, [fine] * 4 + [bad] * 3).caveats


def test_what_is_not_known_teaches_nothing() -> None:
    metrics = {
        "outlook/expected_auc": 0.7,
        "outlook/low": 0.6,
        "outlook/high": 0.8,
        "outlook/scored": 10.0,
        "champion/auc": 0.7,
    }
    assert judged_outlook(judged(metrics)) is not None
    assert judged_outlook(judged(metrics, Status.INSUFFICIENT)) is None
    for name in ("outlook/expected_auc", "champion/auc"):
        assert judged_outlook(judged({k: v for k, v in metrics.items() if k != name})) is None
