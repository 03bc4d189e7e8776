"""Statistics for studies of the methods themselves; a monitor needs none of them.

They take what those of `rocmonitor.stats` take. Importing `rocmonitor.stats` does not import them.
"""

from rocmonitor.stats.area.skewness import AucSkewness, auc_skewness
from rocmonitor.stats.explained import explain
from rocmonitor.stats.research.averaging import AveragingTable, averaging_table
from rocmonitor.stats.research.functional import RocFunctional, roc_functional
from rocmonitor.stats.research.null import (
    AucEqualityTest,
    AucPath,
    AucTest,
    auc_equality_test,
    auc_path,
    auc_test,
    weighted_sample,
)
from rocmonitor.stats.sample import WeightedSample

__all__ = [
    "AucEqualityTest",
    "AucPath",
    "AucSkewness",
    "AucTest",
    "AveragingTable",
    "RocFunctional",
    "WeightedSample",
    "auc_equality_test",
    "auc_path",
    "auc_skewness",
    "auc_test",
    "averaging_table",
    "roc_functional",
    "weighted_sample",
]

explain(globals()[name] for name in __all__)
