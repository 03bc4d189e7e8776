"""Caveats on areas under the curve, their differences and standard errors."""

from collections.abc import Callable

SENTENCES: dict[str, str | Callable[..., str]] = {
    "single-row": "one class has a single row, so the standard error cannot contain that class's variation",
    "error-of-other-sizes": "the standard error is that of {m_pos} positives and {m_neg} negatives",
    "no-scatter": (
        "every positive compares alike with every negative, so the standard error is 0; "
        "the interval is the exact bound from {pairs} disjoint pairs instead of a point"
    ),
    "resamples-agree": (
        "{share:.0%} of the resamples have the same area; where the percentile interval would be that single "
        "point, the normal interval is used"
    ),
    "error-of-rankings": (
        "the standard error is the standard deviation of the AUC over all rankings with n_errors={n_errors}; "
        "their mean is {mean:.4f}"
    ),
    "error-of-normal-scores": (
        "the standard error is that of the area under two fitted normal distributions, {area:.4f}; "
        "auc is the empirical area"
    ),
    "few-clusters": (
        "the rows of a class come from {clusters} clusters; with fewer than {enough} the standard error is "
        "itself uncertain, and intervals cover less than they say"
    ),
    "no-difference-in-any-pair": (
        "no pair of rows shows a difference, so the standard error is 0; ci() is the exact bound "
        "from {pairs} disjoint pairs instead of a point"
    ),
    "no-scatter-in-range": (
        "the rows in the range show no scatter, so the standard error is 0; ci() is every possible value"
    ),
    "few-rows-in-range": "the range holds only {rows:.3g} {kind}, so the first-order standard error is rough",
    "below-chance": "the curve lies below chance over this range, so the corrected area is below 1/2",
    # Calibration of probabilities, from rocmonitor.stats.probabilities and rocmonitor.policy.calibrating
    "certain-probabilities": (
        "{rows:,} rows have a probability of exactly 0 or 1, which no log-loss allows; it was moved by 2e-16"
    ),
    "no-calibration-slope": (
        "there is no calibration slope: all probabilities are equal, or they separate the classes"
    ),
    "not-probabilities": "calibration is not measured: {why}",
    "window-not-probabilities": (
        "some scores of the window are no probabilities from 0 to 1; see score in the configuration"
    ),
    "reference-without-costs": (
        "the reference was frozen by an earlier version, which did not keep what it costs"
    ),
    "skewness-undefined": "every resample has the same AUC, so the skewness is set to 0",
}
