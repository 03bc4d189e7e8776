"""What the scores foretold of a change, where the reference has few rows: how often the interval holds.

A logit score that is calibrated: P(y | score) is the same in the reference and in the window, so all of the
true change is foreseen. Cells are the true change, the mean of `foreseen`, coverage of `foreseen_ci` at 95 %
in per cent, its mean width, the share of windows in which the split is known, and the mean of `thin_share`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit
from studies.running import options, replicate, say, table

from rocmonitor.stats import ForeseenChange, Sample, condensed
from rocmonitor.stats.forecast.distance import score_cells
from rocmonitor.stats.forecast.foreseen import split
from rocmonitor.stats.forecast.projection import Scores, projected, valid_unlabelled


class Shifted(NamedTuple):
    """Mean and standard deviation of the logits, rows of reference and window; joined or not."""

    mean: float
    sd: float
    reference: int
    window: int
    condensed: bool = False


REFERENCE = -1.5, 1.3  # mean and standard deviation of its logits
DESIGNS = [
    Shifted(-1.5, 1.0, 20_000, 4_000),
    Shifted(1.0, 1.0, 20_000, 4_000),
    Shifted(1.5, 1.0, 20_000, 4_000),
    Shifted(2.0, 1.0, 20_000, 4_000),
    Shifted(2.5, 1.0, 20_000, 4_000),
    Shifted(2.5, 1.0, 20_000, 4_000, condensed=True),
    Shifted(-5.0, 1.0, 20_000, 4_000),
    Shifted(-1.5, 1.3, 500, 500),
    Shifted(0.0, 1.0, 500, 500),
    Shifted(0.0, 1.0, 3_000, 500),
    Shifted(-1.0, 1.0, 200_000, 4_000),
]


def main(arguments: list[str]) -> None:
    """Print the table."""
    chosen = options(__doc__, arguments, replications=400)
    rows = []
    for design in DESIGNS:
        found = np.array(
            replicate(
                one, design, replications=chosen.replications, seed=chosen.seed, processes=chosen.processes
            )
        )
        true, said, held, width, known, thin = found.mean(axis=0)
        name = ", ".join(f"{name} {value}" for name, value in design._asdict().items() if value)
        shares = [f"{100 * held:.1f}", f"{width:.4f}", f"{100 * known:.0f}", f"{thin:.2f}"]
        rows.append([name, f"{true:+.4f}", f"{said:+.4f}", *shares])
    table(["design", "true", "said", "covers", "width", "known", "thin"], rows)
    say(f"\n{chosen.replications:,} windows a design, each with a reference of its own.")


def one(design: Shifted, rng: np.random.Generator) -> tuple[float, ...]:
    """The true change, what is foreseen, whether the interval holds; its width, known, `thin_share`."""
    mean, sd = REFERENCE
    old, new = (
        rng.normal(mean, sd, design.reference),
        np.sort(rng.normal(design.mean, design.sd, design.window)),
    )
    reference, window = (Sample(rng.random(len(each)) < expit(each), each) for each in (old, new))
    grid = np.linspace(mean - 7 * sd, mean + 7 * sd, 20_001)
    law = np.exp(-(((grid - mean) / sd) ** 2) / 2)
    true = _area(np.ones(len(new)), expit(new)) - _area(law, expit(grid))
    found = foreseen_change(condensed(reference) if design.condensed else reference, window)
    low, high = found.foreseen_ci()
    return true, found.foreseen, low <= true <= high, high - low, found.known, found.thin_share


def foreseen_change(reference: Sample, window: Sample, scores: Scores | None = None) -> ForeseenChange:
    """Split the change of a window's AUC by all scores of the reference, or by what `condensed` left."""
    own = (window.score, window.pos + window.neg)
    given = own if scores is None else valid_unlabelled(scores, "scores")
    cells = score_cells(reference)
    return split(projected(reference, *given, cells), cells, reference, window, given)


def _area(rows: np.ndarray, share: np.ndarray) -> float:
    """The AUC of rows at increasing scores, of which such shares are positive."""
    pos, neg = rows * share, rows * (1 - share)
    return float(np.sum(pos * (np.cumsum(neg) - neg / 2)) / (pos.sum() * neg.sum()))
