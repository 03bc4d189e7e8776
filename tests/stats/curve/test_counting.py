import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import paired_samples, samples

from rocmonitor.stats import PairedSample, Sample
from rocmonitor.stats.curve.roc import disagreements, flagged

cuts = st.one_of(st.integers(-33, 33).map(lambda k: k / 8), st.sampled_from([-np.inf, np.inf]))


@given(samples(), st.lists(cuts, min_size=1, max_size=5))
def test_flagged_rows_are_those_at_or_above(sample, thresholds):
    y, s = sample
    pos, neg = flagged(Sample(y, s), np.array(thresholds))
    assert pos.tolist() == [np.count_nonzero(s[y == 1] >= t) for t in thresholds]
    assert neg.tolist() == [np.count_nonzero(s[y == 0] >= t) for t in thresholds]


@given(paired_samples(), st.lists(st.tuples(cuts, cuts), min_size=1, max_size=6), st.sampled_from([1, 90]))
def test_disagreements_are_counted_row_by_row(sample, pairs, times):
    y, s1, s2 = sample
    at = np.array(pairs * times)  # 90 times: more than are counted at once
    found = disagreements(PairedSample(y, s1, s2), at)
    assert found.dtype == np.int64
    for column, (t1, t2) in zip(found.T, at, strict=True):
        by_1, by_2 = s1 >= t1, s2 >= t2
        expected = [
            np.count_nonzero((y == label) & one & ~other)
            for label in (1, 0)
            for one, other in ((by_1, by_2), (by_2, by_1))
        ]
        assert column.tolist() == expected
