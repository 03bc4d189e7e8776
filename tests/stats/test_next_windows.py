"""What the next windows would show: against known processes, and against sequences that go on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rocmonitor.errors import InputError
from rocmonitor.stats import confidence_sequence
from rocmonitor.stats.coming import LEAST, LONGEST, SURE, next_windows

K = 120


def process(between, seed=1):
    """Independent windows that scatter by this about 0.01, and their errors."""
    s = np.full(K, 0.005)
    return np.random.default_rng(seed).normal(0.01, np.hypot(between, 0.005), K), s


@pytest.mark.parametrize("between", [0.0, 0.01])
@pytest.mark.parametrize("windows", [1, 4, 13])
def test_after_many_independent_windows_it_is_the_law_of_a_mean(between, windows):
    d, s = process(between)
    low, high = next_windows(d, s, tuple(range(K))).mean_of(windows, 0.95)
    spread = np.hypot(between, 0.005) * np.sqrt(1 / windows + 1 / K)
    assert (low + high) / 2 == pytest.approx(d.mean(), abs=0.4 * spread)
    assert high - low == pytest.approx(2 * 1.96 * spread, rel=0.35)


def test_windows_that_are_alike_go_on_where_they_are():
    x = np.sin(np.arange(40) / 6) * 0.02
    low, high = next_windows(x, np.full(40, 0.002), tuple(range(40))).mean_of(1, 0.9)
    assert low < x[-1] < high
    assert abs((low + high) / 2 - x[-1]) < abs(x.mean() - x[-1])


def test_a_higher_level_is_wider_and_the_ends_stay_possible():
    drawn = next_windows([0.9, -0.9, 0.9, -0.9], [0.01] * 4, (0, 1, 2, 3))
    (low, high), (lower, higher) = drawn.mean_of(4, 0.5), drawn.mean_of(4, 0.99)
    assert -1 <= lower < low < high < higher <= 1


def test_gaps_are_allowed_and_the_first_place_has_no_meaning():
    d, s = process(0.01)
    at = tuple(range(3, 3 + 2 * K, 2))
    ends = [next_windows(d, s, places).mean_of(4, 0.95) for places in (at, tuple(p - 3 for p in at))]
    assert ends[0] == ends[1]


def test_an_error_of_zero_is_pooled_and_too_little_gives_nothing():
    assert next_windows([0.1, 0.2, 0.1], [0.01, 0.0, 0.01], (0, 1, 2)) is not None
    assert next_windows([0.1, 0.2, 0.1], [0.0, 0.0, 0.0], (0, 1, 2)) is None
    few = LEAST - 1
    assert next_windows([0.1] * few, [0.01] * few, tuple(range(few))) is None


@pytest.mark.parametrize("margin", [0.0, 0.002])
def test_the_number_of_windows_is_that_by_which_sequences_that_go_on_decide(margin):
    d, s = np.array([0.006, -0.002, 0.007, 0.001, 0.003, 0.004]), np.full(6, 0.005)
    so_far = confidence_sequence(d, s, estimand="period")
    drawn = next_windows(d, s, tuple(range(6)))
    few = replace(drawn, seen=drawn.seen[:, :400:10])
    first = []
    for later in few.seen.T:
        whole = confidence_sequence(
            np.clip(np.concatenate([d, later]), -1, 1), np.full(6 + LONGEST, 0.005), estimand="period"
        )
        shown = (whole.low > margin) | (whole.high < -margin) | ((margin > 0) & (whole.low > -margin))
        at = np.flatnonzero(shown[6:])
        first.append(at[0] + 1 if len(at) else np.inf)
    expected = np.quantile(first, SURE, method="inverted_cdf")
    assert few.until_decided(so_far, margin) == (None if expected == np.inf else expected)


def test_models_that_hardly_differ_have_no_number():
    d, s = np.array([0.001, -0.001] * 10), np.full(20, 0.005)
    assert (
        next_windows(d, s, tuple(range(20))).until_decided(confidence_sequence(d, s, estimand="period"), 0.0)
        is None
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1, 0.2], [0.1], (0, 1)), "must have equal length: differences has 2, ses has 1, places has 2"),
        (([0.1, 0.2], [0.1, 0.1], (1, 1)), r"places must increase: .*\(1, 1\)"),
        (([0.1, np.nan], [0.1, 0.1], (0, 1)), "differences must be finite"),
    ],
)
def test_wrong_windows(arguments, message):
    with pytest.raises(InputError, match=message):
        next_windows(*arguments)


def test_wrong_questions():
    d, s = process(0.01)
    drawn = next_windows(d, s, tuple(range(K)))
    with pytest.raises(InputError, match=f"windows must be a whole number from 1 to {LONGEST}, not 60"):
        drawn.mean_of(60, 0.95)
    with pytest.raises(InputError, match="confidence_level"):
        drawn.mean_of(4, 1.0)
    with pytest.raises(InputError, match="sequence must have estimand 'period'"):
        drawn.until_decided(confidence_sequence(d, s), 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("serial", "between", "least"), [(0.0, 0.0, 0.93), (0.5, 1.0, 0.88), (0.9, 1.0, 0.75)]
)
def test_the_interval_holds_the_mean_of_the_next_windows(serial, between, least):
    rng, held, runs = np.random.default_rng(3), 0, 200
    for _ in range(runs):
        x = np.empty(30)
        x[0] = rng.standard_normal()
        for j in range(1, 30):
            x[j] = serial * x[j - 1] + np.sqrt(1 - serial**2) * rng.standard_normal()
        d = 0.005 * (1 + between * x + rng.standard_normal(30))
        low, high = next_windows(d[:17], np.full(17, 0.005), tuple(range(17))).mean_of(13, 0.95)
        held += low <= d[17:].mean() <= high
    assert held / runs >= least
