import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from stats import oracle_kld
from strategies import paired_samples, samples

from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats.area.auc import auc
from rocmonitor.stats.area.compare import compare_auc_paired
from rocmonitor.stats.research.null import pvalue, resampled, reweighted, statistics
from rocmonitor.stats.sample import PairedSample, Sample


def of_sample(sample, null, tilt=1.0):
    shares = np.stack([sample.neg / sample.n_neg, sample.pos / sample.n_pos])
    rank = np.arange(shares.shape[1])
    return reweighted(shares, tilt * np.ones_like(shares), (rank,), (sample.n_pos, sample.n_neg), null)


def of_pair(pair):
    shares = np.stack([pair.neg / pair.n_neg, pair.pos / pair.n_pos])
    ranks = (pair.index_1, pair.index_2)
    return reweighted(shares, np.ones_like(shares), ranks, (pair.n_pos, pair.n_neg), 0.0)


@given(samples(min_per_class=2))
def test_one_area_has_the_statistic_of_delong(data):
    sample, result = Sample(*data), auc(*data)
    population, counts = of_sample(sample, 0.6)
    assert statistics(population, *counts, studentized=False)[0] == pytest.approx(result.auc - 0.6, abs=1e-13)
    expected = (
        math.copysign(math.inf, result.auc - 0.6) if result.se < 1e-9 else (result.auc - 0.6) / result.se
    )
    assert statistics(population, *counts, studentized=True)[0] == pytest.approx(expected, rel=1e-9)


@given(paired_samples(min_per_class=2))
def test_two_areas_have_the_statistic_of_delong(data):
    pair = PairedSample(*data)
    population, counts = of_pair(pair)
    statistic = statistics(population, *counts, studentized=True)[0]
    try:
        assert statistic == pytest.approx(compare_auc_paired(pair).statistic, rel=1e-7, abs=1e-9)
    except DegenerateDataError:
        assert math.isinf(statistic)


def test_resamples_are_rows_drawn_from_the_population():
    # Areas of resamples have the population's own mean, and DeLong's variance about it.
    sample = Sample([0] * 40 + [1] * 30, np.concatenate([np.arange(40), np.arange(20, 50)]))
    rng = np.random.default_rng(5)
    u, v = np.zeros(50), np.zeros(50)
    u[:40], v[20:] = rng.dirichlet(np.ones(40)), rng.dirichlet(np.ones(30))
    mean = oracle_kld.weighted_auc(u, v)
    population, _ = of_sample(sample, mean, np.stack([40 * u, 30 * v]))
    drawn = resampled(
        population, (200, 300), 4000, np.random.default_rng(1), partial(statistics, studentized=False)
    )
    assert abs(drawn.mean()) < 4 * drawn.std() / math.sqrt(len(drawn))
    studentized = resampled(
        population, (200, 300), 4000, np.random.default_rng(1), partial(statistics, studentized=True)
    )
    assert studentized.std() == pytest.approx(1.0, abs=0.05)
    assert np.array_equal(np.sign(studentized), np.sign(drawn))


def test_the_chunks_do_not_change_the_draws(monkeypatch):
    sample = Sample([0] * 9 + [1] * 9, np.arange(18) % 10)
    population, _ = of_sample(sample, 0.5)
    whole = resampled(population, (9, 9), 50, np.random.default_rng(3), partial(statistics, studentized=True))
    again = resampled(population, (9, 9), 50, np.random.default_rng(3), partial(statistics, studentized=True))
    assert np.array_equal(whole, again)
    monkeypatch.setattr("rocmonitor.stats.research.null._AT_ONCE", 30)
    assert (
        len(
            resampled(population, (9, 9), 50, np.random.default_rng(3), partial(statistics, studentized=True))
        )
        == 50
    )


def test_the_sample_counts_as_one_of_the_resamples():
    drawn = np.array([-3.0, -1.0, 0.0, 1.0, 2.0, math.inf, -math.inf])
    assert pvalue(2.0, drawn, "two-sided") == 2 * (1 + 2) / 8
    assert pvalue(-2.0, drawn, "two-sided", symmetric=True) == (1 + 4) / 8
    assert pvalue(0.0, drawn, "two-sided") == 1.0
    assert pvalue(2.0, drawn, "greater") == (1 + 2) / 8
    assert pvalue(2.0, drawn, "less") == (1 + 6) / 8
    assert pvalue(math.inf, drawn, "greater") == (1 + 1) / 8
    assert pvalue(2.0 + 1e-12, drawn, "greater") == (1 + 2) / 8  # the same value, added up differently
    assert pvalue(0.0, np.zeros(9), "two-sided") == 1.0
