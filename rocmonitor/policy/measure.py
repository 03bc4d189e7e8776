"""What a window shows: named metrics and tables from its samples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rocmonitor.policy.evaluation import Counts
from rocmonitor.stats import (
    AucDifference,
    AucResult,
    PairedSample,
    Sample,
    auc,
    compare_auc_paired,
    cost_curve,
    threshold_dominance,
    threshold_intervals,
    vertical_intervals,
)

LEVEL = 0.95
"""Confidence level of every reported interval; a rule has its own."""

CURVE_POINTS = 99
"""Points at which the curve is kept with intervals: false positive rates 0.01 to 0.99, or fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The statistics of one window.

    Attributes
    ----------
    champion : AucResult
    difference : AucDifference or None
        Challenger minus champion, on the rows that both scored.
    metrics, tables, caveats
        As in `rocmonitor.policy.evaluation.Evaluation`.
    """

    champion: AucResult
    difference: AucDifference | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()


def data_metrics(counts: Counts) -> dict[str, float]:
    """Where the rows went, as metrics; these exist for every window, even an empty one."""
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
        "outside": counts.outside,
        "no_challenger": counts.no_challenger,
    }
    return {f"data/{name}": float(value) for name, value in named.items()}


def measure(
    champion: Sample,
    pair: PairedSample | None,
    *,
    fprs: Sequence[float],
    thresholds: Sequence[float],
    costs: Mapping[float, float],
    turned: bool = False,
) -> Measured:
    """The AUROC, the curve and its operating points, of the champion and (paired) of the challenger.

    Parameters
    ----------
    champion : Sample
        With at least two rows of each class.
    pair : PairedSample or None
        Champion first, challenger second. Left out, with a caveat, when it has fewer than two of a class. A
        model with one score for all rows has an AUROC, of 0.5, and no curve: a caveat stands in its place.
    fprs, thresholds : sequence of float
        Operating points to report.
    costs : dict of float to float
        Operating conditions w at which the champion's cost is reported, and the threshold to use at each.
    turned : bool
        The scores have had their sign turned, because low ones are positive. `thresholds` have not, and all
        are told as the models score: flagged is who scores at or below.

    Notes
    -----
    Cost: O(k) for k distinct scores, and O(sqrt n) for each point of the curve.
    """
    result = auc(champion)
    caveats = list(result.caveats)
    metrics = _auc_metrics("champion", result)
    tables: dict[str, list[dict[str, Any]]] = {"thresholds": [], "fprs": []}
    points = [("champion", champion)]
    difference = None
    if pair is not None and min(pair.n_pos, pair.n_neg) < 2:
        caveats.append(
            f"challenger left out: it scored {pair.n_pos} positives and {pair.n_neg} negatives, "
            "fewer than 2 of a class"
        )
    elif pair is not None:
        challenger = auc(pair.second)
        difference = compare_auc_paired(pair.swapped())  # challenger minus champion
        low, high = difference.ci(LEVEL)
        metrics |= _auc_metrics("challenger", challenger) | {
            "difference/auc": difference.difference,
            "difference/auc_se": difference.se,
            "difference/auc_low": low,
            "difference/auc_high": high,
            "difference/pvalue": difference.pvalue,
        }
        points.append(("challenger", pair.second))
        both = pair.n_pos + pair.n_neg
        if missed := champion.n_pos + champion.n_neg - both:
            caveats.append(
                f"the challenger is compared on the {both:,} rows that both models scored, where the "
                f"champion's AUROC is {difference.auc_2:.4f}; {missed:,} rows have no challenger's score"
            )
    at = {threshold: 0.0 - threshold if turned else threshold for threshold in thresholds}
    caveats += [_no_curve(model, sample, turned) for model, sample in points if len(sample.score) == 1]
    points = [(model, sample) for model, sample in points if len(sample.score) > 1]
    for model, sample in points:
        for name, rows in _operating_points(model, sample, fprs, at, metrics, caveats).items():
            tables[name] += rows
    tables["roc"] = curves(points)
    if costs:
        tables["costs"] = _costs(champion, costs, metrics, turned)
    if pair is not None and difference is not None and thresholds:
        # One score for all rows that both scored may be one of several for all that the champion scored.
        if min(len(pair.first.score), len(pair.second.score)) > 1:
            tables["dominance"] = _dominance(pair, at)
        else:
            caveats.append("no dominance at thresholds: a model has one score for all rows that both scored")
    return Measured(
        champion=result,
        difference=difference,
        metrics=metrics,
        tables=tables,
        caveats=tuple(dict.fromkeys(caveats)),
    )


def _auc_metrics(model: str, result: AucResult) -> dict[str, float]:
    low, high = result.ci(LEVEL, transform="logit")
    return {
        f"{model}/auc": result.auc,
        f"{model}/auc_se": result.se,
        f"{model}/auc_low": low,
        f"{model}/auc_high": high,
    }


def _operating_points(
    model: str,
    sample: Sample,
    fprs: Sequence[float],
    thresholds: Mapping[float, float],
    metrics: dict[str, float],
    caveats: list[str],
) -> dict[str, list[dict[str, Any]]]:
    tables = {}
    if fprs:
        vertical = vertical_intervals(sample, fprs, confidence_level=LEVEL)
        tables["fprs"] = _rows(model, vertical, ("fpr", "tpr", "tpr_low", "tpr_high"))
        for fpr, row in zip(fprs, tables["fprs"], strict=True):
            metrics |= _bounded(row, "tpr", f"{model}/tpr_at_fpr_{fpr:g}")
            if abs(row["fpr"] - fpr) > 0.1 * fpr:
                near = f"{row['fpr']:g}, the nearest that {sample.n_neg} negatives have"
                caveats.append(f"the true positive rate at {fpr:g} is that at {near}")
    if thresholds:
        points = threshold_intervals(sample, list(thresholds.values()), confidence_level=LEVEL)
        names = ("threshold", "tpr", "tpr_low", "tpr_high", "fpr", "fpr_low", "fpr_high")
        tables["thresholds"] = _rows(model, points, names)
        for threshold, row in zip(thresholds, tables["thresholds"], strict=True):
            row["threshold"] = threshold
            for rate in ("tpr", "fpr"):
                metrics |= _bounded(row, rate, f"{model}/{rate}_at_threshold_{threshold:g}")
    return tables


def _costs(
    sample: Sample, costs: Mapping[float, float], metrics: dict[str, float], turned: bool
) -> list[dict[str, Any]]:
    """Normalised costs by the method that may be trusted at any operating condition."""
    curve = cost_curve(sample, list(costs), list(costs.values()), method="mover", confidence_level=LEVEL)
    rows = _rows("champion", curve, ("w", "threshold", "cost", "low", "high"))
    for row in rows:
        name = f"champion/cost_at_w_{row['w']:g}"
        metrics |= {name: row["cost"], f"{name}_low": row["low"], f"{name}_high": row["high"]}
        if math.isinf(row["threshold"]):
            row["threshold"] = None  # JSON has no infinity; nothing is flagged
        elif turned:
            row["threshold"] = 0.0 - row["threshold"]
    return rows


def _no_curve(model: str, sample: Sample, turned: bool) -> str:
    rows, score = sample.n_pos + sample.n_neg, float(sample.score[0])
    told = f"{0.0 - score if turned else score:g}"
    return f"the {model} has neither curve nor operating points: all its {rows:,} scores are {told}"


def _bounded(row: dict[str, Any], rate: str, name: str) -> dict[str, float]:
    return {name: row[rate], f"{name}_low": row[f"{rate}_low"], f"{name}_high": row[f"{rate}_high"]}


def _rows(model: str, result: Any, names: Iterable[str]) -> list[dict[str, Any]]:
    columns = {name: getattr(result, name).tolist() for name in names}
    return [
        {"model": model, **dict(zip(columns, values, strict=True))}
        for values in zip(*columns.values(), strict=True)
    ]


def curves(points: Sequence[tuple[str, Sample]], confidence_level: float = LEVEL) -> list[dict[str, Any]]:
    """The ROC curves of some models, each point with an interval of its own."""
    rows = []
    for model, sample in points:
        # Only multiples of 1 / n_neg exist as rates.
        steps = np.unique(np.rint(np.linspace(0, sample.n_neg, CURVE_POINTS + 2))[1:-1])
        steps = steps[(steps > 0) & (steps < sample.n_neg)]
        curve = vertical_intervals(sample, steps / sample.n_neg, confidence_level=confidence_level)
        rows += _rows(model, curve, ("fpr", "tpr", "tpr_low", "tpr_high"))
    return rows


def _dominance(pair: PairedSample, thresholds: Mapping[float, float]) -> list[dict[str, Any]]:
    law = threshold_dominance(pair, [(at, at) for at in thresholds.values()])
    shares = ("first", "second", "both_higher", "both_lower", "tie")
    columns = [getattr(law, share).tolist() for share in shares]
    names = ("champion_better", "challenger_better", "both_higher", "both_lower", "tie")
    return [
        {"threshold": threshold, **dict(zip(names, values, strict=True))}
        for threshold, *values in zip(thresholds, *columns, strict=True)
    ]
