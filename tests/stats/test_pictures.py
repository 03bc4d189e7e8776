"""How results are shown: pictures, one line, HTML, format."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import ClassVar

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from stats.pictures import every_picture

from rocmonitor import stats
from rocmonitor.caveat import Caveat
from rocmonitor.stats import AucResult, Interval, plotting
from rocmonitor.stats.result import Result, Table

PICTURES = every_picture()
ENDS = (
    "low",
    "high",
    "tpr_low",
    "tpr_high",
    "dtpr_low",
    "dtpr_high",
    "fpr_low",
    "fpr_high",
    "dfpr_low",
    "dfpr_high",
)
RANGES = {"PartialAucResult", "ShiftExplanation", "ScoreShift"}  # their low and high are no interval's
NO_PICTURE = {
    "CondensedError",
    "AucSampleSize",
    "AucSpread",
    "CalibrationResult",
    "ExpectedAuc",
    "ExpectedAucDifference",
    "ForecastFit",
    "ForeseenChange",
    "HistoryLimit",
    "LastingChart",
    "OperatingCondition",
    "PairedSpread",
    "PartlyLabelledAuc",
    "ScoreHistory",
}


def results():
    return {
        name: kind
        for name in stats.__all__
        if inspect.isclass(kind := getattr(stats, name)) and issubclass(kind, Result)
    }


def drawn(result, **options):
    ax = Figure(layout="constrained").subplots()
    assert result.plot(ax, **options) is ax
    return ax


def numbers(ax):
    """Every coordinate of every line, area and bar."""
    paths = [line.get_xydata() for line in ax.lines]
    paths += [path.vertices for collection in ax.collections for path in collection.get_paths()]
    paths += [patch.get_bbox().get_points() for patch in ax.patches]
    return np.concatenate([np.ravel(path) for path in paths])


def test_every_result_has_a_picture_but_those_without_table_and_interval():
    assert {*results(), "Interval"} == PICTURES.keys() | NO_PICTURE
    assert not any(issubclass(results()[name], Table) for name in NO_PICTURE)


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_labels_and_every_end_of_its_intervals(name):
    result = PICTURES[name]
    ax = drawn(result)
    assert ax.get_xlabel()
    assert ax.get_ylabel() or ax.get_yticklabels()
    there = numbers(ax)
    if name == "LastingChange":
        assert np.isin(result.statistic, there).all()
        assert {result.limit, result.since_ci()[0] - 0.5, result.since_ci()[1] + 0.5} <= set(there)
    wanted = [np.ravel(getattr(result, end)) for end in ENDS if hasattr(result, end) and name not in RANGES]
    if hasattr(result, "ci") and name != "LastingChange":  # its picture is of the chart, the change in words
        wanted += [np.ravel(result.ci())]
    for values in wanted:
        values = values[1:-1] if name == "RocBand" else values  # half of the outermost ends is not used
        if name == "ConfidenceSequence":
            values = values[np.abs(values) < 1]
        assert np.isclose(values[:, None], there, rtol=0, atol=1e-12).any(axis=1).all()


def test_two_results_on_the_same_axes_have_two_colours_and_their_labels():
    ax = drawn(PICTURES["RocBand"], label="champion")
    PICTURES["VerticalIntervals"].plot(ax, label="challenger")
    ours = [line for line in ax.lines if line.get_gid() == "rocmonitor"]
    assert len({line.get_color() for line in ours}) == 2
    assert {"champion", "challenger"} <= {text.get_text() for text in ax.texts}


def test_intervals_on_the_same_axes_are_rows_below_each_other():
    ax = drawn(PICTURES["AucResult"], label="champion")
    PICTURES["AucResult"].plot(ax, label="challenger")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["champion", "challenger"]
    assert list(ax.get_yticks()) == [0, 1]


def test_own_labels_and_axes_are_kept():
    figure = Figure()
    left, right = figure.subplots(1, 2)
    left.set_title("Figure 1a", loc="left")
    PICTURES["RocBand"].plot(left)
    assert left.get_title(loc="left") == "Figure 1a"
    assert not right.lines


def test_without_axes_new_ones_of_pyplot_are_made():
    before = len(pyplot.get_fignums())
    ax = PICTURES["VerticalIntervals"].plot()
    assert pyplot.gcf() is ax.figure
    pyplot.close(ax.figure)
    assert len(pyplot.get_fignums()) == before


def test_what_has_no_picture_refuses_to_draw_one():
    with pytest.raises(TypeError, match="AucSampleSize has no picture"):
        stats.auc_sample_size(stats.AucSpread.normal(0.8), 0.05, ratio=1).plot()


@pytest.mark.parametrize("name", PICTURES)
def test_one_line_and_a_small_page(name):
    result, figures = PICTURES[name], pyplot.get_fignums()
    assert "\n" not in repr(result)
    assert len(repr(result)) < 200
    assert repr(result).startswith(f"{name}(")
    if name != "Interval":
        page = result._repr_html_()
        assert page.count("<img src=") == 1
        assert page.count("<tr>") <= 12
        assert len(page) < 60_000
        assert page == result._repr_html_()
    assert pyplot.get_fignums() == figures


def test_a_page_is_escaped_and_has_the_caveats():
    result = AucResult(
        auc=0.5,
        se=0.1,
        n_pos=3,
        n_neg=4,
        method="<script>alert(1)</script>",
        caveats=(Caveat("not-computed", why="<b>bold</b>"),),
    )
    page = result._repr_html_()
    seen = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            seen.append(tag)

    Reader().feed(page)
    assert not {"script", "b"} & set(seen)
    assert "&lt;b&gt;bold" in page


def test_a_long_table_shows_its_ends():
    band = PICTURES["RocPointwise"]
    page = band._repr_html_()
    assert page.count("<tr>") == 1 + 5 + 1 + 5
    assert f"<td>{band.fpr[0]:.6g}</td>" in page
    assert f"<td>{band.fpr[-1]:.6g}</td>" in page


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("AucResult", "auc"),
        ("BootstrapAucResult", "auc"),
        ("AucDifference", "difference"),
        ("PartialAucResult", "auc"),
        ("ForecastInterval", "auc"),
        ("ForecastDifference", "difference"),
        ("AucBounds", "auc"),
        ("ScoreForecast", "auc"),
        ("LastingChange", "change"),
    ],
)
def test_format_is_that_of_the_estimate(name, field):
    result = PICTURES[name]
    assert f"{result:.3f}" == f"{getattr(result, field):.3f}"
    assert f"{result}" == str(result)


def test_format_of_an_interval_is_that_of_both_ends():
    assert f"{Interval(0.61234, 0.7):.3f}" == "0.612 to 0.700"
    assert f"{Interval(0.5, 0.7)}" == "0.5000 to 0.7000"


def test_without_a_single_estimate_format_names_the_fields():
    with pytest.raises(
        TypeError, match=r"RocBand has no single estimate; take one of its fields: .* tpr, low, high"
    ):
        format(PICTURES["RocBand"], ".3f")


def test_a_change_that_was_not_found_has_no_format_and_still_a_picture():
    weeks = [stats.Sample([0, 1] * 40, np.arange(80) * 37 % (79 + number)) for number in range(12)]
    calm = stats.lasting_change(weeks, weeks[:4])
    assert calm.since is None
    with pytest.raises(TypeError, match=r"LastingChange.change is None: there is no number"):
        format(calm, ".3f")
    assert calm.limit in numbers(drawn(calm))


def test_a_new_result_inherits_how_it_is_shown():
    """A new result needs a field name and a drawing, nothing else."""

    @dataclass(frozen=True, slots=True, kw_only=True, eq=False)
    class ExpectedAuc(Result):
        _estimate: ClassVar[str | None] = "auc"
        auc: float

        def _draw(self, ax, label):
            plotting.rows(ax, ["expected"], [(self.auc, 0.6, 0.8)], x="AUROC", note="", label=label)

    result = ExpectedAuc(auc=0.71)
    assert repr(result) == "ExpectedAuc(auc=0.71)"
    assert f"{result:.1f}" == "0.7"
    assert result.to_dict() == {"auc": 0.71}
    assert 0.6 in numbers(drawn(result))
    assert "<img" in result._repr_html_()


def test_matplotlib_is_imported_by_a_picture_only():
    program = """
import sys
from rocmonitor.stats import auc
area = auc([0, 1, 0, 1, 1], [1, 2, 3, 4, 5])
repr(area), str(area), area.ci(), format(area, ".2f")
assert "matplotlib" not in sys.modules
area._repr_html_()
assert "matplotlib" in sys.modules and "matplotlib.pyplot" not in sys.modules
area.plot()
assert "matplotlib.pyplot" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
