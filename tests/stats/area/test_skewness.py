"""The third moment of resampled AUCs, and the interval of second order."""

import json
import math

import numpy as np
import oracle
import pytest
from caveats import codes
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from strategies import grouped_counts, increasing_maps, samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.auc import AucResult, auc
from rocmonitor.stats.area.delong import moments
from rocmonitor.stats.area.skewness import second_order_ends, studentised
from rocmonitor.stats.research import auc_skewness
from rocmonitor.stats.sample import Sample


def third_central(values):
    away = values - values.mean()
    return np.mean(away * away * away)


# The third moment


@given(samples(max_per_class=4), st.integers(1, 5), st.integers(1, 4))
def test_third_moment_equals_the_enumeration_of_all_resamples(data, m_pos, m_neg):
    kernel = oracle.psi(*data)
    for sizes in ({}, {"m_pos": m_pos, "m_neg": m_neg}):
        drawn = oracle.resampled_means(kernel, **sizes)
        result = auc_skewness(*data, **sizes)
        assert result.third_moment == pytest.approx(third_central(drawn), abs=1e-12)
        assert result.se == pytest.approx(drawn.std(), abs=1e-12)
        assert result.auc == pytest.approx(drawn.mean(), abs=1e-12)


@pytest.mark.parametrize("ties", [[0, 0, 1, 1, 2], [3, 3, 3, 2, 5]])
def test_five_of_each_class(ties):
    y, s = np.array([1] * 5 + [0] * 5), np.array([2.0, 1, 4, 1, 3, *ties])
    drawn = oracle.resampled_means(oracle.psi(y, s))
    result = auc_skewness(y, s)
    assert result.third_moment == pytest.approx(third_central(drawn), abs=1e-12)
    assert result.skewness == pytest.approx(third_central(drawn) / drawn.std() ** 3, abs=1e-12)


@given(samples(), increasing_maps)
def test_laws(data, increasing):
    y, s = data
    result = auc_skewness(y, s)
    assert auc_skewness(y, increasing(s)).to_dict() == result.to_dict()
    for other in (auc_skewness(y, -s), auc_skewness(1 - y, s)):
        assert other.third_moment == pytest.approx(-result.third_moment, abs=1e-15)


@given(grouped_counts(min_per_class=1))
def test_grouped_counts_equal_rows(cells):
    rows = auc_skewness(*oracle.expand(*cells))
    assert auc_skewness(Sample.from_counts(*cells)).to_dict() == rows.to_dict()


def test_a_few_wrong_pairs_among_many():
    """1e9 rows of each class, one positive below them all: 1 - AUC* is a Poisson count over 1e9."""
    n = 10**9
    result = auc_skewness(Sample.from_counts([0, 1, 2], [1, 0, n - 1], [0, n, 0]))
    assert result.third_moment == pytest.approx(-(1.0 / n**3), rel=1e-6)
    assert result.skewness == pytest.approx(-1, rel=1e-6)


def test_no_variance_no_skewness():
    result = auc_skewness([0, 0, 1, 1], [1, 2, 3, 4])
    assert (result.third_moment, result.skewness) == (0.0, 0.0)
    assert codes(result) == ["skewness-undefined"]


def test_as_plain_data():
    result = auc_skewness([0, 1, 0, 1, 1], [1, 2, 2, 3, 0], m_pos=7)
    plain = json.loads(json.dumps(result.to_dict()))
    assert (plain["n_pos"], plain["m_pos"], plain["n_neg"], plain["m_neg"]) == (3, 7, 2, 2)
    assert "7 positives and 2 negatives" in str(result)


def test_wrong_arguments():
    with pytest.raises(DegenerateDataError, match="2 positives and 0 negatives"):
        auc_skewness([1, 1], [1, 2])
    with pytest.raises(InputError, match="m_neg must be a whole number"):
        auc_skewness([0, 1], [1, 2], m_neg=0)


# The studentised AUC


def linear_parts(kernel, variance, step=1e-4):
    """Influence of each positive and of each negative on the AUC and on its variance, by their definition.

    `variance` takes a kernel and weights of its rows and columns. Weight is moved to one row at a time.
    """
    even = [np.full(n, 1 / n) for n in kernel.shape]
    parts = []
    for axis, n in enumerate(kernel.shape):
        ends = {}
        for sign in (1, -1):
            ends[sign] = []
            for row in range(n):
                moved = [weights.copy() for weights in even]
                moved[axis] *= 1 - sign * step
                moved[axis][row] += sign * step
                area = moved[0] @ kernel @ moved[1]
                ends[sign].append((area, variance(kernel, *moved)))
        parts.append((np.array(ends[1]) - np.array(ends[-1])) / (2 * step))
    return parts


def plug_in_variance(kernel, p, q):
    n_pos, n_neg = kernel.shape
    area = p @ kernel @ q
    return p @ (kernel @ q - area) ** 2 / n_pos + q @ (p @ kernel - area) ** 2 / n_neg


@given(samples(min_per_class=2, max_per_class=6))
def test_mean_and_skewness_follow_from_the_influence_of_each_row(data):
    kernel = oracle.psi(*data)
    sample = Sample(*data)
    n_pos, n_neg = kernel.shape
    even = np.full(n_pos, 1 / n_pos), np.full(n_neg, 1 / n_neg)
    variance = plug_in_variance(kernel, *even)
    if variance == 0:
        return
    of_pos, of_neg = linear_parts(kernel, plug_in_variance)
    covariance = of_pos[:, 0] @ of_pos[:, 1] / n_pos**2 + of_neg[:, 0] @ of_neg[:, 1] / n_neg**2
    # The leading part of the third moment: resamples so large that nothing else is left.
    large = 10**6
    many = auc_skewness(sample, m_pos=large * n_pos, m_neg=large * n_neg)
    cube = variance**1.5
    mean, skewness = studentised(sample, moments(sample), math.sqrt(variance))
    assert mean == pytest.approx(-covariance / 2 / cube, abs=1e-5)
    expected = many.third_moment * large**2 / cube - 3 * covariance / cube
    assert skewness == pytest.approx(expected, abs=1e-4)


def test_a_mean_of_one_class_has_the_skewness_of_student_t():
    """All negatives level: the AUC is the mean of a positive's psi, so Hall's own formulas must come out."""
    counts = np.array([3, 4, 13])
    psi = np.array([0.0, 0.5, 1.0])
    sample = Sample.from_counts([0, 1, 2], counts, [0, 50, 0])
    n = counts.sum()
    away = psi - psi @ counts / n
    sd = math.sqrt(away**2 @ counts / n)
    gamma = away**3 @ counts / n / sd**3
    mean, skewness = studentised(sample, moments(sample), sd / math.sqrt(n))
    assert mean == pytest.approx(-gamma / (2 * math.sqrt(n)))
    assert skewness == pytest.approx(-2 * gamma / math.sqrt(n))


# The interval


@pytest.mark.parametrize("shape", [(0.0, 0.0), (0.2, 1.4), (-0.1, -0.9), (0.05, 1e-9)])
@pytest.mark.parametrize("tail", [0.005, 0.025, 0.1])
def test_the_ends_are_where_the_transformed_statistic_is_normal(shape, tail):
    area, se = 0.6, 0.01
    mean, skewness = shape
    bend, shift = -skewness / 6, skewness / 6 - mean
    ends = second_order_ends(area, se, shape, tail)
    for end, share in zip(ends, (1 - tail, tail), strict=True):
        s = (area - end) / se
        assert ndtr(s + bend * s**2 + bend**2 * s**3 / 3 + shift) == pytest.approx(share, rel=1e-9)


@given(samples(min_per_class=2), st.floats(0.01, 0.999))
def test_the_interval_turns_with_the_classes(data, level):
    for method in ("delong", "exact-bootstrap"):
        low, high = auc(*data, method=method).ci(level, "second-order")
        swapped = auc(1 - data[0], data[1], method=method).ci(level, "second-order")
        assert swapped == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_the_interval_outlives_plain_data():
    result = auc([0, 0, 1, 1, 0, 1], [1, 3, 2, 4, 2, 5])
    plain = json.loads(json.dumps(result.to_dict()))
    assert AucResult(**plain).ci(transform="second-order") == result.ci(transform="second-order")


@pytest.mark.parametrize(
    "options",
    [{"method": "wmk16"}, {"method": "exact-bootstrap", "m_pos": 9}, {"method": "bootstrap", "rng": 1}],
)
def test_other_errors_do_not_studentise(options):
    result = auc([0, 0, 1, 1, 0, 1], [1, 3, 2, 4, 2, 5], **options)
    with pytest.raises(InputError, match=r"this result, by '.*', does not have it: leave transform out"):
        result.ci(transform="second-order")


def test_it_covers_better_than_logit_near_1():
    """100 positives and 1,000 negatives at AUC 0.99: measured over 5,000 samples, 94.3 % against 91.3 %."""
    area, n = 0.99, 2_500
    rng = np.random.default_rng(4)
    y = np.repeat([1, 0], [100, 1000])
    shift = math.sqrt(2) * ndtri(area) * y
    missed = dict.fromkeys(("logit", "second-order"), 0)
    for _ in range(n):
        result = auc(y, rng.standard_normal(1100) + shift)
        for transform in missed:
            low, high = result.ci(transform=transform)
            missed[transform] += not low <= area <= high
    assert missed["second-order"] < missed["logit"] - 0.01 * n  # the standard error of this is 0.0035 n
    assert abs(missed["second-order"] / n - 0.057) < 0.025
