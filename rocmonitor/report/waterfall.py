"""The waterfall of an alarm: how the groups of one column lead from the reference's AUROC to the window's."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

from markupsafe import Markup

from rocmonitor.policy.explanation import Explanation
from rocmonitor.report.html import render
from rocmonitor.wording import explanation as words
from rocmonitor.wording.format import percent, signed

WIDE = 120
"""Length of the axis."""

_MOST = 8
_SMALLEST = 0.0005  # rest that is shown: cells of scores alone make one of 0.0001
_ROOM = 0.04  # of the axis, on either side


class WaterfallLine(NamedTuple):
    """One line: its name, where its bar begins and how long it is, and its cells."""

    name: str
    at: float
    length: float
    cells: tuple[str, ...]
    is_total: bool = False


def steps(explanation: Explanation) -> list[WaterfallLine]:
    """Return the lines of the leading column, from the reference to the window; none if no group explains."""
    leading = explanation.leading
    if leading is None:
        return []
    groups = sorted(
        (group for group in explanation.parts if group.column == leading.column),
        key=lambda group: -abs(group.part),
    )[:_MOST]
    rest = explanation.change - sum(group.part for group in groups)
    moves = [
        (
            group.group,
            group.part,
            (signed(group.ranking, 3), percent(group.share, 2), percent(group.reference_share, 2)),
        )
        for group in groups
    ]
    if abs(rest) >= _SMALLEST:
        moves.append((words.REST, rest, ("", "", "")))
    levels = list(accumulate((part for _, part, _ in moves), initial=explanation.reference_auc))
    low, high = min(*levels, explanation.auc), max(*levels, explanation.auc)
    room = _ROOM * (high - low) or 0.01

    def x(value: float) -> float:
        return round(WIDE * (value - low + room) / (high - low + 2 * room), 1)

    def total(name: str, value: float) -> WaterfallLine:
        return WaterfallLine(name, x(value) - 1.5, 3.0, (f"{value:.3f}", "", "", ""), is_total=True)

    lines = [total(words.REFERENCE, explanation.reference_auc)]
    for (name, part, cells), before, after in zip(moves, levels, levels[1:], strict=False):
        ends = sorted((x(before), x(after)))
        length = max(round(ends[1] - ends[0], 1), 1.0)
        lines.append(WaterfallLine(name, ends[0], length, (signed(part, 3), *cells)))
    return [*lines, total(words.WINDOW, explanation.auc)]


def waterfall(explanation: Explanation | None) -> Markup:
    """Return the lines as a table with bars, for a page; empty where no group explains the change."""
    lines = [] if explanation is None else steps(explanation)
    if explanation is None or explanation.leading is None or not lines:
        return Markup()
    values: dict[str, Any] = {"steps": lines, "wide": WIDE, "caption": words.caption(explanation)}
    # All of it is escaped by the template.
    return Markup(render("waterfall.html.j2", **values))
