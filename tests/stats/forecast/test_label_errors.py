from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import PartlyLabelledAuc, Sample, auc, partly_labelled_auc
from rocmonitor.stats.forecast.partial_labels import label_errors

LATE = Sample([0, 0, 0, 1, 0, 1, 1, 1], [1, 1, 2, 2, 3, 3, 4, 4])


def found(missing: int = 40) -> PartlyLabelledAuc:
    rng = np.random.default_rng(1)
    y = rng.random(200) < 0.4
    return partly_labelled_auc(Sample(y, rng.normal(2 + y, 1)), ([2, 3], [missing, missing]), LATE)


def test_the_final_auc_lies_within_the_conformal_quantile_of_past_errors() -> None:
    one = found()
    finals = [one.auc + (-1) ** k * k * 0.001 for k in range(1, 20)]
    errors = label_errors([one] * 19, finals)
    low, high, level = errors.final_interval(one, 0.9)
    assert (one.auc - low, high - one.auc) == pytest.approx((0.018, 0.018))  # the 18th of 19: 0.9 x 20
    assert level == pytest.approx(0.9)
    _, widest, most = errors.final_interval(one, 0.99)
    assert (widest - one.auc, most) == pytest.approx((0.019, 0.95))


def test_errors_scale_with_what_the_labels_leave_open() -> None:
    few, many = found(5), found(400)
    errors = label_errors([few] * 19, [few.auc + few.label_se] * 19)
    low, high, _ = errors.final_interval(many)
    assert (high - low) / 2 == pytest.approx(many.label_se)
    assert errors.ratios == pytest.approx([1.0] * 19)


def test_the_interval_of_the_population_has_the_noise_of_missing_labels_once() -> None:
    one = found()
    errors = label_errors([one] * 10, [one.auc - 2 * one.label_se] * 10)
    # Sampling without the missing labels, and past errors (4 label_se²) without the noise of theirs.
    se = math.sqrt(one.sampling_se**2 - one.label_se**2 + 3 * one.label_se**2)
    assert errors.se(one) == pytest.approx(se)
    freedom = se**4 / ((2 * one.label_se) ** 4 / 10)
    quantile = stats.t.ppf(0.975, freedom)
    low, high = errors.ci(one, minus=0.7, minus_se=0.0)
    assert (low, high) == pytest.approx((one.auc - 0.7 - quantile * se, one.auc - 0.7 + quantile * se))
    low, high = errors.ci(one)
    slope = quantile * se / (one.auc * (1 - one.auc))
    odds = math.log(one.auc / (1 - one.auc))
    assert (math.log(low / (1 - low)), math.log(high / (1 - high))) == pytest.approx(
        (odds - slope, odds + slope)
    )


@pytest.mark.parametrize(
    "share", [0.6, *(pytest.param(share, marks=pytest.mark.slow) for share in (0.2, 0.9))]
)
def test_the_standard_error_is_that_of_estimates_with_the_right_probabilities(share: float) -> None:
    rng = np.random.default_rng(8)
    levels, chance = np.arange(5.0), np.array([0.1, 0.2, 0.35, 0.6, 0.8])
    late = Sample.from_counts(
        levels, np.rint(chance * 10**6).astype(int), np.rint((1 - chance) * 10**6).astype(int)
    )
    estimates, finals = [], []
    for _ in range(1500):
        s = rng.integers(0, 5, 300)
        y, missing = rng.random(300) < chance[s], rng.random(300) < share
        waiting = np.bincount(s[missing], minlength=5)
        estimates.append(partly_labelled_auc(Sample(y[~missing], s[~missing]), (levels, waiting), late))
        finals.append(auc(y, s).auc)
    errors = label_errors(estimates, finals)
    assert np.mean(np.square(errors.ratios)) == pytest.approx(1, abs=0.12)  # the noise of labels, no more
    spread = np.std([each.auc for each in estimates])
    assert np.mean([errors.se(each) for each in estimates]) == pytest.approx(spread, rel=0.08)
    assert spread < 0.95 * np.std(finals)


def test_another_pace_of_labels_widens_both_intervals() -> None:
    one = found()
    errors = label_errors([one] * 19, [one.auc - 0.01] * 19)
    moved = replace(errors, arrival=0.02)
    low, high, _ = moved.final_interval(one)
    assert (one.auc - low, high - one.auc) == pytest.approx((math.hypot(0.01, 0.02),) * 2)
    assert moved.se(one) == pytest.approx(math.hypot(errors.se(one), 0.02))
    assert moved.label_error(one) == pytest.approx(math.hypot(0.01, 0.02))


def test_with_all_labels_it_is_delong() -> None:
    rng = np.random.default_rng(3)
    y = rng.random(300) < 0.4
    sample = Sample(y, rng.normal(y, 1))
    whole = partly_labelled_auc(sample, ([], []), LATE)
    errors = label_errors([found()] * 8, [0.9] * 8)
    assert errors.ci(whole) == pytest.approx(tuple(auc(sample).ci(0.95, transform="logit")), abs=1e-9)
    assert errors.final_interval(whole)[:2] == (whole.auc, whole.auc)


def test_a_separated_window() -> None:
    whole = partly_labelled_auc(Sample([0, 0, 1, 1], [1, 2, 3, 4]), ([], []), LATE)
    errors = label_errors([found()] * 8, [0.9] * 8)
    with pytest.raises(DegenerateDataError, match="any scatter"):
        errors.ci(whole)
    low, high = errors.ci(whole, minus=0.5, minus_se=0.1)
    assert low < 0.5 < high
    part = partly_labelled_auc(Sample([0, 0, 1, 1], [1, 2, 3, 4]), ([1.5, 3.5], [50, 50]), LATE)
    assert 0 <= errors.ci(part)[0] < errors.ci(part)[1] <= 1


def test_too_few_windows_and_unequal_lengths() -> None:
    with pytest.raises(DegenerateDataError, match="7 past windows can be used, and at least 8"):
        label_errors([found()] * 7, [0.8] * 7)
    with pytest.raises(InputError, match="8 windows and finals has 7"):
        label_errors([found()] * 8, [0.8] * 7)
