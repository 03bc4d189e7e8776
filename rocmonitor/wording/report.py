"""The words of a report that a page lacks: its numbers, and the reason why nothing can be shown.

Sentences that both have are in `rocmonitor.wording.page`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from rocmonitor.policy.budget import Allotment
from rocmonitor.policy.evaluation import Counts, Evaluation, Status, Transition, known
from rocmonitor.policy.measure import LEVEL
from rocmonitor.wording.format import area, count, instant, percent, span
from rocmonitor.wording.outlook import foreseen
from rocmonitor.wording.page import CHART_SHOWS, OUTLOOKS_SHOWN, ROC_CAPTION
from rocmonitor.wording.status import lack

LEGEND = {
    "band": "normal range",
    "rule": "AUROC of the whole reference",
    "square": "outlook, judged since",
    "hollow": "outlook, no labels yet",
}
"""The names of the chart's shades and marks."""

_POINTS = {"fprs": "filled at a false positive rate", "thresholds": "hollow at a threshold"}


def chart_caption(*, marks: bool, revised: bool, outlooks: bool, reference: bool) -> str:
    """Return how the chart is read: as on the page, and what stands for what can be hovered there."""
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
    auc, ends = metrics.get("champion/auc"), known(metrics, "champion/auc_low", "champion/auc_high")
    degraded = sum(each.outcome is Status.DEGRADED for each in evaluations)
    unjudged = sum(each.outcome is Status.INSUFFICIENT for each in evaluations)
    return [
        (
            "AUROC of the last window",
            "none" if auc is None else area(auc),
            lack(counts)[0]
            if auc is None
            else ""
            if ends is None
            else f"{percent(LEVEL)} interval {span(*ends)}",
        ),
        (
            "Degraded windows",
            f"{degraded} of {len(evaluations)}",
            f"{unjudged} could not be judged" if unjudged else "all of them could be judged",
        ),
        ("Labels of the last window", _labels(counts), f"{_classes(counts)}"),
    ]


def foreseen_line(last: Evaluation) -> str:
    """Return the outlook of the window, and what came of it; empty without an outlook."""
    said = foreseen(last.metrics)
    return f"Outlook, from the scores alone: {said}." if said else ""


def noticed(change: Transition, zone: ZoneInfo) -> str:
    """When a change was seen."""
    return f"noticed {instant(change.at, zone)}"


def dated(moment: datetime, zone: ZoneInfo) -> str:
    """From when a new champion was used."""
    return f"from {instant(moment, zone)}"


def chart_label(evaluations: Sequence[Evaluation]) -> str:
    """Return the chart for those who do not see it."""
    degraded = sum(each.outcome is Status.DEGRADED for each in evaluations)
    return f"AUROC of {count(len(evaluations), 'window')} over time, {degraded} of them degraded"


def nothing(monitor: str, period: str) -> str:
    """Why there is no report, and what to do."""
    return (
        f"{monitor} has no judged window{period}; `rocmonitor history {monitor}` lists those that there are, "
        f"and `rocmonitor run {monitor}` judges what is due"
    )


def _labels(counts: Counts) -> str:
    return percent(counts.labelled_share)


def _classes(counts: Counts) -> str:
    return f"{count(counts.n_pos, 'positive')}, {count(counts.n_neg, 'negative')}"


def allotment(each: Allotment) -> str:
    """Return what a budget means for the verdicts of its monitors."""
    text = (
        f"{_allowed(each)}{_of(each.group)} for {count(len(each.levels), 'monitor')}: "
        f"{count(each.verdicts, 'verdict')} a year that may be false (the segments of a window count as one)"
    )
    if not any(levels.derived for levels in each.levels.values()):
        return f"{text}; every rule has a level of its own"
    return (
        f"{text}; a rule without a level of its own gives a false alarm with probability {each.tail:.2g}, "
        "or that of its default where that is smaller"
    )


def yearly(each: Allotment, *, sent: int, acknowledged: int, not_sent: int) -> str:
    """Budget, what is expected of it, and the alarms of a year.

    Examples
    --------
    >>> quiet = Allotment(
    ...     group="", budget=4.0, levels={}, tail=0.001, verdicts=3000, written=0.0, expected=3.0
    ... )
    >>> yearly(quiet, sent=5, acknowledged=0, not_sent=0)
    'Alarm budget: 4 false alarms a year, at most 3 expected; 5 alarms sent in 365 days.'
    """
    came = f"{count(sent, 'alarm')} sent in 365 days"
    if acknowledged:
        came += f" ({acknowledged} acknowledged)"
    if not_sent:
        came += f", {not_sent} not sent (muted or repeated)"
    return f"Alarm budget{_of(each.group)}: {_allowed(each)}, at most {each.expected:.2g} expected; {came}."


def _allowed(each: Allotment) -> str:
    return f"{each.budget:g} false alarm{'' if each.budget == 1 else 's'} a year"


def _of(group: str) -> str:
    return f" of {group}" if group else ""
