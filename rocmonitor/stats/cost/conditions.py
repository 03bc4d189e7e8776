"""Operating conditions, the one number w that follows from them, and which threshold to use at each.

Each threshold is a straight line in w, from its FPR at w = 0 to its FNR at w = 1; the cheapest one at each w
makes the lower envelope, and only the thresholds of the ROC curve's convex hull lie on it (Drummond & Holte,
2006). [DG08] is Dugas and Gadoury (2008), see `rocmonitor.stats.cost.curve.cost_curve`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rocmonitor.errors import InputError
from rocmonitor.stats import plotting
from rocmonitor.stats.binomial import Floats
from rocmonitor.stats.proportion import is_number
from rocmonitor.stats.result import Result, Table
from rocmonitor.stats.rows import number_list, require_all, run_starts
from rocmonitor.stats.sample import Counts, Sample, on_sample

W_LABEL, COST_LABEL = "w, the share of misses in the cost", "cost, share of the largest"  # axes of pictures


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OperatingCondition(Result):
    """The cost of errors and the prevalence where the model is used.

    Attributes
    ----------
    false_positive, false_negative: Cost of flagging a negative and of missing a positive, in one unit; at
        least 0, not both 0.
    prevalence: Share of positives among the decisions, within [0, 1].

    Examples
    --------
    >>> lending = OperatingCondition(false_positive=200, false_negative=5000, prevalence=0.02)
    >>> round(lending.w, 4), round(lending.largest, 2)
    (0.3378, 296.0)
    """

    false_positive: float
    false_negative: float
    prevalence: float

    def __post_init__(self) -> None:
        for name in ("false_positive", "false_negative"):
            value = getattr(self, name)
            if not is_number(value) or not 0 <= value < math.inf:
                raise InputError(f"{name} must be a finite cost of at least 0; it is {value}")
        if not is_number(self.prevalence) or not 0 <= self.prevalence <= 1:
            raise InputError(f"prevalence must be a share within [0, 1]; it is {self.prevalence}")
        if self.largest == 0:
            raise InputError(
                f"no error costs anything: false_positive is {self.false_positive:g}, false_negative "
                f"{self.false_negative:g} and prevalence {self.prevalence:g}; give a cost above 0 to an "
                "error that can occur"
            )

    @classmethod
    def at(cls, w: float, *, prevalence: float, false_positive: float = 1.0) -> OperatingCondition:
        """Return the condition with a given w: what a miss then costs, for one false alarm's cost."""
        conditions = valid_conditions(w)
        if len(conditions) != 1 or conditions[0] == 1 or not is_number(prevalence) or not 0 < prevalence < 1:
            raise InputError(
                f"w must be one number in [0, 1) and prevalence one in (0, 1), for a miss to have a cost; "
                f"they are {w} and {prevalence}"
            )
        miss = false_positive * conditions[0] / (1 - conditions[0]) * (1 - prevalence) / prevalence
        return cls(false_positive=false_positive, false_negative=float(miss), prevalence=prevalence)

    @property
    def largest(self) -> float:
        """Expected cost of a decision when every decision is wrong."""
        return self.prevalence * self.false_negative + (1 - self.prevalence) * self.false_positive

    @property
    def w(self) -> float:
        """The share of that which misses have, [DG08] eq. 2."""
        return self.prevalence * self.false_negative / self.largest


def valid_conditions(w: ArrayLike) -> Floats:
    """Operating conditions as an array of their own, shape (h,)."""
    conditions = number_list(w, "w")
    within = (conditions >= 0) & (conditions <= 1)
    hint = "OperatingCondition computes it from costs and a prevalence"
    require_all(within, "w", "lie within [0, 1]", hint)
    return conditions


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CostThresholds(Table):
    """The cheapest threshold of a sample at each operating condition.

    Attributes
    ----------
    w, threshold, shape (h,): Operating conditions; rows with score >= threshold are flagged, and ``inf``
        flags nothing.
    cost, shape (h,): Normalised cost there on this sample: the lower envelope. Too low for other rows.
    tpr, fpr, shape (h,): The point of the ROC curve's hull.
    """

    w: Floats
    threshold: Floats
    cost: Floats
    tpr: Floats
    fpr: Floats
    n_pos: int
    n_neg: int

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.along(ax, self.w, self.cost, None, None, label=label)
        plotting.marks(ax, self.w, self.cost, [f"t = {plotting.named(t)}" for t in self.threshold])
        plotting.describe(
            ax, x=W_LABEL, y=COST_LABEL, note="cheapest thresholds; the cost is too low for other rows"
        )


@on_sample
def cost_thresholds(sample: Sample, w: ArrayLike) -> CostThresholds:
    """Return the thresholds t(w) that cost least on a sample, and the lower envelope of its cost lines.

    Parameters
    ----------
    y_true, y_score, shape (n,): Labels and scores of the rows to choose on (a reference, not the batch to be
        judged), or one `Sample`.
    w, shape (h,): Operating conditions within [0, 1].

    Returns
    -------
    Among thresholds of equal cost, the one that flags fewest rows.

    Notes
    -----
    The hull's corners are the blocks of an isotonic fit of the label on the score: within a block the ratio
    of the two classes does not rise, and a block is flagged where w (positives / n_pos) exceeds
    (1 - w) (negatives / n_neg). Cost: O(k + h log k) for k distinct scores after sorting.

    Examples
    --------
    >>> chosen = cost_thresholds([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.5, 0.7, 0.8], [0.2, 0.5, 0.9])
    >>> chosen.threshold.tolist()
    [0.7, 0.7, 0.4]
    >>> chosen.cost.round(4).tolist()
    [0.0667, 0.1667, 0.0333]
    """
    sample.require_both_classes()
    conditions = valid_conditions(w)
    runs = np.flatnonzero(run_starts(sample.pos, sample.neg))  # no block begins within a run of one class
    pos, neg = np.add.reduceat(sample.pos, runs), np.add.reduceat(sample.neg, runs)
    blocks = scipy.optimize.isotonic_regression(pos / (pos + neg), weights=pos + neg).blocks[:-1]
    pos, neg, starts = np.add.reduceat(pos, blocks), np.add.reduceat(neg, blocks), runs[blocks]
    tpr = np.append(np.cumsum(pos[::-1])[::-1], 0) / sample.n_pos
    fpr = np.append(np.cumsum(neg[::-1])[::-1], 0) / sample.n_neg
    # The w at which flagging a block costs as much as not flagging it; it falls from block to block.
    level = neg * float(sample.n_pos) / (pos * float(sample.n_neg) + neg * float(sample.n_pos))
    first = np.searchsorted(-level, -conditions, side="right")
    return CostThresholds(
        w=conditions,
        threshold=np.append(sample.score[starts], np.inf)[first],
        cost=conditions * (1 - tpr[first]) + (1 - conditions) * fpr[first],
        tpr=tpr[first],
        fpr=fpr[first],
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
    )


FOLDS = 10  # parts of a reference; each is judged at the threshold that the others choose


class WrongDecisions(NamedTuple):
    """The wrong decisions of some rows at a threshold: missed positives and false alarms."""

    missed: int
    false_alarms: int


def errors_at(sample: Sample, threshold: float) -> WrongDecisions:
    """Missed positives and false alarms of a sample when scores of `threshold` and more are flagged."""
    below = sample.score < threshold
    return WrongDecisions(int(sample.pos[below].sum()), int(sample.neg[~below].sum()))


def cross_fitted(whole: Sample, windows: Sequence[Sample], w: Sequence[float]) -> list[WrongDecisions]:
    """Count the wrong decisions of a reference, each part of it at the threshold that its other parts choose.

    At the threshold chosen on the same rows the cost is too low, so later windows would seem to cost more.

    whole: All rows of the reference, with both classes.
    windows: The same rows by window. Neighbouring windows are one part where there are more than 10.

    The rows of a single window are dealt to 10 parts by chance, with a fixed seed; so are those of windows of
    which one holds all rows of a class. Where that leaves a part's others without a class, the threshold is
    that of all rows.
    """
    for parts in _foldings(whole, windows):
        rest = [np.stack([whole.pos, whole.neg]) - part for part in parts]
        if all(counts.sum(axis=1).all() for counts in rest):
            break
    else:
        return [errors_at(whole, at) for at in cost_thresholds(whole, w).threshold]
    total = np.zeros((len(w), 2), dtype=np.int64)
    for part, others in zip(parts, rest, strict=True):
        chosen = cost_thresholds(Sample.from_counts(whole.score, *others), w).threshold
        total += [errors_at(Sample.from_counts(whole.score, *part), at) for at in chosen]
    return [WrongDecisions(*map(int, counts)) for counts in total]


def _foldings(whole: Sample, windows: Sequence[Sample]) -> Iterator[list[Counts]]:
    """Yield ways to part a reference: counts (2, k) of positives and negatives at its scores, by part."""
    filled = [window for window in windows if window.n_pos + window.n_neg]
    if len(filled) > 1:
        placed = []
        for window in filled:  # at the scores of the whole, or in the cells that begin there
            at = np.searchsorted(whole.score, window.score, side="right") - 1
            counts = np.zeros((2, len(whole.score)), dtype=np.int64)
            for line, rows in zip(counts, (window.pos, window.neg), strict=True):
                np.add.at(line, at, rows)
            placed.append(counts)
        ends = np.linspace(0, len(placed), min(FOLDS, len(placed)) + 1).round().astype(int)
        yield [np.sum(placed[a:b], axis=0) for a, b in pairwise(ends)]
    rng = np.random.default_rng(0)
    dealt = rng.multinomial(np.stack([whole.pos, whole.neg]), [1 / FOLDS] * FOLDS)
    yield list(np.moveaxis(dealt, -1, 0))
