"""The smoothed curve equals its definition, whatever the spread of the scores; bandwidths; refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from oracle import expand
from scipy.special import ndtr
from scipy.stats import iqr
from strategies import grouped_counts, samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.band.drawing import bandwidths, empirical_curve, smoothed_curve
from rocmonitor.stats.sample import Sample


def _sample(n_pos, n_neg, seed=3):
    rng = np.random.default_rng(seed)
    return np.repeat([1, 0], [n_pos, n_neg]), np.r_[rng.normal(size=n_pos) + 1, 0.7 * rng.normal(size=n_neg)]


def _defined(y, s, h_pos, h_neg, at):
    """(FPR, TPR) of the smoothed distribution functions at thresholds: the mean over all rows."""
    away = s - at[:, None]
    return ndtr(away[:, y == 0] / h_neg).mean(axis=1), ndtr(away[:, y == 1] / h_pos).mean(axis=1)


@pytest.mark.parametrize("h", [(0.3, 0.3), (0.5, 0.2), (0.05, 0.4)])
@pytest.mark.parametrize("n", [(20, 30), (2_000, 5_000)])
def test_smoothed_curve_is_that_of_the_smoothed_distributions(n, h):
    y, s = _sample(*n)
    fpr, tpr = _defined(y, s, *h, np.linspace(s.min() - 3, s.max() + 3, 500))
    # A hundredth of what the curve scatters by; the table's cells are 1/8 of a bandwidth.
    error = 0.01 * np.sqrt(0.25 / min(n))
    assert np.abs(smoothed_curve(Sample(y, s), h).curve.at(fpr) - tpr).max() < error


@pytest.mark.parametrize(("n_pos", "n_neg", "shift"), [(50_000, 50_000, 2.33), (5_000, 95_000, 0.74)])
def test_the_table_is_fine_beside_the_scatter_of_many_rows(n_pos, n_neg, shift):
    rng = np.random.default_rng(1)
    y = np.repeat([1, 0], [n_pos, n_neg])
    s = rng.normal(size=n_pos + n_neg) + shift * y
    h = bandwidths(Sample(y, s), "normal")
    fpr, tpr = _defined(y, s, *h, np.linspace(-1, 4, 21))
    error = np.abs(smoothed_curve(Sample(y, s), h).curve.at(fpr) - tpr)
    # Less than the whole deviation of the curve, to which the negatives add.
    assert (error < 0.02 * np.sqrt(tpr * (1 - tpr) / n_pos)).all()


@pytest.mark.parametrize("h", [(0.3, 0.3), (0.8, 0.2)])
def test_shrunk_the_smoothed_laws_keep_their_means_and_deviations(h):
    y, s = _sample(40, 70)
    found = smoothed_curve(Sample(y, s), h, shrunk=True)
    unit, score = np.abs(s).max(), np.sort(s)[len(s) // 2]
    z = found.threshold[::-1] * unit + score
    for above, rows, width in ((found.curve.tpr, s[y == 1], h[0]), (found.curve.fpr, s[y == 0], h[1])):
        mass, middle = -np.diff(above[::-1]), (z[1:] + z[:-1]) / 2
        mean = mass @ middle
        assert mean == pytest.approx(rows.mean(), abs=2e-3)
        assert np.sqrt(mass @ (middle - mean) ** 2) == pytest.approx(rows.std(ddof=1), rel=0.02)
        # Drawn together by a factor, then smoothed by as much less.
        factor = 1 / np.sqrt(1 + width**2 / rows.var(ddof=1))
        nearer = rows.mean() + factor * (rows - rows.mean())
        law = ndtr((nearer - z[:, None]) / (factor * width)).mean(axis=1)
        assert np.abs(law - above[::-1]).max() < 5e-3


def test_shrunk_a_class_of_one_score_keeps_the_noise():
    sample = Sample([1, 1, 0, 0, 0], [2.0, 2.0, 0.0, 1.0, 3.0])
    found = smoothed_curve(sample, (0.5, 0.5), shrunk=True)
    at = (np.array([1.7, 2.0, 2.4]) - 2.0) / 3
    above = np.interp(at, found.threshold[::-1], found.curve.tpr[::-1])
    np.testing.assert_allclose(above, ndtr((2 - np.array([1.7, 2.0, 2.4])) / 0.5), atol=5e-3)


def test_knots_lie_on_the_curve():
    y, s = _sample(40, 60)
    found = smoothed_curve(Sample(y, s), (0.3, 0.2))
    fpr, tpr = _defined(y, s, 0.3, 0.2, np.array([-0.4, 0.2, 1.1]))
    score = np.sort(s)[50]  # the median, from which thresholds are measured, in units of the largest score
    at = (np.array([-0.4, 0.2, 1.1]) - score) / np.abs(s).max()
    np.testing.assert_allclose(np.interp(at, found.threshold[::-1], found.curve.fpr[::-1]), fpr, atol=2e-3)
    np.testing.assert_allclose(np.interp(at, found.threshold[::-1], found.curve.tpr[::-1]), tpr, atol=2e-3)


def test_scores_without_bounds_take_wider_cells_and_no_more_memory():
    rng = np.random.default_rng(2)
    y = np.repeat([1, 0], 20_000)
    s = rng.standard_cauchy(40_000) + y
    curve = smoothed_curve(Sample(y, s), (0.05, 0.05)).curve
    assert len(curve.fpr) < 2**18
    fpr, tpr = _defined(y, s, 0.05, 0.05, np.linspace(-20, 20, 101))
    assert np.abs(curve.at(fpr) - tpr).max() < 1e-3


@pytest.mark.parametrize("factor", [1e-290, 3.0, 1e290])
def test_the_unit_of_the_scores_does_not_matter(factor):
    y, s = _sample(30, 40)
    plain, scaled = Sample(y, s), Sample(y, factor * s)
    h = bandwidths(plain, "normal")
    assert bandwidths(scaled, "normal") == pytest.approx([factor * width for width in h], rel=1e-12)
    t = np.linspace(0, 1, 50)
    np.testing.assert_allclose(
        smoothed_curve(scaled, bandwidths(scaled, "normal")).curve.at(t),
        smoothed_curve(plain, h).curve.at(t),
        atol=2e-3,
    )


def test_rules_are_their_formulas():
    y, s = _sample(50, 90)
    for name, rows, place in (("pos", s[y == 1], 0), ("neg", s[y == 0], 1)):
        n, sd = len(rows), rows.std(ddof=1)
        assert bandwidths(Sample(y, s), "normal")[place] == pytest.approx(1.06 * sd * n**-0.2), name
        assert bandwidths(Sample(y, s), "undersmoothed")[place] == pytest.approx(1.06 * sd * n ** (-1 / 3))
        inverted = iqr(rows, interpolation="inverted_cdf") / 1.349
        assert bandwidths(Sample(y, s), "robust")[place] == pytest.approx(0.9 * min(sd, inverted) * n**-0.2)
    assert bandwidths(Sample(y, s), 0.5) == (0.5, 0.5)
    assert bandwidths(Sample(y, s), (0.5, 0.2)) == (0.5, 0.2)


@given(samples())
def test_empirical_curve_is_the_count_at_the_rth_largest_negative(drawn):
    y, s = drawn
    # Ties broken by less than the distance of two scores: positives first, then last. Between lies the line.
    n_neg = int(np.sum(y == 0))
    t = np.arange(1, n_neg + 1) / n_neg
    found = empirical_curve(Sample(y, s)).at(t)
    least, greatest = np.empty(n_neg), np.empty(n_neg)
    for ends, shift in ((least, -1e-3), (greatest, 1e-3)):
        moved = s + shift * (y == 1)
        negatives = np.sort(moved[y == 0])[::-1]
        ends[:] = [(moved[y == 1] >= z).mean() for z in negatives]
    assert (found >= least - 1e-12).all()
    assert (found <= greatest + 1e-12).all()


@given(grouped_counts())
def test_counts_are_rows(counts):
    whole, rows = Sample.from_counts(*counts), Sample(*expand(*counts))
    t = np.linspace(0, 1, 9)
    np.testing.assert_array_equal(empirical_curve(whole).at(t), empirical_curve(rows).at(t))
    np.testing.assert_array_equal(
        smoothed_curve(whole, (0.5, 0.3)).curve.at(t), smoothed_curve(rows, (0.5, 0.3)).curve.at(t)
    )


def test_back_is_the_first_rate_that_reaches():
    curve = empirical_curve(Sample([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9]))
    assert curve.at(np.array([-0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5])).tolist() == [0, 0, 0.5, 0.5, 1, 1, 1]
    assert curve.back(np.array([0.0, 0.5, 0.75, 1.0])).tolist() == [0, 0, 0.5, 0.5]


def test_refusals():
    sample = Sample(*_sample(5, 6))
    for wrong in (0, -1, np.nan, np.inf, (1, 0), (1, 2, 3), [None]):
        with pytest.raises(InputError, match="bandwidth must be"):
            bandwidths(sample, wrong)
    with pytest.raises(InputError, match="one of normal, robust, undersmoothed; it is 'scott'"):
        bandwidths(sample, "scott")
    with pytest.raises(DegenerateDataError, match="bandwidth would be 0: all 2 positives have one score"):
        bandwidths(Sample([1, 1, 0, 0], [3, 3, 1, 2]), "normal")
