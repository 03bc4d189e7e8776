"""Forecast intervals on a million rows: python tests/benchmarks forecast."""

from __future__ import annotations

import resource
import time
from functools import partial

import numpy as np
from numpy.typing import NDArray
from timing import result, seconds, title

from rocmonitor.stats import Sample, auc_bounds, auc_distance, condensed, forecast_interval
from rocmonitor.stats.research import auc_path

ROWS = 1_000_000
DISTANCES = (1e-4, 0.01, 0.1, 0.5)
WINDOWS, WINDOW_ROWS = 200, 100_000
PATH = np.linspace(0, 1, 50) ** 2 * 0.1


def main() -> None:
    """Print times of both bounds, and the ratio of a path to separate calls."""
    rng = np.random.default_rng(1)
    for share in (0.1, 0.5):
        y = rng.random(ROWS) < share
        _bounds(y, y + rng.normal(size=ROWS))
    for rows in (1_100, 100_000):
        y = rng.random(rows) < 0.1
        _path(Sample(y, y + rng.normal(size=rows)))
    _calibrated(rng)


def _bounds(y: NDArray[np.bool_], score: NDArray[np.float64]) -> None:
    apart = auc_distance(y, score, 1.0)
    title(f"auc_bounds, both bounds, {ROWS:,} rows, {y.mean():.0%} positive, all scores different")
    for distance in (*DISTANCES, 0.99 * apart, 0.9999 * apart):
        (taken,) = seconds(partial(auc_bounds, y, score, distance), rounds=3)
        result(f"distance {distance:.4g} (the classes are apart at {apart:.4f})", f"{taken:.2f} s", "2 s")


def _path(sample: Sample) -> None:
    def separate() -> None:
        for distance in PATH:
            auc_bounds(sample, distance)

    path, single = seconds(partial(auc_path, sample, PATH), separate, rounds=3)
    rows = sample.n_pos + sample.n_neg
    result(f"auc_path / auc_bounds, {len(PATH)} distances, {rows:,} rows", f"{path / single:.2f} x")


def _calibrated(rng: np.random.Generator) -> None:
    """Once: the windows and their reference take 2 GB."""
    windows = []
    for shift in rng.normal(1.0, 0.03, WINDOWS):
        y = rng.random(WINDOW_ROWS) < 0.1
        windows.append(Sample(y, shift * y + rng.normal(size=WINDOW_ROWS)))
    reference = Sample.merge(windows)
    batch = (windows[0].n_pos // 10, windows[0].n_neg // 10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    title(f"forecast_interval, calibrated, {WINDOWS} windows of {WINDOW_ROWS:,} rows, parts of the reference")
    start, busy = time.perf_counter(), time.process_time()
    interval = forecast_interval(reference, windows=windows, batch=batch)
    result("time", f"{time.perf_counter() - start:.1f} s", "30 s")
    result("of that on a processor", f"{time.process_time() - busy:.1f} s")
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    result("memory above that of making the reference", f"{more / 1024:.0f} MB")
    few = condensed(reference)
    (taken,) = seconds(lambda: interval.for_batch(few, batch))
    result(f"the same for another batch, from {len(few.score)} cells", f"{taken * 1000:.0f} ms")


if __name__ == "__main__":
    main()
