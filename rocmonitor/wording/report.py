"""The words of a report that is not there, and of an alarm budget."""

from __future__ import annotations

from rocmonitor.policy.budget import Allotment
from rocmonitor.wording.format import count, listed


def nothing(monitor: str, period: str) -> str:
    """Why there is no report, and what to do."""
    return (
        f"{monitor} has no judged window{period}; `rocmonitor history {monitor}` lists those it has, "
        f"and `rocmonitor run {monitor}` judges what is due"
    )


def allotment(allotted: Allotment) -> str:
    """Return what a budget means for the verdicts of its monitors."""
    text = (
        f"{_allowed(allotted)}{_of(allotted.group)} for {count(len(allotted.levels), 'monitor')}: "
        f"{count(allotted.verdicts, 'verdict')} a year that may be false "
        "(the segments of a window count as one)"
    )
    if not any(levels.derived for levels in allotted.levels.values()):
        return f"{text}; every rule has a level of its own"
    return (
        f"{text}; a rule without a level of its own gives a false alarm with probability "
        f"{allotted.tail:.2g}, or that of its default where that is smaller"
    )


def yearly(allotted: Allotment, *, sent: int, acknowledged: int, not_sent: int) -> str:
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
    others = (
        f", besides {listed(allotted.uncounted)} (`rocmonitor check` counts them)"
        if allotted.uncounted
        else ""
    )
    expected = f"at most {allotted.expected:.2g} expected{others}"
    return f"Alarm budget{_of(allotted.group)}: {_allowed(allotted)}, {expected}; {came}."


def _allowed(allotted: Allotment) -> str:
    return f"{allotted.budget:g} false alarm{'' if allotted.budget == 1 else 's'} a year"


def _of(group: str) -> str:
    return f" of {group}" if group else ""
