"""The chart of a page: what is marked in it, read back from the drawing's elements and text."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from factories import FIRST, WEEK, point, week

from rocmonitor.policy.evaluation import Point, Status
from rocmonitor.report import chart
from rocmonitor.report.chart import Mark

EXPECTED = {"forecast/low": 0.715, "forecast/high": 0.761, "reference/auc": 0.738}
OUTLOOK = {"outlook/auc": 0.73, "outlook/low": 0.70, "outlook/high": 0.76, "outlook/score_distance": 0.02}
SERIES = [point(number, 0.70 + number / 100, **EXPECTED) for number in range(6)]
OUTCOMES = {each.window: Status.DEGRADED if number < 2 else Status.OK for number, each in enumerate(SERIES)}
AHEAD = [Point(window=week(number), revision=0, at=FIRST, metrics=OUTLOOK) for number in (6, 7)]
MARKS = [
    Mark(at=week(1).start, kind="degraded", text="degraded from 2013-09-09: <low>"),
    Mark(at=week(1).start, kind="version", text="champion changed from version 1 to 2"),
    Mark(at=week(4).start, kind="ok", text="ok from 2013-09-30"),
]
SERIES_OF_ANY_KIND = [
    pytest.param(SERIES[:1], id="one"),
    pytest.param([replace(SERIES[0], metrics={"data/rows": 3.0})], id="none with an AUROC"),
    pytest.param([SERIES[0], replace(SERIES[1], metrics={}), SERIES[2]], id="a gap"),
    pytest.param([replace(SERIES[0], revision=2)], id="revised"),
    pytest.param([point(number, 0.7) for number in range(300)], id="years"),
]
REFERENCE = [
    {
        "start": (FIRST - (3 - number) * WEEK).isoformat(),
        "end": (FIRST - (2 - number) * WEEK).isoformat(),
        "n_pos": 150,
        "n_neg": 850,
        "auc": 0.74,
        "auc_low": 0.72,
        "auc_high": 0.76,
    }
    for number in range(3)
]


def drawn(points: list[Point] = SERIES, *, narrow: bool = False, **changes: Any) -> str:
    plain = {"label": "AUROC <over> time", "outcomes": OUTCOMES, "zone": ZoneInfo("UTC")}
    return chart.drawing(points, narrow=narrow, **plain | changes)


def test_colours_are_those_of_the_page() -> None:
    svg = drawn(marks=MARKS, reference=REFERENCE)
    assert {f"var(--{name})" for name in ("champion", "degraded", "band", "reference", "soft")} <= set(
        re.findall(r"var\(--[\w-]+\)", svg)
    )
    assert not re.search(r"#[0-9a-f]{6}", svg), "a colour that no theme would change"


def test_it_has_no_address_but_its_namespaces() -> None:
    found = re.findall(r'="(https?://[^"]*)"', drawn())
    assert all(each.startswith("http://www.w3.org/") for each in found)


def test_it_has_a_label_and_ids_of_its_own() -> None:
    wide, narrow = drawn(marks=MARKS), drawn(marks=MARKS, narrow=True)
    assert 'aria-label="AUROC &lt;over&gt; time"' in wide
    ids = [set(re.findall(r'\bid="([^"]*)"', each)) for each in (wide, narrow)]
    assert not ids[0] & ids[1]
    assert set(re.findall(r"url\(#([^)]*)\)", wide)) <= ids[0]
    assert set(re.findall(r'href="#([^"]*)"', wide)) <= ids[0]


def test_equal_input_gives_equal_text() -> None:
    assert drawn(reference=REFERENCE) == drawn(reference=REFERENCE)


@pytest.mark.parametrize("points", SERIES_OF_ANY_KIND)
@pytest.mark.parametrize("ahead", [[], AHEAD, [replace(AHEAD[0], metrics={})]])
def test_any_series_can_be_drawn(points: list[Point], ahead: list[Point]) -> None:
    assert drawn(points, ahead=ahead).startswith("<svg")


def test_a_reference_without_an_auroc_is_left_out() -> None:
    bare = [{name: row[name] for name in ("start", "end", "n_pos", "n_neg")} for row in REFERENCE]
    assert drawn(reference=bare) == drawn()


def titles(svg: str) -> dict[str, str]:
    """Text of each mark by its number."""
    found = re.findall(r'<g id="timeline-wide-mark-(\d+)"><title>([^<]*)</title>(.*?)</g>', svg, re.DOTALL)
    assert all(re.search(rf">{number}<", rest) for number, _, rest in found)
    return {number: unescape(text) for number, text, _ in found}


def test_each_mark_has_its_number_and_its_text() -> None:
    assert titles(drawn(marks=MARKS)) == {str(number): mark.text for number, mark in enumerate(MARKS, 1)}


def test_numbers_do_not_lie_on_each_other() -> None:
    svg = drawn(marks=MARKS)
    places = [
        tuple(map(float, found))
        for found in re.findall(r'mark-\d+"><title>.*?<text[^>]*? x="([\d.]+)" y="([\d.]+)"', svg, re.DOTALL)
    ]
    assert len(places) == 3
    assert places[0][1] > places[1][1] + 8, "the second stands above the first, which begins on the same day"
    assert places[2][1] == places[0][1]


def test_marks_outside_what_is_drawn_are_left_out_and_the_others_keep_their_number() -> None:
    before = Mark(at=FIRST - WEEK, kind="ok", text="before")
    assert titles(drawn(marks=[before, *MARKS])) == {
        str(number): mark.text for number, mark in enumerate(MARKS, 2)
    }


def colours(svg: str, name: str) -> int:
    return svg.count(f"var(--{name})")


def test_outlooks_of_windows_without_labels_are_the_dashed_end() -> None:
    plain, ahead = drawn(), drawn(ahead=AHEAD)
    assert ahead.count("stroke-dasharray") - plain.count("stroke-dasharray") == 3  # the line, two intervals
    assert colours(ahead, "at-risk") == colours(plain, "at-risk")
    warned = drawn(ahead=AHEAD, outcomes=OUTCOMES | {week(7): Status.AT_RISK})
    assert colours(warned, "at-risk") > colours(plain, "at-risk")


def test_what_was_foreseen_stands_beside_what_came_of_it() -> None:
    foreseen = [replace(each, metrics={**each.metrics, **OUTLOOK}) for each in SERIES]
    plain, squares = drawn(), drawn(foreseen)
    # Of each window an interval and a square.
    assert squares.count('id="timeline-wide-line2d') - plain.count('id="timeline-wide-line2d') >= 12


def test_a_window_that_waits_for_labels_is_hollow() -> None:
    filled, hollow = drawn(), drawn(waiting=[week(5)])
    assert colours(hollow, "paper") > colours(filled, "paper")


def test_rows_below_are_those_that_have_a_value() -> None:
    counted = {"data/positives": 250.0, "data/prevalence": 0.2, "data/labelled_share": 0.9}
    rows = [replace(each, metrics={**each.metrics, **counted}) for each in SERIES]
    names = ["positives", "prevalence", "labelled", "how far the scores have moved, nats"]

    def shown(svg: str) -> list[str]:
        return [name for name in names if f">{name}<" in svg]

    assert shown(drawn()) == []
    assert shown(drawn(rows)) == names[:3]
    assert shown(drawn(rows, ahead=AHEAD)) == names
    assert shown(drawn(reference=REFERENCE)) == names[:2]
