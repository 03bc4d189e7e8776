"""The calibrated forecast interval: how often it alarms for nothing, and how often for a drop.

Scores of two normal laws whose AUC is 0.75, rounded to a grid so that a window of any size is one draw of
counts. Each replication draws past windows and takes the interval for a coming batch, from windows that are
parts of the reference (all of them together) or outside of it (a reference of as many rows again).
Judged are several batches without a drop, and as many whose AUC is 0.05 lower.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from studies.running import options, replicate, say, table

from rocmonitor.stats import Sample, auc, forecast_interval

AREA, DROP = 0.75, 0.05
SHARE = 0.2
LEVEL = 0.95
BATCHES = (100, 1000, 2500, 10_000)
RELATIVE = (10.0, 1.0, 0.1)
PAST, FEW = 40, 19
CELLS = 200
JUDGED = 20
POWER_OF = 2500
"""The batch of 500 positives, for which a power of 0.8 is asked."""


class Design(NamedTuple):
    """Rows of a batch, of a past window for each of them, the number of those, and where they are."""

    rows: int
    relative: float
    past: int
    inside: bool


DESIGNS = [
    *(Design(*of, PAST, inside) for *of, inside in product(BATCHES, RELATIVE, (True, False))),
    *(Design(1000, 1.0, FEW, inside) for inside in (True, False)),
]


class Found(NamedTuple):
    """Rates over the replications of one design, each with its Monte Carlo error."""

    alarms: float
    alarms_error: float
    power: float
    power_error: float
    width: float


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=200)
    found = {
        design: simulated(design, chosen.replications, (chosen.seed, number), chosen.processes)
        for number, design in enumerate(DESIGNS)
    }
    say(f"{chosen.replications:,} intervals, {JUDGED} batches each; {SHARE:.0%} positives, AUC {AREA}")
    say(f"nominal alarm rate {1 - LEVEL:.0%}; a drop is one of {DROP}; ± one Monte Carlo error\n")
    table(
        ["batch", "window / batch", "windows", "inside", "alarms", "±", "seen drops", "±", "width"],
        [line(design, of) for design, of in found.items()],
    )
    say(f"\n{conclusion(found)}")


def simulated(
    design: Design, replications: int, seed: int | tuple[int, ...] = 1, processes: int = 1
) -> Found:
    """The rates of one design."""
    what = f"{design.rows:,} rows, {design.past} windows {design.relative:g} times" if processes > 1 else ""
    drawn = replicate(one, design, replications=replications, seed=seed, processes=processes, what=what)
    (alarms, power, width), n = np.array(drawn).T, len(drawn)
    # No miss in any replication still leaves an error, of about one in all.
    alarms_error, power_error = (max(np.std(of) / n**0.5, 1 / (n * JUDGED)) for of in (alarms, power))
    return Found(alarms.mean(), alarms_error, power.mean(), power_error, width.mean())


def one(design: Design, rng: np.random.Generator) -> tuple[float, float, float]:
    """Shares of batches without and with a drop that lie outside the interval, and its width."""
    window = round(design.rows * design.relative)
    past = [draw(AREA, window, rng) for _ in range(design.past)]
    reference = Sample.merge(past) if design.inside else draw(AREA, window * design.past, rng)
    interval = forecast_interval(reference, windows=past, batch=classes(design.rows), confidence_level=LEVEL)
    rates = [
        np.mean([not interval.contains(auc(draw(area, design.rows, rng)).auc) for _ in range(JUDGED)])
        for area in (AREA, AREA - DROP)
    ]
    return float(rates[0]), float(rates[1]), interval.high - interval.low


def classes(rows: int) -> tuple[int, int]:
    """Positives and negatives of so many rows."""
    positives = round(rows * SHARE)
    return positives, rows - positives


def draw(area: float, rows: int, rng: np.random.Generator) -> Sample:
    """A sample of two normal laws on the grid, with this AUC."""
    pos, neg = (
        rng.multinomial(n, cells(mean))
        for n, mean in zip(classes(rows), (2**0.5 * ndtri(area), 0.0), strict=True)
    )
    return Sample.from_counts(np.arange(CELLS), pos, neg)


def cells(mean: float) -> NDArray[np.float64]:
    """(CELLS,): shares of a normal law of variance 1 on the grid from -4 to 6."""
    inner = np.linspace(-4.0, 6.0, CELLS - 1) - mean
    return np.diff(ndtr(inner), prepend=0.0, append=1.0)


def line(design: Design, of: Found) -> list[str]:
    return [
        f"{design.rows:,}",
        f"{design.relative:g}",
        f"{design.past}",
        "yes" if design.inside else "no",
        f"{of.alarms:.4f}",
        f"{of.alarms_error:.4f}",
        f"{of.power:.3f}",
        f"{of.power_error:.3f}",
        f"{of.width:.4f}",
    ]


def conclusion(found: dict[Design, Found]) -> str:
    nominal = 1 - LEVEL
    large = [of.alarms for design, of in found.items() if design.relative >= 1]
    small = [of.alarms for design, of in found.items() if design.relative < 1]
    power = [of.power for design, of in found.items() if design.rows == POWER_OF and design.relative >= 1]
    return (
        f"Windows as large as the batch or larger: {min(large):.1%} to {max(large):.1%} alarms for nothing "
        f"({nominal:.0%} nominal), and at least {min(power):.0%} of the drops of {DROP} seen at "
        f"{classes(POWER_OF)[0]} positives; smaller windows: at most {max(small):.1%} alarms for nothing."
    )
