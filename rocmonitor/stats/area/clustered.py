"""Standard errors of areas, and of paired differences, when rows come in clusters.

A row is replaced by its cluster: the placement values of a cluster's rows are added up ([O97]), and the
design effect says how much less the rows show than as many independent ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.delong import delong_variance, moments
from rocmonitor.stats.area.skewness import deviations
from rocmonitor.stats.cells import Clusters
from rocmonitor.stats.proportion import quantile_beyond
from rocmonitor.stats.sample import Floats, PairedSample, Sample

METHOD = "obuchowski"

FEW = 30  # clusters, were they of equal size, below which a caveat says how few they are (docs/coverage.md)
_LARGE = 0.5  # share of the variance from which on one cluster, or two, are said to make most of it
_FEWEST = 5  # clusters up to which two of them are no exception


def require_independent(sample: Sample | PairedSample, method: str) -> None:
    """Refuse a method that takes rows as independent, for rows that are clustered."""
    if sample.clusters is not None and method != "delong":
        raise InputError(
            f"method {method!r} takes rows as independent, and these have clusters: use 'delong', or leave "
            "cluster out"
        )


def effective_sizes(sample: Sample) -> tuple[int, int] | None:
    """Independent rows of each class that would show as much; None for independent rows.

    By the design effect of the ranks in each class, which stands for that of the points of the curve, and by
    Student's t with the degrees of freedom of that class, at 95 % ([KG98]).
    """
    if sample.clusters is None:
        return None
    pairs, clusters, sizes = moments(sample), sample.clusters, []
    g, f = deviations(sample, pairs)
    for counts, values, zeta in ((clusters.pos, g, pairs.zeta10), (clusters.neg, f, pairs.zeta01)):
        own, rows = clusters.sums(counts * values[clusters.index]), clusters.sums(counts)
        n, groups = int(rows.sum()), int(np.count_nonzero(rows))
        if groups < 2 or n < 2 or zeta <= 0:
            sizes.append(min(n, groups))
            continue
        effect = float(own @ own) * groups / (groups - 1) / (n * zeta * n / (n - 1))
        if effect <= 0:
            sizes.append(n)
            continue
        reach = 1.0
        if (correction := effective([own], [rows], [zeta])) is not None:
            reach = correction.inflation * quantile_beyond(0.025, correction.df) / quantile_beyond(0.025)
        sizes.append(max(1, min(n, round(n / effect / reach**2))))
    return sizes[0], sizes[1]


def clustered_error(
    by_cell: Sequence[Floats],
    sample: Sample | PairedSample,
    zetas: tuple[float, float],
    estimated: Callable[[NDArray[np.bool_]], tuple[float, float, float]],
) -> tuple[float, dict[str, Any]]:
    """Return the variance of an area, or of a paired difference, and the fields of a result for clusters.

    zetas: Variances of the placement values, or of their differences.
    estimated: The area or difference of some cells, with its 95 % interval for independent rows.
    """
    clusters, n_pos, n_neg = sample.clusters, sample.n_pos, sample.n_neg
    assert clusters is not None
    variance = clustered_variance(by_cell, clusters, n_pos, n_neg)
    of_pos, of_neg, _ = clusters.sizes
    fewest = min(of_pos, of_neg)
    caveats = []
    if fewest < FEW:
        caveats.append(Caveat("few-clusters", clusters=fewest, effective=float(fewest), enough=FEW))
    numbers: dict[str, Any] = {"clusters": (of_pos, of_neg), "caveats": tuple(caveats), "design_effect": None}
    independent = delong_variance(*zetas, n_pos, n_neg) if min(n_pos, n_neg) > 1 else 0.0
    if independent <= 0:  # every pair compares alike, and rounding is all that would be left
        return 0.0, numbers
    numbers["design_effect"] = variance / independent
    counts = clusters.pos, clusters.neg
    sums = [clusters.sums(count * values) for count, values in zip(counts, by_cell, strict=True)]
    if (correction := effective(sums, [clusters.sums(count) for count in counts], zetas)) is None:
        return variance, numbers
    numbers |= {"df": correction.df, "inflation": correction.inflation}
    if correction.df + 1 < FEW:
        caveats = [Caveat("few-clusters", clusters=fewest, effective=correction.df + 1, enough=FEW)]
    order = np.argsort(correction.parts)[::-1]
    if len(order) > _FEWEST:
        rows = clusters.sums(clusters.pos + clusters.neg)
        n = 1 if 2 * correction.parts[order[1]] < correction.parts[order[0]] else 2
        share, of_rows = (float(parts[order[:n]].sum() / parts.sum()) for parts in (correction.parts, rows))
        if share >= _LARGE:
            large = {"largest": n, "clusters": len(rows), "share": share, "of_rows": of_rows}
            try:
                estimate, low, high = estimated(np.isin(clusters.cluster, order[:n]))
                large |= {"estimate": estimate, "low": low, "high": high}
            except DegenerateDataError:  # they have one class only
                pass
            caveats.append(Caveat("large-clusters", **large))
    numbers["caveats"] = tuple(caveats)
    return variance, numbers


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
    alike = 0.0  # the correlation within clusters
    for own, row, zeta in zip(sums, rows, zetas, strict=True):
        pairs = (float(row @ row) - float(row.sum())) * zeta
        if pairs > 0:
            alike = max(alike, min((float(own @ own) - float(row.sum()) * zeta) / pairs, 1.0))
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


def clustered_variance(by_cell: Sequence[Floats], clusters: Clusters, n_pos: int, n_neg: int) -> float:
    """Variance of a mean over pairs from clustered rows: [O97] eq. 5 and 6, clusters in both classes.

    by_cell, shape (c,): Placement values less their mean, of a positive and of a negative of each cell.

    With x and y the sums of these over the positives and the negatives of a cluster, and I10, I01 and I the
    clusters with a positive, with a negative, and all: I10 / (I10 - 1) sum x² / n_pos² + I01 / (I01 - 1) sum
    y² / n_neg² + 2 I / (I - 1) sum x y / (n_pos n_neg). Clusters of one row give DeLong's variance. The
    last term may take it below 0: then the sum of (x / n_pos + y / n_neg)², with I / (I - 1).
    """
    of_pos, of_neg, every = clusters.sizes
    if min(of_pos, of_neg) < 2:
        raise DegenerateDataError(
            f"the {n_pos} positives come from {of_pos} clusters, the {n_neg} negatives from {of_neg}: "
            "fewer than two show no scatter; see whether cluster holds the ids of what rows belong to"
        )
    x = clusters.sums(clusters.pos * by_cell[0]) / n_pos
    y = clusters.sums(clusters.neg * by_cell[1]) / n_neg

    def corrected(products: Floats, size: int) -> float:
        return float(np.sum(products)) * size / (size - 1)

    variance = corrected(x * x, of_pos) + corrected(y * y, of_neg) + 2 * corrected(x * y, every)
    return variance if variance > 0 else corrected((x + y) ** 2, every)
