"""The chance that luck explains a finding, in words."""

from __future__ import annotations

from statistics import NormalDist

from rocmonitor.conventions import LEVEL
from rocmonitor.policy.episode import CHANGE, Decline
from rocmonitor.policy.evaluation import Evaluation, Status, Transition, known
from rocmonitor.wording.episode import chance
from rocmonitor.wording.format import count, decimals, percent
from rocmonitor.wording.status import deciding, lasting

_LEAST = 1e-9


def how_sure(change: Transition, evaluation: Evaluation, episode: Decline | None = None) -> str:
    """Return how far chance can explain what was found; empty where there is no AUROC."""
    metrics, counts = evaluation.metrics, evaluation.counts
    found = known(metrics, "champion/auc", "champion/auc_low", "champion/auc_high")
    if found is None:
        return ""
    if episode is not None and episode.end is not None and episode.still is not None:
        return ""  # the first line has it
    often = _often(change, evaluation)
    if loss := lasting(change, episode):
        decided = deciding(change, evaluation)
        often = often if decided is not None and decided.kind == "lasting" else ""
        return f"{count(loss.windows, 'window')} together{often and f'; {often}'}."
    rows = f"{count(counts.n_pos, 'positive')} and {count(counts.n_neg, 'negative')}"
    digits = decimals(found[1], found[2], 1)
    ends = f"{found[1]:.{digits}f} to {found[2]:.{digits}f}"
    return f"{percent(LEVEL)} interval {ends}, from {rows}{often and f'; {often}'}."


def _often(change: Transition, evaluation: Evaluation) -> str:
    """Return how often chance alone would make such an alarm; empty where that is not known.

    Of a rule ``lasting`` by what it promises; of one window by the normal law of its change, with the scatter
    of the reference windows.
    """
    if change.after not in (Status.DEGRADED, Status.IMPROVED):
        return ""
    days = (evaluation.window.end - evaluation.window.start).total_seconds() / 86400
    decided = deciding(change, evaluation)
    if decided is not None and decided.kind == "lasting":
        within = decided.details.get("false_alarm_probability")
        return chance(days * decided.details["horizon"] / within) if within else ""
    found = known(evaluation.metrics, *CHANGE)
    if found is None:
        return ""
    value, error, shared = found
    tail = NormalDist().cdf(-abs(value) / (error**2 + shared**2) ** 0.5)
    return chance(days / max(tail, _LEAST))
