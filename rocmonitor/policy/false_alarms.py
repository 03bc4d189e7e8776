"""The forecast for a configuration: how often it alarms when nothing is wrong, how soon it finds a drop.

Windows to come are drawn from all that the reference windows leave possible of their mean, scatter and serial
correlation. The real limits of the rules and the status machine say which of them alarm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import reduce

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, ndtri

from rocmonitor.policy.scenario import Scenario, limits, uncounted, without_chart
from rocmonitor.policy.status import Alarm
from rocmonitor.rules import Rule
from rocmonitor.rules.calm import Limits
from rocmonitor.stats import LastingChart, Sample, ScoreHistory
from rocmonitor.stats.coming import Coming, Processes, Rate, draw, expected_below_fixed, learned, rate_range
from rocmonitor.stats.lasting.limit import alarms, running
from rocmonitor.stats.lasting.windows import scaled
from rocmonitor.stats.rows import Floats

Codes = NDArray[np.int8]
"""Outcomes or statuses, shape (windows, series): degraded -1, ok 0, improved 1."""

YEAR = timedelta(days=365.25)

DEGRADED, IMPROVED = -1, 1

TOGETHER = "together"
"""In place of a rule's name: all of them."""

_FEWEST, _MOST = 52, 366
"""Windows that are drawn of each series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """The detection of a drop of the AUROC.

    Attributes
    ----------
    once : float
        Probability that a drop of one window alone makes the status ``degraded`` with this window.
    windows : tuple of int or None
        Windows after which a drop that stays is found in half of all cases, and in 80 %; None where it takes
        more than are drawn.
    """

    once: float
    windows: tuple[int | None, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """Windows to come as each rule sees them.

    Attributes
    ----------
    scenario : Scenario
    coming : Coming
    own : dict of str to Coming
        The same windows as some rules see them: without what scores and season explain; or how far another
        number than the AUROC is from its limit.
    limits : dict of str to Limits
        Of the rules that judge each window by itself.
    quiet : dict of str to ndarray
        What each rule finds of each window when nothing is wrong.
    """

    scenario: Scenario
    coming: Coming
    own: Mapping[str, Coming]
    limits: Mapping[str, Limits]
    quiet: Mapping[str, Codes] = field(default_factory=dict)

    @property
    def windows(self) -> int:
        """The number of windows drawn of each series."""
        return len(self.coming.seen)

    @property
    def rules(self) -> list[str]:
        """The names of the rules that can alarm, as configured."""
        return [name for name in self.scenario.rules if name in self.limits or name in self.own]

    def of(self, name: str) -> Coming:
        """Return the windows as a rule sees them."""
        return self.own.get(name, self.coming)

    def outcomes(self, drop: float = 0.0, *, last: int | None = None) -> dict[str, Codes]:
        """Return what each rule finds of each window after a drop of all true AUROCs, which moves nothing
        else.

        With `last` only this many windows are drawn, and only the last of these has dropped.
        """
        shift = np.full((self.windows if last is None else last, 1), _shift(self.scenario.auc.auc, drop))
        if last is not None:
            shift[:-1] = 0.0
        found, windows = {}, len(shift)
        for name in self.rules:
            seen = self.of(name).seen[:windows]
            if name not in self.limits:
                found[name] = _charted(self.scenario.ranges.charts[name], seen + shift)
            else:
                low, high = map(self.of(name).of_series, self.limits[name])
                moved = 0.0 if name in self.scenario.margins else shift
                found[name] = (seen > high - moved).astype(np.int8) - (seen < low - moved).astype(np.int8)
        return found


def simulation(scenario: Scenario, every: timedelta, processes: Processes | None = None) -> Simulation:
    """Draw a year of windows; of `processes`, by default those that the reference leaves possible.

    Notes
    -----
    52 to 366 windows of each series, of 200 processes in proportion to their probability. Their sampling
    noise is that of a window of the expected size at the reference's AUROC. A ``forecast`` given the scores
    is counted by its level, on the AUROC: what the scores explain is not drawn. Cost: 0.2 s.
    """
    windows = min(max(round(YEAR / every), _FEWEST), _MOST)
    found = scenario.processes() if processes is None else processes
    coming = draw(found, scenario.noise(scenario.auc.auc), windows)
    missing = {*uncounted(scenario), *without_chart(scenario)}
    counted = {name: rule for name, rule in scenario.rules.items() if rule.alarms and name not in missing}
    own = {
        name: _as_charted(scenario.ranges.charts[name], coming)
        for name, rule in counted.items()
        if rule.needs.chart
    }
    judging = {name: limits(name, scenario, coming) for name in counted if name not in own}
    own |= {name: scenario.margins[name].coming(windows) for name in judging if name in scenario.margins}
    for name in judging:
        if scenario.takes_season(name) and processes is None:
            own[name] = draw(learned(*scenario.numbers(name)), scenario.noise(scenario.auc.auc), windows)
    drawn = Simulation(scenario=scenario, coming=coming, own=own, limits=judging)
    return replace(drawn, quiet=drawn.outcomes())


def false_alarms(
    drawn: Simulation, alarm: Alarm, every: timedelta, *, rules: Sequence[str] | None = None
) -> Rate:
    """Count the changes to ``degraded`` in a year in which nothing is wrong.

    Parameters
    ----------
    drawn : Simulation
    alarm : Alarm
        k-of-n and recovery.
    every : timedelta
        Length of a window.
    rules : sequence of str, optional
        Default: all together.
    """
    return _rate(drawn, DEGRADED, alarm, every, rules)


def improvements(drawn: Simulation, alarm: Alarm, every: timedelta) -> Rate:
    """Return the rate of changes to ``improved``: two-sided rules find a rise as they find a loss."""
    return _rate(drawn, IMPROVED, alarm, every, None)


def window_rate(drawn: Simulation, rules: Iterable[str] | None = None) -> float:
    """Probability that some rule finds one window degraded although nothing is wrong; charts left aside.

    Rules that take a season off see other numbers: the most probable of the two kinds counts.
    """
    found = [0.0]
    for names in _alike(drawn, rules):
        coming = drawn.of(names[0])
        found.append(float(np.mean(ndtr((_highest_low(drawn, names) - coming.mean) / coming.deviation))))
    return max(found)


def usual_rate(drawn: Simulation) -> float:
    """Return `window_rate` for windows that scatter as most reference windows do: few outliers count nothing.

    Their standard deviation is 1.4826 times the median distance from the median, that of a normal law.
    """
    found = [0.0]
    for names in _alike(drawn, None):
        margins = drawn.scenario.margins.get(names[0])
        values, noise, _ = margins or drawn.scenario.numbers(names[0])
        if not len(values):
            return window_rate(drawn)
        middle = float(np.median(values))
        spread = 1.4826 * float(np.median(np.abs(values - middle)))
        deviation = max(spread, math.sqrt(float(np.median(noise))))
        found.append(float(np.mean(ndtr((_highest_low(drawn, names) - middle) / deviation))))
    return max(found)


def single_window_drop(drawn: Simulation, *, power: float = 0.8) -> tuple[str, float] | None:
    """Return the smallest drop of the AUROC that one window shows with this power, and the rule that shows
    it.

    None when no rule can show any. The power is over the scatter of windows and all that the reference leaves
    possible.
    """
    auc, seen = drawn.scenario.auc.auc, {}
    for name in drawn.limits.keys() - drawn.scenario.margins.keys():
        low, own = _highest_low(drawn, [name]), drawn.of(name)
        if not np.isfinite(low).all():
            continue

        def short(drop: float, low: Floats = low, coming: Coming = own) -> float:
            noise = drawn.scenario.noise(auc - drop) - drawn.scenario.noise(auc)
            deviation = np.sqrt(np.maximum(coming.deviation**2 + noise, 1e-12))
            return power - float(np.mean(ndtr((low - coming.mean - _shift(auc, drop)) / deviation)))

        if short(0.0) <= 0:
            seen[name] = 0.0
        elif short(auc * 0.99) < 0:
            seen[name] = float(scipy.optimize.brentq(short, 0.0, auc * 0.99, xtol=1e-5))
    return min(seen.items(), key=lambda item: item[1]) if seen else None


def detections(drawn: Simulation, drop: float, alarm: Alarm) -> dict[str, Detection]:
    """Return how a drop of this size is found: by each rule on the AUROC alone and, if they are several,
    `TOGETHER`.

    A drop that stays begins with the first window. Series that happen to be degraded anyway count as found.
    """
    stays, passes = drawn.outcomes(drop), drawn.outcomes(drop, last=alarm.of)
    rules = [name for name in drawn.rules if name not in drawn.scenario.margins]
    groups = {name: [name] for name in rules}
    if len(groups) > 1:
        groups[TOGETHER] = rules
    found = {}
    for name, these in groups.items():
        degraded = statuses(together(stays, these), alarm) == DEGRADED
        once = statuses(together(passes, these), alarm)[-1] == DEGRADED
        first = np.where(degraded.any(axis=0), degraded.argmax(axis=0) + 1.0, math.inf)
        ends = np.quantile(first, [0.5, 0.8], method="inverted_cdf").tolist()
        median, most = (None if math.isinf(end) else int(end) for end in ends)
        found[name] = Detection(once=float(once.mean()), windows=(median, most))
    return found


def together(found: Mapping[str, Codes], rules: Sequence[str] | None = None) -> Codes:
    """Return the outcome of each window by several rules: degraded before improved."""
    chosen = [found[name] for name in (found if rules is None else rules)]
    lowest, highest = reduce(np.minimum, chosen), reduce(np.maximum, chosen)
    return np.where(lowest < 0, lowest, highest)


def statuses(outcomes: Codes, alarm: Alarm) -> Codes:
    """Return the status after each window: `Health.after` for many series at once."""
    if max(alarm.of, alarm.recover_after) == 1:
        return outcomes
    counts = {code: _last(outcomes == code, alarm.of) for code in (DEGRADED, IMPROVED)}
    recent = {code: _last(outcomes == code, alarm.recover_after) for code in (DEGRADED, IMPROVED)}
    status = np.zeros_like(outcomes)
    before = np.zeros(outcomes.shape[1:], np.int8)
    for k in range(len(outcomes)):
        if k + 1 >= alarm.recover_after:
            calm = np.where(before == DEGRADED, recent[DEGRADED][k], recent[IMPROVED][k]) == 0
            before = np.where(calm, np.int8(0), before)
        before = np.where(counts[IMPROVED][k] >= alarm.after, np.int8(IMPROVED), before)
        before = np.where(counts[DEGRADED][k] >= alarm.after, np.int8(DEGRADED), before)
        status[k] = before
    return status


def _last(found: NDArray[np.bool_], windows: int) -> NDArray[np.int16]:
    """Return how many of the last windows are true, after each."""
    total = np.cumsum(found, axis=0, dtype=np.int16)
    total[windows:] = total[windows:] - total[:-windows].copy()
    return total


def _rate(drawn: Simulation, code: int, alarm: Alarm, every: timedelta, rules: Sequence[str] | None) -> Rate:
    """Count the changes to a status in a year; rules without a chart add their stated probability."""
    scenario, a_year = drawn.scenario, YEAR / every
    unseen = [name for name in without_chart(scenario) if rules is None or name in rules]
    stated = sum(scenario.rules[name].stated_rate(above=code == IMPROVED) for name in unseen) * a_year
    chosen = [name for name in drawn.rules if rules is None or name in rules]
    if not chosen:
        return Rate(expected=stated, low=stated, high=stated)
    status = statuses(together(drawn.quiet, chosen), alarm)
    before = np.concatenate([np.zeros_like(status[:1]), status[:-1]])
    changes = np.sum((status == code) & (before != code), axis=0)
    rates = drawn.coming.by_process(changes) * (a_year / drawn.windows) + stated
    serial = drawn.of(chosen[0]).serial if len(chosen) == 1 else drawn.coming.serial
    low, high = rate_range(rates, serial)
    if all(scenario.rules[name].floor is not None for name in chosen):
        chance = float(drawn.coming.errors(changes).mean()) * (a_year / drawn.windows) ** 2
        return Rate(expected=expected_below_fixed(rates, chance), low=low, high=high)
    return Rate(expected=float(rates.mean()), low=low, high=high)


def _alike(drawn: Simulation, rules: Iterable[str] | None) -> list[list[str]]:
    """Return the names of the rules with limits that see the same numbers."""
    names = [name for name in drawn.limits if rules is None or name in rules]
    others = drawn.scenario.margins
    found = [[name] for name in names if name in others]
    found += [[name for name in names if name not in drawn.own]]
    found += [[name for name in names if name in drawn.own and name not in others]]
    return [each for each in found if each]


def _highest_low(drawn: Simulation, names: Sequence[str]) -> Floats:
    """(g,): the highest of the lower limits of these rules."""
    lows = [np.broadcast_to(drawn.limits[name].low, drawn.coming.mean.shape) for name in names]
    return np.max(lows, axis=0) if lows else np.full(drawn.coming.mean.shape, -math.inf)


def _shift(auc: float, drop: float) -> float:
    return scaled(max(auc - drop, 0.0)) - scaled(auc)


def _as_charted(chart: LastingChart, coming: Coming) -> Coming:
    """Return the same windows on the values of a chart, which may leave aside what scores or season
    explain.
    """
    if not chart.slope and not any(chart.wave):
        return coming
    own = learned(np.array(chart.values), np.array(chart.noises), chart.places)
    return draw(own, chart.noise, len(coming.seen))


def _charted(chart: LastingChart, seen: Floats) -> Codes:
    """Return where the chart has an alarm."""
    deviation = math.sqrt(chart.between**2 + chart.noise)
    chart_of = running((chart.mean - seen) / deviation, np.ones(len(seen)), chart.mean_share)
    return np.asarray(-alarms(chart_of.statistic, chart.limit, two_sided=chart.alternative == "two-sided"))


_ALL = 10_000_000  # rows that stand for a law without sampling noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Early:
    """The alarms of one rule before the labels.

    Attributes
    ----------
    warnings_a_year : float
        Windows of a year that warn although nothing is wrong, on average over references.
    unlucky_warnings_a_year : float
        What one reference in ten exceeds: its windows happen to lie close together.
    loss : float or None
        The loss of AUROC that one window shows with the power asked for. For ``outlook`` a loss that the
        scores foretell, against the mean of the reference windows. For ``scores`` the loss when positives
        come to score like negatives; None when the rule does not see even that all of them do.
    """

    warnings_a_year: float
    unlucky_warnings_a_year: float
    loss: float | None


def early(
    rule: Rule, history: ScoreHistory, cells: Sample, *, rows: int, every: timedelta, power: float = 0.8
) -> Early:
    """Return what a rule ``scores`` or ``outlook`` does on windows of `rows` scores.

    Parameters
    ----------
    rule : Scores or Outlook
    history : ScoreHistory
    cells : Sample
        Of the reference.
    rows : int
    every : timedelta
        Length of a window.
    power : float
        Probability with which one window shows the loss.

    Notes
    -----
    The share of windows with a false warning varies over references like a Beta variable (`HistoryLimit`).
    """
    z = float(ndtri(power))
    limit, loss = rule.early(history, cells, rows=rows, z=z)
    a_year, (a, b) = YEAR / every, limit.beta
    return Early(
        warnings_a_year=a_year * (1 - limit.achieved_level),
        unlucky_warnings_a_year=a_year * float(betaincinv(a, b, 0.9)),
        loss=loss,
    )
