"""The fault matrix: source, store, MLflow and channel; down, hanging, slow, reset, full, and so on.

Each test injects one fault with real means while two windows are due, the second of them an alarm. It sees
that nothing is lost, nothing is doubled, somebody is notified, and all is well after the fault has ended. The
cells that make no sense are named in docs/how-to/deployment.md.
"""

from __future__ import annotations

import resource
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from databases import POSTGRES, scratch_postgres
from gate import Gate, How, gated
from mlflow import MlflowClient
from scenario import Clock, World, until, week
from servers import MlflowServer
from sinks import HttpSink
from sqlalchemy import create_engine, event, make_url, text

from rocmonitor import store
from rocmonitor.errors import StoreError
from rocmonitor.policy.evaluation import Status
from rocmonitor.service import delivery
from rocmonitor.service.delivery import LONGEST_RETRY, Patience, drain
from rocmonitor.service.keep import delete_old
from rocmonitor.service.outages import StoreWatch
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick import Tick, run_monitor
from rocmonitor.sources import connect as source_connect
from rocmonitor.store import connection, migrate

DUE = week(22) + timedelta(days=3)
NO_MLFLOW = "{tracking_uri: 'foo://x'}"
"""Refuses everything at once; what is for MLflow waits."""
ALL: list[How] = ["down", "hanging", "slow", "reset"]


def but(first: object, *others: object) -> list[object]:
    """The first of them in every run of the tests, the others in the slow ones."""
    return [first, *(pytest.param(*_all(other), marks=pytest.mark.slow) for other in others)]


def _all(case: object) -> tuple[object, ...]:
    return case if isinstance(case, tuple) else (case,)


FOREVER = ("mlflow",)
"""Destinations that never get anything in these tests."""

Fault = AbstractContextManager[object]


@dataclass
class Service:
    """What one process does, at the times that the clock of the test says."""

    world: World
    runtime: Runtime
    clock: Clock
    sink: HttpSink
    patience: Patience = field(default_factory=Patience)
    ticks: list[Tick] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.watch = StoreWatch(self.runtime)

    def work(self) -> Tick:
        """One tick, and one pass over the outbox."""
        tick = run_monitor(self.runtime, self.runtime.config.monitors["credit"], now=self.clock.now)
        self.ticks.append(tick)
        try:
            self.watch.probe()
            drain(self.runtime, patience=self.patience)
        except StoreError as error:
            threads = self.watch.note(error)
        else:
            threads = self.watch.note(None)
        for thread in threads:
            thread.join()
        return tick

    def suffer(self, fault: Fault) -> None:
        """Work before, during and after a fault that lasts longer than is tolerated."""
        with fault:
            self.work()
            self.clock.now += timedelta(minutes=31)
            self.work()
        for _ in range(3):
            self.clock.now += LONGEST_RETRY
            self.work()

    def notified(self, place: str) -> bool:
        """Whether the file channel says that a place fails, and that it works again; each once."""
        lines = self.world.alarms.splitlines()
        began = [line for line in lines if line.startswith(f"ERROR {place}")]
        ended = [line for line in lines if line.startswith(f"RESOLVED {place}") and "works again" in line]
        assert (len(began), len(ended)) in ((1, 1), (0, 0)), lines
        return bool(began)

    def errors(self) -> list[bool]:
        """Of each tick, whether it failed."""
        return [tick.error is not None for tick in self.ticks]

    def all_is_well(self, waiting: tuple[str, ...] = FOREVER) -> None:
        """Every window is judged once, and every message has arrived; nothing waits but for MLflow."""
        kept = self.runtime.store
        judged = store.evaluations(kept, "credit", every_revision=True)
        assert [(each.window.start, each.revision) for each in judged] == [(week(20), 0), (week(21), 0)]
        assert [str(each.outcome) for each in judged] == ["ok", "degraded"]
        assert store.last_transition(kept, "credit", "").after is Status.DEGRADED
        assert self.ticks[-1].error is None
        assert self.ticks[-1].status == {"": Status.DEGRADED}
        left = store.backlog(kept)
        assert {name: each.waiting for name, each in left.items()} == dict.fromkeys(waiting, 2)
        assert [outage.place for outage in store.open_outages(kept)] == list(waiting)
        assert self.world.alarms.count("DEGRADED credit: ") == 1
        alarms = [each.content for each in self.sink.requests if each.content["title"].startswith("DEGRADED")]
        assert len({each["message"].splitlines()[-1] for each in alarms}) == 1


@pytest.fixture
def due(here: World) -> World:
    """A world in which two windows are due, the second of which is an alarm."""
    here.score(20)
    here.score(21, shift=0.2)
    return here


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds in place of minutes for all that hangs."""
    monkeypatch.setattr(connection, "LOCK_SECONDS", 0.2)
    monkeypatch.setattr(connection, "ANSWER_SECONDS", 0.3)
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 1)
    monkeypatch.setattr(source_connect, "_CONNECT_SECONDS", 1)
    monkeypatch.setattr(delivery, "ALARMS_FIRST_SECONDS", 0.1)


@contextmanager
def service(
    world: World, sink: HttpSink, store_url: str | None = None, hook: str = "", spare: str = "", **parts: str
) -> Iterator[Service]:
    """The service with two channels, a web hook and a file."""
    clock = Clock(DUE)
    hook = hook or f"{sink.url}?rto=2&cto=2"
    known = world.configure(
        **{
            "channels": f"{{hook: {{url: '{hook}'}}, log: {{url: '{spare or 'file://alarms.log'}'}}}}",
            "notify": "[hook, log]",
            "mlflow": NO_MLFLOW,
            "window": until("2026-06-08"),
            "rules": "[{kind: floor, value: 0.7}]",  # quicker than others
            **parts,
        }
    )
    with store.open_store(store_url or known.store_url) as kept:
        runtime = Runtime(
            config=known, store=kept, clock=clock, elapsed=lambda: clock().timestamp(), boot="a scenario"
        )
        yield Service(world, runtime, clock, sink)


@contextmanager
def turned(gate: Gate, how: How) -> Iterator[None]:
    gate.turn(how)
    yield
    gate.turn("works")


@contextmanager
def behind_gate(url: str) -> Iterator[tuple[str, Gate]]:
    place = make_url(url)
    with gated(str(place.host), place.port or 5432) as gate:
        there = place.set(host="127.0.0.1", port=gate.port)
        yield there.render_as_string(hide_password=False), gate


def execute(url: str, *statements: str) -> None:
    engine = create_engine(url)
    try:
        with engine.begin() as connected:
            for statement in statements:
                connected.execute(text(statement))
    finally:
        engine.dispose()


@contextmanager
def renamed(url: str, table: str) -> Iterator[None]:
    """A table is gone; afterwards it is there again."""
    execute(url, f"ALTER TABLE {table} RENAME TO {table}_away")
    yield
    execute(url, f"ALTER TABLE {table}_away RENAME TO {table}")


@contextmanager
def replaced(file: Path) -> Iterator[None]:
    """A folder lies where the file should be."""
    away = file.with_suffix(".away")
    shutil.move(file, away)
    file.mkdir()
    yield
    file.rmdir()
    shutil.move(away, file)


# Source


@pytest.fixture(scope="module")
def postgres_rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The scored rows in PostgreSQL."""
    with scratch_postgres() as url:
        there = World(tmp_path_factory.mktemp("postgres"), url)
        for number in range(20):
            there.score(number)
        there.score(20)
        there.score(21, shift=0.2)
        yield url


@pytest.mark.slow
@pytest.mark.parametrize("how", ALL)
def test_source_over_the_network(here, http_sink, postgres_rows, monkeypatch, how):
    with behind_gate(postgres_rows) as (url, gate):
        monkeypatch.setenv("SCENARIO_SOURCE_URL", url)
        with service(here, http_sink) as made:
            source = made.runtime.config.sources["here"]
            hasty = source.model_copy(
                update={"timeout": timedelta(seconds=1), "deadline": timedelta(seconds=2)}
            )
            made.runtime.config.sources["here"] = hasty
            made.suffer(turned(gate, how))
            assert made.errors() == [True, True, False, False, False]
            assert made.ticks[0].status == {"": Status.ERROR}
            assert made.notified("source here")
            made.all_is_well()


def source_locked(world: World) -> Fault:
    return locked(world.folder / "source.db")


def source_changed(world: World) -> Fault:
    return renamed(world.source_url, "scored")


def source_is_no_file(world: World) -> Fault:
    return replaced(world.folder / "source.db")


@pytest.mark.slow
@pytest.mark.parametrize("fault", but(source_changed, source_locked, source_is_no_file))
def test_source_in_a_file(due, http_sink, fault):
    with service(due, http_sink) as made:
        source = made.runtime.config.sources["here"]
        made.runtime.config.sources["here"] = source.model_copy(update={"timeout": timedelta(seconds=0.1)})
        made.suffer(fault(due))
        assert made.errors() == [True, True, False, False, False]
        assert made.notified("source here"), due.alarms
        made.all_is_well()


@pytest.mark.slow
def test_source_read_only_is_no_fault(due, http_sink, monkeypatch):
    monkeypatch.setenv("SCENARIO_SOURCE_URL", f"sqlite:///file:{due.folder}/source.db?mode=ro&uri=true")
    with service(due, http_sink) as made:
        made.work()
        assert made.ticks[0].error is None
        assert "source" not in due.alarms
        made.all_is_well()


@contextmanager
def locked(file: Path) -> Iterator[None]:
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("COMMIT")


# Store


@pytest.fixture(scope="module")
def migrated() -> Iterator[str]:
    with scratch_postgres() as url:
        migrate.upgrade(url)
        yield str(make_url(url).database)


@pytest.mark.slow
@pytest.mark.parametrize("how", but(*ALL))
def test_store_over_the_network(due, http_sink, migrated, how):
    with (
        scratch_postgres(template=migrated) as real,
        behind_gate(real) as (url, gate),
        service(due, http_sink, store_url=url) as made,
    ):
        made.suffer(turned(gate, how))
        assert made.errors() == [True, True, False, False, False]
        assert made.notified("store"), due.alarms
        made.all_is_well()


@contextmanager
def on_checkout(made: Service, statement: Callable[[sqlite3.Connection], str], after: str) -> Iterator[None]:
    def prepare(raw: sqlite3.Connection, *_: object) -> None:
        raw.execute(statement(raw))

    engine = made.runtime.store.engine
    event.listen(engine, "checkout", prepare)
    yield
    event.remove(engine, "checkout", prepare)
    event.listen(engine, "checkout", lambda raw, *_: raw.execute(after))


def store_locked(made: Service) -> Fault:
    return locked(made.world.folder / "rocmonitor.db")


def store_full(made: Service, pages: int = 0) -> Fault:
    def limit(raw: sqlite3.Connection) -> str:
        return f"PRAGMA max_page_count = {full + pages}"

    with closing(sqlite3.connect(made.world.folder / "rocmonitor.db")) as other:
        full = other.execute("PRAGMA page_count").fetchone()[0]
    return on_checkout(made, limit, "PRAGMA max_page_count = 1073741823")


def store_read_only(made: Service) -> Fault:
    return on_checkout(made, lambda _: "PRAGMA query_only = ON", "PRAGMA query_only = OFF")


def store_changed(made: Service) -> Fault:
    return renamed(f"sqlite:///{made.world.folder}/rocmonitor.db", "rocmonitor_lease")


@pytest.mark.slow
@pytest.mark.parametrize("fault", but(store_read_only, store_locked, store_full, store_changed))
def test_store_in_a_file(due, http_sink, fault):
    with service(due, http_sink) as made:
        made.suffer(fault(made))
        assert made.errors() == [True, True, False, False, False]
        assert made.notified("store"), due.alarms
        made.all_is_well()


@pytest.mark.slow
@pytest.mark.parametrize("pages", range(1, 30, 2))
def test_store_that_is_full_half_way(due, http_sink, pages):
    """Whatever could still be written is whole, and the rest follows."""
    with service(due, http_sink) as made:
        made.suffer(store_full(made, pages))
        made.notified("store")
        made.all_is_well()


@pytest.mark.slow
def test_store_read_only_on_a_server(due, http_sink, migrated):
    with scratch_postgres(template=migrated) as url:
        name = make_url(url).database

        @contextmanager
        def read_only(made: Service) -> Iterator[None]:
            for state in ("on", "off"):
                execute(POSTGRES, f'ALTER DATABASE "{name}" SET default_transaction_read_only = {state}')
                made.runtime.store.engine.dispose()
                if state == "on":
                    yield

        with service(due, http_sink, store_url=url) as made:
            made.suffer(read_only(made))
            assert made.errors() == [True, True, False, False, False]
            assert made.notified("store"), due.alarms
            made.all_is_well()


# Channel


@pytest.mark.slow
@pytest.mark.parametrize("how", but("reset", "down", "hanging", "slow"))
def test_channel_over_the_network(due, http_sink, how):
    with (
        gated("127.0.0.1", http_sink.port) as gate,
        service(due, http_sink, hook=f"json://127.0.0.1:{gate.port}/alarms?rto=2&cto=5") as made,
    ):
        made.patience.channel = 3 if how == "slow" else 60
        made.suffer(turned(gate, how))
        assert made.errors() == [False] * 5
        assert made.notified("channel hook"), due.alarms
        made.all_is_well()


@contextmanager
def refusing(sink: HttpSink) -> Iterator[None]:
    sink.status = 400
    yield
    sink.status = 200


@pytest.mark.slow
def test_channel_that_refuses(due, http_sink):
    with service(due, http_sink) as made:
        made.suffer(refusing(http_sink))
        assert made.notified("channel hook"), due.alarms
        made.all_is_well()


@contextmanager
def file_full(file: Path) -> Iterator[None]:
    file.symlink_to("/dev/full")
    yield
    file.unlink()


@contextmanager
def file_is_a_folder(file: Path) -> Iterator[None]:
    file.mkdir()
    yield
    file.rmdir()


@pytest.mark.slow
@pytest.mark.parametrize("fault", [file_full, file_is_a_folder])
def test_channel_in_a_file(due, http_sink, fault):
    with service(due, http_sink) as made:
        made.suffer(fault(due.folder / "alarms.log"))
        assert any(title.startswith("ERROR channel log") for title in http_sink.titles), http_sink.titles
        assert any(title.startswith("RESOLVED channel log") for title in http_sink.titles), http_sink.titles
        made.all_is_well()


# MLflow


def runs_of(uri: str, made: Service) -> Counter[str]:
    """The runs of this store by key."""
    client = MlflowClient(uri)
    found = client.get_experiment_by_name("rocmonitor/credit")
    instance = store.instance_id(made.runtime.store)
    keys = [run.data.tags["rocmonitor.key"] for run in client.search_runs([found.experiment_id])]
    return Counter(key for key in keys if key.startswith(instance))


@pytest.mark.slow
@pytest.mark.parametrize("how", ALL)
def test_mlflow_over_the_network(due, http_sink, mlflow_server: MlflowServer, how):
    with (
        gated("127.0.0.1", mlflow_server.port) as gate,
        service(due, http_sink, mlflow=f"{{tracking_uri: 'http://127.0.0.1:{gate.port}'}}") as made,
    ):
        made.patience.mlflow = 2
        with turned(gate, how):
            made.work()
            assert len(http_sink.requests) == 1  # the alarm has not waited
            made.clock.now += timedelta(minutes=31)
            made.work()
        made.patience.mlflow = 60
        for _ in range(3):
            made.clock.now += LONGEST_RETRY
            made.work()
        assert made.notified("MLflow"), due.alarms
        made.all_is_well(waiting=())
        # Requests that hung may all get through in the end, and each makes a run: the next tidying ends that.
        delete_old(made.runtime)
        runs = runs_of(mlflow_server.uri, made)
        assert (len(runs), set(runs.values())) == (3, {1})


@contextmanager
def mlflow_old(world: World) -> Iterator[None]:
    """Its tables are those of an earlier MLflow, as far as it can see."""
    url = f"sqlite:///{world.folder}/mlflow.db"
    engine = create_engine(url)
    with engine.begin() as connected:
        version = connected.scalar(text("SELECT version_num FROM alembic_version"))
    engine.dispose()
    execute(url, "UPDATE alembic_version SET version_num = '451aebb31d03'")
    yield
    execute(url, f"UPDATE alembic_version SET version_num = '{version}'")


def mlflow_locked(world: World) -> Fault:
    return locked(world.folder / "mlflow.db")


@contextmanager
def mlflow_full(world: World) -> Iterator[None]:
    """No file of this process may be larger than MLflow's database: only that is as large."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = (world.folder / "mlflow.db").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def artifacts_are_a_file(world: World) -> Iterator[None]:
    folder = world.folder / "mlartifacts"
    shutil.rmtree(folder, ignore_errors=True)
    folder.write_text("")
    yield
    folder.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("fault", but(mlflow_old, mlflow_full, mlflow_locked, artifacts_are_a_file))
def test_mlflow_in_files(due, http_sink, fault):
    with service(due, http_sink, mlflow="{}") as made:
        made.suffer(fault(due))
        assert made.errors() == [False] * 5
        assert made.notified("MLflow"), due.alarms
        made.all_is_well(waiting=())
        runs = runs_of(f"sqlite:///{due.folder}/mlflow.db", made)
        assert (len(runs), set(runs.values())) == (3, {1})


# Clock


@dataclass
class TwoClocks:
    """The clock that people set, and the one that nobody sets."""

    now: datetime
    passed: float = 0.0

    def __call__(self) -> datetime:
        return self.now

    def go_on(self, time: timedelta) -> None:
        self.now += time
        self.passed += time.total_seconds()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failing", "days"), but(("channel", 40), ("channel", -40), ("nothing", 40), ("nothing", -40))
)
def test_clock_that_jumps_and_comes_back(due, http_sink, days, failing):
    """While it is wrong, and the channel fails or not, week 21 becomes due."""
    clock = TwoClocks(week(21) + timedelta(days=3))
    with service(due, http_sink) as made:
        made.runtime = Runtime(
            config=made.runtime.config,
            store=made.runtime.store,
            clock=clock,
            elapsed=lambda: clock.passed,
            boot="a scenario",
        )
        made.clock = clock
        made.work()
        assert [each.window.start for each in made.ticks[0].evaluations] == [week(20)]
        clock.go_on(timedelta(days=5))
        clock.now = week(21) + timedelta(days=3 + days)
        http_sink.status = 200 if failing == "nothing" else 500
        for _ in range(3):
            made.work()
            clock.go_on(timedelta(minutes=10))
        http_sink.status = 200
        clock.now = week(21) + timedelta(days=3) + timedelta(seconds=clock.passed)
        for hours in (1, 1, 72, 1, 1):
            clock.go_on(timedelta(hours=hours))
            made.work()
        assert not any(made.errors())
        made.all_is_well()
