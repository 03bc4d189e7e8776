"""Words for the rows that are not used."""

from __future__ import annotations

from rocmonitor.policy.evaluation import Counts
from rocmonitor.wording.format import set_aside, set_aside_parts


def test_each_reason_has_its_words():
    counts = Counts(
        rows=1300,
        n_pos=100,
        unlabelled=1100,
        bad_score=2,
        bad_label=3,
        duplicates=4,
        outside=91,
        no_challenger=7,
    )
    assert set_aside_parts(counts) == [
        "1,100 without a label",
        "2 without a usable score",
        "3 with a label of neither class",
        "4 with an id seen before",
        "91 with a time outside the window",
    ]
    assert set_aside(counts) == ", ".join(set_aside_parts(counts))


def test_a_mapping_may_lack_counts():
    assert set_aside({"rows": 9, "used": 8, "bad_score": 1}) == "1 without a usable score"


def test_nothing_is_set_aside():
    assert set_aside(Counts(rows=9, n_pos=4, n_neg=5)) == ""
