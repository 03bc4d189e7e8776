"""Caveats on areas, curves, bands and costs, from `rocmonitor.stats`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rocmonitor.wording.format import are, percent

_MOST_GROUPS = 5


def _large_clusters(
    largest: int,
    clusters: int,
    share: float,
    of_rows: float,
    estimate: float | None = None,
    low: float = 0.0,
    high: float = 1.0,
) -> str:
    which, make, own = (
        ("the largest", "makes", "its") if largest == 1 else ("the two largest", "make", "their")
    )
    alone = "one class only" if estimate is None else f"{estimate:.3f} ({low:.3f} to {high:.3f})"
    return (
        f"{which} of {clusters:,} clusters, with {percent(of_rows, 2)} of the rows, {make} "
        f"{percent(share, 2)} of the variance: a 95 % interval may hold in 86 to 92 %; "
        f"{own} own rows show {alone}"
    )


def _groups_lacking(sample: str, count: int, total: int, groups: Sequence[str]) -> str:
    names = ", ".join(groups[:_MOST_GROUPS]) + (" …" if count > _MOST_GROUPS else "")
    return (
        f"{count} of {total} groups {are(count)} not in the {sample} ({names}): nothing shows how they "
        "ranked there, so all that they changed counts as mix"
    )


def _tied_threshold(
    count: int, total: int, at: list[float], realised: list[float], model: str | None = None
) -> str:
    worst = max(range(count), key=lambda i: realised[i])
    return (
        f"{f'{model} model: ' if model else ''}at {count} of {total} rates many negatives share the score of "
        f"the threshold, and all of them are flagged: the false positive rate reaches {realised[worst]:.3g} "
        f"where {at[worst]:.3g} was asked for"
    )


def _not_trusted(at: Sequence[float], instead: str) -> str:
    """Return the first few and the last of many conditions."""
    listed = [f"{value:g}" for value in at]
    listed = listed if len(listed) <= 8 else [*listed[:4], "…", *listed[-3:]]
    return f"at w = {', '.join(listed)}: do not trust the interval there, use method {instead!r}"


SENTENCES: dict[str, str | Callable[..., str]] = {
    # Areas under the curve, their differences and standard errors; calibration
    "single-row": "one class has a single row, so the standard error cannot contain that class's variation",
    "error-of-other-sizes": "the standard error is that of {m_pos} positives and {m_neg} negatives",
    "no-scatter": (
        "every positive compares alike with every negative, so the standard error is 0; "
        "the interval is the exact bound from {pairs} disjoint pairs instead of a point"
    ),
    "rests-on-few": (
        "the distance of the AUROC from {end} rests on about {rows:.0f} of {of:,} {kind}; the sample may "
        "lack others like them, which the default interval allows for, and no standard error shows"
    ),
    "difference-rests-on-few": (
        "about {rows:.0f} of {of:,} {kind} speak against the difference; the sample may lack others like "
        "them, which interval and p-value allow for, and no standard error shows"
    ),
    "resamples-agree": (
        "{share:.0%} of the resamples have the same area; where the percentile interval would be that single "
        "point, the normal interval is used"
    ),
    "error-of-rankings": (
        "the standard error is the standard deviation of the AUC over all rankings with n_errors={n_errors}; "
        "their mean is {mean:.3f}"
    ),
    "error-of-normal-scores": (
        "the standard error is that of the area under two fitted normal distributions, {area:.3f}; "
        "auc is the empirical area"
    ),
    "few-clusters": (
        "the rows of a class come from {clusters} clusters, which show as much as {effective:.1f} of equal "
        "size; with fewer than {enough} the standard error is itself uncertain, so intervals are wider "
        "(Student's t)"
    ),
    "large-clusters": _large_clusters,
    "no-difference-in-any-pair": (
        "no pair of rows shows a difference, so the standard error is 0; ci() is the exact bound "
        "from {pairs} disjoint pairs instead of a point"
    ),
    "no-scatter-in-range": (
        "the rows in the range show no scatter, so the standard error is 0; ci() is every possible value"
    ),
    "few-rows-in-range": "the range holds only {rows:.3g} {kind}, so the first-order standard error is rough",
    "below-chance": "the curve lies below chance over this range, so the corrected area is below 1/2",
    # Calibration of probabilities, from rocmonitor.stats.probabilities and rocmonitor.policy.measure
    "certain-probabilities": (
        "{rows:,} rows have a probability of exactly 0 or 1, which no log-loss allows; it was moved by 2e-16"
    ),
    "no-calibration-slope": (
        "there is no calibration slope: all probabilities are equal, or they separate the classes"
    ),
    "not-probabilities": "calibration is not measured: {why}",
    "window-not-probabilities": (
        "some scores of the window are not probabilities from 0 to 1; see score in the configuration"
    ),
    "skewness-undefined": "every resample has the same AUC, so the skewness is set to 0",
    # A change by groups, from rocmonitor.stats.decomposition
    "groups-lacking": _groups_lacking,
    "column-left-out": "{column} is left out: {why}",
    "few-rows-per-group": (
        "{count} of {total} groups {count:has|have} fewer than {enough} rows of a class in a sample: their "
        "standard errors are uncertain"
    ),
    # Curves
    "clipped": "{count} of {total} {rate} intervals {count:is|are} clipped to {within}",
    "zero-length": (
        "{count} of {total} {rate} intervals {count:is|are} of zero length: use a method that smooths"
    ),
    "off-estimate": (
        "{count} of {total} {rate} intervals {count:does|do} not contain the estimate: smoothing moved the "
        "interval away from it"
    ),
    "conservative": (
        "{count} of {total} {rate} intervals {count:is|are} conservative: too few rows are flagged, or left, "
        "to keep to the level"
    ),
    "moved-rate": (
        "{count} of {total} rates {count:is not a multiple|are not multiples} of 1/{rows} within (0, 1): the "
        "nearest was used"
    ),
    "thinned": "{count} of {total} laws are approximate ({kept:,} thresholds)",
    "joint-law-approximated": (
        "the joint law of two models in {rows:,} rows is approximated: means are exact, and lengths of "
        "intervals are off by about a tenth at most, more where fewer than 20 rows are flagged or left"
    ),
    "tied-threshold": _tied_threshold,
    "resample-sizes": (
        "the intervals describe resamples of {m_pos:,} positives and {m_neg:,} negatives, not of the "
        "sample's own size"
    ),
    # Bands
    "resamples-raised": "n_resamples raised from {asked} to {used}, which the confidence level needs",
    "normal-scores-assumed": (
        "the band is around the curve of two normal distributions, TPR = Phi({a:.4g} + {b:.4g} Phi^-1(FPR)), "
        "and is valid only if the scores of each class are normal; tpr is the empirical curve"
    ),
    "ties-between-classes": (
        "{model:{model} model: |}{tied} of {distinct} scores are shared by positives and negatives: the band "
        "is for the curve with straight lines across ties"
    ),
    "curve-outside-band": "the empirical curve leaves the band at {outside} of {rates} rates",
    "few-rows-for-band": (
        "{n_pos} positives and {n_neg} negatives: the band's coverage was not measured with fewer than "
        "{enough} rows of a class"
    ),
    "resamples-never-differ": (
        "at {unchanged} of {rates} rates no resample differs from the sample: the band's height there comes "
        "from {added:g} added positives on which the models disagree"
    ),
    # Costs
    "few-errors": lambda at, errors, instead: (
        f"fewer than {errors} errors carry the variance {_not_trusted(at, instead)}"
    ),
    "moved-by-smoothing": lambda at, instead: (
        f"the added errors move the estimate by half of its margin {_not_trusted(at, instead)}"
    ),
    # Statistics for research
    "rate-cannot-be-held": (
        "{count} of {total} thresholds have a {rate} of 0 or 1, which cannot be held fixed: the nearest rate "
        "within (0, 1) is used"
    ),
}
