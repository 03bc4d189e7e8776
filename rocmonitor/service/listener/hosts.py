"""The hosts that a request may name: a foreign page must not reach us by pointing a name of its own here."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from werkzeug.wrappers import Request

_OF_NOBODY = (".localhost", ".local", ".internal", ".svc", ".home.arpa")
"""Ends of names that nobody can register, as those of services within a cluster."""


def host_of(request: Request) -> str:
    """Return the host that a request names, without its port."""
    host = request.host
    return host.partition("]")[0].strip("[") if host.startswith("[") else host.partition(":")[0]


def is_ours(host: str, listen: str | None = None) -> bool:
    """Return True for an address, a name that no stranger can register, and the names of this machine.

    The configuration listens on the name `listen`.

    Examples
    --------
    >>> [is_ours(host) for host in ("10.1.2.3", "rocmonitor", "rocmonitor.prod.svc", "evil.example")]
    [True, True, True, False]
    """
    host = host.rstrip(".").lower()
    if "." not in host or host == listen or host.endswith(_OF_NOBODY):
        return bool(host)
    with suppress(ValueError):
        ipaddress.ip_address(host)
        return True
    return host in _names()


@cache
def _names() -> frozenset[str]:
    """Return the names of this machine; looked up once, for that may take seconds."""
    return frozenset(name.lower() for name in (socket.gethostname(), socket.getfqdn()))
