"""How far the work is: a line on a terminal that goes when the work is done, nothing elsewhere."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rocmonitor.cli.terminal import is_interactive

log = logging.getLogger("rocmonitor.progress")

_LEAST = 2  # pieces that show how long one takes


@contextmanager
def shown_progress() -> Iterator[Callable[[str], None]]:
    """What to call with each step. In detail (``--verbose``), steps are logged instead."""
    if log.isEnabledFor(logging.DEBUG):
        yield log.debug
    elif not is_interactive(sys.stderr):
        yield lambda _: None
    else:
        yield from _on_a_terminal()


def _on_a_terminal() -> Iterator[Callable[[str], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    from rocmonitor.service.progress import Step

    columns = (
        SpinnerColumn(),
        BarColumn(16, complete_style="blue", finished_style="blue", pulse_style="blue"),
        TextColumn("{task.fields[pace]}"),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task("", total=None, pace="")
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
            told = pace(text.done - first, text.total - finished, time.monotonic() - began)
            where = f"{text.done} of {text.total}{told}"
            bar.update(task, description=text.what, total=text.total, completed=finished, pace=where)

        yield show


def pace(finished: int, left: int, seconds: float) -> str:
    """The rate of a kind of work, and the time that remains; empty until it is known.

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
    each = seconds / finished
    rate = f"{1 / each:.1f}/s" if each < 1 else f"{each:.0f} s each"
    minutes, rest = divmod(round(left * each), 60)
    hours, minutes = divmod(minutes, 60)
    remaining = f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    return f", {rate}, {remaining} left"
