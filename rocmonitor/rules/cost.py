"""Rule `cost`: the normalised cost is shown to be too high."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from annotated_types import Interval

from rocmonitor.errors import InputError
from rocmonitor.rules.base import Level, Needs, TwoSided, beyond
from rocmonitor.rules.evidence import Evidence, LearnedReference
from rocmonitor.verdict import Verdict

if TYPE_CHECKING:
    from rocmonitor.stats import Sample
    from rocmonitor.stats.cost.conditions import WrongDecisions


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost(TwoSided):
    """The champion's normalised cost at the operating condition `w` is shown to be too high.

    Above `value`, or above that of the reference by more than `margin`, both uncertainties counted: one of
    the two.
    """

    kind: Literal["cost"] = "cost"
    w: Annotated[float, Interval(ge=0, le=1)]
    value: Annotated[float, Interval(gt=0, lt=1)] | None = None
    margin: Annotated[float, Interval(ge=0, lt=1)] | None = None
    confidence_level: Level = 0.95

    @property
    def needs(self) -> Needs:
        """All labels, and the threshold that costs least in the reference."""
        return Needs(all_labels=True, rows=True, costs=(self.w,))

    def __post_init__(self) -> None:
        if (self.value is None) == (self.margin is None):
            raise InputError(
                "cost needs value (it is above) or margin (it is above the reference's by more), one of them"
            )

    def _verdict(self, name: str, evidence: Evidence, reference: LearnedReference) -> Verdict:
        """Compare the interval of the cost, or of its change, with the limit.

        Notes
        -----
        The interval of the difference puts the limits of both costs together ([ZD08], as ``mover`` does).
        """
        assert evidence.sample is not None
        threshold, past = reference.cost_of(self.w)
        now = cost_of(evidence.sample, self.w, threshold, self.confidence_level)
        stated = {"w": self.w, "cost": now.cost, "threshold": threshold if math.isfinite(threshold) else None}
        if self.value is not None:
            estimated, least, most = now, None, self.value
            outcome = beyond(now.low > most, False)
        else:
            assert self.margin is not None
            then = cost_then(past, self.w, self.confidence_level)
            gap = now.cost - then.cost
            estimated = Estimated(
                gap,
                gap - math.hypot(now.cost - now.low, then.high - then.cost),
                gap + math.hypot(now.high - now.cost, then.cost - then.low),
            )
            least, most = -self.margin, self.margin
            outcome = beyond(estimated.low > most, estimated.high < least)
            stated["reference_cost"] = then.cost
        return Verdict(
            rule=name,
            kind=self.kind,
            outcome=outcome,
            estimate=estimated.cost,
            low=estimated.low,
            high=estimated.high,
            confidence_level=self.confidence_level,
            limit=(least, most),
            margin=most - estimated.low,
            details=stated,
        )


class Estimated(NamedTuple):
    """A cost and its interval."""

    cost: float
    low: float
    high: float


def cost_of(sample: Sample, w: float, threshold: float, confidence_level: float) -> Estimated:
    """Return the normalised cost of a sample, by the method that holds at any operating condition."""
    from rocmonitor.stats import cost_curve
    from rocmonitor.stats.condensed import of_any_order

    def table(cells: Sample) -> list[dict[str, Any]]:
        curve = cost_curve(cells, [w], [threshold], method="mover", confidence_level=confidence_level)
        return [{name: float(getattr(curve, name)[0]) for name in Estimated._fields}]

    return Estimated(**of_any_order(sample, table)[0])


def cost_then(past: tuple[WrongDecisions, int, int], w: float, confidence_level: float) -> Estimated:
    """Return the normalised cost of the reference, from its errors there, positives and negatives."""
    from rocmonitor.stats import Sample

    errors, n_pos, n_neg = past
    decided = Sample.from_counts(
        [0.0, 1.0], [errors.missed, n_pos - errors.missed], [n_neg - errors.false_alarms, errors.false_alarms]
    )
    return cost_of(decided, w, 0.5, confidence_level)
