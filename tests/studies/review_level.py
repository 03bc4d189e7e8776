"""Champion against challenger, checked weekly: how often equal models are told apart, and how soon others.

Rows are drawn from normal laws, scored by two models whose scores correlate within each class, and every
number comes from the functions that a review uses. A year is 52 weekly checks; false is a year in which any
check finds a difference. Shown are

- the AUC alone, also of two models whose curves cross and have the same area, with weights by the sizes of
  the classes, with weights 1 / s², and for weekly 95 % intervals of all rows so far, read one after another;
- the whole rule of the review: the AUC at half of the level, the TPR at three FPRs at a sixth each;
- weeks whose true differences vary about 0, by so many standard errors of a week;
- how many weeks it takes to find a mean difference, beside one check that is planned for it.

The last two draw the weeks' differences from normal laws, without rows. Half an hour of two processors; the
whole rule takes nearly all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from studies.running import options, replicate, say, table

from rocmonitor.stats import (
    ConfidenceSequence,
    PairedSample,
    PairedSpread,
    compare_auc_paired,
    confidence_sequence,
    vertical_difference,
    windows_to_decide,
)

Floats = NDArray[np.float64]

CHECKS = 52
LEVEL = 0.05
FPR = (0.01, 0.05, 0.1)
CROSSING = (2.0, 0.5)
"""Spreads of the positives' scores of two models whose ROC curves cross."""

LONGEST = 520
POWER_SIZES, POWER_AREA, POWER_CORRELATION = (100, 1000), 0.85, 0.7
DIFFERENCES = (0.01, 0.02, 0.03, 0.05)
BETWEEN = (0.0, 0.5, 1.0, 2.0, 5.0)
"""Standard deviations of the weeks' true differences, in standard errors of a week."""

POWER_BETWEEN = (0.0, 1.0)
VARIED_LEVELS = (LEVEL, LEVEL / 2, LEVEL / 6)
"""Alone, and as the AUC and each of three rates have them in the rule."""


class Design(NamedTuple):
    """Positives and negatives of a week, the AUC of both models, correlation of their scores."""

    n_pos: int
    n_neg: int
    area: float
    correlation: float = 0.7
    crossing: bool = False
    varied: bool = False  # weeks of a half to twice as many positives

    def __str__(self) -> str:
        curves = ", crossing" if self.crossing else f", r {self.correlation}"
        sizes = ", uneven" if self.varied else ""
        return f"{self.n_pos} + {self.n_neg:,}, {self.area}{curves}{sizes}"


AUC_DESIGNS = [
    Design(20, 20, 0.7, 0.5),
    Design(20, 20, 0.95, 0.9),
    Design(20, 200, 0.95, crossing=True),
    Design(50, 50, 0.7, 0.5),
    Design(50, 50, 0.85, 0.9),
    Design(50, 50, 0.95, crossing=True),
    Design(50, 1000, 0.7, 0.5),
    Design(50, 1000, 0.95, 0.9),
    Design(50, 1000, 0.85, crossing=True),
    Design(50, 1000, 0.95, crossing=True),
    Design(100, 1000, 0.85, varied=True),
    Design(100, 1000, 0.85, crossing=True, varied=True),
]
RULE_DESIGNS = [Design(50, 50, 0.8), Design(50, 200, 0.9)]


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=2000)
    runs = {"replications": chosen.replications, "processes": chosen.processes}
    say(f"{chosen.replications:,} years a line; ± one Monte Carlo error; nominal {LEVEL:.0%}\n")
    rows = []
    for number, design in enumerate(AUC_DESIGNS):
        found = replicate(auc_year, design, seed=(chosen.seed, 1, number), what=str(design), **runs)
        rows.append([str(design), *rates(np.array(found))])
    table(["AUC, false in a year", "by size", "±", "1 / s²", "±", "weekly intervals", "±"], rows)
    say()
    rows = []
    for number, design in enumerate(RULE_DESIGNS):
        found = replicate(rule_year, design, seed=(chosen.seed, 2, number), what=str(design), **runs)
        rows.append([str(design), *rates(np.array(found))])
    names = ["AUC", *(f"FPR {fpr:g}" for fpr in FPR), "any", "weekly intervals"]
    table(["whole rule, false in a year", *(cell for name in names for cell in (name, "±"))], rows)
    say()
    se = standard_error()
    rows = []
    for number, between in enumerate(BETWEEN):
        found = replicate(varied_year, between, seed=(chosen.seed, 4, number), what=f"{between}", **runs)
        rows.append([f"{between:g}", *rates(np.array(found))])
    names = [f"sequence, {level:.3g}" for level in VARIED_LEVELS] + ["weekly intervals"]
    table(["between, false in a year", *(cell for name in names for cell in (name, "±"))], rows)
    say()
    rows = []
    for number, (between, difference) in enumerate(product(POWER_BETWEEN, DIFFERENCES)):
        weeks = replicate(
            weeks_to_find,
            difference,
            se,
            between * se,
            seed=(chosen.seed, 3, number),
            what=f"{difference}, between {between:g}",
            **runs,
        )
        rows.append([f"{between:g}", *power_line(difference, se, between * se, np.array(weeks))])
    sizes = f"{POWER_SIZES[0]} + {POWER_SIZES[1]:,} rows a week, standard error {se:.4f}"
    say(f"{sizes}; weeks by which a difference is found in half of the runs, in 80 %; wrongly\n")
    methods = ("sequence", "weekly intervals")
    names = [f"{method}, {what}" for method in methods for what in ("half", "80 %", "wrong")]
    table(["between", "difference", *names, "as advised", "one planned check, 80 %"], rows)


def auc_year(design: Design, rng: np.random.Generator) -> list[bool]:
    """Whether a year finds a difference: weights by size, by precision, and weekly intervals."""
    d, s, size = np.array([auc_window(week(design, rng)) for _ in range(CHECKS)]).T
    with np.errstate(divide="ignore"):
        precision = np.where(s > 0, 1 / s**2, 0.0)
    seen = precision > 0
    return [
        found(confidence_sequence(d, s, weights=size)),
        found(confidence_sequence(d[seen], s[seen], weights=precision[seen])),
        weekly(d, s, size),
    ]


def rule_year(design: Design, rng: np.random.Generator) -> list[bool]:
    """Whether a year finds a difference of the AUC, of the TPR at each rate, any of these, or weekly."""
    weeks = [week(design, rng) for _ in range(CHECKS)]
    d, s, size = np.array([auc_window(pair) for pair in weeks]).T
    shares = [found(confidence_sequence(d, s, weights=size, confidence_level=1 - LEVEL / 2))]
    rates = [vertical_difference(pair, FPR) for pair in weeks]
    for at in range(len(FPR)):
        dtpr, se = np.array([(of.dtpr[at], of.dtpr_se[at]) for of in rates]).T
        sequence = confidence_sequence(dtpr, se, weights=size, confidence_level=1 - LEVEL / (2 * len(FPR)))
        shares.append(found(sequence))
    return [*shares, any(shares), weekly(d, s, size)]


def week(design: Design, rng: np.random.Generator) -> PairedSample:
    """The rows of one window."""
    n_pos = design.n_pos
    if design.varied:
        n_pos = round(n_pos * 2 ** rng.uniform(-1, 1))
    y = np.repeat([1, 0], [n_pos, design.n_neg])
    shared, *own = rng.standard_normal((3, len(y)))
    r = design.correlation
    spreads = CROSSING if design.crossing else (1.0, 1.0)
    scores = []
    for of, spread in zip(own, spreads, strict=True):
        score = np.sqrt(r) * shared + np.sqrt(1 - r) * of
        scores.append(np.where(y == 1, spread * score + np.sqrt(1 + spread**2) * ndtri(design.area), score))
    return PairedSample(y, *scores)


def auc_window(pair: PairedSample) -> tuple[float, float, float]:
    """Difference, standard error, and the weight by the sizes."""
    result = compare_auc_paired(pair)
    return result.difference, result.se, pair.n_pos * pair.n_neg / (pair.n_pos + pair.n_neg)


def varied_year(between: float, rng: np.random.Generator) -> list[bool]:
    """Whether a year whose true differences vary about 0 finds one, at each of the levels, and weekly."""
    se = np.full(CHECKS, 0.01)
    d = rng.normal(0.0, 0.01 * np.hypot(1, between), CHECKS)
    sequences = [confidence_sequence(d, se, confidence_level=1 - level) for level in VARIED_LEVELS]
    return [*(found(sequence) for sequence in sequences), weekly(d, se, np.ones(CHECKS))]


def found(sequence: ConfidenceSequence) -> bool:
    """Whether any check finds a difference."""
    return bool(np.any((sequence.low > 0) | (sequence.high < 0)))


def weekly(d: Floats, s: Floats, size: Floats) -> bool:
    """Whether any of the usual intervals of all windows so far leaves 0 out."""
    noise = np.sqrt(np.cumsum((size * s) ** 2))
    return bool(np.any(abs(np.cumsum(size * d)) > -ndtri(LEVEL / 2) * noise))


def rates(found: NDArray[np.bool_]) -> list[str]:
    """Each column's share, and its Monte Carlo error."""
    n = len(found)
    shares = found.mean(axis=0)
    errors = np.maximum(np.sqrt(shares * (1 - shares) / n), 1 / n)
    return [f"{value:.4f}" for pair in zip(shares, errors, strict=True) for value in pair]


def standard_error() -> float:
    """Of a week's difference in the table of weeks, from a large sample."""
    many = Design(20_000, 20_000, POWER_AREA, POWER_CORRELATION)
    spread = PairedSpread.from_sample(week(many, np.random.default_rng(1)))
    return float(np.sqrt(spread.zeta10 / POWER_SIZES[0] + spread.zeta01 / POWER_SIZES[1]))


def weeks_to_find(
    difference: float, se: float, between: float, rng: np.random.Generator
) -> tuple[float, float]:
    """The first week at which each method decides, below 0 for the wrong sign; infinite if none does."""
    d = np.clip(rng.normal(difference, np.hypot(se, between), LONGEST), -1.0, 1.0)
    sequence = confidence_sequence(d, np.full(LONGEST, se))
    z = np.cumsum(d) / (se * np.sqrt(np.arange(1, LONGEST + 1)))
    return (
        first(sequence.low > 0, sequence.high < 0),
        first(z > -ndtri(LEVEL / 2), z < ndtri(LEVEL / 2)),
    )


def first(above: NDArray[np.bool_], below: NDArray[np.bool_]) -> float:
    """Week of the first decision, negative when it is for the lower sign."""
    either = np.flatnonzero(above | below)
    if not len(either):
        return np.inf
    return float(1 + either[0]) * (1 if above[either[0]] else -1)


def power_line(difference: float, se: float, between: float, weeks: Floats) -> list[str]:
    found = []
    for of in weeks.T:
        half, most = np.quantile(np.where(of < 0, np.inf, of), [0.5, 0.8], method="inverted_cdf")
        found += [f"{half:.0f}", f"{most:.0f}", f"{np.mean(of < 0):.4f}"]
    spread = np.hypot(se, between)
    planned = ((ndtri(0.8) - ndtri(LEVEL / 2)) * spread / difference) ** 2
    advised = windows_to_decide(confidence_sequence([difference], [spread]), largest=LONGEST)
    return [
        f"{difference:g}",
        *found,
        "never" if advised is None else f"{1 + advised}",
        f"{np.ceil(planned):.0f}",
    ]
