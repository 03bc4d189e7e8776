"""The demo: a real year of flights, two models that score them, and a configuration that watches the models.

Will this flight arrive more than 15 minutes late? Two models answer at the scheduled departure, from what is
known then. They learn from January to March 2013; every later flight out of New York is scored by both, into
a table as a scoring job would leave it behind.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocmonitor.config import Config, load
from rocmonitor.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

MONITOR = "late-arrivals"
CONFIGURATION = "rocmonitor.yaml"
DATABASE = "flights.db"

_SCORED = """
CREATE TABLE scored (
    flight_id TEXT PRIMARY KEY,
    scored_at DATETIME NOT NULL,  -- the scheduled departure, on the clocks of New York
    origin TEXT NOT NULL,
    carrier TEXT NOT NULL,
    p_champion REAL NOT NULL,
    p_challenger REAL NOT NULL,
    late INTEGER,                 -- 1: more than 15 minutes late, 0: not; NULL: cancelled or diverted
    label_known_at DATETIME       -- the arrival, on the clocks of New York
)
"""


def build(folder: Path, *, on_progress: Callable[[str], None], flights: pd.DataFrame | None = None) -> None:
    """Make everything that the demo watches: configuration, registered models, database of scored flights.

    What is there already is kept, and said to `on_progress`: a second call changes nothing. `flights` are
    those of the whole year, or a part of what `rocmonitor.demo.flights.read` gives. It takes 15 seconds on
    one core; the same flights always give the same scores. ConfigError: the package with the flights is not
    installed, or the folder holds another configuration. TrackingError: MLflow did not take the models.
    """
    from rocmonitor.demo import models
    from rocmonitor.demo.flights import read
    from rocmonitor.tracking import connect

    on_progress("Reading the flights out of New York in 2013")
    data = read() if flights is None else flights
    folder.mkdir(parents=True, exist_ok=True)
    config = _configuration(folder, on_progress)
    database = folder / DATABASE
    tracking = connect(config.tracking_uri, config.folder)
    registered = models.registered(tracking, MONITOR)
    if database.exists() and registered >= set(models.ROLES):
        on_progress(f"Kept as they are: {DATABASE} and the models {MONITOR} in MLflow")
        return
    trained = models.train(data, on_progress)
    for role in models.ROLES:
        if role in registered:
            on_progress(f"Kept: {MONITOR}@{role} in MLflow")
        else:
            on_progress(f"Registering {MONITOR}@{role} in MLflow")
            models.register(tracking, MONITOR, role, trained[role])
    if database.exists():
        on_progress(f"Kept: {DATABASE}")
    else:
        scored = models.score(data, trained, on_progress)
        on_progress(f"Writing {len(scored):,} scored flights to {DATABASE}")
        _write(database, scored)


def _configuration(folder: Path, on_progress: Callable[[str], None]) -> Config:
    path = folder / CONFIGURATION
    if path.exists():
        config = load(path)
        if MONITOR not in config.monitors:
            raise ConfigError(
                f"{path}: is not the demo's configuration: it has no monitor {MONITOR}; "
                "run the demo in a folder of its own"
            )
        on_progress(f"Kept: {CONFIGURATION}")
        return config
    on_progress(f"Writing {CONFIGURATION}")
    path.write_text((files(__name__) / CONFIGURATION).read_text(encoding="utf-8"), encoding="utf-8")
    return load(path)


def _write(database: Path, scored: pd.DataFrame) -> None:
    """All or nothing: the database appears under its name once it is complete."""
    part = database.with_name(database.name + ".part")
    part.unlink(missing_ok=True)
    rows: Iterable[tuple[Any, ...]] = scored.itertuples(index=False, name=None)
    with closing(sqlite3.connect(part)) as connection, connection:
        connection.execute(_SCORED)
        connection.executemany(f"INSERT INTO scored VALUES ({', '.join('?' * scored.shape[1])})", rows)
        connection.execute("CREATE INDEX scored_by_time ON scored (scored_at)")
    os.replace(part, database)
