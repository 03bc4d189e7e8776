"""The scores that made an AUROC what it is, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from rocmonitor.wording.format import signed

if TYPE_CHECKING:
    from rocmonitor.stats import ShiftExplanation

SMALL_PART = 0.1
"""Share of a change below which a part of it is not explained further."""


def explanation(
    rows: Sequence[Mapping[str, Any]],
    *,
    reference_auc: float,
    auc: float,
    from_positives: float,
    from_negatives: float,
    low_is_positive: bool = False,
) -> str:
    """Return a few plain sentences with numbers, from the bins of a shift.

    Of each class whose part matters they name the end of a bin at which the share of scores above has
    changed most in the direction of the part. The larger part is given as the rest of the change, so that
    the printed numbers add up.

    `rows` are the score bins, lowest first, with ``high`` and, of each class (``pos``, ``neg``), its share in
    the ``…_reference`` and in the ``…_window``. Where low scores are the positive ones, shares below a score
    are compared.
    """
    change = auc - reference_auc
    sentences = [f"{change_of('AUROC', reference_auc, auc)}."]
    parts = {"pos": from_positives, "neg": from_negatives}
    printed = rounded_parts(parts, change)
    for key, part in sorted(parts.items(), key=lambda item: -abs(item[1])):
        gain = part if key == "pos" else -part
        clause = "" if abs(part) <= SMALL_PART * abs(change) else _moved(rows, key, gain, low_is_positive)
        name = "positives" if key == "pos" else "negatives"
        sentences.append(f"The {name}' part is {signed(printed[key], 3)}{clause}.")
    return " ".join(sentences)


def in_words(shift: ShiftExplanation) -> str:
    """Return the same for a result of `rocmonitor.stats.explain_shift`."""
    return explanation(
        shift.bins(),
        reference_auc=shift.reference_auc,
        auc=shift.auc,
        from_positives=shift.from_positives,
        from_negatives=shift.from_negatives,
    )


def change_of(what: str, before: float, after: float) -> str:
    """Return how an AUROC differs from that of the reference, as far as three decimals show it."""
    if not round(after - before, 3):
        return f"The {what} is {after:.3f}, as in the reference"
    verb = "rose" if after > before else "fell"
    return f"The {what} {verb} by {abs(after - before):.3f}, from {before:.3f} to {after:.3f}"


def main_part(
    rows: Sequence[Mapping[str, Any]],
    *,
    reference_auc: float,
    auc: float,
    from_positives: float,
    from_negatives: float,
    low_is_positive: bool = False,
) -> str:
    """One sentence on the class that made most of the change; arguments as of `explanation`.

    Empty where nothing has changed.
    """
    change = auc - reference_auc
    key, part = max(("pos", from_positives), ("neg", from_negatives), key=lambda item: abs(item[1]))
    if change == 0 or part == 0:
        return ""
    gain = part if key == "pos" else -part
    name = "positives" if key == "pos" else "negatives"
    way = "higher" if (gain > 0) is not low_is_positive else "lower"
    share = part / change
    what = "rise" if change > 0 else "fall"
    how_much = f"{100 * share:.0f} % of the {what}" if 0 < share < 1 else f"The {what}"
    moved = _moved(rows, key, gain, low_is_positive).replace(" of them score ", " of them ")
    return f"{how_much} comes from the {name}, which score {way}{moved}."


def rounded_parts(parts: Mapping[str, float], change: float) -> dict[str, float]:
    """Return both parts to three decimals, which add up to the change to three decimals."""
    smaller, larger = sorted(parts, key=lambda key: abs(parts[key]))
    rounded = round(parts[smaller], 3)
    rest = round(round(change, 3) - rounded, 3)
    return {smaller: rounded + 0.0, larger: rest + 0.0}  # no minus before a zero


def _moved(rows: Sequence[Mapping[str, Any]], key: str, direction: float, low_is_positive: bool) -> str:
    """Return the clause that says which share of a class is beyond which score, now and before."""
    side, end = ("below", "low") if low_is_positive else ("above", "high")
    rows = list(reversed(rows)) if low_is_positive else list(rows)
    before, now = (  # shares beyond the end of each bin but the last
        list(accumulate(row[f"{key}_{when}"] for row in reversed(rows)))[::-1][1:]
        for when in ("reference", "window")
    )
    moved = [(new - old) * (1 if direction > 0 else -1) for old, new in zip(before, now, strict=True)]
    if not moved or max(moved) <= 0:
        return ""
    at = moved.index(max(moved))
    return (
        f": {100 * now[at]:.1f} % of them score {side} {rows[at][end]:.4g}, "
        f"{100 * before[at]:.1f} % in the reference"
    )
