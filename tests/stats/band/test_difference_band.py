"""The band of a difference: resampled curves equal slow ones, laws, coverage, regions, refusals."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from caveats import codes
from hypothesis import given, settings
from scipy.special import ndtr, ndtri
from strategies import increasing_maps, paired_samples

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.band.difference import (
    SMOOTHING,
    RocDifferenceBand,
    drawn_differences,
    pairing,
    roc_difference_band,
)
from rocmonitor.stats.band.drawing import empirical_curve
from rocmonitor.stats.sample import PairedSample, Sample

METHODS = ("studentized-sup", "naive-sup")
COLUMNS = ("fpr", "difference", "low", "high")


def _data(n_pos=40, n_neg=60, seed=3, gain=1.0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([1, 0], [n_pos, n_neg]))
    shared = rng.normal(size=n_pos + n_neg)
    first, second = (shared + rng.normal(size=n_pos + n_neg) + shift * y for shift in (1 + gain, 1))
    return y, first, second


def _tpr(y, s, r):
    """TPR at FPR r / n_neg by sorting: steps, and straight lines across the rows of one score."""
    scores = np.sort(np.unique(s))[::-1]
    fp = [0, *(np.sum((s >= z) & (y == 0)) for z in scores)]
    tp = [0, *(np.sum((s >= z) & (y == 1)) for z in scores)]
    k = next(i for i, count in enumerate(fp) if count >= r)
    return (tp[k - 1] + (tp[k] - tp[k - 1]) * (r - fp[k - 1]) / (fp[k] - fp[k - 1])) / np.sum(y == 1)


def _difference(y, s1, s2, ranks):
    return np.array([_tpr(y, s1, r) - _tpr(y, s2, r) for r in ranks])


@settings(max_examples=30)
@given(paired_samples(min_per_class=2, max_per_class=8))
def test_the_samples_difference_is_that_of_the_curves(drawn):
    y, s1, s2 = drawn
    n_neg = int(np.sum(y == 0))
    ranks = np.arange(1, n_neg)
    observed = pairing(PairedSample(y, s1, s2)).observed(ranks)
    np.testing.assert_allclose(observed, _difference(y, s1, s2, ranks), atol=1e-12)
    one, two = (empirical_curve(Sample(y, s)).at(ranks / n_neg) for s in (s1, s2))
    np.testing.assert_allclose(observed, one - two, atol=1e-9)


@settings(max_examples=30)
@given(paired_samples(min_per_class=2, max_per_class=6, distinct=4))
def test_a_resample_is_the_sorted_curve_of_the_rows_it_holds(drawn):
    y, s1, s2 = drawn
    rows = pairing(PairedSample(y, s1, s2))
    rng = np.random.default_rng(1)
    times, kept = [], []
    for label in (1, 0):
        cells = np.unique(np.column_stack([-s1[y == label], -s2[y == label]]), axis=0)
        if rows.sign == -1:
            cells = cells[np.lexsort((cells[:, 0], cells[:, 1]))]
        row = rng.integers(np.sum(y == label), size=np.sum(y == label))
        seen = np.column_stack([-s1[y == label], -s2[y == label]])[row]
        times.append(np.array([[np.sum((seen == cell).all(axis=1)) for cell in cells]]))
        kept.append(-seen)
    ranks = np.arange(1, len(kept[1]))
    y_drawn = np.repeat([1, 0], [len(kept[0]), len(kept[1])])
    both = np.concatenate(kept)
    slow = _difference(y_drawn, both[:, 0], both[:, 1], ranks)
    np.testing.assert_allclose(rows.differences(*times, ranks)[0], slow, atol=1e-12)


@pytest.mark.parametrize("most", [255, 256, 900])
def test_cells_of_many_rows_are_counted(most):
    """255 rows of a cell are the most that a byte holds."""
    y, s1, s2 = np.array([1, 1, 0, 0, 1]), np.array([3.0, 1, 2, 0, 0]), np.array([1.0, 3, 2, 0, 1])
    rows = np.repeat(np.arange(5), [most, 100, 100, most, 2])
    ranks = np.array([1, 100, 130, most + 99])
    observed = pairing(PairedSample(y[rows], s1[rows], s2[rows])).observed(ranks)
    np.testing.assert_allclose(observed, _difference(y[rows], s1[rows], s2[rows], ranks), atol=1e-12)


def _agree(fast, slow, error):
    """Means, products and the law of the largest of two columns, within so many deviations."""
    spread = slow.std(axis=0).max()
    for power in (1, 2):
        gap = (fast**power).mean(axis=0) - (slow**power).mean(axis=0)
        assert np.abs(gap).max() < error * spread
    assert abs(np.mean(fast[:, 0] * fast[:, 1]) - np.mean(slow[:, 0] * slow[:, 1])) < error * spread
    at = np.unique(slow.max(axis=1).round(6)) + 1e-6
    law_fast, law_slow = (np.mean(drawn.max(axis=1)[:, None] <= at, axis=0) for drawn in (fast, slow))
    assert np.abs(law_fast - law_slow).max() < error


def test_resamples_have_the_law_of_all_the_resamples():
    """Every resample of tiny classes by itself, with ties, and twenty thousand drawn."""
    y = np.array([1, 1, 1, 0, 0, 0])
    s1, s2 = np.array([3.0, 2, 1, 2, 1, 0]), np.array([1.0, 3, 2, 1, 2, 0])
    ranks = np.array([1, 2])
    rows = ([*pos, *neg] for pos in product(range(3), repeat=3) for neg in product(range(3, 6), repeat=3))
    slow = np.array([_difference(y[row], s1[row], s2[row], ranks) for row in rows])
    fast = drawn_differences(pairing(PairedSample(y, s1, s2)), ranks, 20_000, np.random.default_rng(2))
    _agree(fast, slow, 5 / 20_000**0.5)


def test_counts_of_cells_are_drawn_from_the_same_law_as_rows():
    y = np.repeat([1, 1, 1, 0, 0, 0], 20)
    s1, s2 = np.repeat([3.0, 2, 1, 2, 1, 0], 20), np.repeat([1.0, 3, 2, 1, 2, 0], 20)
    ranks = np.array([20, 30])
    rows = pairing(PairedSample(y, s1, s2))
    assert len(rows.pos.size) == 3  # far fewer than the rows
    fast = drawn_differences(rows, ranks, 20_000, np.random.default_rng(2))
    rng = np.random.default_rng(5)
    drawn = (np.concatenate([rng.integers(60, size=60), 60 + rng.integers(60, size=60)]) for _ in range(400))
    slow = np.array([_difference(y[row], s1[row], s2[row], ranks) for row in drawn])
    _agree(fast, slow, 4 / 400**0.5)


@pytest.mark.parametrize("method", METHODS)
def test_ends_lie_the_quantile_of_the_largest_fluctuations_away(method):
    y, s1, s2 = _data()
    band = roc_difference_band(y, s1, s2, confidence_level=0.9, n_resamples=99, rng=7, method=method)
    ranks = np.rint(band.fpr * 60).astype(int)
    assert (ranks.min(), ranks.max()) == (5, 55)
    drawn = drawn_differences(pairing(PairedSample(y, s1, s2)), ranks, 99, np.random.default_rng(7))
    np.testing.assert_allclose(band.difference, _difference(y, s1, s2, ranks), atol=1e-12)
    sd = np.ones(len(ranks))
    if method == "studentized-sup":
        sd = np.array(
            [np.mean((column - d) ** 2) for column, d in zip(drawn.T, band.difference, strict=True)]
        )
        sd = np.sqrt(sd + SMOOTHING / 42**2)
    largest = sorted(max(abs(line - band.difference) / sd) for line in drawn)
    assert band.radius == pytest.approx(largest[89], rel=1e-12)  # 10 of the 100 gaps lie above
    np.testing.assert_allclose(band.low, np.maximum(band.difference - largest[89] * sd, -1), atol=1e-12)
    np.testing.assert_allclose(band.high, np.minimum(band.difference + largest[89] * sd, 1), atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=20)
@given(paired_samples(min_per_class=2, max_per_class=10), increasing_maps)
def test_laws_on_any_sample(method, drawn, increasing):
    y, s1, s2 = drawn
    options = {"method": method, "n_resamples": 39, "rng": 5, "confidence_level": 0.9}
    if min(len(set(s1)), len(set(s2))) == 1:
        with pytest.raises(DegenerateDataError, match=r"model: all .* scores are"):
            roc_difference_band(y, s1, s2, **options)
        return
    band = roc_difference_band(y, s1, s2, **options)
    assert (np.diff(band.fpr) > 0).all()
    assert (band.low < band.high).all()
    assert ((band.low >= -1) & (band.low <= band.difference)).all()
    assert ((band.difference <= band.high) & (band.high <= 1)).all()
    json.dumps(band.to_dict(), allow_nan=False)
    swapped = roc_difference_band(y, s2, s1, **options)
    np.testing.assert_array_equal(swapped.difference, -band.difference)
    np.testing.assert_array_equal(swapped.low, -band.high)
    np.testing.assert_array_equal(swapped.high, -band.low)
    order = np.random.default_rng(0).permutation(len(y))
    cells, at = np.unique(np.column_stack([s1, s2]), axis=0, return_inverse=True)
    counts = (np.bincount(at.ravel(), weights=w, minlength=len(cells)).astype(int) for w in (y, 1 - y))
    for same in (
        roc_difference_band(y, increasing(s1), s2, **options),
        roc_difference_band(y[order], s1[order], s2[order], **options),
        roc_difference_band(PairedSample.from_counts(*cells.T, *counts), **options),
    ):
        for column in COLUMNS:
            np.testing.assert_array_equal(getattr(same, column), getattr(band, column))


@pytest.mark.parametrize("method", METHODS)
def test_a_model_against_itself_is_0_and_its_band_is_not(method):
    y, s1, _ = _data()
    band = roc_difference_band(y, s1, np.exp(s1), rng=1, method=method)
    assert (band.difference == 0).all()
    half = 1.959963984540054 * 2 / 42  # one rate's normal interval with four positives added
    np.testing.assert_allclose(band.high, half, rtol=1e-12)
    np.testing.assert_array_equal(band.low, -band.high)
    assert band.regions() == ()
    assert "no rate at which one model is clearly better" in str(band)
    assert band.caveats[0].code == "resamples-never-differ"
    assert band.caveats[0].values["unchanged"] == band.caveats[0].values["rates"] == len(band.fpr)


def test_coverage_of_the_true_difference_at_all_rates():
    """Normal scores, correlation 1/2, AUC 0.70 and 0.75: 200 samples of 60 of each class.

    The intervals of single rates, and a band of rows that are not kept in pairs, must be told from it.
    """
    rng = np.random.default_rng(11)
    shift = 2**0.5 * ndtri([0.70, 0.75])
    y = np.repeat([1, 0], 60)
    covered, single, height, runs = 0, 0, 0.0, 200
    for _ in range(runs):
        shared = rng.normal(size=120)
        s1, s2 = ((shared + rng.normal(size=120)) / 2**0.5 + m * y for m in shift)
        band = roc_difference_band(y, s1, s2, n_resamples=99, rng=rng)
        t = ndtri(band.fpr)
        truth = ndtr(shift[0] + t) - ndtr(shift[1] + t)
        covered += bool(((band.low <= truth) & (truth <= band.high)).all())
        half = (band.high - band.low) / 2 * 1.96 / band.radius
        single += bool((np.abs(band.difference - truth) <= half).all())
        height += float((band.high - band.low).mean()) / runs
    assert covered >= 0.94 * runs
    assert single <= 0.85 * runs
    assert height < 0.6  # 0.56; of rows that are not kept in pairs: 0.64


def _band(low, high, difference=None):
    low, high = np.array(low), np.array(high)
    return RocDifferenceBand(
        fpr=np.arange(1, len(low) + 1) / 10,
        difference=(low + high) / 2 if difference is None else np.array(difference),
        low=low,
        high=high,
        radius=1.0,
        method="studentized-sup",
        confidence_level=0.95,
        n_resamples=999,
        n_pos=50,
        n_neg=50,
        caveats=(),
    )


def test_regions_are_runs_of_rates_whose_band_leaves_0_out():
    band = _band(
        [0.1, 0.2, -0.1, -0.6, -0.4, 0.1, 0.0], [0.3, 0.6, 0.2, -0.1, -0.2, 0.3, 0.4]
    )  # an end of 0 leaves nothing out
    first, second, third = band.regions()
    assert (first.low_fpr, first.high_fpr, first.better) == (0.1, 0.2, "first")
    assert (first.largest_difference, first.at_fpr) == (pytest.approx(0.4), 0.2)
    assert (second.low_fpr, second.high_fpr, second.better) == (0.4, 0.5, "second")
    assert (second.largest_difference, second.at_fpr) == (pytest.approx(-0.35), 0.4)
    assert (third.low_fpr, third.high_fpr, third.better) == (0.6, 0.6, "first")
    assert str(second) == "second model better from FPR 0.4 to 0.5, by up to 0.3500 at 0.4"
    assert "for all 7 rates (studentized-sup), 50 positives, 50 negatives: first model better" in str(band)
    assert second.to_dict()["better"] == "second"


def test_neighbouring_regions_of_either_model_are_two():
    one, other = _band([0.1, -0.3], [0.3, -0.1]).regions()
    assert (one.better, other.better) == ("first", "second")
    assert (one.high_fpr, other.low_fpr) == (0.1, 0.2)
    assert _band([-0.1, -0.1], [0.1, 0.2]).regions() == ()
    assert [r.high_fpr for r in _band([0.1, 0.2], [0.3, 0.4]).regions()] == [0.2]


def test_a_better_model_is_found_where_it_is_better():
    y, s1, s2 = _data(2_000, 2_000, gain=1.5)
    band = roc_difference_band(y, s1, s2, n_resamples=199, rng=2)
    (region,) = band.regions()
    assert region.better == "first"
    assert region.low_fpr < 0.02
    assert region.high_fpr > 0.5
    assert region.largest_difference == band.difference.max()


def test_rates_asked_for_are_sorted_and_each_used_once():
    y, s1, s2 = _data()
    band = roc_difference_band(y, s1, s2, fpr=[0.5, 0.1, 0.101, 0.9], n_resamples=99, rng=1)
    np.testing.assert_allclose(band.fpr, [0.1, 0.5, 0.9])
    assert band.caveats[0].code == "moved-rate"
    few = roc_difference_band([0, 0, 1, 0, 1], [1, 2, 3, 4, 5], [2, 1, 5, 3, 4], n_resamples=99, rng=1)
    np.testing.assert_allclose(few.fpr, [1 / 3, 2 / 3])
    assert Caveat("few-rows-for-band", n_pos=2, n_neg=3, enough=20) in few.caveats
    fine = roc_difference_band(*_data(100, 20_000), n_resamples=19, rng=1)
    np.testing.assert_allclose(fine.fpr[[0, 1, 2, 3, -1]], [0.001, 0.002, 0.005, 0.01, 0.999])
    assert len(fine.fpr) == 105


def test_progress_is_told_ten_times_and_changes_nothing():
    y, s1, s2 = _data(300, 3_000)
    told = []
    loud = roc_difference_band(y, s1, s2, rng=1, progress=told.append)
    assert 9 <= len(told) <= 10
    assert told[-1] == "999 of 999 resamples of the difference of the ROC curves"
    assert loud.to_dict() == roc_difference_band(y, s1, s2, rng=1).to_dict()


def test_ties_and_resamples_are_told():
    y, s1, s2 = _data()
    assert roc_difference_band(y, s1, s2, n_resamples=99, rng=1).caveats == ()
    told = roc_difference_band(y, np.round(s1), s2, n_resamples=100, rng=1)
    assert told.n_resamples == 119
    assert told.caveats[0] == Caveat("resamples-raised", asked=100, used=119)
    assert codes(told)[1:] == ["ties-between-classes"]
    assert told.caveats[1].values["model"] == "first"


def test_refusals():
    y, s1, s2 = _data(5, 6)
    with pytest.raises(InputError, match="method 'studentized-sup' draws resamples and needs rng"):
        roc_difference_band(y, s1, s2)
    with pytest.raises(InputError, match="n_resamples must be at least 99"):
        roc_difference_band(y, s1, s2, n_resamples=98, confidence_level=0.99, rng=1)
    with pytest.raises(InputError, match="method must be one of studentized-sup, naive-sup"):
        roc_difference_band(y, s1, s2, method="smoothed-db", rng=1)
    with pytest.raises(InputError, match="confidence_level"):
        roc_difference_band(y, s1, s2, confidence_level=1, rng=1)
    for wrong in ("x", True, 0, np.nan):
        with pytest.raises(InputError, match="n_resamples must be a whole number of at least 1"):
            roc_difference_band(y, s1, s2, n_resamples=wrong, rng=1)
    for wrong in (3, "print"):
        with pytest.raises(InputError, match="progress must be a function that takes a text, or None; it is"):
            roc_difference_band(y, s1, s2, n_resamples=99, rng=1, progress=wrong)
    for wrong in ([0.5, 1.0], [0.0], [np.nan]):
        with pytest.raises(InputError, match="fpr must lie within"):
            roc_difference_band(y, s1, s2, fpr=wrong, rng=1)
    with pytest.raises(DegenerateDataError, match="0 negatives"):
        roc_difference_band([1, 1], [1, 2], [2, 1], rng=1)
    with pytest.raises(DegenerateDataError, match="at least 2 negatives"):
        roc_difference_band([1, 0], [1, 2], [1, 2], rng=1)
    with pytest.raises(DegenerateDataError, match="second model: all 11 scores are"):
        roc_difference_band(y, s1, np.zeros(11), rng=1)
