"""The closed forms beside DeLong and the exact bootstrap: as printed, as derived, and where they agree."""

import math

import golden
import numpy as np
import oracle
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import ndtr
from strategies import grouped_counts, samples

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats.area.auc import auc
from rocmonitor.stats.sample import Sample

SEVEN_DIGITS = 0.5001e-7


def variance(data, method, **options):
    return auc(*data, method=method, **options).se ** 2


# Wu, Martin & Kacker 2016


def as_printed(y, s, m_pos=None, m_neg=None):
    """Eq. 8 and 11-15 for the scores that occur, sums over all scores."""
    y, s = np.asarray(y), np.asarray(s)
    p_g = {v: float(np.mean(s[y == 1] == v)) for v in set(s.tolist())}
    p_i = {v: float(np.mean(s[y == 0] == v)) for v in p_g}
    q_g = {v: sum(p_g[t] for t in p_g if t > v) for v in p_g}
    q_i = {v: sum(p_i[t] for t in p_i if t < v) for v in p_g}
    area = sum(p_i[v] * (p_g[v] / 2 + q_g[v]) for v in p_g)
    b_ggi = sum(p_i[v] * (q_g[v] ** 2 + q_g[v] * p_g[v] + p_g[v] ** 2 / 3) for v in p_g)
    b_iig = sum(p_g[v] * (q_i[v] ** 2 + q_i[v] * p_i[v] + p_i[v] ** 2 / 3) for v in p_g)
    n_g, n_i = m_pos or int(np.sum(y == 1)), m_neg or int(np.sum(y == 0))
    terms = area * (1 - area) + (n_g - 1) * (b_ggi - area**2) + (n_i - 1) * (b_iig - area**2)
    return terms / (n_g * n_i)


@given(samples(), st.integers(1, 9), st.integers(1, 9))
def test_wmk16_is_equation_15(data, m_pos, m_neg):
    assert variance(data, "wmk16") == pytest.approx(as_printed(*data), abs=1e-14)
    other = variance(data, "wmk16", m_pos=m_pos, m_neg=m_neg)
    assert other == pytest.approx(as_printed(*data, m_pos, m_neg), abs=1e-13)


@given(samples())
def test_wmk16_adds_to_the_exact_bootstrap_what_ties_cost(data):
    y, s = data
    exact = variance(data, "exact-bootstrap")
    tied = bool(set(s[y == 1].tolist()) & set(s[y == 0].tolist()))
    assert (
        variance(data, "wmk16") > exact
        if tied
        else variance(data, "wmk16") == pytest.approx(exact, abs=1e-15)
    )


def test_wmk16_published():
    modality_1 = Sample.from_counts(range(1, 7), golden.HM1983_POS, golden.HM1983_NEG)
    assert auc(modality_1, method="wmk16").se == pytest.approx(golden.HM1983["wmk16"], abs=0.5e-6)


def test_wmk16_on_a_tied_peak():
    """Four fifths of the negatives at the lowest score, as the paper's algorithm 11."""
    counts = [0, 2, 8], [0, 30, 970], [800, 150, 50]
    exact, printed = (auc(Sample.from_counts(*counts), method=m).se for m in ("exact-bootstrap", "wmk16"))
    resampled = auc(Sample.from_counts(*counts), method="bootstrap", rng=1, n_resamples=20_000).se
    assert resampled == pytest.approx(exact, rel=0.03)
    assert printed > 1.1 * resampled


# Hanley & McNeil 1982


def test_hanley_mcneil_1982():
    sample = Sample.from_counts([1, 2, 3, 4, 5], golden.HM1982_POS, golden.HM1982_NEG)
    exponential, from_data = auc(sample, method="hanley-mcneil").se, auc(sample, method="wmk16").se
    assert exponential == pytest.approx(golden.HM1982_SE_EXPONENTIAL, abs=SEVEN_DIGITS)
    assert from_data == pytest.approx(golden.HM1982_SE_Q_FROM_DATA, abs=SEVEN_DIGITS)


@pytest.mark.parametrize("marker", golden.WIEAND_HM)
def test_hanley_mcneil_on_wieand(marker):
    data = golden.read(golden.WIEAND)
    from_data, exponential = golden.WIEAND_HM[marker]
    assert auc(data.y, data[marker], method="wmk16").se == pytest.approx(from_data, abs=SEVEN_DIGITS)
    assert auc(data.y, data[marker], method="hanley-mcneil").se == pytest.approx(
        exponential, abs=SEVEN_DIGITS
    )


@given(samples())
def test_hanley_mcneil_is_its_formula(data):
    result = auc(*data, method="hanley-mcneil")
    a, q1, q2 = result.auc, result.auc / (2 - result.auc), 2 * result.auc**2 / (1 + result.auc)
    terms = a * (1 - a) + (result.n_pos - 1) * (q1 - a * a) + (result.n_neg - 1) * (q2 - a * a)
    assert result.se**2 == pytest.approx(terms / (result.n_pos * result.n_neg), abs=1e-14)


def test_hanley_mcneil_keeps_its_digits_near_one():
    # One wrong pair of 1e18: the area rounds to 1. The terms are those of 1 - A = 1e-18.
    n = 10**9
    result = auc(Sample.from_counts([0, 1, 2, 3], [0, 1, 0, n - 1], [n - 1, 0, 1, 0]), method="hanley-mcneil")
    lost = 1e-18
    assert result.se == pytest.approx(math.sqrt((lost + (n - 1) * lost / 2) / n**2), rel=1e-6, abs=0)


# The upper bound


@given(samples())
def test_no_exact_variance_exceeds_the_upper_bound(data):
    """The sample's own two distributions are among those that the bound is over."""
    bound = variance(data, "upper-bound")
    assert variance(data, "exact-bootstrap") <= bound + 1e-15
    result = auc(*data) if min(np.bincount(data[0])) > 1 else auc(*data, method="exact-bootstrap")
    area, smaller = result.auc, min(result.n_pos, result.n_neg)
    assert bound == pytest.approx(area * (1 - area) / smaller, abs=1e-15)


@given(st.integers(0, 9), st.integers(1, 9))
def test_the_upper_bound_is_reached(low, high):
    """One class in one place, the smaller one to both sides of it."""
    n = low + high
    sample = Sample.from_counts([-1, 0, 1], [low, 0, high], [0, n + 3, 0])
    assert auc(sample, method="exact-bootstrap").se == pytest.approx(auc(sample, method="upper-bound").se)


# Two normal laws


def delta_method(y, s):
    """Demidenko's standard error by numerical derivatives of Phi(d) in the four fitted parameters."""
    pos, neg = s[y == 1], s[y == 0]
    fitted = np.array([pos.mean(), neg.mean(), pos.var(ddof=1), neg.var(ddof=1)])
    scatter = np.array(
        [
            fitted[2] / len(pos),
            fitted[3] / len(neg),
            2 * fitted[2] ** 2 / (len(pos) - 1),
            2 * fitted[3] ** 2 / (len(neg) - 1),
        ]
    )

    def area(mean_pos, mean_neg, var_pos, var_neg):
        return ndtr((mean_pos - mean_neg) / math.sqrt(var_pos + var_neg))

    step = 1e-4 * np.eye(4) * math.sqrt(fitted[2] + fitted[3])
    slope = np.array([(area(*(fitted + h)) - area(*(fitted - h))) / (2 * np.sum(h)) for h in step])
    return math.sqrt(np.sum(slope**2 * scatter))


@given(samples(min_per_class=3))
def test_binormal_is_the_delta_method(data):
    y, s = data
    assume(s[y == 1].std() > 0.1 and s[y == 0].std() > 0.1)
    assert auc(y, s, method="binormal").se == pytest.approx(delta_method(y, s), rel=1e-3, abs=1e-9)


def test_binormal_is_the_scatter_of_the_fitted_area():
    rng = np.random.default_rng(5)
    pos, neg = rng.normal(1, 2, (6000, 60)), rng.normal(0, 1, (6000, 90))
    d = (pos.mean(1) - neg.mean(1)) / np.sqrt(pos.var(1, ddof=1) + neg.var(1, ddof=1))
    y = np.repeat([1, 0], [60, 90])
    told = [auc(y, np.append(a, b), method="binormal").se for a, b in zip(pos[:300], neg[:300], strict=True)]
    assert np.mean(told) == pytest.approx(ndtr(d).std(), rel=0.05)


@given(cells=grouped_counts(min_per_class=2), scale=st.sampled_from([1e-300, 0.1, 3.0, 1e300]))
def test_binormal_needs_no_scale(cells, scale):
    score, pos, neg = cells
    result, scaled = (auc(Sample.from_counts(v, pos, neg), method="binormal") for v in (score, score * scale))
    assert scaled.se == pytest.approx(result.se, rel=1e-9)
    assert scaled.auc == result.auc


def test_binormal_far_apart():
    """Perfect separation: the bound of disjoint pairs. Else the fit has nothing to say."""
    y = [0, 0, 0, 1, 1, 1]
    separated = auc(y, [0, 0.1, 0.2, 5, 5.1, 5.2], method="binormal")
    assert separated.se == 0
    assert separated.ci() == pytest.approx((0.025 ** (1 / 3), 1))
    assert separated.caveats == (Caveat("no-scatter", pairs=3),)
    assert auc(y, [0, 1, 2, 3, 4, 5], method="binormal").se > 0
    counts = [0, 1, 1e-3, 1.001], [1, 10**6, 0, 0], [0, 0, 10**6, 0]
    with pytest.raises(DegenerateDataError, match="standard deviations apart"):
        auc(Sample.from_counts(*counts), method="binormal")


def test_binormal_tells_the_fitted_area():
    y, s = np.array([0, 0, 0, 1, 1, 1]), np.array([0.0, 1, 2, 1, 2, 4])
    pos, neg = s[y == 1], s[y == 0]
    fitted = ndtr((pos.mean() - neg.mean()) / math.sqrt(pos.var(ddof=1) + neg.var(ddof=1)))
    result = auc(y, s, method="binormal")
    [caveat] = result.caveats
    assert caveat.code == "error-of-normal-scores"
    assert caveat.values["area"] == pytest.approx(fitted)
    assert result.auc == oracle.auc(y, s)
