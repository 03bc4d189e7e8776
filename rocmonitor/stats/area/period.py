"""The difference of two AUCs over windows: a confidence sequence that allows once for rows not seen.

The variance of a sequence sums up sampling errors of windows. What the rows may lack is no such error: a
window of 50 positives may well hold none of 2 % that score like negatives, but 20 windows together hardly.
So the allowance is taken from the rows of all windows so far, at each look.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats.area.compare import LEAST_LIMIT, AucDifference, fading
from rocmonitor.stats.area.unseen import FEW, VERY_FEW, Balance, Part, error_at_0, fewest, reach_of
from rocmonitor.stats.proportion import quantile_beyond, require_level
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.sequence import ConfidenceSequence, confidence_sequence, half_at

_NO_OTHERS = 1e-12  # most that rows which the sample lacks lose, where none are supposed
_LOST = 0.4
"""Share of what it could lose that a row like none seen is supposed to, where several carry the loss.

One that scores like the other class loses half on average. With half as many courses are false, and models
near to each other are told apart a week later (docs/coverage.md).
"""

_LEAST_PVALUE = 1e-300


def auc_sequence(
    differences: Sequence[AucDifference],
    *,
    confidence_level: float = 0.95,
    tuned_for: float | None = None,
    weights: ArrayLike | None = None,
) -> ConfidenceSequence:
    """Intervals of the average AUC difference over the windows so far, which hold at all looks together.

    Parameters
    ----------
    differences: One for each window, in their order, from `compare_auc_paired`. Windows share no row.
    confidence_level, tuned_for, weights: As of `confidence_sequence`.

    Returns
    -------
    Of estimand "period", with `unseen_low` and `unseen_high`.

    Notes
    -----
    The interval is that of `confidence_sequence` with estimand "period" and the windows' `cautious_se`. Where
    few rows of a class carry what speaks against an end, that end is at least as far as each of two bounds of
    the empirical likelihood ([O01]), of the rows of all windows so far:

    - of rows like those seen, at the level of one look: the normal tail beyond the interval's own end;
    - with rows that no window has shown, at ``1 - confidence_level``: if a share f scores otherwise, the n
      rows up to a look hold none of them with chance (1 - f)**n, and none later unless none before. So all
      looks together cost no more than one. Such a row loses two fifths of what it could (half would be the
      average of one that scores like the other class); up to all of it where 5 to 2.5 rows carry what was
      seen.

    From 10 rows on that carry the loss the bounds fade out, and at 20 the end is that of the sequence. Rows
    count by their window's weight: the mean loss is sum w_i l_i / W, and it is known as well as from
    W² / sum(w_i² / n_i) rows of equal weight.

    Before any window has shown scatter the ends are the exact bounds for rows that never showed a difference.
    Level and speed by simulation: docs/coverage.md. Cost: O(1) for a look at which few rows carry the loss.

    Examples
    --------
    >>> import numpy as np
    >>> from rocmonitor.stats.area.compare import compare_auc_paired
    >>> random, weeks = np.random.default_rng(3), []
    >>> for _ in range(6):
    ...     y = np.repeat([0, 1], [300, 100])
    ...     first, second = 1.6 * y + random.normal(size=400), y + random.normal(size=400)
    ...     weeks.append(compare_auc_paired(y, first, second))
    >>> bool(auc_sequence(weeks).low[-1] > 0)
    True
    """
    level = require_level(confidence_level)
    if not isinstance(differences, Sequence) or not all(
        isinstance(difference, AucDifference) and difference.paired and difference.balances
        for difference in differences
    ):
        raise InputError("differences must be AucDifference of both models on the same rows, with balances")
    sequence = confidence_sequence(
        [difference.difference for difference in differences],
        [difference.cautious_se() for difference in differences],
        confidence_level=confidence_level,
        tuned_for=tuned_for,
        weights=weights,
        estimand="period",
    )
    w = np.ones(len(differences)) if weights is None else np.asarray(weights, dtype=float)
    seen = _rows_so_far(differences, w / w.max())
    alpha, beyond = 1 - level, np.zeros((len(seen), 2))
    for look, sides in enumerate(seen):
        if sequence.information[look] == 0:
            z = quantile_beyond(alpha / 2)
            reached = (reach_of(*side[:2], z=z, tail=alpha / 2, limit=1.0) for side in sides)
            beyond[look] = [reach.bound for reach in reached]
        else:
            half = half_at(sequence, look, alpha)
            z = half * math.sqrt(sequence.information[look])
            beyond[look] = [_further(side, half, z, alpha) for side in sides]
    pvalue = [_pvalue(rows, sequence, look) for look, rows in enumerate(seen)]
    caveats = sequence.caveats
    if beyond[-1].any():
        side = seen[-1][int(np.argmax(beyond[-1]))]
        least = fewest(side.carriers, [*map(round, side.sizes)])
        caveats += (Caveat("difference-rests-on-few", **least),)
    scatters = sequence.information > 0
    low, high = (np.where(scatters, end, sequence.estimate) for end in (sequence.low, sequence.high))
    return replace(
        sequence,
        low=np.maximum(low - beyond[:, 0], -1.0),
        high=np.minimum(high + beyond[:, 1], 1.0),
        unseen_low=beyond[:, 0],
        unseen_high=beyond[:, 1],
        pvalue=np.array(pvalue),
        caveats=caveats,
    )


class _Side(NamedTuple):
    """Evidence against one end, in the rows of both classes."""

    rows: list[Balance]
    sizes: list[float]
    most: float  # what a row may lose

    @property
    def carriers(self) -> list[float]:
        return [balance.loss.carried_by(n) for balance, n in zip(self.rows, self.sizes, strict=True)]


def _rows_so_far(differences: Sequence[AucDifference], w: Floats) -> list[tuple[_Side, _Side]]:
    """Return what the rows up to each window show against the lower end, and against the upper one."""
    # By window, class, and loss and gain and size.
    balances = np.array([difference.balances for difference in differences])
    areas = np.array([(difference.auc_2, difference.auc_1) for difference in differences])
    total, sizes = np.cumsum(w)[:, None], balances[:, :, 4]
    n = total**2 / np.cumsum(w[:, None] ** 2 / sizes, axis=0)
    means = np.cumsum(w[:, None, None] * balances[:, :, 0:4:2], axis=0) / total[..., None]
    squares = np.cumsum((w[:, None] ** 2 / sizes)[..., None] * balances[:, :, 1:4:2], axis=0)
    squares = squares * (n / total**2)[..., None]
    mosts = np.clip(np.abs(2 * np.cumsum(w[:, None] * areas, axis=0) / total - 1), LEAST_LIMIT, 1.0)
    sides = []
    for look, size in enumerate(n.tolist()):
        loss, gain = (
            [
                Part(*numbers)
                for numbers in zip(means[look, :, i].tolist(), squares[look, :, i].tolist(), strict=True)
            ]
            for i in (0, 1)
        )
        low = [Balance(*parts) for parts in zip(loss, gain, strict=True)]
        high = [Balance(*parts) for parts in zip(gain, loss, strict=True)]
        most = mosts[look].tolist()
        sides.append((_Side(low, size, most[0]), _Side(high, size, most[1])))
    return sides


def _further(side: _Side, half: float, z: float, alpha: float) -> float:
    carriers = min(side.carriers)
    if carriers >= 2 * FEW:
        return 0.0
    tail = max(float(ndtr(-z)), _LEAST_PVALUE)
    seen = reach_of(side.rows, side.sizes, z=z, tail=tail, limit=_NO_OTHERS).bound
    whole = fading(carriers, VERY_FEW, 2 * VERY_FEW)
    z, most = quantile_beyond(alpha / 2), side.most * (_LOST + (1 - _LOST) * whole)
    others = reach_of(side.rows, side.sizes, z=z, tail=alpha / 2, limit=most).bound
    return fading(carriers, FEW, 2 * FEW) * max(seen - half, others - half, 0.0)


def _pvalue(sides: tuple[_Side, _Side], sequence: ConfidenceSequence, look: int) -> float:
    """Return the smallest error for which the interval leaves out 0, at least that of the sequence."""
    least, estimate = float(sequence.pvalue[look]), float(sequence.estimate[look])
    if estimate == 0 or sequence.information[look] == 0 or least >= 1:
        return 1.0
    side = sides[0] if estimate > 0 else sides[1]
    if min(side.carriers) >= 2 * FEW:
        return least
    precision = math.sqrt(sequence.information[look])

    def beyond_zero(error: float) -> float:
        half = half_at(sequence, look, error)
        return half + _further(side, half, half * precision, error) - abs(estimate)

    least = max(least, _LEAST_PVALUE)
    if beyond_zero(least) <= 1e-12 * abs(estimate):
        return least
    return error_at_0(beyond_zero, least, 1.0)
