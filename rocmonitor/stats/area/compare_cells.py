"""The difference of two areas on the same rows, of which only cells are known, with guaranteed errors.

The standard error of [DDC88] is the length of a vector of differences of placement values, one entry a row.
Within a strip the placement values of a model are nearly a straight line in the place of the cell. Lines need
no more than the sums of `JointCells`, and the fine cells of each model say how far its rows are off its
lines. Lengths differ by no more than the length of a difference, which bounds the error.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmonitor.errors import InputError
from rocmonitor.stats.area.compare import Alternative, AucDifference, difference_of
from rocmonitor.stats.area.unseen import Balance, balance_of
from rocmonitor.stats.area.variances import placements
from rocmonitor.stats.condensed import condensed_error
from rocmonitor.stats.paired_cells import CondensedPair, JointCells, ModelCells
from rocmonitor.stats.rows import Counts, Floats
from rocmonitor.stats.sample import Sample


class _Lines(NamedTuple):
    """The lines of one class and one model: one for each strip, and the mean square of its residuals."""

    strip: NDArray[np.int64]
    centre: Floats  # mean place
    level: Floats  # placement value there
    slope: Floats
    off: float

    def of(self, strip: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
        """Centre, level and slope of each of these strips."""
        at = np.searchsorted(self.strip, strip)
        return self.centre[at], self.level[at], self.slope[at]


def compare_auc_condensed(pair: CondensedPair, *, alternative: Alternative = "two-sided") -> AucDifference:
    """Difference of the AUCs of two models on the same rows, first minus second, from cells of the rows.

    Parameters
    ----------
    pair : CondensedPair
    alternative : {"two-sided", "greater", "less"}
        "greater": the first area is the larger one.

    Returns
    -------
    AucDifference
        `error` holds the guaranteed errors of the difference and of its standard error: what
        `compare_auc_paired` gives for the rows is no further away, whatever their order. Intervals are wider
        by them; the p-value is that of the estimates.

    Raises
    ------
    InputError
        Something that is no `CondensedPair`; an unknown alternative.
    DegenerateDataError
        Fewer than two rows of a class; the areas differ, and the standard error is 0.

    Notes
    -----
    "delong" only. The proof is in docs/condensed.md. Cost: O(k log k + c) for k fine and c joint cells.

    References
    ----------
    .. [DDC88] DeLong, DeLong and Clarke-Pearson (1988). Biometrics 44, 837-845.

    Examples
    --------
    >>> import numpy as np
    >>> from rocmonitor.stats import PairedSample, condensed_pair
    >>> rng = np.random.default_rng(1)
    >>> y = rng.random(20_000) < 0.2
    >>> first, second = (1 / (1 + np.exp(1.0 - y - rng.normal(size=20_000))) for _ in range(2))
    >>> found = compare_auc_condensed(condensed_pair(PairedSample(y, first, second)))
    >>> found.error[0] < 3e-4, found.error[1] < 0.02 * found.se
    (True, True)
    """
    if not isinstance(pair, CondensedPair):
        raise InputError(
            f"pair must be a CondensedPair, not a {type(pair).__name__}: compare_auc_paired takes rows"
        )
    pair.require_both_classes(at_least=2)
    variance, of_se, balances = 0.0, [0.0, 0.0], []
    models = (pair.cells_1, pair.first), (pair.cells_2, pair.second)
    for positive in (True, False):
        n = pair.n_pos if positive else pair.n_neg
        lines = [_lines(*model, positive) for model in models]
        of_class, balance = _scatter(pair.joint, positive, *lines)
        variance += of_class / (n - 1)
        balances.append((*balance.loss, *balance.gain, float(n)))
        of_se = [so_far + each.off / (n - 1) for so_far, each in zip(of_se, lines, strict=True)]
    errors = [condensed_error(sample) for _, sample in models]
    areas = _area(pair.first), _area(pair.second)
    found = difference_of(
        difference=areas[0] - areas[1],
        variance=variance,
        areas=areas,
        sizes=(pair.n_pos, pair.n_neg) * 2,
        df=None,
        paired=True,
        method="delong",
        alternative=alternative,
        caveats=(),
    )
    caveats = tuple(each for each in found.caveats if not sum(of_se))
    error = errors[0].auc + errors[1].auc, sum(map(math.sqrt, of_se))
    balanced = replace(found, caveats=caveats, balances=tuple(balances)).tested()
    return replace(balanced, error=error)


def _area(sample: Sample) -> float:
    below, _ = placements(sample)
    return float(np.sum(sample.pos * below)) / sample.n_pos / sample.n_neg


def _lines(cells: ModelCells, sample: Sample, positive: bool) -> _Lines:
    """Least squares lines of the placement values in the place, strip by strip.

    What a row is off is that of its cell, and what the unknown order within the cell adds: half of the
    other class's share of it.
    """
    values, weight, other, others = (
        (placements(sample)[0], cells.pos, sample.neg, sample.n_neg)
        if positive
        else (placements(sample)[1], cells.neg, sample.pos, sample.n_pos)
    )
    at = np.searchsorted(sample.score, cells.low, side="right") - 1  # cells that overlap were joined
    value, open_ = values[at] / others, np.zeros(len(at))
    if sample.ends is not None:
        open_ = np.where(sample.ends.spread, other / (2 * others), 0.0)[at]
    strips, number = np.unique(cells.strip, return_inverse=True)

    def mean(of: Floats) -> Floats:
        total = np.bincount(number, weights=weight * of, minlength=len(strips))
        return np.asarray(total / np.maximum(np.bincount(number, weights=weight, minlength=len(strips)), 1))

    centre, level = mean(cells.place), mean(value)
    apart = cells.place - centre[number]
    scatter = mean(apart**2)
    slope = mean(apart * value) / np.where(scatter > 0, scatter, 1.0)
    off = np.abs(value - level[number] - slope[number] * apart) + open_
    n = max(int(weight.sum()), 1)
    return _Lines(strips, centre, level, slope, float(np.sum(weight * off**2)) / n)


def _scatter(joint: JointCells, positive: bool, first: _Lines, second: _Lines) -> tuple[float, Balance]:
    """Variance (n denominator) over the rows of a class of the first model's line less the second's.

    That of the means of the joint cells, and the mean of those within them; none is negative. Beside it what
    the rows lose and gain, each cell as if its rows did so alike.
    """
    among = joint.positive == positive
    rows: Counts = joint.rows[among]
    n = float(rows.sum())
    mean_1, mean_2 = joint.sum_1[among] / rows, joint.sum_2[among] / rows
    centre_1, level_1, slope_1 = first.of(joint.strip_1[among])
    centre_2, level_2, slope_2 = second.of(joint.strip_2[among])
    middle = (level_1 + slope_1 * (mean_1 - centre_1)) - (level_2 + slope_2 * (mean_2 - centre_2))
    within = slope_1**2 * (joint.squares_1[among] / rows - mean_1**2)
    within += slope_2**2 * (joint.squares_2[among] / rows - mean_2**2)
    within -= 2 * slope_1 * slope_2 * (joint.products[among] / rows - mean_1 * mean_2)
    inside = float(np.sum(rows * np.maximum(within, 0.0))) / n
    balance = balance_of(middle, rows).scattered(inside)
    middle -= float(np.sum(rows * middle)) / n
    return float(np.sum(rows * middle**2)) / n + inside, balance
