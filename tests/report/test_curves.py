"""The ROC curve of a window against its reference: what is drawn, read back from the drawing."""

from __future__ import annotations

import re
from dataclasses import replace

from factories import measured_evaluation

from rocmonitor.report import curves

REFERENCE = [{"fpr": 0.0, "tpr": 0.0}, {"fpr": 0.2, "tpr": 0.6}, {"fpr": 1.0, "tpr": 1.0}]


def test_the_reference_is_a_line_of_its_own() -> None:
    found = measured_evaluation()
    alone, beside = curves.drawing(found, [], "roc"), curves.drawing(found, REFERENCE, "roc")
    assert beside.count("stroke: var(--reference)") == alone.count("stroke: var(--reference)") + 1


def test_operating_points_are_marked() -> None:
    found = measured_evaluation()
    bare = replace(found, tables={"roc": found.tables["roc"]})
    marks = [len(re.findall("<use ", curves.drawing(each, [], "roc"))) for each in (found, bare)]
    assert marks[0] - marks[1] == len(found.tables["fprs"]) + len(found.tables["thresholds"])


def test_without_a_challenger_there_is_one_curve() -> None:
    both = curves.drawing(measured_evaluation(), [], "roc")
    assert "var(--challenger)" in both
    assert "var(--challenger)" not in curves.drawing(measured_evaluation(challenger=None), [], "roc")


def test_without_a_curve_there_is_no_drawing() -> None:
    assert curves.drawing(replace(measured_evaluation(), tables={}), REFERENCE, "roc") == ""


def test_equal_windows_give_equal_text_in_the_colours_of_the_page() -> None:
    drawn = [curves.drawing(measured_evaluation(), REFERENCE, "roc") for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert not re.search(r"#[0-9a-f]{6}", drawn[0]), "a colour that no theme would change"
    assert re.search(r'aria-label="ROC curve with an AUROC of 0\.\d{3}; rates in the table below"', drawn[0])
