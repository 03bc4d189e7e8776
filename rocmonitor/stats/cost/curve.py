"""Cost curves: what a model's decisions cost at each operating condition, and what another one would save."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats import plotting
from rocmonitor.stats.binomial import Floats
from rocmonitor.stats.cost.conditions import COST_LABEL, W_LABEL, OperatingCondition, valid_conditions
from rocmonitor.stats.cost.law import ENOUGH_ERRORS, CostDifferenceLaw, CostLaw, CostMethod, ErrorCounts
from rocmonitor.stats.curve.laws import IntervalTable, Sampling, interval_options, measured
from rocmonitor.stats.curve.roc import disagreements, flagged
from rocmonitor.stats.proportion import (
    NOT_SMOOTHED,
    Rng,
    is_number,
    require_method,
    resample_caveats,
    resample_sizes,
)
from rocmonitor.stats.result import Table
from rocmonitor.stats.rows import require_all
from rocmonitor.stats.sample import PairedSample, Sample, on_pair, on_sample


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CostCurve(IntervalTable):
    """Normalised costs at operating conditions; the rest is as in `IntervalTable`.

    Attributes
    ----------
    w, shape (h,): Operating conditions: p_pos c_fn / (p_pos c_fn + p_neg c_fp), see `OperatingCondition`.
    threshold, shape (h,): The threshold used at each.
    cost, low, high, shape (h,): Observed cost, a share of the cost of getting everything wrong (also the mean
        of its exact bootstrap law), and the ends of its interval.
    variance, shape (h,): Of the exact bootstrap law.
    """

    _points: ClassVar[str] = "Cost at {} operating conditions"

    w: Floats
    threshold: Floats
    cost: Floats
    low: Floats
    high: Floats
    variance: Floats
    sampling: str

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.along(ax, self.w, self.cost, self.low, self.high, label=label)
        plotting.describe(ax, x=W_LABEL, y=COST_LABEL, note=self._about())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CostDifference(IntervalTable):
    """Normalised cost of the second model minus that of the first: below 0 the second is the cheaper.

    As `CostCurve`, of the difference, which lies within [-1, 1], with `threshold_1` and `threshold_2` of the
    models.
    """

    _points: ClassVar[str] = "Cost of the second model minus the first at {} operating conditions"

    w: Floats
    threshold_1: Floats
    threshold_2: Floats
    cost: Floats
    low: Floats
    high: Floats
    variance: Floats
    sampling: str

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.zero(ax)
        plotting.along(ax, self.w, self.cost, self.low, self.high, label=label)
        plotting.describe(ax, x=W_LABEL, y="difference of the cost, second minus first", note=self._about())


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
    prevalence_sd: float | None = None,
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> CostCurve:
    """Normalised cost of a model's decisions at operating conditions ([DG08] eq. 3-5, 9 and 10).

    Parameters
    ----------
    w, shape (h,): Operating conditions within [0, 1].
    thresholds, shape (h,) or (): Threshold at each: t(w) as chosen on other rows (`cost_thresholds` of a
        reference), or one number for all. May be infinite.
    sampling: ``stratified``: the class shares of deployment are what w says, and certain. ``full``: they
        scatter as in the sample; w stands for the costs w / p_pos of a miss and (1 - w) / p_neg of a false
        alarm, with the sample's class shares p, and the cost is a share of the larger of the two.
    method: ``wald``: normal, with the moments of the exact law ([DG08]); ``agresti``: normal, after adding 2
        errors and 2 right decisions to each class; ``exact``: quantiles of the exact bootstrap law;
        ``mover``: Clopper-Pearson limits of the error rates put together, which can be trusted at any w;
        ``empirical``: percentiles of resamples that are drawn, the rival of ``exact`` ([DG08] section 6).
        ``wald``, ``exact`` and ``empirical`` have zero length where no error was seen.
    m_pos, m_neg: Sizes of a resample, the class sizes by default; not for ``mover``.
    prevalence_sd: Under full sampling, the standard deviation of the share of positives in a resample, in
        place of the binomial one ([DG08] section 4); drawn from a beta-binomial law. Not for ``exact`` and
        ``mover``.

    Raises
    ------
    DegenerateDataError, InputError: A class without rows; w outside [0, 1], thresholds that are NaN or not as
        many as w, an unknown sampling, method or level, resample sizes with ``mover``; a `prevalence_sd`
        below that of rows drawn one by one, of sqrt(p (1 - p)) and more, or with a method or sampling that
        has none.

    Notes
    -----
    The thresholds count as chosen beforehand: chosen on these very rows, the cost is too low and its interval
    too narrow. `caveats` names the w at which a method cannot be trusted; coverage: docs/coverage.md. Cost:
    O(k + h log k) for k distinct scores after sorting; ``exact`` takes O(sqrt(m_pos m_neg)) more for each w,
    ``empirical`` O(n_resamples).

    Examples
    --------
    >>> print(cost_curve([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], [0.2, 0.5], 0.5))
    Cost at 2 operating conditions, 95 % intervals (wald, stratified), 2 positives, 2 negatives
    """
    sample.require_both_classes()
    conditions = valid_conditions(w)
    at = _matched(thresholds, conditions, "thresholds")
    hit, alarm = flagged(sample, at)
    none = np.zeros_like(hit)
    m_pos, m_neg = resample_sizes(m_pos, sample.n_pos, m_neg, sample.n_neg)
    require_method(sampling, get_args(Sampling), "sampling")
    law = CostLaw(
        conditions,
        ErrorCounts(sample.n_pos - hit, none, sample.n_pos, m_pos),
        ErrorCounts(alarm, none, sample.n_neg, m_neg),
        sampling,
        prevalence_sd,
    )
    fields = _measured(sample, law, method, confidence_level, n_resamples, rng)
    return CostCurve(w=conditions, threshold=at, **fields)


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
    prevalence_sd: float | None = None,
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> CostDifference:
    """Cost of the second model's decisions minus that of the first's ([DG08] eq. 6-8 and 11-13).

    Parameters
    ----------
    w, thresholds_1, thresholds_2, sampling, confidence_level, m_pos, m_neg, prevalence_sd, n_resamples, rng:
        As for `cost_curve`.
    method: As for `cost_curve`; ``agresti`` adds, to each class, 1/2 row that only one model gets wrong, 1/2
        that only the other does and 1 on which they agree (Agresti & Min).

    Returns
    -------
    Rows on which the models agree cancel, whatever they cost. Cost: O(c + h log c) for c cells; errors,
    coverage and ``exact`` as for `cost_curve`.

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
    m_pos, m_neg = resample_sizes(m_pos, pair.n_pos, m_neg, pair.n_neg)
    require_method(sampling, get_args(Sampling), "sampling")
    law = CostDifferenceLaw(
        conditions,
        ErrorCounts(pos_1, pos_2, pair.n_pos, m_pos),  # flagged by the first only: missed by the second
        ErrorCounts(neg_2, neg_1, pair.n_neg, m_neg),
        sampling,
        prevalence_sd,
    )
    fields = _measured(pair, law, method, confidence_level, n_resamples, rng)
    return CostDifference(w=conditions, threshold_1=at_1, threshold_2=at_2, **fields)


def _matched(thresholds: ArrayLike, conditions: Floats, name: str) -> Floats:
    """Return as many thresholds as operating conditions, in an array of its own."""
    try:
        at = np.array(thresholds, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers, one for each w or one for all: {error}") from error
    if at.ndim and at.shape != conditions.shape:
        raise InputError(
            f"{name} must be one number, or one for each w: there are {len(conditions)} w, "
            f"and {name} has shape {at.shape}"
        )
    require_all(~np.isnan(at), name, "be numbers", "inf flags nothing")
    return np.broadcast_to(at, conditions.shape).copy()


def _measured(
    rows: Sample | PairedSample,
    law: CostLaw,
    method: str,
    confidence_level: float,
    n_resamples: int,
    rng: Rng | None,
) -> dict[str, Any]:
    offered = get_args(CostMethod)
    options = interval_options(method, offered, confidence_level, n_resamples=n_resamples, rng=rng)
    pos, neg, sd = law.pos, law.neg, law.prevalence_sd
    if sd is not None:
        if law.sampling != "full" or method in ("exact", "mover"):
            raise InputError(
                "prevalence_sd is for sampling='full' with method wald, agresti or empirical; sampling is "
                f"{law.sampling!r} and method {method!r}: leave prevalence_sd out"
            )
        p = pos.n / (pos.n + neg.n)
        most = math.sqrt(p * (1 - p))
        least = most / math.sqrt(pos.m + neg.m)
        if not is_number(sd) or not least * (1 - 1e-9) <= sd < most:
            raise InputError(
                f"prevalence_sd must be at least {least:.4g}, that of rows drawn one by one, and below "
                f"{most:.4g}; it is {sd!r}"
            )
    if method == "mover" and (pos.m, neg.m) != (pos.n, neg.n):
        raise InputError("m_pos and m_neg are for resamples; method 'mover' does not resample")
    caveats = resample_caveats(pos.m, pos.n, neg.m, neg.n)
    untrusted = law.w[law.untrusted(method, options.tail)]
    if len(untrusted):
        at = np.unique(untrusted)
        caveats += (
            Caveat("moved-by-smoothing", at=at, instead="mover")
            if method == "agresti"
            else Caveat("few-errors", at=at, errors=ENOUGH_ERRORS, instead="mover"),
        )
    fields = measured(rows, {"cost": law}, options, law.w, caveats)
    return fields | {
        "low": fields.pop("cost_low"),
        "high": fields.pop("cost_high"),
        "variance": law.moments(NOT_SMOOTHED)[1],
        "sampling": law.sampling,
    }


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

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.along(ax, self.w, self.cost, self.low, self.high, label=label)
        note = f"{100 * self.confidence_level:g} % intervals, in the unit of the conditions' costs"
        plotting.describe(ax, x=W_LABEL, y=f"expected cost of {self.decisions:,} decisions", note=note)


def expected_cost(
    costs: CostCurve | CostDifference,
    conditions: OperatingCondition | list[OperatingCondition],
    *,
    decisions: int = 1000,
) -> ExpectedCost:
    """Normalised costs as money: the expected cost of a number of decisions, with its interval.

    Parameters
    ----------
    costs: Under stratified sampling: prevalence is then the one of `conditions`, and certain.
    conditions : OperatingCondition, or a list of them, length h: One for each w of `costs`, in order.
    decisions: At least 1.

    Raises
    ------
    InputError: As many conditions as w are needed, with these w; full sampling; fewer than 1 decision.

    Examples
    --------
    >>> from rocmonitor.stats import OperatingCondition, cost_curve
    >>> lending = OperatingCondition(false_positive=200, false_negative=5000, prevalence=0.02)
    >>> curve = cost_curve([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], lending.w, 0.5)
    >>> expected_cost(curve, lending).cost.round(6).tolist()  # 20 x 1/2 x 5000 + 980 x 1/2 x 200
    [148000.0]
    """
    listed = [conditions] if isinstance(conditions, OperatingCondition) else conditions
    if not isinstance(costs, CostCurve | CostDifference):
        raise InputError(f"costs must be a CostCurve or a CostDifference, not a {type(costs).__name__}")
    if not isinstance(listed, Sequence) or not all(isinstance(at, OperatingCondition) for at in listed):
        raise InputError("conditions must be an OperatingCondition, or a list of one for each w of costs")
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
