"""Every kind of message as people read it, kept in ``messages/*.txt`` so that a review shows its changes.

After a change that is meant, write them anew and read the difference::

    ROCMONITOR_WRITE_MESSAGES=1 python -m pytest tests/alerts/test_messages.py
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from alarms import (
    BELOW,
    BERLIN,
    CONTEXT,
    FLOOR_HOLDS,
    FOUND,
    MONDAY,
    WHOSE,
    evaluation,
    explained,
    transition,
)
from reviews import review

from rocmonitor.alerts import (
    MOST_NAMED,
    Concerned,
    Message,
    compose,
    compose_outage,
    compose_outlook,
    compose_review,
    compose_revised,
    compose_several,
    compose_stop,
    trial_message,
)
from rocmonitor.alerts.message import LONGEST_TEXT
from rocmonitor.alerts.service import _fitting
from rocmonitor.caveat import Caveat
from rocmonitor.policy.episode import Decline
from rocmonitor.policy.evaluation import Counts, Status, Verdict
from rocmonitor.policy.explanation import GroupPart
from rocmonitor.policy.judge import too_few
from rocmonitor.policy.outages import REVIEW, Member, Notice, Outage, Phase
from rocmonitor.policy.outlook import Outlook
from rocmonitor.policy.review.document import Decision
from rocmonitor.policy.status import Revised
from rocmonitor.policy.stops import Stop
from rocmonitor.policy.windows import Window

FOLDER = Path(__file__).parent / "messages"
_SMS = 160

INSIDE = replace(BELOW, outcome=Status.OK, estimate=0.761)
ABOVE = replace(BELOW, outcome=Status.IMPROVED, estimate=0.83)
BELOW_FLOOR = replace(FLOOR_HOLDS, outcome=Status.DEGRADED, limit=(0.75, None), margin=-0.016)


def _degraded() -> Message:
    return compose(transition(Status.DEGRADED), explained(), WHOSE)


MAY, WEEK = MONDAY - timedelta(weeks=5), timedelta(days=7)

LOSS = Decline(
    monitor="credit-default",
    champion_version="7",
    alarm=Window(MONDAY, MONDAY + WEEK),
    rules=("lasting",),
    start=MAY,
    start_low=MAY - WEEK,
    start_high=MAY + 3 * WEEK,
    windows=6,
    auc=0.762,
    auc_low=0.755,
    auc_high=0.769,
    size=-0.022,
    size_low=-0.029,
    size_high=-0.015,
    challenger={"auc": 0.781, "difference": 0.019, "low": 0.012, "high": 0.026},
    groups=(
        GroupPart(
            column="channel",
            group="Broker",
            part=-0.018,
            mix=0.0,
            ranking=-0.018,
            se=0.002,
            adjusted_pvalue=0.0001,
            rows=9000,
            share=0.31,
            reference_share=0.3,
        ).to_row(),
    ),
)
LASTS = Verdict(
    rule="lasting",
    kind="lasting",
    outcome=Status.DEGRADED,
    estimate=-0.022,
    low=-0.029,
    high=-0.015,
    confidence_level=0.95,
    margin=-0.3,
    details={"false_alarm_probability": 0.05, "horizon": 52},
)


def _degraded_for_weeks() -> Message:
    whose = replace(WHOSE, told=("ops", "mail"))
    return compose(transition(Status.DEGRADED, reasons=(LASTS,)), explained(), whose, (), LOSS)


def _still_degraded() -> Message:
    change = transition(Status.DEGRADED, Status.DEGRADED, reasons=(LASTS,))
    return compose(change, explained(), WHOSE, (), replace(LOSS, windows=9))


def _degraded_and_not_clearly_over() -> Message:
    """One message after several windows: no rule finds the loss in the newest of them."""
    at_once = {"start": MONDAY, "start_low": MONDAY, "start_high": MONDAY, "groups": ()}
    loss = replace(LOSS, **at_once, still=-0.002, still_low=-0.017, still_high=0.013)
    found = explained(provenance={"timezone": BERLIN.key})
    others = [transition(status, segment=f"country={name}") for status, name in _OTHERS]
    return compose(transition(Status.DEGRADED, reasons=(LASTS,)), found, CONTEXT, others, loss)


_OTHERS = ((Status.DEGRADED, "PL"), (Status.AT_RISK, "ES"))


def _back() -> Message:
    over = replace(
        LOSS,
        still=-0.001,
        still_low=-0.013,
        still_high=0.011,
        end=MONDAY,
        end_why="recovered",
        ended_with=LOSS.alarm,
    )
    why = Caveat("recovered", change=-0.001, low=-0.013, high=0.011)
    found = evaluation(outcome=Status.OK, metrics=evaluation().metrics | NORMAL_AGAIN)
    return compose(transition(Status.OK, Status.DEGRADED, reasons=(why, INSIDE)), found, WHOSE, (), over)


def _degraded_in_a_segment_by_late_labels() -> Message:
    change = transition(
        Status.DEGRADED, segment="region=north", reasons=(BELOW, Caveat("not-computed", why="2 of 3 windows"))
    )
    return compose(change, explained(segment="region=north", revision=2), WHOSE)


def _degraded_by_a_floor() -> Message:
    metrics = {name: value for name, value in evaluation().metrics.items() if "forecast" not in name}
    found = evaluation(verdicts=(BELOW_FLOOR,), metrics=metrics)
    return compose(transition(Status.DEGRADED, reasons=(BELOW_FLOOR,)), found, CONTEXT)


def _at_risk() -> Message:
    warning = Verdict(
        rule="outlook",
        kind="outlook",
        outcome=Status.AT_RISK,
        estimate=0.69,
        low=0.655,
        high=0.724,
        confidence_level=0.95,
        limit=(0.741, 0.801),
        margin=-0.017,
        details={"against": "forecast"},
    )
    shown = evaluation()
    outlook = Outlook(
        monitor=shown.monitor,
        model=shown.model,
        champion_version="7",
        window=shown.window,
        at=FOUND,
        made_at=FOUND,
        outcome=Status.AT_RISK,
        verdicts=(warning,),
        scored=4600,
        labelled=12,
        metrics={
            "outlook/auc": 0.69,
            "outlook/low": 0.655,
            "outlook/high": 0.724,
            "forecast/low": 0.741,
            "forecast/high": 0.801,
        },
        tables={
            "scores": [
                {"low": None, "high": 0.4, "reference": 0.5, "window": 0.62},
                {"low": 0.4, "high": None, "reference": 0.5, "window": 0.38},
            ]
        },
    )
    return compose_outlook(transition(Status.AT_RISK, reasons=(warning,)), outlook, WHOSE)


def _improved() -> Message:
    metrics = evaluation().metrics | {
        "champion/auc": 0.83,
        "champion/auc_low": 0.806,
        "champion/auc_high": 0.852,
    }
    found = evaluation(outcome=Status.IMPROVED, verdicts=(ABOVE,), metrics=metrics)
    return compose(transition(Status.IMPROVED, reasons=(ABOVE,)), found, WHOSE)


NORMAL_AGAIN = {"champion/auc": 0.761, "champion/auc_low": 0.74, "champion/auc_high": 0.782}


def _recovered() -> Message:
    metrics = evaluation().metrics | NORMAL_AGAIN
    found = evaluation(outcome=Status.OK, verdicts=(INSIDE, FLOOR_HOLDS), metrics=metrics)
    return compose(transition(Status.OK, Status.DEGRADED, reasons=(INSIDE, FLOOR_HOLDS)), found, WHOSE)


def _warning_withdrawn() -> Message:
    found = evaluation(outcome=Status.OK, verdicts=(INSIDE,), metrics=evaluation().metrics | NORMAL_AGAIN)
    reasons = (INSIDE, Caveat("warning-ended", answer="wrong"))
    return compose(transition(Status.OK, Status.AT_RISK, reasons=reasons), found, WHOSE)


def _insufficient() -> Message:
    counts = Counts(rows=4610, unlabelled=4600, duplicates=10)
    verdict = too_few(counts, min_per_class=50)
    found = evaluation(
        outcome=Status.INSUFFICIENT, verdicts=(verdict,), counts=counts, metrics={}, caveats=()
    )
    return compose(transition(Status.INSUFFICIENT, reasons=(verdict,)), found, WHOSE)


def _insufficient_reference() -> Message:
    lack = Caveat("segment-not-in-reference")
    verdict = Verdict(rule="forecast", kind="forecast", outcome=Status.INSUFFICIENT, lacks=(lack,))
    metrics = {name: value for name, value in evaluation().metrics.items() if "forecast" not in name}
    found = evaluation(outcome=Status.INSUFFICIENT, verdicts=(verdict,), metrics=metrics)
    return compose(transition(Status.INSUFFICIENT, reasons=(verdict,)), found, CONTEXT)


def _error() -> Message:
    failed = Caveat("error", text="warehouse: cannot connect:\nconnection refused")
    return compose(transition(Status.ERROR, reasons=(failed,)), None, WHOSE)


def _outage(
    place: str,
    phase: Phase = "began",
    hours: int = 1,
    unjudged: Sequence[str] = ("credit-default", "fraud", "churn"),
    unreviewed: Sequence[str] = (),
    concerned: Sequence[str] = (),
    **changes: Any,
) -> Message:
    values: dict[str, Any] = {
        "error": "sources.warehouse: the database cannot be reached or has stopped: connection refused",
        "lasting": False,
    } | changes
    start, ended = FOUND - timedelta(hours=hours), phase == "ended"
    failing = {
        name: Member(since=start, seen=FOUND) for name in (*unjudged, *map(REVIEW.__add__, unreviewed))
    }
    outage = Outage(
        id=7,
        kind=place.partition(":")[0],
        cause=place,
        start=start,
        end=FOUND if ended else None,
        members=failing,
        **values,
    )
    names = (*unjudged, *unreviewed, *concerned)
    notice = Notice(outage=outage, phase=phase, at=FOUND, monitors=names)
    whose = [
        Concerned(
            monitor=name,
            owner=None if name == "churn" else WHOSE.owner,
            runbook=f"https://wiki.example/{name}",
        )
        for name in names
    ]
    return compose_outage(notice, whose, zone=BERLIN, page="https://mlflow.example/rocmonitor")


def _outage_of_a_source() -> Message:
    return _outage("source:warehouse")


def _outage_of_one_monitor() -> Message:
    error = "monitors.credit-default.query: no such column: p_champion\nStatus: ok"
    return _outage("monitor", error=error, lasting=True, unjudged=("credit-default",))


def _outage_of_a_review() -> Message:
    error = "MLflow at http://mlflow:5000: model 'credit' has no alias 'challenger'; it has: champion"
    return _outage("mlflow", error=error, lasting=True, unjudged=(), unreviewed=("credit-default",))


def _outage_of_reviews() -> Message:
    error = "monitors.credit-default.review: names no challenger"
    reviews = ("credit-default", "fraud")
    return _outage("monitor", error=error, lasting=True, unjudged=(), unreviewed=reviews)


def _outage_of_mlflow_lasts() -> Message:
    error = "MLflow at http://mlflow:5000, connecting: no answer (ConnectTimeout); is the server running?"
    concerned = tuple(f"model-{number:02}" for number in range(28))
    return _outage("mlflow", "lasts", 49, error=error, unjudged=(), concerned=concerned)


def _outage_of_a_channel() -> Message:
    error = "Slack did not take the message: 404"
    return _outage("channel:ops", error=error, unjudged=(), concerned=("credit-default", "fraud"))


def _outage_of_the_store() -> Message:
    return _outage("store", error="store sqlite:///rocmonitor.db: database or disk is full")


def _outage_ended() -> Message:
    return _outage("source:warehouse", "ended", 5)


def _review() -> Message:
    return compose_review(review(), before=str(Decision.UNDECIDED), context=WHOSE)


def _first_review() -> Message:
    return compose_review(review(), before=None, context=WHOSE)


def _revised(**changes: object) -> Revised:
    window = evaluation().window
    plain = Revised(
        monitor="credit-default",
        window=window,
        revision=1,
        before=Status.OK,
        after=Status.DEGRADED,
        auc_before=0.776,
        auc=0.712,
        cause="corrected",
        at=FOUND,
        status=Status.OK,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def _judged_again_and_degraded() -> Message:
    return compose_revised([_revised()], WHOSE)


def _judged_again_and_no_longer_degraded() -> Message:
    healed = _revised(
        before=Status.DEGRADED, after=Status.OK, auc_before=0.712, auc=0.776, segment="region=north"
    )
    return compose_revised([healed], CONTEXT)


def _judged_again_when_rows_came() -> Message:
    return compose_revised([_revised(before=Status.INSUFFICIENT, auc_before=None, cause="late")], CONTEXT)


def _many_judged_again() -> Message:
    weeks = [
        Window(MONDAY + timedelta(days=7 * number), MONDAY + timedelta(days=7 * number + 7))
        for number in range(12)
    ]
    found = [_revised(window=week, cause="settings") for week in weeks]
    found[1] = _revised(window=weeks[1], cause="settings", before=Status.DEGRADED, after=Status.OK, auc=0.776)
    return compose_revised(found, WHOSE)


def _stop(**changes: object) -> Stop:
    plain = Stop(
        monitor="credit-default",
        kind="rows",
        start=MONDAY,
        window=evaluation().window,
        rows=0,
        labelled=0,
        lowest=4210.0,
        n_windows=26,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def _several_degraded() -> Message:
    names = ["credit-default", "fraud", "churn", "cards", "leasing", "mortgages", "overdraft", "savings"]
    found = [
        compose(transition(Status.DEGRADED, monitor=name), explained(monitor=name), WHOSE)
        for name in names[:MOST_NAMED]
    ]
    whose = [Concerned(monitor=name, owner="Bo" if name == "fraud" else "Ana Ruiz") for name in names]
    return compose_several(
        found,
        whose,
        also=[2, 0, 1],
        shared="read source warehouse",
        since=MONDAY,
        zone=BERLIN,
        page=WHOSE.page,
        event_parts=["1", "2"],
    )


def _rows_stopped() -> Message:
    return compose_stop(_stop(), WHOSE)


def _few_rows_arrive() -> Message:
    return compose_stop(_stop(rows=1203), CONTEXT)


def _rows_arrive_again() -> Message:
    return compose_stop(_stop(rows=4600, end=FOUND), CONTEXT)


def _labels_stopped() -> Message:
    return compose_stop(_stop(kind="labels", rows=4600, labelled=92, lowest=0.41), WHOSE)


def _labels_arrive_again() -> Message:
    return compose_stop(_stop(kind="labels", rows=4600, labelled=2300, lowest=0.41, end=FOUND), CONTEXT)


CASES: dict[str, Callable[[], Message]] = {
    made.__name__.strip("_"): made
    for made in (
        _degraded,
        _degraded_for_weeks,
        _still_degraded,
        _degraded_and_not_clearly_over,
        _back,
        _degraded_in_a_segment_by_late_labels,
        _degraded_by_a_floor,
        _at_risk,
        _improved,
        _recovered,
        _warning_withdrawn,
        _insufficient,
        _insufficient_reference,
        _error,
        _outage_of_a_source,
        _outage_of_one_monitor,
        _outage_of_a_review,
        _outage_of_reviews,
        _outage_of_mlflow_lasts,
        _outage_of_a_channel,
        _outage_of_the_store,
        _outage_ended,
        _review,
        _first_review,
        _judged_again_and_degraded,
        _judged_again_and_no_longer_degraded,
        _judged_again_when_rows_came,
        _many_judged_again,
        _several_degraded,
        _rows_stopped,
        _few_rows_arrive,
        _rows_arrive_again,
        _labels_stopped,
        _labels_arrive_again,
    )
} | {"trial": lambda: trial_message("ops")}


def shown(message: Message) -> str:
    """A message in every length, as it is kept."""
    room = _SMS - len(message.title) - 2
    parts = {
        "subject": message.title,
        "text message, 160 characters with the subject": _fitting(message.pager, room),
        "pager, 1,024 characters": _fitting(message.pager, 1024),
        "text: chat, file, web hook": message.body,
        "mail as HTML": message.html,
    }
    return "\n".join(f"--- {name} ---\n{text}\n" for name, text in parts.items())


@pytest.mark.parametrize("name", CASES)
def test_a_message_is_the_one_that_was_read(name: str) -> None:
    kept, found = FOLDER / f"{name}.txt", shown(CASES[name]())
    if os.environ.get("ROCMONITOR_WRITE_MESSAGES"):
        kept.write_text(found, encoding="utf-8")
    assert found == kept.read_text(encoding="utf-8")


def test_none_is_kept_that_is_not_made() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_no_line_is_too_long_to_read_or_ends_in_nothing(name: str) -> None:
    message = CASES[name]()
    assert len(message.title) <= 80
    assert not any(line.endswith((": .", ":", "..", " ")) for line in message.body.splitlines())
    assert BERLIN.key in message.body or name == "trial"
    assert len(message.body.splitlines()) <= 8


@pytest.mark.parametrize(
    "forged", ["\nStatus: ok", "\r\nStatus: ok", "\u2028Status: ok", "\x1b[2KStatus: ok"]
)
def test_no_value_begins_a_line_or_hides_one(forged: str) -> None:
    change = transition(Status.DEGRADED, segment=f"region=north{forged}")
    error = Caveat("error", text=f"warehouse: {forged}")
    for message in (
        compose(change, explained(segment=f"region=north{forged}"), WHOSE),
        compose(transition(Status.ERROR, reasons=(error,)), None, replace(WHOSE, owner=f"Ana{forged}")),
        _outage("monitor", error=forged, unjudged=("credit",)),
    ):
        for text in (message.title, message.body, *message.pager):
            assert all(line.isprintable() for line in text.split("\n"))
            assert not any(line.startswith("Status") for line in text.splitlines())
        assert "\nStatus" not in message.html


def test_a_value_of_any_length_is_cut() -> None:
    long = "x" * 100_000
    error = Caveat("error", text=long)
    for message in (
        compose(transition(Status.DEGRADED, segment=long), explained(segment=long), WHOSE),
        compose(transition(Status.ERROR, reasons=(error,)), None, WHOSE),
    ):
        assert "… (98,0" in message.body
        assert len(message.title) <= 80
        assert max(map(len, message.body.splitlines())) < LONGEST_TEXT + 100
        assert len(message.html) < 20 * LONGEST_TEXT
