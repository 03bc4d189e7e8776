"""Cost curves: what a model's decisions cost at each operating condition, and what another model would save.

Dugas and Gadoury (2008) is [DG08] below; Drummond and Holte (2006) is [DH06]. The laws are in
`rocmonitor.stats.cost.law`, the thresholds t(w) in `rocmonitor.stats.cost.thresholds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.errors import InputError
from rocmonitor.stats.cost import law
from rocmonitor.stats.cost.conditions import valid_conditions
from rocmonitor.stats.cost.law import CostMethod, Costs, Errors
from rocmonitor.stats.curve.counting import disagreements, flagged
from rocmonitor.stats.curve.full_sampling import Sampling, require_sampling
from rocmonitor.stats.proportion import (
    interval_caveats,
    require_level,
    require_method,
    resample_caveats,
    resample_size,
)
from rocmonitor.stats.result import Table
from rocmonitor.stats.sample import PairedSample, Sample, on_pair, on_sample

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_FEW = f"fewer than {law.ENOUGH_ERRORS} errors carry the variance"
_UNTRUSTED = {
    "wald": _FEW,
    "exact": _FEW,
    "agresti": "the added errors move the estimate by half of its margin",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CostCurve(Table):
    """Normalised costs at operating conditions.

    Attributes
    ----------
    w : ndarray, shape (h,)
        Operating conditions: p_pos c_fn / (p_pos c_fn + p_neg c_fp), see `OperatingCondition`.
    threshold : ndarray, shape (h,)
        The threshold used at each.
    cost, low, high : ndarray, shape (h,)
        Observed cost, a share of the cost of getting everything wrong (also the mean of its exact bootstrap
        law), and the ends of its interval.
    variance : ndarray, shape (h,)
        Of the exact bootstrap law.
    sampling, method : str
    confidence_level : float
        Of each interval.
    n_pos, n_neg : int
        Class sizes.
    caveats : tuple of str
        Operating conditions at which a normal law is not to be trusted; intervals that were clipped or have
        zero length.
    """

    w: Floats
    threshold: Floats
    cost: Floats
    low: Floats
    high: Floats
    variance: Floats
    sampling: str
    method: str
    confidence_level: float
    n_pos: int
    n_neg: int
    caveats: tuple[str, ...]

    def __str__(self) -> str:
        return f"Cost at {_told(self)}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CostDifference(Table):
    """Normalised cost of the second model minus that of the first: below 0 the second is the cheaper.

    Attributes
    ----------
    w, cost, low, high, variance, sampling, method, confidence_level, n_pos, n_neg, caveats
        As in `CostCurve`, of the difference, which lies within [-1, 1].
    threshold_1, threshold_2 : ndarray, shape (h,)
        The thresholds of the two models.
    """

    w: Floats
    threshold_1: Floats
    threshold_2: Floats
    cost: Floats
    low: Floats
    high: Floats
    variance: Floats
    sampling: str
    method: str
    confidence_level: float
    n_pos: int
    n_neg: int
    caveats: tuple[str, ...]

    def __str__(self) -> str:
        return f"Cost of the second model minus the first at {_told(self)}"


@on_sample
def cost_curve(
    sample: Sample,
    w: ArrayLike,
    thresholds: ArrayLike,
    *,
    sampling: Sampling = "stratified",
    method: CostMethod = "wald",
    confidence_level: float = 0.95,
    m_pos: int | None = None,
    m_neg: int | None = None,
) -> CostCurve:
    """Normalised cost of a model's decisions at operating conditions ([DG08] eq. 3-5, 9 and 10).

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,)
        Labels and scores, or one `Sample` in their place.
    w : array_like, shape (h,)
        Operating conditions within [0, 1].
    thresholds : array_like, shape (h,) or ()
        Threshold at each: t(w) as chosen on other rows (`cost_thresholds` of a reference), or one number for
        all: the straight line of that threshold. May be infinite.
    sampling : str
        ``stratified``: the class shares of deployment are what w says, and certain. ``full``: they scatter
        as in the sample; w stands for the costs w / p_pos of a miss and (1 - w) / p_neg of a false alarm,
        with the sample's class shares p, and the cost is a share of the larger of the two.
    method : str
        ``wald``: normal, with the moments of the exact law ([DG08]); ``agresti``: normal, after adding 2
        errors and 2 right decisions to each class; ``exact``: quantiles of the exact bootstrap law;
        ``mover``: Clopper-Pearson limits of the error rates put together. The first and the third collapse
        where no error was seen; ``mover`` is to be trusted at any w (Notes).
    confidence_level : float
        Within (0, 1).
    m_pos, m_neg : int, optional
        Sizes of a resample, the class sizes by default; not for ``mover``, which resamples nothing.

    Returns
    -------
    CostCurve
        ``.w .threshold .cost .low .high .variance …``, ``.to_frame()`` and ``.to_dict()``.

    Raises
    ------
    DegenerateDataError
        A class without rows.
    InputError
        w outside [0, 1], thresholds that are NaN or not as many as w, an unknown sampling or method, a level
        outside (0, 1), resample sizes with ``mover``.

    Notes
    -----
    The thresholds count as chosen beforehand. Chosen on these very rows, the cost is too low and its interval
    too narrow.

    Measured on the designs of [DG08] (normal scores, 25 to 2,500 rows a class, nominal 90 %, w from 0.001 to
    0.999): ``mover`` never covered less than 90 %; ``wald`` and ``exact`` fall to 0 near w = 0 and 1,
    ``agresti`` to 84 % with 25 rows and, under full sampling, to 82 %. `caveats` names the w where that is
    to be feared. ``mover`` is as wide as ``agresti`` (0.93 to 1.01 of it).

    Cost: O(k + h log k) for k distinct scores after sorting; ``exact`` takes O(sqrt(m_pos m_neg)) more for
    each w.

    Examples
    --------
    >>> curve = cost_curve([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], [0.2, 0.5], 0.5)
    >>> curve.cost.tolist()
    [0.5, 0.5]
    >>> print(curve)
    Cost at 2 operating conditions, 95 % intervals (wald, stratified), 2 positives, 2 negatives
    """
    sample.require_both_classes()
    conditions = valid_conditions(w)
    at = _matched(thresholds, conditions, "thresholds")
    hit, alarm = flagged(sample, at)
    none = np.zeros_like(hit)
    costs = _costs(
        conditions,
        (sample.n_pos - hit, none, sample.n_pos, m_pos),
        (alarm, none, sample.n_neg, m_neg),
        sampling,
        paired=False,
    )
    return CostCurve(
        w=conditions,
        threshold=at,
        **_measured(costs, method, confidence_level, least=0.0),
        sampling=sampling,
        method=method,
        confidence_level=float(confidence_level),
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
    )


@on_pair
def cost_difference(
    pair: PairedSample,
    w: ArrayLike,
    thresholds_1: ArrayLike,
    thresholds_2: ArrayLike,
    *,
    sampling: Sampling = "stratified",
    method: CostMethod = "wald",
    confidence_level: float = 0.95,
    m_pos: int | None = None,
    m_neg: int | None = None,
) -> CostDifference:
    """Cost of the second model's decisions minus that of the first's, on the same rows.

    [DG08] eq. 6-8 and 11-13.

    Parameters
    ----------
    y_true, score_1, score_2 : array_like, shape (n,)
        Labels and the two models' scores, or one `PairedSample` in their place.
    w : array_like, shape (h,)
        Operating conditions within [0, 1].
    thresholds_1, thresholds_2 : array_like, shape (h,) or ()
        Thresholds of the two models at each, as for `cost_curve`.
    sampling, confidence_level, m_pos, m_neg
        As for `cost_curve`.
    method : str
        As for `cost_curve`; ``agresti`` adds, to each class, 1/2 row that only one model gets wrong, 1/2 that
        only the other does and 1 on which they agree (Agresti & Min).

    Returns
    -------
    CostDifference
        Below 0 the second model is the cheaper.

    Raises
    ------
    DegenerateDataError, InputError
        As `cost_curve`.

    Notes
    -----
    Rows on which the models agree cancel, whatever they cost.

    Measured on the designs of [DG08] (correlation 0.3 and 0.9, 100 and 1,000 rows a class, nominal 90 %):
    ``agresti`` never covered less than 89 %, ``mover`` than 90 %, at 1.1 to 1.5 times the width; ``wald``
    falls to 0 where the models hardly ever disagree.

    Cost: O(c + h log c) for c cells; ``exact`` as `cost_curve`.

    Examples
    --------
    >>> saved = cost_difference([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], [0.2, 0.3, 0.6, 0.8], [0.5], 0.5, 0.5)
    >>> saved.cost.tolist()
    [-0.5]
    """
    pair.require_both_classes()
    conditions = valid_conditions(w)
    at_1 = _matched(thresholds_1, conditions, "thresholds_1")
    at_2 = _matched(thresholds_2, conditions, "thresholds_2")
    pos_1, pos_2, neg_1, neg_2 = disagreements(pair, np.column_stack([at_1, at_2]))
    costs = _costs(
        conditions,
        (pos_1, pos_2, pair.n_pos, m_pos),  # flagged by the first only: missed by the second
        (neg_2, neg_1, pair.n_neg, m_neg),
        sampling,
        paired=True,
    )
    return CostDifference(
        w=conditions,
        threshold_1=at_1,
        threshold_2=at_2,
        **_measured(costs, method, confidence_level, least=-1.0),
        sampling=sampling,
        method=method,
        confidence_level=float(confidence_level),
        n_pos=pair.n_pos,
        n_neg=pair.n_neg,
    )


def _matched(thresholds: ArrayLike, conditions: Floats, name: str) -> Floats:
    """As many thresholds as operating conditions, in an array of its own."""
    try:
        at = np.array(thresholds, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers, one for each w or one for all: {error}") from error
    if at.ndim and at.shape != conditions.shape:
        raise InputError(
            f"{name} must be one number, or one for each w: there are {len(conditions)} w, "
            f"and {name} has shape {at.shape}"
        )
    if missing := np.count_nonzero(np.isnan(at)):
        raise InputError(f"{name} must not be NaN: {missing} of {at.size} are; inf flags nothing")
    return np.broadcast_to(at, conditions.shape).copy()


def _costs(
    w: Floats,
    pos: tuple[Counts, Counts, int, int | None],
    neg: tuple[Counts, Counts, int, int | None],
    sampling: Sampling,
    *,
    paired: bool,
) -> Costs:
    require_sampling(sampling)
    in_pos, in_neg = (
        Errors(more, less, n, resample_size(m, n, name), paired)
        for (more, less, n, m), name in ((pos, "m_pos"), (neg, "m_neg"))
    )
    return Costs(w, in_pos, in_neg, sampling)


def _measured(costs: Costs, method: CostMethod, confidence_level: float, least: float) -> dict[str, Any]:
    """The columns and caveats that a curve and a difference have in common."""
    require_method(method, get_args(CostMethod))
    if method == "mover" and (costs.pos.m, costs.neg.m) != (costs.pos.n, costs.neg.n):
        raise InputError("m_pos and m_neg are for wald, agresti and exact; method 'mover' resamples nothing")
    cost = law.mean(costs)
    tail = (1 - require_level(confidence_level)) / 2
    found = law.intervals(costs, method, tail, least)
    within = "[0, 1]" if least == 0 else "[-1, 1]"
    caveats = interval_caveats("cost", cost, found, within=within)
    weak = costs.w[law.untrusted(costs, method, tail)]
    if len(weak):
        caveats = (
            f"{_UNTRUSTED[method]} at w = {_listed(weak)}: the interval is not to be trusted there, "
            "that of method 'mover' is",
            *caveats,
        )
    caveats = (*resample_caveats(costs.pos.m, costs.pos.n, costs.neg.m, costs.neg.n), *caveats)
    return {
        "cost": cost,
        "low": found.low,
        "high": found.high,
        "variance": law.variance(costs),
        "caveats": caveats,
    }


def _listed(values: Floats) -> str:
    """The first few and the last of many."""
    told = [f"{value:g}" for value in np.unique(values)]
    return ", ".join(told if len(told) <= 8 else [*told[:4], "…", *told[-3:]])


def _told(result: CostCurve | CostDifference) -> str:
    return (
        f"{len(result.w)} operating conditions, {100 * result.confidence_level:g} % intervals "
        f"({result.method}, {result.sampling}), {result.n_pos} positives, {result.n_neg} negatives"
    )
