"""The output of the command line: data to stdout, everything else to stderr.

Colour and bold type are for terminals only, and rich leaves them out where NO_COLOR is set or the terminal is
a dumb one. Signs stay: an encoding without them gets ASCII in their place.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import textwrap
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from rocmonitor.errors import ConfigError, DegenerateDataError, InputError, RocmonitorError, escape_controls

if TYPE_CHECKING:
    from rocmonitor.policy.evaluation import Evaluation
    from rocmonitor.store import OutboxSummary


_STYLES = {
    "degraded": "bold red",
    "at-risk": "bold yellow",
    "ok": "green",
    "improved": "cyan",
    "insufficient": "blue",
    "error": "bold magenta",
    "waiting": "dim",
}


def is_interactive(stream: TextIO) -> bool:
    """Return True if a person watches: a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


def stdout_width() -> int | None:
    """Characters of a line on a terminal; None elsewhere, where lines may be of any length."""
    return os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else None


def echo(text: str, *, err: bool = False, nl: bool = True, style: str = "") -> None:
    """Print; a reader who has seen enough (`| head`) changes neither the work nor the exit code."""
    stream = sys.stderr if err else sys.stdout
    text = _encodable(escape_controls(text), stream)
    try:
        if not is_interactive(stream):
            click.echo(text, err=err, nl=nl)
            return
        from rich.console import Console
        from rich.text import Text

        from rocmonitor.wording.page import marked

        shown = Text(text, style=style)
        for status, colour in _STYLES.items():
            for words in {marked(status), _encodable(marked(status), stream)}:
                shown.highlight_words([words], colour)
        shown.highlight_words(["PROBLEM:", "Error:"], "bold red")
        Console(file=stream, highlight=False).print(shown, end="\n" if nl else "", soft_wrap=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def echo_folded(text: str, *, hang: int, nl: bool = True) -> None:
    """Print lines of prose; on a terminal, one that is too long goes on below, indented by `hang` more."""
    width = stdout_width()
    if width is not None and width > 4 * hang:
        whole = []
        for line in text.split("\n"):
            indent = " " * (len(line) - len(line.lstrip()) + hang)
            whole += textwrap.wrap(
                line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            ) or [""]
        text = "\n".join(whole)
    echo(text, nl=nl)


def echo_table(text: str) -> None:
    """Print a table, its head in bold."""
    head, _, rows = text.partition("\n")
    echo(head, style="bold")
    echo(rows)


def print_outlooks(text: str, title: str) -> None:
    """Print what is expected of windows without labels: a table, then warnings."""
    table, _, warnings = text.partition("\n\n")
    echo(f"{title}, outlooks from the scores:", style="bold")
    echo_table(table)
    if warnings:
        echo_folded(f"\n{warnings}", hang=2)


def _encodable(text: str, stream: TextIO) -> str:
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        from rocmonitor.wording.page import plain

        return plain(text).encode(encoding, "replace").decode(encoding)
    return text


def print_json(value: Any) -> None:
    """Print plain JSON types, on terminals too as they are; NaN and infinity are refused."""
    try:
        click.echo(json.dumps(value, indent=2, allow_nan=False))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


tables_option = click.option(
    "--tables", is_flag=True, help="With --json: curves and other tables of each window, too."
)


def evaluation_json(evaluation: Evaluation, *, tables: bool) -> dict[str, Any]:
    """Return an evaluation for ``--json``; its tables are most of it, and few programs read them."""
    values = evaluation.to_dict()
    return values if tables else {name: value for name, value in values.items() if name != "tables"}


def print_outbox(waiting: OutboxSummary, *, busy: bool = False) -> None:
    """Print what has not reached MLflow and the channels yet, and why."""
    for destination, error in waiting.errors.items():
        echo(f"{destination}: not delivered yet, kept in the outbox: {error}", err=True)
    if waiting.next_attempt_at is not None:
        how = (
            "another process delivers"
            if busy
            else f"next attempt after {waiting.next_attempt_at:%Y-%m-%d %H:%M:%SZ}"
        )
        echo(f"outbox: {waiting.waiting} waiting; {how}, by `rocmonitor run` or `serve`", err=True)


def write(output: Path, text: str) -> None:
    """Write a file that others may not read, and say so."""
    try:
        # A new file is its owner's alone: it may say who defaulted. One that is there keeps its mode.
        with open(
            output, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)
        ) as file:
            file.write(text)
    except OSError as error:
        raise _not_writable(output, error.strerror) from None
    echo(f"wrote {output}", err=True)


def require_writable(output: Path) -> None:
    """Say before long work that its result could not be written."""
    folder = output.parent
    if output.is_dir():
        raise _not_writable(output, "it is a folder")
    if not folder.is_dir():
        raise _not_writable(output, f"there is no folder {folder}")
    if not os.access(output if output.exists() else folder, os.W_OK):
        raise _not_writable(output, "no permission")


def _not_writable(output: Path, why: str | None) -> ConfigError:
    return ConfigError(f"--output {output} cannot be written: {why}; name another file")


def _names(section: str, context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Keys of a section; none of a file that cannot be read, for a shell has no place for an error."""
    import yaml

    path = context.find_root().params.get("path") or "rocmonitor.yaml"
    try:
        entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))[section]
    except (OSError, ValueError, TypeError, KeyError, yaml.YAMLError):
        return []
    return [str(name) for name in entries if str(name).startswith(incomplete)]


monitor_names, channel_names = partial(_names, "monitors"), partial(_names, "channels")
"""Complete the name of a monitor, or of a channel."""

log = logging.getLogger("rocmonitor.progress")

LOG_EVERY = 60.0
"""Seconds between two lines about long work in a log."""

_LEAST = 2  # pieces that show how long one takes


@contextmanager
def shown_progress() -> Iterator[Callable[[str], None]]:
    """Yield a call for each step: a terminal shows it, a log has a line a minute, or all if verbose."""
    if log.isEnabledFor(logging.DEBUG):
        yield log.debug
    elif is_interactive(sys.stderr):
        yield from _on_a_terminal()
    else:
        yield from _in_the_log()


def _in_the_log() -> Iterator[Callable[[str], None]]:
    steps, done = deque(["starting"], maxlen=1), threading.Event()

    def tell() -> None:
        while not done.wait(LOG_EVERY):
            log.info("still at work: %s", *steps)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield steps.append
    finally:
        done.set()
        thread.join()


def _on_a_terminal() -> Iterator[Callable[[str], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from rocmonitor.service.progress import Step

    columns = (
        SpinnerColumn(),
        TimeElapsedColumn(),
        BarColumn(16, complete_style="blue", finished_style="blue", pulse_style="blue"),
        TextColumn("{task.fields[pace]}"),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task("starting", total=None, pace="")
        began, total, first = time.monotonic(), 0, 0

        def show(text: str) -> None:
            nonlocal began, total, first
            if not isinstance(text, Step):
                bar.reset(task, description=text, total=None, pace="")  # `update` keeps a total
                total = 0
                return
            if text.total != total or text.done <= first:  # another kind of work
                began, total, first = time.monotonic(), text.total, text.done
            finished = text.done - 1
            rate = pace(text.done - first, text.total - finished, time.monotonic() - began)
            where = f"{text.done} of {text.total}{rate}"
            bar.update(task, description=text.what, total=text.total, completed=finished, pace=where)

        yield show


def pace(finished: int, left: int, seconds: float) -> str:
    """Return the rate of a kind of work, and the time that remains; empty until it is known.

    Examples
    --------
    >>> pace(10, 90, 5.0)
    ', 2.0/s, 0:45 left'
    >>> pace(3, 7, 60.0)
    ', 20 s each, 2:20 left'
    >>> pace(1, 7, 60.0)
    ''
    """
    if finished < _LEAST or seconds <= 0:
        return ""
    seconds_each = seconds / finished
    rate = f"{1 / seconds_each:.1f}/s" if seconds_each < 1 else f"{seconds_each:.0f} s each"
    minutes, rest = divmod(round(left * seconds_each), 60)
    hours, minutes = divmod(minutes, 60)
    remaining = f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    return f", {rate}, {remaining} left"


OK, USAGE, DEGRADED, INSUFFICIENT, EXTERNAL = 0, 2, 3, 4, 5
STOPPED = 143
"""The exit code of a process that SIGTERM ended, by custom."""


def code_of(error: RocmonitorError) -> int:
    """Return the code of an error."""
    if isinstance(error, DegenerateDataError):
        return INSUFFICIENT
    return USAGE if isinstance(error, ConfigError | InputError) else EXTERNAL


def worst(codes: list[int]) -> int:
    """Return the gravest of several exit codes: wrong set-up or blindness comes before degraded."""
    for code in (USAGE, EXTERNAL, DEGRADED, INSUFFICIENT):
        if code in codes:
            return code
    return OK
