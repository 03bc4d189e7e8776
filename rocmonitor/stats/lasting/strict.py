"""The chart of a lasting change at another probability of a false alarm than it was set up for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
import scipy

from rocmonitor.errors import InputError
from rocmonitor.stats.lasting.chart import LastingChart
from rocmonitor.stats.lasting.limit import ChartShape, largest_values, possible

DRAWN = 0.005
"""The smallest probability that the drawn series show themselves: 30 of 6,000."""

_FITTED = (0.1, 0.07, 0.05, 0.03, 0.02, 0.014, 0.01, 0.007, DRAWN)


def at_probability(chart: LastingChart, false_alarm_probability: float) -> LastingChart:
    """Return the same chart with the limit that it passes within its horizon with another probability.

    Parameters
    ----------
    false_alarm_probability: Above 0 and below 1, also less than `lasting_chart` takes.

    Limits for probabilities of `DRAWN` and more are quantiles of the largest value of drawn series. Below,
    they go on from the last of these, as steep as a line through them against normal quantiles. The chart's
    own limit stays that of its own probability. Cost: as `lasting_chart`.
    """
    chance = false_alarm_probability
    if not 0 < chance < 1:
        raise InputError(f"false_alarm_probability must lie within (0, 1), such as 0.001; it is {chance!r}")
    if chance == chart.false_alarm_probability:
        return chart
    limit = _limits(chart)
    share = limit(chance) / limit(chart.false_alarm_probability)
    return replace(chart, limit=chart.limit * share, false_alarm_probability=chance)


@lru_cache(maxsize=64)
def _limits(chart: LastingChart) -> Callable[[float], float]:
    """Return the limit of the series that the reference windows leave possible, by its probability.

    The segments of a window ask for many probabilities of the same charts.
    """
    noise, between = np.array(chart.noises), chart.between**2
    shape = ChartShape(
        mean=chart.mean,
        noise=chart.noise,
        deviation=math.sqrt(between + chart.noise),
        mean_share=chart.mean_share,
    )
    drawn = largest_values(
        possible(np.array(chart.values), noise, chart.places),
        shape,
        chart.horizon,
        two_sided=chart.alternative == "two-sided",
    )

    def limit(chance: float) -> float:
        if chance >= DRAWN:
            return float(np.quantile(drawn, 1 - chance))
        shown = np.quantile(drawn, 1 - np.array(_FITTED))
        slope = float(np.polyfit(-scipy.special.ndtri(_FITTED), shown, 1)[0])
        return float(shown[-1] + slope * (scipy.special.ndtri(DRAWN) - scipy.special.ndtri(chance)))

    return limit
