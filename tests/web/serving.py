"""The pages on a port of this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import waitress

from rocmonitor.web.alone import create_app
from rocmonitor.web.site import Site


@contextmanager
def serving(site: Site) -> Iterator[str]:
    """Serve the pages while the block runs, at the address that it gets."""
    server = waitress.create_server(create_app(site), host="127.0.0.1", port=0)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.effective_port}"
    server.close()
    thread.join(10)
