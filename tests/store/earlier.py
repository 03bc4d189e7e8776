"""Rows as earlier versions of rocmonitor saved them: for monitor credit, a window that is judged."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import MetaData
from store.examples import a_review

from rocmonitor.policy.outlook import Outlook
from rocmonitor.policy.windows import Window
from rocmonitor.store.connection import connect

LANDED = Path(__file__).parent / "landed_0002.json"
ALARM = "AUROC 0.61 is below the floor 0.7"


def insert_earlier(url: str, window: Window, label_counts: dict[str, int]) -> None:
    """Save an evaluation, a change of status, messages that wait, a review, an outlook.

    Only what the version has tables and columns for.

    Parameters
    ----------
    url : str
        A store at any version.
    window : Window
    label_counts : dict of str to int
        Those of the window, by which later versions see that it has not changed.
    """
    with connect(url) as store, store.writing() as connection:
        metadata = MetaData()
        metadata.reflect(connection)
        for name, row in _rows(window, label_counts):
            table = metadata.tables.get(f"rocmonitor_{name}")
            if table is not None and ("review_id" not in row or "review_id" in table.columns):
                there = {column: value for column, value in row.items() if column in table.columns}
                if name != "instance":  # the database counts
                    there.pop("id", None)
                connection.execute(table.insert().values(**there))


def _rows(window: Window, label_counts: dict[str, int]) -> list[tuple[str, dict[str, Any]]]:
    at = window.end + timedelta(days=2)
    rows: list[tuple[str, dict[str, Any]]] = [
        ("instance", {"id": 1, "uuid": "00000000-0000-4000-8000-000000000001"}),
        ("evaluation", _evaluation(window, at, label_counts)),
        ("transition", _transition(window, at)),
        ("review", _review()),
        ("outlook", _outlook(window)),
    ]
    run = {
        "evaluation_id": 1,
        "payload": {},
        "destination": "mlflow",
        "state": "delivered",
        "receipt": "r1",
    }
    alarm = {"evaluation_id": 1, "payload": {"transition": _change(window, at)}, "destination": "channel:log"}
    review = {"review_id": 1, "payload": {"before": "no decision yet"}, "destination": "channel:log"}
    for number, each in enumerate((run, alarm, review), 1):
        row = {"id": number, "monitor": "credit", "state": "pending", "attempts": 0, **each}
        rows.append(("outbox", row | {"created_at": at, "next_attempt_at": at}))
    rows.append(("lease", {"name": "monitor:credit", "owner": "dead", "token": 3, "expires_at": at}))
    rows.append(("alias", {"model": "credit", "alias": "champion", "version": "7", "seen_at": at}))
    return rows


def _evaluation(window: Window, at: datetime, label_counts: dict[str, int]) -> dict[str, Any]:
    landed = json.loads(LANDED.read_text(encoding="utf-8"))["evaluation"]
    plain = {"start": window.start.isoformat(), "end": window.end.isoformat()}
    result = landed["result"] | {
        "monitor": "credit",
        "model": "credit",
        "window": plain,
        "champion_version": "7",
        "challenger_version": "8",
        "at": at.isoformat(),
        "status": "degraded",
    }
    return landed | {
        "id": 1,
        "monitor": "credit",
        "window_start": window.start,
        "window_end": window.end,
        "model_version": "7",
        "challenger_version": "8",
        "at": at,
        "label_counts": label_counts,
        "result": result,
    }


def _change(window: Window, at: datetime) -> dict[str, Any]:
    """As a message that waits holds it; at first, reasons were one sentence."""
    return {
        "monitor": "credit",
        "segment": "",
        "at": at.isoformat(),
        "before": "ok",
        "after": "degraded",
        "reason": ALARM,
        "since": window.start.isoformat(),
    }


def _transition(window: Window, at: datetime) -> dict[str, Any]:
    reasons = [{"code": "recorded", "values": {"text": ALARM}, "about": []}]
    known = _change(window, at) | {"at": at, "since": window.start, "reasons": reasons}
    return known | {"id": 1, "told": True, "notified": True, "evaluation_id": 1}


def _review() -> dict[str, Any]:
    review = a_review()
    return {
        "id": 1,
        "monitor": "credit",
        "key": review.key,
        "champion_version": "7",
        "challenger_version": "8",
        "period_start": review.period.start,
        "period_end": review.period.end,
        "reviewed_at": review.reviewed_at,
        "decision": str(review.decision),
        "rule_digest": "rule",
        "result": review.to_dict(),
    }


def _outlook(window: Window) -> dict[str, Any]:
    at = window.end + timedelta(days=1)
    outlook = Outlook(
        monitor="credit",
        model="credit",
        window=window,
        champion_version="7",
        challenger_version="8",
        at=at,
        made_at=at,
        outcome=None,
        metrics={"outlook/auc": 0.75, "outlook/low": 0.7, "outlook/high": 0.8},
        provenance={"data_digest": "digest"},
    )
    plain = outlook.to_dict()
    return {
        "id": 1,
        "monitor": "credit",
        "segment": "",
        "window_start": window.start,
        "window_end": window.end,
        "model_version": "7",
        "at": outlook.at,
        "outcome": None,
        "metrics": plain.pop("metrics"),
        "result": plain,
    }
