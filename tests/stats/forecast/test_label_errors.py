from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import PartlyLabelledAuc, Sample, auc, partly_labelled_auc
from rocmonitor.stats.forecast.label_errors import label_errors

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


def test_the_interval_of_the_population_adds_the_errors_of_past_windows() -> None:
    one = found()
    errors = label_errors([one] * 10, [one.auc - 2 * one.label_se] * 10)
    se = math.hypot(one.sampling_se, 2 * one.label_se)
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
