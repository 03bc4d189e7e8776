"""Standard errors of areas, and of paired differences, when rows come in clusters.

A row is replaced by its cluster: the placement values of a cluster's rows are added up ([O97]), and the
design effect says how much less the rows show than as many independent ones.

References
----------
.. [O97] Obuchowski (1997). Nonparametric analysis of clustered ROC curve data. Biometrics 53, 567-578.
"""

from __future__ import annotations

from typing import Any

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats.area.skewness import deviations
from rocmonitor.stats.area.variances import Moments, delong_variance, moments
from rocmonitor.stats.clusters import FEW, Clusters, clustered_variance
from rocmonitor.stats.sample import Counts, Floats, PairedSample, Sample

METHOD = "obuchowski"


def require_independent(sample: Sample | PairedSample, method: str) -> None:
    """Refuse a method that takes rows as independent, for rows that are clustered."""
    if sample.clusters is not None and method != "delong":
        raise InputError(
            f"method {method!r} takes rows as independent, and these have clusters: use 'delong', or leave "
            "cluster out"
        )


def area_error(sample: Sample, of: Moments, clusters: Clusters) -> tuple[float, dict[str, Any]]:
    """Variance of an AUC, and the fields `clusters`, `design_effect` and `caveats` of its result."""
    g, f = deviations(sample, of)
    independent = delong_variance(of.zeta10, of.zeta01, sample.n_pos, sample.n_neg)
    return _error((g[clusters.index], f[clusters.index]), clusters, sample, independent)


def difference_error(
    below: Floats, above: Floats, difference: float, pair: PairedSample, independent: float
) -> tuple[float, dict[str, Any]]:
    """The same for a paired difference, from the differences of the placement values as counts."""
    assert pair.clusters is not None
    own = (below / pair.n_neg - difference, above / pair.n_pos - difference)
    return _error(own, pair.clusters, pair, independent)


def effective_sizes(sample: Sample) -> tuple[int, int] | None:
    """Independent rows of each class that would show as much; None for independent rows.

    By the design effect of the ranks in each class, which stands for that of the points of the curve.
    """
    if sample.clusters is None:
        return None
    of = moments(sample)
    g, f = deviations(sample, of)
    clusters, sizes = sample.clusters, sample.clusters.sizes

    def worth(counts: Counts, values: Floats, zeta: float, n: int, groups: int) -> int:
        if groups < 2 or n < 2 or zeta <= 0:
            return min(n, groups)
        own = clusters.sums(counts * values[clusters.index])
        effect = float(own @ own) * groups / (groups - 1) / (n * zeta * n / (n - 1))
        return max(1, min(n, round(n / effect))) if effect > 0 else n

    return (
        worth(clusters.pos, g, of.zeta10, sample.n_pos, sizes.pos),
        worth(clusters.neg, f, of.zeta01, sample.n_neg, sizes.neg),
    )


def _error(
    by_cell: tuple[Floats, Floats], clusters: Clusters, sample: Sample | PairedSample, independent: float
) -> tuple[float, dict[str, Any]]:
    varied = independent > 0  # else every pair compares alike, and rounding is all that would be left
    variance = clustered_variance(by_cell, clusters, sample.n_pos, sample.n_neg)
    sizes = clusters.sizes
    fewest = min(sizes.pos, sizes.neg)
    return variance if varied else 0.0, {
        "clusters": (sizes.pos, sizes.neg),
        "design_effect": variance / independent if varied else None,
        "caveats": (Caveat("few-clusters", clusters=fewest, enough=FEW),) if fewest < FEW else (),
    }
