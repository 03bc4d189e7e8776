"""The statistics: pure functions of labelled scores, each with exact or stated uncertainty.

Every function takes ``(y_true, y_score)`` or one `Sample`; those of two models on the same rows take
``(y_true, score_1, score_2)`` or one `PairedSample`. Results are frozen, with ``to_dict()``; tabular ones
have ``to_frame()`` too.
"""

from rocmonitor.stats.auc import AucContrast, AucCovariance, AucResult, auc, auc_covariance
from rocmonitor.stats.compare import AucDifference, compare_auc, compare_auc_paired
from rocmonitor.stats.forecast import ForecastInterval, binned_distance, forecast_interval
from rocmonitor.stats.kld import AucBounds, auc_bounds, auc_distance
from rocmonitor.stats.sample import PairedSample, Sample
from rocmonitor.stats.threshold import (
    ThresholdDominance,
    ThresholdIntervals,
    ThresholdLaw,
    threshold_dominance,
    threshold_intervals,
    threshold_law,
)
from rocmonitor.stats.vertical import VerticalIntervals, vertical_intervals, vertical_law

__all__ = [
    "AucBounds",
    "AucContrast",
    "AucCovariance",
    "AucDifference",
    "AucResult",
    "ForecastInterval",
    "PairedSample",
    "Sample",
    "ThresholdDominance",
    "ThresholdIntervals",
    "ThresholdLaw",
    "VerticalIntervals",
    "auc",
    "auc_bounds",
    "auc_covariance",
    "auc_distance",
    "binned_distance",
    "compare_auc",
    "compare_auc_paired",
    "forecast_interval",
    "threshold_dominance",
    "threshold_intervals",
    "threshold_law",
    "vertical_intervals",
    "vertical_law",
]
