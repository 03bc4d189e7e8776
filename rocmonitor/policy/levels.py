"""A reference for one window: at the levels of its rules, and in the window's season.

Where its windows are too few to show the level of a forecast, its interval is the one that has it under
a model of the windows (`rocmonitor.stats.forecast.strict`). With a half-life only a budget asks for that:
windows that count less the older they are do not scatter about one mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from scipy.special import expit, logit

from rocmonitor.policy.reference import Reference
from rocmonitor.policy.rules import Drop, Forecast, Lasting, Rule
from rocmonitor.policy.windows import Window, day_of
from rocmonitor.stats import ForecastInterval, Sample
from rocmonitor.stats.area.variances import exact_bootstrap_variance, moments
from rocmonitor.stats.forecast.calibration import LEVEL_ROUNDING
from rocmonitor.stats.forecast.strict import coming_window, extended, extreme_limit
from rocmonitor.stats.lasting.strict import at_probability

_LEAST_ODDS = 1e-12


def at_levels(reference: Reference, rules: Mapping[str, Rule], names: frozenset[str]) -> Reference:
    """The reference, serving the rules at the levels that they have now.

    Parameters
    ----------
    reference : Reference
        Frozen for the same rules at any levels: it need not be read again when levels change.
    rules : dict of str to Rule
        By name.
    names : frozenset of str
        Whose levels come from a budget. The others keep those at which they were frozen.
    """
    found = replace(reference, strict=reference.strict | names)
    forecasts, charts = dict(reference.forecasts), dict(reference.charts)
    for name, interval in reference.forecasts.items():
        rule = rules.get(name)
        if name in names and isinstance(rule, Forecast):
            level = replace(interval, confidence_level=rule.confidence_level)
            forecasts[name] = _computed_anew(name, found, level)
        else:
            forecasts[name] = as_judged(name, found, interval)
    for name in names & charts.keys():
        rule = rules[name]
        if isinstance(rule, Lasting):
            charts[name] = at_probability(charts[name], rule.false_alarm_probability)
    return replace(found, forecasts=forecasts, charts=charts)


def in_season(reference: Reference, window: Window) -> Reference:
    """The reference for one window: forecasts that take a season off lie around that of the window."""
    day, forecasts = day_of(window), dict(reference.forecasts)
    for name, interval in reference.forecasts.items():
        if interval.season:
            forecasts[name] = _computed_anew(name, reference, replace(interval, day=day))
    return replace(reference, forecasts=forecasts)


def of_season(interval: ForecastInterval) -> dict[str, float]:
    """``season``: by how much the time of year moves the AUROC that is expected; empty without a season."""
    middle = interval.seasonal_auc
    return {} if middle is None else {"season": middle - interval.auc}


def for_batch(name: str, reference: Reference, cells: Sample, batch: tuple[int, int]) -> ForecastInterval:
    """The interval of a rule for a window of these sizes."""
    interval = reference.forecasts[name]
    if interval.batch == batch:
        return as_judged(name, reference, interval)
    return as_judged(name, reference, interval.for_batch(cells, batch, bounds=reference.bounds))


def as_judged(name: str, reference: Reference, interval: ForecastInterval) -> ForecastInterval:
    """An interval that was computed from the reference, at the level of its rule."""
    if reference.cells is None or (interval.weights and name not in reference.strict):
        return interval
    return extended(interval, reference.cells, reference.bounds)


def of_model(interval: ForecastInterval) -> dict[str, float]:
    """``known_level`` and ``n_windows`` of an interval whose level is that of a model; empty elsewhere."""
    found = [each.values for each in interval.caveats if each.code == "level-by-model"]
    return {"known_level": found[0]["known"], "n_windows": found[0]["n_windows"]} if found else {}


def scatter_reach(name: str, rule: Drop, reference: Reference, sizes: tuple[int, int]) -> float:
    """How far the AUROC of a window of these sizes may lie from the reference's, as reference windows do.

    0 where the level is not derived, and where fewer than two windows show it. Half of the misses are on each
    side.
    """
    past = [each.get("auc") for each in reference.windows]
    known = sum(auc is not None for auc in past)
    if name not in reference.strict or reference.cells is None or reference.auc is None or known < 2:
        return 0.0
    pairs = moments(reference.cells)

    def noise(n_pos: int, n_neg: int) -> float:
        return exact_bootstrap_variance(pairs.zeta10, pairs.zeta01, pairs.kernel, n_pos, n_neg)

    coming = coming_window(
        [0.0 if auc is None else auc - reference.auc.auc for auc in past],
        [
            math.inf if auc is None else noise(each["n_pos"], each["n_neg"])
            for auc, each in zip(past, reference.windows, strict=True)
        ],
        noise(*sizes),
    )
    return coming.reach((1 - rule.confidence_level) / 2, two_sided=True)


def lowest_expected(
    name: str, reference: Reference, level: float, found: tuple[float, float]
) -> tuple[float, float]:
    """Limit of the expected AUROC and its level, from those that the windows show (`found`)."""
    history = reference.history
    if _shown(name, reference, level, found[1]) or history is None:
        return found
    odds = [logit(min(max(auc, _LEAST_ODDS), 1 - _LEAST_ODDS)) for auc in history.window_expected]
    least = -extreme_limit([-each for each in odds], 1 - level)
    return min(found[0], float(expit(least))), level


def largest_distance(
    name: str, reference: Reference, level: float, found: tuple[float, float]
) -> tuple[float, float]:
    """Limit of the distance of the scores and its level, likewise, on the log scale."""
    history = reference.history
    if _shown(name, reference, level, found[1]) or history is None:
        return found
    logs = [math.log(max(distance, _LEAST_ODDS)) for distance in history.window_distances]
    return max(found[0], math.exp(min(extreme_limit(logs, 1 - level), 700.0))), level


def _shown(name: str, reference: Reference, level: float, achieved: float) -> bool:
    return name not in reference.strict or achieved >= level - LEVEL_ROUNDING


def _computed_anew(name: str, reference: Reference, interval: ForecastInterval) -> ForecastInterval:
    """An interval whose level or day was changed; the same where what it needs for that was not kept."""
    if reference.cells is None or interval.batch is None:
        return interval
    return as_judged(
        name, reference, interval.for_batch(reference.cells, interval.batch, bounds=reference.bounds)
    )
