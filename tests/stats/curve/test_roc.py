"""The points of the curve: by definition, and as scikit-learn has them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import roc_curve as reference
from strategies import samples

from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats import Sample, roc_curve


@given(samples())
def test_points_are_those_of_the_definition_and_of_scikit_learn(data):
    y, s = data
    curve = roc_curve(y, s)
    for threshold, fp, tp in zip(curve.threshold, curve.fp, curve.tp, strict=True):
        assert fp == np.count_nonzero((s >= threshold) & (y == 0))
        assert tp == np.count_nonzero((s >= threshold) & (y == 1))
    fpr, tpr, thresholds = reference(y, s, drop_intermediate=False)
    np.testing.assert_array_equal(curve.fpr, fpr)
    np.testing.assert_array_equal(curve.tpr, tpr)
    np.testing.assert_array_equal(curve.threshold, thresholds)


def test_a_sample_and_grouped_counts():
    rows = roc_curve([0, 1, 1, 0, 0], [1, 2, 2, 2, 3])
    assert roc_curve(Sample([0, 1, 1, 0, 0], [1, 2, 2, 2, 3])).to_dict() == rows.to_dict()
    counts = roc_curve(Sample.from_counts([1, 2, 3], [0, 2, 0], [1, 1, 1]))
    assert counts.to_dict() == rows.to_dict()
    assert rows.tp.tolist() == [0, 0, 2, 2]
    assert rows.fp.tolist() == [0, 1, 2, 3]


def test_plain_data():
    curve = roc_curve([0, 1], [1, 2])
    assert json.loads(json.dumps(curve.to_dict(), allow_nan=False))["threshold"] == ["inf", 2.0, 1.0]
    assert list(curve.to_frame()) == ["threshold", "fpr", "tpr", "fp", "tp"]
    assert str(curve) == "ROC curve of 3 points, 1 positive, 1 negative"
    with pytest.raises(ValueError, match="read-only"):
        curve.fpr[0] = 1


@pytest.mark.parametrize("y", [[1, 1], [0, 0], []])
def test_both_classes_are_needed(y):
    with pytest.raises(DegenerateDataError, match="at least 1 of each class"):
        roc_curve(y, [1.0] * len(y))
