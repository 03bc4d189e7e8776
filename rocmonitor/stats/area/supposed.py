"""Intervals of an AUC by its variance at the area that is supposed, as Wilson's is for a proportion.

An AUC near 1 that is too high by chance has too small a standard error too. So the end of an interval that
uses this standard error lies too near. Here an end is the area whose own standard error the estimate just
keeps to; how the variance goes with the area is that of two normal score laws of equal variance.

References
----------
.. [W27] Wilson (1927). Journal of the American Statistical Association 22, 209-212.
.. [N06] Newcombe (2006). Statistics in Medicine 25, 559-573.
"""

from __future__ import annotations

import math

import scipy

_HALVINGS = 60  # of the bracket of an end: down to its last digits


def normal_zeta(auc: float) -> float:
    """Variance of the placement values, of either class, under two normal score laws of equal variance."""
    rarer = min(auc, 1 - auc)  # the law is symmetric, and keeps its digits in this tail
    return (
        rarer
        - 2 * float(scipy.special.owens_t(float(scipy.special.ndtri(rarer)), math.sqrt(1 / 3)))
        - rarer**2
    )


def score_ends(auc: float, se: float, sizes: tuple[float, float], z: float) -> tuple[float, float]:
    """The areas t with (auc - t)² = z² c normal_zeta(t), for an `auc` within (0, 1).

    The variance is scaled to the one that was seen, and is never less than with normal scores: c = max(se² /
    normal_zeta(auc), 1 / n_pos + 1 / n_neg). With few rows of a class near 1 it is the model that counts
    ([N06] is alike, by the model alone); with many rows, and away from 0 and 1, what was seen.
    """
    n_pos, n_neg = sizes
    own = normal_zeta(auc)
    scale = 1 / n_pos + 1 / n_neg
    if own > 0:  # beyond 1e-12 of an end its digits are lost
        scale = max(scale, se * se / own)
    reach = z * math.sqrt(scale)
    return _end(auc, 0.0, reach), _end(auc, 1.0, reach)


def _end(auc: float, limit: float, reach: float) -> float:
    inside, outside = auc, limit
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if abs(auc - middle) <= reach * math.sqrt(max(normal_zeta(middle), 0.0)):
            inside = middle
        else:
            outside = middle
    return inside
