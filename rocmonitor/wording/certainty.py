"""How far chance can explain what was found, in words."""

from __future__ import annotations

from rocmonitor.policy.evaluation import Evaluation, Status, Transition
from rocmonitor.policy.measure import LEVEL
from rocmonitor.wording.format import count, percent, span
from rocmonitor.wording.status import deciding, forecast_limits


def how_sure(change: Transition, evaluation: Evaluation) -> str:
    """How far chance can explain what was found; empty where there is no AUROC."""
    metrics, counts = evaluation.metrics, evaluation.counts
    rows = f"{count(counts.n_pos, 'positive')} and {count(counts.n_neg, 'negative')}"
    if not {"champion/auc_low", "champion/auc_high"} <= metrics.keys():
        return ""
    low, high = metrics["champion/auc_low"], metrics["champion/auc_high"]
    ends = f"{percent(LEVEL)} interval {span(low, high)}"
    decided = deciding(change, evaluation)
    limits = forecast_limits(evaluation, decided)
    if limits is None or change.after is Status.OK:
        return f"{ends}, from {rows}."
    place = "reaches into the normal range"
    if high < limits[0]:
        place = "lies wholly below the normal range"
    elif low > limits[1]:
        place = "lies wholly above the normal range"
    elif limits[0] <= metrics["champion/auc"] <= limits[1]:
        place = "overlaps the normal range"
    chance = ""
    if decided is not None and decided.kind == "forecast" and decided.confidence_level is not None:
        share = percent(1 - decided.confidence_level, 2)
        chance = f" With nothing wrong, about {share} of windows fall outside that range."
    return f"the {ends}, from {rows}, {place}.{chance}"
