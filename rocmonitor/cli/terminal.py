"""What the command line prints: data to stdout, everything else to stderr."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from rocmonitor.service.tick import Tick
    from rocmonitor.store import OutboxSummary


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print; a reader who has seen enough (`| head`) changes neither the work nor the exit code."""
    try:
        click.echo(text, err=err, nl=nl)
    except BrokenPipeError:
        stream = sys.stderr if err else sys.stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_json(value: Any) -> None:
    """Print plain JSON types; NaN and infinity are refused."""
    echo(json.dumps(value, indent=2, allow_nan=False))


def progress(text: str | None) -> None:
    """A line that replaces the last one on a terminal; a line each elsewhere. None ends it."""
    if sys.stderr.isatty():
        echo(f"\r\x1b[2K{text or ''}", err=True, nl=False)
    elif text is not None:
        echo(text, err=True)


def print_auc(answer: dict[str, Any], confidence_level: float) -> None:
    """Print what `rocmonitor auc` found."""
    percent = f"{100 * confidence_level:g} %"
    for name, found in answer["scores"].items():
        echo(
            f"{name}: AUROC {found['auc']:.6f}, {percent} interval {found['low']:.6f} to {found['high']:.6f} "
            f"(standard error {found['se']:.6f} DeLong, {found['se_exact_bootstrap']:.6f} exact bootstrap; "
            f"{found['n_pos']:,} positives, {found['n_neg']:,} negatives)"
        )
        for caveat in found["caveats"]:
            echo(f"  note: {caveat}")
    if "difference" in answer:
        found = answer["difference"]
        echo(
            f"difference (first minus second): {found['difference']:+.6f}, {percent} interval "
            f"{found['low']:+.6f} to {found['high']:+.6f}, p = {found['pvalue']:.4g} (paired DeLong)"
        )
    if aside := set_aside(answer["rows"]):
        echo(f"set aside of {answer['rows']['rows']:,} rows: {aside}")


def set_aside(counts: dict[str, int]) -> str:
    """How many rows are not used, and why; empty when all are."""
    found = {name: count for name, count in counts.items() if name not in ("rows", "used") and count}
    return ", ".join(f"{count:,} {name}" for name, count in found.items())


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
    elif not tick.evaluations:
        echo(f"{tick.monitor}: nothing new is due", err=True)
    for window in tick.waiting:
        echo(f"{tick.monitor}: {window.in_zone(zone)} waits for labels", err=True)
