"""Windows with more rows than are read: the champion is judged by all, two models are compared on a draw."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from caveats import codes
from scenario import CONFIGURATION, DEFAULTS, World, runtime_of, tried, week

from rocmonitor import config, store
from rocmonitor.policy.review.document import Review
from rocmonitor.policy.windows import Window
from rocmonitor.service.counted import reading_of
from rocmonitor.service.review import review_monitor
from rocmonitor.service.tick import run_monitor

DAY = timedelta(days=1)
TWO = {"segments": "[region]", "rules": "[{kind: floor, value: 0.5}, {kind: challenger}]"}
COARSE = "{per_unit: 8, max_error: 0.2}"


def configured(here: World, most: int = 20_000_000, ids: bool = False, **changes: str) -> config.Config:
    """A monitor with a challenger, and a source of which at most so many rows are read."""
    path = here.folder / "rocmonitor.yaml"
    text = CONFIGURATION.format(**{**DEFAULTS, **TWO, **changes})
    text = text.replace("timezone: UTC}", f"timezone: UTC, max_rows: {most}}}")
    text = text if ids else text.replace("{id: id, ", "{")
    path.write_text(f"{text}    condense: {COARSE}\n", encoding="utf-8")
    return config.load(path)


def tick(here: World, *args: Any, **changes: str) -> Any:
    return tried(configured(here, *args, **changes), week(21) + 2 * DAY)


def reviewed(here: World, most: int, **changes: Any) -> Review:
    known, now = configured(here, most, **changes), week(23)
    with store.open_store(known.store_url) as kept:
        runtime = runtime_of(known, kept, lambda: now)
        return review_monitor(runtime, known.monitors["credit"], now=now, dry_run=True)


def area(review: Review) -> Any:
    return next(each for each in review.comparisons if each.fpr is None)


@pytest.mark.slow
def test_cells_judge_the_champion_and_a_draw_compares_both(here):
    here.score(20, n=2_000, shift=0.6)
    whole, part = (tick(here, most, grouped="condensed") for most in (2_000, 500))
    again = tick(here, 500, grouped="condensed")
    raw = tick(here, grouped="raw")
    for segment, exact in raw.items():
        drawn, of_all = part[segment], whole[segment]
        assert drawn.counts == of_all.counts == exact.counts
        assert drawn.metrics["champion/auc"] == of_all.metrics["champion/auc"]
        assert of_all.metrics["difference/auc"] == pytest.approx(exact.metrics["difference/auc"])
        assert drawn.metrics == again[segment].metrics
        off = drawn.metrics["difference/auc"] - exact.metrics["difference/auc"]
        assert 0 < abs(off) < 3 * drawn.metrics["difference/auc_se"]
        assert [codes(each).count("rows-drawn") for each in (exact, of_all, drawn)] == [0, 0, 1]
        assert "challenger-scores-missing" not in codes(drawn)
        [verdict] = [each for each in drawn.verdicts if each.kind == "challenger"]
        assert verdict.details == {"rows": 500}
        [said] = [each for each in drawn.caveats if each.code == "rows-drawn"]
        assert dict(said.values) == {"drawn": 500, "rows": 2_000}


@pytest.mark.slow
def test_the_store_keeps_no_cells_of_two_models(here):
    """They are read again where a window is judged again; cells of rows are kept."""
    here.score(20)
    window, now = Window(week(20), week(21)), week(21) + 2 * DAY
    found = {}
    for mode in ("raw", "condensed"):
        known = configured(here, grouped=mode)
        with store.open_store(known.store_url) as kept:
            runtime, monitor = runtime_of(known, kept, lambda: now), known.monitors["credit"]
            assert run_monitor(runtime, monitor, now=now).error is None
            assert run_monitor(runtime, monitor, now=now, windows=[window], again=True).error is None
            found[mode] = store.windows_counted(kept, reading_of(monitor), window)
    assert found == {"raw": [window], "condensed": []}


@pytest.mark.parametrize("ids", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_review_of_too_many_rows_is_of_the_same_draw_each_time(here, ids):
    for number in (20, 21):
        here.score(number, n=3_000)
    whole, part, again = (reviewed(here, most, ids=ids) for most in (3_000, 1_000, 1_000))
    assert "rows-drawn" not in codes(whole)
    [said] = [each for each in part.caveats if each.code == "rows-drawn"]
    assert dict(said.values) == {"drawn": 1_000, "rows": 3_000}
    assert "rows-truncated" not in codes(part)
    assert part.key == again.key
    assert (part.metrics, part.comparisons, part.tables) == (again.metrics, again.comparisons, again.tables)
    assert part.key != whole.key
    counts = {row["kind"]: row["rows"] for row in part.tables["counts"]}
    assert (counts["read"], counts["compared"]) == (2_000, 2_000)
    exact, drawn = (row["difference"] for row in (whole.tables["windows"][0], part.tables["windows"][0]))
    assert 0 < abs(drawn - exact) < 3 * part.tables["windows"][0]["se"]
    assert area(part).low < area(whole).estimate < area(part).high


@pytest.mark.slow
def test_a_review_reads_rows(here):
    for number in (20, 21):
        here.score(number)
    one, other = (reviewed(here, 20_000_000, grouped=mode) for mode in ("raw", "condensed"))
    assert one.metrics == pytest.approx(other.metrics, rel=1e-9)
