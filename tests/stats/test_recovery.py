"""The end of a drop: no drop that stays is said to be over, and one that ends is told soon."""

import numpy as np
import pytest

from rocmonitor.stats.recovery import Change, Recovery, recovery

WEEKS, DAYS = 52, 365
LASTING = {WEEKS: 1.68, DAYS: 0.64}  # 0.02 AUROC in standard deviations of a window, for 500 rows a day


def first_end(values: np.ndarray, reference_windows: int, per_year: int) -> int | None:
    """The window after which a drop that alarmed with the first clear window is said to be over."""
    error = 1 / np.sqrt(reference_windows)
    changes = [Change(value, 1.0, error) for value in values.tolist()]
    alarm = int(np.argmax(values < -1.96))
    for now in range(alarm + 1, len(changes)):
        if values[now] < -1.96:  # a rule alarms
            continue
        found = recovery(changes[: now + 1], alarm, per_year=per_year)
        if found is not None and found.shown:
            return now
    return None


def false_ends(seed: int, per_year: int, reference_windows: int) -> int:
    """How many of 100 drops that stay for a year are said to be over."""
    rng, found = np.random.default_rng(seed), 0
    for _ in range(100):
        shared = rng.normal() / np.sqrt(reference_windows)
        values = rng.standard_normal(per_year) - LASTING[per_year] - shared
        found += first_end(values, reference_windows, per_year) is not None
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("per_year", "reference_windows"), [(WEEKS, 20), (DAYS, 120)])
def test_a_drop_of_002_that_stays_is_seldom_said_to_be_over(per_year: int, reference_windows: int) -> None:
    # Measured: 4 of 1,000 streams of weeks; of 100 more than 3 have a chance below 0.001.
    assert false_ends(46, per_year, reference_windows) <= 3


@pytest.mark.parametrize("seed", range(5))
def test_few_reference_windows_make_false_ends_little_more_frequent(seed: int) -> None:
    # Measured: 12 of 1,100; more than 7 of 100 have a chance of 1 in 100,000.
    assert false_ends(seed, WEEKS, 8) <= 7


@pytest.mark.parametrize("seed", range(3))
def test_the_end_of_a_drop_of_4_sd_is_told_within_3_windows(seed: int) -> None:
    rng, told = np.random.default_rng(seed), []
    for _ in range(300):
        shared = rng.normal() / np.sqrt(20)
        values = rng.standard_normal(40) - shared
        values[:6] -= 4
        told.append(first_end(values, 20, WEEKS) or 99)
    assert min(told) >= 6
    assert np.mean(np.array(told) < 9) >= 0.9 - 2.6 * np.sqrt(0.9 * 0.1 / 300)
    assert np.mean(np.array(told) < 11) >= 0.95


def test_the_change_since_is_that_of_the_windows_after_the_drop() -> None:
    changes = [Change(value, 0.01, 0.002) for value in (-0.05, -0.06, -0.05, 0.004, -0.002)]
    found = recovery(changes, 0, per_year=WEEKS)
    half = 1.96 * np.sqrt(0.01**2 / 2 + 0.002**2)
    assert found == pytest.approx(Recovery(True, 3, 0.001, 0.001 - half, 0.001 + half))


def test_one_window_inside_its_range_is_no_end() -> None:
    changes = [Change(value, 0.01, 0.002) for value in (-0.025, -0.012)]
    found = recovery(changes, 0, per_year=WEEKS)
    assert found is not None
    assert not found.shown
    assert (found.since, found.change) == (1, -0.012)
    assert recovery(changes[:1], 0, per_year=WEEKS) is None


def test_a_reference_known_without_error_is_the_limit_of_one_known_well() -> None:
    values = (-0.05, -0.03, -0.01, 0.004, -0.002, 0.003)
    exact, nearly = (
        recovery([Change(value, 0.01, error) for value in values], 1, per_year=WEEKS) for error in (0.0, 1e-9)
    )
    assert exact == pytest.approx(nearly)


def test_a_wide_window_counts_less() -> None:
    sharp = [Change(-0.05, 0.01, 0.002)] * 3 + [Change(0.0, 0.01, 0.002)] * 2
    blurred = sharp[:3] + [Change(0.0, 0.1, 0.002)] * 2
    shown = [found.shown for each in (sharp, blurred) if (found := recovery(each, 0, per_year=WEEKS))]
    assert shown == [True, False]
