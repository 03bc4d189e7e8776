"""The windows to come while the model is as good as in the reference, and the limits of the rules on them.

All is on the scale 2 arcsin sqrt(AUROC), on which an AUROC scatters about its true value nearly normally, and
as much at one limit as at another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincinv, expit, logit, ndtri

from rocmonitor.policy.evaluation import Verdict
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.rules import Calibration, Cost, Drop, Floor, Forecast, Lasting, Rule
from rocmonitor.policy.windows import Window, day_of
from rocmonitor.stats import AucResult, AucSpread, compare_auc
from rocmonitor.stats.coming import Coming, Processes, draw, learned, sampling_alone
from rocmonitor.stats.lasting.windows import scaled
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.season import wave_of

FEWEST_WINDOWS = 3
"""Reference windows with an AUROC from which on their scatter is learned."""

_DEEPEST, _STEP = 6.0, 0.25
"""How far down a limit is looked for, in log odds: from an AUROC of 0.8 to 0.01. And in which steps."""

_LEAST_NOISE = 1e-9


class Margins(NamedTuple):
    """How far a rule's interval was from its limit in each reference window; it alarms below 0.

    Arrays of shape (n,) and n places in the series: distance, its sampling variance, and where the window is.
    """

    values: Floats
    noise: Floats
    places: tuple[int, ...]

    def coming(self, windows: int) -> Coming:
        """Distances of windows to come, of the usual size."""
        return draw(learned(*self), float(np.median(self.noise)), windows)


def margins_of(verdicts: Sequence[Verdict | None]) -> Margins | None:
    """The margins of a rule in successive reference windows, None where one was not judged by it.

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
        By name, as from `rocmonitor.policy.rules.by_name`.
    reference : Reference
        With an `auc`. Forecast intervals that it lacks are taken from the number of its windows; scatter and
        serial correlation are learned from their AUROCs, where it has them.
    spread : AucSpread
        At the reference's AUROC.
    n_pos, n_neg : float
        Labelled rows to be expected of a window.
    margins : dict of str to Margins
        Of rules that do not judge the AUROC, where the reference windows were judged by them.
    """

    rules: Mapping[str, Rule]
    reference: Reference
    spread: AucSpread
    n_pos: float
    n_neg: float
    margins: Mapping[str, Margins] = field(default_factory=dict)

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
        """Whether the AUROCs of enough reference windows are known to learn how they differ."""
        return self.reference_windows >= FEWEST_WINDOWS

    def window(self, auc: float) -> AucResult:
        """A window of the expected size that has this AUROC."""
        return AucResult(
            auc=auc,
            se=math.sqrt(self.spread.at(auc).variance(self.n_pos, self.n_neg)),
            n_pos=round(self.n_pos),
            n_neg=round(self.n_neg),
            method="delong",
        )

    def noise(self, auc: float) -> float:
        """The sampling variance of a window about a true AUROC, on the scale."""
        return max((self.window(auc).se ** 2) / (auc * (1 - auc)), _LEAST_NOISE)

    def processes(self) -> Processes:
        """What the reference windows leave possible; where they were not read, sampling alone."""
        if self.is_read:
            return learned(*self.numbers())
        error = self.auc.se / math.sqrt(self.auc.auc * (1 - self.auc.auc))
        return sampling_alone(scaled(self.auc.auc), error)

    def takes_season(self, rule: str) -> bool:
        """Whether a rule is a forecast that lies around the season of a window."""
        return _is_known(rule, self) and bool(self.reference.forecasts[rule].season)

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


class Limits(NamedTuple):
    """Between which values a rule finds a window ok: two numbers, or (g,) for each process; else infinite."""

    low: Floats
    high: Floats


def limits(name: str, scenario: Scenario, coming: Coming) -> Limits:
    """The limits of a rule that judges each window by itself: on the AUROC, or on its margin."""
    rule = scenario.rules[name]
    if name in scenario.margins:
        return Limits(np.zeros(1), np.array([math.inf]))
    if isinstance(rule, Forecast) and not _is_known(name, scenario):
        return _by_level(name, rule, scenario, coming)
    high = math.inf
    if isinstance(rule, Drop):
        high = math.pi - _low(name, _mirrored(scenario))
    elif isinstance(rule, Forecast) and rule.alternative == "two-sided":
        high = scaled(scenario.reference.forecasts[name].high)
    return Limits(np.array([_low(name, scenario)]), np.array([high]))


def sampling_only(scenario: Scenario) -> list[str]:
    """Names of the rules that are counted as if windows differed by sampling alone."""
    if scenario.is_read:
        return []
    return [
        name
        for name, rule in scenario.rules.items()
        if isinstance(rule, Floor | Drop) or (isinstance(rule, Forecast) and _is_known(name, scenario))
    ]


def uncounted(scenario: Scenario) -> list[str]:
    """Names of rules whose false alarms are not known: they count nothing here.

    Forecasts without a level whose interval is not known; cost and calibration where no reference window was
    judged by them.
    """
    return [
        name
        for name, rule in scenario.rules.items()
        if (isinstance(rule, Cost | Calibration) and name not in scenario.margins)
        or (
            isinstance(rule, Forecast)
            and _level(name, scenario) is None
            and name not in scenario.reference.forecasts
        )
    ]


def without_chart(scenario: Scenario) -> list[str]:
    """Names of the rules `lasting` whose chart is not known: they count with their stated probability."""
    charts = scenario.reference.charts
    return [n for n, rule in scenario.rules.items() if isinstance(rule, Lasting) and n not in charts]


def forecast_weights(name: str, rules: Mapping[str, Rule], reference: Reference) -> tuple[float, ...] | None:
    """What each usable reference window counts for a calibrated forecast, the latest about 1; else None.

    Where the interval is not known, `reference.windows` must be in order of time, none left out.
    """
    rule = rules[name]
    if not isinstance(rule, Forecast) or rule.method != "calibrated":
        return None
    interval = reference.forecasts.get(name)
    if interval is not None:
        return interval.weights or (1.0,) * interval.n_windows
    ages = [age for age, w in enumerate(reversed(reference.windows)) if w["n_pos"] and w["n_neg"]]
    half_life = math.inf if rule.half_life is None else rule.half_life
    return tuple(0.5 ** (age / half_life) for age in ages) or None


def _is_known(name: str, scenario: Scenario) -> bool:
    """Whether a forecast has its interval, and not another one for the scores of each window."""
    rule = scenario.rules.get(name)
    return isinstance(rule, Forecast) and rule.given is None and name in scenario.reference.forecasts


def _by_level(name: str, rule: Forecast, scenario: Scenario, coming: Coming) -> Limits:
    """Limits that cover as much as a conformal interval may happen to, given its windows ([V12])."""
    level = _level(name, scenario)
    if level is None:
        return Limits(np.array([-math.inf]), np.array([math.inf]))
    achieved, windows = level
    covered = betaincinv(achieved * (windows + 1), (1 - achieved) * (windows + 1), coming.luck)
    sides = 2 if rule.alternative == "two-sided" else 1
    reach = -ndtri((1 - covered) / sides) * coming.deviation
    return Limits(coming.mean - reach, coming.mean + reach if sides == 2 else np.array([math.inf]))


def _low(name: str, scenario: Scenario) -> float:
    """The value below which a rule finds a window degraded; -inf if there is none."""
    rule, reference = scenario.rules[name], scenario.auc
    if isinstance(rule, Floor):
        return _root(
            lambda window: window.ci(rule.confidence_level).high - rule.value,
            scenario,
            below=rule.value,
        )
    if isinstance(rule, Drop):
        return _root(
            lambda window: compare_auc(window, reference).ci(rule.confidence_level).high + rule.value,
            scenario,
            below=reference.auc,
        )
    interval = scenario.reference.forecasts.get(name)
    return -math.inf if interval is None else scaled(interval.low)


def _root(excess: Callable[[AucResult], float], scenario: Scenario, *, below: float) -> float:
    """The highest value below which `excess` of a window is negative; at the AUROC `below` it is not."""

    def of(log_odds: float) -> float:
        return excess(scenario.window(float(expit(log_odds))))

    top = float(logit(below))
    for down in np.arange(_STEP, _DEEPEST, _STEP).tolist():
        if of(top - down) < 0:
            return scaled(float(expit(brentq(of, top - down, top - down + _STEP))))
    return -math.inf


def _mirrored(scenario: Scenario) -> Scenario:
    """The scenario of the other side: with all scores negated, its drops are the rises of this one."""
    auc = 1 - scenario.auc.auc
    return replace(
        scenario,
        reference=replace(scenario.reference, auc=replace(scenario.auc, auc=auc)),
        spread=replace(scenario.spread, auc=auc),  # its variances are the same
    )


def _level(name: str, scenario: Scenario) -> tuple[float, float] | None:
    """Level of a calibrated forecast, and how many windows it is worth; None for every other rule."""
    rule = scenario.rules[name]
    if not isinstance(rule, Forecast) or rule.method != "calibrated":
        return None
    weights = forecast_weights(name, scenario.rules, scenario.reference)
    if weights is None:
        return None
    total = sum(weights)
    interval = scenario.reference.forecasts.get(name)
    shown = 1.0 if rule.half_life is None else total / (total + 1)  # without one a model has the level
    level = min(rule.confidence_level, shown) if interval is None else interval.achieved_level
    return None if level is None else (level, total**2 / sum(weight**2 for weight in weights))
