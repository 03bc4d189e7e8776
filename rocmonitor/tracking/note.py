"""The descriptions in Markdown that a person reads first on an MLflow page."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from rocmonitor.policy.evaluation import Evaluation, Point, known
from rocmonitor.policy.explanation import explanation_of
from rocmonitor.policy.measure import LEVEL
from rocmonitor.policy.windows import Window
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.explanation import main_group, spread
from rocmonitor.wording.format import (
    CUT,
    area,
    count,
    forecast_span,
    instant,
    listed,
    lower,
    page_address,
    percent,
    set_aside,
    still,
)
from rocmonitor.wording.outlook import expected, foreseen
from rocmonitor.wording.status import WORDS
from rocmonitor.wording.verdicts import by_rule
from rocmonitor.wording.window import moved

_SHOWN = {
    "champion": "champion",
    "challenger": "challenger",
    "difference": "challenger minus champion",
    "reference": "champion in the reference",
}


_LOSS = ("episode/windows", "episode/size", "episode/size_low", "episode/size_high")
_STILL = ("episode/still_low", "episode/still_high")


def of_window(evaluation: Evaluation, *, full: bool = True, page: str | None = None) -> str:
    """Return the description of a window run: status, verdicts, what moved, AUROC, costs, rows, caveats.

    `full` says whether the run has every table and the window's page as a file; `page` is the address of
    rocmonitor's own.
    """
    zone, address = evaluation.zone, page_address(page, evaluation.monitor, evaluation.segment)
    revision = f", revision {evaluation.revision} (late labels)" if evaluation.revision else ""
    standing = ""
    if evaluation.status is not evaluation.outcome:
        standing = f" The monitor stands at **{evaluation.status}**."
    parts = [
        f"**{evaluation.outcome.upper()}.** {line(evaluation.monitor)}, "
        f"{line(evaluation.segment) or 'all rows'}, "
        f"{evaluation.window.in_zone(zone)} ({zone}){revision}.{standing}"
        f"{f' [On its page]({address}).' if address else ''}"
    ]
    # MLflow shows the first lines only until one asks for more: what decided comes first.
    verdicts = sorted(evaluation.verdicts, key=lambda verdict: verdict.outcome is not evaluation.outcome)
    if verdicts:
        judgements = by_rule(verdicts)
        parts.append(
            "\n".join(f"- **{rule}: {outcome}.** {line(text)}" for rule, outcome, text in judgements)
        )
    if (loss := known(evaluation.metrics, *_LOSS)) is not None:
        start, groups = episode(evaluation)
        since = f" since {instant(datetime.fromisoformat(start), evaluation.zone)}" if start else ""
        behind = f" Behind it: {line(listed(groups))}." if groups else ""
        unsure = known(evaluation.metrics, *_STILL)
        rest = "" if unsure is None else f" It is {still(*unsure)} since then."
        parts.append(f"**Loss**{since}: {lower(*loss[1:])} in {count(loss[0], 'window')}.{behind}{rest}")
    explained = explanation_of(evaluation)
    if text := main_group(explained) or spread(explained):
        parts.append(f"**Where.** {line(text)} See `tables/groups.csv`.")
    if text := moved(evaluation):
        parts.append(f"**What moved.** {line(text)}")
    if "champion/auc" in evaluation.metrics:
        parts.append(_aurocs(evaluation))
    if outlook := foreseen(evaluation.metrics):
        parts.append(f"**Outlook, before the labels:** {outlook}.")
    if costs := evaluation.tables.get("costs"):
        parts.append("\n".join(_cost(row) for row in costs))
    counts, aside = evaluation.counts, set_aside(evaluation.counts)
    cut = CUT if counts.truncated else ""
    parts.append(
        f"**Rows** {counts.rows:,}; used {counts.used:,}: {counts.n_pos:,} positive, "
        f"{counts.n_neg:,} negative{f'; set aside: {aside}' if aside else ''}{cut}."
    )
    parts += caveats(map(words_of, evaluation.caveats))
    tables = "the numbers in `tables/`, " * any(evaluation.tables.values())
    parts.append(
        f"Artifacts: the window with its curves in `window.html`, {tables}all of it in `result.json`."
        if full
        else "All other numbers are in `result.json`."
    )
    return "\n\n".join(parts)


def episode(evaluation: Evaluation) -> tuple[str, Sequence[str]]:
    """Return when the loss that a window is part of began, and the groups behind it; empty where unknown."""
    facts = evaluation.provenance.get("episode") or {}
    return facts.get("start", ""), facts.get("groups", ())


def of_series(monitor: str, segment: str, points: Sequence[Point], zone: ZoneInfo, kind: str) -> str:
    """Return the description of a run of windows, or of outlooks, over time."""
    whose, number = f"**{line(monitor)}, {line(segment) or 'all rows'}**", count(len(points), "window")
    span = f"{Window(points[0].window.start, points[-1].window.end).in_zone(zone)} ({zone})"
    last = points[-1].metrics
    if kind == "outlook":
        outlook = expected(last)
        return (
            f"{whose}: outlooks of {number}, {span}, made from their scores before any label. "
            f"Last window: {f'AUROC {outlook} expected' if outlook else 'none could be made'}.\n\n"
            "`outlook/auc` is the AUROC that the scores lead one to expect, `outlook/low` and `outlook/high` "
            "its interval, `outlook/score_distance` how far the scores have moved from the reference, in "
            "nats. An outlook is made once; what came of it stands in the window's own run."
        )
    ends = interval(last, "champion/auc")
    latest = "no AUROC: too little data"
    if "champion/auc" in last:
        latest = f"AUROC {area(last['champion/auc'])}{ends and f' ({100 * LEVEL:g} % interval {ends})'}"
    return (
        f"{whose}: {number}, {span}. Last window: {latest}.\n\n"
        "The group `AUROC` comes first: the AUROC and its interval, its normal range and the distance to its "
        "limit, positives, and the share of labels that have come. Each metric has one point per window, of "
        "its newest revision. Charts begin with steps, 1 the first window: the gear above them sets the x "
        "axis to time, where a point stands at the end of its window. The link *lines* of the experiment "
        "opens them over time, with all five lines in one. `auc_over_time.png` has the intervals. When late "
        "labels change a window that is drawn already, a new run takes this one's place."
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
            form = "+.3f" if prefix == "difference" else ".3f"
            name = f"{words}{version.get(prefix, '')}"
            lines.append(
                f"| {name} | {metrics[f'{prefix}/auc']:{form}} | {interval(metrics, f'{prefix}/auc', form)} |"
            )
    return "\n".join(lines)


def _cost(row: Mapping[str, Any]) -> str:
    at = "nothing flagged" if row["threshold"] is None else f"threshold {row['threshold']:.4g}"
    then = row.get("reference_cost")
    before = "" if then is None else f", {then:.3f} in the reference"
    return (
        f"- cost at w = {row['w']:g}: {row['cost']:.3f} ({row['low']:.3f} to {row['high']:.3f}){before}, {at}"
    )


def interval(metrics: Mapping[str, float], name: str, form: str = ".3f") -> str:
    """Return the ends of an interval; empty without them."""
    low, high = (metrics.get(f"{name}_{end}") for end in ("low", "high"))
    return "" if low is None or high is None else f"{low:{form}} to {high:{form}}"


def caveats(sentences: Iterable[str]) -> list[str]:
    """Return the block of caveats; none without any."""
    lines = [f"- {line(sentence)}" for sentence in sentences]
    return ["**Bear in mind**\n\n" + "\n".join(lines)] if lines else []


def line(text: str) -> str:
    """Text from outside on one line, with nothing that Markdown or HTML would take for its own."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"[\\`*_\[\]|#]", r"\\\g<0>", text)


NOTE, NOTE_DIGEST = "mlflow.note.content", "rocmonitor.note_digest"

RUNS = "workflowType=machine_learning"
"""The parameter of an MLflow address that opens runs: without it MLflow opens an empty page of traces."""

_LAST = 8
_APART = "&emsp;| "  # MLflow leaves no space between the cells of a table, and cuts a bare one off
_VIEW_NAME = "rocmonitor"
VIEW = f"mlflow.sharedViewState.{_VIEW_NAME}"
"""The tag of an experiment that holds a view of its runs, which a link opens."""
_UTC = ZoneInfo("UTC")
_SERIES = "tags.`rocmonitor.kind` = 'series' and tags.`rocmonitor.state` = 'final'"
_WINDOWS = "tags.`rocmonitor.kind` = 'window' and tags.`rocmonitor.state` = 'final'"
_REVIEWS = "tags.`rocmonitor.kind` = 'review' and tags.`rocmonitor.state` = 'final'"
_DEGRADED = f"{_WINDOWS} and tags.`rocmonitor.outcome` = 'degraded'"


def of_experiment(
    experiment: str,
    points: Sequence[Point] = (),
    zone: ZoneInfo = _UTC,
    picture: str | None = None,
    page: str | None = None,
    loss: str = "",
) -> str:
    """Return the description of an experiment; its first line is what MLflow always shows.

    `points` are the windows of all rows, oldest first; `picture` is the address of the AUROC over time, as
    the page of MLflow asks for it, `page` that of the monitor on rocmonitor's own page.
    """
    place = f"#/experiments/{experiment}/runs?{RUNS}"

    def table(condition: str) -> str:
        return f"{place}&searchFilter={quote(condition)}&compareRunsMode=TABLE"

    links = [
        last_window(points, zone),
        line(loss),
        f"[page]({page})" if page else "",
        # The view brings its filter: beside one in the address MLflow opens no view.
        f"[lines]({place}&compareRunsMode=CHART&viewStateShareKey={_VIEW_NAME})",
        f"[windows]({table(_WINDOWS)})",
        f"[degraded]({table(_DEGRADED)})",
        f"[reviews]({table(_REVIEWS)})",
    ]
    parts = [" · ".join(filter(None, links))]
    if points and picture:
        parts.append(f"![AUROC of the last windows inside its normal range]({picture})")
    if points:
        parts.append(_table(points[-_LAST:], zone))
    parts.append(
        "A degraded window says so in its name and its tag `rocmonitor.outcome`. The run *AUROC over time* "
        "has one point per window for the lines; a window run has the verdicts, the page and the tables of "
        "one window and revision; a review run compares champion and challenger on the same rows. "
        "Runs that late labels have replaced are marked superseded. rocmonitor writes this text until "
        "somebody edits it."
    )
    return "\n\n".join(parts)


def digest(text: str) -> str:
    """Return the digest by which a text is known again."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


_TOGETHER = [f"AUROC/{name}" for name in ("auc", "auc_low", "auc_high", "forecast_low", "forecast_high")]
_CHART = {
    "type": "LINE",
    "uuid": "together",
    "metricSectionId": "auroc",
    "isGenerated": False,
    "deleted": False,
    "metricKey": _TOGETHER[0],
    "selectedMetricKeys": _TOGETHER,
    "lineSmoothness": 0,
    "xAxisScaleType": "linear",
    "scaleType": "linear",
    "range": {},
    "xAxisKey": "time",
    "selectedXAxisMetricKey": "",
    "yAxisKey": "metric",
    "yAxisExpressions": [],
    "useGlobalXaxisKey": True,
    "useGlobalLineSmoothing": True,
}
# MLflow puts the other charts behind those of a section that somebody has ordered.
_SECTION = {"uuid": "auroc", "name": "AUROC", "display": True, "isReordered": True, "isGenerated": True}
CHARTS_OVER_TIME = json.dumps(
    {
        "searchFilter": _SERIES,
        "compareRunCharts": [_CHART],
        "compareRunSections": [_SECTION],
        "globalLineChartConfig": {"xAxisKey": "time", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
    }
)
"""A view of MLflow's charts: the AUROC, its interval and its normal range in one, over time."""


def last_window(points: Sequence[Point], zone: ZoneInfo) -> str:
    """Return how the last window came out, beside what is normal; empty without any."""
    if not points:
        return ""
    metrics, window, outcome = points[-1].metrics, points[-1].window, points[-1].outcome
    words = f"{WORDS[outcome].mark} {outcome.capitalize()}" if outcome else "Last window"
    auc, low, high = (metrics.get(name) for name in ("champion/auc", "forecast/low", "forecast/high"))
    value = "" if auc is None else f": AUROC {area(auc)}"
    if auc is not None and low is not None and high is not None:
        value += f", normal range {forecast_span(low, high)}"
    return f"{words}, window of {instant(window.start, zone)}{value}"


def _table(points: Sequence[Point], zone: ZoneInfo) -> str:
    lines = [
        f"| window ({zone}) | outcome | AUROC | interval | normal range | positives | labelled |",
        "|---|---|---|---|---|---|---|",
    ]
    for point in reversed(points):
        metrics, outcome = point.metrics, point.outcome
        low, high = metrics.get("forecast/low"), metrics.get("forecast/high")
        cells = [
            instant(point.window.start, zone) + (f" r{point.revision}" if point.revision else ""),
            f"{WORDS[outcome].mark} {outcome}" if outcome else "",
            area(metrics["champion/auc"]) if "champion/auc" in metrics else "–",
            interval(metrics, "champion/auc"),
            "" if low is None or high is None else forecast_span(low, high),
            f"{metrics['data/positives']:,.0f}" if "data/positives" in metrics else "",
            percent(metrics["data/labelled_share"]) if "data/labelled_share" in metrics else "",
        ]
        lines.append(f"| {_APART.join(cells)} |")
    return "\n".join(lines)
