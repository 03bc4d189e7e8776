"""What a configuration will do: how often it alarms when nothing is wrong, and which drops it sees.

All rules judge the same AUROC of a window, so each has a limit on it, and the highest limit decides. That
AUROC scatters about a true value as the placement variances say, and the true value lies about the
reference's AUROC, which has an error of its own. From there to alarms a year the status machine is a Markov
chain. No part of this is simulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import splu
from scipy.special import betaincinv, expit, logit, ndtr, ndtri

from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.rules import Drop, Floor, Forecast, Lasting, Rule
from rocmonitor.policy.status import Alarm, Health
from rocmonitor.stats import AucResult, AucSpread, compare_auc, detectable_drop

Floats = NDArray[np.float64]

YEAR = timedelta(days=365.25)

_DEEPEST, _STEP = 6.0, 0.25
"""How far down a limit is looked for, in log odds: from an AUROC of 0.8 to 0.01. And in which steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The windows to come, while the model is as good as in the reference.

    Attributes
    ----------
    rules : dict of str to Rule
        By name, as from `rocmonitor.policy.rules.by_name`.
    reference : Reference
        With an `auc`. Forecast intervals that it lacks are taken from the number of its windows.
    spread : AucSpread
        At the reference's AUROC.
    n_pos, n_neg : float
        Labelled rows to be expected of a window.
    """

    rules: Mapping[str, Rule]
    reference: Reference
    spread: AucSpread
    n_pos: float
    n_neg: float

    @property
    def auc(self) -> AucResult:
        """The reference's AUROC."""
        assert self.reference.auc is not None
        return self.reference.auc

    def window(self, auc: float) -> AucResult:
        """A window of the expected size that has this AUROC."""
        return AucResult(
            auc=auc,
            se=math.sqrt(self.spread.at(auc).variance(self.n_pos, self.n_neg)),
            n_pos=round(self.n_pos),
            n_neg=round(self.n_neg),
            method="delong",
        )


def false_alarms_a_year(scenario: Scenario, alarm: Alarm, every: timedelta) -> float:
    """Expected changes to ``degraded`` in a year of windows on which nothing is wrong.

    Parameters
    ----------
    scenario : Scenario
    alarm : Alarm
        k-of-n and recovery.
    every : timedelta
        Length of a window; windows are taken as independent, given the reference they share.

    Notes
    -----
    Exact for the status machine: its states form a Markov chain, at most about 3,000 of them, whose
    stationary distribution is solved for. The error of the reference and of a calibrated interval stays
    the same all year, which brings alarms in series: the mean is over them (Gauss quadrature).

    A ``drop``'s limit holds the reference's own error, as `compare_auc` counts it. A ``floor`` counts as far
    as the reference's AUROC is above it. A calibrated ``forecast`` counts with its level (conformal: whatever
    the drift between the reference windows was), one side of it. Other forecasts count once their
    interval is known, and ``challenger`` never alarms. ``lasting`` adds its stated probability, spread over
    its horizon: its alarms are runs of windows, apart from those of the other rules. Drift between windows
    is counted for calibrated forecasts and ``lasting`` only: the rules that `sampling_only` names alarm more
    often where windows really differ.

    AUROCs are taken as normal on the logit scale, with the error they have at the limit: what
    ``ci(transform="logit")`` does.

    Examples
    --------
    >>> reference = Reference(auc=AucResult(auc=0.8, se=0.01, n_pos=2000, n_neg=8000, method="delong"))
    >>> scenario = Scenario(
    ...     rules={"drop": Drop(confidence_level=0.95)},
    ...     reference=reference,
    ...     spread=AucSpread.normal(0.8),
    ...     n_pos=300,
    ...     n_neg=1200,
    ... )
    >>> round(false_alarms_a_year(scenario, Alarm(), timedelta(days=7)), 2)
    1.06
    """
    chances, weights = _chances(scenario)
    machine = _machine(alarm)
    rates = [_alarm_rate(chance, *machine) for chance in chances.tolist()]
    return float(weights @ np.array(rates) + _lasting_rate(scenario)) * (YEAR / every)


def improved_a_year(scenario: Scenario, alarm: Alarm, every: timedelta) -> float:
    """Expected changes to ``improved`` in a year of windows on which nothing is better.

    As `false_alarms_a_year`, on the other side: two-sided forecasts and drops find a rise as they find a
    loss. That windows may be found degraded in between is left out.
    """
    return false_alarms_a_year(_mirrored(scenario), alarm, every)


def sampling_only(scenario: Scenario) -> list[str]:
    """Names of the rules that `false_alarms_a_year` counts as if windows differed by sampling alone."""
    return [
        name
        for name, rule in scenario.rules.items()
        if isinstance(rule, Floor | Drop)
        or (_level(name, scenario) is None and _known_low(name, scenario) is not None)
    ]


def window_rate(scenario: Scenario) -> float:
    """Probability that some rule finds one window degraded although nothing is wrong."""
    chances, weights = _chances(scenario)
    return float(weights @ chances)


def first_window_drop(scenario: Scenario, *, power: float = 0.8) -> tuple[str, float] | None:
    """The smallest drop of the AUROC that one window shows with this power, and the rule that shows it.

    None when no rule can show any. Where the reference's forecast interval is known, its own low end counts.
    The power is over the errors of the window and of the reference, as in `detectable_drop`.
    """
    seen = {}
    for name in scenario.rules:
        low = _known_low(name, scenario)
        at = _limit(name, scenario, None) if low is None else _log_odds(low)
        if math.isinf(at):
            continue
        try:
            seen[name] = detectable_drop(
                scenario.spread,
                n_pos=scenario.n_pos,
                n_neg=scenario.n_neg,
                power=power,
                reference=scenario.auc,
                against=float(expit(at)),
                alternative="one-sided",
                confidence_level=0.5,  # what is compared with the limit is the AUROC itself
            )
        except DegenerateDataError:
            continue
    return min(seen.items(), key=lambda item: item[1]) if seen else None


def uncounted(scenario: Scenario) -> list[str]:
    """Names of forecast rules without a level whose interval is not known: they count nothing here."""
    return [
        name
        for name, rule in scenario.rules.items()
        if isinstance(rule, Forecast)
        and _level(name, scenario) is None
        and _known_low(name, scenario) is None
    ]


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


def _lasting_rate(scenario: Scenario) -> float:
    """Alarms of the rules `lasting` for each window, as their probability within the horizon says."""
    return sum(
        -math.log1p(-rule.false_alarm_probability)
        / rule.horizon
        / (2 if rule.alternative == "two-sided" else 1)
        for rule in scenario.rules.values()
        if isinstance(rule, Lasting)
    )


def _mirrored(scenario: Scenario) -> Scenario:
    """The scenario of the other side: with all scores negated, its drops are the rises of this one."""
    auc = 1 - scenario.auc.auc
    rules = {
        name: rule
        for name, rule in scenario.rules.items()
        if isinstance(rule, Drop)
        or (isinstance(rule, Forecast | Lasting) and rule.alternative == "two-sided")
    }
    forecasts = {
        name: replace(each, auc=auc, low=1 - each.high, high=1 - each.low)
        for name, each in scenario.reference.forecasts.items()
    }
    return replace(
        scenario,
        rules=rules,
        reference=replace(scenario.reference, auc=replace(scenario.auc, auc=auc), forecasts=forecasts),
        spread=replace(scenario.spread, auc=auc),  # its variances are the same
    )


def _chances(scenario: Scenario) -> tuple[Floats, Floats]:
    """Chances of a false finding, by what the year's reference happens to be, and their weights."""
    limits, shares = _limits(scenario)
    ends = [_logit_error(scenario.window(float(expit(x)))) if np.isfinite(x) else 1.0 for x in limits]
    hermite, weights = np.polynomial.hermite.hermgauss(9)
    true = logit(scenario.auc.auc) + math.sqrt(2) * _logit_error(scenario.auc) * hermite
    chances = ndtr((limits[:, None] - true) / np.array(ends)[:, None])
    return chances.ravel(), np.outer(shares, weights / weights.sum()).ravel()


def _limits(scenario: Scenario) -> tuple[Floats, Floats]:
    """The highest limit of all rules, by how wide calibrated intervals came out, and the weights of these."""
    calibrated = [name for name in scenario.rules if _level(name, scenario) is not None]
    fixed = max((_limit(n, scenario, None) for n in scenario.rules if n not in calibrated), default=-math.inf)
    if not calibrated:
        return np.array([fixed]), np.ones(1)
    nodes, shares = np.polynomial.legendre.leggauss(16)
    luck = ((nodes + 1) / 2).tolist()
    return np.array([max(fixed, *(_limit(n, scenario, u) for n in calibrated)) for u in luck]), shares / 2


def _limit(name: str, scenario: Scenario, luck: float | None) -> float:
    """Log odds of the AUROC below which a rule finds a window degraded; -inf if there is none.

    `luck` within (0, 1) is how wide a calibrated interval came out; None for one with just its level.
    """
    rule, reference = scenario.rules[name], scenario.auc
    level = _level(name, scenario)
    if isinstance(rule, Floor):
        return _root(
            lambda window: window.ci(rule.confidence_level, transform="logit").high - rule.value,
            scenario,
            below=rule.value,
        )
    if isinstance(rule, Drop):
        return _root(
            lambda window: compare_auc(window, reference).ci(rule.confidence_level).high + rule.value,
            scenario,
            below=reference.auc,
        )
    if isinstance(rule, Forecast) and level is not None:
        covered, windows = level
        if luck is not None:  # the coverage of a conformal interval, given its windows (Vovk 2012)
            covered = float(betaincinv(covered * (windows + 1), (1 - covered) * (windows + 1), luck))
        z = -float(ndtri((1 - covered) / (2 if rule.alternative == "two-sided" else 1)))
        centre, error = float(logit(reference.auc)), _logit_error(reference)
        return _root(
            lambda window: _log_odds(window.auc) - centre + z * math.hypot(_logit_error(window), error),
            scenario,
            below=reference.auc if z >= 0 else float(expit(centre + _DEEPEST / 2)),  # a one-sided miss
        )
    low = _known_low(name, scenario)
    return -math.inf if low is None else _log_odds(low)


def _root(excess: Callable[[AucResult], float], scenario: Scenario, *, below: float) -> float:
    """The highest log odds below which `excess` of a window is negative; at the AUROC `below` it is not."""

    def of(log_odds: float) -> float:
        return excess(scenario.window(float(expit(log_odds))))

    top = _log_odds(below)
    for down in np.arange(_STEP, _DEEPEST, _STEP).tolist():
        if of(top - down) < 0:
            return float(brentq(of, top - down, top - down + _STEP))
    return -math.inf


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
    level = min(rule.confidence_level, total / (total + 1)) if interval is None else interval.achieved_level
    return None if level is None else (level, total**2 / sum(weight**2 for weight in weights))


def _known_low(name: str, scenario: Scenario) -> float | None:
    interval = scenario.reference.forecasts.get(name)
    return None if interval is None else interval.low


def _log_odds(auc: float) -> float:
    return float(logit(auc))


def _logit_error(result: AucResult) -> float:
    return result.se / (result.auc * (1 - result.auc))


def _machine(alarm: Alarm) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The status machine: the states that follow each after a degraded and an ok window; which are alarms."""
    places = {Health(): 0}
    states = list(places)
    after: list[list[int]] = []
    for state in states:
        moves = [state.after(outcome, alarm) for outcome in (Status.DEGRADED, Status.OK)]
        for move in moves:
            if move not in places:
                places[move] = len(states)
                states.append(move)
        after.append([places[move] for move in moves])
    return np.array(after), np.array([state.status is Status.DEGRADED for state in states])


def _alarm_rate(chance: float, after: NDArray[np.intp], bad: NDArray[np.bool_]) -> float:
    """Alarms for each window, in the long run, when each is found degraded with this chance."""
    if not 0 < chance < 1:
        return 0.0
    n = len(after)
    chances = np.repeat([chance, 1 - chance], n)
    flow = csc_array((chances, (after.T.ravel(), np.tile(np.arange(n), 2))), shape=(n, n))
    # Shares are solved for as multiples of that of a state which is not rare: where the likelier outcome,
    # again and again, leads to.
    anchor = 0
    while (following := int(after[anchor, int(chance < 0.5)])) != anchor:
        anchor = following
    others = np.delete(np.arange(n), anchor)
    share = np.ones(n)
    staying = (eye_array(n, format="csc") - flow).tocsc()[others][:, others]
    share[others] = splu(staying.tocsc()).solve(flow[others][:, [anchor]].toarray().ravel())
    share /= share.sum()
    raised = bad[after] & ~bad[:, None]
    return float(np.sum(share[:, None] * raised * [chance, 1 - chance]))
