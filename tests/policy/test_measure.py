"""Metrics, tables and caveats of scores, with and without a challenger."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmonitor.caveat import Caveat
from rocmonitor.policy.measure import Wanted, auc_values, curves, difference_values, measure, rows
from rocmonitor.stats import (
    PairedSample,
    Sample,
    auc,
    compare_auc_paired,
)

RNG = np.random.default_rng(4)
Y = np.repeat([1, 0], [30, 70])
GOOD, FLAT = RNG.normal(size=100) + Y, np.full(100, 0.5)
ASKED = Wanted(fprs=[0.1], thresholds={0.5: 0.5}, costs={0.3: 0.4})


def measured(champion, challenger=None, **changes):
    pair = None if challenger is None else PairedSample(Y, challenger, champion)
    return measure(Sample(Y, champion), pair, replace(ASKED, **changes))


def models(table):
    return sorted({row["model"] for row in table})


def codes(found):
    return [caveat.code for caveat in found.caveats]


def test_both_models_have_curves_where_their_scores_differ():
    found = measured(GOOD, GOOD[::-1])
    for table in ("roc", "fprs", "thresholds"):
        assert models(found.tables[table]) == ["challenger", "champion"]
    assert len(found.tables["dominance"]) == 1
    assert "champion/tpr_at_fpr_0.1" in found.metrics
    assert "no-curve" not in codes(found)


@given(st.integers(0, 2**32 - 1))
def test_the_difference_is_challenger_minus_champion(seed):
    rng = np.random.default_rng(seed)
    champion, challenger = np.round(rng.normal(size=(2, 100)) + Y, 1)
    found = measured(champion, challenger)
    gap = oracle.auc(Y, challenger) - oracle.auc(Y, champion)
    assert found.metrics["difference/auc"] == pytest.approx(gap, abs=1e-12)
    assert found.metrics["champion/auc"] == pytest.approx(oracle.auc(Y, champion), abs=1e-12)
    assert found.metrics["challenger/auc"] == pytest.approx(oracle.auc(Y, challenger), abs=1e-12)


def test_dominance_names_the_better_model():
    better = np.where(Y == 1, 1.0, 0.0)
    [row] = measured(GOOD, better).tables["dominance"]
    assert row["challenger_better"] > 0.99
    [row] = measured(better, GOOD).tables["dominance"]
    assert row["champion_better"] > 0.99
    [row] = measured(GOOD, GOOD + 0.5).tables["dominance"]  # flags more of both, as in a review's table
    assert row["both_higher"] > 0.99


def test_a_difference_that_every_row_shows_leaves_the_models_as_they_are():
    """A champion with one score beside a challenger that is never wrong: the test has no value."""
    found = measured(FLAT, Y.astype(float))
    assert "difference/auc" not in found.metrics
    assert found.difference is None
    assert (found.metrics["champion/auc"], found.metrics["challenger/auc"]) == (0.5, 1.0)
    [lack] = [caveat for caveat in found.caveats if caveat.code == "not-computed"]
    assert "standard error of 0" in lack.values["why"]
    assert lack.about == ("difference",)


def test_every_interval_has_the_level_that_is_asked_for():
    narrow, wide = (measured(GOOD, GOOD[::-1], confidence_level=level) for level in (0.8, 0.99))
    lows = [name for name in narrow.metrics if name.endswith("_low")]
    assert len(lows) == 3 + 2 * 3 + 1  # areas and their difference; points of both models; a cost
    for low in lows:
        high = low.removesuffix("_low") + "_high"
        assert wide.metrics[low] <= narrow.metrics[low] <= narrow.metrics[high] <= wide.metrics[high]
        assert wide.metrics[low] < narrow.metrics[low] or wide.metrics[high] > narrow.metrics[high]
    assert narrow.tables["roc"] == curves(
        [("champion", Sample(Y, GOOD)), ("challenger", Sample(Y, GOOD[::-1]))], 0.8
    )


def test_negatives_that_are_worth_one_row_have_no_rates():
    """Two clusters that lie far apart: there is no false positive rate between 0 and 1."""
    far, clusters = np.r_[np.arange(1.0, 31), np.zeros(68), [99, 99]], np.r_[np.arange(99), 98]
    clusters[30:98] = 100
    found = measure(Sample(Y, far, cluster=clusters), None, ASKED)
    assert (found.tables["fprs"], found.tables["roc"]) == ([], [])
    assert "champion/tpr_at_threshold_0.5" in found.metrics
    assert "champion/tpr_at_fpr_0.1" not in found.metrics


def test_the_names_of_areas_and_differences():
    area, pair = auc(Y, GOOD), compare_auc_paired(Y, GOOD[::-1], GOOD)
    low, high = area.ci(0.9)
    assert auc_values(area, 0.9) == {
        "auc": area.auc,
        "auc_se": area.se,
        "auc_low": low,
        "auc_high": high,
    }
    low, high = pair.ci(0.9)
    assert difference_values(pair, 0.9) == {
        "auc": pair.difference,
        "auc_se": pair.se,
        "auc_low": low,
        "auc_high": high,
        "pvalue": pair.pvalue,
    }


@pytest.mark.parametrize("flat", ["champion", "challenger"])
def test_the_curve_of_a_model_with_one_score_is_left_out(flat):
    found = measured(FLAT, GOOD) if flat == "champion" else measured(GOOD, FLAT)
    other = "challenger" if flat == "champion" else "champion"
    for table in ("roc", "fprs", "thresholds"):
        assert models(found.tables[table]) == [other]
    assert "dominance" not in found.tables
    assert Caveat("no-curve", model=flat, rows=100, score=0.5) in found.caveats
    assert Caveat("no-dominance") in found.caveats
    # The areas, their difference and the cost need no curve.
    assert found.metrics[f"{flat}/auc"] == 0.5
    assert found.difference is not None
    assert "champion/cost_at_w_0.3" in found.metrics
    names = [name for name in found.metrics if "_at_fpr_" in name or "_at_threshold_" in name]
    assert names
    assert all(name.startswith(other) for name in names)


def test_alone_with_one_score():
    found = measured(FLAT)
    assert [found.tables[table] for table in ("roc", "fprs", "thresholds")] == [[], [], []]
    assert found.metrics["champion/auc"] == 0.5
    assert len(found.caveats) == len(set(found.caveats)) >= 1


def test_one_score_on_the_rows_that_both_scored():
    champion = np.where(np.arange(100) % 5 < 4, 0.5, GOOD)
    both = np.arange(100) % 5 < 4
    pair = PairedSample(Y[both], GOOD[both], champion[both])
    found = measure(Sample(Y, champion), pair, ASKED)
    assert models(found.tables["roc"]) == ["challenger", "champion"]
    assert "dominance" not in found.tables
    assert Caveat("no-dominance") in found.caveats
    assert (
        Caveat("challenger-scores-missing", rows=80, missing=20, champion_auc=auc(pair.second).auc)
        in found.caveats
    )


def test_a_challenger_with_too_few_rows_is_left_out():
    pair = PairedSample([1, 0, 0], [0.1, 0.2, 0.3], [0.3, 0.2, 0.1])
    found = measure(Sample(Y, GOOD), pair, ASKED)
    assert found.difference is None
    assert not [name for name in found.metrics if not name.startswith("champion/")]
    assert Caveat("challenger-scored-too-few", n_pos=1, n_neg=2) in found.caveats


def test_a_rate_that_the_negatives_do_not_have_is_given_at_the_nearest():
    found = measured(GOOD, fprs=[0.01, 1 / 70])
    assert found.caveats == (Caveat("nearest-rate", fpr=0.01, used_fpr=1 / 70, n_neg=70),)
    both = [one for one in measured(GOOD, GOOD[::-1], fprs=[0.01]).caveats if one.code == "nearest-rate"]
    assert [one.values["model"] for one in both] == ["champion", "challenger"]


def test_rows_are_plain_and_infinity_is_none():
    columns = {
        "threshold": np.array([0.5, np.inf, -np.inf]),
        "n": np.array([1, 2, 3]),
        "low": [None, np.float64(0.25), 0.5],
        "method": np.array(["a", "b", "c"], dtype=object),
    }
    table = rows(columns, model="champion")
    assert table == [
        {"model": "champion", "threshold": 0.5, "n": 1, "low": None, "method": "a"},
        {"model": "champion", "threshold": None, "n": 2, "low": 0.25, "method": "b"},
        {"model": "champion", "threshold": None, "n": 3, "low": 0.5, "method": "c"},
    ]
    assert {type(value) for row in table for value in row.values()} == {str, float, int, type(None)}
    assert rows({}) == []


def test_a_threshold_that_flags_nothing_is_none():
    [cost] = measured(GOOD, costs={0.0: np.inf}).tables["costs"]
    assert (cost["threshold"], cost["cost"]) == (None, 0.0)


def test_rows_that_were_not_drawn_lack_no_score():
    half = PairedSample(Y[::2], GOOD[::-2], GOOD[::2])
    lacks = [
        [each.values["missing"] for each in found.caveats if each.code == "challenger-scores-missing"]
        for missing in (None, 0, 7)
        for found in [measure(Sample(Y, GOOD), half, ASKED, missing=missing)]
    ]
    assert lacks == [[50], [], [7]]
