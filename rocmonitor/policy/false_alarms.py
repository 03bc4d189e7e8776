"""How often a configuration raises an alarm when nothing is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import numpy as np

from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.rules import Drop, Forecast, Rule
from rocmonitor.policy.status import Alarm, Health

YEAR = timedelta(days=365.25)


def false_alarms_a_year(rules: Iterable[Rule], alarm: Alarm, every: timedelta) -> float:
    """Expected changes to ``degraded`` in a year of windows on which nothing is wrong, at most.

    Parameters
    ----------
    rules : iterable of Rule
    alarm : Alarm
        k-of-n and recovery.
    every : timedelta
        Length of a window; windows are taken as independent.

    Notes
    -----
    Exact for the status machine: its states form a Markov chain, at most 2**11 of them, whose stationary
    distribution is solved for.

    Examples
    --------
    >>> round(false_alarms_a_year([Forecast(confidence_level=0.95)], Alarm(), timedelta(days=7)), 2)
    1.27
    """
    chance = window_rate(rules)
    if chance == 0:
        return 0.0
    return float(_alarm_rate(chance, alarm) * (YEAR / every))


def window_rate(rules: Iterable[Rule]) -> float:
    """Largest probability that some rule finds one window degraded although the model is as in the reference.

    ``forecast`` and ``drop`` count with half of 1 - confidence_level, for one of their two sides; a ``drop``
    that allows for a loss has less. They are taken as independent, which overstates it: they look at the
    same AUROC. ``floor`` counts 0: a model above its floor is found below it with at most half of
    1 - confidence_level, and far above it hardly ever.
    """
    quiet = 1.0
    for rule in rules:
        if isinstance(rule, Forecast | Drop):
            quiet *= 1 - (1 - rule.confidence_level) / 2
    return 1 - quiet


def _alarm_rate(chance: float, alarm: Alarm) -> float:
    """Alarms for each window, in the long run."""
    start = Health()
    states = {start: 0}
    queue = [start]
    moves: list[tuple[int, int, float]] = []
    for state in queue:
        for outcome, probability in ((Status.DEGRADED, chance), (Status.OK, 1 - chance)):
            after = state.after(outcome, alarm)
            if after not in states:
                states[after] = len(states)
                queue.append(after)
            moves.append((states[state], states[after], probability))
    flow = np.zeros((len(states), len(states)))
    for source, target, probability in moves:
        flow[target, source] += probability
    # Stationary: flow @ share = share. One of these equations is spare: the shares add up to 1 instead.
    system = flow - np.eye(len(states))
    system[0] = 1
    share = np.linalg.solve(system, np.eye(len(states))[0])
    bad = np.array([state.status is Status.DEGRADED for state in states])
    return float(sum(share[source] * p for source, target, p in moves if bad[target] and not bad[source]))
