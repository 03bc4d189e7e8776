"""Forecast intervals of windows whose neighbours are alike: how many later windows leave them, and the price.

Windows are drawn without rows: true values that follow a stationary AR(1) process, and sampling noise of one
standard error. The interval is learned from the first 19, 39 or 100 windows and judges the 52 after them, at
a nominal 5 % outside: with the windows taken as independent, and with their likeness estimated. Twenty
minutes of two processors with 400 references a line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from studies.running import options, replicate, say, table

from rocmonitor.stats import ForecastFit, Sample, forecast_fit
from rocmonitor.stats.forecast.serial import serial_correlation

COMING, LEVEL = 52, 0.95
SIZES = (300, 2700)
COUNTS = (19, 39, 100)
PROCESSES = [(0.0, 0.0), (0.0, 1.5), (0.3, 1.5), (0.5, 1.5), (0.7, 1.5), (0.9, 1.5), (0.9, 3.0)]
"""Serial correlation of the true values, and their standard deviation in standard errors of a window."""


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=400)
    say(f"{chosen.replications:,} references a line; per cent of the next {COMING} windows; ± one error\n")
    rows = []
    for number, (windows, process) in enumerate((n, each) for n in COUNTS for each in PROCESSES):
        runs = {"replications": chosen.replications, "processes": chosen.processes}
        found = replicate(
            reference, windows, *process, seed=(chosen.seed, number), what=f"{windows} {process}", **runs
        )
        rows.append([str(windows), *(f"{value:g}" for value in process), *cells(np.array(found))])
    names = ["independent", "±", "estimated", "±", "wider by", "caveat"]
    table(["windows", "correlation", "between", *names], rows)


def reference(
    windows: int, phi: float, between: float, rng: np.random.Generator
) -> tuple[float, float, float, bool]:
    """Shares outside without and with the widening, the widening, and whether a caveat is raised."""
    x = series(phi, between, windows + COMING, rng)
    seen = x - x[:windows].mean()
    apart = np.abs(seen)
    limit = np.sort(apart[:windows])[min(math.ceil(round((windows + 1) * LEVEL, 9)), windows) - 1]
    found = serial_correlation(fit_of(seen[:windows]))
    plain, wide = (float(np.mean(apart[windows:] > c * limit)) for c in (1.0, found.widening))
    return plain, wide, found.widening, bool(found.caveats)


def series(phi: float, between: float, windows: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """What windows show, in standard errors."""
    shocks = rng.standard_normal(windows)
    x = shocks.copy()
    for at in range(1, windows):
        x[at] = phi * x[at - 1] + math.sqrt(1 - phi * phi) * shocks[at]
    return np.asarray(between * x + rng.standard_normal(windows))


def fit_of(shifts: NDArray[np.float64]) -> ForecastFit:
    """Return a calibrated fit whose windows lie so many standard errors from the reference."""
    drawn = _any_fit()
    error = math.sqrt(drawn.noise.variance(*SIZES))
    return replace(
        drawn,
        window_shifts=tuple((error * shifts).tolist()),
        window_n_pos=(SIZES[0],) * len(shifts),
        window_n_neg=(SIZES[1],) * len(shifts),
    )


def _any_fit() -> ForecastFit:
    past = [Sample([0, 0, 1, 0, 1, 1], [k, 2, 3, 4, 5, 7 - k]) for k in (1, 2, 3, 4)]
    return forecast_fit(Sample.merge(past), windows=past, confidence_level=LEVEL)


def cells(found: NDArray[np.float64]) -> list[str]:
    """Means, and errors of the first two."""
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / math.sqrt(len(found))
    shares = [f"{100 * value:.1f}" for pair in zip(mean[:2], error[:2], strict=True) for value in pair]
    return [*shares, f"{mean[2]:.2f}", f"{100 * mean[3]:.0f}"]
