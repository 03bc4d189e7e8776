"""Rows are read from their source once: what was judged is in the store, as long as it is still so."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from scenario import Clock, World, runtime_of, week
from sqlalchemy import create_engine, select, text

from rocmonitor import config, store
from rocmonitor.config.outside import Keep
from rocmonitor.errors import ConfigError, SourceError
from rocmonitor.policy.windows import Window
from rocmonitor.service import references
from rocmonitor.service.counted import Reader, reading_of
from rocmonitor.service.keep import delete_old
from rocmonitor.service.review import review_monitor
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick import run_monitor
from rocmonitor.sources import SqlSource, open_source
from rocmonitor.store import tables
from rocmonitor.wording.caveats import words_of

DAY = timedelta(days=1)
NOW = week(24) + 3 * DAY
QUICK = "    review: {n_resamples: 99}\n"


@pytest.fixture
def here(here: World) -> World:
    """Four weeks to judge, 20 to 23."""
    for number in range(20, 24):
        here.score(number)
    return here


@contextmanager
def runtime(here: World, *, columns: str = "", **changes: str) -> Any:
    """A runtime at work after the last week; `columns` in place of the first one, ``id: id, ``."""
    with here.runtime(NOW, **changes):
        pass
    path = here.folder / "rocmonitor.yaml"
    path.write_text(path.read_text().replace("{id: id, ", "{" + columns) + QUICK)
    known = config.load(path)
    with store.open_store(known.store_url) as kept:
        yield runtime_of(known, kept, Clock(NOW))


def judge(made: Runtime, **options: Any) -> None:
    assert run_monitor(made, made.config.monitors["credit"], now=NOW, **options).error is None


def reviewed(made: Runtime) -> Any:
    return review_monitor(made, made.config.monitors["credit"], now=NOW, dry_run=True)


def codes(caveats: Any) -> dict[str, Any]:
    return {each.code: each.values for each in caveats}


@contextmanager
def no_rows_sent() -> Any:
    """Only counting is allowed."""

    def refuse(*arguments: Any, **options: Any) -> None:
        raise AssertionError("rows were read")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqlSource, "pull", refuse)
        yield


def change(here: World, statement: str) -> None:
    engine = create_engine(here.source_url)
    with engine.begin() as connection:
        assert connection.execute(text(statement)).rowcount
    engine.dispose()


def test_every_window_that_is_read_is_kept_with_its_digest(here):
    with runtime(here) as made:
        monitor = made.config.monitors["credit"]
        judge(made)
        windows = [*monitor.reference_windows, *monitor.windows(NOW)]
        reading = reading_of(monitor)
        found = store.windows_counted(made.store, reading, Window(windows[0].start, windows[-1].end))
        assert found == windows
        for evaluation in store.evaluations(made.store, "credit"):
            kept = store.counts(made.store, reading, evaluation.window)
            assert kept.data_digest == evaluation.provenance["data_digest"]
            assert kept.rows == evaluation.counts.rows


@pytest.mark.slow
def test_a_review_of_windows_that_were_judged_needs_no_rows_and_no_source(here):
    with runtime(here) as made:
        before = reviewed(made)
        judge(made)
        with no_rows_sent():
            counted = reviewed(made)
        assert counted.key == before.key
        # Grouped rows are added in another order.
        assert counted.metrics == pytest.approx(before.metrics, rel=1e-12)
        assert [each.better for each in counted.comparisons] == [each.better for each in before.comparisons]
        assert counted.caveats == before.caveats
        source = Path(here.source_url.removeprefix("sqlite:///"))
        source.rename(source.with_suffix(".away"))
        alone = reviewed(made)
        assert alone.key == before.key
        assert alone.metrics == counted.metrics
        [told] = [words_of(each) for each in alone.caveats if each.code == "rows-from-store"]
        assert "2026-01-05 to 2026-06-22" in told
        assert "there is no SQLite file" in told


@pytest.mark.slow
def test_rows_that_the_source_has_no_more_are_in_the_store(here):
    with runtime(here) as made:
        judge(made)
        before = reviewed(made)
        here.clear(20)
        after = reviewed(made)
        assert after.key == before.key
        assert codes(after.caveats)["rows-from-store"]["count"] == 1
        assert "no longer has its rows" in " ".join(map(words_of, after.caveats))


@pytest.mark.slow
def test_rows_that_were_corrected_are_read_again(here):
    with runtime(here) as made:
        judge(made)
        before = reviewed(made)
        change(here, "UPDATE scored SET label = 1 - label WHERE id = (SELECT max(id) FROM scored)")
        after = reviewed(made)
        assert after.key != before.key
        assert "rows-from-store" not in codes(after.caveats)
        assert after.provenance["windows"][:-1] == before.provenance["windows"][:-1]
        judge(made)  # a revision, whose rows are kept in their place
        with no_rows_sent():
            assert reviewed(made).key == after.key


@pytest.mark.slow
def test_a_window_that_nobody_judged_needs_its_source(here):
    with runtime(here) as made:
        judge(made)
        with made.store.writing() as connection:
            connection.execute(tables.counts.delete().where(tables.counts.c.window_start == week(21)))
        assert "rows-from-store" not in codes(reviewed(made).caveats)
        source = Path(here.source_url.removeprefix("sqlite:///"))
        source.rename(source.with_suffix(".away"))
        with pytest.raises(SourceError, match="there is no SQLite file"):
            reviewed(made)


@pytest.mark.slow
def test_a_reference_is_not_read_again(here):
    with runtime(here) as made:
        judge(made)
    with runtime(here, rules="[{kind: forecast, half_life: 10}]") as made:
        monitor = made.config.monitors["credit"]
        spec = made.config.sources["here"]
        with open_source(spec, here.folder) as source:
            afresh = references.load_or_build(monitor, source, made.store, now=NOW, keep=False)
            with no_rows_sent():
                counted = references.load_or_build(monitor, source, made.store, now=NOW)
            assert {name: each.to_dict() for name, each in counted.items()} == {
                name: each.to_dict() for name, each in afresh.items()
            }


def test_a_month_is_the_sum_of_its_weeks(here):
    with runtime(here) as made:
        judge(made)
    with runtime(here, columns="") as made:  # with ids, one could be in two of the weeks
        judge(made, windows=[])
        judge(made)
        monitor = made.config.monitors["credit"]
        month = Window(week(20), week(24))
        with open_source(made.config.sources["here"], here.folder) as source:
            whole = source.pull(monitor, month)
            with no_rows_sent():
                summed = Reader(made.store, monitor, source).read(month)
            assert summed.digest == whole.digest
            assert summed.segments[""].counts == whole.segments[""].counts
            change(
                here,
                "UPDATE scored SET p = p + 1 WHERE id = (SELECT min(id) FROM scored WHERE id >= 2200000)",
            )
            with pytest.raises(AssertionError, match="rows were read"), no_rows_sent():
                Reader(made.store, monitor, source).read(month)


@pytest.mark.slow
def test_longer_windows_need_no_rows_where_shorter_ones_were_judged(here):
    with runtime(here, columns="") as made:
        judge(made)
        weeks = [each for each in store.evaluations(made.store, "credit") if each.window.start >= week(20)]
    with runtime(here, columns="", window="{every: 28d, label_delay: 2d, revise_for: 60d}") as made:
        with no_rows_sent():
            judge(made)
        long = Window(week(20), week(24))
        [found] = [each for each in store.evaluations(made.store, "credit") if each.window == long]
        assert found.counts.n_pos == sum(each.counts.n_pos for each in weeks)
        assert len(found.reference["windows"]) == 5


@pytest.mark.slow
def test_counts_are_kept_as_long_as_configured(here):
    with runtime(here) as made:
        judge(made, dry_run=True)
        assert kept(made) == 0
        none = replace(made, config=made.config.model_copy(update={"keep": Keep(counts="0d")}))
        judge(none)
        assert kept(made) == 0
    with runtime(here, rules="[{kind: forecast, half_life: 10}]") as made:
        judge(made, windows=made.config.monitors["credit"].windows(NOW), again=True)
        assert kept(made) == 24
        assert delete_old(made).counts == 0
        later = replace(made, clock=Clock(NOW + 401 * DAY))
        assert delete_old(later).counts == 24
        assert kept(made) == 0


def kept(made: Runtime) -> int:
    with made.store.reading() as connection:
        return len(connection.execute(select(tables.counts.c.reading)).all())


def test_no_age_below_a_day_but_none(here):
    here.configure()
    path = here.folder / "rocmonitor.yaml"
    path.write_text("keep: {counts: 5h}\n" + path.read_text())
    with pytest.raises(ConfigError, match=r"keep\.counts: .*at least 1d, or 0d: no counts"):
        config.load(path)
