"""The recurrence of Morin 2018, eq. 16, 17 and 41, as printed: for the study that shows where it goes.

Distributions u of the negatives and v of the positives start as the sample's own, f and g:

    u_i' = k_x f_i^(1 + u_i) exp(lambda sum_j v_j I(y_j > x_i))
    v_j' = k_y g_j^(1 + v_j) exp(lambda sum_i u_i I(y_j > x_i)),    lambda = eta (A(u, v) - A_0)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmonitor.stats import Sample

Floats = NDArray[np.float64]
SWEEPS = 500


class Course(NamedTuple):
    """Where a recurrence went."""

    auc: Floats
    """After each sweep, the start included."""
    u: Floats
    v: Floats
    distance: float


def recurrence(
    sample: Sample,
    target: float,
    eta: float,
    *,
    printed: bool = True,
    turned: bool = False,
    sweeps: int = 500,
) -> Course:
    """Sweeps over the distinct scores, whose shares are f and g.

    Without `printed` the exponents 1 + u and 1 + v, which come from a wrong derivative, are 1. With `turned`
    the step rule has the other sign, eta (A_0 - A).
    """
    f, g = (sample.neg / sample.n_neg)[sample.neg > 0], (sample.pos / sample.n_pos)[sample.pos > 0]
    x, y = sample.score[sample.neg > 0], sample.score[sample.pos > 0]
    first_above, number_below = np.searchsorted(y, x, side="right"), np.searchsorted(x, y, side="left")
    u, v = f, g
    areas = []
    for _ in range(SWEEPS + 1):
        above, below = (1 - _cumulated(v))[first_above], _cumulated(u)[number_below]
        areas.append(float(v @ below))
        step = eta * (target - areas[-1] if turned else areas[-1] - target)
        u_next = _tilted(f, u if printed else 0.0, step * above)
        u, v = u_next, _tilted(g, v if printed else 0.0, step * below)
    return Course(np.array(areas), u, v, _distance(u, f) + _distance(v, g))


def _tilted(shares: Floats, stray: Floats | float, exponent: Floats) -> Floats:
    logarithm = (1 + stray) * np.log(shares) + exponent
    weights = np.exp(logarithm - logarithm.max())
    return weights / weights.sum()


def _cumulated(weights: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(weights)])


def _distance(weights: Floats, shares: Floats) -> float:
    some = weights > 0
    return float(np.sum(weights[some] * np.log(weights[some] / shares[some])))
