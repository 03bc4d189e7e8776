"""The groups that made a change, in words."""

from __future__ import annotations

from collections.abc import Sequence

from rocmonitor.policy.explanation import Explanation, GroupPart
from rocmonitor.policy.record import Row
from rocmonitor.wording.format import apart, percent
from rocmonitor.wording.shift import change_of

REFERENCE, WINDOW, REST = "reference", "this window", "all others"
"""The first and the last line of a waterfall, and the groups that it does not show."""

_SAME = 0.1  # part by which a share may change and is called unchanged
_MOST_OF_IT = 0.5  # of a part: what is named as its reason


def sentence(explanation: Explanation) -> str:
    """Return which group explains most of a change, and how; or that none does."""
    what = "AUROC that the scores lead to" if explanation.expected else "AUROC"
    fell = change_of(what, explanation.reference_auc, explanation.auc)
    if not explanation.parts:
        return f"{fell}. No column could be used."
    if (most := explanation.leading) is None:
        differ = any(part.is_marked(explanation.change) for part in explanation.parts)
        nothing = "No column explains it: no group" if round(explanation.change, 3) else "No group"
        some = "Groups differ (●), but none" if differ else nothing
        return f"{fell}. {some} did much more than its share of the rows."
    share = _share(most, explanation.change)
    text = f"{fell}. {share} of that comes from {named(most)}: {how(most, expected=explanation.expected)}."
    return f"{text} {without(most)}".rstrip()


def without(part: GroupPart) -> str:
    """Return the AUROC of all rows but those of a group; empty if unknown."""
    if part.auc_without is None or part.reference_auc_without is None:
        return ""
    now, before = apart(part.auc_without, part.reference_auc_without, most=3)
    return f"Without {part.group} the AUROC is {now} ({before} in the reference)."


def judged_with(explanation: Explanation, auc: float | None) -> str:
    """Return with which AUROC the window was judged, where the labels that are known now give another."""
    if explanation.expected or auc is None or explanation.auc == auc:
        return ""
    judged, now = apart(auc, explanation.auc)
    return f"The window was judged with {judged}: {now} is by the labels that are known now."


def main_group(explanation: Explanation | None) -> str:
    """Return in one sentence which group explains most of a change; empty if none does."""
    if explanation is None or (most := explanation.leading) is None:
        return ""
    what = ("expected " if explanation.expected else "") + ("rise" if explanation.change > 0 else "fall")
    share = _share(most, explanation.change)
    return f"{share} of the {what} comes from {named(most)}: {how(most, expected=explanation.expected)}."


def spread(explanation: Explanation | None) -> str:
    """Return in one sentence that no group explains a change; empty if one does or none was asked."""
    if explanation is None or not explanation.parts or explanation.leading is not None:
        return ""
    columns = sorted({part.column for part in explanation.parts})
    named = ", ".join(columns[:-1]) + " or " + columns[-1] if len(columns) > 1 else columns[0]
    return f"No group of {named} did much more than its share of the rows."


def curve_sentence(rows: Sequence[Row], change: float) -> str:
    """Return where on the ROC curve a change shows most; empty if chance can explain it everywhere."""
    way = -1.0 if change < 0 else 1.0
    clear = [row for row in rows if (row["high"] if way < 0 else -row["low"]) < 0]
    if not clear:
        return ""
    row = max(clear, key=lambda point: way * point["difference"])
    low, high = sorted(abs(100 * row[end]) for end in ("low", "high"))
    more = f", the largest gap of {len(rows)} checked" if len(rows) > 1 else ""
    return (
        f"At a false positive rate of {percent(row['fpr'])} it finds {percent(row['tpr'])} of the positives, "
        f"{percent(row['reference_tpr'])} in the reference: {abs(100 * row['difference']):.1f} points "
        f"{'fewer' if way < 0 else 'more'} ({low:.1f} to {high:.1f}){more}."
    )


def caption(explanation: Explanation) -> str:
    """Return what a waterfall shows."""
    column = "" if explanation.leading is None else explanation.leading.column
    return f"From the AUROC of the reference to that of this window, by {column}: each bar is a group's part."


def _share(part: GroupPart, change: float) -> str:
    return "All" if part.part / change >= 1 else percent(part.part / change, 2)


def named(part: GroupPart) -> str:
    """Return a group with its column."""
    return f"{part.column} = {part.group}"


def how(part: GroupPart, *, expected: bool = False) -> str:
    """Return what a group did: by its ranking, by its share of the rows, or by both."""
    way = (
        ("less" if part.ranking < 0 else "more") if expected else ("worse" if part.ranking < 0 else "better")
    )
    ranking = f"its scores tell {way} apart" if expected else f"its rows are ranked {way}"
    share, before = percent(part.share, 2), percent(part.reference_share, 2)
    same = abs(part.share - part.reference_share) < _SAME * max(part.share, part.reference_share)
    shares = (
        f"its share is unchanged ({share})" if same else f"{share} of the rows, {before} in the reference"
    )
    if abs(part.mix) <= (1 - _MOST_OF_IT) * abs(part.part):
        return f"{ranking}; {shares}"
    more = "more" if part.share > part.reference_share else "fewer"
    mix = f"there are {more} of them ({share} of the rows, {before} in the reference)"
    if abs(part.ranking) <= (1 - _MOST_OF_IT) * abs(part.part):
        return mix
    return f"{ranking}, and {mix}"
