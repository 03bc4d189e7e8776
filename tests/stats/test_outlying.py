"""Reference windows far from the others: named seldom where there is none, and found where there is."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import scipy
from scipy import optimize, stats
from studies import far_window as study
from studies.running import replicate

from rocmonitor.stats import Sample, auc
from rocmonitor.stats.outlying import outlying_windows, sampling_errors, sampling_skewness
from rocmonitor.stats.research import auc_skewness


def low_of(aucs, ses, skewness=None, chance=0.01):
    """Return the low windows by the definition, where none is high."""
    n, k = len(aucs), len(aucs) // 5
    if n < 9:
        return set()
    skewness = skewness or [0.0] * n
    middle = float(np.median(aucs))

    def scatter_of_half(tau2):
        squares = [(x - middle) ** 2 / (s * s + tau2) for x, s in zip(aucs, ses, strict=True)]
        return float(np.median(squares)) - stats.chi2(1).median()

    wide = 10 * max((x - middle) ** 2 for x in aucs)
    tau2 = 0.0 if scatter_of_half(0.0) <= 0 else optimize.brentq(scatter_of_half, 0, wide, xtol=1e-16)
    order = sorted(range(n), key=lambda at: (aucs[at] - middle) / math.sqrt(ses[at] ** 2 + tau2))
    for count in range(k, 0, -1):
        low, others = order[:count], order[count:]
        nearest, together = _by_definition(aucs, ses, skewness, low, others)
        if count == 1:
            if nearest * n < 0.9 * chance:
                return set(low)
        elif (
            nearest * (n - count + 1) < 1.5 * 0.9 * chance
            and together * math.comb(n, count) * (k - 1) < 2 / 3 * 0.9 * chance
        ):
            return set(low)
    return set()


def _by_definition(aucs, ses, skewness, low, others):
    """Return p-values of the nearest window, and of all together."""

    def mean(tau2):
        weights = [1 / (ses[at] ** 2 + tau2) for at in others]
        return sum(w * aucs[at] for w, at in zip(weights, others, strict=True)) / sum(weights), sum(weights)

    def excess(tau2):
        middle, _ = mean(tau2)
        return sum((aucs[at] - middle) ** 2 / (ses[at] ** 2 + tau2) for at in others) - (len(others) - 1)

    tau2 = 0.0 if excess(0.0) <= 0 else optimize.brentq(excess, 0, 10, xtol=1e-18, rtol=1e-14)
    middle, weight = mean(tau2)

    def pvalue(some):
        own = [ses[at] ** 2 + tau2 for at in some]
        total = sum(1 / v for v in own)
        distance = middle - sum(aucs[at] / v for at, v in zip(some, own, strict=True)) / total
        cube = sum(skewness[at] * ses[at] ** 3 / v**3 for at, v in zip(some, own, strict=True))
        bend = max(-cube / total**1.5, 0.0) / 6
        t = distance / math.sqrt(1 / total + 1 / weight)
        if t > 0 and bend:
            t = optimize.brentq(lambda u: u + bend * (u * u - 1) - t, 0, t + 1)
        known = min(1.0, len(some) / total * weight / len(others)) ** 2
        return float(stats.t((len(others) - 1) * known).sf(t))

    return pvalue(low[-1:]), pvalue(low)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("bad", [0, 1, 3])
def test_the_windows_are_those_of_the_definition(seed, bad):
    rng = np.random.default_rng([seed, bad])
    n = int(rng.integers(8, 24))
    ses = 0.012 * 2 ** rng.uniform(0, 1, n)
    aucs = 0.85 + ses * rng.standard_normal(n) + 0.01 * (seed % 3) * rng.standard_normal(n)
    aucs[:bad] -= 0.13
    skewness = (-10 * ses * (seed % 2)).tolist()
    found = outlying_windows(aucs.tolist(), ses.tolist(), skewness)
    assert set(found.low.places) == low_of(aucs.tolist(), ses.tolist(), skewness)
    assert found.high.places == ()
    assert len(found.low.places) <= n // 5
    assert (found.low.chance < 0.009) == bool(found.low.places)


def test_the_other_side_is_found_likewise_and_more_seldom():
    rng = np.random.default_rng(3)
    aucs = (0.8 + 0.01 * rng.standard_normal(19)).tolist()
    aucs[4], aucs[9] = 0.65, 0.95
    found = outlying_windows(aucs, [0.01] * 19)
    assert (found.low.places, found.high.places) == ((4,), (9,))
    assert found.others == pytest.approx(np.mean([each for at, each in enumerate(aucs) if at not in (4, 9)]))
    turned = outlying_windows([1 - each for each in aucs], [0.01] * 19)
    assert (turned.low.places, turned.high.places) == ((9,), (4,))


def test_the_farthest_comes_first_and_windows_do_not_hide_each_other():
    rng = np.random.default_rng(2)
    aucs = 0.85 + 0.015 * rng.standard_normal(19)
    aucs[[3, 8, 11]] = 0.71, 0.70, 0.72
    assert outlying_windows(aucs, [0.015] * 19).low.places == (8, 3, 11)


@pytest.mark.parametrize("count", [9, 19, 52])
@pytest.mark.parametrize("scatter", [0.0, 1.0, 3.0])
def test_a_window_is_seldom_named_where_all_are_alike(count, scatter):
    """At most 1 % of references, here of 300; 3 % is three errors above that."""
    rng = np.random.default_rng(4)
    ses = 0.01 * 4 ** rng.uniform(0, 1, (300, count))
    aucs = 0.8 + ses * rng.standard_normal((300, count)) + 0.01 * scatter * rng.standard_normal((300, count))
    found = [outlying_windows(*each) for each in zip(aucs, ses, strict=True)]
    assert np.mean([bool(each.low.places or each.high.places) for each in found]) < 0.03


def test_a_small_window_may_lie_further_out():
    aucs, ses = [0.80, 0.81, 0.79, 0.80, 0.82, 0.78, 0.81, 0.65, 0.80], [0.01] * 7 + [0.1, 0.01]
    assert outlying_windows(aucs, ses).low.places == ()
    assert outlying_windows(aucs, [0.01] * 9).low.places == (7,)


def test_few_windows_and_equal_ones_name_none():
    for aucs, ses in (([], []), ([0.9] * 7 + [0.1], [0.01] * 8), ([0.9] * 12, [0.0] * 12)):
        found = outlying_windows(aucs, ses)
        assert (found.low.places, found.high.places) == ((), ())
        assert found.low.chance == 1


def test_a_long_tail_of_small_windows_is_no_reason():
    aucs, ses = [0.80, 0.82, 0.79, 0.80, 0.82, 0.78, 0.81, 0.80, 0.79, 0.72], [0.012] * 10
    assert outlying_windows(aucs, ses).low.places == (9,)
    assert outlying_windows(aucs, ses, [-0.6] * 10).low.places == ()


def test_the_skewness_is_that_of_the_area():
    rng = np.random.default_rng(6)
    y = np.repeat([1, 0], [60, 200])
    samples = [Sample(y, rng.normal(size=260) + 1.5 * y) for _ in range(9)]
    areas = [auc(sample) for sample in samples]
    errors = sampling_errors(areas)
    direct = np.median([auc_skewness(sample).skewness for sample in samples])
    assert sampling_skewness(areas, errors) == pytest.approx([direct] * 9, rel=0.1)
    joined = [area.__class__(auc=area.auc, se=area.se, n_pos=60, n_neg=200, method="x") for area in areas]
    assert sampling_skewness(joined, errors) == pytest.approx([direct] * 9, rel=0.35)


@pytest.mark.parametrize("past", [study.Past(), study.Past(sizes=(10, 90), auc=0.9)], ids=str)
def test_windows_that_are_alike_are_seldom_named_however_small_they_are(past):
    """A short version of the study `far-window`: small windows were named in 7 % by their own errors."""
    good, *_ = np.mean(replicate(study.named, past, replications=120, seed=2), axis=0)
    assert good < 0.04  # 1 % and three Monte Carlo errors


@pytest.mark.parametrize("scatter", [0.0, 0.02])
def test_exactly_the_bad_week_is_named(scatter):
    past = study.Past(bad=1, scatter=scatter)
    good, exactly, *_ = np.mean(replicate(study.named, past, replications=60, seed=2), axis=0)
    assert good < 0.06
    assert exactly > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("bad", "least"), [(0, 0), (1, 0.55), (3, 0.38)])
def test_windows_that_scatter_by_themselves(bad, least):
    """200 + 800 rows, AUROC 0.85, scatter 0.015, depth 0.10: 66 % of one bad week of 19, half of three."""
    rng = np.random.default_rng(9)
    good, share = [], []
    for _ in range(600):
        true = 0.85 + 0.015 * rng.standard_normal(19)
        true[:bad] -= 0.10
        ses = 0.0146 * np.sqrt(true * (1 - true) / (0.85 * 0.15))
        low = outlying_windows(true + ses * rng.standard_normal(19), [0.0146] * 19, [-0.14] * 19).low.places
        good.append(any(at >= bad for at in low))
        share.append(sum(at < bad for at in low) / max(bad, 1))
    assert np.mean(good) < 0.025
    assert np.mean(share) >= least


@pytest.mark.parametrize(("others", "most"), [(18, 0.72), (16, 0.68)])
def test_the_most_that_can_be_named_where_the_scatter_is_not_known(others, most):
    """The case above: Student's t of a bad week against the good ones, of whose places it is told."""
    rng = np.random.default_rng(3)
    sd, of_bad = np.hypot(0.0146, 0.015), np.hypot(0.0189, 0.015)
    windows, bad = rng.normal(size=(40_000, others)) * sd, rng.normal(size=40_000) * of_bad - 0.10
    away, each = windows.mean(axis=1) - bad, np.sqrt(1 + 1 / others)
    named = away > scipy.stats.t.isf(0.01 / 19, others - 1) * windows.std(axis=1, ddof=1) * each
    assert named.mean() == pytest.approx(most, abs=0.02)  # it takes the scatter to name more
    assert np.mean(away > scipy.stats.norm.isf(0.01 / 19) * sd * each) == pytest.approx(0.88, abs=0.02)


def test_a_bad_week_hides_a_drop_that_the_others_show():
    past = study.Past(bad=1, sizes=(40, 160))
    with_it, without = np.mean(replicate(study.kept, past, replications=1, seed=2), axis=0)
    assert with_it[1] - with_it[0] > 2 * (without[1] - without[0])
    assert with_it[2] < 0.1 < 0.4 < without[2]


def test_a_small_window_widens_the_interval_little_pooled_or_not():
    past = study.Past(windows=21, sizes=(100, 300), last=(9, 30))
    alone, pooled = np.mean(replicate(study.pooled, past, replications=1, seed=2), axis=0)
    assert 1 < (alone[1] - alone[0]) / (pooled[1] - pooled[0]) < 1.35  # as if it were as large: 2 and more


def test_a_window_without_a_wrong_pair_has_the_error_of_the_others():
    rng = np.random.default_rng(7)
    y = np.repeat([1, 0], [6, 40])
    areas = [auc(Sample(y, rng.normal(size=46) + 2 * y)) for _ in range(8)] + [auc(y, y + 0.1)]
    errors = sampling_errors(areas)
    assert areas[-1].se == 0
    assert errors == pytest.approx([errors[0]] * 9)
    assert errors[0] == pytest.approx(np.mean([area.se for area in areas[:-1]]), rel=0.3)
    skewness = sampling_skewness(areas, errors)
    assert all(each < 0 for each in skewness)
    assert all(one == other for one, other in pairwise(skewness))


def test_rows_that_are_counted_twice_leave_the_error_as_it_is():
    rng = np.random.default_rng(8)
    y = np.repeat([1, 0], [40, 160])
    scores = [rng.normal(size=200) + y for _ in range(8)]
    once = [auc(y, score) for score in scores]
    twice = [auc(np.tile(y, 2), np.tile(score, 2), cluster=np.tile(np.arange(200), 2)) for score in scores]
    assert sampling_errors(twice) == pytest.approx(sampling_errors(once), rel=0.03)
