"""The AUROC over time: what is in the picture, read back from pixels and from the drawing's text."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from factories import point
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread
from numpy.typing import NDArray

from rocmonitor.policy.evaluation import Point, Status
from rocmonitor.report import timeline
from rocmonitor.report.canvas import BLUE, TOKENS

DEGRADED = TOKENS["degraded"]
EXPECTED = {"forecast/low": 0.715, "forecast/high": 0.761, "reference/auc": 0.738}
SERIES = [point(number, 0.70 + number / 100, **EXPECTED) for number in range(6)]
OUTCOMES = {each.window: Status.DEGRADED if number < 2 else Status.OK for number, each in enumerate(SERIES)}
SERIES_OF_ANY_KIND = [
    pytest.param([], id="none"),
    pytest.param(SERIES[:1], id="one"),
    pytest.param([replace(SERIES[0], metrics={"data/rows": 3.0})], id="none with an AUROC"),
    pytest.param([SERIES[0], replace(SERIES[1], metrics={}), SERIES[2]], id="a gap"),
    pytest.param([replace(SERIES[0], revision=2)], id="revised"),
    pytest.param([point(number, 0.7) for number in range(300)], id="years"),
]


def pixels(png: bytes) -> NDArray[np.float64]:
    return np.asarray(imread(io.BytesIO(png))[:, :, :3], dtype=np.float64)


def count(png: bytes, colour: str) -> int:
    return int(np.all(np.abs(pixels(png) - to_rgb(colour)) < 0.02, axis=2).sum())


class TestHistory:
    def test_equal_input_gives_equal_bytes(self) -> None:
        assert timeline.history("m", SERIES, outcomes=OUTCOMES) == timeline.history(
            "m", SERIES, outcomes=OUTCOMES
        )

    def test_degraded_windows_stand_out(self) -> None:
        assert count(timeline.history("m", SERIES, outcomes=OUTCOMES), DEGRADED) > 150
        assert count(timeline.history("m", SERIES), DEGRADED) == 0

    def test_status_is_told_without_colour(self) -> None:
        """The marker itself differs, not its colour alone."""
        with_status = pixels(timeline.history("m", SERIES, outcomes=OUTCOMES)).min(axis=2) < 0.9
        without = pixels(timeline.history("m", SERIES)).min(axis=2) < 0.9
        axes = np.s_[60:430, 70:]
        assert (with_status[axes] != without[axes]).sum() > 20

    def test_the_forecast_interval_is_a_band(self) -> None:
        bare = [point(number, 0.7 + number / 100) for number in range(6)]
        grey = to_rgb(TOKENS["band"])

        def band(png: bytes) -> int:
            return int(np.all(np.abs(pixels(png) - grey) < 0.01, axis=2).sum())

        assert band(timeline.history("m", SERIES)) > 50 * max(band(timeline.history("m", bare)), 100)

    def test_the_floor_is_a_line(self) -> None:
        with_floor = pixels(timeline.history("m", SERIES, floor=0.70))
        dark = (with_floor.max(axis=2) < 0.1).sum(axis=1)
        assert dark.max() > 400

    def test_the_order_of_windows_runs_left_to_right(self) -> None:
        rising = pixels(timeline.history("m", [point(number, 0.6 + number / 20) for number in range(6)]))
        blue = np.argwhere(np.all(np.abs(rising - to_rgb(BLUE)) < 0.02, axis=2))
        blue = blue[(blue[:, 0] < 430)]
        left, right = blue[blue[:, 1] < 300], blue[blue[:, 1] > 700]
        assert left[:, 0].mean() > right[:, 0].mean() + 100

    @pytest.mark.parametrize(
        "points",
        SERIES_OF_ANY_KIND,
    )
    def test_any_series_can_be_drawn(self, points: list[Point]) -> None:
        png = timeline.history("monitor " * 30, points, zone=ZoneInfo("Asia/Kathmandu"))
        assert pixels(png).shape == (500, 1000, 3)
        assert np.all(pixels(png)[:, -2:] == 1)


class TestSmall:
    @pytest.mark.parametrize("points", SERIES_OF_ANY_KIND)
    def test_any_series_fits(self, points: list[Point]) -> None:
        assert pixels(timeline.small("m " * 80, points)).shape == (260, 600, 3)

    def test_only_the_last_windows_are_drawn(self) -> None:
        points = [point(number, 0.7 + number / 1000) for number in range(40)]
        assert timeline.small("m", points) == timeline.small("m", points[-26:])
        assert timeline.small("m", points) != timeline.small("m", points[-25:])

    def test_an_alarm_stands_out(self) -> None:
        assert count(timeline.small("m", SERIES, outcomes=OUTCOMES), DEGRADED) > 60
        assert count(timeline.small("m", SERIES), DEGRADED) == 0


def test_the_colours_of_figures_are_the_light_theme() -> None:
    css = (files("rocmonitor.report") / "static" / "style.css").read_text(encoding="utf-8")
    light = css[: css.index("@media")]
    for name, colour in TOKENS.items():
        assert f"--{name}: {colour};" in light


@pytest.mark.parametrize("most", [5, 10])  # of a telephone and of a screen
def test_periods_of_any_length_have_dates(most: int) -> None:
    """Where matplotlib finds no step that fits it warns, as it did of 32 months on a telephone."""
    axes, start = Figure().subplots(), datetime(2024, 1, 1, tzinfo=UTC)
    for days in (0.1, 1, 2, 3, *range(5, 100, 7), *range(100, 6000, 50)):
        timeline.dates(axes, start, start + timedelta(days=days), ZoneInfo("Europe/Berlin"), most=most)
        low, high = axes.get_xlim()
        assert 1 <= sum(low <= each <= high for each in axes.get_xticks()) <= most + 1
