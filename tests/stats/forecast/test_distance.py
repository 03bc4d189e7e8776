import math

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stats import oracle_kld
from strategies import samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.forecast.distance import binned_distance, resampled_distance, window_distances
from rocmonitor.stats.sample import Sample

ONE_CLASS = Sample([1, 1], [0.2, 0.4])
SOME = Sample([0, 1, 0, 1], [1, 2, 3, 4])


def binormal(rng, n_neg, n_pos, shift=1.0):
    y = np.repeat([0, 1], [n_neg, n_pos])
    return Sample(y, rng.normal(size=len(y)) + shift * y)


def rows(sample):
    return oracle.expand(sample.score, sample.pos, sample.neg)


@pytest.fixture
def rng():
    return np.random.default_rng(12)


@pytest.mark.parametrize("bins", [2, 5, 10])
def test_binned_equals_the_plain_definition_without_ties(rng, bins):
    reference = binormal(rng, 100, 50)
    past = [binormal(rng, 17, 13) for _ in range(3)]
    y, s = rows(reference)
    total = 0.0
    for window in past:
        wy, ws = rows(window)
        for label in (0, 1):
            edges = np.quantile(s[y == label], np.arange(1, bins) / bins)
            new = np.histogram(ws[wy == label], bins=[-np.inf, *edges, np.inf])[0]
            total += oracle_kld.divergence(new / new.sum(), np.full(bins, 1 / bins))
    # Between a quantile's neighbours no window score may lie, or the two definitions of it differ.
    assert binned_distance(reference, past, bins=bins) == pytest.approx(total / 3, abs=0.05)
    parts = [Sample(y[k::3], s[k::3]) for k in range(3)]
    expected = 0.0
    for k in range(3):
        for label in (0, 1):
            edges = np.quantile(s[y == label], np.arange(1, bins) / bins)
            new = np.histogram(s[k::3][y[k::3] == label], bins=[-np.inf, *edges, np.inf])[0]
            expected += oracle_kld.divergence(new / new.sum(), np.full(bins, 1 / bins)) / 3
    assert binned_distance(y, s, parts, bins=bins) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=60)
@given(samples(), samples(), st.integers(2, 12))
def test_binned_with_ties_is_finite_and_zero_for_the_sample_itself(one, two, bins):
    sample, window = Sample(*one), Sample(*two)
    assert binned_distance(sample, [sample], bins=bins) == 0.0
    distance = binned_distance(sample, [window], bins=bins)
    assert 0 <= distance < math.inf
    grouped = Sample.from_counts(window.score, 7 * window.pos, 7 * window.neg)
    assert binned_distance(sample, [grouped], bins=bins) == pytest.approx(distance, abs=1e-12)


def test_binned_never_splits_a_tie():
    # Negatives 1 1 1 1 2, five bins: 1 reaches the first four shares at once, which leaves {1} and {2}.
    sample = Sample([0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 2, 5])
    window = Sample([0, 0, 1], [1, 2, 5])
    expected = 0.5 * math.log(0.5 / 0.8) + 0.5 * math.log(0.5 / 0.2)
    assert binned_distance(sample, [window], bins=5) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    ("windows", "bins", "message"),
    [
        ([SOME], 1, "bins must be a whole number of at least 2"),
        ([], 10, "windows is empty"),
        ([3], 10, "window 1 must be a Sample"),
    ],
)
def test_binned_arguments(windows, bins, message):
    with pytest.raises(InputError, match=message):
        binned_distance(SOME, windows, bins=bins)


def test_binned_with_one_class():
    with pytest.raises(DegenerateDataError, match="window 2: needs at least 1 of each class"):
        binned_distance(SOME, [SOME, ONE_CLASS])
    with pytest.raises(DegenerateDataError, match="at least 1 of each class"):
        binned_distance(ONE_CLASS, [SOME])


# Symmetric distance


def test_symmetric_is_the_sum_of_both_directions(rng):
    reference, window = binormal(rng, 400, 300), binormal(rng, 200, 150, shift=0.6)
    total = 0.0
    (y, s), (wy, ws) = rows(reference), rows(window)
    for label in (0, 1):
        ends = np.sort(s[y == label])[[math.ceil(k * np.sum(y == label) / 5) - 1 for k in range(1, 5)]]
        old = np.bincount(np.searchsorted(ends, s[y == label]), minlength=5) / np.sum(y == label)
        new = np.bincount(np.searchsorted(ends, ws[wy == label]), minlength=5) / np.sum(wy == label)
        assert new.min() > 0
        total += oracle_kld.divergence(new, old) + oracle_kld.divergence(old, new)
    assert binned_distance(reference, [window], bins=5, symmetric=True) == pytest.approx(total, abs=1e-12)


def test_an_empty_bin_counts_as_half_a_row():
    # Both classes: bins {1, 2} and {3, 4}; the window's four negatives are all in the first.
    sample = Sample([0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 4, 1, 2, 3, 4])
    window = Sample([0, 0, 0, 0, 1, 1], [1, 1, 2, 2, 2, 3])
    negatives = 0.5 * math.log(1 / 0.5) + (0.125 - 0.5) * math.log(0.125 / 0.5)
    distance = binned_distance(sample, [window], bins=2, symmetric=True)
    assert distance == pytest.approx(negatives, abs=1e-14)  # the positives have not moved
    assert binned_distance(sample, [window], bins=2) == pytest.approx(math.log(2), abs=1e-14)


@settings(max_examples=60)
@given(samples(), samples(), st.integers(2, 12))
def test_symmetric_is_finite_and_never_negative(one, two, bins):
    distance = binned_distance(Sample(*one), [Sample(*two)], bins=bins, symmetric=True)
    assert 0 <= distance < math.inf
    assert binned_distance(Sample(*one), [Sample(*one)], bins=bins, symmetric=True) == 0.0


# Resampled distance


@pytest.mark.parametrize("symmetric", [False, True])
def test_resampled_distance_is_that_of_resampled_rows(rng, symmetric):
    sample = binormal(rng, 120, 60)
    y, s = rows(sample)
    drawn = []
    for _ in range(400):
        neg, pos = rng.choice(s[y == 0], 50), rng.choice(s[y == 1], 30)
        drawn.append(Sample(np.repeat([0, 1], [50, 30]), np.concatenate([neg, pos])))
    slow = window_distances(sample, drawn, symmetric=symmetric)
    fast = resampled_distance(sample, (30, 50), symmetric=symmetric, n_resamples=20_000, rng=1)
    assert abs(fast - slow.mean()) < 5 * slow.std() / math.sqrt(400)
    again = resampled_distance(sample, (30, 50), symmetric=symmetric, n_resamples=20_000, rng=1)
    assert fast == again


def test_resampled_distance_falls_with_the_size_of_the_resample(rng):
    # (bins - 1) / (2 n) a class for large n: chi-square of 9 degrees of freedom over 2 n.
    sample = binormal(rng, 3000, 3000)
    distance = resampled_distance(sample, (2000, 1000), n_resamples=4000, rng=rng)
    assert distance == pytest.approx(9 / 4000 + 9 / 2000, rel=0.05)


def test_resampling_needs_rng():
    with pytest.raises(InputError, match="needs rng"):
        resampled_distance(SOME, (2, 2), n_resamples=10, rng=None)
