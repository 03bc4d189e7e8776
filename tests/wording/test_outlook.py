"""Outlooks in words: what is expected, what warns, and what came of it."""

from typing import Any

import pytest
from store.test_outlooks import NOW, an_outlook

from rocmonitor.policy.evaluation import Status, Transition, Verdict
from rocmonitor.wording import outlook as words
from rocmonitor.wording.verdicts import verdict

METRICS = {"outlook/auc": 0.68, "outlook/low": 0.6, "outlook/high": 0.75}


def test_what_was_foreseen_stands_beside_what_came_out() -> None:
    assert words.foreseen(METRICS) == ""
    assert words.foreseen(METRICS | {"champion/auc": 0.61}) == ("0.680 (0.600 to 0.750); came out 0.610")
    assert "with a warning" in words.foreseen(METRICS | {"champion/auc": 0.61, "outlook/warned": 1.0})


def rule(**values: Any) -> Verdict:
    return Verdict(**{"rule": "outlook", "kind": "outlook", "outcome": Status.AT_RISK, **values})


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            rule(estimate=0.68, confidence_level=0.95, limit=(0.7, None), details={"against": "windows"}),
            "outlook AUROC 0.68 is below the lowest outlook of reference windows, 0.70 (95 %)",
        ),
        (
            rule(
                estimate=0.6,
                low=0.55,
                high=0.64,
                confidence_level=0.95,
                limit=(0.65, None),
                details={"against": "floor"},
            ),
            "outlook AUROC 0.55 to 0.64 (95 %) is all below the floor 0.65",
        ),
        (
            rule(
                estimate=0.6,
                low=0.55,
                high=0.64,
                confidence_level=0.95,
                limit=(0.66, None),
                details={"against": "forecast"},
            ),
            "is all below the normal range, 0.66 or more",
        ),
        (
            rule(rule="scores", kind="scores", estimate=0.05, confidence_level=0.9, limit=(None, 0.02)),
            "the scores have moved by 0.05 nats, more than those of reference windows of this size "
            "(0.02, 90 %)",
        ),
    ],
)
def test_a_rule_says_what_it_found_and_what_it_compared_with(found: Verdict, sentence: str) -> None:
    assert sentence in verdict(found)


def test_what_moved_names_where_scores_came_to_and_where_they_left() -> None:
    rows = [
        {"low": 0.0, "high": 0.3, "reference": 0.5, "window": 0.2, "nats": 0.0},
        {"low": 0.3, "high": 0.9, "reference": 0.5, "window": 0.8, "nats": 0.0},
    ]
    found = words.moved(an_outlook(tables={"scores": rows}))
    assert found.startswith(
        "80 % of scores from 0.3 to 0.9, 50 % in the reference; 20 % of scores from 0 to 0.3"
    )
    assert words.moved(an_outlook(tables={})) == ""


def test_a_warning_names_what_it_compared_not_a_range_that_contains_it() -> None:
    lower = rule(estimate=0.7562, limit=(0.7813, None), details={"against": "windows"})
    metrics = {"outlook/auc": 0.8023, "outlook/low": 0.72, "outlook/high": 0.88}
    normal = {"forecast/low": 0.72, "forecast/high": 0.88}
    outlook = an_outlook(verdicts=(lower,), metrics=metrics | normal)
    change = Transition(
        monitor="credit", before=Status.OK, after=Status.AT_RISK, reasons=(lower,), at=NOW, since=NOW
    )
    assert words.title(change, outlook) == "outlook AUROC 0.76, 0.78 or more in the reference"
    assert words.headline(change, outlook) == (
        "Outlook from the scores: AUROC 0.76, 0.78 or more in the reference; the labels are not due yet"
    )
