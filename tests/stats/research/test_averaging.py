"""The table of three averagings: each column is what its own function gives; what is held fixed holds."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.curve.threshold import threshold_intervals
from rocmonitor.stats.curve.total_rate import total_rate_intervals
from rocmonitor.stats.curve.vertical import vertical_intervals
from rocmonitor.stats.research.averaging import averaging_table
from rocmonitor.wording.caveats import words_of

RNG = np.random.default_rng(8)
Y = np.repeat([1, 0], [300, 500])
S = np.round(RNG.normal(size=800) + 1.5 * Y, 2)


def test_columns_are_those_of_the_three_functions():
    cuts = [2.0, 0.5, 1.0]
    table = averaging_table(Y, S, cuts, confidence_level=0.9)
    tpr, fpr, share = (
        np.array([np.mean(S[rows] >= cut) for cut in cuts]) for rows in (Y == 1, Y == 0, Y >= 0)
    )
    np.testing.assert_allclose(table.tpr, tpr, rtol=1e-14)
    np.testing.assert_allclose(table.fpr, fpr, rtol=1e-14)
    np.testing.assert_allclose(table.total_rate, share, rtol=1e-14)
    columns = {
        "by_threshold": threshold_intervals(Y, S, cuts, joint=False, confidence_level=0.9),
        "by_fpr": vertical_intervals(Y, S, fpr, confidence_level=0.9),
        "by_total_rate": total_rate_intervals(Y, S, share, confidence_level=0.9),
    }
    for name, expected in columns.items():
        np.testing.assert_allclose(getattr(table, name + "_low"), expected.tpr_low, rtol=1e-12)
        np.testing.assert_allclose(getattr(table, name + "_high"), expected.tpr_high, rtol=1e-12)
    assert table.to_frame().shape == (3, 10)
    json.dumps(table.to_dict())
    assert str(table) == (
        "TPR at 3 operating points by what is held fixed, 90 % intervals, 300 positives, 500 negatives"
    )


def test_where_positives_are_many_total_rates_narrow_and_false_positive_rates_widen():
    table = averaging_table(Y, S, [0.5, 1.0, 1.5])
    lengths = [
        getattr(table, f"by_{held}_high") - getattr(table, f"by_{held}_low")
        for held in ("total_rate", "threshold", "fpr")
    ]
    assert (lengths[0] < lengths[1]).all()
    assert (lengths[1] < lengths[2]).all()


def test_rates_of_zero_and_one_are_moved_and_reported():
    table = averaging_table(Y, S, [-np.inf, 4.0, np.inf])
    assert [caveat.code for caveat in table.caveats[:2]] == ["rate-cannot-be-held"] * 2
    assert [caveat.values["rate"] for caveat in table.caveats[:2]] == ["FPR", "total positive rate"]
    assert table.caveats[1].values["count"] == 2
    assert "have a FPR of 0 or 1" in words_of(table.caveats[0])
    np.testing.assert_array_equal(table.total_rate[[0, 2]], [1.0, 0.0])
    assert any(caveat.about == ("by threshold",) for caveat in table.caveats)


def test_refuses():
    with pytest.raises(InputError, match="at least one number"):
        averaging_table(Y, S, [])
    with pytest.raises(InputError, match="confidence_level"):
        averaging_table(Y, S, [0.5], confidence_level=1.0)
    with pytest.raises(DegenerateDataError, match="at least"):
        averaging_table([1, 0], [1.0, 2.0], [1.5])
