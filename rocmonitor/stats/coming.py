"""Windows to come, drawn from what the reference windows leave possible.

The true values of windows scatter about a mean, and neighbours may be alike: an AR(1) series, seen with known
sampling noise. Mean, scatter and correlation are known with error only. Each process that is possible, given
the reference windows, is drawn as often as it is probable, and goes on where the reference windows end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rocmonitor.errors import InputError
from rocmonitor.stats.proportion import require_level, whole_number
from rocmonitor.stats.rows import Floats, same_length, window_numbers
from rocmonitor.stats.sequence import ConfidenceSequence, reach
from rocmonitor.stats.series import SERIAL, Continuation, PossibleProcesses, possible

CORRELATED = 0.5
"""Weight, before the reference windows are seen, of all serial correlations but 0 together.

It is spread in proportion to the correlations. Few windows show little of their correlation, so this weight
matters. With 0.2 a third too few false alarms were expected where windows correlate by 0.5: docs/coverage.md.
"""

PROCESSES = 200
SERIES = 10_400  # windows that are drawn of each process: 200 series of 52
_SEED = 14

_FEWEST_ALIKE = 0.1  # share from which correlated processes are counted apart


class Coming(NamedTuple):
    """Series of windows to come."""

    # (k, g r): k windows of r series of each of g processes: series of one process lie side by side.
    seen: Floats
    mean: Floats  # (g,): Of the windows of each process in the long run, sampling noise included
    deviation: Floats
    # (g,): Numbers that are spread evenly over (0, 1), in no order: how well a limit came out that is not
    # known.
    luck: Floats
    serial: Floats  # (g,): Serial correlation of the windows of each process

    def by_process(self, counts: Floats) -> Floats:
        """(g,): the mean over the series of each process, of one number for each series."""
        return np.asarray(counts.reshape(len(self.mean), -1).mean(axis=1))

    def of_series(self, numbers: Floats) -> Floats:
        """(g r,): a number of each process, repeated for its series; (1,): the one number of all."""
        return numbers if len(numbers) == 1 else np.repeat(numbers, self.seen.shape[1] // len(self.mean))


def learned(values: ArrayLike, noise: ArrayLike, places: tuple[int, ...]) -> PossibleProcesses:
    """Return the processes that windows at these places of a series leave possible, at least 2 of them.

    values, noise, shape (n,): Of each window, and its sampling variance, above 0.
    places: Where in the series each window is; the first at 0.

    Prior weights: flat in the mean and in the log of the scatter, 1 - `CORRELATED` of a serial correlation
    of 0, and the rest over 0.1 to 0.95 in proportion to it. Cost: O(n g), g some 200.
    """
    of_serial = [1 - CORRELATED, *(CORRELATED * serial / sum(SERIAL) for serial in SERIAL[1:])]
    seen, variance = np.asarray(values, dtype=float), np.asarray(noise, dtype=float)
    return possible(seen, variance, places, of_serial=of_serial)


def sampling_alone(mean: float, error: float) -> PossibleProcesses:
    """Windows that differ by sampling alone, about a mean that is known with an error."""
    zero, one = np.zeros(1), np.ones(1)
    return PossibleProcesses(one, zero, zero, one * mean, one * error**2, Continuation(zero, zero, zero))


def draw(processes: PossibleProcesses, noise: float, windows: int) -> Coming:
    """Draw this number of windows of each series, each seen with sampling noise of this variance.

    The same numbers come out for the same processes. Cost: O(`PROCESSES` `SERIES`), 0.1 s.
    """
    shocks, errors, lots, luck, means = _numbers(windows)
    cumulative = np.cumsum(processes.weight)
    which = np.searchsorted(cumulative, lots * cumulative[-1]).clip(0, len(cumulative) - 1)
    mean = processes.mean[which] + np.sqrt(processes.mean_variance[which]) * means
    serial, between = processes.serial[which], processes.between[which]
    value, share, variance = (numbers[which] for numbers in processes.ahead)
    repeats = shocks.shape[1] // PROCESSES
    fresh, rho, level, first, unknown = (
        np.repeat(part, repeats)
        for part in (between * np.sqrt(1 - serial**2), serial, mean, value - mean * share, np.sqrt(variance))
    )
    state = first + unknown * shocks[0]
    seen = np.sqrt(noise) * errors
    for k in range(windows):
        state = rho * state + fresh * shocks[k] if k else state
        seen[k] += level + state
    return Coming(seen, mean, np.sqrt(between**2 + noise), luck, serial)


@lru_cache(maxsize=2)
def _numbers(windows: int) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return standard normal numbers, (windows, series) twice; three permutations of quantiles."""
    rng = np.random.default_rng(_SEED)
    repeats = max(SERIES // windows, 10)
    shocks, errors = rng.standard_normal((2, windows, PROCESSES * repeats))
    even = (np.arange(PROCESSES) + 0.5) / PROCESSES
    lots, luck, means = (rng.permutation(even) for _ in range(3))
    return shocks, errors, lots, luck, scipy.special.ndtri(means)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Events a year."""

    # On average of all that the reference leaves possible. Of a ``floor`` alone it is set so that its average
    # over references is right: see `expected_below_fixed`.
    expected: float
    low: float  # between these it is for at least 80 % of references, or nearly so: see `rate_range`
    high: float


def rate_range(rates: Floats, serial: Floats) -> tuple[float, float]:
    """Return the range of a rate: 80 % of what is possible, 90 % of it if neighbours are alike.

    A few reference windows that are alike show neither that nor how far they scatter in the long run. With a
    correlation of 0.9, 80 % of what is possible had the rate for 53 to 82 % of references: docs/coverage.md.
    """
    low, high = np.quantile(rates, [0.1, 0.9]).tolist()
    alike = rates[serial > 0]
    if len(alike) >= _FEWEST_ALIKE * len(rates):
        least, most = np.quantile(alike, [0.05, 0.95]).tolist()
        low, high = min(low, least), max(high, most)
    return low, high


def expected_below_fixed(rates: Floats, error: float) -> float:
    """Return the rate below a limit that does not depend on the reference, right on average over references.

    The reference's mean is off by chance, and all means that it leaves possible are as far off again. A rate
    grows steeply with that, so its mean over them is too high twice over. For rates with a lognormal law,
    the mean over 1 + (coefficient of variation)² has the true rate as its mean over references. `error` is
    the part of the variance of `rates` that comes from drawing few series.
    """
    mean = float(rates.mean())
    variance = max(float(rates.var()) - error, 0.0)
    return mean / (1 + variance / mean**2) if mean > 0 else 0.0


LONGEST = 52  # windows ahead that are drawn: further ahead, such windows say nothing
LEAST = 3  # windows from which their scatter can be learned
SURE = 0.95  # share of the drawn series that must be decided by the window that is named


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NextWindows:
    """Series of coming windows, each as probable as the others."""

    seen: Floats  # (LONGEST, r): Differences of the windows of each series, sampling error included
    se: float  # standard error of each

    def mean_of(self, windows: int, confidence_level: float) -> tuple[float, float]:
        """Return the ends of a prediction interval for the mean of the next windows, within [-1, 1]."""
        whole_number(windows, "windows", most=LONGEST)
        tail = (1 - require_level(confidence_level)) / 2
        low, high = np.quantile(self.seen[:windows].mean(axis=0), [tail, 1 - tail]).tolist()
        return max(low, -1.0), min(high, 1.0)

    def until_decided(self, sequence: ConfidenceSequence, margin: float) -> int | None:
        """Return the number of windows by which `SURE` of the series are decided; None beyond `LONGEST`.

        sequence: Of the windows so far, with estimand "period". The coming ones weigh as much as these on
            average.
        margin: Decided is a sequence with ``low > margin``, ``high < -margin`` or, with a margin above 0,
            ``low > -margin``.
        """
        if sequence.estimand != "period":
            raise InputError(
                "sequence must have estimand 'period': of the future too few are decided in time"
            )
        so_far = len(sequence.estimate)
        windows = np.arange(1.0, LONGEST + 1)
        share = windows / (so_far + windows)
        means = self.seen.cumsum(axis=0) / windows[:, None]
        mean = sequence.estimate[-1] + share[:, None] * (means - sequence.estimate[-1])
        below, above = (distance[:, None] for distance in reach(sequence, windows))
        low, high = mean - below, mean + above
        decided = (low > margin) | (high < -margin) | ((margin > 0) & (low > -margin))
        by = np.logical_or.accumulate(decided, axis=0).mean(axis=1)
        return None if by[-1] < SURE else int(1 + np.argmax(by >= SURE))


def next_windows(differences: ArrayLike, ses: ArrayLike, places: tuple[int, ...]) -> NextWindows | None:
    """Draw coming windows from all that those so far leave possible; None with fewer than `LEAST`.

    differences, ses, shape (k,): Differences of AUCs or rates, one for each window, and their standard
        errors; 0 counts as the pooled one. None also while no window has any.
    places: The position of each window in the series, increasing. A place without a window is a gap.

    A coming window has the mean sampling variance of those so far. Coverage by simulation: docs/coverage.md.
    Cost: O(k g) and 0.1 s.
    """
    d, s = window_numbers(differences, "differences"), window_numbers(ses, "ses")
    same_length(differences=d, ses=s, places=np.array(places))
    if np.any(np.diff(places) <= 0):
        raise InputError(f"places must increase: the windows in their order; they are {places}")
    if len(d) < LEAST or not np.any(s > 0):
        return None
    noise = s**2
    noise = np.where(noise > 0, noise, noise.mean())
    at = tuple(place - places[0] for place in places)
    drawn = draw(learned(d, noise, at), float(noise.mean()), LONGEST)
    return NextWindows(seen=drawn.seen, se=float(np.sqrt(noise.mean())))
