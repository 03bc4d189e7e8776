"""Two curves of different rows: laws and intervals equal enumeration; coverage; refusals."""

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
from strategies import differing, samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import (
    Sample,
    auc,
    threshold_difference_unpaired,
    threshold_intervals,
    vertical_difference_unpaired,
    vertical_intervals,
)

FIRST = (np.array([1, 1, 1, 0, 0, 0, 0]), np.array([3.0, 3.0, 2.0, 3.0, 1.0, 2.0, 1.0]))
SECOND = (np.array([1, 1, 1, 1, 0, 0, 0]), np.array([0.3, 0.9, 0.5, 0.5, 0.2, 0.5, 0.6]))
SMALL = samples(min_per_class=2, max_per_class=4, distinct=4).filter(differing)


def ends(law_1, law_2, tail):
    """Quantiles of the difference of two rates, by adding up every pair of counts in order."""
    m_1, m_2 = len(law_1) - 1, len(law_2) - 1
    chances: dict[int, float] = {}
    for i, one in enumerate(law_1):
        for j, other in enumerate(law_2):
            key = i * m_2 - j * m_1
            chances[key] = chances.get(key, 0.0) + one * other
    found = []
    for level in (tail, 1 - tail):
        total = 0.0
        for key in sorted(chances):
            total += chances[key]
            if total >= level - 1e-12:
                found.append(key / m_1 / m_2)
                break
    return found


def mean_and_variance(law):
    rate = np.arange(len(law)) / (len(law) - 1)
    return law @ rate, law @ (rate - law @ rate) ** 2


@settings(deadline=None, max_examples=25)
@given(SMALL, SMALL, st.data())
def test_vertical_intervals_equal_enumeration(first, second, data):
    fpr = data.draw(st.sampled_from([0.2, 1 / 3, 0.5, 0.75]))
    laws = []
    for y, s in (first, second):
        n_pos, n_neg = int(np.sum(y == 1)), int(np.sum(y == 0))
        laws.append(oracle.vertical_law(y, s, int(np.clip(np.rint(fpr * n_neg), 1, n_neg - 1)), n_pos, n_neg))
    exact, wald = (
        vertical_difference_unpaired(first, second, [fpr], method=method, confidence_level=0.8)
        for method in ("exact", "wald")
    )
    np.testing.assert_allclose((exact.dtpr_low[0], exact.dtpr_high[0]), ends(*laws, 0.1), rtol=0, atol=1e-12)
    (mean_1, variance_1), (mean_2, variance_2) = map(mean_and_variance, laws)
    half = reference.norm.ppf(0.9) * sqrt(variance_1 + variance_2)
    error = 1e-12 if half > 1e-3 else 1e-7
    assert wald.dtpr[0] == exact.dtpr[0] == pytest.approx(mean_1 - mean_2, abs=1e-12)
    assert wald.dtpr_low[0] == pytest.approx(max(mean_1 - mean_2 - half, -1), abs=error)
    assert wald.dtpr_high[0] == pytest.approx(min(mean_1 - mean_2 + half, 1), abs=error)


@pytest.mark.parametrize("fpr", [0.25, 0.5])
def test_agresti_adds_one_flagged_positive_and_one_other_to_each_sample(fpr):
    ours = vertical_difference_unpaired(FIRST, SECOND, [fpr], confidence_level=0.9)
    found = []
    for (y, s), used in ((FIRST, ours.fpr_1), (SECOND, ours.fpr_2)):
        n_pos, n_neg = int(np.sum(y == 1)), int(np.sum(y == 0))
        found.append(oracle.vertical_moments(y, s, round(used[0] * n_neg), 1, n_pos, n_neg))
    mean, half = found[0][0] - found[1][0], reference.norm.ppf(0.95) * sqrt(found[0][1] + found[1][1])
    assert ours.dtpr_low[0] == pytest.approx(mean - half, abs=1e-12)
    assert ours.dtpr_high[0] == pytest.approx(mean + half, abs=1e-12)


@settings(deadline=None, max_examples=25)
@given(SMALL, SMALL, st.integers(-32, 32), st.integers(-32, 32))
def test_threshold_intervals_equal_enumeration(first, second, t1, t2):
    pair = [(t1 / 8, t2 / 8)]
    ours = threshold_difference_unpaired(first, second, pair, method="exact", confidence_level=0.64)
    for name, label in (("dtpr", 1), ("dfpr", 0)):
        laws = [
            oracle.flagged_law(s[y == label], t, int(np.sum(y == label)))
            for (y, s), t in zip((first, second), pair[0], strict=True)
        ]
        found = getattr(ours, f"{name}_low")[0], getattr(ours, f"{name}_high")[0]
        np.testing.assert_allclose(found, ends(*laws, 0.1), rtol=0, atol=1e-12)


def test_newcombe_is_method_10_of_the_paper():
    # Newcombe (1998), table II.
    known = {
        ((56, 70), (48, 80)): (0.0524, 0.3339),
        ((9, 10), (3, 10)): (0.1705, 0.8090),
        ((10, 10), (0, 20)): (0.6791, 1.0),
        ((10, 10), (0, 10)): (0.6075, 1.0),
    }
    for (one, other), (low, high) in known.items():
        pair = [Sample.from_counts([1.0, 2.0], [n - hits, hits], [1, 1]) for hits, n in (one, other)]
        ours = threshold_difference_unpaired(*pair, [1.5], joint=False)
        assert ours.dtpr_low[0] == pytest.approx(low, abs=5e-5)
        assert ours.dtpr_high[0] == pytest.approx(high, abs=5e-5)


def test_agresti_caffo_adds_a_success_and_a_failure_to_each():
    pair = [Sample.from_counts([1.0, 2.0], [n - 3, 3], [n - 3, 3]) for n in (10, 14)]
    ours = threshold_difference_unpaired(*pair, [2.0], method="agresti-caffo", joint=False)
    p, q = 4 / 12, 4 / 16
    half = reference.norm.ppf(0.975) * sqrt(p * (1 - p) / 12 + q * (1 - q) / 16)
    assert ours.dtpr_low[0] == pytest.approx(p - q - half, abs=1e-12)
    assert ours.dtpr_high[0] == pytest.approx(p - q + half, abs=1e-12)


@pytest.mark.parametrize("method", ["agresti", "wald", "exact"])
def test_exchanged_samples_exchange_the_ends(method):
    rng = np.random.default_rng(1)
    first, second = (Sample(y := rng.integers(0, 2, n), rng.normal(y)) for n in (120, 90))
    rates = [0.1, 0.3, 0.7]
    ours = vertical_difference_unpaired(first, second, rates, method=method)
    back = vertical_difference_unpaired(second, first, rates, method=method)
    step = 0 if method != "exact" else 0.03  # of quantiles of a lattice
    np.testing.assert_allclose(back.dtpr, -ours.dtpr, atol=1e-14)
    np.testing.assert_allclose(back.dtpr_low, -ours.dtpr_high, atol=step + 1e-12)
    alone = [vertical_intervals(each, rates).tpr for each in (first, second)]
    np.testing.assert_allclose(ours.dtpr, alone[0] - alone[1], atol=1e-14)


def test_empirical_tends_to_the_exact_quantiles():
    rng = np.random.default_rng(2)
    first, second = (Sample(y := np.arange(n) % 2, rng.normal(y)) for n in (600, 500))
    for call, at in ((vertical_difference_unpaired, [0.1, 0.5]), (threshold_difference_unpaired, [0.0, 1.0])):
        exact = call(first, second, at, method="exact")
        drawn = call(first, second, at, method="empirical", n_resamples=4_000, rng=1)
        for name in ("dtpr_low", "dtpr_high"):
            np.testing.assert_allclose(getattr(drawn, name), getattr(exact, name), atol=0.02)


def test_one_threshold_stands_for_both_samples():
    one, two = (threshold_difference_unpaired(FIRST, SECOND, at) for at in ([0.5, 2.0], [(0.5, 0.5), (2, 2)]))
    assert one.to_dict() == two.to_dict()
    assert one.pairs.tolist() == [[0.5, 0.5], [2, 2]]
    alone = [threshold_intervals(*each, [0.5, 2.0]) for each in (FIRST, SECOND)]
    np.testing.assert_array_equal(one.dtpr, alone[0].tpr - alone[1].tpr)
    np.testing.assert_array_equal(one.dfpr, alone[0].fpr - alone[1].fpr)


@pytest.mark.parametrize("call", [vertical_difference_unpaired, threshold_difference_unpaired])
def test_samples_pairs_and_arrays_are_the_same(call):
    first, second = Sample(*FIRST), Sample(*SECOND)
    expected = call(first, second, [0.5]).to_dict()
    assert call(FIRST, SECOND, [0.5]).to_dict() == expected
    assert call(list(FIRST), second, [0.5]).to_dict() == expected
    assert call(*FIRST, *SECOND, [0.5]).to_dict() == expected
    assert call(first, *SECOND, [0.5]).to_dict() == expected
    with pytest.raises(InputError, match=r"needs two samples: .*the second is missing"):
        call(first)
    with pytest.raises(InputError, match="takes a Sample, not a AucResult"):
        call(auc(first), second, [0.5])
    with pytest.raises(InputError, match="second sample: y_true must hold only 0 and 1"):
        call(first, ([2, 3], [1, 2]), [0.5])


def test_results_are_plain_data_and_say_what_moved():
    ours = vertical_difference_unpaired(FIRST, SECOND, [0.3])
    json.dumps(ours.to_dict(), allow_nan=False)
    assert (ours.fpr.tolist(), ours.fpr_1.tolist(), ours.fpr_2.tolist()) == ([0.3], [0.25], [1 / 3])
    assert codes(ours)[:2] == ["moved-rate", "moved-rate"]
    assert ours.caveats[0].about == ("first",)
    assert (ours.n_pos, ours.n_neg, ours.n_pos_2, ours.n_neg_2) == (3, 4, 4, 3)
    assert str(ours) == (
        "Differences at 1 false positive rates, 95 % intervals (agresti), 3 positives, 4 negatives; second "
        "4 positives, 3 negatives"
    )
    other = threshold_difference_unpaired(FIRST, SECOND, [2.0])
    assert str(other).endswith(
        "joint regions (newcombe), 3 positives, 4 negatives; second 4 positives, 3 negatives"
    )
    assert ours.to_frame().shape == (1, 7)


@pytest.mark.parametrize(
    ("call", "at", "options", "message"),
    [
        (vertical_difference_unpaired, [0.0, 0.5], {}, "fpr must lie within \\(0, 1\\): 1 of 2"),
        (
            vertical_difference_unpaired,
            [0.5],
            {"method": "kernel"},
            "method must be one of agresti, wald, exact",
        ),
        (vertical_difference_unpaired, [0.5], {"confidence_level": 1}, "confidence_level"),
        (vertical_difference_unpaired, [0.5], {"method": "empirical"}, "rng"),
        (threshold_difference_unpaired, [np.nan], {}, "thresholds must be numbers"),
        (threshold_difference_unpaired, [(1, 2, 3)], {}, "shape \\(h, 2\\)"),
        (threshold_difference_unpaired, [0.5], {"method": "agresti"}, "method must be one of newcombe"),
    ],
)
def test_refuses(call, at, options, message):
    with pytest.raises(InputError, match=message):
        call(FIRST, SECOND, at, **options)


@pytest.mark.parametrize("call", [vertical_difference_unpaired, threshold_difference_unpaired])
def test_one_class_or_one_score_is_degenerate(call):
    with pytest.raises(DegenerateDataError, match="second sample: needs at least 1 of each class"):
        call(FIRST, ([1, 1], [1.0, 2.0]), [0.5])
    with pytest.raises(DegenerateDataError, match="first sample: all 2 scores are 1"):
        call(([0, 1], [1.0, 1.0]), SECOND, [0.5])
    with pytest.raises(DegenerateDataError, match="needs at least 2 negatives"):
        vertical_difference_unpaired(FIRST, ([0, 1], [1.0, 2.0]), [0.5])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"), [((50, 200), (100, 100)), ((100, 900), (400, 3_600))], ids=["small", "large"]
)
def test_intervals_cover_the_difference(first, second):
    """Normal scores, 1,000 runs: Monte Carlo error 0.7 points at 95 %."""
    rng = np.random.default_rng(3)
    rates, thresholds, runs = np.array([0.05, 0.1, 0.2, 0.4]), np.array([-0.5, 0.5, 1.5]), 1_000
    norm = reference.norm
    true = norm.cdf(1.2 + norm.ppf(rates)) - norm.cdf(1.4 + norm.ppf(rates))
    of_tpr = norm.sf(thresholds - 1.2) - norm.sf(thresholds - 1.4)
    held, at_thresholds = np.zeros(4), np.zeros((2, 3))
    for _ in range(runs):
        one, other = (
            Sample(np.repeat([1, 0], sizes), rng.normal(np.repeat([gap, 0], sizes)))
            for sizes, gap in ((first, 1.2), (second, 1.4))
        )
        ours = vertical_difference_unpaired(one, other, rates)
        held += (ours.dtpr_low <= true) & (true <= ours.dtpr_high)
        found = threshold_difference_unpaired(one, other, thresholds, joint=False)
        at_thresholds[0] += (found.dtpr_low <= of_tpr) & (of_tpr <= found.dtpr_high)
        at_thresholds[1] += (found.dfpr_low <= 0) & (found.dfpr_high >= 0)
    assert held.min() > 0.925 * runs
    assert held.max() < 0.99 * runs
    assert at_thresholds.min() > 0.925 * runs
