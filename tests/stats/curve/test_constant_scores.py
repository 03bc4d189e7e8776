"""One score for all rows: there is no curve, and every function of it says so; areas and costs do without."""

from __future__ import annotations

import pytest

from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats import (
    Sample,
    auc,
    calibrated_pairs,
    cost_curve,
    matched_pairs,
    roc_pointwise,
    threshold_difference,
    threshold_dominance,
    threshold_intervals,
    threshold_law,
    total_rate_difference,
    total_rate_difference_law,
    total_rate_intervals,
    total_rate_law,
    vertical_difference,
    vertical_difference_law,
    vertical_intervals,
    vertical_law,
)
from rocmonitor.stats.research import averaging_table

Y = [1, 1, 0, 0, 0]
FLAT, VARIED = [0.5] * 5, [1.0, 2.0, 3.0, 1.0, 2.0]
SAID = "all 5 scores are 0.5: no threshold tells rows apart"


def naive_pointwise(*arguments):
    """The other methods smooth each class, and refuse more."""
    return roc_pointwise(*arguments, method="naive", rng=1)


ONE_MODEL = {
    vertical_intervals: [0.5],
    vertical_law: 0.5,
    total_rate_intervals: [0.5],
    total_rate_law: 0.5,
    threshold_intervals: [0.5],
    threshold_law: 0.5,
    averaging_table: [0.5],
    naive_pointwise: [0.5],
}
TWO_MODELS = {
    vertical_difference: [0.5],
    vertical_difference_law: 0.5,
    total_rate_difference: [0.5],
    total_rate_difference_law: 0.5,
    threshold_difference: [(0.5, 2.0)],
    threshold_dominance: [(0.5, 2.0)],
    matched_pairs: [0.5],
    calibrated_pairs: [0.5],
}


@pytest.mark.parametrize("function", ONE_MODEL, ids=lambda function: function.__name__)
def test_one_model(function):
    with pytest.raises(DegenerateDataError, match=f"^{SAID}.* whose scores differ"):
        function(Y, FLAT, ONE_MODEL[function])
    thousand = Sample.from_counts([0.25], [234], [1_000])
    with pytest.raises(DegenerateDataError, match=r"^all 1,234 scores are 0\.25"):
        function(thousand, ONE_MODEL[function])
    function(Y, [0.7, *FLAT[1:]], ONE_MODEL[function])  # ties with one score above them are a curve


@pytest.mark.parametrize("function", TWO_MODELS, ids=lambda function: function.__name__)
def test_two_models(function):
    with pytest.raises(DegenerateDataError, match=f"^first model: {SAID}"):
        function(Y, FLAT, VARIED, TWO_MODELS[function])
    with pytest.raises(DegenerateDataError, match=f"^second model: {SAID}"):
        function(Y, VARIED, FLAT, TWO_MODELS[function])
    function(Y, VARIED, VARIED, TWO_MODELS[function])


@pytest.mark.parametrize("function", ONE_MODEL, ids=lambda function: function.__name__)
def test_a_missing_class_is_told_first(function):
    with pytest.raises(DegenerateDataError, match="of each class"):
        function([1, 1], [0.5, 0.5], ONE_MODEL[function])


def test_areas_and_costs_do_without():
    assert auc(Y, FLAT).auc == 0.5
    assert cost_curve(Y, FLAT, [0.5], [0.5]).cost[0] == 0.5
