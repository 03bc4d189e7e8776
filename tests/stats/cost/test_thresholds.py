import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import cost_thresholds


@given(samples(), st.lists(st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 0.6, 0.8, 1.0]), min_size=1))
def test_no_threshold_is_cheaper_and_among_equals_it_flags_fewest(sample, w):
    y, s = sample
    found = cost_thresholds(y, s, w)
    offered = np.append(np.unique(s), np.inf)
    misses = np.array([np.mean(s[y == 1] < t) for t in offered])
    alarms = np.array([np.mean(s[y == 0] >= t) for t in offered])
    for i, condition in enumerate(w):
        costs = condition * misses + (1 - condition) * alarms
        assert found.cost[i] == pytest.approx(costs.min(), abs=1e-14)
        assert found.threshold[i] == offered[costs <= costs.min() + 1e-13][-1]
        at = offered == found.threshold[i]
        assert (1 - found.tpr[i], found.fpr[i]) == pytest.approx((misses[at][0], alarms[at][0]), abs=1e-14)


def test_a_rare_or_cheap_miss_is_flagged_less():
    rng = np.random.default_rng(1)
    y = (rng.random(500) < 0.3).astype(int)
    chosen = cost_thresholds(y, y + rng.normal(size=500), np.linspace(0, 1, 50))
    assert (np.diff(chosen.threshold[1:]) <= 0).all()  # the first flags nothing: inf
    assert chosen.threshold[0] == np.inf
    assert chosen.to_frame().shape == (50, 5)


def test_bad_input():
    with pytest.raises(InputError, match=r"w must lie within \[0, 1\]"):
        cost_thresholds([0, 1], [1, 2], -0.1)
    with pytest.raises(DegenerateDataError):
        cost_thresholds([1, 1], [1, 2], 0.5)
