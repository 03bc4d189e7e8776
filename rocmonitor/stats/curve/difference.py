"""Two models at pairs of thresholds: intervals of the differences of their rates.

Within a class and a resample, (rows that only model 1 flags) - (rows that only model 2 flags) is a trinomial
difference. [DG09] is Dugas and Gadoury (2009), section 3.2 and algorithm 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.stats.binomial import Counts, Floats, trinomial_difference
from rocmonitor.stats.curve.laws import (
    BootstrapLaw,
    ClassSize,
    IntervalTable,
    Sampling,
    interval_options,
    measured,
    sampled_sizes,
)
from rocmonitor.stats.curve.points import disagreements, threshold_pairs
from rocmonitor.stats.proportion import AGRESTI_MIN, Smoothing, resample_caveats, resample_sizes
from rocmonitor.stats.resampling import Rng
from rocmonitor.stats.sample import PairedSample, on_pair

DifferenceMethod = Literal["agresti-min", "wald", "exact", "empirical"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThresholdDifference(IntervalTable):
    """Differences of the rates of two models (first minus second) at pairs of thresholds.

    As `ThresholdIntervals`, with `threshold_1` and `threshold_2` of the two models, and `dtpr` and `dfpr`,
    each with its ends, in place of the rates.
    """

    threshold_1: Floats
    threshold_2: Floats
    dtpr: Floats
    dtpr_low: Floats
    dtpr_high: Floats
    dfpr: Floats
    dfpr_low: Floats
    dfpr_high: Floats
    joint: bool

    @property
    def pairs(self) -> Floats:
        """The pairs of thresholds, shape (h, 2)."""
        return np.column_stack([self.threshold_1, self.threshold_2])

    def __str__(self) -> str:
        return self._line(
            f"Differences at {len(self.dtpr)} pairs of thresholds",
            "joint regions" if self.joint else "intervals",
        )


@on_pair
def threshold_difference(
    pair: PairedSample,
    pairs: ArrayLike,
    *,
    method: DifferenceMethod = "agresti-min",
    confidence_level: float = 0.95,
    joint: bool = True,
    sampling: Sampling = "stratified",
    m_pos: int | None = None,
    m_neg: int | None = None,
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> ThresholdDifference:
    """Intervals of TPR and FPR of model 1 minus those of model 2 at pairs of thresholds ([DG09] alg. 3).

    Parameters
    ----------
    y_true, score_1, score_2 : array_like, shape (n,)
        Labels and the two models' scores on the same rows, or one `PairedSample` in their place.
    pairs : array_like, shape (h, 2)
        Thresholds (t1, t2) of model 1 and model 2; may be infinite.
    method : str
        ``agresti-min``: normal, after adding 1/2 row that only model 1 flags, 1/2 that only model 2 flags
        and 1 on which they agree; ``wald``: normal, nothing added; ``exact``: quantiles of the exact
        bootstrap law; ``empirical``: percentiles over drawn resamples.
    confidence_level, joint, sampling, m_pos, m_neg, n_resamples, rng
        As for `threshold_intervals`.

    Returns
    -------
    ThresholdDifference
        ``agresti-min`` never gives an interval of zero length; the other two do where the models never
        disagree, or always to the same side.

    Raises
    ------
    DegenerateDataError, InputError
        As for `threshold_intervals`.

    Notes
    -----
    Cost: O(c + h log c) for c cells; ``exact`` takes O(h sqrt(m) log m) more.

    References
    ----------
    .. [DG09] Dugas, Gadoury (2010). Pointwise exact bootstrap distributions of ROC curves. Machine Learning.
    .. [AM05] Agresti, Min (2005). Simple improved confidence intervals for comparing matched proportions.
       Statistics in Medicine 24.

    Examples
    --------
    >>> result = threshold_difference([0, 1, 1], [0.2, 0.9, 0.8], [0.6, 0.4, 0.7], [(0.5, 0.5)])
    >>> result.dtpr.tolist(), result.dfpr.tolist()
    ([0.5], [-1.0])
    """
    pair.require_both_classes()
    pair.require_distinct_scores()
    at = threshold_pairs(pairs)
    options = interval_options(
        method, get_args(DifferenceMethod), confidence_level, joint=joint, n_resamples=n_resamples, rng=rng
    )
    m_pos, m_neg = resample_sizes(m_pos, pair.n_pos, m_neg, pair.n_neg)
    rows_pos, rows_neg = sampled_sizes(sampling, m_pos, m_neg, pair.n_pos, pair.n_neg)
    pos_1, pos_2, neg_1, neg_2 = disagreements(pair, at)
    laws = {
        "dtpr": _Difference(pos_1, pos_2, pair.n_pos, rows_pos),
        "dfpr": _Difference(neg_1, neg_2, pair.n_neg, rows_neg),
    }
    at_1, at_2 = at.T.copy()
    fields = measured(pair, laws, options, at, resample_caveats(m_pos, pair.n_pos, m_neg, pair.n_neg))
    return ThresholdDifference(threshold_1=at_1, threshold_2=at_2, joint=joint, **fields)


@dataclass(frozen=True, eq=False)
class _Difference(BootstrapLaw):
    """Of the `n` rows of a class, `only_1` are flagged by model 1 only and `only_2` by model 2 only."""

    only_1: Counts
    only_2: Counts
    n: int
    size: ClassSize
    smoothing = AGRESTI_MIN
    least = -1.0

    @property
    def mean(self) -> Floats:
        return np.asarray((self.only_1 - self.only_2) / self.n)

    def moments(self, added: Smoothing) -> tuple[Floats, Floats]:
        p1, p2 = added.share(self.only_1, self.n), added.share(self.only_2, self.n)
        return p1 - p2, np.maximum(p1 + p2 - (p1 - p2) ** 2, 0.0) * self.size.mean_inverse(added.rows)

    def quantiles(self, i: int, tail: float) -> tuple[float, float]:
        a, b = int(self.only_1[i]) / self.n, int(self.only_2[i]) / self.n
        return self.size.rate_quantiles(partial(trinomial_difference, a=a, b=b), tail)

    def drawn(self, n_resamples: int, rng: np.random.Generator) -> Floats:
        rows = self.size.drawn((n_resamples, len(self.only_1)), rng)
        agreeing = self.n - self.only_1 - self.only_2
        drawn = rng.multinomial(rows, np.column_stack([self.only_1, self.only_2, agreeing]) / self.n)
        return np.asarray((drawn[..., 0] - drawn[..., 1]) / rows)
