"""Commands of rocmonitor for tests: within this process, which takes no start-up, or in one of their own."""

from __future__ import annotations

import contextlib
import logging
import os
import pty
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest

from rocmonitor import cli

LONGEST_SECONDS = 120


@dataclass(frozen=True)
class Finished:
    """What a command printed. Its exit code was the expected one."""

    stdout: str
    stderr: str


@dataclass(frozen=True)
class Rocmonitor:
    """Runs commands in a folder."""

    folder: Path

    def __call__(self, *arguments: str, code: int | tuple[int, ...] = 0) -> Finished:
        """Run a command within this process, as the console script does; it must end with (one) `code`."""
        stdout, stderr = StringIO(), StringIO()
        with (
            chdir(self.folder),
            pytest.MonkeyPatch.context() as patch,
            _own_logging(),
            redirect_stdout(stdout),
            redirect_stderr(stderr),
        ):
            patch.setattr(sys, "argv", ["rocmonitor", *arguments])
            with pytest.raises(SystemExit) as ended:
                cli.main()
        assert ended.value.code in (code if isinstance(code, tuple) else (code,)), stderr.getvalue()
        return Finished(stdout.getvalue(), stderr.getvalue())

    def process(self, *arguments: str, code: int = 0, **environment: str) -> Finished:
        """Run a command as a process of its own; it must end with `code`, and without a traceback."""
        done = self._start(arguments, stdout=subprocess.PIPE, environment=environment)
        assert "Traceback" not in done.stderr
        assert done.returncode == code, done.stderr
        return Finished(done.stdout, done.stderr)

    def terminal(self, *arguments: str, code: int = 0, columns: int = 120, **environment: str) -> str:
        """All that a terminal gets, control sequences included; the command must end with `code`."""
        screen, end = pty.openpty()
        termios.tcsetwinsize(end, (40, columns))
        process = subprocess.Popen(
            [sys.executable, "-m", "rocmonitor", *arguments],
            cwd=self.folder,
            env=os.environ | {"TERM": "xterm-256color", **environment},
            stdin=end,
            stdout=end,
            stderr=end,
        )
        os.close(end)
        shown = bytearray()
        with contextlib.suppress(OSError):  # Linux: the other end is closed
            while part := os.read(screen, 1 << 16):
                shown += part
        os.close(screen)
        text = shown.decode().replace("\r\n", "\n")
        assert process.wait(LONGEST_SECONDS) == code, text
        assert "Traceback" not in text
        return text

    def unread(self, *arguments: str) -> tuple[int, str]:
        """Exit code and stderr of a process whose output nobody reads: ``| head`` that has ended already."""
        reading, writing = os.pipe()
        os.close(reading)
        done = self._start(arguments, stdout=writing)
        os.close(writing)
        return done.returncode, done.stderr

    def _start(
        self, arguments: tuple[str, ...], *, stdout: int, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "rocmonitor", *arguments],
            cwd=self.folder,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env=os.environ | dict(environment or {}),
            text=True,
            timeout=LONGEST_SECONDS,
        )


@contextmanager
def _own_logging() -> Iterator[None]:
    """Let the command configure logging, which it does once a process, and undo it."""
    root = logging.getLogger()
    loggers = (root, logging.getLogger("rocmonitor"), logging.getLogger("urllib3"))
    handlers, levels = root.handlers[:], [logger.level for logger in loggers]
    root.handlers.clear()
    try:
        yield
    finally:
        root.handlers[:] = handlers
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@pytest.fixture
def rocmonitor(tmp_path: Path) -> Rocmonitor:
    """Commands in the folder of the test, which is that of `here`, too."""
    return Rocmonitor(tmp_path)
