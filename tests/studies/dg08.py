"""What the studies of Dugas and Gadoury (2008), figures 2 to 6, share: populations, samples, coverage.

Scores of both classes are normal with deviation 3, positives at theta and negatives at -theta; thresholds
are the best ones for each operating condition w, as if chosen on unlimited rows. Methods are those of
`cost_curve` and `cost_difference`, applied to the counts of a hundred samples at once; "ours" is
``method="mover"``.

Under full sampling the class sizes are random. The costs of the two errors are w and 1 - w (both classes are
equally likely in the population), so the w of a sample follows from its share of positives.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr
from studies.figures import Floats, Outcome, Panel, coverage, finish, lowest_and_highest
from studies.running import options
from studies.two_models import Counts, ScoreLaw, disagreements

from rocmonitor.stats.cost.law import CostDifferenceLaw, CostLaw, ErrorCounts
from rocmonitor.stats.curve.laws import IntervalOptions

SD, LEVEL, ROWS = 3.0, 0.90, 1000
W = np.concatenate([[0.001, 0.002, 0.005], np.arange(1, 100) / 100, [0.995, 0.998, 0.999]])
METHODS = {"Wald": "wald", "Agresti": "agresti", "ours": "mover"}
W_LABEL = "operating condition w"


class Design(NamedTuple):
    """Two classes and the thresholds of one or of two models, for each w; the second model may be absent."""

    pos: ScoreLaw
    neg: ScoreLaw
    at_1: Floats
    at_2: Floats | None
    full: bool

    def error_rates(self, second: bool) -> tuple[Floats, Floats]:
        """Misses and false alarms of a model."""
        at = self.at_2 if second and self.at_2 is not None else self.at_1
        pos, neg = ((law.mean_2 if second else law.mean_1) for law in (self.pos, self.neg))
        return np.asarray(ndtr((at - pos) / SD)), np.asarray(ndtr((neg - at) / SD))

    def true_cost(self) -> Floats:
        """Of a model, or of the second less the first; the costs of the errors are w and 1 - w."""
        miss, alarm = self.error_rates(False)
        if self.at_2 is not None:
            miss, alarm = (b - a for a, b in zip((miss, alarm), self.error_rates(True), strict=True))
        cost = W * miss + (1 - W) * alarm
        return cost / (2 * np.maximum(W, 1 - W)) if self.full else cost


def best_thresholds(pos: float, neg: float) -> Floats:
    """Where w times the positives' density equals 1 - w times the negatives': decreasing in w."""
    return np.asarray((pos + neg) / 2 + SD**2 / (pos - neg) * np.log((1 - W) / W))


def one_model(theta: float, *, full: bool) -> Design:
    """Figures 2, 3 and 5."""
    pos, neg = ScoreLaw(theta, theta, SD, 0.0), ScoreLaw(-theta, -theta, SD, 0.0)
    return Design(pos, neg, best_thresholds(theta, -theta), None, full)


def two_models(theta: float, shift: float, rho: float, *, full: bool) -> Design:
    """Figures 4 and 6: the second model's positives lie at theta + shift."""
    pos, neg = ScoreLaw(theta, theta + shift, SD, rho), ScoreLaw(-theta, -theta, SD, rho)
    return Design(pos, neg, best_thresholds(theta, -theta), best_thresholds(theta + shift, -theta), full)


def held(of: Design, rows: int, size: int, rng: np.random.Generator) -> Floats:
    """How many of `size` samples have each interval hold the true cost: (methods, w)."""
    n_pos = rng.binomial(2 * rows, 0.5, size) if of.full else np.full(size, rows)
    true, found = of.true_cost(), np.zeros((len(METHODS), len(W)))
    for many, samples in zip(*np.unique(n_pos, return_counts=True), strict=True):
        m_pos, m_neg = int(many), 2 * rows - int(many)
        law = cost_law(of, m_pos, m_neg, int(samples), rng)
        for line, method in zip(found, METHODS.values(), strict=True):
            low, high = law.ends(IntervalOptions(method, LEVEL, (1 - LEVEL) / 2, 0, None))
            line += ((low <= true) & (true <= high)).sum(axis=0)
    return found


def cost_law(of: Design, m_pos: int, m_neg: int, size: int, rng: np.random.Generator) -> CostLaw:
    """The laws of the costs of `size` samples with these class sizes: fields are (size, w)."""
    if of.at_2 is None:
        misses, alarms = (
            _counts(rate, rows, size, rng)
            for rate, rows in zip(of.error_rates(False), (m_pos, m_neg), strict=True)
        )
        none = np.zeros_like(misses)
        errors = ErrorCounts(misses, none, m_pos, m_pos), ErrorCounts(alarms, none, m_neg, m_neg)
        kind: type[CostLaw] = CostLaw
    else:
        pos = disagreements(of.pos, of.at_1, of.at_2, m_pos, size, rng)
        neg = disagreements(of.neg, of.at_1, of.at_2, m_neg, size, rng)
        errors = ErrorCounts(*pos, m_pos, m_pos), ErrorCounts(*neg[::-1], m_neg, m_neg)
        kind = CostDifferenceLaw
    if not of.full:
        return kind(W, *errors, "stratified")
    here = W * m_pos / (W * m_pos + (1 - W) * m_neg)  # the w of these costs at this share of positives
    return kind(here, *errors, "full")


def _counts(rates: Floats, rows: int, size: int, rng: np.random.Generator) -> Counts:
    """Rows of a class that are wrong, of `size` samples; rates are monotone in w, either way."""
    if rates[0] > rates[-1]:
        return _counts(rates[::-1], rows, size, rng)[:, ::-1]
    steps = np.diff(rates, prepend=0.0, append=1.0)
    return np.cumsum(rng.multinomial(rows, np.maximum(steps, 0.0) / steps.sum(), size)[:, :-1], axis=1)


Figure = Sequence[tuple[str, Design, int]]
"""Titles, designs and rows a class, in the paper's order."""


def spread_figure(thetas: Sequence[float], *, full: bool) -> Figure:
    """Figures 2 and 5."""
    return [(f"theta = {theta:g}", one_model(theta, full=full), ROWS) for theta in thetas]


def difference_figure(*, full: bool) -> Figure:
    """Figures 4 and 6; the paper draws the three correlations into one plot."""
    return [
        (
            f"theta = {theta:g}, shift {shift:g}, correlation {rho:g}",
            two_models(theta, shift, rho, full=full),
            ROWS,
        )
        for shift in (0.0, 2.0, 4.0)
        for theta in (1.0, 3.0)
        for rho in (0.3, 0.6, 0.9)
    ]


def run(
    name: str,
    text: str | None,
    arguments: Sequence[str] | None,
    *,
    paper: str,
    claim: str,
    figure: Callable[[], Figure],
    columns: int,
    number: int,
    replications: int,
) -> None:
    """A study: its panels, and what they show."""
    chosen = options(text, arguments, replications=replications)
    panels = [
        Panel(title, W, lines(of, rows, chosen, number + at, title))
        for at, (title, of, rows) in enumerate(figure())
    ]
    found, facts = compared(panels)
    outcome = Outcome(paper, claim, found, W_LABEL, LEVEL, panels, columns, facts)
    finish(name, outcome, chosen)


def lines(of: Design, rows: int, chosen: Namespace, number: int, what: str) -> dict[str, Floats]:
    """Coverage of each method."""
    found = coverage(held, of, rows, chosen=chosen, number=number, what=what)
    return dict(zip(METHODS, found, strict=True))


def compared(panels: Sequence[Panel]) -> tuple[str, dict[str, float | str]]:
    """Lowest and highest coverages."""
    ends = {name: lowest_and_highest(panels, name) for name in METHODS}
    near = (W >= 0.1) & (W <= 0.9)
    inside = min(float(panel.lines["Wald"][near].min()) for panel in panels)
    facts: dict[str, float | str] = {}
    for name, (low, high) in ends.items():
        facts |= {f"{name}, lowest": round(low, 4), f"{name}, highest": round(high, 4)}
    return (
        f"Wald falls to {100 * ends['Wald'][0]:.1f} ({100 * inside:.1f} within w = 0.1 to 0.9); "
        f"Agresti covers {100 * ends['Agresti'][0]:.1f} to {100 * ends['Agresti'][1]:.1f}, ours (mover) "
        f"{100 * ends['ours'][0]:.1f} to {100 * ends['ours'][1]:.1f}."
    ), facts
