"""Revisions in words: what was found of a past window before, and what is found now."""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from rocmonitor.errors import printable
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.status import Revised
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


def title(revisions: Sequence[Revised]) -> str:
    """Return what a title says after the monitor's name."""
    if len(revisions) > 1:
        worse = sum(revision.is_worse for revision in revisions)
        which = f"{worse} now degraded" if worse else "none degraded now"
        return f"{len(revisions)} windows judged again, {which}"
    revision = revisions[0]
    if revision.auc is None:
        return f"judged again, was {revision.before}"
    if revision.auc_before is None or revision.auc_before == revision.auc:
        return f"judged again, AUROC {revision.auc:.2f}, was {revision.before}"
    now, before = apart(revision.auc, revision.auc_before)
    return f"judged again, AUROC {now}, was {before}{'' if revision.is_worse else f' and {Status.DEGRADED}'}"


def headline(revisions: Sequence[Revised]) -> str:
    """Return what happened, in one line."""
    after = (
        _AFTER[revisions[0].cause]
        if len({revision.cause for revision in revisions}) == 1
        else _AFTER["corrected"]
    )
    if len(revisions) > 1:
        return f"{len(revisions)} past windows were judged again {after}"
    return f"Judged again {after}: {_change(revisions[0])}"


def lines(revisions: Sequence[Revised], zone: ZoneInfo) -> list[str]:
    """Return the window, or a line for each of several, at most two."""
    if len(revisions) == 1:
        return [f"Window {revisions[0].window.in_zone(zone)}"]
    return [
        f"{' '.join(filter(None, [printable(revision.segment), revision.window.in_zone(zone)]))}: "
        f"{_change(revision)}"
        for revision in revisions[:_MOST]
    ]


def rest(revisions: Sequence[Revised]) -> str:
    """Return how many more there are, and how the monitor stands all the same."""
    more = f"And {len(revisions) - _MOST} more. " if len(revisions) > _MOST else ""
    return f"{more}The status is still {revisions[-1].status}: it follows from the newest windows."


def advice(revisions: Sequence[Revised]) -> str:
    """Return what to check first; empty when windows have only recovered."""
    if not any(revision.is_worse for revision in revisions):
        return ""
    causes = {revision.cause for revision in revisions}
    return CHECK_SETTINGS if causes == {"settings"} else CHECK_LATE if causes == {"late"} else CHECK_WORSE


def judged_again(
    *, cause: str, before: str, after: str, auc_before: float | None = None, auc: float | None = None
) -> str:
    """Return a reason of a change of status."""
    return f"the window was judged again {_AFTER[cause]}: {_compared(auc_before, auc)}{after}, was {before}"


def _change(revision: Revised) -> str:
    now = "now degraded" if revision.is_worse else f"now {revision.after}"
    return f"{_compared(revision.auc_before, revision.auc)}{now}, was {revision.before}"


def _compared(before: float | None, now: float | None) -> str:
    if before is None or now is None:
        return "" if now is None else f"AUROC {area(now)}, "
    if before == now:
        return f"AUROC {area(now)}, "
    shown = apart(before, now)
    return f"AUROC {shown[0]} → {shown[1]}, "
