"""Low scores that are positive: negated once where they are read, and once where results go out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmonitor.caveat import Caveat
from rocmonitor.policy.measure import Wanted, measure
from rocmonitor.policy.record import as_scored, negated
from rocmonitor.stats import PairedSample

RNG = np.random.default_rng(4)
Y = np.repeat([1, 0], [30, 70])
GOOD, FLAT = RNG.normal(size=100) + Y, np.full(100, 0.5)


def test_what_goes_out_is_as_the_models_score():
    # A credit score: low is bad, and who has 0.2 or less is flagged.
    score, other = (np.round(-values, 2) for values in (GOOD, GOOD[::-1]))
    pair = PairedSample(Y, negated(other), negated(score))
    asked = [0.2, -0.4, 0.0]
    wanted = Wanted(thresholds={at: negated(at) for at in asked}, costs={0.3: 0.4})
    found = measure(pair.second, pair, wanted)
    tables, _ = as_scored(found.tables, found.caveats)
    metrics = found.metrics
    for threshold, row in zip(asked, tables["thresholds"], strict=False):
        assert row["threshold"] == threshold
        assert row["tpr"] == np.mean(score[Y == 1] <= threshold)
        assert metrics[f"champion/fpr_at_threshold_{threshold:g}"] == np.mean(score[Y == 0] <= threshold)
    assert [row["threshold"] for row in tables["dominance"]] == asked
    [cost] = tables["costs"]
    missed, alarmed = np.mean(score[Y == 1] > -0.4), np.mean(score[Y == 0] <= -0.4)
    assert (cost["threshold"], cost["cost"]) == (-0.4, pytest.approx(0.3 * missed + 0.7 * alarmed))
    assert tables["roc"] == found.tables["roc"]


def test_caveats_name_scores_as_the_models_give_them():
    before = (
        Caveat("no-curve", model="champion", rows=9, score=-0.5),
        Caveat("some-code", thresholds=[-0.5, None, 0.25], threshold=None, margin=-1.0).concerning("band"),
        Caveat("no-dominance"),
    )
    _, after = as_scored({}, before)
    assert [caveat.values for caveat in after] == [
        {"model": "champion", "rows": 9, "score": 0.5},
        {"thresholds": [0.5, None, -0.25], "threshold": None, "margin": -1.0},
        {},
    ]
    assert after[1].about == ("band",)
    assert [caveat.values["score"] for caveat in before[:1]] == [-0.5]


def test_score_bins_are_negated_and_the_lowest_comes_first():
    bins = [
        {"low": -0.9, "high": -0.4, "pos_window": 0.1},
        {"low": -0.4, "high": 0.0, "pos_window": 0.9},
    ]
    tables, _ = as_scored({"shift": bins, "costs": [{"threshold": None, "low": 0.1, "high": 0.2}]}, ())
    assert tables["shift"] == [
        {"low": 0.0, "high": 0.4, "pos_window": 0.9},
        {"low": 0.4, "high": 0.9, "pos_window": 0.1},
    ]
    assert not np.signbit(tables["shift"][0]["low"])
    assert tables["costs"] == [{"threshold": None, "low": 0.1, "high": 0.2}]  # an interval, not a bin


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5))
def test_negating_twice_changes_nothing(thresholds):
    rows = [{"model": "champion", "threshold": at + 0.0} for at in thresholds]
    back, _ = as_scored(as_scored({"thresholds": rows}, ())[0], ())
    assert back == {"thresholds": rows}


def test_zero_has_one_sign():
    assert not np.signbit(negated(0.0))
    assert not np.signbit(negated(np.array([0.0, -0.0]))).any()
