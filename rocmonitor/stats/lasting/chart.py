"""A lasting change of the AUC: a drop that stayed, since when, and how large.

A chart is computed once from the reference windows (`LastingChart`) and applied to the numbers of the later
windows, as often as new ones or corrected ones come.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.conventions import ENOUGH_WINDOWS, FEWEST_WINDOWS
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.delong import moments
from rocmonitor.stats.lasting.result import MOST_STARTS, ChartCourse, LastingChange, StartSteps, steps
from rocmonitor.stats.lasting.windows import (
    ChartShape,
    PairVariances,
    Running,
    WindowAuc,
    adjusted,
    alarms,
    largest_values,
    noises,
    running,
    scaled,
    seasonal,
    unscaled,
    valid_numbers,
)
from rocmonitor.stats.proportion import is_number, require_method, whole_number
from rocmonitor.stats.recovery import Change
from rocmonitor.stats.result import Result
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.sample import Sample
from rocmonitor.stats.series import WHOLE_YEAR, YEAR_DAYS, days_covered, possible, scatter_between

Alternative = Literal["two-sided", "less"]

_ALIKE = 0.15  # serial correlation, on average of what is possible, that is worth a caveat
LONGEST = 1000  # windows of a horizon


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LastingChart(Result):
    """The settings of a chart over later windows, from the reference windows; frozen, to be stored.

    Attributes
    ----------
    mean, between: Mean of the reference windows and standard deviation of their true values, on the chart's
        scale 2 arcsin sqrt(AUC).
    noise: Sampling variance there of a window of the median size.
    mean_share: Variance of `mean` over that of such a window.
    limit: What the chart passes within `horizon` windows with the probability `false_alarm_probability`.
    serial: Serial correlation of the true values, the mean of what the reference windows leave possible.
    values, noises: Of the reference windows, and their places in the series, which begins with the first
        usable one.
    pair_variances: AUC, zeta10, zeta01 and the variance of psi over all pairs of the reference.
    wave: What the season of a window adds to its value; 0 where it explains too little.
    n_windows: Reference windows used.
    """

    mean: float
    between: float
    noise: float
    mean_share: float
    limit: float
    serial: float
    values: tuple[float, ...]
    noises: tuple[float, ...]
    places: tuple[int, ...]
    pair_variances: tuple[float, float, float, float]
    wave: tuple[float, float]
    false_alarm_probability: float
    horizon: int
    alternative: Alternative
    n_windows: int
    caveats: tuple[Caveat, ...] = ()

    def __str__(self) -> str:
        return f"chart from {self.n_windows} reference windows, limit {self.limit:.2f}"

    def apply(self, later: Sequence[WindowAuc | None]) -> LastingChange:
        """Return the chart over later windows, and the change that it shows.

        Parameters
        ----------
        later: All windows since the reference, in order; None for a gap. With `day` where the reference
            windows had one.

        Notes
        -----
        Cost: O(k); with a change O(k² g), g some 200.
        """
        course, values, noise = self._course(later)
        columns = self._drawn(course)
        reached = columns.statistic if self.alternative == "less" else np.abs(columns.statistic)
        passed = np.flatnonzero(reached > self.limit)
        until = int(passed[-1]) if len(passed) else None
        reference = unscaled(self.mean)
        fitted = StartSteps()
        if until is not None:  # fit steps to the windows of the reference and the later ones, up to this one
            before, places = self.places[-1] + 1, list(self.places)
            series, variances = np.zeros(before + until + 1), np.full(before + until + 1, np.inf)
            series[places], variances[places] = np.array(self.values) - self.mean, self.noises
            seen = np.isfinite(noise[: until + 1])
            series[before:] = np.where(seen, values[: until + 1] - self.mean, 0.0)
            variances[before:] = noise[: until + 1]
            usable = np.flatnonzero(seen)
            apart = np.flatnonzero(columns.alarm[:until] != columns.alarm[until])
            found_with = apart[-1] + 1 if len(apart) else 0
            # However long an alarm lasts: what it is about began with its first window at the latest.
            starts = np.union1d(usable[usable <= found_with][-MOST_STARTS:], usable[-MOST_STARTS:])
            outlook = possible(np.array(self.values), np.array(self.noises), self.places)
            fitted = steps(series, variances, (before + starts).tolist(), outlook)
            fitted = fitted._replace(starts=tuple(starts.tolist()))
        size = float(np.dot(fitted.start_weight, fitted.start_size))
        return LastingChange(
            **columns._asdict(),
            limit=self.limit,
            crossed=int(passed[0]) if len(passed) else None,
            active=bool(columns.alarm[-1]),
            since=None if until is None else fitted.starts[int(np.argmax(fitted.start_log_likelihood))],
            until=until,
            change=None if until is None else unscaled(scaled(reference) + size) - reference,
            reference_auc=reference,
            false_alarm_probability=self.false_alarm_probability,
            horizon=self.horizon,
            alternative=self.alternative,
            n_windows=self.n_windows,
            caveats=self.caveats,
            **fitted._asdict(),
        )

    def follow(self, later: Sequence[WindowAuc | None]) -> ChartCourse:
        """Return the chart over later windows without the change that it shows. Cost: O(k)."""
        return self._drawn(self._course(later)[0])

    def _drawn(self, course: Running) -> ChartCourse:
        """Return the chart on the scale of the AUC, and its alarms."""
        statistic = course.statistic
        alarm = alarms(statistic, self.limit, two_sided=self.alternative == "two-sided")
        reference, deviation = unscaled(self.mean), math.sqrt(self.between**2 + self.noise)
        limits = np.where(alarm < 0, -1, 1) * self.limit * course.error
        start = scaled(reference)
        mean_change, alarm_change = (
            np.array([unscaled(start - deviation * distance) - reference for distance in apart.tolist()])
            for apart in (course.mean, limits)
        )
        return ChartCourse(statistic, mean_change, alarm_change, alarm)

    def change(self, window: WindowAuc, se: float = 0.0) -> Change:
        """Return the AUROC of a later window less that of the reference windows, with what it is known by.

        `se` is that of the window's own AUROC: it counts where it is larger than that of such a window in the
        reference, for the classes overlap more. Serial correlation makes neighbouring windows count as fewer:
        variances grow by (1 + r) / (1 - r).
        """
        values, noise = self._numbers([window])
        usual = unscaled(self.mean + scaled(window.auc) - float(values[0]))
        per_auc, alike = max(usual * (1 - usual), 1e-12), (1 + self.serial) / (1 - self.serial)
        sampling = max(per_auc * float(noise[0]), se**2)
        return Change(
            window.auc - usual,
            math.sqrt(alike * (per_auc * self.between**2 + sampling)),
            math.sqrt(alike * per_auc * self.mean_share * (self.between**2 + self.noise)),
        )

    def alarms(self, values: Floats) -> NDArray[np.int8]:
        """Return the alarms of series of windows of the usual size: -1 a fall, 0 none, 1 a rise.

        values, shape (k, r): k windows of r series, on the chart's scale, without what the season adds.
        """
        course = self._running(values, np.full(len(values), self.noise))
        return np.asarray(-alarms(course.statistic, self.limit, two_sided=self.alternative == "two-sided"))

    def _course(self, later: Sequence[WindowAuc | None]) -> tuple[Running, Floats, Floats]:
        """Return the chart, and of each window the value and the sampling variance."""
        windows = valid_numbers(later, "later")
        if not windows:
            raise InputError("later is empty: the chart begins with the first window after the reference")
        values, noise = self._numbers(windows)
        return self._running(values, noise), values, noise

    def _running(self, values: Floats, noise: Floats) -> Running:
        """Return the chart over values, (k,) or (k, r), whose sampling variances are `noise`, (k,)."""
        own, seen = self.between**2 + np.where(np.isinf(noise), 0.0, noise), np.isfinite(noise)
        standardised, size = np.zeros(values.shape), np.zeros(len(values))
        of_series = np.sqrt(own[seen]).reshape(-1, *[1] * (values.ndim - 1))
        standardised[seen] = (self.mean - values[seen]) / of_series
        size[seen] = np.sqrt((self.between**2 + self.noise) / own[seen])
        return running(standardised, size, self.mean_share)

    def _numbers(self, windows: Sequence[WindowAuc | None]) -> tuple[Floats, Floats]:
        """(k,): values without what the season adds, and sampling variances; infinite for a gap."""
        values, noise = np.zeros(len(windows)), np.full(len(windows), np.inf)
        pairs = PairVariances(*self.pair_variances)
        for place, window in enumerate(windows):
            if window is not None:
                values[place] = scaled(window.auc) - seasonal(self.wave, window)
                noise[place] = noises([window], pairs, self.between**2)[0]
        return values, noise


def lasting_chart(
    windows: Sequence[WindowAuc | None],
    pair_variances: tuple[float, float, float, float],
    *,
    false_alarm_probability: float = 0.05,
    horizon: int = 52,
    alternative: Alternative = "less",
) -> LastingChart:
    """Return the chart that reference windows set up, from their numbers.

    Parameters
    ----------
    windows: Reference windows in order, at least 3 with rows of both classes; None for a gap.
    pair_variances: AUC of all rows of the reference, zeta10, zeta01 and the variance of psi over all its
        pairs.
    false_alarm_probability, horizon, alternative: As in `lasting_change`.

    Notes
    -----
    Cost: O(6000 horizon + n g), some 20 ms for 52 windows.
    """
    require_method(alternative, ("two-sided", "less"), "alternative")
    probability = false_alarm_probability
    if not is_number(probability) or not 0.001 <= probability <= 0.5:
        raise InputError(
            f"false_alarm_probability must lie within 0.001 and 0.5, for example 0.05; it is {probability!r}"
        )
    ahead = whole_number(horizon, "horizon", most=LONGEST)
    numbers = valid_numbers(windows, "reference")
    used = [window for window in numbers if window is not None]
    _require_windows(len(used), len(numbers))
    at = np.flatnonzero([window is not None for window in numbers])
    places = tuple((at - at[0]).tolist())
    pairs, (wave, values) = PairVariances(*pair_variances), adjusted(used)
    if values.var() == 0 and pairs.noise(1, 1) == 0:
        raise DegenerateDataError(
            f"the {len(values)} reference windows show no scatter: each has the AUC {used[0].auc:.4g} and no "
            "sampling error; a change cannot be measured against them: check that scores and labels are right"
        )
    noise = noises(used, pairs, float(values.var()))
    between = scatter_between(values, noise)
    weight, typical = 1 / (noise + between), float(np.median(noise))
    days = [window.day for window in used if window.day is not None] if any(wave) else []
    shape = ChartShape(
        mean=float(weight @ values / weight.sum()),
        noise=typical,
        deviation=math.sqrt(between + typical),
        mean_share=float(1 / weight.sum()) / (between + typical),
        wave_error=math.sqrt(2 / weight.sum()) if days else 0.0,
        wave_step=float(np.median(np.diff(days))) * 2 * math.pi / YEAR_DAYS if days else 0.0,
    )
    outlook = possible(values, noise, places)
    largest = largest_values(outlook, shape, ahead, two_sided=alternative == "two-sided")
    caveats = []
    if len(used) < ENOUGH_WINDOWS:
        caveats.append(Caveat("few-reference-windows", n_windows=len(used), enough=ENOUGH_WINDOWS))
    if len({window.auc for window in used}) == 1:
        caveats.append(Caveat("reference-windows-equal", n_windows=len(used), auc=used[0].auc))
    if outlook.mean_serial > _ALIKE:
        alike = outlook.mean_serial
        caveats.append(Caveat("reference-windows-alike", correlation=alike, n_windows=len(used)))
    covered = days_covered([window.day for window in used])
    if covered is not None and covered < WHOLE_YEAR:
        caveats.append(Caveat("season-not-seen", days=round(covered)))
    return LastingChart(
        mean=shape.mean,
        between=math.sqrt(between),
        noise=shape.noise,
        mean_share=shape.mean_share,
        limit=float(np.quantile(largest, 1 - probability)),
        serial=outlook.mean_serial,
        values=tuple(values.tolist()),
        noises=tuple(noise.tolist()),
        places=places,
        pair_variances=pairs,
        wave=wave,
        false_alarm_probability=float(probability),
        horizon=ahead,
        alternative=alternative,
        n_windows=len(used),
        caveats=tuple(caveats),
    )


def lasting_change(
    reference: Sequence[Sample | None],
    later: Sequence[Sample | None],
    *,
    false_alarm_probability: float = 0.05,
    horizon: int = 52,
    alternative: Alternative = "less",
    days: tuple[Sequence[float], Sequence[float]] | None = None,
) -> LastingChange:
    """Find a drop of the AUC since the reference windows that has stayed: since when, and how large.

    Parameters
    ----------
    reference, later: Windows in order: those that later ones are compared with, at least 3 (from 8 on their
        scatter is known well enough), and all since then. None, or a window of one class, is a gap.
    false_alarm_probability: Of any alarm within `horizon` windows when nothing lasts, 0.001 to 0.5.
    horizon: Windows, 1 to 1,000.
    alternative, {"less", "two-sided"}: "less" looks for a loss only.
    days: Days since a fixed date of each window. With a year of reference windows the season is taken off, as
        far as they show one.

    Raises
    ------
    InputError: Something that is no `Sample`; impossible numbers; sequences of unequal length.
    DegenerateDataError: Fewer than 3 usable reference windows, or windows without any scatter.

    Notes
    -----
    The exponentially weighted mean [R59] of docs/method.md, section 3. The sd of a window holds its sampling
    noise (exact bootstrap variance) and the scatter of the reference windows beyond theirs [PM82]. An alarm
    ends below half of the limit, so that one change is one alarm. Level and power by simulation:
    docs/coverage.md. Cost: O(rows log rows), and some 20 ms.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> def week(drop: float) -> Sample:
    ...     shift = rng.normal(1.2 - drop, 0.05)
    ...     return Sample([0] * 900 + [1] * 300, [*rng.normal(size=900), *rng.normal(shift, 1, 300)])
    >>> drops = [0] * 3 + [0.3] * 6
    >>> found = lasting_change([week(0) for _ in range(19)], [week(drop) for drop in drops])
    >>> print(found)
    AUC -0.0561 (-0.0716 to -0.0413) since window 3 (3 to 4), found with window 5
    """
    before, after = (
        _numbers(windows, name, side, days)
        for side, (windows, name) in enumerate([(reference, "reference"), (later, "later")])
    )
    usable = [window for window, numbers in zip(reference, before, strict=True) if numbers and window]
    _require_windows(len(usable), len(before))
    whole = Sample.merge(usable)
    pairs = moments(whole)
    chart = lasting_chart(
        before,
        (pairs.auc, pairs.zeta10, pairs.zeta01, pairs.kernel),
        false_alarm_probability=false_alarm_probability,
        horizon=horizon,
        alternative=alternative,
    )
    return chart.apply(after)


def _numbers(
    windows: Sequence[Sample | None],
    name: str,
    side: int,
    days: tuple[Sequence[float], Sequence[float]] | None,
) -> list[WindowAuc | None]:
    if not isinstance(windows, Sequence):
        raise InputError(f"{name} must be a list of Sample, not a {type(windows).__name__}")
    if days is None:
        dates: Sequence[float | None] = [None] * len(windows)
    elif not isinstance(days, tuple | list) or len(days) != 2 or len(days[side]) != len(windows):
        raise InputError(
            "days must be two sequences, with one number for each reference window and one for each later "
            f"one; the {len(windows)} windows of {name} do not match"
        )
    else:
        dates = days[side]
    numbers: list[WindowAuc | None] = []
    for place, (window, day) in enumerate(zip(windows, dates, strict=True)):
        if window is not None and not isinstance(window, Sample):
            raise InputError(f"{name}[{place}] must be a Sample or None, not a {type(window).__name__}")
        if window is None or not window.n_pos or not window.n_neg:
            numbers.append(None)
        else:
            numbers.append(WindowAuc(moments(window).auc, window.n_pos, window.n_neg, day))
    return numbers


def _require_windows(usable: int, given: int) -> None:
    if usable < FEWEST_WINDOWS:
        raise DegenerateDataError(
            f"a lasting change needs at least {FEWEST_WINDOWS} reference windows with both classes, which "
            f"show how much windows differ; {usable} of {given} can be used: give more or shorter windows"
        )


DRAWN = 0.005  # the smallest probability that the drawn series show themselves: 30 of 6,000
_FITTED = (0.1, 0.07, 0.05, 0.03, 0.02, 0.014, 0.01, 0.007, DRAWN)


def at_probability(chart: LastingChart, false_alarm_probability: float) -> LastingChart:
    """Return the same chart with the limit that it passes within its horizon with another probability.

    false_alarm_probability: Above 0 and below 1, also less than `lasting_chart` takes.

    Limits for probabilities of `DRAWN` and more are quantiles of the largest value of drawn series. Below,
    they go on from the last of these, as steep as a line through them against normal quantiles. The chart's
    own limit stays that of its own probability. Cost: as `lasting_chart`.
    """
    chance = false_alarm_probability
    if not 0 < chance < 1:
        raise InputError(f"false_alarm_probability must lie within (0, 1), such as 0.001; it is {chance!r}")
    if chance == chart.false_alarm_probability:
        return chart
    limit = _limits(chart)
    share = limit(chance) / limit(chart.false_alarm_probability)
    return replace(chart, limit=chart.limit * share, false_alarm_probability=chance)


@lru_cache(maxsize=64)
def _limits(chart: LastingChart) -> Callable[[float], float]:
    """Return the limit of the series that the reference windows leave possible, by its probability.

    The segments of a window ask for many probabilities of the same charts.
    """
    noise, between = np.array(chart.noises), chart.between**2
    shape = ChartShape(
        mean=chart.mean,
        noise=chart.noise,
        deviation=math.sqrt(between + chart.noise),
        mean_share=chart.mean_share,
    )
    drawn = largest_values(
        possible(np.array(chart.values), noise, chart.places),
        shape,
        chart.horizon,
        two_sided=chart.alternative == "two-sided",
    )

    def limit(chance: float) -> float:
        if chance >= DRAWN:
            return float(np.quantile(drawn, 1 - chance))
        shown = np.quantile(drawn, 1 - np.array(_FITTED))
        slope = float(np.polyfit(-scipy.special.ndtri(_FITTED), shown, 1)[0])
        return float(shown[-1] + slope * (scipy.special.ndtri(DRAWN) - scipy.special.ndtri(chance)))

    return limit
