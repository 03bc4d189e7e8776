import json
import math
from dataclasses import replace
from itertools import pairwise

import golden
import numpy as np
import oracle
import pytest
import scipy
from caveats import codes
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from strategies import increasing_maps, samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.auc import auc
from rocmonitor.stats.area.partial import partial_auc
from rocmonitor.stats.sample import Sample

ranges = st.lists(st.integers(0, 40), min_size=2, max_size=2, unique=True).map(
    lambda ends: (min(ends) / 40, max(ends) / 40)
)


def curve(y, s, weight):
    """Vertices (fpr, tpr), a threshold at a time, rows counted by `weight`."""
    points = [(0.0, 0.0)]
    for t in sorted(set(s), reverse=True):
        flagged = s >= t
        points.append(tuple(float(weight[flagged & (y == c)].sum() / weight[y == c].sum()) for c in (0, 1)))
    return points


def area_by_segments(y, s, low, high, weight=None):
    """Trapezoids of the pieces of each segment that lie within [low, high]."""
    points = curve(y, s, np.ones(len(y)) if weight is None else weight)
    total = 0.0
    for (u0, t0), (u1, t1) in pairwise(points):
        a, b = max(u0, low), min(u1, high)
        if b > a:
            heights = [t0 + (t1 - t0) * (u - u0) / (u1 - u0) for u in (a, b)]
            total += (b - a) * sum(heights) / 2
    return total


def flipped(y, s):
    return 1 - y, -s


# Definitions


@given(samples(min_per_class=2), ranges)
def test_area_equals_the_segments(data, ends):
    y, s = data
    assert partial_auc(y, s, fpr=ends).auc == pytest.approx(area_by_segments(y, s, *ends), abs=1e-12)
    over_tpr = partial_auc(y, s, tpr=ends)
    expected = area_by_segments(*flipped(y, s), 1 - ends[1], 1 - ends[0])
    assert over_tpr.auc == pytest.approx(expected, abs=1e-12)


@given(samples(min_per_class=2), ranges)
def test_error_is_that_of_the_slopes_of_the_area(data, ends):
    """Infinitesimal jackknife: the area is differentiated by the weight of each row.

    Not where an end of the range lies on a vertex: the slopes to its two sides differ there.
    """
    y, s = data
    if any(abs(u - end) < 1e-9 for u, _ in curve(y, s, np.ones(len(y))) for end in ends if 0 < end < 1):
        return
    expected, step = 0.0, 1e-5
    for label in (0, 1):
        rows = np.flatnonzero(y == label)
        slopes = []
        for row in rows:
            sides = []
            for sign in (1, -1):
                weight = np.ones(len(y))
                weight[row] += sign * step
                changed = area_by_segments(y, s, *ends, weight)
                sides.append(sign * (changed - area_by_segments(y, s, *ends)) / step)
            slopes.append(sum(sides) / 2 * len(rows))
        expected += np.var(slopes, ddof=1) / len(rows)
    assert partial_auc(y, s, fpr=ends).se ** 2 == pytest.approx(expected, abs=1e-6)


@given(samples(min_per_class=2))
def test_the_whole_range_is_delongs(data):
    y, s = data
    whole = auc(y, s)
    for options in ({"max_fpr": 1.0}, {"min_tpr": 0.0}, {"fpr": (0, 1)}, {"tpr": (0, 1)}):
        for corrected in (False, True):
            result = partial_auc(y, s, **options, corrected=corrected)
            assert result.auc == pytest.approx(whole.auc, abs=1e-12)
            assert result.se == pytest.approx(whole.se, abs=1e-12)
            assert (result.se == 0) == (whole.se == 0)


@pytest.mark.parametrize(
    ("n_pos", "n_neg", "digits", "ends"),
    [(60, 300, 9, (0, 0.1)), (200, 110, 0, (0, 0.25)), (150, 155, 1, (0.2, 0.5)), (100, 1000, 9, (0, 0.02))],
)
def test_error_against_drawn_resamples(n_pos, n_neg, digits, ends):
    """To first order: within a tenth of the spread of 2,000 stratified resamples (Monte Carlo error 1.6 %).

    With TPR set to 0 outside of the range, not truncated, it would be 1.07 to 3.2 times that.
    """
    rng = np.random.default_rng(21)
    y = np.repeat([1, 0], [n_pos, n_neg])
    sample = Sample(y, (rng.normal(size=y.size) + 1.3 * y).round(digits))
    pos = rng.multinomial(n_pos, sample.pos / n_pos, 2000)
    neg = rng.multinomial(n_neg, sample.neg / n_neg, 2000)
    drawn = [
        partial_auc(Sample.from_counts(sample.score, p, n), fpr=ends).auc
        for p, n in zip(pos, neg, strict=True)
    ]
    assert partial_auc(sample, fpr=ends).se == pytest.approx(np.std(drawn), rel=0.1)


# Outside numbers


@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize(("marker", "rate"), golden.ASAH_PARTIAL)
def test_asah(marker, rate, corrected):
    data = golden.read(golden.ASAH)
    values = (golden.ASAH_PARTIAL_CORRECTED if corrected else golden.ASAH_PARTIAL)[marker, rate]
    for (high, low), value in zip(golden.ASAH_PARTIAL_RANGES[rate], values, strict=True):
        ends = {"fpr": (1 - high, 1 - low)} if rate == "sp" else {"tpr": (low, high)}
        result = partial_auc(data.y, data[marker], **ends, corrected=corrected)
        digits = 0.51e-6 if value == 0.493653 else 1e-12  # golden.md prints six digits of that one
        assert result.auc == pytest.approx(value, abs=digits)
        assert ("below-chance" in codes(result)) == (corrected and value < 0.5)


@pytest.mark.parametrize(("marker", "rate"), golden.ASAH_PARTIAL_99_90)
def test_asah_as_printed(marker, rate):
    data = golden.read(golden.ASAH)
    ends = {"fpr": (0.01, 0.1)} if rate == "sp" else {"tpr": (0.9, 0.99)}
    value = golden.ASAH_PARTIAL_99_90[marker, rate]
    assert partial_auc(data.y, data[marker], **ends).auc == pytest.approx(value, abs=0.51e-5)


@pytest.mark.parametrize("max_fpr", [0.05, 0.3, 1.0])
def test_scikit_learn(max_fpr):
    data = golden.read(golden.ASAH)
    result = partial_auc(data.y, data.s100b, max_fpr=max_fpr, corrected=True)
    assert result.auc == pytest.approx(roc_auc_score(data.y, data.s100b, max_fpr=max_fpr), abs=1e-12)


# Laws


@given(samples(min_per_class=2), st.integers(1, 39))
def test_neighbouring_ranges_add_up(data, cut):
    y, s = data
    cut /= 40
    both = partial_auc(y, s, max_fpr=cut).auc + partial_auc(y, s, fpr=(cut, 1)).auc
    assert both == pytest.approx(oracle.auc(y, s), abs=1e-12)


@given(samples(min_per_class=2), ranges, increasing_maps, st.randoms(use_true_random=False), st.booleans())
def test_laws(data, ends, increasing, order, corrected):
    y, s = data
    result = partial_auc(y, s, fpr=ends, corrected=corrected)
    rows = list(range(len(y)))
    order.shuffle(rows)
    shuffled = partial_auc(y[rows], increasing(s[rows]), fpr=ends, corrected=corrected)
    assert shuffled.to_dict() == result.to_dict()
    mirrored = partial_auc(*flipped(y, s), tpr=(1 - ends[1], 1 - ends[0]), corrected=corrected)
    assert (mirrored.auc, mirrored.se) == pytest.approx((result.auc, result.se), rel=1e-9, abs=1e-12)
    grouped = Sample.from_counts(s, y, 1 - y)
    assert partial_auc(grouped, fpr=ends, corrected=corrected).to_dict() == result.to_dict()
    for transform in ("none", "logit"):
        low, high = result.ci(0.9, transform)
        assert result.least <= low <= result.auc + 1e-12
        assert result.auc - 1e-12 <= high <= result.most
        assert low < high


def test_cells_are_never_expanded():
    pos, neg = np.array([1, 2, 3, 9]), np.array([9, 5, 4, 1])
    small = partial_auc(Sample.from_counts([0, 1, 2, 3], pos, neg), max_fpr=0.3)
    large = partial_auc(Sample.from_counts([0, 1, 2, 3], pos * 10**12, neg * 10**12), max_fpr=0.3)
    assert large.auc == pytest.approx(small.auc, rel=1e-12)
    assert large.se == pytest.approx(small.se / 1e6, rel=0.1)


def test_no_scatter_says_so():
    perfect = partial_auc([0, 0, 0, 1, 1], [1, 2, 3, 4, 5], max_fpr=0.3)
    assert (perfect.auc, perfect.se) == (0.3, 0.0)
    assert perfect.ci() == (0.0, 0.3)
    assert codes(perfect) == ["no-scatter-in-range"]
    blind = partial_auc([0, 0, 0, 1, 1], [1] * 5, fpr=(0.1, 0.7), corrected=True)
    assert (blind.auc, blind.se) == (pytest.approx(0.5), 0.0)
    assert blind.ci() == (blind.least, 1.0)


def test_few_rows_in_the_range_are_told():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 100)
    s = rng.normal(size=200) + y
    for options, kind in (({"max_fpr": 0.02}, "negatives"), ({"min_tpr": 0.98}, "positives")):
        [caveat] = partial_auc(y, s, **options).caveats
        assert caveat.code == "few-rows-in-range"
        assert caveat.values == {"rows": pytest.approx(2), "kind": kind}
    assert partial_auc(y, s, max_fpr=0.2).caveats == ()


# Input and output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one of max_fpr, min_tpr, fpr and tpr; given: none"),
        ({"max_fpr": 0.1, "min_tpr": 0.9}, "given: max_fpr, min_tpr"),
        ({"max_fpr": 0.0}, "max_fpr must give a range with 0 <= low < high <= 1; it is 0.0"),
        ({"max_fpr": 1.1}, "it is 1.1, for example max_fpr=0.1"),
        ({"max_fpr": math.nan}, "max_fpr must give a range"),
        ({"min_tpr": 1.0}, "it is 1.0, for example min_tpr=0.9"),
        ({"fpr": (0.2, 0.1)}, "fpr must give a range"),
        ({"tpr": (0.2,)}, "tpr must give a range"),
        ({"tpr": (-0.1, 0.3)}, "tpr must give a range"),
    ],
)
def test_wrong_ranges(options, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        partial_auc([0, 0, 1, 1], [1, 3, 2, 4], **options)


def test_wrong_data():
    with pytest.raises(DegenerateDataError, match="at least 2 of each class; there are 1 positive"):
        partial_auc([0, 0, 1], [1, 2, 3], max_fpr=0.5)
    with pytest.raises(DegenerateDataError, match="0 positives and 3 negatives"):
        partial_auc([0, 0, 0], [1, 2, 3], max_fpr=0.5)
    with pytest.raises(InputError, match="y_score must be finite"):
        partial_auc([0, 0, 1, 1], [1, 2, 3, math.inf], max_fpr=0.5)
    with pytest.raises(InputError, match="confidence_level"):
        partial_auc([0, 0, 1, 1], [1, 3, 2, 4], max_fpr=0.5).ci(1)


def test_as_plain_data():
    result = partial_auc([0, 0, 1, 1], [1, 3, 2, 4], min_tpr=0.5)
    assert json.loads(json.dumps(result.to_dict()))["over"] == "tpr"
    assert str(result).startswith("partial AUC 0.25 over tpr 0.5 to 1, 95 % interval 0.00 to 0.50 (standard")


def contaminated(rng, n_pos, n_neg, share, apart):
    """Positives that lie apart, but for a share that scores like negatives."""
    alike = rng.random(n_pos) < share
    score = np.concatenate([rng.normal(size=n_pos) + np.where(alike, 0.0, apart), rng.normal(size=n_neg)])
    return np.repeat([1, 0], [n_pos, n_neg]), score


@pytest.mark.parametrize(("share", "was", "now"), [(0.02, 0.9, 0.97), (0.0, 1.0, 0.9)])
def test_the_interval_allows_for_rows_that_the_sample_may_lack(share, was, now):
    """100 + 900 rows up to a rate of 0.1: 87 % by the standard error alone with 2 % bad rows."""
    rng, apart = np.random.default_rng(1), 5.0 if share else 1.2
    rates = np.linspace(0, 0.1, 2001)
    tpr = (1 - share) * scipy.stats.norm.sf(scipy.stats.norm.isf(rates) - apart) + share * rates
    true = float(np.mean((tpr[1:] + tpr[:-1]) / 2)) * 0.1
    held = held_before = 0
    for _ in range(150):
        found = partial_auc(*contaminated(rng, 100, 900, share, apart), max_fpr=0.1)
        alone = replace(found, losses=None)
        held += found.ci()[0] <= true <= found.ci()[1]
        held_before += alone.ci()[0] <= true <= alone.ci()[1]
        if not share:
            assert found.ci() == alone.ci()
    assert held >= now * 150
    assert held_before <= was * 150
    assert alone.rests_on is None


def test_the_rows_that_a_partial_area_rests_on_are_counted():
    """Four of 50 positives are below all negatives; the others above: four rows carry what is lacking."""
    score = np.concatenate([[-1.0] * 4, [2.0] * 46, np.zeros(200)])
    found = partial_auc(np.repeat([1, 0], [50, 200]), score, max_fpr=0.2)
    assert found.losses == pytest.approx((0.08, 0.08))
    assert found.rests_on == pytest.approx(4.0)
    over_tpr = partial_auc(np.repeat([0, 1], [50, 200]), -score, min_tpr=0.8)
    assert over_tpr.rests_on == pytest.approx(4.0)
