"""A small world for tests: a table of scored rows, a configuration that watches it, and a runtime."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import (
    Column,
    DateTime,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    create_engine,
    delete,
    insert,
    update,
)

from rocmonitor import config, store
from rocmonitor.policy.evaluation import Evaluation
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick import run_monitor

FIRST = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday
WEEK = timedelta(days=7)

CONFIGURATION = """
sources: {{here: {{url_env: SCENARIO_SOURCE_URL, timezone: UTC}}}}
channels: {channels}
mlflow: {mlflow}
monitors:
  credit:
    model: {model}
    source: here
    query: {query}
    columns: {columns}
    segments: {segments}
    window: {window}
    grouped: {grouped}
    reference: {reference}
    min_per_class: {min_per_class}
    min_group: {min_group}
    operating_points: {{fpr: [0.1], thresholds: [0.5], cost: [{{w: 0.2}}]}}
    rules: {rules}
    alarm: {alarm}
    notify: {notify}
    outlook: {outlook}
"""
DEFAULTS = {
    "model": "{name: credit, version: 7, challenger_version: 8}",
    "query": "SELECT * FROM scored WHERE scored_at >= :start AND scored_at < :end",
    "columns": "{id: id, time: scored_at, champion: p, challenger: q, label: label}",
    "segments": "[]",
    "reference": "{from: 2026-01-05, to: 2026-05-25}",
    "window": "{every: 7d, label_delay: 2d, revise_for: 60d}",
    "grouped": "raw",
    "min_per_class": "20",
    "min_group": "20",
    "rules": "[{kind: forecast}, {kind: drop, value: 0.02}, {kind: challenger}]",
    "alarm": "{recover_after: 1}",
    "channels": '{log: {url: "file://alarms.log"}}',
    "mlflow": "{}",
    "notify": "[log]",
    "outlook": "null",
}
REFERENCE_WEEKS = 20

metadata = MetaData()
scored = Table(
    "scored",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("scored_at", DateTime),
    Column("p", Float(53)),
    Column("q", Float(53)),
    Column("label", Integer),
    Column("region", String(20)),
)


def week(number: int) -> datetime:
    """Start of a week; 0 to 19 are the reference, 20 is the first that is judged."""
    return FIRST + number * WEEK


def labelled_as(label: str) -> str:
    """The query whose labels are an SQL expression of the table's `label`."""
    return (
        f"SELECT id, scored_at, p, q, region, {label} AS label FROM scored "
        "WHERE scored_at >= :start AND scored_at < :end"
    )


def until(end: str) -> str:
    """The section `window` of a monitor whose last weekly window ends on a day."""
    return f"{{every: 7d, label_delay: 2d, revise_for: 60d, end: {end}}}"


def undated(told: str) -> str:
    """The messages in a file, without the times at which they were sent."""
    return re.sub(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (?=[A-Z])", "", told, flags=re.MULTILINE)


@dataclass
class Clock:
    """Stands still until it is moved."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


@dataclass(frozen=True)
class World:
    """A source database and a folder with a configuration."""

    folder: Path
    source_url: str

    def score(
        self,
        number: int,
        *,
        n: int = 400,
        shift: float = 1.2,
        labelled: float = 1.0,
        region: str = "all",
        alike: int | None = None,
        **fixed: Any,
    ) -> None:
        """Score a week's rows; positives lie `shift` standard deviations above the negatives.

        Weeks that are `alike` have the same scores and labels.
        """
        rng = np.random.default_rng([number if alike is None else alike, n])
        label = rng.random(n) < 0.4
        rows = [
            {
                "id": number * 100_000 + (sum(map(ord, region)) * 1000) % 90_000 + row,
                "scored_at": (week(number) + row * WEEK / n).replace(tzinfo=None),
                "p": float(round(rng.normal(shift * label[row]), 3)),
                "q": float(round(rng.normal(1.2 * label[row]), 3)),
                "label": int(label[row]) if row < labelled * n else None,
                "region": region,
                **fixed,
            }
            for row in range(n)
        ]
        with self._engine() as engine, engine.begin() as connection:
            connection.execute(insert(scored), rows)

    def clear(self, number: int) -> None:
        """Take all rows of a week away."""
        with self._engine() as engine, engine.begin() as connection:
            connection.execute(
                delete(scored).where(scored.c.id >= number * 100_000, scored.c.id < (number + 1) * 100_000)
            )

    def label_late(self, number: int, label: int = 0) -> None:
        """Give every unlabelled row of a week a label."""
        with self._engine() as engine, engine.begin() as connection:
            connection.execute(
                update(scored)
                .where(scored.c.id >= number * 100_000, scored.c.id < (number + 1) * 100_000)
                .where(scored.c.label.is_(None))
                .values(label=label)
            )

    def configure(self, **changes: str) -> config.Config:
        """Write the configuration, with some parts replaced."""
        path = self.folder / "rocmonitor.yaml"
        path.write_text(CONFIGURATION.format(**{**DEFAULTS, **changes}), encoding="utf-8")
        return config.load(path)

    @contextmanager
    def runtime(self, now: datetime | Clock = FIRST, **changes: str) -> Iterator[Runtime]:
        """A runtime whose clock stands at `now`."""
        known = self.configure(**changes)
        clock = now if isinstance(now, Clock) else Clock(now)
        with store.open_store(known.store_url) as kept:
            yield runtime_of(known, kept, clock)

    @property
    def alarms(self) -> str:
        """What the channel was told, without the times of sending."""
        told = self.folder / "alarms.log"
        return undated(told.read_text(encoding="utf-8")) if told.exists() else ""

    @contextmanager
    def _engine(self) -> Iterator[Any]:
        engine = create_engine(self.source_url)
        try:
            metadata.create_all(engine)
            yield engine
        finally:
            engine.dispose()


def runtime_of(known: config.Config, kept: store.Store, clock: Callable[[], datetime]) -> Runtime:
    """A runtime in which as much time passes as its clock says: one that jumped would be doubted."""
    return Runtime(
        config=known, store=kept, clock=clock, elapsed=lambda: clock().timestamp(), boot="a scenario"
    )


def tried(known: config.Config, now: datetime) -> dict[str, Evaluation]:
    """What a dry run of the monitor ``credit`` finds in one window, by segment."""
    with store.open_store(known.store_url) as kept:
        runtime = runtime_of(known, kept, lambda: now)
        found = run_monitor(runtime, known.monitors["credit"], now=now, dry_run=True)
    assert found.error is None
    return {each.segment: each for each in found.evaluations}


def world(folder: Path, source_url: str, weeks: int = REFERENCE_WEEKS) -> World:
    """A world whose first weeks are scored; the reference is 20 of them."""
    made = World(folder=folder, source_url=source_url)
    for number in range(weeks):
        made.score(number)
    return made


@pytest.fixture(scope="session")
def template(empty_mlflow: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the reference weeks and an empty MLflow, which take seconds to make and none to copy."""
    folder = tmp_path_factory.mktemp("template")
    world(folder, f"sqlite:///{folder}/source.db")
    shutil.copy(empty_mlflow, folder)
    return folder


@pytest.fixture
def here(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world of its own, in SQLite."""
    for name in ("source.db", "mlflow.db"):
        shutil.copy(template / name, tmp_path / name)
    url = f"sqlite:///{tmp_path}/source.db"
    monkeypatch.setenv("SCENARIO_SOURCE_URL", url)
    return World(folder=tmp_path, source_url=url)


@pytest.fixture
def two_weeks(here: World) -> World:
    """A world in which weeks 20 and 21 can be judged, and none after them."""
    for number in (20, 21):
        here.score(number)
    here.configure(window=until("2026-06-08"))
    return here
