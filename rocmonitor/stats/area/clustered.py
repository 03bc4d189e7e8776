"""Standard errors of areas, and of paired differences, when rows come in clusters.

A row is replaced by its cluster: the placement values of a cluster's rows are added up ([O97]), and the
design effect says how much less the rows show than as many independent ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats.area.delong import Moments, delong_variance, moments
from rocmonitor.stats.area.skewness import deviations
from rocmonitor.stats.clusters import FEW, LARGE, Clusters, clustered_variance, effective
from rocmonitor.stats.proportion import quantile_beyond
from rocmonitor.stats.sample import Floats, PairedSample, Sample

METHOD = "obuchowski"

_FEWEST = 5  # clusters up to which two of them are no exception


def require_independent(sample: Sample | PairedSample, method: str) -> None:
    """Refuse a method that takes rows as independent, for rows that are clustered."""
    if sample.clusters is not None and method != "delong":
        raise InputError(
            f"method {method!r} takes rows as independent, and these have clusters: use 'delong', or leave "
            "cluster out"
        )


def area_error(sample: Sample, pairs: Moments, clusters: Clusters) -> tuple[float, dict[str, Any]]:
    """Variance of an AUC, and the fields of its result that belong to clusters."""
    g, f = deviations(sample, pairs)
    zetas = pairs.zeta10, pairs.zeta01
    return _error((g[clusters.index], f[clusters.index]), clusters, sample, zetas)


def difference_error(
    below: Floats, above: Floats, difference: float, pair: PairedSample, zetas: tuple[float, float]
) -> tuple[float, dict[str, Any]]:
    """Return the same for a paired difference, from the differences of the placement values as counts."""
    assert pair.clusters is not None
    own = (below / pair.n_neg - difference, above / pair.n_pos - difference)
    return _error(own, pair.clusters, pair, zetas)


def effective_sizes(sample: Sample) -> tuple[int, int] | None:
    """Independent rows of each class that would show as much; None for independent rows.

    By the design effect of the ranks in each class, which stands for that of the points of the curve, and by
    Student's t with the degrees of freedom of that class, at 95 % ([KG98]).
    """
    if sample.clusters is None:
        return None
    pairs = moments(sample)
    g, f = deviations(sample, pairs)
    clusters = sample.clusters
    pos = _worth(clusters.sums(clusters.pos * g[clusters.index]), clusters, pairs.zeta10, positive=True)
    neg = _worth(clusters.sums(clusters.neg * f[clusters.index]), clusters, pairs.zeta01, positive=False)
    return pos, neg


def _worth(own: Floats, clusters: Clusters, zeta: float, *, positive: bool) -> int:
    """Independent rows of one class that show as much as the sums `own` over its clusters."""
    rows = clusters.sums(clusters.pos if positive else clusters.neg)
    n, groups = int(rows.sum()), int(np.count_nonzero(rows))
    if groups < 2 or n < 2 or zeta <= 0:
        return min(n, groups)
    effect = float(own @ own) * groups / (groups - 1) / (n * zeta * n / (n - 1))
    if effect <= 0:
        return n
    reach = 1.0
    if (correction := effective([own], [rows], [zeta])) is not None:
        reach = correction.inflation * quantile_beyond(0.025, correction.df) / quantile_beyond(0.025, None)
    return max(1, min(n, round(n / effect / reach**2)))


def _error(
    by_cell: tuple[Floats, Floats],
    clusters: Clusters,
    sample: Sample | PairedSample,
    zetas: tuple[float, float],
) -> tuple[float, dict[str, Any]]:
    n_pos, n_neg = sample.n_pos, sample.n_neg
    enough = min(n_pos, n_neg) > 1
    independent = delong_variance(*zetas, n_pos, n_neg) if enough else 0.0
    varied = independent > 0  # else every pair compares alike, and rounding is all that would be left
    variance = clustered_variance(by_cell, clusters, n_pos, n_neg)
    sizes = clusters.sizes
    fewest = min(sizes.pos, sizes.neg)
    few = (
        (Caveat("few-clusters", clusters=fewest, effective=float(fewest), enough=FEW),)
        if fewest < FEW
        else ()
    )
    numbers: dict[str, Any] = {"clusters": (sizes.pos, sizes.neg), "caveats": few, "design_effect": None}
    if not varied:
        return 0.0, numbers
    numbers["design_effect"] = variance / independent
    counts = clusters.pos, clusters.neg
    sums = [clusters.sums(count * values) for count, values in zip(counts, by_cell, strict=True)]
    if (correction := effective(sums, [clusters.sums(count) for count in counts], zetas)) is None:
        return variance, numbers
    numbers |= {"df": correction.df, "inflation": correction.inflation}
    if correction.df + 1 < FEW:
        few = (Caveat("few-clusters", clusters=fewest, effective=correction.df + 1, enough=FEW),)
    numbers["caveats"] = few + _large(correction.parts, clusters.sums(clusters.pos + clusters.neg))
    return variance, numbers


def _large(parts: Floats, rows: Floats) -> tuple[Caveat, ...]:
    order = np.argsort(parts)[::-1]
    if len(order) <= _FEWEST:
        return ()
    largest = 1 if 2 * parts[order[1]] < parts[order[0]] else 2
    share, of_rows = (float(values[order[:largest]].sum() / values.sum()) for values in (parts, rows))
    if share < LARGE:
        return ()
    return (Caveat("large-clusters", largest=largest, clusters=len(rows), share=share, of_rows=of_rows),)
