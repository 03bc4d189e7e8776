"""Adjusted p-values, against SciPy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from rocmonitor.stats.column_changes import adjusted_pvalues


@given(st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.5, 1.0]), min_size=1, max_size=30))
def test_they_are_those_of_scipy(pvalue):
    assert adjusted_pvalues(pvalue).tolist() == np.asarray(false_discovery_control(pvalue)).tolist()
