"""What a report says of a monitor: the first sentence, the numbers below it, and why nothing can be shown."""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from rocmonitor.policy.evaluation import Counts, Evaluation, Status, Transition
from rocmonitor.policy.measure import LEVEL
from rocmonitor.wording.format import area, count, forecast_span, instant, percent, span
from rocmonitor.wording.outlook import foreseen
from rocmonitor.wording.status import WORDS, lack

LEGEND = (
    ("band", "forecast interval: where the AUROC is expected"),
    ("rule", "AUROC of the whole reference"),
)
"""What the shades and lines of the chart are."""

CHART = (
    "AUROC of each window with its interval. A hollow mark waits for labels; r1 marks a window that late "
    "labels have revised; a dotted vertical line is where a new status begins. Left of the solid line are "
    "the windows of the reference. Below: the number of positives of each window, and their share."
)


def status_word(status: Status) -> str:
    """A status at the start of a sentence."""
    return "Ok" if status is Status.OK else WORDS[status].headline


def sentence(last: Evaluation) -> str:
    """What the last window shows beside what is normal."""
    metrics, window = last.metrics, last.window.in_zone(last.zone)
    if "champion/auc" not in metrics:
        return f"{lack(last.counts)[0].capitalize()} in the window of {window}: it cannot be judged."
    ends = span(metrics["champion/auc_low"], metrics["champion/auc_high"])
    low, high = metrics.get("forecast/low"), metrics.get("forecast/high")
    normal = "" if low is None or high is None else f", normally {forecast_span(low, high)}"
    return f"AUROC {area(metrics['champion/auc'])} ({ends}) in the window of {window}{normal}."


def standing(status: Status, changes: Sequence[Transition], zone: ZoneInfo) -> str:
    """The status, and since when it holds."""
    since = next((change.since for change in reversed(changes) if change.after is status), None)
    return status_word(status) + ("" if since is None else f" since {instant(since, zone)}") + "."


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


def change_line(change: Transition, zone: ZoneInfo) -> str:
    """A change of status in one line."""
    return f"{status_word(change.after)} since {instant(change.since, zone)}, was {change.before}"


def noticed(change: Transition, zone: ZoneInfo) -> str:
    """When a change was seen."""
    return f"noticed {instant(change.at, zone)}"


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
