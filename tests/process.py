"""Processes whose log is read, such as ``rocmonitor serve``, for tests."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from scenario import World

LONGEST_SECONDS = 180


@contextmanager
def running(command: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process whose log is read; it does not outlive the test."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def serving(here: World) -> AbstractContextManager[subprocess.Popen[str]]:
    """The service, as systemd would start it."""
    return running([sys.executable, "-m", "rocmonitor", "serve"], cwd=here.folder)


def wait_for(process: subprocess.Popen[str], pattern: str) -> str:
    """Read a process's log up to a line; fail when it ends before, or says nothing like it for minutes."""
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
    pytest.fail(f"{process.args} ended without {pattern!r}: {seen}")
