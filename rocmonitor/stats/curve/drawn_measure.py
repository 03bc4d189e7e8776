"""Measures of a ROC curve whose standard error is taken from drawn resamples, and what their results share.

[WMK16] names those without a closed form: the equal error rate (`equal_error_rate`), and the detection cost
function (`minimum_detection_cost`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rocmonitor.stats import plotting
from rocmonitor.stats.area.clustered import require_independent
from rocmonitor.stats.area.variances import drawn_runs
from rocmonitor.stats.condensed import require_guarantee
from rocmonitor.stats.nouns import classes
from rocmonitor.stats.proportion import Intervals, interval_caveats, require_level
from rocmonitor.stats.resampling import Percentiles, Rng, generator, percentiles
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.sample import Sample

Measure = Callable[[Floats, Floats], Floats]
"""From FPR and FNR along curves, shape (r, h) each, FPR rising, to one number a curve, shape (r,)."""


def draw(found: Any, value: float, ax: plotting.Axes, name: str, label: str | None) -> None:
    """Draw a measure with its interval as one row; `found` has the fields that `drawn_measure` gives."""
    plotting.rows(
        ax,
        [f"{100 * found.confidence_level:g} % interval"],
        [(value, found.low, found.high)],
        x=name,
        note=f"bootstrap; {classes(found.n_pos, found.n_neg)}",
        label=label,
    )


def said(found: Any, value: float, name: str, form: str) -> str:
    """Return the same in a sentence; `form` is that of the numbers."""
    return (
        f"{name} {value:{form}}, {100 * found.confidence_level:g} % interval {found.low:{form}} to "
        f"{found.high:{form}} (standard error {found.se:{form}}, {found.n_resamples} resamples; "
        f"{classes(found.n_pos, found.n_neg)})"
    )


def drawn_measure(
    sample: Sample,
    measure: Measure,
    own: tuple[str, float],
    confidence_level: float,
    definition: Percentiles,
    n_resamples: int,
    rng: Rng | None,
) -> dict[str, Any]:
    """Return the fields of a result that follow from drawn resamples of a measure; `own` is its name and the
    sample's value.
    """
    tail = (1 - require_level(confidence_level)) / 2
    require_independent(sample, "bootstrap")
    require_guarantee(sample, "bootstrap")
    source = generator(rng, n_resamples, method="bootstrap", at_least=2)
    sample.require_both_classes()
    n_pos, n_neg = sample.n_pos, sample.n_neg
    drawn, done = np.empty(int(n_resamples)), 0
    for pos, neg in drawn_runs(sample, n_pos, n_neg, len(drawn), source):
        missed = _starting(np.cumsum(pos, axis=1))[:, ::-1] / n_pos
        flagged = _starting(np.cumsum(neg[:, ::-1], axis=1)) / n_neg
        drawn[done : done + len(pos)] = measure(flagged, missed)
        done += len(pos)
    low, high = percentiles(drawn, tail, definition)
    ends = Intervals(low=np.array([low]), high=np.array([high]), clipped=np.zeros(1, dtype=bool))
    return {
        "se": float(drawn.std(ddof=1)),
        "low": float(low),
        "high": float(high),
        "confidence_level": float(confidence_level),
        "percentiles": definition,
        "n_resamples": len(drawn),
        "n_pos": n_pos,
        "n_neg": n_neg,
        "caveats": interval_caveats(own[0], np.array([own[1]]), ends),
    }


def _starting(sums: Floats) -> Floats:
    return np.pad(sums, ((0, 0), (1, 0)))
