"""A whole review: real samples in, one decision and its tables out."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from paired import pair, scores, week, weeks

from rocmonitor.errors import DegenerateDataError, InputError
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
    windows_to_decide,
)
from rocmonitor.stats.sequence import confidence_sequence

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
    "windows": "start end rows n_pos n_neg champion_auc challenger_auc difference se low high so_far "
    "always_low always_high pvalue looked why_not",
    "auc": "method champion challenger difference se low high pvalue",
    "fprs": "fpr champion_tpr challenger_tpr difference low high method so_far always_low always_high better",
    "thresholds": "pairing champion_threshold challenger_threshold champion_flagged challenger_flagged dtpr "
    "dtpr_low dtpr_high dfpr dfpr_low dfpr_high champion_better challenger_better both_higher both_lower tie",
    "dominance": "share champion_threshold challenger_threshold champion_better challenger_better "
    "both_higher both_lower tie",
    "roc": "model fpr tpr tpr_low tpr_high",
    "band": "fpr difference low high",
    "regions": "from_fpr to_fpr better",
    "costs": "w champion_threshold challenger_threshold champion_cost challenger_cost saved low high unit "
    "false_positive false_negative prevalence decisions money_saved money_low money_high",
    "segments": "segment rows n_pos n_neg champion_auc challenger_auc difference low high level pvalue note",
    "forecast": "method confidence_level distance difference low high",
}


def reviewed(windows, settings=SETTINGS, *, setting=None, segments=None, past=(), rng=7) -> Compared:
    return compare(windows, segments or {}, settings=settings, setting=setting, past=past, rng=rng)


@pytest.fixture(scope="module")
def windows():
    """The challenger is better by 0.06."""
    return weeks(8, 1, challenger=1.6)


@pytest.fixture(scope="module")
def found(windows) -> Compared:
    return reviewed(windows, setting=SETTING, segments=SEGMENTS, past=PAST)


def merged(windows) -> PairedSample:
    """Challenger first."""
    return PairedSample.merge(both for _, both in windows).swapped()


def test_the_better_model_is_found(windows, found):
    assert found.decision is Decision.CHALLENGER
    assert found.decided_in in [window for window, _ in windows]
    number = [window for window, _ in windows].index(found.decided_in)
    assert [row["always_low"] > 0 for row in found.tables["windows"]] == [i >= number for i in range(8)]
    assert found.summary.startswith("The AUROC shows it")
    other = reviewed([(window, both.swapped()) for window, both in windows])
    assert other.decision is Decision.CHAMPION
    assert other.decided_in == found.decided_in
    assert other.metrics["review/difference"] == -found.metrics["review/difference"]


def test_the_tables_have_the_columns_that_are_promised(found):
    assert set(found.tables) == set(COLUMNS)
    for name, columns in COLUMNS.items():
        assert found.tables[name], name
        for row in found.tables[name]:
            assert list(row) == columns.split() or set(row) == set(columns.split()), name


def test_it_is_json_without_nan_or_infinity(found):
    text = json.dumps([found.tables, found.metrics, found.caveats], allow_nan=False)
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
        assert len(shown) == 99


def test_the_band_is_seeded_and_its_regions_are_named(windows, found):
    direct = roc_difference_band(merged(windows), n_resamples=99, rng=7)
    assert [row["low"] for row in found.tables["band"]] == direct.low.tolist()
    assert [row["difference"] for row in found.tables["band"]] == direct.difference.tolist()
    names = {"first": "challenger", "second": "champion"}
    assert [tuple(row.values()) for row in found.tables["regions"]] == [
        (region.low_fpr, region.high_fpr, names[region.better]) for region in direct.regions()
    ]
    assert {row["better"] for row in found.tables["regions"]} == {"challenger"}


def test_what_is_beside_the_windows_is_taken_champion_first_too(found):
    """The pairs of segments, of the setting and of the reference are given as those of the windows are."""
    north = compare_auc_paired(SEGMENTS["region=north"])
    row = found.tables["segments"][0]
    assert row["difference"] == -north.difference
    assert (row["champion_auc"], row["challenger_auc"]) == (north.auc_1, north.auc_2)
    row = found.tables["costs"][0]
    assert row["champion_threshold"] == cost_thresholds(SETTING.first, 0.3).threshold[0]
    assert row["challenger_threshold"] == cost_thresholds(SETTING.second, 0.3).threshold[0]
    for row in found.tables["dominance"]:
        assert row["champion_threshold"] in SETTING.first.score
        assert row["challenger_threshold"] in SETTING.second.score
    reference = PairedSample.merge(PAST)
    before = auc(reference.second).auc - auc(reference.first).auc
    assert found.tables["forecast"][0]["difference"] == pytest.approx(before, abs=1e-12)


def test_the_metrics_are_those_of_the_tables(windows, found):
    metrics, tables = found.metrics, found.tables
    assert (metrics["review/rows"], metrics["review/n_pos"], metrics["review/n_neg"]) == (1920, 640, 1280)
    assert (metrics["review/windows"], metrics["review/looks"]) == (8, 8)
    last = tables["windows"][-1]
    for name in ("always_low", "always_high", "pvalue"):
        assert metrics[f"review/{name}"] == last[name]
    assert metrics["review/difference_se"] == tables["auc"][0]["se"]
    assert metrics["review/difference_at_fpr_0.05_low"] == tables["fprs"][0]["low"]
    assert metrics["review/difference_at_fpr_0.2_always_high"] == tables["fprs"][1]["always_high"]
    assert metrics["review/saved_at_w_0.3"] == tables["costs"][0]["saved"]
    assert metrics["review/saved_at_w_0.5_high"] == tables["costs"][1]["high"]
    assert metrics["review/forecast_low"] == tables["forecast"][0]["low"]
    assert "review/windows_to_decide" not in metrics


def test_the_order_of_rows_means_nothing(windows, found):
    shuffled = []
    for number, (window, both) in enumerate(windows):
        order = np.random.default_rng(number).permutation(len(both.pos))
        s1, s2 = both.first.score[both.index_1], both.second.score[both.index_2]
        again = PairedSample.from_counts(s1[order], s2[order], both.pos[order], both.neg[order])
        shuffled.append((window, again))
    again = reviewed(shuffled)
    assert (again.decision, again.decided_in, again.summary) == (
        found.decision,
        found.decided_in,
        found.summary,
    )
    assert again.metrics["review/difference"] == pytest.approx(found.metrics["review/difference"], abs=1e-12)
    assert again.metrics["review/always_low"] == pytest.approx(found.metrics["review/always_low"], abs=1e-12)


def test_grouped_counts_give_the_same_as_rows():
    raw, grouped = [], []
    for number in range(4):
        y, s1, s2 = scores([9, number], challenger=1.6)
        s1, s2 = np.round(s1, 0), np.round(s2, 0)
        raw.append((week(number), PairedSample(y, s1, s2)))
        cells = np.unique(np.column_stack([s1, s2]), axis=0)
        of = [(s1 == a) & (s2 == b) for a, b in cells]
        counts = np.array([(np.sum(y[at] == 1), np.sum(y[at] == 0)) for at in of])
        grouped.append((week(number), PairedSample.from_counts(*cells.T, *counts.T)))
    settings = replace(SETTINGS, thresholds=(1.0,))
    one, other = (reviewed(some, settings, setting=some[0][1]) for some in (raw, grouped))
    assert one.summary == other.summary
    for name in ("windows", "auc", "fprs", "thresholds", "dominance", "roc", "costs"):
        for here, there in zip(one.tables[name], other.tables[name], strict=True):
            assert here == pytest.approx(there, abs=1e-9), name


def test_models_whose_curves_cross_are_a_trade_off():
    settings = replace(SETTINGS, rule=ReviewRule(fpr=(0.03, 0.5)))
    crossed = reviewed(weeks(20, 10, 80, 160, spread=3.0), settings)
    assert crossed.decision is Decision.TRADE_OFF
    assert [row["better"] for row in crossed.tables["fprs"]] == ["challenger", "champion"]
    owners = [row["better"] for row in crossed.tables["regions"]]
    assert owners[0] == "challenger"
    assert owners[-1] == "champion"
    assert "By the band of this look alone the challenger has FPR" in crossed.summary


def test_equal_models_are_not_decided_and_the_advice_counts_windows():
    equal = weeks(6, 11, challenger=1.25)
    undecided = reviewed(equal)
    assert (undecided.decision, undecided.decided_in) == (Decision.UNDECIDED, None)
    used = [compare_auc_paired(both.swapped()) for _, both in equal]
    sequence = confidence_sequence([d.difference for d in used], [d.se for d in used], confidence_level=0.975)
    further = windows_to_decide(sequence)
    assert undecided.metrics.get("review/windows_to_decide") == further
    assert ("Another" in undecided.advice) == (further is not None)


def test_a_period_that_shows_more_than_its_looks_is_explained():
    """Two looks bound nothing, whatever their rows show when they are looked at once."""
    settings = ReviewSettings(n_resamples=19)
    two = reviewed(weeks(2, 1, challenger=2.5), settings)
    [delong, _] = two.tables["auc"]
    assert delong["low"] > 0
    assert two.decision is Decision.UNDECIDED
    [said] = [caveat for caveat in two.caveats if caveat.startswith("over the period in one")]
    assert f"{delong['difference']:+.4f} ({delong['low']:+.4f} to {delong['high']:+.4f})" in said
    assert "which the rule does not show" in said
    for other in (weeks(8, 1, challenger=2.5), weeks(2, 1)):
        assert not any("over the period in one" in told for told in reviewed(other, settings).caveats)


def test_a_rate_that_few_negatives_do_not_have_is_told_where_it_matters():
    settings = ReviewSettings(rule=ReviewRule(fpr=(0.1, 0.3)), n_resamples=19)
    rows = [(week(0), pair(1, 60, 93))]  # 9 / 93 and 28 / 93
    said = [caveat for caveat in reviewed(rows, settings).caveats if caveat.startswith("rates: ")]
    assert "rates: 0.1 is shown at 0.09677, the nearest rate that 93 negatives have" in said
    assert not any("0.3 is shown" in caveat or "not multiples" in caveat for caveat in said)
    many = reviewed([(week(0), pair(1, 60, 997))], settings)
    assert not any("is shown at" in caveat or "not multiples" in caveat for caveat in many.caveats)


def test_a_level_that_needs_more_resamples_leaves_the_band_out():
    settings = ReviewSettings(rule=ReviewRule(confidence_level=0.999), n_resamples=99)
    found = reviewed(weeks(2, 1), settings)
    assert found.tables["band"] == found.tables["regions"] == []
    assert found.tables["roc"] != []
    [said] = [caveat for caveat in found.caveats if caveat.startswith("band of the difference left out: ")]
    assert "n_resamples must be at least 999" in said


def test_one_model_twice_is_never_decided():
    windows = [(window, PairedSample.merge([both])) for window, both in weeks(3, 12)]
    same = [
        (w, PairedSample.from_counts(*[both.first.score[both.index_1]] * 2, both.pos, both.neg))
        for w, both in windows
    ]
    found = reviewed(same, setting=same[0][1])
    assert found.decision is Decision.UNDECIDED
    assert found.metrics["review/difference"] == found.metrics["review/difference_se"] == 0
    assert {row["tie"] for row in found.tables["dominance"]} == {1.0}
    assert found.tables["regions"] == []
    for row in found.tables["fprs"]:
        assert row["difference"] == pytest.approx(0, abs=1e-12)
        assert row["low"] < 0 < row["high"]
        assert row["method"] == "agresti"
    assert all(row["saved"] == 0 for row in found.tables["costs"])
    assert not any("zero length" in caveat for caveat in found.caveats)
    json.dumps(found.tables, allow_nan=False)


def test_windows_that_all_show_the_same_difference_are_shown_and_undecided():
    """A perfect challenger and a champion that turns everything round: no scatter, no standard error."""
    y = np.repeat([1, 0], 60)
    noise = np.random.default_rng(17).random((4, 120)) / 9
    found = reviewed([(week(i), PairedSample(y, -y + noise[i], y + noise[i])) for i in range(4)])
    assert found.decision is Decision.UNDECIDED
    assert (found.metrics["review/challenger_auc"], found.metrics["review/champion_auc"]) == (1, 0)
    assert found.tables["auc"] == []
    assert "review/difference" not in found.metrics
    assert "every row shows the same difference" in found.tables["windows"][0]["why_not"]
    assert any(caveat.startswith("AUROC difference (delong) left out") for caveat in found.caveats)
    json.dumps(found.tables, allow_nan=False)


def test_without_rows_to_choose_on_what_needs_them_is_left_out(windows):
    for setting, said in (
        (None, "there are no rows before the period"),
        (pair(13, 20, 100), "20 positives and 100 negatives, fewer than 50 of a class"),
        (PairedSample([0, 1] * 60, [0.5] * 120, range(120)), "a model gave one score to all rows"),
        (pair(13, 1, 9), "1 positives and 9 negatives, fewer than 2 of a class"),
    ):
        least = 1 if setting is not None and setting.n_pos == 1 else 50
        found = reviewed(windows[:2], replace(SETTINGS, min_per_class=least), setting=setting)
        assert any("are left out:" in caveat and said in caveat for caveat in found.caveats)
        assert found.tables["costs"] == found.tables["dominance"] == []
        assert [row["pairing"] for row in found.tables["thresholds"]] == ["given"]


def test_a_model_with_one_score_is_compared_by_its_area_alone():
    constant = [
        (w, PairedSample(y, s, np.full(len(y), 0.5)))
        for w, (y, s, _) in [(week(i), scores([14, i])) for i in range(4)]
    ]
    found = reviewed(constant, setting=pair(15))
    assert found.decision is Decision.CHAMPION
    assert found.metrics["review/challenger_auc"] == 0.5
    for name in ("fprs", "roc", "band", "regions", "thresholds", "dominance"):
        assert found.tables[name] == []
    assert any("the challenger gives all 960 rows the score 0.5" in caveat for caveat in found.caveats)


def test_windows_too_small_to_be_looks_decide_nothing():
    found = reviewed([*weeks(2, 16, 20, 30, challenger=3.0)])
    assert found.decision is Decision.UNDECIDED
    assert found.metrics["review/looks"] == 0
    assert [row["looked"] for row in found.tables["windows"]] == [False, False]
    assert "review/always_low" not in found.metrics
    assert found.metrics["review/difference_low"] > 0  # the period is shown, and decides nothing
    assert found.tables["fprs"][0]["so_far"] is None


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


def test_it_tells_how_far_it_is(windows):
    told = []
    compare(windows, {}, settings=SETTINGS, setting=None, rng=1, progress=told.append)
    assert told[0] == "window 1 of 8"
    for step in ("AUROC over the period", "band of the difference", "thresholds and costs"):
        assert step in told
