"""What the overview reads, against what the store keeps."""

from __future__ import annotations

from collections import defaultdict

from sqlalchemy import text
from store.examples import WEEK, a_lease, a_result, a_transition, an_evaluation, window

from rocmonitor.policy.evaluation import Status
from rocmonitor.store import Store, open_store, save, save_transition, series
from rocmonitor.store.glance import ahead, glances, last_changes

METRICS = {
    "champion/auc": 0.7,
    "champion/auc_low": 0.65,
    "champion/auc_high": 0.75,
    "forecast/low": 0.6,
    "forecast/high": 0.8,
    "data/labelled_share": 0.9,
}


def fill(store: Store, monitor: str, segment: str, numbers: range, revision: int = 0) -> None:
    save(
        store,
        [
            a_result(
                number,
                monitor=monitor,
                segment=segment,
                revision=revision,
                outcome=Status.OK,
                metrics=METRICS | {"champion/auc": 0.7 + number / 1000 + revision / 10000},
            )
            for number in numbers
        ],
        lease=a_lease(store, f"{monitor}{segment}{revision}{numbers}"),
    )


def test_the_newest_windows_of_every_segment(store: Store) -> None:
    fill(store, "credit", "", range(40))
    fill(store, "credit", "region=north", range(3))
    fill(store, "other", "", range(30))
    found = glances(store, windows=26)
    assert set(found) == {("credit", ""), ("credit", "region=north"), ("other", "")}
    for (monitor, segment), glance in found.items():
        points = series(store, monitor, segment)[-26:]
        assert [brief.auc for brief in glance.briefs] == [point.metrics["champion/auc"] for point in points]
        assert glance.window == points[-1].window
    brief = found["other", ""].briefs[-1]
    assert brief[2:] == (0.65, 0.75, 0.6, 0.8, 0.9)
    assert brief.outcome == "ok"


def test_of_a_window_the_newest_revision_counts(store: Store) -> None:
    fill(store, "credit", "", range(30))
    fill(store, "credit", "", range(28, 30), revision=1)
    fill(store, "credit", "", range(29, 30), revision=2)
    glance = glances(store, windows=26)["credit", ""]
    assert len(glance.briefs) == 26
    assert [round(brief.auc or 0, 4) for brief in glance.briefs[-3:]] == [0.727, 0.7281, 0.7292]


def test_a_window_without_metrics_has_none(store: Store) -> None:
    save(store, [a_result(0, metrics={}, outcome=Status.INSUFFICIENT)], lease=a_lease(store))
    assert glances(store)["credit", ""].briefs[-1] == ("insufficient", *[None] * 6)


def test_the_overview_reads_the_index_alone(sqlite_url: str) -> None:
    """Else it would read rows of tens of kilobytes; PostgreSQL keeps large values outside its rows."""
    from rocmonitor.store.glance import _newest_windows

    with open_store(sqlite_url) as store, store.reading() as connection:
        query = _newest_windows(26).compile(store.engine, compile_kwargs={"literal_binds": True})
        plan = [row.detail for row in connection.execute(text(f"EXPLAIN QUERY PLAN {query}"))]
    reads = [line for line in plan if "rocmonitor_evaluation" in line]
    assert len(reads) >= 4
    assert all("COVERING INDEX" in line for line in reads)
    # From one segment to the next, not over the windows of each: a pair of columns would be `(monitor>?)`.
    assert sum("(monitor=? AND segment>?)" in line for line in reads) == 2


def test_segments_are_found_however_they_are_named(store: Store) -> None:
    known = {("a", ""), ("a", "x"), ("a", "y"), ("b", "x"), ("c", ""), ("c", "x=1"), ("c", "x=10")}
    for monitor, segment in sorted(known, reverse=True):
        fill(store, monitor, segment, range(3))
    assert set(glances(store, windows=2)) == known


def test_the_last_change_of_status_counts(store: Store) -> None:
    lease = a_lease(store)
    for after in (Status.DEGRADED, Status.OK):
        save_transition(store, a_transition(after=after), False, [], lease=lease)
    save_transition(store, a_transition(monitor="other", segment="a=b"), False, [], lease=lease)
    found = {key: change.after for key, change in last_changes(store).items()}
    assert found == {("credit", ""): Status.OK, ("other", "a=b"): Status.DEGRADED}
    assert last_changes(store)["credit", ""].since == window().start


def test_only_outlooks_after_the_last_judged_window(store: Store) -> None:
    fill(store, "credit", "", range(3))
    saved: dict[str, list[int]] = defaultdict(list)
    insert = text(
        "INSERT INTO rocmonitor_outlook (monitor, segment, window_start, window_end, model_version, at,"
        " outcome, metrics, result) VALUES (:monitor, '', :start, :end, '7', :end, :outcome, :metrics, '{}')"
    )
    with store.writing() as connection:
        for monitor, numbers in (("credit", range(1, 5)), ("unjudged", range(2))):
            for number in numbers:
                start = an_evaluation(number).window.start
                values = {"monitor": monitor, "start": start, "end": start + WEEK}
                if connection.dialect.name == "sqlite":
                    ends = {key: f"{values[key]:%Y-%m-%d %H:%M:%S.%f}" for key in ("start", "end")}
                    values |= ends
                metrics = f'{{"outlook/auc": 0.6{number}, "outlook/low": 0.5, "outlook/high": 0.7}}'
                connection.execute(insert, values | {"outcome": "at-risk", "metrics": metrics})
                saved[monitor].append(number)
    found = ahead(store)
    assert [one.auc for one in found["credit", ""]] == [0.63, 0.64]
    assert [one.auc for one in found["unjudged", ""]] == [0.60, 0.61]
    assert found["credit", ""][0].outcome is Status.AT_RISK
    assert found["credit", ""][0].window == window(3)
    assert set(ahead(store, "credit")) == {("credit", "")}
