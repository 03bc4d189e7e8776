"""Each window as a check: which windows are checked, and the sequences over them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from paired import pair, scores, week, weeks

from rocmonitor.caveat import Caveat
from rocmonitor.policy.review.checks import (
    NO_SCATTER,
    TOO_FEW,
    blocked_by_few,
    check_windows,
    checks_caveats,
    part_caveats,
    track_comparisons,
    windows_table,
)
from rocmonitor.policy.review.settings import ReviewRule, ReviewSettings
from rocmonitor.stats import (
    PairedSample,
    auc_sequence,
    compare_auc_paired,
    confidence_sequence,
    vertical_difference,
)

SETTINGS = ReviewSettings(rule=ReviewRule(fpr=(0.1, 0.3)), min_per_class=50)


def checked(windows, settings=SETTINGS):
    steps = []
    return check_windows(windows, settings, steps.append), steps


def test_a_window_shows_challenger_minus_champion_on_its_rows():
    y, champion, challenger = scores(1, 60, 90, challenger=1.5)
    [check], _ = checked([(week(0), PairedSample(y, challenger, champion))])
    assert check.difference.difference == compare_auc_paired(y, challenger, champion).difference
    above = [float(np.mean(s[y == 1][:, None] > s[y == 0])) for s in (challenger, champion)]
    assert check.areas == pytest.approx(above, abs=1e-12)
    assert check.difference.difference == pytest.approx(above[0] - above[1], abs=1e-12)
    direct = vertical_difference(y, challenger, champion, [0.1, 0.3])
    assert check.rates == {
        0.1: (direct.dtpr[0], direct.dtpr_se[0]),
        0.3: (direct.dtpr[1], direct.dtpr_se[1]),
    }
    assert check.why_not == ""


def test_models_that_change_places_change_every_sign():
    (one,), (other,) = (checked([(week(0), both)])[0] for both in (pair(2), pair(2).swapped()))
    assert other.difference.difference == -one.difference.difference
    assert other.difference.se == one.difference.se
    for fpr, (difference, se) in one.rates.items():
        assert other.rates[fpr] == pytest.approx((-difference, se), abs=1e-12)


def test_a_window_with_few_rows_of_a_class_is_listed_and_not_checked():
    windows = [*weeks(2, 3), (week(2), pair(4, 49, 200)), (week(3), pair(5, 0, 70)), (week(4), pair(6))]
    checks, _ = checked(windows)
    area, *rates = track_comparisons(checks, SETTINGS)
    assert area.numbers == (0, 1, 4)
    assert [track.numbers for track in rates] == [(0, 1, 4)] * 2
    rows = windows_table(checks, area, 0.95)
    assert [row["checked"] for row in rows] == [True, True, False, False, True]
    assert [row["why_not"] for row in rows] == ["", "", TOO_FEW, TOO_FEW, ""]
    assert (rows[2]["rows"], rows[3]["rows"]) == (249, 70)
    assert rows[2]["difference"] == compare_auc_paired(windows[2][1]).difference
    assert rows[2]["anytime_low"] is rows[2]["pvalue"] is rows[3]["champion_auc"] is rows[3]["low"] is None
    assert checks_caveats(checks, (area,))[0] == Caveat("windows-not-checked", count=2, total=5)


def test_the_levels_are_those_that_the_rule_states():
    checks, _ = checked(weeks(3, 7))
    area, *rates = track_comparisons(checks, SETTINGS)
    assert area.sequence.confidence_level == pytest.approx(1 - 0.05 / 2)
    assert [track.sequence.confidence_level for track in rates] == pytest.approx([1 - 0.05 / 4] * 2)
    [alone] = track_comparisons(checks, replace(SETTINGS, rule=ReviewRule(confidence_level=0.9)))
    assert alone.sequence.confidence_level == pytest.approx(0.9)


def test_a_sequence_is_that_of_its_checks_weighted_by_their_rows():
    windows = [(week(0), pair(8, 60, 300)), (week(1), pair(9, 30, 300)), (week(2), pair(10, 200, 100))]
    rule = ReviewRule(fpr=(0.1,), tuned_for=3)
    checks, _ = checked(windows, replace(SETTINGS, rule=rule))
    area, rate = track_comparisons(checks, replace(SETTINGS, rule=rule))
    used = [compare_auc_paired(windows[i][1]) for i in (0, 2)]
    at = [vertical_difference(windows[i][1], 0.1) for i in (0, 2)]
    own = {"confidence_level": 0.975, "tuned_for": 3}
    of_areas = auc_sequence(used, weights=[360, 300], **own)
    assert area.sequence.to_dict() == of_areas.to_dict()
    tpr, error = [d.dtpr[0] for d in at], [d.dtpr_se[0] for d in at]
    of_rates = confidence_sequence(tpr, error, weights=[360, 300], estimand="period", **own)
    assert rate.sequence.to_dict() == of_rates.to_dict()
    for correlation in ("estimated", "none"):
        future = replace(rule, decides="future", correlation=correlation)
        ahead, _ = track_comparisons(checks, replace(SETTINGS, rule=future))
        direct = confidence_sequence(
            [d.difference for d in used],
            [d.se for d in used],
            weights=[60 * 300 / 360, 200 * 100 / 300],
            correlation=correlation,
            **own,
        )
        assert ahead.sequence.to_dict() == direct.to_dict()
    row = windows_table(checks, area, 0.9)[2]
    assert (row["running_mean"], row["anytime_low"]) == (area.sequence.estimate[1], area.sequence.low[1])
    assert (row["low"], row["high"]) == used[1].ci(0.9)
    assert (row["challenger_auc"], row["champion_auc"]) == (used[1].auc_1, used[1].auc_2)


@pytest.mark.parametrize(
    ("n_neg", "fpr", "seen"),
    [(100, 0.01, True), (95, 0.01, True), (90, 0.01, False), (60, 0.01, False), (60, 0.5, True)],
)
def test_a_check_at_a_rate_needs_one_near_it(n_neg, fpr, seen):
    settings = replace(SETTINGS, rule=ReviewRule(fpr=(fpr,)))
    checks, _ = checked([(week(0), pair(11, 50, n_neg))], settings)
    tracks = track_comparisons(checks, settings)
    assert (fpr in checks[0].rates) is seen
    assert len(tracks[0].numbers) == 1
    missed = Caveat("rate-not-checked", fpr=fpr, count=1, total=1, near=0.1)
    assert (missed in checks_caveats(checks, tracks)) is not seen


def test_one_model_twice_shows_nothing_however_often_it_is_checked():
    windows = [(week(i), PairedSample(*scores(i)[:2], scores(i)[1])) for i in range(20)]
    checks, _ = checked(windows)
    for track in track_comparisons(checks, SETTINGS):
        low, high = track.bounds()
        assert track.result.estimate == pytest.approx(0, abs=1e-15)
        assert low < 0 < high
        assert track.result.better == ""


def test_the_same_difference_in_every_row_is_not_checked():
    y = np.repeat([1, 0], 60)
    checks, _ = checked([(week(0), PairedSample(y, y + np.arange(120) / 1000, np.zeros(120)))])
    assert checks[0].areas == (1.0, 0.5)
    assert checks[0].why_not == NO_SCATTER
    tracks = track_comparisons(checks, SETTINGS)
    assert all(track.sequence is None and track.bounds() == (-np.inf, np.inf) for track in tracks)


def test_a_model_with_one_score_has_an_area_and_no_rates():
    y, champion, _ = scores(12)
    checks, _ = checked([(week(0), PairedSample(y, np.zeros(len(y)), champion))])
    assert checks[0].areas[0] == 0.5
    assert checks[0].rates == {}
    assert checks[0].why_not == ""


def test_it_says_how_far_it_is():
    assert checked(weeks(20, 13), ReviewSettings())[1][:3] == [
        "window 1 of 20",
        "window 3 of 20",
        "window 5 of 20",
    ]


def test_the_first_model_of_a_statistic_is_the_challenger():
    caveats = [Caveat("ties-between-classes", model="first"), Caveat("a", model=None), Caveat("b", rows=1)]
    found = part_caveats(SimpleNamespace(caveats=caveats), "band")
    assert [each.values.get("model") for each in found] == ["challenger", None, None]
    assert {each.about for each in found} == {("band",)}


def test_windows_that_are_alike_are_shown_beside_with_their_correlation_estimated():
    quality = np.repeat([2.2, 0.6], 6)  # half a year better, half a year worse
    windows = [(week(at), pair(at, 60, 90, challenger=each)) for at, each in enumerate(quality.tolist())]
    checks, _ = checked(windows)
    rule = replace(SETTINGS.rule, decides="future", correlation="none")
    area, *_ = track_comparisons(checks, replace(SETTINGS, rule=rule))
    [caveat] = [each for each in area.sequence.caveats if each.code == "windows-correlated"]
    allowing = confidence_sequence(
        [check.difference.difference for check in checks],
        [check.difference.se for check in checks],
        confidence_level=area.sequence.confidence_level,
        tuned_for=SETTINGS.rule.tuned_for,
        weights=[check.precision for check in checks],
        correlation="estimated",
    )
    seen = [caveat.values[name] for name in ("low", "high", "pvalue")]
    assert seen == [allowing.low[-1], allowing.high[-1], allowing.pvalue[-1]]
    assert allowing.high[-1] - allowing.low[-1] > area.sequence.high[-1] - area.sequence.low[-1]


def few_lost(windows, lost=0):
    """The challenger ranks perfectly but for positives that it loses; of the champion's, a sixth are low."""
    y = np.repeat([1, 0], [50, 450])
    rows = []
    for number in range(windows):
        rng = np.random.default_rng([number, 5])
        champion = y + rng.uniform(0, 1.2, len(y))
        challenger = y + 0.5 * rng.uniform(0, 1, len(y))
        challenger[: lost if number == 0 else 0] = -1.0
        rows.append((week(number), PairedSample(y, challenger, champion)))
    return rows


def test_few_rows_that_keep_the_rule_undecided_are_named():
    rule = ReviewRule()
    settings = ReviewSettings(rule=rule, min_per_class=20)
    checks, _ = checked(few_lost(2), settings)
    tracks = track_comparisons(checks, settings)
    low, high = tracks[0].bounds()
    assert low < 0 < high
    [caveat] = blocked_by_few(tracks, 0.0)
    assert caveat.code == "few-rows-keep-undecided"
    assert caveat.values["low"] == pytest.approx(low + tracks[0].sequence.unseen_low[-1])
    assert caveat.values["low"] > 0
    assert (caveat.values["kind"], caveat.values["of"]) == ("positives", 100)


def test_nothing_is_blocked_where_the_rule_decides_or_sampling_error_would_not():
    settings = ReviewSettings(min_per_class=20)
    for windows in (few_lost(30), weeks(6, 11, challenger=1.25), []):
        checks, _ = checked(windows, settings)
        assert blocked_by_few(track_comparisons(checks, settings), 0.0) == []
