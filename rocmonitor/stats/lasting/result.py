"""The chart over later windows: whether and since when the AUC has changed, and by how much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.stats import plotting
from rocmonitor.stats.lasting.windows import scaled, unscaled
from rocmonitor.stats.nouns import decimals
from rocmonitor.stats.proportion import require_level
from rocmonitor.stats.result import Interval, Table
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.series import NormalMixture, PossibleProcesses, innovations

MOST_STARTS = 156  # windows up to an alarm's first, and of the latest, with which a change may have begun


class StartSteps(NamedTuple):
    """Steps that start with each of some windows; the columns of `LastingChange`, empty without a change."""

    starts: tuple[int, ...] = ()  # places in the series
    start_log_likelihood: tuple[float, ...] = ()  # the largest over sizes and means
    start_weight: tuple[float, ...] = ()  # how probable each start is, all as probable before
    start_size: tuple[float, ...] = ()  # of the step, given its start
    start_size_error: tuple[float, ...] = ()


class StepSums(NamedTuple):
    """Products a' V^-1 b of the values y, ones and the steps, for each covariance V: (g,) or (s, g)."""

    log_det: Floats
    ones: Floats
    values: Floats
    square: Floats
    steps: Floats
    steps_ones: Floats
    steps_values: Floats


def steps(values: Floats, noise: Floats, starts: Sequence[int], outlook: PossibleProcesses) -> StartSteps:
    """Fit a step from each of the starts to the end of the series.

    values, noise, shape (t,): Values less a constant near them, and sampling variances; infinite for a gap.
    starts: Places in the series with a value, after the windows of the reference.

    Least squares for mean and step at each point of a grid of correlations and scatters, whose weights follow
    from the likelihood of the residuals. Cost: O(t s g).
    """
    sums = step_sums(values, noise, starts, outlook.serial, outlook.between)
    apart = sums.square - sums.values**2 / sums.ones
    information = sums.steps - sums.steps_ones**2 / sums.ones
    score = sums.steps_values - sums.steps_ones * sums.values / sums.ones
    information = np.maximum(information, 1e-300)
    size = score / information
    prior = np.log(np.maximum(outlook.prior, 1e-300))
    base = prior - 0.5 * (sums.log_det + np.log(sums.ones) + apart)
    profile = base + 0.5 * score * size
    integrated = profile - 0.5 * np.log(information)
    likelihood = scipy.special.logsumexp(profile, axis=1)
    weight = scipy.special.logsumexp(integrated, axis=1)
    share = np.exp(integrated - weight[:, None])
    mean = np.sum(share * size, axis=1)
    variance = np.sum(share * (1 / information + (size - mean[:, None]) ** 2), axis=1)
    chance = np.exp(weight - weight.max())
    columns = likelihood, chance / chance.sum(), mean, np.sqrt(variance)
    return StartSteps(tuple(starts), *(tuple(column.tolist()) for column in columns))


def step_sums(
    values: Floats, noise: Floats, starts: Sequence[int], serial: Floats, between: Floats
) -> StepSums:
    """Run the Kalman filter of an AR(1) plus noise on values, ones and all steps at once."""
    steps = np.arange(len(values))[:, None] >= np.array(starts)
    columns = np.column_stack([values, np.ones(len(values)), steps])
    log_det, sums = np.zeros(len(serial)), np.zeros((3, columns.shape[1], len(serial)))
    for apart, spread, *_ in innovations(columns, noise, serial, between):
        log_det += np.log(spread)
        weighed = apart / spread
        sums += np.stack([weighed * apart[0], weighed * apart[1], weighed * apart])
    of_values, of_ones, own = sums
    return StepSums(log_det, own[1], of_values[1], own[0], own[2:], of_ones[2:], of_values[2:])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LastingChange(Table):
    """A chart over the windows since the reference.

    Attributes
    ----------
    statistic, shape (k,): After each window: the weighted mean of the latest windows, in its standard errors
        below the reference's mean. A gap leaves it as it was.
    mean_change, shape (k,): The same as an AUC less that of the reference; negative is below. Windows of
        `CAP` standard deviations or more count as such.
    alarm_change, shape (k,): The `mean_change` at the limit.
    alarm, shape (k,): 1 where the window leaves an alarm of a fall, -1 of a rise, 0 none.
    limit: An alarm begins with a statistic above it, or with "two-sided" also below its negative. It ends
        below half of it, so that one change is one alarm.
    crossed: Index of the first window whose statistic is beyond the limit; None if there is none.
    active: Whether the last window leaves an alarm.
    since: Index of the window with which the change most probably began; None without a change. With several
        alarms it is about the latest.
    until: Index of the last window beyond the limit.
    change: The AUC since then less that of the reference windows; negative is a loss.
    reference_auc: The mean of the reference windows.
    starts: Windows with which the change may have begun; for each `start_log_likelihood` (the largest over
        sizes of the change), `start_weight` (adding up to 1), and the size on the scale 2 arcsin sqrt(AUC)
        with its standard error, `start_size` and `start_size_error`.
    false_alarm_probability, horizon, alternative: As in `lasting_change`.
    n_windows: Reference windows used.

    Notes
    -----
    A change is estimated because it was found: that makes it look larger than it is, the more the smaller
    it is. docs/coverage.md has how often the intervals hold.
    """

    _estimate: ClassVar[str | None] = "change"

    statistic: Floats
    mean_change: Floats
    alarm_change: Floats
    alarm: NDArray[np.int8]
    limit: float
    crossed: int | None
    active: bool
    since: int | None
    until: int | None
    change: float | None
    reference_auc: float
    starts: tuple[int, ...]
    start_log_likelihood: tuple[float, ...]
    start_weight: tuple[float, ...]
    start_size: tuple[float, ...]
    start_size_error: tuple[float, ...]
    false_alarm_probability: float
    horizon: int
    alternative: Literal["two-sided", "less"]
    n_windows: int
    caveats: tuple[Caveat, ...]

    def since_ci(self, confidence_level: float = 0.95) -> tuple[int, int] | None:
        """First and last index of the windows with which the change may have begun; None without one.

        Those whose log-likelihood is at most -log(1 - sqrt(level)) below the largest, and all between them:
        on each side of a step the log-likelihood falls short by an exponential variable at most.
        """
        level = require_level(confidence_level)
        if self.since is None:
            return None
        bound = max(self.start_log_likelihood) + math.log(1 - math.sqrt(level))
        pairs = zip(self.starts, self.start_log_likelihood, strict=True)
        kept = [start for start, log in pairs if log >= bound]
        return min(kept), max(kept)

    def ci(self, confidence_level: float = 0.95) -> Interval | None:
        """Confidence interval of `change`, over all times at which it may have begun; None without one."""
        level = require_level(confidence_level)
        if self.since is None:
            return None
        mixture = NormalMixture(*map(np.array, (self.start_weight, self.start_size, self.start_size_error)))
        ends = (mixture.quantile(tail) for tail in ((1 - level) / 2, (1 + level) / 2))
        usual = self.reference_auc
        low, high = (unscaled(scaled(usual) + end) - usual for end in ends)
        return Interval(low, high)

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        number = np.arange(float(len(self.statistic)))
        plotting.along(ax, number, self.statistic, None, None, label=label)
        limits = (self.limit, -self.limit) if self.alternative == "two-sided" else (self.limit,)
        plotting.limits(ax, limits, f"limit {self.limit:.2f}")
        note = "no lasting change"
        if (first := self.since_ci()) is not None and (interval := self.ci()) is not None:
            begin, end = first
            name = f"began with window {begin}" + (f" to {end}" if end > begin else "")
            plotting.stretches(ax, [(begin - 0.5, end + 0.5)], name)
            note = f"AUROC {self.change:+.4f} ({interval:+.4f}), 95 % intervals"
        chance = f"{100 * self.false_alarm_probability:g} % false alarms in {self.horizon} windows"
        plotting.describe(ax, x="window", y="fall, in standard errors", note=f"{note}; {chance}")

    def __str__(self) -> str:
        if self.since is None or self.change is None:
            return (
                f"No lasting change in {len(self.statistic)} windows: chart at {self.statistic[-1]:.2f}, "
                f"limit {self.limit:.2f}"
            )
        interval, first = self.ci(), self.since_ci()
        assert interval is not None
        assert first is not None
        digits = f".{decimals((interval.high - interval.low) / 4)}f"
        return (
            f"AUC {self.change:+{digits}} ({interval:+{digits}}) since window "
            f"{self.since} ({first[0]} to {first[1]}), found with window {self.crossed}"
        )


class ChartCourse(NamedTuple):
    """A chart after each window; the columns of `LastingChange`."""

    statistic: Floats
    mean_change: Floats
    alarm_change: Floats
    alarm: NDArray[np.int8]
