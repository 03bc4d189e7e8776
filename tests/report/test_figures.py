"""Figures: what is in the picture, read back from its pixels."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from factories import evaluation, measured_evaluation
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread
from numpy.typing import NDArray

from rocmonitor.policy.evaluation import Counts, Status
from rocmonitor.policy.judge import too_few
from rocmonitor.report import figures


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
        assert count(figures.roc(measured_evaluation()), figures.PURPLE) > 500
        assert count(figures.roc(measured_evaluation(challenger=None)), figures.PURPLE) == 0

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
        colours = {"champion": figures.BLUE, "challenger": figures.PURPLE}
        assert [text.get_color() for text in axes.texts] == [colours[model] for model in labels]

    def test_a_model_with_one_score_stays_in_the_legend(self) -> None:
        shown = measured_evaluation()
        only = {
            name: [row for row in rows if row.get("model") != "challenger"]
            for name, rows in shown.tables.items()
        }
        legend = count(figures.roc(replace(shown, tables=only)), figures.PURPLE)
        assert 0 < legend < count(figures.roc(shown), figures.PURPLE) / 5
        metrics = {name: x for name, x in shown.metrics.items() if not name.startswith("challenger/")}
        assert count(figures.roc(replace(shown, tables=only, metrics=metrics)), figures.PURPLE) == 0

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


@pytest.mark.slow
def test_drawing_leaves_pyplot_alone() -> None:
    script = (
        "import sys; from rocmonitor.report import figures, timeline; timeline.history('m', []);"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
