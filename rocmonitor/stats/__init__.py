"""The statistics: pure functions of labelled scores, each with exact or stated uncertainty.

Every function takes ``(y_true, y_score)`` or one `Sample`; those of two models on the same rows take
``(y_true, score_1, score_2)`` or one `PairedSample`. Results are frozen, with ``to_dict()``; tabular ones
have ``to_frame()`` too. The twelve that most people need:

======================  ============================================================
`auc`                   the AUROC, with an interval
`compare_auc_paired`    two models on the same rows
`compare_auc`           two models, or two times, on different rows
`roc_curve`             the ROC curve
`roc_band`              a band for the whole curve
`vertical_intervals`    the TPR at chosen FPRs
`cost_curve`            the cost at chosen operating conditions
`calibration`           the quality of probabilities
`auc_sample_size`       the rows that are needed to see a drop
`forecast_interval`     the normal range of a coming window
`explain_shift`         the scores that changed an AUROC
`confidence_sequence`   a difference that is looked at repeatedly
======================  ============================================================

Then by family:

- area: `partial_auc`, `auc_covariance`, `auc_power`, `detectable_drop`
- curve: `threshold_intervals`, `threshold_law`, `vertical_law`, `total_rate_intervals`, `total_rate_law`,
  `roc_pointwise`
- two models, or two samples, along the curve: `roc_difference_band`, `vertical_difference`,
  `vertical_difference_law`, `vertical_difference_unpaired`, `threshold_difference`, `threshold_dominance`,
  `threshold_difference_unpaired`, `total_rate_difference`, `total_rate_difference_law`, `matched_pairs`,
  `calibrated_pairs`
- cost: `cost_thresholds`, `cost_difference`, `expected_cost`
- coming windows: `forecast_fit`, `forecast_difference`, `auc_bounds`, `auc_distance`, `binned_distance`
- without labels: `expected_auc`, `expected_auc_difference`, `partly_labelled_auc`, `score_history`,
  `score_shift`
- later windows: `auc_sequence`, `lasting_change`, `lasting_chart`, `windows_to_decide`
- groups that made a change: `group_changes`, `group_changes_by_column`
- many rows: `condensed`, `condensed_error`

What serves studies of the methods only is in `rocmonitor.stats.research`.
"""

from rocmonitor.caveat import Caveat
from rocmonitor.stats.area.auc import AucResult, BootstrapAucResult, auc
from rocmonitor.stats.area.compare import AucDifference, compare_auc, compare_auc_paired
from rocmonitor.stats.area.covariance import AucContrast, AucCovariance, auc_covariance
from rocmonitor.stats.area.partial import PartialAucResult, partial_auc
from rocmonitor.stats.area.period import auc_sequence
from rocmonitor.stats.area.power import (
    AucSampleSize,
    AucSpread,
    PairedSpread,
    auc_power,
    auc_sample_size,
    detectable_drop,
)
from rocmonitor.stats.band.band import RocBand, roc_band
from rocmonitor.stats.band.difference import RocDifferenceBand, roc_difference_band
from rocmonitor.stats.band.pointwise import RocPointwise, roc_pointwise
from rocmonitor.stats.cells import Grid
from rocmonitor.stats.column_changes import ColumnChanges, group_changes_by_column
from rocmonitor.stats.condensed import CondensedError, condensed_error
from rocmonitor.stats.cost.conditions import CostThresholds, OperatingCondition, cost_thresholds
from rocmonitor.stats.cost.curve import (
    CostCurve,
    CostDifference,
    ExpectedCost,
    cost_curve,
    cost_difference,
    expected_cost,
)
from rocmonitor.stats.curve.difference import (
    ThresholdDifference,
    ThresholdDominance,
    threshold_difference,
    threshold_dominance,
)
from rocmonitor.stats.curve.matching import calibrated_pairs, matched_pairs
from rocmonitor.stats.curve.roc import RocCurve, roc_curve
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
from rocmonitor.stats.curve.total_rate_difference import (
    TotalRateDifference,
    TotalRateDifferenceLaw,
    total_rate_difference,
    total_rate_difference_law,
)
from rocmonitor.stats.curve.unpaired import (
    ThresholdDifferenceUnpaired,
    VerticalDifferenceUnpaired,
    threshold_difference_unpaired,
    vertical_difference_unpaired,
)
from rocmonitor.stats.curve.vertical import VerticalIntervals, vertical_intervals, vertical_law
from rocmonitor.stats.curve.vertical_difference import (
    VerticalDifference,
    vertical_difference,
    vertical_difference_law,
)
from rocmonitor.stats.decomposition import GroupChanges, group_changes
from rocmonitor.stats.explained import explain
from rocmonitor.stats.forecast.difference import ForecastDifference, forecast_difference
from rocmonitor.stats.forecast.distance import binned_distance, condensed
from rocmonitor.stats.forecast.explanation import ShiftExplanation, explain_shift
from rocmonitor.stats.forecast.forecasting import forecast_fit, forecast_interval
from rocmonitor.stats.forecast.foreseen import ForeseenChange, ScoreShift, score_shift
from rocmonitor.stats.forecast.given_scores import HistoryLimit, ScoreForecast, ScoreHistory
from rocmonitor.stats.forecast.interval import ForecastFit, ForecastInterval
from rocmonitor.stats.forecast.kld import AucBounds, auc_bounds, auc_distance
from rocmonitor.stats.forecast.partial_labels import PartlyLabelledAuc, partly_labelled_auc
from rocmonitor.stats.forecast.projection import (
    ExpectedAuc,
    ExpectedAucDifference,
    expected_auc,
    expected_auc_difference,
)
from rocmonitor.stats.forecast.score_history import score_history
from rocmonitor.stats.lasting.chart import LastingChart, lasting_change, lasting_chart
from rocmonitor.stats.lasting.result import LastingChange
from rocmonitor.stats.lasting.windows import WindowAuc
from rocmonitor.stats.probabilities import CalibrationResult, calibration
from rocmonitor.stats.result import Interval
from rocmonitor.stats.sample import PairedSample, Sample
from rocmonitor.stats.sequence import ConfidenceSequence, confidence_sequence, windows_to_decide

__all__ = [
    "AucBounds",
    "AucContrast",
    "AucCovariance",
    "AucDifference",
    "AucResult",
    "AucSampleSize",
    "AucSpread",
    "BootstrapAucResult",
    "CalibrationResult",
    "Caveat",
    "ColumnChanges",
    "CondensedError",
    "ConfidenceSequence",
    "CostCurve",
    "CostDifference",
    "CostThresholds",
    "ExpectedAuc",
    "ExpectedAucDifference",
    "ExpectedCost",
    "ForecastDifference",
    "ForecastFit",
    "ForecastInterval",
    "ForeseenChange",
    "Grid",
    "GroupChanges",
    "HistoryLimit",
    "Interval",
    "LastingChange",
    "LastingChart",
    "OperatingCondition",
    "PairedSample",
    "PairedSpread",
    "PartialAucResult",
    "PartlyLabelledAuc",
    "RocBand",
    "RocCurve",
    "RocDifferenceBand",
    "RocPointwise",
    "Sample",
    "ScoreForecast",
    "ScoreHistory",
    "ScoreShift",
    "ShiftExplanation",
    "ThresholdDifference",
    "ThresholdDifferenceUnpaired",
    "ThresholdDominance",
    "ThresholdIntervals",
    "ThresholdLaw",
    "TotalRateDifference",
    "TotalRateDifferenceLaw",
    "TotalRateIntervals",
    "TotalRateLaw",
    "VerticalDifference",
    "VerticalDifferenceUnpaired",
    "VerticalIntervals",
    "WindowAuc",
    "auc",
    "auc_bounds",
    "auc_covariance",
    "auc_distance",
    "auc_power",
    "auc_sample_size",
    "auc_sequence",
    "binned_distance",
    "calibrated_pairs",
    "calibration",
    "compare_auc",
    "compare_auc_paired",
    "condensed",
    "condensed_error",
    "confidence_sequence",
    "cost_curve",
    "cost_difference",
    "cost_thresholds",
    "detectable_drop",
    "expected_auc",
    "expected_auc_difference",
    "expected_cost",
    "explain_shift",
    "forecast_difference",
    "forecast_fit",
    "forecast_interval",
    "group_changes",
    "group_changes_by_column",
    "lasting_change",
    "lasting_chart",
    "matched_pairs",
    "partial_auc",
    "partly_labelled_auc",
    "roc_band",
    "roc_curve",
    "roc_difference_band",
    "roc_pointwise",
    "score_history",
    "score_shift",
    "threshold_difference",
    "threshold_difference_unpaired",
    "threshold_dominance",
    "threshold_intervals",
    "threshold_law",
    "total_rate_difference",
    "total_rate_difference_law",
    "total_rate_intervals",
    "total_rate_law",
    "vertical_difference",
    "vertical_difference_law",
    "vertical_difference_unpaired",
    "vertical_intervals",
    "vertical_law",
    "windows_to_decide",
]

explain([globals()[name] for name in __all__])
