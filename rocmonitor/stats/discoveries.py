"""False discoveries: p-values of several tests, adjusted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def adjusted_pvalues(pvalue: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return p-values, adjusted so that those of at most q are false in a share of at most q ([BH95]).

    They are those of `scipy.stats.false_discovery_control`, without the second that its import takes.
    """
    given = np.asarray(pvalue, dtype=np.float64)
    order, adjusted = np.argsort(given), np.empty(len(given))
    raised = given[order] * (len(given) / np.arange(1.0, len(given) + 1))
    adjusted[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1.0)
    return adjusted
