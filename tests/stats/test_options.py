"""Options of another type are refused like any other bad value."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rocmonitor.errors import InputError
from rocmonitor.stats import (
    AucSpread,
    OperatingCondition,
    PairedSample,
    Sample,
    auc,
    auc_bounds,
    auc_distance,
    auc_power,
    auc_sample_size,
    partial_auc,
    threshold_intervals,
    vertical_difference,
)

SAMPLE = Sample([0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6])
PAIR = PairedSample([0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6], [2, 1, 3, 5, 4, 6])
CALLS = {
    "max_fpr": lambda value: partial_auc(SAMPLE, max_fpr=value),
    "fpr": lambda value: partial_auc(SAMPLE, fpr=value),
    "n_errors": lambda value: auc(SAMPLE, method="cortes-mohri", n_errors=value),
    "drop": lambda value: auc_power(SAMPLE, value, n_pos=50, n_neg=50),
    "n_pos": lambda value: auc_power(SAMPLE, 0.1, n_pos=value, n_neg=50),
    "power": lambda value: auc_sample_size(SAMPLE, 0.1, power=value),
    "ratio": lambda value: auc_sample_size(SAMPLE, 0.1, ratio=value),
    "auc": AucSpread.normal,
    "max_thresholds": lambda value: vertical_difference(PAIR, [1 / 3], max_thresholds=value),
    "distance": lambda value: auc_bounds(SAMPLE, value),
    "target": lambda value: auc_distance(SAMPLE, value),
    "false_positive": lambda value: OperatingCondition(
        false_positive=value, false_negative=1, prevalence=0.5
    ),
    "prevalence": lambda value: OperatingCondition(false_positive=1, false_negative=1, prevalence=value),
    "confidence_level": lambda value: threshold_intervals(SAMPLE, 3, confidence_level=value),
    "m_pos": lambda value: threshold_intervals(SAMPLE, 3, m_pos=value),
}


@pytest.mark.parametrize("value", ["x", [0.5, 0.6, 0.7], float("nan"), True, {}], ids=repr)
@pytest.mark.parametrize("name", CALLS)
def test_an_option_is_one_number(name, value):
    with pytest.raises(InputError, match=name):
        CALLS[name](value)


def test_numbers_of_numpy_come_out_as_plain_data():
    lending = OperatingCondition(
        false_positive=np.int64(200), false_negative=np.float32(0.5), prevalence=np.float64(0.02)
    )
    assert json.loads(json.dumps(lending.to_dict())) == {
        "false_positive": 200,
        "false_negative": 0.5,
        "prevalence": 0.02,
    }
    assert json.dumps(AucSpread.normal(np.float32(0.75)).to_dict())
    assert json.dumps(threshold_intervals(SAMPLE, 3, joint=np.True_).to_dict())
