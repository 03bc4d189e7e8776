"""The AUROC over time: what is in the picture, read back from pixels and from the drawing's text."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from factories import point
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread
from numpy.typing import NDArray

from rocmonitor.policy.evaluation import Point, Status
from rocmonitor.report.timeline import BLUE, TOKENS, dates, timeline

DEGRADED = TOKENS["degraded"]
EXPECTED = {"forecast/low": 0.715, "forecast/high": 0.761, "reference/auc": 0.738}
SERIES = [point(number, 0.70 + number / 100, **EXPECTED) for number in range(6)]
TOLD = [replace(each, outcome=Status.DEGRADED) for each in SERIES[:2]] + SERIES[2:]
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


def drawn(points: list[Point] = SERIES, **more: Any) -> bytes:
    return timeline("m", points, **{"zone": ZoneInfo("UTC"), **more})


def test_equal_input_gives_equal_bytes() -> None:
    assert drawn(TOLD) == drawn(TOLD)


def test_degraded_windows_stand_out() -> None:
    assert count(drawn(TOLD), DEGRADED) > 100
    assert count(drawn(), DEGRADED) == 0


def test_status_is_told_without_colour() -> None:
    """The marker itself differs, not its colour alone."""
    with_status = pixels(drawn(TOLD)).min(axis=2) < 0.9
    without = pixels(drawn()).min(axis=2) < 0.9
    axes = np.s_[60:300, 70:]
    assert (with_status[axes] != without[axes]).sum() > 20


def test_the_normal_range_is_a_band() -> None:
    grey = to_rgb(TOKENS["band"])

    def band(png: bytes) -> int:
        return int(np.all(np.abs(pixels(png) - grey) < 0.01, axis=2).sum())

    bare = [point(number, 0.7 + number / 100) for number in range(6)]
    assert band(drawn()) > 50 * max(band(drawn(bare)), 100)


def test_the_floor_is_a_line() -> None:
    dark = (pixels(drawn(floor=0.70)).max(axis=2) < 0.1).sum(axis=1)
    assert dark.max() > 300


def test_the_order_of_windows_runs_left_to_right() -> None:
    rising = pixels(drawn([point(number, 0.6 + number / 20) for number in range(6)]))
    blue = np.argwhere(np.all(np.abs(rising - to_rgb(BLUE)) < 0.02, axis=2))
    blue = blue[(blue[:, 0] < 300)]
    left, right = blue[blue[:, 1] < 250], blue[blue[:, 1] > 600]
    assert left[:, 0].mean() > right[:, 0].mean() + 70


def test_hollow_windows_wait_for_labels() -> None:
    assert count(drawn(waiting=[SERIES[-1].window]), BLUE) < count(drawn(), BLUE)


@pytest.mark.parametrize("points", SERIES_OF_ANY_KIND)
def test_any_series_can_be_drawn(points: list[Point]) -> None:
    png = timeline("monitor " * 30, points, zone=ZoneInfo("Asia/Kathmandu"))
    assert pixels(png).shape == (360, 800, 3)
    assert np.all(pixels(png)[:, -2:] == 1)


@pytest.mark.slow
def test_drawing_leaves_pyplot_alone() -> None:
    script = (
        "import sys; from rocmonitor.report import timeline; from zoneinfo import ZoneInfo;"
        "timeline.timeline('m', [], zone=ZoneInfo('UTC'));"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_the_colours_of_figures_are_the_light_theme() -> None:
    css = (files("rocmonitor.report") / "static" / "style.css").read_text(encoding="utf-8")
    light = css[: css.index("@media")]
    for name, colour in TOKENS.items():
        assert f"--{name}: {colour};" in light


def test_periods_of_any_length_have_dates() -> None:
    """Where matplotlib finds no step that fits, it warns."""
    axes, start = Figure().subplots(), datetime(2024, 1, 1, tzinfo=UTC)
    for days in (0.1, 1, 2, 3, *range(5, 100, 7), *range(100, 6000, 50)):
        dates(axes, start, start + timedelta(days=days), ZoneInfo("Europe/Berlin"))
        low, high = axes.get_xlim()
        assert 1 <= sum(low <= each <= high for each in axes.get_xticks()) <= 11
