"""A bad week in a reference: how often it is named, and what it costs to keep it.

Weeks of 120 + 1,080 rows with an AUROC of 0.80, normal scores, rule `forecast` at 95 %. Bad weeks have an
AUROC of 0.60; in a harder design weeks have 200 + 800 rows, 0.85 and 0.75. The true AUROCs of the others may
scatter: by the normal law, by Student's t with 3 or 4 degrees of freedom, by a law with a long tail of low
ones, about two levels, or from week to week alike. Then references whose windows are small, or one of them,
where the standard error of a window is itself uncertain.

First table: the share of references in which `outlying_windows` names good weeks, and in which it names the
bad weeks and no other, in per cent; "own" is the same with the standard error that each window has by itself.
Second: what the rule makes of a reference with its bad week and without it;
"found" is the share of later weeks with an AUROC of 0.70 that it finds degraded, "false" the share of later
weeks without a change. Third: a small window, by itself and together with its neighbour (`large_enough`).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from studies.running import options, replicate, say, table

from rocmonitor.policy.measure import shows_no_scatter
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import freeze
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Forecast
from rocmonitor.stats import ForecastInterval, Sample, auc
from rocmonitor.stats.outlying import outlying_windows, sampling_errors, sampling_skewness

AUC, DROP = 0.80, 0.10
LATER = 15
"""Later windows of each kind that an interval is tried on."""
MIN_PER_CLASS = 50
"""The default of the configuration."""
RULES = {"forecast": Forecast(confidence_level=0.95)}
START, WEEK = datetime(2024, 1, 1, tzinfo=UTC), timedelta(days=7)
Sizes = tuple[int, int]


class Past(NamedTuple):
    """A reference: its windows and bad ones, scatter of the true AUROCs and its law, sizes."""

    windows: int = 19
    bad: int = 0
    scatter: float = 0.0
    law: str = "normal"
    sizes: Sizes = (120, 1080)
    last: Sizes | None = None  # of the last window, where it has others
    auc: float = AUC
    depth: float = 0.20  # of a bad week

    def __str__(self) -> str:
        of = f"{self.windows} of {self.sizes[0]} + {self.sizes[1]:,}"
        of += f", last {self.last[0]} + {self.last[1]}" if self.last else ""
        of += f", AUROC {self.auc:g}" if self.auc != AUC else ""
        law = f", {self.law}" if self.law != "normal" else ""
        depth = f" by {self.depth:g}" if self.bad and self.depth != Past().depth else ""
        return f"{of}; {self.scatter:g}{law}; {self.bad} bad{depth}"


LAWS = {
    "t, 3 df": lambda rng, n: rng.standard_t(3, n) / 3**0.5,
    "t, 4 df": lambda rng, n: rng.standard_t(4, n) / 2**0.5,
    "long tail": lambda rng, n: -(rng.gamma(2.0, 1.0, n) - 2) / 2**0.5,
    "two levels": lambda rng, n: ((rng.random(n) < 0.15) - 0.15) / -((0.15 * 0.85) ** 0.5),
    "alike, 0.6": lambda rng, n: _alike(0.6, rng.standard_normal(n)),
}
NAMING = [
    *(Past(bad=bad, scatter=scatter) for bad in (0, 1, 2) for scatter in (0.0, 0.02, 0.04)),
    *(Past(scatter=0.02, law=law) for law in LAWS),
    *(Past(windows=windows, bad=bad) for windows in (9, 12, 52) for bad in (0, 1)),
    Past(last=(9, 30)),
    Past(last=(9, 30), auc=0.9),
    Past(sizes=(10, 90)),
    Past(sizes=(10, 90), auc=0.9),
    Past(sizes=(20, 180)),
    Past(sizes=(20, 180), auc=0.9),
    Past(sizes=(50, 450), auc=0.9),
    Past(sizes=(50, 450), auc=0.97),
    *(
        Past(windows, bad, scatter, sizes=(200, 800), auc=0.85, depth=0.10)
        for windows in (19, 30)
        for bad in (0, 1, 3)
        for scatter in (0.0, 0.015)
    ),
]
KEEPING = [Past(bad=1), Past(bad=1, scatter=0.02), Past(bad=1, windows=52)]
POOLING = [Past(windows=21, sizes=(900, 3400), last=(9, 30))]


def main(arguments: list[str]) -> None:
    """Print the tables."""
    chosen = options(__doc__, arguments, replications=2000)
    few = max(chosen.replications // 50, 1)
    run = {"seed": chosen.seed, "processes": chosen.processes}
    rows = []
    for past in NAMING:
        found = np.array(replicate(named, past, replications=chosen.replications, **run), dtype=float)
        good, exactly, own, own_exactly = _per_cent(found)
        rows.append([str(past), good, exactly if past.bad else "", own, own_exactly if past.bad else ""])
    header = ["windows; scatter; bad", "a good one", "exactly the bad", "own: good", "own: exactly"]
    table(header, rows)
    say(f"\n{chosen.replications:,} references a line.\n")
    for designs, one, names in (
        (KEEPING, kept, ("with it", "without it")),
        (POOLING, pooled, ("by itself", "pooled")),
    ):
        rows = []
        for past in designs:
            found = np.array(replicate(one, past, replications=few, **run))  # (references, 2, 5)
            for at, name in enumerate(names):
                ends = found[:, at, :2].mean(axis=0)
                width = found[:, at, 1] - found[:, at, 0]
                cells = [f"{ends[0]:.3f} to {ends[1]:.3f}", f"{width.mean():.3f} ± {_error(width):.3f}"]
                rows.append([str(past), name, *cells, *_per_cent(found[:, at, 2:])])
        table(["windows; scatter; bad", "", "interval", "width", "found", "false", "false, low"], rows)
        say(f"\n{few:,} references a line, {LATER} later windows of each kind.\n")


def named(past: Past, rng: np.random.Generator) -> tuple[bool, bool, bool, bool]:
    """Return whether a good window is named, and whether exactly the bad ones are; then by own errors."""
    windows, bad = drawn(past, rng)
    usable = [at for at, sample in enumerate(windows) if not shows_no_scatter(sample)]
    areas = [auc(windows[at]) for at in usable]
    aucs = [area.auc for area in areas]
    errors = sampling_errors(areas)
    both = [
        outlying_windows(aucs, errors, sampling_skewness(areas, errors)),
        outlying_windows(aucs, [area.se for area in areas]),
    ]
    now, was = ({usable[at] for at in (*found.low.places, *found.high.places)} for found in both)
    return bool(now - bad), now == bad, bool(was - bad), was == bad


def kept(past: Past, rng: np.random.Generator) -> list[tuple[float, ...]]:
    """Return what the interval is, with the bad windows and without them: its ends, found, false alarms."""
    windows, bad = drawn(past, rng)
    good = [sample for at, sample in enumerate(windows) if at not in bad]
    later = _later(past, DROP, rng)
    return [_judged(_interval(each, 0), later) for each in (windows, good)]


def pooled(past: Past, rng: np.random.Generator) -> list[tuple[float, ...]]:
    """Return what the interval is with each window by itself, and with small ones pooled."""
    windows, _ = drawn(past, rng)
    later = _later(past, DROP / 2, rng)
    return [_judged(_interval(windows, least), later) for least in (0, MIN_PER_CLASS)]


def drawn(past: Past, rng: np.random.Generator) -> tuple[list[Sample], set[int]]:
    """Draw the windows of a reference, and say which are bad."""
    bad = set(rng.choice(past.windows, past.bad, replace=False).tolist())
    areas = _areas(past, past.windows, rng)
    areas[list(bad)] -= past.depth
    sizes = [past.sizes] * (past.windows - 1) + [past.last or past.sizes]
    return [window(of, area, rng) for of, area in zip(sizes, areas, strict=True)], bad


def window(sizes: Sizes, area: float, rng: np.random.Generator) -> Sample:
    """Draw one window with such a true AUROC."""
    y = np.repeat([1, 0], sizes)
    return Sample(y, rng.standard_normal(len(y)) + 2**0.5 * float(ndtri(area)) * y)


def _areas(past: Past, count: int, rng: np.random.Generator) -> np.ndarray:
    shocks = LAWS.get(past.law, lambda rng, n: rng.standard_normal(n))(rng, count)
    return np.clip(past.auc + past.scatter * shocks, 0.5, 0.99)


def _later(past: Past, drop: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the AUROCs of later windows: with a drop, and without a change."""
    dropped, like = (
        np.array([auc(window(past.sizes, area - by, rng)).auc for area in _areas(past, LATER, rng)])
        for by in (drop, 0.0)
    )
    return dropped, like


def _interval(windows: list[Sample], min_per_class: int) -> ForecastInterval:
    """Return the interval by which the rule judges a window of the usual size."""
    dated = [(Window(START + at * WEEK, START + (at + 1) * WEEK), each) for at, each in enumerate(windows)]
    frozen = freeze(dated, RULES, min_per_class=min_per_class, outliers="keep")
    return NormalRanges.of(frozen).range("forecast")


def _judged(interval: ForecastInterval, later: tuple[np.ndarray, np.ndarray]) -> tuple[float, ...]:
    dropped, like = later
    outside = (like < interval.low) | (like > interval.high)
    shares = [np.mean(each) for each in (dropped < interval.low, outside, like < interval.low)]
    return interval.low, interval.high, *map(float, shares)


def _alike(serial: float, shocks: np.ndarray) -> np.ndarray:
    """Return a stationary series with this correlation of neighbours."""
    found = shocks.copy()
    for at in range(1, len(found)):
        found[at] = serial * found[at - 1] + (1 - serial**2) ** 0.5 * shocks[at]
    return found


def _per_cent(found: np.ndarray) -> list[str]:
    """Return mean and Monte Carlo error of each column."""
    return [f"{100 * np.mean(each):.1f} ± {100 * _error(each):.1f}" for each in found.T]


def _error(values: np.ndarray) -> float:
    return float(np.std(values) / len(values) ** 0.5)
