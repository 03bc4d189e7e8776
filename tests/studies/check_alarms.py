"""What `check` says of false alarms and of the time to find a drop, beside what the real judge then does.

Weeks of 100 positives and 300 negatives, normal scores; true AUCs scatter about 0.8 by a standard deviation
of 0.03, as much as their sampling error, and correlate from week to week (AR(1)). Each replication draws 19
reference windows, a year of quiet windows and one with a drop of 0.05, all of them rows, and lets the judge
and the status machine work on them. `true`: the rate of these references, by their limits and the true
process; `known`: what is told when only its scatter and correlation are given; `told`: what `check` tells,
which learns both from the reference windows; `within`: how often the true rate lies in the range that is told
(80 %). Then other references, of 19 and of 52 windows, without the judge: the mean true rate and the 80 % of
references in its middle; the mean of what is told by who knows the process but not this reference (`known`),
who knows the correlation but neither mean nor scatter (`serial`), and by `check` (`told`); how many of the
references have a true rate within 20 % of what is `known` and `told`; the median of the range that is told,
and how many references it covers. Then how drops of 0.02, 0.05 and 0.10 are found, by the true process and as
told: the probability that one window shows them, and the windows until one that stays is found in half of all
cases and in 80 % (the geometric mean over references). Half an hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from unittest.mock import patch
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from studies.running import options, replicate, say, table

from rocmonitor.policy import measure
from rocmonitor.policy.budget import YEAR
from rocmonitor.policy.evaluation import Counts, Status
from rocmonitor.policy.judge import judge, outcome_of
from rocmonitor.policy.lasting import Course
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.scenario import Scenario, simulation
from rocmonitor.policy.status import Alarm, StatusSoFar
from rocmonitor.policy.windows import Window, day_of
from rocmonitor.rules import Drop, Floor, Forecast, Lasting, by_name
from rocmonitor.rules.evidence import ReferenceWindows
from rocmonitor.stats import AucSpread, Sample, WindowAuc, auc, coming, forecast_fit
from rocmonitor.stats.lasting.windows import scaled, unscaled
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.series import Continuation, PossibleProcesses, posterior
from rocmonitor.stats.simulated import TOGETHER, Simulation

DROPS = (0.02, 0.05, 0.1)
AREA, SCATTER, PAST, YEAR_WINDOWS, DROP = 0.8, 0.075, 19, 52, 0.05
N_POS, N_NEG = 100, 300
SIZES = {"n_pos": N_POS, "n_neg": N_NEG}
SERIES = 520  # fewer than `check` draws: the mean is over many references
SERIES_AHEAD = 2600  # enough for a range
WEEK = timedelta(days=7)
EVERY = YEAR / YEAR_WINDOWS
START = datetime(2026, 1, 5, tzinfo=UTC)
RULES = by_name([Forecast(), Drop(), Floor(value=0.75), Lasting()])
NAMES = (*RULES, TOGETHER)
DESIGNS = {"independent": 0.0, "AR 0.5": 0.5, "AR 0.9": 0.9}
ALARMS = {"1 of 1": Alarm(), "2 of 3": Alarm(after=2, of=3)}
KINDS = (*NAMES, "together, 2 of 3")
PASTS = (19, 52)


class Told(NamedTuple):
    """Of one reference, each by rule: alarms and times by the judge, and what is told of them."""

    judged: Floats
    true: Floats
    known: Floats
    told: Floats
    within: Floats


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=300)
    say(f"{chosen.replications:,} references of {PAST} windows, a year of {YEAR_WINDOWS} each\n")
    rows: list[list[str]] = []
    for number, (name, serial) in enumerate(DESIGNS.items()):
        found = replicate(
            one,
            serial,
            replications=chosen.replications,
            seed=(chosen.seed, number),
            processes=chosen.processes,
            what=name,
        )
        rows += lines(name, found)
    found_once = ["once: judge", "true", "known", "told"]
    table(["", "", "alarm", "judge", "±", "true", "known", "told", "within", *found_once], rows)
    coming._numbers.cache_clear()
    say("\nreferences of 19 and of 52 windows: true rates, and what is told of them\n")
    rows = []
    for at, past in enumerate(PASTS):
        for number, (name, serial) in enumerate(DESIGNS.items()):
            run = {"replications": chosen.replications, "processes": chosen.processes}
            seed = (chosen.seed, 3 + at, number)
            found = replicate(ahead_of, serial, past, seed=seed, what=f"{past}, {name}", **run)
            rows += ahead_lines(f"{past}, {name}", np.array(found))
    near = ["near: known", "told"]
    names = ["true", "±", "80 % of them", "known", "serial", "told", "±", *near, "range", "covers", "±"]
    table(["", "", *names], rows)
    coming._numbers.cache_clear()
    say("\nprobability that one window shows a drop, and windows until a drop that stays is found\n")
    rows = []
    for number, (name, serial) in enumerate(DESIGNS.items()):
        seed = (chosen.seed, 7, number)
        run = {"replications": chosen.replications, "processes": chosen.processes, "seed": seed}
        rows += found_lines(name, replicate(times, serial, what=f"{name}, drops", **run))
    table(["", "", "drop", "once", "told", "half", "told", "80 %", "told"], rows)


def lines(name: str, found: Sequence[dict[str, Told]]) -> list[list[str]]:
    """A line of the table for each rule and alarm."""
    rows = []
    for alarm in ALARMS:
        of = [each[alarm] for each in found]
        judged, true, given, told, within = (np.array(column) for column in zip(*of, strict=True))
        for at, rule in enumerate(NAMES):
            error = (judged[:, 0, at] - true[:, 0, at]).std() / len(judged) ** 0.5
            alarms = [each[:, 0, at].mean() for each in (judged, true, given, told)]
            once = [each[:, 1, at].mean() for each in (judged, true, given, told)]
            shown = [alarms[0], error, *alarms[1:], within[:, at].mean(), *once]
            rows.append([name, rule, alarm, *(f"{each:.2f}" for each in shown)])
    return rows


def ahead_lines(name: str, found: Floats) -> list[list[str]]:
    """A line for each kind of alarm of what `ahead_of` finds, (references, 6, kinds)."""
    rows, n = [], len(found)
    for at, kind in enumerate(KINDS):
        true, given, serial, told, low, high = found[:, :, at].T
        near = [np.mean(abs(each - true) <= 0.2 * true) for each in (given, told)]
        covers = np.mean((low <= true) & (true <= high))
        middle = "{:.2f} to {:.2f}".format(*np.quantile(true, [0.1, 0.9]))
        ends = f"{np.median(low):.2f} to {np.median(high):.2f}"
        numbers = [true.mean(), true.std() / n**0.5, middle, given.mean(), serial.mean(), told.mean()]
        numbers += [(told - true).std() / n**0.5, *near, ends, covers, (covers * (1 - covers) / n) ** 0.5]
        rows.append([name, kind, *(each if isinstance(each, str) else f"{each:.2f}" for each in numbers)])
    return rows


def found_lines(name: str, found: Sequence[Floats]) -> list[list[str]]:
    """A line for each rule and drop."""
    mean = np.mean(found, axis=0)
    mean[..., 2:] = np.exp(mean[..., 2:])
    return [
        [name, rule, f"{drop:g}", *(f"{each:.{2 if at < 2 else 0}f}" for at, each in enumerate(of.tolist()))]
        for drop, lines in zip(DROPS, mean, strict=True)
        for rule, of in zip(NAMES, lines, strict=True)
    ]


def known(
    values: ArrayLike, noise: ArrayLike, places: tuple[int, ...], *, serial: float, between: float
) -> PossibleProcesses:
    """Return the one process with this correlation and this standard deviation of the true values."""
    seen, variance = np.asarray(values, dtype=float), np.asarray(noise, dtype=float)
    return posterior(seen, variance, places, np.array([serial]), np.array([between]), np.ones(1))


@patch.object(coming, "SERIES", SERIES_AHEAD)
def ahead_of(serial: float, past: int, rng: np.random.Generator) -> list[list[float]]:
    """(6, kinds): rates of one reference, true, known, with known correlation, and told with its range."""
    states = true_values(serial, past, rng)
    scenario = scenario_of([drawn(unscaled(x), rng) for x in states])
    learned = scenario.processes()
    chosen = np.isclose(learned.serial, serial)
    ahead = Continuation(*(each[chosen] for each in learned.ahead))
    alike = PossibleProcesses(*(each[chosen] for each in learned[:5]), ahead)
    given = (
        truth(states[-1], serial),
        known(*scenario.numbers(), serial=serial, between=SCATTER),
        alike._replace(weight=alike.weight / alike.weight.sum()),
    )
    found = [[mean for mean, _, _ in kinds(simulation(scenario, EVERY, of))] for of in given]
    return [*found, *np.transpose(kinds(simulation(scenario, EVERY))).tolist()]


def kinds(drawn: Simulation) -> list[tuple[float, float, float]]:
    """Expected false alarms in a year and their range, of each of `KINDS`."""
    return [*rates_of(drawn, ALARMS["1 of 1"]), rates_of(drawn, ALARMS["2 of 3"])[-1]]


@patch.object(coming, "SERIES", SERIES)
def times(serial: float, rng: np.random.Generator) -> Floats:
    """How one reference finds drops, by the true process and as told: see `times_of`."""
    states = true_values(serial, PAST, rng)
    return times_of(scenario_of([drawn(unscaled(x), rng) for x in states]), states[-1], serial)


def times_of(scenario: Scenario, last: float, serial: float) -> Floats:
    """(drops, rules, 6): chance of one window, and logs of the windows for half and for 80 %; true, told."""
    ahead = [simulation(scenario, EVERY, truth(last, serial)), simulation(scenario, EVERY)]
    rows = []
    for drop in DROPS:
        true, told = (list(each.detections(drop, Alarm()).values()) for each in ahead)
        rows.append(
            [
                [of.once, said.once]
                + [np.log(each.windows[end] or YEAR_WINDOWS + 1) for end in (0, 1) for each in (of, said)]
                for of, said in zip(true, told, strict=True)
            ]
        )
    return np.array(rows)


@patch.object(measure, "CURVE_POINTS", 1)  # curves are drawn for nobody
@patch.object(coming, "SERIES", SERIES)
def one(serial: float, rng: np.random.Generator) -> dict[str, Told]:
    """One reference, its two years, and what is told of it."""
    states = true_values(serial, PAST + YEAR_WINDOWS, rng)
    scenario = scenario_of([drawn(unscaled(x), rng) for x in states[:PAST]])
    later = [unscaled(x) for x in states[PAST:]]
    quiet = judged_year(scenario.reference, [drawn(area, rng) for area in later])
    fallen = judged_year(scenario.reference, [drawn(area - DROP, rng) for area in later[:1]])
    ahead = {
        "known": simulation(scenario, EVERY, known(*scenario.numbers(), serial=serial, between=SCATTER)),
        "told": simulation(scenario, EVERY),
        "true": simulation(scenario, EVERY, truth(states[PAST - 1], serial)),
    }
    once = {name: [each.once for each in of.detections(DROP, Alarm()).values()] for name, of in ahead.items()}
    return {name: compared(alarm, quiet, fallen, ahead, once) for name, alarm in ALARMS.items()}


def compared(
    alarm: Alarm,
    quiet: dict[str, list[Status]],
    fallen: dict[str, list[Status]],
    ahead: dict[str, Simulation],
    once: dict[str, list[float]],
) -> Told:
    """Each by rule: alarms in a year, and whether the one window of a drop was found."""
    rates = {name: rates_of(drawn, alarm) for name, drawn in ahead.items()}
    judged = [
        [alarms_in(quiet[name], alarm) for name in NAMES],
        [fallen[name][0] is Status.DEGRADED for name in NAMES],
    ]
    pairs = zip(rates["told"], rates["true"], strict=True)
    within = [low <= true <= high for (_, low, high), (true, _, _) in pairs]
    expected = {
        name: [[mean for mean, _, _ in rates[name]], once[name]] for name in ("true", "known", "told")
    }
    columns = (judged, *expected.values(), within)
    return Told(*(np.array(each, dtype=float) for each in columns))


def rates_of(drawn: Simulation, alarm: Alarm) -> list[tuple[float, float, float]]:
    """Expected false alarms in a year and their range, of each rule alone and of all together."""
    groups = [*([name] for name in RULES), list(RULES)]
    found = [drawn.false_alarms(alarm, rules=rules) for rules in groups]
    return [(each.expected, each.low, each.high) for each in found]


def true_values(serial: float, count: int, rng: np.random.Generator) -> list[float]:
    """An AR(1) series about the mean, on the chart's scale."""
    shocks = rng.standard_normal(count)
    for at in range(1, count):
        shocks[at] = serial * shocks[at - 1] + (1 - serial**2) ** 0.5 * shocks[at]
    return [scaled(AREA) + SCATTER * state for state in shocks.tolist()]


def truth(last: float, serial: float) -> PossibleProcesses:
    """The process itself, which goes on from the true value of the last reference window."""
    number = np.ones(1)
    middle = scaled(AREA)
    ahead = Continuation(number * serial * (last - middle), 0 * number, number * SCATTER**2 * (1 - serial**2))
    return PossibleProcesses(number, serial * number, SCATTER * number, middle * number, 0 * number, ahead)


def drawn(area: float, rng: np.random.Generator) -> Sample:
    """The rows of one window."""
    y = np.repeat([1, 0], [N_POS, N_NEG])
    return Sample(y, rng.standard_normal(len(y)) + np.sqrt(2) * ndtri(area) * y)


def scenario_of(past: list[Sample]) -> Scenario:
    """As `check` makes it from a frozen reference, of which only what the rules need is computed."""
    whole = Sample.merge(past)
    windows = [Window(START + at * WEEK, START + (at + 1) * WEEK) for at in range(len(past))]
    learned = ReferenceWindows(past, [day_of(each) for each in windows], range(len(past))[::-1])
    chart = Lasting().learn(learned, whole)
    fit = forecast_fit(whole, windows=past, batch=(N_POS, N_NEG), correlation="estimated")
    reference = Reference(
        auc=auc(whole),
        fits={"forecast": fit},
        cells=whole,
        charts={"lasting": chart},
        windows=[
            {"start": at.start.isoformat(), "end": at.end.isoformat(), **SIZES, "auc": auc(each).auc}
            for at, each in zip(windows, past, strict=True)
        ],
    )
    return Scenario(
        rules=RULES,
        ranges=NormalRanges.of(reference),
        spread=AucSpread.from_sample(whole),
        n_pos=N_POS,
        n_neg=N_NEG,
    )


def judged_year(reference: Reference, windows: list[Sample]) -> dict[str, list[Status]]:
    """The outcome of each window by each rule alone and by all together."""
    counts = Counts(rows=N_POS + N_NEG, n_pos=N_POS, n_neg=N_NEG)
    found: dict[str, list[Status]] = {name: [] for name in NAMES}
    places = [Window(START + at * WEEK, START + (at + 1) * WEEK) for at in range(PAST, PAST + len(windows))]
    numbers: list[WindowAuc | None] = []
    for at, sample in enumerate(windows):
        past = Course(windows=tuple(places[: at + 1]), numbers=tuple(numbers), zone=ZoneInfo("UTC"))
        finding = judge(
            sample, None, counts, ranges=NormalRanges.of(reference), rules=RULES, min_per_class=20, past=past
        )
        for verdict in finding.verdicts:
            found[verdict.rule].append(verdict.outcome)
        found[TOGETHER].append(outcome_of(finding.verdicts))
        numbers.append(WindowAuc(finding.metrics["champion/auc"], N_POS, N_NEG))
    return found


def alarms_in(outcomes: list[Status], alarm: Alarm) -> int:
    """Changes to degraded of the real status machine."""
    health, alarms = StatusSoFar(), 0
    for outcome in outcomes:
        before, health = health, health.after(outcome, alarm)
        alarms += health.status is Status.DEGRADED and before.status is not Status.DEGRADED
    return alarms
