"""Evaluations and changes of status as plain text for a terminal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor.policy.evaluation import Evaluation, Status, Transition
from rocmonitor.report.marks import WORST_FIRST, marked
from rocmonitor.wording.format import count, forecast_span, instant
from rocmonitor.wording.verdicts import reasons
from rocmonitor.wording.window import moved, why

_NUMBER = re.compile(r"[-+\d.,]+")


def windows(evaluations: Sequence[Evaluation], zone: ZoneInfo, width: int | None = None) -> str:
    """A table of windows: sizes, AUROC with its interval, forecast interval, outcome and status.

    Columns that say nothing (one segment only, no challenger) are left out, and in less than the needed
    `width` those that say least.
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
        "challenger gain": [
            _value(evaluation.metrics, "difference/auc", sign=True) for evaluation in evaluations
        ],
        "outcome": [marked(evaluation.outcome) for evaluation in evaluations],
        "status": [marked(evaluation.status) for evaluation in evaluations],
    }
    idle = {"segment": "all rows", "forecast": "-", "challenger gain": "-"}
    shown = {name: cells for name, cells in columns.items() if set(cells) != {idle.get(name)}}
    return narrowed(shown, ("negatives", "positives", "challenger gain", "outcome", "95 % interval"), width)


def findings(evaluations: Iterable[Evaluation], zone: ZoneInfo) -> str:
    """Below a table: why a window is not ok, what moved, and what to know of its rows when insufficient."""
    lines = []
    for evaluation in evaluations:
        if evaluation.outcome is Status.OK:
            continue
        segment = f" {evaluation.segment}" if evaluation.segment else ""
        lines.append(f"\n{marked(evaluation.outcome)} {evaluation.window.in_zone(zone)}{segment}")
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
            f"{change.at.astimezone(zone):%Y-%m-%d %H:%M}  {segment}{change.before} -> {marked(change.after)}"
            f"{window}"
        )
        lines += [f"    {reason}" for reason in reasons(change.reasons)]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a monitor, or a segment of it, stands.

    Attributes
    ----------
    monitor, segment : str
    status : str
        ``new`` before the first window was judged.
    since : datetime or None
        From when the status holds; None where it never changed.
    last : Evaluation or None
        The newest window.
    zone : ZoneInfo
    """

    monitor: str
    segment: str = ""
    status: str
    since: datetime | None = None
    last: Evaluation | None = None
    zone: ZoneInfo

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; instants as ISO 8601 in UTC, None for what is not known."""
        last = self.last
        metrics = {} if last is None else last.metrics
        names = ("champion/auc", "champion/auc_low", "champion/auc_high", "forecast/low", "forecast/high")
        return {
            "monitor": self.monitor,
            "segment": self.segment,
            "status": self.status,
            "since": None if self.since is None else self.since.isoformat(),
            "model": None if last is None else f"{last.model}/{last.champion_version}",
            "window": None
            if last is None
            else {"start": last.window.start.isoformat(), "end": last.window.end.isoformat()},
            **{name: metrics.get(name) for name in names},
            "labelled_share": None if last is None else last.counts.labelled_share,
        }


def overview(standings: Sequence[Standing], width: int | None = None) -> str:
    """How many monitors need attention, and a table of all, worst first; segments only where not ok."""
    whole = [standing for standing in standings if not standing.segment]
    ill = [standing for standing in whole if standing.status in ("error", "degraded", "at-risk")]
    head = (
        f"{len(ill)} of {count(len(whole), 'monitor')} need{'s' if len(ill) == 1 else ''} attention."
        if ill
        else f"No monitor of {len(whole)} needs attention."
    )
    rank = {each.monitor: WORST_FIRST.index(each.status) for each in whole}
    rows = sorted(standings, key=lambda each: (rank[each.monitor], each.monitor, each.segment))
    rows = [each for each in rows if not each.segment or each.status not in ("ok", "new")]
    columns = {
        "status": [marked(each.status) for each in rows],
        "monitor": [f"  {each.segment}" if each.segment else each.monitor for each in rows],
        "last window": ["-" if each.last is None else each.last.window.in_zone(each.zone) for each in rows],
        "AUROC": [_of_last(each, lambda last: _value(last.metrics, "champion/auc")) for each in rows],
        "95 % interval": [_of_last(each, lambda last: _span(last.metrics, "champion/auc_")) for each in rows],
        "expected": [_of_last(each, lambda last: _forecast(last.metrics)) for each in rows],
        "labelled": [
            _of_last(each, lambda last: f"{100 * last.counts.labelled_share:.0f} %") for each in rows
        ],
        "since": ["-" if each.since is None else instant(each.since, each.zone) for each in rows],
    }
    return f"{head}\n\n{narrowed(columns, ('95 % interval', 'labelled', 'last window', 'since'), width)}"


def summary(monitor: str, evaluations: Sequence[Evaluation], status: str, zone: ZoneInfo) -> str:
    """One line on what a run found: the status, how many windows were judged, the newest of them."""
    whole = [evaluation for evaluation in evaluations if not evaluation.segment] or list(evaluations)
    found = Counter(str(evaluation.outcome) for evaluation in whole)
    each = ", ".join(f"{number} {outcome}" for outcome, number in found.items())
    last = whole[-1]
    measured = ""
    if "champion/auc" in last.metrics:
        measured = f" AUROC {last.metrics['champion/auc']:.4f} ({_span(last.metrics, 'champion/auc_')})"
        if (expected := _forecast(last.metrics)) != "-":
            measured += f", expected {expected}"
    return (
        f"{monitor}: {marked(status)}; {count(len(whole), 'window')} judged ({each}); "
        f"{last.window.in_zone(zone)}{measured}; `rocmonitor history {monitor}` shows why"
    )


def narrowed(columns: dict[str, list[str]], least: Sequence[str], width: int | None) -> str:
    """A table of columns, without the first of `least` that must go for it to have at most this width."""
    shown = dict(columns)
    for name in (*least, ""):
        text = table(list(shown), list(zip(*shown.values(), strict=True)))
        if width is None or max(map(len, text.splitlines())) <= width:
            break
        shown.pop(name, None)
    return text


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


def _value(metrics: dict[str, float], name: str, *, sign: bool = False) -> str:
    return "-" if name not in metrics else f"{metrics[name]:{'+' if sign else ''}.4f}"


def _span(metrics: dict[str, float], prefix: str) -> str:
    low, high = metrics.get(f"{prefix}low"), metrics.get(f"{prefix}high")
    return "-" if low is None or high is None else f"{low:.4f}-{high:.4f}"


def _of_last(standing: Standing, what: Callable[[Evaluation], str]) -> str:
    return "-" if standing.last is None else what(standing.last)
