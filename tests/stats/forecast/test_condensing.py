import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from strategies import grouped_counts

from rocmonitor.errors import InputError
from rocmonitor.stats import auc_bounds, auc_distance, condensed
from rocmonitor.stats.forecast.kld import area
from rocmonitor.stats.forecast.windows import carried
from rocmonitor.stats.sample import Sample


def binormal(auc, n_pos, n_neg, seed=4):
    rng = np.random.default_rng(seed)
    y = np.repeat([1, 0], [n_pos, n_neg])
    return Sample(y, rng.normal(size=len(y)) + y * ndtri(auc) * 2**0.5)


@settings(max_examples=200)
@given(grouped_counts(min_per_class=0, distinct=12), st.integers(2, 6))
def test_neighbours_are_joined_under_their_highest_score(counts, cells):
    sample = Sample.from_counts(*counts)
    few = condensed(sample, cells=cells)
    assert len(few.score) <= 2 * cells
    assert np.isin(few.score, sample.score).all()
    lowest = -np.inf
    for score, pos, neg in zip(few.score, few.pos, few.neg, strict=True):
        held = (sample.score > lowest) & (sample.score <= score)
        assert (pos, neg) == (sample.pos[held].sum(), sample.neg[held].sum())
        lowest = score
    assert (few.n_pos, few.n_neg) == (sample.n_pos, sample.n_neg)


@pytest.mark.parametrize("auc", [0.7, 0.95])
def test_the_loss_is_tiny(auc):
    # The bounds of the notes. Numbers of cells, error of the AUC, of the carried bounds and of a distance.
    sample = binormal(auc, 6000, 24_000)
    bounds = auc_bounds(sample, 0.01)
    for cells, area_error, bound_error, distance_error in ((400, 1e-4, 1e-5, 1e-3), (2048, 2e-5, 3e-6, 2e-4)):
        few = condensed(sample, cells=cells)
        assert len(few.score) == cells
        near = auc_bounds(few, 0.01)
        assert abs(near.auc - bounds.auc) < area_error
        assert abs(carried(near.low, near.auc, bounds.auc) - bounds.low) < bound_error
        assert abs(carried(near.high, near.auc, bounds.auc) - bounds.high) < bound_error
        target = carried(bounds.low, bounds.auc, near.auc)
        assert auc_distance(few, target) == pytest.approx(0.01, rel=distance_error)


def test_nothing_is_lost_where_few_runs_alternate():
    # 900 scores in six runs of one class.
    y = np.repeat([0, 1, 0, 1, 0, 1], [200, 40, 180, 160, 20, 300])
    sample = Sample(y, np.arange(900.0))
    few = condensed(sample, cells=10)
    assert len(few.score) <= 20
    assert area(few) == pytest.approx(area(sample), abs=1e-15)
    whole, joined = auc_bounds(sample, 0.05), auc_bounds(few, 0.05)
    assert (joined.low, joined.high) == pytest.approx((whole.low, whole.high), abs=1e-12)
    separated = Sample(np.repeat([0, 1], 500), np.arange(1000.0))
    assert area(condensed(separated, cells=7)) == 1.0


def test_a_large_tie_stays_alone():
    score = np.concatenate([np.full(5000, 3.0), np.linspace(0, 2.9, 500), np.linspace(3.1, 6, 500)])
    sample = Sample(np.arange(6000) % 2, score)
    few = condensed(sample, cells=50)
    assert few.pos[few.score == 3.0] == 2500


def test_short_samples_are_returned_as_they_are():
    for sample in (Sample([], []), Sample([1, 1], [0.1, 0.2]), binormal(0.8, 5, 9)):
        assert condensed(sample) is sample
    assert condensed(Sample([1] * 10, range(10)), cells=3).n_pos == 10


@pytest.mark.parametrize("cells", [1, 0, 2.5])
def test_cells_must_be_a_whole_number(cells):
    with pytest.raises(InputError, match="cells must be a whole number of at least 2"):
        condensed(Sample([0, 1], [1, 2]), cells=cells)


def test_only_samples_are_condensed():
    with pytest.raises(InputError, match="sample must be a Sample, not a list"):
        condensed([1, 2])
