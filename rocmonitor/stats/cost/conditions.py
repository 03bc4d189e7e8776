"""Operating conditions: money and prevalence, and the one number w that follows from them.

[DG08] is Dugas and Gadoury (2008), see `rocmonitor.stats.cost.curve.cost_curve`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from numpy.typing import ArrayLike

from rocmonitor.errors import InputError
from rocmonitor.stats.binomial import Floats
from rocmonitor.stats.curve.points import number_list
from rocmonitor.stats.proportion import is_number
from rocmonitor.stats.result import Result


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


def valid_conditions(w: ArrayLike) -> Floats:
    """Operating conditions as an array of their own, shape (h,)."""
    conditions = number_list(w, "w")
    wrong = conditions[~((conditions >= 0) & (conditions <= 1))]
    if len(wrong):
        raise InputError(
            f"w must lie within [0, 1]: {len(wrong)} of {len(conditions)} do not, the first is {wrong[0]:g}; "
            "OperatingCondition computes it from costs and a prevalence"
        )
    return conditions
