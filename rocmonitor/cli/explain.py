"""``rocmonitor explain``."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocmonitor.cli.opening import load, monitor_argument, monitor_named, wall_time
from rocmonitor.cli.terminal import (
    OK,
    echo,
    echo_folded,
    echo_table,
    print_json,
    shown_progress,
    stdout_width,
)
from rocmonitor.errors import ConfigError

if TYPE_CHECKING:
    from rocmonitor.config import Monitor
    from rocmonitor.policy.episode import Decline
    from rocmonitor.policy.evaluation import Evaluation
    from rocmonitor.policy.explanation import Explanation
    from rocmonitor.policy.windows import Window
    from rocmonitor.store import Store


@click.command()
@monitor_argument
@click.option(
    "--window", "start", metavar="START", help="Start of one window. [default: the open or last loss]"
)
@click.option("--from", "first", metavar="TIME", help="Start of a period, with --to.")
@click.option("--to", "last", metavar="TIME", help="End of a period. [default: of the newest judged window]")
@click.option("--column", "columns", multiple=True, help="A column of the query. [default: columns.explain]")
@click.option("--json", "as_json", is_flag=True, help="Print the same as JSON.")
@click.pass_obj
def explain(
    path: Path,
    monitor: str,
    start: str | None,
    first: str | None,
    last: str | None,
    columns: tuple[str, ...],
    as_json: bool,
) -> int:
    """Name the groups of cases that changed the AUROC, by their share of rows or by their ranking.

    Explains all rows since the open loss began, or those of the last one; without any, or with --window, one
    window. Reads the rows again but for those of a loss that its alarms counted, and those of the reference
    if they are not counted yet; saves nothing.
    Before the labels of a window are in, it explains the outlook.
    """
    from rocmonitor import store
    from rocmonitor.service.explaining import CountedParts, digest, request
    from rocmonitor.sources import open_source
    from rocmonitor.wording.episode import began, headline
    from rocmonitor.wording.format import count

    config = load(path)
    chosen = monitor_named(config, monitor)
    asked = columns or chosen.columns.explain
    if not asked:
        raise ConfigError(
            f"monitors.{monitor}.columns.explain is empty: name columns of the query that may explain a "
            "change, such as columns: {explain: [region, channel]}, or give --column"
        )
    if start and (first or last):
        raise ConfigError("--window is one window, --from and --to a period: give one of them")
    with (
        store.open_store(config.store_url, make=False) as opened,
        open_source(config.sources[chosen.source], config.folder, name=chosen.source) as source,
        shown_progress() as progress,
    ):
        loss = None if start or first or last else store.last_decline(opened, monitor, "")
        window, judged = (
            _window(opened, chosen, start) if start else _period(opened, chosen, first, last, loss)
        )
        kept = store.evaluations(opened, monitor, segment="", start=window.start, end=window.end)
        whole = next(
            (evaluation for evaluation in reversed(kept) if judged and evaluation.window == window), None
        )
        parts = CountedParts(opened, digest(chosen, asked), keep=False)
        ask = request(
            chosen,
            window,
            source,
            opened,
            now=datetime.now(UTC),
            columns=asked,
            grouped=any(evaluation.provenance.get("grouped") for evaluation in kept),
            expected=not judged,
            counted=() if loss is None or whole is not None else parts.inside(window),
        )
        progress(f"{monitor} {window.in_zone(chosen.timezone)}")
        explained = ask.run(source, lambda text: progress(text) if text else None)
        explanation = explained.explanation.as_judged({} if whole is None else whole.metrics)
    if as_json:
        curve = [] if whole is None else whole.tables.get("curve", [])
        print_json({"monitor": monitor, "window": str(window), **explanation.to_dict(), "curve": curve})
        return OK
    echo(f"{monitor}, {window.in_zone(chosen.timezone)} ({chosen.timezone})", style="bold")
    if loss is not None and (words := headline(loss, chosen.timezone)):
        words += f", a mean of {count(loss.windows, 'window')}. {began(loss, chosen.timezone)}"
        echo_folded(f"{words}. Their rows together:", hang=0)
    _print(explanation, whole)
    return OK


def _print(explanation: Explanation, whole: Evaluation | None) -> None:
    from rocmonitor.policy.evaluation import Status
    from rocmonitor.report import text
    from rocmonitor.wording.explanation import judged_with, sentence
    from rocmonitor.wording.verdicts import verdicts
    from rocmonitor.wording.window import curve_moved

    echo_folded(sentence(explanation), hang=0)
    if whole is not None:
        if whole.outcome is Status.INSUFFICIENT:
            echo_folded(f"This window is insufficient: {'; '.join(verdicts(whole.verdicts))}.", hang=0)
        if note := judged_with(explanation, whole.metrics.get("champion/auc")):
            echo_folded(note, hang=0)
        if note := curve_moved(whole):
            echo_folded(note, hang=0)
    if explanation.parts:
        echo_table(text.groups(explanation, stdout_width()))
    for column, why in explanation.refused.items():
        echo_folded(f"{column} explains nothing: {why}", hang=2)


def _period(
    opened: Store, monitor: Monitor, first: str | None, last: str | None, loss: Decline | None
) -> tuple[Window, bool]:
    """Return the period that is asked for: by default that of the open or last loss, else a window."""
    from rocmonitor import store
    from rocmonitor.policy.evaluation import Status
    from rocmonitor.policy.windows import Window

    newest, judged = _window(opened, monitor, None)
    if first is None and last is None:
        if loss is None:
            return newest, judged
        own = [  # the windows that its size is the mean of end with its presumed end
            window
            for window, outcome in store.outcomes(opened, loss.monitor, "")
            if window.start >= loss.start and outcome is not Status.INSUFFICIENT
        ]
        end = own[loss.windows - 1].end if len(own) >= loss.windows else newest.end
        return Window(loss.start, end), True
    if first is None:
        raise ConfigError("--to needs --from: the period from then on")
    start = wall_time(first, monitor, "--from")
    end = newest.end if last is None else wall_time(last, monitor, "--to")
    if end <= start:
        raise ConfigError(
            f"--to is not after --from: {end.astimezone(monitor.timezone):%Y-%m-%d %H:%M} is the end"
        )
    return Window(start, end), True


def _window(opened: Store, monitor: Monitor, start: str | None) -> tuple[Window, bool]:
    """Return the window that starts then, or the newest judged one; and whether it was judged."""
    from rocmonitor import store

    windows = [window for window, _ in store.outcomes(opened, monitor.name, "")]
    foreseen = [window for segment, window in store.outlooks_pending(opened, monitor.name) if not segment]
    if not windows and not (start and foreseen):
        raise ConfigError(
            f"{monitor.name} has not been judged yet; `rocmonitor run {monitor.name}` does it now"
        )
    if start is None:
        return windows[-1], True
    at = wall_time(start, monitor, "--window")
    window = next((window for window in (*windows, *foreseen) if window.start == at), None)
    if window is None:
        nearest = min((*windows, *foreseen), key=lambda window: abs(window.start - at))
        raise ConfigError(
            f"--window {start}: no judged window of {monitor.name} starts then; the nearest is "
            f"{nearest.in_zone(monitor.timezone)}"
        )
    return window, window in windows
