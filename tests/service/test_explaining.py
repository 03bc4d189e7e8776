"""Groups that made the change of a window: told with the alarm and kept with it, from counts alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from scenario import World, labelled_as, scored, week
from sqlalchemy import Engine, delete, event, update

from rocmonitor import store
from rocmonitor.config.outside import Keep
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.explanation import explanation_of
from rocmonitor.service import explaining
from rocmonitor.service.tick import run_monitor
from rocmonitor.stats.group_reference import ColumnRows, GroupReference, group_reference
from rocmonitor.tracking import content, note
from rocmonitor.wording.explanation import main_group
from rocmonitor.wording.outlook import moved

COLUMNS = "{id: id, time: scored_at, champion: p, challenger: q, label: label, explain: [region]}"
DROP = "[{kind: drop, value: 0.02}]"


@pytest.fixture
def regions(here: World) -> World:
    """Two regions in every week; in week 22 the scores of one say nothing."""
    for number in range(20):
        here.score(number, n=200, region="north")
    here.score(21)
    here.score(21, n=200, region="north")
    here.score(22)
    here.score(22, n=200, region="north", shift=0.0)
    return here


def judged(world: World, now=None, **changes):
    """The evaluations of all rows, by the start of their window."""
    with world.runtime(now or week(24), **{"columns": COLUMNS, "rules": DROP} | changes) as runtime:
        tick = run_monitor(runtime, runtime.config.monitors["credit"], now=runtime.clock())
        assert tick.error is None
        found = store.evaluations(runtime.store, "credit")
    return {each.window.start: each for each in found if not each.segment}


def test_the_groups_of_an_episode_are_those_of_all_its_windows(regions):
    """Also where no rule dates its start: two windows below the limit are explained together."""
    regions.score(23)
    regions.score(23, n=200, region="north", shift=0.0)
    with regions.runtime(week(25), columns=COLUMNS, rules=DROP) as runtime:
        run_monitor(runtime, runtime.config.monitors["credit"], now=runtime.clock())
        [loss] = store.declines(runtime.store, "credit")
    assert (loss.start, loss.windows) == (week(22), 2)
    assert [(group["group"], group["rows"]) for group in loss.groups] == [("north", 400)]


def test_the_groups_of_a_loss_are_of_its_period_where_the_window_sets_its_start(regions):
    """Two windows in a row make the alarm: with the second, the loss has begun with the first."""
    regions.score(23)
    regions.score(23, n=200, region="north", shift=0.0)
    with regions.runtime(week(25), columns=COLUMNS, rules=DROP, alarm="{after: 2, of: 2}") as runtime:
        run_monitor(runtime, runtime.config.monitors["credit"], now=runtime.clock())
        [loss] = store.declines(runtime.store, "credit")
    assert (loss.start, loss.alarm.start, loss.windows) == (week(22), week(23), 2)
    assert [(group["group"], group["rows"]) for group in loss.groups] == [("north", 400)]


def test_only_a_window_that_changed_is_explained_and_all_read_the_same(regions):
    found = judged(regions)
    assert found[week(21)].outcome is Status.OK
    assert "groups" not in found[week(21)].tables
    alarm = found[week(22)]
    groups = explanation_of(alarm)
    assert groups is not None
    assert groups.leading is not None
    assert (groups.leading.column, groups.leading.group) == ("region", "north")
    assert sum(each.part for each in groups.parts) == pytest.approx(groups.change, abs=2e-4)
    files = content.files(alarm)
    assert "region,north" in files["tables/groups.csv"]
    assert json.loads(files["result.json"])["tables"]["groups"][0]["column"] == "region"
    assert "of the fall comes from region = north: its rows are ranked worse" in note.of_window(alarm)


@pytest.mark.slow
@pytest.mark.parametrize(
    "label",
    [
        "CAST(label AS TEXT)",
        "CASE label WHEN 1 THEN 'True' WHEN 0 THEN 'False' END",
        "CASE WHEN label = 1 AND id % 5 = 0 THEN ' yes ' ELSE label END",
    ],
)
def test_labels_mean_the_same_to_the_groups_as_to_the_judge(regions, label):
    plain = explanation_of(judged(regions)[week(22)])
    folder = regions.folder / "texts"
    folder.mkdir()
    texts = explanation_of(judged(replace(regions, folder=folder), query=labelled_as(label))[week(22)])
    assert texts == plain
    assert plain.reference_auc > 0.7


def test_the_alarm_names_the_group(regions, rocmonitor):
    regions.configure(columns=COLUMNS, rules=DROP, window="{every: 7d, label_delay: 2d, end: 2026-06-15}")
    rocmonitor("run", code=3)
    line = next(line for line in regions.alarms.splitlines() if line.startswith("What moved"))
    assert "of the fall comes from region = north: its rows are ranked worse" in line
    assert "its share is unchanged (33 %)" in line


@pytest.mark.slow
def test_the_reference_is_read_once_and_no_row_of_it_is_kept(regions):
    first = judged(regions)[week(22)]
    with regions._engine() as engine, engine.begin() as connection:
        connection.execute(delete(scored).where(scored.c.scored_at < week(20).replace(tzinfo=None)))
    regions.score(23)
    regions.score(23, n=200, region="north", shift=0.0)
    again = judged(regions, week(25))[week(23)]
    groups = explanation_of(again)
    assert groups is not None
    assert groups.parts[0].reference_share == pytest.approx(1 / 3)
    assert first.outcome is again.outcome is Status.DEGRADED
    with regions.runtime(week(25), columns=COLUMNS, rules=DROP) as runtime:
        monitor = runtime.config.monitors["credit"]
        plain = store.reference(runtime.store, "credit", explaining.digest(monitor, ("region",)))
    counted = plain[""]["columns"]["region"]
    assert set(plain[""]) == {"edges", "whole", "columns", "refused", "pairs"}
    assert set(counted) == {"labels", "ends", "kind", "cells"}
    _, pos, neg = counted["cells"]
    assert sum(pos) + sum(neg) == 20 * 600
    assert len(plain[""]["edges"]) <= 400


@pytest.mark.slow
def test_a_source_that_fails_while_explaining_blocks_neither_judgement_nor_alarm(regions, rocmonitor):
    """SQLite computes the column only where it is read, and then overflows."""
    path = regions.folder / "rocmonitor.yaml"
    regions.configure(columns=COLUMNS, rules=DROP, window="{every: 7d, label_delay: 2d, end: 2026-06-15}")
    broken = "query: SELECT id, scored_at, p, q, label, abs(-9223372036854775807 - 1) AS region FROM scored"
    path.write_text(path.read_text().replace("query: SELECT * FROM scored", broken))
    rocmonitor("run", code=3)
    assert "DEGRADED credit" in regions.alarms
    assert "Which group moved is not known: " in regions.alarms
    shown = json.loads(rocmonitor("history", "credit", "--json").stdout)
    caveats = json.dumps(shown)
    assert "integer overflow" in caveats
    assert "explanation" in caveats


@pytest.mark.slow
def test_a_column_that_disappears_stops_no_judgement_and_check_names_it(regions, rocmonitor):
    path = regions.folder / "rocmonitor.yaml"
    regions.configure(columns=COLUMNS, rules=DROP, window="{every: 7d, label_delay: 2d, end: 2026-06-15}")
    path.write_text(path.read_text().replace("SELECT * FROM", "SELECT id, scored_at, p, q, label FROM"))
    rocmonitor("run", code=3)
    assert "DEGRADED credit" in regions.alarms
    words = "columns.explain: the query gives no column 'region'; it gives id, scored_at, p, q, label"
    assert words in rocmonitor("history", "credit", "--json").stdout
    assert words in " ".join(rocmonitor("check", code=2).stdout.split())


def test_rare_values_are_pooled(regions):
    for number in (*range(20), 22):
        regions.score(number, n=1 if number < 15 else 3, region="lonely farm")
    alarm = judged(regions, min_group="40")[week(22)]
    kept = json.dumps(alarm.to_dict())
    assert "lonely" not in kept
    assert "others" in kept


@pytest.mark.slow
def test_a_warning_before_the_labels_names_the_group_whose_scores_moved(here, rocmonitor):
    """In week 23 the scores of the north lie close together, and no label has come."""
    for number in range(20):
        here.score(number, n=300, region="north")
    here.score(23, labelled=0)
    here.score(23, n=300, labelled=0, region="north", p=0.6)
    with here.runtime(
        week(24) + timedelta(hours=2),
        columns=COLUMNS,
        rules="[{kind: forecast}, {kind: scores}]",
        outlook="{after: 1h}",
    ) as runtime:
        monitor = runtime.config.monitors["credit"]
        tick = run_monitor(runtime, monitor, now=runtime.clock())
        assert tick.error is None
        outlook = store.outlooks(runtime.store, "credit")[-1]
    assert outlook.outcome is Status.AT_RISK
    groups = explanation_of(outlook)
    assert groups is not None
    assert groups.expected
    assert groups.leading is not None
    assert groups.leading.group == "north"
    assert groups.change < -0.02
    assert sum(each.part for each in groups.parts) == pytest.approx(groups.change, abs=5e-3)
    assert "of the expected fall comes from region = north: its scores tell less apart" in moved(outlook)
    said = " ".join(rocmonitor("explain", "credit", "--window", "2026-06-15").stdout.split())
    assert "The AUROC that the scores lead to fell by 0." in said
    assert "of that comes from region = north: its scores tell less apart" in said


@pytest.mark.parametrize(
    ("lost", "named"),
    [
        (lambda a, b: a & b, "region × channel = north × web"),
        (lambda a, b: a, "region = north"),
        (lambda a, b: 1 * a + 0.6 * b, "region = north"),
    ],
)
def test_two_columns_are_named_where_they_did_more_together_than_either(lost, named):
    """A loss where both meet; in one of them alone; in both, each for itself, the larger first."""
    rng, parts = np.random.default_rng(11), []
    for n, is_now in ((40_000, False), (12_000, True)):
        a, b = rng.random(n) < 0.3, rng.random(n) < 0.28
        y = rng.random(n) < 0.3
        score = rng.normal(y * (1.5 - (1.0 * lost(a, b) if is_now else 0.0)))
        columns = np.where(a, "north", "south"), np.where(b, "web", "shop")
        parts.append(
            {
                name: ColumnRows(y.astype(np.int8), score, each)
                for name, each in zip(("region", "channel"), columns, strict=True)
            }
        )
    reference = GroupReference.from_dict(json.loads(json.dumps(group_reference(parts[0]).to_dict())))
    window = reference.counted(parts[1], own=True)
    found = explaining.explanation(reference, window, fewest=20, seed=1)
    assert main_group(found).split(" comes from ")[1].startswith(named)
    if "×" in named:
        of_both = [each for each in found.parts if each.column == "region × channel"]
        assert sum(each.part for each in of_both) == pytest.approx(found.change, abs=2e-3)
        assert sum(each.rows for each in of_both) == 12_000


@contextmanager
def statements() -> Iterator[list[str]]:
    """Collect what is sent to any database of this process."""
    sent: list[str] = []

    def note(*arguments: object) -> None:
        sent.append(str(arguments[2]))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def test_a_dry_run_reads_what_a_run_reads_and_each_row_once(regions):
    """Three windows of a loss, explained one by one and together; statements that name the column read it."""
    for number in (23, 24):
        regions.score(number)
        regions.score(number, n=200, region="north", shift=0.0)
    read = {}
    for dry_run in (True, False):
        with regions.runtime(week(26), columns=COLUMNS, rules=DROP) as runtime, statements() as sent:
            monitor = runtime.config.monitors["credit"]
            tick = run_monitor(runtime, monitor, now=runtime.clock(), dry_run=dry_run)
        assert tick.error is None
        groups = [each.tables["groups"] for each in tick.evaluations if each.tables.get("groups")]
        read[dry_run] = groups, sum("region" in each for each in sent)
    assert len(read[True][0]) == 3
    assert read[True] == read[False]
    assert read[True][1] == 20 + 3  # windows of the reference, and those that are explained


def loss_after(world: World, now, counts="400d", **changes):
    """The loss after a tick, and how many statements read rows with the column."""
    how = {"columns": COLUMNS, "rules": DROP} | changes
    with world.runtime(now, **how) as made, statements() as sent:
        keep = {"keep": Keep(counts=counts)}
        runtime = replace(made, config=made.config.model_copy(update=keep))
        tick = run_monitor(runtime, runtime.config.monitors["credit"], now=runtime.clock())
        assert tick.error is None
        [loss] = store.declines(runtime.store, "credit")
    return loss, sum("region" in each for each in sent)


def test_a_loss_that_goes_on_reads_its_new_rows_alone(regions, rocmonitor):
    """Also with rows of earlier weeks deleted: what was counted of them is kept, and `explain` shows it."""
    for number in (23, 24):
        regions.score(number)
        regions.score(number, n=200, region="north", shift=0.0)
    once = {"window": "{every: 7d, label_delay: 2d, revise_for: 1d}"}
    first, read = loss_after(regions, week(24), **once)
    assert (first.windows, read) == (1, 20 + 1)
    with regions._engine() as engine, engine.begin() as connection:
        connection.execute(delete(scored).where(scored.c.scored_at < week(23).replace(tzinfo=None)))
    second, read = loss_after(regions, week(25), **once)
    assert (second.windows, read) == (2, 1)
    third, read = loss_after(regions, week(26), **once)
    assert (third.windows, read) == (3, 1)
    assert [group["rows"] for group in third.groups] == [600]
    assert third.groups[0]["part"] == pytest.approx(first.groups[0]["part"], abs=0.02)
    [north, *_] = json.loads(rocmonitor("explain", "credit", "--json").stdout)["groups"]
    assert (north["group"], north["rows"]) == ("north", 600)


@pytest.mark.parametrize("counts", ["400d", pytest.param("0d", marks=pytest.mark.slow)])
def test_what_is_counted_of_a_loss_gives_what_its_rows_give(regions, counts):
    """To the cells of the reference: in one tick, and week by week with and without what is kept."""
    for number in (23, 24):
        regions.score(number)
        regions.score(number, n=200, region="north", shift=0.0)
    for number in (24, 25):
        loss_after(regions, week(number), counts=counts)
    by_week, read = loss_after(regions, week(26), counts=counts)
    assert read == (1 if counts == "400d" else 2)
    folder = regions.folder / "at-once"
    folder.mkdir()
    at_once, _ = loss_after(replace(regions, folder=folder), week(26), counts=counts)
    assert by_week.groups == at_once.groups


def test_rows_of_a_loss_that_were_corrected_are_counted_again(regions):
    """100 rows of the first week come after it was judged."""
    regions.score(23)
    regions.score(23, n=200, region="north", shift=0.0)
    loss_after(regions, week(24))
    regions.score(22, n=100, region="late", shift=0.0)
    with regions._engine() as engine, engine.begin() as connection:
        connection.execute(update(scored).where(scored.c.region == "late").values(region="north"))
    loss, _ = loss_after(regions, week(25))
    assert [(group["group"], group["rows"]) for group in loss.groups] == [("north", 500)]


def test_the_message_of_a_catch_up_tells_the_loss_as_it_stands(regions, rocmonitor):
    """Three windows of a loss are judged in one go: no message speaks of the first alone."""
    for number in (23, 24):
        regions.score(number)
        regions.score(number, n=200, region="north", shift=0.0)
    regions.configure(columns=COLUMNS, rules=DROP, window="{every: 7d, label_delay: 2d, end: 2026-06-29}")
    rocmonitor("run", code=3)
    [title] = re.findall(r"^[A-Z ]+ credit: .*$", regions.alarms, re.MULTILINE)
    assert re.fullmatch(r"DEGRADED credit: AUROC 0\.\d+, 0\.\d+ before", title)
    assert "from 3 windows; chance alone would do this less than once in 100 years" in regions.alarms
    assert "What moved: region = north (" in regions.alarms
    [loss] = json.loads(rocmonitor("history", "credit", "--json").stdout)["episodes"]
    assert [group["rows"] for group in loss["groups"]] == [600]


def test_explain_reads_the_windows_that_the_size_is_the_mean_of(regions, rocmonitor):
    """A loss that no window shows any more, and none has ruled out: the windows since are no part of it."""
    regions.score(23)
    regions.score(23, n=200, region="north", shift=0.65)
    regions.configure(columns=COLUMNS, rules=DROP, window="{every: 7d, label_delay: 2d, end: 2026-06-22}")
    rocmonitor("run", code=(0, 3))
    shown = json.loads(rocmonitor("history", "credit", "--json").stdout)
    [loss] = [episode for episode in shown["episodes"] if episode["kind"] == "performance"]
    assert loss["windows"] == 1
    assert loss["still"] is not None
    assert loss["end"] is None
    explained = json.loads(rocmonitor("explain", "credit", "--json").stdout)
    assert explained["window"] == "2026-06-08T00:00Z/2026-06-15T00:00Z"
