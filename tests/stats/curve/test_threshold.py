"""ROC points at thresholds: every law equals full enumeration; laws that must hold; refusals."""

from __future__ import annotations

import json
from itertools import pairwise
from math import sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import expand
from scipy import stats as reference
from stats import oracle_curves as oracle
from strategies import differing, grouped_counts, increasing_maps, paired_samples, samples

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.curve.difference import threshold_dominance
from rocmonitor.stats.curve.threshold import threshold_intervals, threshold_law
from rocmonitor.stats.proportion import clipped_intervals, proportion_ends
from rocmonitor.stats.sample import PairedSample, Sample

FIVE = ("first", "second", "both_higher", "both_lower", "tie")
METHODS = ["agresti-coull", "wald", "wilson", "clopper-pearson", "jeffreys", "exact"]

TIED = (
    np.array([1, 1, 1, 1, 1, 0, 0, 0, 0]),
    np.array([3.0, 3.0, 2.0, 1.0, 4.0, 3.0, 1.0, 1.0, 2.0]),
    np.array([2.0, 3.0, 3.0, 1.0, 1.0, 2.0, 2.0, 1.0, 3.0]),
)
CONTINUOUS = (
    np.array([1, 0, 1, 0, 0, 1, 0, 1]),
    np.array([0.61, 0.2, 0.9, 0.7, 0.1, 0.35, 0.5, 0.4]),
    np.array([0.3, 0.25, 0.8, 0.1, 0.6, 0.9, 0.55, 0.2]),
)
THRESHOLDS = {"tied": [-np.inf, 1.0, 2.0, 2.5, 3.0, 4.0, np.inf], "continuous": [0.0, 0.2, 0.45, 0.61, 2.0]}
DATA = {"tied": TIED, "continuous": CONTINUOUS}


@pytest.mark.parametrize("sizes", [(None, None), (3, 5), (1, 2)])
@pytest.mark.parametrize("data", DATA)
def test_law_equals_enumeration(data, sizes):
    y, s, _ = DATA[data]
    m_pos, m_neg = sizes[0] or int(np.sum(y == 1)), sizes[1] or int(np.sum(y == 0))
    for t in THRESHOLDS[data]:
        law = threshold_law(y, s, t, m_pos=sizes[0], m_neg=sizes[1])
        np.testing.assert_allclose(law.tp, oracle.flagged_law(s[y == 1], t, m_pos), atol=1e-12)
        np.testing.assert_allclose(law.fp, oracle.flagged_law(s[y == 0], t, m_neg), atol=1e-12)


@pytest.mark.parametrize("sizes", [(None, None), (3, 5), (5, 2)])
@pytest.mark.parametrize("data", DATA)
def test_dominance_equals_enumeration(data, sizes):
    y, s1, s2 = DATA[data]
    m_pos, m_neg = sizes[0] or int(np.sum(y == 1)), sizes[1] or int(np.sum(y == 0))
    pairs = [(t1, t2) for t1 in THRESHOLDS[data] for t2 in THRESHOLDS[data]]
    ours = threshold_dominance(y, s1, s2, pairs, m_pos=sizes[0], m_neg=sizes[1])
    for line, (t1, t2) in enumerate(pairs):
        expected = oracle.dominance(y, s1, s2, t1, t2, m_pos, m_neg)
        for name in FIVE:
            assert getattr(ours, name)[line] == pytest.approx(expected[name], abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(paired_samples(max_per_class=4).filter(differing), st.data())
def test_dominance_equals_enumeration_on_any_small_sample(drawn, data):
    y, s1, s2 = drawn
    t1, t2 = data.draw(st.sampled_from(s1.tolist())), data.draw(st.sampled_from(s2.tolist()))
    ours = threshold_dominance(y, s1, s2, [(t1, t2)])
    expected = oracle.dominance(y, s1, s2, t1, t2, int(np.sum(y == 1)), int(np.sum(y == 0)))
    assert {name: getattr(ours, name)[0] for name in FIVE} == pytest.approx(expected, abs=1e-12)


def test_dominance_agrees_with_resampling():
    rng = np.random.default_rng(20090829)
    n_pos, n_neg, draws = 300, 200, 40_000
    y = np.repeat([1, 0], [n_pos, n_neg])
    common = rng.normal(size=n_pos + n_neg)
    s1, s2 = (common + rng.normal(size=n_pos + n_neg) + y for _ in range(2))
    ours = threshold_dominance(y, s1, s2, [(0.5, 0.5), (0.5, 0.6)])
    for line, (t1, t2) in enumerate(ours.pairs):
        change = (s1 >= t1).astype(int) - (s2 >= t2).astype(int)
        dtp = rng.choice(change[:n_pos], (draws, n_pos)).sum(axis=1)
        dfp = rng.choice(change[n_pos:], (draws, n_neg)).sum(axis=1)
        seen = {
            "first": (dtp >= 0) & (dfp <= 0) & ((dtp != 0) | (dfp != 0)),
            "second": (dtp <= 0) & (dfp >= 0) & ((dtp != 0) | (dfp != 0)),
            "both_higher": (dtp > 0) & (dfp > 0),
            "both_lower": (dtp < 0) & (dfp < 0),
            "tie": (dtp == 0) & (dfp == 0),
        }
        for name, where in seen.items():
            p = getattr(ours, name)[line]
            # Bernstein's bound at 1e-9, which also holds for rare outcomes.
            error = sqrt(2 * 21 * p * (1 - p) / draws) + 2 * 21 / (3 * draws)
            assert where.mean() == pytest.approx(p, abs=error)


@pytest.mark.parametrize("n", [1_000, 100_000])
@pytest.mark.parametrize(
    "shares", [(0.02, 0.021), (0.25, 0.25), (0.3, 0.001), (0.0, 0.01), (0.7, 0.3), (1.0, 0)]
)
def test_large_trinomial_differences_sum_to_one_and_match_a_direct_sum(n, shares):
    a, b = (int(share * n) for share in shares)
    # Positives: a rows only model 1 flags, b only model 2; one negative that neither flags.
    pair = PairedSample.from_counts([1, 0, 0, -1], [0, 1, 0, -1], [a, b, n - a - b, 0], [0, 0, 0, 1])
    ours = threshold_dominance(pair, [(0.5, 0.5)])
    less, equal, more = _direct_signs(a, b, n)
    assert ours.first[0] == pytest.approx(more, abs=2e-12)
    assert ours.second[0] == pytest.approx(less, abs=2e-12)
    assert ours.tie[0] == pytest.approx(equal, abs=2e-12)
    assert sum(getattr(ours, name)[0] for name in FIVE) == pytest.approx(1, abs=1e-12)


def _direct_signs(a, b, n):
    """Sum over the count of model 1 with scipy's binomials, as in eq. 10 and 11 of the paper."""
    from scipy import stats

    i = np.arange(n + 1)
    only_1 = stats.binom.pmf(i, n, a / n)
    v = b / (n - a) if a < n else 0.0
    less, equal = only_1 @ stats.binom.sf(i, n - i, v), only_1 @ stats.binom.pmf(i, n - i, v)
    return less, equal, 1 - less - equal


@settings(deadline=None, max_examples=60)
@given(
    paired_samples().filter(differing),
    increasing_maps,
    st.lists(st.integers(-40, 40), min_size=2, max_size=6),
)
def test_laws_of_dominance(drawn, increasing, cuts):
    y, s1, s2 = drawn
    pairs = np.array([(a / 8, b / 8) for a, b in pairwise(cuts)])
    ours = threshold_dominance(y, s1, s2, pairs)
    np.testing.assert_allclose(sum(getattr(ours, name) for name in FIVE), 1, atol=1e-12)
    assert all(np.all(getattr(ours, name) >= 0) for name in FIVE)

    swapped = threshold_dominance(y, s2, s1, pairs[:, ::-1])
    mirror = ("second", "first", "both_lower", "both_higher", "tie")
    for name, other in zip(FIVE, mirror, strict=True):
        np.testing.assert_allclose(getattr(swapped, other), getattr(ours, name), atol=1e-12)

    same = threshold_dominance(y, s1, s1, pairs[:, [0, 0]])
    assert same.tie.tolist() == [1] * len(pairs)

    mapped = threshold_dominance(
        y, increasing(s1), s2, np.column_stack([increasing(pairs[:, 0]), pairs[:, 1]])
    )
    for name in FIVE:
        np.testing.assert_array_equal(getattr(mapped, name), getattr(ours, name))

    order = np.random.default_rng(0).permutation(len(y))
    shuffled = threshold_dominance(y[order], s1[order], s2[order], pairs)
    assert shuffled.to_dict() == ours.to_dict()


def test_dominance_of_grouped_counts_equals_rows():
    rng = np.random.default_rng(5)
    y, s1, s2 = rng.integers(0, 2, 400), rng.integers(0, 6, 400) / 8, rng.integers(0, 5, 400) / 8
    cells, index = np.unique(np.column_stack([s1, s2]), axis=0, return_inverse=True)
    n_pos, n_neg = (np.bincount(index.ravel(), weights=y == label).astype(int) for label in (1, 0))
    grouped = PairedSample.from_counts(cells[:, 0], cells[:, 1], n_pos, n_neg)
    pairs = [(0.25, 0.5), (0.125, 0.125), (9, -9)]
    assert threshold_dominance(grouped, pairs).to_dict() == threshold_dominance(y, s1, s2, pairs).to_dict()


@settings(deadline=None, max_examples=60)
@given(grouped_counts(), st.sampled_from(METHODS), st.booleans())
def test_rates_and_intervals_by_definition(counts, method, joint):
    score, n_pos, n_neg = counts
    y, s = expand(*counts)
    assume(len(np.unique(s)) > 1)
    thresholds = np.concatenate([[np.inf, -np.inf], s, s + 0.01])
    ours = threshold_intervals(y, s, thresholds, method=method, confidence_level=0.9, joint=joint)
    tp = np.array([np.sum((s >= t) & (y == 1)) for t in thresholds])
    fp = np.array([np.sum((s >= t) & (y == 0)) for t in thresholds])
    np.testing.assert_allclose(ours.tpr, tp / np.sum(y == 1), rtol=1e-15)
    np.testing.assert_allclose(ours.fpr, fp / np.sum(y == 0), rtol=1e-15)
    level = sqrt(0.9) if joint else 0.9
    for count, low, high, label in ((tp, "tpr_low", "tpr_high", 1), (fp, "fpr_low", "fpr_high", 0)):
        rows = int(np.sum(y == label))
        single = clipped_intervals(*proportion_ends(count, rows, rows, method, (1 - level) / 2))
        np.testing.assert_array_equal(getattr(ours, low), single.low)
        np.testing.assert_array_equal(getattr(ours, high), single.high)
    if method not in ("wald", "exact"):
        assert np.all(ours.tpr_low < ours.tpr_high)
        assert np.all(ours.fpr_low < ours.fpr_high)

    grouped = threshold_intervals(
        Sample.from_counts(score, n_pos, n_neg), thresholds, method=method, confidence_level=0.9, joint=joint
    )
    assert grouped.to_dict() == ours.to_dict()


@settings(deadline=None, max_examples=30)
@given(samples().filter(differing), increasing_maps)
def test_increasing_maps_and_row_order_do_not_matter(drawn, increasing):
    y, s = drawn
    ours, mapped = (
        threshold_intervals(y, s, s),
        threshold_intervals(y[::-1], increasing(s)[::-1], increasing(s)),
    )
    for name in ("tpr", "tpr_low", "tpr_high", "fpr", "fpr_low", "fpr_high"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(mapped, name))


def test_resample_sizes_reach_each_class():
    y, s, _ = TIED
    ours = threshold_intervals(y, s, [2.0], m_pos=50, m_neg=7, joint=False)
    assert ours.tpr_low[0] == proportion_ends(np.array([4]), 5, 50, "agresti-coull", 0.025)[0][0]
    assert ours.fpr_high[0] == proportion_ends(np.array([2]), 4, 7, "agresti-coull", 0.025)[1][0]


def test_caveats_say_what_happened_and_how_often():
    y, s, _ = TIED
    clipped = threshold_intervals(y, s, [9.0, 2.0])
    said = Caveat("clipped", rate="FPR", count=1, total=2, within="[0, 1]", at=[9.0])
    assert said in clipped.caveats
    flat = threshold_intervals(y, s, [9.0, 2.0], method="wald", confidence_level=0.5)
    assert Caveat("zero-length", rate="TPR", count=1, total=2, at=[9.0]) in flat.caveats
    moved = threshold_intervals(y, s, [9.0], confidence_level=0.5, joint=False)
    assert Caveat("off-estimate", rate="TPR", count=1, total=1, at=[9.0]) in moved.caveats
    y, s = np.repeat([0, 1], 500), np.tile(np.arange(500.0), 2)
    assert threshold_intervals(y, s, [250.0]).caveats == ()


def test_results_leave_as_plain_data():
    y, s1, s2 = TIED
    points = threshold_intervals(y, s1, [np.inf, 2.0])
    plain = json.loads(json.dumps(points.to_dict(), allow_nan=False))
    assert plain["threshold"] == ["inf", 2.0]
    assert plain["n_pos"] == 5
    assert plain["caveats"] == [caveat.to_dict() for caveat in points.caveats]
    assert plain["caveats"][0]["values"]["at"] == ["inf", 2.0]
    assert list(points.to_frame().columns) == [
        "threshold",
        "tpr",
        "tpr_low",
        "tpr_high",
        "fpr",
        "fpr_low",
        "fpr_high",
    ]
    assert points.to_frame()["tpr"].tolist() == points.tpr.tolist()
    assert str(points) == (
        "2 ROC points by threshold, 95 % joint regions (agresti-coull), 5 positives, 4 negatives"
    )
    both = threshold_dominance(y, s1, s2, [(1, 2), (np.inf, 3)])
    json.dumps(both.to_dict(), allow_nan=False)
    json.dumps(threshold_law(y, s1, -np.inf).to_dict(), allow_nan=False)
    assert both.pairs.tolist() == [[1, 2], [np.inf, 3]]
    assert both.to_frame().shape == (2, 7)
    with pytest.raises(ValueError, match="read-only"):
        points.tpr[0] = 0.0


def test_input_arrays_are_left_alone():
    y, s1, s2 = TIED
    thresholds, pairs = np.array([1.0, 2.0]), np.array([[1.0, 2.0]])
    threshold_intervals(y, s1, thresholds)
    threshold_dominance(y, s1, s2, pairs)
    thresholds[0] = pairs[0, 0] = 5.0  # still writable


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ([], "at least one number; its shape is \\(0,\\)"),
        ([0.1, np.nan, np.nan], "numbers: 2 of 3"),
        ([[0.1, 0.2]], "shape is \\(1, 2\\)"),
        (["high"], "thresholds must be numbers"),
        (None, "NaN|numbers"),
    ],
)
def test_refuses_thresholds(thresholds, message):
    y, s, _ = TIED
    with pytest.raises(InputError, match=message):
        threshold_intervals(y, s, thresholds)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], "at least one \\(t1, t2\\) pair"),
        ([0.1, 0.2], "shape is \\(2,\\)"),
        ([(0.1, 0.2, 0.3)], "shape is \\(1, 3\\)"),
        ([(0.1, 0.2), (0.3,)], "as many of one as of the other"),
        ([(0.1, np.nan)], "numbers: 1 of 2"),
    ],
)
def test_refuses_pairs(pairs, message):
    with pytest.raises(InputError, match=message):
        threshold_dominance(*TIED, pairs)


@pytest.mark.parametrize("y", [[0, 0], [1, 1], []])
def test_one_class_or_none_is_degenerate(y):
    s = [0.5, 0.2][: len(y)]
    for call in (
        lambda: threshold_intervals(y, s, [0.1]),
        lambda: threshold_law(y, s, 0.1),
        lambda: threshold_dominance(y, s, s, [(0.1, 0.1)]),
    ):
        with pytest.raises(DegenerateDataError, match="at least 1 of each class"):
            call()


def test_law_takes_one_threshold():
    y, s, _ = TIED
    with pytest.raises(InputError, match="threshold must be one number; 2"):
        threshold_law(y, s, [0.1, 0.2])


def test_clopper_pearson_says_where_it_is_conservative():
    """10,000 negatives: where 5 or none are flagged, exact coverage is more than a point above the level."""
    score = np.concatenate([np.arange(10_000), np.linspace(-0.5, 9_999.5, 10_000)])
    sample = Sample(np.repeat([0, 1], 10_000), score)
    at = [5_000, 9_995, 20_000]
    found = threshold_intervals(sample, at, method="clopper-pearson", joint=False)
    codes = [caveat for caveat in found.caveats if caveat.code == "conservative"]
    said = {caveat.values["rate"]: caveat.values["at"] for caveat in codes}
    assert said["FPR"] == [9_995, 20_000]
    assert not {"conservative"} & {c.code for c in threshold_intervals(sample, at).caveats}
    for rate, conservative in ((0.5, False), (5e-4, True)):
        law = reference.binom.pmf(np.arange(10_001), 10_000, rate)
        low, high = proportion_ends(np.arange(10_001), 10_000, 10_000, "clopper-pearson", 0.025)
        coverage = law @ ((low <= rate) & (rate <= high))
        assert (coverage > 0.96) == conservative
        assert coverage >= 0.95
