"""Sentences of the caveats on curves and costs: each has one, with its numbers."""

from __future__ import annotations

import pytest

from rocmonitor.caveat import Caveat
from rocmonitor.wording.caveats import words_of

CAVEATS = [
    (Caveat("clipped", rate="TPR", count=1, total=9, within="[0, 1]", at=[0.5]), "1 of 9 TPR intervals is"),
    (Caveat("clipped", rate="cost", count=2, total=9, within="[-1, 1]"), "2 of 9 cost intervals are"),
    (Caveat("zero-length", rate="FPR", count=3, total=9, at=["inf"]), "3 of 9 FPR"),
    (Caveat("off-estimate", rate="TPR difference", count=3, total=9), "3 of 9 TPR difference"),
    (Caveat("conservative", rate="FPR", count=2, total=9, at=[1.0, 2.0]), "2 of 9 FPR intervals are conserv"),
    (
        Caveat("moved-rate", count=1, total=2, at=[0.3], used=[0.25], rows=4),
        "1 of 2 rates is not a multiple of 1/4",
    ),
    (
        Caveat("moved-rate", count=2, total=2, at=[0.3] * 2, used=[0.25] * 2, rows=4),
        "are not multiples of 1/4",
    ),
    (Caveat("thinned", count=2, total=2, at=[0.1, 0.2], kept=200), "approximate (200 thresholds)"),
    (Caveat("tied-threshold", count=1, total=2, at=[0.2], realised=[1.0]), "at 1 of 2 rates"),
    (
        Caveat("tied-threshold", count=2, total=2, at=[0.2, 0.3], realised=[0.9, 0.8], model="challenger"),
        "reaches 0.9 where 0.2 was asked for",
    ),
    (Caveat("nearest-rate", fpr=0.01, used_fpr=0.02, n_neg=70), "the true positive rate at 0.01 is given"),
    (
        Caveat("nearest-rate", fpr=0.01, used_fpr=0.02, n_neg=70, model="challenger"),
        "the true positive rate of the challenger at 0.01 is given at 0.02",
    ),
    (Caveat("resample-sizes", m_pos=3000, m_neg=3), "3,000 positives and 3 negatives"),
    (Caveat("few-errors", at=[0.01, 0.99], errors=10, instead="mover"), "fewer than 10 errors"),
    (Caveat("few-errors", at=[0.1 * i for i in range(10)], errors=10, instead="mover"), "0.3, …, 0.7"),
    (Caveat("moved-by-smoothing", at=[0.01], instead="mover"), "at w = 0.01"),
]


@pytest.mark.parametrize(("caveat", "fragment"), CAVEATS, ids=lambda value: getattr(value, "code", ""))
def test_a_sentence_has_the_numbers(caveat, fragment):
    assert fragment in words_of(caveat)
    assert Caveat.from_dict(caveat.to_dict()) == caveat


def test_the_model_can_be_named():
    tied = Caveat("tied-threshold", count=1, total=1, at=[0.2], realised=[1.0], model="first")
    assert words_of(tied.replacing(model="champion")).startswith("champion model: ")
