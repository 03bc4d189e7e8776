"""Clusters: tables and queries of a Spark session, aggregated there; what comes here are its answers.

Only `pyspark.sql` is used (no RDD, no Java object), so a session may be Spark Connect's.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies
from uuid import uuid4

from sqlalchemy import Select

from rocmonitor.config import Monitor, Spark
from rocmonitor.deadline import Guard, Limits
from rocmonitor.sources.arrow_session import ArrowSession
from rocmonitor.sources.connect import CHUNK_ROWS
from rocmonitor.sources.failures import Origin
from rocmonitor.sources.query import Bound, SparkSQL, text_of, without_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession  # an extra: imported where it is used

_PORT = 15002  # of Spark Connect, where an address has none
_KNOCK_SECONDS = 10.0
_RETRIES = 4  # of a request, in five seconds: a server that is gone must not hold up the end of the process
_OPEN = ("user_id", "user_agent", "use_ssl", "session_id", "grpc_max_message_size")
"""Settings in an address of Spark Connect that are no secret; others are sent as headers."""


class Cluster:
    """Opens sessions on the Spark session of this process, or on the one at an address."""

    kind = "spark"

    def __init__(self, spec: Spark, address: str | None) -> None:
        self._spec, self._address = spec, address

    @contextmanager
    def open(self, origin: Origin, monitor: Monitor | None = None) -> Iterator[ClusterSession]:  # noqa: ARG002
        """Open a session whose work can be stopped; the Spark session goes on afterwards."""
        silence, whole = self._spec.timeout.total_seconds(), self._spec.deadline.total_seconds()
        limits = Limits(connect=silence, silence=silence, whole=whole)  # a cluster takes its time to start
        with Guard(partial(_Connection, self._address), limits) as guard:
            connection: _Connection = guard.connection
            spark, context = connection.spark, connection.context()
            add, remove = (
                (spark.addTag, spark.removeTag)
                if context is None
                else (context.addJobTag, context.removeJobTag)
            )
            add(connection.tag)  # to the work of this thread
            try:
                yield ClusterSession(guard, spark)
            finally:
                with suppress(Exception):  # the session may have died
                    remove(connection.tag)

    def close(self) -> None:
        """Nothing: the Spark session is not ours to end."""


def secrets_of(address: str | None) -> tuple[str, ...]:
    """Return what no message may show of an address of Spark Connect: its login and its headers."""
    host, _, settings = (address or "").partition(";")
    login = re.findall(r"//([^/@]+)@", host)
    pairs = (setting.partition("=") for setting in settings.split(";"))
    return tuple(login + [value for key, _, value in pairs if value and key.lower() not in _OPEN])


class _Connection:
    """A Spark session as `Guard` takes connections."""

    def __init__(self, address: str | None) -> None:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder
        if address is None:
            self.spark = builder.getOrCreate()
        else:
            # Fail at once where nothing listens: Spark Connect would try for ten minutes, again at the exit.
            parts = urlsplit(address.partition(";")[0])
            if parts.scheme == "sc" and parts.hostname and not getproxies():
                place = (parts.hostname, parts.port or _PORT)
                socket.create_connection(place, timeout=_KNOCK_SECONDS).close()
            self.spark = builder.remote(address).getOrCreate()
            from pyspark.sql.connect.client.retries import DefaultPolicy

            self.spark.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])
        self.tag = f"rocmonitor-{uuid4().hex}"

    @property
    def connection(self) -> _Connection:
        return self

    @property
    def driver_connection(self) -> _Connection:
        return self

    def interrupt(self) -> None:
        """End the tagged work, from any thread; tags of sessions without Connect belong to their thread."""
        context = self.context()
        if context is None:
            self.spark.interruptTag(self.tag)
        else:
            context.cancelJobsWithTag(self.tag)

    def context(self) -> Any:
        """Return what tags jobs; None for Spark Connect, whose session does."""
        from pyspark.sql.utils import is_remote

        return None if is_remote() else self.spark.sparkContext

    def invalidate(self) -> None:
        pass

    def close(self) -> None:
        pass


class ClusterSession(ArrowSession):
    """A Spark session that is asked in SQL. Its tables may change between two statements."""

    backend, dialect = "spark", SparkSQL()

    def __init__(self, guard: Guard, spark: SparkSession) -> None:
        super().__init__(guard)
        self.spark = spark

    def columns(self, monitor: Monitor, bound: Bound) -> Sequence[tuple[str, Any]]:
        """Do as `Session.columns` says."""
        schema = self._frame(without_rows(monitor), bound).schema
        return [(field.name, field.dataType.simpleString()) for field in schema]

    def tables(self, *, everywhere: bool = False) -> list[str]:
        """Do as `Session.tables` says."""
        catalog = self.spark.catalog
        own, others = catalog.currentDatabase(), catalog.listDatabases() if everywhere else []
        elsewhere = [
            f"{schema.name}.{table.name}"
            for schema in others
            if schema.name != own
            for table in catalog.listTables(schema.name)
            if not table.isTemporary
        ]
        return [*sorted(elsewhere), *sorted(table.name for table in catalog.listTables())]

    def _answer(self, statement: Select[Any], bound: Bound) -> tuple[Any, Iterable[Any]]:
        table = self._frame(statement, bound).toArrow()
        return table.schema, table.to_batches(max_chunksize=CHUNK_ROWS)

    def _frame(self, statement: Select[Any], bound: Bound) -> DataFrame:
        self._guard.arm()
        return self.spark.sql(text_of(statement, bound, self.dialect))
