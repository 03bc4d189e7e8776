"""A Dask cluster, whose workers have the same rocmonitor installed."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import CancelledError, Future, wait
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rocmonitor
from rocmonitor.config import Dask
from rocmonitor.errors import ConfigError, ExecutorError
from rocmonitor.service.workers.task import Answer, Caller, StoppedError, Task, perform, unpacked

if TYPE_CHECKING:
    from distributed import Client

    from rocmonitor.sources import SqlSource

log = logging.getLogger(__name__)

CONNECT_SECONDS = 10
ASKED_AGAIN_SECONDS = 15.0
"""A cluster that cannot be reached is not asked more often: every monitor would wait for it."""
NO_WORKER_SECONDS = 120.0
"""Seconds that a task waits on a cluster without workers: some clusters start them for the first task."""
STOP_SECONDS = 5.0
"""Seconds that a stopping process waits for a task: fewer than it gives all work at hand."""
_LOOK_SECONDS = 0.5
_COUNT_SECONDS = 30.0
_WHERE = "on a Dask worker"


class Cluster:
    """An executor that does tasks on a Dask cluster; it connects with the first.

    Parameters
    ----------
    spec : Dask
    folder : Path
        Where relative paths start.
    """

    reports = False

    def __init__(self, spec: Dask, folder: Path) -> None:
        self.width = 4  # until the cluster says
        self._spec, self._folder = spec, folder
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._counted_at = 0.0
        self._failure: tuple[float, ExecutorError] | None = None

    def run(self, task: Task[Answer], source: SqlSource, caller: Caller) -> Answer:  # noqa: ARG002
        """Do a task as `Executor.run` says; `source` is not used: the worker opens its own."""
        client = self._connected()
        if caller.stop.is_set():
            raise StoppedError
        found: Answer = unpacked(self._answer(client, task.packed(), caller), _WHERE)
        return found

    def close(self) -> None:
        """Leave the cluster."""
        with self._lock:
            self._drop()

    def _answer(self, client: Client, packed: bytes, caller: Caller) -> bytes:
        """Return what the worker answers; Dask gives a task whose worker died to another."""
        future = Future[bytes]()
        try:
            future = client.get_executor(pure=False).submit(perform, rocmonitor.__version__, packed)
            self._wait(client, future, caller)
            answer: bytes = future.result()
            return answer
        except (CancelledError, OSError):
            with self._lock:
                if self._client is client:
                    self._drop()
            raise ExecutorError("executor: the connection to the Dask scheduler was lost") from None
        except (ExecutorError, StoppedError):
            future.cancel()
            raise
        except Exception as error:  # whatever Dask makes of it
            raise _refused(error) from None

    def _wait(self, client: Client, future: Future[bytes], caller: Caller) -> None:
        """Wait for an answer; after a stop only for a while: the task may stand in the cluster's queue."""
        alone_since = going_on_until = time.monotonic()
        while not wait([future], _LOOK_SECONDS).done:
            now = time.monotonic()
            if not caller.stop.is_set():
                going_on_until = now + STOP_SECONDS
            elif now > going_on_until:
                raise StoppedError
            if caller.is_hung():
                raise ExecutorError("executor: a task on the Dask cluster hangs; it was given up")
            if self._count(client):
                alone_since = now
            elif now - alone_since > NO_WORKER_SECONDS:
                raise ExecutorError(
                    "executor: the Dask cluster has no worker; start one with `dask worker`, with "
                    f"rocmonitor {rocmonitor.__version__} installed"
                )

    def _count(self, client: Client) -> int:
        """Return the number of threads of all workers, asked for from time to time."""
        now = time.monotonic()
        if now - self._counted_at > (_COUNT_SECONDS if self.width else 2.0):
            self._counted_at = now
            self.width = sum(client.nthreads().values())
        return self.width

    def _connected(self) -> Client:
        with self._lock:
            if self._client is not None and self._client.status != "closed":
                return self._client
            if self._failure is not None and time.monotonic() - self._failure[0] < ASKED_AGAIN_SECONDS:
                raise self._failure[1]
            try:
                self._client = self._connect()
            except ExecutorError as error:
                self._failure = time.monotonic(), error
                raise
            self._failure = None
            return self._client

    def _connect(self) -> Client:
        address, files = self._spec.read(), self._spec.files(self._folder)
        if find_spec("distributed") is None:
            raise ConfigError(
                "executor.kind: dask needs the Python package distributed: pip install 'rocmonitor[dask]'"
            )
        from distributed import Client
        from distributed.security import Security

        _silence_dask()
        security: dict[str, Any] = {}
        if files:
            security = {
                "security": Security(
                    tls_ca_file=files["ca_file"],
                    tls_client_cert=files["cert_file"],
                    tls_client_key=files["key_file"],
                    require_encryption=True,
                )
            }
        key = "executor.address_env"
        try:
            client = Client(
                address, timeout=CONNECT_SECONDS, set_as_default=False, name="rocmonitor", **security
            )
            self._counted_at = 0.0
            self._count(client)
        except (OSError, ValueError) as error:
            accepts = ", and does it accept the certificates of executor.tls" if files else ""
            raise ExecutorError(
                f"{key}: no Dask scheduler answers at {address} within {CONNECT_SECONDS} s; is it running, "
                f"is the address in {self._spec.address_env} right{accepts}? ({_in_short(error)})"
            ) from None
        log.info("the Dask cluster at %s has %d threads", address, self.width)
        return client

    def _drop(self) -> None:
        """Leave; do not wait for a scheduler that is gone."""
        client, self._client = self._client, None
        if client is not None:
            client.close(timeout=2)


def _silence_dask() -> None:
    """Silence Dask, whose loggers would add traces to our errors."""
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _refused(error: Exception) -> ExecutorError:
    """Return our error for one that Dask gave instead of an answer."""
    if type(error).__name__ == "KilledWorker":
        return ExecutorError(
            "executor: several Dask workers died while they judged a window; if memory ran out, give them "
            "more, or set grouped: database"
        )
    return ExecutorError(
        f"executor: a Dask worker could not do a task ({_in_short(error)}); install rocmonitor "
        f"{rocmonitor.__version__} on every worker, with the extras that the sources need",
        transient=False,
    )


def _in_short(error: Exception) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= 200 else f"{text[:200]}…"
