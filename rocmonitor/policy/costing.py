"""The rule `cost`: whether a window's normalised cost is shown to be too high."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from rocmonitor.caveat import Caveat
from rocmonitor.policy.condensing import of_any_order
from rocmonitor.policy.evaluation import Status, Verdict
from rocmonitor.policy.record import Row
from rocmonitor.policy.rules import Cost
from rocmonitor.stats import Sample, cost_curve


class Errors(NamedTuple):
    """The wrong decisions of the reference at its own threshold: missed positives and false alarms."""

    missed: int
    false_alarms: int


def errors_at(sample: Sample, threshold: float) -> Errors:
    """Missed positives and false alarms of a sample when scores of `threshold` and more are flagged."""
    below = sample.score < threshold
    return Errors(int(sample.pos[below].sum()), int(sample.neg[~below].sum()))


class Estimated(NamedTuple):
    """A cost and its interval."""

    cost: float
    low: float
    high: float


def cost_of(sample: Sample, w: float, threshold: float, confidence_level: float) -> Estimated:
    """The normalised cost of a sample, by the method that may be trusted at any operating condition."""

    def found(of: Sample) -> list[Row]:
        curve = cost_curve(of, [w], [threshold], method="mover", confidence_level=confidence_level)
        return [{name: float(getattr(curve, name)[0]) for name in Estimated._fields}]

    return Estimated(**of_any_order(sample, found)[0])


def cost_verdict(
    name: str,
    rule: Cost,
    sample: Sample,
    threshold: float,
    reference: tuple[Errors, int, int] | None,
) -> Verdict:
    """What the rule finds on a window.

    Parameters
    ----------
    name : str
    rule : Cost
    sample : Sample
    threshold : float
        The one that costs least in the reference.
    reference : tuple of Errors, int, int, or None
        Its wrong decisions, positives and negatives; needed with ``rule.margin``.

    Notes
    -----
    The interval of the difference puts the limits of both costs together ([ZD08], as ``mover`` does). The
    threshold was chosen on the reference, whose cost is a little too low for it: by less than its interval.
    """
    now = cost_of(sample, rule.w, threshold, rule.confidence_level)
    stated = {"w": rule.w, "cost": now.cost, "threshold": threshold if math.isfinite(threshold) else None}
    if rule.value is not None:
        return _verdict(name, rule, now, Status.DEGRADED if now.low > rule.value else Status.OK, stated)
    if reference is None:
        return Verdict.lacking(name, "cost", Caveat("reference-without-costs"))
    assert rule.margin is not None
    then = cost_of(_decided(*reference), rule.w, 0.5, rule.confidence_level)
    gap = now.cost - then.cost
    change = Estimated(
        gap,
        gap - math.hypot(now.cost - now.low, then.high - then.cost),
        gap + math.hypot(now.high - now.cost, then.cost - then.low),
    )
    outcome = Status.IMPROVED if change.high < -rule.margin else Status.OK
    if change.low > rule.margin:
        outcome = Status.DEGRADED
    return _verdict(name, rule, change, outcome, stated | {"reference_cost": then.cost})


def _verdict(name: str, rule: Cost, found: Estimated, outcome: Status, stated: dict[str, Any]) -> Verdict:
    most = rule.margin if rule.value is None else rule.value
    assert most is not None
    return Verdict(
        rule=name,
        kind="cost",
        outcome=outcome,
        estimate=found.cost,
        low=found.low,
        high=found.high,
        confidence_level=rule.confidence_level,
        limit=(None if rule.margin is None else -rule.margin, most),
        margin=most - found.low,
        details=stated,
    )


def _decided(errors: Errors, n_pos: int, n_neg: int) -> Sample:
    """The sample of decisions, 1 for flagged."""
    return Sample.from_counts(
        [0.0, 1.0], [errors.missed, n_pos - errors.missed], [n_neg - errors.false_alarms, errors.false_alarms]
    )
