"""Random class sizes: moments and quantiles equal full enumeration of all n**n resamples."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np
import pytest
from scipy import stats as reference

from rocmonitor.errors import InputError
from rocmonitor.stats.curve import shared_threshold
from rocmonitor.stats.curve.difference import threshold_difference, threshold_dominance
from rocmonitor.stats.curve.laws import class_size
from rocmonitor.stats.curve.threshold import threshold_intervals, threshold_law
from rocmonitor.stats.curve.total_rate import total_rate_intervals, total_rate_law
from rocmonitor.stats.sample import PairedSample, Sample

Y = np.array([1, 1, 1, 0, 0])
S1 = np.array([3.0, 2.0, 1.0, 2.0, 1.0])
S2 = np.array([1.0, 3.0, 2.0, 1.0, 3.0])
CUTS = [1.0, 2.0, 3.0, 9.0]


def _rates(y, value, m):
    """Law of the mean of `value` over the rows of each class in resamples of `m` rows of both."""
    laws = {1: Counter(), 0: Counter()}
    for draw in product(range(len(y)), repeat=m):
        for label, law in laws.items():
            rows = [row for row in draw if y[row] == label]
            if rows:
                law[Fraction(int(sum(value[row] for row in rows)), len(rows))] += 1
    return laws


def _quantile(law, level):
    reached = 0.0
    for rate in sorted(law):
        reached += law[rate] / law.total()
        if reached >= level - 1e-12:
            return float(rate)
    raise AssertionError


def _variance(law):
    mean = sum(times * rate for rate, times in law.items()) / law.total()
    return float(sum(times * (rate - mean) ** 2 for rate, times in law.items()) / law.total())


@pytest.mark.parametrize("m", [(None, None), (2, 2), (4, 2)])
def test_one_model_equals_enumeration(m):
    z = reference.norm.ppf(0.9)
    how = {"joint": False, "confidence_level": 0.8, "sampling": "full", "m_pos": m[0], "m_neg": m[1]}
    exact, wald = (threshold_intervals(Y, S1, CUTS, method=method, **how) for method in ("exact", "wald"))
    for line, cut in enumerate(CUTS):
        laws = _rates(Y, cut <= S1, (m[0] or 3) + (m[1] or 2))
        for label, name in ((1, "tpr"), (0, "fpr")):
            assert getattr(exact, name + "_low")[line] == _quantile(laws[label], 0.1)
            assert getattr(exact, name + "_high")[line] == _quantile(laws[label], 0.9)
            rate = np.mean(S1[label == Y] >= cut)
            half = z * sqrt(_variance(laws[label]))
            assert getattr(wald, name + "_low")[line] == pytest.approx(max(rate - half, 0), abs=1e-12)
            assert getattr(wald, name + "_high")[line] == pytest.approx(min(rate + half, 1), abs=1e-12)


def test_two_models_equal_enumeration():
    z = reference.norm.ppf(0.9)
    how = {"joint": False, "confidence_level": 0.8, "sampling": "full"}
    pairs = list(product(CUTS, CUTS))
    exact, wald = (
        threshold_difference(Y, S1, S2, pairs, method=method, **how) for method in ("exact", "wald")
    )
    for line, (t1, t2) in enumerate(pairs):
        gap = (t1 <= S1).astype(int) - (t2 <= S2).astype(int)
        laws = _rates(Y, gap, 5)
        for label, name in ((1, "dtpr"), (0, "dfpr")):
            assert getattr(exact, name + "_low")[line] == _quantile(laws[label], 0.1)
            assert getattr(exact, name + "_high")[line] == _quantile(laws[label], 0.9)
            mean, half = np.mean(gap[label == Y]), z * sqrt(_variance(laws[label]))
            assert getattr(wald, name + "_low")[line] == pytest.approx(max(mean - half, -1), abs=1e-12)
            assert getattr(wald, name + "_high")[line] == pytest.approx(min(mean + half, 1), abs=1e-12)


@pytest.mark.parametrize(
    ("call", "data"), [(threshold_intervals, CUTS), (threshold_difference, [(2, 2), (1, 3)])]
)
@pytest.mark.parametrize("method", ["exact", "wald", "empirical", "smoothed"])
def test_large_classes_make_little_difference(call, data, method):
    rng = np.random.default_rng(0)
    y = np.repeat([1, 0], [2_000, 3_000])
    scores = [rng.integers(0, 4, 5_000) for _ in range(1 if call is threshold_intervals else 2)]
    if method == "smoothed":
        method = "agresti-coull" if call is threshold_intervals else "agresti-min"
    full, stratified = (
        call(y, *scores, data, method=method, sampling=s, rng=1, n_resamples=2_000)
        for s in ("full", "stratified")
    )
    for name in full.to_frame().columns:
        np.testing.assert_allclose(getattr(full, name), getattr(stratified, name), atol=4e-3)


def _with_both_classes(y, m):
    """All resamples of `m` rows that hold both classes, as row numbers."""
    draws = np.array(list(product(range(len(y)), repeat=m)))
    return draws[(y[draws] == 1).any(axis=1) & (y[draws] == 0).any(axis=1)]


@pytest.mark.parametrize("m", [(None, None), (1, 1), (4, 2)])
def test_law_of_both_counts_equals_enumeration(m):
    total = (m[0] or 3) + (m[1] or 2)
    draws = _with_both_classes(Y, total)
    for cut in CUTS:
        law = threshold_law(Y, S1, cut, sampling="full", m_pos=m[0], m_neg=m[1])
        tp, fp = (((cut <= S1) & (label == Y))[draws].sum(axis=1) for label in (1, 0))
        expected = np.zeros((total + 1, total + 1))
        np.add.at(expected, (tp, fp), 1 / len(draws))
        np.testing.assert_allclose(law.tp, expected.sum(axis=1), rtol=0, atol=1e-12)
        np.testing.assert_allclose(law.fp, expected.sum(axis=0), rtol=0, atol=1e-12)
        count = np.arange(total + 1)
        np.testing.assert_allclose(law.joint(count[:, None], count), expected, rtol=0, atol=1e-12)
        assert law.joint(-1, 0) == law.joint(total + 1, 0) == 0


@pytest.mark.parametrize("sizes", [(7, 29), (49, 3), (1, 1), (13, 88)])
def test_joint_law_sums_to_one_where_every_row_is_flagged(sizes):
    law = threshold_law(np.repeat([1, 0], sizes), np.arange(sum(sizes)), 0.0, sampling="full")
    count = np.arange(sum(sizes) + 1)
    assert law.joint(count[:, None], count).sum() == pytest.approx(1, abs=1e-12)


def test_stratified_counts_are_independent():
    law = threshold_law(Y, S1, 2.0)
    np.testing.assert_array_equal(law.joint(np.arange(4)[:, None], np.arange(3)), np.outer(law.tp, law.fp))


@pytest.mark.parametrize("cut", [-5.0, 0.0, 1.0, 5.0])
def test_laws_at_scale_sum_to_one(cut):
    rng = np.random.default_rng(5)
    y = np.repeat([1, 0], [10_000, 700])
    law = threshold_law(y, rng.normal(size=10_700) + y, cut, sampling="full")
    assert law.tp.sum() == pytest.approx(1, abs=1e-10)
    assert law.fp.sum() == pytest.approx(1, abs=1e-10)
    # Summed over the other count, the joint law is the law of one count.
    typical = int(law.tp.argmax())
    assert law.joint(typical, np.arange(len(law.fp))).sum() == pytest.approx(law.tp[typical], abs=1e-12)


@pytest.mark.parametrize("m", [(None, None), (1, 1), (4, 2)])
@pytest.mark.parametrize("y", [Y, np.array([1, 0, 0, 0, 0])])
def test_dominance_equals_enumeration(y, m):
    total = (m[0] or int(y.sum())) + (m[1] or int((1 - y).sum()))
    draws = _with_both_classes(y, total)
    pairs = list(product(CUTS, CUTS))
    ours = threshold_dominance(y, S1, S2, pairs, sampling="full", m_pos=m[0], m_neg=m[1])
    for line, (t1, t2) in enumerate(pairs):
        gap = (t1 <= S1).astype(int) - (t2 <= S2).astype(int)
        dtp, dfp = ((gap * (y == label))[draws].sum(axis=1) for label in (1, 0))
        tie = (dtp == 0) & (dfp == 0)
        expected = {
            "first": (dtp >= 0) & (dfp <= 0) & ~tie,
            "second": (dtp <= 0) & (dfp >= 0) & ~tie,
            "both_higher": (dtp > 0) & (dfp > 0),
            "both_lower": (dtp < 0) & (dfp < 0),
            "tie": tie,
        }
        for name, where in expected.items():
            assert getattr(ours, name)[line] == pytest.approx(where.mean(), abs=1e-12)


@pytest.mark.parametrize("only", [(300, 290, 280, 310), (2_000, 0, 1, 900), (40, 41, 0, 0)])
def test_dominance_at_scale_equals_a_mixture_of_stratified_ones(only):
    a, b, c, d = only
    n_pos, n_neg = 2_000, 1_500
    flags = ([1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0])
    cells = [a, b, n_pos - a - b, 0, 0, 0], [0, 0, 0, c, d, n_neg - c - d]
    pair = PairedSample.from_counts(*flags, *cells)
    ours = threshold_dominance(pair, [(0.5, 0.5)], sampling="full")
    size = np.arange(1_700, 2_301)  # all but 1e-20 of the class sizes
    weight = reference.binom.pmf(size, n_pos + n_neg, n_pos / (n_pos + n_neg))
    for name in ("first", "second", "both_higher", "both_lower", "tie"):
        given = [
            getattr(threshold_dominance(pair, [(0.5, 0.5)], m_pos=m, m_neg=3_500 - m), name)[0]
            for m in size.tolist()
        ]
        assert getattr(ours, name)[0] == pytest.approx(weight @ given, abs=1e-11)


TOTAL_RATE_DATA = {
    "tied": (Y, S1),
    "continuous": (np.array([1, 0, 1, 0, 0, 1]), np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])),
    "block": (np.array([1, 1, 0, 0]), np.array([0.7, 0.5, 0.5, 0.5])),
    "lonely": (np.array([1, 0, 0, 0, 0]), np.array([1.0, 1.0, 2.0, 1.0, 1.0])),
}


@pytest.mark.parametrize("data", TOTAL_RATE_DATA)
def test_total_rate_equals_enumeration(data):
    y, s = TOTAL_RATE_DATA[data]
    n, z = len(y), reference.norm.ppf(0.6)
    draws = np.array(list(product(range(n), repeat=n)))
    rates = np.arange(1, n) / n
    exact, wald = (
        total_rate_intervals(y, s, rates, method=method, sampling="full", confidence_level=level)
        for method, level in (("exact", 0.8), ("wald", 0.2))
    )
    for line, rate in enumerate(rates):
        flagged = s[draws] >= np.sort(s[draws], axis=1)[:, [n - line - 1]]
        law = total_rate_law(y, s, rate, sampling="full")
        of_class = [y[draws] == label for label in (1, 0)]
        both = np.logical_and(*(rows.any(axis=1) for rows in of_class))
        for rows, counts, name in zip(of_class, (law.tp, law.fp), ("tpr", "fpr"), strict=True):
            seen, size = (flagged & rows).sum(axis=1), rows.sum(axis=1)
            expected = np.bincount(seen[both], minlength=n + 1) / both.sum()
            np.testing.assert_allclose(counts, expected, rtol=0, atol=1e-12)
            share = seen[size > 0] / size[size > 0]
            assert getattr(wald, name)[line] == pytest.approx(share.mean(), abs=1e-12)
            half = z * share.std()
            # The root of a variance keeps half of its digits where it is 0.
            error = 1e-12 if share.std() > 1e-3 else 1e-7
            for end, at in (("_low", share.mean() - half), ("_high", share.mean() + half)):
                assert getattr(wald, name + end)[line] == pytest.approx(np.clip(at, 0, 1), abs=error)
            low, high = np.quantile(share, [0.1, 0.9], method="inverted_cdf")
            assert getattr(exact, name + "_low")[line] == pytest.approx(low, abs=1e-12)
            assert getattr(exact, name + "_high")[line] == pytest.approx(high, abs=1e-12)


@pytest.mark.parametrize(("sizes", "digits"), [((230, 30), 9), ((210, 2_000), 1)])
def test_closed_moments_at_a_total_rate_equal_the_mixture_over_class_sizes(sizes, digits, monkeypatch):
    rng = np.random.default_rng(3)
    n = sum(sizes)
    y = np.repeat([1, 0], sizes)
    pos, neg = shared_threshold.class_rows(Sample(y, np.round(rng.normal(size=n) + 1.5 * y, digits)))
    size, r = class_size(n, sizes[0] / n), np.array([1, n // 3, n - 1])
    where = shared_threshold.windows(r, pos, neg, full=True).tolist()

    def moments():
        return [
            shared_threshold.full_moments(rank, pos, neg, size, *window)
            for rank, window in zip(r.tolist(), where, strict=True)
        ]

    closed = moments()
    monkeypatch.setattr(shared_threshold, "MANY", n)
    np.testing.assert_allclose(closed, moments(), rtol=0, atol=1e-13)


@pytest.mark.parametrize("method", ["agresti", "wald", "exact", "empirical"])
def test_total_rate_with_large_classes_differs_little(method):
    rng = np.random.default_rng(4)
    y = np.repeat([1, 0], [40, 60])
    s = np.round(rng.normal(size=100) + y, 1)
    full, stratified = (
        total_rate_intervals(y, s, [0.3], method=method, sampling=how, rng=1, n_resamples=2_000)
        for how in ("full", "stratified")
    )
    for name in full.to_frame().columns:
        np.testing.assert_allclose(getattr(full, name), getattr(stratified, name), atol=0.08)
    if method == "agresti":
        assert np.all(full.tpr_high - full.tpr_low > stratified.tpr_high - stratified.tpr_low)


def test_total_rate_laws_sum_to_one():
    rng = np.random.default_rng(8)
    y = np.repeat([1, 0], [30, 40])
    law = total_rate_law(y, np.round(rng.normal(size=70) + y, 2), 0.3, sampling="full")
    assert law.tp.sum() == pytest.approx(1, abs=1e-10)
    assert law.fp.sum() == pytest.approx(1, abs=1e-10)


def test_refuses():
    for call in (total_rate_intervals, total_rate_law):
        with pytest.raises(InputError, match="sampling must be one of"):
            call(Y, S1, 0.5, sampling="half")
    with pytest.raises(InputError, match="sampling must be one of stratified, full; it is 'half'"):
        threshold_intervals(Y, S1, CUTS, sampling="half")
    with pytest.raises(InputError, match="sampling must be one of"):
        threshold_difference(Y, S1, S2, [(1, 1)], sampling="half")
    with pytest.raises(InputError, match="sampling must be one of"):
        threshold_dominance(Y, S1, S2, [(1, 1)], sampling="half")
    with pytest.raises(InputError, match="sampling must be one of"):
        threshold_law(Y, S1, 1.0, sampling="half")
    with pytest.raises(InputError, match="'wilson' does not support"):
        threshold_intervals(Y, S1, CUTS, method="wilson", sampling="full")
