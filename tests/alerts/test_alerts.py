"""Messages say what a person needs, and reach real services or fail with a reason and no secret."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from sinks import HttpSink, SmtpSink

from rocmonitor.alerts import LONGEST_TITLE, Message, check_url, compose, send, service, trial_message
from rocmonitor.caveat import Caveat
from rocmonitor.errors import AlertError
from rocmonitor.policy.evaluation import Counts, Evaluation, Status, Transition, Verdict
from rocmonitor.policy.judge import too_few
from rocmonitor.policy.windows import Window
from rocmonitor.wording.verdicts import verdict

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 5, 4, tzinfo=BERLIN)
FOUND = datetime(2026, 6, 10, 6, tzinfo=BERLIN)
BELOW = Verdict(
    rule="forecast",
    kind="forecast",
    outcome=Status.DEGRADED,
    estimate=0.712,
    confidence_level=0.95,
    limit=(0.741, 0.801),
    margin=-0.029,
    details={"method": "calibrated", "sampling_low": None, "sampling_high": None},
)
BELOW_TEXT = "AUROC 0.7120 is below its forecast interval 0.7410 to 0.8010 (calibrated, 95 %)"
FLOOR_HOLDS = Verdict(
    rule="floor",
    kind="floor",
    outcome=Status.OK,
    estimate=0.712,
    low=0.69,
    high=0.734,
    confidence_level=0.95,
    limit=(0.7, None),
    margin=0.034,
)
MESSAGE = Message("DEGRADED credit-default: AUROC 0.71", "worse than forecast\nn⁺ 310 & <rising>", "alarm")


def evaluation(**changes: object) -> Evaluation:
    plain = Evaluation(
        monitor="credit-default",
        model="credit-model",
        window=Window(MONDAY, MONDAY + timedelta(days=7)),
        champion_version="7",
        challenger_version="8",
        at=FOUND,
        evaluated_at=FOUND,
        outcome=Status.DEGRADED,
        status=Status.DEGRADED,
        verdicts=(BELOW, FLOOR_HOLDS),
        counts=Counts(rows=4610, n_pos=310, n_neg=4200, unlabelled=90, duplicates=10),
        metrics={
            "champion/auc": 0.712,
            "champion/auc_low": 0.69,
            "champion/auc_high": 0.734,
            "challenger/auc": 0.755,
            "challenger/auc_low": 0.73,
            "challenger/auc_high": 0.78,
            "forecast/low": 0.741,
            "forecast/high": 0.801,
            "reference/auc": 0.772,
            "reference/auc_low": 0.765,
            "reference/auc_high": 0.779,
        },
        caveats=(Caveat("recorded", text="88 rows have no label yet"),),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def transition(after: Status, before: Status = Status.OK, **changes: object) -> Transition:
    plain = Transition(
        monitor="credit-default", at=FOUND, before=before, after=after, reasons=(BELOW,), since=MONDAY
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def insufficient(counts: Counts) -> Message:
    verdict = too_few(counts, min_per_class=1000)
    found = evaluation(
        outcome=Status.INSUFFICIENT, verdicts=(verdict,), counts=counts, metrics={}, caveats=()
    )
    return compose(transition(Status.INSUFFICIENT, reasons=(verdict,)), found, zone=BERLIN)


# --- words -------------------------------------------------------------------------------------------------


def test_a_degraded_monitor_is_told_in_full() -> None:
    message = compose(
        transition(Status.DEGRADED), evaluation(), zone=BERLIN, link="https://mlflow.example/runs/1"
    )
    assert message.kind == "alarm"
    assert message.title == "DEGRADED credit-default: AUROC 0.71 below forecast 0.74"
    lines = message.body.splitlines()
    assert lines[:8] == [
        "Degraded: AUROC 0.7120 (0.6900 to 0.7340), expected 0.7410 to 0.8010.",
        "Status degraded, was ok",
        "Monitor credit-default",
        "Model credit-model, version 7",
        "AUROC 0.7120 (95 % interval 0.6900 to 0.7340)",
        "Forecast 0.7410 to 0.8010",
        "310 positives, 4,200 negatives",
        "Since 2026-05-04 (Europe/Berlin)",
    ]
    for line in (
        f"Why: {BELOW_TEXT}",
        "Look: rocmonitor history credit-default",
        "MLflow: https://mlflow.example/runs/1",
        "Window 2026-05-04 to 2026-05-11 (Europe/Berlin)",
        "Rows 4,610, labelled 98.0 %; 90 without a label, 10 with an id seen before",
        "Reference: AUROC 0.7720 (95 % interval 0.7650 to 0.7790)",
        "Challenger version 8: AUROC 0.7550 (95 % interval 0.7300 to 0.7800)",
        f"Rule floor, ok: {verdict(FLOOR_HOLDS)}",
        "Caveat: 88 rows have no label yet",
        "Noticed 2026-06-10 06:00 (Europe/Berlin)",
    ):
        assert line in lines
    assert message.body.count(BELOW_TEXT) == 1


def test_what_moved_stands_below_the_reason() -> None:
    shares = {f"{key}_{when}": 0.5 for key in ("pos", "neg") for when in ("reference", "window")}
    rows = [shares | {"low": 0.0, "high": 0.4}, shares | {"low": 0.4, "high": 1.0}]
    rows[1]["pos_window"] = 0.38
    metrics = evaluation().metrics | {"shift/from_positives": -0.059, "shift/from_negatives": -0.001}
    found = evaluation(tables={"shift": rows}, metrics=metrics)
    lines = compose(transition(Status.DEGRADED), found, zone=BERLIN).body.splitlines()
    assert lines[lines.index(f"Why: {BELOW_TEXT}") + 1] == (
        "What moved: The AUROC fell by 0.0600, from 0.7720 to 0.7120. The positives' part is -0.0590: 38.0 % "
        "of them score above 0.4, 50.0 % in the reference. The negatives' part is -0.0010."
    )
    assert "What moved" not in compose(transition(Status.DEGRADED), evaluation(), zone=BERLIN).body


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        (Counts(rows=7, bad_score=7), "Rows 7; 7 without a usable score"),
        (Counts(), "Rows 0"),
        (Counts(rows=7, unlabelled=7), "Rows 7, labelled 0.0 %; 7 without a label"),
        (
            Counts(rows=4, unlabelled=3, bad_label=1),
            "Rows 4, labelled 25.0 %; 3 without a label, 1 with a label of neither class",
        ),
    ],
)
def test_a_share_is_told_where_there_is_something_to_share(counts: Counts, line: str) -> None:
    assert line in insufficient(counts).body.splitlines()


def test_times_are_the_monitors_own() -> None:
    far = compose(transition(Status.DEGRADED), evaluation(), zone=ZoneInfo("Pacific/Auckland"))
    assert "Since 2026-05-04 10:00 (Pacific/Auckland)" in far.body
    assert "Noticed 2026-06-10 16:00 (Pacific/Auckland)" in far.body


def test_a_segment_and_a_revision_are_named() -> None:
    message = compose(
        transition(Status.DEGRADED, segment="region=north"),
        evaluation(segment="region=north", revision=2),
        zone=BERLIN,
    )
    assert message.title == "DEGRADED credit-default region=north: AUROC 0.71 below forecast 0.74"
    assert "Segment region=north" in message.body.splitlines()
    assert "(Europe/Berlin), revision 2" in message.body


def test_the_title_shows_enough_decimals_to_tell_the_values_apart() -> None:
    metrics = evaluation().metrics | {"champion/auc": 0.74089}
    message = compose(transition(Status.DEGRADED), evaluation(metrics=metrics), zone=BERLIN)
    assert message.title == "DEGRADED credit-default: AUROC 0.7409 below forecast 0.7410"


def test_the_second_forecast_rule_is_told_with_its_own_limit() -> None:
    second = replace(BELOW, rule="forecast_2", limit=(0.72, 0.82))
    metrics = evaluation().metrics | {"forecast_2/low": 0.72, "forecast_2/high": 0.82}
    found = evaluation(verdicts=(replace(BELOW, outcome=Status.OK), second), metrics=metrics)
    message = compose(transition(Status.DEGRADED, reasons=(second,)), found, zone=BERLIN)
    assert message.title.endswith("AUROC 0.71 below forecast 0.72")
    assert "Forecast 0.7200 to 0.8200" in message.body.splitlines()


@pytest.mark.parametrize(
    ("rule", "said"),
    [("floor", "AUROC 0.71, rule floor"), ("drop_2", "AUROC 0.71 against 0.77 in the reference")],
)
def test_other_rules_have_their_own_title(rule: str, said: str) -> None:
    kind = rule.removesuffix("_2")
    verdict = Verdict(rule=rule, kind=kind, outcome=Status.DEGRADED, details={"text": "lower"})  # type: ignore[arg-type]
    found = evaluation(verdicts=(replace(BELOW, outcome=Status.OK), verdict))
    message = compose(transition(Status.DEGRADED, reasons=(verdict,)), found, zone=BERLIN)
    assert message.title == f"DEGRADED credit-default: {said}"


def test_an_alarm_told_late_does_not_blame_a_rule_that_holds() -> None:
    found = evaluation(outcome=Status.OK, verdicts=(replace(BELOW, outcome=Status.OK), FLOOR_HOLDS))
    message = compose(
        transition(Status.DEGRADED, reasons=(Caveat("recorded", text="2 of the last 3 windows"),)),
        found,
        zone=BERLIN,
    )
    assert message.title == "DEGRADED credit-default: AUROC 0.71"
    assert "Why: 2 of the last 3 windows" in message.body


def test_a_forecast_of_losses_only_has_no_upper_end() -> None:
    metrics = evaluation().metrics | {"forecast/high": 1.0}
    message = compose(transition(Status.DEGRADED), evaluation(metrics=metrics), zone=BERLIN)
    assert "Forecast 0.7410 or more" in message.body.splitlines()


def test_a_caveat_that_is_the_reason_is_told_once() -> None:
    broken, other = Caveat("one-score", rows=1000, score=0.5), Caveat("recorded", text="another")
    found = evaluation(caveats=(broken, other))
    message = compose(transition(Status.DEGRADED, reasons=(broken, BELOW)), found, zone=BERLIN)
    assert message.body.count("all 1,000 scores are 0.5: is the scoring broken?") == 1
    assert "Caveat: another" in message.body


def test_improved_is_news_and_not_an_alarm() -> None:
    above = replace(BELOW, outcome=Status.IMPROVED, margin=-0.02)
    metrics = evaluation().metrics | {"champion/auc": 0.83}
    found = evaluation(verdicts=(above,), metrics=metrics)
    message = compose(transition(Status.IMPROVED, reasons=(above,)), found, zone=BERLIN)
    assert message.kind == "notice"
    assert message.title == "IMPROVED credit-default: AUROC 0.83 above forecast 0.80"
    assert "Check: " in message.body


def test_recovery_says_from_what() -> None:
    found = evaluation(outcome=Status.OK, verdicts=(FLOOR_HOLDS,))
    message = compose(transition(Status.OK, Status.DEGRADED, reasons=(FLOOR_HOLDS,)), found, zone=BERLIN)
    assert message.kind == "recovery"
    assert message.title == "OK credit-default: AUROC 0.71, was degraded"
    assert message.body.startswith("Recovered: AUROC 0.7120, all rules pass.\nStatus ok, was degraded\n")
    inside = replace(BELOW, outcome=Status.OK)
    message = compose(
        transition(Status.OK, Status.DEGRADED, reasons=(inside,)), evaluation(verdicts=(inside,)), zone=BERLIN
    )
    assert message.body.startswith("Recovered: AUROC 0.7120 is back inside the forecast interval.")


@pytest.mark.parametrize(
    ("counts", "said", "check"),
    [
        (Counts(), "no rows", "did the scoring job run"),
        (Counts(rows=900, unlabelled=900), "no labels", "window.label_delay"),
        (Counts(rows=900, bad_score=900), "no usable rows", "columns and positive"),
        (Counts(rows=900, n_neg=900), "no positives", "positive.label"),
        (Counts(rows=900, n_pos=900), "no negatives", "positive.label"),
        (Counts(rows=900, n_pos=3, n_neg=897), "only 3 positives and 897 negatives", "min_per_class"),
    ],
)
def test_insufficient_says_what_lacks_and_what_to_check(counts: Counts, said: str, check: str) -> None:
    message = insufficient(counts)
    assert message.kind == "alarm"
    assert message.title == f"INSUFFICIENT credit-default: {said}"
    assert re.search(rf"^Check: .*{re.escape(check)}", message.body, re.MULTILINE)
    assert "AUROC" not in message.body


def test_insufficient_because_of_the_reference_does_not_blame_the_window() -> None:
    lack = Caveat("segment-not-in-reference")
    verdict = Verdict(rule="forecast", kind="forecast", outcome=Status.INSUFFICIENT, lacks=(lack,))
    found = evaluation(outcome=Status.INSUFFICIENT, verdicts=(verdict,))
    message = compose(transition(Status.INSUFFICIENT, reasons=(verdict,)), found, zone=BERLIN)
    assert message.title == "INSUFFICIENT credit-default: rule forecast cannot be applied"
    assert "Check: does the reference period" in message.body


def test_rows_set_aside_are_told() -> None:
    message = insufficient(Counts(rows=10, bad_score=2, bad_label=3, outside=4, truncated=True))
    for words in (
        "2 without a usable score",
        "3 with a label of neither class",
        "4 with a time outside the window",
        "the row cap was reached",
    ):
        assert words in message.body


def test_an_error_tells_its_text_and_that_nothing_is_lost() -> None:
    message = compose(
        transition(
            Status.ERROR, reasons=(Caveat("error", text="warehouse: cannot connect:\nconnection refused"),)
        ),
        None,
        zone=BERLIN,
    )
    assert message.kind == "alarm"
    assert message.title == "ERROR credit-default: warehouse: cannot connect: connection refused"
    assert "Why: warehouse: cannot connect:\nconnection refused" in message.body
    assert "the next run tries again" in message.body


@pytest.mark.parametrize("status", Status)
def test_titles_are_short_single_lines_that_start_with_the_status(status: Status) -> None:
    long = {
        "monitor": "m" * 100,
        "segment": f"region={'s' * 200}\nx",
        "reasons": (Caveat("recorded", text="why " * 300),),
    }
    found = None if status is Status.ERROR else evaluation()
    title = compose(transition(status, Status.DEGRADED, **long), found, zone=BERLIN).title
    assert title.startswith(f"{status.upper()} mmmmmmmm")
    assert len(title) <= LONGEST_TITLE
    assert title.isprintable()


def test_the_event_id_is_the_same_for_a_repeat_and_for_nothing_else() -> None:
    def event(change: Transition, found: Evaluation) -> str:
        event_id = re.search(r"^Event (\w{12}) ", compose(change, found, zone=BERLIN).body, re.MULTILINE)
        assert event_id
        return event_id[1]

    first = event(transition(Status.DEGRADED), evaluation())
    assert event(transition(Status.DEGRADED, at=FOUND.astimezone(UTC)), evaluation()) == first
    others = {
        event(transition(Status.DEGRADED, Status.INSUFFICIENT), evaluation()),
        event(transition(Status.DEGRADED, at=FOUND + timedelta(days=1)), evaluation()),
        event(transition(Status.DEGRADED, segment="region=north"), evaluation()),
        event(transition(Status.DEGRADED), evaluation(revision=1)),
    }
    assert len(others - {first}) == 4


def test_a_trial_is_marked_as_one() -> None:
    message = trial_message("ops")
    assert message.kind == "test"
    assert message.title == "TEST of channel ops"
    assert "nothing happened" in message.body


def test_a_message_survives_the_outbox() -> None:
    message = compose(transition(Status.DEGRADED), evaluation(), zone=BERLIN)
    assert Message(**json.loads(json.dumps(message.to_dict()))) == message


# --- delivery ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "notify_type"),
    [("alarm", "failure"), ("recovery", "success"), ("notice", "info"), ("test", "info")],
)
def test_a_webhook_gets_the_message(http_sink: HttpSink, tmp_path: Path, kind: str, notify_type: str) -> None:
    send(http_sink.url, replace(MESSAGE, kind=kind), folder=tmp_path)  # type: ignore[arg-type]
    [request] = http_sink.requests
    assert request.path == "/alarms"
    assert request.content["title"] == MESSAGE.title
    assert request.content["message"] == MESSAGE.body
    assert request.content["type"] == notify_type
    assert request.headers["User-Agent"] == "rocmonitor"


def test_a_mail_arrives_as_readable_text(smtp_sink: SmtpSink, tmp_path: Path) -> None:
    send(smtp_sink.url, MESSAGE, folder=tmp_path)
    [mail] = smtp_sink.mails
    assert mail["Subject"] == MESSAGE.title
    assert mail["To"] == "on-call@example.org"
    text = mail.get_body(("plain",))
    assert isinstance(text, EmailMessage)
    assert text.get_content().splitlines()[:2] == MESSAGE.body.splitlines()


def test_a_mail_server_that_refuses_is_an_error(smtp_sink: SmtpSink, tmp_path: Path) -> None:
    smtp_sink.refusal = "550 no such mailbox"
    with pytest.raises(AlertError, match="E-Mail did not take the message") as raised:
        send(smtp_sink.url, MESSAGE, folder=tmp_path)
    assert raised.value.transient
    assert not smtp_sink.mails


def test_a_file_channel_keeps_every_message_in_order(tmp_path: Path) -> None:
    send("file://alarms.log", MESSAGE, folder=tmp_path)
    send(f"file://{tmp_path}/alarms.log", trial_message("ops"), folder=tmp_path / "elsewhere")
    told = (tmp_path / "alarms.log").read_text(encoding="utf-8")
    assert told.split("\n\n")[0] == f"{MESSAGE.title}\n{MESSAGE.body}"
    assert told.split("\n\n")[1].startswith("TEST of channel ops\n")


def test_a_file_channel_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    with pytest.raises(AlertError, match=r"cannot append to .*missing/alarms\.log: No such file") as raised:
        send("file://missing/alarms.log", MESSAGE, folder=tmp_path)
    assert raised.value.transient


@pytest.mark.parametrize("status", [401, 429, 500])
def test_a_service_that_refuses_is_told_with_its_status(
    http_sink: HttpSink, tmp_path: Path, status: int
) -> None:
    http_sink.status = status
    with pytest.raises(AlertError, match=rf"JSON did not take the message: .*error={status}") as raised:
        send(http_sink.url, MESSAGE, folder=tmp_path)
    assert raised.value.transient
    http_sink.status = 200
    send(http_sink.url, MESSAGE, folder=tmp_path)
    assert http_sink.titles == [MESSAGE.title] * 2


def test_a_service_that_hangs_is_given_up(http_sink: HttpSink, tmp_path: Path) -> None:
    http_sink.hang()
    with pytest.raises(AlertError, match="timed out") as raised:
        send(f"{http_sink.url}?rto=0.1", MESSAGE, folder=tmp_path)
    assert raised.value.transient


def test_no_url_can_make_it_wait_for_long(
    http_sink: HttpSink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "LONGEST_WAIT_SECONDS", 0.1)
    http_sink.hang()
    with pytest.raises(AlertError, match="timed out"):
        send(f"{http_sink.url}?rto=86400", MESSAGE, folder=tmp_path)


def test_a_service_that_is_not_there_is_told_with_its_host(closed_port: int, tmp_path: Path) -> None:
    with pytest.raises(AlertError, match=r"JSON notification to 127\.0\.0\.1.*refused") as raised:
        send(f"json://127.0.0.1:{closed_port}/", MESSAGE, folder=tmp_path)
    assert raised.value.transient


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "does not start with a service"),
        ("hunter2", "does not start with a service"),
        ("nowhere://hunter2/x", r"\(nowhere://\): no such service"),
        ("slack://hunter2/x", r"\(slack://\): .*Token"),
        ("mailto://u:hunter2@127.0.0.1/?to=hunter2@example.org&from=hunter2", r"\(mailto://\): "),
        ("https://u:hunter2@hooks.example/hunter2", "write json:// in place of http://"),
        ("json://u:hunter2@a.example, json://b.example/hunter2", "one service; its URL holds 2"),
    ],
)
def test_a_url_that_no_later_try_can_mend_is_permanent(tmp_path: Path, url: str, said: str) -> None:
    with pytest.raises(AlertError, match=said) as raised:
        send(url, MESSAGE, folder=tmp_path)
    assert not raised.value.transient
    assert "hunter2" not in str(raised.value)
    with pytest.raises(AlertError) as foreseen:
        check_url(url, folder=tmp_path)
    assert str(foreseen.value) == str(raised.value)
    assert not foreseen.value.transient


def test_a_url_is_understood_without_sending(http_sink: HttpSink, closed_port: int, tmp_path: Path) -> None:
    check_url(http_sink.url, folder=tmp_path)
    check_url(f"json://127.0.0.1:{closed_port}/", folder=tmp_path)
    check_url("file://alarms.log", folder=tmp_path)
    check_url(f"file://{tmp_path}/alarms.log", folder=tmp_path / "elsewhere")
    assert not http_sink.requests
    assert not list(tmp_path.iterdir())
    with pytest.raises(AlertError, match=r"cannot append to .*alarms\.log: there is no folder .*missing"):
        check_url("file://missing/alarms.log", folder=tmp_path)


@pytest.fixture
def process_log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """All that this process logs; at DEBUG, HTTP libraries tell every URL, which nobody can stop."""
    with caplog.at_level(logging.INFO):
        yield caplog


def test_no_part_of_a_url_that_may_be_secret_is_told_or_logged(
    http_sink: HttpSink, closed_port: int, tmp_path: Path, process_log: pytest.LogCaptureFixture
) -> None:
    http_sink.status = 500
    for port in (http_sink.port, closed_port):
        url = f"json://us3r:p%40ss-w0rd@127.0.0.1:{port}/T0KEN/s?+X-Key=k3y&rto=1"
        with pytest.raises(AlertError) as raised:
            send(url, MESSAGE, folder=tmp_path)
        told = str(raised.value) + process_log.text
        for secret in ("us3r", "p%40ss-w0rd", "p@ss-w0rd", "T0KEN", "k3y"):
            assert secret not in told
    assert http_sink.requests[0].headers["X-Key"] == "k3y"
