"""A change of status by label, the same in a message and on the page; and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist

from rocmonitor.caveat import Caveat
from rocmonitor.conventions import LEVEL, NORMAL_95
from rocmonitor.policy.episode import CHANGE, OF_EPISODE, Decline
from rocmonitor.policy.evaluation import BROKEN, Brief, Evaluation, Reason, Status, Transition, known
from rocmonitor.policy.left_out import doubts_of
from rocmonitor.wording import episode as episodes
from rocmonitor.wording import status as words
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.format import count, decimals, instant, normal_range, one_line, percent, with_interval
from rocmonitor.wording.verdicts import reasons, without_basis
from rocmonitor.wording.window import moved_briefly

_LEAST = 1e-9


def facts(change: Transition, evaluation: Evaluation | None, episode: Decline | None) -> dict[str, str]:
    """Return what can be said of a change by its label, in order; only what there is to say.

    `evaluation` is the window it was seen in, `episode` the loss that it begins, changes or ends.
    """
    moved, rival = moved_briefly(evaluation) if evaluation else "", ""
    window = instant(evaluation.window.start, evaluation.zone) if evaluation else ""
    if episode is not None and episode.is_open:
        if episode.windows > 1:
            moved = episodes.groups(episode) or (
                moved and f"In the window of {window}: {moved[0].lower()}{moved[1:]}"
            )
        rival = episodes.challenger(episode)
    doubts = [] if evaluation is None else doubts_of(evaluation.reference)
    doubt = words_of(doubts[0].bare()) if doubts else ""
    unsaid: list[Reason] = []  # an error, k-of-n, a rule that knows no normal range
    lasts = words.lasting(change, episode) is not None  # the first line has it
    for reason in change.reasons:
        if isinstance(reason, Caveat):
            is_said = reason.code not in BROKEN if lasts else reason.code in OF_EPISODE
        else:
            is_said = lasts or reason.outcome is Status.OK or (reason.kind == "forecast" and not reason.lacks)
        if not is_said:
            unsaid.append(reason)
    by_label = {
        "How sure": how_sure(change, evaluation, episode) if evaluation else "",
        "Reference": doubt[:1].upper() + doubt[1:],
        "Why": "; ".join(reasons(unsaid)),
        "What moved": moved,
        "Challenger": rival,
        "Check": words.advice(change, evaluation),
    }
    return {label: text for label, text in by_label.items() if text}


def briefly(
    status: str, given: Iterable[Reason], episode: Decline | None, newest: Brief | None = None
) -> str:
    """Return why a status is not ok, in a few words: an open loss if the status is of it, or the reason."""
    if status == "ok":
        return ""
    if status in ("degraded", "at-risk") and episode and (text := episodes.brief(episode)):
        # The mean of a long loss hides a window that is clearly below it.
        below = episode.auc_low or 0.0
        if newest is not None and newest.auc is not None and newest.high is not None and newest.high < below:
            text += f"; {with_interval(newest.auc, newest.low, newest.high)} in the newest window"
        return text
    return "".join(one_line(without_basis(reason), 52) for reason in reasons(given)[:1])


def how_sure(change: Transition, evaluation: Evaluation, episode: Decline | None = None) -> str:
    """Return how far chance can explain what was found; empty where there is no AUROC."""
    metrics, counts = evaluation.metrics, evaluation.counts
    interval = known(metrics, "champion/auc_low", "champion/auc_high")
    if interval is None:
        return ""
    if episode is not None and episode.end is not None and episode.still is not None:
        return ""  # the first line has it
    source = f"{count(counts.n_pos, 'positive')} and {count(counts.n_neg, 'negative')}"
    loss, (low, high) = words.lasting(change, episode), interval
    if loss is not None:
        source = count(loss.windows, "window")
        low, high = loss.auc_low or low, loss.auc_high or high
    often = _often(change, evaluation, loss)
    ends = normal_range(low, high, decimals(low, high, 1))
    return f"{percent(LEVEL)} interval {ends}, from {source}{often and f'; {often}'}."


def _often(change: Transition, evaluation: Evaluation, loss: Decline | None) -> str:
    """Return how often chance alone would make such an alarm; empty where that is not known.

    Of a rule ``lasting`` by what it promises; of other rules by the normal law of the change of the window,
    or of all windows of the loss, with the scatter of the reference windows.
    """
    if change.after not in (Status.DEGRADED, Status.IMPROVED):
        return ""
    days = (evaluation.window.end - evaluation.window.start).total_seconds() / 86400
    decided = words.deciding(change, evaluation)
    if decided is not None and decided.kind == "lasting":
        within = decided.details.get("false_alarm_probability")
        return episodes.chance(days * decided.details["horizon"] / within) if within else ""
    difference = known(evaluation.metrics, *CHANGE)
    if difference is None:
        return ""
    value, error, shared = difference
    se = math.hypot(error, shared)
    if loss is not None and loss.size is not None and loss.size_low is not None:
        value, se, days = loss.size, (loss.size - loss.size_low) / NORMAL_95, days * loss.windows
    return episodes.chance(days / max(NormalDist().cdf(-abs(value) / se), _LEAST))
