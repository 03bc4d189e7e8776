"""Statistics for studies of the methods themselves; a monitor needs none of them.

They take what those of `rocmonitor.stats` take. Importing `rocmonitor.stats` does not import them.
"""

from rocmonitor.stats.research.averaging import AveragingTable, averaging_table
from rocmonitor.stats.research.distance import CurveDistances, curve_distances
from rocmonitor.stats.research.functional import RocFunctional, roc_functional
from rocmonitor.stats.research.homogeneity import AucHomogeneityTest, auc_homogeneity_test
from rocmonitor.stats.research.likelihood import LikelihoodDistance, likelihood_distance
from rocmonitor.stats.research.null import (
    AucEqualityTest,
    AucPath,
    AucTest,
    auc_equality_test,
    auc_path,
    auc_test,
)
from rocmonitor.stats.research.skewness import AucSkewness, auc_skewness
from rocmonitor.stats.research.variability import (
    BootstrapVariability,
    bootstrap_variability,
    replications_needed,
)
from rocmonitor.stats.research.weighting import weighted_sample
from rocmonitor.stats.sample import WeightedSample

__all__ = [
    "AucEqualityTest",
    "AucHomogeneityTest",
    "AucPath",
    "AucSkewness",
    "AucTest",
    "AveragingTable",
    "BootstrapVariability",
    "CurveDistances",
    "LikelihoodDistance",
    "RocFunctional",
    "WeightedSample",
    "auc_equality_test",
    "auc_homogeneity_test",
    "auc_path",
    "auc_skewness",
    "auc_test",
    "averaging_table",
    "bootstrap_variability",
    "curve_distances",
    "likelihood_distance",
    "replications_needed",
    "roc_functional",
    "weighted_sample",
]
