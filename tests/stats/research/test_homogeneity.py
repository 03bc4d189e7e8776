"""The test of several models: its statistic is DeLong's, its population the closest an optimiser finds."""

from __future__ import annotations

import math

import golden
import numpy as np
import oracle
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import ndtri
from strategies import increasing_maps, paired_samples
from studies.homogeneity import homogeneity

from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats.research import auc_equality_test

LABELS = np.array([0, 0, 0, 1, 0, 1, 1, 0, 1, 1])
SCORES = np.transpose([range(10), [1, 2, 6, 5, 3, 4, 9, 10, 8, 7], [2, 1, 3, 7, 8, 9, 4, 6, 5, 10]])
TIED = np.transpose([[1, 1, 2, 2, 3, 3], [1, 2, 2, 1, 1, 3], [2, 1, 1, 1, 2, 2]])


def searched(y, scores, rng, starts=30):
    """The smallest KL(u||f) + KL(v||g) with equal areas, by a general optimiser from many starts."""
    n_neg, n_pos = int((y == 0).sum()), int((y == 1).sum())
    kernels = [oracle.psi(y, s).T for s in scores.T]  # negatives in lines
    kernels = [k if k.shape == (n_neg, n_pos) else k.T for k in kernels]

    def distance(w):
        u, v = np.maximum(w[:n_neg], 1e-300), np.maximum(w[n_neg:], 1e-300)
        return float(u @ np.log(u * n_neg) + v @ np.log(v * n_pos))

    level = [
        {"type": "eq", "fun": lambda w, k=k: w[:n_neg] @ (k - kernels[0]) @ w[n_neg:]} for k in kernels[1:]
    ]
    sums = [
        {"type": "eq", "fun": lambda w: w[:n_neg].sum() - 1},
        {"type": "eq", "fun": lambda w: w[n_neg:].sum() - 1},
    ]
    best = math.inf
    for _ in range(starts):
        start = np.concatenate([rng.dirichlet(np.ones(n)) for n in (n_neg, n_pos)])
        found = minimize(
            distance,
            start,
            method="SLSQP",
            bounds=[(1e-9, 1)] * len(start),
            constraints=level + sums,
            options={"maxiter": 300, "ftol": 1e-13},
        )
        if found.success and max(abs(each["fun"](found.x)) for each in level + sums) < 1e-7:
            best = min(best, found.fun)
    return best


@pytest.mark.slow
@pytest.mark.parametrize(("y", "scores"), [(LABELS, SCORES), (np.array([0, 1, 0, 1, 0, 1]), TIED)])
def test_no_population_with_equal_areas_is_closer(y, scores):
    ours = homogeneity(y, scores, 9, np.random.default_rng(1))
    assert ours.distance == pytest.approx(searched(y, scores, np.random.default_rng(1)), abs=2e-6)
    assert ours.distance > 0.01


@settings(max_examples=40, deadline=None)
@given(paired_samples(min_per_class=2))
def test_two_models_are_those_of_the_test_of_two(data):
    y, s1, s2 = data
    try:
        two = auc_equality_test(y, s1, s2, n_resamples=49, rng=1)
    except DegenerateDataError:
        return
    try:
        ours = homogeneity(y, np.column_stack([s1, s2]), 49, np.random.default_rng(1))
    except DegenerateDataError:
        assume(False)
    assert ours.distance == pytest.approx(two.distance, abs=1e-9) or ours.optimum == "searched"
    assert ours.distance >= two.distance - 1e-9
    if math.isfinite(two.statistic):
        assert ours.statistic == pytest.approx(two.statistic**2, rel=1e-6, abs=1e-9)
    if ours.distance == pytest.approx(two.distance, abs=1e-9):
        assert abs(ours.pvalue - two.pvalue) < 5 * math.sqrt(2 * 0.25 / 49)


def test_the_statistic_is_the_published_one():
    data = golden.read(golden.DELONG1988)
    y, scores = data["y"].to_numpy(), data[list(golden.DELONG1988_MODELS)].to_numpy()
    ours = homogeneity(y, scores, 999, np.random.default_rng(1))
    chi_square, df, p = golden.DELONG1988_OVERALL
    assert ours.statistic == pytest.approx(chi_square, rel=1e-9)
    assert ours.df == df
    assert ours.pvalue == pytest.approx(p, abs=0.08)  # 43 patients: the resampled law is not chi-square's
    assert ours.auc == pytest.approx(golden.DELONG1988_AUC, abs=1e-12)


@settings(max_examples=8, deadline=None)
@given(st.permutations(range(3)), increasing_maps)
def test_the_order_of_models_and_increasing_maps_change_nothing(order, increasing):
    one = homogeneity(LABELS, SCORES, 19, np.random.default_rng(1))
    other = homogeneity(LABELS, increasing(SCORES[:, order] / 4), 19, np.random.default_rng(1))
    assert other.distance == pytest.approx(one.distance, abs=1e-10)
    assert other.statistic == pytest.approx(one.statistic, rel=1e-9)
    assert other.multipliers == pytest.approx(one.multipliers[list(order)], abs=1e-6)


def test_a_copy_of_a_model_adds_nothing():
    one = homogeneity(LABELS, SCORES[:, :2], 999, np.random.default_rng(1))
    other = homogeneity(LABELS, SCORES[:, [0, 1, 1]], 999, np.random.default_rng(1))
    assert (one.df, other.df) == (1, 1)
    assert other.distance == pytest.approx(one.distance, abs=1e-10)
    assert other.statistic == pytest.approx(one.statistic, rel=1e-9)
    same = homogeneity(LABELS, SCORES[:, [0, 0, 0]], 9, np.random.default_rng(1))
    assert (same.distance, same.statistic, same.df, same.pvalue) == (0, 0, 0, 1)


def test_a_better_model_is_told_from_two_worse_ones():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], [300, 200])
    apart = ndtri([0.65, 0.66, 0.9]) * math.sqrt(2)
    scores = rng.normal(size=(500, 3)) + y[:, np.newaxis] * apart
    ours = homogeneity(y, scores, 999, np.random.default_rng(1))
    assert ours.pvalue == 1 / 1000
    assert ours.optimum == "proven"
    assert ours.multipliers.sum() == pytest.approx(0, abs=1e-12)
    assert ours.auc.min() < ours.level_auc < ours.auc.max()


@pytest.mark.slow
def test_the_level_is_the_nominal_one():
    # 200 samples of three equally good models: at 10 % within five standard errors.
    rng = np.random.default_rng(3)
    y, pvalues = np.repeat([0, 1], 30), []
    for _ in range(200):
        common = rng.normal(size=(60, 1))
        scores = (common + rng.normal(size=(60, 3))) / math.sqrt(2)
        scores += y[:, np.newaxis] * ndtri(0.8) * math.sqrt(2)
        pvalues.append(homogeneity(y, scores, 49, rng).pvalue)
    assert abs(np.mean(np.array(pvalues) <= 0.1) - 0.1) < 5 * math.sqrt(0.1 * 0.9 / 200)


def test_what_cannot_be_tested():
    ahead = np.transpose([[1, 2, 3, 4], [1, 3, 2, 4], [1, 3, 2, 4]])
    with pytest.raises(DegenerateDataError, match="never behind another"):
        homogeneity(np.array([0, 0, 1, 1]), ahead, 999, np.random.default_rng(1))
    with pytest.raises(DegenerateDataError, match="at least 2 of each class"):
        homogeneity(np.array([0, 1, 1]), SCORES[:3], 999, np.random.default_rng(1))
