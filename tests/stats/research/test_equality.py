import json
import math

import numpy as np
import pytest
from caveats import codes
from hypothesis import given, settings
from scipy.special import ndtri
from strategies import paired_samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.auc import auc
from rocmonitor.stats.area.compare import compare_auc_paired
from rocmonitor.stats.research.null import auc_equality_test
from rocmonitor.stats.sample import PairedSample

LABELS = [0, 0, 0, 1, 0, 1, 1, 0, 1, 1]
FIRST, SECOND = list(range(1, 11)), [1, 2, 6, 5, 3, 4, 9, 10, 8, 7]


def drawn(n_neg, n_pos, areas, share, rng):
    """Two models on the same rows whose errors have a share in common."""
    y = np.repeat([0, 1], [n_neg, n_pos])
    common = rng.normal(size=len(y))
    scores = [
        math.sqrt(share) * common
        + math.sqrt(1 - share) * rng.normal(size=len(y))
        + y * ndtri(area) * math.sqrt(2)
        for area in areas
    ]
    return PairedSample(y, *scores)


def test_the_numbers_are_those_of_the_two_models():
    result, delong = (
        auc_equality_test(LABELS, FIRST, SECOND, n_resamples=99, rng=1),
        compare_auc_paired(LABELS, FIRST, SECOND),
    )
    assert (result.auc_1, result.auc_2) == pytest.approx((auc(LABELS, FIRST).auc, auc(LABELS, SECOND).auc))
    assert result.difference == pytest.approx(delong.difference, abs=1e-14)
    assert result.statistic == pytest.approx(delong.statistic, rel=1e-9)
    assert min(result.auc_1, result.auc_2) < result.level_auc < max(result.auc_1, result.auc_2)
    plain = auc_equality_test(LABELS, FIRST, SECOND, method="plain", n_resamples=99, rng=1)
    assert plain.statistic == pytest.approx(delong.difference, abs=1e-14)


@pytest.mark.parametrize("method", ["studentized", "plain"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_a_model_against_itself_or_its_own_map(method, alternative):
    for second in (FIRST, [math.exp(s) for s in FIRST]):
        result = auc_equality_test(
            LABELS, FIRST, second, method=method, alternative=alternative, n_resamples=19, rng=1
        )
        assert (result.difference, result.statistic, result.pvalue, result.distance) == (0, 0, 1, 0)
        assert codes(result) == ["same-ranking"]
        assert str(result).endswith("they are level")


@settings(max_examples=40)
@given(paired_samples(min_per_class=2))
def test_swapped_models_mirror_the_test(data):
    y, s1, s2 = data
    try:
        one = auc_equality_test(y, s1, s2, alternative="greater", n_resamples=49, rng=1)
    except DegenerateDataError:
        with pytest.raises(DegenerateDataError, match="makes the models level"):
            auc_equality_test(y, s2, s1, n_resamples=19, rng=1)
        return
    other = auc_equality_test(y, s2, s1, alternative="less", n_resamples=49, rng=1)
    assert other.difference == -one.difference
    assert other.statistic == pytest.approx(-one.statistic, rel=1e-9, abs=1e-12)
    assert abs(other.pvalue - one.pvalue) < 5 * math.sqrt(2 * 0.25 / 49)
    assert other.distance == pytest.approx(one.distance, abs=1e-12)
    assert 0 <= one.distance < math.inf


def test_grouped_counts_equal_the_rows():
    counts = PairedSample.from_counts([1, 2, 3, 4], [2, 1, 4, 3], [1, 3, 2, 9], [8, 4, 3, 2])
    score = np.array([[1, 2], [2, 1], [3, 4], [4, 3]], dtype=float)
    rows = np.concatenate([np.repeat(score, counts.pos, axis=0), np.repeat(score, counts.neg, axis=0)])
    y = np.repeat([1, 0], [counts.n_pos, counts.n_neg])
    grouped = auc_equality_test(counts, n_resamples=999, rng=1)
    single = auc_equality_test(y, rows[:, 0], rows[:, 1], n_resamples=999, rng=2)
    assert single.distance == pytest.approx(grouped.distance, abs=1e-12)
    assert single.statistic == pytest.approx(grouped.statistic, rel=1e-9)
    assert abs(single.pvalue - grouped.pvalue) < 4 * math.sqrt(2 * 0.25 / 999)


def test_a_better_model_is_told_from_a_worse_one():
    pair = drawn(300, 200, (0.65, 0.9), 0.5, np.random.default_rng(1))
    assert auc_equality_test(pair, rng=1).pvalue == 1 / 1000
    assert auc_equality_test(pair, alternative="less", rng=1).pvalue == 1 / 1000
    assert auc_equality_test(pair, alternative="greater", rng=1).pvalue > 0.99


@pytest.mark.parametrize("share", [0.5, 0.95])
@pytest.mark.slow
def test_the_level_is_the_nominal_one(share):
    # 200 samples of two equally good models: at 10 % within five standard errors.
    rng = np.random.default_rng(int(100 * share))
    pvalues = [
        auc_equality_test(drawn(30, 30, (0.8, 0.8), share, rng), n_resamples=49, rng=rng).pvalue
        for _ in range(200)
    ]
    assert abs(np.mean(np.array(pvalues) <= 0.1) - 0.1) < 5 * math.sqrt(0.1 * 0.9 / 200)


def test_results_are_plain_data_and_words():
    result = auc_equality_test(LABELS, FIRST, SECOND, n_resamples=9, rng=1)
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["optimum"] == "proven"
    assert (
        "level, at 0.8197, in a population at distance 0.09794: as far as one class shifted by 0.44"
        in str(result)
    )


def test_a_model_that_is_never_behind_leaves_no_population_to_draw_from():
    with pytest.raises(DegenerateDataError, match=r"the second orders no pair .* better than the first does"):
        auc_equality_test([0, 0, 1, 1], [1, 2, 3, 4], [1, 3, 2, 4], rng=1)
    with pytest.raises(DegenerateDataError, match=r"the first orders no pair .* better than the second does"):
        auc_equality_test([0, 0, 1, 1], [1, 1, 1, 1], [1, 2, 3, 4], rng=1)


def test_bad_arguments():
    with pytest.raises(InputError, match="needs rng"):
        auc_equality_test(LABELS, FIRST, SECOND)
    with pytest.raises(InputError, match="alternative must be one of"):
        auc_equality_test(LABELS, FIRST, SECOND, alternative="more", rng=1)
    with pytest.raises(InputError, match="method must be one of studentized, plain"):
        auc_equality_test(LABELS, FIRST, SECOND, method="delong", rng=1)
    with pytest.raises(DegenerateDataError, match="at least 2 of each class"):
        auc_equality_test([0, 1, 0], [1, 2, 3], [3, 2, 1], rng=1)
