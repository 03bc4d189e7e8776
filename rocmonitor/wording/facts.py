"""A change of status by label: the same facts in a message and on the page."""

from __future__ import annotations

from collections.abc import Iterable

from rocmonitor.caveat import Caveat
from rocmonitor.policy.episode import OF_EPISODE, Decline
from rocmonitor.policy.evaluation import Evaluation, Reason, Status, Transition, Verdict
from rocmonitor.policy.left_out import doubts_of
from rocmonitor.wording import episode as episodes
from rocmonitor.wording import status as words
from rocmonitor.wording.certainty import how_sure
from rocmonitor.wording.format import one_line
from rocmonitor.wording.verdicts import reasons, without_basis
from rocmonitor.wording.window import moved_briefly


def facts(change: Transition, evaluation: Evaluation | None, episode: Decline | None) -> dict[str, str]:
    """Return what can be said of a change by its label, in order; only what there is to say.

    Parameters
    ----------
    change : Transition
    evaluation : Evaluation or None
        The window it was seen in.
    episode : Decline or None
        The loss that it begins, changes or ends.
    """
    moved, rival = moved_briefly(evaluation) if evaluation else "", ""
    if episode is not None and episode.is_open:
        moved = (episodes.groups(episode) if episode.windows > 1 else "") or moved
        rival = episodes.challenger(episode)
    doubts = [] if evaluation is None else doubts_of(evaluation.reference)
    doubt = str(doubts[0].bare()) if doubts else ""
    found = {
        "How sure": how_sure(change, evaluation, episode) if evaluation else "",
        "Reference": doubt[:1].upper() + doubt[1:],
        "Why": "" if words.lasting(change, episode) else "; ".join(_why(change)),
        "What moved": moved,
        "Challenger": rival,
        "Check": words.advice(change, evaluation),
    }
    return {label: text for label, text in found.items() if text}


def briefly(status: str, given: Iterable[Reason], episode: Decline | None) -> str:
    """Return why a status is not ok, in a few words: an open loss, else the first reason."""
    if status == "ok" or (said := episodes.brief(episode)):
        return "" if status == "ok" else said
    return "".join(one_line(without_basis(each), 52) for each in reasons(given)[:1])


def _why(change: Transition) -> list[str]:
    """Return what the first line does not say: an error, k-of-n, a rule that knows no normal range."""
    return reasons(
        each
        for each in change.reasons
        if (each.code not in OF_EPISODE if isinstance(each, Caveat) else _is_why(each))
    )


def _is_why(found: Verdict) -> bool:
    return found.outcome is not Status.OK and (found.kind != "forecast" or bool(found.lacks))
