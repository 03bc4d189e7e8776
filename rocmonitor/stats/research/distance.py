"""Distances between two empirical ROC curves: the sup norm, d_B, and Hausdorff's.

A curve is the line through its points, so that it has every TPR at which it jumps, and is straight where
rows of both classes tie. [BCV08] is Bertail, Clémençon and Vayatis (2008), section 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rocmonitor.stats.curve.roc import roc_curve
from rocmonitor.stats.result import Result
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.sample import Sample, on_two


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveDistances(Result):
    """Distances between two ROC curves, from 0 to 1; `n_pos` and `n_neg` are of the first sample.

    Attributes
    ----------
    sup : float
        The largest difference of the TPR at one FPR.
    d_b : float
        The largest of what is the smaller at each FPR t: the difference of the TPR, or how far t is from
        where the second curve reaches the TPR of the first. It is not symmetric.
    hausdorff : float
        The largest distance of a point of either curve from the other curve, in the larger of both
        coordinates.
    """

    sup: float
    d_b: float
    hausdorff: float
    n_pos: int
    n_neg: int

    def __str__(self) -> str:
        return f"Distances: sup {self.sup:.4f}, d_B {self.d_b:.4f}, Hausdorff {self.hausdorff:.4f}"


@on_two
def curve_distances(first: Sample, second: Sample) -> CurveDistances:
    """Return the distances of [BCV08] between the ROC curves of two samples.

    Parameters
    ----------
    first, second
        As for `vertical_difference_unpaired`; the two may share rows.

    Returns
    -------
    CurveDistances
        ``hausdorff <= sup`` and ``d_b <= sup``.

    Raises
    ------
    DegenerateDataError, InputError
        A class without rows; unusable data (see `Sample`).

    Notes
    -----
    In the larger of both coordinates, points within a distance e of a rising line lie between the line moved
    up and left by e and the line moved down and right by e. So Hausdorff's distance is the largest difference
    along the lines FPR + TPR = c, each of which meets either curve once: Lévy's distance. All are taken where
    either curve has a corner, which is exact for curves without ties between the classes; of tied ones d_B
    may be a little larger between the corners. Cost: O(k log k) for k distinct scores.

    References
    ----------
    .. [BCV08] P. Bertail, S. Clémençon and N. Vayatis (2008). On bootstrapping the ROC curve.

    Examples
    --------
    >>> found = curve_distances(([0, 0, 1, 1], [1, 2, 3, 4]), ([0, 0, 1, 1], [1, 3, 2, 4]))
    >>> found.sup, found.d_b, found.hausdorff
    (0.5, 0.5, 0.5)
    """
    one, other = (_corners(sample) for sample in (first, second))
    at = np.union1d(one[0], other[0])
    right, left = ((_at(one, at, side), _at(other, at, side)) for side in ("right", "left"))
    sup = max(float(np.abs(f - g).max()) for f, g in (right, left))
    d_b = max(
        float(np.minimum(np.abs(f - g), np.abs(_reached(other, f) - at)).max()) for f, g in (right, left)
    )
    level = np.union1d(one.sum(axis=0), other.sum(axis=0))
    fpr_1, fpr_2 = (np.interp(level, each.sum(axis=0), each[0]) for each in (one, other))
    return CurveDistances(
        sup=sup,
        d_b=d_b,
        hausdorff=float(np.abs(fpr_1 - fpr_2).max()),
        n_pos=first.n_pos,
        n_neg=first.n_neg,
    )


def _corners(sample: Sample) -> Floats:
    """FPR and TPR, (2, k + 1), rising."""
    curve = roc_curve(sample)
    return np.stack([curve.fpr, curve.tpr])


def _at(curve: Floats, at: Floats, side: str) -> Floats:
    """TPR at each FPR: the upper end of a jump, or the lower one from the left."""
    x, y = curve
    if side == "right":
        before = np.searchsorted(x, at, side="right") - 1
        after = np.minimum(before + 1, len(x) - 1)
        known = x[before] == at
        value = np.where(known, y[before], 0.0)
    else:
        after = np.searchsorted(x, at, side="left")
        before = np.maximum(after - 1, 0)
        known = x[after] == at
        value = np.where(known, y[after], 0.0)
    width = np.where(known, 1.0, x[after] - x[before])
    between = y[before] + (at - x[before]) / width * (y[after] - y[before])
    return np.where(known, value, between)


def _reached(curve: Floats, tpr: Floats) -> Floats:
    """Return the lowest FPR at which a curve has each TPR."""
    return _at(curve[::-1], tpr, "left")
