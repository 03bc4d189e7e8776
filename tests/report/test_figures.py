"""Figures: what is in the picture, read back from its pixels."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from factories import evaluation, measured_evaluation, point
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread
from numpy.typing import NDArray

from rocmonitor.policy.evaluation import Counts, Status
from rocmonitor.policy.judge import too_few
from rocmonitor.report import figures

EXPECTED = {"forecast/low": 0.715, "forecast/high": 0.761, "reference/auc": 0.738}
SERIES = [point(number, 0.70 + number / 100, **EXPECTED) for number in range(6)]
OUTCOMES = {each.window: Status.DEGRADED if number < 2 else Status.OK for number, each in enumerate(SERIES)}


def pixels(png: bytes) -> NDArray[np.float64]:
    return np.asarray(imread(io.BytesIO(png))[:, :, :3], dtype=np.float64)


def count(png: bytes, colour: str) -> int:
    return int(np.all(np.abs(pixels(png) - to_rgb(colour)) < 0.02, axis=2).sum())


def tinted(png: bytes) -> int:
    """Pixels of a pale blue: the champion's band."""
    red, _, blue = np.moveaxis(pixels(png), 2, 0)
    return int(((blue - red > 0.08) & (red > 0.5)).sum())


class TestRoc:
    def test_equal_input_gives_equal_bytes(self) -> None:
        assert figures.roc(measured_evaluation()) == figures.roc(measured_evaluation())

    def test_size(self) -> None:
        assert pixels(figures.roc(measured_evaluation())).shape == (860, 800, 3)

    def test_the_challenger_is_drawn_when_there_is_one(self) -> None:
        assert count(figures.roc(measured_evaluation()), figures.ORANGE) > 500
        assert count(figures.roc(measured_evaluation(challenger=None)), figures.ORANGE) == 0

    def test_fewer_rows_make_a_wider_band(self) -> None:
        many = measured_evaluation(challenger=None)
        few = measured_evaluation(n_pos=60, n_neg=300, challenger=None)
        assert tinted(figures.roc(few)) > 3 * tinted(figures.roc(many))

    def test_the_curve_is_where_the_table_says(self) -> None:
        """Of a perfect model only the upper left corner is drawn on; of a useless one only the diagonal."""
        steps = [{"model": "champion", "fpr": x / 20, "tpr": x / 20} for x in range(1, 20)]
        useless = evaluation(tables={"roc": steps})
        perfect = evaluation(tables={"roc": [row | {"tpr": 1.0} for row in steps]})
        top_left = np.s_[80:300, 70:300]
        for shown, expected in ((useless, False), (perfect, True)):
            part = pixels(figures.roc(shown))[top_left]
            blue = np.all(np.abs(part - to_rgb(figures.BLUE)) < 0.02, axis=2)
            assert blue.any() == expected

    def test_operating_points_are_marked(self) -> None:
        shown = measured_evaluation(challenger=None)
        bare = replace(shown, tables={"roc": shown.tables["roc"]})
        assert count(figures.roc(shown), figures.BLUE) > count(figures.roc(bare), figures.BLUE) + 100

    @pytest.mark.parametrize(
        ("champions", "challengers", "labels"),
        [
            pytest.param((0.10, 0.60), (0.10, 0.60), ["champion"], id="one point near the axis"),
            pytest.param((0.10, 0.60), (0.13, 0.61), ["champion"], id="close"),
            pytest.param((0.30, 0.60), (0.48, 0.57), ["champion"], id="from two sides"),
            pytest.param((0.30, 0.60), (0.30, 0.60), ["champion", "challenger"], id="below and above"),
            pytest.param((0.10, 0.60), (0.10, 0.70), ["champion", "challenger"], id="well above"),
        ],
    )
    def test_labels_do_not_lie_on_each_other(
        self, champions: tuple[float, float], challengers: tuple[float, float], labels: list[str]
    ) -> None:
        rows = [
            {"model": model, "threshold": 0.5, "fpr": fpr, "tpr": tpr}
            for model, (fpr, tpr) in (("champion", champions), ("challenger", challengers))
        ]
        axes = Figure(figsize=(8, 8.6)).add_subplot()
        figures._threshold_labels(axes, evaluation(tables={"thresholds": rows}))
        colours = {"champion": figures.BLUE, "challenger": figures.ORANGE}
        assert [text.get_color() for text in axes.texts] == [colours[model] for model in labels]

    def test_a_model_with_one_score_stays_in_the_legend(self) -> None:
        shown = measured_evaluation()
        only = {
            name: [row for row in rows if row.get("model") != "challenger"]
            for name, rows in shown.tables.items()
        }
        legend = count(figures.roc(replace(shown, tables=only)), figures.ORANGE)
        assert 0 < legend < count(figures.roc(shown), figures.ORANGE) / 5
        metrics = {name: x for name, x in shown.metrics.items() if not name.startswith("challenger/")}
        assert count(figures.roc(replace(shown, tables=only, metrics=metrics)), figures.ORANGE) == 0

    def test_without_a_curve_it_says_why(self) -> None:
        nothing = evaluation(tables={}, metrics={}, outcome=Status.INSUFFICIENT, verdicts=())
        empty = figures.roc(nothing)
        assert count(empty, figures.BLUE) == 0
        assert pixels(empty).shape == (860, 800, 3)
        why = too_few(Counts(), 20)
        assert figures.roc(replace(nothing, verdicts=(why,))) != empty
        longer = replace(why, details={"text": r"$\frac{ 12 positives " * 40})
        told = figures.roc(replace(nothing, verdicts=(longer, why)))
        assert told != empty
        assert np.all(pixels(told)[:, -2:] == 1)

    @pytest.mark.parametrize("segment", ["a=" + "long " * 60, r"a=$\frac{", "a=東京 \n tab\t", "a=^_{}"])
    def test_any_segment_name_fits(self, segment: str) -> None:
        png = figures.roc(measured_evaluation(n_pos=60, n_neg=300, segment=segment))
        assert np.all(pixels(png)[:60, -2:] == 1)


class TestHistory:
    def test_equal_input_gives_equal_bytes(self) -> None:
        assert figures.history("m", SERIES, outcomes=OUTCOMES) == figures.history(
            "m", SERIES, outcomes=OUTCOMES
        )

    def test_degraded_windows_stand_out(self) -> None:
        assert count(figures.history("m", SERIES, outcomes=OUTCOMES), figures.ORANGE) > 150
        assert count(figures.history("m", SERIES), figures.ORANGE) == 0

    def test_status_is_told_without_colour(self) -> None:
        """The marker itself differs, not its colour alone."""
        with_status = pixels(figures.history("m", SERIES, outcomes=OUTCOMES)).min(axis=2) < 0.9
        without = pixels(figures.history("m", SERIES)).min(axis=2) < 0.9
        axes = np.s_[60:430, 70:]
        assert (with_status[axes] != without[axes]).sum() > 20

    def test_the_forecast_interval_is_a_band(self) -> None:
        bare = [point(number, 0.7 + number / 100) for number in range(6)]
        grey = np.array([0.8934] * 3)

        def band(png: bytes) -> int:
            return int(np.all(np.abs(pixels(png) - grey) < 0.01, axis=2).sum())

        assert band(figures.history("m", SERIES)) > 50 * max(band(figures.history("m", bare)), 100)

    def test_the_floor_is_a_line(self) -> None:
        with_floor = pixels(figures.history("m", SERIES, floor=0.70))
        dark = (with_floor.max(axis=2) < 0.1).sum(axis=1)
        assert dark.max() > 400

    def test_the_order_of_windows_runs_left_to_right(self) -> None:
        rising = pixels(figures.history("m", [point(number, 0.6 + number / 20) for number in range(6)]))
        blue = np.argwhere(np.all(np.abs(rising - to_rgb(figures.BLUE)) < 0.02, axis=2))
        blue = blue[(blue[:, 0] < 430)]
        left, right = blue[blue[:, 1] < 300], blue[blue[:, 1] > 700]
        assert left[:, 0].mean() > right[:, 0].mean() + 100

    @pytest.mark.parametrize(
        "points",
        [
            pytest.param([], id="none"),
            pytest.param(SERIES[:1], id="one"),
            pytest.param([replace(SERIES[0], metrics={"data/rows": 3.0})], id="none with an AUROC"),
            pytest.param([SERIES[0], replace(SERIES[1], metrics={}), SERIES[2]], id="a gap"),
            pytest.param([replace(SERIES[0], revision=2)], id="revised"),
            pytest.param([point(number, 0.7) for number in range(300)], id="years"),
        ],
    )
    def test_any_series_can_be_drawn(self, points: list[object]) -> None:
        png = figures.history("monitor " * 30, points, zone=ZoneInfo("Asia/Kathmandu"))  # type: ignore[arg-type]
        assert pixels(png).shape == (500, 1000, 3)
        assert np.all(pixels(png)[:, -2:] == 1)


def test_drawing_leaves_pyplot_alone() -> None:
    script = (
        "import sys; from rocmonitor.report import figures; figures.history('m', []);"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
