"""Morin 2018, section 3.5: the distance of regimes by maximum likelihood, beside that of ten bins.

Table 1's designs: each replication has a labelled sample of either regime (1,000 negatives, 100 positives),
and the interval is that of the two together within their mean distance. Three distances: of ten quantile bins
a class, as in the paper's simulation; of normal laws fitted by maximum likelihood; and that less what
sampling alone adds to it (0 at least). Judged are the true AUC of a regime and that of a new sample of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from studies.figures import Floats, keep
from studies.m18_table1 import PUBLISHED, covered, draw, label
from studies.running import options, replicate, say, table

from rocmonitor.stats import Sample, auc, auc_bounds, binned_distance

DISTANCES = ("ten bins", "likelihood", "less sampling")
HEADER = ["A_L, A_H", "distance", "nats", "true AUC, print", "ours", "realised, print", "ours", "width"]
CLAIM = (
    "A maximum likelihood approach could be used where the modeler has a model of the variation; the "
    "simulation does without."
)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=1000)
    found = {
        design: np.array(
            replicate(
                one,
                *design,
                replications=chosen.replications,
                seed=chosen.seed,
                processes=chosen.processes,
                what=label(design) if chosen.processes > 1 else "",
            )
        )
        for design in PUBLISHED
    }
    lines = [line for design, of in found.items() for line in rows(design, of)]
    say(f"{chosen.replications:,} replications, ± one Monte Carlo error; coverage in per cent\n")
    table(HEADER, lines)
    say(f"\n{conclusion(found)}")
    keep(
        "m18-likelihood",
        chosen,
        {
            "paper": "[M18] section 3.5",
            "claim": CLAIM,
            "found": conclusion(found),
            "seed": chosen.seed,
            "replications": chosen.replications,
            "error": round((0.95 * 0.05 / chosen.replications) ** 0.5, 5),
            "header": HEADER,
            "rows": lines,
        },
        None,
    )


def one(low: float, high: float, rng: np.random.Generator) -> Floats:
    """(distances, 4): nats, shares of the regimes whose true and whose realised AUC is covered, width."""
    regimes = (low, high)
    labelled = [draw(regime, rng) for regime in regimes]
    build = Sample.merge(labelled)
    fitted, sampling = normal_distance(build, labelled)
    distances = [binned_distance(build, labelled), fitted, max(fitted - sampling, 0.0)]
    ends = [auc_bounds(build, distance) for distance in distances]
    intervals = np.array([(of.low, of.high) for of in ends])
    realised = [auc(draw(regime, rng)).auc for regime in regimes]
    shares = [covered(intervals, values) for values in (regimes, realised)]
    return np.column_stack([distances, *shares, np.ptp(intervals, axis=1)])


def normal_distance(sample: Sample, windows: list[Sample]) -> tuple[float, float]:
    """The mean distance of windows from a sample (eq. 12) by fitted normal laws, and what sampling adds.

    2 n times the distance of one class is the likelihood-ratio statistic (Wilks 1938), whose mean is the
    number of parameters: two.
    """
    found, sampling = [], 0.0
    for window in windows:
        total = 0.0
        for new, old in ((window.neg, sample.neg), (window.pos, sample.pos)):
            (mean, variance), (own_mean, own) = _fitted(window.score, new), _fitted(sample.score, old)
            ratio = variance / own
            total += (ratio - 1 - np.log(ratio) + (mean - own_mean) ** 2 / own) / 2
        found.append(total)
        sampling += (1 / window.n_pos + 1 / window.n_neg) / len(windows)
    return float(np.mean(found)), sampling


def _fitted(score: Floats, rows: Floats) -> tuple[float, float]:
    mean = np.average(score, weights=rows)
    return mean, np.average((score - mean) ** 2, weights=rows)


def rows(design: tuple[float, float], found: Floats) -> list[list[str]]:
    """The lines of one design."""
    mean, error = found.mean(axis=0), found.std(axis=0) / len(found) ** 0.5
    lines = []
    for at, (name, of, off) in enumerate(zip(DISTANCES, mean, error, strict=True)):
        printed = [f"{100 * share:.1f}" for share in PUBLISHED[design][-1]] if at == 0 else ["-", "-"]
        shares = [f"{100 * of[k]:.1f} ± {100 * off[k]:.1f}" for k in (1, 2)]
        lines.append(
            [
                label(design),
                name,
                f"{of[0]:.4f}",
                printed[0],
                shares[0],
                printed[1],
                shares[1],
                f"{of[3]:.3f}",
            ]
        )
    return lines


def conclusion(found: dict[tuple[float, float], Floats]) -> str:
    mean = np.array([of.mean(axis=0) for of in found.values()])
    still = mean[[low == high for low, high in found]][0]
    shares = {name: 100 * mean[:, at, 2] for at, name in enumerate(DISTANCES)}
    ranges = {name: f"{values.min():.1f} to {values.max():.1f} %" for name, values in shares.items()}
    return (
        f"Without any change ({label((0.7, 0.7))}) the bins find {still[0, 0]:.4f} nats and fitted laws "
        f"{still[1, 0]:.4f}, nearly all of it sampling ({still[2, 0]:.4f} is left without). "
        f"The bins cover the realised AUC in {ranges['ten bins']}, fitted laws in {ranges['likelihood']}, "
        f"less sampling in {ranges['less sampling']}: the printed coverage comes from the noise of the bins."
    )
