"""Hung work, a store that fails, a clock that jumps, SIGTERM: nothing waits for ever, nothing is lost."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from databases import scratch_postgres
from process import wait_for
from scenario import Clock, World, until, week
from sqlalchemy import select
from stalling import stalling

from rocmonitor import config, store
from rocmonitor.errors import StoreError
from rocmonitor.policy.clock_jump import CONFIRM_AFTER
from rocmonitor.policy.outages import FIRST_PAUSE, LONGEST_PAUSE
from rocmonitor.service import scheduler
from rocmonitor.service.delivery import Deliveries
from rocmonitor.service.jobs import ClockJumps
from rocmonitor.service.leases import LEASE, hold_lease
from rocmonitor.service.outages import StoreWatch
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.scheduler import scheduled, start_all_now
from rocmonitor.service.tick import run_monitor
from rocmonitor.service.workers import AtWork, Workers, threads
from rocmonitor.store import connection, migrate, tables
from rocmonitor.wording.caveats import words_of

DAY = timedelta(days=1)
PATIENCE = 60


@contextmanager
def blocked() -> Iterator[threading.Event]:
    """Work that waits for this event; it is let go at the end."""
    go = threading.Event()
    try:
        yield go
    finally:
        go.set()


def attend_until(workers: Workers, seen: Callable[[], bool]) -> None:
    """What the service does every second."""
    for _ in range(1000):
        workers.attend()
        if seen():
            return
        threading.Event().wait(0.01)
    pytest.fail("it did not happen")


def test_work_that_waits_holds_up_nobody(monkeypatch):
    monkeypatch.setattr(threads, "STUCK_AFTER", timedelta(seconds=0.05))
    workers, done = Workers(AtWork(), 4), threading.Event()
    with blocked() as go:
        for number in range(6):
            workers.submit(f"hung {number}", go.wait)
        workers.submit("healthy", done.set)
        attend_until(workers, lambda: done.is_set() and len(workers.names()) == 6)
    attend_until(workers, workers.idle)


def test_at_most_so_many_are_at_work():
    workers = Workers(AtWork(), 2)
    with blocked() as go:
        for number in range(5):
            workers.submit(str(number), go.wait)
        workers.attend()
        assert workers.names() == ["0", "1"]
    attend_until(workers, workers.idle)


def test_hung_work_is_named_given_up_and_not_heard_of_again(caplog):
    passed = [0.0]
    work = AtWork(lambda: passed[0])
    workers, begun = Workers(work), threading.Event()
    outcomes: list[str] = []

    def hang() -> None:
        with work.on("monitor:credit", timedelta(minutes=31)):
            begun.set()
            go.wait()

    with blocked() as go:
        workers.submit("credit", hang, lambda _: outcomes.append("done"), lambda: outcomes.append("given up"))
        assert begun.wait(PATIENCE)
        passed[0] = 150.0
        workers.attend()
        assert "monitor:credit has not moved for 2 minutes" in caplog.text
        assert outcomes == []
        passed[0] = 32 * 60.0
        workers.attend()
        assert outcomes == ["given up"]
        assert "monitor:credit hangs: it has not moved for 32 minutes" in caplog.text
        assert workers.idle()
    for thread in threading.enumerate():
        if thread.name == "credit":
            thread.join(PATIENCE)
    assert outcomes == ["given up"]


def test_who_hung_and_wakes_up_saves_nothing(here, monkeypatch):
    """Its lease was given back while it hung, and the work was done anew."""
    monkeypatch.setattr("rocmonitor.service.leases.RENEW_EVERY", timedelta(milliseconds=5))
    here.score(20)
    passed = [0.0]
    with here.runtime(week(21) + 2 * DAY) as runtime, here.runtime(week(21) + 2 * DAY) as other:
        slow = Runtime(
            config=runtime.config, store=runtime.store, clock=runtime.clock, work=AtWork(lambda: passed[0])
        )
        monitor = runtime.config.monitors["credit"]

        def hang(step: str) -> None:
            if not step.startswith("credit 2026-05-25"):
                return
            passed[0] = 3600.0
            for _ in range(2000):
                done = run_monitor(other, monitor, now=other.clock())
                if not done.busy:
                    break
                threading.Event().wait(0.01)
            assert len(done.evaluations) == 1

        late = run_monitor(slow, monitor, now=slow.clock(), progress=hang)
        assert isinstance(late.error, StoreError)
        assert late.error.transient
        assert late.evaluations == []
        assert len(store.evaluations(runtime.store, "credit", every_revision=True)) == 1


def test_a_lease_is_kept_while_the_work_waits_and_ends_within_30_s_of_its_death(here, monkeypatch):
    monkeypatch.setattr("rocmonitor.service.leases.RENEW_EVERY", timedelta(milliseconds=5))
    clock = Clock(week(21))
    with here.runtime(clock) as runtime, here.runtime(clock) as other:
        with hold_lease(runtime, "monitor:credit") as lease:
            assert lease is not None
            clock.now += LEASE - timedelta(seconds=1)
            attend_until(Workers(AtWork()), lambda: ends(runtime) == clock.now + LEASE)
            with hold_lease(other, "monitor:credit") as none:
                assert none is None
        store.acquire(runtime.store, "monitor:credit", "dead", clock.now, LEASE)
        clock.now += timedelta(seconds=30)
        with hold_lease(other, "monitor:credit") as taken_over:
            assert taken_over is not None


def ends(runtime: Runtime) -> datetime:
    lease = tables.lease.c
    with runtime.store.reading() as connection:
        found: datetime = connection.scalar(select(lease.expires_at).where(lease.name == "monitor:credit"))
    return found


def repeat(times: int, call: Callable[[], object]) -> None:
    for _ in range(times):
        call()


@contextmanager
def locked(here: World) -> Iterator[None]:
    """Another program writes to the store."""
    with closing(sqlite3.connect(here.folder / "rocmonitor.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


@contextmanager
def service(here: World, clock: Clock, **changes: str) -> Iterator[tuple[Runtime, object]]:
    """A runtime, and a scheduler that has taken its jobs and waits."""
    with here.runtime(clock, **changes) as runtime:
        made = scheduled(runtime)
        made.start(paused=True)
        yield runtime, made
        made.shutdown(wait=False)


def pause(made: object, clock: Clock, name: str = "credit") -> timedelta:
    due: datetime = made.get_job(name).next_run_time  # type: ignore[attr-defined]
    return due - clock.now


@pytest.mark.slow
def test_a_store_that_fails_is_tried_again_within_seconds_then_minutes(two_weeks, monkeypatch, caplog):
    monkeypatch.setattr(connection, "LOCK_SECONDS", 0.01)
    clock = Clock(week(24))
    with service(two_weeks, clock, window=until("2026-06-08")) as (runtime, made):
        monitor = runtime.config.monitors["credit"]
        with locked(two_weeks):
            pauses = []
            for _ in range(9):
                scheduler._tick(made, runtime, monitor)
                pauses.append(pause(made, clock))
            assert pauses[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
            assert pauses[-1] == LONGEST_PAUSE
            assert "another program holds it" in caplog.text
            scheduler._deliver(Deliveries(runtime), StoreWatch(runtime))  # says it, and no more
        scheduler._tick(made, runtime, monitor)
        assert runtime.failures == {}
        assert len(store.evaluations(runtime.store, "credit")) == 2


def test_a_lock_in_the_middle_of_a_tick_is_tried_again_and_loses_nothing(two_weeks, monkeypatch):
    monkeypatch.setattr(connection, "LOCK_SECONDS", 0.01)
    clock = Clock(week(24))
    with two_weeks.runtime(clock, window=until("2026-06-08")) as runtime:
        monitor = runtime.config.monitors["credit"]
        lock = locked(two_weeks)

        def take(step: str) -> None:
            if step.startswith("credit 2026-06-01"):
                lock.__enter__()

        broken = run_monitor(runtime, monitor, now=clock.now, progress=take)
        lock.__exit__(None, None, None)
        assert isinstance(broken.error, StoreError)
        assert broken.error.transient
        assert [each.window.start for each in broken.evaluations] == [week(20)]
        clock.now += LEASE  # which it could not give back
        again = run_monitor(runtime, monitor, now=clock.now)
        assert again.error is None
        assert [each.window.start for each in again.evaluations] == [week(21)]


def test_a_missing_file_and_a_wrong_query_do_not_wait_for_the_schedule(here, monkeypatch):
    clock = Clock(week(20) + timedelta(hours=7))
    monkeypatch.setenv("SCENARIO_SOURCE_URL", f"sqlite:///{here.folder}/later.db")
    with service(here, clock) as (runtime, made):
        scheduler._tick(made, runtime, runtime.config.monitors["credit"])
        assert pause(made, clock) == FIRST_PAUSE
        with closing(sqlite3.connect(here.folder / "later.db")) as empty:
            empty.execute("CREATE TABLE other (n int)")
        clock.now = week(21) + 2 * DAY + timedelta(hours=7)
        scheduler._tick(made, runtime, runtime.config.monitors["credit"])  # no such table
        assert pause(made, clock) == LONGEST_PAUSE


def test_what_another_process_holds_is_looked_at_again_before_its_lease_could_end(here):
    clock = Clock(week(20))
    with service(here, clock) as (runtime, made), hold_lease(runtime, "monitor:credit"):
        scheduler._tick(made, runtime, runtime.config.monitors["credit"])
        assert pause(made, clock) < LEASE


@pytest.mark.slow
def test_a_full_disk_is_tried_again(two_weeks):
    clock = Clock(week(24))
    with two_weeks.runtime(clock, window=until("2026-06-08")) as runtime:
        from sqlalchemy import event

        def fill_up(raw: sqlite3.Connection, *_: object) -> None:
            pages = raw.execute("PRAGMA page_count").fetchone()[0]
            raw.execute(f"PRAGMA max_page_count = {pages + 2}")

        event.listen(runtime.store.engine, "checkout", fill_up)
        full = run_monitor(runtime, runtime.config.monitors["credit"], now=clock.now)
        assert isinstance(full.error, StoreError)
        assert "full" in str(full.error)
        assert full.error.transient
        event.remove(runtime.store.engine, "checkout", fill_up)
    with two_weeks.runtime(clock, window=until("2026-06-08")) as runtime:
        done = run_monitor(runtime, runtime.config.monitors["credit"], now=clock.now)
        assert done.error is None
        assert len(store.evaluations(runtime.store, "credit")) == 2


@pytest.mark.slow
def test_a_store_that_goes_silent_is_not_waited_for(postgres_url, monkeypatch):
    monkeypatch.setattr(connection, "LOCK_SECONDS", 0.5)
    monkeypatch.setattr(connection, "ANSWER_SECONDS", 0.5)
    migrate.upgrade(postgres_url)
    with stalling(postgres_url) as (url, stall), store.open_store(url) as kept:
        store.save_alias(kept, "m", "champion", "1", week(1))
        kept.engine.dispose()
        stall.after = 3_000
        with pytest.raises(StoreError, match="the database does not answer") as caught:
            repeat(100, lambda: store.alias(kept, "m", "champion"))
        assert caught.value.transient
        stall.resume()
        assert store.alias(kept, "m", "champion") == ("1", week(1))


def test_windows_of_a_clock_that_was_ahead_are_judged_when_they_have_ended(here, caplog):
    """One tick with the clock 40 days ahead: nothing is saved as empty, and nothing is held back later."""
    for number in (20, 21):
        here.score(number)
    clock, passed = Clock(week(21) + 3 * DAY), [0.0]

    def tick() -> object:
        made = Runtime(config=known, store=kept, clock=clock, elapsed=lambda: passed[0], boot="this machine")
        return run_monitor(made, known.monitors["credit"], now=clock())

    known = here.configure()
    with store.open_store(known.store_url) as kept:
        assert [each.window.start for each in tick().evaluations] == [week(20)]
        passed[0] += 60
        clock.now += 40 * DAY
        ahead = tick()
        assert ahead.error is None
        assert ahead.evaluations == []
        assert ahead.doubt.code == "clock-set-forward"
        assert words_of(ahead.doubt).startswith(
            "the clock was set 39 days forward; windows that end after 2026-06-04"
        )
        clock.now -= 40 * DAY
        passed[0] += 6 * 86400
        clock.now += 6 * DAY
        later = tick()
        assert later.doubt is None
        assert [each.window.start for each in later.evaluations] == [week(21)]
        assert {each.outcome for each in store.evaluations(kept, "credit")} <= {"ok", "improved", "degraded"}


def test_a_clock_that_stays_ahead_is_believed_after_an_hour(here):
    clock, passed = Clock(week(21) + 3 * DAY), [0.0]
    here.score(20)
    known = here.configure()
    with store.open_store(known.store_url) as kept:
        made = Runtime(config=known, store=kept, clock=clock, elapsed=lambda: passed[0], boot="this machine")
        run_monitor(made, known.monitors["credit"], now=clock())
        clock.now += 7 * DAY
        passed[0] += 60
        assert run_monitor(made, known.monitors["credit"], now=clock()).doubt is not None
        assert store.clock_seen(kept).ahead is not None
        clock.now += CONFIRM_AFTER
        passed[0] += CONFIRM_AFTER.total_seconds()
        confirmed = run_monitor(made, known.monitors["credit"], now=clock())
        assert confirmed.doubt is None
        assert [each.window.start for each in confirmed.evaluations] == [week(21)]


@pytest.mark.slow
def test_a_store_on_a_server_has_a_clock_of_its_own(here, postgres_url, monkeypatch):
    here.score(20)
    migrate.upgrade(postgres_url)
    known = here.configure()
    with store.open_store(postgres_url) as kept:
        made = Runtime(config=known, store=kept, clock=Clock(datetime.now(UTC) + 40 * DAY))
        ahead = run_monitor(made, known.monitors["credit"], now=made.clock())
        assert ahead.doubt is not None
        assert ahead.doubt.code == "clock-ahead-of-store"
        there = store.database_time(kept)
        assert there is not None
        assert all(each.window.end <= there for each in ahead.evaluations)
        assert not run_monitor(made, known.monitors["credit"], now=made.clock()).busy


def test_jobs_start_at_once_when_the_clock_was_set(here, caplog):
    passed, clock = [0.0], Clock(week(20))
    known = here.configure()
    with store.open_store(known.store_url) as kept:
        runtime = Runtime(config=known, store=kept, clock=clock, elapsed=lambda: passed[0])
        made = scheduled(runtime)
        made.start(paused=True)
        jumps = ClockJumps(runtime)
        clock.now, passed[0] = clock.now + DAY, passed[0] + 86400
        assert not jumps.seen()
        for job in made.get_jobs():
            made.modify_job(job.id, next_run_time=clock.now + DAY)
        clock.now -= 40 * DAY  # the jobs wait for 41 days now
        assert jumps.seen()
        assert "the clock was set back by 40 days" in caplog.text
        start_all_now(made, runtime)
        assert {job.next_run_time for job in made.get_jobs()} == {clock.now}
        assert not jumps.seen()
        made.shutdown(wait=False)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["serve", "run"])
def test_sigterm_ends_it_within_seconds_whatever_hangs(here, command):
    """Four monitors hang at a server that went silent; a fifth is judged meanwhile."""
    here.score(20)
    here.configure(window=until("2026-06-01"))
    path = here.folder / "rocmonitor.yaml"
    with scratch_postgres() as real, stalling(real, 20_000) as (url, _):
        for number in (0, 20):
            World(here.folder, real).score(number, n=2000)
        healthy = path.read_text()
        section = healthy[healthy.index("  credit:") :]
        hung = "".join(
            section.replace("  credit:", f"  hung{number}:", 1).replace("source: here", "source: silent")
            for number in range(4)
        )
        sources = "sources: {silent: {url: '%s', timeout: 1h, timezone: UTC}, here:" % url  # noqa: UP031
        text_ = healthy.replace("sources: {here:", sources, 1)
        path.write_text(text_.replace("  credit:", hung + "  credit:", 1))
        judged = r"credit .*2026-05-25.*: ok" if command == "serve" else r"credit .*2026-05-25.* rows in "
        process = subprocess.Popen(
            [sys.executable, "-m", "rocmonitor", "-v", command],
            cwd=here.folder,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            seen = wait_for(process, r"hung0 reference 2026-01-05")  # whose rows stop on the way
            if not re.search(judged, seen):
                wait_for(process, judged)
            process.send_signal(signal.SIGTERM)
            code = process.wait(timeout=20)
        finally:
            process.kill()
            process.wait()
            assert process.stderr is not None
            told = process.stderr.read()
            process.stderr.close()
        assert code == (0 if command == "serve" else 143)
        assert "not finished after 15 s; left for the next start" in told
    known = config.load(path)
    with store.open_store(known.store_url) as kept:
        assert len(store.evaluations(kept, "credit")) == 1
        for name in known.monitors:  # no lease is left
            assert store.acquire(kept, f"monitor:{name}", "next", datetime.now(UTC), LEASE) is not None


@pytest.mark.slow
def test_sigterm_ends_a_start_that_hangs_as_the_first_process_of_a_container(here):
    """There a signal without a handler does nothing."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "--fork", "--pid", "true"], check=False).returncode:
        pytest.skip("no namespaces of processes here")
    with scratch_postgres() as real, stalling(real, 0) as (url, _):
        path = here.folder / "rocmonitor.yaml"
        here.configure()
        path.write_text(f"store: {{url: '{url}'}}\n{path.read_text()}")
        words = [unshare, "--fork", "--pid", "--kill-child", sys.executable, "-m", "rocmonitor", "-v"]
        outer = subprocess.Popen([*words, "serve"], cwd=here.folder, stderr=subprocess.PIPE, text=True)
        try:
            wait_for(outer, "reading")
            time.sleep(2)
            [inner] = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
            os.kill(int(inner), signal.SIGTERM)
            assert outer.wait(timeout=5) == 143
        finally:
            outer.kill()
            outer.wait()
            assert outer.stderr is not None
            outer.stderr.close()


@pytest.mark.slow
def test_sigterm_ends_a_review_that_hangs(here, monkeypatch):
    with scratch_postgres() as real, stalling(real, 20_000) as (url, _):
        for number in (0, 20):
            World(here.folder, real).score(number, n=2000)
        monkeypatch.setenv("SCENARIO_SOURCE_URL", url)
        here.configure(window=until("2026-06-01"))
        words = ["-v", "review", "credit"]
        process = subprocess.Popen(
            [sys.executable, "-m", "rocmonitor", *words], cwd=here.folder, stderr=subprocess.PIPE, text=True
        )
        try:
            wait_for(process, "2026-05-25")
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=20) == 143
        finally:
            process.kill()
            process.wait()
            assert process.stderr is not None
            process.stderr.close()
    with store.open_store(config.load(here.folder / "rocmonitor.yaml").store_url) as kept:
        for name in ("monitor:credit", "review:credit"):  # no lease is left
            assert store.acquire(kept, name, "next", datetime.now(UTC), LEASE) is not None
