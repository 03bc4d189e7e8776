"""Windows to come: where a series goes on, by the normal law of all values; what is drawn, by its moments."""

from __future__ import annotations

import numpy as np
import pytest
from studies.check_alarms import known

from rocmonitor.stats.coming import draw, learned, sampling_alone

VALUES = np.array([0.3, -0.1, 0.4, 0.9, 0.2])
NOISE = np.array([0.01, 0.02, 0.5, 0.01, 0.03])


@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize(("serial", "between"), [(0.0, 0.2), (0.5, 0.2), (0.9, 1.0)])
def test_a_series_goes_on_as_the_normal_law_of_all_values_says(serial, between, gap):
    noise, mean = NOISE.copy(), 0.25
    if gap:
        noise[2] = np.inf
    used = np.isfinite(noise)
    places = tuple(np.flatnonzero(used).tolist())
    ahead = known(VALUES[used], noise[used], places, serial=serial, between=between).ahead
    apart = abs(np.subtract.outer(np.arange(6), np.arange(6)))
    covariance = between**2 * serial**apart
    seen = np.flatnonzero(used)
    inverse = np.linalg.inv(covariance[np.ix_(seen, seen)] + np.diag(noise[used]))
    to = covariance[5, seen] @ inverse
    assert ahead.value[0] - mean * ahead.share[0] == pytest.approx(to @ (VALUES[used] - mean))
    assert ahead.variance[0] == pytest.approx(between**2 - to @ covariance[seen, 5])


def test_what_is_drawn_has_the_moments_of_its_process():
    process = known(VALUES, NOISE, (0, 1, 3, 4, 6), serial=0.6, between=0.3)
    coming = draw(process, 0.04, 60)
    assert coming.mean.mean() == pytest.approx(process.mean[0], abs=0.01)
    assert coming.mean.std() == pytest.approx(process.mean_variance[0] ** 0.5, rel=0.05)
    assert coming.deviation == pytest.approx(np.full(len(coming.mean), (0.09 + 0.04) ** 0.5))
    late = coming.seen[40:] - coming.of_series(coming.mean)
    assert late.std() == pytest.approx((0.09 + 0.04) ** 0.5, rel=0.03)
    assert np.mean(late[1:] * late[:-1]) == pytest.approx(0.6 * 0.09, rel=0.1)
    first = coming.seen[0] - coming.of_series(coming.mean)
    variance = process.ahead.variance[0] + process.ahead.share[0] ** 2 * process.mean_variance[0] + 0.04
    assert first.var() == pytest.approx(variance, rel=0.1)
    assert coming.by_process(np.arange(coming.seen.shape[1])).shape == coming.mean.shape


def test_processes_are_weighed_by_what_the_windows_show():
    rng = np.random.default_rng(1)
    states = rng.standard_normal(60)
    for at in range(1, 60):
        states[at] = 0.9 * states[at - 1] + 0.19**0.5 * states[at]
    noise, places = np.full(60, 0.01), tuple(range(60))
    alike, apart = (learned(x, noise, places) for x in (states, rng.permutation(states)))
    assert [each.weight.sum() for each in (alike, apart)] == pytest.approx([1, 1])
    assert alike.weight @ alike.serial > 0.5 > 0.2 > apart.weight @ apart.serial
    assert apart.weight @ apart.between == pytest.approx(states.std(), rel=0.1)


def test_without_windows_sampling_alone_is_drawn():
    coming = draw(sampling_alone(2.0, 0.5), 0.01, 52)
    assert coming.mean.mean() == pytest.approx(2, abs=0.01)
    assert (coming.seen - coming.of_series(coming.mean)).std() == pytest.approx(0.1, rel=0.02)
