"""What the rules say of a window: the batch's own size counts, and a change is explained."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from rocmonitor.policy.evaluation import Counts, Finding, Status
from rocmonitor.policy.judge import judge
from rocmonitor.policy.measure import Wanted
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference, freeze
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Drop, Floor, Forecast, Rule
from rocmonitor.stats import Sample, cost_curve
from rocmonitor.wording.caveats import words_of

FIRST = datetime(2026, 1, 5, tzinfo=UTC)
WEEK = timedelta(days=7)
FORECAST: dict[str, Rule] = {"forecast": Forecast()}


def drawn(seed: int, n_pos: int, n_neg: int, shift: float = 1.2) -> Sample:
    rng = np.random.default_rng([seed, n_pos])
    y = np.repeat([1, 0], [n_pos, n_neg])
    return Sample(y, rng.normal(size=n_pos + n_neg) + shift * y)


@pytest.fixture(scope="module")
def reference() -> Reference:
    """40 windows of 400 positives and 600 negatives."""
    past = [
        (Window(FIRST + number * WEEK, FIRST + (number + 1) * WEEK), drawn(number, 400, 600))
        for number in range(40)
    ]
    return freeze(past, FORECAST)


def judged(
    window: Sample, reference: Reference, rules: dict[str, Rule] | None = None, **points: Any
) -> Finding:
    counts = Counts(rows=window.n_pos + window.n_neg, n_pos=window.n_pos, n_neg=window.n_neg)
    rules = rules or FORECAST
    return judge(
        window, None, counts, ranges=NormalRanges.of(reference), rules=rules, min_per_class=20, **points
    )


def clustered(window: Sample, size: int) -> Sample:
    """The rows in clusters of this size, of one class each."""
    ids = np.arange(window.n_pos + window.n_neg) // size
    return Sample.from_counts(
        np.repeat(window.score, window.pos + window.neg),
        *(np.repeat(side, window.pos + window.neg) for side in (window.pos, window.neg)),
        cluster=ids,
    )


def test_clusters_widen_the_interval_and_the_points_of_the_curve(reference):
    """Neighbours in the order of the scores belong together, ten at a time."""
    window = drawn(77, 300, 700)
    plain, together = (
        judged(of, reference, {"floor": Floor(value=0.5)}, wanted=Wanted(fprs=[0.1], thresholds={0.5: 0.5}))
        for of in (window, clustered(window, 10))
    )
    effect = together.metrics["champion/design_effect"]
    assert effect > 1.5
    assert "champion/design_effect" not in plain.metrics
    for name in ("auc", "tpr_at_fpr_0.1", "tpr_at_threshold_0.5", "fpr_at_threshold_0.5"):
        widths = [
            found.metrics[f"champion/{name}_high"] - found.metrics[f"champion/{name}_low"]
            for found in (plain, together)
        ]
        assert widths[1] > 1.15 * widths[0], name
    assert together.verdicts[0].low < plain.verdicts[0].low
    assert "few-clusters" not in codes(together)


def test_one_cluster_for_all_rows_is_too_little_to_judge(reference):
    found = judged(clustered(drawn(78, 30, 70), 100), reference)
    assert found.outcome is Status.INSUFFICIENT
    (lack,) = found.verdicts[0].lacks
    assert (lack.code, lack.values) == ("one-cluster", {"positives": 1, "negatives": 1})
    assert "see whether columns.cluster names" in words_of(lack)


def test_a_reference_says_that_clusters_come_again():
    weeks = [
        (Window(FIRST + k * WEEK, FIRST + (k + 1) * WEEK), clustered(drawn(k, 60, 90), 5)) for k in range(4)
    ]
    (caveat,) = [each for each in freeze(weeks, FORECAST).caveats if each.code == "clusters-span-windows"]
    assert caveat.values == {"shared": 30, "clusters": 30}
    assert freeze(weeks, FORECAST).auc.clusters is not None
    back = Reference.from_dict(freeze(weeks, FORECAST).to_dict())
    assert back.auc.design_effect == freeze(weeks, FORECAST).auc.design_effect


def codes(finding: Finding) -> list[str]:
    return [caveat.code for caveat in finding.caveats]


def test_a_batch_of_a_tenth_does_not_alarm_where_the_interval_of_large_windows_did(reference):
    """Nothing has drifted: 5 % of the small batches may alarm, and two thirds of them used to."""
    frozen = replace(reference, cells=None)
    batches = [drawn(1000 + number, 40, 60) for number in range(60)]
    outcomes = [judged(batch, reference).outcome for batch in batches]
    before = [judged(batch, frozen).outcome for batch in batches]
    assert sum(outcome is not Status.OK for outcome in before) > 20
    # More than 9 of 60 have a chance of 1e-3 at 5 %.
    assert sum(outcome is not Status.OK for outcome in outcomes) <= 9


def test_the_metrics_are_those_of_the_batch_that_came(reference):
    large, small = (judged(drawn(2000, 40 * n, 60 * n), reference).metrics for n in (10, 1))
    frozen = NormalRanges.of(reference).range("forecast")
    assert (large["forecast/low"], large["forecast/high"]) == pytest.approx(
        (frozen.low, frozen.high), abs=5e-5
    )
    assert small["forecast/low"] < large["forecast/low"]
    assert small["forecast/high"] > large["forecast/high"]
    for metrics in (large, small):
        parts = metrics["forecast/sampling_distance"] + metrics["forecast/drift_distance"]
        assert parts == pytest.approx(metrics["forecast/distance"], rel=1e-9)
    # Sampling goes with one over the size.
    assert small["forecast/sampling_distance"] > 5 * large["forecast/sampling_distance"]


def test_before_the_labels_come_the_expected_size_counts(reference):
    nothing = judged(Sample([], []), reference)
    assert nothing.outcome is Status.INSUFFICIENT
    assert nothing.metrics["forecast/low"] == NormalRanges.of(reference).range("forecast").low
    assert "shift/from_positives" not in nothing.metrics


def test_the_verdict_says_how_much_of_the_width_is_sampling(reference):
    found = judged(drawn(3000, 40, 60), reference)
    [verdict] = found.verdicts
    low, high, least, most = (
        found.metrics[f"forecast/{name}"] for name in ("low", "high", "sampling_low", "sampling_high")
    )
    assert low <= least < most <= high
    assert (verdict.kind, verdict.outcome, verdict.limit) == ("forecast", Status.OK, (low, high))
    assert verdict.estimate == found.metrics["champion/auc"]
    assert verdict.details == {"method": "calibrated", "sampling_low": least, "sampling_high": most}
    assert verdict.confidence_level >= 0.9
    assert verdict.margin == found.metrics["forecast/margin"]


@pytest.mark.parametrize(
    ("rules", "shift", "outcome"),
    [
        ({"forecast": Forecast()}, 0.6, Status.DEGRADED),
        ({"forecast": Forecast()}, 2.0, Status.IMPROVED),
        ({"drop": Drop(value=0.02)}, 0.6, Status.DEGRADED),
        ({"floor": Floor(value=0.75)}, 0.6, Status.DEGRADED),
    ],
)
def test_a_change_is_explained_whichever_rule_found_it(reference, rules, shift, outcome):
    """Only the positives have moved."""
    window = drawn(4000, 400, 600, shift)
    finding = judged(window, reference, rules)
    assert finding.outcome is outcome
    change = finding.metrics["champion/auc"] - finding.metrics["reference/auc"]
    table = finding.tables["shift"]
    told = sum(row["pos_contribution"] + row["neg_contribution"] for row in table)
    assert told == pytest.approx(change, abs=5e-5)
    assert finding.metrics["shift/from_positives"] + finding.metrics["shift/from_negatives"] == pytest.approx(
        told
    )
    assert abs(finding.metrics["shift/from_negatives"]) < 0.3 * abs(change)


def test_what_is_as_expected_needs_no_explanation(reference):
    finding = judged(drawn(5000, 400, 600), reference)
    assert finding.outcome is Status.OK
    assert "shift" not in finding.tables


def test_a_loss_only_is_never_an_improvement():
    past = [
        (Window(FIRST + number * WEEK, FIRST + (number + 1) * WEEK), drawn(number, 40, 60))
        for number in range(20)
    ]
    rules: dict[str, Rule] = {"forecast": Forecast(alternative="less")}
    frozen = freeze(past, rules)
    assert judged(drawn(6000, 400, 600, 3.0), frozen, rules).outcome is Status.OK
    found = judged(drawn(6000, 400, 600, 0.2), frozen, rules)
    assert found.outcome is Status.DEGRADED
    assert found.verdicts[0].limit == (found.metrics["forecast/low"], 1.0)


def test_one_score_for_all_rows_is_said_before_anything_else(reference):
    flat = Sample(np.repeat([1, 0], [200, 800]), np.full(1000, 0.5))
    rules: dict[str, Rule] = {"forecast": Forecast(), "floor": Floor(value=0.6)}
    found = judged(flat, reference, rules, wanted=Wanted(fprs=[0.1], thresholds={0.5: 0.5}))
    assert found.outcome is Status.DEGRADED
    assert found.verdicts[0].estimate == 0.5
    assert (found.caveats[0].code, found.caveats[0].values) == ("one-score", {"rows": 1000, "score": 0.5})
    assert found.tables["roc"] == []
    # Where no rule minds, it is a caveat all the same.
    calm = judged(flat, reference, {"floor": Floor(value=0.1)})
    assert (calm.outcome, calm.caveats[0].code) == (Status.OK, "one-score")
    assert "one-score" not in codes(judged(drawn(1, 40, 60), reference))


def test_what_several_rules_lack_is_said_once_and_the_rules_are_named():
    rules: dict[str, Rule] = {"forecast": Forecast(), "drop": Drop(value=0.05), "floor": Floor(value=0.1)}
    frozen = freeze([(Window(FIRST, FIRST + WEEK), Sample([1, 1], [0.1, 0.2]))], rules)
    found = judged(drawn(1, 40, 60), frozen, rules)
    assert [verdict.outcome for verdict in found.verdicts] == [Status.INSUFFICIENT] * 2 + [Status.OK]
    [lack] = found.verdicts[0].lacks
    assert found.verdicts[1].lacks == (lack,)
    assert (lack.code, lack.about) == ("not-computed", ("reference",))
    assert "2 positives and 0 negatives" in lack.values["why"]
    assert lack not in found.caveats


def test_a_drop_without_any_scatter_is_no_error():
    """The reference separates the classes completely and the window has one score: both errors are 0."""
    apart = Sample(np.repeat([1, 0], 30), np.r_[np.arange(30) + 50, np.arange(30)])
    rules: dict[str, Rule] = {"drop": Drop(value=0.05)}
    frozen = freeze([(Window(FIRST, FIRST + WEEK), apart)], rules)
    found = judged(Sample(np.repeat([1, 0], 50), np.full(100, 0.5)), frozen, rules)
    assert found.outcome is Status.INSUFFICIENT
    [verdict] = found.verdicts
    assert [(lack.code, lack.values) for lack in verdict.lacks] == [
        ("no-scatter-to-compare", {"auc": 0.5, "reference_auc": 1.0})
    ]
    assert found.caveats[0].code == "one-score"


def test_a_rule_of_its_own_lack_tells_only_that():
    rules: dict[str, Rule] = {"forecast": Forecast(), "drop": Drop(value=0.9)}
    frozen = freeze([(Window(FIRST, FIRST + WEEK), drawn(1, 40, 60))], rules)
    found = judged(drawn(2, 40, 60), frozen, rules)
    [lack] = found.verdicts[0].lacks
    assert (lack.code, lack.about) == ("not-computed", ())
    assert lack.values["why"].startswith("none of the 1 windows can be used")
    assert found.verdicts[1].outcome is Status.OK
    assert [each.code for each in found.caveats] == ["season-not-seen"]
    bare = replace(frozen, auc=None, caveats=())
    [verdict] = judged(drawn(2, 40, 60), bare, {"drop": Drop(value=0.9)}).verdicts
    assert [lack.code for lack in verdict.lacks] == ["segment-not-in-reference"]


def test_what_decisions_cost_is_measured_at_the_thresholds_of_the_reference():
    past = [
        (Window(FIRST + number * WEEK, FIRST + (number + 1) * WEEK), drawn(number, 40, 60))
        for number in range(5)
    ]
    frozen, window = freeze(past, FORECAST, (0.0, 0.25)), drawn(99, 50, 70)
    found = judged(window, frozen)
    curve = cost_curve(window, 0.25, frozen.cost_thresholds[0.25], method="mover")
    names = ("champion/cost_at_w_0.25", "champion/cost_at_w_0.25_low", "champion/cost_at_w_0.25_high")
    assert [found.metrics[name] for name in names] == [curve.cost[0], curve.low[0], curve.high[0]]
    # Where misses cost nothing, nothing is flagged, at no cost.
    assert found.tables["costs"][0] | {"high": 0} == {
        "reference_cost": 0.0,
        "model": "champion",
        "w": 0.0,
        "threshold": None,
        "cost": 0.0,
        "low": 0.0,
        "high": 0,
    }
