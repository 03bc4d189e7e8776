"""A monitor whose process is killed again and again: what is lost, what is doubled.

A small world (20 reference weeks, 8 weeks to judge, two segments, a file channel, MLflow in SQLite) is judged
by ``rocmonitor run``, which is killed with SIGKILL after a random time and started again until it ends by
itself. MLflow's database and the store are made on the way, so kills fall there, too; some worlds begin with
the store of an earlier version, whose upgrade is killed. Afterwards every window must have been judged once,
published once and told once; a message that was sent and not yet marked as sent may come again.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scenario
from alembic import command
from alembic.config import Config

from rocmonitor.store.connection import connect

ROOT = Path(__file__).resolve().parents[2]
REFERENCE, JUDGED = scenario.REFERENCE_WEEKS, 8
BAD_FROM = REFERENCE + 4
EARLIER = ("0001", "0003", "0006")
PATIENCE_SECONDS = 300


@dataclass
class Outcome:
    """What is left of a world after its kills."""

    kills: int = 0
    faults: list[str] = field(default_factory=list)
    again: int = 0  # messages that came twice


def make(folder: Path, earlier: str | None) -> scenario.World:
    """A world with a store of an earlier version, or none."""
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
    if earlier is not None:
        config = Config()
        config.set_main_option("script_location", str(ROOT / "migrations"))
        with connect(f"sqlite:///{folder}/rocmonitor.db") as kept, kept.writing() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, earlier)
    return world


def torture(world: scenario.World, most: int, rng: np.random.Generator, *, upgrade: bool) -> Outcome:
    """Kill the world's commands at most so often, then let them end, and look at what is there."""
    outcome = Outcome()
    longest = 2.0
    for words in [["db", "upgrade"]] * upgrade + [["run"]]:
        while outcome.kills < most:
            seconds = float(rng.uniform(0.2, longest))
            if killed(world.folder, words, seconds):
                outcome.kills += 1
                longest = min(longest * 1.15, 20.0)  # so that some work is done between kills
            else:
                break
        finish(world.folder, words, outcome)
    outcome.faults += faults(world.folder)
    outcome.again = messages_again(world.folder)
    return outcome


def killed(folder: Path, words: list[str], seconds: float) -> bool:
    """Run a command for so long; whether it had to be killed."""
    process = start(folder, words)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return True
    process.communicate()
    return False


def finish(folder: Path, words: list[str], outcome: Outcome) -> None:
    """Run a command to its end; what a dead process held is free after a while."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        process = start(folder, words)
        _, log = process.communicate(timeout=PATIENCE_SECONDS)
        if "Traceback" in log:
            outcome.faults.append(f"{' '.join(words)} shows a traceback: {log[-400:]}")
        # A run that finds what a dead process held ends well, too, and has judged nothing.
        if process.returncode in (0, 3) and (words != ["run"] or waiting(folder) == 0):
            return
        if time.monotonic() > deadline:
            outcome.faults.append(f"{' '.join(words)} never ended well: {process.returncode}, {log[-400:]}")
            return
        time.sleep(1)


def start(folder: Path, words: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "rocmonitor", *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


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
    if len(changes) != 3 or told < 3:
        found.append(f"{len(changes)} changes to degraded of 3, {told} messages")
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
