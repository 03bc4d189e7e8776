import json
import math

import numpy as np
import pytest
from scipy.special import ndtri

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.auc import auc
from rocmonitor.stats.forecast.kld import auc_distance
from rocmonitor.stats.research.null import auc_test
from rocmonitor.stats.sample import Sample

LABELS = [0, 0, 0, 1, 0, 1, 1, 0, 1, 1]
SCORES = list(range(10))


def drawn(n_neg, n_pos, area, rng):
    score = rng.normal(size=n_neg + n_pos)
    score[n_neg:] += ndtri(area) * math.sqrt(2)
    return Sample(np.repeat([0, 1], [n_neg, n_pos]), score)


def test_the_distance_and_the_statistic_are_those_of_the_sample():
    result, own = auc_test(LABELS, SCORES, 0.6, n_resamples=99, rng=1), auc(LABELS, SCORES)
    assert result.auc == pytest.approx(own.auc, abs=1e-15)
    assert result.distance == auc_distance(LABELS, SCORES, 0.6)
    assert result.statistic == pytest.approx((own.auc - 0.6) / own.se, rel=1e-12)
    plain = auc_test(LABELS, SCORES, 0.6, method="plain", n_resamples=99, rng=1)
    assert plain.statistic == pytest.approx(own.auc - 0.6, abs=1e-14)


def test_the_own_auc_is_not_rejected_and_a_far_one_is():
    sample = drawn(200, 100, 0.8, np.random.default_rng(2))
    own = auc(sample).auc
    level = auc_test(sample, own, rng=1)
    assert level.distance == 0.0
    assert level.pvalue > 0.8
    assert abs(level.statistic) < 1e-9
    assert auc_test(sample, 0.5, rng=1).pvalue == 2 / 1000
    assert auc_test(sample, 0.5, alternative="less", rng=1).pvalue > 0.99
    assert auc_test(sample, 0.5, alternative="greater", rng=1).pvalue == 1 / 1000


@pytest.mark.parametrize("method", ["studentized", "plain"])
def test_negated_scores_mirror_the_test(method):
    sample = drawn(60, 40, 0.75, np.random.default_rng(4))
    mirror = Sample.from_counts(-sample.score, sample.pos, sample.neg)
    one = auc_test(sample, 0.8, alternative="less", method=method, n_resamples=1999, rng=1)
    other = auc_test(mirror, 0.2, alternative="greater", method=method, n_resamples=1999, rng=2)
    assert other.statistic == pytest.approx(-one.statistic, rel=1e-9)
    assert other.distance == pytest.approx(one.distance, abs=1e-12)
    se = math.sqrt(2 * one.pvalue * (1 - one.pvalue) / 1999)
    assert abs(other.pvalue - one.pvalue) < 4 * se


def test_grouped_counts_equal_the_rows():
    score, pos, neg = [1.0, 2.0, 3.0, 4.0], [1, 3, 5, 9], [9, 4, 3, 2]
    grouped = auc_test(Sample.from_counts(score, pos, neg), 0.7, n_resamples=199, rng=7)
    y = np.repeat([1, 0], [18, 18])
    rows = auc_test(
        y, np.concatenate([np.repeat(score, pos), np.repeat(score, neg)]), 0.7, n_resamples=199, rng=7
    )
    assert grouped == rows


@pytest.mark.parametrize("area", [0.7, 0.9])
def test_the_level_is_the_nominal_one(area):
    # 200 samples in which the null hypothesis is true: at 10 % within five standard errors.
    rng = np.random.default_rng(int(100 * area))
    pvalues = [auc_test(drawn(50, 50, area, rng), area, n_resamples=49, rng=rng).pvalue for _ in range(200)]
    assert abs(np.mean(np.array(pvalues) <= 0.1) - 0.1) < 5 * math.sqrt(0.1 * 0.9 / 200)


def test_results_are_plain_data():
    result = auc_test(LABELS, SCORES, 0.5, n_resamples=9, rng=1)
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["n_resamples"] == 9
    assert str(result).startswith("AUC 0.8400 against 0.5000: two-sided p = ")


@pytest.mark.parametrize("null", [0.0, 1.0, -0.1, math.nan])
def test_nulls_that_are_no_auc(null):
    with pytest.raises(InputError, match="null must be an AUC within"):
        auc_test(LABELS, SCORES, null, rng=1)


@pytest.mark.parametrize(("y", "s"), [([0, 0, 1, 1], [1, 2, 3, 4]), ([0, 0, 1, 1], [1, 1, 1, 1])])
def test_nulls_that_no_reweighting_reaches(y, s):
    with pytest.raises(DegenerateDataError, match="no reweighting of the sample moves its AUC"):
        auc_test(y, s, 0.7, rng=1)


def test_a_null_that_only_fewer_rows_reach():
    with pytest.raises(DegenerateDataError, match="reached only by leaving rows out"):
        auc_test([1, 1, 0, 0, 0], [1, 2, 2, 3, 3], 0.5, rng=1)


def test_bad_arguments():
    with pytest.raises(InputError, match="needs rng"):
        auc_test(LABELS, SCORES, 0.5)
    with pytest.raises(InputError, match="alternative must be one of"):
        auc_test(LABELS, SCORES, 0.5, alternative="more", rng=1)
    with pytest.raises(InputError, match="method must be one of studentized, plain"):
        auc_test(LABELS, SCORES, 0.5, method="delong", rng=1)
    with pytest.raises(InputError, match="n_resamples must be a whole number"):
        auc_test(LABELS, SCORES, 0.5, n_resamples=0, rng=1)
    with pytest.raises(DegenerateDataError, match="at least 2 of each class"):
        auc_test([0, 1, 0], [1, 2, 3], 0.5, rng=1)
    assert auc_test([0, 1, 0], [1, 2, 3], 0.4, method="plain", n_resamples=9, rng=1).n_pos == 1
