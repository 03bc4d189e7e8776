"""One window as a file of its own, as MLflow keeps it."""

from __future__ import annotations

import re
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from factories import evaluation, week

from rocmonitor.policy.evaluation import Counts
from rocmonitor.policy.reference import freeze
from rocmonitor.report.pages import reference_curve, window_page
from rocmonitor.rules import Forecast
from rocmonitor.stats import Sample

UTC = ZoneInfo("UTC")
HOSTILE = "<script>alert(1)</script>\"'\n&"


def drawn(seed: int, n_pos: int, n_neg: int) -> Sample:
    rng = np.random.default_rng(seed)
    y = np.repeat([1, 0], [n_pos, n_neg])
    return Sample(y, rng.normal(size=len(y)) + 1.2 * y)


def body(page: str) -> str:
    return re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)


def test_it_shows_the_window_and_asks_for_nothing_from_outside() -> None:
    told = evaluation()
    page = window_page(told, ZoneInfo("America/New_York"))
    assert page == window_page(told, ZoneInfo("America/New_York"))
    shown = body(page)
    for words in (
        "flights, 2013-09-0",
        "Times in America/New_York.",
        "Champion version 3, challenger version 4.",
        "AUROC 0.70 is below its normal range",
        "250 positives and 950 negatives of 1,300 rows",
        "rocmonitor backfill flights --from ",
    ):
        assert words in shown
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=\"(https?:)?//", page)
    known = set(re.findall(r'id="([^"]*)"', page))
    assert set(re.findall(r'href="#([^"]*)"', page)) <= known


def test_no_value_becomes_markup() -> None:
    told = evaluation(segment=f"region={HOSTILE}", champion_version=HOSTILE, challenger_version="`8`")
    shown = body(window_page(told, UTC))
    assert "<script>alert" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown


@pytest.mark.parametrize("changes", [{"tables": {}}, {"metrics": {}, "tables": {}, "verdicts": ()}])
def test_what_a_window_lacks_is_left_out(changes: dict[str, object]) -> None:
    shown = body(window_page(evaluation(counts=Counts(rows=0, n_pos=0, n_neg=0), **changes), UTC))
    assert "No curve" in shown
    assert not re.search(r"\b(None|nan|undefined)\b", shown)


def test_the_curve_of_the_reference_is_drawn_where_it_is_kept() -> None:
    rows = [{"model": "champion", "fpr": x, "tpr": x**0.5} for x in (0.0, 0.5, 1.0)]
    frozen = {"": freeze([(week(0), drawn(1, 300, 500))], {"forecast": Forecast()}).to_dict()}
    told = evaluation(tables={"roc": rows})
    assert 'class="key before"' in window_page(told, UTC, frozen)
    assert 'class="key before"' not in window_page(told, UTC)


def test_the_curve_of_a_reference_is_thin_and_has_its_area() -> None:
    frozen = freeze([(week(0), drawn(3, 3000, 9000))], {"forecast": Forecast()})
    curve = reference_curve({"": frozen.to_dict()}, "")
    fpr, tpr = (np.array([row[rate] for row in curve]) for rate in ("fpr", "tpr"))
    assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
    assert np.all(np.diff(fpr) >= 0)
    assert np.all(np.diff(tpr) >= 0)
    assert len(curve) <= 202
    assert frozen.auc is not None
    assert np.trapezoid(tpr, fpr) == pytest.approx(frozen.auc.auc, abs=0.002)


@pytest.mark.parametrize("frozen", [None, {}, {"": {}}, {"": {"cells": None}}])
def test_without_cells_there_is_no_curve(frozen: dict[str, object] | None) -> None:
    assert reference_curve(frozen, "") == []
