"""Two models at total positive rates: laws and moments equal full enumeration; approximations; refusals."""

from __future__ import annotations

import json
from math import sqrt

import numpy as np
import pytest
from caveats import codes
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference
from stats import oracle_curves as oracle
from strategies import differing, paired_samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import (
    PairedSample,
    Sample,
    total_rate_difference,
    total_rate_difference_law,
    total_rate_intervals,
)
from rocmonitor.stats.curve.joint_ranks import RankedPair, net_laws
from rocmonitor.stats.curve.shared_threshold import class_rows, flagging, moments, windows

TIED = (
    np.array([1, 1, 1, 1, 0, 0, 0]),
    np.array([3.0, 3.0, 2.0, 4.0, 3.0, 1.0, 2.0]),
    np.array([2.0, 3.0, 3.0, 1.0, 1.0, 2.0, 3.0]),
)
CONTINUOUS = (
    np.array([1, 0, 1, 0, 0, 1]),
    np.array([0.61, 0.2, 0.9, 0.7, 0.1, 0.35]),
    np.array([0.3, 0.25, 0.8, 0.1, 0.6, 0.9]),
)
MIRRORED = (CONTINUOUS[0], CONTINUOUS[1], -CONTINUOUS[1])
BLOCK = (np.array([1, 1, 0, 0, 0]), np.array([0.7, *[0.5] * 4]), np.array([1.0, 2.0, 3.0, 1.0, 2.0]))
LONELY = (np.array([1, 0, 0, 0]), np.array([2.0, 1.0, 2.0, 3.0]), np.array([3.0, 1.0, 3.0, 2.0]))
DATA = {"tied": TIED, "continuous": CONTINUOUS, "mirrored": MIRRORED, "block": BLOCK, "lonely": LONELY}


def models(n_pos, n_neg, correlation, *, second=1.0, digits=9, seed=0):
    rng = np.random.default_rng(seed)
    y, common = np.repeat([1, 0], [n_pos, n_neg]), rng.normal(size=n_pos + n_neg)
    return y, *(
        np.round(
            gap * y + sqrt(correlation) * common + sqrt(1 - correlation) * rng.normal(size=len(y)), digits
        )
        for gap in (1.0, second)
    )


def mean_and_deviation(law):
    net = np.arange(len(law)) - len(law) // 2
    return law @ net, sqrt(law @ (net - law @ net) ** 2)


@pytest.mark.parametrize("data", DATA)
def test_laws_and_intervals_equal_enumeration(data):
    y, s1, s2 = DATA[data]
    rates = np.arange(1, len(y)) / len(y)
    exact, wald = (
        total_rate_difference(y, s1, s2, rates, method=method, confidence_level=0.8)
        for method in ("exact", "wald")
    )
    np.testing.assert_array_equal(exact.rate, rates)
    assert (exact.method, wald.method) == ("exact", "wald")
    z = reference.norm.ppf(0.9)
    for line, rate in enumerate(rates):
        ours = total_rate_difference_law(y, s1, s2, rate)
        laws = oracle.total_rate_difference_laws(y, s1, s2, line + 1)
        for name, law, found in (("dtpr", laws[0], ours.dtp), ("dfpr", laws[1], ours.dfp)):
            np.testing.assert_allclose(found, law, rtol=0, atol=1e-12)
            m = len(law) // 2
            mean, deviation = mean_and_deviation(law)
            error = 1e-12 if deviation > 1e-3 else 1e-7  # the root of a variance keeps 7 digits where it is 0
            assert getattr(wald, name)[line] == pytest.approx(mean / m, abs=1e-12)
            low, high = ((mean + sign * z * deviation) / m for sign in (-1, 1))
            assert getattr(wald, f"{name}_low")[line] == pytest.approx(max(low, -1), abs=error)
            assert getattr(wald, f"{name}_high")[line] == pytest.approx(min(high, 1), abs=error)
            assert getattr(exact, f"{name}_low")[line] == (oracle.quantile(law, 0.1) - m) / m
            assert getattr(exact, f"{name}_high")[line] == (oracle.quantile(law, 0.9) - m) / m


@pytest.mark.slow
@settings(deadline=None, max_examples=15)
@given(paired_samples(max_per_class=4).filter(differing), st.data())
def test_laws_equal_enumeration_on_any_small_sample(drawn, data):
    y, s1, s2 = drawn
    r = data.draw(st.integers(1, len(y) - 1))
    ours, laws = (
        total_rate_difference_law(y, s1, s2, r / len(y)),
        oracle.total_rate_difference_laws(y, s1, s2, r),
    )
    np.testing.assert_allclose(ours.dtp, laws[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.dfp, laws[1], rtol=0, atol=1e-12)


def test_agresti_adds_two_rows_as_at_a_fixed_false_positive_rate():
    # One model twice: no row of the class is flagged by one alone, but for 1/2 and 1/2 that are added.
    y, s1 = np.repeat([1, 0], [3, 4]), np.array([9.0, 8.0, 7.0, 1.0, 2.0, 3.0, 4.0])
    ours = total_rate_difference(y, s1, s1, [5 / 7, 6 / 7], confidence_level=0.9)
    half = reference.norm.ppf(0.95) * sqrt(1 / 5 / 5)
    np.testing.assert_allclose(ours.dtpr_low, -half, atol=1e-12)
    np.testing.assert_allclose(ours.dtpr_high, half, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "correlation", "digits"),
    [
        ((150, 150), 0.3, 9),
        ((150, 150), 0.95, 9),
        ((40, 300), 0.7, 9),
        ((150, 100), 0.7, 1),
        ((150, 150), 0.7, 0),
    ],
)
def test_approximated_laws_agree_with_resampling(sizes, correlation, digits):
    y, s1, s2 = models(*sizes, correlation, second=0.8, digits=digits)
    n, draws = sum(sizes), 20_000
    rng = np.random.default_rng(5)
    ranks = [25, n // 3, n // 2, n - 60]
    seen = {r: [] for r in ranks}
    for _ in range(draws // 1_000):
        rows = np.concatenate(
            [
                rng.integers(start, stop, (1_000, stop - start))
                for start, stop in ((0, sizes[0]), (sizes[0], n))
            ],
            axis=1,
        )
        above = [s[rows] for s in (s1, s2)]
        ordered = [np.sort(each, axis=1) for each in above]
        for r in ranks:
            flagged = [each >= line[:, [-r]] for each, line in zip(above, ordered, strict=True)]
            seen[r].append(flagged[0].astype(int) - flagged[1])
    for r in ranks:
        law = total_rate_difference_law(y, s1, s2, r / n)
        assert law.method == "approximated"
        net = np.concatenate(seen[r])
        for found, part in ((law.dtp, net[:, : sizes[0]]), (law.dfp, net[:, sizes[0] :])):
            drawn = part.sum(axis=1)
            mean, deviation = mean_and_deviation(found)
            assert mean == pytest.approx(drawn.mean(), abs=6 * drawn.std() / sqrt(draws) + 1e-6)
            assert deviation == pytest.approx(drawn.std(), rel=0.13, abs=0.05)
            reached = np.cumsum(np.bincount(drawn + len(found) // 2, minlength=len(found))) / draws
            # Dvoretzky, Kiefer, Wolfowitz and Massart at 1e-9, and the error of the approximation.
            assert np.abs(reached - np.cumsum(found)).max() < sqrt(np.log(2e9) / (2 * draws)) + 0.05


@pytest.mark.parametrize("digits", [0, 1, 9])
@pytest.mark.parametrize("sizes", [(1_000, 1_000), (20, 2_000), (60, 8)])
def test_approximated_laws_add_up_and_have_the_exact_means(sizes, digits):
    y, s1, s2 = models(*sizes, 0.7, digits=digits)
    rates = [0.05, 0.3, 0.7]
    ours = total_rate_difference(y, s1, s2, rates)
    assert ours.method == "agresti-approximated"
    assert "joint-law-approximated" in codes(ours)
    alone = [total_rate_intervals(y, s, rates) for s in (s1, s2)]
    np.testing.assert_allclose(ours.dtpr, alone[0].tpr - alone[1].tpr, atol=1e-10)
    np.testing.assert_allclose(ours.dfpr, alone[0].fpr - alone[1].fpr, atol=1e-10)
    law = total_rate_difference_law(y, s1, s2, 0.3)
    for found, mean in ((law.dtp, ours.dtpr[1]), (law.dfp, ours.dfpr[1])):
        assert found.sum() == pytest.approx(1, abs=1e-10)
        assert mean_and_deviation(found)[0] / (len(found) // 2) == pytest.approx(mean, abs=1e-6)


@pytest.mark.parametrize("n", [4, 300])
def test_exchanged_models_turn_the_law_around(n):
    y, s1, s2 = models(n, n, 0.5)
    ours, back = (total_rate_difference_law(y, *pair, 0.25) for pair in ((s1, s2), (s2, s1)))
    np.testing.assert_allclose(back.dtp[::-1], ours.dtp, atol=1e-12 if n < 10 else 1e-3)
    np.testing.assert_allclose(back.dfp[::-1], ours.dfp, atol=1e-12 if n < 10 else 1e-3)


@pytest.mark.parametrize("n", [4, 200])
def test_a_model_against_itself_is_a_point_mass(n):
    y, s1, _ = models(n, n, 0.5)
    law = total_rate_difference_law(y, s1, np.exp(s1), 0.25)
    assert law.dtp[n] == pytest.approx(1, abs=1e-9)
    assert law.dfp[n] == pytest.approx(1, abs=1e-9)
    wald = total_rate_difference(y, s1, s1, [0.25], method="wald")
    assert wald.dtpr_high[0] - wald.dtpr_low[0] == pytest.approx(0, abs=1e-6)
    smoothed = total_rate_difference(y, s1, s1, [0.25])
    assert smoothed.dtpr_low[0] < 0 < smoothed.dtpr_high[0]


def test_empirical_tends_to_the_exact_quantiles():
    y, s1, s2 = models(5, 3, 0.5, digits=0)
    exact = total_rate_difference(y, s1, s2, [0.25, 0.5], method="exact", confidence_level=0.7)
    drawn = total_rate_difference(
        y, s1, s2, [0.25, 0.5], method="empirical", confidence_level=0.7, n_resamples=4_000, rng=1
    )
    assert drawn.method == "empirical"
    for name in ("dtpr", "dtpr_low", "dtpr_high", "dfpr", "dfpr_low", "dfpr_high"):
        np.testing.assert_allclose(getattr(drawn, name), getattr(exact, name), atol=1e-9)


def test_grouped_counts_equal_rows():
    rng = np.random.default_rng(5)
    y, s1, s2 = rng.integers(0, 2, 400), rng.integers(0, 6, 400) / 8, rng.integers(0, 5, 400) / 8
    cells, index = np.unique(np.column_stack([s1, s2]), axis=0, return_inverse=True)
    n_pos, n_neg = (np.bincount(index.ravel(), weights=y == label).astype(int) for label in (1, 0))
    grouped = PairedSample.from_counts(cells[:, 0], cells[:, 1], n_pos, n_neg)
    for method in ("agresti", "exact"):
        ours = total_rate_difference(y, s1, s2, [0.1, 0.5], method=method)
        other = total_rate_difference(grouped, [0.1, 0.5], method=method)
        np.testing.assert_allclose(other.dtpr_low, ours.dtpr_low, atol=1e-12)
        np.testing.assert_allclose(other.dtpr_high, ours.dtpr_high, atol=1e-12)


def test_chances_about_one_threshold_are_those_of_its_moments():
    y, s, _ = models(40, 90, 0.5, digits=1)
    own, other = class_rows(Sample(y, s))
    for r in (1, 20, 129):
        known = flagging(r, own, other)
        for found, pair in ((known.own, (own, other)), (known.other, (other, own))):
            first, stop = windows(np.array([r]), *pair)[0].tolist()
            assert found == pytest.approx(moments(r, *pair, first, stop)[0], abs=1e-12)
        assert known.reach[-1] == pytest.approx(1, abs=1e-12)
        assert (np.diff(known.reach) > -1e-12).all()


def test_both_classes_have_one_joint_law():
    y, s1, s2 = models(80, 50, 0.5)
    own, other = net_laws(RankedPair.of(PairedSample(y, s1, s2)), 40)
    # Nearly as many rows are flagged by either model: what one class gains the other loses.
    assert own.spread[0] + other.spread[0] == pytest.approx(0, abs=0.1)
    assert own.spread[2] == pytest.approx(other.spread[2], rel=0.25)


def test_results_are_plain_data_and_say_what_moved():
    ours = total_rate_difference(*TIED, [0.5])
    json.dumps(ours.to_dict(), allow_nan=False)
    assert ours.to_frame().shape == (1, 7)
    assert codes(ours)[0] == "moved-rate"
    assert str(ours) == (
        "Differences at 1 total positive rates, 95 % intervals (agresti), 4 positives, 3 negatives"
    )
    json.dumps(total_rate_difference_law(*TIED, 0.5).to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("rates", "arguments", "message"),
    [
        ([], {}, "rates must be a list of at least one rate"),
        ([0.0, 0.5, 1.0], {}, "rates must lie within \\(0, 1\\): 2 of 3"),
        ([0.5], {"method": "normal"}, "method must be one of agresti, wald, exact"),
        ([0.5], {"confidence_level": 0}, "confidence_level"),
        ([0.5], {"method": "empirical"}, "rng"),
    ],
)
def test_refuses(rates, arguments, message):
    with pytest.raises(InputError, match=message):
        total_rate_difference(*TIED, rates, **arguments)


def test_law_takes_one_rate():
    with pytest.raises(InputError, match="rate must be one number; 2"):
        total_rate_difference_law(*TIED, [0.2, 0.5])


@pytest.mark.parametrize("y", [[0, 0], [1, 1], []])
def test_one_class_is_degenerate(y):
    s = [0.5, 0.2][: len(y)]
    for call in (total_rate_difference_law, total_rate_difference):
        with pytest.raises(DegenerateDataError, match="at least 1 of each class"):
            call(y, s, s, 0.5)
