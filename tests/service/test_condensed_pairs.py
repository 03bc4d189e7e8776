"""Two models whose windows are read as cells: compared as rows are, or not at all; reviews read rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from caveats import codes
from scenario import CONFIGURATION, DEFAULTS, World, runtime_of, tried, week

from rocmonitor import config, store
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.windows import Window
from rocmonitor.service.checking import check
from rocmonitor.service.counted import reading_of
from rocmonitor.service.review import review_monitor
from rocmonitor.service.tick import run_monitor

DAY = timedelta(days=1)
TWO = {"segments": "[region]", "rules": "[{kind: floor, value: 0.5}, {kind: challenger}]"}
COARSE = "{per_unit: 8, max_error: 0.2}"


def configured(here: World, condense: str, **changes: str) -> config.Config:
    """A monitor with a challenger, and no ids."""
    path = here.folder / "rocmonitor.yaml"
    text = CONFIGURATION.format(**{**DEFAULTS, **TWO, **changes}).replace("{id: id, ", "{")
    path.write_text(f"{text}    condense: {condense}\n", encoding="utf-8")
    return config.load(path)


def tick(here: World, condense: str, **changes: str) -> Any:
    return tried(configured(here, condense, **changes), week(21) + 2 * DAY)


@pytest.mark.slow
def test_cells_compare_two_models_as_rows_do(here):
    here.score(20, shift=0.6)
    raw, few = (tick(here, COARSE, grouped=mode) for mode in ("raw", "condensed"))
    assert len(raw) == 2
    for segment, exact in raw.items():
        cells = few[segment]
        assert cells.counts == exact.counts
        assert [each.outcome for each in cells.verdicts] == [each.outcome for each in exact.verdicts]
        one, other = exact.metrics, cells.metrics
        for name in ("auc", "auc_se"):
            off = abs(one[f"difference/{name}"] - other[f"difference/{name}"])
            assert 0 < off <= other[f"difference/{name}_error"]
        [verdict] = [each for each in cells.verdicts if each.kind == "challenger"]
        [of_rows] = [each for each in exact.verdicts if each.kind == "challenger"]
        assert verdict.low < of_rows.low < of_rows.high < verdict.high
        assert verdict.details == of_rows.details
        [row], [twin] = exact.tables["dominance"], cells.tables["dominance"]
        assert twin == pytest.approx(row, abs=1e-12)
        assert {"condensed", "condensed-difference"} <= set(codes(cells))
        assert not {"condensed", "condensed-difference"} & set(codes(exact))


def test_too_coarse_a_challenger_makes_the_window_insufficient(here):
    """A champion with one score loses nothing; the challenger's scores share a few cells."""
    here.score(20, p=0.0)
    found = tick(here, "{scale: linear, per_unit: 2}", grouped="condensed")[""]
    assert found.outcome is Status.INSUFFICIENT
    by_kind = {each.kind: each for each in found.verdicts}
    assert by_kind["floor"].outcome is Status.OK
    assert [each.code for each in by_kind["challenger"].lacks] == ["condensed-too-coarse"]
    assert "champion/auc" in found.metrics
    assert "difference/auc" not in found.metrics


@pytest.mark.slow
def test_the_store_keeps_no_cells_of_two_models(here):
    """They are read again where a window is judged again; cells of rows are kept."""
    here.score(20)
    window, now = Window(week(20), week(21)), week(21) + 2 * DAY
    found = {}
    for mode in ("raw", "condensed"):
        known = configured(here, COARSE, grouped=mode)
        with store.open_store(known.store_url) as kept:
            runtime, monitor = runtime_of(known, kept, lambda: now), known.monitors["credit"]
            assert run_monitor(runtime, monitor, now=now).error is None
            assert run_monitor(runtime, monitor, now=now, windows=[window], again=True).error is None
            found[mode] = store.windows_counted(kept, reading_of(monitor), window)
    assert found == {"raw": [window], "condensed": []}


@pytest.mark.slow
def test_a_review_reads_rows(here):
    for number in (20, 21):
        here.score(number)
    found, now = [], week(23)
    for mode in ("raw", "condensed"):
        known = configured(here, COARSE, grouped=mode)
        with store.open_store(known.store_url) as kept:
            runtime = runtime_of(known, kept, lambda: now)
            found.append(review_monitor(runtime, known.monitors["credit"], now=now, dry_run=True))
    assert found[0].metrics == pytest.approx(found[1].metrics, rel=1e-9)


@pytest.mark.slow
def test_check_says_how_the_challenger_is_compared(here):
    here.score(20)
    lines: list[str] = []
    now = week(21) + 2 * DAY
    problems = check(
        configured(here, COARSE, grouped="condensed"), now=now, output=lines.append, explain=True
    ).problems
    [said] = [line for line in lines if "the challenger is compared by" in line]
    assert "pairs of strips: the difference of the AUROCs is off by at most 0.0" in said
    assert not any("condense" in str(each) for each in problems)
    problems = check(
        configured(here, "{per_unit: 8}", grouped="condensed"), now=now, output=lines.append, explain=True
    ).problems
    assert any("all rows: the cells of neighbouring scores" in str(each) for each in problems)
