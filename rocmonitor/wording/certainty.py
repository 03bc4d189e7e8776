"""The chance that luck explains a finding, in words."""

from __future__ import annotations

from rocmonitor.policy.evaluation import Evaluation, Status, Transition, known
from rocmonitor.policy.measure import LEVEL
from rocmonitor.wording.format import count, percent, span
from rocmonitor.wording.status import deciding, forecast_limits


def how_sure(change: Transition, evaluation: Evaluation) -> str:
    """Return how far chance can explain what was found; empty where there is no AUROC."""
    metrics, counts = evaluation.metrics, evaluation.counts
    rows = f"{count(counts.n_pos, 'positive')} and {count(counts.n_neg, 'negative')}"
    found = known(metrics, "champion/auc", "champion/auc_low", "champion/auc_high")
    if found is None:
        return ""
    auc, low, high = found
    ends = f"{percent(LEVEL)} interval {span(low, high)}"
    decided = deciding(change, evaluation)
    limits = forecast_limits(evaluation, decided)
    if limits is None or change.after is Status.OK:
        return f"{ends}, from {rows}."
    place = "it reaches into the normal range"
    if high < limits[0]:
        place = "all of it below the normal range"
    elif low > limits[1]:
        place = "all of it above the normal range"
    elif limits[0] <= auc <= limits[1]:
        place = "it overlaps the normal range"
    return f"{ends}, from {rows}: {place}."
