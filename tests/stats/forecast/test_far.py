"""Past windows far from the others: named seldom where there is none, and found where there is."""

from __future__ import annotations

import numpy as np
import pytest
from studies import far_window as study
from studies.running import replicate

from rocmonitor.stats import Sample, auc
from rocmonitor.stats.forecast.windows import far_windows, sampling_errors


@pytest.mark.parametrize("count", [8, 19, 52])
@pytest.mark.parametrize("scatter", [0.0, 1.0, 3.0])
def test_a_window_is_seldom_named_where_all_are_alike(count, scatter):
    """At most 1 % of references, here of 600; 3 % is five errors above that."""
    rng = np.random.default_rng(4)
    ses = 0.01 * 4 ** rng.uniform(0, 1, (600, count))
    aucs = 0.8 + ses * rng.standard_normal((600, count)) + 0.01 * scatter * rng.standard_normal((600, count))
    named = [bool(far_windows(*each)) for each in zip(aucs, ses, strict=True)]
    assert np.mean(named) < 0.03


def test_one_bad_week_of_nineteen_is_found_and_so_are_two():
    rng = np.random.default_rng(5)
    ses = np.full(19, 0.02)
    for bad in ([7], [7, 8]):
        found = 0
        for _ in range(100):
            aucs = 0.8 + 0.02 * rng.standard_normal(19)
            aucs[bad] -= 0.2
            found += sorted(each.place for each in far_windows(aucs, ses)) == bad
        assert found > 80


def test_a_small_window_may_lie_further_out():
    aucs, ses = [0.80, 0.81, 0.79, 0.80, 0.82, 0.78, 0.81, 0.65], [0.01] * 7 + [0.1]
    assert far_windows(aucs, ses) == []
    assert [each.place for each in far_windows(aucs, [0.01] * 8)] == [7]


def test_few_windows_and_equal_ones_name_none():
    assert far_windows([], []) == []
    assert far_windows([0.9, 0.9, 0.9, 0.9, 0.1], [0.01] * 5) == []
    assert far_windows([0.9] * 8, [0.0] * 8) == []


@pytest.mark.parametrize("past", [study.Past(), study.Past(sizes=(10, 90), auc=0.9)], ids=str)
def test_windows_that_are_alike_are_seldom_named_however_small_they_are(past):
    """A short version of the study `far-window`: small windows were named in 7 % by their own errors."""
    good, *_ = np.mean(replicate(study.named, past, replications=120, seed=2), axis=0)
    assert good < 0.04  # 1 % and three Monte Carlo errors


@pytest.mark.parametrize("scatter", [0.0, 0.02])
def test_exactly_the_bad_week_is_named(scatter):
    past = study.Past(bad=1, scatter=scatter)
    good, exactly, *_ = np.mean(replicate(study.named, past, replications=60, seed=2), axis=0)
    assert good < 0.06
    assert exactly > 0.9


def test_a_bad_week_hides_a_drop_that_the_others_show():
    past = study.Past(bad=1, sizes=(40, 160))
    with_it, without = np.mean(replicate(study.kept, past, replications=1, seed=2), axis=0)
    assert with_it[1] - with_it[0] > 2 * (without[1] - without[0])
    assert with_it[2] < 0.1 < 0.4 < without[2]


def test_a_small_window_widens_the_interval_until_it_is_pooled():
    past = study.Past(windows=21, sizes=(100, 300), last=(9, 30))
    alone, pooled = np.mean(replicate(study.pooled, past, replications=1, seed=2), axis=0)
    assert alone[1] - alone[0] > 1.3 * (pooled[1] - pooled[0])


def test_a_window_without_a_wrong_pair_has_the_error_of_the_others():
    rng = np.random.default_rng(7)
    y = np.repeat([1, 0], [6, 40])
    areas = [auc(Sample(y, rng.normal(size=46) + 2 * y)) for _ in range(8)] + [auc(y, y + 0.1)]
    errors = sampling_errors(areas)
    assert areas[-1].se == 0
    assert errors == pytest.approx([errors[0]] * 9)
    assert errors[0] == pytest.approx(np.mean([area.se for area in areas[:-1]]), rel=0.3)


def test_rows_that_are_counted_twice_leave_the_error_as_it_is():
    rng = np.random.default_rng(8)
    y = np.repeat([1, 0], [40, 160])
    scores = [rng.normal(size=200) + y for _ in range(8)]
    once = [auc(y, score) for score in scores]
    twice = [auc(np.tile(y, 2), np.tile(score, 2), cluster=np.tile(np.arange(200), 2)) for score in scores]
    assert sampling_errors(twice) == pytest.approx(sampling_errors(once), rel=0.03)
