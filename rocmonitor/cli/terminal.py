"""What the command line prints: data to stdout, everything else to stderr.

Colour and bold type are for terminals only, and rich leaves them out where NO_COLOR is set or the terminal is
a dumb one. Signs stay: an encoding without them gets ASCII in their place.
"""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from typing import TYPE_CHECKING, Any, TextIO

import click

from rocmonitor.errors import escape_controls

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from rocmonitor.config import Config, Monitor
    from rocmonitor.policy.evaluation import Evaluation
    from rocmonitor.service.tick import Tick
    from rocmonitor.store import OutboxSummary

_MOST_NAMES = 5
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
    """Whether a person watches: a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


def width_of(stream: TextIO) -> int | None:
    """Characters of a line on a terminal; None elsewhere, where lines may be of any length."""
    return os.get_terminal_size(stream.fileno()).columns if stream.isatty() else None


def echo(text: str, *, err: bool = False, nl: bool = True, style: str = "") -> None:
    """Print; a reader who has seen enough (`| head`) changes neither the work nor the exit code."""
    stream = sys.stderr if err else sys.stdout
    text = _encodable(escape_controls(text), stream)
    try:
        if is_interactive(stream):
            _print_styled(text, stream, end="\n" if nl else "", style=style)
        else:
            click.echo(text, err=err, nl=nl)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def echo_folded(text: str, *, hang: int, nl: bool = True) -> None:
    """Print lines of prose; on a terminal, one that is too long goes on below, indented by `hang` more."""
    width = width_of(sys.stdout)
    if width is not None and width > 4 * hang:
        text = "".join(_folded(line, width, hang) for line in text.splitlines(keepends=True))
    echo(text, nl=nl)


def _folded(line: str, width: int, hang: int) -> str:
    indent = " " * (len(line) - len(line.lstrip()) + hang)
    end = "\n" if line.endswith("\n") else ""
    parts = textwrap.wrap(
        line.rstrip("\n"), width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(parts) + end


def echo_table(text: str) -> None:
    """Print a table, its head in bold."""
    head, _, rows = text.partition("\n")
    echo(head, style="bold")
    echo(rows)


def print_outlooks(text: str, title: str) -> None:
    """Print what is expected of windows without labels: a table, then warnings."""
    table, _, warnings = text.partition("\n\n")
    echo(f"{title}, expected from the scores:", style="bold")
    echo_table(table)
    if warnings:
        echo_folded(f"\n{warnings}", hang=2)


def _encodable(text: str, stream: TextIO) -> str:
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        from rocmonitor.report.marks import plain

        return plain(text).encode(encoding, "replace").decode(encoding)
    return text


def _print_styled(text: str, stream: TextIO, *, end: str, style: str) -> None:
    from rich.console import Console
    from rich.text import Text

    from rocmonitor.report.marks import marked

    shown = Text(text, style=style)
    for status, colour in _STYLES.items():
        for words in {marked(status), _encodable(marked(status), stream)}:
            shown.highlight_words([words], colour)
    shown.highlight_words(["PROBLEM:", "Error:"], "bold red")
    Console(file=stream, highlight=False).print(shown, end=end, soft_wrap=True)


def print_json(value: Any) -> None:
    """Print plain JSON types; NaN and infinity are refused."""
    echo_plain(json.dumps(value, indent=2, allow_nan=False))


def echo_plain(text: str) -> None:
    """Print data for programs, on terminals too as they are."""
    try:
        click.echo(text)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


tables_option = click.option(
    "--tables", is_flag=True, help="With --json: curves and other tables of each window, too."
)


def evaluation_json(evaluation: Evaluation, *, tables: bool) -> dict[str, Any]:
    """An evaluation for ``--json``; its tables are most of it, and few programs read them."""
    values = evaluation.to_dict()
    return values if tables else {name: value for name, value in values.items() if name != "tables"}


def print_auc(answer: dict[str, Any]) -> None:
    """Print what `rocmonitor auc` measured."""
    from rocmonitor.wording.counts import set_aside

    for name, area in answer["scores"].items():
        echo(
            f"{name}: AUROC {area['auc']:.6f}, {_interval(area, '.6f')} "
            f"(standard error {area['auc_se']:.6f} DeLong, {area['auc_se_exact_bootstrap']:.6f} exact "
            f"bootstrap; {area['positives']:,} positives, {area['negatives']:,} negatives)"
        )
        for caveat in area["caveats"]:
            echo(f"  note: {caveat['text']}")
    if "difference" in answer:
        champion, challenger = answer["scores"]
        difference = answer["difference"]
        echo(
            f"difference (challenger {challenger} minus champion {champion}): {difference['auc']:+.6f}, "
            f"{_interval(difference, '+.6f')}, p = {difference['pvalue']:.4g} (paired DeLong)"
        )
    if aside := set_aside(answer["rows"]):
        echo(f"set aside of {answer['rows']['rows']:,} rows: {aside}")


def _interval(measured: dict[str, Any], digits: str) -> str:
    low, high = measured["auc_low"], measured["auc_high"]
    return f"{100 * measured['confidence_level']:g} % interval {low:{digits}} to {high:{digits}}"


def print_outbox(waiting: OutboxSummary, *, busy: bool = False) -> None:
    """What has not reached MLflow and the channels yet, and why."""
    for destination, error in waiting.errors.items():
        echo(f"{destination}: not delivered yet, kept in the outbox: {error}", err=True)
    if waiting.next_attempt_at is not None:
        how = (
            "another process delivers"
            if busy
            else f"next attempt after {waiting.next_attempt_at:%Y-%m-%d %H:%M:%SZ}"
        )
        echo(f"outbox: {waiting.waiting} waiting; {how}, by `rocmonitor run` or `serve`", err=True)


def explain_tick(tick: Tick, zone: ZoneInfo) -> None:
    """What a person would ask when a table is missing or short."""
    if tick.busy:
        echo(f"{tick.monitor}: another rocmonitor process is at work on it; nothing was done", err=True)
    elif tick.error is not None:
        echo(f"{tick.monitor}: {tick.error}", err=True)
    if tick.doubt is not None:
        echo(f"{tick.monitor}: {tick.doubt}", err=True)
    if tick.waiting:
        many = f"{len(tick.waiting)} windows wait" if len(tick.waiting) > 1 else "1 window waits"
        echo(f"{tick.monitor}: {many} for labels, the first is {tick.waiting[0].in_zone(zone)}", err=True)


def explain_rest(tick: Tick, monitor: Monitor) -> None:
    """The rows that are no window yet, where windows are joined."""
    if tick.rest is not None and monitor.joining is not None:
        from rocmonitor.wording.joining import unjudged

        echo(f"{tick.monitor}: {unjudged(tick.rest, monitor.joining, monitor.timezone)}", err=True)


def explain_unchanged(tick: Tick, zone: ZoneInfo, *, again: bool) -> None:
    """Why a backfill left windows as they are."""
    if not tick.unchanged:
        return
    first = tick.unchanged[0].in_zone(zone)
    many = len(tick.unchanged)
    which = f"{many} windows, the first {first}, were" if many > 1 else f"the window {first} was"
    why = f"neither {'their' if many > 1 else 'its'} rows nor the settings have changed"
    if not again:
        why = "no label or score has changed; --again judges by the rules as they are now"
    echo(f"{tick.monitor}: {which} judged before, and {why}", err=True)


def print_idle(ticks: list[Tick]) -> None:
    """One line on all monitors that had nothing to do."""
    idle = [
        tick.monitor
        for tick in ticks
        if not (tick.busy or tick.error or tick.evaluations or tick.outlooks or tick.unchanged)
    ]
    if idle:
        names = ", ".join(idle) if len(idle) <= _MOST_NAMES else f"{len(idle)} monitors"
        echo(f"{names}: nothing new is due", err=True)


def print_next(config: Config, monitor: str) -> None:
    """Where to look next, for a person at a terminal."""
    if not is_interactive(sys.stderr):
        return
    echo(f"\nWhy, window by window:  rocmonitor history {monitor}", err=True)
    echo("All monitors:           rocmonitor status, in a browser: rocmonitor ui", err=True)
    uri = config.mlflow.page or config.tracking_uri
    if uri.startswith("sqlite:///"):
        echo(f"Figures, in MLflow:     mlflow server --backend-store-uri {uri}", err=True)
    elif config.mlflow.page or re.fullmatch(r"https?://[^/@?#\s]+/?", uri):  # a path may be a secret
        echo(f"Figures, in MLflow:     {uri}", err=True)
