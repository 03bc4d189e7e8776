"""A budget of false alarms over a year of 500 quiet monitors: what is used of it, and the power that is left.

Each replication is one of 500 weekly monitors with 5 segments and the rules `forecast` (of losses) and
`lasting`, on 19 reference windows and a year of 52. A segment has 60 + 540 rows a week, its true AUROC varies
about 0.8 with a standard deviation of 0.02 of its own and 0.02 that all segments share; all rows are their
mean. Weeks are drawn as numbers, with the sampling error of so many normal scores. Levels, charts, the law
of a coming week and the procedure for the segments are the program's own; the interval of `forecast` is put
together here from AUROCs (the judge has rows, and a distance), and is not widened for weeks that are alike.
Shown for the default levels and for levels derived from budgets: alarms of all 500 monitors in a quiet year
(20 after each reference), and in how many monitors a drop of all rows, of all segments, or of one segment
only is found. Fifteen minutes of two processors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from studies.running import options, replicate, say, table
from studies.weekly import AREA, PAIRS, SPREAD

from rocmonitor.policy.budget import Load, allot, tail_of, with_tail
from rocmonitor.policy.discoveries import adjusted
from rocmonitor.policy.rules import Forecast, Lasting, Rule
from rocmonitor.stats import LastingChart, WindowAuc, lasting_chart
from rocmonitor.stats.forecast.strict import ComingWindow, coming_window
from rocmonitor.stats.lasting.strict import at_probability

Floats = NDArray[np.float64]

MONITORS, WEEKS, REFERENCE, SEGMENTS = 500, 52, 19, 5
BUDGETS = (4.0, 40.0)
YEARS = 20  # quiet ones of each monitor, after the same reference
BETWEEN, SIZES = 0.02, (60, 540)
DROPS, SOON, LATE = (0.02, 0.05, 0.1), 8, 26
RULES: dict[str, Rule] = {"forecast": Forecast(alternative="less"), "lasting": Lasting()}


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=MONITORS)
    designs = [None, *BUDGETS]
    found = np.array(
        replicate(
            monitor_year,
            designs,
            replications=chosen.replications,
            seed=chosen.seed,
            processes=chosen.processes,
            what="monitors",
        )
    )
    say(f"{chosen.replications:,} monitors, scaled to {MONITORS}; ± one Monte Carlo error\n")
    rows = []
    for at, budget in enumerate(designs):
        cells = []
        for alarms in found[:, at, :2].T:
            error = max(alarms.std() / math.sqrt(len(alarms)), 1 / len(alarms) / YEARS)
            cells.append(f"{MONITORS * alarms.mean():.1f} ± {MONITORS * error:.1f}")
        tail = derived(budget)[1]
        rows.append([named(budget), f"{tail:.2g}", *cells])
    table(["levels", "chance of a verdict", "alarms, all rows", "alarms, segments"], rows)
    say(f"\nshare of monitors in which a drop is found (± up to {0.5 / math.sqrt(len(found)):.3f})\n")
    names = [f"{drop:g} in {length}" for drop in DROPS for length in (1, SOON, LATE)]
    for place, of in enumerate(("all rows", "some segment, all drop", "the segment that drops alone")):
        power = found[:, :, 2 + place * len(names) : 2 + (place + 1) * len(names)].mean(axis=0)
        lines = [
            [named(budget), *(f"{value:.2f}" for value in line)]
            for budget, line in zip(designs, power, strict=True)
        ]
        table([of, *names], lines)
        say()


def named(budget: float | None) -> str:
    return "default levels" if budget is None else f"budget {budget:g} a year"


def derived(budget: float | None) -> tuple[Mapping[str, Rule], float]:
    """The rules of each of 500 monitors, and the chance of a false alarm that a verdict has at most."""
    if budget is None:
        return RULES, max(map(tail_of, RULES.values()))
    loads = [
        Load(monitor=str(number), windows_per_year=WEEKS, segmented=True, rules=RULES)
        for number in range(MONITORS)
    ]
    found = allot(budget, loads)
    return found.levels["0"].rules, found.tail


def monitor_year(designs: Sequence[float | None], rng: np.random.Generator) -> list[list[float]]:
    """Of each design: false alarms a year of all rows, of the segments, and what is found of each drop."""
    aucs = drawn(REFERENCE + YEARS * WEEKS, rng)
    later = aucs[REFERENCE:].reshape(YEARS, WEEKS, -1)
    streams = [
        Stream.of(aucs[:REFERENCE, place], later[0, :, place], size) for place, size in enumerate(sizes())
    ]
    years = [
        [replace(each, later=year[:, place], statistics={}) for place, each in enumerate(streams)]
        for year in later
    ]
    lines = []
    for budget in designs:
        rules, budgeted = derived(budget)[0], budget is not None
        alarms = np.mean([quiet_alarms(year, rules, budgeted=budgeted) for year in years], axis=0)
        line = [float(alarms[0]), float(alarms[1:].sum())]
        for which in ("rows", "segments", "one"):
            for drop in DROPS:
                down = np.full(SEGMENTS + 1, drop)
                if which == "one":
                    down[0], down[2:] = drop / SEGMENTS, 0.0
                found = judged(streams, rules, down, budgeted=budgeted)
                columns = {"rows": found[:, :1], "segments": found[:, 1:], "one": found[:, 1:2]}[which]
                seen = columns.any(axis=1)
                line += [float(seen[:length].any()) for length in (1, SOON, LATE)]
        lines.append(line)
    return lines


def quiet_alarms(year: Sequence[Stream], rules: Mapping[str, Rule], *, budgeted: bool) -> Floats:
    """(1 + segments,): changes to degraded in a year in which nothing is wrong."""
    quiet = judged(year, rules, np.zeros(SEGMENTS + 1), budgeted=budgeted)
    before = np.vstack([np.zeros_like(quiet[:1]), quiet[:-1]])
    return np.asarray((quiet & ~before).sum(axis=0), dtype=float)


def sizes() -> list[tuple[int, int]]:
    """Positives and negatives a week: of all rows, then of each segment."""
    return [(SEGMENTS * SIZES[0], SEGMENTS * SIZES[1])] + [SIZES] * SEGMENTS


def drawn(weeks: int, rng: np.random.Generator) -> Floats:
    """(weeks, 1 + segments): the AUROCs of all rows, and of the segments that they consist of."""
    noise = math.sqrt(SPREAD.variance(*SIZES))
    shared = BETWEEN * rng.standard_normal((weeks, 1))
    own = math.hypot(BETWEEN, noise) * rng.standard_normal((weeks, SEGMENTS))
    of = AREA + shared + own
    return np.clip(np.column_stack([of.mean(axis=1), of]), 0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class Stream:
    """A year of one stream, and what its reference windows say of it."""

    size: tuple[int, int]
    centre: float
    lowest: float  # of the reference windows, each less the mean of the others
    coming: ComingWindow
    chart: LastingChart
    later: Floats
    limits: dict[float, float] = field(default_factory=dict)  # of the chart, by its probability
    statistics: dict[float, Floats] = field(default_factory=dict)  # by how much lower the year is

    @classmethod
    def of(cls, past: Floats, later: Floats, size: tuple[int, int]) -> Stream:
        noise = SPREAD.variance(*size)
        shifts = (past - past.mean()) * REFERENCE / (REFERENCE - 1)
        windows = [WindowAuc(auc, *size) for auc in past.tolist()]
        return cls(
            size=size,
            centre=float(past.mean()),
            lowest=float(shifts.min()),
            coming=coming_window(shifts, np.full(REFERENCE, noise), noise),
            chart=lasting_chart(windows, PAIRS),
            later=later,
        )

    def forecast(self, down: float, rule: Rule, *, strict: bool) -> tuple[Floats, Floats]:
        """Of each week whether it leaves the forecast, and its p-value where it does (else 1)."""
        shifts = self.later - down - self.centre
        tail = tail_of(rule)
        limit = self.lowest
        if strict:
            limit = min(limit, -self.coming.reach(tail, two_sided=False))
        beyond = shifts < limit
        pvalues = np.array([self.coming.below(x) if b else 1.0 for x, b in zip(shifts, beyond, strict=True)])
        return beyond, pvalues

    def lasting(self, down: float, rule: Rule) -> tuple[Floats, Floats]:
        """Likewise of the chart, whose p-value is one of those that matter to the segments of a week."""
        assert isinstance(rule, Lasting)
        statistic = self._statistic(down)
        tail, pvalues = tail_of(rule), np.ones(len(statistic))
        beyond = statistic > self._limit(rule)
        for rank in range(SEGMENTS, 0, -1) if beyond.any() else ():
            chance = tail * rank / SEGMENTS
            pvalues[statistic > self._limit(with_tail(rule, chance))] = chance
        return beyond, pvalues

    def _statistic(self, down: float) -> Floats:
        if down not in self.statistics:
            later = [WindowAuc(max(auc - down, 0.0), *self.size) for auc in self.later.tolist()]
            self.statistics[down] = replace(self.chart, limit=math.inf).apply(later).statistic
        return self.statistics[down]

    def _limit(self, rule: Rule) -> float:
        assert isinstance(rule, Lasting)
        chance = rule.false_alarm_probability
        if chance not in self.limits:
            self.limits[chance] = at_probability(self.chart, chance).limit
        return self.limits[chance]


def judged(
    streams: Sequence[Stream], rules: Mapping[str, Rule], down: Floats, *, budgeted: bool
) -> NDArray[np.bool_]:
    """(weeks, 1 + segments): degraded by some rule, when the AUROC of each stream is so much lower."""
    degraded = np.zeros((WEEKS, len(streams)), dtype=bool)
    for name, rule in rules.items():
        found = [
            each.forecast(drop, rule, strict=budgeted) if name == "forecast" else each.lasting(drop, rule)
            for each, drop in zip(streams, down.tolist(), strict=True)
        ]
        beyond, pvalues = (np.column_stack(each) for each in zip(*found, strict=True))
        if budgeted:
            for week in np.flatnonzero(beyond[:, 1:].any(axis=1)):
                rates = np.array(adjusted(pvalues[week, 1:].tolist()))
                beyond[week, 1:] &= rates <= tail_of(rule) * (1 + 1e-9)
        degraded |= beyond
    return degraded
