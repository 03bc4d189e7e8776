"""What may be said of windows whose labels are not all in."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from rocmonitor.caveat import Caveat
from rocmonitor.policy.arrival import (
    Awaiting,
    Estimate,
    estimate,
    evidence,
    forecasts,
    labelled_share,
    needed_share,
    refused,
    shares_differ,
)
from rocmonitor.policy.evaluation import Counts, Status
from rocmonitor.policy.label_delay import LabelDelay
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference
from rocmonitor.rules import Challenger, Drop, Floor, Forecast
from rocmonitor.stats import Sample, auc, condensed, forecast_fit
from rocmonitor.stats.forecast.label_history import PastWindow, label_history
from rocmonitor.stats.sample import ScoreCounts
from rocmonitor.wording.caveats import arrival, words_of

DAY = timedelta(days=1)
AGES = (30 * DAY, 100 * DAY)
RULES = {"forecast": Forecast(), "drop": Drop(), "floor": Floor(value=0.6), "challenger": Challenger()}


def drawn(seed: int, n: int = 600) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """LabelDelay, scores, and which rows have their label after 30 days: positives and high scores first."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    s = np.round(rng.normal(1.2 * y, 1), 2)
    return y, s, rng.random(n) < np.where(y, 0.8, 0.5) * np.where(s > 0.5, 1.0, 0.6)


def frozen(n_windows: int = 20, **changes: object) -> Reference:
    rows = [drawn(seed) for seed in range(n_windows)]
    samples = [Sample(y, s) for y, s, _ in rows]
    none = ScoreCounts.of(np.zeros(0))
    past = [PastWindow((Sample(y[k], s[k]), Sample(y[~k], s[~k])), none, 200 * DAY) for y, s, k in rows]
    whole = Sample.merge(samples)
    starts = [
        f"2026-{1 + number // 28:02}-{1 + number % 28:02}T00:00:00+00:00" for number in range(n_windows + 1)
    ]
    reference = Reference(
        auc=auc(whole),
        fits={"forecast": forecast_fit(whole, windows=samples, batch=(100, 100))},
        cells=condensed(whole),
        labels=label_history(past, AGES),
        windows=[
            {"start": start, "end": end, "n_pos": one.n_pos, "n_neg": one.n_neg, "unlabelled": 0}
            for start, end, one in zip(starts, starts[1:], samples, strict=False)
        ],
    )
    return replace(reference, **changes)


def seen(reference: Reference, seed: int = 99, age: timedelta = 30 * DAY) -> Estimate | Caveat | None:
    y, s, known = drawn(seed)
    awaiting = Awaiting(unlabelled=ScoreCounts.of(s[~known]), age=age)
    return estimate(reference, Sample(y[known], s[known]), awaiting)


def test_every_rule_but_the_challenger_is_applied_to_the_estimate() -> None:
    reference = frozen()
    found = seen(reference)
    assert isinstance(found, Estimate)
    assert found.lacks == ()
    intervals = forecasts(found, RULES, NormalRanges.of(reference))
    shown = evidence(found, intervals, NormalRanges.of(reference), None)
    verdicts = {
        name: rule.judge(name, shown, reference) for name, rule in RULES.items() if name != "challenger"
    }
    for each in verdicts.values():
        assert each.outcome is Status.OK
        assert each.details["label_age_days"] == 30
        assert each.details["labelled_auc"] == found.partly.labelled_auc
    y, s, _ = drawn(99)
    final = auc(y, s).auc
    assert found.metrics["estimate/auc_low"] < final < found.metrics["estimate/auc_high"]
    assert abs(found.partly.auc - final) < abs(found.partly.labelled_auc - final)
    assert found.sizes == pytest.approx((y.sum(), (~y).sum()), abs=40)


@pytest.mark.parametrize(
    "rule", [Forecast(half_life=6), Forecast(alternative="less"), Forecast(method="dual")]
)
def test_the_options_of_a_forecast_hold_at_any_age(rule: Forecast) -> None:
    reference = frozen()
    fit = replace(reference.fits["forecast"], alternative=rule.alternative, method=rule.method)
    fit = replace(fit, usual=None, distance=0.02 if rule.method == "dual" else 0.0)
    reference = replace(reference, fits={"forecast": fit})
    found = seen(reference)
    assert isinstance(found, Estimate)
    interval = forecasts(found, {"forecast": rule}, NormalRanges.of(reference))["forecast"]
    assert interval.low < interval.auc < interval.high
    assert (interval.high == 1) is (rule.alternative == "less")
    assert interval.contains(found.partly.auc)
    assert len(interval.fit.weights) == (20 if rule.half_life else 0)


def test_nothing_is_estimated_once_no_more_labels_are_to_come() -> None:
    assert seen(frozen(), age=150 * DAY) is None
    assert seen(frozen(labels=None)) is None
    y, s, _ = drawn(1)
    assert estimate(frozen(), Sample(y, s), Awaiting(unlabelled=ScoreCounts.of(s[:0]), age=30 * DAY)) is None


def test_late_labels_of_one_class_show_nothing() -> None:
    rows = [drawn(seed) for seed in range(10)]
    past = [
        PastWindow((Sample(y[~y], s[~y]), Sample(y[y], s[y])), ScoreCounts.of(s[:0]), 200 * DAY)
        for y, s, _ in rows
    ]
    found = seen(frozen(labels=label_history(past, AGES)))
    assert isinstance(found, Caveat)
    assert found.code == "labels-not-estimated"
    assert "both classes" in words_of(found)


def test_few_windows_judge_nothing_and_still_estimate() -> None:
    reference = frozen(7)
    found = seen(reference)
    assert isinstance(found, Estimate)
    assert "estimate/auc" in found.metrics
    assert "estimate/auc_low" not in found.metrics
    shown = evidence(
        found, forecasts(found, RULES, NormalRanges.of(reference)), NormalRanges.of(reference), None
    )
    judged = RULES["floor"].judge("floor", shown, reference)
    assert judged.outcome is Status.INSUFFICIENT


@pytest.mark.parametrize(
    ("configured", "past", "dated", "needed"),
    [(None, None, False, 0.5), (None, 1.0, False, 0.5), (None, 0.4, False, 0.3), (None, 0.4, True, 0.0)]
    + [(0.8, past, dated, 0.8) for past in (None, 0.4) for dated in (False, True)],
)
def test_the_share_that_is_needed(
    configured: float | None, past: float | None, dated: bool, needed: float
) -> None:
    assert needed_share(configured, past, dated=dated) == pytest.approx(needed)


def test_shares_of_window_and_reference() -> None:
    dated = frozen()
    reference = frozen(labels=None, windows=[each | {"unlabelled": 150} for each in dated.windows])
    past = labelled_share(reference)
    assert past == pytest.approx(0.8)
    for labelled, differs in ((69, True), (75, False), (91, True)):
        counts = Counts(rows=100, n_pos=30, n_neg=labelled - 30, unlabelled=100 - labelled)
        assert [each.code for each in shares_differ(reference, counts)] == [
            "labelled-shares-differ"
        ] * differs
    assert refused(reference, Counts(n_pos=20, n_neg=20, unlabelled=60), None) is not None
    assert refused(reference, Counts(n_pos=20, n_neg=20, unlabelled=60), 0.4) is None
    assert refused(reference, Counts(n_pos=2, n_neg=2), 0.4) is None  # nothing is missing
    old = [{name: each[name] for name in each if name != "unlabelled"} for each in dated.windows]
    assert labelled_share(frozen(windows=old)) is None


def test_ages_at_which_labels_are_kept() -> None:
    labels = LabelDelay(delay=30 * DAY, revise_for=90 * DAY)
    assert labels.complete_after == 120 * DAY
    assert (labels.ages[0], labels.ages[-1], len(labels.ages)) == (0 * DAY, 120 * DAY, 33)
    assert 30 * DAY in labels.ages
    assert list(labels.ages) == sorted(set(labels.ages))
    assert LabelDelay(delay=7 * DAY).complete_after == 28 * DAY
    assert LabelDelay().ages == (0 * DAY,)


WHERE = {"monitor": "credit", "column": "known_at", "count": 2, "rows": 9}
EXAMPLES = [
    *(
        Caveat(code, **WHERE)
        for code in (
            "labels-without-instant",
            "labelled-before-scored",
            "instants-without-label",
            "labelled-later",
        )
    ),
    Caveat(
        "labels-awaited",
        labelled_share=0.6,
        label_age_days=30.0,
        auc=0.8,
        low=0.78,
        high=0.82,
        confidence_level=0.95,
        labelled_auc=0.7,
    ),
    Caveat("labels-not-estimated", why="because"),
    *(
        Caveat(
            "labels-arrive-otherwise",
            labelled_share=0.9,
            label_age_days=30.0,
            lowest=0.5,
            highest=0.7,
            read_at_days=read_at,
        )
        for read_at in (40.0, None)
    ),
    Caveat(
        "too-few-labels", labelled_share=0.4, needed=0.5, labelled=400, unlabelled=600, reference_share=None
    ),
    Caveat("labelled-shares-differ", labelled_share=0.6, reference_share=0.84),
    Caveat("reference-labels-open", windows=3, n_windows=20),
    Caveat("rule-needs-all-labels", labelled_share=0.6),
]


@pytest.mark.parametrize("caveat", EXAMPLES, ids=lambda caveat: caveat.code)
def test_every_caveat_has_a_sentence(caveat: Caveat) -> None:
    text = words_of(caveat)
    assert "{" not in text
    assert not text.startswith(f"{caveat.code} (")
    assert text[-1] not in ".:; "


def test_no_sentence_lacks_an_example() -> None:
    assert {each.code for each in EXAMPLES} == set(arrival.SENTENCES)
