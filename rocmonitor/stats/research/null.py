"""A test of one AUC: resamples from the closest distributions that have the AUC of the null hypothesis."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.compare import Alternative, require_alternative
from rocmonitor.stats.forecast.climbing import Extreme, optimum
from rocmonitor.stats.forecast.kld import area, nearest
from rocmonitor.stats.forecast.tilting import OneOrder, cells
from rocmonitor.stats.proportion import require_method
from rocmonitor.stats.resampling import Rng, generator
from rocmonitor.stats.research.population import METHODS, pvalue, resampled, reweighted, statistics
from rocmonitor.stats.result import Result
from rocmonitor.stats.sample import Floats, Sample, on_sample


@dataclass(frozen=True, slots=True, kw_only=True)
class AucTest(Result):
    """A test of an AUC against a value.

    Attributes
    ----------
    auc, null : float
        Of the sample, and of the null hypothesis.
    statistic : float
        ``(auc - null) / se`` with DeLong's standard error; ``auc - null`` with method "plain".
    pvalue : float
        Against `alternative`; at least 1 / (n_resamples + 1), two-sided twice that.
    distance : float
        Of the closest distributions with the AUC `null`, in nats (see `auc_distance`).
    optimum : str
        "proven" if no distributions are closer, "searched" if none closer was found (see `AucBounds`).
    """

    auc: float
    null: float
    statistic: float
    pvalue: float
    distance: float
    n_pos: int
    n_neg: int
    n_resamples: int
    alternative: str
    method: str
    optimum: str

    def __str__(self) -> str:
        return (
            f"AUC {self.auc:.4f} against {self.null:.4f}: {self.alternative} p = {self.pvalue:.4g} "
            f"({self.n_resamples} resamples from distance {self.distance:.4g})"
        )


@on_sample
def auc_test(
    sample: Sample,
    /,
    null: float,
    *,
    alternative: Alternative = "two-sided",
    method: str = "studentized",
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> AucTest:
    """Test an AUC against a value by resamples from the closest distributions that have it.

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,)
        Labels and scores, or one `Sample` in their place.
    null : float
        The AUC of the null hypothesis, within (0, 1).
    alternative : {"two-sided", "greater", "less"}
        "less": the AUC is below `null`.
    method : {"studentized", "plain"}
        Whether the difference to `null` is divided by DeLong's standard error, in the resamples too.
    n_resamples, rng : int, and Generator, SeedSequence or int
        How many resamples are drawn, and their randomness, which must be given.

    Returns
    -------
    AucTest

    Raises
    ------
    InputError
        Unusable data (see `Sample`), a null outside (0, 1), an unknown alternative or method, no `rng`.
    DegenerateDataError
        A class without rows (with "studentized", fewer than two); a `null` that no reweighting of the rows
        reaches, because the scores do not overlap in its direction.

    Notes
    -----
    The future work of [M18]: the shares u and v of `auc_distance` at `null` are a population in which
    the null hypothesis is true, and as close to the sample as one can be. Classes are resampled from it, and
    the p-value is (1 + #) / (n_resamples + 1) of resamples as far out as the sample; two-sided, twice the
    smaller of the two sides. Level and power by simulation: docs/coverage.md.

    Cost: one `auc_distance`, then O(k) a resample for k distinct scores; about 20 ms for 1e6 rows.

    References
    ----------
    .. [M18] L. Morin (2018). Forecast intervals for the area under the ROC curve with a time-varying
       population. Working paper, University of Central Florida.

    Examples
    --------
    >>> y, s = [0, 0, 0, 1, 0, 1, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    >>> result = auc_test(y, s, 0.5, alternative="greater", rng=1)
    >>> round(result.auc, 2), round(result.distance, 3), result.pvalue < 0.1
    (0.84, 0.418, True)
    """
    if not 0 < null < 1:
        raise InputError(f"null must be an AUC within (0, 1), exclusive; it is {null}")
    require_alternative(alternative)
    require_method(method, METHODS)
    source = generator(rng, n_resamples, method="auc_test")
    sample.require_both_classes(at_least=2 if method == "studentized" else 1)
    own, null = area(sample), float(null)
    shares = cells(sample.pos, sample.neg).shares
    found = _closest(shares, own, null)
    sizes = (sample.n_pos, sample.n_neg)
    population, counts = reweighted(shares, found.tilt, (np.arange(shares.shape[1]),), sizes, null)
    studentized = method == "studentized"
    statistic = float(statistics(population, *counts, studentized=studentized)[0])
    drawn = resampled(population, sizes, int(n_resamples), source, studentized=studentized)
    return AucTest(
        auc=own,
        null=null,
        statistic=statistic,
        pvalue=pvalue(statistic, drawn, alternative),
        distance=found.distance,
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
        n_resamples=int(n_resamples),
        alternative=alternative,
        method=method,
        optimum=optimum(OneOrder(shares), found),
    )


def _closest(shares: Floats, own: float, null: float) -> Extreme:
    """The closest weights with the AUC of the null hypothesis, all above 0."""
    found = nearest(shares, own, null)
    if math.isinf(found.multiplier):
        raise DegenerateDataError(
            f"an AUC of {null:g} is reached only by leaving rows out, which is no population that the sample "
            "could come from; take a sample whose scores overlap more"
        )
    return found
