import math

import numpy as np
import pytest
from hypothesis import given
from strategies import samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import (
    auc,
    auc_sample_size,
    condensed,
    forecast_interval,
    partial_auc,
    roc_band,
    vertical_intervals,
)
from rocmonitor.stats.forecast.kld import auc_bounds, auc_distance
from rocmonitor.stats.research import auc_path, auc_skewness
from rocmonitor.stats.research.null import weighted_sample
from rocmonitor.stats.sample import Sample


@given(samples())
def test_equal_weights_are_the_rows(data):
    rows, weighted = (
        auc_bounds(*data, 0.1),
        auc_bounds(weighted_sample(*data, np.full(len(data[0]), 0.3)), 0.1),
    )
    assert (weighted.low, weighted.high) == pytest.approx((rows.low, rows.high), abs=1e-12)


@given(samples())
def test_whole_weights_are_repeated_rows(data):
    y, s = data
    number = 1 + np.arange(len(y)) % 4
    rows, weighted = Sample(np.repeat(y, number), np.repeat(s, number)), weighted_sample(y, s, number / 7)
    assert auc_bounds(weighted, 0).auc == pytest.approx(auc_bounds(rows, 0).auc, abs=1e-14)
    assert weighted.pos == pytest.approx(rows.pos / rows.n_pos, abs=1e-15)
    assert weighted.neg == pytest.approx(rows.neg / rows.n_neg, abs=1e-15)
    of_rows, of_weights = auc_bounds(rows, 0.2), auc_bounds(weighted, 0.2)
    assert of_weights.low == pytest.approx(of_rows.low, abs=1e-11)
    assert of_weights.high_weights == pytest.approx(of_rows.high_weights, abs=1e-8)


def test_weights_change_the_distance_as_the_weighted_shares_say():
    y, s = [0, 0, 1, 1], [1, 2, 1, 2]
    # f = (1/4, 3/4), g = (3/4, 1/4): complete separation costs -ln f_1 - ln g_2.
    sample = weighted_sample(y, s, [0.1, 0.3, 30.0, 10.0])
    assert auc_distance(sample, 1.0) == pytest.approx(2 * math.log(4), abs=1e-14)


def test_any_scale_of_weights_will_do():
    y, s, w = [0, 0, 1, 1], [1, 2, 1, 3], np.array([1.0, 2.0, 3.0, 4.0])
    for scale in (1e-300, 1.0, 4e307):
        assert auc_bounds(weighted_sample(y, s, scale * w), 0.1).low == pytest.approx(
            auc_bounds(weighted_sample(y, s, w), 0.1).low, abs=1e-14
        )


def test_bad_weights():
    with pytest.raises(InputError, match="weights must be >= 0: 1 of 2 are not"):
        weighted_sample([0, 1], [1, 2], [1, -1])
    with pytest.raises(InputError, match="weights must be finite: 1 of 2"):
        weighted_sample([0, 1], [1, 2], [1, math.nan])
    with pytest.raises(
        InputError, match="must have equal length: y_true has 2, y_score has 2, weights has 3"
    ):
        weighted_sample([0, 1], [1, 2], [1, 1, 1])
    for weights in ([0, 1], [1, 0]):
        with pytest.raises(DegenerateDataError, match="a class has no row with a weight above 0"):
            weighted_sample([0, 1], [1, 2], weights)


def test_weights_are_no_rows():
    """What states a sampling error refuses them, and says what takes them."""
    weighted = weighted_sample([0, 1, 0, 1], [1, 2, 3, 4], [1, 2, 3, 4])
    for call in (auc, auc_skewness, lambda w: partial_auc(w, max_fpr=0.5), lambda w: roc_band(w, rng=1)):
        with pytest.raises(InputError, match=r"needs numbers of rows.*auc_bounds"):
            call(weighted)
    with pytest.raises(InputError, match="vertical_intervals needs numbers of rows"):
        vertical_intervals(weighted, [0.5])
    for call in (
        condensed,
        lambda w: auc_sample_size(w, 0.1, ratio=1.0),
        lambda w: forecast_interval(w, distance=0.1, method="fixed"),
        lambda w: Sample.merge([w]),
    ):
        with pytest.raises(InputError, match="WeightedSample"):
            call(weighted)
    assert repr(weighted) == "WeightedSample(distinct=4)"


def test_a_path_takes_weights():
    weighted = weighted_sample([0, 0, 1, 1], [1, 2, 1, 2], [0.1, 0.3, 30.0, 10.0])
    assert auc_path(weighted, [0.1]).low[0] == auc_bounds(weighted, 0.1).low
