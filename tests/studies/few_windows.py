"""Forecast intervals of fewer than 19 reference windows: the conformal one, and the one by a model beside it.

True values of the windows scatter normally about a mean on the scale of the scores; also by a law with heavy
tails, which the model does not know. Cells are the share of coming windows that each interval holds in per
cent, at 95 %, and its mean width.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from studies.running import options, replicate, say, table

from rocmonitor.stats import Sample, auc, forecast_interval


class Design(NamedTuple):
    """Reference windows, positives and negatives of each, deviation of the true shifts, and their law."""

    windows: int
    n_pos: int
    n_neg: int
    scatter: float
    law: str = "normal"


DESIGNS = [
    *(Design(windows, 60, 240, scatter) for windows in (3, 5, 8, 12, 18) for scatter in (0.0, 0.2)),
    Design(8, 600, 2400, 0.2),
    Design(8, 60, 240, 0.2, "t, 3 degrees"),
]
LEVEL, AUC = 0.95, 0.8
COMING = 20  # windows that each interval is tried on


def main(arguments: list[str]) -> None:
    """Print the table."""
    chosen = options(__doc__, arguments, replications=400)
    many, rows = chosen.replications, []
    for design in DESIGNS:
        found = np.array(
            replicate(one, design, replications=many, seed=chosen.seed, processes=chosen.processes)
        )
        name = f"{design.windows} of {design.n_pos} + {design.n_neg}, {design.scatter:g}, {design.law}"
        error = 100 * found[:, :2].std(axis=0, ddof=1) / many**0.5
        held, width = 100 * found[:, :2].mean(axis=0), found[:, 2:].mean(axis=0)
        cells = [f"{h:.1f} ± {e:.1f}, {w:.3f}" for h, e, w in zip(held, error, width, strict=True)]
        rows.append([name, f"{100 * design.windows / (design.windows + 1):.1f}", *cells])
    table(["windows, scatter, law", "level shown", "conformal", "by the model"], rows)
    say(f"\n{many:,} references a design, {COMING} coming windows each.")


def one(design: Design, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """The share of coming windows in the conformal interval, and in the model's; the two widths."""
    past = [window(design, rng) for _ in range(design.windows)]
    found = forecast_interval(
        Sample.merge(past), windows=past, confidence_level=LEVEL, batch=(design.n_pos, design.n_neg)
    )
    assert found.model_low is not None
    assert found.model_high is not None
    ends = [(found.low, found.high), (found.model_low, found.model_high)]
    seen = np.array([auc(window(design, rng)).auc for _ in range(COMING)])
    held = [float(np.mean((low <= seen) & (seen <= high))) for low, high in ends]
    return (held[0], held[1], *(high - low for low, high in ends))


def window(design: Design, rng: np.random.Generator) -> Sample:
    """One window of the design."""
    drift = rng.standard_t(3) / 3**0.5 if design.law != "normal" else rng.standard_normal()
    y = np.repeat([1, 0], [design.n_pos, design.n_neg])
    return Sample(y, rng.standard_normal(len(y)) + (2**0.5 * float(ndtri(AUC)) + design.scatter * drift) * y)
