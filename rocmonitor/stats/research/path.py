"""The smallest and the largest AUC as functions of the distance: figure 2 of Morin (2018)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.errors import InputError
from rocmonitor.stats.forecast.climbing import along, optimum
from rocmonitor.stats.forecast.kld import area
from rocmonitor.stats.forecast.tilting import OneOrder, cell_shares
from rocmonitor.stats.result import Table
from rocmonitor.stats.sample import Floats, Sample, on_shares


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AucPath(Table):
    """The smallest and the largest AUC within each of several distances of a sample.

    Attributes
    ----------
    distance : ndarray, shape (h,)
        As asked for, in nats and in the order asked for.
    low, high : ndarray, shape (h,)
        The bounds.
    low_multiplier, high_multiplier : ndarray, shape (h,)
        Slopes of the path: how much distance one more unit of AUC takes; infinite where more distance
        changes nothing.
    auc : float
        The sample's own AUC.
    residual, optimum : float, str
        As in `AucBounds`: the largest residual, and "proven" where every bound is.
    """

    distance: Floats
    low: Floats
    high: Floats
    low_multiplier: Floats
    high_multiplier: Floats
    auc: float
    residual: float
    optimum: str

    def __str__(self) -> str:
        return (
            f"AUC {self.auc:.4f}, from {self.low.min():.4f} to {self.high.max():.4f} within "
            f"{len(self.distance)} distances up to {self.distance.max():.4g}"
        )


@on_shares
def auc_path(sample: Sample, /, distances: ArrayLike) -> AucPath:
    """The smallest and the largest AUC of all reweightings within each of several distances.

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,), or one `Sample` in their place
    distances : array_like, shape (h,)
        Finite numbers >= 0, in nats, in any order.

    Returns
    -------
    AucPath
        The values of `auc_bounds`.

    Raises
    ------
    DegenerateDataError, InputError
        A class without rows; unusable data, no distances, or one that is negative or not finite.

    Notes
    -----
    [M18] eq. 2-9 and figure 2. The distances are taken in increasing order, each solution from the one
    before it. Cost: one sort, then about half of what separate calls of `auc_bounds` take (50 distances
    up to 0.1). Less is saved where multipliers exceed 4: other solutions are looked for at each distance.

    References
    ----------
    .. [M18] L. Morin (2018). Forecast intervals for the AUROC with a time-varying population. Working paper.

    Examples
    --------
    >>> path = auc_path([0, 0, 1, 1], [1, 2, 1, 2], [0.0, 0.1, 0.5])
    >>> path.low.round(3).tolist(), path.high.round(3).tolist()
    ([0.5, 0.343, 0.162], [0.5, 0.657, 0.838])
    """
    asked = np.asarray(distances, dtype=np.float64)
    if asked.ndim != 1 or not asked.size:
        raise InputError(f"distances must be a list of at least one number; its shape is {asked.shape}")
    if wrong := np.count_nonzero(~((asked >= 0) & (asked < np.inf))):
        raise InputError(f"distances must be finite numbers >= 0; {wrong} of {len(asked)} are not")
    sample.require_both_classes()
    shares = cell_shares(sample.pos, sample.neg)
    own = area(sample)
    increasing, place = np.unique(asked, return_inverse=True)
    ends, certain = [], True
    for kernel in (OneOrder.of(shares), OneOrder.of(shares[:, ::-1])):
        found = []
        for end in along(kernel, increasing.tolist()):
            found.append((end.value, end.multiplier, end.residual))
            certain &= optimum(kernel.unique, end) == "proven"
        ends.append(np.array(found)[place].T)
    high, low = ends
    return AucPath(
        distance=asked.copy(),
        low=np.minimum(1 - low[0], own),
        high=np.maximum(high[0], own),
        low_multiplier=low[1],
        high_multiplier=high[1],
        auc=own,
        residual=float(max(high[2].max(), low[2].max())),
        optimum="proven" if certain else "searched",
    )
