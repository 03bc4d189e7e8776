"""The statistics: pure functions of labelled scores, each with exact or stated uncertainty.

Every function takes ``(y_true, y_score)`` or one `Sample`; those of two models on the same rows take
``(y_true, score_1, score_2)`` or one `PairedSample`. Results are frozen, with ``to_dict()``; tabular ones
have ``to_frame()`` too.
"""

from rocmonitor.stats.auc import AucResult, auc
from rocmonitor.stats.averaging import AveragingTable, averaging_table
from rocmonitor.stats.compare import AucDifference, compare_auc, compare_auc_paired
from rocmonitor.stats.covariance import AucContrast, AucCovariance, auc_covariance
from rocmonitor.stats.difference import ThresholdDifference, threshold_difference
from rocmonitor.stats.dominance import ThresholdDominance, threshold_dominance
from rocmonitor.stats.forecast import ForecastInterval, binned_distance, forecast_interval
from rocmonitor.stats.kld import AucBounds, auc_bounds, auc_distance
from rocmonitor.stats.matching import calibrated_pairs, matched_pairs
from rocmonitor.stats.sample import PairedSample, Sample
from rocmonitor.stats.threshold import (
    ThresholdIntervals,
    ThresholdLaw,
    threshold_intervals,
    threshold_law,
)
from rocmonitor.stats.total_rate import (
    TotalRateIntervals,
    TotalRateLaw,
    total_rate_intervals,
    total_rate_law,
)
from rocmonitor.stats.vertical import VerticalIntervals, vertical_intervals, vertical_law
from rocmonitor.stats.vertical_difference import (
    VerticalDifference,
    vertical_difference,
    vertical_difference_law,
)

__all__ = [
    "AucBounds",
    "AucContrast",
    "AucCovariance",
    "AucDifference",
    "AucResult",
    "AveragingTable",
    "ForecastInterval",
    "PairedSample",
    "Sample",
    "ThresholdDifference",
    "ThresholdDominance",
    "ThresholdIntervals",
    "ThresholdLaw",
    "TotalRateIntervals",
    "TotalRateLaw",
    "VerticalDifference",
    "VerticalIntervals",
    "auc",
    "auc_bounds",
    "auc_covariance",
    "auc_distance",
    "averaging_table",
    "binned_distance",
    "calibrated_pairs",
    "compare_auc",
    "compare_auc_paired",
    "forecast_interval",
    "matched_pairs",
    "threshold_difference",
    "threshold_dominance",
    "threshold_intervals",
    "threshold_law",
    "total_rate_intervals",
    "total_rate_law",
    "vertical_difference",
    "vertical_difference_law",
    "vertical_intervals",
    "vertical_law",
]
