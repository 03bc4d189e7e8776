"""What a review's page says around its tables: the rule, captions, methods, and why something is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rocmonitor.policy.review.document import Review
from rocmonitor.report.review.tables import (
    NOTHING,
    amounts,
    count,
    level,
    number,
    percent,
    pvalue,
    signed,
    span,
)

LEFT_OUT = {
    "windows": "No window is shown: none had two rows of each class that both models had scored.",
    "auc": "The AUROC of the whole period is left out: its difference has no standard error.",
    "roc": "The curves are left out: a model gave all rows one score, or there were too few rows.",
    "band": "The band of the difference is left out: the curves could not be resampled.",
    "fprs": "No false positive rate is compared: none is configured (review.fpr, operating_points.fpr), or a "
    "model gave all rows one score.",
    "regions": "No part of the curve belongs to one of the models: the band holds 0 everywhere, or there "
    "is none.",
    "thresholds": "No pair of thresholds is compared: none is configured (review.thresholds), or a model "
    "gave all rows one score.",
    "dominance": "Thresholds that flag equally many are left out: there were no rows outside the period on "
    "which to choose them, or a model gave all rows one score.",
    "costs": "Costs are left out: no operating condition is configured (operating_points.cost, review.money) "
    "or there were no rows outside the period on which to choose thresholds.",
    "segments": "The monitor has no segments.",
    "forecast": "The forecast is left out: too few past windows were scored by both models.",
    "counts": "The rows were not counted.",
}
"""By the name of a table: what its section says when there is none."""

_PAIRED = "Independent rows, each scored by both models; resampling keeps the number of rows of each class."

_METHODS = {
    "windows": (
        "Looks",
        "Each window with enough rows of both classes is a look. The interval “all looks” is a confidence "
        "sequence for the mean of the windows' true differences: it holds that mean at every look at once, "
        "however many there are and whenever one stops, so that reviewing each week does not add to the "
        "error. How much windows differ beyond sampling is estimated and counts: the first looks tell "
        "nothing yet, and the interval may widen again. Robbins 1970, with an estimated variance as in Lai "
        "1976 and Wang & Ramdas 2023; between windows DerSimonian & Kacker 2007. Windows share no row and "
        "are weighted by their rows alone. They are taken as independent of each other: where neighbouring "
        "ones are alike, a caveat says so.",
    ),
    "auc": (
        "AUROC",
        "The probability that a positive scores above a negative; ties count one half. The difference is "
        "paired on the same rows. Variance of DeLong, DeLong & Clarke-Pearson 1988, and beside it that over"
        " all stratified resamples, in closed form. Its interval is that of a single look. All rows of the "
        "period are set against each other, also those of different windows, so that it need not be the "
        "mean of the windows.",
    ),
    "fprs": (
        "Equal false positive rates",
        "Vertical averaging: the exact bootstrap law of the difference of two true positive rates at one "
        f"false positive rate (Dugas & Gadoury 2009, section 4). {_PAIRED} “Thinned” in the method: with so "
        "many rows neighbouring thresholds stand for each other.",
    ),
    "band": (
        "Band of the difference",
        "Resampled curves of both models on the same drawn rows; the band holds the whole difference at "
        "once, at this look alone, and describes: the rule does not use it. Bertail, Clémençon & Vayatis "
        "2008, carried over to two models.",
    ),
    "dominance": (
        "Dominance",
        "Five outcomes of a resample at a pair of thresholds (Dugas & Gadoury 2009, section 3.2); better "
        "means no fewer positives and no more negatives flagged, and not the same of both. Their "
        "probabilities add up to 1. It is a weak test: read it as a description. Thresholds are chosen on "
        "rows outside the period.",
    ),
    "thresholds": (
        "Pairs of thresholds",
        "Given: the same number for both models. Flagged share: both flag equally many of the rows on which "
        "they were chosen. Calibrated: equal after isotonic calibration there. The intervals are those of "
        f"one pair (Dugas & Gadoury 2009, section 3.2). {_PAIRED}",
    ),
    "costs": (
        "Costs",
        "w is the weight of missed positives against false alarms, prevalence and costs together; the "
        "normalised cost is w · FNR + (1 − w) · FPR, each model at the threshold that is cheapest on rows "
        "outside the period (Drummond & Holte 2006; Dugas & Gadoury 2008). Intervals from Clopper–Pearson "
        "limits, for each condition by itself.",
    ),
    "segments": (
        "Segments",
        "AUROC differences as above, over the period; the intervals hold for all segments together. A "
        "segment decides nothing.",
    ),
    "forecast": (
        "Drift",
        "The extreme AUROC differences among all populations within a Kullback–Leibler distance of the rows"
        " of the windows that the table names; the distance is the one that past windows have shown (Morin "
        "2018, for two models). Past windows and the next are taken as exchangeable.",
    ),
}


def rule(review: Review) -> list[str]:
    """The rule in words, a sentence or two each; empty where the review does not hold one."""
    written = review.rule
    if not {"confidence_level", "margin"} <= set(written):
        return []
    alpha, rates = 1 - written["confidence_level"], written.get("fpr") or []
    sure, margin = level(written), written["margin"]
    spent = "all of it is spent on the AUROC difference"
    if rates:
        spent = (
            "one half is spent on the AUROC difference, the other in equal parts on the TPR difference at "
            f"FPR {', '.join(percent(rate) for rate in rates)}"
        )
    above = f"by more than {margin:g}" if margin else "at all"
    lines = [
        f"Every window with enough rows is a look. With probability {sure} all that the rule uses holds "
        f"at all looks together: of the {100 * alpha:.4g} % for error {spent}.",
        f"Challenger better, or champion better: the AUROCs are shown to differ {above}, and nothing else "
        "contradicts.",
        "Trade-off: one model is shown to be better by one of these, the other by another, if by little.",
        "No decision yet: neither.",
    ]
    lines.append("What was shown may be shown no longer, when windows come to differ more than they did.")
    if "tuned_for" in written:
        lines.append(f"The intervals are narrowest at {written['tuned_for']} windows; fixed beforehand.")
    return lines if rates else [line for line in lines if not line.startswith("Trade-off")]


def registered(review: Review) -> str:
    """Whether the period was fixed beforehand."""
    if review.registered:
        return "The period is the one that the configuration gives: it was not chosen by what the rows show."
    return (
        "The period, or the segment, was chosen by hand. The level of the rule is promised for the "
        "configured period only: do not decide by this one alone."
    )


def figures(review: Review) -> dict[str, tuple[str, str]]:
    """Caption and alternative text of each figure, by its name."""
    own = level(review.rule)
    metrics = review.metrics
    looks = count(metrics.get("review/looks"))
    versions = f"champion {review.champion_version} and challenger {review.challenger_version}"
    return {
        "windows": (
            f"Each point is the AUROC difference of one window with its own {own} interval. The grey band "
            "holds the windows' mean difference at all looks together; above 0 speaks for the challenger.",
            f"AUROC difference by window, {looks} looks. After the last one the mean difference lies within "
            f"{span(metrics.get('review/always_low'), metrics.get('review/always_high'))}.",
        ),
        "roc": (
            f"ROC curves over the period, with {own} intervals at each false positive rate by itself. "
            "Markers: the rates of the rule.",
            f"ROC curves of {versions}: AUROC {number(metrics.get('review/champion_auc'))} and "
            f"{number(metrics.get('review/challenger_auc'))}.",
        ),
        "band": (
            f"Difference of the two curves, with a {own} band that holds at all false positive rates at "
            "once, at this look alone. Shaded where it leaves 0 out; hatched: the champion's.",
            f"Difference of the ROC curves. {_regions(review.tables.get('regions', ()))}",
        ),
        "dominance": (
            "Probability of each outcome when both models flag equally many rows, by the share flagged.",
            f"Stacked probabilities over the flagged share. {_dominance(review.tables.get('dominance', ()))}",
        ),
        "costs": (
            f"What the challenger saves at each operating condition, with a {own} interval.",
            f"Cost saved: {'; '.join(_saved(row) for row in review.tables.get('costs', ()))}.",
        ),
    }


def methods(review: Review) -> list[tuple[str, str]]:
    """A heading and a short paragraph for each method that the review used."""
    return [told for name, told in _METHODS.items() if review.tables.get(name)]


def key_numbers(review: Review) -> list[tuple[str, str, str]]:
    """What is counted or measured, its value, and what is to be known with it."""
    metrics = {name.removeprefix("review/"): value for name, value in review.metrics.items()}
    value = metrics.get
    own = level(review.rule)
    cells = [
        (
            "AUROC difference, challenger minus champion",
            signed(value("difference")),
            f"{own} interval, looked at once: {span(value('difference_low'), value('difference_high'))}",
        ),
        (
            "Mean difference of the windows, at all looks together",
            span(value("always_low"), value("always_high")),
            _so_far(review),
        ),
        ("Champion's AUROC", number(value("champion_auc")), f"version {review.champion_version}"),
        ("Challenger's AUROC", number(value("challenger_auc")), f"version {review.challenger_version}"),
        (
            "Rows scored by both",
            count(value("rows")),
            f"{count(value('n_pos'))} positive, {count(value('n_neg'))} negative",
        ),
        ("Windows", count(value("windows")), _windows(metrics)),
        (
            "Forecast of the difference under drift",
            span(value("forecast_low"), value("forecast_high")),
            f"{own}, for a coming window",
        ),
        ("Windows until a decision, about", count(value("windows_to_decide")), "at this rate"),
    ]
    cells += [
        (
            f"{row['unit'] or 'Money'} saved in {row['decisions']:,} decisions",
            amounts(row)[0],
            f"{own} interval {amounts(row)[1]}, w = {row['w']:.4g}",
        )
        for row in review.tables.get("costs", ())
        if row.get("money_saved") is not None
    ]
    return [cell for cell in cells if cell[1] != NOTHING]


def _so_far(review: Review) -> str:
    """What goes with the interval that decides: its centre, and the p-value beside what the rule asks."""
    centre = review.metrics.get("review/so_far")
    told = "" if centre is None else f"so far {signed(centre)}; "
    told += f"p {pvalue(review.metrics.get('review/pvalue'))}, however often one looks"
    rule = review.rule
    if rule.get("margin") or "confidence_level" not in rule:
        return told
    spent = (1 - rule["confidence_level"]) / (2 if rule.get("fpr") else 1)
    return f"{told}; the rule asks for less than {spent:.4g}"


def _windows(metrics: Mapping[str, float]) -> str:
    waiting = metrics.get("windows_waiting")
    later = f"; {count(waiting)} more wait for labels" if waiting else ""
    return f"{count(metrics.get('looks'))} of them are looks{later}"


def _regions(rows: Sequence[Mapping[str, Any]]) -> str:
    told = [
        f"{row['better']} better from FPR {percent(row['from_fpr'])} to {percent(row['to_fpr'])}"
        for row in rows
    ]
    return f"{'; '.join(told)}." if told else LEFT_OUT["regions"]


def _dominance(rows: Sequence[Mapping[str, Any]]) -> str:
    told = []
    for model in ("champion", "challenger"):
        shares = [row["share"] for row in rows if row[f"{model}_better"] > 0.5]
        if shares:
            told.append(
                f"The {model} is more likely than not better at flagged shares between "
                f"{percent(min(shares))} and {percent(max(shares))}."
            )
    return " ".join(told) or "Neither model is more likely than not better at any share."


def _saved(row: Mapping[str, Any]) -> str:
    return f"w {row['w']:.4g}: {signed(row['saved'])} ({span(row['low'], row['high'])})"
