"""Scores that are infinite rank at the ends; rows that cannot be used are said first, and judged by none."""

from __future__ import annotations

import json
import math
import sqlite3
from contextlib import closing
from datetime import timedelta

import numpy as np
import pytest
from commands import Rocmonitor
from scenario import World, week

from rocmonitor import store
from rocmonitor.policy.evaluation import Evaluation, Status
from rocmonitor.service.delivery import drain
from rocmonitor.service.tick import run_monitor
from rocmonitor.stats import auc
from rocmonitor.wording.caveats import words_of

DAY = timedelta(days=1)
RULES = (
    "{kind: forecast}",
    "{kind: lasting}",
    "{kind: floor, value: 0.6}",
    "{kind: drop, value: 0.02}",
    "{kind: cost, w: 0.2, value: 0.35}",
    "{kind: scores}",
    "{kind: outlook}",
)
EVERY = {"rules": f"[{', '.join(RULES)}]", "outlook": "{after: 1d}"}


def change(here: World, number: int, share: float, value: str, column: str = "p") -> None:
    """Set a column in a share of a week's rows, the lowest scores first: they are not missing at random."""
    first = number * 100_000
    last = first + 100_000
    with closing(sqlite3.connect(here.folder / "source.db")) as source, source:
        ids = source.execute("SELECT id FROM scored WHERE id >= ? AND id < ? ORDER BY p", [first, last])
        chosen = ids.fetchall()
        chosen = chosen[: int(share * len(chosen))]
        source.executemany(f"UPDATE scored SET {column} = {value} WHERE id = ?", chosen)


def judged(here: World, number: int, **changes: str) -> Evaluation:
    with here.runtime(week(number + 1) + 2 * DAY, **changes) as runtime:
        found = run_monitor(runtime, runtime.config.monitors["credit"], now=runtime.clock())
        assert found.error is None
        drain(runtime, progress=lambda _: None)
        return store.evaluations(runtime.store, "credit", segment="")[-1]


@pytest.mark.slow
def test_infinite_scores_rank_at_the_ends(here: World) -> None:
    """45 % of a window are -inf, as a calibrator gives that says 0: the order is that of the scores."""
    here.score(20)
    whole = judged(here, 20)
    here.score(21, alike=20)
    change(here, 21, 0.45, "-9e999")
    found = judged(here, 21)
    assert (found.counts.bad_score, found.counts.used) == (0, 400)
    rows = rows_of(here, 21)
    scores = np.where(np.isneginf(rows[:, 0]), -1e9, rows[:, 0])
    assert np.isneginf(rows[:, 0]).sum() == 180
    assert found.metrics["champion/auc"] == pytest.approx(auc(rows[:, 1].astype(int), scores).auc, abs=1e-12)
    assert whole.metrics["champion/auc"] > found.metrics["champion/auc"]
    json.dumps(found.to_dict(), allow_nan=False)


def rows_of(here: World, number: int) -> np.ndarray:
    with closing(sqlite3.connect(here.folder / "source.db")) as source:
        query = "SELECT p, label FROM scored WHERE id >= ? AND id < ?"
        return np.array(source.execute(query, [number * 100_000, (number + 1) * 100_000]).fetchall(), float)


@pytest.mark.slow
@pytest.mark.parametrize("grouped", ["raw", "database", "condensed"])
def test_every_rule_takes_infinite_scores_and_so_do_groups_and_cells(here: World, grouped: str) -> None:
    """In the reference as in later windows; rules that foresee from the scores included."""
    for number in range(22):
        if number >= 20:
            here.score(number)
        change(here, number, 0.1, "-9e999")
    if grouped == "condensed":
        changes = {**EVERY, "columns": "{id: id, time: scored_at, champion: p, label: label}"}
        changes["model"] = "{name: credit, version: 7}"
    else:
        changes = dict(EVERY)
    found = judged(here, 21, grouped=grouped, **changes)
    assert found.counts.bad_score == 0
    assert found.outcome is Status.OK
    rows = rows_of(here, 21)
    expected = auc(rows[:, 1].astype(int), np.where(np.isneginf(rows[:, 0]), -1e9, rows[:, 0])).auc
    assert found.metrics["champion/auc"] == pytest.approx(
        expected, abs=1e-12 if grouped != "condensed" else 1e-3
    )
    assert all(math.isfinite(value) for value in found.metrics.values())


@pytest.mark.slow
def test_they_are_set_aside_where_that_is_asked_for_and_the_window_is_not_judged(here: World) -> None:
    here.score(20)
    change(here, 20, 0.45, "-9e999")
    here.configure()
    path = here.folder / "rocmonitor.yaml"
    with here.runtime(week(21) + 2 * DAY) as runtime:
        assert runtime.config.monitors["credit"].infinite_scores == "rank"
    text = path.read_text() + "    infinite_scores: refuse\n"
    path.write_text(text)
    from scenario import runtime_of

    from rocmonitor import config

    known = config.load(path)
    with store.open_store(known.store_url) as kept:
        runtime = runtime_of(known, kept, lambda: week(21) + 2 * DAY)
        found = run_monitor(runtime, known.monitors["credit"], now=runtime.clock())
        [evaluation] = found.evaluations
        drain(runtime, progress=lambda _: None)
    assert evaluation.outcome is Status.INSUFFICIENT
    assert evaluation.counts.bad_score == 180


@pytest.mark.slow
def test_a_window_that_lost_many_scores_is_insufficient_and_the_first_sentence_says_why(here: World) -> None:
    here.score(20)
    change(here, 20, 0.45, "NULL")
    found = judged(here, 20)
    assert (found.outcome, found.counts.bad_score) == (Status.INSUFFICIENT, 180)
    [verdict] = found.verdicts
    assert [each.code for each in verdict.lacks] == ["rows-unusable"]
    assert "champion/auc" in found.metrics  # measured, and not judged
    said = here.alarms  # one message: that the window is not judged is no second one
    assert said.startswith("UNUSABLE credit: 45 % of the rows cannot be used, usually none\n")
    assert (
        "Many rows cannot be used: 180 of 400 rows (45 %) of window 2026-05-25 to 2026-06-01, 180 without a "
        "usable score, usually none. With more than 20 % a window is not judged." in said
    )
    assert "Also: insufficient: all rows" in said
    assert "INSUFFICIENT" not in said


@pytest.mark.slow
def test_it_is_an_alarm_of_its_own_whatever_the_status_and_said_once(
    here: World, rocmonitor: Rocmonitor
) -> None:
    for number in range(20, 24):
        here.score(number, shift=0.25)
        if number in (21, 22):
            change(here, number, 0.4, "NULL")
        judged(here, number)
        if number == 22:
            assert "usable rows stopped arriving" in rocmonitor("status", code=3).stdout
    titles = [line for line in here.alarms.splitlines() if " credit: " in line]
    # The loss has the same size in the fourth week; what the two between show of it does not count.
    assert [each.split()[0] for each in titles] == ["DEGRADED", "UNUSABLE", "RESOLVED"]
    assert titles[2] == "RESOLVED credit: rows can be used again"
    assert "Too few could be used from 2026-06-01 (UTC) on." in here.alarms


@pytest.mark.slow
def test_scores_that_are_none_are_an_alarm_before_any_label_and_no_warning(here: World) -> None:
    here.score(20)
    judged(here, 20, **EVERY)
    for number, share in ((21, 0.3), (22, 0.0)):
        here.score(number, labelled=0)
        change(here, number, share, "NULL")
        with here.runtime(week(number + 1) + DAY, **EVERY) as runtime:
            found = run_monitor(runtime, runtime.config.monitors["credit"], now=runtime.clock())
            drain(runtime, progress=lambda _: None)
        [outlook] = found.outlooks
        assert outlook.outcome is (Status.INSUFFICIENT if share else None)
        # When it is judged, scores are right again, which was said.
        with closing(sqlite3.connect(here.folder / "source.db")) as source, source:
            source.execute("UPDATE scored SET label = id % 2 WHERE label IS NULL AND id < 2200000")
    titles = [line for line in here.alarms.splitlines() if " credit: " in line]
    assert [each for each in titles if "INSUFFICIENT" not in each] == [
        "UNUSABLE credit: 30 % of the rows cannot be used, usually none",
        "RESOLVED credit: rows can be used again",
    ]


@pytest.mark.slow
def test_some_more_unusable_rows_than_usual_are_said_and_the_window_is_judged(here: World) -> None:
    here.score(20, shift=0.2)
    change(here, 20, 0.1, "NULL")
    found = judged(here, 20)
    assert found.outcome is Status.DEGRADED
    assert found.caveats[0].code == "rows-unusable"
    assert "40 of 400 rows (10 %) cannot be used" in here.alarms
    assert "UNUSABLE credit: 10 % of the rows cannot be used, usually none" in here.alarms


@pytest.mark.slow
def test_as_many_as_in_the_reference_are_nothing_new(here: World) -> None:
    for number in range(21):
        if number == 20:
            here.score(20)
        change(here, number, 0.3, "NULL", "label" if number % 2 else "p")
    found = judged(here, 20)
    assert found.outcome is Status.OK
    assert "rows-unusable" not in [each.code for each in found.caveats]
    assert "UNUSABLE" not in here.alarms


@pytest.mark.slow
def test_labels_that_are_none_count_likewise(here: World) -> None:
    here.score(20)
    change(here, 20, 0.3, "7", "label")
    found = judged(here, 20)
    assert found.outcome is Status.INSUFFICIENT
    assert "120 with a label of neither class" in words_of(found.verdicts[0].lacks[0])
    assert "120 with a label of neither class, usually none" in here.alarms


def test_after_a_catch_up_rows_are_unusable_since_the_first_such_window(here: World) -> None:
    """Four weeks read at once, of which the last two lack scores."""
    for number in range(20, 24):
        here.score(number)
    for number in (22, 23):
        change(here, number, 0.3, "NULL")
    judged(here, 23)
    with here.runtime(week(24)) as runtime:
        [stop] = [each for each in store.open_stops(runtime.store)["credit"] if each.kind == "usable"]
    assert (stop.start, stop.window.start) == (week(22), week(23))
