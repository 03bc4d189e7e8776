"""The heartbeat: an address outside is called while the service is healthy, so that silence is noticed.

As Healthchecks and its like take it: a GET of the address means well, of ``address/fail`` means not.
https://healthchecks.io/docs/http_api/
"""

from __future__ import annotations

import http.client
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from rocmonitor import __version__
from rocmonitor.config import Config
from rocmonitor.errors import ConfigError
from rocmonitor.service.health import Health, Service, service_health
from rocmonitor.wording.caveats import words_of

log = logging.getLogger(__name__)

SECONDS = 10.0
"""Seconds that a call may take; slower answers are given up."""
LOOK_SECONDS = 30.0
"""Seconds between two looks at the health: a change is reported at once, however rarely the rest is."""


def send(config: Config, *, healthy: bool) -> None:
    """Call the address of the configuration, if it has one; a failure is only logged.

    Returns after a few seconds, also when the answer comes in drips.
    """
    if config.heartbeat is None:
        return
    try:
        address = config.heartbeat.read(config.folder)
    except ConfigError as error:
        log.warning("no heartbeat: %s", error)
        return
    if not healthy:
        parts = urlsplit(address)
        address = parts._replace(path=f"{parts.path.rstrip('/')}/fail").geturl()
    done: list[str | None] = []
    thread = threading.Thread(target=lambda: done.append(_call(address)), name="heartbeat call", daemon=True)
    thread.start()
    thread.join(SECONDS)
    failure = done[0] if done else f"no answer within {SECONDS:g} s"
    if failure is not None:
        log.warning("the heartbeat was not received: %s", failure)
    else:
        log.debug("heartbeat sent: %s", "healthy" if healthy else "not healthy")


def report(config: Config, health: Health) -> None:
    """Send what was found, and log why it is not well."""
    for problem in health.problems:
        log.error("not healthy: %s", words_of(problem))
    send(config, healthy=health.healthy)


@contextmanager
def beating(service: Service) -> Iterator[None]:
    """Report every few minutes, and each change at once, while the block runs, where so configured.

    The health decides, not the thread: that it is alive says nothing about the others.
    """
    ended = threading.Event()

    def work() -> None:
        since, was_healthy = 0.0, True
        while True:
            heartbeat = service.runtime.config.heartbeat  # a reload may change it
            every = 60.0 if heartbeat is None else heartbeat.every.total_seconds()
            pause = min(every, LOOK_SECONDS)
            if ended.wait(pause):
                return
            since += pause
            if heartbeat is not None:
                try:
                    health = service_health(service)
                    if since >= every or health.healthy != was_healthy:
                        since, was_healthy = 0.0, health.healthy
                        report(service.runtime.config, health)
                except Exception:  # silence is noticed, but the next one may pass
                    log.exception("the heartbeat failed unexpectedly")

    thread = threading.Thread(target=work, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()  # not waited for: an answer may take its time


def _call(address: str) -> str | None:
    """Why it failed, without the address: who knows it can report for us."""
    request = Request(address, headers={"User-Agent": f"rocmonitor/{__version__}"})
    try:
        with urlopen(request, timeout=SECONDS) as answer:
            answer.read(1)
    except HTTPError as error:
        with error:
            return f"HTTP {error.code}"
    except URLError as error:
        return (
            error.reason.strerror or type(error.reason).__name__
            if isinstance(error.reason, OSError)
            else "no answer"
        )
    except (OSError, http.client.HTTPException, ValueError) as error:
        return type(error).__name__
    return None
