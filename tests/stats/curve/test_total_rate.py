"""ROC points at total positive rates: laws and moments equal full enumeration; laws; refusals."""

from __future__ import annotations

import json
from math import sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import expand
from scipy import stats as reference
from stats import oracle_curves as oracle
from strategies import differing, grouped_counts, increasing_maps, samples

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.curve import shared_threshold
from rocmonitor.stats.curve.total_rate import total_rate_intervals, total_rate_law
from rocmonitor.stats.sample import Sample

METHODS = ["agresti", "wald", "exact", "empirical"]
TIED = (np.array([1, 1, 1, 1, 0, 0, 0]), np.array([3.0, 3.0, 2.0, 4.0, 3.0, 1.0, 2.0]))
CONTINUOUS = (np.array([1, 0, 1, 0, 0, 1, 0]), np.array([0.61, 0.2, 0.9, 0.7, 0.1, 0.35, 0.5]))
BLOCK = (np.array([1, 1, 0, 0, 0]), np.array([0.7, *[0.5] * 4]))
APART = (np.array([1, 1, 1, 0, 0, 0]), np.array([4.0, 5.0, 6.0, 1.0, 2.0, 3.0]))
LONELY = (np.array([1, 0, 0, 0]), np.array([2.0, 1.0, 2.0, 3.0]))
DATA = {"tied": TIED, "continuous": CONTINUOUS, "block": BLOCK, "apart": APART, "lonely": LONELY}


def _mean_and_deviation(law):
    rate = np.arange(len(law)) / (len(law) - 1)
    mean = law @ rate
    return mean, sqrt(law @ (rate - mean) ** 2)


@pytest.mark.parametrize("data", DATA)
def test_laws_and_intervals_equal_enumeration(data):
    y, s = DATA[data]
    rates = np.arange(1, len(y)) / len(y)
    exact, wald = (
        total_rate_intervals(y, s, rates, method=method, confidence_level=0.8) for method in ("exact", "wald")
    )
    np.testing.assert_array_equal(exact.rate, rates)
    z = reference.norm.ppf(0.9)
    for line, rate in enumerate(rates):
        tp, fp = oracle.total_rate_laws(y, s, line + 1)
        ours = total_rate_law(y, s, rate)
        np.testing.assert_allclose(ours.tp, tp, rtol=0, atol=1e-12)
        np.testing.assert_allclose(ours.fp, fp, rtol=0, atol=1e-12)
        for name, law in (("tpr", tp), ("fpr", fp)):
            m = len(law) - 1
            mean, deviation = _mean_and_deviation(law)
            assert getattr(wald, name)[line] == pytest.approx(mean, abs=1e-12)
            # The root of a variance keeps 7 digits where it is 0.
            error = 1e-12 if deviation > 1e-3 else 1e-7
            assert getattr(wald, name + "_low")[line] == pytest.approx(
                max(mean - z * deviation, 0), abs=error
            )
            assert getattr(wald, name + "_high")[line] == pytest.approx(
                min(mean + z * deviation, 1), abs=error
            )
            assert getattr(exact, name + "_low")[line] == oracle.quantile(law, 0.1) / m
            assert getattr(exact, name + "_high")[line] == oracle.quantile(law, 0.9) / m


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(samples(max_per_class=4).filter(differing), st.data())
def test_laws_equal_enumeration_on_any_small_sample(drawn, data):
    y, s = drawn
    r = data.draw(st.integers(1, len(y) - 1))
    tp, fp = oracle.total_rate_laws(y, s, r)
    ours = total_rate_law(y, s, r / len(y))
    np.testing.assert_allclose(ours.tp, tp, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.fp, fp, rtol=0, atol=1e-12)


def test_agresti_adds_four_rows_as_at_a_fixed_false_positive_rate():
    # Where no positive interferes with the threshold, both averagings are the same problem.
    y, s = np.repeat([1, 0], [3, 4]), np.array([9.0, 8.0, 7.0, 1.0, 2.0, 3.0, 4.0])
    ours = total_rate_intervals(y, s, [5 / 7, 6 / 7], confidence_level=0.9)
    # All positives are flagged: (3 + 2) / (3 + 4), and Agresti and Coull's deviation.
    half = reference.norm.ppf(0.95) * sqrt(5 / 7 * 2 / 7 / 7)
    np.testing.assert_allclose(ours.tpr_low, 5 / 7 - half, atol=1e-12)
    assert (ours.tpr_high > ours.tpr_low).all()


@pytest.mark.parametrize("distinct", [12, 100_000])
def test_law_agrees_with_resampling(distinct):
    rng = np.random.default_rng(7)
    n_pos, n_neg, draws = 120, 200, 10_000
    y = np.repeat([1, 0], [n_pos, n_neg])
    s = np.round(np.clip(rng.normal(size=n_pos + n_neg) + y, -4, 5) * distinct / 9)
    pos, neg = rng.choice(s[:n_pos], (draws, n_pos)), rng.choice(s[n_pos:], (draws, n_neg))
    both = np.sort(np.concatenate([pos, neg], axis=1), axis=1)
    for r in (1, 30, 160, 315):
        law = total_rate_law(y, s, r / (n_pos + n_neg))
        for ours, drawn in ((law.tp, pos), (law.fp, neg)):
            assert ours.sum() == pytest.approx(1, abs=1e-12)
            flagged = (drawn >= both[:, [-r]]).sum(axis=1)
            seen = np.cumsum(np.bincount(flagged, minlength=len(ours))) / draws
            # Dvoretzky, Kiefer, Wolfowitz and Massart at 1e-9.
            assert np.abs(seen - np.cumsum(ours)).max() < sqrt(np.log(2e9) / (2 * draws))


@pytest.mark.parametrize("digits", [0, 3])
@pytest.mark.parametrize("n_pos", [5, 10_000])
@pytest.mark.parametrize("rate", [1e-4, 0.02, 0.5, 0.9999])
def test_laws_at_scale_sum_to_one_and_have_the_moments_found_another_way(rate, n_pos, digits):
    rng = np.random.default_rng(11)
    y = np.repeat([1, 0], [n_pos, 6_000])
    s = np.round(rng.normal(size=len(y)) + y, digits)
    law = total_rate_law(y, s, rate)
    ours = total_rate_intervals(y, s, [rate], method="wald", confidence_level=0.5)
    for name, counts in (("tpr", law.tp), ("fpr", law.fp)):
        assert counts.sum() == pytest.approx(1, abs=1e-10)
        mean, deviation = _mean_and_deviation(counts)
        assert getattr(ours, name)[0] == pytest.approx(mean, abs=1e-11)
        half = reference.norm.ppf(0.75) * deviation
        # The root of a variance keeps half of its digits where it is 0.
        error = 1e-10 if deviation > 1e-4 else 1e-7
        assert getattr(ours, name + "_low")[0] == pytest.approx(max(mean - half, 0), abs=error)
        assert getattr(ours, name + "_high")[0] == pytest.approx(min(mean + half, 1), abs=error)


def test_empirical_tends_to_the_exact_quantiles():
    rng = np.random.default_rng(2)
    y = np.repeat([1, 0], [400, 500])
    s = rng.normal(size=900) + y
    rates = [0.1, 0.4, 0.8]
    exact = total_rate_intervals(y, s, rates, method="exact")
    drawn = total_rate_intervals(y, s, rates, method="empirical", n_resamples=4_000, rng=1)
    for name in ("tpr", "tpr_low", "tpr_high", "fpr", "fpr_low", "fpr_high"):
        np.testing.assert_allclose(getattr(drawn, name), getattr(exact, name), atol=0.012)


@settings(deadline=None, max_examples=15)
@given(samples(max_per_class=12).filter(differing), st.integers(0, 2**32 - 1), increasing_maps)
def test_row_order_and_increasing_maps_change_nothing(drawn, seed, increase):
    y, s = drawn
    order = np.random.default_rng(seed).permutation(len(y))
    ours, other = (total_rate_law(labels, x, 0.3) for labels, x in ((y, s), (y[order], increase(s[order]))))
    np.testing.assert_allclose(ours.tp, other.tp, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.fp, other.fp, rtol=0, atol=1e-12)


@settings(deadline=None, max_examples=15)
@given(grouped_counts())
def test_counts_equal_rows(counts):
    score, pos, neg = counts
    y, s = expand(score, pos, neg)
    assume(len(np.unique(s)) > 1)
    for method in METHODS:
        grouped, rows = (
            total_rate_intervals(*data, [0.2, 0.6], method=method, rng=3, n_resamples=20)
            for data in ((Sample.from_counts(score, pos, neg),), (y, s))
        )
        assert grouped.to_dict() == rows.to_dict()


def test_results_are_plain_data_and_say_what_was_moved():
    ours = total_rate_intervals(*TIED, [0.5], confidence_level=0.9)
    assert ours.to_frame().shape == (1, 7)
    json.dumps(ours.to_dict())
    assert str(ours) == (
        "1 ROC points by total positive rate, 90 % intervals (agresti), 4 positives, 3 negatives"
    )
    assert ours.caveats[0] == Caveat("moved-rate", count=1, total=1, at=[0.5], used=[4 / 7], rows=7)
    json.dumps(total_rate_law(*TIED, 0.5).to_dict())


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ([], "rates must be a list of at least one rate"),
        ([0.0, 0.5, 1.0, np.nan], "rates must lie within \\(0, 1\\): 3 of 4"),
        (["low"], "rates must be numbers"),
    ],
)
def test_refuses_rates(rates, message):
    with pytest.raises(InputError, match=message):
        total_rate_intervals(*TIED, rates)


@pytest.mark.parametrize(
    "arguments", [{"method": "beta"}, {"confidence_level": 0.0}, {"method": "empirical"}]
)
def test_refuses_arguments(arguments):
    with pytest.raises(InputError):
        total_rate_intervals(*TIED, [0.5], **arguments)


def test_law_takes_one_rate():
    with pytest.raises(InputError, match="rate must be one number; 2"):
        total_rate_law(*TIED, [0.2, 0.5])


@pytest.mark.parametrize("y", [[0, 0], [1, 1], []])
def test_one_class_is_degenerate(y):
    s = [0.5, 0.2][: len(y)]
    for call in (total_rate_law, total_rate_intervals):
        with pytest.raises(DegenerateDataError):
            call(y, s, 0.5)


@pytest.mark.parametrize(("n_pos", "n_neg", "digits"), [(300, 200, 3), (40, 60, 0), (15, 400, 1)])
def test_steps_at_many_scores_together_are_those_one_by_one(n_pos, n_neg, digits, monkeypatch):
    rng = np.random.default_rng(n_pos)
    y = np.repeat([1, 0], [n_pos, n_neg])
    pos, neg = shared_threshold.class_rows(Sample(y, np.round(rng.normal(size=len(y)) + y, digits)))
    ranks = (1, len(y) // 7, len(y) // 2, len(y) - 1)
    together = [shared_threshold.stratified_law(r, *rows) for r in ranks for rows in ((pos, neg), (neg, pos))]
    monkeypatch.setattr(shared_threshold, "_FEW", -1.0)
    alone = [shared_threshold.stratified_law(r, *rows) for r in ranks for rows in ((pos, neg), (neg, pos))]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
        assert one.sum() == pytest.approx(1, abs=1e-12)
