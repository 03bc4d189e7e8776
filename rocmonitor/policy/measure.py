"""Measuring scores: named metrics and tables, the same for windows, reviews, the evaluator and ``auc``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rocmonitor import conventions
from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.policy.evaluation import Counts, Verdict
from rocmonitor.policy.record import Row, Tables, caveats_of
from rocmonitor.stats import (
    AucDifference,
    AucResult,
    CalibrationResult,
    PairedSample,
    Sample,
    auc,
    calibration,
    compare_auc_paired,
    condensed_error,
    cost_curve,
    threshold_dominance,
    threshold_intervals,
    total_rate_intervals,
    vertical_intervals,
)
from rocmonitor.stats.area.clustered import effective_sizes
from rocmonitor.stats.condensed import of_any_order


def too_coarse(sample: Sample, max_error: float) -> Caveat | None:
    """Return a caveat if the guaranteed error of an AUROC is too large for it to be judged."""
    if sample.ends is None:
        return None
    error = condensed_error(sample).auc
    if error <= max_error:
        return None
    grid = "" if sample.ends.grid is None else str(sample.ends.grid)
    return Caveat("condensed-too-coarse", error=error, max_error=max_error, grid=grid)


def guaranteed(sample: Sample) -> dict[str, dict[str, float]]:
    """``guaranteed_error`` of a condensed window, for its provenance; empty where nothing was lost."""
    if sample.ends is None or not min(sample.n_pos, sample.n_neg):
        return {}
    error = condensed_error(sample)
    return {"guaranteed_error": {name: getattr(error, name) for name in ("auc", "se", "tpr", "fpr")}}


LEVEL = conventions.LEVEL
"""Confidence level of the intervals that windows report; a rule has its own."""

CURVE_POINTS = 49
"""Points at which the curve is kept with intervals: false positive rates 0.02 to 0.98, or fewer."""

Pairs = Sequence[Sequence[float]]
"""Thresholds of the challenger and the champion."""

_CALIBRATION = {"log_loss": "log_loss", "brier": "brier"}
_CALIBRATION |= {name: f"calibration_{name}" for name in ("slope", "intercept")}
"""Metrics by the field of `rocmonitor.stats.CalibrationResult`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The statistics that are wanted besides the AUROC and its curve."""

    fprs: Sequence[float] = ()
    """False positive rates at which the true one is reported."""
    thresholds: Mapping[float, float] = field(default_factory=dict)
    """Thresholds by the number that names them: the same number, unless scores were negated."""
    costs: Mapping[float, float] = field(default_factory=dict)
    """Thresholds at which the champion's cost is reported, by operating condition w."""
    shares: Sequence[float] = ()
    """Shares of rows to flag, for each of which the precision is reported."""
    probability: bool = False
    """True if the champion's scores are probabilities, whose calibration is reported."""
    confidence_level: float = LEVEL


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The statistics of some scores.

    Metrics have names such as ``champion/auc``, ``difference/auc_low``, ``champion/tpr_at_fpr_0.1_high``;
    tables are ``roc``, ``fprs``, ``thresholds``, and where they apply ``costs``, ``dominance``, ``shares``.
    """

    champion: AucResult
    difference: AucDifference | None = None  # challenger minus champion, on the rows that both scored
    calibration: CalibrationResult | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    tables: Tables = field(default_factory=dict)
    caveats: tuple[Caveat, ...] = ()

    def plus(
        self, metrics: dict[str, float], tables: Tables | None = None, caveats: Iterable[Caveat] = ()
    ) -> Measured:
        """Return the same with more; a caveat is there once."""
        return replace(
            self,
            metrics=self.metrics | metrics,
            tables=self.tables | (tables or {}),
            caveats=tuple(dict.fromkeys([*self.caveats, *caveats])),
        )


def data_metrics(counts: Counts) -> dict[str, float]:
    """Return where the rows went, as metrics; these exist for every window, even an empty one."""
    named = {
        "rows": counts.rows,
        "used": counts.used,
        "positives": counts.n_pos,
        "negatives": counts.n_neg,
        "prevalence": counts.n_pos / counts.used if counts.used else 0.0,
        "labelled_share": counts.labelled_share,
        "unlabelled": counts.unlabelled,
        "bad_score": counts.bad_score,
        "bad_label": counts.bad_label,
        "duplicates": counts.duplicates,
        "two_labels": counts.two_labels,
        "outside": counts.outside,
        "no_challenger": counts.no_challenger,
    }
    return {f"data/{name}": float(value) for name, value in named.items()}


def measure(
    champion: Sample, pair: PairedSample | None, wanted: Wanted, *, missing: int | None = None
) -> Measured:
    """Return the statistics of the champion and (paired) of the challenger: AUROC first, then `STATISTICS`.

    The champion has at least two rows of each class; higher scores are more positive. In `pair` the
    challenger is first, on the rows that both scored, or some of them; it is left out, with a caveat, when it
    has fewer than two rows of a class. A model with one score for all rows has an AUROC, of 0.5, and no
    curve: a caveat stands in its place. `missing` is the number of the champion's rows without a score of the
    challenger; default those that `pair` lacks.

    Cost: O(k) for k distinct scores, and O(sqrt n) for each point of the curve.
    """
    result, level = auc(champion), wanted.confidence_level
    values = {"champion": auc_values(result, level)}
    sizes = {"rows": champion.n_pos + champion.n_neg, "cells": len(champion.score)}
    caveats = list(caveats_of(result))
    caveats += [Caveat("condensed", **sizes, **error) for error in guaranteed(champion).values()]
    difference = None
    if pair is not None and shows_no_scatter(pair):
        caveats.append(Caveat("challenger-scored-too-few", n_pos=pair.n_pos, n_neg=pair.n_neg))
        pair = None
    if pair is not None:
        values["challenger"] = auc_values(auc(pair.first), level)
        try:
            difference = compare_auc_paired(pair)
            values["difference"] = difference_values(difference, level)
        except DegenerateDataError as error:  # every row shows the same difference
            caveats.append(Caveat("not-computed", why=str(error)).concerning("difference"))
        both = pair.n_pos + pair.n_neg
        if lacking := champion.n_pos + champion.n_neg - both if missing is None else missing:
            compared = {"rows": both, "champion_auc": auc(pair.second).auc}
            caveats.append(Caveat("challenger-scores-missing", missing=lacking, **compared))
    metrics = {f"{what}/{name}": value for what, named in values.items() for name, value in named.items()}
    measured = Measured(champion=result, difference=difference).plus(metrics, {}, caveats)
    for statistic in STATISTICS:
        measured = statistic(measured, champion, pair, wanted)
    return measured


def shows_no_scatter(sample: Sample | PairedSample) -> bool:
    """Return True if a class has fewer than two rows, or clusters, so that an AUROC has no standard error."""
    few_clusters = sample.clusters is not None and min(sample.clusters.sizes[:2]) < 2
    return min(sample.n_pos, sample.n_neg) < 2 or few_clusters


def unmeasurable(champion: Sample, max_error: float) -> Verdict | None:
    """Return a verdict if a class is one cluster, or cells leave too much of the AUROC open; else None."""
    if (coarse := too_coarse(champion, max_error)) is not None:
        return Verdict.lacking("data", "data", coarse)
    if champion.clusters is None or min(champion.clusters.sizes[:2]) > 1:
        return None
    pos, neg, _ = champion.clusters.sizes
    lack = Caveat("one-cluster", positives=pos, negatives=neg)
    return Verdict.lacking("data", "data", lack)


def auc_values(result: AucResult, confidence_level: float = LEVEL) -> dict[str, float]:
    """Return an AUROC with its standard error and interval, under the names that metrics have for them."""
    low, high = result.ci(confidence_level)
    effect = {} if result.design_effect is None else {"design_effect": result.design_effect}
    if result.error is not None:
        effect |= {"auc_error": result.error[0], "auc_se_error": result.error[1]}
    return {"auc": result.auc, "auc_se": result.se, "auc_low": low, "auc_high": high} | effect


def difference_values(difference: AucDifference, confidence_level: float = LEVEL) -> dict[str, float]:
    """Return the same for a difference of AUROCs, with its p-value."""
    low, high = difference.ci(confidence_level)
    return {
        "auc": difference.difference,
        "auc_se": difference.se,
        "auc_low": low,
        "auc_high": high,
        "pvalue": difference.pvalue,
    }


def curves(points: Iterable[tuple[str, Sample]], confidence_level: float = LEVEL) -> list[Row]:
    """Return the ROC curves of some models, each point with an interval of its own."""
    table = []
    for model, sample in points:
        m_pos, m_neg = effective_sizes(sample) or (sample.n_pos, sample.n_neg)
        # Only multiples of 1 / m_neg exist as rates.
        width = m_neg / (CURVE_POINTS + 1)
        steps = {round(place * width) for place in range(1, CURVE_POINTS + 1)}
        if fprs := [step / m_neg for step in sorted(steps) if 0 < step < m_neg]:
            table += _vertical(model, sample, fprs, confidence_level, (m_pos, m_neg))
    return table


def rows(columns: Mapping[str, Any], **first: Any) -> list[Row]:
    """Columns of equal length as rows of plain Python values, infinity as None; each begins with `first`.

    Examples
    --------
    >>> rows({"threshold": [0.5, math.inf], "cost": [0.1, 0.2]}, w=0.3)
    [{'w': 0.3, 'threshold': 0.5, 'cost': 0.1}, {'w': 0.3, 'threshold': None, 'cost': 0.2}]
    """
    plain = [
        values.tolist()
        if hasattr(values, "tolist")
        else [value.item() if hasattr(value, "item") else value for value in values]
        for values in columns.values()
    ]
    infinite = (math.inf, -math.inf)
    return [
        first
        | {name: None if value in infinite else value for name, value in zip(columns, line, strict=True)}
        for line in zip(*plain, strict=True)
    ]


def _columns(result: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(result, name) for name in names}


def _with_curves(measured: Measured, champion: Sample, pair: PairedSample | None, wanted: Wanted) -> Measured:
    """Return them with the curve of each model, and its rates at some points of it."""
    level, thresholds = wanted.confidence_level, list(wanted.thresholds.values())
    models = _models(champion, pair)
    caveats = [
        Caveat("no-curve", model=model, rows=sample.n_pos + sample.n_neg, score=float(sample.score[0]))
        for model, sample in models.items()
        if len(sample.score) == 1
    ]
    points = [(model, sample) for model, sample in models.items() if len(sample.score) > 1]
    tables: Tables = {"thresholds": [], "fprs": [], "roc": curves(points, level)}
    rates = []
    for model, sample in points:
        which = {} if pair is None else {"model": model}
        sizes = effective_sizes(sample) or (None, None)
        # Negatives that are worth one row have no rate between 0 and 1.
        fprs = wanted.fprs if sizes[1] != 1 else ()
        at_fprs = _vertical(model, sample, fprs, level, sizes) if fprs else []
        at_thresholds = _at_thresholds(model, sample, thresholds, level)
        tables["fprs"] += at_fprs
        tables["thresholds"] += at_thresholds
        rates += [(model, "tpr", f"fpr_{fpr:g}", row) for fpr, row in zip(fprs, at_fprs, strict=True)]
        for threshold, row in zip(wanted.thresholds, at_thresholds, strict=True):
            rates += [(model, rate, f"threshold_{threshold:g}", row) for rate in ("tpr", "fpr")]
        caveats += [
            Caveat("nearest-rate", fpr=fpr, used_fpr=row["fpr"], n_neg=sample.n_neg, **which)
            for fpr, row in zip(fprs, at_fprs, strict=True)
            if abs(row["fpr"] - fpr) > 0.1 * fpr
        ]
    metrics = {
        f"{model}/{rate}_at_{point}{end}": row[f"{rate}{end}"]
        for model, rate, point, row in rates
        for end in ("", "_low", "_high")
    }
    return measured.plus(metrics, tables, caveats)


def _models(champion: Sample, pair: PairedSample | None) -> dict[str, Sample]:
    return {"champion": champion} | ({} if pair is None else {"challenger": pair.first})


def _vertical(
    model: str, sample: Sample, fprs: Sequence[float], level: float, sizes: tuple[int | None, int | None]
) -> list[Row]:
    def table(ordered: Sample) -> list[Row]:
        curve = vertical_intervals(ordered, fprs, confidence_level=level, m_pos=sizes[0], m_neg=sizes[1])
        return rows(_columns(curve, "fpr", "tpr", "tpr_low", "tpr_high"), model=model)

    # A tie counts as flagged with all of its positives: too many by half of them.
    return of_any_order(sample, table, halfway=("tpr",))


def _at_thresholds(
    model: str, sample: Sample, thresholds: Sequence[float], confidence_level: float
) -> list[Row]:
    if not thresholds:
        return []
    m_pos, m_neg = effective_sizes(sample) or (None, None)
    names = ("tpr", "tpr_low", "tpr_high", "fpr", "fpr_low", "fpr_high")

    def table(ordered: Sample) -> list[Row]:
        curve = threshold_intervals(
            ordered, thresholds, confidence_level=confidence_level, m_pos=m_pos, m_neg=m_neg
        )
        return rows({"threshold": thresholds, **_columns(curve, *names)}, model=model)

    return of_any_order(sample, table)


def _with_costs(measured: Measured, champion: Sample, _: PairedSample | None, wanted: Wanted) -> Measured:
    """Return them with normalised costs, by the method that may be trusted at any operating condition."""
    if not wanted.costs:
        return measured
    costs, level = wanted.costs, wanted.confidence_level

    def table(ordered: Sample) -> list[Row]:
        curve = cost_curve(ordered, list(costs), list(costs.values()), method="mover", confidence_level=level)
        return rows(_columns(curve, "w", "threshold", "cost", "low", "high"), model="champion")

    metrics: dict[str, float] = {}
    at_costs = of_any_order(champion, table)
    for row in at_costs:
        name = f"champion/cost_at_w_{row['w']:g}"
        metrics |= {name: row["cost"], f"{name}_low": row["low"], f"{name}_high": row["high"]}
    return measured.plus(metrics, {"costs": at_costs})


def _with_dominance(measured: Measured, _: Sample, pair: PairedSample | None, wanted: Wanted) -> Measured:
    """Return them with the shares of resamples in which either model has the better rates at a threshold."""
    if pair is None or not wanted.thresholds:
        return measured
    # One score for all rows that both scored may be one of several for all that the champion scored.
    if min(len(pair.first.score), len(pair.second.score)) == 1:
        return measured.plus({}, caveats=[Caveat("no-dominance")])
    thresholds = list(wanted.thresholds.values())
    shares = dominance_shares(pair, [(at, at) for at in thresholds])
    return measured.plus({}, {"dominance": rows({"threshold": thresholds, **shares})})


def dominance_shares(pair: PairedSample, at: Pairs) -> dict[str, Any]:
    """Return the shares of resamples by who dominates, the same in windows and reviews."""
    law = threshold_dominance(pair, at)
    names = ("champion_better", "challenger_better", "both_higher", "both_lower", "tie")
    return dict(zip(names, (law.second, law.first, law.both_higher, law.both_lower, law.tie), strict=True))


def _with_calibration(
    measured: Measured, champion: Sample, _: PairedSample | None, wanted: Wanted
) -> Measured:
    """Return them with the calibration of scores that are probabilities."""
    if not wanted.probability:
        return measured
    try:
        result = calibration(champion)
    except InputError as error:
        return measured.plus({}, caveats=[Caveat("not-probabilities", why=str(error))])
    metrics: dict[str, float] = {}
    for field_name, name in _CALIBRATION.items():
        if (value := getattr(result, field_name)) is not None:
            low, high = getattr(result, f"{field_name}_ci")(wanted.confidence_level)
            metrics |= {f"champion/{name}": value, f"champion/{name}_low": low, f"champion/{name}_high": high}
    return replace(measured, calibration=result).plus(metrics, caveats=caveats_of(result))


def _with_shares(measured: Measured, champion: Sample, pair: PairedSample | None, wanted: Wanted) -> Measured:
    """Return them with the precision of each model when a share of all rows is flagged, ties with the last.

    It is that of the rows of the window. Its interval is that of the TPR by the total-rate law, for a window
    that has as many positives, negatives and flagged rows.
    """
    lines: list[Row] = []
    metrics: dict[str, float] = {}
    for model, sample in _models(champion, pair).items() if wanted.shares else ():
        if len(sample.score) == 1:
            continue
        intervals = total_rate_intervals(sample, wanted.shares, confidence_level=wanted.confidence_level)
        rows_above = (sample.pos + sample.neg)[::-1].cumsum()
        pos_above, n = sample.pos[::-1].cumsum(), int(rows_above[-1])
        for at, share in enumerate(wanted.shares):
            last = int((rows_above < round(float(intervals.rate[at]) * n)).sum())
            flagged, positives = int(rows_above[last]), int(pos_above[last])
            low, high = (getattr(intervals, f"tpr_{end}")[at] * sample.n_pos for end in ("low", "high"))
            ends = float(min(low, positives)), float(max(min(high, flagged), positives))
            precision = {"": positives / flagged, "_low": ends[0] / flagged, "_high": ends[1] / flagged}
            columns = {f"precision{end}": value for end, value in precision.items()}
            lines.append({"model": model, "share": share, "flagged": flagged / n, **columns})
            metrics |= {f"{model}/precision_at_share_{share:g}{end}": v for end, v in precision.items()}
    n = champion.n_pos + champion.n_neg
    below = [share for share in wanted.shares if 0 < share * n < 1]
    caveats = [Caveat("share-below-one-row", share=share, rows=n) for share in below]
    return measured.plus(metrics, {"shares": lines} if lines else {}, caveats)


STATISTICS: tuple[Callable[[Measured, Sample, PairedSample | None, Wanted], Measured], ...] = (
    _with_curves,
    _with_costs,
    _with_dominance,
    _with_calibration,
    _with_shares,
)
"""The statistics that `measure` adds to the AUROC, in this order, each to those before it."""
