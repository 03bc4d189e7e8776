"""The minimum of the detection cost function, as speaker recognition judges its systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rocmonitor.caveat import Caveat
from rocmonitor.stats import plotting
from rocmonitor.stats.cost.conditions import OperatingCondition, cost_thresholds
from rocmonitor.stats.curve.drawn_measure import draw, drawn_measure, said
from rocmonitor.stats.resampling import Percentiles, Rng
from rocmonitor.stats.result import Result
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.sample import Sample, on_sample


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimumDetectionCost(Result):
    """The lowest detection cost that any threshold has, with a bootstrap interval.

    Attributes
    ----------
    cost : float
        Expected cost of a decision, in the unit of the condition's costs; too low for other rows, as its
        threshold was chosen on these.
    threshold : float
        The observed score that has it; ``inf`` flags nothing.
    se : float
        Standard deviation over the resamples, each at its own best threshold.
    low, high : float
        Percentiles of the resamples.
    n_resamples : int
        Resamples drawn.
    """

    _estimate: ClassVar[str | None] = "cost"
    _flat: ClassVar[bool] = True

    cost: float
    threshold: float
    se: float
    low: float
    high: float
    confidence_level: float
    percentiles: str
    n_resamples: int
    n_pos: int
    n_neg: int
    caveats: tuple[Caveat, ...] = ()

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        draw(self, self.cost, ax, "minimum detection cost", label)

    def __str__(self) -> str:
        return said(self, self.cost, "Minimum detection cost", ".4g")


@on_sample
def minimum_detection_cost(
    sample: Sample,
    /,
    condition: OperatingCondition,
    *,
    confidence_level: float = 0.95,
    percentiles: Percentiles = "inverted_cdf",
    n_resamples: int = 2000,
    rng: Rng | None = None,
) -> MinimumDetectionCost:
    """Return the minimum of the detection cost function with its standard error over stratified resamples.

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,)
        Labels 0 and 1, and finite scores; higher means more positive. Or one `Sample`.
    condition : OperatingCondition
        ``false_negative`` is C_Miss, ``false_positive`` C_FalseAlarm and ``prevalence`` P_Target.
    confidence_level, percentiles, n_resamples, rng
        As for `equal_error_rate`.

    Returns
    -------
    MinimumDetectionCost
        ``cost / condition.largest`` is the lower envelope of `cost_thresholds` at ``condition.w``.

    Raises
    ------
    DegenerateDataError, InputError
        A class without rows; unusable data (see `Sample`), an unknown option, no `rng`.

    Notes
    -----
    C = C_Miss P_Miss P_Target + C_FalseAlarm P_FalseAlarm (1 - P_Target), the weighted sum of both errors
    ([WMK16] section 1), minimised over the thresholds; the bootstrap is that of section 4. The cost at a
    threshold that was chosen beforehand has closed forms: `cost_curve`. Cost: O(k) a resample for k distinct
    scores.

    References
    ----------
    .. [WMK16] Wu, Martin and Kacker (2016). Communications in Statistics 45, 1689-1703.

    Examples
    --------
    >>> speaker = OperatingCondition(false_negative=10, false_positive=1, prevalence=0.01)
    >>> found = minimum_detection_cost([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6], speaker, rng=1)
    >>> round(found.cost, 4), found.threshold
    (0.0333, 5.0)
    """
    miss = condition.prevalence * condition.false_negative
    alarm = (1 - condition.prevalence) * condition.false_positive

    def lowest(fpr: Floats, fnr: Floats) -> Floats:
        return np.asarray((miss * fnr + alarm * fpr).min(axis=1))

    best = cost_thresholds(sample, condition.w)
    cost = condition.largest * float(best.cost[0])
    own = "detection cost", cost
    return MinimumDetectionCost(
        cost=cost,
        threshold=float(best.threshold[0]),
        **drawn_measure(sample, lowest, own, confidence_level, percentiles, n_resamples, rng),
    )
