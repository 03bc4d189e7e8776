"""Morin 2018, section 5: do several models have the same AUC? Level and power of the distance-based test.

Models are normal scores of the same rows that share half of their variance. The test resamples from the
closest population in which all areas are equal; the rival is DeLong's chi-square. Shares of samples in which
equal areas are rejected at 5 %, in per cent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from studies.figures import keep
from studies.homogeneity import homogeneity
from studies.running import options, replicate, say, table

from rocmonitor.stats import auc_covariance

LEVEL, RESAMPLES = 0.05, 199
HEADER = ["AUCs", "positives", "negatives", "by the distance", "DeLong's chi-square", "distance"]
CLAIM = "The approach can be extended to comparisons between competing models (no figures)."


class Design(NamedTuple):
    """The true areas, and the rows of each class."""

    areas: tuple[float, ...]
    n_pos: int
    n_neg: int


DESIGNS = [
    Design((0.8, 0.8, 0.8), 30, 30),
    Design((0.8, 0.8, 0.8), 30, 300),
    Design((0.8, 0.8, 0.8, 0.8), 100, 100),
    Design((0.9, 0.9, 0.9), 30, 100),
    Design((0.8, 0.8, 0.7), 100, 100),
    Design((0.85, 0.8, 0.75), 100, 300),
]


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=400)
    found = {
        design: np.array(
            replicate(
                one,
                design,
                replications=chosen.replications,
                seed=chosen.seed,
                processes=chosen.processes,
                what=str(design.areas) if chosen.processes > 1 else "",
            )
        )
        for design in DESIGNS
    }
    lines = [row(design, of) for design, of in found.items()]
    say(f"{chosen.replications:,} replications of {RESAMPLES} resamples, ± one Monte Carlo error\n")
    table(HEADER, lines)
    say(f"\n{conclusion(found)}")
    keep(
        "m18-homogeneity",
        chosen,
        {
            "paper": "[M18] section 5",
            "claim": CLAIM,
            "found": conclusion(found),
            "seed": chosen.seed,
            "replications": chosen.replications,
            "error": round((LEVEL * (1 - LEVEL) / chosen.replications) ** 0.5, 5),
            "header": HEADER,
            "rows": lines,
        },
        None,
    )


def one(design: Design, rng: np.random.Generator) -> tuple[bool, bool, float]:
    """Return if either test rejects, and the distance."""
    y, scores = drawn(design, rng)
    ours = homogeneity(y, scores, RESAMPLES, rng)
    k = len(design.areas)
    delong = auc_covariance(y, scores).contrast(np.eye(k)[1:] - np.eye(k)[0])
    return ours.pvalue <= LEVEL, delong.pvalue <= LEVEL, ours.distance


def drawn(design: Design, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Labels, and a column of scores for each model."""
    y = np.repeat([0, 1], [design.n_neg, design.n_pos])
    common, own = rng.normal(size=(len(y), 1)), rng.normal(size=(len(y), len(design.areas)))
    return y, (common + own) / math.sqrt(2) + y[:, np.newaxis] * ndtri(design.areas) * math.sqrt(2)


def row(design: Design, found: np.ndarray) -> list[str]:
    mean = found.mean(axis=0)
    error = np.sqrt(mean[:2] * (1 - mean[:2]) / len(found))
    shares = [f"{100 * rate:.1f} ± {100 * off:.1f}" for rate, off in zip(mean[:2], error, strict=True)]
    areas = ", ".join(f"{area:g}" for area in design.areas)
    return [areas, str(design.n_pos), str(design.n_neg), *shares, f"{mean[2]:.4f}"]


def conclusion(found: dict[Design, np.ndarray]) -> str:
    level, power = [], []
    for design, of in found.items():
        (level if len(set(design.areas)) == 1 else power).append(100 * of.mean(axis=0)[:2])
    level, power = np.array(level), np.array(power)
    return (
        f"Of equal models the test rejects {level[:, 0].min():.1f} to {level[:, 0].max():.1f} % at "
        f"{100 * LEVEL:g} %, DeLong's chi-square {level[:, 1].min():.1f} to {level[:, 1].max():.1f} %; "
        f"of unequal ones {power[:, 0].min():.1f} to {power[:, 0].max():.1f} % and {power[:, 1].min():.1f} "
        f"to {power[:, 1].max():.1f} %. What the test adds is the distance."
    )
