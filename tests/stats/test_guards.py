"""Samples of a million and more rows a cell: bounded memory, or an error that says what to do instead."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from rocmonitor.errors import InputError
from rocmonitor.stats import (
    PairedSample,
    Sample,
    auc,
    cost_curve,
    forecast_difference,
    forecast_interval,
    threshold_difference,
    threshold_intervals,
    threshold_law,
    total_rate_law,
    vertical_difference_law,
    vertical_intervals,
    vertical_law,
)
from rocmonitor.stats.binomial import MOST_CELLS

MANY = 10**10


def sample(per_cell: int) -> Sample:
    return Sample.from_counts([1.0, 2.0, 3.0], np.array([1, 2, 3]) * per_cell, np.array([3, 2, 1]) * per_cell)


def pair(per_cell: int) -> PairedSample:
    first, second = (np.ravel(each) for each in np.meshgrid([1.0, 2.0], [1.0, 2.0]))
    return PairedSample.from_counts(
        first, second, np.array([1, 2, 3, 4]) * per_cell, np.array([4, 3, 2, 1]) * per_cell
    )


@pytest.mark.parametrize(
    "law",
    [
        lambda: threshold_law(sample(MANY), 2.0),
        lambda: threshold_law(sample(MANY), 2.0, sampling="full"),
        lambda: total_rate_law(sample(MANY), 0.5),
        lambda: vertical_law(sample(MANY), 0.5),
        lambda: vertical_difference_law(pair(MANY), 0.5),
        lambda: auc(sample(MANY), method="cortes-mohri"),
        lambda: cost_curve(sample(10**8), [0.2], [2.0], method="exact"),
        lambda: threshold_intervals(sample(10**8), [2.0], method="exact", sampling="full"),
    ],
)
def test_an_exact_law_of_too_many_rows_is_refused_before_it_is_allocated(law):
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="probabilities at once, and at most 50,000,000 are allowed"):
            law()
        assert tracemalloc.get_traced_memory()[1] < 8 * MOST_CELLS
    finally:
        tracemalloc.stop()


def test_normal_methods_hold_for_as_many_rows():
    """The rates do not depend on the rows a cell, and the intervals shrink by the root of their number."""
    few, many = (threshold_intervals(sample(rows), [2.0], joint=False) for rows in (10**4, MANY))
    assert many.tpr == pytest.approx(few.tpr)
    widths = [float((each.tpr_high - each.tpr_low)[0]) for each in (few, many)]
    assert widths[0] / widths[1] == pytest.approx(1e3, rel=0.01)
    apart = threshold_difference(pair(MANY), [(2.0, 2.0)])
    assert np.isfinite(apart.dtpr_low).all()


def test_the_points_of_a_curve_hold_where_rows_pass_a_64_bit_product():
    """Ranks times rows pass 2**63 from 3e9 rows on."""
    few, many = (vertical_intervals(sample(rows), [0.25], method="wald") for rows in (10**6, MANY))
    assert many.tpr == pytest.approx(few.tpr, abs=1e-3)
    assert 0 <= many.tpr_low[0] <= many.tpr_high[0] <= 1


@pytest.mark.parametrize(
    "scores",
    [[2**53 + 1, 2**53, 0], [-(10**400), 1, 2], [2**60, 2**60 + 1, 0.5]],
    ids=["odd", "huge", "mixed"],
)
def test_python_integers_that_float64_would_merge_are_refused(scores):
    with pytest.raises(InputError, match=r"integers beyond 2\*\*53") as refused:
        Sample([0, 1, 1], np.array(scores, dtype=object))
    assert len(str(refused.value)) < 300
    assert len(Sample([0, 1], np.array([2**53, 2**53 - 1], dtype=object)).score) == 2


def past() -> list[Sample]:
    rng = np.random.default_rng(5)
    return [
        Sample(y := (np.arange(40) < 15), np.round(rng.normal(y * 1.1 + 0.2 * k % 0.5), 1)) for k in range(20)
    ]


def test_whether_windows_are_parts_of_the_reference_can_be_said():
    windows = past()
    whole = Sample.merge(windows)
    guessed, said = (forecast_interval(whole, windows=windows, inside=each) for each in (None, True))
    assert (said.low, said.high, said.fit.window_shifts) == (
        guessed.low,
        guessed.high,
        guessed.fit.window_shifts,
    )
    assert said.fit.inside
    outside = forecast_interval(whole, windows=windows, inside=False)
    assert not outside.fit.inside
    # A window that is no part differs less from a reference that holds it than from the rest.
    assert sum(map(abs, outside.fit.window_shifts)) < sum(map(abs, said.fit.window_shifts))
    with pytest.raises(InputError, match="inside=True says that the windows are parts of the reference"):
        forecast_interval(Sample.merge(windows[1:]), windows=windows, inside=True)


def test_parts_of_a_pair_can_be_said_too():
    rng = np.random.default_rng(6)
    windows = [
        PairedSample(y := (np.arange(30) < 12), np.round(rng.normal(y), 1), np.round(rng.normal(y), 1))
        for _ in range(4)
    ]
    whole = PairedSample.merge(windows)
    assert forecast_difference(whole, windows=windows, inside=True, confidence_level=0.5).inside
    assert not forecast_difference(whole, windows=windows, inside=False, confidence_level=0.5).inside
    with pytest.raises(InputError, match="inside=True"):
        forecast_difference(PairedSample.merge(windows[1:]), windows=windows, inside=True)
