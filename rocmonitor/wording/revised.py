"""Revisions in words: what was found of a past window before, and what is found now."""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from rocmonitor.errors import printable
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.revised import Revised
from rocmonitor.wording.format import apart, area

_AFTER = {
    "late": "after labels or rows came late",
    "corrected": "after labels or scores were corrected",
    "settings": "under the present settings",
}
_MOST = 2

CHECK_WORSE = "were they corrected on purpose? Then the model was worse than the first result showed."
CHECK_LATE = "do they often come this late? Then a longer window.label_delay judges once, with all of them."
CHECK_SETTINGS = "were the rules changed on purpose? They now find these windows degraded."


def title(found: Sequence[Revised]) -> str:
    """Return what a title says after the monitor's name."""
    if len(found) == 1:
        return f"judged again, {_values(found[0])}"
    worse = sum(each.is_worse for each in found)
    which = f"{worse} now degraded" if worse else "none degraded now"
    return f"{len(found)} windows judged again, {which}"


def headline(found: Sequence[Revised]) -> str:
    """Return what happened, in one line."""
    after = _AFTER[found[0].cause] if len({each.cause for each in found}) == 1 else _AFTER["corrected"]
    if len(found) > 1:
        return f"{len(found)} past windows were judged again {after}"
    return f"Judged again {after}: {_change(found[0])}"


def lines(found: Sequence[Revised], zone: ZoneInfo) -> list[str]:
    """Return the window, or a line for each of several, at most two."""
    if len(found) == 1:
        return [f"Window {found[0].window.in_zone(zone)}"]
    return [
        f"{' '.join(filter(None, [printable(each.segment), each.window.in_zone(zone)]))}: {_change(each)}"
        for each in found[:_MOST]
    ]


def rest(found: Sequence[Revised]) -> str:
    """Return how many more there are, and how the monitor stands all the same."""
    more = f"And {len(found) - _MOST} more. " if len(found) > _MOST else ""
    return f"{more}The status is still {found[-1].status}: it follows from the newest windows."


def advice(found: Sequence[Revised]) -> str:
    """Return what to check first; empty when windows have only recovered."""
    if not any(each.is_worse for each in found):
        return ""
    causes = {each.cause for each in found}
    return CHECK_SETTINGS if causes == {"settings"} else CHECK_LATE if causes == {"late"} else CHECK_WORSE


def judged_again(
    *, cause: str, before: str, after: str, auc_before: float | None = None, auc: float | None = None
) -> str:
    """Return a reason of a change of status."""
    return f"the window was judged again {_AFTER[cause]}: {_compared(auc_before, auc)}{after}, was {before}"


def _change(each: Revised) -> str:
    now = "now degraded" if each.is_worse else f"now {each.after}"
    return f"{_compared(each.auc_before, each.auc)}{now}, was {each.before}"


def _compared(before: float | None, now: float | None) -> str:
    if before is None or now is None:
        return "" if now is None else f"AUROC {area(now)}, "
    if before == now:
        return f"AUROC {area(now)}, "
    shown = apart(before, now)
    return f"AUROC {shown[0]} → {shown[1]}, "


def _values(each: Revised) -> str:
    if each.auc is None:
        return f"was {each.before}"
    if each.auc_before is None:
        return f"AUROC {each.auc:.2f}, was {each.before}"
    if each.auc == each.auc_before:
        return f"AUROC {each.auc:.2f}, was {each.before}"
    now, before = apart(each.auc, each.auc_before)
    return f"AUROC {now}, was {before}{'' if each.is_worse else f' and {Status.DEGRADED}'}"
