"""Drawn curves have the law of curves of resamples really drawn; how many resamples a level needs."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from stats import oracle_curves as oracle

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats.band.drawing import (
    band_ranks,
    drawn_curves,
    empirical_curve,
    smoothed_curve,
    whole_resamples,
)
from rocmonitor.stats.sample import Sample

DRAWS = 2_000
ERROR = sqrt(log(2e9) / (2 * DRAWS))  # Dvoretzky, Kiefer and Wolfowitz at 1e-9


def _resampled(y, s, h_pos, h_neg, draws, rng):
    """TPR at the r-th largest negative, r = 1…n_neg - 1, of rows drawn with noise: the definition, slowly."""
    pos, neg = s[y == 1], s[y == 0]
    curves = np.empty((draws, len(neg) - 1))
    for curve in curves:
        drawn_pos = rng.choice(pos, len(pos)) + h_pos * rng.normal(size=len(pos))
        drawn_neg = np.sort(rng.choice(neg, len(neg)) + h_neg * rng.normal(size=len(neg)))[::-1]
        curve[:] = [(drawn_pos >= z).mean() for z in drawn_neg[:-1]]
    return curves


def _largest_gap(one, other):
    """Of two empirical distribution functions."""
    at = np.concatenate([one, other])
    return max(
        abs(np.mean(one[:, None] <= part, axis=0) - np.mean(other[:, None] <= part, axis=0)).max()
        for part in np.array_split(at, 16)
    )


@pytest.mark.parametrize("h", [None, (0.4, 0.2)])
@pytest.mark.parametrize("n", [(6, 9), (30, 12)])
def test_functionals_of_drawn_curves_have_the_law_of_resamples(n, h):
    rng = np.random.default_rng(17)
    y = np.repeat([1, 0], n)
    s = rng.normal(size=sum(n)) + y
    sample = Sample(y, s)
    law = smoothed_curve(sample, h).curve if h else empirical_curve(sample)
    slow = _resampled(y, s, *(h or (0, 0)), DRAWS, rng)
    fast = drawn_curves(law, band_ranks(n[1]), *n, DRAWS, rng)
    centre = law.at(np.arange(1, n[1]) / n[1])
    for functional in (
        lambda curves: np.abs(curves - centre).max(axis=1),
        lambda curves: curves.mean(axis=1),
        lambda curves: curves[:, 0],
        lambda curves: curves[:, -1] - curves[:, 2],
    ):
        # Two samples: twice the error of one.
        assert _largest_gap(functional(slow).round(9), functional(fast).round(9)) < 2 * ERROR


def test_one_point_has_the_exact_law_of_the_bootstrap():
    y = np.array([1, 0, 1, 0, 0, 1, 0, 1, 0])
    s = np.array([0.61, 0.2, 0.9, 0.7, 0.1, 0.35, 0.5, 0.4, 0.3])
    drawn = drawn_curves(
        empirical_curve(Sample(y, s)), np.arange(1, 5), 4, 5, DRAWS, np.random.default_rng(5)
    )
    for r in range(1, 5):
        law = oracle.vertical_law(y, s, r, 4, 5)
        seen = np.bincount(np.rint(4 * drawn[:, r - 1]).astype(int), minlength=5) / DRAWS
        assert np.abs(np.cumsum(seen) - np.cumsum(law)).max() < ERROR


def test_fewer_ranks_are_drawn_from_the_same_law():
    curve = empirical_curve(Sample([0] * 40 + [1] * 20, np.arange(60.0) % 37))
    few = drawn_curves(curve, np.array([3, 20, 31]), 20, 40, DRAWS, np.random.default_rng(1))
    all_of = drawn_curves(curve, band_ranks(40), 20, 40, DRAWS, np.random.default_rng(2))[:, [2, 19, 30]]
    for functional in (lambda drawn: drawn[:, 1], lambda drawn: drawn @ [1, -2, 1]):
        assert _largest_gap(functional(few).round(9), functional(all_of).round(9)) < 2 * ERROR


def test_progress_is_told_ten_times_at_most():
    curve = empirical_curve(Sample([0] * 4_000 + [1] * 20, np.arange(4_020.0) % 1_370))
    told = []
    drawn_curves(curve, band_ranks(4_000), 20, 4_000, 2_000, np.random.default_rng(1), told.append)
    done = [int(text.removesuffix(" of 2000 resampled ROC curves")) for text in told]
    assert len(done) == 10
    assert all(200 * tenth <= value < 200 * (tenth + 1) for tenth, value in enumerate(done, 1))


def test_ranks_are_all_or_fine_enough():
    assert band_ranks(2).tolist() == [1]
    assert band_ranks(2_048).tolist() == list(range(1, 2_048))
    for n in (2_049, 2_500, 10_000, 123_457, 10**6):
        ranks = band_ranks(n)
        assert (np.diff(ranks) >= 1).all()
        assert (ranks[0], ranks[-1]) == (1, n - 1)
        # A step of FPR is a small part of the 1.36 / sqrt(n) of a Kolmogorov band.
        assert np.diff(ranks, prepend=0, append=n).max() / n < max(1 / 2_000, 0.13 / sqrt(n))
    assert len(band_ranks(10**12)) < 8_400


def test_resamples_are_raised_until_the_quantile_is_one_of_them():
    assert whole_resamples(999, 1 - 0.95, "m")[:2] == (999, 949)
    assert whole_resamples(19, 1 - 0.95, "m")[:2] == (19, 18)
    used, place, caveats = whole_resamples(1000, 0.05, "m")
    assert (used, place) == (1019, 968)
    assert caveats == (Caveat("resamples-raised", asked=1000, used=1019),)
    for tail in (0.05, 0.025, 0.1, 1 / 3, 0.0123, 0.5):
        for wanted in (99, 100, 250, 999):
            used, place, _ = whole_resamples(wanted, tail, "m")
            assert used >= wanted
            assert abs((1 + used) * tail - (used - place)) < 0.51 * tail + 1e-9
    with pytest.raises(InputError, match="n_resamples must be at least 19 with method 'm'"):
        whole_resamples(18, 1 - 0.95, "m")
    for wrong in (0, -5, 2.5, np.inf, np.nan, "x", None, True):
        with pytest.raises(InputError, match="whole number of at least 1"):
            whole_resamples(wrong, 0.05, "m")
