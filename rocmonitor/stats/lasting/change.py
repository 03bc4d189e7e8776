"""Since when, and how large: a step of unknown time in a series whose neighbours may be alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from rocmonitor.stats.lasting.limit import Outlook
from rocmonitor.stats.rows import Floats

MOST_STARTS = 156
"""Latest windows among which the start of a change is looked for."""


class Steps(NamedTuple):
    """Steps that start with each of some windows, shape (s,) each."""

    start: tuple[int, ...]  # places in the series
    log_likelihood: Floats  # the largest over sizes and means
    weight: Floats  # how probable each start is, all as probable before
    size: Floats  # of the step, given its start
    size_error: Floats


class StepSums(NamedTuple):
    """Products a' V^-1 b of the values y, ones and the steps, for each covariance V: (g,) or (s, g)."""

    log_det: Floats
    ones: Floats
    values: Floats
    square: Floats
    steps: Floats
    steps_ones: Floats
    steps_values: Floats


def steps(values: Floats, noise: Floats, starts: Sequence[int], outlook: Outlook) -> Steps:
    """Fit a step from each of the starts to the end of the series.

    Parameters
    ----------
    values, noise : ndarray, shape (t,)
        Values less a constant near them, and their sampling variances; infinite for a gap.
    starts : sequence of int
        Places in the series with a value; windows of the reference are before all of them.
    outlook : Outlook
        Grid of correlations and scatters, with the weights that the reference windows give them.

    Notes
    -----
    Least squares for mean and step at each point of the grid, whose weights follow from the windows outside
    of the step's mean: the likelihood of the residuals. Cost: O(t s g).
    """
    of = step_sums(values, noise, starts, outlook.serial, outlook.between)
    apart = of.square - of.values**2 / of.ones
    information = of.steps - of.steps_ones**2 / of.ones
    score = of.steps_values - of.steps_ones * of.values / of.ones
    information = np.maximum(information, 1e-300)
    size = score / information
    prior = np.log(np.maximum(outlook.prior, 1e-300))
    base = prior - 0.5 * (of.log_det + np.log(of.ones) + apart)
    profile = base + 0.5 * score * size
    integrated = profile - 0.5 * np.log(information)
    likelihood = scipy.special.logsumexp(profile, axis=1)
    weight = scipy.special.logsumexp(integrated, axis=1)
    share = np.exp(integrated - weight[:, None])
    mean = np.sum(share * size, axis=1)
    variance = np.sum(share * (1 / information + (size - mean[:, None]) ** 2), axis=1)
    chance = np.exp(weight - weight.max())
    return Steps(tuple(starts), likelihood, chance / chance.sum(), mean, np.sqrt(variance))


def step_sums(
    values: Floats, noise: Floats, starts: Sequence[int], serial: Floats, between: Floats
) -> StepSums:
    """The Kalman filter of an AR(1) plus noise, run on values, ones and all steps with the same gains."""
    stationary = between**2
    fresh = stationary * (1 - serial**2)
    first = np.array(starts)
    state, ahead = stationary.copy(), np.zeros((2 + len(starts), len(serial)))
    log_det, sums = np.zeros(len(serial)), np.zeros((3, 2 + len(starts), len(serial)))
    for place, value in enumerate(values.tolist()):
        if math.isinf(noise[place]):
            ahead, state = serial * ahead, serial**2 * state + fresh
            continue
        seen = np.concatenate([[value, 1.0], (place >= first).astype(float)])
        apart = seen[:, None] - ahead
        spread = state + noise[place]
        log_det += np.log(spread)
        scaled = apart / spread
        sums += np.stack([scaled * apart[0], scaled * apart[1], scaled * apart])
        gain = state / spread
        ahead = serial * (ahead + gain * apart)
        state = serial**2 * (1 - gain) * state + fresh
    of_values, of_ones, own = sums
    return StepSums(log_det, own[1], of_values[1], own[0], own[2:], of_ones[2:], of_values[2:])


def mixed_quantile(weight: Floats, mean: Floats, error: Floats, probability: float) -> float:
    """A quantile of a mixture of normal laws, by bisection."""
    low, high = float(np.min(mean - 9 * error)), float(np.max(mean + 9 * error))
    for _ in range(60):
        middle = (low + high) / 2
        below = float(weight @ scipy.special.ndtr((middle - mean) / error))
        low, high = (middle, high) if below < probability else (low, middle)
    return (low + high) / 2
