"""The distance by maximum likelihood is the mean log-likelihood ratio of a window's own rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from scipy import stats as laws
from scipy.integrate import quad
from strategies import samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import Sample, binned_distance, forecast_interval
from rocmonitor.stats.research import likelihood_distance


def rows(data, label):
    y, s = data
    return s[y == label]


def density(law, of):
    return laws.norm(of.mean(), of.std()) if law == "normal" else laws.expon(scale=of.mean())


def varies(data):
    return all(np.ptp(rows(data, label)) > 0 for label in (0, 1))


@pytest.mark.slow
@pytest.mark.parametrize("law", ["normal", "exponential"])
@settings(max_examples=40, deadline=None)
@given(data=samples(min_per_class=2), other=samples(min_per_class=2))
def test_it_is_the_mean_log_likelihood_ratio(law, data, other):
    assume(varies(data) and varies(other))
    data, other = ((y, s + 5) for y, s in (data, other))  # above 0
    expected = 0.0
    for label in (0, 1):
        own, new = rows(data, label), rows(other, label)
        expected += np.mean(density(law, new).logpdf(new) - density(law, own).logpdf(new))
    ours = likelihood_distance(*data, [Sample(*other)], law=law)
    assert ours.distance == pytest.approx(expected, rel=1e-9, abs=1e-12)
    back = likelihood_distance(*other, [Sample(*data)], law=law)
    both = likelihood_distance(*data, [Sample(*other)], law=law, symmetric=True)
    assert both.distance == pytest.approx(ours.distance + back.distance, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("law", ["normal", "exponential"])
def test_it_is_the_integral_of_eq_12(law):
    sample, window = Sample([0, 0, 1, 1], [1, 3, 2, 5]), Sample([0, 0, 1, 1], [2, 5, 3, 4])
    expected = 0.0
    for a, b in (((2, 5), (1, 3)), ((3, 4), (2, 5))):
        new, old = density(law, np.array(a, float)), density(law, np.array(b, float))
        start = -30 if law == "normal" else 0

        def term(x, new=new, old=old):
            return new.pdf(x) * (new.logpdf(x) - old.logpdf(x))

        expected += quad(term, start, 200, points=[*a, *b], limit=400)[0]
    assert likelihood_distance(sample, [window], law=law).distance == pytest.approx(expected, abs=1e-7)


def test_sampling_is_what_windows_of_the_same_law_have():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], [400, 100])

    def window(size):
        return Sample(np.tile(y, size), rng.normal(size=500 * size) + np.tile(y, size))

    ours = likelihood_distance(window(400), [window(1) for _ in range(400)])
    assert ours.sampling == pytest.approx(2 / 2 * (1 / 400 + 1 / 100))
    scatter = math.sqrt(1 / 400**2 + 1 / 100**2)  # of one window: half a chi-square of 2 over n
    assert ours.distance == pytest.approx(ours.sampling, abs=5 * scatter / math.sqrt(400))
    # Ten bins a class have nine parameters: the same windows seem 4.5 times as far away.
    rng = np.random.default_rng(1)
    binned = binned_distance(window(400), [window(1) for _ in range(400)])
    assert binned == pytest.approx(4.5 * ours.sampling, rel=0.1)


def test_it_feeds_the_forecast_interval():
    sample = Sample([0, 0, 0, 1, 0, 1, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8])
    ours = likelihood_distance(sample, [sample])
    assert ours.distance == 0
    interval = forecast_interval(sample, method="fixed", distance=ours.distance)
    assert interval.low == interval.high == 15 / 16
    assert str(ours) == "Distance 0 of 1 windows (normal laws; sampling alone 0.5)"


def test_what_has_no_law():
    good, flat = Sample([0, 0, 1, 1], [1, 2, 3, 4]), Sample([0, 0, 1, 1], [1, 1, 3, 4])
    with pytest.raises(DegenerateDataError, match="scores of the negatives of window 2 are all equal"):
        likelihood_distance(good, [good, flat])
    with pytest.raises(InputError, match="needs scores above 0: 1 of the negatives of the sample"):
        likelihood_distance([0, 0, 1, 1], [0, 2, 3, 4], [good], law="exponential")
    with pytest.raises(InputError, match="law must be one of normal, exponential"):
        likelihood_distance(good, [good], law="gamma")
    with pytest.raises(InputError, match="windows is empty"):
        likelihood_distance(good, [])
    with pytest.raises(DegenerateDataError, match="window 1 has one class only"):
        likelihood_distance(good, [Sample([1, 1], [1, 2])])
