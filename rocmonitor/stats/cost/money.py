"""Normalised costs as money."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats.binomial import Floats
from rocmonitor.stats.cost.conditions import OperatingCondition
from rocmonitor.stats.cost.curve import CostCurve, CostDifference
from rocmonitor.stats.proportion import is_number
from rocmonitor.stats.result import Table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExpectedCost(Table):
    """Expected cost of a number of decisions, in the unit of the conditions' costs.

    `w`, `cost`, `low` and `high`, shape (h,), are operating conditions, expected costs and the ends of their
    intervals; `caveats` those of the normalised costs.
    """

    w: Floats
    cost: Floats
    low: Floats
    high: Floats
    decisions: int
    confidence_level: float
    caveats: tuple[Caveat, ...]


def expected_cost(
    costs: CostCurve | CostDifference,
    conditions: OperatingCondition | list[OperatingCondition],
    *,
    decisions: int = 1000,
) -> ExpectedCost:
    """Normalised costs as money: the expected cost of so many decisions, with its interval.

    Parameters
    ----------
    costs : CostCurve or CostDifference
        Under stratified sampling: prevalence is then the one of `conditions`, and certain.
    conditions : OperatingCondition, or a list of them, length h
        One for each w of `costs`, in order.
    decisions : int
        At least 1.

    Returns
    -------
    ExpectedCost

    Raises
    ------
    InputError
        As many conditions as w are needed, with these w; full sampling; fewer than 1 decision.

    References
    ----------
    .. [DG08] Dugas, Gadoury (2008). Pointwise exact bootstrap distributions of cost curves. ICML 2008.

    Examples
    --------
    >>> from rocmonitor.stats import OperatingCondition, cost_curve
    >>> lending = OperatingCondition(false_positive=200, false_negative=5000, prevalence=0.02)
    >>> curve = cost_curve([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], lending.w, 0.5)
    >>> expected_cost(curve, lending).cost.round(6).tolist()  # 20 x 1/2 x 5000 + 980 x 1/2 x 200
    [148000.0]
    """
    listed = [conditions] if isinstance(conditions, OperatingCondition) else list(conditions)
    if costs.sampling != "stratified":
        raise InputError(
            "costs must be of sampling='stratified': full sampling takes prevalence from the sample, and "
            "conditions have their own"
        )
    if not is_number(decisions) or decisions < 1:
        raise InputError(f"decisions must be at least 1; it is {decisions}")
    w = np.array([condition.w for condition in listed])
    if w.shape != costs.w.shape or not np.allclose(w, costs.w, rtol=0, atol=1e-9):
        raise InputError(
            f"conditions must be those of the costs, one for each w: their w are {_listed(w)}, those of the "
            f"costs {_listed(costs.w)}"
        )
    money = decisions * np.array([condition.largest for condition in listed])
    return ExpectedCost(
        w=costs.w,
        cost=money * costs.cost,
        low=money * costs.low,
        high=money * costs.high,
        decisions=decisions,
        confidence_level=costs.confidence_level,
        caveats=costs.caveats,
    )


def _listed(w: Floats) -> str:
    return ", ".join(f"{value:g}" for value in w[:5].tolist()) + (", …" if len(w) > 5 else "")
