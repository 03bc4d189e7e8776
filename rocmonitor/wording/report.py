"""What the report of a monitor says beside what the page says: its numbers, and why nothing can be shown.

Sentences that both have are in `rocmonitor.wording.page`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from rocmonitor.policy.evaluation import Counts, Evaluation, Status, Transition
from rocmonitor.policy.measure import LEVEL
from rocmonitor.wording.format import area, count, instant, percent, span
from rocmonitor.wording.outlook import foreseen
from rocmonitor.wording.page import CHART_SHOWS, OUTLOOKS_SHOWN, ROC_CAPTION
from rocmonitor.wording.status import lack

LEGEND = {
    "band": "expected range",
    "rule": "AUROC of the whole reference",
    "square": "expected from the scores, judged since",
    "hollow": "expected from the scores, no labels yet",
}
"""What the shades and marks of the chart are."""

_POINTS = {"fprs": "filled at a false positive rate", "thresholds": "hollow at a threshold"}


def chart_caption(*, marks: bool, revised: bool, outlooks: bool, reference: bool) -> str:
    """How the chart is read: as on the page, and what stands for what can be hovered there."""
    return " ".join(
        sentence
        for sentence, needed in (
            (CHART_SHOWS, True),
            (OUTLOOKS_SHOWN, outlooks),
            ("Numbered lines are the changes below.", marks),
            ("r1 marks a window that late labels have revised.", revised),
            ("Left of the dashed line lies the reference.", reference),
        )
        if needed
    )


def curve_caption(tables: Collection[str]) -> str:
    """Below the ROC curve; `tables` are those that the window has."""
    marks = [text for name, text in _POINTS.items() if name in tables]
    if not marks:
        return ROC_CAPTION
    return f"{ROC_CAPTION} Marks are operating points, {', '.join(marks)}."


def numbers(evaluations: Sequence[Evaluation]) -> list[tuple[str, str, str]]:
    """Three numbers, each with its name and what to know of it."""
    last = evaluations[-1]
    metrics, counts = last.metrics, last.counts
    measured = "champion/auc" in metrics
    degraded = sum(each.outcome is Status.DEGRADED for each in evaluations)
    unjudged = sum(each.outcome is Status.INSUFFICIENT for each in evaluations)
    return [
        (
            "AUROC of the last window",
            area(metrics["champion/auc"]) if measured else "none",
            f"{percent(LEVEL)} interval {span(metrics['champion/auc_low'], metrics['champion/auc_high'])}"
            if measured
            else lack(counts)[0],
        ),
        (
            "Degraded windows",
            f"{degraded} of {len(evaluations)}",
            f"{unjudged} could not be judged" if unjudged else "all of them could be judged",
        ),
        ("Labels of the last window", _labels(counts), f"{_classes(counts)}"),
    ]


def foreseen_line(last: Evaluation) -> str:
    """What the scores had foretold of the window; empty without an outlook."""
    said = foreseen(last.metrics)
    return f"From the scores alone: {said}." if said else ""


def noticed(change: Transition, zone: ZoneInfo) -> str:
    """When a change was seen."""
    return f"noticed {instant(change.at, zone)}"


def dated(moment: datetime, zone: ZoneInfo) -> str:
    """From when a new champion was used."""
    return f"from {instant(moment, zone)}"


def chart_label(evaluations: Sequence[Evaluation]) -> str:
    """The chart for those who do not see it."""
    degraded = sum(each.outcome is Status.DEGRADED for each in evaluations)
    return f"AUROC of {count(len(evaluations), 'window')} over time, {degraded} of them degraded"


def nothing(monitor: str, period: str) -> str:
    """Why there is no report, and what to do."""
    return (
        f"{monitor} has no judged window{period}; `rocmonitor history {monitor}` lists those that there are, "
        f"and `rocmonitor run {monitor}` judges what is due"
    )


def _labels(counts: Counts) -> str:
    return f"{100 * counts.labelled_share:.1f} %"


def _classes(counts: Counts) -> str:
    return f"{count(counts.n_pos, 'positive')}, {count(counts.n_neg, 'negative')}"
