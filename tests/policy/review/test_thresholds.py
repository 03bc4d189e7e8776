"""Thresholds and costs against slow counts on the rows, chosen on other rows than those compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from paired import pair, scores

from rocmonitor.caveat import Caveat
from rocmonitor.policy.review.settings import Money, ReviewSettings
from rocmonitor.policy.review.thresholds import (
    at_thresholds,
    costs,
    dominance,
    scale_caveats,
)
from rocmonitor.stats import PairedSample, Sample, threshold_dominance
from rocmonitor.stats.curve.matching import flagged_shares

SETTINGS = ReviewSettings(thresholds=(0.6, 1.5), w=(0.2, 0.7), flagged=9)


def paired(rows) -> PairedSample:
    y, champion, challenger = rows
    return PairedSample(y, challenger, champion)


@pytest.fixture(scope="module")
def rows():
    """The challenger's scale is ten times the champion's."""
    y, champion, challenger = scores(1, 70, 130, challenger=1.6)
    return y, champion, 10 * challenger


@pytest.fixture(scope="module")
def setting():
    y, champion, challenger = scores(2, 90, 210, challenger=1.6)
    return y, champion, 10 * challenger


def rate(y, score, threshold, label):
    return np.mean(score[y == label] >= threshold)


def test_given_thresholds_are_the_same_number_for_both(rows):
    y, champion, challenger = rows
    table = at_thresholds(paired(rows), None, SETTINGS, [])
    assert [row["pairing"] for row in table] == ["given", "given"]
    for t, row in zip(SETTINGS.thresholds, table, strict=True):
        assert (row["champion_threshold"], row["challenger_threshold"]) == (t, t)
        assert row["champion_flagged"] == pytest.approx(np.mean(champion >= t), abs=1e-12)
        assert row["challenger_flagged"] == pytest.approx(np.mean(challenger >= t), abs=1e-12)
        for name, label in (("dtpr", 1), ("dfpr", 0)):
            difference = rate(y, challenger, t, label) - rate(y, champion, t, label)
            assert row[name] == pytest.approx(difference, abs=1e-12)
            assert row[f"{name}_low"] <= difference <= row[f"{name}_high"]


def test_the_five_outcomes_are_named_for_the_right_model(rows):
    y, champion, challenger = rows
    first, second = at_thresholds(paired(rows), None, SETTINGS, [])
    law = threshold_dominance(y, challenger, champion, [(0.6, 0.6), (1.5, 1.5)])
    for i, row in enumerate((first, second)):
        assert row["challenger_better"] == law.first[i]
        assert row["champion_better"] == law.second[i]
        assert row["both_higher"] == law.both_higher[i]
        names = ("challenger_better", "champion_better", "both_higher", "both_lower", "tie")
        assert sum(row[name] for name in names) == pytest.approx(1, abs=1e-12)
    assert first["challenger_flagged"] > first["champion_flagged"]
    assert first["both_higher"] + first["challenger_better"] > 0.9


def test_a_matched_threshold_flags_as_many_rows_of_the_setting(rows, setting):
    table = at_thresholds(paired(rows), paired(setting), SETTINGS, [])
    matched = [row for row in table if row["pairing"] == "flagged share"]
    assert [row["champion_threshold"] for row in matched] == [0.6, 1.5]
    for row in matched:
        share = np.mean(setting[1] >= row["champion_threshold"])
        assert np.mean(setting[2] >= row["challenger_threshold"]) == pytest.approx(share, abs=1e-12)
        assert row["challenger_threshold"] in setting[2]
        assert row["challenger_flagged"] == pytest.approx(
            np.mean(rows[2] >= row["challenger_threshold"]), abs=1e-12
        )


def test_calibrated_thresholds_mean_one_probability_on_the_setting(rows, setting):
    caveats = []
    table = at_thresholds(paired(rows), paired(setting), SETTINGS, caveats)
    [row] = [row for row in table if row["pairing"] == "calibrated"]
    y = setting[0]
    for model, score in (("champion", setting[1]), ("challenger", setting[2])):
        at = row[f"{model}_threshold"]
        # Isotonic: from the threshold on no run of rows has fewer positives than 0.6, before it none more.
        order = np.argsort(score)
        above, below = y[order][score[order] >= at], y[order][score[order] < at]
        assert min(np.cumsum(above) / np.arange(1, len(above) + 1)) >= 0.6 - 1e-9
        assert max(np.cumsum(below[::-1]) / np.arange(1, len(below) + 1)) < 0.6
    assert caveats[0] == Caveat("thresholds-not-calibrated", count=1, total=2)
    assert all(caveat.about[0].startswith("thresholds (") for caveat in caveats[1:])


def test_a_probability_that_a_model_never_reaches_flags_nothing(rows):
    """Scores that say nothing are calibrated to the share of positives."""
    y, champion, _ = scores(3, 90, 210)
    setting = paired((y, champion, np.resize([0.1, 0.2], 300) * y[::-1] - champion))
    table = at_thresholds(paired(rows), setting, replace(SETTINGS, thresholds=(0.6,)), [])
    [row] = [row for row in table if row["pairing"] == "calibrated"]
    assert row["challenger_threshold"] is None
    assert row["challenger_flagged"] == 0
    assert row["dtpr"] == pytest.approx(-rate(rows[0], rows[1], row["champion_threshold"], 1), abs=1e-12)


def test_thresholds_beyond_all_scores_have_no_match(rows, setting):
    caveats = []
    at_thresholds(paired(rows), paired(setting), replace(SETTINGS, thresholds=(0.6, 99.0)), caveats)
    assert Caveat("thresholds-not-matched", count=1, total=2) in caveats
    table = at_thresholds(paired(rows), paired(setting), replace(SETTINGS, thresholds=(99.0,)), [])
    assert [row["pairing"] for row in table] == ["given"]


def test_dominance_is_shown_over_shares_of_the_setting(rows, setting):
    table = dominance(paired(rows), paired(setting), SETTINGS)
    assert [row["share"] for row in table] == pytest.approx(np.arange(1, 10) / 10)
    for row in table:
        for model, score in (("champion", setting[1]), ("challenger", setting[2])):
            flagged = np.mean(score >= row[f"{model}_threshold"])
            assert flagged == pytest.approx(row["share"], abs=0.51 / len(score))
    assert [row["share"] for row in table if dominates(rows, row)] == pytest.approx([0.2, 0.7, 0.8])
    for row in table:
        if dominates(rows, row):
            assert row["challenger_better"] > row["champion_better"]


def dominates(rows, row):
    """Whether the challenger flags more positives and fewer negatives of these rows."""
    y, champion, challenger = rows
    dtpr, dfpr = (
        rate(y, challenger, row["challenger_threshold"], label)
        - rate(y, champion, row["champion_threshold"], label)
        for label in (1, 0)
    )
    return dtpr > 0 > dfpr


def cheapest(y, score, w):
    """Least cost over all thresholds, by trying each."""
    candidates = [*np.unique(score), np.inf]
    made = [w * (1 - rate(y, score, t, 1)) + (1 - w) * rate(y, score, t, 0) for t in candidates]
    return candidates[int(np.argmin(made))]


def test_costs_are_those_of_thresholds_chosen_elsewhere(rows, setting):
    money = Money(false_positive=3, false_negative=20, prevalence=0.1, unit="EUR", decisions=500)
    caveats = []
    table = costs(paired(rows), paired(setting), replace(SETTINGS, money=(money,)), caveats)
    at_money = 0.1 * 20 / (0.1 * 20 + 0.9 * 3)
    assert [row["w"] for row in table] == pytest.approx([0.2, 0.7, at_money])
    y = rows[0]
    for row in table:
        w = row["w"]
        own = {}
        for model, there, here in (("champion", 1, 1), ("challenger", 2, 2)):
            t = cheapest(setting[0], setting[there], w)
            assert row[f"{model}_threshold"] == t
            own[model] = w * (1 - rate(y, rows[here], t, 1)) + (1 - w) * rate(y, rows[here], t, 0)
            assert row[f"{model}_cost"] == pytest.approx(own[model], abs=1e-12)
        assert row["saved"] == pytest.approx(own["champion"] - own["challenger"], abs=1e-12)
        assert row["low"] < row["saved"] < row["high"]
    assert table[0]["money_saved"] is table[0]["unit"] is None
    priced = table[2]
    largest = 0.1 * 20 + 0.9 * 3
    for name in ("saved", "low", "high"):
        assert priced[f"money_{name}"] == pytest.approx(500 * largest * priced[name], rel=1e-12)
    assert (priced["unit"], priced["decisions"], priced["prevalence"]) == ("EUR", 500, 0.1)


def test_a_condition_that_has_a_price_is_shown_once(rows, setting):
    money = Money(false_positive=1, false_negative=1, prevalence=0.5)
    settings = replace(SETTINGS, w=(0.5, 0.2), money=(money,))
    table = costs(paired(rows), paired(setting), settings, [])
    assert [(row["w"], row["money_saved"] is None) for row in table] == [(0.2, True), (0.5, False)]


def test_a_cost_at_which_nothing_is_flagged_has_no_threshold(rows, setting):
    [row] = costs(paired(rows), paired(setting), replace(SETTINGS, w=(0.0,)), [])
    assert row["champion_threshold"] is row["challenger_threshold"] is None
    assert row["saved"] == row["champion_cost"] == 0


def test_flagged_shares_count_every_row():
    sample = Sample.from_counts([1.0, 2.0, 3.0], [1, 0, 2], [3, 4, 0])
    assert flagged_shares(sample, [0.0, 1.0, 1.5, 3.0, np.inf]).tolist() == [1.0, 1.0, 0.6, 0.2, 0.0]


@pytest.mark.parametrize(
    ("scale", "thresholds", "code"),
    [
        (lambda s: 100 + s, (), "scales-differ"),
        (lambda s: s + 1.5, (1.0,), "flagged-shares-differ"),
        (lambda s: s + 1.5, (), None),
        (lambda s: s, (0.5, 1.0), None),
    ],
)
def test_scales_that_plainly_differ_have_a_caveat(scale, thresholds, code):
    both = pair(6)
    other = PairedSample.from_counts(
        scale(both.first.score[both.index_1]), both.second.score[both.index_2], both.pos, both.neg
    )
    assert [caveat.code for caveat in scale_caveats(other, thresholds)] == ([code] if code else [])


def test_the_quartiles_are_of_rows_not_of_scores():
    """Three quarters of the challenger's rows have the highest of its four scores."""
    y = np.resize([0, 1], 80)
    challenger = np.repeat([1.0, 2.0, 3.0, 9.0], [5, 5, 5, 65])
    [caveat] = scale_caveats(PairedSample(y, challenger, np.linspace(0, 4, 80)), ())
    assert caveat.values["challenger_scores"] == [9.0, 9.0]
    assert scale_caveats(PairedSample(y, challenger, np.linspace(0, 20, 80)), ()) == []
