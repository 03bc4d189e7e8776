"""Messages say what a person needs, and reach real services or fail with a reason and no secret."""

from __future__ import annotations

import logging
import re
import socket
import threading
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from alarms import (
    BELOW,
    CONTEXT,
    FLOOR_HOLDS,
    FOUND,
    MESSAGE,
    WHOSE,
    evaluation,
    explained,
    insufficient,
    transition,
)
from sinks import HttpSink, SmtpSink

from rocmonitor.alerts import (
    LONGEST_TITLE,
    Context,
    Message,
    check_url,
    compose,
    send,
    service,
    trial_message,
)
from rocmonitor.alerts.message import titled
from rocmonitor.caveat import Caveat
from rocmonitor.errors import AlertError
from rocmonitor.policy.episode import CHANGE, Decline
from rocmonitor.policy.evaluation import Counts, Evaluation, Status, Transition, Verdict
from rocmonitor.policy.windows import Window
from rocmonitor.wording.verdicts import verdict as said

# --- words -------------------------------------------------------------------------------------------------


def lines(change: Transition, found: Evaluation | None, context: Context = CONTEXT) -> list[str]:
    return compose(change, found, context).body.splitlines()


def test_times_are_the_monitors_own() -> None:
    far = lines(transition(Status.DEGRADED), evaluation(), Context(zone=ZoneInfo("Pacific/Auckland")))
    assert "Degraded since 2026-05-04 10:00 (Pacific/Auckland)." in far


def test_enough_decimals_are_shown_to_tell_the_values_apart() -> None:
    metrics = evaluation().metrics | {"champion/auc": 0.74089}
    message = compose(transition(Status.DEGRADED), evaluation(metrics=metrics), CONTEXT)
    assert message.title == "DEGRADED credit-default: AUROC 0.7409, normal range 0.7410 to 0.8010"
    assert message.body.startswith("AUROC 0.7409, normal range 0.7410 to 0.8010.\n")


def test_the_second_forecast_rule_is_told_with_its_own_limits() -> None:
    second = replace(BELOW, rule="forecast_2", limit=(0.72, 0.82))
    metrics = evaluation().metrics | {"forecast_2/low": 0.72, "forecast_2/high": 0.82}
    found = evaluation(verdicts=(replace(BELOW, outcome=Status.OK), second), metrics=metrics)
    message = compose(transition(Status.DEGRADED, reasons=(second,)), found, CONTEXT)
    assert message.title.endswith("AUROC 0.71, normal range 0.72 to 0.82")


@pytest.mark.parametrize("rule", ["floor", "drop_2"])
def test_another_rule_is_named_beside_the_normal_range(rule: str) -> None:
    kind = rule.removesuffix("_2")
    verdict = Verdict(
        rule=rule,
        kind=kind,
        outcome=Status.DEGRADED,
        estimate=0.71 if kind == "floor" else -0.06,
        low=0.69 if kind == "floor" else -0.08,
        high=0.72 if kind == "floor" else -0.04,
        confidence_level=0.95,
        limit=(0.75, None) if kind == "floor" else (-0.02, 0.02),
        details={"auc": 0.71, "reference_auc": 0.77},
    )
    metrics = {name: value for name, value in evaluation().metrics.items() if "forecast" not in name}
    found = evaluation(verdicts=(verdict,), metrics=metrics)
    message = compose(transition(Status.DEGRADED, reasons=(verdict,)), found, CONTEXT)
    assert message.title == f"DEGRADED credit-default: AUROC 0.71, 0.77 in the reference, rule {rule}"
    assert f"Why: {said(verdict)}" in message.body.splitlines()


def test_an_alarm_told_late_does_not_blame_a_rule_that_holds() -> None:
    found = evaluation(outcome=Status.OK, verdicts=(replace(BELOW, outcome=Status.OK), FLOOR_HOLDS))
    late = (Caveat("not-computed", why="2 of the last 3 windows"),)
    told = lines(transition(Status.DEGRADED, reasons=late), found)
    assert told[0] == "AUROC 0.71, normal range 0.74 to 0.80."
    assert "Why: 2 of the last 3 windows" in told


def test_a_forecast_of_losses_only_has_no_upper_end() -> None:
    metrics = evaluation().metrics | {"forecast/high": 1.0}
    assert lines(transition(Status.DEGRADED), evaluation(metrics=metrics))[0] == (
        "AUROC 0.71, normal range 0.74 or more."
    )


@pytest.mark.parametrize(
    ("status", "errors", "said"),
    [
        (Status.DEGRADED, 2.0, "about once in 44 weeks"),  # 1 / 0.0228 windows
        (Status.DEGRADED, 3.0, "about once in 14 years"),
        (Status.IMPROVED, 1.0, "about once in 6 weeks"),
        (Status.DEGRADED, 6.0, "less than once in 100 years"),
    ],
)
def test_how_sure_is_how_often_chance_alone_would_do_it(status: Status, errors: float, said: str) -> None:
    change = dict(zip(CHANGE, (-0.05 * errors, 0.04, 0.03), strict=True))
    told = lines(transition(status), evaluation(metrics=evaluation().metrics | change))
    (sure,) = (line for line in told if line.startswith("How sure: "))
    assert sure.endswith(f"from 310 positives and 4,200 negatives; chance alone would do this {said}.")


def test_a_caveat_that_is_the_reason_is_told_once() -> None:
    broken, other = Caveat("one-score", rows=1000, score=0.5), Caveat("not-computed", why="another")
    message = compose(
        transition(Status.DEGRADED, reasons=(broken, BELOW)), evaluation(caveats=(broken, other)), CONTEXT
    )
    assert message.body.count("all 1,000 scores are 0.5: is the scoring broken?") == 1


def test_broken_scores_are_said_of_a_loss_of_several_windows_too() -> None:
    broken, other = Caveat("one-score", rows=400, score=0.25), Caveat("not-computed", why="another")
    change = transition(Status.DEGRADED, Status.DEGRADED, reasons=(broken, BELOW, other))
    monday = datetime(2026, 5, 4, tzinfo=UTC)
    loss = Decline(
        monitor="credit-default",
        champion_version="7",
        alarm=Window(monday, monday + timedelta(weeks=1)),
        start=monday,
        start_low=monday,
        start_high=monday,
        windows=6,
        auc=0.70,
        size=-0.05,
    )
    told = compose(change, evaluation(), CONTEXT, (), loss).body.splitlines()
    assert "Why: all 400 scores are 0.25: is the scoring broken?" in told


def test_a_long_title_keeps_the_start_of_the_monitor_and_the_end_of_the_segment() -> None:
    title = titled("AT-RISK", "credit-default region=south", "AUROC 0.7256 expected, 0.7754 or more in it")
    assert title == "AT-RISK credit-default region=south: AUROC 0.7256 expected, 0.7754 or more in it"
    longer = titled(
        "DEGRADED", "credit-default region=south", "AUROC 0.7409, normal range 0.7410 to 0.8010 or so"
    )
    assert longer.startswith("DEGRADED credit-def")
    assert "n=south: AUROC 0.7409" in longer
    assert len(longer) <= 80


def test_recovery_says_what_recovered() -> None:
    found = evaluation(outcome=Status.OK, verdicts=(FLOOR_HOLDS,))
    message = compose(transition(Status.OK, Status.DEGRADED, reasons=(FLOOR_HOLDS,)), found, CONTEXT)
    assert message.kind == "recovery"
    assert message.body.startswith(
        "No rule finds a loss any more: AUROC 0.712, all rules pass.\nOk since 2026-05-04 "
    )
    inside = replace(BELOW, outcome=Status.OK)
    metrics = evaluation().metrics | {"champion/auc": 0.761}
    back = evaluation(outcome=Status.OK, verdicts=(inside,), metrics=metrics)
    message = compose(transition(Status.OK, Status.DEGRADED, reasons=(inside,)), back, CONTEXT)
    assert message.body.startswith("No rule finds a loss any more: AUROC 0.76, normal range 0.74 to 0.80.")
    assert message.title == "OK credit-default: AUROC 0.76, normal range 0.74 to 0.80"
    message = compose(transition(Status.OK, Status.INSUFFICIENT, reasons=(inside,)), back, CONTEXT)
    assert message.body.startswith(
        "Judged again: AUROC 0.76, normal range 0.74 to 0.80.\nOk since 2026-05-04 "
    )


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


def test_rows_set_aside_are_told() -> None:
    message = insufficient(Counts(rows=10, bad_score=2, bad_label=3, outside=4, truncated=True))
    for words in (
        "2 without a usable score",
        "3 with a label of neither class",
        "4 with a time outside the window",
        "the row cap was reached",
    ):
        assert words in message.body


@pytest.mark.parametrize("status", Status)
def test_titles_are_short_single_lines_that_start_with_the_status(status: Status) -> None:
    long = {
        "monitor": "m" * 100,
        "segment": f"region={'s' * 200}\nx",
        "reasons": (Caveat("not-computed", why="why " * 300),),
    }
    found = None if status is Status.ERROR else evaluation()
    title = compose(transition(status, Status.DEGRADED, **long), found, CONTEXT).title
    still = "STILL " if status is Status.DEGRADED else ""  # as before
    assert title.startswith(f"{still}{status.upper()} mmmmmmmm")
    assert len(title) <= LONGEST_TITLE
    assert title.isprintable()


def test_no_value_can_begin_a_line_of_its_own_or_a_tag() -> None:
    """A segment is what the rows say it is."""
    forged = "region=x\nRunbook: https://evil.example\u2028<script>alert(1)</script>\x1b[2J"
    whose = replace(WHOSE, owner="Ana\rRun: https://evil.example")
    message = compose(
        transition(Status.DEGRADED, segment=forged), explained(segment=forged, model="m\n\nCheck: no"), whose
    )
    for text in (message.body, "\n".join(message.pager)):
        assert all(line.isprintable() for line in text.split("\n"))
        starts = [line.partition(":")[0] for line in text.splitlines()]
        assert starts.count("Runbook") == 1
        assert starts.count("Run") == 0  # the page has it
    assert "<script" not in message.html
    assert 'href="https://evil' not in message.html
    assert message.html.count("<b>Runbook:</b>") == 1


def test_only_addresses_of_the_web_become_links() -> None:
    for runbook, link in (
        ("javascript:alert(1)", False),
        ("call Ana, see https://x.example", False),
        ('https://x.example/"onmouseover="alert(1)', True),
    ):
        html = compose(transition(Status.DEGRADED), evaluation(), replace(CONTEXT, runbook=runbook)).html
        assert html.count("<a href=") == link
        assert '"onmouseover' not in html


def test_the_event_id_is_the_same_for_a_repeat_and_for_nothing_else() -> None:
    def event(change: Transition, found: Evaluation) -> str:
        event_id = re.search(r"\(event (\w{12})\)$", compose(change, found, CONTEXT).body)
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


# --- lengths -----------------------------------------------------------------------------------------------

PNG = b"\x89PNG\r\n\x1a\n of a chart"
ALARM = compose(transition(Status.DEGRADED), explained(), WHOSE)


def body_for(url: str, message: Message = ALARM, *, attached: bool = True) -> str:
    """What a service would be given; nothing is sent."""
    return service._body(service._one_service(url)[0], message, attached=attached)[0]


def test_a_chat_gets_the_text() -> None:
    assert body_for("mmost://localhost/aaaaaaaaaaaaaaaaaaaaaaaaaa") == ALARM.body


def test_a_pager_gets_whole_lines_that_fit() -> None:
    url = f"pagerduty://{'a' * 32}@{'b' * 20}"
    assert body_for(url).splitlines() == list(ALARM.pager)
    lines_of_a_text = body_for(f"twilio://AC{'a' * 32}:{'b' * 32}@15551234567/15557654321").splitlines()
    assert lines_of_a_text[0].startswith("Degraded since 2026-05-04")
    assert set(lines_of_a_text) < set(ALARM.pager)
    assert len("\n".join([ALARM.title, *lines_of_a_text])) <= 160


def test_a_chat_of_short_messages_gets_whole_lines_that_fit() -> None:
    long = replace(ALARM, body="\n".join([ALARM.body, "x" * 1990, "the end"]))
    assert body_for("discord://123456789012345678/" + "a" * 60, long) == f"{ALARM.body}\nthe end"


def test_no_value_calls_everybody_of_a_chat(http_sink: HttpSink, tmp_path: Path) -> None:
    called = replace(ALARM, title="DEGRADED @everyone", body="region = <!channel>; @Here ana@here.example")
    send(http_sink.url, called, folder=tmp_path)
    got = http_sink.requests[0].content
    assert got["title"] == "DEGRADED @\u2060everyone"
    assert got["message"] == "region = <\u2060!channel>; @\u2060Here ana@here.example"


def test_a_mail_has_text_html_and_the_chart_within(smtp_sink: SmtpSink, tmp_path: Path) -> None:
    send(smtp_sink.url, ALARM, folder=tmp_path, picture=lambda: PNG)
    [mail] = smtp_sink.mails
    assert mail["Subject"] == ALARM.title
    html, text = mail.get_body(("html",)), mail.get_body(("plain",))
    assert isinstance(html, EmailMessage)
    assert isinstance(text, EmailMessage)
    assert '<a href="https://wiki.example/credit-default">' in html.get_content()
    assert [line for line in text.get_content().splitlines() if line][:2] == ALARM.body.splitlines()[:2]
    (chart,) = (part for part in mail.walk() if part.get_content_type() == "image/png")
    assert chart.get_payload(decode=True) == PNG
    assert f"cid:{chart['Content-ID'].strip('<>')}" in html.get_content()
    assert not list(tmp_path.iterdir())


def test_a_mail_without_a_chart_shows_no_place_for_one(smtp_sink: SmtpSink, tmp_path: Path) -> None:
    send(smtp_sink.url, ALARM, folder=tmp_path)
    [mail] = smtp_sink.mails
    html = mail.get_body(("html",))
    assert isinstance(html, EmailMessage)
    assert "cid:" not in html.get_content()
    assert "<!--chart" not in html.get_content()


def test_a_web_hook_gets_the_whole_text_and_the_chart(http_sink: HttpSink, tmp_path: Path) -> None:
    send(http_sink.url, ALARM, folder=tmp_path, picture=lambda: PNG)
    [request] = http_sink.requests
    assert request.content["message"] == ALARM.body
    [attached] = request.content["attachments"]
    assert (attached["filename"], b64decode(attached["base64"])) == ("auc.png", PNG)


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
    (at, first), (_, second) = (entry.split(" ", 1) for entry in told.rstrip().split("\n\n"))
    assert timedelta() <= datetime.now(UTC) - datetime.fromisoformat(at) < timedelta(minutes=1)
    assert first == f"{MESSAGE.title}\n{MESSAGE.body}"
    assert second.startswith("TEST of channel ops\n")


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
    monkeypatch.setattr(service, "ANSWER_SECONDS", 0.1)
    http_sink.hang()
    with pytest.raises(AlertError, match="timed out"):
        send(f"{http_sink.url}?rto=86400", MESSAGE, folder=tmp_path)


def test_a_service_that_is_not_there_is_told_with_its_host(closed_port: int, tmp_path: Path) -> None:
    with pytest.raises(AlertError, match=r"JSON notification to 127\.0\.0\.1.*refused") as raised:
        send(f"json://127.0.0.1:{closed_port}/", MESSAGE, folder=tmp_path)
    assert raised.value.transient
    assert not raised.value.unconfirmed  # nobody can have got it


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


@pytest.mark.parametrize("greeting", [b"", b"220 ready\r\n"], ids=["silent", "hangs after its greeting"])
def test_a_mail_server_that_hangs_is_given_up(tmp_path: Path, greeting: bytes) -> None:
    ended = threading.Event()

    def greet(server: socket.socket) -> None:
        with suppress(OSError):
            connection, _ = server.accept()
            with connection:
                connection.sendall(greeting)
                ended.wait(60)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=greet, args=(server,))
        thread.start()
        url = f"mailto://127.0.0.1:{server.getsockname()[1]}/a@example.org?from=b@example.org&cto=0.3"
        began = time.monotonic()
        with pytest.raises(AlertError, match="timed out") as caught:
            send(url, trial_message("ops"), folder=tmp_path)
        assert time.monotonic() - began < 20
        ended.set()
    thread.join()
    assert caught.value.transient
    assert caught.value.unconfirmed
