"""Limits that learn from what came of earlier windows: the bound holds for every sequence."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmonitor.stats.forecast.learning import tracked_margin


def beyond(shortfalls: list[float], tail: float, step: float) -> int:
    """Windows beyond the limit with the margin that was known before each."""
    return sum(each > tracked_margin(shortfalls[:place], tail, step) for place, each in enumerate(shortfalls))


def test_without_windows_beyond_there_is_no_margin() -> None:
    assert tracked_margin([], 0.05, 0.01) == 0
    assert tracked_margin([-0.1, 0.0, -0.2], 0.05, 0.01) == 0


def test_a_window_beyond_moves_the_limit_to_it_and_one_step_further() -> None:
    assert tracked_margin([0.001], 0.05, 0.01) == pytest.approx(0.011)
    assert tracked_margin([0.2, 0.205], 0.05, 0.01) == pytest.approx(0.21 - 0.0005)
    assert tracked_margin([0.2, -1.0], 0.05, 0.01) == pytest.approx(0.21 - 0.0005)


def test_a_worse_window_that_the_margin_hid_takes_off_a_step() -> None:
    assert tracked_margin([0.2, 0.1], 0.05, 0.01, [True, False]) == pytest.approx(0.2)
    assert tracked_margin([0.2, -0.1], 0.05, 0.01, [True, False]) == pytest.approx(0.21)  # not beyond
    assert tracked_margin([0.2, 0.3], 0.05, 0.01, [True, False]) == pytest.approx(0.21)  # not hidden
    assert tracked_margin([0.3], 0.05, 0.01, [False]) == 0


@given(st.lists(st.tuples(st.floats(-0.5, 0.5), st.booleans()), max_size=40))
def test_with_worse_windows_the_hidden_ones_are_added_to_the_bound(windows: list[tuple[float, bool]]) -> None:
    tail, step = 0.1, 0.02
    margins = [tracked_margin(*_apart(windows[:place], tail, step)) for place in range(len(windows) + 1)]
    wrong = sum(good and short > margins[at] for at, (short, good) in enumerate(windows))
    hidden = sum(not good and 0 < short <= margins[at] for at, (short, good) in enumerate(windows))
    count = sum(good for _, good in windows)
    assert wrong <= tail * count + margins[-1] / step + hidden + 1e-6


def _apart(
    windows: list[tuple[float, bool]], tail: float, step: float
) -> tuple[list[float], float, float, list[bool]]:
    return [short for short, _ in windows], tail, step, [good for _, good in windows]


def test_the_share_beyond_is_bounded_for_every_sequence() -> None:
    """All sequences of 5 windows with 5 shortfalls."""
    tail, step = 0.2, 0.02
    for sequence in product([-0.05, 0.0, 0.01, 0.03, 0.2], repeat=5):
        shortfalls, margin = list(sequence), tracked_margin(sequence, tail, step)
        assert beyond(shortfalls, tail, step) <= tail * len(shortfalls) + margin / step + 1e-9
        assert margin <= max(max(sequence), 0.0) + step + 1e-12


@given(st.lists(st.floats(-0.5, 0.5), max_size=60), st.floats(0.01, 0.4), st.floats(1e-3, 0.1))
def test_the_bound_holds_for_any_numbers(shortfalls: list[float], tail: float, step: float) -> None:
    margin = tracked_margin(shortfalls, tail, step)
    assert beyond(shortfalls, tail, step) <= tail * len(shortfalls) + margin / step + 1e-6
    assert 0 <= margin <= max([0.0, *shortfalls]) + step + 1e-9


def test_a_limit_that_is_wrong_by_a_constant_is_wrong_a_few_times_only() -> None:
    rng = np.random.default_rng(1)
    shortfalls = (0.05 + 0.01 * rng.normal(size=300)).tolist()
    assert beyond(shortfalls, 0.05, 0.01) / 300 < 0.05 + 0.07 / 0.01 / 300
    assert beyond(shortfalls, 1e-9, 0.01) < 10
