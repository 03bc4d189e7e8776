"""Measuring scores: named metrics and tables, the same for windows, reviews, the evaluator and ``auc``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rocmonitor import conventions
from rocmonitor.caveat import Caveat
from rocmonitor.policy.evaluation import Counts, Verdict
from rocmonitor.policy.record import Row, Tables, caveats_of
from rocmonitor.stats import (
    AucDifference,
    AucResult,
    CalibrationResult,
    PairedSample,
    Sample,
    auc,
    compare_auc_paired,
    condensed_error,
    cost_curve,
    threshold_dominance,
    threshold_intervals,
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

_DOMINANCE = {
    "champion_better": "second",
    "challenger_better": "first",
    "both_higher": "both_lower",  # both rates of the champion are higher: both of the challenger are lower
    "both_lower": "both_higher",
    "tie": "tie",
}
"""Columns of the table, and the fields of the result for a pair with the challenger first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The statistics of some scores.

    Metrics have names such as ``champion/auc``, ``difference/auc_low``, ``champion/tpr_at_fpr_0.1_high``;
    tables are ``roc``, ``fprs``, ``thresholds``, and where they apply ``costs`` and ``dominance``.
    """

    champion: AucResult
    difference: AucDifference | None = None  # challenger minus champion, on the rows that both scored
    calibration: CalibrationResult | None = None  # from `rocmonitor.policy.calibrating.beyond_ranking`
    metrics: dict[str, float] = field(default_factory=dict)
    tables: Tables = field(default_factory=dict)
    caveats: tuple[Caveat, ...] = ()


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
    champion: Sample,
    pair: PairedSample | None,
    *,
    fprs: Sequence[float],
    thresholds: Mapping[float, float],
    costs: Mapping[float, float],
    confidence_level: float = LEVEL,
    missing: int | None = None,
) -> Measured:
    """Return the AUROC, the curve and its operating points, of the champion and (paired) of the challenger.

    The champion has at least two rows of each class; higher scores are more positive. In `pair` the
    challenger is first, on the rows that both scored, or some of them; it is left out, with a caveat, when it
    has fewer than two rows of a class. A model with one score for all rows has an AUROC, of 0.5, and no
    curve: a caveat stands in its place. `thresholds` are by the number that names them: the same number,
    unless scores were negated. `costs` are the thresholds at which the champion's cost is reported, by
    operating condition w. `missing` is the number of the champion's rows without a score of the challenger;
    default those that `pair` lacks.

    Cost: O(k) for k distinct scores, and O(sqrt n) for each point of the curve.
    """
    result = auc(champion)
    values = {"champion": auc_values(result, confidence_level)}
    caveats = [
        *caveats_of(result),
        *(
            Caveat("condensed", rows=champion.n_pos + champion.n_neg, cells=len(champion.score), **error)
            for error in guaranteed(champion).values()
        ),
    ]
    samples, difference = {"champion": champion}, None
    if pair is not None and shows_no_scatter(pair):
        caveats.append(Caveat("challenger-scored-too-few", n_pos=pair.n_pos, n_neg=pair.n_neg))
        pair = None
    if pair is not None:
        samples["challenger"], difference = pair.first, compare_auc_paired(pair)
        values["challenger"] = auc_values(auc(pair.first), confidence_level)
        values["difference"] = difference_values(difference, confidence_level)
        both = pair.n_pos + pair.n_neg
        if lacking := champion.n_pos + champion.n_neg - both if missing is None else missing:
            compared = {"rows": both, "champion_auc": float(difference.auc_2)}
            caveats.append(Caveat("challenger-scores-missing", missing=lacking, **compared))
    metrics = {f"{what}/{name}": value for what, named in values.items() for name, value in named.items()}
    points = [(model, sample) for model, sample in samples.items() if len(sample.score) > 1]
    caveats += [
        Caveat("no-curve", model=model, rows=sample.n_pos + sample.n_neg, score=float(sample.score[0]))
        for model, sample in samples.items()
        if len(sample.score) == 1
    ]
    tables: Tables = {"thresholds": [], "fprs": [], "roc": curves(points, confidence_level)}
    for model, sample in points:
        at_points, rates = _operating_points(model, sample, fprs, thresholds, confidence_level)
        tables |= {name: [*tables[name], *lines] for name, lines in at_points.items()}
        metrics |= rates
        caveats += [
            Caveat("nearest-rate", fpr=fpr, used_fpr=row["fpr"], n_neg=sample.n_neg)
            for fpr, row in zip(fprs, at_points["fprs"], strict=False)  # all of them, or none
            if abs(row["fpr"] - fpr) > 0.1 * fpr
        ]
    if costs:
        tables["costs"] = _costs(champion, costs, confidence_level)
        for row in tables["costs"]:
            name = f"champion/cost_at_w_{row['w']:g}"
            metrics |= {name: row["cost"], f"{name}_low": row["low"], f"{name}_high": row["high"]}
    # One score for all rows that both scored may be one of several for all that the champion scored.
    if pair is not None and thresholds and min(len(pair.first.score), len(pair.second.score)) > 1:
        law = threshold_dominance(pair, [(at, at) for at in thresholds.values()])
        shares = {column: getattr(law, share) for column, share in _DOMINANCE.items()}
        tables["dominance"] = rows({"threshold": list(thresholds.values()), **shares})
    elif pair is not None and thresholds:
        caveats.append(Caveat("no-dominance"))
    once = tuple(dict.fromkeys(caveats))
    return Measured(champion=result, difference=difference, metrics=metrics, tables=tables, caveats=once)


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


def _operating_points(
    model: str, sample: Sample, fprs: Sequence[float], thresholds: Mapping[float, float], level: float
) -> tuple[Tables, dict[str, float]]:
    """Return the points of one model as tables and as metrics."""
    sizes = effective_sizes(sample) or (None, None)
    fprs = fprs if sizes[1] != 1 else ()  # negatives that are worth one row have no rate between 0 and 1
    at_fprs = _vertical(model, sample, fprs, level, sizes) if fprs else []
    at_thresholds = _at_thresholds(model, sample, list(thresholds.values()), level)
    rates = [("tpr", f"fpr_{fpr:g}", row) for fpr, row in zip(fprs, at_fprs, strict=True)]
    for threshold, row in zip(thresholds, at_thresholds, strict=True):
        rates += [(rate, f"threshold_{threshold:g}", row) for rate in ("tpr", "fpr")]
    metrics = {
        f"{model}/{rate}_at_{point}{end}": row[f"{rate}{end}"]
        for rate, point, row in rates
        for end in ("", "_low", "_high")
    }
    return {"fprs": at_fprs, "thresholds": at_thresholds}, metrics


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


def _costs(sample: Sample, costs: Mapping[float, float], confidence_level: float) -> list[Row]:
    """Normalised costs by the method that may be trusted at any operating condition."""

    def table(ordered: Sample) -> list[Row]:
        curve = cost_curve(
            ordered, list(costs), list(costs.values()), method="mover", confidence_level=confidence_level
        )
        return rows(_columns(curve, "w", "threshold", "cost", "low", "high"), model="champion")

    return of_any_order(sample, table)
