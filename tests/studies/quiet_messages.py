"""Messages of a year: 30 weekly monitors through the real service, beside what each change alone would send.

Twelve monitors have rows enough, eight have about as many positives as are asked for, five have segments of
which one is small and two new values come late, and five watch one model, which ranks worse from week 30 to
week 37. Before Christmas everybody has a fifth of the rows. The reference is half a year before. Before: each
window that cannot be judged is a status of its own, each change of a status in a monitor or segment is a
message, and a window that cannot be judged begins the count of good ones anew. Now: what a file was told.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from studies.running import options, say, table

from rocmonitor import config, store
from rocmonitor.policy.evaluation import Evaluation, Status
from rocmonitor.service.delivery import drain
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick import run_monitor

REFERENCE, WEEKS = 26, 52
FIRST, WEEK = datetime(2025, 1, 6, tzinfo=UTC), timedelta(days=7)
KINDS = {"enough": 12, "small": 8, "segments": 5, "model": 5}
BAD_WEEKS, CHRISTMAS, NEW_VALUES = range(30, 38), 50, 40
RECOVER_AFTER = 6


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments)
    with TemporaryDirectory() as name:
        folder = Path(name)
        monitors = [f"{kind}-{number}" for kind, count in KINDS.items() for number in range(count)]
        _write(folder, monitors, np.random.default_rng(chosen.seed))
        known = config.load(folder / "rocmonitor.yaml")
        with store.open_store(known.store_url) as kept:
            now = [FIRST]
            runtime = Runtime(
                config=known,
                store=kept,
                clock=lambda: now[0],
                elapsed=lambda: now[0].timestamp(),
                boot="a study",
            )
            for week in range(REFERENCE, REFERENCE + WEEKS):
                now[0] = FIRST + (week + 1) * WEEK + timedelta(days=1)
                for monitor in known.monitors.values():
                    tick = run_monitor(runtime, monitor, now=now[0])
                    assert tick.error is None, tick.error
                drain(runtime)
            before = Counter[tuple[str, str]]()
            for name in monitors:
                of: dict[str, list[Evaluation]] = {}
                for each in store.evaluations(kept, name):
                    of.setdefault(each.segment, []).append(each)
                for course in of.values():
                    before.update((name, status) for status in _each_change(course))
        sent = (folder / "alarms.log").read_text().split("\n\n")
    titles = [each.splitlines()[0].partition(" ")[2] for each in sent if each]
    words = Counter(title.split()[0] for title in titles)
    then = Counter(status for (_, status), count in before.items() for _ in range(count))
    rows = [[word, str(then[word]), str(words[word])] for word in sorted({*then, *words})]
    say(f"messages of a year, {len(monitors)} monitors, seed {chosen.seed}\n")
    table(["first word", "before", "now"], [*rows, ["all", str(then.total()), str(words.total())]])
    say("\nmore than one monitor in one message: " + str(sum(" monitors: " in title for title in titles)))


def _each_change(course: Sequence[Evaluation]) -> list[str]:
    """What the statuses of the windows send where each change is a message."""
    status, good, said = Status.OK, 0, []
    for each in course:
        outcome = each.outcome
        good = good + 1 if outcome is Status.OK else 0
        after = outcome if outcome is not Status.OK else status
        if outcome is Status.OK and (status is Status.INSUFFICIENT or good >= RECOVER_AFTER):
            after = Status.OK
        if after is not status:
            said.append(str(after).upper())
            status = after
    return said


def _write(folder: Path, monitors: Sequence[str], rng: np.random.Generator) -> None:
    """Write the rows of all monitors and the configuration."""
    with closing(sqlite3.connect(folder / "scores.db")) as connection, connection:
        connection.execute("CREATE TABLE scored (monitor, at, p, label, branch)")
        for monitor in monitors:
            for week in range(REFERENCE + WEEKS):
                connection.executemany("INSERT INTO scored VALUES (?, ?, ?, ?, ?)", _rows(monitor, week, rng))
        connection.execute("CREATE INDEX by_time ON scored (monitor, at)")
    plain = {
        "source": "here",
        "columns": {"time": "at", "champion": "p", "label": "label"},
        "window": {"every": "7d", "label_delay": "1d"},
        "reference": {"from": f"{FIRST:%Y-%m-%d}", "to": f"{FIRST + REFERENCE * WEEK:%Y-%m-%d}"},
        "min_per_class": 50,
        "rules": [{"kind": "forecast"}, {"kind": "lasting"}],
        "alarm": {"recover_after": RECOVER_AFTER},
        "notify": ["log"],
    }
    made = {
        name: plain
        | {
            "model": {"name": "scorecard" if name.startswith("model") else name, "version": 1},
            "query": f"SELECT * FROM scored WHERE monitor = '{name}' AND at >= :start AND at < :end",
            "segments": ["branch"] if name.startswith("segments") else [],
        }
        for name in monitors
    }
    whole = {
        "sources": {"here": {"url": "sqlite:///scores.db", "timezone": "UTC"}},
        "channels": {"log": {"url": "file://alarms.log"}},
        "monitors": made,
    }
    (folder / "rocmonitor.yaml").write_text(json.dumps(whole))  # YAML too


def _rows(monitor: str, week: int, rng: np.random.Generator) -> list[tuple[object, ...]]:
    kind, judged = monitor.partition("-")[0], week - REFERENCE
    n_pos = rng.poisson(52 if kind == "small" else 240 if kind == "segments" else 110)
    n_pos //= 5 if judged == CHRISTMAS else 1
    n = 4 * n_pos
    label = np.arange(n) < n_pos
    apart = 0.4 if kind == "model" and judged in BAD_WEEKS else 1.2
    score = rng.normal(apart * label)
    names = ["north", "south", "west", "east"] + (["online", "phone"] if judged >= NEW_VALUES else [])
    shares = np.array([6, 6, 6, 1.5, 0.3, 0.2][: len(names)])
    branch = rng.choice(names, n, p=shares / shares.sum())
    at = [FIRST + week * WEEK + (row / n) * WEEK for row in range(n)]
    return [
        (monitor, f"{when:%Y-%m-%d %H:%M:%S}", float(s), int(y), str(b))
        for when, s, y, b in zip(at, score, label, branch, strict=True)
    ]
