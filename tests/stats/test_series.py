"""The likelihood of correlated windows against the multivariate normal law that it is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from rocmonitor.errors import InputError
from rocmonitor.stats.series import SeriesLikelihood, log_mean_exp, series_likelihood

VALUES = [0.3, -0.2, 0.5, 0.4, 0.9]
VARIANCES = [0.04, 0.09, 0.01, 0.25, 0.04]
SERIAL, BETWEEN = [0.0, 0.0, 0.5, 0.95], [0.0, 0.3, 0.3, 2.0]


@pytest.fixture(scope="module")
def found() -> SeriesLikelihood:
    return series_likelihood(VALUES, VARIANCES, SERIAL, BETWEEN)


def covariance(at: int, k: int, variances: list[float] = VARIANCES) -> np.ndarray:
    """Of the first k values, written out."""
    apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
    return BETWEEN[at] ** 2 * SERIAL[at] ** apart + np.diag(variances[:k])


def constant(k: int) -> float:
    return k / 2 * math.log(2 * math.pi)


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("at", range(4))
def test_likelihood_is_that_of_the_written_out_law(found: SeriesLikelihood, at: int, k: int) -> None:
    law = covariance(at, k)
    for mean in (0.0, -0.7, 0.4):
        dense = stats.multivariate_normal.logpdf(VALUES[:k], np.full(k, mean), law)
        assert found.of_mean(mean)[k - 1, at] - constant(k) == pytest.approx(dense, rel=1e-12)
    wide = stats.multivariate_normal.logpdf(VALUES[:k], np.full(k, 0.1), law + 0.6)
    assert found.of_normal_mean(0.1, 0.6)[k - 1, at] - constant(k) == pytest.approx(wide, rel=1e-12)
    inverse = np.linalg.inv(law)
    assert found.information[k - 1, at] == pytest.approx(inverse.sum(), rel=1e-12)
    assert found.score[k - 1, at] == pytest.approx((inverse @ VALUES[:k]).sum(), rel=1e-12)


@pytest.mark.parametrize("at", range(4))
def test_a_flat_prior_integrates_the_mean_out(found: SeriesLikelihood, at: int) -> None:
    area, _ = integrate.quad(lambda mean: math.exp(found.of_mean(mean)[-1, at]), -40, 40, points=[0, 0.5])
    assert found.of_any_mean()[-1, at] == pytest.approx(math.log(area / math.sqrt(2 * math.pi)), rel=1e-9)
    np.testing.assert_allclose(found.of_any_mean()[0], 0.0, atol=1e-12)


def test_a_gap_keeps_the_distance_between_its_neighbours() -> None:
    variances = [0.04, math.inf, 0.01, 0.25, 0.04]
    gap = series_likelihood(VALUES, variances, SERIAL, BETWEEN)
    seen = [0, 2, 3, 4]
    for at in range(4):
        law = covariance(at, 5)[np.ix_(seen, seen)]
        dense = stats.multivariate_normal.logpdf(np.array(VALUES)[seen], np.zeros(4), law)
        assert gap.of_mean()[-1, at] - constant(4) == pytest.approx(dense, rel=1e-12)
    leading = series_likelihood([7.0, *VALUES], [math.inf, *VARIANCES], SERIAL, BETWEEN)
    assert leading.of_any_mean()[0].tolist() == [0.0] * 4
    whole = series_likelihood(VALUES, VARIANCES, SERIAL, BETWEEN)
    np.testing.assert_allclose(leading.of_any_mean()[1:], whole.of_any_mean(), atol=1e-12)
    other = series_likelihood([0.3, 99.0, 0.5, 0.4, 0.9], variances, SERIAL, BETWEEN)
    np.testing.assert_array_equal(gap.of_mean(), other.of_mean())


def test_the_coefficient_is_found_again() -> None:
    rng = np.random.default_rng(4)
    x = [rng.normal(scale=0.1)]
    for _ in range(1500):
        x.append(0.8 * x[-1] + rng.normal(scale=0.06))
    grid = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 0.9])
    values = np.array(x) + rng.normal(scale=0.05, size=len(x))
    likelihood = series_likelihood(values, np.full(len(x), 0.05**2), grid, np.full(6, 0.1))
    assert grid[np.argmax(likelihood.of_any_mean()[-1])] == 0.8


def test_mean_of_exponentials() -> None:
    log = np.array([[-1000.0, -1001.0], [0.0, -math.inf]])
    expected = [-1000 + math.log(0.25 + 0.75 * math.exp(-1)), math.log(0.25)]
    np.testing.assert_allclose(log_mean_exp(log, [0.25, 0.75]), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": [0.1, math.nan]}, "values must be finite"),
        ({"variances": [0.1]}, "one number for each window"),
        ({"variances": [0.1, 0.0]}, "variances must be above 0: 1 of 2 are not"),
        ({"variances": [0.1, math.nan]}, "variances must be above 0"),
        ({"serial": [1.0]}, r"serial must lie within \[0, 1\)"),
        ({"between": [-1.0]}, "between must be finite and at least 0"),
        ({"between": [0.1, 0.2]}, "one for each point of the grid"),
    ],
)
def test_wrong_arguments(change: dict[str, list[float]], message: str) -> None:
    arguments = {"values": [0.1, 0.2], "variances": [0.1, 0.1], "serial": [0.5], "between": [0.1]} | change
    with pytest.raises(InputError, match=message):
        series_likelihood(**arguments)
