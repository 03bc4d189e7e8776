"""The statistics: pure functions of labelled scores, each with exact or stated uncertainty.

Every function takes ``(y_true, y_score)`` or one `Sample`; those of two models on the same rows take
``(y_true, score_1, score_2)`` or one `PairedSample`. Results are frozen, with ``to_dict()``; tabular ones
have ``to_frame()`` too.
"""

from rocmonitor.stats.area.auc import AucResult, auc
from rocmonitor.stats.area.compare import AucDifference, compare_auc, compare_auc_paired
from rocmonitor.stats.area.covariance import AucContrast, AucCovariance, auc_covariance
from rocmonitor.stats.curve.averaging import AveragingTable, averaging_table
from rocmonitor.stats.curve.difference import ThresholdDifference, threshold_difference
from rocmonitor.stats.curve.dominance import ThresholdDominance, threshold_dominance
from rocmonitor.stats.curve.matching import calibrated_pairs, matched_pairs
from rocmonitor.stats.curve.threshold import (
    ThresholdIntervals,
    ThresholdLaw,
    threshold_intervals,
    threshold_law,
)
from rocmonitor.stats.curve.total_rate import (
    TotalRateIntervals,
    TotalRateLaw,
    total_rate_intervals,
    total_rate_law,
)
from rocmonitor.stats.curve.vertical import VerticalIntervals, vertical_intervals, vertical_law
from rocmonitor.stats.curve.vertical_difference import (
    VerticalDifference,
    vertical_difference,
    vertical_difference_law,
)
from rocmonitor.stats.forecast.interval import ForecastInterval, binned_distance, forecast_interval
from rocmonitor.stats.forecast.kld import AucBounds, auc_bounds, auc_distance
from rocmonitor.stats.sample import PairedSample, Sample

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
