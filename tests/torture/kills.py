"""A monitor whose process is killed again and again: what is lost, what is doubled.

A small world (20 reference weeks, 6 weeks to judge, two segments, a file channel, MLflow in SQLite) is judged
by ``rocmonitor run``, which is killed with SIGKILL after a random processor time and started again until all
is done. In some worlds MLflow's database is made on the way, so kills fall there, too; in some the store is
made by ``rocmonitor db upgrade``, which is killed. Afterwards every window must have been judged once,
published once and told once; a message that was sent and not yet marked as sent may come again.

The processes are forks of one that has imported everything, so that kills fall where something is written;
leases are of one second in place of twenty, for each kill leaves one behind. Linux only: it counts the
processor time of another process.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scenario

ROOT = Path(__file__).resolve().parents[2]
REFERENCE, JUDGED = scenario.REFERENCE_WEEKS, 6
BAD_FROM = REFERENCE + 3
LONGEST_SECONDS = 1.5
"""Of processor time until a kill."""
PATIENCE_SECONDS = 600
STUCK_SECONDS = 120.0
"""Who has used no processor time for so long is killed, too."""

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["torture.forked"])


@dataclass
class Outcome:
    """What is left of a world after its kills."""

    kills: int = 0
    faults: list[str] = field(default_factory=list)
    again: int = 0  # messages that came twice


def make(folder: Path) -> scenario.World:
    """A world without a store."""
    os.environ["SCENARIO_SOURCE_URL"] = url = f"sqlite:///{folder}/source.db"
    world = scenario.World(folder=folder, source_url=url)
    for number in range(REFERENCE + JUDGED):
        for region in ("north", "south"):
            world.score(number, n=120, region=region, shift=0.0 if number >= BAD_FROM else 1.2)
    end = scenario.week(REFERENCE + JUDGED)
    world.configure(
        window=scenario.until(f"{end:%Y-%m-%d}"),
        segments="[region]",
        rules="[{kind: forecast}, {kind: drop, value: 0.02}]",
        model="{name: credit, version: 7, challenger_version: 8}",
    )
    return world


def torture(world: scenario.World, most: int, rng: np.random.Generator, *, upgrade: bool) -> Outcome:
    """Kill the world's commands at most so often, then let them end, and look at what is there."""
    outcome, folder = Outcome(), world.folder
    shortest = 0.5
    for words in [["db", "upgrade"]] * upgrade + [["run"]]:
        while outcome.kills < most:
            seconds = float(rng.uniform(0.0, shortest))
            if killed(folder, words, seconds):
                outcome.kills += 1
                # So that what takes long is done between kills, too.
                shortest = min(shortest * 1.15, LONGEST_SECONDS if made(folder) else 6 * LONGEST_SECONDS)
            elif is_done(folder, words):
                break
        finish(folder, words, outcome)
    outcome.faults += faults(folder)
    outcome.again = messages_again(folder)
    return outcome


def killed(folder: Path, words: list[str], seconds: float) -> bool:
    """Run a command for so much processor time; whether it had to be killed."""
    process = start(folder, words)
    clock, used, since = (~process.pid << 3) | 2, 0.0, time.monotonic()  # the process's own clock, on Linux
    while process.exitcode is None:
        try:
            before, used = used, time.clock_gettime(clock)
        except OSError:  # it has ended
            break
        if used != before:
            since = time.monotonic()
        if used >= seconds or time.monotonic() - since > STUCK_SECONDS:
            process.kill()
            break
        process.join(0.01)
    process.join()
    return process.exitcode is not None and process.exitcode < 0


def finish(folder: Path, words: list[str], outcome: Outcome) -> None:
    """Run a command to its end; what a dead process held is free after a while."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        process = start(folder, words)
        process.join(PATIENCE_SECONDS)
        if process.exitcode is None:
            outcome.faults.append(f"{' '.join(words)} does not end")
            process.kill()
        # A run that finds what a dead process held ends well, too, and has judged nothing.
        elif process.exitcode in (0, 3) and is_done(folder, words):
            break
        time.sleep(0.5)
    else:
        outcome.faults.append(f"{' '.join(words)} never ended well: {process.exitcode}, {log(folder)[-400:]}")
    if "Traceback" in log(folder):
        outcome.faults.append(f"{' '.join(words)} shows a traceback: {log(folder)[-1000:]}")


def start(folder: Path, words: list[str]) -> BaseProcess:
    return fork(command_of, folder, words)


def fork(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    """Start a fork. The parent of all forks is a Python of its own: it finds modules by the environment."""
    process = _forks.Process(target=target, args=arguments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "tests"), str(ROOT)]))
        process.start()
    return process


def command_of(folder: Path, words: list[str]) -> None:
    """What a fork does: the command, in the folder, with a short lease."""
    from torture.forked import run

    os.environ["SCENARIO_SOURCE_URL"] = f"sqlite:///{folder}/source.db"
    run(folder, words, lease=timedelta(seconds=1))


def made(folder: Path) -> bool:
    """Whether MLflow's database is there."""
    return (folder / "mlflow.db").exists()


def make_mlflow(path: Path) -> None:
    """MLflow's database, to be copied: it takes longer to make than all the rest."""
    fork(_make_mlflow, path).join()


def _make_mlflow(path: Path) -> None:
    from rocmonitor.tracking.access import open_client

    open_client(f"sqlite:///{path}")


def with_mlflow(world: scenario.World, template: Path) -> None:
    """Give a world MLflow's database."""
    shutil.copy(template, world.folder / "mlflow.db")


def is_done(folder: Path, words: list[str]) -> bool:
    """Whether a command has nothing left to do."""
    return words != ["run"] or waiting(folder) == 0


def log(folder: Path) -> str:
    path = folder / "log.txt"
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def waiting(folder: Path) -> int:
    """Windows that are not judged, and deliveries that have not arrived."""
    [(left,)] = rows(folder, "SELECT count(*) FROM rocmonitor_outbox WHERE state <> 'delivered'")
    [(judged,)] = rows(folder, "SELECT count(DISTINCT window_start) FROM rocmonitor_evaluation")
    return int(left) + JUDGED - int(judged)


def faults(folder: Path) -> list[str]:
    """What was lost or doubled."""
    found = []
    windows = "SELECT segment, window_start, revision FROM rocmonitor_evaluation WHERE monitor = 'credit'"
    runs = """
        SELECT t.value FROM tags t
        JOIN tags k ON k.run_uuid = t.run_uuid AND k.key = 'rocmonitor.kind' AND k.value = 'window'
        JOIN runs r ON r.run_uuid = t.run_uuid AND r.lifecycle_stage = 'active'
        WHERE t.key = 'rocmonitor.key'
    """
    counted = {"evaluations": rows(folder, windows), "window runs": read(folder / "mlflow.db", runs)}
    for what, each in counted.items():
        keys = Counter(each)
        if len(keys) != 3 * JUDGED or max(keys.values()) > 1:
            found.append(f"{len(keys)} {what} of {3 * JUDGED}, most {max(keys.values(), default=0)} times")
    degraded = "SELECT segment FROM rocmonitor_transition WHERE after = 'degraded' AND notified"
    changes, told = list(rows(folder, degraded)), messages(folder).count("DEGRADED credit")
    if len(changes) != 3 or told < 1:  # one message on all three
        found.append(f"{len(changes)} changes to degraded of 3, {told} messages on them")
    [(check,)] = rows(folder, "PRAGMA integrity_check")
    if check != "ok":
        found.append(f"the store is damaged: {check}")
    return found


def messages_again(folder: Path) -> int:
    """How many messages came more than once, by their event id."""
    events = Counter(re.findall(r"event (\w+)", messages(folder), re.IGNORECASE))
    return sum(count - 1 for count in events.values())


def messages(folder: Path) -> str:
    path = folder / "alarms.log"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def rows(folder: Path, statement: str) -> Iterator[tuple]:
    return read(folder / "rocmonitor.db", statement)


def read(path: Path, statement: str) -> Iterator[tuple]:
    if not path.exists():
        return iter(())
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return iter(connection.execute(statement).fetchall())
    finally:
        connection.close()


def described(outcome: Outcome) -> str:
    return json.dumps({"kills": outcome.kills, "again": outcome.again, "faults": outcome.faults})
