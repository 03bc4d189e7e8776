"""The HTTP listener of `serve`: ``/health``, ``/live`` and ``/metrics``, and MLflow's webhook."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from rocmonitor.config.values import host_and_port
from rocmonitor.service.health import Service
from rocmonitor.service.listener.webhook import AliasMoved, WebhookReceiver

log = logging.getLogger(__name__)

__all__ = ["open_listeners"]


@contextmanager
def open_listeners(service: Service, on_alias: AliasMoved) -> Iterator[None]:
    """Listen where the configuration says, while the block runs; one address may serve both.

    Raises
    ------
    ConfigError: An address cannot be listened on, or the secret of the webhook cannot be read.
    """
    config = service.runtime.config
    wanted: dict[str, tuple[str, Service | None, WebhookReceiver | None]] = {}
    if config.listen is not None:
        wanted[config.listen] = ("listen", service, None)
    if config.webhook is not None:
        config.webhook.read(config.folder)

        def secret() -> str:
            """Read it anew: a reload may have changed it."""
            webhook, folder = service.runtime.config.webhook, service.runtime.config.folder
            assert webhook is not None  # a reload does not take it away
            return webhook.read(folder)

        hook = WebhookReceiver(secret, on_alias, service.runtime.clock)
        key, watched, _ = wanted.get(config.webhook.listen, ("webhook.listen", None, None))
        wanted[config.webhook.listen] = (key, watched, hook)
    with ExitStack() as stack:
        for address, (key, watched, webhook) in wanted.items():
            # Imported here: most services do not listen.
            from rocmonitor.service.listener.application import application
            from rocmonitor.service.listener.server import listening

            host, port = host_and_port(address)
            got = stack.enter_context(listening(host, port, application(watched, webhook), key=key))
            log.info("listening on http://%s:%s/ (%s)", f"[{host}]" if ":" in host else host, got, key)
        yield
