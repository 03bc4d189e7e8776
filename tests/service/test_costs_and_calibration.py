"""Rules on costs and probabilities in a tick: metrics, verdicts, and what `check` says of percentages."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from scenario import World, until, week

from rocmonitor import store
from rocmonitor.policy.evaluation import Status
from rocmonitor.service import checking
from rocmonitor.service.tick import run_monitor

RULES = "[{kind: cost, w: 0.2, value: 0.9}, {kind: cost, w: 0.2, margin: 0.02}]"


def change(here: World, update: str) -> None:
    with closing(sqlite3.connect(here.folder / "source.db")) as database, database:
        database.execute(f"UPDATE scored SET {update}")


@pytest.mark.slow
def test_a_window_that_costs_more_is_degraded_and_so_it_stays_when_it_is_judged_again(two_weeks: World):
    here = two_weeks
    change(here, "p = -p WHERE id BETWEEN 2000000 AND 2099999")  # the first window that is judged
    with here.runtime(rules=RULES, window=until("2026-06-08")) as runtime:
        monitor = runtime.config.monitors["credit"]
        tick = run_monitor(runtime, monitor, now=week(24))
        assert tick.error is None
        first, second = tick.evaluations
        assert (first.outcome, second.outcome) == (Status.DEGRADED, Status.OK)
        by_rule = {each.rule: each for each in first.verdicts}
        assert by_rule["cost_2"].outcome is Status.DEGRADED
        assert by_rule["cost_2"].details["reference_cost"] < by_rule["cost_2"].details["cost"]
        then = {row["w"]: row["reference_cost"] for row in first.tables["costs"]}
        assert then[by_rule["cost_2"].details["w"]] == by_rule["cost_2"].details["reference_cost"]
        assert first.metrics["cost_2/margin"] < 0
        [*_, last] = run_monitor(
            runtime, monitor, now=week(24), windows=[first.window], again=True
        ).unchanged  # the frozen reference kept its costs
        assert last == first.window
        assert store.outcomes(runtime.store, "credit", "")[0] == (first.window, Status.DEGRADED)


@pytest.mark.slow
def test_probabilities_are_measured_and_percentages_are_a_problem(two_weeks: World):
    here = two_weeks
    change(here, "p = 1 / (1 + exp(-1.2 * p + 1.1))")  # what the draw of the scenario makes of its scores
    calibrated = {
        "rules": "[{kind: calibration, slope: [0.5, 2.0], intercept: [-0.8, 0.8]}]",
        "reference": "{from: 2026-01-05, to: 2026-05-25}\n    score: probability",
        "window": until("2026-06-08"),
    }
    with here.runtime(**calibrated) as runtime:
        tick = run_monitor(runtime, runtime.config.monitors["credit"], now=week(24))
        assert tick.error is None
        assert [each.outcome for each in tick.evaluations] == [Status.OK, Status.OK]
        metrics = tick.evaluations[0].metrics
        assert metrics["champion/calibration_slope_low"] < 1 < metrics["champion/calibration_slope_high"]
        assert 0 < metrics["champion/brier_low"] < metrics["champion/brier"] < 0.25
    lines: list[str] = []
    now = datetime(2026, 7, 1, tzinfo=UTC)
    checking.check(here.configure(**calibrated), now=now, output=lines.append, explain=True)
    assert not any("not counted below" in line for line in lines)
    assert any(line.strip().startswith("when nothing is wrong:") for line in lines)
    change(here, "p = 100 * p")
    lines.clear()
    problems = checking.check(
        here.configure(**calibrated), now=now, output=lines.append, explain=True
    ).problems
    assert any("monitors.credit.score: probability, but" in str(each) for each in problems)
    assert any("they look like percentages: divide by 100" in line for line in lines)
    assert any("not counted below, because its level is not known: calibration" in line for line in lines)
