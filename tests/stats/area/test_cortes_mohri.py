"""Cortes and Mohri's law against brute force over all rankings and thresholds, and against their print."""

from fractions import Fraction
from itertools import combinations
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import binom
from strategies import samples

from rocmonitor.errors import InputError
from rocmonitor.stats.area.auc import auc
from rocmonitor.stats.area.variances import area_given_errors, fewest_errors
from rocmonitor.stats.sample import Sample


def classifications(n_pos, n_neg):
    """The area of every ranking with every threshold, in lists by the number of errors."""
    found = {}
    n = n_pos + n_neg
    for places in combinations(range(n), n_pos):  # of the positives, from the highest score down
        positive = [place in places for place in range(n)]
        pairs = sum(positive[i] and not positive[j] for i in range(n) for j in range(i + 1, n))
        for flagged in range(n + 1):
            errors = sum(positive[i] != (i < flagged) for i in range(n))
            found.setdefault(errors, []).append(Fraction(pairs, n_pos * n_neg))
    return found


def printed(m, n, k):
    """Mean and variance as in the paper: m positives, n negatives, k errors."""

    def sum_to(top, last):
        return sum(comb(top, x) for x in range(last + 1))

    total = sum_to(m + n + 1, k)
    z1, z2, z3, z4 = (Fraction(sum_to(m + n + 1 - i, k - i), total) for i in (1, 2, 3, 4))
    rate = Fraction(k, m + n)
    mean = 1 - rate - Fraction((n - m) ** 2 * (m + n + 1), 4 * m * n) * (rate - z1)
    t = 3 * ((m - n) ** 2 + m + n) + 2
    q0 = (
        (m + n + 1) * t * k**2
        + ((-3 * n**2 + 3 * m * n + 3 * m + 1) * t - 12 * (3 * m * n + m + n) - 8) * k
        + (-3 * m**2 + 7 * m + 10 * n + 3 * n * m + 10) * t
        - 4 * (3 * m * n + m + n + 1)
    )
    q1 = (
        t * k**3
        + 3 * (m - 1) * t * k**2
        + ((-3 * n**2 + 3 * m * n - 3 * m + 8) * t - 6 * (6 * m * n + m + n)) * k
        + (-3 * m**2 + 7 * (m + n) + 3 * m * n) * t
        - 2 * (6 * m * n + m + n)
    )
    four = (m + n + 1) * (m + n) * (m + n - 1) * t * ((m + n - 2) * z4 - (2 * m - n + 3 * k - 10) * z3) / 72
    two = m * m - n * m + 3 * k * m - 5 * m + 2 * k * k - n * k + 12 - 9 * k
    variance = four + (m + n + 1) * (m + n) * t * two * z2 / 48 - (m + n + 1) ** 2 * (m - n) ** 4 * z1**2 / 16
    variance += -(m + n + 1) * q1 * z1 / 72 + Fraction(k * q0, 144)
    return mean, variance / (m * n) ** 2


@pytest.mark.parametrize(("n_pos", "n_neg"), [(1, 1), (1, 4), (4, 1), (2, 3), (3, 3), (5, 2), (4, 5)])
def test_brute_force(n_pos, n_neg):
    for errors, areas in classifications(n_pos, n_neg).items():
        mean = sum(areas) / len(areas)
        variance = sum(a * a for a in areas) / len(areas) - mean**2
        found = area_given_errors(n_pos, n_neg, errors)
        assert found == pytest.approx((float(1 - mean), float(variance)), abs=1e-14)
        if errors <= min(n_pos, n_neg):
            assert printed(n_pos, n_neg, errors) == (mean, variance)
        if 0 < errors < n_pos + n_neg:
            s = np.arange(n_pos + n_neg) % 3
            se = auc(np.arange(n_pos + n_neg) < n_pos, s, method="cortes-mohri", n_errors=errors).se
            assert se == pytest.approx(sqrt(variance), rel=1e-12)


def test_the_print_is_wrong_beyond_the_smaller_class():
    areas = classifications(2, 3)[3]
    assert printed(2, 3, 3)[0] != sum(areas) / len(areas)


@pytest.mark.parametrize(
    ("n_pos", "n_neg", "errors"),
    [(30, 50, 11), (400, 1600, 37), (900, 1100, 800), (100_000, 900_000, 40), (500_000, 500_000, 60)],
)
def test_the_print_where_it_is_right(n_pos, n_neg, errors):
    mean, variance = printed(n_pos, n_neg, errors)
    found = area_given_errors(n_pos, n_neg, errors)
    assert found == pytest.approx((float(1 - mean), float(variance)), rel=1e-10, abs=0)


def test_a_million_rows():
    """The mean lost is k/n for equal classes; else the print's sums are binomial distribution functions."""
    n, errors = 500_000, 200_000
    lost, variance = area_given_errors(n, n, errors)
    assert lost == pytest.approx(errors / (2 * n), rel=1e-9)
    assert 0 < variance < lost**2
    n_pos, n_neg, errors = 499_500, 500_500, 499_000
    rows = n_pos + n_neg
    z1 = binom.cdf(errors - 1, rows, 0.5) / (2 * binom.cdf(errors, rows + 1, 0.5))
    rate = errors / rows
    lost, _ = area_given_errors(n_pos, n_neg, errors)
    assert lost == pytest.approx(
        rate + (n_neg - n_pos) ** 2 * (rows + 1) / (4 * n_pos * n_neg) * (rate - z1), rel=1e-9
    )


@given(samples())
def test_fewest_errors_over_all_thresholds(data):
    y, s = data
    thresholds = [*s, np.inf]
    expected = min(int(np.sum((s >= t) != (y == 1))) for t in thresholds)
    assert fewest_errors(Sample(y, s)) == expected
    by_default = auc(y, s, method="cortes-mohri")
    if expected:
        assert by_default == auc(y, s, method="cortes-mohri", n_errors=expected)
    assert by_default.caveats[0].code == "error-of-rankings"
    assert by_default.caveats[0].values["n_errors"] == expected


def test_rows_of_one_score_are_flagged_together():
    assert fewest_errors(Sample([0, 1, 0, 1], [1, 1, 2, 2])) == 2
    assert fewest_errors(Sample([0, 1, 0, 1], [1, 1.5, 1.4, 2])) == 0


@pytest.mark.parametrize("wrong", [-1, 5, 1.5, float("nan"), float("inf")])
def test_errors_out_of_range(wrong):
    with pytest.raises(InputError, match=r"n_errors must be a whole number from 0 to 4"):
        auc([0, 1, 0, 1], [1, 2, 3, 4], method="cortes-mohri", n_errors=wrong)


def test_no_error_or_nothing_else():
    """Then every ranking is alike; the sample must be so too, or the standard error of 0 would be a lie."""
    y, perfect, mixed = [0, 0, 1, 1], [1, 2, 3, 4], [1, 3, 2, 4]
    assert auc(y, perfect, method="cortes-mohri").se == 0
    assert auc(y, perfect[::-1], method="cortes-mohri", n_errors=4).se == 0
    for scores, errors, ranking in ((mixed, 0, "perfect"), (mixed, 4, "reversed"), (perfect, 4, "reversed")):
        with pytest.raises(InputError, match=f"n_errors={errors} every ranking is {ranking}"):
            auc(y, scores, method="cortes-mohri", n_errors=errors)
    with pytest.raises(InputError, match="n_errors is for method='cortes-mohri'"):
        auc(y, mixed, n_errors=1)
