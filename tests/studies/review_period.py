"""Reviews of the period observed: false years, speed, and what the sentences beside the verdict are worth.

A year here is 104 weekly checks at 5 %. It is false if at any check the interval misses the true average of
the differences so far, which is known. Shown are

- years of weeks drawn without rows, whose true differences are 0, independent, alike, drift or turn round;
- years of rows: normal and heavy-tailed scores, few positives that carry the loss, clusters, weeks of unequal
  size; with the allowance for rows not seen, as reviews take it, and with DeLong's errors alone;
- the check by which a lasting difference is found, and by which models near to each other are told apart;
- the mean of the next 4 and 13 weeks, and how often its 95 % prediction interval holds it;
- how often the sentences "decided within n more windows" and "a decision was withdrawn" are right.

Half an hour of one processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtri
from studies.running import options, replicate, say, table

from rocmonitor.stats import (
    AucDifference,
    ConfidenceSequence,
    PairedSample,
    auc_sequence,
    compare_auc_paired,
    confidence_sequence,
)
from rocmonitor.stats.coming import next_windows

Floats = NDArray[np.float64]

CHECKS, HALF = 104, 52
SE = 0.005
"""Of a week without rows, on average."""

AREA, CORRELATION = 0.85, 0.7
ASIDE = 0.03
"""Share of positives that score like negatives, where few carry the loss."""

LOST = 0.04
"""The same share of one model, where the other's scores are normal."""

LOST_NEAR = 0.02
"""The same share of one of two models that rank nearly alike otherwise: the hardest to tell."""

APART = 4.0  # how far the other positives of such a model lie above negatives

FREEDOM = 2  # degrees of the heavy tails
DIFFERENCES = (0.0025, 0.005, 0.01, 0.02)
SEEN = (8, 17, 26, 52)
AHEAD = (4, 13)
SCATTERS = ((0.0, 0.0), (0.0, 1.0), (0.5, 1.0), (0.5, 2.0), (0.9, 1.0), (0.9, 2.0))
"""Serial correlation of true differences, and their standard deviation in standard errors."""


class Course(NamedTuple):
    """True differences of the weeks, in standard errors."""

    name: str
    serial: float = 0.0
    between: float = 0.0
    first: float = 0.0  # of the year,
    last: float = 0.0  # and at its end
    turns: bool = False  # the second half has the other sign

    def draw(self, rng: np.random.Generator) -> Floats:
        """Differences of `CHECKS` weeks."""
        x = np.empty(CHECKS)
        x[0] = rng.standard_normal()
        for j in range(1, CHECKS):
            x[j] = self.serial * x[j - 1] + np.sqrt(1 - self.serial**2) * rng.standard_normal()
        mean = np.linspace(self.first, self.last, CHECKS)
        if self.turns:
            mean = np.where(np.arange(CHECKS) < HALF, mean, -mean)
        return np.asarray(mean + self.between * x)


COURSES = (
    Course("none"),
    Course("independent", 0.0, 2.0),
    Course("correlation 0.5", 0.5, 2.0),
    Course("correlation 0.9", 0.9, 2.0),
    Course("drifting", first=-2.0, last=2.0),
    Course("reversing", first=2.0, last=2.0, turns=True),
    Course("drifting, correlation 0.9", 0.9, 2.0, -2.0, 2.0),
)


class Rows(NamedTuple):
    """Rows of a week: sizes, the law of the scores, and the course of the true differences."""

    name: str
    course: Course
    n_pos: int = 50
    n_neg: int = 500
    law: str = "normal"
    uneven: bool = False
    area: float = AREA
    correlation: float = CORRELATION


SCORED = (
    Rows("normal, correlation 0.5", COURSES[2]),
    Rows("heavy tails, reversing", COURSES[5], law="heavy"),
    Rows("few carry the loss", COURSES[0], law="aside"),
    Rows("few carry the loss, reversing", COURSES[5], law="aside"),
    Rows("one model loses 4 %", COURSES[0], 50, 950, "lost"),
    Rows("one model loses 4 %, near", COURSES[0], 50, 950, "lost", correlation=0.95),
    Rows("one model loses 4 %, reversing", COURSES[5], 50, 950, "lost"),
    Rows("near models", COURSES[0], 50, 950, area=0.97, correlation=0.95),
    Rows("clusters", COURSES[0], law="clusters"),
    Rows("unequal weeks, reversing", COURSES[5], uneven=True),
    Rows("unequal weeks, heavy tails, correlation 0.9", COURSES[3], law="heavy", uneven=True),
    Rows("one of near models loses 2 %", COURSES[0], 50, 950, "lost near", area=0.97, correlation=0.95),
)

NEAR = (
    (Rows("0.97, 50 + 950", COURSES[0], 50, 950, area=0.97, correlation=0.95), 0.0086),
    (Rows("0.97, 100 + 900", COURSES[0], 100, 900, area=0.97, correlation=0.95), 0.0061),
    (Rows("0.90, 50 + 950", COURSES[0], 50, 950, area=0.90, correlation=0.95), 0.0162),
    (Rows("0.90, 100 + 900", COURSES[0], 100, 900, area=0.90, correlation=0.95), 0.0058),
)
"""Models that rank nearly alike, and their difference: two standard errors of a week, in the last one."""


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=2000)
    runs = {"replications": chosen.replications, "processes": chosen.processes}
    say(
        f"{chosen.replications:,} years a line, a tenth with rows and predictions, a third with sentences; "
        "± one Monte Carlo error; per cent\n"
    )
    rows = []
    for number, course in enumerate(COURSES):
        years = replicate(year, course, seed=(chosen.seed, 1, number), what=course.name, **runs)
        rows.append([course.name, *shares(np.array(years))])
    names = ["all alike", "unequal", "unequal, by rows"]
    table(["true differences, false years", *(cell for name in names for cell in (name, "±"))], rows)
    say()
    fewer = runs | {"replications": max(chosen.replications // 10, 1)}
    third = runs | {"replications": max(chosen.replications // 3, 1)}
    rows = []
    for number, scored in enumerate(SCORED):
        years = replicate(year_of_rows, scored, seed=(chosen.seed, 2, number), what=scored.name, **fewer)
        of = np.array(years)
        rows.append([scored.name, *shares(of[:, :2]), f"{of[:, 2].mean():.2f}"])
    table(["rows, false years", "allowed", "±", "plain", "±", "width over plain, check 4"], rows)
    say()
    rows = []
    for number, difference in enumerate(DIFFERENCES):
        checks = replicate(
            first_check, difference, seed=(chosen.seed, 3, number), what=f"{difference}", **runs
        )
        half, most = np.quantile(checks, [0.5, 0.8], method="inverted_cdf")
        rows.append([f"{difference:g}", f"{half:.0f}", f"{most:.0f}"])
    table(["lasting difference, standard error 0.005", "found in half by", "in 80 % by"], rows)
    say()
    rows = []
    for number, (near, difference) in enumerate(NEAR):
        seed, what = (chosen.seed, 6, number), f"near, {near.name}"
        found = np.array(replicate(checks_to_part, near, difference, seed=seed, what=what, **fewer))
        ends = np.quantile(found, [0.5, 0.8], axis=0, method="inverted_cdf")
        rows.append([near.name, *(f"{each:.0f}" for each in ends.T.ravel())])
    table(["near models: found by", "allowed, half", "80 %", "plain, half", "80 %"], rows)
    say()
    rows = []
    for number, (serial, between) in enumerate(SCATTERS):
        course = Course("", serial, between, 1.0, 1.0)
        held = replicate(
            held_by_next, course, seed=(chosen.seed, 4, number), what=f"{serial}, {between}", **fewer
        )
        rows.append([f"{serial:g}, {between:g}", *shares(np.array(held))])
    names = [f"{seen} seen, next {ahead}" for seen in SEEN for ahead in AHEAD]
    table(["correlation, between; held", *(cell for name in names for cell in (name, "±"))], rows)
    say()
    rows = []
    for number, (serial, between) in enumerate(SCATTERS):
        seed, what = (chosen.seed, 5, number), f"{serial}, {between}"
        said = replicate(sentences, serial, between, seed=seed, what=what, **third)
        rows.append([f"{serial:g}, {between:g}", *right(np.array(said))])
    names = ["n more: said", "right", "withdrawn, period: said", "right", "withdrawn, future: said", "right"]
    table(["correlation, between", *names], rows)


def year(course: Course, rng: np.random.Generator) -> list[bool]:
    """Return whether a year of weeks without rows is false: alike, and of unequal size."""
    found = []
    sizes = np.exp(rng.normal(0, 0.7, CHECKS))
    for n, weights in ((np.ones(CHECKS), None), (sizes, None), (sizes, sizes)):
        s = SE / np.sqrt(n)
        true = SE * course.draw(rng)
        found.append(is_false(rng.normal(true, s), s, true, weights))
    return found


def is_false(d: Floats, s: Floats, true: Floats, weights: Floats | None) -> bool:
    """Return True if any interval misses the true average so far."""
    w = np.ones(len(d)) if weights is None else weights
    return misses(confidence_sequence(d, s, weights=w, estimand="period"), true, w)


def misses(sequence: ConfidenceSequence, true: Floats, w: Floats) -> bool:
    """Return True if any interval misses the true average so far."""
    average = np.cumsum(w * true) / np.cumsum(w)
    return bool(np.any((average < sequence.low) | (average > sequence.high)))


def year_of_rows(design: Rows, rng: np.random.Generator) -> list[float]:
    """Return whether a year of rows is false, with the allowance and without; and the ratio of the widths."""
    true = SE * design.course.draw(rng)
    weeks = [compare_auc_paired(week(design, each, rng)) for each in true]
    sizes = np.array([each.n_pos_1 + each.n_neg_1 for each in weeks], dtype=float)
    both = [auc_sequence(weeks, weights=sizes), without_allowance(weeks, sizes)]
    allowed, plain = (each.high[3] - each.low[3] for each in both)
    return [*(misses(each, true, sizes) for each in both), float(allowed / plain)]


def without_allowance(weeks: Sequence[AucDifference], sizes: Floats) -> ConfidenceSequence:
    """Return the sequence of DeLong's errors alone."""
    d, s = np.array([(each.difference, each.se) for each in weeks]).T
    return confidence_sequence(d, s, weights=sizes, estimand="period")


def checks_to_part(design: Rows, difference: float, rng: np.random.Generator) -> list[float]:
    """Return the check by which a lasting difference is found, with the allowance and without."""
    weeks = [compare_auc_paired(week(design, difference, rng)) for _ in range(HALF)]
    sizes = np.full(HALF, float(design.n_pos + design.n_neg))
    return [first(auc_sequence(weeks)), first(without_allowance(weeks, sizes))]


def week(design: Rows, difference: float, rng: np.random.Generator) -> PairedSample:
    """Rows of one week, of a challenger whose area is larger by this difference."""
    size = np.exp(rng.normal(0, 0.7)) if design.uneven else 1.0
    n_pos, n_neg = max(round(size * design.n_pos), 20), max(round(size * design.n_neg), 20)
    y = np.repeat([1, 0], [n_pos, n_neg])
    shared, *own = rng.standard_normal((3, len(y)))
    cluster = None
    if design.law == "clusters":
        cluster = rng.integers(len(y) // 10, size=len(y))
        shared = np.sqrt(0.5) * (shared + rng.standard_normal(len(y))[cluster])
        own = [np.sqrt(0.5) * (each + rng.standard_normal(len(y))[cluster]) for each in own]
    alike = design.correlation
    noise = [np.sqrt(alike) * shared + np.sqrt(1 - alike) * each for each in own]
    if design.law == "heavy":
        heavy = np.sqrt(rng.chisquare(FREEDOM, len(y)) / FREEDOM)
        noise = [each / heavy for each in noise]
    if design.law == "aside":
        share = ASIDE - difference / (stats.norm.cdf(APART / np.sqrt(2)) - 0.5)
        shifts = [APART * (rng.random(len(y)) >= each) for each in (share, ASIDE)]
    elif design.law == "lost":
        area = LOST / 2 + (1 - LOST) * stats.norm.cdf(APART / np.sqrt(2))
        shifts = [APART * (rng.random(len(y)) >= LOST), shift_of("normal", area - difference)]
    elif design.law == "lost near":
        others = (design.area + difference - LOST_NEAR / 2) / (1 - LOST_NEAR)
        shifts = [shift_of("normal", others) * (rng.random(len(y)) >= LOST_NEAR)]
        shifts.append(np.full(len(y), shift_of("normal", design.area)))
    else:
        shifts = [shift_of(design.law, design.area + difference), shift_of(design.law, design.area)]
    first, second = (each + shift * y for each, shift in zip(noise, shifts, strict=True))
    return PairedSample(y, first, second, cluster=cluster)


def shift_of(law: str, area: float) -> float:
    """Return how far positives lie above negatives for this area."""
    if law != "heavy":
        return float(np.sqrt(2) * ndtri(area))
    shifts, areas = _heavy_areas()
    return float(np.interp(area, areas, shifts))


@lru_cache(maxsize=1)
def _heavy_areas() -> tuple[Floats, Floats]:
    """Areas over a grid of shifts: the chance that a difference of two Student's t lies below each."""
    even = (np.arange(20_000) + 0.5) / 20_000
    law = stats.t(FREEDOM)
    at, shifts = law.ppf(even), np.linspace(0.5, 6.0, 200)
    return shifts, np.array([law.cdf(at + shift).mean() for shift in shifts])


def first_check(difference: float, rng: np.random.Generator) -> float:
    """Return the check by which a lasting difference is found; infinite if it never is."""
    s = np.full(4 * CHECKS, SE)
    return first(confidence_sequence(rng.normal(difference, s), s, estimand="period"))


def first(sequence: ConfidenceSequence) -> float:
    decided = (sequence.low > 0) | (sequence.high < 0)
    return 1.0 + int(np.argmax(decided)) if decided.any() else np.inf


def held_by_next(course: Course, rng: np.random.Generator) -> list[bool]:
    """Return whether the prediction interval holds the mean of the next windows, each after each number."""
    d, s = rng.normal(SE * course.draw(rng), SE), np.full(CHECKS, SE)
    held = []
    for seen in SEEN:
        drawn = next_windows(d[:seen], s[:seen], tuple(range(seen)))
        assert drawn is not None
        for ahead in AHEAD:
            low, high = drawn.mean_of(ahead, 0.95)
            held.append(bool(low <= d[seen : seen + ahead].mean() <= high))
    return held


def sentences(serial: float, between: float, rng: np.random.Generator) -> list[float]:
    """Return of three sentences whether each is said, and whether it is right; NaN where it is not said.

    The lasting mean is drawn anew for each year. "n more windows", after a number of weeks that is drawn:
    right if a decision comes by then. "Withdrawn", at the first check after which a decision is taken back:
    right if the true average (of the future: the lasting mean) is not on that side.
    """
    lasting = rng.normal(0, 1.0)
    true = SE * Course("", serial, between, lasting, lasting).draw(rng)
    d, s = rng.normal(true, SE), np.full(CHECKS, SE)
    period = confidence_sequence(d, s, estimand="period")
    average = np.cumsum(true) / np.arange(1, CHECKS + 1)
    found = [_n_more(d, s, period, int(rng.integers(4, 40)))]
    found.append(_withdrawn(period, average))
    future = confidence_sequence(d, s)
    found.append(_withdrawn(future, np.full(CHECKS, SE * lasting)))
    return found


def _n_more(d: Floats, s: Floats, period: ConfidenceSequence, seen: int) -> float:
    if period.low[seen - 1] > 0 or period.high[seen - 1] < 0:
        return np.nan
    drawn = next_windows(d[:seen], s[:seen], tuple(range(seen)))
    so_far = confidence_sequence(d[:seen], s[:seen], estimand="period")
    n = None if drawn is None else drawn.until_decided(so_far, 0.0)
    if n is None:
        return np.nan
    later = slice(seen, seen + n)
    return float(np.any((period.low[later] > 0) | (period.high[later] < 0)))


def _withdrawn(sequence: ConfidenceSequence, true: Floats) -> float:
    side = np.where(sequence.low > 0, 1, np.where(sequence.high < 0, -1, 0))
    back = np.flatnonzero((side[1:] == 0) & (side[:-1] != 0))
    return float(side[back[0]] * true[back[0] + 1] <= 0) if len(back) else np.nan


def right(found: Floats) -> list[str]:
    """How often each sentence is said, and its share that is right with its error, per cent."""
    cells = []
    for of in found.T:
        said = of[~np.isnan(of)]
        share = said.mean() if len(said) else np.nan
        error = np.sqrt(max(share * (1 - share), 0.25 / max(len(said), 1)) / max(len(said), 1))
        cells += [
            f"{100 * len(said) / len(of):.0f}",
            f"{100 * share:.0f} ± {100 * error:.0f}" if len(said) else "-",
        ]
    return cells


def shares(found: NDArray[np.bool_]) -> list[str]:
    """Each column's share in per cent, and its Monte Carlo error."""
    n, of = len(found), found.mean(axis=0)
    errors = np.maximum(np.sqrt(of * (1 - of) / n), 1 / n)
    return [f"{100 * value:.1f}" for pair in zip(of, errors, strict=True) for value in pair]
