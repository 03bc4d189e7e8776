"""``rocmonitor serve`` as a process, for tests."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from scenario import World

LONGEST_SECONDS = 180


@contextmanager
def serving(here: World) -> Iterator[subprocess.Popen[str]]:
    """The service, as systemd would start it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rocmonitor", "serve"], cwd=here.folder, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def wait_for(process: subprocess.Popen[str], pattern: str) -> str:
    """Read the service's log up to a line; fail when it ends before, or says nothing like it for minutes."""
    assert process.stderr is not None
    seen = ""
    patience = threading.Timer(LONGEST_SECONDS, process.kill)
    patience.start()
    try:
        for line in process.stderr:
            seen += line
            if re.search(pattern, line):
                return seen
    finally:
        patience.cancel()
    pytest.fail(f"the service ended without {pattern!r}: {seen}")
