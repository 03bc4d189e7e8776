"""The pages on a port of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rocmonitor.service.listener.server import listening
from rocmonitor.web.alone import create_app
from rocmonitor.web.site import Site


@contextmanager
def serving(site: Site) -> Iterator[str]:
    """Serve the pages while the block runs, as `rocmonitor ui` does, at the address that it gets."""
    with listening("127.0.0.1", 0, create_app(site), key="--port", threads=8) as port:
        yield f"http://127.0.0.1:{port}"
