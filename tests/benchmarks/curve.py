"""Points of the curve with intervals, and costs, after sorting: python tests/benchmarks curve."""

from __future__ import annotations

import numpy as np
from timing import result, seconds, title

from rocmonitor.stats import (
    PairedSample,
    Sample,
    cost_curve,
    cost_difference,
    cost_thresholds,
    threshold_dominance,
    threshold_intervals,
    total_rate_intervals,
    vertical_intervals,
)

POINTS = 101


def main() -> None:
    """Print times with the goals."""
    rng = np.random.default_rng(1)
    n = 100_000
    y = np.repeat([1, 0], n)
    first = Sample(y, y + rng.normal(size=2 * n))
    rates, thresholds = np.linspace(0.005, 0.995, POINTS), np.linspace(-2, 3, POINTS)
    title(f"{POINTS} points, {n:,} rows of each class, sorted already")
    for method in ("agresti", "wald", "exact"):
        [taken] = seconds(lambda method=method: vertical_intervals(first, rates, method=method))
        result(f"vertical_intervals, {method}", f"{taken * 1e3:.0f} ms", "50 ms")
    for method in ("agresti-coull", "wilson", "clopper-pearson", "jeffreys", "exact"):
        [taken] = seconds(lambda method=method: threshold_intervals(first, thresholds, method=method))
        result(f"threshold_intervals, {method}", f"{taken * 1e3:.1f} ms", "50 ms")
    pair = PairedSample(y, *(y * shift + rng.normal(size=2 * n) for shift in (1.0, 1.2)))
    pairs = np.column_stack([thresholds, thresholds])
    dominance, total = seconds(
        lambda: threshold_dominance(pair, pairs), lambda: total_rate_intervals(first, rates), rounds=3
    )
    result("threshold_dominance", f"{dominance * 1e3:.0f} ms", "1 s")
    result("total_rate_intervals, agresti", f"{total:.2f} s")
    costs()


def costs() -> None:
    """Cost curves in the four designs."""
    rng, n = np.random.default_rng(2), 1_000_000
    y = (rng.random(n) < 0.1).astype(np.int64)
    pair = PairedSample(y, *(y * shift + rng.normal(size=n) for shift in (1.0, 1.2)))
    w = np.linspace(0, 1, POINTS)
    at = cost_thresholds(pair.first, w).threshold

    def four_designs() -> None:
        for sampling in ("stratified", "full"):
            cost_curve(pair.first, w, at, sampling=sampling)
            cost_difference(pair, w, at, at, sampling=sampling)

    title(f"{POINTS} operating conditions, {n:,} rows, sorted already")
    [taken] = seconds(four_designs, rounds=3)
    result("cost_curve and cost_difference, stratified and full", f"{taken * 1e3:.0f} ms", "1 s")


if __name__ == "__main__":
    main()
