"""Intervals of the AUC: how often each of them misses, and on which side.

AUC 0.6 to 0.99, 10 to 1,000 positives, 1 to 50 % of the rows positive; normal scores, then others. A cell is
the share of samples in which the interval lies wholly above, and wholly below, the true area, in per cent:
2.5 and 2.5 were best. The interval of `floor` is the default one, whose "below" is its false alarms; `drop`
has a table of its own. An hour of one processor with 1,000 samples a design; designs of more than 20,000
rows take a fifth of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from studies.running import options, replicate, say, table

from rocmonitor.stats import Sample, auc, compare_auc

LEVEL = 0.95
AREAS = (0.6, 0.8, 0.9, 0.95, 0.99)
POSITIVES = (10, 30, 100, 300, 1000)
SHARES = (0.01, 0.1, 0.5)
MANY_ROWS = 20_000
METHODS = ("score", "logit", "second-order", "none")
RATINGS = np.array([0.05, 0.1, 0.15, 0.25, 0.45]), np.array([0.5, 0.2, 0.15, 0.1, 0.05])
"""Shares of five ratings among the positives and among the negatives, whatever the area."""

REFERENCE = 10  # times the rows of a window, for `drop`


class Design(NamedTuple):
    """The law of the scores, positives, the share of positives, and the true AUC."""

    law: str
    n_pos: int
    share: float
    auc: float

    @property
    def n_neg(self) -> int:
        return round(self.n_pos * (1 - self.share) / self.share)


LAWS = {
    "normal": "two normal laws",
    "wide": "positives with twice the deviation of the negatives",
    "exponential": "two exponential laws, positives with the longer tail",
    "ratings": "five ratings; one AUC only",
}


def designs(law: str) -> Iterator[Design]:
    """All of one law; fewer sizes for those that are not normal."""
    normal = law == "normal"
    for n_pos in POSITIVES if normal else (10, 30, 100):
        for share in SHARES if normal else (0.1,):
            for area in AREAS if law != "ratings" else (true_area(Design(law, 10, 0.5, 0.0)),):
                yield Design(law, n_pos, share, area)


def true_area(design: Design) -> float:
    """Of the design."""
    if design.law != "ratings":
        return design.auc
    pos, neg = RATINGS
    return float(pos @ (np.cumsum(neg) - 0.5 * neg))


def draw(design: Design, rng: np.random.Generator, times: int = 1) -> Sample:
    """A sample of the design, of `times` its rows."""
    sizes = (times * design.n_pos, times * design.n_neg)
    if design.law == "ratings":
        pos, neg = (rng.choice(5, n, p=shares) for n, shares in zip(sizes, RATINGS, strict=True))
    elif design.law == "exponential":
        pos, neg = (rng.standard_exponential(n) for n in sizes)
        pos = pos * (design.auc / (1 - design.auc))
    else:
        wide = 2.0 if design.law == "wide" else 1.0
        pos, neg = (rng.standard_normal(n) for n in sizes)
        pos = wide * pos + np.hypot(wide, 1) * float(ndtri(design.auc))
    return Sample(np.repeat([1, 0], sizes), np.concatenate([pos, neg]))


def one(design: Design, rng: np.random.Generator) -> list[tuple[float, float]]:
    """The interval of each method on one sample."""
    result = auc(draw(design, rng))
    if result.se == 0:
        return [result.ci(LEVEL)] * len(METHODS)
    return [result.ci(LEVEL, transform) for transform in METHODS]  # type: ignore[arg-type]


def dropped(design: Design, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether rule `drop` finds a window degraded, and improved, whose AUC is that of the reference."""
    low, high = compare_auc(auc(draw(design, rng)), auc(draw(design, rng, REFERENCE))).ci(LEVEL)
    return high < 0, low > 0


def main(arguments: list[str]) -> None:
    """Print the tables."""
    chosen = options(__doc__, arguments, replications=1000)

    def many(design: Design) -> dict[str, int]:
        rows = design.n_pos + design.n_neg
        of = chosen.replications if rows <= MANY_ROWS else -(-chosen.replications // 5)
        return {"replications": of, "seed": chosen.seed, "processes": chosen.processes}

    for law, what in LAWS.items():
        found = {each: misses(each, replicate(one, each, **many(each))) for each in designs(law)}
        for place, method in enumerate(METHODS):
            say(f"\n{what}: {method}; above, below (median width)")
            show({each: cells[place] for each, cells in found.items()})
    say("\nrule drop, a reference of ten times the rows, no drop: degraded, improved")
    alarms = {}
    for each in designs("normal"):
        if each.n_pos <= 100 and each.share > 0.01:
            shares = np.mean(replicate(dropped, each, **many(each)), axis=0)
            alarms[each] = " ".join(f"{100 * share:.1f}" for share in shares)
    show(alarms)
    say(f"\n{chosen.replications:,} samples a design: Monte Carlo error of 2.5: ")
    say(f"{100 * (0.025 * 0.975 / chosen.replications) ** 0.5:.1f}")


def misses(design: Design, found: list[list[tuple[float, float]]]) -> list[str]:
    """A cell for each method."""
    low, high = np.moveaxis(np.array(found), -1, 0)
    true = true_area(design)
    above, below = 100 * np.mean(low > true, axis=0), 100 * np.mean(high < true, axis=0)
    width = np.median(high - low, axis=0)
    return [f"{a:.1f} {b:.1f} ({w:.3f})" for a, b, w in zip(above, below, width, strict=True)]


def show(cells: dict[Design, str]) -> None:
    """Designs as a table: a line for class sizes, a column for each area."""
    areas = sorted({each.auc for each in cells})
    lines: dict[str, dict[float, str]] = {}
    for each, cell in cells.items():
        lines.setdefault(f"{each.n_pos:,}, {each.share:.0%}", {})[each.auc] = cell
    header = ["positives", *(f"{area:.3g}" for area in areas)]
    table(header, [[name, *(line.get(area, "") for area in areas)] for name, line in lines.items()])
