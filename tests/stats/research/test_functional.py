"""Numbers of the curve: by their own functions, by a slow bootstrap of rows; refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from oracle import auc as slow_auc

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.auc import auc
from rocmonitor.stats.area.partial import partial_auc
from rocmonitor.stats.research.functional import roc_functional
from rocmonitor.stats.sample import Sample


def binormal(n_pos, n_neg, seed=1):
    y = np.repeat([1, 0], [n_pos, n_neg])
    return y, np.random.default_rng(seed).normal(size=len(y)) + y


def area_to_a_fifth(fpr, tpr):
    t = np.linspace(0, 0.2, 401)
    at = np.interp(t, fpr, tpr)
    return float(np.sum((at[1:] + at[:-1]) / 2) * (t[1] - t[0]))


def test_the_area_and_its_error_are_those_of_auc():
    y, s = binormal(120, 200)
    exact = auc(y, s, method="exact-bootstrap")
    ours = roc_functional(y, s, "auc", method="naive", n_resamples=3_999, rng=2)
    assert ours.value == pytest.approx(slow_auc(y, s), abs=1e-12)
    assert ours.se == pytest.approx(exact.se, rel=0.05)
    low, high = exact.ci(0.95)
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=0.15 * (high - low))


def test_ties_count_one_half():
    rng = np.random.default_rng(3)
    y, s = rng.integers(0, 2, 150), rng.integers(0, 5, 150)
    assert roc_functional(y, s, "auc", method="naive", rng=1).value == pytest.approx(
        slow_auc(y, s), abs=1e-12
    )


def test_a_partial_area():
    y, s = binormal(300, 400)
    ours = roc_functional(y, s, area_to_a_fifth, rng=2)
    exact = partial_auc(y, s, max_fpr=0.2)
    assert ours.name == "area_to_a_fifth"
    assert ours.value == pytest.approx(exact.auc, abs=2e-3)
    assert ours.se == pytest.approx(exact.se, rel=0.15)


def test_youden_by_a_slow_bootstrap_of_rows():
    y, s = binormal(80, 100)

    def best(pos, neg):
        at = np.concatenate([pos, neg])[:, np.newaxis]
        return np.max(np.mean(pos >= at, axis=1) - np.mean(neg >= at, axis=1))

    pos, neg = s[y == 1], s[y == 0]
    rng = np.random.default_rng(5)
    drawn = np.array([best(rng.choice(pos, len(pos)), rng.choice(neg, len(neg))) for _ in range(400)])
    ours = roc_functional(y, s, "youden", method="naive", n_resamples=1_999, rng=6)
    assert ours.value == pytest.approx(best(pos, neg), abs=1e-12)
    assert ours.se == pytest.approx(drawn.std(ddof=1), rel=0.15)
    ends = 2 * ours.value - np.quantile(drawn, [0.975, 0.025])
    assert (ours.low, ours.high) == pytest.approx(tuple(ends), abs=0.03)


def test_a_line_of_the_curve_moves_with_its_function():
    y, s = binormal(60, 90)
    one = roc_functional(y, s, lambda fpr, tpr: float(np.interp(0.3, fpr, tpr)), rng=4)
    two = roc_functional(y, s, lambda fpr, tpr: 5 - 2 * float(np.interp(0.3, fpr, tpr)), rng=4)
    assert two.value == pytest.approx(5 - 2 * one.value)
    assert two.se == pytest.approx(2 * one.se)
    assert (two.low, two.high) == pytest.approx((5 - 2 * one.high, 5 - 2 * one.low), abs=1e-12)


def test_grouped_counts_equal_rows_and_results_are_plain():
    y, s = binormal(40, 50)
    s = np.round(s, 1)
    sample = Sample(y, s)
    counts = Sample.from_counts(sample.score, sample.pos, sample.neg)
    ours = roc_functional(y, s, "youden", rng=1)
    assert roc_functional(counts, "youden", rng=1).to_dict() == ours.to_dict()
    json.dumps(ours.to_dict(), allow_nan=False)
    assert str(ours).startswith(f"youden {ours.value:.4f}, 95 % ")
    assert ours.low < ours.value < ours.high
    apart = roc_functional([0, 0, 0, 1, 1, 1], [1, 2, 3, 4, 5, 6], "auc", method="naive", rng=1)
    assert apart.high == 1
    raised = roc_functional(y, s, "auc", n_resamples=100, rng=1)
    assert raised.caveats[0].values == {"asked": 100, "used": 119}


@pytest.mark.parametrize(
    ("functional", "message"),
    [
        ("gini", "one of auc, youden; it is 'gini'"),
        (3, "functional must be a function of"),
        (lambda fpr, tpr: np.nan, "one finite number for a curve; <lambda> returned nan"),
        (lambda fpr, tpr: tpr, r"returned an array of shape \("),
        (lambda fpr, tpr: None, "returned None"),
        (lambda fpr, tpr: "high", "returned high"),
    ],
)
def test_refuses_functionals(functional, message):
    with pytest.raises(InputError, match=message):
        roc_functional([0, 0, 1, 1], [1, 2, 3, 4], functional, method="naive", rng=1)


def test_refuses():
    y, s = [0, 0, 1, 1], [1, 3, 2, 4]
    with pytest.raises(InputError, match="needs rng"):
        roc_functional(y, s, "auc")
    with pytest.raises(InputError, match="n_resamples must be at least 39"):
        roc_functional(y, s, "auc", n_resamples=20, rng=1)
    with pytest.raises(InputError, match="method must be one of smoothed, naive"):
        roc_functional(y, s, "auc", method="studentized", rng=1)
    with pytest.raises(DegenerateDataError, match="at least 1 of each class"):
        roc_functional([1, 1], [1, 2], "auc", rng=1)
    with pytest.raises(DegenerateDataError, match=r"all 4 scores are 0\.5"):
        roc_functional(y, [0.5] * 4, "auc", method="naive", rng=1)
