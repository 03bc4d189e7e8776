"""The points of the ROC curve at which a window lost or won against its reference."""

from __future__ import annotations

from rocmonitor.errors import InputError
from rocmonitor.policy.record import Row
from rocmonitor.stats import Sample, vertical_difference_unpaired, vertical_intervals

FPRS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
"""False positive rates at which the curves are compared."""

LEVEL = 0.95
"""The confidence level of all intervals of a table together, by Bonferroni."""


def curve_change(reference: Sample, window: Sample) -> list[Row]:
    """Return the true positive rates of a window and its reference at some false positive rates.

    Each line has ``fpr, tpr, reference_tpr, difference, low, high``. Empty where a sample has no curve, such
    as one of a single score. Rates are those that both samples offer.
    """
    rates = [fpr for fpr in FPRS if fpr * min(window.n_neg, reference.n_neg) >= 1]
    if not rates:
        return []
    level = 1 - (1 - LEVEL) / len(rates)
    try:
        change = vertical_difference_unpaired(window, reference, rates, confidence_level=level)
        tpr, before = (vertical_intervals(sample, rates).tpr for sample in (window, reference))
    except InputError:  # one class or one score: the AUROC says all there is
        return []
    columns = (rates, tpr, before, change.dtpr, change.dtpr_low, change.dtpr_high)
    names = ("fpr", "tpr", "reference_tpr", "difference", "low", "high")
    return [dict(zip(names, map(float, line), strict=True)) for line in zip(*columns, strict=True)]
