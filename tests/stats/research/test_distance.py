"""Distances of two ROC curves equal those of points laid densely along both."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import increasing_maps, samples

from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats import roc_curve
from rocmonitor.stats.research import curve_distances

STEPS = 60


def laid(y, s):
    """Points along the line through the corners, (m, 2)."""
    curve = roc_curve(y, s)
    corners = np.column_stack([curve.fpr, curve.tpr])
    weight = np.linspace(0, 1, STEPS)[:, np.newaxis]
    return np.concatenate([a + weight * (b - a) for a, b in pairwise(corners)])


@settings(deadline=None, max_examples=40)
@given(samples(max_per_class=5), samples(max_per_class=5))
def test_hausdorff_is_that_of_dense_points(first, second):
    ours = curve_distances(first, second)
    one, other = laid(*first), laid(*second)
    apart = np.abs(one[:, np.newaxis] - other).max(axis=2)
    dense = max(apart.min(axis=1).max(), apart.min(axis=0).max())
    assert ours.hausdorff == pytest.approx(dense, abs=1.5 / STEPS)


@settings(deadline=None, max_examples=40)
@given(samples(max_per_class=5), samples(max_per_class=5), increasing_maps)
def test_laws(first, second, increasing):
    ours, back = curve_distances(first, second), curve_distances(second, first)
    assert ours.sup == pytest.approx(back.sup, abs=1e-15)
    assert ours.hausdorff == pytest.approx(back.hausdorff, abs=1e-15)
    assert 0 <= ours.hausdorff <= ours.sup + 1e-15
    assert 0 <= ours.d_b <= ours.sup + 1e-15
    mapped = curve_distances(first, (second[0], increasing(second[1])))
    assert mapped.to_dict() == ours.to_dict()
    same = curve_distances(first, (first[0], increasing(first[1])))
    assert same.sup == same.d_b == same.hausdorff == 0


def test_sup_and_d_b_are_those_of_their_definitions():
    rng = np.random.default_rng(1)
    t = np.linspace(0, 1, 4_001)[:-1] + 1e-7  # beside every jump
    for sizes in ((7, 9), (12, 5), (30, 40)):
        curves = []
        pair = [
            (np.repeat([1, 0], sizes), rng.normal(size=sum(sizes)) + np.repeat([1, 0], sizes)) for _ in "12"
        ]
        for y, s in pair:
            curve = roc_curve(y, s)
            curves.append((curve.fpr, curve.tpr))
        f, g = (tpr[np.searchsorted(fpr, t, side="right") - 1] for fpr, tpr in curves)
        reached = curves[1][0][np.searchsorted(curves[1][1], f, side="left")]
        ours = curve_distances(*pair)
        assert ours.sup == pytest.approx(np.abs(f - g).max(), abs=1e-12)
        assert ours.d_b == pytest.approx(np.minimum(np.abs(f - g), np.abs(reached - t)).max(), abs=1e-3)


def test_a_jump_a_little_later_is_near_but_for_the_sup_norm():
    first = np.repeat([1, 0], 100), np.concatenate([np.full(100, 95.5), np.arange(100)])
    second = np.repeat([1, 0], 100), np.concatenate([np.full(100, 94.5), np.arange(100)])
    ours = curve_distances(first, second)
    assert ours.sup == 1
    assert ours.d_b == ours.hausdorff == pytest.approx(0.01)
    assert str(ours) == "Distances: sup 1.0000, d_B 0.0100, Hausdorff 0.0100"


def test_one_class_is_degenerate():
    with pytest.raises(DegenerateDataError, match="at least 1 of each class"):
        curve_distances(([0, 1], [1, 2]), ([1, 1], [1, 2]))
