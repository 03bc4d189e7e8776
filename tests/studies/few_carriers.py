"""AUROCs near 1 that rest on a few rows: how often intervals hold, and how often equal models are told apart.

A share of the positives (or of the negatives) scores like the other class; all others are normal scores that
lie apart. Cells are coverage at 95 % in per cent, and above and below the interval, without what allows for
rows that the sample lacks and with it; then how much wider that is, the median of `rests_on`, and the share
of samples with a caveat. Pairs: two models with one AUROC, of which the first ranks a share of the positives
like negatives. A cell is the share of samples in which they are told apart at 5 %, by the standard error
alone and by `pvalue`. Samples: a window and a reference, independent and of one such law; a cell is the share
that is told apart at 5 %, likewise, and the share in which the window is found worse.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri
from studies.running import options, replicate, say, table

from rocmonitor.stats import auc, compare_auc, compare_auc_paired

LEVEL = 0.95
MANY_ROWS = 10_000


class Contaminated(NamedTuple):
    """The share that scores like the other class, the distance of the others, class sizes."""

    share: float
    distance: float
    n_pos: int
    n_neg: int
    of_negatives: bool = False
    df: float = 0.0  # of Student's t instead of the normal law

    @property
    def auc(self) -> float:
        """The true area; of Student's t by a million rows of each class."""
        apart = float(ndtr(self.distance / 2**0.5))
        if self.df:
            rng = np.random.default_rng(1)
            pos, neg = rng.standard_t(self.df, (2, 10**6))
            apart = float(np.mean(pos + self.distance > neg))
        return (1 - self.share) * apart + self.share / 2


class Levels(NamedTuple):
    """Shares of three scores among positives and negatives, class sizes."""

    pos: tuple[float, float, float]
    neg: tuple[float, float, float]
    n_pos: int
    n_neg: int

    @property
    def auc(self) -> float:
        """The true area."""
        neg = np.array(self.neg)
        return float(np.array(self.pos) @ (np.cumsum(neg) - neg / 2))


class Shapes(NamedTuple):
    """The AUROC of both models, the share of positives that the first ranks like negatives, class sizes."""

    auc: float
    share: float
    n_pos: int
    n_neg: int


AREAS = [
    Contaminated(0.02, 5, 50, 24_950),
    Contaminated(0.02, 5, 100, 900),
    Contaminated(0.02, 5, 200, 9_800),
    Contaminated(0.02, 4, 60, 2_940),
    Contaminated(0.01, 4, 300, 14_700),
    Contaminated(0.05, 4, 50, 950),
    Contaminated(0.02, 5, 900, 100, of_negatives=True),
    Contaminated(0.02, 5, 2_000, 50, of_negatives=True),
    Contaminated(0.0, 8, 100, 900, df=2),
    Contaminated(0.0, 15, 100, 900, df=1.5),
    Levels((0.05, 0.1, 0.85), (0.9, 0.08, 0.02), 10, 4_990),
    Levels((0.1, 0.9, 0.0), (0.97, 0.03, 0.0), 20, 180),
    Contaminated(0.0, 3.29, 30, 270),
    Contaminated(0.0, 3.29, 100, 900),
    Contaminated(0.0, 2.33, 30, 270),
    Contaminated(0.0, 2.33, 100, 900),
    Contaminated(0.0, 1.81, 100, 900),
]
PAIRS = [
    Shapes(0.98, 0.04, 50, 950),
    Shapes(0.98, 0.04, 50, 5_000),
    Shapes(0.98, 0.04, 200, 4_000),
    Shapes(0.95, 0.05, 100, 900),
    Shapes(0.98, 0.0, 50, 950),
    Shapes(0.95, 0.0, 100, 900),
    Shapes(0.8, 0.0, 100, 900),
]

SAMPLES = [AREAS[0], AREAS[1], AREAS[3], AREAS[6], AREAS[8], *AREAS[12:]]
REFERENCE_ROWS = 20


def main(arguments: list[str]) -> None:
    """Print the tables."""
    chosen = options(__doc__, arguments, replications=2000)

    def many(n_pos: int, n_neg: int) -> dict[str, int]:
        of = chosen.replications if n_pos + n_neg <= MANY_ROWS else -(-chosen.replications // 4)
        return {"replications": of, "seed": chosen.seed, "processes": chosen.processes}

    rows = []
    for design in AREAS:
        found = np.array(replicate(one_area, design, **many(design.n_pos, design.n_neg)), dtype=float)
        now, was, above, below, wider, rests_on, told = found.T
        held = [f"{100 * np.mean(each):.1f}" for each in (was, now, above, below)]
        more = [f"{np.mean(wider):.2f}", f"{np.median(rests_on):.1f}", f"{np.mean(told):.0%}"]
        rows.append([_name(design), *held, *more])
    table(["design", "was", "now", "above", "below", "wider", "rests on", "caveat"], rows)
    say("\nTwo models with one AUROC: told apart by the standard error alone, and by pvalue")
    rows = []
    for design in PAIRS:
        found = np.array(replicate(one_pair, design, **many(design.n_pos, design.n_neg)), dtype=float)
        now, was, wider = found.mean(axis=0)
        rows.append([_name(design), f"{100 * was:.1f}", f"{100 * now:.1f}", f"{wider:.2f}"])
    table(["design", "se alone", "pvalue", "wider"], rows)
    say(f"\nA window and a reference of {REFERENCE_ROWS} times its rows, of one law: told apart, found worse")
    rows = []
    for design in SAMPLES:
        found = np.array(replicate(two_samples, design, **many(design.n_pos, design.n_neg)), dtype=float)
        now, was, worse, was_worse, wider = found.mean(axis=0)
        shares = [f"{100 * each:.1f}" for each in (was, now, was_worse, worse)]
        rows.append([_name(design), *shares, f"{wider:.2f}"])
    table(["design", "se alone", "pvalue", "worse, se alone", "worse", "wider"], rows)
    say(f"\n{chosen.replications:,} samples a design, a quarter for many rows: Monte Carlo")
    say(f"error of 95 %: {100 * (0.95 * 0.05 / chosen.replications) ** 0.5:.1f}, or twice that.")


def one_area(design: Contaminated | Levels, rng: np.random.Generator) -> tuple[float, ...]:
    """Whether the interval holds, held before, lies above, lies below; its width, `rests_on`, a caveat."""
    true = _true(design)
    found = auc(np.repeat([1, 0], [design.n_pos, design.n_neg]), np.concatenate(_drawn(design, rng)))
    low, high = found.ci(LEVEL)
    was = replace(found, zeta=None).ci(LEVEL)
    told = any(caveat.code in ("rests-on-few", "no-scatter") for caveat in found.caveats)
    wider = (high - low) / (was.high - was.low)
    rests_on = found.rests_on or 0.0
    return low <= true <= high, was.low <= true <= was.high, low > true, high < true, wider, rests_on, told


def one_pair(design: Shapes, rng: np.random.Generator) -> tuple[float, ...]:
    """Whether the models are told apart by `pvalue`, and by the standard error alone; the width."""
    rest = min((design.auc - design.share / 2) / (1 - design.share), 1 - 1e-9)
    lost = rng.random(design.n_pos) < design.share
    pos = rng.standard_normal((2, design.n_pos))
    pos[0] += np.where(lost, 0.0, 2**0.5 * float(ndtri(rest)))
    pos[1] += 2**0.5 * float(ndtri(design.auc))
    scores = np.concatenate([pos, rng.standard_normal((2, design.n_neg))], axis=1)
    found = compare_auc_paired(np.repeat([1, 0], [design.n_pos, design.n_neg]), *scores)
    low, high = found.ci(LEVEL)
    half = -float(ndtri((1 - LEVEL) / 2)) * found.se
    return found.pvalue < 1 - LEVEL, abs(found.difference) > half, (high - low) / (2 * half)


def two_samples(design: Contaminated, rng: np.random.Generator) -> tuple[float, ...]:
    """Whether they are told apart, and by the standard error alone; found worse; the width."""
    times = REFERENCE_ROWS if design.n_pos + design.n_neg <= MANY_ROWS else 2
    old = design._replace(n_pos=times * design.n_pos, n_neg=times * design.n_neg)
    window, reference = (
        auc(np.repeat([1, 0], [each.n_pos, each.n_neg]), np.concatenate(_drawn(each, rng)))
        for each in (design, old)
    )
    found = compare_auc(window, reference)
    (low, high), was = found.ci(LEVEL), replace(found, balances=None).ci(LEVEL)
    told, was_told = not low <= 0 <= high, not was.low <= 0 <= was.high
    return told, was_told, high < 0, was.high < 0, (high - low) / (was.high - was.low)


_TRUE: dict[tuple, float] = {}


def _true(design: Contaminated | Levels) -> float:
    if design not in _TRUE:
        _TRUE[design] = design.auc
    return _TRUE[design]


def _drawn(design: Contaminated | Levels, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the positives and of the negatives."""
    if isinstance(design, Levels):
        return rng.choice(3, design.n_pos, p=design.pos), rng.choice(3, design.n_neg, p=design.neg)
    pos, neg = (
        rng.standard_t(design.df, n) if design.df else rng.standard_normal(n)
        for n in (design.n_pos, design.n_neg)
    )
    alike = [rng.random(len(each)) < design.share for each in (pos, neg)]
    if design.of_negatives:
        return pos + design.distance, neg + np.where(alike[1], design.distance, 0.0)
    return pos + np.where(alike[0], 0.0, design.distance), neg


def _name(design: NamedTuple) -> str:
    return ", ".join(
        f"{name} {value}" for name, value in design._asdict().items() if value or name == "share"
    )
