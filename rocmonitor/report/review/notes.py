"""The texts around a review's tables: captions, key numbers, methods, and reasons for what is left out."""

from __future__ import annotations

from rocmonitor.policy.review.document import Review
from rocmonitor.report.review.tables import NOTHING, count, money_saved, number, percent, pvalue, signed, span
from rocmonitor.wording.review import level

LEFT_OUT = {
    "windows": "No window is shown: none had two rows of each class that both models had scored.",
    "auc": "The AUROC of the whole period is left out: its difference has no standard error.",
    "roc": "The curves are left out: a model gave all rows one score, or there were too few rows.",
    "band": "The band of the difference is left out: the curves could not be resampled.",
    "fprs": "No false positive rate is compared: none is configured (review.fpr, operating_points.fpr), or a "
    "model gave all rows one score.",
    "regions": "Neither model is better in any part of the curve: the band contains 0 everywhere, or there "
    "is no band.",
    "thresholds": "No pair of thresholds is compared: none is configured (review.thresholds), or a model "
    "gave all rows one score.",
    "dominance": "Thresholds that flag equally many rows are left out: there were no rows outside the period "
    "on which to choose them, or a model gave all rows one score.",
    "costs": "Costs are left out: no operating condition is configured (operating_points.cost, review.money) "
    "or there were no rows outside the period on which to choose thresholds.",
    "segments": "The monitor has no segments.",
    "next": "The next windows are not predicted: fewer than three were compared.",
    "forecast": "The forecast is left out: too few past windows were scored by both models.",
    "counts": "The rows were not counted.",
}
"""The sentence shown in place of a table, by the name of the table."""

_PAIRED = "Independent rows, each scored by both models; resampling keeps the number of rows of each class."

METHODS = {
    "windows": (
        "Checks",
        "Each window with enough rows of both classes is one check. The interval of the running mean is a"
        " confidence sequence: it is right at all checks together, however many there are and whenever "
        "you stop, so that a review each week does not add to the error. Windows share no row and are "
        "weighted by their numbers of rows only. A rule that decides about the period asks for the "
        "average of the windows' true differences so far: windows may differ, drift and be alike, and "
        "only sampling error counts, with an allowance for few rows (Robbins 1970; Waudby-Smith et al. "
        "2024). A rule that decides about the future asks for the mean in the long run, and includes the "
        "variation between windows, which is estimated: after the first checks the interval is unbounded,"
        " and it may widen again (Lai 1976, Wang & Ramdas 2023; between windows DerSimonian & Kacker "
        "2007). It allows for windows that are alike by a Bayes factor over serial correlations from 0 to"
        " 0.95 (Kalman filter, Durbin & Koopman 2012), or takes them as independent under “correlation: "
        "none”.",
    ),
    "auc": (
        "AUROC",
        "The probability that a positive scores above a negative; ties count one half. The difference is "
        "paired on the same rows. Variance of DeLong, DeLong & Clarke-Pearson 1988, and the variance over "
        "all stratified resamples, in closed form. The interval is valid for a single check. All rows of "
        "the period are compared with each other, also those of different windows, so that the difference "
        "need not be the mean of the windows.",
    ),
    "fprs": (
        "Equal false positive rates",
        "Vertical averaging: the exact bootstrap distribution of the difference of two true positive rates "
        f"at one false positive rate (Dugas & Gadoury 2009, section 4). {_PAIRED} “Approximated”: with very "
        "many rows, neighbouring thresholds are merged.",
    ),
    "band": (
        "Band of the difference",
        "Resampled curves of both models on the same drawn rows. The band contains the whole difference "
        "simultaneously, for a single check. It is descriptive: the rule does not use it. Bertail, Clémençon "
        "& Vayatis 2008, extended to two models.",
    ),
    "dominance": (
        "Dominance",
        "Five outcomes of a resample at a pair of thresholds (Dugas & Gadoury 2009, section 3.2). Better "
        "means that no fewer positives and no more negatives are flagged, and not the same of both. The "
        "probabilities add up to 1. It is a weak test: read it as a description. Thresholds are chosen on "
        "rows outside the period.",
    ),
    "thresholds": (
        "Pairs of thresholds",
        "Given: the same number for both models. Flagged share: both flag equally many of the rows on which "
        "they were chosen. Calibrated: equal after isotonic calibration there. Each interval holds for one "
        f"pair (Dugas & Gadoury 2009, section 3.2). {_PAIRED}",
    ),
    "costs": (
        "Costs",
        "w is the weight of missed positives against false alarms, from prevalence and costs together. The "
        "normalised cost is w · FNR + (1 − w) · FPR, each model at the threshold that is cheapest on rows "
        "outside the period (Drummond & Holte 2006; Dugas & Gadoury 2008). Intervals from Clopper–Pearson "
        "limits, for each condition on its own.",
    ),
    "segments": (
        "Segments",
        "AUROC differences as above, over the whole period; the intervals hold for all segments together. "
        "Segments do not affect the decision.",
    ),
    "next": (
        "Next windows",
        "True differences of windows scatter about a mean, and neighbours may be alike (AR(1)). Mean, "
        "scatter and correlation are averaged over what the windows leave possible; sampling error is "
        "included. A change that the windows do not show is not foreseen. The decision does not use it.",
    ),
    "forecast": (
        "Drift",
        "The extreme AUROC differences among all populations within a Kullback–Leibler distance of the rows "
        "of the windows that the table names; the distance is the one observed between past windows (Morin "
        "2018, for two models). Past windows and the next one are treated as exchangeable.",
    ),
}
"""A heading and a short paragraph for each method that a review uses, by the name of its table."""


def figures(review: Review) -> dict[str, tuple[str, str]]:
    """Caption and alternative text of each figure, by its name."""
    own, metrics, tables = level(review.rule), review.metrics, review.tables
    low, high = (metrics.get(f"difference/auc_anytime_{end}") for end in ("low", "high"))
    champion, challenger = (number(metrics.get(f"{model}/auc")) for model in ("champion", "challenger"))
    regions = "; ".join(
        f"{row['better']} better from FPR {percent(row['from_fpr'])} to {percent(row['to_fpr'])}"
        for row in tables.get("regions", ())
    )
    likelier = []
    for model in ("champion", "challenger"):
        shares = [row["share"] for row in tables.get("dominance", ()) if row[f"{model}_better"] > 0.5]
        if shares:
            likelier.append(
                f"The {model} is more likely than not better at flagged shares between "
                f"{percent(min(shares))} and {percent(max(shares))}."
            )
    dominance = " ".join(likelier) or "Neither model is more likely than not better at any share."
    saved = (
        f"w {row['w']:.4g}: {signed(row['saved'], row['low'], row['high'])} ({span(row['low'], row['high'])})"
        for row in tables.get("costs", ())
    )
    return {
        "windows": (
            f"Each point is the AUROC difference of one window with its own {own} interval. The grey "
            "band is the interval of the running mean, valid under repeated checks; above 0 the "
            "challenger is better.",
            f"AUROC difference by window, {count(metrics.get('review/checks'))} checks. After the last one "
            f"the mean difference lies within {span(low, high)}.",
        ),
        "roc": (
            f"ROC curves over the whole period, with {own} intervals at each false positive rate on its own.",
            f"ROC curves of champion {review.champion_version} and challenger {review.challenger_version}: "
            f"AUROC {champion} and {challenger}.",
        ),
        "band": (
            f"Difference of the two curves, with a simultaneous {own} band, valid for a single check. Shaded "
            "in the colour of the model that is better where it excludes 0.",
            f"Difference of the ROC curves. {f'{regions}.' if regions else LEFT_OUT['regions']}",
        ),
        "dominance": (
            "Probability of each outcome when both models flag equally many rows, by the share flagged.",
            f"Stacked probabilities over the flagged share. {dominance}",
        ),
        "costs": (
            f"The challenger's saving at each operating condition, with a {own} interval.",
            f"Cost saved: {'; '.join(saved)}.",
        ),
    }


def key_numbers(review: Review) -> list[tuple[str, str, str]]:
    """Name, value and remark of each key number."""
    value, own = review.metrics.get, level(review.rule)
    waiting, leads = value("review/windows_waiting"), value("review/challenger_leads")
    later = f"; {count(waiting)} more wait for labels" if waiting else ""
    checks = count(value("review/checks"))

    def interval(name: str) -> str:
        return span(value(f"{name}_low"), value(f"{name}_high"))

    cells = [
        (
            "AUROC difference, challenger minus champion",
            signed(*map(value, ("difference/auc", "difference/auc_low", "difference/auc_high"))),
            f"{own} interval for a single check: {interval('difference/auc')}",
        ),
        (
            "Mean difference of the windows, interval under repeated checks",
            interval("difference/auc_anytime"),
            _mean(review),
        ),
        ("Windows", count(value("review/windows")), f"{checks} of them checked{later}"),
        ("Champion's AUROC", number(value("champion/auc")), f"version {review.champion_version}"),
        ("Challenger's AUROC", number(value("challenger/auc")), f"version {review.challenger_version}"),
        (
            "Rows scored by both",
            count(value("data/rows")),
            f"{count(value('data/positives'))} positive, {count(value('data/negatives'))} negative",
        ),
        ("Led by the challenger", NOTHING if leads is None else f"{leads:.0f} of {checks}", "windows"),
        *(
            (
                f"Mean difference of the next {row['windows']} windows",
                span(row["low"], row["high"]),
                f"{own} prediction interval, if windows go on differing like these",
            )
            for row in review.tables.get("next", ())
        ),
        (
            "Forecast of the difference under drift",
            # It rests on windows before the period: those of a loss in it are not like them.
            NOTHING if review.tables.get("episodes") else interval("forecast/difference"),
            f"{own}, for a coming window",
        ),
        (
            "Further windows until a decision",
            count(value("review/windows_to_decide")),
            "probably, if windows go on differing like these",
        ),
    ]
    for row in review.tables.get("costs", ()):
        if row.get("money_saved") is not None:
            saved, ends = money_saved(row)
            cells.append(
                (
                    f"Saved in {row['decisions']:,} decisions",
                    saved,
                    f"{own} interval {ends}, w = {row['w']:.4g}",
                )
            )
    return [cell for cell in cells if cell[1] != NOTHING]


def _mean(review: Review) -> str:
    """Return the mean and its p-value, beside the level that the rule requires."""
    names = ("difference/auc_mean", "difference/auc_anytime_low", "difference/auc_anytime_high")
    mean, low, high = map(review.metrics.get, names)
    shown = "" if mean is None else f"mean {signed(mean, low, high)}; "
    p = pvalue(review.metrics.get("difference/auc_anytime_pvalue"))
    shown += f"p {p if p.startswith('<') else f'= {p}'}"
    rule = review.rule
    if rule.get("margin") or "confidence_level" not in rule:
        return shown
    spent = (1 - rule["confidence_level"]) / (2 if rule.get("fpr") else 1)
    return f"{shown}; the rule requires p < {spent:.4g}"
