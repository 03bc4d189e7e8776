"""Evaluations and changes of status as plain text for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from zoneinfo import ZoneInfo

from rocmonitor.policy.evaluation import Evaluation, Status, Transition
from rocmonitor.policy.outlook import Outlook
from rocmonitor.wording.format import forecast_span, instant
from rocmonitor.wording.outlook import moved as moved_scores
from rocmonitor.wording.verdicts import reasons, verdicts
from rocmonitor.wording.window import moved, why

_NUMBER = re.compile(r"[-+\d.,]+")


def windows(evaluations: Sequence[Evaluation], zone: ZoneInfo) -> str:
    """A table of windows: sizes, AUROC with its interval, forecast, what was foreseen, outcome and status.

    Columns that say nothing (one segment only, no challenger) are left out.
    """
    columns: dict[str, list[str]] = {
        "window": [
            evaluation.window.in_zone(zone) + (f" r{evaluation.revision}" if evaluation.revision else "")
            for evaluation in evaluations
        ],
        "segment": [evaluation.segment or "all rows" for evaluation in evaluations],
        "positives": [f"{evaluation.counts.n_pos:,}" for evaluation in evaluations],
        "negatives": [f"{evaluation.counts.n_neg:,}" for evaluation in evaluations],
        "AUROC": [_value(evaluation.metrics, "champion/auc") for evaluation in evaluations],
        "95 % interval": [_span(evaluation.metrics, "champion/auc_") for evaluation in evaluations],
        "forecast": [_forecast(evaluation.metrics) for evaluation in evaluations],
        "foreseen": [_foreseen(evaluation.metrics) for evaluation in evaluations],
        "challenger gain": [
            _value(evaluation.metrics, "difference/auc", sign=True) for evaluation in evaluations
        ],
        "outcome": [str(evaluation.outcome) for evaluation in evaluations],
        "status": [str(evaluation.status) for evaluation in evaluations],
    }
    idle = {"segment": "all rows", "forecast": "-", "foreseen": "-", "challenger gain": "-"}
    shown = {name: cells for name, cells in columns.items() if set(cells) != {idle.get(name)}}
    return table(list(shown), list(zip(*shown.values(), strict=True)))


def outlooks(found: Sequence[Outlook], zone: ZoneInfo) -> str:
    """A table of windows that wait for their labels: what their scores foretell, and whether that warns."""
    columns = {
        "window": [outlook.window.in_zone(zone) for outlook in found],
        "segment": [outlook.segment or "all rows" for outlook in found],
        "scored": [f"{outlook.scored:,}" for outlook in found],
        "labelled": [f"{outlook.labelled:,}" for outlook in found],
        "AUROC expected": [_value(outlook.metrics, "outlook/auc") for outlook in found],
        "interval": [_span(outlook.metrics, "outlook/") for outlook in found],
        "outlook": [str(outlook.outcome or "no warning") for outlook in found],
    }
    if set(columns["segment"]) == {"all rows"}:
        del columns["segment"]
    lines = [table(list(columns), list(zip(*columns.values(), strict=True)))]
    for outlook in found:
        if outlook.outcome is not None:
            segment = f" {outlook.segment}" if outlook.segment else ""
            lines.append(f"\n{outlook.outcome} {outlook.window.in_zone(zone)}{segment}")
            warning = [each for each in outlook.verdicts if each.outcome is outlook.outcome]
            lines += [f"    {text}" for text in (*verdicts(warning), moved_scores(outlook)) if text]
    return "\n".join(lines)


def findings(evaluations: Iterable[Evaluation], zone: ZoneInfo) -> str:
    """Below a table: why a window is not ok, what moved, and what to know of its rows when insufficient."""
    lines = []
    for evaluation in evaluations:
        if evaluation.outcome is Status.OK:
            continue
        segment = f" {evaluation.segment}" if evaluation.segment else ""
        lines.append(f"\n{evaluation.outcome} {evaluation.window.in_zone(zone)}{segment}")
        lines += [f"    {text}" for text in (*why(evaluation), moved(evaluation)) if text]
    return "".join(f"{line}\n" for line in lines)


def transitions(changes: Iterable[Transition], zone: ZoneInfo) -> str:
    """Each change of status, from which window on it holds, and below it the reasons, a line each."""
    lines = []
    for change in changes:
        segment = f"{change.segment}: " if change.segment else ""
        # A change that rests on no window (an error) holds from when it was noticed.
        window = f", from the window of {instant(change.since, zone)} on" if change.since < change.at else ""
        lines.append(
            f"{change.at.astimezone(zone):%Y-%m-%d %H:%M}  {segment}{change.before} -> {change.after}{window}"
        )
        lines += [f"    {reason}" for reason in reasons(change.reasons)]
    return "\n".join(lines)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need to be; columns of plain numbers to the right."""
    columns = list(zip(head, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    numeric = [all(_NUMBER.fullmatch(cell) for cell in cells) for _, *cells in columns]

    def line(cells: Sequence[str]) -> str:
        aligned = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, numeric, strict=True)
        )
        return "  ".join(aligned).rstrip()

    return "\n".join(line(cells) for cells in (head, *rows))


def _forecast(metrics: dict[str, float]) -> str:
    low, high = metrics.get("forecast/low"), metrics.get("forecast/high")
    return "-" if low is None or high is None else forecast_span(low, high).replace(" to ", "-")


def _foreseen(metrics: dict[str, float]) -> str:
    if "outlook/auc" not in metrics:
        return "-"
    warned = " at-risk" if metrics.get("outlook/warned") else ""
    return f"{metrics['outlook/auc']:.4f} ({_span(metrics, 'outlook/')}){warned}"


def _value(metrics: dict[str, float], name: str, *, sign: bool = False) -> str:
    return "-" if name not in metrics else f"{metrics[name]:{'+' if sign else ''}.4f}"


def _span(metrics: dict[str, float], prefix: str) -> str:
    low, high = metrics.get(f"{prefix}low"), metrics.get(f"{prefix}high")
    return "-" if low is None or high is None else f"{low:.4f}-{high:.4f}"
