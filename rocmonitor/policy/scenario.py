"""The windows to come while the model is as good as in the reference, on the scale of `rules.calm`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from rocmonitor.policy.evaluation import Verdict
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.windows import Window, day_of
from rocmonitor.rules import Rule
from rocmonitor.rules.calm import Limits
from rocmonitor.stats import AucResult, AucSpread, ForecastInterval
from rocmonitor.stats.coming import Coming, Processes, draw, learned, sampling_alone
from rocmonitor.stats.lasting.windows import scaled
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.season import wave_of

FEWEST_WINDOWS = 3
"""Reference windows with an AUROC from which on their scatter is learned."""

_LEAST_NOISE = 1e-9


class Margins(NamedTuple):
    """The distance of a rule's interval from its limit in each reference window; the rule alarms below 0.

    Arrays of shape (n,) and n places in the series: distance, its sampling variance, and where the window is.
    """

    values: Floats
    noise: Floats
    places: tuple[int, ...]

    def coming(self, windows: int) -> Coming:
        """Distances of windows to come, of the usual size."""
        return draw(learned(*self), float(np.median(self.noise)), windows)


def margins_of(verdicts: Sequence[Verdict | None]) -> Margins | None:
    """Return the margins of a rule in successive reference windows, None where one was not judged by it.

    None where fewer than `FEWEST_WINDOWS` were, or all margins are equal. The sampling variance is that of
    an interval with normal limits.
    """
    found = []
    for place, each in enumerate(verdicts):
        if each is None or each.margin is None or each.low is None or each.high is None:
            continue
        assert each.confidence_level is not None
        sides = -2 * ndtri((1 - each.confidence_level) / 2)
        found.append((place, each.margin, (each.high - each.low) / sides))
    if len(found) < FEWEST_WINDOWS:
        return None
    places, values, errors = zip(*found, strict=True)
    noise = np.array(errors) ** 2
    if not noise.any():
        return None
    return Margins(
        np.array(values),
        np.maximum(noise, 1e-6 * float(noise.max())),
        tuple(place - places[0] for place in places),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The windows to come, while the model is as good as in the reference.

    Attributes
    ----------
    rules : dict of str to Rule
        By name, as from `rocmonitor.rules.by_name`.
    ranges : NormalRanges
        Of a reference with an `auc`. Ranges that it lacks are taken from the number of its windows; scatter
        and serial correlation are learned from their AUROCs, where it has them.
    spread : AucSpread
        At the reference's AUROC.
    n_pos, n_neg : float
        Labelled rows to be expected of a window.
    margins : dict of str to Margins
        Of rules that do not judge the AUROC, where the reference windows were judged by them.
    """

    rules: Mapping[str, Rule]
    ranges: NormalRanges
    spread: AucSpread
    n_pos: float
    n_neg: float
    margins: Mapping[str, Margins] = field(default_factory=dict)

    @property
    def reference(self) -> Reference:
        """The reference."""
        return self.ranges.reference

    @property
    def auc(self) -> AucResult:
        """The reference's AUROC."""
        assert self.reference.auc is not None
        return self.reference.auc

    @property
    def reference_windows(self) -> int:
        """Reference windows whose AUROC is known."""
        return sum("auc" in window for window in self.reference.windows)

    @property
    def is_read(self) -> bool:
        """True if the AUROCs of enough reference windows are known to learn how they differ."""
        return self.reference_windows >= FEWEST_WINDOWS

    def window(self, auc: float) -> AucResult:
        """Return a window of the expected size that has this AUROC."""
        spread = self.spread.at(auc)
        return AucResult(
            auc=auc,
            se=math.sqrt(spread.variance(self.n_pos, self.n_neg)),
            zeta=(spread.zeta10, spread.zeta01),
            n_pos=round(self.n_pos),
            n_neg=round(self.n_neg),
            method="delong",
        )

    def noise(self, auc: float) -> float:
        """Return the sampling variance of a window about a true AUROC, on the scale."""
        return max((self.window(auc).se ** 2) / (auc * (1 - auc)), _LEAST_NOISE)

    def processes(self) -> Processes:
        """Return what the reference windows leave possible; where they were not read, sampling alone."""
        if self.is_read:
            return learned(*self.numbers())
        error = self.auc.se / math.sqrt(self.auc.auc * (1 - self.auc.auc))
        return sampling_alone(scaled(self.auc.auc), error)

    def takes_season(self, rule: str) -> bool:
        """Return True if a rule is a forecast that lies around the season of a window."""
        return self.knows_range(rule) and bool(self.reference.fits[rule].season)

    def knows_range(self, rule: str) -> bool:
        """Return True for a rule that has its range, and not another one for the scores of each window."""
        known = rule in self.rules and rule in self.reference.fits
        return known and not self.rules[rule].needs.history

    def range(self, rule: str) -> ForecastInterval | None:
        """Return the normal range of a window of the usual size; None for a rule without one."""
        return self.ranges.range(rule) if rule in self.reference.fits else None

    def mirrored(self) -> Scenario:
        """Return the scenario with all scores negated: its drops are the rises of this one."""
        auc = 1 - self.auc.auc
        return replace(
            self,
            ranges=replace(self.ranges, reference=replace(self.reference, auc=replace(self.auc, auc=auc))),
            spread=replace(self.spread, auc=auc),  # its variances are the same
        )

    def numbers(self, rule: str = "") -> tuple[Floats, Floats, tuple[int, ...]]:
        """AUROC on the scale, sampling variance and place of each reference window that has one.

        For a forecast that takes a season off, without that season.
        """
        scale = self.auc.auc * (1 - self.auc.auc)
        found = [(place, of) for place, of in enumerate(self.reference.windows) if "auc" in of]
        noise = [self.spread.variance(of["n_pos"], of["n_neg"]) / scale for _, of in found]
        values = np.array([scaled(of["auc"]) for _, of in found])
        if self.takes_season(rule):
            days = [day_of(Window.from_dict(of)) for _, of in found]
            wave = wave_of(values, days)
            values = values if wave is None else wave.left
        return (
            values,
            np.maximum(noise, _LEAST_NOISE),
            tuple(place - found[0][0] for place, _ in found),
        )


def limits(name: str, scenario: Scenario, coming: Coming) -> Limits:
    """Return the limits of a rule that judges each window by itself: on the AUROC, or on its margin."""
    return Limits.of(0.0) if name in scenario.margins else scenario.rules[name].calm(name, scenario, coming)


def sampling_only(scenario: Scenario) -> list[str]:
    """Return the names of the rules that are counted as if windows differed by sampling alone."""
    if scenario.is_read:
        return []
    return [
        name
        for name, rule in scenario.rules.items()
        if rule.alarms and rule.of_auc and not rule.needs.chart
        if not rule.needs.range or scenario.knows_range(name)
    ]


def uncounted(scenario: Scenario) -> list[str]:
    """Return the names of rules whose false alarms are not known: they count nothing here.

    Forecasts without a level whose interval is not known; cost and calibration where no reference window was
    judged by them.
    """
    reference, found = scenario.reference, []
    for name, rule in scenario.rules.items():
        unknown = rule.needs.range and name not in reference.fits and not rule.weights(name, reference)
        if unknown or (not rule.of_auc and name not in scenario.margins):
            found.append(name)
    return found


def without_chart(scenario: Scenario) -> list[str]:
    """Return the names of the rules whose chart is not known: they count with their stated probability."""
    charts = scenario.ranges.charts
    return [name for name, rule in scenario.rules.items() if rule.needs.chart and name not in charts]
