"""Values that the store's tests save, and what processes that race do (importable: they are spawned)."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from typing import Any

from sqlalchemy import update

from rocmonitor.caveat import Caveat
from rocmonitor.policy.evaluation import Counts, Evaluation, Status, Transition, Verdict
from rocmonitor.policy.review.document import Comparison, Decision, Review
from rocmonitor.policy.windows import Window
from rocmonitor.store import (
    Lease,
    Outgoing,
    Store,
    WindowRecord,
    acquire,
    instance_id,
    migrate,
    open_store,
    save,
    save_review,
    tables,
)

NOW = datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=UTC)
WEEK = timedelta(days=7)


def window(number: int = 0) -> Window:
    start = datetime(2026, 1, 5, tzinfo=UTC) + number * WEEK
    return Window(start, start + WEEK)


def an_evaluation(number: int = 0, **changes: Any) -> Evaluation:
    values: dict[str, Any] = {
        "monitor": "credit",
        "model": "credit-default",
        "window": window(number),
        "champion_version": "7",
        "challenger_version": "8",
        "at": window(number).end + timedelta(days=30),
        "evaluated_at": NOW,
        "outcome": Status.DEGRADED,
        "status": Status.OK,
        "verdicts": (
            Verdict(
                rule="floor",
                kind="floor",
                outcome=Status.DEGRADED,
                estimate=0.61,
                low=0.58,
                high=0.64,
                confidence_level=0.95,
                limit=(0.7, None),
                margin=-0.06,
            ),
            Verdict(rule="forecast", kind="forecast", outcome=Status.OK, lacks=(Caveat("no-rows"),)),
        ),
        "counts": Counts(rows=12, n_pos=4, n_neg=6, unlabelled=1, bad_score=1, truncated=True),
        # The last bit of a float, a huge one and a tiny one must come back as they were.
        "metrics": {"champion/auc": 0.1 + 0.2, "z": 1.2345678901234567e22, "a": 5e-324},
        "tables": {"roc": [{"fpr": 0.0, "tpr": 1 / 3, "tpr_low": 0.1, "tpr_high": 0.5}]},
        "reference": {"auc": 0.71, "windows": [{"start": "2025-01-01", "auc": None}], "caveats": ["few"]},
        "provenance": {"data_digest": f"digest-{number}", "query": "SELECT 'ä' -- \u2028 😀"},
        "caveats": (Caveat("not-computed", why="labels came late"),),
    }
    return Evaluation(**{**values, **changes})


def a_transition(**changes: Any) -> Transition:
    values: dict[str, Any] = {
        "monitor": "credit",
        "at": NOW,
        "before": Status.OK,
        "after": Status.DEGRADED,
        "reasons": (Caveat("not-computed", why="AUROC 0.61 < 0.70"),),
        "since": window().start,
    }
    return Transition(**{**values, **changes})


def a_result(number: int = 0, *, outbox: tuple[Outgoing, ...] = (), **changes: Any) -> WindowRecord:
    return WindowRecord(
        evaluation=an_evaluation(number, **changes),
        label_counts={"0": 6, "1": 4},
        labels_digest="labels",
        settings_digest="settings",
        outbox=outbox,
    )


def a_review(number: int = 0, **changes: Any) -> Review:
    values: dict[str, Any] = {
        "monitor": "credit",
        "model": "credit-default",
        "champion_version": "7",
        "challenger_version": "8",
        "period": Window(window(0).start, window(number).end),
        "registered": True,
        "reviewed_at": NOW + number * WEEK,
        "decision": Decision.CHALLENGER,
        "decided_at": window(number).end,
        "comparisons": (
            Comparison(fpr=None, estimate=0.1 + 0.2, low=0.1, high=1 / 3, checks=7, better="challenger"),
        ),
        "rule": {"margin": 0.0, "confidence_level": 0.95, "fpr": [0.1], "digest": "rule"},
        "metrics": {"difference/auc": 0.1 + 0.2},
        "tables": {
            "windows": [
                {
                    "start": "2026-01-05T00:00:00+00:00",
                    "end": "2026-01-12T00:00:00+00:00",
                    "difference": 1 / 3,
                    "why_not": "",
                    "checked": True,
                    "running_mean": None,
                }
            ]
        },
        "provenance": {"data_digest": f"digest-{number}", "query": "SELECT 'ä' -- \u2028 😀"},
        "caveats": (Caveat("windows-waiting", count=2),),
    }
    return Review(**{**values, **changes})


def a_lease(store: Store, name: str = "credit", owner: str = "here") -> Lease:
    lease = acquire(store, name, owner, NOW, timedelta(minutes=5))
    assert lease is not None
    return lease


def runs_out(store: Store, name: str = "credit", at: datetime = NOW - timedelta(hours=5)) -> None:
    """The lease ends: by the clock of the store, which no test can move."""
    with store.writing() as connection:
        connection.execute(update(tables.lease).where(tables.lease.c.name == name).values(expires_at=at))


def race(runner: Callable[..., Any], url: str, processes: int = 2) -> list[Any]:
    """What `runner` gives in each of some processes that start at the same time."""
    context = get_context("spawn")
    barrier, answers = context.Barrier(processes), context.SimpleQueue()
    runners = [
        context.Process(target=_run, args=(runner, url, f"process {number}", barrier, answers))
        for number in range(processes)
    ]
    for process in runners:
        process.start()
    given = [answers.get() for _ in runners]
    for process in runners:
        process.join()
    answers.close()
    if failed := [answer for answer in given if isinstance(answer, BaseException)]:
        raise failed[0]
    return given


def _run(runner: Callable[..., Any], url: str, owner: str, barrier: Any, answers: Any) -> None:
    try:
        barrier.wait(timeout=60)
        answers.put(runner(url, owner))
    except BaseException as error:
        answers.put(error)


def first_open(url: str, owner: str) -> str:
    """Makes the database where it is SQLite."""
    with open_store(url) as store:
        return instance_id(store)


def upgrade(url: str, owner: str) -> None:
    migrate.upgrade(url)
    migrate.check(url)


def claim(url: str, owner: str) -> list[str]:
    """Tries to get each of fifty leases; gives those it got."""
    with open_store(url) as store:
        names = [f"window {number}" for number in range(50)]
        return [name for name in names if acquire(store, name, owner, NOW, timedelta(minutes=5))]


def save_all(url: str, owner: str) -> None:
    """Saves thirty windows one by one, under a lease of its own that keeps nobody else out."""
    with open_store(url) as store:
        lease = a_lease(store, owner, owner)
        for number in range(30):
            told = Outgoing(destination="mlflow", payload={"number": number})
            save(store, [a_result(number, outbox=(told,))], lease=lease)


def save_reviews(url: str, owner: str) -> None:
    """Saves thirty reviews one by one, under a lease of its own that keeps nobody else out."""
    with open_store(url) as store:
        lease = a_lease(store, owner, owner)
        for number in range(30):
            told = Outgoing(destination="mlflow", payload={"number": number})
            save_review(store, a_review(number), [told], lease=lease)
