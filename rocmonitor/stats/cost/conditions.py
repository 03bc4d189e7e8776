"""Operating conditions: money and prevalence, and the one number w that they come to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.errors import InputError
from rocmonitor.stats.proportion import is_number
from rocmonitor.stats.result import Result, Table

if TYPE_CHECKING:
    from rocmonitor.stats.cost.curve import CostCurve, CostDifference

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExpectedCost(Table):
    """Expected cost of a number of decisions, in the unit of the conditions' costs.

    Attributes
    ----------
    w, cost, low, high : ndarray, shape (h,)
        Operating conditions, expected costs and the ends of their intervals.
    decisions : int
        How many decisions they are of.
    confidence_level : float
    caveats : tuple of str
        Those of the normalised costs.
    """

    w: Floats
    cost: Floats
    low: Floats
    high: Floats
    decisions: int
    confidence_level: float
    caveats: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OperatingCondition(Result):
    """What errors cost and how frequent positives are where the model is used.

    Attributes
    ----------
    false_positive, false_negative : float
        Cost of flagging a negative and of missing a positive, in one unit; at least 0, not both 0.
    prevalence : float
        Share of positives among the decisions, within [0, 1].

    Raises
    ------
    InputError
        A cost below 0 or not finite, both costs 0, a prevalence outside [0, 1], or one at which no error that
        costs anything can occur.

    Examples
    --------
    >>> lending = OperatingCondition(false_positive=200, false_negative=5000, prevalence=0.02)
    >>> round(lending.w, 4), round(lending.largest, 2)
    (0.3378, 296.0)
    """

    false_positive: float
    false_negative: float
    prevalence: float

    def __post_init__(self) -> None:
        for name in ("false_positive", "false_negative"):
            value = getattr(self, name)
            if not is_number(value) or not 0 <= value < math.inf:
                raise InputError(f"{name} must be a finite cost of at least 0; it is {value}")
        if not is_number(self.prevalence) or not 0 <= self.prevalence <= 1:
            raise InputError(f"prevalence must be a share within [0, 1]; it is {self.prevalence}")
        if self.largest == 0:
            raise InputError(
                f"no error costs anything: false_positive is {self.false_positive:g}, false_negative "
                f"{self.false_negative:g} and prevalence {self.prevalence:g}; give a cost above 0 to an "
                "error that can occur"
            )

    @classmethod
    def at(cls, w: float, *, prevalence: float, false_positive: float = 1.0) -> OperatingCondition:
        """The condition with a given w: what a miss then costs, for one false alarm's cost.

        Examples
        --------
        >>> round(OperatingCondition.at(0.2, prevalence=0.05).false_negative, 9)
        4.75
        """
        conditions = valid_conditions(w)
        if len(conditions) != 1 or conditions[0] == 1 or not is_number(prevalence) or not 0 < prevalence < 1:
            raise InputError(
                f"w must be one number in [0, 1) and prevalence one in (0, 1), for a miss to have a cost; "
                f"they are {w} and {prevalence}"
            )
        miss = false_positive * conditions[0] / (1 - conditions[0]) * (1 - prevalence) / prevalence
        return cls(false_positive=false_positive, false_negative=float(miss), prevalence=prevalence)

    @property
    def largest(self) -> float:
        """Expected cost of a decision when every decision is wrong."""
        return self.prevalence * self.false_negative + (1 - self.prevalence) * self.false_positive

    @property
    def w(self) -> float:
        """The share of that which misses have, [DG08] eq. 2."""
        return self.prevalence * self.false_negative / self.largest


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

    Examples
    --------
    >>> from rocmonitor.stats import cost_curve
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
            f"conditions must be those of the costs, one for each w: their w are {_told(w)}, those of the "
            f"costs {_told(costs.w)}"
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


def valid_conditions(w: ArrayLike) -> Floats:
    """Operating conditions as an array of their own, shape (h,)."""
    try:
        conditions = np.array(w, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError) as error:
        raise InputError(f"w must be numbers within [0, 1]: {error}") from error
    if conditions.ndim != 1 or not len(conditions):
        raise InputError(f"w must be a list of at least one number; its shape is {conditions.shape}")
    wrong = conditions[~((conditions >= 0) & (conditions <= 1))]
    if len(wrong):
        raise InputError(
            f"w must lie within [0, 1]: {len(wrong)} of {len(conditions)} do not, the first is {wrong[0]:g}; "
            "OperatingCondition makes it of costs and a prevalence"
        )
    return conditions


def _told(w: Floats) -> str:
    return ", ".join(f"{value:g}" for value in w[:5].tolist()) + (", …" if len(w) > 5 else "")
