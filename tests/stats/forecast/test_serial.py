"""The serial correlation of reference windows, and the level that a forecast has in spite of it."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import ForecastFit, ForecastInterval, Sample, forecast_fit, forecast_interval
from rocmonitor.stats.forecast.serial import SerialCorrelation, serial_correlation
from rocmonitor.wording.caveats import words_of

SIZES = (30, 70)


@pytest.fixture(scope="module")
def fit() -> ForecastFit:
    rng = np.random.default_rng(3)
    y = np.repeat([1, 0], SIZES)
    past = [Sample(y, y + rng.normal(size=100)) for _ in range(19)]
    return forecast_fit(Sample.merge(past), windows=past)


def series(phi: float, ratio: float, windows: int, rng: np.random.Generator) -> np.ndarray:
    """Windows whose true values vary by so many standard errors, in standard errors."""
    x = [rng.normal()]
    for _ in range(windows - 1):
        x.append(phi * x[-1] + math.sqrt(1 - phi * phi) * rng.normal())
    return ratio * np.array(x) + rng.normal(size=windows)


def with_shifts(fit: ForecastFit, shifts: np.ndarray) -> ForecastFit:
    noise, n = math.sqrt(fit.noise.variance(*SIZES)), len(shifts)
    return replace(
        fit,
        window_shifts=tuple((noise * shifts).tolist()),
        window_n_pos=SIZES[:1] * n,
        window_n_neg=SIZES[1:] * n,
    )


def test_a_strong_correlation_is_found_with_its_price(fit: ForecastFit) -> None:
    found = serial_correlation(with_shifts(fit, series(0.9, 3.0, 80, np.random.default_rng(1))))
    assert found.low < 0.9 < found.high
    assert found.low > 0.6
    assert found.outside > 0.06
    [caveat] = found.caveats
    assert caveat.code == "serial-correlation"
    assert caveat.values["outside"] == found.outside


@pytest.mark.parametrize(("phi", "ratio"), [(0.0, 0.0), (0.9, 2.0)])
def test_share_outside_is_that_of_simulated_forecasts(fit: ForecastFit, phi: float, ratio: float) -> None:
    """Reference windows and the 52 after them, drawn anew; the estimate averages over what is not known."""
    rng = np.random.default_rng(5)
    outside, estimated = [], []
    for number in range(120):
        x = series(phi, ratio, 39 + 52, rng)
        apart = np.abs(x - x[:39].mean())
        outside.append(np.mean(apart[39:] > np.sort(apart[:39])[37]))  # ceil(40 * 0.95) = 38
        if number < 12:
            estimated.append(serial_correlation(with_shifts(fit, x[:39])).outside)
    assert np.mean(estimated) == pytest.approx(np.mean(outside), rel=0.45)
    assert (np.mean(estimated) > 0.085) == (phi > 0)


@pytest.mark.slow
def test_independent_windows_seldom_raise_the_caveat(fit: ForecastFit) -> None:
    rng = np.random.default_rng(7)
    raised = sum(
        bool(serial_correlation(with_shifts(fit, series(0.0, 1.0, 39, rng))).caveats) for _ in range(30)
    )
    assert raised <= 6  # 5 % of them on average: more than 6 has a chance below 1 in 1,000


def test_windows_that_were_set_aside_are_gaps() -> None:
    rng = np.random.default_rng(8)
    y = np.repeat([1, 0], SIZES)
    past = [Sample(y, y + 0.4 * math.sin(k / 4) * y + rng.normal(size=100)) for k in range(20)]
    lost = [*past[:7], Sample([1], [0.5]), *past[7:]]
    reference = Sample.merge(past)
    whole, gap = (serial_correlation(forecast_fit(reference, windows=w)) for w in (past, lost))
    assert whole.n_windows == gap.n_windows == 20
    assert whole.correlation != gap.correlation
    assert whole.correlation == pytest.approx(gap.correlation, abs=0.1)


def test_it_is_plain_data_and_back(fit: ForecastFit) -> None:
    found = serial_correlation(fit)
    again = SerialCorrelation.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.to_dict() == found.to_dict()


def test_what_cannot_be_known_is_said(fit: ForecastFit) -> None:
    with pytest.raises(DegenerateDataError, match="7 windows that differ are known, and 8 are needed"):
        serial_correlation(with_shifts(fit, np.arange(7.0)))
    with pytest.raises(DegenerateDataError):
        serial_correlation(with_shifts(fit, np.ones(19)))
    with pytest.raises(DegenerateDataError):
        serial_correlation(replace(fit, method="dual"))


def simulated(phi: float, n: int, runs: int, fit: ForecastFit) -> tuple[float, float, float]:
    """Share of 52 later windows outside, without and with the widening, and its mean."""
    rng = np.random.default_rng([n, round(100 * phi)])
    plain, wide, widenings = [], [], []
    for _ in range(runs):
        x = series(phi, 1.5, n + 52, rng)
        apart = np.abs(x - x[:n].mean())
        limit = np.sort(apart[:n])[math.ceil(round((n + 1) * 0.95, 9)) - 1]
        widenings.append(serial_correlation(with_shifts(fit, x[:n] - x[:n].mean())).widening)
        plain.append(np.mean(apart[n:] > limit))
        wide.append(np.mean(apart[n:] > widenings[-1] * limit))
    return float(np.mean(plain)), float(np.mean(wide)), float(np.mean(widenings))


def test_the_widening_takes_back_what_correlation_costs(fit: ForecastFit) -> None:
    """A part of it only: with 39 windows a strong correlation is not always seen."""
    plain, wide, _ = simulated(0.9, 39, 25, fit)
    assert plain > 0.09
    assert wide < 0.75 * plain


def test_independent_windows_pay_little(fit: ForecastFit) -> None:
    _, wide, widening = simulated(0.0, 39, 25, fit)
    assert widening < 1.06
    assert wide == pytest.approx(0.05, abs=0.025)


def test_the_forecast_is_wider_by_it_also_for_another_batch() -> None:
    rng = np.random.default_rng(11)
    y = np.repeat([1, 0], (60, 140))
    drift = np.cumsum(rng.normal(size=24)) / 3
    past = [Sample(y, y * (1.2 + each) + rng.normal(size=200)) for each in drift]
    reference = Sample.merge(past)
    plain = forecast_interval(reference, windows=past)
    wide = forecast_interval(reference, windows=past, correlation="estimated")
    assert wide.fit.widening == serial_correlation(plain.fit).widening > 1
    assert math.sqrt(wide.distance / plain.distance) == pytest.approx(wide.fit.widening)
    assert wide.low < plain.low < plain.high < wide.high
    assert wide.achieved_level == plain.achieved_level
    whole = forecast_interval(reference, windows=past, correlation="estimated", batch=(30, 70))
    assert wide.for_batch(reference, (30, 70)).to_dict() | {"fit": None} == whole.to_dict() | {"fit": None}
    again = ForecastInterval.from_dict(json.loads(json.dumps(wide.to_dict())))
    assert again.fit.to_dict() == wide.fit.to_dict()


def test_the_caveat_says_how_much_wider(fit: ForecastFit) -> None:
    alike = with_shifts(fit, series(0.9, 3.0, 80, np.random.default_rng(1)))
    found = serial_correlation(replace(alike, widening=serial_correlation(alike).widening))
    [caveat] = found.caveats
    assert caveat.code == "serial-correlation-allowed"
    assert caveat.values["outside"] == found.outside_widened < found.outside
    assert f"{found.widening:.2f} times as wide" in words_of(caveat)


def test_few_windows_are_not_widened() -> None:
    past = [Sample([0, 0, 1, 0, 1, 1], [k, 2, 3, 4, 5, 7 - k]) for k in (1, 2, 3, 4)]
    reference = Sample.merge(past)
    found = forecast_interval(reference, windows=past, correlation="estimated")
    assert found.to_dict() == forecast_interval(reference, windows=past).to_dict()


@pytest.mark.parametrize(
    "wrong", [{"correlation": "some"}, {"method": "fixed", "distance": 0.1, "correlation": "estimated"}]
)
def test_correlation_belongs_to_calibrated_forecasts(wrong: dict[str, object]) -> None:
    past = [Sample([0, 1, 0, 1], [1, 2, 3, 4])]
    windows = None if "method" in wrong else past
    with pytest.raises(InputError, match="correlation"):
        forecast_interval(past[0], windows=windows, **wrong)  # type: ignore[call-overload]
