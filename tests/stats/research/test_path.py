import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.forecast.kld import auc_bounds
from rocmonitor.stats.research.null import auc_path
from rocmonitor.stats.sample import Sample

DISTANCES = [0.3, 0.0, 1e-6, 0.02, 0.7, 4.0, 0.02]


def drawn(rows):
    rng = np.random.default_rng(rows)
    y = rng.random(rows) < 0.3
    return Sample(y, rng.normal(size=rows) + y)


def assert_pointwise(sample, path):
    for place, distance in enumerate(path.distance):
        bounds = auc_bounds(sample, float(distance))
        assert path.low[place] == pytest.approx(bounds.low, abs=1e-10)
        assert path.high[place] == pytest.approx(bounds.high, abs=1e-10)
        if math.isinf(bounds.high_multiplier):
            assert math.isinf(path.high_multiplier[place])


@settings(max_examples=30)
@given(samples())
def test_every_point_is_that_of_auc_bounds_in_the_order_asked_for(data):
    path = auc_path(*data, DISTANCES)
    assert path.distance.tolist() == DISTANCES
    assert_pointwise(Sample(*data), path)


@pytest.mark.parametrize("rows", [300, 9000])  # below the size from which cells are thinned, and above
def test_long_paths_too(rows):
    sample = drawn(rows)
    path = auc_path(sample, np.linspace(0, 1, 6) ** 2 * 1.2)
    assert_pointwise(sample, path)
    assert path.optimum == "searched"
    assert auc_path(sample, [0.01, 0.05]).optimum == "proven"


@settings(max_examples=30)
@given(samples())
def test_the_path_widens_with_the_distance(data):
    path = auc_path(*data, np.linspace(0, 1.5, 8))
    assert np.all(np.diff(path.low) <= 1e-12)
    assert np.all(np.diff(path.high) >= -1e-12)
    assert (path.low[0], path.high[0]) == pytest.approx((path.auc, path.auc), abs=1e-14)


def test_the_multipliers_are_the_slopes():
    sample, step = drawn(300), 1e-6
    path = auc_path(sample, [0.05, 0.05 + step])
    assert 1 / path.high_multiplier[0] == pytest.approx((path.high[1] - path.high[0]) / step, rel=1e-3)
    assert 1 / path.low_multiplier[0] == pytest.approx((path.low[0] - path.low[1]) / step, rel=1e-3)


def test_results_are_plain_data_and_a_table():
    path = auc_path([0, 0, 1, 1], [1, 2, 1, 2], [0.1, 3.0])
    assert list(path.to_frame().columns) == ["distance", "low", "high", "low_multiplier", "high_multiplier"]
    plain = json.loads(json.dumps(path.to_dict(), allow_nan=False))
    assert (plain["high"][1], plain["high_multiplier"][1], plain["auc"]) == (1.0, "inf", 0.5)
    assert str(path) == "AUC 0.5000, from 0.0000 to 1.0000 within 2 distances up to 3"
    with pytest.raises(ValueError, match="read-only"):
        path.low[0] = 0.0


@pytest.mark.parametrize("distances", [[], [[0.1]]])
def test_distances_that_are_no_list(distances):
    with pytest.raises(InputError, match="distances must be a list of at least one number"):
        auc_path([0, 1], [1, 2], distances)


@pytest.mark.parametrize("wrong", [-0.1, math.nan, math.inf])
def test_distances_that_are_none(wrong):
    with pytest.raises(InputError, match="distances must be finite and at least 0: 1 of 2 are not"):
        auc_path([0, 1], [1, 2], [0.1, wrong])


def test_one_class():
    with pytest.raises(DegenerateDataError, match="at least 1 of each class"):
        auc_path([1, 1], [1, 2], [0.1])
