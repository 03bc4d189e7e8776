"""Forecast intervals of fewer than 19 reference windows: the conformal one, and that of the rule.

True values of the windows scatter normally about a mean on the scale of the scores, as the model of the rule
assumes. In the last designs they do not: heavy tails, a long tail to the bad side, two levels of which one is
rare, neighbours that are alike. Cells are the share of coming windows that each interval holds in per cent,
at 95 %, the share below it, and its mean width.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from studies.running import options, replicate, say, table

from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import freeze
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Forecast
from rocmonitor.stats import Sample, auc

Floats = np.ndarray


class Design(NamedTuple):
    """Reference windows, positives and negatives of each, deviation of the true shifts, and their law."""

    windows: int
    n_pos: int
    n_neg: int
    scatter: float
    law: str = "normal"


LAWS = {
    "t, 3 df": lambda rng, n: rng.standard_t(3, n) / 3**0.5,
    "long tail": lambda rng, n: 1 - rng.standard_exponential(n),
    "two levels": lambda rng, n: (0.15 - (rng.random(n) < 0.15)) / (0.15 * 0.85) ** 0.5,
    "alike, 0.6": lambda rng, n: _alike(0.6, rng.standard_normal(n)),
}
DESIGNS = [
    *(
        Design(windows, 60, 240, scatter)
        for windows in (2, 3, 4, 5, 6, 8, 10, 12, 15, 18)
        for scatter in (0.0, 0.2)
    ),
    Design(5, 600, 2400, 0.2),
    *(Design(windows, 60, 240, 0.2, law) for law in LAWS for windows in (3, 8, 18)),
]
LEVEL, AUC = 0.95, 0.8
COMING = 20  # windows that each interval is tried on
RULES = {"forecast": Forecast(confidence_level=LEVEL)}
START, WEEK = datetime(2024, 1, 1, tzinfo=UTC), timedelta(days=7)


def main(arguments: list[str]) -> None:
    """Print the table."""
    chosen = options(__doc__, arguments, replications=400)
    many, rows = chosen.replications, []
    for design in DESIGNS:
        found = np.array(
            replicate(one, design, replications=many, seed=chosen.seed, processes=chosen.processes)
        )
        name = f"{design.windows} of {design.n_pos} + {design.n_neg}, {design.scatter:g}, {design.law}"
        mean, error = 100 * found.mean(axis=0), 100 * found.std(axis=0, ddof=1) / many**0.5
        cells = [f"{held:.1f} ± {e:.1f}" for held, e in zip(mean[:2], error[:2], strict=True)]
        below = [f"{each:.1f}" for each in mean[2:4]]
        width = [f"{each / 100:.3f}" for each in mean[4:]]
        shown = f"{100 * design.windows / (design.windows + 1):.1f}"
        each = [", ".join(of) for of in zip(cells, below, width, strict=True)]
        rows.append([name, shown, *each])
    table(["windows, scatter, law", "level shown", "conformal", "as judged"], rows)
    say(f"\n{many:,} references a design, {COMING} coming windows each.")


def one(design: Design, rng: np.random.Generator) -> tuple[float, ...]:
    """Shares of coming windows in the conformal interval and in that of the rule, below each, widths."""
    shifts = scattered(design, rng)
    past = [window(design, shift, rng) for shift in shifts[: design.windows]]
    dated = [(Window(START + at * WEEK, START + (at + 1) * WEEK), each) for at, each in enumerate(past)]
    frozen = freeze(dated, RULES)
    found = [
        frozen.fits["forecast"].interval(Sample.merge(past)),
        NormalRanges.of(frozen).range("forecast"),
    ]
    seen = np.array([auc(window(design, shift, rng)).auc for shift in shifts[design.windows :]])
    held = [float(np.mean((each.low <= seen) & (seen <= each.high))) for each in found]
    below = [float(np.mean(seen < each.low)) for each in found]
    return (*held, *below, *(each.high - each.low for each in found))


def scattered(design: Design, rng: np.random.Generator) -> Floats:
    """True shifts of the reference windows and of the coming ones."""
    count = design.windows + COMING
    drawn = LAWS.get(design.law, lambda rng, n: rng.standard_normal(n))(rng, count)
    return design.scatter * drawn


def window(design: Design, shift: float, rng: np.random.Generator) -> Sample:
    """One window of the design."""
    y = np.repeat([1, 0], [design.n_pos, design.n_neg])
    return Sample(y, rng.standard_normal(len(y)) + (2**0.5 * float(ndtri(AUC)) + shift) * y)


def _alike(serial: float, shocks: Floats) -> Floats:
    """A stationary series with this correlation of neighbours."""
    found = shocks.copy()
    for at in range(1, len(found)):
        found[at] = serial * found[at - 1] + (1 - serial**2) ** 0.5 * shocks[at]
    return found
