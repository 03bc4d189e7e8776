"""Seasons: the forecast and rule `lasting` after references of one to four years, simulated and real.

Weeks of 300 + 2,700 rows, AUC 0.8, true values that scatter by 0.02 around a yearly wave. Judged is every
week of the year after the reference, by a one-sided interval for the AUC at 95 %, conformal on the scale
2 arcsin sqrt(AUC) (as wide and as sharp as the calibrated forecast, docs/decisions.md):

- "all alike": every reference week counts the same;
- "weighed": weeks of the same season count most, by a normal law of the days between the times of year
  (widths of 45 and 90 days);
- "term": the wave that the reference shows is taken off, where that makes weeks more alike, as in `lasting`
  and in `forecast_interval(days=…)`, which rule `forecast` uses; on the weather this is judged by rows, too.

False alarms are a share of all weeks, and of the quarter of the year that has most; then drops by 0.05 that
are seen. Real weather is weather_noaa, rain or not, 30-day windows over 46 years: a logistic model learns
from the first four, and each later year follows a reference of its own. It is read from the folder
``shared/data`` beside the checkout (or ROCMONITOR_STUDY_DATA), and left out when it is not there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from studies.running import options, replicate, say, table
from studies.weekly import Floats, Weeks, charted

from rocmonitor.stats import (
    Sample,
    WindowAuc,
    auc,
    forecast_interval,
    lasting_chart,
)
from rocmonitor.stats.area.delong import moments
from rocmonitor.stats.forecast.calibration import conformal_root
from rocmonitor.stats.lasting.windows import adjusted, scaled, seasonal
from rocmonitor.stats.series import YEAR_DAYS

DATA = Path(os.environ.get("ROCMONITOR_STUDY_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
WEATHER = DATA / "weather_noaa" / "weather.csv.gz"
LEVEL, DROP = 0.95, 0.05
METHODS = ("all alike", "weighed, 45 days", "weighed, 90 days", "term")
YEARS = (1, 2, 4)
WAVES = (0.0, 0.02, 0.04)
FEATURES = ["temperature", "dew_point", "visibility", "avg_wind_speed", "max_sustained_wind"]
BY_ROWS = 4
"""Years from one reference to the next where intervals are computed from rows, which takes longer."""

LEARNED = 4
"""Years that the model of the weather learns from."""


class Year(NamedTuple):
    """Of the windows after a reference: shape (methods, windows) each."""

    below: Floats  # outside of the interval, on the lower side
    seen: Floats  # likewise when each is `DROP` lower
    wide: Floats  # how far the interval reaches below the reference's mean
    quarter: Floats  # shape (windows,): of the year


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=300)
    run = {"replications": chosen.replications, "processes": chosen.processes}
    say(f"{chosen.replications:,} references; one-sided interval at {LEVEL:.0%}; drops of {DROP}\n")
    rows = []
    for wave in WAVES:
        for years in YEARS:
            weeks = Weeks(reference=52 * years + 1, dated=True, wave=wave)
            found = replicate(simulated, weeks, seed=(chosen.seed, years, round(1000 * wave)), **run)
            rows += _lines(f"wave {wave:g}, {years} y", found)
    table(["", "interval", "false", "worst quarter", "± worst", "seen", "width"], rows)
    say("\nRule lasting: share of quiet years with an alarm, nominal 0.05\n")
    rows = []
    for wave in WAVES:
        for years in YEARS:
            weeks = Weeks(reference=52 * years + 1, wave=wave)
            pairs = replicate(charts, weeks, seed=(chosen.seed, 7, years, round(1000 * wave)), **run)
            shares = np.mean(pairs, axis=0)
            rows.append([f"wave {wave:g}, {years} y", *(f"{share:.3f}" for share in shares)])
    table(["", "with the season", "without", "a wave"], rows)
    if WEATHER.exists():
        say(f"\nReal weather: each year after a reference of so many, from year {LEARNED} on\n")
        rows = []
        for years in YEARS:
            found, alarmed, waves = weather(years)
            rows += _lines(f"weather, {years} y", found)
            rows += _lines(f"weather, {years} y", by_rows(years), ("rows, all alike", "rows, days"))
            share, wave = np.mean(alarmed), np.mean(waves)
            say(f"{years} y: lasting alarms in {share:.3f} of {len(alarmed)} years; a wave in {wave:.3f}")
        table(["", "interval", "false", "worst quarter", "± worst", "seen", "width"], rows)


def simulated(weeks: Weeks, rng: np.random.Generator) -> Year:
    """The year after a simulated reference."""
    windows = [each for each in weeks.draw(52, rng) if each is not None]
    return judged(windows[: weeks.reference], windows[weeks.reference :])


def charts(weeks: Weeks, rng: np.random.Generator) -> tuple[bool, bool, bool]:
    """Return whether a quiet year has an alarm with the days and without, and whether a wave is taken off."""
    dated = Weeks(**{**vars(weeks), "dated": True}).draw(52, rng)
    blind = [None if each is None else each._replace(day=None) for each in dated]
    (chart, seen), (_, unseen) = (charted(weeks, each) for each in (dated, blind))
    return seen.crossed is not None, unseen.crossed is not None, any(chart.wave)


def judged(reference: list[WindowAuc], later: list[WindowAuc]) -> Year:
    """Each later window by each interval."""
    values, days = np.array([scaled(each.auc) for each in reference]), np.array([_day(e) for e in reference])
    wave, left = adjusted(list(reference))
    columns = []
    for window in later:
        lows = [_low(values, np.ones(len(values)))]
        lows += [_low(values, _same_season(days, _day(window), width)) for width in (45.0, 90.0)]
        lows.append(_low(left, np.ones(len(left))) + seasonal(wave, window))
        low = np.array(lows)
        drop = scaled(max(window.auc - DROP, 0.0))
        columns.append((low > scaled(window.auc), low > drop, _area(values.mean()) - _area(low)))
    quarter = np.floor(4 * (np.array([_day(each) for each in later]) / YEAR_DAYS) + 0.5) % 4
    return Year(*(np.array(each, dtype=float).T for each in zip(*columns, strict=True)), quarter)


def _same_season(days: Floats, day: float, width: float) -> Floats:
    apart = np.abs((days - day + YEAR_DAYS / 2) % YEAR_DAYS - YEAR_DAYS / 2)
    return np.asarray(np.exp(-0.5 * (apart / width) ** 2))


def _low(values: Floats, weights: Floats) -> float:
    """The lower end of an interval around the weighted mean; each value is measured from that of the rest."""
    share = weights / weights.sum()
    mean = share @ values
    apart = (values - mean) / np.maximum(1 - share, 1e-9)
    found = conformal_root(apart, np.zeros(len(values)), weights, LEVEL, "less")
    return float(mean - found.root)


def _area(x: ArrayLike) -> Floats:
    return np.asarray(np.sin(np.clip(x, 0.0, np.pi) / 2) ** 2)


def _day(window: WindowAuc) -> float:
    assert window.day is not None
    return window.day


def weather(years: int) -> tuple[list[Year], list[bool], list[bool]]:
    """Every year of the weather after a reference of so many: whether rule lasting alarms, and saw a wave."""
    _, windows, pairs = months()
    length = round(YEAR_DAYS / 30)
    found, alarmed, waves = [], [], []
    for start in range(LEARNED * length, len(windows) - (years + 1) * length, length):
        middle = start + years * length + 1
        reference, later = windows[start:middle], windows[middle : middle + length]
        found.append(judged(reference, later))
        chart = lasting_chart(reference, pairs, horizon=length)
        alarmed.append(chart.apply(later).crossed is not None)
        waves.append(any(chart.wave))
    return found, alarmed, waves


def by_rows(years: int) -> list[Year]:
    """The same years by the product's forecast interval, without the days and with them."""
    samples, windows, _ = months()
    length = round(YEAR_DAYS / 30)
    found = []
    for start in range(LEARNED * length, len(windows) - (years + 1) * length, BY_ROWS * length):
        middle = start + years * length + 1
        past, days = samples[start:middle], [_day(each) for each in windows[start:middle]]
        reference = Sample.merge(past)
        plain, seasonal = (
            forecast_interval(reference, windows=past, batch=(10, 20), alternative="less", days=of)
            for of in (None, (days, None))
        )
        columns = []
        for window in windows[middle : middle + length]:
            dated = replace(seasonal, day=_day(window))
            sizes = (window.n_pos, window.n_neg)
            low = np.array([each.for_batch(reference, sizes).low for each in (plain, dated)])
            columns.append((low > window.auc, low > window.auc - DROP, plain.auc - low))
        year = (np.array(each, dtype=float).T for each in zip(*columns, strict=True))
        quarter = np.floor(
            4 * (np.array([_day(each) for each in windows[middle : middle + length]]) / YEAR_DAYS) + 0.5
        )
        found.append(Year(*year, quarter % 4))
    return found


def months() -> tuple[list[Sample], list[WindowAuc], tuple[float, float, float, float]]:
    """The weather in windows of 30 days, scored by a model of its first years."""
    days = pd.read_csv(WEATHER)
    values = days[FEATURES].to_numpy(float)
    learned = round(LEARNED * YEAR_DAYS)
    values = (values - values[:learned].mean(axis=0)) / values[:learned].std(axis=0)
    terms, rain = np.column_stack([np.ones(len(days)), values]), days["y"].to_numpy(int)
    weight = np.zeros(terms.shape[1])
    for _ in range(25):  # Newton's method of the logistic likelihood, with a little shrinkage
        chance = 1 / (1 + np.exp(-terms[:learned] @ weight))
        slope = terms[:learned].T @ (rain[:learned] - chance) - 1e-3 * weight
        bend = (terms[:learned] * (chance * (1 - chance))[:, None]).T @ terms[:learned]
        weight += np.linalg.solve(bend + 1e-3 * np.eye(len(weight)), slope)
    score, index = terms @ weight, days["day_index"].to_numpy(int)
    months = [Sample(rain[at : at + 30], score[at : at + 30]) for at in range(0, len(days) - 30, 30)]
    usable = [at for at, each in enumerate(months) if min(each.n_pos, each.n_neg) >= 2]
    samples = [months[at] for at in usable]
    windows = [
        WindowAuc(auc(each).auc, each.n_pos, each.n_neg, float(index[30 * at]))
        for at, each in zip(usable, samples, strict=True)
    ]
    of = moments(Sample.merge(months))
    return samples, windows, (of.auc, of.zeta10, of.zeta01, of.kernel)


def _lines(name: str, found: list[Year], methods: Sequence[str] = METHODS) -> list[list[str]]:
    lines = []
    for at, method in enumerate(methods):
        rates = [
            np.array([year.below[at][year.quarter == quarter].mean() for year in found])
            for quarter in range(4)
        ]
        worst = max(rates, key=lambda each: float(each.mean()))
        lines.append(
            [
                name,
                method,
                f"{np.mean([year.below[at].mean() for year in found]):.3f}",
                f"{worst.mean():.3f}",
                f"{worst.std() / len(worst) ** 0.5:.3f}",
                f"{np.mean([year.seen[at].mean() for year in found]):.3f}",
                f"{np.mean([year.wide[at].mean() for year in found]):.4f}",
            ]
        )
    return lines
