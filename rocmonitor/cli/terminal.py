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
    elif not tick.evaluations and not tick.outlooks:
        echo(f"{tick.monitor}: nothing new is due", err=True)
    for window in tick.waiting:
        echo(f"{tick.monitor}: {window.in_zone(zone)} waits for labels", err=True)
