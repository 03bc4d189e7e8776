"""What a message says that a window lacks, where counts of rows and classes do not show it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rocmonitor.caveat import Caveat
from rocmonitor.policy.evaluation import Counts, Evaluation, Status, Transition, Verdict
from rocmonitor.policy.windows import DAY, Window
from rocmonitor.wording.status import advice, lack

ENOUGH = Counts(rows=1_000, n_pos=128, n_neg=272, unlabelled=600)


@pytest.mark.parametrize(
    ("found", "words", "check"),
    [
        (Caveat("one-cluster", positives=1, negatives=1), "come from one cluster", "columns.cluster"),
        (Caveat("too-few-labels"), "too few rows have a label", "window.min_labelled"),
        (Caveat("condensed-too-coarse"), "cells are too coarse", "condense.per_unit"),
        (Caveat("labels-not-estimated"), "cannot be estimated", "window.label_delay"),
    ],
)
def test_a_window_with_rows_enough_is_not_said_to_have_too_few(found, words, check):
    decided = Verdict(rule="data", kind="data", outcome=Status.INSUFFICIENT, lacks=(found,))
    lacking, look = lack(ENOUGH, decided)
    assert words in lacking
    assert check in look
    assert "min_per_class" not in look


def test_a_small_window_is_said_to_be_small():
    decided = Verdict(rule="data", kind="data", outcome=Status.INSUFFICIENT, lacks=(Caveat("too-few-rows"),))
    few, look = lack(Counts(rows=9, n_pos=4, n_neg=5), decided)
    assert few == "only 4 positives and 5 negatives"
    assert "a smaller min_per_class" in look
    least = Caveat("too-few-rows", min_per_class=2)
    decided = Verdict(rule="data", kind="data", outcome=Status.INSUFFICIENT, lacks=(least,))
    few, look = lack(Counts(rows=6, n_pos=1, n_neg=5), decided)
    assert few == "only 1 positive and 5 negatives"
    assert "min_per_class" not in look


@pytest.mark.parametrize(
    ("code", "check"),
    [
        ("window-not-probabilities", "from 0 to 1"),
        ("no-calibration-slope", "is the label not among them"),
        ("no-scatter-to-compare", "is the scoring broken"),
        ("condensed-too-coarse", "condense.per_unit"),  # of the reference
        ("rule-needs-all-labels", "window.label_delay"),
        ("labels-arrive-otherwise", "window.label_delay"),
    ],
)
def test_scores_that_are_no_probabilities_are_not_looked_for_in_the_reference(code, check):
    lacking = Verdict(
        rule="calibration", kind="calibration", outcome=Status.INSUFFICIENT, lacks=(Caveat(code),)
    )
    at = datetime(2026, 6, 1, tzinfo=UTC)
    change = Transition(
        monitor="credit",
        segment="",
        before=Status.OK,
        after=Status.INSUFFICIENT,
        since=at,
        at=at,
        reasons=(lacking,),
    )
    evaluation = Evaluation(
        monitor="credit",
        model="credit",
        champion_version="7",
        window=Window(at, at + DAY),
        at=at + DAY,
        evaluated_at=at + DAY,
        outcome=Status.INSUFFICIENT,
        status=Status.INSUFFICIENT,
        counts=ENOUGH,
        verdicts=(lacking,),
    )
    assert check in advice(change, evaluation)
