"""Normal ranges of quiet streams: how many windows leave them, by the reference and its windows.

The reference is frozen and later windows are judged as the service does it: each by the range for its own
size, with neighbours that may be alike allowed for. True values scatter normally on the scale of the scores,
in an AR(1) process; rows of windows are equal in number or log-normal. Shown are the later windows outside of
a 95 % range, those below it, and its width over that of a range which knows the law ("1.00"). Half an hour of
two processors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from studies.running import options, replicate, say, table

from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import freeze
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Forecast
from rocmonitor.stats import Sample, auc

Floats = NDArray[np.float64]


class Design(NamedTuple):
    """The windows of a stream on which nothing happens."""

    windows: int
    correlation: float = 0.0
    scatter: float = 1.0  # standard deviation of the true AUROCs, in sampling errors of a window
    sizes: float = 0.0  # standard deviation of the logarithm of a window's rows
    auc: float = 0.8
    n_pos: int = 100
    n_neg: int = 400
    law: str = "normal"


DESIGNS = [
    *(
        Design(windows, *process, sizes)
        for windows in (19, 26, 40, 80)
        for process in ((0.0, 0.0), (0.0, 1.0), (0.3, 1.0), (0.6, 1.0), (0.6, 2.0))
        for sizes in (0.0, 0.5)
    ),
    *(Design(windows, 0.9, 2.0) for windows in (19, 40, 80)),
    *(Design(windows, sizes=1.0) for windows in (19, 40)),
    *(Design(windows, auc=area, sizes=0.3) for windows in (19, 40) for area in (0.65, 0.95)),
    *(Design(windows, sizes=0.3, n_pos=30, n_neg=1000) for windows in (19, 40)),
    *(Design(windows, scatter=2.0, sizes=0.3, n_pos=1000, n_neg=4000) for windows in (19, 40)),
    *(
        Design(windows, scatter=2.0, sizes=0.3, law=law)
        for windows in (19, 40)
        for law in ("t, 3 df", "skew")
    ),
]
RULES = {"forecast": Forecast()}
COMING, CELLS = 20, 300
START, WEEK = datetime(2024, 1, 1, tzinfo=UTC), timedelta(days=7)
LAWS = {
    "t, 3 df": lambda rng, n: rng.standard_t(3, n) / 3**0.5,
    "skew": lambda rng, n: 1 - rng.standard_exponential(n),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    chosen = options(__doc__, arguments, replications=200)
    rows = []
    for number, design in enumerate(DESIGNS):
        runs = {"replications": chosen.replications, "processes": chosen.processes, "what": str(number)}
        found = np.array(replicate(one, design, seed=(chosen.seed, number), **runs))
        mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / math.sqrt(len(found))
        shares = [f"{100 * m:.1f} ± {100 * e:.1f}" for m, e in zip(mean[:2], error[:2], strict=True)]
        rows.append([str(design.windows), *map(str, design[1:5]), f"{design.n_pos} + {design.n_neg}"])
        rows[-1] += [design.law, *shares, f"{mean[2]:.2f}"]
    heads = [
        "windows",
        "correlation",
        "scatter",
        "sizes",
        "AUROC",
        "rows",
        "law",
        "outside",
        "below",
        "width",
    ]
    table(heads, rows)
    say(f"\n{chosen.replications:,} references a line, {COMING} later windows each; per cent, nominal 5.")


def one(design: Design, rng: np.random.Generator) -> tuple[float, float, float]:
    """Shares of later windows outside of the range and below it, and its mean width over the known law's."""
    count = design.windows + COMING
    apart, noise = 2**0.5 * float(ndtri(design.auc)), sampling_error(design, 1.0)
    slope = math.exp(-(apart**2) / 4) / math.sqrt(4 * math.pi)  # of the AUROC in the distance of the classes
    sizes = np.exp(design.sizes * rng.standard_normal(count))
    shifts = design.scatter * noise / slope * series(design, count, rng)
    samples = [window(design, apart + shift, size, rng) for shift, size in zip(shifts, sizes, strict=True)]
    dated = [Window(START + at * WEEK, START + (at + 1) * WEEK) for at in range(design.windows)]
    ranges = NormalRanges.of(freeze(list(zip(dated, samples[: design.windows], strict=True)), RULES))
    outside = below = width = 0.0
    for sample, size in zip(samples[design.windows :], sizes[design.windows :], strict=True):
        found, seen = ranges.range("forecast", (sample.n_pos, sample.n_neg)), auc(sample).auc
        outside += not found.contains(seen)
        below += seen < found.low
        own = sampling_error(design, size)
        width += (found.high - found.low) / (2 * 1.96 * math.hypot(own, design.scatter * noise))
    return outside / COMING, below / COMING, width / COMING


def series(design: Design, count: int, rng: np.random.Generator) -> Floats:
    """A stationary series of variance 1 with this correlation of neighbours."""
    found = LAWS.get(design.law, lambda rng, n: rng.standard_normal(n))(rng, count)
    for at in range(1, count):
        found[at] = design.correlation * found[at - 1] + math.sqrt(1 - design.correlation**2) * found[at]
    return np.asarray(found)


def sampling_error(design: Design, size: float) -> float:
    """Standard error of the AUROC of a window with `size` times the rows, of two normal laws."""
    a, z = design.auc, float(ndtri(design.auc))
    both = float(np.mean(ndtr(2**0.5 * z + ndtri((np.arange(2000) + 0.5) / 2000)) ** 2)) - a * a
    return math.sqrt(both / (design.n_pos * size) + both / (design.n_neg * size))


def window(design: Design, apart: float, size: float, rng: np.random.Generator) -> Sample:
    """One window: scores of two normal laws on a grid."""
    ends = np.linspace(-4.0, 4.0 + apart, CELLS - 1)
    pos, neg = (
        rng.multinomial(max(round(n * size), 5), np.diff(ndtr(ends - mean), prepend=0.0, append=1.0))
        for n, mean in ((design.n_pos, apart), (design.n_neg, 0.0))
    )
    return Sample.from_counts(np.arange(CELLS), pos, neg)
