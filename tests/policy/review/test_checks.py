"""Every window as a look: which windows are looks, and what the sequences over them are made of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from paired import pair, scores, week, weeks

from rocmonitor.policy.review.checks import follow, looks_caveats, take_looks, windows_table
from rocmonitor.policy.review.settings import ReviewRule, ReviewSettings
from rocmonitor.stats import PairedSample, compare_auc_paired, confidence_sequence, vertical_difference

SETTINGS = ReviewSettings(rule=ReviewRule(fpr=(0.1, 0.3)), min_per_class=50)


def taken(windows, settings=SETTINGS):
    """Looks at pairs that are given champion first."""
    told = []
    return take_looks([(window, both.swapped()) for window, both in windows], settings, told.append), told


def test_a_window_shows_challenger_minus_champion_on_its_rows():
    y, champion, challenger = scores(1, 60, 90, challenger=1.5)
    [look], _ = taken([(week(0), PairedSample(y, champion, challenger))])
    assert look.difference.difference == compare_auc_paired(y, challenger, champion).difference
    above = [float(np.mean(s[y == 1][:, None] > s[y == 0])) for s in (challenger, champion)]
    assert look.areas == pytest.approx(above, abs=1e-12)
    assert look.difference.difference == pytest.approx(above[0] - above[1], abs=1e-12)
    direct = vertical_difference(y, challenger, champion, [0.1, 0.3])
    assert look.rates == {
        0.1: (direct.dtpr[0], direct.dtpr_se[0]),
        0.3: (direct.dtpr[1], direct.dtpr_se[1]),
    }
    assert look.why_not == ""


def test_models_that_change_places_change_every_sign():
    (one,), (other,) = (taken([(week(0), both)])[0] for both in (pair(2), pair(2).swapped()))
    assert other.difference.difference == -one.difference.difference
    assert other.difference.se == one.difference.se
    for fpr, (difference, se) in one.rates.items():
        assert other.rates[fpr] == pytest.approx((-difference, se), abs=1e-12)


def test_a_window_with_few_rows_of_a_class_is_counted_and_no_look():
    windows = [*weeks(2, 3), (week(2), pair(4, 49, 200)), (week(3), pair(5, 0, 70)), (week(4), pair(6))]
    looks, _ = taken(windows)
    area, *rates = follow(looks, SETTINGS)
    assert area.numbers == (0, 1, 4)
    assert [track.numbers for track in rates] == [(0, 1, 4)] * 2
    rows = windows_table(looks, area, 0.95)
    assert [row["looked"] for row in rows] == [True, True, False, False, True]
    assert rows[2]["why_not"] == "49 positives and 200 negatives: fewer than 50 of a class"
    assert (rows[2]["rows"], rows[3]["rows"]) == (249, 70)
    assert rows[2]["difference"] == compare_auc_paired(windows[2][1].swapped()).difference
    assert rows[2]["always_low"] is rows[2]["pvalue"] is rows[3]["champion_auc"] is rows[3]["low"] is None
    assert looks_caveats(looks, (area,))[0] == "2 of 5 windows are no look; the table of windows says why"


def test_the_levels_are_those_that_the_rule_states():
    looks, _ = taken(weeks(3, 7))
    area, *rates = follow(looks, SETTINGS)
    assert area.sequence.confidence_level == pytest.approx(1 - 0.05 / 2)
    assert [track.sequence.confidence_level for track in rates] == pytest.approx([1 - 0.05 / 4] * 2)
    [alone] = follow(looks, replace(SETTINGS, rule=ReviewRule(confidence_level=0.9)))
    assert alone.sequence.confidence_level == pytest.approx(0.9)


def test_a_sequence_is_that_of_its_looks_weighted_by_their_rows():
    windows = [(week(0), pair(8, 60, 300)), (week(1), pair(9, 30, 300)), (week(2), pair(10, 200, 100))]
    rule = ReviewRule(fpr=(0.1,), tuned_for=3)
    looks, _ = taken(windows, replace(SETTINGS, rule=rule))
    area, rate = follow(looks, replace(SETTINGS, rule=rule))
    used = [compare_auc_paired(windows[i][1].swapped()) for i in (0, 2)]
    weights = [60 * 300 / 360, 200 * 100 / 300]
    direct = confidence_sequence(
        [d.difference for d in used],
        [d.se for d in used],
        confidence_level=0.975,
        tuned_for=3,
        weights=weights,
    )
    assert area.sequence.to_dict() == direct.to_dict()
    at = [vertical_difference(windows[i][1].swapped(), 0.1) for i in (0, 2)]
    direct = confidence_sequence(
        [d.dtpr[0] for d in at],
        [d.dtpr_se[0] for d in at],
        confidence_level=0.975,
        tuned_for=3,
        weights=weights,
    )
    assert rate.sequence.to_dict() == direct.to_dict()
    row = windows_table(looks, area, 0.9)[2]
    assert (row["so_far"], row["always_low"]) == (area.sequence.estimate[1], area.sequence.low[1])
    assert (row["low"], row["high"]) == used[1].ci(0.9)
    assert (row["challenger_auc"], row["champion_auc"]) == (used[1].auc_1, used[1].auc_2)


@pytest.mark.parametrize(
    ("n_neg", "fpr", "seen"),
    [(100, 0.01, True), (95, 0.01, True), (90, 0.01, False), (60, 0.01, False), (60, 0.5, True)],
)
def test_a_look_at_a_rate_needs_one_near_it(n_neg, fpr, seen):
    settings = replace(SETTINGS, rule=ReviewRule(fpr=(fpr,)))
    looks, _ = taken([(week(0), pair(11, 50, n_neg))], settings)
    tracks = follow(looks, settings)
    assert (fpr in looks[0].rates) is seen
    assert len(tracks[0].numbers) == 1
    caveats = looks_caveats(looks, tracks)
    assert any(f"1 of 1 looks are none at FPR {fpr:g}" in caveat for caveat in caveats) is not seen


def test_one_model_twice_shows_nothing_however_often_it_is_looked_at():
    windows = [(week(i), PairedSample(*scores(i)[:2], scores(i)[1])) for i in range(20)]
    looks, _ = taken(windows)
    for track in follow(looks, SETTINGS):
        low, high = track.bounds()
        assert track.estimate == pytest.approx(0, abs=1e-15)
        assert low < 0 < high
        assert track.better == ""


def test_the_same_difference_in_every_row_is_no_look():
    y = np.repeat([1, 0], 60)
    looks, _ = taken([(week(0), PairedSample(y, np.zeros(120), y + np.arange(120) / 1000))])
    assert looks[0].areas == (1.0, 0.5)
    assert looks[0].why_not.startswith("the areas differ by 0.5 with a standard error of 0")
    tracks = follow(looks, SETTINGS)
    assert all(track.sequence is None and track.bounds() == (-np.inf, np.inf) for track in tracks)


def test_a_model_with_one_score_has_an_area_and_no_rates():
    y, champion, _ = scores(12)
    looks, _ = taken([(week(0), PairedSample(y, champion, np.zeros(len(y))))])
    assert looks[0].areas[0] == 0.5
    assert looks[0].rates == {}
    assert looks[0].why_not == ""


def test_it_says_how_far_it_is():
    assert taken(weeks(20, 13), ReviewSettings())[1][:3] == [
        "window 1 of 20",
        "window 3 of 20",
        "window 5 of 20",
    ]
