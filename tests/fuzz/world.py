"""What the requests are sent to: the page with and without a token, the health and metrics, the webhook."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flask import Flask
from scenario import World, until, week

from rocmonitor.service.health import Service
from rocmonitor.service.listener.application import application
from rocmonitor.service.listener.webhook import WebhookReceiver
from rocmonitor.service.tick import run_monitor
from rocmonitor.web.alone import create_app
from rocmonitor.web.site import Site


@contextmanager
def applications(here: World) -> Iterator[list[Flask]]:
    """Of one judged week."""
    here.score(20, region="north")
    with here.runtime(week(22), window=until("2026-06-01"), segments="[region]") as runtime:
        run_monitor(runtime, runtime.config.monitors["credit"], now=runtime.clock())
        site = Site(path=here.folder / "rocmonitor.yaml", clock=runtime.clock)
        hook = WebhookReceiver(lambda: "of the webhook", lambda *_: None, runtime.clock)
        yield [
            create_app(site),
            create_app(site, token="of the page"),
            application(Service.of(runtime)),
            application(webhook=hook),
        ]
