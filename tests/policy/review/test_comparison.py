"""A whole review: real samples in, one decision and its tables out."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from paired import pair, scores, week, weeks

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.policy.record import plain
from rocmonitor.policy.review.checks import NO_SCATTER
from rocmonitor.policy.review.comparison import Compared, compare
from rocmonitor.policy.review.document import Decision
from rocmonitor.policy.review.settings import Money, ReviewRule, ReviewSettings
from rocmonitor.stats import (
    PairedSample,
    auc,
    compare_auc_paired,
    cost_thresholds,
    roc_difference_band,
    vertical_difference,
    vertical_intervals,
)
from rocmonitor.stats.area.period import auc_sequence
from rocmonitor.stats.coming import next_windows

MONEY = Money(false_positive=1, false_negative=9, prevalence=0.1, unit="EUR")
SETTINGS = ReviewSettings(
    rule=ReviewRule(fpr=(0.05, 0.2)),
    thresholds=(0.6,),
    w=(0.3,),
    money=(MONEY,),
    flagged=5,
    n_resamples=99,
)
SETTING = pair(5, 200, 400, challenger=1.6)
SEGMENTS = {"region=north": pair(2, challenger=1.6), "region=south": pair(3, 10, 30)}
PAST = [pair([4, i], 60, 60, challenger=1.6) for i in range(19)]
COLUMNS = {
    "windows": "start end rows n_pos n_neg champion_auc challenger_auc difference se low high running_mean "
    "anytime_low anytime_high pvalue checked why_not",
    "auc": "method champion challenger difference se low high pvalue",
    "fprs": "fpr champion_tpr challenger_tpr difference low high method running_mean anytime_low "
    "anytime_high better",
    "thresholds": "pairing champion_threshold challenger_threshold champion_flagged challenger_flagged dtpr "
    "dtpr_low dtpr_high dfpr dfpr_low dfpr_high champion_better challenger_better both_higher both_lower tie",
    "dominance": "share champion_threshold challenger_threshold champion_better challenger_better "
    "both_higher both_lower tie",
    "roc": "model fpr tpr tpr_low tpr_high",
    "band": "fpr difference low high",
    "regions": "from_fpr to_fpr better",
    "costs": "w champion_threshold challenger_threshold champion_cost challenger_cost saved low high unit "
    "false_positive false_negative prevalence decisions money_saved money_low money_high",
    "next": "windows confidence_level low high",
    "segments": "segment rows n_pos n_neg champion_auc challenger_auc difference low high level pvalue note",
    "forecast": "method windows basis confidence_level distance difference low high",
}


def reviewed(windows, settings=SETTINGS, *, setting=None, segments=None, past=(), rng=7) -> Compared:
    return compare(windows, segments or {}, settings=settings, setting=setting, past=past, rng=rng)


def coded(found: Compared, code: str) -> list[Caveat]:
    return [caveat for caveat in found.caveats if caveat.code == code]


@pytest.fixture(scope="module")
def windows():
    """The challenger is better by 0.06."""
    return weeks(8, 1, challenger=1.6)


@pytest.fixture(scope="module")
def found(windows) -> Compared:
    return reviewed(windows, setting=SETTING, segments=SEGMENTS, past=PAST)


def merged(windows) -> PairedSample:
    return PairedSample.merge(both for _, both in windows)


def test_the_better_model_is_found(windows, found):
    assert found.decision is Decision.CHALLENGER
    assert found.decided_in in [window for window, _ in windows]
    number = [window for window, _ in windows].index(found.decided_in)
    assert [row["anytime_low"] > 0 for row in found.tables["windows"]] == [i >= number for i in range(8)]
    area = found.comparisons[0]
    assert (area.fpr, area.checks, area.better) == (None, 8, "challenger")
    assert [each.fpr for each in found.comparisons[1:]] == [0.05, 0.2]
    assert found.further_windows is None
    other = reviewed([(window, both.swapped()) for window, both in windows])
    assert other.decision is Decision.CHAMPION
    assert other.decided_in == found.decided_in
    assert other.metrics["difference/auc"] == -found.metrics["difference/auc"]


def test_the_tables_have_the_columns_that_are_promised(found):
    assert set(found.tables) == set(COLUMNS)
    for name, columns in COLUMNS.items():
        assert found.tables[name], name
        for row in found.tables[name]:
            assert list(row) == columns.split() or set(row) == set(columns.split()), name


def test_it_is_json_without_nan_or_infinity(found):
    text = json.dumps([found.tables, found.metrics, plain(found.caveats)], allow_nan=False)
    assert json.loads(text)[0] == found.tables
    assert all(type(value) is float and np.isfinite(value) for value in found.metrics.values())


def test_the_period_in_one_is_that_of_all_rows(windows, found):
    rows = merged(windows)
    for row, method in zip(found.tables["auc"], ("delong", "exact-bootstrap"), strict=True):
        direct = compare_auc_paired(rows, method=method)
        assert row["method"] == method
        assert (row["difference"], row["se"], row["pvalue"]) == (direct.difference, direct.se, direct.pvalue)
        assert (row["challenger"], row["champion"]) == (direct.auc_1, direct.auc_2)
        assert (row["low"], row["high"]) == direct.ci(0.95)
    direct = vertical_difference(rows, [0.05, 0.2], method="exact")
    for i, row in enumerate(found.tables["fprs"]):
        assert row["difference"] == pytest.approx(direct.dtpr[i], abs=1e-12)
        assert (row["low"], row["high"]) == pytest.approx((direct.dtpr_low[i], direct.dtpr_high[i]))
        assert row["method"] == "exact"
        assert row["challenger_tpr"] == vertical_intervals(rows.first, row["fpr"]).tpr[0]
        assert row["champion_tpr"] == vertical_intervals(rows.second, row["fpr"]).tpr[0]
        assert row["challenger_tpr"] - row["champion_tpr"] == pytest.approx(row["difference"], abs=1e-9)


def test_the_curves_are_shown_with_each_models_own_intervals(windows, found):
    rows = merged(windows)
    for model, sample in (("champion", rows.second), ("challenger", rows.first)):
        shown = [row for row in found.tables["roc"] if row["model"] == model]
        direct = vertical_intervals(sample, [row["fpr"] for row in shown])
        assert [row["tpr"] for row in shown] == direct.tpr.tolist()
        assert [row["tpr_low"] for row in shown] == direct.tpr_low.tolist()
        assert len(shown) == 49


def test_the_band_is_seeded_and_its_regions_are_named(windows, found):
    direct = roc_difference_band(merged(windows), n_resamples=99, rng=7)
    assert [row["low"] for row in found.tables["band"]] == direct.low.tolist()
    assert [row["difference"] for row in found.tables["band"]] == direct.difference.tolist()
    names = {"first": "challenger", "second": "champion"}
    assert [tuple(row.values()) for row in found.tables["regions"]] == [
        (region.low_fpr, region.high_fpr, names[region.better]) for region in direct.regions()
    ]
    assert {row["better"] for row in found.tables["regions"]} == {"challenger"}


def test_what_is_beside_the_windows_is_taken_challenger_first_too(found):
    """The pairs of segments, of the setting and of the reference have the order of the windows' pairs."""
    north = compare_auc_paired(SEGMENTS["region=north"])
    row = found.tables["segments"][0]
    assert row["difference"] == north.difference
    assert (row["challenger_auc"], row["champion_auc"]) == (north.auc_1, north.auc_2)
    row = found.tables["costs"][0]
    assert row["challenger_threshold"] == cost_thresholds(SETTING.first, 0.3).threshold[0]
    assert row["champion_threshold"] == cost_thresholds(SETTING.second, 0.3).threshold[0]
    for row in found.tables["dominance"]:
        assert row["challenger_threshold"] in SETTING.first.score
        assert row["champion_threshold"] in SETTING.second.score
    reference = PairedSample.merge(PAST)
    before = auc(reference.first).auc - auc(reference.second).auc
    assert found.tables["forecast"][0]["difference"] == pytest.approx(before, abs=1e-12)


def test_the_metrics_are_those_of_the_tables(windows, found):
    metrics, tables = found.metrics, found.tables
    assert [metrics[f"data/{name}"] for name in ("rows", "positives", "negatives")] == [1920, 640, 1280]
    assert (metrics["review/windows"], metrics["review/checks"]) == (8, 8)
    last = tables["windows"][-1]
    assert metrics["difference/auc_mean"] == last["running_mean"]
    assert metrics["difference/auc_anytime_low"] == last["anytime_low"]
    assert metrics["difference/auc_anytime_high"] == last["anytime_high"]
    assert metrics["difference/auc_anytime_pvalue"] == last["pvalue"]
    assert metrics["difference/auc_se"] == tables["auc"][0]["se"]
    assert metrics["difference/tpr_at_fpr_0.05_low"] == tables["fprs"][0]["low"]
    assert metrics["difference/tpr_at_fpr_0.2_anytime_high"] == tables["fprs"][1]["anytime_high"]
    assert metrics["difference/saved_at_w_0.3"] == tables["costs"][0]["saved"]
    assert metrics["difference/saved_at_w_0.5_high"] == tables["costs"][1]["high"]
    assert metrics["review/challenger_leads"] == sum(row["difference"] > 0 for row in tables["windows"])
    assert metrics["next/difference_4_low"] == tables["next"][0]["low"]
    assert metrics["next/difference_13_high"] == tables["next"][1]["high"]
    assert metrics["forecast/difference_low"] == tables["forecast"][0]["low"]
    assert "review/windows_to_decide" not in metrics


def test_the_order_of_rows_means_nothing(windows, found):
    shuffled = []
    for number, (window, both) in enumerate(windows):
        order = np.random.default_rng(number).permutation(len(both.pos))
        s1, s2 = both.first.score[both.index_1], both.second.score[both.index_2]
        again = PairedSample.from_counts(s1[order], s2[order], both.pos[order], both.neg[order])
        shuffled.append((window, again))
    again = reviewed(shuffled)
    assert (again.decision, again.decided_in) == (found.decision, found.decided_in)
    for name in ("difference/auc", "difference/auc_anytime_low"):
        assert again.metrics[name] == pytest.approx(found.metrics[name], abs=1e-12)


def test_grouped_counts_give_the_same_as_rows():
    raw, grouped = [], []
    for number in range(4):
        y, s1, s2 = scores([9, number], challenger=1.6)
        s1, s2 = np.round(s1, 0), np.round(s2, 0)
        raw.append((week(number), PairedSample(y, s2, s1)))
        cells = np.unique(np.column_stack([s2, s1]), axis=0)
        of = [(s2 == a) & (s1 == b) for a, b in cells]
        counts = np.array([(np.sum(y[at] == 1), np.sum(y[at] == 0)) for at in of])
        grouped.append((week(number), PairedSample.from_counts(*cells.T, *counts.T)))
    settings = replace(SETTINGS, thresholds=(1.0,))
    one, other = (reviewed(some, settings, setting=some[0][1]) for some in (raw, grouped))
    assert one.decision is other.decision
    for name in ("windows", "auc", "fprs", "thresholds", "dominance", "roc", "costs"):
        for here, there in zip(one.tables[name], other.tables[name], strict=True):
            assert here == pytest.approx(there, abs=1e-9), name


def test_models_whose_curves_cross_are_a_trade_off():
    settings = replace(SETTINGS, rule=ReviewRule(fpr=(0.03, 0.5), correlation="none"))
    crossed = reviewed(weeks(20, 10, 80, 160, spread=3.0), settings)
    assert crossed.decision is Decision.TRADE_OFF
    assert [row["better"] for row in crossed.tables["fprs"]] == ["challenger", "champion"]
    owners = [row["better"] for row in crossed.tables["regions"]]
    assert owners[0] == "challenger"
    assert owners[-1] == "champion"


def test_equal_models_are_not_decided_and_no_number_of_windows_is_named():
    undecided = reviewed(weeks(6, 11, challenger=1.25))
    assert (undecided.decision, undecided.decided_in) == (Decision.UNDECIDED, None)
    assert undecided.further_windows is None
    assert "review/windows_to_decide" not in undecided.metrics


def test_further_windows_are_those_by_which_most_of_the_possible_courses_decide():
    nearly = weeks(6, 11, challenger=1.4)
    settings = replace(SETTINGS, rule=ReviewRule())
    undecided = reviewed(nearly, settings)
    used = [compare_auc_paired(both) for _, both in nearly]
    d = [each.difference for each in used]
    sequence = auc_sequence(used, weights=[240] * 6)
    expected = next_windows(d, [each.se for each in used], tuple(range(6))).until_decided(sequence, 0.0)
    assert undecided.decision is Decision.UNDECIDED
    assert undecided.metrics["review/windows_to_decide"] == undecided.further_windows == expected
    future = replace(settings, rule=ReviewRule(decides="future"))
    assert reviewed(nearly, future).further_windows is None


def test_two_windows_say_nothing_of_the_next():
    two = reviewed(weeks(2, 11))
    assert two.tables["next"] == []
    assert not [name for name in two.metrics if name.startswith("next/")]


@pytest.mark.parametrize(("margin", "decision"), [(0.0, Decision.CHALLENGER), (0.055, Decision.NOT_WORSE)])
def test_a_margin_asks_for_more_and_shows_what_is_not_worse(windows, margin, decision):
    rule = ReviewRule(margin=margin)
    assert reviewed(windows, replace(SETTINGS, rule=rule)).decision is decision


def test_a_period_that_shows_more_than_its_checks_has_a_caveat():
    """Two checks bound nothing of the future, whatever their rows show in a single one."""
    settings = ReviewSettings(rule=ReviewRule(decides="future"), n_resamples=19)
    two = reviewed(weeks(2, 1, challenger=2.5), settings)
    [delong, _] = two.tables["auc"]
    assert delong["low"] > 0
    assert two.decision is Decision.UNDECIDED
    [caveat] = coded(two, "period-differs-more")
    assert caveat.values == {name: delong[name] for name in ("difference", "low", "high")}
    for other in (weeks(8, 1, challenger=2.5), weeks(2, 1)):
        assert coded(reviewed(other, settings), "period-differs-more") == []


def test_a_rate_that_few_negatives_do_not_have_has_a_caveat_where_it_matters():
    settings = ReviewSettings(rule=ReviewRule(fpr=(0.1, 0.3)), n_resamples=19)
    rows = [(week(0), pair(1, 60, 93))]  # 9 / 93 and 28 / 93
    [caveat] = coded(reviewed(rows, settings), "rate-moved")
    assert caveat.values == {"fpr": 0.1, "used": pytest.approx(9 / 93), "negatives": 93}
    assert caveat.about == ("rates",)
    assert coded(reviewed([(week(0), pair(1, 60, 997))], settings), "rate-moved") == []


def test_a_level_that_needs_more_resamples_leaves_the_band_out():
    settings = ReviewSettings(rule=ReviewRule(confidence_level=0.999), n_resamples=99)
    found = reviewed(weeks(2, 1), settings)
    assert found.tables["band"] == found.tables["regions"] == []
    assert found.tables["roc"] != []
    [caveat] = coded(found, "part-left-out")
    assert caveat.values["part"] == "band of the difference"
    assert "at least 999" in caveat.values["reason"]


def test_one_model_twice_is_never_decided():
    windows = [(window, PairedSample.merge([both])) for window, both in weeks(3, 12)]
    same = [
        (w, PairedSample.from_counts(*[both.first.score[both.index_1]] * 2, both.pos, both.neg))
        for w, both in windows
    ]
    found = reviewed(same, setting=same[0][1])
    assert found.decision is Decision.UNDECIDED
    assert found.metrics["difference/auc"] == found.metrics["difference/auc_se"] == 0
    assert {row["tie"] for row in found.tables["dominance"]} == {1.0}
    assert found.tables["regions"] == []
    for row in found.tables["fprs"]:
        assert row["difference"] == pytest.approx(0, abs=1e-12)
        assert row["low"] < 0 < row["high"]
        assert row["method"] == "agresti"
    assert all(row["saved"] == 0 for row in found.tables["costs"])
    assert coded(found, "zero-length") == []
    json.dumps(found.tables, allow_nan=False)


def test_windows_that_all_show_the_same_difference_are_shown_and_undecided():
    """A perfect challenger and a champion that reverses every pair: no scatter, no standard error."""
    y = np.repeat([1, 0], 60)
    noise = np.random.default_rng(17).random((4, 120)) / 9
    found = reviewed([(week(i), PairedSample(y, y + noise[i], -y + noise[i])) for i in range(4)])
    assert found.decision is Decision.UNDECIDED
    assert (found.metrics["challenger/auc"], found.metrics["champion/auc"]) == (1, 0)
    assert found.tables["auc"] == []
    assert "difference/auc" not in found.metrics
    assert found.tables["windows"][0]["why_not"] == NO_SCATTER
    parts = [caveat.values["part"] for caveat in coded(found, "part-left-out")]
    assert parts[0] == "AUROC difference (delong)"
    json.dumps(found.tables, allow_nan=False)


def test_without_rows_to_choose_on_what_needs_them_is_left_out(windows):
    few = "few-rows-for-thresholds"
    for setting, expected in (
        (None, Caveat("no-rows-for-thresholds")),
        (pair(13, 20, 100), Caveat(few, n_pos=20, n_neg=100, needed=50)),
        (PairedSample([0, 1] * 60, [0.5] * 120, range(120)), Caveat("constant-scores-for-thresholds")),
        (pair(13, 1, 9), Caveat(few, n_pos=1, n_neg=9, needed=2)),
    ):
        least = 1 if setting is not None and setting.n_pos == 1 else 50
        found = reviewed(windows[:2], replace(SETTINGS, min_per_class=least), setting=setting)
        assert expected in found.caveats
        assert found.tables["costs"] == found.tables["dominance"] == []
        assert [row["pairing"] for row in found.tables["thresholds"]] == ["given"]


def test_a_model_with_one_score_is_compared_by_its_area_alone():
    constant = [
        (w, PairedSample(y, np.full(len(y), 0.5), s))
        for w, (y, s, _) in [(week(i), scores([14, i])) for i in range(4)]
    ]
    found = reviewed(constant, setting=pair(15))
    assert found.decision is Decision.CHAMPION
    assert found.metrics["challenger/auc"] == 0.5
    for name in ("fprs", "roc", "band", "regions", "thresholds", "dominance"):
        assert found.tables[name] == []
    assert Caveat("constant-scores", model="challenger", rows=960, score=0.5) in found.caveats


def test_windows_too_small_to_be_checked_decide_nothing():
    found = reviewed([*weeks(2, 16, 20, 30, challenger=3.0)])
    assert found.decision is Decision.UNDECIDED
    assert found.metrics["review/checks"] == 0
    assert [row["checked"] for row in found.tables["windows"]] == [False, False]
    assert "difference/auc_anytime_low" not in found.metrics
    assert found.metrics["difference/auc_low"] > 0  # the period is shown, and decides nothing
    assert found.tables["fprs"][0]["running_mean"] is None
    assert found.comparisons[0].estimate is None


def test_nothing_to_compare_is_an_error_with_the_counts():
    for windows in ([], [(week(0), PairedSample([], [], []))]):
        with pytest.raises(DegenerateDataError, match=f"{len(windows)} windows hold 0 positives and 0 neg"):
            reviewed(windows)
    one = PairedSample([0, 0, 0, 1], [1, 2, 3, 4], [1, 2, 3, 4])
    with pytest.raises(DegenerateDataError, match="hold 1 positives and 3 negatives that both models scored"):
        reviewed([(week(0), one)])


@pytest.mark.parametrize("order", [(1, 0), (0, 0)])
def test_windows_must_follow_each_other(order):
    with pytest.raises(InputError, match="windows must follow each other in time without overlap"):
        reviewed([(week(number), pair(number)) for number in order])


def test_it_reports_progress(windows):
    steps = []
    compare(windows, {}, settings=SETTINGS, setting=None, rng=1, progress=steps.append)
    assert steps[0] == "window 1 of 8"
    for step in ("AUROC over the period", "band of the difference", "thresholds and costs"):
        assert step in steps


def test_the_last_decision_is_about_all_windows_so_far():
    last = (week(10), pair(7, 400, 800, challenger=-1.0))
    settings = ReviewSettings(n_resamples=19)
    before = weeks(10, 1, challenger=1.9)
    assert reviewed(before, settings).decision is Decision.CHALLENGER
    found = reviewed([*before, last], settings)
    assert (found.decision, found.decided_in) == (Decision.CHAMPION, last[0])
