"""The description of a monitor's experiment: how it stands, in words, as a picture, and as a table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from urllib.parse import quote
from zoneinfo import ZoneInfo

from rocmonitor.policy.evaluation import Point, Status
from rocmonitor.policy.windows import Window
from rocmonitor.tracking.note import interval
from rocmonitor.wording.format import area, beside_normal, forecast_span, instant
from rocmonitor.wording.status import WORDS

NOTE, NOTE_DIGEST = "mlflow.note.content", "rocmonitor.note_digest"

RUNS = "workflowType=machine_learning"
"""What an address of MLflow needs to open runs: without it MLflow opens an empty page of traces."""

_LAST = 8
_APART = "\u2003| "  # MLflow leaves no space between the cells of a table
_CHARTS = "tags.`rocmonitor.kind` = 'series' and tags.`rocmonitor.state` = 'final'"
_WINDOWS = "tags.`rocmonitor.kind` = 'window' and tags.`rocmonitor.state` = 'final'"
_REVIEWS = "tags.`rocmonitor.kind` = 'review' and tags.`rocmonitor.state` = 'final'"
_DEGRADED = f"{_WINDOWS} and tags.`rocmonitor.outcome` = 'degraded'"
_OURS_BEFORE = "Written by rocmonitor; all of it can be rebuilt from its store."


def of_experiment(
    experiment: str,
    points: Sequence[Point] = (),
    outcomes: Mapping[Window, Status] | None = None,
    zone: ZoneInfo | None = None,
    picture: str | None = None,
) -> str:
    """The description of an experiment; MLflow always shows its first line, and the rest when it is opened.

    Parameters
    ----------
    experiment : str
        Its number.
    points : sequence of Point
        The windows of all rows, oldest first.
    outcomes : dict of Window to Status, optional
    zone : ZoneInfo, optional
        Of the dates; default UTC.
    picture : str, optional
        Address of the AUROC over time, as the page of MLflow asks for it.
    """
    zone, outcomes = zone or ZoneInfo("UTC"), outcomes or {}

    def runs(condition: str, mode: str) -> str:
        filtered = f"searchFilter={quote(condition)}&compareRunsMode={mode}"
        return f"#/experiments/{experiment}/runs?{RUNS}&{filtered}"

    links = (
        f"[lines]({runs(_CHARTS, 'CHART')}) · [windows]({runs(_WINDOWS, 'TABLE')}) · "
        f"[degraded]({runs(_DEGRADED, 'TABLE')}) · [reviews]({runs(_REVIEWS, 'TABLE')})"
    )
    parts = [" · ".join(filter(None, [_last_window(points, outcomes, zone), links]))]
    if points and picture:
        parts.append(f"![AUROC of the last windows inside its forecast]({picture})")
    if points:
        parts.append(_table(points[-_LAST:], outcomes, zone))
    parts.append(
        "A degraded window is a failed run. The run *AUROC over time* has one point per window for the "
        "lines; a window run has the verdicts, the ROC figure and the tables of one window and revision; a "
        "review run compares champion and challenger on the same rows. Runs that late labels have replaced "
        "are marked superseded. rocmonitor writes this text until somebody edits it."
    )
    return "\n\n".join(parts)


def is_ours(tags: Mapping[str, str]) -> bool:
    """Whether the description was written here, and nobody has changed it since."""
    text = tags.get(NOTE)
    if text is None or _OURS_BEFORE in text:
        return True
    return tags.get(NOTE_DIGEST) == digest(text)


def digest(text: str) -> str:
    """By which a text is known again."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _last_window(points: Sequence[Point], outcomes: Mapping[Window, Status], zone: ZoneInfo) -> str:
    """How the last window came out, beside what is normal."""
    if not points:
        return ""
    metrics, window = points[-1].metrics, points[-1].window
    outcome = outcomes.get(window)
    words = f"{WORDS[outcome].mark} **{outcome.capitalize()}**" if outcome else "**Last window**"
    auc, low, high = (metrics.get(name) for name in ("champion/auc", "forecast/low", "forecast/high"))
    value = "" if auc is None else f": AUROC {area(auc)}"
    if auc is not None and low is not None and high is not None:
        value = f": {beside_normal(auc, low, high)}"
    return f"{words}, window of {instant(window.start, zone)}{value}"


def _table(points: Sequence[Point], outcomes: Mapping[Window, Status], zone: ZoneInfo) -> str:
    """The windows, newest first."""
    lines = [
        f"| window ({zone}) | outcome | AUROC | interval | normally | positives | labelled |",
        "|---|---|---|---|---|---|---|",
    ]
    for point in reversed(points):
        metrics, outcome = point.metrics, outcomes.get(point.window)
        low, high = metrics.get("forecast/low"), metrics.get("forecast/high")
        cells = [
            instant(point.window.start, zone) + (f" r{point.revision}" if point.revision else ""),
            f"{WORDS[outcome].mark} {outcome}" if outcome else "",
            area(metrics["champion/auc"]) if "champion/auc" in metrics else "–",
            interval(metrics, "champion/auc"),
            "" if low is None or high is None else forecast_span(low, high),
            f"{metrics['data/positives']:,.0f}" if "data/positives" in metrics else "",
            f"{100 * metrics['data/labelled_share']:.0f} %" if "data/labelled_share" in metrics else "",
        ]
        lines.append(f"| {_APART.join(cells)} |")
    return "\n".join(lines)
