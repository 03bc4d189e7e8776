"""The forecast given the scores: its level and width for windows that drift, beside the one without them.

Each window has its own population. What drifts from window to window is the prevalence, the means of both
classes, both of these, P(y | score), or the law of the scores at the same P(y | score). Scores lie on a
grid, so that a window of any size is one draw of counts. Each replication draws past windows, which are the
parts of the reference, and judges some windows more, of which only the scores are known to the forecast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr
from studies.running import options, replicate, say, table

from rocmonitor.stats import Sample, auc, condensed, forecast_interval, score_history
from rocmonitor.stats.forecast.blending import Laws
from rocmonitor.stats.forecast.calibration import conformal_root, resized
from rocmonitor.stats.forecast.given_scores import Noises, at_strength
from rocmonitor.stats.forecast.projection import counted_in

LEVEL = 0.95
PAST = (19, 39)
ROWS = (100, 1000, 10_000)
JUDGED = 10
GRID = np.linspace(-4.0, 6.0, 99)

Floats = NDArray[np.float64]


def normal(mean: float, deviation: float = 1.0) -> Floats:
    """(100,): shares of a normal law on the grid."""
    return np.diff(ndtr((GRID - mean) / deviation), prepend=0.0, append=1.0)


SCORE = np.concatenate([[GRID[0] - 0.05], (GRID[1:] + GRID[:-1]) / 2, [GRID[-1] + 0.05]])
USUAL = 0.8 * normal(0.0) + 0.2 * normal(1.1)  # law of the scores without drift
CONCEPT = expit(1.1 * SCORE - 0.605 + np.log(0.25))  # P(y | score) of it


def _prevalence(rng: np.random.Generator) -> float:
    return float(expit(np.log(0.25) + 0.5 * rng.normal()))


def prevalence(rng: np.random.Generator) -> Floats:
    share = _prevalence(rng)
    return np.stack([(1 - share) * normal(0.0), share * normal(1.1)])


def means(rng: np.random.Generator, share: float = 0.2) -> Floats:
    low, high = 0.12 * rng.normal(size=2)
    return np.stack([(1 - share) * normal(low), share * normal(1.1 + high)])


def both(rng: np.random.Generator) -> Floats:
    return means(rng, _prevalence(rng))


def concept(rng: np.random.Generator) -> Floats:
    """P(y | score) drifts, the law of the scores stays."""
    level = expit((1.1 + 0.15 * rng.normal()) * (SCORE - 0.55) + np.log(0.25) + 0.2 * rng.normal())
    return np.stack([USUAL * (1 - level), USUAL * level])


def cases(rng: np.random.Generator) -> Floats:
    """The law of the scores drifts, P(y | score) stays: cases become harder or easier."""
    wide = np.exp(0.15 * rng.normal())
    law = 0.8 * normal(0.0, wide) + 0.2 * normal(1.1 * wide, wide)
    return np.stack([law * (1 - CONCEPT), law * CONCEPT])


def nothing(_rng: np.random.Generator) -> Floats:
    return np.stack([USUAL * (1 - CONCEPT), USUAL * CONCEPT])


DRIFTS: dict[str, Callable[[np.random.Generator], Floats]] = {
    "prevalence": prevalence,
    "class means": means,
    "both": both,
    "P(y | score)": concept,
    "scores": cases,
    "nothing": nothing,
}
METHODS = ("given", "without", "full", "residual")
"""With the learned strength, without scores, at full strength, and the residuals' conformal interval."""
RELATIVE = tuple(name for name in METHODS if name != "without")


class Design(NamedTuple):
    """What drifts, rows of a coming window, rows of a past one for each of them, number of past ones."""

    drift: str
    rows: int
    relative: float
    past: int


DESIGNS = [
    *(Design(*of) for of in product(list(DRIFTS)[:4], ROWS, (1.0,), PAST)),
    *(Design(*of) for of in product(list(DRIFTS)[4:], ROWS, (1.0,), PAST[:1])),
    *(Design(drift, 100, 10.0, 39) for drift in ("prevalence", "class means", "P(y | score)")),
]


class Found(NamedTuple):
    """Shares over the coming windows of one design."""

    covered: dict[str, float]
    error: float  # Monte Carlo, of the coverage given the scores
    width: dict[str, float]
    score_alarms: float  # windows whose score distance is above the limit
    expected_alarms: float  # windows whose expected AUC is below the limit


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=60)
    say(f"{chosen.replications:,} references, {JUDGED} coming windows each, nominal level {LEVEL:.0%}")
    say("x: rows of a past window for each of a coming one; covered: given the scores, and without them")
    say("width: without the scores, then relative to it: given them, at full strength, and of the conformal")
    say("interval of realised minus expected AUC. Last: share of windows with a score distance above its")
    say(f"limit, and with an expected AUC below its limit (nominal {1 - LEVEL:.0%})\n")
    found = {
        design: simulated(design, chosen.replications, (chosen.seed, number), chosen.processes)
        for number, design in enumerate(DESIGNS)
    }
    show(found)
    say(f"\n{conclusion(found)}")


def show(found: dict[Design, Found]) -> None:
    """One line a design."""
    table(
        ["drift", "rows", "x", "past", "covered", "±", "without", "width", *RELATIVE, "scores", "expected"],
        [line(design, of) for design, of in found.items()],
    )


def simulated(
    design: Design, replications: int, seed: int | tuple[int, ...] = 1, processes: int = 1
) -> Found:
    """The shares of one design."""
    what = f"{design.drift}, {design.rows:,} rows, {design.past} windows" if processes > 1 else ""
    drawn = np.array(
        replicate(one, design, replications=replications, seed=seed, processes=processes, what=what)
    )
    mean, n = drawn.mean(axis=0), len(METHODS)
    error = max(float(drawn[:, 0].std()) / len(drawn) ** 0.5, 1 / (len(drawn) * JUDGED))
    return Found(
        dict(zip(METHODS, mean[:n].tolist(), strict=True)),
        error,
        dict(zip(METHODS, mean[n : 2 * n].tolist(), strict=True)),
        *mean[2 * n :].tolist(),
    )


def one(design: Design, rng: np.random.Generator) -> list[float]:
    """Coverage and width of each method over the coming windows, and both shares of alarms."""
    past = [draw(design.drift, round(design.rows * design.relative), rng) for _ in range(design.past)]
    reference = Sample.merge(past)
    history, plain = score_history(reference, past), forecast_interval(reference, windows=past)
    cells = condensed(reference)
    limits = [limit(design.rows) for limit in (history.distance_limit, history.expected_limit)]
    noises, found = Noises.of(history, design.rows, None), []
    errors = np.array(history.window_aucs) - np.array(history.foreseen[-1])
    resizing = resized(errors, *noises.left(1.0))
    half = conformal_root(*resizing, history.worth(), LEVEL, "two-sided").root
    for _ in range(JUDGED):
        coming = draw(design.drift, design.rows, rng)
        scores = (coming.score, coming.pos + coming.neg)
        given, realised = history.forecast(cells, scores), auc(coming).auc
        without = plain.for_batch(cells, given.batch)
        rows = counted_in(cells.score[:-1], *scores)
        laws = Laws.of(cells.score, cells.pos, cells.neg, rows)
        full = at_strength(history, laws, cells, noises, -1, LEVEL, "two-sided")
        ends = [
            (given.low, given.high),
            (without.low, without.high),
            full.ends("two-sided"),
            (full.foreseen - half, full.foreseen + half),
        ]
        found.append(
            [low <= realised <= high for low, high in ends]
            + [high - low for low, high in ends]
            + [given.score_distance > limits[0].limit, given.auc < limits[1].limit]
        )
    return np.mean(found, axis=0).tolist()


def draw(drift: str, rows: int, rng: np.random.Generator) -> Sample:
    """A window of its own population."""
    law = DRIFTS[drift](rng)
    while True:
        neg, pos = rng.multinomial(rows, (law / law.sum()).ravel()).reshape(2, -1)
        if min(pos.sum(), neg.sum()) > 1:
            return Sample.from_counts(SCORE, pos, neg)


def line(design: Design, of: Found) -> list[str]:
    widths = of.width
    return [
        design.drift,
        f"{design.rows:,}",
        f"{design.relative:g}",
        f"{design.past}",
        f"{of.covered['given']:.1%}",
        f"{of.error:.1%}",
        f"{of.covered['without']:.1%}",
        f"{widths['without']:.4f}",
        *(f"{widths[name] / widths['without']:.3f}" for name in RELATIVE),
        f"{of.score_alarms:.1%}",
        f"{of.expected_alarms:.1%}",
    ]


def conclusion(found: dict[Design, Found]) -> str:
    covered = [of.covered["given"] for of in found.values()]
    ratios = {name: [of.width[name] / of.width["without"] for of in found.values()] for name in RELATIVE}
    relative = "; ".join(
        f"{name} {min(each):.2f} to {max(each):.2f} (mean {np.mean(each):.3f})"
        for name, each in ratios.items()
    )
    return (
        f"Given the scores {min(covered):.1%} to {max(covered):.1%} are covered, "
        f"{np.mean(covered):.1%} on average.\n"
        f"Width relative to the forecast without scores: {relative}."
    )
