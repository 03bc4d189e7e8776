"""Simulated weeks that follow one another: reference windows, later ones, and a drop that lasts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rocmonitor.stats import AucSpread, LastingChange, LastingChart, WindowAuc, lasting_chart

Floats = NDArray[np.float64]

AREA = 0.8
SPREAD = AucSpread.normal(AREA)
PAIRS = (AREA, SPREAD.zeta10, SPREAD.zeta01, AREA * (1 - AREA))


@dataclass(frozen=True, kw_only=True)
class Weeks:
    """How weeks differ: the AUC's true values scatter by `between`, and each is seen with sampling noise."""

    reference: int = 19
    between: float = 0.02
    n_pos: int = 300
    n_neg: int = 2700
    serial: float = 0.0  # AR(1) coefficient of the true values
    heavy: bool = False  # true values by Student's law with 3 degrees of freedom
    uneven: bool = False  # weeks of a quarter to twice as many rows
    wave: float = 0.0  # height of a yearly season, whose time of year at the start is drawn
    dated: bool = False  # the chart is given the days
    gaps: float = 0.0  # share of weeks without labels

    def noise(self, n_pos: float, n_neg: float) -> float:
        """Standard error of a week's AUC."""
        return math.sqrt(SPREAD.variance(n_pos, n_neg))

    def draw(self, later: int, rng: np.random.Generator) -> list[WindowAuc | None]:
        """The reference windows and so many later ones, without any lasting change."""
        count = self.reference + later
        shocks = rng.standard_t(3, count) / math.sqrt(3) if self.heavy else rng.standard_normal(count)
        states = shocks.copy()
        for at in range(1, count):
            states[at] = self.serial * states[at - 1] + math.sqrt(1 - self.serial**2) * shocks[at]
        size = 2 ** rng.uniform(-2, 1, count) if self.uneven else np.ones(count)
        n_pos, n_neg = np.rint(self.n_pos * size).astype(int), np.rint(self.n_neg * size).astype(int)
        day = 7.0 * np.arange(count) + rng.uniform(0, 365.25)
        season = self.wave * np.cos(2 * np.pi * day / 365.25)
        noise = np.array([self.noise(*sizes) for sizes in zip(n_pos, n_neg, strict=True)])
        aucs = AREA + self.between * states + season + noise * rng.standard_normal(count)
        missing = rng.random(count) < self.gaps
        return [
            None
            if missing[at]
            else WindowAuc(
                min(max(float(aucs[at]), 0.0), 1.0),
                int(n_pos[at]),
                int(n_neg[at]),
                float(day[at]) if self.dated else None,
            )
            for at in range(count)
        ]


def dropped(windows: list[WindowAuc | None], drop: float, start: int = 0) -> list[WindowAuc | None]:
    """The windows with a drop of the AUC, from one of them on."""
    return [
        each if each is None or at < start else each._replace(auc=max(each.auc - drop, 0.0))
        for at, each in enumerate(windows)
    ]


def charted(
    weeks: Weeks, windows: list[WindowAuc | None], probability: float = 0.05, horizon: int = 52
) -> tuple[LastingChart, LastingChange]:
    """The chart of the first windows, and what it finds in the others."""
    chart = lasting_chart(
        windows[: weeks.reference],
        PAIRS,
        false_alarm_probability=probability,
        horizon=horizon,
    )
    return chart, chart.apply(windows[weeks.reference :])
