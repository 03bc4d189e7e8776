"""Deadlines: every wait for a database ends on our side, whatever the database does.

A server that goes silent sends neither an answer nor an error, and a driver may wait for it for ever. So a
thread beside the one that waits asks the database to stop, and then cuts the connection.
"""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Literal, Self

Part = Literal["connect", "silence", "whole"]

_INFO = "rocmonitor guard"

SECONDS_TO_STOP = 2.0
"""Seconds that a database may take to stop when asked, before the connection is cut."""
SECONDS_OF_WORK = 600.0
"""Seconds that the caller may work on a part of an answer, and wait if the database is slow after all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The longest waits, in seconds."""

    connect: float  # until there is a connection
    silence: float  # until the database answers, and between two answers
    whole: float = math.inf  # from the connection to the end


class Overdue(Exception):  # noqa: N818 a deadline that has passed, not a fault of the program
    """A database took too long: `part` names which of the `Limits` was passed."""

    def __init__(self, part: Part) -> None:
        super().__init__(f"a database took too long ({part})")
        self.part: Part = part


class Guard:
    """Opens one connection, and ends it when it keeps us waiting for too long.

    Leaving it raises `Overdue` in place of whatever error the end of the connection caused.

    `connect` gives a SQLAlchemy connection; `ask` asks the database to stop, given the driver's connection
    (by default what the driver has for it).
    """

    def __init__(
        self,
        connect: Callable[[], Any],
        limits: Limits,
        ask: Callable[[Any], None] | None = None,
    ) -> None:
        self._connect, self._limits, self._ask = connect, limits, ask or ask_to_stop
        self._lock, self._settled, self._done = Lock(), Event(), Event()
        self._attendant = Thread(target=self._attend, daemon=True, name="deadline")
        self._connection: Any = None
        self._failure: BaseException | None = None
        self._waiting_since = math.inf
        self._ends_at = math.inf
        self.overdue: Part | None = None

    def arm(self) -> None:
        """Note that the database answered, or is asked something: the silence begins anew."""
        self._waiting_since = time.monotonic()

    def rest(self) -> None:
        """Note that the caller works on what has come, and may take its time."""
        self._waiting_since = time.monotonic() + SECONDS_OF_WORK

    def __enter__(self) -> Self:
        self._attendant.start()
        self._settled.wait(self._limits.connect)
        with self._lock:
            if not self._settled.is_set():
                self.overdue = "connect"
        if self.overdue == "connect":
            raise Overdue("connect")
        if self._failure is not None:
            raise self._failure
        return self

    @property
    def connection(self) -> Any:
        """The SQLAlchemy connection."""
        return self._connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.arm()  # closing rolls back, and waits for the database too
        try:
            with suppress(Exception):  # what it says of a connection that was cut helps nobody
                if self.overdue is not None:  # a late request to stop must not meet the next one who uses it
                    self._connection.invalidate()
                self._connection.close()
        finally:
            self._done.set()
            # A thread that the end of the program stops keeps the connection, and DuckDB complains of a leak.
            self._attendant.join(SECONDS_TO_STOP)
        if self.overdue is not None and isinstance(error, Exception):
            raise Overdue(self.overdue) from None

    def _attend(self) -> None:
        """Connect, then watch over the connection until it is given back."""
        try:
            connection = self._connect()
            raw = connection.connection.driver_connection
        except BaseException as error:
            self._failure = error
            self._settled.set()
            return
        with self._lock:
            if self.overdue is None:
                self._connection = connection
                self._ends_at = time.monotonic() + self._limits.whole
                self.arm()
                self._settled.set()
        if self._connection is None:  # too late: nobody waits for it any more
            with suppress(Exception):
                connection.invalidate()
                connection.close()
            return
        while not self._done.wait(min(1.0, self._limits.silence / 4)):
            if self._is_over():
                self._end(raw)

    def _is_over(self) -> bool:
        since, now = self._waiting_since, time.monotonic()
        if now > max(self._ends_at, since):
            self.overdue = "whole"
        elif now > since + self._limits.silence:
            self.overdue = "silence"
        return self.overdue is not None

    def _end(self, raw: Any) -> None:
        """Ask the database to stop, then cut the connection, until whoever waits has noticed."""
        Thread(target=_quietly, args=(self._ask, raw), daemon=True, name="stop request").start()
        while not self._done.wait(SECONDS_TO_STOP):
            Thread(target=_quietly, args=(cut, raw), daemon=True, name="cut").start()


def known_guard(guard: Guard) -> Any:
    """Return the SQLAlchemy connection of a guard, which `guard_of` gives back, and `arm` arms."""
    guard.connection.info[_INFO] = guard
    return guard.connection


def guard_of(connection: Any) -> Guard:
    """Return what guards a connection that `known_guard` gave."""
    guard: Guard = connection.info[_INFO]
    return guard


def arm(connection: Any, *_: object) -> None:
    """Arm the guard of a connection, if it has one, before each statement."""
    if _INFO in connection.info:
        guard_of(connection).arm()


def ask_to_stop(raw: Any) -> None:
    """Ask the database to stop, as its driver does: PostgreSQL, SQLite, DuckDB, Oracle and others."""
    if callable(cancel_safe := getattr(raw, "cancel_safe", None)):
        from psycopg import capabilities  # an extra; `raw` is its connection

        # Before libpq 17 the request holds every thread of the process, for as long as the server is silent.
        if capabilities.has_cancel_safe():
            cancel_safe(timeout=SECONDS_TO_STOP)
        return
    for name in ("interrupt", "cancel"):
        if callable(stop := getattr(raw, name, None)):
            stop()
            return


def cut(raw: Any) -> None:
    """Shut the connection's socket, so that whoever waits at it wakes up; else close the connection."""
    if callable(interrupt := getattr(raw, "interrupt", None)):  # within this process: there is no socket
        interrupt()
        return
    place = raw if hasattr(raw, "fileno") else getattr(raw, "_sock", None)  # the latter is PyMySQL's
    if place is None:
        raw.close()
        return
    with socket.socket(fileno=socket.dup(place.fileno())) as ours:
        ours.shutdown(socket.SHUT_RDWR)


def _quietly(call: Callable[[Any], None], raw: Any) -> None:
    with suppress(Exception):  # it may have ended meanwhile
        call(raw)
