"""Segments that hold together, and the forecast of the difference."""

from __future__ import annotations

from dataclasses import replace

import pytest
from paired import pair

from rocmonitor.caveat import Caveat
from rocmonitor.policy.review.checks import NO_SCATTER, TOO_FEW
from rocmonitor.policy.review.settings import ReviewRule, ReviewSettings
from rocmonitor.policy.review.supplementary import forecast, segments_table
from rocmonitor.stats import PairedSample, compare_auc_paired, forecast_difference

SETTINGS = ReviewSettings(rule=ReviewRule(confidence_level=0.9), min_per_class=30)


def test_the_segments_share_the_error():
    """Only those that can be compared do: how many rows they have says nothing of the difference."""
    parts = {
        "region=north": pair(1, 40, 60),
        "region=south": pair(2, 29, 90),
        "region=east": pair(3, 80, 30),
        "region=west": PairedSample([], [], []),
    }
    north, south, east, west = segments_table(parts, SETTINGS)
    assert [row["segment"] for row in (north, south, east, west)] == list(parts)
    for row, name in ((north, "region=north"), (east, "region=east")):
        direct = compare_auc_paired(parts[name])
        assert row["level"] == pytest.approx(0.95)
        assert (row["low"], row["high"]) == pytest.approx(direct.ci(0.95))
        assert (row["difference"], row["pvalue"]) == (direct.difference, direct.pvalue)
        assert (row["challenger_auc"], row["champion_auc"]) == (direct.auc_1, direct.auc_2)
        assert row["note"] == ""
    assert south["note"] == TOO_FEW
    assert south["difference"] is south["low"] is south["level"] is None
    assert south["champion_auc"] is not None
    assert (west["rows"], west["champion_auc"]) == (0, None)
    assert set(north) == set(south) == set(west)


@pytest.mark.parametrize("sizes", [(1, 40), (40, 1), (1, 0), (0, 3), (2, 2)])
def test_a_segment_of_hardly_any_row_of_a_class_is_noted(sizes):
    """And stops no review."""
    [row] = segments_table({"a": pair(1, *sizes)}, SETTINGS)
    assert row["note"] == TOO_FEW
    assert row["difference"] is None
    assert (row["champion_auc"] is None) == (min(sizes) < 2)


def test_segments_whose_rows_all_show_the_same():
    y = [1, 0] * 30
    [row] = segments_table({"a": PairedSample(y, y, [0] * 60)}, SETTINGS)
    assert row["note"] == NO_SCATTER
    assert (row["difference"], row["challenger_auc"]) == (None, 1.0)
    assert segments_table({}, SETTINGS) == []


def test_the_forecast_is_that_of_the_reference_where_it_is_enough():
    past = [pair([4, i], 40, 60) for i in range(10)]
    own = [pair([5, i], 40, 60) for i in range(12)]
    for known, given, whose in ((past, past, "reference"), (own, past[:3], "review")):
        caveats = []
        [row] = forecast(given, own, SETTINGS, caveats)
        direct = forecast_difference(PairedSample.merge(known), windows=known, confidence_level=0.9)
        assert (row["low"], row["high"], row["distance"]) == (direct.low, direct.high, direct.distance)
        assert row["difference"] == direct.difference
        assert (row["method"], row["windows"], row["basis"]) == (direct.method, len(known), whose)
        assert row["low"] <= row["difference"] <= row["high"]


def test_too_few_windows_make_no_forecast():
    past = [pair([4, i], 40, 60) for i in range(8)]
    small = [pair([5, i], 20, 60) for i in range(12)]
    caveats = []
    assert forecast(past, small, SETTINGS, caveats) == []
    values = {"confidence_level": 0.9, "needed": 9, "min_per_class": 30, "reference": 8, "review": 0}
    assert caveats == [Caveat("too-few-windows-for-forecast", **values)]
    assert forecast(past, small, replace(SETTINGS, rule=ReviewRule(confidence_level=0.8)), []) != []
