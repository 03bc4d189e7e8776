"""AUC differences over windows: what rows not seen add, and short versions of `review-period`."""

from __future__ import annotations

import math

import numpy as np
import pytest
from studies import review_period as study
from studies.running import replicate

from rocmonitor.errors import InputError
from rocmonitor.stats import (
    PairedSample,
    auc,
    auc_sequence,
    compare_auc,
    compare_auc_paired,
    confidence_sequence,
    windows_to_decide,
)
from rocmonitor.stats.area.period import _rows_so_far

NEAR, DIFFERENCE = study.NEAR[0]
LOST = study.Rows("", study.COURSES[0], 50, 950, "lost", correlation=0.95)


def drawn(design: study.Rows, difference: float, windows: int, seed: int) -> list:
    rng = np.random.default_rng(seed)
    return [compare_auc_paired(study.week(design, difference, rng)) for _ in range(windows)]


def plain(windows: list, **options):
    d, s = [each.difference for each in windows], [each.cautious_se() for each in windows]
    return confidence_sequence(d, s, estimand="period", **options)


def unlike(n_pos: int, n_neg: int, losing: int, gaining: int) -> PairedSample:
    """Models that separate the classes, but for positives that the first or the second loses."""
    y = np.repeat([1, 0], [n_pos, n_neg])
    first, second = (y + 0.0 for _ in range(2))
    first[:losing] = second[losing : losing + gaining] = -1.0
    return PairedSample(y, first, second)


def test_many_rows_that_differ_need_no_allowance():
    ordinary = study.Rows("", study.COURSES[0], 200, 800)
    windows = drawn(ordinary, 0.01, 5, 1)
    found = auc_sequence(windows, weights=[5, 4, 3, 2, 1], tuned_for=4, confidence_level=0.9)
    assert not found.unseen_low.any()
    assert not found.unseen_high.any()
    same = plain(windows, weights=[5, 4, 3, 2, 1], tuned_for=4, confidence_level=0.9)
    assert found.to_dict() == same.to_dict()


def test_the_allowance_is_for_the_period_and_fades_with_its_rows():
    windows = drawn(LOST, 0.0, 30, 2)
    found, own = auc_sequence(windows), plain(windows)
    assert found.unseen_low[0] > 0.03
    assert found.unseen_low[-1] == found.unseen_high[-1] == 0
    assert found.low == pytest.approx(np.maximum(own.low - found.unseen_low, -1))
    assert found.high == pytest.approx(np.minimum(own.high + found.unseen_high, 1))
    assert found.information.tolist() == own.information.tolist()


@pytest.mark.parametrize("losing", [0, 1, 3])
def test_an_end_leaves_room_for_rows_that_no_window_has_shown(losing):
    """A share of lost positives that 180 hold none of with chance alpha / 2, losing two fifths each."""
    windows = [compare_auc_paired(unlike(60, 600, losing if i == 0 else 0, 6)) for i in range(3)]
    found = auc_sequence(windows)
    share = -math.expm1(math.log(0.025) / 180)
    assert found.estimate[-1] - found.low[-1] >= 0.4 * share


def test_models_that_change_places_change_the_ends():
    windows = [study.week(LOST, 0.0, np.random.default_rng(seed)) for seed in range(4)]
    one, other = (
        auc_sequence([compare_auc_paired(pair) for pair in pairs])
        for pairs in (windows, [each.swapped() for each in windows])
    )
    assert other.high == pytest.approx(-one.low)
    assert other.unseen_high == pytest.approx(one.unseen_low)
    assert other.pvalue == pytest.approx(one.pvalue)


def test_rows_of_several_windows_are_pooled():
    """Four windows of alike rows have the sums of one with four times as many rows."""
    whole, part = (compare_auc_paired(unlike(*sizes)) for sizes in ((80, 400, 4, 12), (20, 100, 1, 3)))
    for low, high in (_rows_so_far([part] * 4, np.full(4, 0.25))[-1], _rows_so_far([whole], np.ones(1))[0]):
        assert low.sizes == pytest.approx([80, 400])
        assert low.carriers[0] == pytest.approx(4)
        assert low.rows[0].loss == pytest.approx((0.05, 0.05))
        assert high.rows[0].loss == low.rows[0].gain == pytest.approx((0.15, 0.15))
        assert low.most == pytest.approx(2 * whole.auc_2 - 1)
        assert high.most == pytest.approx(2 * whole.auc_1 - 1)


def test_rows_count_by_their_weight():
    """The first window has a quarter of the rows and counts as much as the second."""
    windows = [compare_auc_paired(unlike(20, 100, 2, 3)), compare_auc_paired(unlike(60, 300, 0, 9))]
    low, _ = _rows_so_far(windows, np.ones(2))[-1]
    assert low.rows[0].loss.mean == pytest.approx((0.1 + 0.0) / 2)
    assert low.sizes[0] == pytest.approx(4 / (1 / 20 + 1 / 60))
    assert low.carriers[0] == pytest.approx(2)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("design", [NEAR, LOST])
def test_interval_and_pvalue_say_the_same(design, seed):
    windows = drawn(design, DIFFERENCE, 6, seed)
    for level in (0.8, 0.95, 0.999):
        found = auc_sequence(windows, confidence_level=level)
        outside = (found.low > 0) | (found.high < 0)
        clear = abs(found.pvalue - (1 - level)) > 1e-6
        assert (outside == (found.pvalue < 1 - level))[clear].all()
    assert (auc_sequence(windows).pvalue >= plain(windows).pvalue).all()


def test_models_that_never_differ_lie_within_exact_bounds():
    same = compare_auc_paired([1] * 50 + [0] * 90, np.arange(140.0), np.arange(140.0))
    found = auc_sequence([same] * 20)
    for look in (0, 9, 19):
        bounds = [-math.expm1(math.log(0.025) / (n * (look + 1))) for n in (50, 90)]
        assert found.high[look] == -found.low[look] == pytest.approx(math.hypot(*bounds))
    assert found.pvalue.tolist() == [1.0] * 20
    assert [each.code for each in found.caveats] == ["no-window-scatters", "difference-rests-on-few"]


def test_few_rows_that_speak_against_a_difference_are_counted():
    windows = drawn(LOST, -0.01, 2, 5)
    [caveat] = [each for each in auc_sequence(windows).caveats if each.code == "difference-rests-on-few"]
    assert caveat.values["kind"] == "positives"
    assert caveat.values["of"] == 100
    assert 0 <= caveat.values["rows"] < 10


def test_a_plan_counts_the_allowance():
    windows = drawn(NEAR, DIFFERENCE, 1, 4)
    assert windows_to_decide(auc_sequence(windows)) >= windows_to_decide(plain(windows))


def test_only_paired_differences_are_pooled():
    one = auc([0, 1, 0, 1, 1], [1, 2, 3, 4, 5])
    with pytest.raises(InputError, match="same rows"):
        auc_sequence([compare_auc(one, one)])


@pytest.mark.slow
def test_near_models_are_told_apart_nearly_as_soon_as_by_sampling_errors_alone():
    """By week 82 in half of the courses when every window had its own allowance."""
    found = np.array(replicate(study.checks_to_part, NEAR, DIFFERENCE, replications=80, seed=1))
    allowed, alone = np.median(found, axis=0)
    assert allowed <= alone + 1
    assert found[:, 0].mean() <= 1.3 * found[:, 1].mean()


@pytest.mark.slow
def test_few_courses_are_false_where_one_model_loses_a_few_positives():
    years = np.array(replicate(study.year_of_rows, LOST, replications=120, seed=1))
    assert years[:, 0].mean() <= 0.075
    assert years[:, 0].sum() <= years[:, 1].sum()
