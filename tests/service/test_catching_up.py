"""A tick that catches up with many windows keeps none of them in memory, and judges each as alone."""

from __future__ import annotations

import gc
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from scenario import World, week

from rocmonitor import store
from rocmonitor.policy.evaluation import Evaluation
from rocmonitor.service.tick import run_monitor

WEEKS = range(20, 34)
SETTINGS = {
    "rules": "[{kind: forecast}, {kind: lasting}, {kind: outlook}]",
    "outlook": "{after: 6h}",
    "segments": "[region]",
}


@pytest.fixture
def many(here: World) -> World:
    for number in WEEKS:
        here.score(number, n=110 + number)
    return here


@pytest.mark.slow
def test_no_window_stays_in_memory(many: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("policy.lasting.LONGEST", "service.tick.courses.LONGEST", "service.tick.courses.LESSONS"):
        monkeypatch.setattr(f"rocmonitor.{name}", 2)
    monkeypatch.setattr("rocmonitor.service.tick.outcome.LATEST", 2)
    # By the real clock: before the first mark, or SQLAlchemy keeps the statement that renews the lease.
    monkeypatch.setattr("rocmonitor.service.leases.RENEW_EVERY", timedelta(seconds=0.1))
    marks: list[Counter[str]] = []

    def count(_: str) -> None:
        marks.append(Counter())
        if len(marks) in (27, 30, 33):  # after the 20 windows of the reference
            gc.collect()
            marks[-1].update(kind for each in gc.get_objects() if (kind := kind_of(each)))

    now = week(WEEKS.stop) + timedelta(days=3)
    with many.runtime(now, **SETTINGS) as runtime:
        tick = run_monitor(runtime, runtime.config.monitors["credit"], now=now, progress=count)
    assert tick.error is None
    found = [each for each in marks if each]
    grown = [{kind: count for kind, count in (b - a).items() if count >= 3} for a, b in pairwise(found)]
    assert grown[0].keys() & grown[1].keys() == set(), grown  # what grows once is a cache that was filled


@pytest.mark.slow
def test_windows_judged_together_are_those_judged_one_by_one(
    many: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocmonitor.stats.forecast.kld._PATIENCE", 3)
    last = WEEKS.start + 10
    alone = judged(many, *(week(number + 1) + timedelta(days=3) for number in range(WEEKS.start, last)))
    (many.folder / "rocmonitor.db").rename(many.folder / "alone.db")
    together = judged(many, week(last) + timedelta(days=3))
    assert len(together) == 20
    assert [alike(each) for each in together] == [alike(each) for each in alone]
    for one, other in zip(together, alone, strict=True):
        assert one.metrics == pytest.approx(other.metrics, abs=1e-12, rel=0)


def kind_of(thing: object) -> str:
    """The type of a value of ours, or of a plain container; empty for those of other packages' caches.

    What arrived is kept too, of windows that are so young that more labels may come.
    """
    kind = type(thing)
    ours = str(kind.__module__).startswith("rocmonitor") and kind.__name__ != "Arrived"
    return kind.__name__ if ours or kind in (dict, list) else ""


def judged(here: World, *moments: datetime) -> list[Evaluation]:
    """What is stored after ticks at some moments."""
    for now in moments:
        with here.runtime(now, **SETTINGS) as runtime:
            assert run_monitor(runtime, runtime.config.monitors["credit"], now=now).error is None
            found = store.evaluations(runtime.store, "credit")
    return found


def alike(of: Evaluation) -> object:
    """All that is no number from an optimisation."""
    plain = of.to_dict()
    return {
        **{
            name: plain[name]
            for name in ("segment", "window", "revision", "at", "outcome", "status", "counts")
        },
        **{name: plain[name] for name in ("provenance", "tables", "reference")},
        "verdicts": [(each.rule, each.outcome, each.estimate) for each in of.verdicts],
        "caveats": [each.code for each in of.caveats],
        "metrics": {k: v for k, v in of.metrics.items() if not k.startswith(("forecast/", "outlook/"))},
    }
