"""An alarm budget in a tick: derived levels, the segments of a window, and what came of it in a year."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from caveats import codes
from commands import Rocmonitor
from scenario import CONFIGURATION, DEFAULTS, World, runtime_of, week

from rocmonitor import config, store
from rocmonitor.config import Monitor
from rocmonitor.policy.evaluation import Evaluation, Status
from rocmonitor.policy.windows import Window
from rocmonitor.service.budgets import alarm_year, allotments
from rocmonitor.service.checking import check
from rocmonitor.service.tick import Tick, run_monitor
from rocmonitor.sources import LabelCounts, SqlSource

DAY = timedelta(days=1)
REGIONS = ("east", "north", "south", "west")


def tick(here: World, number: int, budget: str = "", **changes: str) -> Tick:
    """Judge all weeks before this one, with an alarm budget."""
    text = CONFIGURATION.format(**{**DEFAULTS, **changes})
    path = here.folder / "rocmonitor.yaml"
    path.write_text(f"{f'alarm_budget: {budget}' if budget else ''}\n{text}", encoding="utf-8")
    known, now = config.load(path), week(number) + 2 * DAY
    with store.open_store(known.store_url) as kept:
        runtime = runtime_of(known, kept, lambda: now)
        return run_monitor(runtime, known.monitors["credit"], now=now)


def of(found: Tick, segment: str) -> Evaluation:
    [chosen] = [each for each in found.evaluations if each.segment == segment]
    return chosen


def test_rules_are_judged_at_the_level_that_the_budget_gives_unless_theirs_is_written(here: World) -> None:
    """A floor with a chance of 0.0005, and two rules that share what is left of 104.36 verdicts."""
    here.score(20)
    rules = (
        "[{kind: forecast}, {kind: drop, value: 0.02}, {kind: floor, value: 0.6, confidence_level: 0.999}]"
    )
    [found] = tick(here, 21, "{false_alarms_per_year: 0.1}", rules=rules).evaluations
    year = 365.25 / 7
    level = 1 - 2 * (0.1 - 0.0005 * year) / (2 * year)
    assert [each.confidence_level for each in found.verdicts] == pytest.approx([level, level, 0.999])
    assert "level-by-model" in codes(found)


def test_a_stricter_level_turns_an_alarm_into_none_and_keeps_the_frozen_reference(here: World) -> None:
    here.score(20, shift=0.8)
    here.score(21, shift=0.8)
    [loose] = tick(here, 21, rules="[{kind: forecast}]").evaluations
    [strict] = tick(here, 22, "{false_alarms_per_year: 0.001}", rules="[{kind: forecast}]").evaluations
    assert (loose.outcome, strict.outcome) == (Status.DEGRADED, Status.OK)
    assert loose.reference["digest"] == strict.reference["digest"]
    assert strict.metrics["forecast/low"] < loose.metrics["forecast/low"]


@pytest.mark.slow
def test_of_many_segments_only_what_is_clear_stays_degraded(here: World) -> None:
    """One of five regions is slightly below a floor in the first week, and far below in the second."""
    for number, worst in ((20, 0.85), (21, 0.3)):
        here.score(number, shift=1.3)
        for region in REGIONS:
            here.score(number, n=200, region=region, shift=worst if region == "north" else 1.35)
    rules = "[{kind: floor, value: 0.78, confidence_level: 0.9}]"
    found = tick(here, 22, "{false_alarms_per_year: 4}", segments="[region]", rules=rules).evaluations
    slightly, clearly = [each for each in found if each.segment == "region=north"]
    details = slightly.verdicts[0].details
    assert (details["alone"], details["segments"]) == ("degraded", 5)
    assert details["pvalue"] < 0.05 < details["adjusted_pvalue"]
    assert details["adjusted_pvalue"] == pytest.approx(5 * details["pvalue"])
    assert (slightly.outcome, slightly.status) == (Status.OK, Status.OK)
    assert "degraded-alone" in codes(slightly)
    assert "shift" not in slightly.tables
    [verdict] = clearly.verdicts
    assert (verdict.outcome, clearly.outcome) == (Status.DEGRADED, Status.DEGRADED)
    assert verdict.details["adjusted_pvalue"] == pytest.approx(5 * verdict.details["pvalue"])
    assert verdict.details["adjusted_pvalue"] < 0.05
    assert "alone" not in verdict.details
    others = [each for each in found if each.segment != "region=north"]
    assert {each.outcome for each in others} == {Status.OK}


def windows_of_500(days: int) -> int:
    """How many the reference has, of 400 rows a week that come evenly: as few whole days as hold 500 rows."""
    counts = [sum(day <= row * 7 / 400 < day + 1 for row in range(days * 400 // 7)) for day in range(days)]
    found = rows = 0
    for each in counts:
        rows += each
        if rows >= 500:
            found, rows = found + 1, 0
    return found  # what is left belongs to the last one


BY_ROWS = {"window": "{rows: 500, label_delay: 2d}", "rules": "[{kind: forecast}]"}


@pytest.mark.slow
def test_joined_windows_have_the_levels_of_as_many_as_the_reference_lets_expect(here: World) -> None:
    """Not of each day as a window: 15 windows in 140 days, 39 a year."""
    for number in (20, 21, 22, 23):
        here.score(number)
    budget, a_year = "{false_alarms_per_year: 0.1}", windows_of_500(140) / 140 * 365.25
    assert 38 < a_year < 41
    level = pytest.approx(1 - 2 * 0.1 / a_year)
    found = tick(here, 22, budget, **BY_ROWS)
    assert [each.verdicts[0].confidence_level for each in found.evaluations] == [level]
    known = config.load(here.folder / "rocmonitor.yaml")
    with store.open_store(known.store_url) as kept:
        [frozen] = allotments(known, kept)
        assert frozen.verdicts == pytest.approx(a_year)
        assert allotments(known, kept)[0] is frozen  # not derived anew for each monitor
        [year] = alarm_year(known, kept, week(22))
        assert year["expected"] == pytest.approx(0.1)
    with store.open_store(f"sqlite:///{here.folder / 'empty.db'}") as kept:
        [unknown] = allotments(known, kept)
        assert unknown.verdicts == pytest.approx(365.25)  # until a reference is frozen: the strictest levels
    assert tick(here, 24, budget, **BY_ROWS).evaluations[0].verdicts[0].confidence_level == level
    said = Rocmonitor(here.folder)("check", "--explain").stdout
    assert f"{round(a_year)} verdicts a year that may be false" in " ".join(said.split())


@pytest.mark.slow
def test_check_counts_each_piece_of_a_joined_reference_once(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.score(20)
    text = CONFIGURATION.format(**{**DEFAULTS, **BY_ROWS})
    path = here.folder / "rocmonitor.yaml"
    path.write_text(f"alarm_budget: {{false_alarms_per_year: 0.1}}\n{text}", encoding="utf-8")
    known, asked, count = config.load(path), Counter[Window](), SqlSource.label_counts

    def spy(source: SqlSource, monitor: Monitor, window: Window, **options: Any) -> LabelCounts:
        asked[window] += 1
        return count(source, monitor, window, **options)

    monkeypatch.setattr(SqlSource, "label_counts", spy)
    assert check(known, output=lambda _: None, now=week(22)).problems == []
    pieces = known.monitors["credit"].reference_windows
    assert len(pieces) == 140
    assert {asked[piece] for piece in pieces} == {1}


def test_windows_by_rows_of_a_reference_in_equal_parts_are_expected_by_its_rows(here: World) -> None:
    here.score(20)
    here.score(21)
    parts = "{from: 2026-01-05, to: 2026-05-25, windows: 10}"
    found = tick(here, 22, "{false_alarms_per_year: 0.1}", reference=parts, **BY_ROWS)
    a_year = 365.25 / (140 * 500 / 8000)
    assert found.evaluations[0].verdicts[0].confidence_level == pytest.approx(1 - 2 * 0.1 / a_year)


@pytest.mark.slow
def test_alarms_of_a_year_are_counted_with_those_that_somebody_took_on(here: World) -> None:
    here.score(20, shift=0.2)
    here.score(21)
    here.score(22, shift=0.2)
    budget = "{false_alarms_per_year: 4, groups: {cards: {false_alarms_per_year: 1, monitors: [credit]}}}"
    tick(here, 21, budget)
    known = config.load(here.folder / "rocmonitor.yaml")
    with store.open_store(known.store_url) as kept:
        store.acknowledge(kept, "credit", by="anna", at=week(21) + 3 * DAY)
    tick(here, 23, budget)
    with store.open_store(known.store_url) as kept:
        [cards] = alarm_year(known, kept, week(23) + 2 * DAY)
        assert (cards["group"], cards["sent"], cards["acknowledged"], cards["not_sent"]) == ("cards", 2, 1, 0)
        [later] = alarm_year(known, kept, week(21) + 3 * DAY + timedelta(days=365))
        assert (later["sent"], later["acknowledged"]) == (1, 0)
        store.mute(kept, "credit", by="anna", until=week(40))
    here.score(23)
    here.score(24, shift=0.2)
    tick(here, 25, budget)
    with store.open_store(known.store_url) as kept:
        [muted] = alarm_year(known, kept, week(25) + 2 * DAY)
        assert (muted["sent"], muted["not_sent"]) == (2, 1)
    rocmonitor = Rocmonitor(here.folder)
    shown = json.loads(rocmonitor("status", "--json", code=5).stdout)
    assert [each["group"] for each in shown["alarm_budget"]] == ["cards"]
    assert "Alarm budget of cards: 1 false alarm a year" in rocmonitor("status", code=5).stdout


@pytest.mark.slow
def test_segments_that_cost_too_much_are_counted_like_those_below_a_floor(here: World) -> None:
    """The clear one stays degraded; each p-value is that of the level at which its interval touches."""
    here.score(20, shift=1.3)
    for region in REGIONS:
        here.score(19, n=200, region=region)
        here.score(20, n=200, region=region, shift=0.0 if region == "north" else 1.35)
    rules = "[{kind: cost, w: 0.5, value: 0.36}]"
    found = tick(here, 21, "{false_alarms_per_year: 4}", segments="[region]", rules=rules).evaluations
    [clearly] = [each for each in found if each.segment == "region=north"]
    [verdict] = clearly.verdicts
    assert verdict.outcome is Status.DEGRADED
    assert verdict.details["segments"] == 5
    assert verdict.details["adjusted_pvalue"] == pytest.approx(5 * verdict.details["pvalue"])
    assert {each.outcome for each in found if each.segment not in ("", "region=north")} == {Status.OK}
