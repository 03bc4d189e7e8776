"""The written rule, applied to what the confidence sequences show after each look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocmonitor.policy.review.checks import Track
from rocmonitor.policy.review.document import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What the rule says.

    Attributes
    ----------
    decision : Decision
        After the last window.
    number : int or None
        The window since which it has been so at every look, counted from 0; None while there is no decision.
    withdrawn : (Decision, int) or None
        Where there is no decision: the last there was, and the window up to which it stood.
    challenger, champion : tuple of Track
        The comparisons by which each is shown to be better.
    """

    decision: Decision
    number: int | None
    withdrawn: tuple[Decision, int] | None
    challenger: tuple[Track, ...]
    champion: tuple[Track, ...]


def rule_on(tracks: Sequence[Track], margin: float, windows: int) -> Ruling:
    """The decision after the last of so many windows, and since when it has stood.

    Parameters
    ----------
    tracks : sequence of Track
        That of the AUROC first, as from `rocmonitor.policy.review.checks.follow`.
    margin : float
        Smallest AUROC difference that is worth a decision. A trade-off asks for none: any difference that is
        shown contradicts one to the other side.
    windows : int

    Notes
    -----
    All sequences hold the truth at all looks together, with the rule's confidence level, so nothing is paid
    for ruling again after each. An interval may widen again, when later windows differ from the earlier ones:
    a decision stands while the windows so far bear it out.
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
        challenger=tuple(track for track in tracks if track.better == "challenger"),
        champion=tuple(track for track in tracks if track.better == "champion"),
    )


def _decision(tracks: Sequence[Track], margin: float, number: int) -> Decision:
    bounds = [track.bounds(number) for track in tracks]
    if any(low > 0 for low, _ in bounds) and any(high < 0 for _, high in bounds):
        return Decision.TRADE_OFF
    low, high = bounds[0]
    if low > margin:
        return Decision.CHALLENGER
    return Decision.CHAMPION if high < -margin else Decision.UNDECIDED
