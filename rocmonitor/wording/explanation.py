"""The groups that made a change, in words."""

from __future__ import annotations

from rocmonitor.policy.explanation import Explanation, GroupPart
from rocmonitor.wording.format import percent

_MOST_OF_IT = 0.5  # of a part: what is named as its reason
_OF_THE_MIX = 0.25  # of a change: what more or fewer rows of a group must have done to be named


def sentence(of: Explanation) -> str:
    """Return which group explains most of a change, and how; or that none does."""
    change = of.auc - of.reference_auc
    fell = (
        f"The AUROC {'fell' if change < 0 else 'rose'} by {abs(change):.4f}, from {of.reference_auc:.4f} to "
        f"{of.auc:.4f}"
    )
    found = [each for each in of.parts if each.is_found and _stands_out(each, change)]
    if not of.parts:
        return f"{fell}. No column could be used."
    if not found:
        differ = any(each.is_found for each in of.parts)
        some = "Groups differ (●), but none" if differ else "No column explains it: no group"
        return f"{fell}. {some} did much more than its share of the rows."
    most = max(found, key=lambda each: abs(each.part))
    share = percent(most.part / change, 2)
    return f"{fell}. {share} of that comes from {most.column} = {most.group}: {_how(most)}."


def _stands_out(part: GroupPart, change: float) -> bool:
    """Return True if a group did clearly more than its share of the rows; a change of all alike is no
    group's.
    """
    rows = max(part.share, part.reference_share)
    beyond = part.ranking / change > rows + (1 - rows) / 4 if change else False
    return beyond or (change != 0 and part.mix / change > _OF_THE_MIX)


def _how(part: GroupPart) -> str:
    ranking = f"its rows are ranked {'worse' if part.ranking < 0 else 'better'}"
    shares = f"{percent(part.share, 2)} of the rows, {percent(part.reference_share, 2)} in the reference"
    mix = f"there are {'more' if part.share > part.reference_share else 'fewer'} of them ({shares})"
    if abs(part.mix) <= (1 - _MOST_OF_IT) * abs(part.part):
        return f"{ranking}; {shares}"
    if abs(part.ranking) <= (1 - _MOST_OF_IT) * abs(part.part):
        return mix
    return f"{ranking}, and {mix}"
