"""A season in a whole tick: windows are judged around their time of year, and `check` says so."""

from __future__ import annotations

import math
from datetime import datetime

import pytest
from scenario import World, week

from rocmonitor.service import checking
from rocmonitor.service.tick import run_monitor

REFERENCE = 27  # windows of four weeks: two years
WINTER, SUMMER = 4 * 27, 4 * 33


def score(here: World, number: int) -> None:
    here.score(number, n=700, shift=1.2 + 0.4 * math.cos(2 * math.pi * 7 * number / 365.25))


@pytest.fixture
def seasonal(here: World) -> World:
    with here._engine() as engine, engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM scored")
    for number in (*range(0, 4 * REFERENCE, 4), WINTER, SUMMER):
        score(here, number)
    return here


@pytest.mark.slow
def test_windows_are_judged_around_their_time_of_year_and_check_says_so(seasonal: World) -> None:
    settings = {
        "window": "{every: 28d, label_delay: 2d}",
        "reference": f"{{from: 2026-01-05, to: {week(4 * REFERENCE):%Y-%m-%d}}}",
        "rules": "[{kind: forecast}]",
    }
    now: datetime = week(SUMMER + 5)
    with seasonal.runtime(now, **settings) as runtime:
        tick = run_monitor(runtime, runtime.config.monitors["credit"], now=now)
        assert tick.error is None
        judged = {each.window.start: each for each in tick.evaluations if "forecast/low" in each.metrics}
        winter, summer = judged[week(WINTER)], judged[week(SUMMER)]
        [high], [low] = winter.verdicts, summer.verdicts
        assert low.details["season"] < -0.02 < 0.02 < high.details["season"]
        assert (low.outcome, high.outcome) == ("ok", "ok")
        assert summer.metrics["forecast/high"] < winter.metrics["forecast/high"]
        lines: list[str] = []
        checking.check(runtime.config, now=now, output=lines.append, explain=True)
    [said] = [line for line in lines if "shows a season" in line]
    assert (
        "forecast: the reference shows a season, which is taken off: its interval lies around an AUROC"
        in said
    )
