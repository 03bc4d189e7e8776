"""The equal error rate and the minimum detection cost equal their definitions, over all resamples too."""

from __future__ import annotations

import json
from itertools import pairwise, product

import numpy as np
import pytest
from caveats import codes
from hypothesis import given, settings
from strategies import increasing_maps, samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import (
    OperatingCondition,
    Sample,
    cost_thresholds,
    equal_error_rate,
    minimum_detection_cost,
)

TIED = np.array([1, 1, 1, 0, 0, 0]), np.array([2.0, 3.0, 5.0, 1.0, 2.0, 4.0])
SPEAKER = OperatingCondition(false_negative=10, false_positive=1, prevalence=0.1)


def points(y, s):
    """FPR and FNR at every threshold, from none flagged to all."""
    at = [np.inf, *sorted(set(s.tolist()), reverse=True)]
    return [(np.mean(s[y == 0] >= t), np.mean(s[y == 1] < t)) for t in at]


def rate(y, s):
    """Where the lines between the points cross FPR = FNR, by halving each of them."""
    for (fpr_1, fnr_1), (fpr_2, fnr_2) in pairwise(points(y, s)):
        low, high = 0.0, 1.0
        if fnr_2 > fpr_2:
            continue
        for _ in range(60):
            middle = (low + high) / 2
            apart = (1 - middle) * (fnr_1 - fpr_1) + middle * (fnr_2 - fpr_2)
            low, high = (middle, high) if apart > 0 else (low, middle)
        return (1 - high) * fpr_1 + high * fpr_2
    raise AssertionError


def cost(y, s):
    return min(0.1 * 10 * fnr + 0.9 * fpr for fpr, fnr in points(y, s))


def all_resamples(of, y, s):
    """A measure in every stratified resample."""
    pos, neg = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    return np.array(
        [
            of(y[rows], s[rows])
            for chosen in product(product(pos, repeat=len(pos)), product(neg, repeat=len(neg)))
            for rows in [np.array([*chosen[0], *chosen[1]])]
        ]
    )


@settings(deadline=None)
@given(samples(), increasing_maps)
def test_values_are_those_of_the_definitions(data, increasing):
    y, s = data
    ours, least = (
        equal_error_rate(y, s, n_resamples=2, rng=1),
        minimum_detection_cost(y, s, SPEAKER, n_resamples=2, rng=1),
    )
    assert ours.rate == pytest.approx(rate(y, s), abs=1e-12)
    assert least.cost == pytest.approx(cost(y, s), abs=1e-12)
    fpr, fnr = np.mean(s[y == 0] >= least.threshold), np.mean(s[y == 1] < least.threshold)
    assert fnr + 0.9 * fpr == pytest.approx(least.cost, abs=1e-12)
    mapped = equal_error_rate(y, increasing(s), n_resamples=2, rng=1)
    assert (mapped.rate, mapped.se) == (ours.rate, ours.se)
    swapped = equal_error_rate(1 - y, -s, n_resamples=2, rng=1)
    assert swapped.rate == pytest.approx(ours.rate, abs=1e-12)


@pytest.mark.parametrize("of", [rate, cost])
def test_errors_are_those_of_all_resamples(of):
    y, s = TIED
    law = np.sort(all_resamples(of, y, s))
    assert len(law) == 27**2
    options = {"n_resamples": 20_000, "confidence_level": 0.8, "rng": 3}
    ours = (
        equal_error_rate(y, s, **options) if of is rate else minimum_detection_cost(y, s, SPEAKER, **options)
    )
    kurtosis = np.mean((law - law.mean()) ** 4) / law.var() ** 2
    assert ours.se == pytest.approx(law.std(), rel=5 * np.sqrt((kurtosis - 1) / (4 * 20_000)))
    for end, level in ((ours.low, 0.1), (ours.high, 0.9)):
        before, until = np.mean(law < end - 1e-9), np.mean(law <= end + 1e-9)
        assert before - 0.02 <= level <= until + 0.02  # Dvoretzky, Kiefer and Wolfowitz at 1e-6


def test_the_cost_is_the_lower_envelope_and_falls_with_its_unit():
    y, s = np.repeat([0, 1], 50), np.random.default_rng(1).normal(size=100) + np.repeat([0, 1], 50)
    ours = minimum_detection_cost(y, s, SPEAKER, rng=1)
    envelope = cost_thresholds(y, s, SPEAKER.w).cost[0]
    assert ours.cost == pytest.approx(SPEAKER.largest * envelope)
    tenfold = OperatingCondition(false_negative=100, false_positive=10, prevalence=0.1)
    other = minimum_detection_cost(y, s, tenfold, rng=1)
    assert (other.cost, other.se) == pytest.approx((10 * ours.cost, 10 * ours.se))
    assert other.threshold == ours.threshold


def test_the_second_definition_of_percentiles_averages():
    y, s = TIED
    first, second = (
        equal_error_rate(y, s, n_resamples=40, rng=1, percentiles=of)
        for of in ("inverted_cdf", "averaged_inverted_cdf")
    )
    assert first.low <= second.low
    assert first.high <= second.high
    assert first.percentiles == "inverted_cdf"
    with pytest.raises(InputError, match="percentiles must be one of inverted_cdf, averaged_inverted_cdf"):
        equal_error_rate(y, s, rng=1, percentiles="linear")


def test_separated_classes_have_no_scatter_and_say_so():
    ours = equal_error_rate([0, 0, 1, 1], [1, 2, 3, 4], rng=1)
    assert (ours.rate, ours.se, ours.low, ours.high) == (0, 0, 0, 0)
    assert codes(ours) == ["zero-length"]
    assert equal_error_rate([0, 0, 1, 1], [3, 4, 1, 2], rng=1).rate == 1
    assert equal_error_rate([0, 0, 1, 1], [1, 1, 1, 1], rng=1).rate == 0.5


def test_results_are_plain_data_and_words():
    y, s = TIED
    for ours in (equal_error_rate(y, s, rng=1), minimum_detection_cost(y, s, SPEAKER, rng=1)):
        assert json.loads(json.dumps(ours.to_dict(), allow_nan=False))["n_resamples"] == 2000
        assert "2000 resamples; 3 positives, 3 negatives" in str(ours)
    assert f"{equal_error_rate(y, s, rng=1):.4f}" == "0.3333"


def test_bad_arguments():
    y, s = TIED
    with pytest.raises(InputError, match="needs rng"):
        equal_error_rate(y, s)
    with pytest.raises(DegenerateDataError, match="at least 1 of each class"):
        equal_error_rate([1, 1], [1, 2], rng=1)
    with pytest.raises(InputError, match="n_resamples must be a whole number of at least 2"):
        minimum_detection_cost(y, s, SPEAKER, n_resamples=1, rng=1)
    clustered = Sample(y, s, cluster=[1, 1, 2, 2, 3, 3])
    with pytest.raises(InputError, match="bootstrap"):
        equal_error_rate(clustered, rng=1)
