"""Ends by the variance at the supposed area: Wilson's equation, symmetry, what is seen and what is not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm
from strategies import samples

from rocmonitor.stats import AucResult, auc
from rocmonitor.stats.area.variances import normal_zeta, score_ends


def result(area: float, se: float, n_pos: int = 50, n_neg: int = 400) -> AucResult:
    return AucResult(auc=area, se=se, n_pos=n_pos, n_neg=n_neg, method="delong")


@pytest.mark.parametrize("area", [0.5, 0.8, 0.99, 0.1])
def test_zeta_is_the_variance_of_a_placement_value(area: float) -> None:
    """A positive at x lies above a share Phi(x) of the negatives."""
    shift = math.sqrt(2) * norm.ppf(area)

    def moment(power: int) -> float:
        return quad(lambda x: norm.cdf(x) ** power * norm.pdf(x - shift), -9, 12, epsabs=1e-13, limit=200)[0]

    assert moment(1) == pytest.approx(area)
    assert normal_zeta(area) == pytest.approx(moment(2) - moment(1) ** 2, rel=1e-7)


@given(st.floats(0.02, 0.98), st.floats(0.001, 0.2), st.integers(2, 500), st.integers(2, 500))
def test_each_end_is_as_many_of_its_own_standard_errors_away(area, se, n_pos, n_neg) -> None:
    scale = max(se**2 / normal_zeta(area), 1 / n_pos + 1 / n_neg)
    for end in score_ends(area, se, (n_pos, n_neg), 1.96):
        assert 0 < end < 1
        assert abs(area - end) == pytest.approx(1.96 * math.sqrt(scale * normal_zeta(end)), rel=1e-6)


@given(samples(min_per_class=2), st.floats(0.3, 0.999))
def test_scores_negated_give_the_mirrored_interval(data, level) -> None:
    y, s = data
    low, high = auc(y, s).ci(level)
    mirrored = auc(y, -np.asarray(s)).ci(level)
    assert np.array(mirrored) == pytest.approx([1 - high, 1 - low], abs=1e-9)


def test_it_holds_the_logit_interval_and_is_wider_only_where_that_matters() -> None:
    for area, se in ((0.8, 0.02), (0.99, 0.004), (0.5, 0.03), (0.05, 0.01)):
        low, high = result(area, se).ci()
        inner = result(area, se).ci(transform="logit")
        assert low <= inner.low
        assert inner.high <= high
    many = result(0.8, 0.006, 5_000, 40_000)
    assert np.array(many.ci()) == pytest.approx(np.array(many.ci(transform="none")), abs=4e-4)


def test_an_error_too_small_by_chance_does_not_make_the_interval_narrow() -> None:
    """10 positives at 0.99: the model's error counts, whatever the sample shows."""
    assert result(0.99, 1e-5, 10, 990).ci().low == result(0.99, 1e-3, 10, 990).ci().low
    assert result(0.99, 1e-5, 10, 990).ci().low < 0.93


def test_the_sizes_are_those_that_the_error_is_for() -> None:
    rng = np.random.default_rng(1)
    y = np.repeat([1, 0], [10, 20])
    s = rng.normal(size=30) + 2 * y
    few, many = (auc(y, s, method="exact-bootstrap", m_pos=m, m_neg=2 * m) for m in (10, 100_000))
    assert few.ci().high - few.ci().low > 20 * (many.ci().high - many.ci().low)
