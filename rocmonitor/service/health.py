"""The health of the service: ticks end, deliveries arrive, nothing hangs, the clocks agree."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from rocmonitor import __version__, store
from rocmonitor.caveat import Caveat
from rocmonitor.config import Config
from rocmonitor.errors import StoreError
from rocmonitor.policy.outages import MLFLOW, STORE, Outage
from rocmonitor.policy.status import Attention
from rocmonitor.store import glance, migrate
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.episode import as_json

if TYPE_CHECKING:
    from rocmonitor.service.runtime import Runtime

OVERDUE = timedelta(minutes=15)
"""Time after it was due by which a tick must end, while no other is at work."""

OVERDUE_BUSY = timedelta(hours=6)
"""The same while the workers have others to do: after an outage all monitors are due at once."""

STUCK = timedelta(hours=1)
"""Time after which a waiting delivery is a problem: perhaps nobody gets alarms. One that failed to reach a
channel is one after ``errors.notify_after``: there may be no other channel to say so."""

CLOCKS_DIFFER = timedelta(minutes=1)

STORE_SECONDS = 5.0
"""Seconds that a question about the health waits for the store."""

_RESTART_MENDS = frozenset({"tick-overdue", "never-ticked", "work-hung"})


@dataclass
class Service:
    """A process that serves: what it works with now, and how its last reload went."""

    runtime: Runtime
    """Replaced as a whole by a reload."""
    started_at: datetime
    loaded_at: datetime
    refused: str | None = None
    """Why the last reload changed nothing."""
    asking: Asking = field(default_factory=lambda: Asking())

    @classmethod
    def of(cls, runtime: Runtime) -> Service:
        """Return a service that starts now."""
        now = runtime.clock()
        return cls(runtime=runtime, started_at=now, loaded_at=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreAnswers:
    """The answers of the store."""

    ticks: dict[str, store.LastTick]
    at_work: frozenset[str]
    undelivered: dict[str, store.Backlog]
    outages: list[Outage]
    schema: str
    clock: datetime | None
    """The time of the database; None where it has no clock of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The health at one time."""

    now: datetime
    """The time by the clock of this process."""
    seen: StoreAnswers | None
    """None where the store did not answer."""
    monitors: tuple[str, ...]
    problems: tuple[Caveat, ...]
    service: Service | None = None
    """None where another process looks."""

    @property
    def healthy(self) -> bool:
        """True if there is no problem."""
        return not self.problems

    @property
    def alive(self) -> bool:
        """True if a restart of the process would mend nothing."""
        return not any(problem.code in _RESTART_MENDS for problem in self.problems)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        seen, service = self.seen, self.service
        clock = None if seen is None else seen.clock
        content: dict[str, Any] = {
            "status": "ok" if self.healthy else "unhealthy",
            "problems": [
                {"code": problem.code, "text": words_of(problem), "values": problem.values}
                for problem in self.problems
            ],
            "version": __version__,
            "schema": None if seen is None else seen.schema,
            "store": {"reachable": seen is not None},
            "clock": {
                "now": _written(self.now),
                "database": _written(clock),
                "offset_seconds": None if clock is None else (self.now - clock).total_seconds(),
            },
            "monitors": {name: _tick(name, seen) for name in self.monitors},
            "outbox": {},
            "outages": [] if seen is None else [as_json(outage, Attention()) for outage in seen.outages],
        }
        if seen is not None:
            content["outbox"] = {
                destination: asdict(left)
                | {
                    "oldest": _written(left.oldest),
                    "next_attempt_at": _written(left.next_attempt_at),
                    "oldest_seconds": max(0.0, (self.now - left.oldest).total_seconds()),
                }
                for destination, left in sorted(seen.undelivered.items())
            }
        if service is not None:
            content["work"] = [
                {
                    "name": work.name,
                    "started_at": _written(work.started_at),
                    "silent_seconds": round(work.silence.total_seconds(), 3),
                    "hung": work.is_hung,
                }
                for work in service.runtime.work.current()
            ]
            content["configuration"] = {"loaded_at": _written(service.loaded_at), "refused": service.refused}
        return content


@dataclass(slots=True)
class Asking:
    """Asks with patience: a store that hangs keeps one thread waiting, not every one that asks."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pending: threading.Thread | None = None

    def within(self, seconds: float, question: Callable[[], Any]) -> Any:
        """Return the answer; a StoreError says that none came, or that an earlier question still waits."""
        outcome: dict[str, Any] = {}

        def ask() -> None:
            try:
                outcome["answer"] = question()
            except Exception as error:
                outcome["error"] = error

        with self._lock:
            if self._pending is not None and self._pending.is_alive():
                raise StoreError("it has not answered an earlier question yet")
            thread = self._pending = threading.Thread(target=ask, name="health", daemon=True)
            thread.start()
            thread.join(seconds)
        if "error" in outcome:
            raise outcome["error"]
        if "answer" not in outcome:
            raise StoreError(f"no answer within {seconds:g} s")
        return outcome["answer"]


def look(kept: store.Store, now: datetime) -> StoreAnswers:
    """Return what the store says now."""
    return StoreAnswers(
        ticks=store.ticks(kept),
        at_work=glance.at_work(kept, now),
        undelivered=store.backlog(kept),
        outages=[outage for outage in store.open_outages(kept) if outage.is_open],
        schema=migrate.schema_version(kept),
        clock=store.database_time(kept),
    )


def service_health(service: Service, seen: StoreAnswers | None = None) -> Health:
    """Return the health of this process and its store, within a few seconds even where the store hangs.

    `seen` is what the store says, where it has just been asked.
    """
    runtime = service.runtime
    now = runtime.clock()
    problems = [
        Caveat(
            "work-hung",
            work=work.name,
            since=_written(work.started_at),
            minutes=work.silence // timedelta(minutes=1),
        )
        for work in runtime.work.current()
        if work.is_hung
    ]
    try:
        if seen is None:
            seen = service.asking.within(STORE_SECONDS, lambda: look(runtime.store, now))
    except StoreError as error:
        seen = None
        problems.append(Caveat("store-unreachable", error=str(error)))
    else:
        if STORE in runtime.failing:  # full, locked or read-only, it can be read all the same
            problems.append(Caveat("store-unwritable", error=runtime.failing[STORE]))
        now = runtime.clock()  # beside the database's: the look took its time
        problems += _problems(seen, runtime.config, now, service.started_at)
    return Health(
        now=now,
        seen=seen,
        monitors=tuple(runtime.config.monitors),
        problems=tuple(problems),
        service=service,
    )


def store_health(kept: store.Store, config: Config, now: datetime) -> Health:
    """Return the health as far as the store shows it, for a process that does not serve."""
    seen = look(kept, now)
    problems = _problems(seen, config, now, None)
    return Health(now=now, seen=seen, monitors=tuple(config.monitors), problems=tuple(problems))


def _problems(seen: StoreAnswers, config: Config, now: datetime, started_at: datetime | None) -> list[Caveat]:
    problems = []
    if seen.schema != migrate.NEWEST:
        newer = seen.schema > migrate.NEWEST
        way_out = "restart with the newer rocmonitor" if newer else "run `rocmonitor db upgrade`"
        problems.append(
            Caveat("schema-differs", found=seen.schema or "not there", needed=migrate.NEWEST, way_out=way_out)
        )
    patience = OVERDUE_BUSY if seen.at_work else OVERDUE
    for name, monitor in config.monitors.items():
        if name in seen.at_work or monitor.is_over(now):
            continue
        last = seen.ticks.get(name)
        due = None if last is None else last.next_due
        # What fell due while nothing ran is counted from the start.
        since = max((instant for instant in (started_at, due) if instant is not None), default=now)
        if now - since <= patience:
            continue
        if last is None:
            problems.append(Caveat("never-ticked", monitor=name, since=_written(started_at)))
        else:
            problems.append(Caveat("tick-overdue", monitor=name, due=_written(last.next_due)))
    for destination, left in seen.undelivered.items():
        failed = left.error is not None and destination != MLFLOW
        if now - left.oldest > (min(STUCK, config.errors.notify_after) if failed else STUCK):
            problems.append(
                Caveat(
                    "outbox-stuck",
                    destination=destination,
                    waiting=left.waiting,
                    since=_written(left.oldest),
                    error=left.error,
                )
            )
    if seen.clock is not None and abs(now - seen.clock) > CLOCKS_DIFFER:
        problems.append(Caveat("clock-differs", offset_seconds=round((now - seen.clock).total_seconds(), 3)))
    return problems


def _tick(name: str, seen: StoreAnswers | None) -> dict[str, Any] | None:
    if seen is None:
        return None
    last = seen.ticks.get(name)
    content: dict[str, Any] = {"at_work": name in seen.at_work, "last_tick": None}
    if last is not None:
        content["last_tick"] = {
            "started_at": _written(last.started_at),
            "ended_at": _written(last.ended_at),
            "seconds": round(last.seconds, 3),
            "outcome": "ok" if last.error is None else "error",
            "error": last.error,
            "windows": last.windows,
            "next_due": _written(last.next_due),
        }
    return content


def _written(instant: datetime | None) -> str | None:
    return None if instant is None else f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
