"""Random class sizes: moments and quantiles equal full enumeration of all n**n resamples."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np
import pytest
from scipy import stats as reference

from rocmonitor.errors import InputError
from rocmonitor.stats.difference import threshold_difference
from rocmonitor.stats.threshold import threshold_intervals

Y = np.array([1, 1, 1, 0, 0])
S1 = np.array([3.0, 2.0, 1.0, 2.0, 1.0])
S2 = np.array([1.0, 3.0, 2.0, 1.0, 3.0])
CUTS = [1.0, 2.0, 3.0, 9.0]


def _rates(y, value, m):
    """Law of the mean of `value` over the rows of each class in resamples of `m` rows of both."""
    laws = {1: Counter(), 0: Counter()}
    for draw in product(range(len(y)), repeat=m):
        for label, law in laws.items():
            rows = [row for row in draw if y[row] == label]
            if rows:
                law[Fraction(int(sum(value[row] for row in rows)), len(rows))] += 1
    return laws


def _quantile(law, level):
    reached = 0.0
    for rate in sorted(law):
        reached += law[rate] / law.total()
        if reached >= level - 1e-12:
            return float(rate)
    raise AssertionError


def _variance(law):
    mean = sum(times * rate for rate, times in law.items()) / law.total()
    return float(sum(times * (rate - mean) ** 2 for rate, times in law.items()) / law.total())


@pytest.mark.parametrize("m", [(None, None), (2, 2), (4, 2)])
def test_one_model_equals_enumeration(m):
    z = reference.norm.ppf(0.9)
    how = {"joint": False, "confidence_level": 0.8, "sampling": "full", "m_pos": m[0], "m_neg": m[1]}
    exact, wald = (threshold_intervals(Y, S1, CUTS, method=method, **how) for method in ("exact", "wald"))
    for line, cut in enumerate(CUTS):
        laws = _rates(Y, cut <= S1, (m[0] or 3) + (m[1] or 2))
        for label, name in ((1, "tpr"), (0, "fpr")):
            assert getattr(exact, name + "_low")[line] == _quantile(laws[label], 0.1)
            assert getattr(exact, name + "_high")[line] == _quantile(laws[label], 0.9)
            rate = np.mean(S1[label == Y] >= cut)
            half = z * sqrt(_variance(laws[label]))
            assert getattr(wald, name + "_low")[line] == pytest.approx(max(rate - half, 0), abs=1e-12)
            assert getattr(wald, name + "_high")[line] == pytest.approx(min(rate + half, 1), abs=1e-12)


def test_two_models_equal_enumeration():
    z = reference.norm.ppf(0.9)
    how = {"joint": False, "confidence_level": 0.8, "sampling": "full"}
    pairs = list(product(CUTS, CUTS))
    exact, wald = (
        threshold_difference(Y, S1, S2, pairs, method=method, **how) for method in ("exact", "wald")
    )
    for line, (t1, t2) in enumerate(pairs):
        gap = (t1 <= S1).astype(int) - (t2 <= S2).astype(int)
        laws = _rates(Y, gap, 5)
        for label, name in ((1, "dtpr"), (0, "dfpr")):
            assert getattr(exact, name + "_low")[line] == _quantile(laws[label], 0.1)
            assert getattr(exact, name + "_high")[line] == _quantile(laws[label], 0.9)
            mean, half = np.mean(gap[label == Y]), z * sqrt(_variance(laws[label]))
            assert getattr(wald, name + "_low")[line] == pytest.approx(max(mean - half, -1), abs=1e-12)
            assert getattr(wald, name + "_high")[line] == pytest.approx(min(mean + half, 1), abs=1e-12)


@pytest.mark.parametrize(
    ("call", "data"), [(threshold_intervals, CUTS), (threshold_difference, [(2, 2), (1, 3)])]
)
@pytest.mark.parametrize("method", ["exact", "wald", "empirical", "smoothed"])
def test_large_classes_make_little_difference(call, data, method):
    rng = np.random.default_rng(0)
    y = np.repeat([1, 0], [2_000, 3_000])
    scores = [rng.integers(0, 4, 5_000) for _ in range(1 if call is threshold_intervals else 2)]
    if method == "smoothed":
        method = "agresti-coull" if call is threshold_intervals else "agresti-min"
    full, stratified = (
        call(y, *scores, data, method=method, sampling=s, rng=1, n_resamples=2_000)
        for s in ("full", "stratified")
    )
    for name in full.to_frame().columns:
        np.testing.assert_allclose(getattr(full, name), getattr(stratified, name), atol=4e-3)


def test_refuses():
    with pytest.raises(InputError, match="sampling must be one of stratified, full; it is 'half'"):
        threshold_intervals(Y, S1, CUTS, sampling="half")
    with pytest.raises(InputError, match="sampling must be one of"):
        threshold_difference(Y, S1, S2, [(1, 1)], sampling="half")
    with pytest.raises(InputError, match="'wilson' knows no resampling"):
        threshold_intervals(Y, S1, CUTS, method="wilson", sampling="full")
