"""Alarms in simulated years: outcomes of windows, the statuses that follow, and how often these change.

Outcomes come from whoever judges, as a function of one number: `steps_of` asks where they change. So many
windows are drawn (`rocmonitor.stats.coming`) and few are judged. Scores are drawn while nothing is wrong, and
when positives come to score as negatives do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtr, ndtri

from rocmonitor.halving import halved
from rocmonitor.stats.coming import Coming, Rate, draw, expected_below_fixed, learned, rate_range
from rocmonitor.stats.forecast.given_scores import ScoreHistory
from rocmonitor.stats.lasting.chart import LastingChart
from rocmonitor.stats.lasting.windows import scaled
from rocmonitor.stats.recovery import Change, recovery
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.sample import Sample, ScoreCounts

Codes = NDArray[np.int8]
"""Outcomes or statuses, shape (windows, series): degraded -1, ok 0, improved 1."""

DEGRADED, IMPROVED = -1, 1

TOGETHER = "together"
"""In place of a rule's name: all of them."""

_POINTS = 97
"""Numbers at which a judge is asked, evenly spread."""

_HALVINGS = 30


class Counting(Protocol):
    """The windows that make an alarm: `after` of the last `of`; a good status needs `recover_after`."""

    @property
    def after(self) -> int:
        """Windows that make an alarm."""

    @property
    def of(self) -> int:
        """Windows that are looked at."""

    @property
    def recover_after(self) -> int:
        """Windows in a row that end an alarm."""


class Steps(NamedTuple):
    """An outcome as a step function of one number."""

    edges: tuple[Floats, ...]  # where it changes, increasing; (1,), or (g,) where processes differ
    codes: tuple[int, ...]  # the outcomes below, between and above the edges

    def outcomes(self, coming: Coming, shift: Floats) -> Codes:
        """Return the outcome of each window of each series, moved by `shift`, (k, 1)."""
        seen = coming.seen[: len(shift)]
        outcomes = np.full(seen.shape, self.codes[0], np.int8)
        for edge, change in zip(self.edges, np.diff(self.codes), strict=True):
            outcomes += np.int8(change) * (seen > coming.of_series(edge) - shift)
        return outcomes

    def chance(self, mean: Floats, deviation: Floats) -> Floats:
        """(g,): the probability that a normal number is found degraded."""
        below: list[Any] = [0.0, *(ndtr((edge - mean) / deviation) for edge in self.edges), 1.0]
        parts = [
            above - low
            for code, low, above in zip(self.codes, below, below[1:], strict=False)
            if code == DEGRADED
        ]
        return np.asarray(sum(parts, np.zeros(np.shape(mean))))


NEVER = Steps((), (0,))
"""Never an alarm by this number."""

BELOW_0 = Steps((np.zeros(1),), (DEGRADED, 0))


def steps_of(outcome: Callable[[float], int], low: float, high: float) -> Steps:
    """Return the outcome as a function of a number between `low` and `high`; beyond them it stays.

    It is asked at `_POINTS` numbers, and between two that differ where it changes: what begins and ends
    between two neighbours is not seen.
    """
    grid = np.linspace(low, high, _POINTS).tolist()
    codes = [outcome(number) for number in grid]
    edges: list[float] = []
    kept = [codes[0]]

    def differs(code: int, number: float) -> bool:
        return outcome(number) != code

    for (below, above), code in zip(pairwise(grid), codes[1:], strict=True):
        if code == kept[-1]:
            continue
        edges.append(halved(below, above, partial(differs, kept[-1]), _HALVINGS)[1])
        kept.append(code)
    return Steps(tuple(np.array([edge]) for edge in edges), tuple(kept))


def promised(coming: Coming, chance: float, windows: int, *, two_sided: bool) -> Steps:
    """Return the outcome by a limit that is not known, but learned from `windows` at this chance of an alarm.

    Given its windows, a conformal limit is passed with a chance that is a Beta variable ([V12]).
    """
    sides = 2 if two_sided else 1
    passed = betaincinv((1 - sides * chance) * (windows + 1), sides * chance * (windows + 1), coming.luck)
    reach = -ndtri((1 - passed) / sides) * coming.deviation
    if two_sided:
        return Steps((coming.mean - reach, coming.mean + reach), (DEGRADED, 0, IMPROVED))
    return Steps((coming.mean - reach,), (DEGRADED, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRule:
    """One rule in the simulated windows."""

    coming: Coming  # the number that it judges, in windows to come
    steps: Steps | None = None  # its outcome by this number; None for a chart
    chart: LastingChart | None = None
    # The same number in the reference windows, and its sampling variances.
    usual: tuple[Sequence[float], Sequence[float]] = ((), ())
    # Its outcome at the sizes of the reference windows, which come again and again; all else as usual.
    at_sizes: tuple[int, ...] = ()
    of_auc: bool = True  # the number is the AUROC, which a drop moves
    fixed: bool = False  # its limit does not depend on the reference

    def outcomes(self, shift: Floats) -> Codes:
        """Return the outcome of each window, when the AUROC has moved by this much, (k, 1)."""
        if self.chart is not None:
            return self.chart.alarms(self.coming.seen[: len(shift)] + shift)
        assert self.steps is not None
        outcomes = self.steps.outcomes(self.coming, shift if self.of_auc else 0 * shift)
        if not any(self.at_sizes):
            return outcomes
        of_size = np.resize(np.array(self.at_sizes, np.int8), (len(shift), 1))
        return gravest([outcomes, np.broadcast_to(of_size, outcomes.shape)])

    def chance(self, mean: Floats, deviation: Floats) -> float:
        """Probability that a window is found degraded whose number has this law; charts left aside."""
        if self.steps is None:
            return 0.0
        by_size = self.at_sizes.count(DEGRADED) / max(len(self.at_sizes), 1)
        by_number = float(np.mean(self.steps.chance(mean, deviation)))
        return by_number + (1 - by_number) * by_size if by_size else by_number


class Detection(NamedTuple):
    """The detection of a drop of the AUROC."""

    once: float  # chance that a drop of one window alone makes the status ``degraded`` with this window
    # Windows until a drop that stays is found in half of all cases, and in 80 %; None beyond those drawn.
    windows: tuple[int | None, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """Years to come while nothing is wrong, as each rule sees them."""

    auc: float  # of the reference
    # Sampling variance of a window with this AUROC, on the scale of the chart.
    noise: Callable[[float], float]
    coming: Coming  # on this scale
    rules: Mapping[str, SimulatedRule]
    # Of rules that cannot be simulated, the chances of an alarm and of an improvement that settings promise.
    stated: Mapping[str, tuple[float, float]]
    per_year: float  # windows
    quiet: Mapping[str, Codes] = field(init=False)  # outcomes by each rule when nothing is wrong

    def __post_init__(self) -> None:
        object.__setattr__(self, "quiet", self.outcomes())

    @property
    def windows(self) -> int:
        """The number of windows drawn of each series."""
        return len(self.coming.seen)

    @property
    def single(self) -> list[str]:
        """The names of the rules that judge each window by itself."""
        return [name for name, rule in self.rules.items() if rule.chart is None]

    def outcomes(self, drop: float = 0.0, *, last: int | None = None) -> dict[str, Codes]:
        """Return the outcome of each window by each rule after a drop of all true AUROCs.

        With `last` only this many windows are drawn, and only the last of these has dropped.
        """
        shift = np.full((self.windows if last is None else last, 1), shifted(self.auc, drop))
        if last is not None:
            shift[:-1] = 0.0
        return {name: rule.outcomes(shift) for name, rule in self.rules.items()}

    def false_alarms(self, alarm: Counting, *, rules: Sequence[str] | None = None) -> Rate:
        """Count the changes to ``degraded`` in a year in which nothing is wrong; by default of all rules.

        Where most windows are degraded, each by itself, an alarm hardly ends: then each of them counts.
        """
        return self._rate(DEGRADED, alarm, rules)

    def improvements(self, alarm: Counting) -> Rate:
        """Return the rate of changes to ``improved``: two-sided rules find a rise as they find a loss."""
        return self._rate(IMPROVED, alarm, None)

    def _rate(self, code: int, alarm: Counting, rules: Sequence[str] | None) -> Rate:
        chances = [
            rule_chances for name, rule_chances in self.stated.items() if rules is None or name in rules
        ]
        stated = sum(rule_chances[code == IMPROVED] for rule_chances in chances) * self.per_year
        chosen = [name for name in self.rules if rules is None or name in rules]
        if not chosen:
            return Rate(expected=stated, low=stated, high=stated)
        outcomes = gravest([self.quiet[name] for name in chosen])
        status = statuses(outcomes, alarm)
        before = np.concatenate([np.zeros_like(status[:1]), status[:-1]])
        changes = np.sum((status == code) & (before != code), axis=0)
        counted = self.coming.by_process(changes)
        if single := [self.quiet[name] for name in chosen if name in self.single]:
            mostly = self.coming.by_process(np.sum(statuses(gravest(single), alarm) == code, axis=0))
            counted = mostly if mostly.mean() > self.windows / 2 else counted
        rates = counted * (self.per_year / self.windows) + stated
        serial = self.rules[chosen[0]].coming.serial if len(chosen) == 1 else self.coming.serial
        low, high = rate_range(rates, serial)
        if all(self.rules[name].fixed for name in chosen):
            by_process = changes.reshape(len(self.coming.mean), -1)
            error = float((by_process.var(axis=1) / by_process.shape[1]).mean())  # of drawing few series
            error *= (self.per_year / self.windows) ** 2
            return Rate(expected=expected_below_fixed(rates, error), low=low, high=high)
        return Rate(expected=float(rates.mean()), low=low, high=high)

    def window_rate(self, rules: Iterable[str] | None = None) -> float:
        """Probability that some rule finds one window degraded although nothing is wrong; charts left aside.

        That of the rule that does most often: rules on one number alarm together.
        """
        chances = [
            rule.chance(rule.coming.mean, rule.coming.deviation)
            for name, rule in self.rules.items()
            if rules is None or name in rules
        ]
        return max(chances, default=0.0)

    def usual_rate(self) -> float:
        """Return `window_rate` for windows that scatter as most reference windows do, outliers left aside.

        Their standard deviation is 1.4826 times the median distance from the median, that of a normal law.
        """
        chances = [0.0]
        for name in self.single:
            values, noise = (np.asarray(numbers) for numbers in self.rules[name].usual)
            if not len(values):
                return self.window_rate()
            middle = np.median(values, keepdims=True)
            spread = 1.4826 * float(np.median(np.abs(values - middle)))
            deviation = max(spread, math.sqrt(float(np.median(noise))))
            chances.append(self.rules[name].chance(middle, np.array([deviation])))
        return max(chances)

    def single_window_drop(self, *, power: float = 0.8) -> tuple[str, float] | None:
        """Return the rule that shows the smallest drop in one window with this power, and the drop.

        None when no rule can show any. The power is over the scatter of windows and all that the reference
        leaves possible.
        """
        auc, seen = self.auc, {}
        for name, rule in self.rules.items():
            if rule.steps is None or not rule.of_auc:
                continue

            def chance(drop: float, own: SimulatedRule = rule) -> float:
                noise = self.noise(auc - drop) - self.noise(auc)
                deviation = np.sqrt(np.maximum(own.coming.deviation**2 + noise, 1e-12))
                return own.chance(own.coming.mean + shifted(auc, drop), deviation)

            if (drop := smallest(chance, power, auc * 0.99)) is not None:
                seen[name] = drop
        return min(seen.items(), key=lambda item: item[1]) if seen else None

    def detections(self, drop: float, alarm: Counting) -> dict[str, Detection]:
        """Return how a drop of this size is found, by each rule on the AUROC and by several `TOGETHER`.

        A drop that stays begins with the first window. Series that are degraded anyway count as found.
        """
        stays, passes = self.outcomes(drop), self.outcomes(drop, last=alarm.of)
        rules = [name for name, rule in self.rules.items() if rule.of_auc]
        groups = {name: [name] for name in rules}
        if len(groups) > 1:
            groups[TOGETHER] = rules
        detections = {}
        for group, names in groups.items():
            degraded = statuses(gravest([stays[name] for name in names]), alarm) == DEGRADED
            once = statuses(gravest([passes[name] for name in names]), alarm)[-1] == DEGRADED
            first = np.where(degraded.any(axis=0), degraded.argmax(axis=0) + 1.0, math.inf)
            ends = np.quantile(first, [0.5, 0.8], method="inverted_cdf").tolist()
            median, most = (None if math.isinf(end) else int(end) for end in ends)
            detections[group] = Detection(once=float(once.mean()), windows=(median, most))
        return detections

    def said_over(self, drop: float, alarm: Counting, error: float, reference_error: float) -> float | None:
        """Return how often a drop that stays, once found, is said to be over within the year that is drawn.

        error, reference_error: Standard deviation of a window's AUROC while nothing changes, and standard
            error of the reference's mean, as the monitor knows them.

        A share of the drops that are found, of 100 series; None where none is found. Looked at 52 times in a
        year at most, so of short windows a little too low. Cost: 0.5 s.
        """
        rules = [outcomes for name, outcomes in self.outcomes(drop).items() if self.rules[name].of_auc]
        if not rules:
            return None
        degraded = statuses(gravest(rules), alarm) == DEGRADED
        slope = math.sqrt(self.auc * (1 - self.auc))
        changes = slope * (self.coming.seen + shifted(self.auc, drop) - scaled(self.auc))
        every, over, detected = max(1, self.windows // 52), 0, 0
        for series in np.linspace(0, degraded.shape[1] - 1, min(100, degraded.shape[1])).astype(int):
            first = int(degraded[:, series].argmax())
            if not degraded[first, series]:
                continue
            detected += 1
            course = [Change(value, error, reference_error) for value in changes[:, series].tolist()]
            over += any(
                not degraded[now, series]
                and (seen := recovery(course[: now + 1], first, per_year=self.per_year)) is not None
                and seen.shown
                for now in range(first + 1, self.windows, every)
            )
        return over / detected if detected else None


def smallest(chance: Callable[[float], float], power: float, most: float) -> float | None:
    """Return the least size, up to `most`, at which a rising chance is `power`; None where it never is."""
    if chance(0.0) >= power:
        return 0.0
    if chance(most) < power:
        return None
    return float(scipy.optimize.brentq(lambda size: chance(size) - power, 0.0, most, xtol=1e-5))


def gravest(outcomes: Sequence[Codes]) -> Codes:
    """Return the outcome of each window by several rules: degraded before improved."""
    lowest, highest = reduce(np.minimum, outcomes), reduce(np.maximum, outcomes)
    return np.where(lowest < 0, lowest, highest)


def statuses(outcomes: Codes, alarm: Counting) -> Codes:
    """Return the status after each window: `StatusSoFar.after` for many series at once."""
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


def _last(flags: NDArray[np.bool_], windows: int) -> NDArray[np.int16]:
    """Return how many of the last windows are true, after each."""
    total = np.cumsum(flags, axis=0, dtype=np.int16)
    total[windows:] = total[windows:] - total[:-windows].copy()
    return total


def shifted(auc: float, drop: float) -> float:
    """Return how far a drop of an AUROC moves it on the scale."""
    return scaled(max(auc - drop, 0.0)) - scaled(auc)


_WINDOWS = 52
_LEAST = 1e-12
_ALL = 10_000_000  # rows that stand for a law without sampling noise


def coming_expected(history: ScoreHistory, rows: int) -> Coming:
    """Return expected AUROCs of windows to come, on the scale 2 arcsin sqrt, learned from past windows.

    They scatter as past ones do, and by the sampling noise that windows of `rows` scores have more.
    """
    scale = history.auc * (1 - history.auc)
    more = history.score_variance * float(np.median(history.missing(rows))) / scale
    return _like([scaled(auc) for auc in history.window_expected], more)


def coming_distances(history: ScoreHistory, rows: int) -> Coming:
    """Return logarithms of score distances of windows to come, learned from past ones as of `rows` rows."""
    mean, variance = history.thinning.mean_and_variance(np.array(history.window_distances), rows)
    distances = np.maximum(mean, _LEAST)
    return _like(np.log(distances), float(np.median(variance / distances**2)))


def _like(values: ArrayLike, more: float) -> Coming:
    """Return numbers of windows to come that scatter as these do, sampling noise included, and by `more`."""
    numbers = np.asarray(values, dtype=float)
    least = max(1e-3 * float(numbers.var()), _LEAST)
    past = learned(numbers, np.full(len(numbers), least), tuple(range(len(numbers))))
    return draw(past, max(more, least), _WINDOWS)


def loss_shown(
    history: ScoreHistory, cells: Sample, rows: int, steps: Steps, *, power: float
) -> float | None:
    """Return the loss of AUROC, when positives score as negatives do, that one window shows with this power.

    Where a share of the positives scores as negatives do, the AUROC falls by that share times (AUC - 1/2).
    The distance of such a window is taken as normal: what reference windows differ by beyond sampling adds to
    its mean as it does to theirs, and to its variance by how far their rows scatter in the log ratios that
    the loss brings about.

    `cells` are of the reference, `rows` the scores of the window, and `steps` has the outcome by the
    logarithm of the distance. None where the loss of all is not shown.
    """
    if history.auc <= 0.5:
        return None
    by_distance = steps._replace(edges=tuple(map(np.exp, steps.edges)))
    rest = history.n_pos + history.n_neg - (history.window_sizes if history.inside else 0)
    sampling = (np.array(history.occupied) - 1) / 2 * (1 / history.window_sizes + 1 / rest)
    drift = max(float(np.mean(np.array(history.window_distances) - sampling)), 0.0)

    in_cells = np.array(history.window_rows, dtype=float)
    sizes = in_cells.sum(axis=-1)
    positives, negatives = cells.pos / cells.n_pos, cells.neg / cells.n_neg
    prevalence = cells.n_pos / (cells.n_pos + cells.n_neg)

    def chance(share: float) -> float:
        law = prevalence * ((1 - share) * positives + share * negatives) + (1 - prevalence) * negatives
        counts = np.round(law * _ALL).astype(np.int64)
        shift = history.shift(cells, ScoreCounts(cells.score[counts > 0], counts[counts > 0]))
        part, here = shift.window_share, shift.window_share > 0
        ratio = np.where(here, shift.nats / np.where(here, part, 1.0), 0.0)
        variance = float(part @ ratio**2) - shift.score_distance**2
        spare = (np.count_nonzero(here) - 1) / 2 / rows
        between = 0.0  # variance of the mean log ratio between reference windows, beyond sampling
        if history.window_rows:
            means = in_cells @ ratio / sizes
            noise = (in_cells @ ratio**2 / sizes - means**2) / sizes
            between = max(float(means.var(ddof=1) - noise.mean()), 0.0)
        deviation = math.sqrt(max(variance, 0.0) / rows + spare / rows + between)
        mean = shift.score_distance + spare + drift
        return float(by_distance.chance(np.array([mean]), np.array([deviation]))[0])

    share = smallest(chance, power, 1.0)
    return None if share is None else share * (history.auc - 0.5)
