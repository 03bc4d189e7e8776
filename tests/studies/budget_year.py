"""A budget of false alarms over a year of 500 quiet monitors: what is used of it, and the power that is left.

Each replication is one of 500 weekly monitors with 5 segments and the rules `forecast` (of losses) and
`lasting`, on 19 reference windows and a year of 52. A segment has 60 + 540 rows a week, its true AUROC varies
about 0.8 with a standard deviation of 0.02 of its own and 0.02 that all segments share. All are rows: the
reference is frozen and brought to the levels of each budget as by a tick, every window whose AUROC or chart
is beyond a limit of its reference is judged by the real judge (the others are within all limits that it has),
and the segments of a window go through the real procedure. Shown for the default levels and for levels
derived from budgets: alarms of all 500 monitors in a quiet year (`YEARS` after each reference), and in how
many of a tenth as many monitors a drop of all rows, of all segments, or of one segment only is found. An hour
of two processors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from unittest.mock import patch
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from studies.running import options, replicate, say, table

from rocmonitor.policy import measure
from rocmonitor.policy.budget import Load, allot
from rocmonitor.policy.discoveries import allow_for_segments
from rocmonitor.policy.evaluation import Counts, Finding, Status, Verdict
from rocmonitor.policy.judge import judge
from rocmonitor.policy.lasting import Course
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import freeze
from rocmonitor.policy.status import Alarm, StatusSoFar
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Forecast, Lasting, Rule
from rocmonitor.stats import Sample, WindowAuc

Floats = NDArray[np.float64]

MONITORS, WEEKS, REFERENCE, SEGMENTS = 500, 52, 19, 5
AREA, START, WEEK = 0.8, datetime(2026, 1, 5, tzinfo=UTC), timedelta(days=7)
BUDGETS = (4.0, 40.0)
YEARS = 2  # quiet ones of each monitor, after the same reference
BETWEEN, SIZES = 0.02, (60, 540)
DROPS, SOON, LATE = (0.02, 0.05, 0.1), 8, 26
RULES: dict[str, Rule] = {"forecast": Forecast(alternative="less"), "lasting": Lasting()}


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=MONITORS)
    designs = [None, *BUDGETS]
    run = {"seed": chosen.seed, "processes": chosen.processes}
    found = np.array(
        replicate(quiet_years, designs, replications=chosen.replications, what="monitors", **run)
    )
    say(f"{chosen.replications:,} monitors, scaled to {MONITORS}; ± one Monte Carlo error\n")
    rows = []
    for at, budget in enumerate(designs):
        cells = []
        for alarms in found[:, at].T:
            error = max(alarms.std() / math.sqrt(len(alarms)), 1 / len(alarms) / YEARS)
            cells.append(f"{MONITORS * alarms.mean():.1f} ± {MONITORS * error:.1f}")
        tail = derived(budget)[1]
        rows.append([named(budget), f"{tail:.2g}", *cells])
    table(["levels", "chance of a verdict", "alarms, all rows", "alarms, segments"], rows)
    number = max(chosen.replications // 10, 1)
    found = np.array(replicate(drops_found, designs, replications=number, what="drops", **run))
    say(f"\nshare of {number} monitors in which a drop is found (± up to {0.5 / math.sqrt(number):.2f})\n")
    names = [f"{drop:g} in {length}" for drop in DROPS for length in (1, SOON, LATE)]
    for place, of in enumerate(("all rows", "some segment, all drop", "the segment that drops alone")):
        power = found[:, :, place * len(names) : (place + 1) * len(names)].mean(axis=0)
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
        return RULES, max(rule.tail for rule in RULES.values())
    loads = [
        Load(monitor=str(number), windows_per_year=WEEKS, segmented=True, rules=RULES)
        for number in range(MONITORS)
    ]
    found = allot(budget, loads)
    return found.levels["0"].rules, found.tail


@patch.object(measure, "CURVE_POINTS", 1)  # curves are drawn for nobody
def quiet_years(designs: Sequence[float | None], rng: np.random.Generator) -> list[list[float]]:
    """Of each design: false alarms a year of all rows, and of the segments."""
    judges = judges_of(designs, rng)
    years = [[week_of(rng) for _ in range(WEEKS)] for _ in range(YEARS)]
    alarms = [np.mean([alarms_in(each.degraded(year)) for year in years], axis=0) for each in judges]
    return [[float(each[0]), float(each[1:].sum())] for each in alarms]


@patch.object(measure, "CURVE_POINTS", 1)
def drops_found(designs: Sequence[float | None], rng: np.random.Generator) -> list[list[float]]:
    """Of each design: what is found of each drop, within a week and within more."""
    judges = judges_of(designs, rng)
    lines: list[list[float]] = [[] for _ in judges]
    for which in ("rows", "segments", "one"):
        for drop in DROPS:
            down = np.full(SEGMENTS, drop)
            if which == "one":
                down[1:] = 0.0
            fallen = [week_of(rng, down) for _ in range(LATE)]
            columns = {"rows": slice(0, 1), "segments": slice(1, None), "one": slice(1, 2)}[which]
            for line, each in zip(lines, judges, strict=True):
                seen = each.degraded(fallen, until=columns)[:, columns].any(axis=1)
                line += [float(seen[:length].any()) for length in (1, SOON, LATE)]
    return lines


def judges_of(designs: Sequence[float | None], rng: np.random.Generator) -> list[Judges]:
    """One monitor, its reference frozen once and brought to the levels of each design."""
    past = [week_of(rng) for _ in range(REFERENCE)]
    frozen = [
        freeze([(window(at), rows) for at, rows in enumerate(stream)], RULES)
        for stream in zip(*past, strict=True)
    ]
    found = []
    for budget in designs:
        rules, budgeted = derived(budget)[0], budget is not None
        at = rules if budgeted else {}
        found.append(Judges([NormalRanges.of(each, at) for each in frozen], rules, budgeted))
    return found


def week_of(rng: np.random.Generator, down: Floats | None = None) -> list[Sample]:
    """The rows of a week: of all segments together, then of each."""
    areas = AREA + BETWEEN * rng.standard_normal() + BETWEEN * rng.standard_normal(SEGMENTS)
    areas -= 0.0 if down is None else down
    y = np.repeat([1, 0], SIZES)
    shift = math.sqrt(2) * ndtri(np.clip(areas, 0.01, 0.99))
    found = [Sample(y, rng.standard_normal(len(y)) + each * y) for each in shift]
    return [Sample.merge(found), *found]


def window(at: int) -> Window:
    return Window(START + at * WEEK, START + (at + 1) * WEEK)


@dataclass(frozen=True)
class Judges:
    """The ranges of all streams at the levels of one budget."""

    ranges: Sequence[NormalRanges]
    rules: Mapping[str, Rule]
    budgeted: bool

    def degraded(self, weeks: Sequence[Sequence[Sample]], *, until: slice | None = None) -> NDArray[np.bool_]:
        """(weeks, 1 + segments): degraded by some rule; `until` a week in which one of these streams is."""
        aucs = np.array([[area(each) for each in week] for week in weeks])
        beyond = np.column_stack(
            [self._beyond(place, column) for place, column in enumerate(aucs.T.tolist())]
        )
        found = np.zeros_like(beyond)
        for at in np.flatnonzero(beyond.any(axis=1)).tolist():
            found[at] = self._judged(weeks[at], aucs[: at + 1], beyond[at])
            if until is not None and found[at, until].any():
                break
        return found

    def _beyond(self, place: int, aucs: list[float]) -> NDArray[np.bool_]:
        """(weeks,): whether a stream is beyond a limit of its reference, whose windows are as large."""
        ranges, sizes = self.ranges[place], size(place)
        chart = ranges.charts["lasting"].follow([WindowAuc(each, *sizes) for each in aucs])
        interval = ranges.range("forecast")
        assert interval.batch == sizes
        return np.asarray((np.array(aucs) < interval.low) | (chart.alarm > 0))

    def _judged(self, week: Sequence[Sample], aucs: Floats, beyond: NDArray[np.bool_]) -> list[bool]:
        """Whether each stream is degraded, by the judge where it is beyond a limit."""
        findings = {
            named_stream(place): self._find(place, sample, aucs[:, place], self.rules) if out else INSIDE
            for place, (sample, out) in enumerate(zip(week, beyond.tolist(), strict=True))
        }

        def outcome(segment: str, name: str, chance: float) -> Status:
            place = int(segment)
            rule = self.rules[name].at_tail(chance)
            return self._find(place, week[place], aucs[:, place], {name: rule}, anew=True).outcome

        if self.budgeted:
            findings = allow_for_segments(findings, self.rules, outcome)
        return [findings[named_stream(place)].outcome is Status.DEGRADED for place in range(len(week))]

    def _find(
        self, place: int, sample: Sample, aucs: Floats, rules: Mapping[str, Rule], *, anew: bool = False
    ) -> Finding:
        ranges, sizes = self.ranges[place], size(place)
        if anew:
            ranges = ranges.at(rules)
        places = tuple(window(REFERENCE + at) for at in range(len(aucs)))
        numbers = tuple(WindowAuc(each, *sizes) for each in aucs[:-1].tolist())
        return judge(
            sample,
            None,
            Counts(rows=sum(sizes), n_pos=sizes[0], n_neg=sizes[1]),
            ranges=ranges,
            rules=rules,
            min_per_class=20,
            past=Course(windows=places, numbers=numbers, zone=ZoneInfo("UTC")),
        )


INSIDE = Finding(
    outcome=Status.OK,
    verdicts=tuple(Verdict(rule=name, kind=rule.kind, outcome=Status.OK) for name, rule in RULES.items()),
    metrics={},
)
"""Of a stream that is within all limits."""


def named_stream(place: int) -> str:
    """All rows have no name."""
    return str(place) if place else ""


def size(place: int) -> tuple[int, int]:
    """Positives and negatives a week."""
    n_pos, n_neg = SIZES
    return (n_pos, n_neg) if place else (SEGMENTS * n_pos, SEGMENTS * n_neg)


def area(sample: Sample) -> float:
    """The AUROC, ties one half."""
    below = np.cumsum(sample.neg) - sample.neg / 2
    return float(sample.pos @ below) / (float(sample.n_pos) * sample.n_neg)


def alarms_in(degraded: NDArray[np.bool_]) -> Floats:
    """(streams,): changes to degraded by the real status machine."""
    found = np.zeros(degraded.shape[1])
    for place, column in enumerate(degraded.T.tolist()):
        health = StatusSoFar()
        for bad in column:
            before, health = health, health.after(Status.DEGRADED if bad else Status.OK, Alarm())
            found[place] += health.status is Status.DEGRADED and before.status is not Status.DEGRADED
    return found
