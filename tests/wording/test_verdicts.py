"""Verdicts and reasons in words; what other tests assert as values is read here as a person reads it."""

from __future__ import annotations

from typing import Any

import pytest

from rocmonitor.caveat import Caveat
from rocmonitor.policy.evaluation import Status, Verdict
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.verdicts import by_rule, reasons, verdict, verdicts


def found(kind: str, outcome: Status = Status.OK, **values: Any) -> Verdict:
    return Verdict(rule=kind, kind=kind, outcome=outcome, **values)


BASIS = {"method": "calibrated", "sampling_low": 0.73, "sampling_high": 0.78}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            found(
                "forecast",
                Status.DEGRADED,
                estimate=0.6,
                confidence_level=0.952,
                limit=(0.7, 0.8),
                details=BASIS,
            ),
            "AUROC 0.60 is below its normal range 0.70 to 0.80 "
            "(calibrated, 95.2 %; from sampling alone 0.73 to 0.78)",
        ),
        (
            found(
                "forecast",
                estimate=0.75,
                confidence_level=0.95,
                limit=(0.7, 0.8),
                details=BASIS | {"known_level": 8 / 9, "n_windows": 8},
            ),
            "AUROC 0.75 is inside its normal range 0.70 to 0.80 (calibrated, 95 % by a model: "
            "8 windows alone show 88.9 %; from sampling alone 0.73 to 0.78)",
        ),
        (
            found(
                "forecast",
                estimate=0.9,
                limit=(0.7, 1.0),
                details={"method": "fixed", "sampling_low": None, "sampling_high": None},
            ),
            "AUROC 0.90 is inside its normal range 0.70 or more (fixed)",
        ),
        (
            found(
                "floor",
                Status.DEGRADED,
                estimate=0.6,
                low=0.58,
                high=0.62,
                confidence_level=0.99,
                limit=(0.65, None),
            ),
            "AUROC 0.60 (0.58 to 0.62) is clearly below the floor 0.65 (99 %)",
        ),
        (
            found(
                "drop",
                estimate=-0.01,
                low=-0.03,
                high=0.01,
                confidence_level=0.95,
                limit=(-0.02, 0.02),
                details={"auc": 0.74, "reference_auc": 0.75},
            ),
            "AUROC 0.74, 0.75 in the reference: −0.010 (−0.030 to +0.010): no clear change of more than 0.02",
        ),
        (
            found(
                "challenger",
                estimate=0.02,
                low=0.01,
                high=0.03,
                confidence_level=0.95,
                details={"rows": 1200},
            ),
            "challenger ahead: challenger minus champion +0.020 (+0.010 to +0.030), "
            "in this window alone, on 1,200 rows",
        ),
        (found("challenger"), "the challenger scored too few of these rows to be compared"),
        (found("data", Status.INSUFFICIENT, lacks=(Caveat("no-rows"),)), words_of(Caveat("no-rows"))),
    ],
)
def test_each_kind_has_its_sentence(given: Verdict, words: str) -> None:
    assert verdict(given) == words


def test_what_several_rules_lack_is_said_once() -> None:
    lacks = (Caveat("segment-not-in-reference"),)
    both = [
        Verdict(rule=rule, kind="forecast", outcome=Status.INSUFFICIENT, lacks=lacks)
        for rule in ("forecast", "forecast_2")
    ]
    other = found("challenger")
    said = "the reference has no rows of this segment, so forecast and forecast_2 cannot be judged"
    assert verdicts([both[0], other, both[1]]) == [said, verdict(other)]
    assert by_rule(both) == [("forecast, forecast_2", Status.INSUFFICIENT, said)]


def test_a_reason_stays_one_reason_whatever_signs_it_has() -> None:
    short = Caveat("too-few-rows", n_pos=1, n_neg=40, rows=50, unlabelled=7, min_per_class=20)
    why = found("data", Status.INSUFFICIENT, lacks=(short,))
    assert reasons([why, Caveat("error", text="down; try again")]) == [
        "1 positive and 40 negatives are usable of 50 rows (7 without a label); min_per_class is 20",
        "down; try again",
    ]


def test_a_rule_of_a_newer_version_is_named() -> None:
    stored = found("floor").to_dict() | {"kind": "seasonal", "rule": "seasonal", "since": "2026-01-05"}
    newer = Verdict.from_dict(stored)
    assert verdict(newer) == "seasonal: ok"
    assert hash(newer) == hash(Verdict.from_dict(stored))
