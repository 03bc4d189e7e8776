"""Figures of a review: what is in the picture, read back from its pixels."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from numpy.typing import NDArray
from reviews import ZONE, review

from rocmonitor.report.canvas import BLUE, PURPLE
from rocmonitor.report.review.figures import drawn, has

NAMES = ["windows", "roc", "band", "dominance", "costs"]


@cache
def whole() -> dict[str, bytes]:
    return drawn(review(), ZONE)


def only(name: str, rows: list[dict[str, Any]], **more: Any) -> NDArray[np.float64]:
    """The pixels of one figure of a review that has but this table."""
    [(drawn_name, png)] = drawn(review(tables={name: rows}, **more), ZONE).items()
    assert drawn_name == name
    return pixels(png)


def pixels(png: bytes) -> NDArray[np.float64]:
    return np.asarray(imread(io.BytesIO(png))[:, :, :3], dtype=np.float64)


def where(image: NDArray[np.float64], colour: str | tuple[float, float, float]) -> NDArray[np.bool_]:
    return np.asarray(np.all(np.abs(image - to_rgb(colour)) < 0.02, axis=2))


def rows_of(name: str) -> list[dict[str, Any]]:
    return review().tables[name]


@pytest.mark.slow
def test_equal_reviews_give_equal_bytes() -> None:
    assert drawn(review(), ZONE) == whole()


def test_all_are_as_wide_as_a_page_shows_them() -> None:
    assert list(whole()) == NAMES
    assert {pixels(png).shape[1] for png in whole().values()} == {1080}
    assert all(np.all(pixels(png)[:, -2:] == 1) for png in whole().values())  # nothing is cut


def test_what_has_no_rows_is_not_drawn() -> None:
    assert drawn(review(tables={}), ZONE) == {}
    assert drawn(review(tables={name: [] for name in NAMES}), ZONE) == {}
    assert not has(review(tables={"windows": [rows_of("windows")[3]]}), "windows")


def test_windows_are_points_where_the_table_has_them() -> None:
    rows = [row for row in rows_of("windows") if row["checked"]]
    image = only("windows", rows, decided_at=None)
    blue = where(image, BLUE)
    rising = [
        row | {"difference": 0.002 * n, "low": 0.002 * n - 0.002, "high": 0.002 * n + 0.002}
        for n, row in enumerate(rows)
    ]
    steps = np.argwhere(where(only("windows", rising, decided_at=None), BLUE)[:650])
    left, right = steps[steps[:, 1] < 400], steps[steps[:, 1] > 800]
    assert blue.sum() > 2000
    assert left[:, 0].mean() > right[:, 0].mean() + 200


def test_the_band_over_all_checks_is_drawn_and_narrows() -> None:
    rows = rows_of("windows")
    grey = where(only("windows", rows), "#D9D9D9")
    heights = [grey[:, at].sum() for at in (260, 1000)]
    assert heights[1] > 30
    assert heights[0] > 3 * heights[1]
    unknown = [row | dict.fromkeys(("running_mean", "anytime_low", "anytime_high", "pvalue")) for row in rows]
    assert where(only("windows", unknown), "#D9D9D9").sum() < grey.sum() / 20


def test_what_is_not_known_yet_is_no_band_and_widens_nothing() -> None:
    rows = rows_of("windows")
    unknown = [row | {"anytime_low": -1.0, "anytime_high": 1.0} for row in rows]
    nothing = [row | dict.fromkeys(("running_mean", "anytime_low", "anytime_high")) for row in rows]
    assert np.array_equal(only("windows", unknown), only("windows", nothing))


def test_a_window_that_is_not_checked_is_hollow() -> None:
    rows = [row | {"checked": False, "why_not": "few"} for row in rows_of("windows")]
    checked = only("windows", rows_of("windows"), decided_at=None)
    hollow = only("windows", rows, decided_at=None)
    assert where(hollow, BLUE)[:650].sum() < where(checked, BLUE)[:650].sum() - 500


def test_both_curves_are_drawn() -> None:
    rows = rows_of("roc")
    image = only("roc", rows)
    assert where(image, BLUE).sum() > 1500
    assert where(image, PURPLE).sum() > 800  # dashed
    alone = only("roc", [row for row in rows if row["model"] == "champion"])
    assert where(alone, PURPLE).sum() == 0


def shaded(rows: list[dict[str, Any]], regions: list[dict[str, Any]]) -> NDArray[np.bool_]:
    """The columns of the picture that are pale orange: the challenger's."""
    shown = review(tables={"band": rows, "regions": regions})
    image = pixels(drawn(shown, ZONE)["band"])[120:700]
    pale = where(image, tuple(0.84 + 0.16 * part for part in to_rgb(PURPLE)))
    return np.asarray(pale.sum(axis=0) > 200)


def test_regions_are_shaded_where_they_are() -> None:
    rows = rows_of("band")
    assert not shaded(rows, []).any()
    one = np.flatnonzero(shaded(rows, [{"from_fpr": 0.5, "to_fpr": 0.75, "better": "challenger"}]))
    two = np.flatnonzero(shaded(rows, [{"from_fpr": 0.5, "to_fpr": 1.0, "better": "challenger"}]))
    assert one[0] == two[0]
    assert len(one) * 2 == pytest.approx(len(two), rel=0.03)
    assert not shaded(rows, [{"from_fpr": 0.5, "to_fpr": 1.0, "better": "champion"}]).any()


def test_the_five_outcomes_fill_the_picture_in_proportion() -> None:
    even = [row | dict.fromkeys(("both_higher", "both_lower", "tie"), 0.0) for row in rows_of("dominance")]
    part = np.s_[150:550, 200:1000]
    orange = [
        where(
            only("dominance", [row | {"challenger_better": p, "champion_better": 1 - p} for row in even])[
                part
            ],
            PURPLE,
        )
        for p in (0.0, 1.0)
    ]
    assert orange[0].mean() == 0
    assert orange[1].mean() == 1


def test_savings_have_a_row_each_and_money_a_panel_for_each_unit() -> None:
    rows = rows_of("costs")
    heights = [
        only("costs", some).shape[0]
        for some in (rows[:1], rows[:2], rows, [*rows, rows[2] | {"unit": "EUR"}])
    ]
    assert heights == sorted(set(heights))
    assert heights[3] - heights[2] > heights[1] - heights[0]


@pytest.mark.parametrize("windows", [1, 4, 120])
def test_any_number_of_windows(windows: int) -> None:
    shown = review(windows=windows)
    image = only("windows", shown.tables["windows"], decided_at=shown.decided_at)
    assert np.all(image[:, -2:] == 1)


@pytest.mark.parametrize("name", ["long " * 60, "$\\frac{ 東京 \n tab\t ^_{}"])
def test_any_names_fit(name: str) -> None:
    tables = {table: rows_of(table)[:3] for table in ("windows", "roc", "costs")}
    tables["costs"] = [row | {"unit": name} for row in rows_of("costs")]
    shown = replace(review(), monitor=name, champion_version=name, challenger_version=name, tables=tables)
    for png in drawn(shown, ZONE).values():
        assert pixels(png).shape[1] == 1080
        assert np.all(pixels(png)[:, -2:] == 1)
