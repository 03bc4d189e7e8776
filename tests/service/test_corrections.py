"""Labels and scores that are corrected, rows that come late: what makes a revision, and what does not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from scenario import World, scored, week
from sqlalchemy import select

from rocmonitor.policy.evaluation import Status
from rocmonitor.service.tick import run_monitor
from rocmonitor.sources import LabelCounts, SqlSource, open_source
from rocmonitor.store import tables

DAY = timedelta(days=1)
RULES = {"rules": "[{kind: floor, value: 0.6}]"}
WITHOUT = {"window": "{every: 7d, label_delay: 2d}"}


def tick(here: World, now, *, windows=None, again=False, dry_run=False, **changes):
    with here.runtime(now, **RULES | changes) as runtime:
        monitor = runtime.config.monitors["credit"]
        chosen = None if windows is None else monitor.calendar.within(*windows)
        return run_monitor(runtime, monitor, now=now, windows=chosen, again=again, dry_run=dry_run)


def execute(here: World, statement: str) -> int:
    with here._engine() as engine, engine.begin() as connection:
        return connection.exec_driver_sql(statement).rowcount


def swap(here: World, number: int) -> None:
    """Swap two labels of a week: there are as many of each as before."""
    with here._engine() as engine, engine.begin() as connection:
        first = (
            f"SELECT id FROM scored WHERE id >= {number}00000 AND id < {number + 1}00000 AND label = {{}} "
        )
        first += "ORDER BY id LIMIT 1"
        ids = [connection.exec_driver_sql(first.format(label)).scalars().all() for label in (0, 1)]
        for label, those in zip((1, 0), ids, strict=True):
            listed = ", ".join(map(str, those))
            connection.exec_driver_sql(f"UPDATE scored SET label = {label} WHERE id IN ({listed})")


def counted(here: World, number: int = 20) -> LabelCounts:
    """How a week's rows are labelled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCENARIO_SOURCE_URL", here.source_url)
        known = here.configure()
        monitor = known.monitors["credit"]
        with open_source(known.sources["here"], known.folder) as source:
            return source.label_counts(monitor, monitor.calendar.within(week(number), week(number + 1))[0])


@pytest.fixture
def pulls(monkeypatch) -> list[str]:
    """The windows that were read, by their start."""
    found, pull = [], SqlSource.pull

    def counted(self, monitor, window, **options):
        found.append(window.start)
        return pull(self, monitor, window, **options)

    monkeypatch.setattr(SqlSource, "pull", counted)
    return found


def test_two_labels_that_are_swapped_make_a_revision(here):
    here.score(20)
    [first] = tick(here, week(21) + 2 * DAY).evaluations
    swap(here, 20)
    [second] = tick(here, week(21) + 3 * DAY).evaluations
    assert (second.window, second.revision) == (first.window, 1)
    assert second.counts == first.counts
    assert second.metrics["champion/auc"] != first.metrics["champion/auc"]
    assert tick(here, week(21) + 4 * DAY).evaluations == []


@pytest.mark.parametrize("column", ["p", "q"])
def test_a_score_that_is_corrected_makes_a_revision(here, column):
    here.score(20)
    tick(here, week(21) + 2 * DAY)
    assert execute(here, f"UPDATE scored SET {column} = {column} + 1e-9 WHERE id = 2043007") == 1
    [second] = tick(here, week(21) + 3 * DAY).evaluations
    assert second.revision == 1


def test_a_row_that_moves_to_another_segment_makes_a_revision(here):
    here.score(20)
    here.score(20, n=200, region="north")
    segments = {"segments": "[region]"}
    tick(here, week(21) + 2 * DAY, **segments)
    assert execute(here, "UPDATE scored SET region = 'north' WHERE id = 2043007") == 1
    revised = tick(here, week(21) + 3 * DAY, **segments).evaluations
    assert {each.segment: each.counts.rows for each in revised if each.revision} == {
        "": 600,
        "region=all": 399,
        "region=north": 201,
    }


def test_what_the_statistics_do_not_use_makes_no_revision_and_is_not_read(here, pulls):
    here.score(20)
    tick(here, week(21) + 2 * DAY)
    pulls.clear()
    execute(here, "UPDATE scored SET id = id + 1 - 2 * (id % 2) + 50000 WHERE id >= 2000000")
    assert tick(here, week(21) + 3 * DAY).evaluations == []
    assert pulls == []


def test_a_digest_that_changes_without_the_rows_is_noted_and_makes_no_revision(here, pulls):
    """As after an update of the database: it hashes in another way."""
    here.score(20)
    tick(here, week(21) + 2 * DAY)
    forget(here)
    pulls.clear()
    for _ in range(3):
        assert tick(here, week(21) + 3 * DAY).evaluations == []
    assert pulls == [week(20)]


def test_a_dry_run_notes_nothing(here, pulls):
    here.score(20)
    tick(here, week(21) + 2 * DAY)
    forget(here)
    pulls.clear()
    for _ in range(2):
        tick(here, week(21) + 3 * DAY, dry_run=True)
    assert pulls == [week(20)] * 2


def forget(here: World) -> None:
    with here.runtime() as runtime, runtime.store.writing() as connection:
        connection.execute(tables.evaluation.update().values(labels_digest="of another version"))


def test_the_digest_of_a_window_does_not_depend_on_the_order_of_its_rows(written_database_url, tmp_path):
    """The rows are put in anew in another order, and read by every database that is there."""
    there = World(folder=tmp_path, source_url=written_database_url)
    there.score(20)
    with there._engine() as engine, engine.begin() as connection:
        kept = connection.execute(select(scored)).mappings().all()
    first = counted(there)
    with there._engine() as engine, engine.begin() as connection:
        connection.execute(scored.delete())
        connection.execute(scored.insert(), [dict(row) for row in reversed(kept)])
    assert counted(there) == first
    swap(there, 20)
    second = counted(there)
    assert second.by_label == first.by_label
    assert second.digest != first.digest


def test_without_revise_for_corrections_are_seen_for_four_windows(here):
    for number in range(20, 27):
        here.score(number)
    tick(here, week(25) + 2 * DAY, **WITHOUT)
    for number in (20, 21):
        swap(here, number)
    [revised] = tick(here, week(26) + DAY, **WITHOUT).evaluations
    assert revised.window.start == week(21)


def test_revise_for_of_nothing_leaves_windows_as_they_are(here):
    here.score(20)
    off = {"window": "{every: 7d, label_delay: 2d, revise_for: 0s}"}
    tick(here, week(21) + 2 * DAY, **off)
    swap(here, 20)
    assert tick(here, week(21) + 3 * DAY, **off).evaluations == []


def test_rows_that_come_weeks_late_are_judged_once(here):
    """Longer after than late labels are heeded: a window without rows waits four times as long."""
    now = week(21) + 2 * DAY
    [empty] = tick(here, now, **WITHOUT).evaluations
    assert empty.outcome is Status.INSUFFICIENT
    assert tick(here, now + DAY, **WITHOUT).evaluations == []
    for number in range(21, 28):
        here.score(number)
    assert len(tick(here, week(28) + 2 * DAY, **WITHOUT).evaluations) == 7
    here.score(20)
    [late] = tick(here, week(28) + 3 * DAY, **WITHOUT).evaluations
    assert (late.window.start, late.revision, late.outcome) == (week(20), 1, Status.OK)
    swap(here, 20)
    assert tick(here, week(28) + 4 * DAY, **WITHOUT).evaluations == []  # judged: no longer awaited


def test_rows_that_never_come_are_not_awaited_for_ever(here):
    tick(here, week(21) + 2 * DAY, **WITHOUT)
    here.score(20)
    late = tick(here, week(21) + 2 * DAY + 16 * 7 * DAY + DAY, **WITHOUT).evaluations
    assert week(20) not in {each.window.start for each in late}


def test_a_backfill_again_judges_by_the_rules_as_they_are_now(here):
    for number in (20, 21):
        here.score(number)
    now, period = week(22) + 2 * DAY, (week(20), week(22))
    tick(here, now)
    plain = tick(here, now, windows=period)
    assert plain.evaluations == []
    assert [each.start for each in plain.unchanged] == [week(20), week(21)]
    same = tick(here, now, windows=period, again=True)
    assert same.evaluations == []
    assert len(same.unchanged) == 2
    rules = {"rules": "[{kind: floor, value: 0.95}]"}
    assert tick(here, now, **rules).evaluations == []
    judged = tick(here, now, windows=period, again=True, **rules)
    assert [(each.revision, each.outcome) for each in judged.evaluations] == [(1, Status.DEGRADED)] * 2
    repeated = tick(here, now, windows=period, again=True, **rules)
    assert (repeated.evaluations, len(repeated.unchanged)) == ([], 2)


def test_a_backfill_again_sees_rows_that_changed_unseen(here):
    here.score(20)
    now, period = week(21) + 2 * DAY, (week(20), week(21))
    tick(here, now)
    execute(
        here,
        "INSERT INTO scored (id, scored_at, p, q, label, region) SELECT "
        "id + 50000, scored_at, p, q, NULL, region FROM scored WHERE id >= 2000000",
    )
    assert tick(here, now).evaluations == []
    [revised] = tick(here, now, windows=period, again=True).evaluations
    assert (revised.revision, revised.counts.unlabelled) == (1, 400)
