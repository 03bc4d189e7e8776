"""The written rule, applied to what the confidence sequences show after each check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocmonitor.policy.review.checks import Track
from rocmonitor.policy.review.document import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The decision by the rule.

    Attributes
    ----------
    decision : Decision
        After the last window.
    number : int or None
        The window since which it has stood, counted from 0; None without a decision.
    withdrawn : (Decision, int) or None
        Where there is no decision: the last there was, and the last window after which it stood.
    """

    decision: Decision
    number: int | None
    withdrawn: tuple[Decision, int] | None


def rule_on(tracks: Sequence[Track], margin: float, windows: int) -> Ruling:
    """The decision after the last window, and since which window it has stood.

    Parameters
    ----------
    tracks : sequence of Track
        That of the AUROC first, as from `rocmonitor.policy.review.checks.track_comparisons`.
    margin : float
        Smallest AUROC difference that is worth a decision. A trade-off needs none: any difference that is
        shown contradicts one in favour of the other model.
    windows : int

    Notes
    -----
    With the rule's confidence level all sequences contain the truth at all checks together, so that ruling
    again after each costs nothing. An interval may widen again if later windows differ from earlier ones:
    a decision stands as long as the windows support it.
    """
    decisions = [_decision(tracks, margin, number) for number in range(windows)]
    final = decisions[-1]
    # The last window after which it was otherwise.
    other = next((i for i in reversed(range(windows)) if decisions[i] is not final), None)
    undecided = final is Decision.UNDECIDED
    return Ruling(
        decision=final,
        number=None if undecided else 0 if other is None else other + 1,
        withdrawn=(decisions[other], other) if undecided and other is not None else None,
    )


def _decision(tracks: Sequence[Track], margin: float, number: int) -> Decision:
    bounds = [track.bounds(number) for track in tracks]
    if any(low > 0 for low, _ in bounds) and any(high < 0 for _, high in bounds):
        return Decision.TRADE_OFF
    low, high = bounds[0]
    if low > margin:
        return Decision.CHALLENGER
    return Decision.CHAMPION if high < -margin else Decision.UNDECIDED
