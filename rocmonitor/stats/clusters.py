"""Rows that come in clusters, such as several of one customer: which rows belong together, and what it costs.

Rows of one cluster are alike, so they show less than as many independent rows. Standard errors then go by
sums over clusters; two rows of different clusters are taken as independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.rows import Counts, Floats

FEW = 30  # clusters, were they of equal size, below which a caveat says how few they are (docs/coverage.md)


LARGE = 0.5  # share of the variance from which on one cluster, or two, are said to make most of it


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """The cells of a sample by cluster."""

    ids: NDArray[Any]  # (g,): The clusters, each once
    cluster: NDArray[np.intp]  # (c,): Position of each cell's cluster in `ids`
    # (c,): Position of each cell's score in ``sample.score``; of a pair, the position of the cell itself.
    index: NDArray[np.intp]
    pos: Counts  # (c,): Rows in each cell
    neg: Counts

    @property
    def sizes(self) -> ClusterSizes:
        """The numbers of clusters."""
        return ClusterSizes(
            int(np.count_nonzero(self.sums(self.pos))),
            int(np.count_nonzero(self.sums(self.neg))),
            len(self.ids),
        )

    def sums(self, values: Floats | Counts) -> Floats:
        """Return sums over the cells of each cluster, shape (g,)."""
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
    """Return the clusters of validated cells; O(c log c)."""
    unique_ids, code = np.unique(ids, return_inverse=True)
    return Clusters(unique_ids, np.asarray(code, dtype=np.intp), index, pos, neg)


def repeated(ids: Sequence[NDArray[Any]]) -> tuple[int, int]:
    """Return how many clusters come in several of some samples, and how many there are; O(c log c)."""
    times = np.unique(np.concatenate(ids), return_counts=True)[1]
    return int(np.count_nonzero(times > 1)), len(times)


def merged_ids(parts: Sequence[Clusters | None]) -> NDArray[Any] | None:
    """Return the clusters of the cells of several samples, one after another; None when none has clusters."""
    with_ids = [part for part in parts if part is not None]
    if not with_ids:
        return None
    if len(with_ids) < len(parts):
        raise InputError("samples must all have clusters, or none of them; give each its cluster ids")
    return np.concatenate([part.ids[part.cluster] for part in with_ids])


class Effective(NamedTuple):
    """The worth of a standard error from clusters."""

    # Degrees of freedom of Student's t, 1 or more: the number of clusters less one if all are alike.
    df: float
    inflation: float  # factor on the standard error, 1 or more: 1 if all are alike
    parts: Floats  # (g,): The share of each cluster in the variance


def effective(sums: Sequence[Floats], rows: Sequence[Floats], zetas: Sequence[float]) -> Effective | None:
    """Return what a variance from sums over clusters is worth; None where no cluster has two rows.

    sums, shape (g,): Of one class, or of the positives and of the negatives: for each cluster, the sum of its
        values.
    rows, shape (g,): Likewise, the rows of each cluster.
    zetas: Variances of the values.

    [BM02] with a model: rows of a cluster have correlation r, and rows of different classes the opposite one,
    for high scores of a cluster help its positives and harm its negatives. r is that at which the sums of
    squares are what they are, the larger of the two. What a cluster shows is its part of the total less its
    share of the total. With R, the covariance of these, df = (tr R)² / tr R² ([S46]); the variance is too
    small by tr R over the variance of the total. For g equal clusters they are g - 1 and (g - 1) / g, as
    [O97] corrects. R is diagonal but for a few vectors: O(g).
    """
    together = np.sum(rows, axis=0)
    if together.max() < 2:
        return None
    totals = [float(row.sum()) for row in rows]
    alike = max(map(_correlation, sums, rows, zetas))
    shares = np.array([row / total for row, total in zip(rows, totals, strict=True)])
    signs = np.array([1.0, -1.0])[: len(shares), np.newaxis]
    common = signs * np.sqrt(alike * np.array(zetas))[:, np.newaxis] * shares
    covariance = common[:, np.newaxis] * common  # of the classes, within each cluster: (classes, classes, g)
    for at, total in enumerate(totals):
        covariance[at, at] += (1 - alike) * zetas[at] * shares[at] / total
    of_class = covariance.sum(axis=1)
    variances = of_class.sum(axis=0)
    vectors = np.concatenate([of_class, shares])
    one = np.eye(len(shares))
    inner = np.block([[0 * one, -one], [-one, covariance.sum(axis=2)]])
    square = inner @ (vectors @ vectors.T)
    total = float(variances.sum())
    trace = total + float(np.trace(square))
    of_square = float(variances @ variances) + float(np.trace(square @ square))
    of_square += 2 * float(np.trace(inner @ ((vectors * variances) @ vectors.T)))
    if min(total, trace, of_square) <= 1e-12 * float(np.abs(variances).max()):
        return Effective(1.0, 1.0, together / together.sum())  # one cluster holds nearly all
    seen = int(np.count_nonzero(together))
    small = total / trace * (seen - 1) / seen
    parts = np.maximum(variances, 0.0)
    return Effective(
        max(trace * trace / of_square, 1.0), math.sqrt(max(small, 1.0)), parts / float(parts.sum())
    )


def _correlation(sums: Floats, rows: Floats, zeta: float) -> float:
    """Return the correlation within clusters, 0 to 1, at which sums of values have the squares they have."""
    pairs = (float(rows @ rows) - float(rows.sum())) * zeta
    return min(max((float(sums @ sums) - float(rows.sum()) * zeta) / pairs, 0.0), 1.0) if pairs > 0 else 0.0


def clustered_variance(by_cell: tuple[Floats, Floats], clusters: Clusters, n_pos: int, n_neg: int) -> float:
    """Variance of a mean over pairs from clustered rows: [O97] eq. 5 and 6, clusters in both classes.

    by_cell, shape (c,): Placement values less their mean, of a positive and of a negative of each cell.

    With x and y the sums of these over the positives and the negatives of a cluster, and I10, I01 and I the
    clusters with a positive, with a negative, and all: I10 / (I10 - 1) sum x² / n_pos² + I01 / (I01 - 1) sum
    y² / n_neg² + 2 I / (I - 1) sum x y / (n_pos n_neg). Clusters of one row give DeLong's variance. The
    last term may take it below 0: then the sum of (x / n_pos + y / n_neg)², with I / (I - 1).
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
