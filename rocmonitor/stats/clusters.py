"""Rows that come in clusters, such as several of one customer: which rows belong together, and what it costs.

Rows of one cluster are alike, so they show less than as many independent rows. Standard errors then go by
sums over clusters; two rows of different clusters are taken as independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.rows import Counts, Floats

FEW = 30
"""Clusters with rows of a class below which the normal law is only roughly right (docs/coverage.md)."""


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """The cells of a sample by cluster.

    Attributes
    ----------
    ids : ndarray, shape (g,)
        The clusters, each once.
    cluster : ndarray of intp, shape (c,)
        Position of each cell's cluster in `ids`.
    index : ndarray of intp, shape (c,)
        Position of each cell's score in ``sample.score``; of a pair, the position of the cell itself.
    pos, neg : ndarray of int64, shape (c,)
        Rows in each cell.
    """

    ids: NDArray[Any]
    cluster: NDArray[np.intp]
    index: NDArray[np.intp]
    pos: Counts
    neg: Counts

    @property
    def sizes(self) -> ClusterSizes:
        """How many clusters there are."""
        return ClusterSizes(
            int(np.count_nonzero(self.sums(self.pos))),
            int(np.count_nonzero(self.sums(self.neg))),
            len(self.ids),
        )

    def sums(self, values: Floats | Counts) -> Floats:
        """Sums over the cells of each cluster, shape (g,)."""
        return np.bincount(self.cluster, weights=values, minlength=len(self.ids)).astype(np.float64)


class ClusterSizes(NamedTuple):
    """Clusters with a positive, with a negative, and all."""

    pos: int
    neg: int
    all: int


def cluster_ids(cluster: ArrayLike, rows: int) -> NDArray[Any]:
    """Identities of clusters, one for each row or cell: whole numbers or texts, none of them missing."""
    ids = np.asarray(cluster)
    if ids.shape != (rows,):
        raise InputError(f"cluster must hold one id for each of the {rows} rows; its shape is {ids.shape}")
    if ids.dtype.kind in "US" and not isinstance(cluster, np.ndarray):
        ids = np.asarray(cluster, dtype=object)  # of a list with texts, None and NaN have become texts
    if ids.dtype.kind == "f" and rows and not np.isnan(ids).any() and np.array_equal(ids, np.rint(ids)):
        ids = ids.astype(np.int64)
    if ids.dtype.kind in "iub":
        return ids
    plain = ids.astype(object)
    missing = sum(value is None or value != value for value in plain)
    if missing:
        raise InputError(
            f"cluster must not be missing: {missing} of {rows} ids are None or NaN; give such a row an id of "
            "its own if it belongs to no other, or set it aside"
        )
    return np.array([str(value) for value in plain], dtype=np.str_)


def clustered(ids: NDArray[Any], index: NDArray[np.intp], pos: Counts, neg: Counts) -> Clusters:
    """The clusters of validated cells; O(c log c)."""
    known, code = np.unique(ids, return_inverse=True)
    return Clusters(known, np.asarray(code, dtype=np.intp), index, pos, neg)


def merged_ids(parts: Sequence[Clusters | None]) -> NDArray[Any] | None:
    """The clusters of the cells of several samples, one after another; None when none has clusters."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    if len(known) < len(parts):
        raise InputError("samples must all have clusters, or none of them; give each its cluster ids")
    return np.concatenate([part.ids[part.cluster] for part in known])


def clustered_variance(by_cell: tuple[Floats, Floats], clusters: Clusters, n_pos: int, n_neg: int) -> float:
    """Variance of a mean over pairs from clustered rows: [O97] eq. 5 and 6, clusters in both classes.

    Parameters
    ----------
    by_cell : tuple of ndarray, shape (c,)
        Placement values less their mean, of a positive and of a negative of each cell.
    clusters : Clusters
    n_pos, n_neg : int

    Notes
    -----
    With x and y the sums of these over the positives and the negatives of a cluster, and I10, I01 and I the
    clusters with a positive, with a negative, and all: I10 / (I10 - 1) sum x² / n_pos² + I01 / (I01 - 1) sum
    y² / n_neg² + 2 I / (I - 1) sum x y / (n_pos n_neg). Clusters of one row give DeLong's variance. The
    last term may take it below 0: then the sum of (x / n_pos + y / n_neg)², with I / (I - 1).

    References
    ----------
    .. [O97] Obuchowski (1997). Nonparametric analysis of clustered ROC curve data. Biometrics 53, 567-578.
    """
    sizes = clusters.sizes
    if min(sizes.pos, sizes.neg) < 2:
        raise DegenerateDataError(
            f"the {n_pos} positives come from {sizes.pos} clusters, the {n_neg} negatives from {sizes.neg}: "
            "fewer than two show no scatter; see whether cluster holds the ids of what rows belong to"
        )
    x = clusters.sums(clusters.pos * by_cell[0]) / n_pos
    y = clusters.sums(clusters.neg * by_cell[1]) / n_neg

    def corrected(products: Floats, size: int) -> float:
        return float(np.sum(products)) * size / (size - 1)

    variance = corrected(x * x, sizes.pos) + corrected(y * y, sizes.neg) + 2 * corrected(x * y, sizes.all)
    return variance if variance > 0 else corrected((x + y) ** 2, sizes.all)
