"""Bands: radii equal slow definitions, laws, closed forms of the rivals, refusals."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from caveats import codes
from hypothesis import given, settings
from oracle import expand
from scipy import stats as reference
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from strategies import grouped_counts, increasing_maps, samples

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.band.band import roc_band
from rocmonitor.stats.band.drawing import (
    bandwidths,
    drawn_curves,
    empirical_curve,
    normal_scores,
    smoothed_curve,
)
from rocmonitor.stats.sample import Sample

DRAWING = ("smoothed-db", "smoothed-sup", "naive-db", "naive-sup", "studentized-sup")
METHODS = (*DRAWING, "kolmogorov-smirnov", "working-hotelling")
COLUMNS = ("fpr", "tpr", "low", "high")


def _data(n_pos=30, n_neg=40, seed=8):
    rng = np.random.default_rng(seed)
    y = np.repeat([1, 0], [n_pos, n_neg])
    return y, rng.normal(size=n_pos + n_neg) + 1.2 * y


def _distance(curve, centre, t, method):
    """Of a replicate from the centre, by a loop over the rates."""
    largest = 0.0
    for y, at in zip(curve, t, strict=True):
        vertical = abs(y - float(centre.at(np.array(at))))
        horizontal = abs(float(centre.back(np.array(y))) - at)
        largest = max(largest, min(vertical, horizontal) if method.endswith("db") else vertical)
    return largest


@pytest.mark.parametrize("method", ["smoothed-db", "smoothed-sup", "naive-db", "naive-sup"])
def test_radius_is_the_quantile_of_the_distances_of_the_replicates(method):
    y, s = _data()
    sample = Sample(y, s)
    band = roc_band(y, s, method=method, n_resamples=99, confidence_level=0.9, rng=4)
    curve = empirical_curve(sample)
    law = curve if method.startswith("naive") else smoothed_curve(sample, bandwidths(sample, "normal")).curve
    ranks = np.arange(1, 40)
    drawn = drawn_curves(law, ranks, 30, 40, 99, np.random.default_rng(4))
    distances = sorted(_distance(line, law, ranks / 40, method) for line in drawn)
    assert band.radius == pytest.approx(distances[89], abs=1e-12)  # 10 of the 100 gaps lie above
    assert band.fpr_radius == (band.radius if method.endswith("db") else 0)
    t = band.fpr[1:-1]
    low, high = curve.at(t) - band.radius, curve.at(t) + band.radius
    if method.endswith("db"):
        low, high = np.minimum(low, curve.at(t - band.radius)), np.maximum(high, curve.at(t + band.radius))
    # A monotone curve between these ends is between those, too.
    low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
    np.testing.assert_array_equal(band.tpr[1:-1], curve.at(t))
    np.testing.assert_allclose(band.low[1:-1], [max(low[: i + 1]) for i in range(39)], atol=1e-12)
    np.testing.assert_allclose(band.high[1:-1], [min(high[i:]) for i in range(39)], atol=1e-12)


def _arcsine(share, n):
    """Anscombe 1948: of a count's share of n."""
    return math.asin(math.sqrt((n * share + 3 / 8) / (n + 3 / 4)))


def _share(arcsine, n):
    """The share whose arcsine that is."""
    return brentq(lambda share: _arcsine(share, n) - arcsine, 0, 1, xtol=1e-14)


@pytest.mark.parametrize(("n_pos", "n_neg", "spared"), [(20, 60, 1), (40, 130, 2)])
def test_studentized_radius_measures_each_replicate_in_deviations_of_the_others(n_pos, n_neg, spared):
    y, s = _data(n_pos, n_neg)
    sample = Sample(y, s)
    band = roc_band(sample, method="studentized-sup", n_resamples=39, confidence_level=0.9, rng=6)
    normal = normal_scores(sample)
    law = smoothed_curve(normal, bandwidths(normal, "normal"), shrunk=True).curve
    ranks = range(1, n_neg)
    drawn = drawn_curves(law, np.array(ranks), n_pos, n_neg, 39, np.random.default_rng(6))
    floor = 1 / (8 * n_pos)
    largest, ends = np.zeros(39), {}
    for r in range(spared, n_neg - spared + 1):
        centre = _arcsine(float(law.at(np.array(r / n_neg))), n_pos)
        away = [_arcsine(share, n_pos) - centre for share in drawn[:, r - 1].tolist()]
        for b in range(39):
            others = [value**2 for place, value in enumerate(away) if place != b]
            largest[b] = max(largest[b], abs(away[b]) / math.sqrt(sum(others) / 38 + floor))
        ends[r] = math.sqrt(sum(value**2 for value in away) / 39 + floor)
    assert band.radius == pytest.approx(sorted(largest)[35], rel=1e-12)  # 4 of the 40 gaps lie above
    low, high = np.zeros(n_neg - 1), np.ones(n_neg - 1)
    for r, sd in ends.items():
        at = _arcsine(float(empirical_curve(sample).at(np.array(r / n_neg))), n_pos)
        # The curve whose arcsine is so far away; a share cannot be beyond 0 or 1.
        least, greatest = at - band.radius * sd, at + band.radius * sd
        if least > _arcsine(0, n_pos):
            low[r - 1] = _share(least, n_pos)
        if greatest < _arcsine(1, n_pos):
            high[r - 1] = _share(greatest, n_pos)
    np.testing.assert_allclose(band.low[1:-1], [max(low[:r]) for r in ranks], atol=1e-12)
    np.testing.assert_allclose(band.high[1:-1], [min(high[r - 1 :]) for r in ranks], atol=1e-12)


@pytest.mark.parametrize(("n", "shift"), [((30, 90), 0.8), ((60, 60), 2.3)])
def test_studentized_band_holds_the_true_curve(n, shift):
    held = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y = np.repeat([1, 0], n)
        band = roc_band(
            y, rng.normal(size=sum(n)) + shift * y, method="studentized-sup", n_resamples=99, rng=rng
        )
        true = ndtr(shift + ndtri(band.fpr[1:-1]))
        held += bool(np.all((band.low[1:-1] <= true) & (true <= band.high[1:-1])))
    # Within 4.5 deviations of 95 % of 200.
    assert 176 <= held <= 199


def test_ends_between_rates_hold_any_monotone_curve():
    y, s = _data(30, 250)
    band = roc_band(y, s, method="studentized-sup", n_resamples=99, rng=2)
    # Near the corners, where nothing is drawn, all is left open that a monotone curve may do.
    assert (band.low[:3] == 0).all()
    assert band.high[0] == band.high[1] == band.high[2]
    assert (band.high[-2:] == 1).all()
    assert band.low[-2] == band.low[-3] < 1


def test_progress_is_told_and_changes_nothing():
    y, s = _data()
    told = []
    plain, watched = (roc_band(y, s, rng=1, n_resamples=199, progress=to) for to in (None, told.append))
    assert plain.radius == watched.radius
    assert told == ["199 of 199 resampled ROC curves"]


def test_campbell_is_a_rectangle_about_each_point():
    y, s = _data()
    band = roc_band(y, s, method="kolmogorov-smirnov", confidence_level=0.9)
    assert reference.kstwo.cdf(band.radius, 30) == pytest.approx(0.9**0.5, abs=1e-9)
    assert reference.kstwo.cdf(band.fpr_radius, 40) == pytest.approx(0.9**0.5, abs=1e-9)
    curve = empirical_curve(Sample(y, s))
    for line in range(1, 40):
        at = curve.at(band.fpr[line] + band.fpr_radius * np.array([-1, 1])) + band.radius * np.array([-1, 1])
        assert (band.low[line], band.high[line]) == pytest.approx(np.clip(at, 0, 1), abs=1e-12)


def test_working_hotelling_is_the_line_on_normal_paper_and_its_delta_method():
    y, s = _data(60, 90)
    band = roc_band(y, s, method="working-hotelling", confidence_level=0.9)
    pos, neg = s[y == 1], s[y == 0]
    sd_pos, sd_neg = pos.std(ddof=1), neg.std(ddof=1)
    x = ndtri(band.fpr[1:-1])
    # The line as a function of the four moments, differentiated by steps.
    moments = np.array([pos.mean(), sd_pos, neg.mean(), sd_neg])
    variances = np.array([sd_pos**2 / 60, sd_pos**2 / 120, sd_neg**2 / 90, sd_neg**2 / 180])

    def line(m):
        return (m[0] - m[2] + m[3] * x) / m[1]

    step = 1e-5
    slopes = [(line(moments + step * unit) - line(moments - step * unit)) / (2 * step) for unit in np.eye(4)]
    half = np.sqrt(reference.chi2.ppf(0.9, 2)) * np.sqrt(variances @ np.square(slopes))
    np.testing.assert_allclose(band.low[1:-1], np.maximum.accumulate(ndtr(line(moments) - half)), atol=1e-8)
    assert codes(band)[0] == "normal-scores-assumed"


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25)
@given(samples(min_per_class=2, max_per_class=10))
def test_laws_on_any_sample(method, drawn):
    y, s = drawn
    sample = Sample(y, s)
    bandwidth = "normal" if min(np.ptp(s[y == 1]), np.ptp(s[y == 0])) > 0 else 0.3
    if len(sample.score) == 1 or (method == "working-hotelling" and bandwidth != "normal"):
        with pytest.raises(DegenerateDataError):
            roc_band(y, s, method=method, rng=1, bandwidth=bandwidth)
        return
    narrow, wide = (
        roc_band(y, s, method=method, confidence_level=level, n_resamples=99, rng=1, bandwidth=bandwidth)
        for level in (0.8, 0.95)
    )
    for band in (narrow, wide):
        assert (band.fpr[0], band.tpr[0], band.low[0]) == (0, 0, 0)
        assert (band.fpr[-1], band.tpr[-1], band.low[-1], band.high[-1]) == (1, 1, 1, 1)
        for column in COLUMNS:
            values = getattr(band, column)
            assert len(values) == sample.n_neg + 1
            assert (np.diff(values) >= 0).all()
            assert ((values >= 0) & (values <= 1)).all()
        if method != "working-hotelling":  # which is about another curve
            assert (band.low <= band.tpr + 1e-12).all()
            assert (band.tpr <= band.high + 1e-12).all()
        json.dumps(band.to_dict(), allow_nan=False)
    assert wide.radius >= narrow.radius
    assert (wide.low <= narrow.low).all()
    assert (wide.high >= narrow.high).all()
    assert wide.area >= narrow.area


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=15)
@given(grouped_counts(min_per_class=2))
def test_counts_are_rows_in_any_order(method, counts):
    y, s = expand(*counts)
    if min(len(set(s[y == 1])), len(set(s[y == 0]))) < 2:
        return
    options = {"method": method, "n_resamples": 19, "rng": 3}
    whole = roc_band(Sample.from_counts(*counts), **options)
    rows = roc_band(y[::-1], s[::-1], **options)
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(whole, column), getattr(rows, column))


@pytest.mark.parametrize("method", ["studentized-sup", "naive-db", "naive-sup", "kolmogorov-smirnov"])
@settings(max_examples=15)
@given(samples(min_per_class=2, max_per_class=12), increasing_maps)
def test_only_the_order_of_the_scores_counts(method, drawn, increasing):
    y, s = drawn
    options = {"method": method, "n_resamples": 99, "rng": 3, "bandwidth": 0.3}
    if len(np.unique(s)) == 1 or len(np.unique(increasing(s))) < len(np.unique(s)):
        return
    plain, mapped = (roc_band(y, scores, **options) for scores in (s, increasing(s)))
    np.testing.assert_array_equal(plain.low, mapped.low)
    np.testing.assert_array_equal(plain.high, mapped.high)


def test_normal_scores_are_quantiles_of_midranks():
    found = normal_scores(Sample.from_counts([-7, 0, 1e9], [1, 0, 2], [3, 2, 0]))
    np.testing.assert_allclose(found.score, ndtri(np.array([2, 5, 7]) / 8))
    assert (found.pos.tolist(), found.neg.tolist()) == ([1, 0, 2], [3, 2, 0])
    mirrored = normal_scores(Sample.from_counts([7, 0, -1e9], [1, 0, 2], [3, 2, 0]))
    np.testing.assert_array_equal(mirrored.score, -found.score[::-1])


@pytest.mark.parametrize("method", ["smoothed-db", "smoothed-sup", "working-hotelling"])
def test_linear_maps_change_nothing(method):
    y, s = _data()
    plain, mapped = (roc_band(y, scores, method=method, n_resamples=99, rng=3) for scores in (s, 1e6 * s + 5))
    np.testing.assert_allclose(plain.low, mapped.low, atol=0.04)  # one row of 30 at a draw may change sides
    np.testing.assert_allclose(plain.high, mapped.high, atol=0.04)


def test_a_seed_repeats_and_another_does_not():
    y, s = _data()
    first, again, other = (roc_band(y, s, rng=seed) for seed in (1, 1, 2))
    assert first.radius == again.radius
    assert first.radius != other.radius
    assert first.n_resamples == 999
    assert str(first).startswith("ROC band, 95 % for the whole curve (studentized-sup), area 0.")


def test_area_is_that_between_the_steps():
    band = roc_band(
        [0, 0, 1, 1, 1], [1.0, 3.0, 2.0, 4.0, 5.0], method="kolmogorov-smirnov", confidence_level=0.1
    )
    assert band.area == pytest.approx(0.5 * (band.high[1] - 0) + 0.5 * (1 - band.low[1]))


def test_caveats():
    y, s = _data()
    assert roc_band(y, s, rng=1).caveats == ()
    tied = roc_band(y, np.round(s), rng=1, n_resamples=1000)
    assert tied.caveats[0] == Caveat("resamples-raised", asked=1000, used=1019)
    assert codes(tied)[1] == "ties-between-classes"
    assert tied.caveats[1].values["model"] is None
    narrow = roc_band(
        np.repeat([1, 0], 50),
        np.repeat(np.arange(4.0) ** 9, 25)[[*range(50, 100), *range(50)]],
        method="working-hotelling",
        confidence_level=0.01,
    )
    assert "curve-outside-band" in codes(narrow)


def test_refusals():
    y, s = _data(5, 6)
    with pytest.raises(InputError, match="method 'studentized-sup' draws resamples and needs rng"):
        roc_band(y, s)
    with pytest.raises(InputError, match="method 'smoothed-db' draws resamples and needs rng"):
        roc_band(y, s, method="smoothed-db")
    with pytest.raises(InputError, match="n_resamples must be at least 99"):
        roc_band(y, s, n_resamples=98, confidence_level=0.99, rng=1)
    with pytest.raises(InputError, match="n_resamples must be a whole number of at least 1, not 'x'"):
        roc_band(y, s, n_resamples="x", rng=1)
    with pytest.raises(InputError, match="method must be one of"):
        roc_band(y, s, method="hausdorff", rng=1)
    with pytest.raises(InputError, match="confidence_level"):
        roc_band(y, s, confidence_level=1, rng=1)
    with pytest.raises(InputError, match="bandwidth must be above 0"):
        roc_band(y, s, bandwidth=0, rng=1)
    with pytest.raises(DegenerateDataError, match="0 negatives"):
        roc_band([1, 1], [1, 2], rng=1)
    with pytest.raises(DegenerateDataError, match="at least 2 negatives"):
        roc_band([1, 0], [1, 2], rng=1)
    with pytest.raises(DegenerateDataError, match="all 11 scores are"):
        roc_band(y, np.zeros(11), method="naive-sup", rng=1)
    with pytest.raises(DegenerateDataError, match="bandwidth would be 0"):
        roc_band([1, 1, 0, 0], [3, 3, 1, 2], rng=1)
    with pytest.raises(DegenerateDataError, match="the positives have one score"):
        roc_band([1, 1, 0, 0], [3, 3, 1, 2], method="working-hotelling")
