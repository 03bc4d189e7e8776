"""The bounds that are read off polynomials are those that are solved by themselves."""

import math

import numpy as np
import pytest

from rocmonitor.stats import condensed, forecast_interval
from rocmonitor.stats.forecast.kld import (
    _PATIENCE,
    PIECE,
    FollowedBounds,
    auc_bounds,
    auc_distance,
    bounds_of,
)
from rocmonitor.stats.sample import Sample


def scored(seed, rows, shift, share, digits=6):
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < share
    return Sample(y, np.round(rng.normal(size=rows) + shift * y, digits))


def roots(number, count=30):
    """Distances of one piece, by their place x = sqrt(2 D)."""
    rng = np.random.default_rng(number)
    return [x * x / 2 for x in (number + rng.random(count)) * PIECE]


def furthest(reference, distances):
    """How far the two ways are apart, and how many bounds the second solved."""
    solved = []
    bounds, direct = FollowedBounds(reference), bounds_of(reference)
    plain = bounds._solve
    bounds._solve = lambda distance: solved.append(distance) or plain(distance)
    pairs = [(bounds(distance), direct(distance)) for distance in distances]
    assert all((one.auc, one.caveats) == (other.auc, other.caveats) for one, other in pairs)
    return max(max(abs(a.low - b.low), abs(a.high - b.high)) for a, b in pairs), len(solved)


@pytest.mark.parametrize(
    ("rows", "shift", "share", "digits"),
    [
        (20_000, 1.2, 0.3, 4),
        (3_000, 0.1, 0.5, 6),
        (3_000, 2.0, 0.05, 2),
        (200, 1.0, 0.4, 0),
        (40, 0.5, 0.5, 6),
    ],
)
@pytest.mark.parametrize("number", [0, 1, 6])
def test_agrees_with_each_bound_by_itself(rows, shift, share, digits, number):
    reference = condensed(scored(rows, rows, shift, share, digits))
    apart, solved = furthest(reference, roots(number))
    assert apart < 1e-13
    assert solved == 8


def test_a_piece_with_a_corner_is_not_read_off():
    """Two positives in three are above all negatives: from a distance on the AUC is 1."""
    reference = Sample([0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6])
    number = int(math.sqrt(2 * auc_distance(reference, 1.0)) / PIECE)
    apart, solved = furthest(reference, roots(number, 20))
    assert apart == 0
    assert solved == 20


def test_a_branch_that_takes_over_is_not_read_off():
    """Where two solutions cross (the example of `tilting`), the bound has a kink."""
    reference = Sample.from_counts([1, 2, 3], [0, 50, 50], [50, 50, 0])
    shares = np.linspace(0.5, 1.2, 60)
    values = [auc_bounds(reference, x * x / 2).high for x in shares]
    bends = np.abs(np.diff(values, 3))
    number = int(shares[int(np.argmax(bends)) + 1] / PIECE)
    for near in (number - 1, number, number + 1):
        apart, _ = furthest(reference, roots(near, 12))
        assert apart < 1e-13


def test_scores_that_are_all_alike_cannot_move():
    reference = Sample([0, 1, 0, 1], [5, 5, 5, 5])
    bounds = FollowedBounds(reference)
    assert {bounds(x * x / 2)[1:3] for x in np.linspace(0.1, 0.1 + PIECE / 4, 20)} == {(0.5, 0.5)}
    assert [each.code for each in bounds(0.005).caveats] == ["auc-cannot-move"]


def test_intervals_of_many_batches_are_those_without_it():
    past = [scored(seed, 100, 1.0, 0.4, 2) for seed in range(12)]
    reference = Sample.merge(past)
    interval = forecast_interval(reference, windows=past)
    few = condensed(reference)
    bounds = FollowedBounds(few)
    for n_pos in range(60, 72):
        plain = interval.for_batch(few, (n_pos, 90))
        quick = interval.fit.interval(few, (n_pos, 90), bounds=bounds)
        for name in ("low", "high", "sampling_low", "sampling_high"):
            assert getattr(quick, name) == pytest.approx(getattr(plain, name), abs=1e-13, rel=0)
        assert quick.to_dict().keys() == plain.to_dict().keys()
        assert quick.distance == plain.distance
        assert [each.code for each in quick.caveats] == [each.code for each in plain.caveats]
    assert any(piece is not None for piece in bounds._pieces.values())


def test_what_it_remembers_is_limited_by_the_axis():
    bounds = FollowedBounds(scored(5, 300, 1.0, 0.3, 1))
    for distance in np.linspace(0.01, 0.02, 1_000).tolist():
        bounds(distance)
    pieces = math.ceil((math.sqrt(0.04) - math.sqrt(0.02)) / PIECE) + 1
    assert len(bounds._solved) <= pieces
    assert max(map(len, bounds._solved.values())) == _PATIENCE
