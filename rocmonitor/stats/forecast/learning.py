"""Limits that learn from earlier warnings: when a warning was right, and a margin that wrong ones move."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from itertools import repeat
from typing import NamedTuple


class Answer(StrEnum):
    """The answer that labels give to a warning, or would have given to one."""

    RIGHT = "right"
    WRONG = "wrong"
    UNDECIDED = "undecided"


def answer(foretold: float, reference: float, auc: float, interval: tuple[float, float]) -> Answer:
    """Return what the labels of a window say of the AUC that a warning foretold.

    Undecided if its confidence interval covers both AUCs; else right if its AUC is nearer to the one
    foretold, and wrong if it is nearer to the reference's. Not below this a loss of unknown size was
    foretold: right if the whole interval lies below the reference, wrong if the AUC does not, undecided
    between.
    """
    low, high = interval
    if foretold >= reference:
        if auc >= reference:
            return Answer.WRONG
        return Answer.RIGHT if high < reference else Answer.UNDECIDED
    to_foretold, to_reference = abs(auc - foretold), abs(auc - reference)
    if (low <= foretold and reference <= high) or to_foretold == to_reference:
        return Answer.UNDECIDED
    return Answer.RIGHT if to_foretold < to_reference else Answer.WRONG


class JudgedOutlook(NamedTuple):
    """A window that was foreseen from its scores, and judged with its labels since."""

    expected: float  # the AUC that its scores led to
    foretold: float  # the AUC that a warning foretold; that of the reference if the scores led to no loss
    distance: float  # the score distance to the reference
    rows: int  # number of scores
    low: float  # the outlook's interval, before any margin was learned
    high: float
    reference: float  # the AUC of the reference
    auc: float  # with its labels
    interval: tuple[float, float]  # the confidence interval of `auc`
    degraded: bool  # whether a rule found the window degraded
    warned: bool  # whether its outlook warned

    def answer(self, foretold: float | None = None) -> Answer:
        """Return `answer` to the AUC that was foretold; a window that a rule found degraded is right."""
        if self.degraded:
            return Answer.RIGHT
        told = self.foretold if foretold is None else foretold
        return answer(told, self.reference, self.auc, self.interval)


def tracked_margin(
    shortfalls: Iterable[float],
    tail: float,
    step: float,
    answers: Iterable[Answer] = repeat(Answer.WRONG),
) -> float:
    """Return the margin that a limit needs after windows wrongly lay beyond it by so much.

    shortfalls: By how much each window lay beyond the limit without a margin, oldest first; negative within
        it.
    tail: The share of windows that may wrongly lie beyond, within (0, 1).
    step: By how much the margin grows at least, > 0, in the unit of the shortfalls.
    answers: Whether each window was rightly beyond the limit, if it was. By default all were wrongly so.

    After a window wrongly beyond the limit and its margin the margin is that window's shortfall and one step.
    A window rightly beyond the limit takes off a step where the margin hid it, and changes nothing else; an
    undecided one changes nothing. Every other window takes off ``tail * step``, down to 0.

    So of T windows at most ``tail * T + margin / step + hidden`` were wrongly beyond limit and margin, for
    every sequence of windows (quantile tracking, [GC21], [ACT23]); `hidden` counts the right ones that the
    margin hid. The margin never exceeds the largest shortfall by more than a step. Cost: O(T).
    """
    margin = 0.0
    for shortfall, window_answer in zip(shortfalls, answers, strict=False):  # `answers` may have no end
        if shortfall <= 0 or (window_answer is Answer.WRONG and shortfall <= margin):
            margin = max(margin - tail * step, 0.0)
        elif window_answer is Answer.WRONG:
            margin = shortfall + step
        elif window_answer is Answer.RIGHT and shortfall <= margin:
            margin = max(margin - step, 0.0)
    return margin
