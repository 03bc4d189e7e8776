"""Calibration of probabilities: against scikit-learn, a direct optimiser, rows one by one, and known laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.metrics import brier_score_loss, log_loss

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import Sample, calibration


def drawn(seed: int, n: int, *, slope: float = 1.0, intercept: float = 0.0):
    """Probabilities rounded so that they tie, and labels of a known recalibration."""
    rng = np.random.default_rng(seed)
    p = np.clip(np.round(expit(rng.normal(-1, 1.2, n)), 2), 0.01, 0.99)
    return rng.random(n) < expit(intercept + slope * logit(p)), p


def test_scores_equal_scikit_learn():
    y, p = drawn(1, 500)
    found = calibration(y, p)
    assert found.log_loss == pytest.approx(log_loss(y, p), rel=1e-12)
    assert found.brier == pytest.approx(brier_score_loss(y, p), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_coefficients_are_those_of_a_direct_optimiser(seed):
    y, p = drawn(seed, 300, slope=0.6, intercept=0.4)

    def loss(beta, x, offset):
        eta = beta[0] + (beta[1] * x if len(beta) > 1 else 0) + offset
        return np.sum(np.logaddexp(0, np.where(y, -eta, eta)))

    both = minimize(loss, [0.0, 1.0], args=(logit(p), 0.0), tol=1e-12).x
    large = minimize(loss, [0.0], args=(0.0, logit(p)), tol=1e-12).x
    found = calibration(y, p)
    assert found.slope == pytest.approx(both[1], abs=1e-5)
    assert found.intercept == pytest.approx(large[0], abs=1e-5)


def test_standard_errors_are_those_of_the_rows():
    """Row by row: the mean's error, and the sandwich written out."""
    y, p = drawn(3, 200)
    found = calibration(y, p)
    losses = -np.log(np.where(y, p, 1 - p))
    assert found.log_loss_se == pytest.approx(losses.std(ddof=1) / np.sqrt(200))
    assert found.brier_se == pytest.approx(((p - y) ** 2).std(ddof=1) / np.sqrt(200))
    fitted = expit(found.intercept + logit(p))
    bread, meat = np.sum(fitted * (1 - fitted)), np.sum((y - fitted) ** 2)
    assert found.intercept_se == pytest.approx(np.sqrt(meat / bread**2 * 200 / 199))


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 9)), min_size=4, max_size=25), st.randoms())
@settings(max_examples=40, deadline=None)
def test_rows_in_any_order_and_grouped_counts_give_the_same(rows, random):
    y, p = (np.array(column) for column in zip(*rows, strict=True))
    if min(y.sum(), (~y).sum()) < 2:
        return
    first = calibration(y, p / 10)
    random.shuffle(rows)
    y, p = (np.array(column) for column in zip(*rows, strict=True))
    cells = [int((p == k).sum()) for k in range(1, 10)]
    hits = [int(y[p == k].sum()) for k in range(1, 10)]
    grouped = Sample.from_counts(
        np.arange(1, 10) / 10, hits, [n - k for n, k in zip(cells, hits, strict=True)]
    )
    for field in ("log_loss", "log_loss_se", "brier", "brier_se", "slope", "intercept", "intercept_se"):
        here, there = getattr(calibration(grouped), field), getattr(first, field)
        assert here == there or here == pytest.approx(there, rel=1e-6), field


def test_known_miscalibrations_are_found_with_their_sign():
    extreme = calibration(*drawn(5, 20_000, slope=0.5))
    assert extreme.slope_ci()[0] < 0.5 < extreme.slope_ci()[1] < 0.7
    low = calibration(*drawn(5, 20_000, intercept=0.8))
    assert low.intercept_ci()[0] > 0.6
    assert low.slope_ci()[0] < 1 < low.slope_ci()[1]


@pytest.mark.parametrize(
    ("p", "says"),
    [
        ([10, 20, 30, 40], "4 of 4 are not, for example 40; they look like percentages: divide by 100"),
        ([-0.1, 0.2, 0.3, 0.4], "1 of 4 are not, for example -0.1; map them to probabilities first"),
        ([0.1, 0.2, 0.3, 1.5e3], "for example 1500; map them"),
    ],
)
def test_what_is_no_probability_is_refused(p, says):
    with pytest.raises(InputError, match="from 0 to 1") as refused:
        calibration([0, 1, 0, 1], p)
    assert says in str(refused.value)


@pytest.mark.parametrize("p", [[0.5] * 4, [0.1, 0.2, 0.8, 0.9], [0.9, 0.8, 0.2, 0.1], [0.1, 0.3, 0.3, 0.9]])
def test_without_a_finite_slope_there_is_none(p):
    found = calibration([0, 0, 1, 1], p)
    assert found.slope is None
    assert np.isfinite([found.log_loss, found.brier, found.intercept, found.intercept_se]).all()
    assert "no-calibration-slope" in {each.code for each in found.caveats}
    with pytest.raises(DegenerateDataError, match="no calibration slope"):
        found.slope_ci()


def test_certainty_is_moved_by_a_hair_and_said():
    found = calibration([0, 1, 1, 0], [0.0, 1.0, 0.0, 0.4])
    assert np.isfinite(found.log_loss)
    assert next(each.code for each in found.caveats) == "certain-probabilities"


@pytest.mark.parametrize(
    ("ones", "zeros"), [((90, 30), (20, 260)), ((30, 90), (200, 80)), ((400, 1), (3, 2))]
)
def test_certainty_that_is_wrong_at_times_has_the_coefficients_of_two_groups(ones, zeros):
    """(positives, negatives) of the rows with p = 1 and with p = 0, two groups that a slope fits exactly."""
    end = float(logit(1 - 2.0**-52))
    found = calibration(Sample.from_counts([0.0, 1.0], [zeros[0], ones[0]], [zeros[1], ones[1]]))
    rates = [pos / (pos + neg) for pos, neg in (zeros, ones)]
    assert found.slope == pytest.approx((logit(rates[1]) - logit(rates[0])) / (2 * end), rel=1e-6)
    fitted = sum(zeros) * expit(found.intercept - end) + sum(ones) * expit(found.intercept + end)
    assert fitted == pytest.approx(zeros[0] + ones[0], rel=1e-6)
    assert 0 < found.slope_se < 1
    assert 0 < found.intercept_se < 2


def test_one_class_is_degenerate():
    with pytest.raises(DegenerateDataError):
        calibration([1, 1, 1], [0.2, 0.3, 0.4])
