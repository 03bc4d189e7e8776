"""What groups failures, and when people are notified of an outage."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from rocmonitor.errors import AlertError, ConfigError, InputError, SourceError, StoreError, TrackingError
from rocmonitor.policy.outages import (
    REMIND_EVERY,
    SETTLE,
    Member,
    Notice,
    Outage,
    cause_of,
    is_lasting,
    phase_due,
    place_of,
)
from rocmonitor.policy.status import Attention
from rocmonitor.wording.episode import as_json

NOW = datetime(2026, 6, 10, 4, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
TOLERANCE = 30 * MINUTE
OUTAGE = Outage(
    kind="source",
    cause="source:dwh",
    start=NOW,
    error="down",
    lasting=False,
    members={"credit": Member(since=NOW, seen=NOW), "outbox:mlflow": Member(since=NOW, seen=NOW)},
)


@pytest.mark.parametrize(
    ("error", "place", "lasting"),
    [
        (SourceError("down"), "source:dwh", False),
        (SourceError("no login", transient=False), "source:dwh", True),
        (TrackingError("down"), "mlflow", False),
        (StoreError("full"), "store", False),
        (ConfigError("no such column"), "monitor", True),
        (InputError("no such label"), "monitor", True),
        (ValueError("unforeseen"), "monitor", True),
    ],
)
def test_where_a_tick_failed_and_whether_it_passes_by_itself(error, place, lasting):
    assert place_of(error, "dwh") == place
    assert is_lasting(error) is lasting


def test_what_passes_by_itself_is_grouped_by_place_and_the_rest_by_error():
    assert cause_of(SourceError("down at 4:01"), "source:dwh") == "source:dwh"
    login = [
        cause_of(SourceError(f"sources.dwh: no login {n}", transient=False), "source:dwh", n) for n in "ab"
    ]
    query = [cause_of(ConfigError(f"monitors.{n}.query: no column p"), "monitor", n) for n in "ab"]
    other = cause_of(ConfigError("monitors.a.query: no column q"), "monitor", "a")
    assert login[0] == login[1] != "source:dwh"
    assert query[0] == query[1] != other
    assert cause_of(AlertError("row 17 was not taken", transient=False), "x") == cause_of(
        AlertError("row 18 was not taken", transient=False), "x"
    )


@pytest.mark.parametrize(
    ("minutes", "changes", "settled", "expected"),
    [
        (0, {}, True, None),  # a blip
        (29, {}, True, None),
        (30, {}, False, "began"),
        (0, {"lasting": True}, True, "began"),  # nothing more joins
        (1, {"lasting": True}, False, None),
        (2, {"lasting": True}, False, "began"),
        (60, {"last_message": NOW}, True, None),
        (24 * 60, {"last_message": NOW}, True, "lasts"),
        (24 * 60, {"last_message": NOW + MINUTE}, True, None),
        (5, {"end": NOW + MINUTE}, True, None),  # nobody knew
        (45, {"end": NOW + 40 * MINUTE, "last_message": NOW + 30 * MINUTE}, True, "ended"),
    ],
)
def test_when_people_are_notified(minutes, changes, settled, expected):
    assert (SETTLE, REMIND_EVERY) == (2 * MINUTE, 24 * 60 * MINUTE)
    outage = replace(OUTAGE, **changes)
    assert phase_due(outage, NOW + minutes * MINUTE, tolerance=TOLERANCE, settled=settled) == expected


def test_a_tolerance_of_nothing_is_for_every_error():
    for lasting in (False, True):
        assert phase_due(replace(OUTAGE, lasting=lasting), NOW, tolerance=timedelta()) == "began"


def test_deliveries_are_no_monitors():
    assert OUTAGE.monitors == ["credit"]
    assert replace(OUTAGE, cause="source:dwh#0123").place == "source:dwh"
    assert as_json(OUTAGE, Attention())["monitors"] == ["credit"]


def test_an_outage_comes_back_as_it_was():
    assert Outage.from_dict(OUTAGE.to_dict()) == OUTAGE


def test_a_notice_comes_back_as_it_was():
    notice = Notice(
        outage=OUTAGE,
        phase="lasts",
        at=NOW + MINUTE,
        monitors=("credit", "fraud"),
    )
    assert (notice.unjudged, notice.unreviewed, notice.concerned) == (["credit"], [], ["fraud"])
    assert Notice.from_dict(notice.to_dict()) == notice
