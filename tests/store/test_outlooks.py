"""Outlooks in the store: kept once, with what follows from them, and read back to the last bit."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from store.examples import NOW, a_lease, a_result, a_transition, window

from rocmonitor.caveat import Caveat
from rocmonitor.errors import StoreError
from rocmonitor.policy.evaluation import Status, Verdict
from rocmonitor.policy.outlook import Outlook
from rocmonitor.store import (
    Lease,
    Outgoing,
    OutlookRecord,
    Store,
    mark_delivered,
    outlook,
    outlook_metrics,
    outlook_series,
    outlooks,
    outlooks_pending,
    pending,
    pending_warnings,
    receipt_of,
    save,
    save_outlooks,
    transitions,
)

MLFLOW = Outgoing(destination="mlflow", payload={})


def an_outlook(number: int = 0, **changes: Any) -> Outlook:
    values: dict[str, Any] = {
        "monitor": "credit",
        "model": "credit-default",
        "champion_version": "7",
        "window": window(number),
        "at": window(number).end + timedelta(hours=6),
        "made_at": NOW,
        "outcome": Status.AT_RISK,
        "verdicts": (
            Verdict(
                rule="outlook",
                kind="outlook",
                outcome=Status.AT_RISK,
                estimate=0.1 + 0.2,
                low=0.2,
                high=1 / 3,
                limit=(0.7, None),
                margin=-0.4,
                details={"against": "windows"},
            ),
        ),
        "scored": 1200,
        "labelled": 12,
        "metrics": {"outlook/auc": 0.1 + 0.2, "outlook/low": 0.2, "outlook/high": 1 / 3},
        "tables": {"scores": [{"low": None, "high": 0.5, "reference": 1 / 3, "window": 0.5}]},
        "provenance": {"query": "SELECT 'ä' -- \u2028 😀"},
        "caveats": (Caveat("no-rows"),),
    }
    return Outlook(**{**values, **changes})


def keep(store: Store, *records: OutlookRecord, lease: Lease | None = None) -> None:
    save_outlooks(store, records, lease=lease or a_lease(store))


def test_an_outlook_comes_back_as_it_was(store: Store) -> None:
    keep(store, OutlookRecord(outlook=an_outlook()), OutlookRecord(outlook=an_outlook(1, outcome=None)))
    assert outlooks(store, "credit") == [an_outlook(), an_outlook(1, outcome=None)]
    assert outlooks(store, "credit", start=window(1).start) == [an_outlook(1, outcome=None)]
    assert outlooks_pending(store, "credit") == {
        ("", window(0)): an_outlook().metrics,
        ("", window(1)): an_outlook().metrics,
    }
    assert outlook_metrics(store, "credit", "", window(1)) == an_outlook().metrics
    assert outlook_metrics(store, "credit", "region=north", window(1)) == {}
    assert [point.window for point in outlook_series(store, "credit", "")] == [window(0), window(1)]


def test_what_follows_from_an_outlook_is_kept_with_it_and_once(store: Store) -> None:
    change = a_transition(after=Status.AT_RISK, reasons=an_outlook().verdicts)
    record = OutlookRecord(outlook=an_outlook(), transition=change, notified=True, outbox=[MLFLOW])
    lease = a_lease(store)
    keep(store, record, lease=lease)
    keep(store, record, lease=lease)
    assert len(outlooks(store, "credit")) == 1
    [saved] = transitions(store, "credit")
    assert (saved.after, saved.reasons, saved.notified) == (Status.AT_RISK, an_outlook().verdicts, True)
    [row] = pending(store, NOW)
    assert row.outlook_id is not None
    assert outlook(store, row.outlook_id) == an_outlook()
    assert receipt_of(store, outlook_id=row.outlook_id) is None
    mark_delivered(store, row.id, NOW, "the run")
    assert receipt_of(store, outlook_id=row.outlook_id) == "the run"


def test_a_warning_is_pending_until_its_window_is_judged(store: Store) -> None:
    quiet = OutlookRecord(outlook=an_outlook(2, outcome=None))
    lease, warned = a_lease(store), [OutlookRecord(outlook=an_outlook(number)) for number in (0, 1)]
    keep(store, *warned, quiet, lease=lease)
    rules = frozenset({"outlook"})
    assert pending_warnings(store, "credit", "") == {window(0): rules, window(1): rules}
    save(store, [a_result(0)], lease=lease)
    assert pending_warnings(store, "credit", "") == {window(1): rules}
    assert pending_warnings(store, "credit", "region=north") == {}
    assert [each.window for each in outlooks(store, "credit", pending=True)] == [window(1), window(2)]
    assert list(outlooks_pending(store, "credit")) == [("", window(1)), ("", window(2))]


def test_an_outlook_made_with_the_evaluation_is_kept_in_its_transaction(store: Store) -> None:
    late = OutlookRecord(outlook=an_outlook(), outbox=[MLFLOW])
    result = a_result(0, outbox=(MLFLOW,))
    with_outlook = replace(result, outlook=late)
    lease = a_lease(store)
    save(store, [with_outlook], lease=lease)
    save(store, [with_outlook], lease=lease)
    assert outlooks(store, "credit") == [an_outlook()]
    assert [(row.outlook_id is None, row.evaluation_id is None) for row in pending(store, NOW)] == [
        (False, True),
        (True, False),
    ]


def test_an_outlook_that_is_not_there_is_an_error(store: Store) -> None:
    with pytest.raises(StoreError, match="there is no outlook 7"):
        outlook(store, 7)
