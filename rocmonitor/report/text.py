"""Evaluations and changes of status as plain text for a terminal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from rocmonitor.conventions import NORMAL_95
from rocmonitor.errors import printable
from rocmonitor.policy.evaluation import Evaluation, Status, Transition, known
from rocmonitor.policy.outlook import Outlook
from rocmonitor.policy.record import plain
from rocmonitor.policy.windows import Window
from rocmonitor.wording.format import (
    AREA,
    auc_and_range,
    count,
    decimals,
    instant,
    one_line,
    percent,
    signed,
    with_interval,
)
from rocmonitor.wording.outlook import moved as moved_scores
from rocmonitor.wording.page import WORST_FIRST, marked
from rocmonitor.wording.verdicts import reasons, verdicts, without_basis
from rocmonitor.wording.window import pooled, why

if TYPE_CHECKING:
    from rocmonitor.policy.explanation import Explanation

_NUMBER = re.compile(r"[-−+\d.,]+")
_GAIN = ("difference/auc", "difference/auc_low", "difference/auc_high")


def windows(evaluations: Sequence[Evaluation], zone: ZoneInfo, width: int | None = None) -> str:
    """Return a table of windows: sizes, AUROC with its interval, normal range, outlook, outcome and status.

    Columns that say nothing (one segment only, no challenger) are left out, and in less than the needed
    `width` those that say least.
    """
    areas = [auc_and_range(*map(evaluation.metrics.get, AREA)) for evaluation in evaluations]
    gains = [known(evaluation.metrics, *_GAIN) for evaluation in evaluations]
    columns: dict[str, list[str]] = {
        "window": [
            evaluation.window.in_zone(zone)
            + pooled(evaluation.caveats)
            + (f" r{evaluation.revision}" if evaluation.revision else "")
            for evaluation in evaluations
        ],
        "segment": [_name(evaluation.segment) for evaluation in evaluations],
        "positives": [f"{evaluation.counts.n_pos:,}" for evaluation in evaluations],
        "negatives": [f"{evaluation.counts.n_neg:,}" for evaluation in evaluations],
        "AUROC (95 %)": [value or "-" for value, _ in areas],
        "normal range": [range_ or "-" for _, range_ in areas],
        "outlook": [_outlook(evaluation.metrics) for evaluation in evaluations],
        "challenger gain": [
            "-" if gain is None else signed(gain[0], decimals(gain[1], gain[2])) for gain in gains
        ],
        "outcome": [
            marked(evaluation.outcome)
            + _by(evaluation)
            + (f", still {evaluation.status}" if evaluation.status is not evaluation.outcome else "")
            for evaluation in evaluations
        ],
    }
    idle = {"segment": "all rows", "normal range": "-", "outlook": "-", "challenger gain": "-"}
    shown = {name: cells for name, cells in columns.items() if set(cells) != {idle.get(name)}}
    return narrowed(shown, ("negatives", "positives", "challenger gain", "outlook", "normal range"), width)


def _by(evaluation: Evaluation) -> str:
    """Return the rules that found what the normal range beside the AUROC does not show."""
    rules = [verdict.rule for verdict in evaluation.verdicts if verdict.outcome is evaluation.outcome]
    quiet = evaluation.outcome not in (Status.DEGRADED, Status.IMPROVED) or "forecast" in rules
    return "" if quiet or not rules else f" ({', '.join(rules)})"


def outlooks(waiting: Sequence[Outlook], zone: ZoneInfo) -> str:
    """Return a table of windows that wait for their labels: what their scores foretell; then, warnings."""
    columns = {
        "window": [outlook.window.in_zone(zone) for outlook in waiting],
        "segment": [_name(outlook.segment) for outlook in waiting],
        "scored": [f"{outlook.scored:,}" for outlook in waiting],
        "labelled": [f"{outlook.labelled:,}" for outlook in waiting],
        "AUROC (interval)": [_outlook(outlook.metrics) for outlook in waiting],
        "warning": [marked(outlook.outcome) if outlook.outcome else "no warning" for outlook in waiting],
    }
    if set(columns["segment"]) == {"all rows"}:
        del columns["segment"]
    lines = [table(columns)]
    for outlook in waiting:
        if outlook.outcome is not None:
            segment = f" {_name(outlook.segment)}" if outlook.segment else ""
            lines.append(f"\n{marked(outlook.outcome)} {outlook.window.in_zone(zone)}{segment}")
            warning = [verdict for verdict in outlook.verdicts if verdict.outcome is outlook.outcome]
            lines += [f"    {text}" for text in (*verdicts(warning), moved_scores(outlook)) if text]
    return "\n".join(lines)


def findings(evaluations: Iterable[Evaluation], zone: ZoneInfo) -> str:
    """Below a table: why a window is not ok, a line each."""
    lines = []
    for evaluation in evaluations:
        if evaluation.outcome is not Status.OK:
            segment = f" {_name(evaluation.segment)}" if evaluation.segment else ""
            window = f"{evaluation.window.in_zone(zone)}{pooled(evaluation.caveats)}"
            lines.append(f"{marked(evaluation.outcome)} {window}{segment}{_because(why(evaluation))}")
    return "".join(f"{line}\n" for line in lines)


def transitions(changes: Iterable[Transition], zone: ZoneInfo) -> str:
    """Return each change of status on one line: since when, and what decided it."""
    lines = []
    for change in changes:
        segment = f"{_name(change.segment)}: " if change.segment else ""
        # A change that rests on no window (an error) holds from when it was noticed.
        since = f" since {instant(change.since, zone)}" if change.since < change.at else ""
        text = f"{segment}{marked(change.shown)}{since}{_because(reasons(change.reasons))}"
        lines.append(f"{change.at.astimezone(zone):%Y-%m-%d %H:%M}  {text}")
    return "\n".join(lines)


def _because(texts: Sequence[str]) -> str:
    """Return the first reason without what it rests on, and how many more there are."""
    if not texts:
        return ""
    others = len(texts) - 1
    return f": {without_basis(texts[0])}" + (f" (+{count(others, 'reason')})" if others else "")


_MOST_GROUPS = 12


def groups(explanation: Explanation, width: int | None = None) -> str:
    """Return a table of the groups that did most, with a mark at those that stand out among all."""
    shown = explanation.parts[:_MOST_GROUPS]
    columns = {
        "clear": ["●" if group.is_marked(explanation.change) else "" for group in shown],
        "column": [group.column for group in shown],
        "group": [one_line(group.group, 30) for group in shown],
        "part (95 %)": [f"{signed(group.part, 3)} ± {NORMAL_95 * group.se:.3f}" for group in shown],
        "by its ranking": [signed(group.ranking, 3) for group in shown],
        "by its share": [signed(group.mix, 3) for group in shown],
        "rows": [f"{group.rows:,}" for group in shown],
        "share": [percent(group.share, 2) for group in shown],
        "before": [percent(group.reference_share, 2) for group in shown],
    }
    if not any(columns["clear"]):
        del columns["clear"]
    more = len(explanation.parts) - len(shown)
    text = narrowed(columns, ("rows", "before"), width)
    return f"{text}\nNot shown: {count(more, 'group')}; --json has all." if more else text


def _name(segment: str) -> str:
    """Return a segment on one line, whatever its values are."""
    return printable(segment) or "all rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The status of a monitor or a segment, and the numbers of its newest window, None where not known."""

    monitor: str
    segment: str
    status: str  # waiting before the first window was judged
    since: datetime | None  # None where the status never changed
    zone: ZoneInfo
    window: Window | None = None
    version: str | None = None
    auc: float | None = None
    low: float | None = None
    high: float | None = None
    expected_low: float | None = None
    expected_high: float | None = None
    labelled_share: float | None = None
    why: str = ""
    attention: str = ""  # who takes care of it, and until when it is muted
    unjudged: str = ""  # rows since the last window that are none yet; of the calendar each is judged
    reference: str = ""  # what the reference was learned without; empty where all its windows count
    not_judged_since: datetime | None = None  # where that is too long
    watched_until: datetime | None = None
    episode: dict[str, Any] | None = None  # the newest one, as programs read it

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; instants as ISO 8601 in UTC."""
        values: dict[str, Any] = plain(self)
        return values | {"zone": str(self.zone)}


def overview(standings: Sequence[Standing], width: int | None = None) -> str:
    """Return a table of all monitors, worst first; segments only where they are not ok."""
    rank = {
        standing.monitor: WORST_FIRST.index(standing.status) for standing in standings if not standing.segment
    }
    rows = sorted(standings, key=lambda row: (rank[row.monitor], row.monitor, row.segment))
    rows = [row for row in rows if not row.segment or row.status not in ("ok", "waiting")]
    areas = [auc_and_range(row.auc, row.low, row.high, row.expected_low, row.expected_high) for row in rows]
    columns = {
        "status": [marked(row.status) for row in rows],
        "monitor": [f"  {_name(row.segment)}" if row.segment else row.monitor for row in rows],
        "why": [row.why for row in rows],
        "last window": ["-" if row.window is None else row.window.in_zone(row.zone) for row in rows],
        "AUROC (95 %)": [value or "-" for value, _ in areas],
        "normal range": [range_ or "-" for _, range_ in areas],
        "labelled": ["-" if row.labelled_share is None else percent(row.labelled_share, 2) for row in rows],
        "since": ["-" if row.since is None else instant(row.since, row.zone) for row in rows],
        "now": ["; ".join(filter(None, [row.attention, row.unjudged])) for row in rows],
    }
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    return narrowed(shown, ("labelled", "normal range", "last window", "since"), width)


def summary(
    monitor: str, evaluations: Sequence[Evaluation], outlooks: Sequence[Outlook], status: str, zone: ZoneInfo
) -> str:
    """One line on what a run found: the status, how many windows were judged, the newest, what is at risk."""
    parts = [f"{monitor}: {marked(status)}"]
    if evaluations:
        whole = [evaluation for evaluation in evaluations if not evaluation.segment] or list(evaluations)
        if not whole[0].segment:  # of each window the newest revision
            newest = {evaluation.window: evaluation for evaluation in whole}
            whole = [newest[window] for window in sorted(newest)]
        outcomes = Counter(str(evaluation.outcome) for evaluation in whole)
        listed = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items())
        parts.append(f"{count(len(whole), 'window')} judged ({listed})")
        last, measured = whole[-1], ""
        if "champion/auc" in last.metrics:
            value, range_ = auc_and_range(*map(last.metrics.get, AREA))
            measured = f" AUROC {value}{range_ and f', normal range {range_}'}"
        if last.outcome is Status.INSUFFICIENT:
            stop = "," if measured else ""
            measured += "".join(f"{stop} cannot be judged: {reason}" for reason in why(last)[:1])
        parts.append(f"{last.window.in_zone(zone)}{measured}")
    warned = {outlook.window for outlook in outlooks if outlook.outcome is Status.AT_RISK}
    if warned:
        parts.append(
            f"{count(len(warned), 'window')} at risk by {'its' if len(warned) == 1 else 'their'} scores"
        )
    return "; ".join([*parts, f"`rocmonitor history {monitor}` shows why"])


def narrowed(columns: dict[str, list[str]], least: Sequence[str], width: int | None) -> str:
    """Return a table of columns of at most this width, without the first of `least` that must go."""
    shown = dict(columns)
    for name in (*least, ""):
        text = table(shown)
        if width is None or max(map(len, text.splitlines())) <= width:
            break
        shown.pop(name, None)
    return text


def table(columns: Mapping[str, Sequence[str]]) -> str:
    """Return columns by their heads, as wide as they need to be; those of plain numbers to the right."""
    aligned = []
    for head, cells in columns.items():
        width = max(map(len, (head, *cells)))
        is_number = all(map(_NUMBER.fullmatch, cells))
        aligned.append([cell.rjust(width) if is_number else cell.ljust(width) for cell in (head, *cells)])
    return "\n".join("  ".join(line).rstrip() for line in zip(*aligned, strict=True))


def _outlook(metrics: dict[str, float]) -> str:
    if (numbers := known(metrics, "outlook/auc", "outlook/low", "outlook/high")) is None:
        return "-"
    value, low, high = numbers
    return f"{with_interval(value, low, high)}{' at-risk' if metrics.get('outlook/warned') else ''}"
