"""What a person reads first on an MLflow page: descriptions in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor.policy.evaluation import Counts, Evaluation
from rocmonitor.policy.measure import LEVEL
from rocmonitor.policy.windows import Window
from rocmonitor.wording.counts import CUT, set_aside
from rocmonitor.wording.format import count
from rocmonitor.wording.outlook import expected, foreseen
from rocmonitor.wording.verdicts import by_rule
from rocmonitor.wording.window import moved

_SHOWN = {
    "champion": "champion",
    "challenger": "challenger",
    "difference": "challenger minus champion",
    "reference": "champion in the reference",
}


def of_window(evaluation: Evaluation, *, full: bool = True) -> str:
    """The description of a window run: status, verdicts, what moved, AUROC, costs, rows, caveats.

    `full` says whether the run has every figure and table.
    """
    parts = [_headline(evaluation)]
    # MLflow shows the first lines only until one asks for more: what decided comes first.
    verdicts = sorted(evaluation.verdicts, key=lambda each: each.outcome is not evaluation.outcome)
    if verdicts:
        found = by_rule(verdicts)
        parts.append("\n".join(f"- **{rule}: {outcome}.** {line(text)}" for rule, outcome, text in found))
    if text := moved(evaluation):
        parts.append(f"**What moved.** {line(text)} See `figures/shift.png`.")
    if "champion/auc" in evaluation.metrics:
        parts.append(_aurocs(evaluation))
    if said := foreseen(evaluation.metrics):
        parts.append(f"**From the scores, before the labels:** {said}.")
    if costs := evaluation.tables.get("costs"):
        parts.append("\n".join(_cost(row) for row in costs))
    parts.append(_rows(evaluation.counts))
    parts += caveats(evaluation.caveats)
    tables = "`tables/`, " if any(evaluation.tables.values()) else ""
    parts.append(
        f"Artifacts: `figures/roc.png`, {tables}and all of it in `result.json`."
        if full
        else "All other numbers are in `result.json`."
    )
    return "\n\n".join(parts)


def of_series(
    monitor: str, segment: str, windows: Sequence[Window], last: Mapping[str, float], zone: ZoneInfo
) -> str:
    """The description of a series run."""
    span = Window(windows[0].start, windows[-1].end).in_zone(zone)
    auc = last.get("champion/auc")
    latest = "no AUROC: too little data" if auc is None else f"AUROC {_value(last, 'champion')}"
    return (
        f"**{line(monitor)}, {line(segment) or 'all rows'}**: {count(len(windows), 'window')}, "
        f"{span} ({zone}). Last window: {latest}.\n\n"
        "The group `AUROC` comes first: the AUROC and its interval, its forecast and the distance to it, "
        "positives, and the share of labels that have come. "
        "Each metric has one point per window, of its newest revision. Step 1 is the first window; with the "
        "x axis set to time, a point stands at the end of its window. `figures/auc_over_time.png` has the "
        "intervals. When late labels change a window that is drawn already, a new run takes this one's place."
    )


def of_outlooks(
    monitor: str, segment: str, windows: Sequence[Window], last: Mapping[str, float], zone: ZoneInfo
) -> str:
    """The description of a run with outlooks."""
    said = expected(last)
    span = Window(windows[0].start, windows[-1].end).in_zone(zone)
    return (
        f"**{line(monitor)}, {line(segment) or 'all rows'}**: outlooks of {count(len(windows), 'window')}, "
        f"{span} ({zone}), made from their scores before any label. "
        f"Last window: {f'AUROC {said} expected' if said else 'none could be made'}.\n\n"
        "`outlook/auc` is the AUROC that the scores lead one to expect, `outlook/low` and `outlook/high` its "
        "interval, `outlook/score_distance` how far the scores have moved from the reference, in nats. An "
        "outlook is made once; what came of it stands in the window's own run."
    )


def _headline(evaluation: Evaluation) -> str:
    zone = evaluation.zone
    revision = f", revision {evaluation.revision} (late labels)" if evaluation.revision else ""
    standing = ""
    if evaluation.status is not evaluation.outcome:
        standing = f" The monitor stands at **{evaluation.status}**."
    return (
        f"**{evaluation.outcome.upper()}.** {line(evaluation.monitor)}, "
        f"{line(evaluation.segment) or 'all rows'}, "
        f"{evaluation.window.in_zone(zone)} ({zone}){revision}.{standing}"
    )


def _aurocs(evaluation: Evaluation) -> str:
    version = {
        "champion": f", version {line(evaluation.champion_version)}",
        "challenger": f", version {line(evaluation.challenger_version or 'unknown')}",
    }
    lines = [f"| | AUROC | {100 * LEVEL:g} % interval |", "|---|---|---|"]
    for prefix, words in _SHOWN.items():
        metrics = evaluation.metrics
        if f"{prefix}/auc" in metrics:
            form = "+.4f" if prefix == "difference" else ".4f"
            name = f"{words}{version.get(prefix, '')}"
            lines.append(
                f"| {name} | {metrics[f'{prefix}/auc']:{form}} | {interval(metrics, f'{prefix}/auc', form)} |"
            )
    return "\n".join(lines)


def _cost(row: Mapping[str, Any]) -> str:
    at = "nothing flagged" if row["threshold"] is None else f"threshold {row['threshold']:.4g}"
    return f"- cost at w = {row['w']:g}: {row['cost']:.4f} ({row['low']:.4f} to {row['high']:.4f}), {at}"


def _rows(counts: Counts) -> str:
    aside = set_aside(counts)
    cut = CUT if counts.truncated else ""
    return (
        f"**Rows** {counts.rows:,}; used {counts.used:,}: {counts.n_pos:,} positive, "
        f"{counts.n_neg:,} negative{f'; set aside: {aside}' if aside else ''}{cut}."
    )


def _value(metrics: Mapping[str, float], prefix: str) -> str:
    ends = interval(metrics, f"{prefix}/auc")
    return f"{metrics[f'{prefix}/auc']:.4f}{f' ({100 * LEVEL:g} % interval {ends})' if ends else ''}"


def interval(metrics: Mapping[str, float], name: str, form: str = ".4f") -> str:
    """The ends of an interval; empty without them."""
    low, high = (metrics.get(f"{name}_{end}") for end in ("low", "high"))
    return "" if low is None or high is None else f"{low:{form}} to {high:{form}}"


def caveats(found: Iterable[object]) -> list[str]:
    """The block of caveats; none without any."""
    lines = [f"- {line(str(caveat))}" for caveat in found]
    return ["**Bear in mind**\n\n" + "\n".join(lines)] if lines else []


def line(text: str) -> str:
    """Text from outside on one line, with nothing that Markdown or HTML would take for its own."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{sign}" if sign in "\\`*_[]|#" else sign for sign in text)
