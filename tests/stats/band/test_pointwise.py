"""Intervals at single rates: ends and studentised draws equal slow definitions, laws, refusals."""

from __future__ import annotations

import json
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from oracle import expand
from strategies import grouped_counts

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.band.drawing import bandwidths, drawn_curves, empirical_curve, smoothed_curve
from rocmonitor.stats.band.pointwise import roc_pointwise, spread_at, studentized_draws, windows
from rocmonitor.stats.sample import Sample

METHODS = ("smoothed", "studentized", "naive")


def _data(n_pos=30, n_neg=40, seed=8):
    rng = np.random.default_rng(seed)
    y = np.repeat([1, 0], [n_pos, n_neg])
    return y, rng.normal(size=n_pos + n_neg) + 1.2 * y


def _deviation(pos, neg, r, widths):
    """Equation 4 by counting rows about the r-th largest negative, and one positive in squares."""
    at = np.sort(neg)[-r]
    tpr, t = (pos >= at).mean(), r / len(neg)
    density_pos, density_neg = (
        (np.abs(rows - at) <= half).mean() / half for rows, half in zip((pos, neg), widths, strict=True)
    )
    return sqrt(
        tpr * (1 - tpr) / len(pos)
        + (density_pos / density_neg) ** 2 * t * (1 - t) / len(neg)
        + 1 / len(pos) ** 2
    )


def _widths(y, s):
    return [1.06 * sqrt(3) * s[y == c].std(ddof=1) * np.sum(y == c) ** (-1 / 3) for c in (1, 0)]


def test_spread_is_the_count_about_the_threshold():
    y, s = _data()
    sample = Sample(y, s)
    ranks = np.array([1, 8, 20, 39])
    ours = spread_at(sample, ranks, empirical_curve(sample).at(ranks / 40), windows(sample))
    slow = [_deviation(s[y == 1], s[y == 0], r, _widths(y, s)) for r in ranks]
    np.testing.assert_allclose(ours, slow, rtol=1e-9)


def test_studentized_draws_have_the_law_of_resamples_with_noise():
    y, s = _data(100, 4)  # so few negatives that one more or less within the window is seen
    sample, draws, rng = Sample(y, s), 6_000, np.random.default_rng(3)
    h_pos, h_neg = bandwidths(sample, "normal")
    law = smoothed_curve(sample, (h_pos, h_neg))
    r, widths = 1, _widths(y, s)
    centre = float(law.curve.at(np.array(r / 4)))
    slow = np.empty(draws)
    for line in range(draws):
        pos = rng.choice(s[y == 1], 100) + h_pos * rng.normal(size=100)
        neg = rng.choice(s[y == 0], 4) + h_neg * rng.normal(size=4)
        reached = (pos >= np.sort(neg)[-r]).mean()
        slow[line] = (reached - centre) / _deviation(pos, neg, r, widths)
    fast = studentized_draws(sample, law, np.array([r]), windows(sample), draws, rng)[:, 0]
    at = np.linspace(-4, 4, 161)
    gap = np.abs((slow <= at[:, None]).mean(axis=1) - (fast <= at[:, None]).mean(axis=1)).max()
    assert gap < 2 * sqrt(log(2e9) / (2 * draws))  # Dvoretzky, Kiefer and Wolfowitz at 1e-9


def test_ends_are_the_opposite_quantiles_of_the_fluctuation():
    y, s = _data()
    ours = roc_pointwise(y, s, [0.5, 0.2], method="naive", confidence_level=0.8, n_resamples=99, rng=5)
    curve = empirical_curve(Sample(y, s))
    drawn = drawn_curves(curve, np.array([8, 20]), 30, 40, 99, np.random.default_rng(5))
    for line, column in ((0, 1), (1, 0)):
        at = float(curve.at(np.array(ours.fpr[line])))
        moved = np.sort(drawn[:, column] - at)
        low, high = at - moved[89], at - moved[9]  # the 90th and the 10th of 99
        assert ours.tpr[line] == at
        assert ours.tpr_low[line] == pytest.approx(np.clip(low, 0, 1), abs=1e-12)
        assert ours.tpr_high[line] == pytest.approx(np.clip(high, 0, 1), abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25)
@given(grouped_counts(min_per_class=2))
def test_laws_on_any_sample(method, counts):
    y, s = expand(*counts)
    sample = Sample.from_counts(*counts)
    options = {"method": method, "n_resamples": 119, "rng": 1}  # enough for both levels: the same draws
    if len(sample.score) == 1 or (method != "naive" and min(len(set(s[y == 1])), len(set(s[y == 0]))) < 2):
        with pytest.raises(DegenerateDataError):
            roc_pointwise(sample, [0.5], **options)
        return
    narrow = roc_pointwise(sample, [0.1, 0.5, 0.9], confidence_level=0.8, **options)
    wide = roc_pointwise(y, s, [0.1, 0.5, 0.9], confidence_level=0.95, **options)
    assert (wide.tpr_low >= 0).all()
    assert (wide.tpr_low <= narrow.tpr_low).all()
    assert (narrow.tpr_low <= narrow.tpr_high).all()
    assert (narrow.tpr_high <= wide.tpr_high).all()
    assert (wide.tpr_high <= 1).all()
    np.testing.assert_array_equal(narrow.tpr, wide.tpr)
    json.dumps(wide.to_dict(), allow_nan=False)


def test_result_says_what_was_done():
    y, s = _data()
    points = roc_pointwise(y, s, [0.33], rng=1, n_resamples=1000)
    assert points.fpr.tolist() == [13 / 40]
    assert points.n_resamples == 1039
    assert points.caveats[0].code == "moved-rate"
    assert points.caveats[1] == Caveat("resamples-raised", asked=1000, used=1039)
    assert list(points.to_frame()) == ["fpr", "tpr", "tpr_low", "tpr_high"]
    assert str(points) == (
        "1 ROC points by false positive rate, 95 % intervals (smoothed bootstrap), 30 positives, 40 negatives"
    )


def test_refusals():
    y, s = _data(5, 6)
    with pytest.raises(InputError, match="method 'smoothed' draws resamples and needs rng"):
        roc_pointwise(y, s, [0.5])
    with pytest.raises(InputError, match="n_resamples must be at least 39"):
        roc_pointwise(y, s, [0.5], n_resamples=19, rng=1)
    with pytest.raises(InputError, match="n_resamples must be a whole number of at least 1, not 'x'"):
        roc_pointwise(y, s, [0.5], n_resamples="x", rng=1)
    with pytest.raises(DegenerateDataError, match="all 11 scores are 0: "):
        roc_pointwise(y, np.zeros(11), [0.5], method="naive", rng=1)
    with pytest.raises(InputError, match="fpr must lie within"):
        roc_pointwise(y, s, [0.0], rng=1)
    with pytest.raises(InputError, match="method must be one of"):
        roc_pointwise(y, s, [0.5], method="exact", rng=1)
    with pytest.raises(DegenerateDataError, match="0 positives"):
        roc_pointwise([0, 0], [1, 2], [0.5], rng=1)
    with pytest.raises(DegenerateDataError, match="at least 2 negatives"):
        roc_pointwise([1, 0], [1, 2], [0.5], rng=1)
    with pytest.raises(DegenerateDataError, match="'studentized' needs scores that differ within each class"):
        roc_pointwise([1, 1, 0, 0], [3, 3, 1, 2], [0.5], method="studentized", bandwidth=1.0, rng=1)
