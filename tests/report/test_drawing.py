"""Paths of the small drawings."""

from __future__ import annotations

import re
from typing import Any

import pytest

from rocmonitor.policy.evaluation import Brief
from rocmonitor.report.chart import _steps, seconds
from rocmonitor.report.shapes import (
    HEIGHT,
    SQUARE,
    STEP,
    area,
    bar,
    forest,
    polyline,
    roc,
    scale,
    shares,
    spark,
)


def brief(auc: float | None, outcome: str = "ok", low: float | None = 0.7, high: float | None = 0.8) -> Brief:
    half = None if auc is None else 0.01
    return Brief(
        outcome,
        auc,
        None if auc is None or half is None else auc - half,
        None if auc is None or half is None else auc + half,
        low,
        high,
        1.0,
    )


def absolute(path: str) -> list[tuple[int, int]]:
    """The corners of a path of M and l."""
    found = re.fullmatch(r"M(-?\d+) (-?\d+)(?:l(.*?))?z?", path)
    assert found
    x, y = int(found[1]), int(found[2])
    corners = [(x, y)]
    steps = [int(each) for each in re.findall(r"-?\d+", found[3] or "")]
    for dx, dy in zip(steps[::2], steps[1::2], strict=True):
        x, y = x + dx, y + dy
        corners.append((x, y))
    return corners


@pytest.mark.parametrize("points", [[(3, 4)], [(0, 0), (8, -3), (16, 5), (16, 5), (9, -20)]])
def test_a_path_goes_through_its_points(points: list[tuple[int, int]]) -> None:
    assert absolute(polyline(points)) == points


def test_an_area_is_the_upper_line_and_the_lower_one_back() -> None:
    assert absolute(area([0, 10], [30, 31], [5, 6])) == [(0, 5), (10, 6), (10, 31), (0, 30)]


def test_values_become_heights_from_below() -> None:
    y = scale(0.5, 1.0, 40, 0)
    assert [y(0.5), y(0.75), y(1.0), y(2.0), y(0.0)] == [40, 20, 0, 0, 40]


def test_the_small_chart_has_band_line_interval_and_marks() -> None:
    shape = spark([brief(0.75), brief(0.74), brief(0.6, "degraded"), brief(0.76)])
    line, whisker = shape.line.rsplit("M", 1)
    corners = absolute(line)
    assert [x for x, _ in corners] == [STEP // 2 + STEP * number for number in range(4)]
    assert max(corners, key=lambda corner: corner[1])[0] == STEP // 2 + 2 * STEP  # the lowest AUROC
    assert all(0 <= y <= HEIGHT for _, y in corners)
    assert shape.band.count("M") == 1  # equal ends are drawn once
    assert shape.alarms.count("M") == 1
    assert whisker.startswith(f"{corners[-1][0]} ")
    assert shape.outlook == ""


def test_a_window_without_an_auroc_leaves_a_gap_in_the_count_of_points_only() -> None:
    shape = spark([brief(0.75), brief(None, "insufficient"), brief(0.74)])
    line = shape.line.rsplit("M", 1)[0]
    assert [x for x, _ in absolute(line)] == [STEP // 2, STEP // 2 + 2 * STEP]


def test_outlooks_follow_as_a_hollow_end() -> None:
    shape = spark([brief(0.75), brief(0.74)], ahead=[0.7, 0.68])
    assert shape.end == ""
    assert [x for x, _ in absolute(shape.outlook.partition("m")[0])] == [
        STEP // 2 + STEP * number for number in (1, 2, 3)
    ]


def test_nothing_known_draws_nothing() -> None:
    shape = spark([brief(None, "insufficient", None, None)])
    assert (shape.band, shape.line, shape.end) == ("", "", "")


def test_a_curve_goes_from_corner_to_corner() -> None:
    rows = [{"model": "champion", "fpr": 0.1, "tpr": 0.4, "tpr_low": 0.3, "tpr_high": 0.5}]
    assert absolute(roc(rows, "champion")["line"]) == [(0, SQUARE), (30, 180), (SQUARE, 0)]
    assert roc(rows, "challenger")["line"] == ""


def test_shares_are_drawn_against_the_largest() -> None:
    rows = [{"pos_reference": 0.5, "pos_window": 0.25}, {"pos_reference": 0.0, "pos_window": 0.5}]
    drawn = shares(rows, "pos")
    assert drawn["reference"] == "M4 120v-120h52v120z"
    assert drawn["window"] == "M0 60h60M60 0h60"


def test_a_verdict_without_numbers_has_no_bar() -> None:
    blank: dict[str, Any] = dict.fromkeys(("estimate", "low", "high", "limit_low", "limit_high"))
    blank |= {"is_difference": False}
    assert bar(blank) is None
    shape = bar(blank | {"estimate": 0.6, "limit_low": 0.7})
    assert shape is not None
    assert shape["at"] < shape["limits"][0] == shape["allowed"][0]
    assert [text for _, text, _ in shape["ticks"]] == ["0.7", "0.6"]
    assert shape["zero"] is None


def test_a_difference_stands_beside_0() -> None:
    blank = dict.fromkeys(("limit_low", "limit_high")) | {"is_difference": True}
    shape = bar(blank | {"estimate": 0.3, "low": 0.2, "high": 0.4})
    assert shape is not None
    assert shape["zero"] < shape["ends"][0]
    assert [text for _, text, _ in shape["ticks"]] == ["0"]


def test_the_alarm_that_stands_is_underlined() -> None:
    assert spark([brief(0.7)] * 5, standing=2).standing == f"M{3 * STEP} {HEIGHT - 1}h{2 * STEP}"
    assert spark([brief(0.7)] * 5).standing == ""


def test_segments_share_one_axis() -> None:
    names = ("low", "auc", "high", "expected_low", "expected_high")
    first = dict(zip(names, (0.6, 0.7, 0.8, None, None), strict=True))
    second = dict(zip(names, (0.5, 0.6, 0.7, 0.65, 0.9), strict=True))
    found = forest([first, second])
    assert (found["low"], found["high"]) == (0.5, 0.9)
    assert found["rows"][0]["ends"][0] == found["rows"][1]["at"]
    assert found["rows"][0]["expected"] is None


def test_numbers_below_an_axis_do_not_lie_on_each_other() -> None:
    shape = bar({"estimate": 0.607, "low": None, "high": None, "limit_low": 0.62, "limit_high": 0.845}
                | {"is_difference": False})  # fmt: skip
    assert shape is not None
    assert [text for _, text, _ in shape["ticks"]] == ["0.62", "0.845"]


def test_a_loss_is_dashed_from_where_it_is_no_longer_certain() -> None:
    weeks = [
        {"start": f"2026-06-{day:02}T00:00Z", "end": f"2026-06-{day + 7:02}T00:00Z"} for day in (1, 8, 15)
    ]
    lost = {"start": weeks[0]["start"], "end": None, "windows": 2, "auc": 0.6, "auc_low": 0.5}
    view: dict[str, Any] = {"points": weeks, "episode": lost | {"auc_high": 0.7, "still": None}}
    [certain] = _steps(view)
    assert certain["sure"] == certain["end"] == seconds(weeks[2]["end"])
    view["episode"] = lost | {"auc_high": 0.7, "still": -0.01}
    [open_again] = _steps(view)
    assert (open_again["sure"], open_again["end"]) == (seconds(weeks[1]["end"]), seconds(weeks[2]["end"]))
