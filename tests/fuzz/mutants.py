"""Configurations, files and HTTP requests that nobody meant: what they make the program do.

Each is a good one, changed at random by a generator that is seeded with its number: one that fails can be
made again alone. Allowed is a result, or an error of ours in printable lines of bounded length. A traceback,
an answer with status 500, a planted secret in a message, or more than five seconds of processor time is a
fault.
"""

from __future__ import annotations

import gzip
import io
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from flask import Flask

from rocmonitor import cli, config
from rocmonitor.errors import RocmonitorError

SECONDS = 5
NOW = datetime(2026, 7, 1, tzinfo=UTC)
SECRET = "hunter2-planted"
LONGEST_LINE = 4_000

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "rocmonitor.yaml"

NASTY: tuple[Any, ...] = (
    "",
    " ",
    "x" * 10_000,
    "\x1b[2J\u202e",
    "a\nb",
    "\x00",
    "\ud800",
    "é" * 300,
    "null",
    "~",
    "-",
    "0x" + "f" * 5000,
    "9" * 400,
    "1e999",
    ".nan",
    ".inf",
    "-.inf",
    "12:30:45",
    "2026-02-30",
    "0001-01-01",
    "9999-12-31",
    "99999999999d",
    "1m",
    "0d",
    f"postgresql://me:{SECRET}@db/x",
    f"https://{SECRET}@host/x",
    f"https://host/?token={SECRET}",
    "sqlite://",
    "file:///dev/zero",
    "../../../../etc/passwd",
    "/dev/null",
    "${HOME}",
    "%s%n{0}{x}",
    "{",
    "[",
    "*a",
    "&a b",
    "!!int ''",
    "!!python/object:os.system x",
    "SELECT 1",
    "SELECT * FROM t WHERE a >= :start AND a < :end; DROP TABLE t",
    "* * * * *",
    "* 25 * * 9-1",
    "Europe/../UTC",
    True,
    False,
    None,
    0,
    -1,
    1,
    2**63,
    -(2**63),
    10**400,
    1.5,
    -0.0,
    1e308,
    float("nan"),
    float("inf"),
    [],
    {},
    [[]],
    [None],
    {"a": 1},
    {1: 2},
    {None: None},
    datetime(1, 1, 1),  # noqa: DTZ001
    datetime(9999, 12, 31),  # noqa: DTZ001
)
_BYTES = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\x1b[2J",
    b"\n",
    b"\r",
    b"\t",
    b'"',
    b"'",
    b",",
    b";",
    b"[" * 3000,
    b"{" * 60,
    b"9" * 400,
    b"nan",
    b"inf",
    b"!!set [a]",
    b"!!bool x",
    b"<<: *a",
    b"? ",
    b"- " * 200,
    b"\xf0\x9f\x98\x80",
)


class Hang(BaseException):
    """More processor time than anybody waits for."""


@contextmanager
def limited() -> Iterator[None]:
    """Stop what takes too much processor time of this process."""

    def stop(*_: object) -> None:
        raise Hang(f"more than {SECONDS} s of processor time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def faults(kind: str, count: int, seed: int, attempt: Callable[[np.random.Generator], str]) -> list[str]:
    """What went wrong with so many mutants; `attempt` gives the complaint about one, or nothing."""
    found = []
    for number in range(count):
        try:
            with limited():
                said = attempt(np.random.default_rng([seed, number]))
        except (Exception, Hang) as error:
            trace = error.__traceback__
            while trace is not None and trace.tb_next is not None:
                trace = trace.tb_next
            where = "" if trace is None else f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
            said = f"{type(error).__name__}: {str(error)[:200]!r}{where}"
        if said:
            found.append(f"{kind} {number}: {said}")
    return found


def complaint(text: str) -> str:
    """What is wrong with a message that people read."""
    lines = text.split("\n")
    if SECRET in text:
        return "a secret is shown"
    if odd := [line for line in lines if any(ord(sign) < 32 and sign != "\t" for sign in line)]:
        return f"control characters are shown: {odd[0][:200]!r}"
    longest = max(map(len, lines))
    return f"a line of {longest:,} characters" if longest > LONGEST_LINE else ""


def one(rng: np.random.Generator, values: Sequence[Any]) -> Any:
    return values[int(rng.integers(len(values)))]


def scrambled(rng: np.random.Generator, content: bytes) -> bytes:
    """A text with some of its bytes changed, taken away, doubled or put elsewhere."""
    for _ in range(int(rng.integers(1, 6))):
        start = int(rng.integers(len(content) + 1))
        end = min(len(content), start + int(rng.integers(1, 40)))
        match int(rng.integers(6)):
            case 0:
                content = content[:start] + one(rng, _BYTES) + content[start:]
            case 1:
                content = content[:start] + one(rng, _BYTES) + content[end:]
            case 2:
                content = content[:start] + content[end:]
            case 3:
                content = content[:end] + content[start:end] * int(rng.integers(1, 5)) + content[end:]
            case 4:
                content = content[:start] + bytes([int(rng.integers(256))]) + content[start + 1 :]
            case _:
                content = content[:start]
        content = content or b"\n"
    return content


# ---- configurations ----------------------------------------------------------------------------------------


def configurations(count: int, seed: int, folder: Path) -> list[str]:
    """Read as many wrong configurations, and cut time by those that are accepted."""
    good = EXAMPLE.read_bytes()
    path = folder / "rocmonitor.yaml"

    def attempt(rng: np.random.Generator) -> str:
        path.write_bytes(scrambled(rng, good) if rng.random() < 0.4 else _changed(rng, good))
        try:
            known = config.load(path)
            for monitor in known.monitors.values():
                _ = monitor.reference_windows, monitor.windows(NOW), monitor.review_settings, monitor.read_as
        except RocmonitorError as error:
            return complaint(str(error))
        return ""

    return faults("configuration", count, seed, attempt)


def _changed(rng: np.random.Generator, good: bytes) -> bytes:
    """The configuration with some of its values, keys or sections replaced."""
    whole = yaml.safe_load(good)
    for _ in range(int(rng.integers(1, 4))):
        section, key = one(rng, list(_places(whole)))
        match int(rng.integers(5)):
            case 0 if isinstance(section, dict):
                section[str(one(rng, NASTY))] = section.pop(key)
            case 1 if isinstance(section, dict):
                del section[key]
            case _:
                section[key] = one(rng, NASTY)
        if not list(_places(whole)):
            break
    return yaml.dump(whole, allow_unicode=bool(rng.integers(2))).encode("utf-8", "surrogatepass")


def _places(section: Any) -> Iterator[tuple[Any, Any]]:
    items = (
        section.items()
        if isinstance(section, dict)
        else enumerate(section)
        if isinstance(section, list)
        else ()
    )
    for key, value in list(items):
        yield section, key
        yield from _places(value)


# ---- files -------------------------------------------------------------------------------------------------

_NAMES = (
    "s.csv",
    "s.tsv",
    "s.txt",
    "s.csv.gz",
    "s.csv.xz",
    "s.csv.bz2",
    "s.csv.zip",
    "s.csv.tar",
    "s.csv.zst",
    "s.parquet",
    "s.json",
    "s",
)


def files(count: int, seed: int, folder: Path) -> list[str]:
    """Measure as many wrong files with ``rocmonitor auc``."""
    frame = pd.DataFrame(
        {"y": [0, 1, 0, 1, 1, 0, 1, 0] * 4, "p": np.linspace(0, 1, 32), "q": np.linspace(1, 0, 32) ** 2}
    )
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    plain = frame.to_csv(index=False).encode()

    def attempt(rng: np.random.Generator) -> str:
        name = one(rng, _NAMES)
        content = buffer.getvalue() if rng.random() < 0.15 else plain
        if rng.random() < 0.5:
            content = scrambled(rng, content)
        if name.endswith(".gz") and rng.random() < 0.7:
            content = gzip.compress(content, mtime=0)
        if rng.random() < 0.5:
            content = scrambled(rng, content)
        path = folder / name
        path.write_bytes(content)
        try:
            return _command(
                "auc",
                str(path),
                "--label",
                "y",
                "--score",
                "p",
                *(["--score", "q"] if rng.random() < 0.3 else []),
            )
        finally:
            path.unlink()

    return faults("file", count, seed, attempt)


def _command(*arguments: str) -> str:
    """The complaint about a command that is run within this process."""
    stdout, stderr, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["rocmonitor", *arguments]
    try:
        with redirect_stdout(stdout), redirect_stderr(stderr):
            cli.main()
    except SystemExit as ended:
        if ended.code not in (0, 2, 4):
            return f"exit code {ended.code}: {stderr.getvalue()[:200]!r}"
    finally:
        sys.argv = before
    said = stdout.getvalue() + stderr.getvalue()
    return "a traceback is shown" if "Traceback" in said else complaint(said)


# ---- requests ----------------------------------------------------------------------------------------------

_PATHS = (
    "/",
    "/monitors/credit",
    "/monitors/credit.json",
    "/monitors/credit/windows/2026-05-25T00:00Z",
    "/static/style.css",
    "/sign-in",
    "/health",
    "/live",
    "/metrics",
    "/hook",
    "/monitors/",
    "/windows",
    "/reviews/credit",
)
_QUERIES = (
    "",
    "segment=region%3Dnorth",
    "from=2026-01-01&to=2026-07-01",
    "text=x&open=credit",
    "token=x",
    "page=2",
    "segment=%ff%00",
)
_HEADERS = (
    "Host",
    "Accept",
    "Authorization",
    "Cookie",
    "Content-Type",
    "Accept-Encoding",
    "If-None-Match",
    "Range",
    "X-Forwarded-Host",
    "X-MLflow-Delivery-Id",
    "X-MLflow-Timestamp",
    "X-MLflow-Signature",
    "Content-Length",
    "Transfer-Encoding",
)
_METHODS = ("GET", "GET", "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW")


def requests(count: int, seed: int, apps: Sequence[Flask]) -> list[str]:
    """Ask each application for as many things in turn that it does not have, or does not understand."""

    def attempt(rng: np.random.Generator) -> str:
        app = one(rng, apps)
        path = scrambled(rng, one(rng, _PATHS).encode()) if rng.random() < 0.5 else one(rng, _PATHS).encode()
        query = (
            scrambled(rng, one(rng, _QUERIES).encode()) if rng.random() < 0.6 else one(rng, _QUERIES).encode()
        )
        headers = {one(rng, _HEADERS): _header(rng) for _ in range(int(rng.integers(0, 4)))}
        body = scrambled(rng, b'{"entity": "model_version_alias", "data": {"name": "m", "alias": "a"}}')
        environ = {
            "PATH_INFO": "/" + path.decode("latin-1").lstrip("/"),
            "QUERY_STRING": query.decode("latin-1"),
            **{_variable(name): value for name, value in headers.items()},
        }
        answer = app.test_client().open(method=one(rng, _METHODS), data=body, environ_overrides=environ)
        answer.get_data()
        return (
            f"status {answer.status_code} of {environ!r}"[:600]
            if answer.status_code in (500, 502, 504)
            else ""
        )

    return faults("request", count, seed, attempt)


def _variable(header: str) -> str:
    name = header.upper().replace("-", "_")
    return name if name in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{name}"


def _header(rng: np.random.Generator) -> str:
    plain = one(
        rng,
        (
            b"localhost",
            b"127.0.0.1:80",
            b"Bearer x",
            b"rocmonitor=x",
            b"text/plain; charset=utf-16",
            b"bytes=0-",
            b"gzip",
            b"12",
        ),
    )
    return scrambled(rng, plain).decode("latin-1")
