"""The length of window that finds a decline soonest, and a loss in the reference, from rows already read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import timedelta
from statistics import median_low
from typing import NamedTuple

import numpy as np
import pandas as pd

from rocmonitor.config.sections import AlarmPolicy
from rocmonitor.conventions import ENOUGH_WINDOWS, LEVEL
from rocmonitor.errors import InputError
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import freeze
from rocmonitor.policy.scenario import Scenario, simulation
from rocmonitor.policy.windows import Window
from rocmonitor.rules import PROPOSED
from rocmonitor.stats import AucSpread, Sample, lasting_change
from rocmonitor.stats.forecast.calibration import windows_needed
from rocmonitor.stats.lasting.chart import LONGEST
from rocmonitor.wording.format import count

SMALL, LARGE = 0.02, 0.05
"""Drops of the AUROC that stay."""

BUDGET = 2.0
"""False alarms a year that a length may have, if another has fewer."""

FEWEST_REFERENCE = windows_needed(LEVEL)

_ALARM = AlarmPolicy().policy()
_NAMES = {
    "1d": "daily",
    "7d": "weekly",
    "14d": "every two weeks",
    "28d": "every four weeks",
    "1mo": "monthly",
}


class Finds(NamedTuple):
    """The finds of windows of a length: false alarms a year, and days until a small and a large drop shows in
    half of all series; infinite where it does not within a year.
    """

    false_alarms: float
    small: float
    large: float

    @property
    def order(self) -> tuple[float, float, float]:
        """The best first: within the budget of false alarms, then the soonest to find both drops."""
        return max(self.false_alarms, BUDGET), self.small + self.large, self.false_alarms


def finds(rows: pd.DataFrame, edges: Sequence[pd.Timestamp], least: int) -> Finds | None:
    """Return what windows between these edges find by the default rules; None where it cannot be computed.

    The rows have columns ``at``, ``positive`` and ``score``, high scores positive, and a label each; a window
    needs `least` of each class. Cost: 1 s.
    """
    windows = [entry for entry in _cut(rows, edges) if min(entry[1].n_pos, entry[1].n_neg) >= least]
    try:
        reference = freeze(windows, PROPOSED, min_per_class=least)
        spread = AucSpread.from_sample(Sample.merge([sample for _, sample in windows]))
    except InputError:
        return None
    if reference.auc is None:
        return None
    n_pos, n_neg = (
        median_low(sizes) for sizes in zip(*((s.n_pos, s.n_neg) for _, s in windows), strict=True)
    )
    every = (edges[-1].to_pydatetime() - edges[0].to_pydatetime()) / (len(edges) - 1)
    scenario = Scenario(
        rules=PROPOSED,
        ranges=NormalRanges.of(reference),
        spread=spread,
        n_pos=n_pos,
        n_neg=n_neg,
        min_per_class=least,
    )
    drawn = simulation(scenario, every)
    days = []
    for drop in (SMALL, LARGE):
        detections = drawn.detections(drop, _ALARM)
        windows_needed = detections[list(detections)[-1]].windows[0] if detections else None
        days.append(math.inf if windows_needed is None else windows_needed * every / timedelta(days=1))
    return Finds(drawn.false_alarms(_ALARM).expected, *days)


class Loss(NamedTuple):
    """A loss that lasts: the window with which it began, and how much lower the AUROC is since then."""

    start: pd.Timestamp
    drop: float


def loss_at_end(rows: pd.DataFrame, edges: Sequence[pd.Timestamp], *, sure: float) -> Loss | None:
    """Return the loss with which the windows between these edges end; None where none is sure.

    The chart of lasting changes, set up by the first 19 windows; by 8 where it shows none. `sure` is the
    chance of a false alarm of each.
    """
    samples = [sample if sample.n_pos and sample.n_neg else None for _, sample in _cut(rows, edges)]
    for first in (FEWEST_REFERENCE, ENOUGH_WINDOWS):
        horizon = min(len(samples), LONGEST)
        try:
            change = lasting_change(
                samples[:first], samples[first:], false_alarm_probability=sure, horizon=horizon
            )
        except InputError:
            continue
        if change.active and change.since is not None and change.change is not None:
            return Loss(edges[first + change.since], -change.change)
    return None


def _cut(rows: pd.DataFrame, edges: Sequence[pd.Timestamp]) -> list[tuple[Window, Sample]]:
    cut = np.searchsorted(pd.DatetimeIndex(list(edges)), rows["at"], side="right") - 1
    order = np.argsort(cut, kind="stable")
    ends = np.searchsorted(cut[order], np.arange(len(edges)))
    positive, score = rows["positive"].to_numpy()[order], rows["score"].to_numpy()[order]
    return [
        (Window(one.to_pydatetime(), other.to_pydatetime()), Sample(positive[a:b], score[a:b]))
        for one, other, a, b in zip(edges, edges[1:], ends, ends[1:], strict=False)
    ]


def reason(by_length: Mapping[str, Finds], chosen: str, delay: timedelta) -> str:
    """Return why a length was chosen, beside the others; a drop is found once its labels are there.

    Examples
    --------
    >>> reason({"1d": Finds(6.2, 28, 7), "7d": Finds(0.3, 21, 7)}, "7d", timedelta(days=7))
    'weekly: 0.3 false alarms a year, a drop of 0.02 in 4 weeks; daily: 6, 5 weeks'
    """
    parts: list[str] = []
    for every in sorted(by_length, key=lambda length: (length != chosen, by_length[length].order)):
        one = by_length[every]
        text = "not within a year"
        if not math.isinf(one.small):
            days = one.small + delay.days
            weeks = round(days / 7)
            text = count(weeks, "week") if weeks > 1 else count(round(days), "day")
        alarms = f"{one.false_alarms:.1g}" if one.false_alarms < 10 else f"{one.false_alarms:.0f}"
        if parts:
            parts.append(f"{_NAMES[every]}: {alarms}, {text}")
        else:
            where, plural = text if math.isinf(one.small) else f"in {text}", "s" * (alarms != "1")
            parts.append(f"{_NAMES[every]}: {alarms} false alarm{plural} a year, a drop of {SMALL:g} {where}")
    return "; ".join(parts)
