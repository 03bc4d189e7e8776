"""The work whose time is promised, each in a process of its own: python tests/benchmarks targets."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
from timing import cpu, in_new_process, peak, result, title

from rocmonitor.service.delivery import drain
from rocmonitor.service.tick import run_monitor
from rocmonitor.stats import (
    PairedSample,
    Sample,
    auc,
    auc_bounds,
    condensed,
    cost_curve,
    cost_thresholds,
    forecast_interval,
    threshold_intervals,
    total_rate_difference,
    total_rate_intervals,
    vertical_difference,
    vertical_difference_unpaired,
    vertical_intervals,
)
from rocmonitor.stats.sample import Floats

LABELS = np.ndarray[tuple[int], np.dtype[np.int64]]
RATES = np.arange(1, 100) / 100


def drawn(rng: np.random.Generator, rows: int, share: float, gap: float = 1.2) -> tuple[LABELS, Floats]:
    """Labels and normal scores, all different."""
    y = (rng.random(rows) < share).astype(np.int64)
    return y, gap * y + rng.normal(size=rows)


def points(sample: Sample) -> None:
    """What is said about each window without a reference."""
    thresholds = np.quantile(sample.score, np.linspace(0.005, 0.995, 101))
    for method in ("delong", "exact-bootstrap"):
        auc(sample, method=method)
    threshold_intervals(sample, thresholds)
    vertical_intervals(sample, RATES)


Windows = list[tuple[LABELS, Floats]]


def judged_in_memory(data: Windows) -> list[float]:
    """What is said about all windows, three in five of them the reference; when each part began and ended."""
    known = 3 * len(data) // 5
    ends = [process_time()]
    samples = [Sample(y, score) for y, score in data]
    ends.append(process_time())
    for sample in samples:
        points(sample)
    ends.append(process_time())
    reference = Sample.merge(samples[:known])
    ends.append(process_time())
    forecast = forecast_interval(reference, windows=samples[:known])
    few = condensed(reference)  # what a monitor stores of it
    for sample in samples[known:]:
        forecast.for_batch(few, (sample.n_pos, sample.n_neg))
    return [*ends, process_time()]


def in_memory(windows: int = 50, rows: int = 100_000) -> None:
    """Windows from arrays: AUROC, two errors, 101 thresholds, 99 rates, the forecast from three in five."""
    rng = np.random.default_rng(1)
    ends = judged_in_memory([drawn(rng, rows, 0.1, gap) for gap in rng.normal(1.2, 0.02, windows)])
    title(f"{windows} windows of {rows:,} rows: AUROC, two errors, 101 thresholds, 99 rates, forecast")
    result("processor seconds", f"{ends[-1] - ends[0]:.2f}")
    parts = ("sorting", "AUROC, thresholds, rates", "merging the reference", "forecast")
    for part, (start, end) in zip(parts, pairwise(ends), strict=True):
        result(f"  {part}", f"{end - start:.2f}")


def raw(rows: int = 10_000_000) -> None:
    """One large window from arrays."""
    rng = np.random.default_rng(1)
    y, score = drawn(rng, rows, 0.1)
    before = peak()
    start = process_time()
    sample = Sample(y, score)
    sorting = process_time() - start
    points(sample)
    auc_bounds(sample, 0.01)
    w = np.linspace(0, 1, 101)
    cost_curve(sample, w, cost_thresholds(sample, w).threshold)
    taken = process_time() - start
    title(f"{rows:,} rows in memory: AUROC, two errors, 101 thresholds, 99 rates, bounds, costs")
    result("processor seconds", f"{taken:.2f}", "4")
    result("  sorting", f"{sorting:.2f}")
    result("memory of the process at most", f"{peak():,.0f} MB", "800 MB")
    result("  before, with the arrays", f"{before:,.0f} MB")


def laws(small: int = 1_000, large: int = 10_000, huge: int = 100_000) -> None:
    """Exact laws at false positive rates."""
    title("exact laws, sorted already")
    for n, rates, goal in ((small, RATES, "1"), (large, np.arange(1, 10) / 10, "1")):
        pair = paired(n)
        for call, rounds in (("first call", 1), ("best of three more", 3)):
            taken = cpu(partial(vertical_difference, pair, rates, method="exact"), rounds)
            what = f"vertical_difference, {n:,} a class, {len(rates)} rates, {call}, CPU-s"
            result(what, f"{taken:.2f}", goal)
    other = paired(large + 1).first
    for method, goal in (("agresti", "0.2"), ("exact", "0.2")):
        taken = cpu(partial(vertical_difference_unpaired, pair.first, other, RATES, method=method), 3)
        what = f"vertical_difference_unpaired, {large:,} a class, {len(RATES)} rates, {method}, CPU-s"
        result(what, f"{taken:.3f}", goal)
    taken = cpu(partial(total_rate_difference, paired(small), RATES, method="exact"), 1)
    result(f"total_rate_difference, {small:,} a class, {len(RATES)} rates, CPU-s", f"{taken:.2f}", "1.5")
    taken = cpu(partial(total_rate_intervals, paired(small).first, RATES, method="exact"), 1)
    what = f"total_rate_intervals, exact, {small:,} a class, {len(RATES)} rates, CPU-s"
    result(what, f"{taken:.2f}", "1.5")
    sample = paired(huge).first
    rates = np.linspace(0.005, 0.995, 101)
    taken = cpu(lambda: vertical_intervals(sample, rates, method="exact"), rounds=9)
    result(f"vertical_intervals, {huge:,} a class, 101 rates, CPU-ms", f"{taken * 1e3:.0f}", "30")


def paired(n: int) -> PairedSample:
    """Two models of equal quality on `n` rows a class, correlated 0.7 within a class."""
    rng = np.random.default_rng(n)
    y, common = np.repeat([1, 0], n), rng.normal(size=2 * n)
    s1, s2 = (1.2 * y + np.sqrt(0.7) * common + np.sqrt(0.3) * rng.normal(size=2 * n) for _ in range(2))
    return PairedSample(y, s1, s2)


def delivered(windows: int = 500, rows: int = 1_000) -> None:
    """Small windows from SQLite, judged and delivered to MLflow with a SQLite database."""
    from year import at, opened

    with TemporaryDirectory() as folder:
        runtime = opened(Path(folder), windows + 3, 0, challenger=False, rows=rows)
        [monitor] = runtime.config.monitors.values()
        run_monitor(runtime, monitor, now=at(3))
        drain(runtime)  # imports, the reference, MLflow's tables
        start = process_time()
        tick = run_monitor(runtime, monitor, now=at(windows + 3))
        judged = process_time() - start
        sent = drain(runtime)
        taken = process_time() - start
    assert tick.error is None, tick.error
    assert tick.judged == windows, tick.judged
    title(f"{windows} windows of {rows:,} rows, judged and delivered to MLflow")
    result("processor seconds a window", f"{taken / windows:.3f}", "0.2")
    result("  judging", f"{judged / windows:.3f}")
    result(f"  delivering ({sent.sent} deliveries)", f"{(taken - judged) / windows:.3f}")


def everything(windows: int = 20, rows: int = 100_000) -> None:
    """Large windows from SQLite: the reference, judging, and MLflow."""
    from year import FIRST, HOUR, REFERENCE, at, opened

    with TemporaryDirectory() as folder:
        runtime = opened(Path(folder), windows, 0, challenger=False, rows=rows)
        [monitor] = runtime.config.monitors.values()
        start = process_time()
        run_monitor(
            runtime, monitor, now=FIRST + (REFERENCE + 1) * HOUR, windows=monitor.reference_windows[:1]
        )
        frozen = process_time() - start
        tick = run_monitor(runtime, monitor, now=at(windows))
        judged = process_time() - start - frozen
        drain(runtime)
        taken = process_time() - start
    assert tick.error is None, tick.error
    assert tick.judged == windows, tick.judged
    title(
        f"{windows} windows of {rows:,} rows from SQLite, everything, with {REFERENCE} windows of reference"
    )
    result("processor seconds", f"{taken:.1f}", "10")
    result(f"  the reference of {REFERENCE} windows", f"{frozen:.1f}")
    result(f"  judging {windows} windows", f"{judged:.1f}")
    result("  MLflow, with its import and its tables", f"{taken - frozen - judged:.1f}")


def pulled(rows: int = 1_000_000) -> None:
    """Rows of two models into samples, against SQLite's own cursor and PostgreSQL's COPY to a file."""
    from pulling import from_postgresql, from_sqlite

    title(f"{rows:,} rows (time, two scores, label) into samples, processor seconds of this client")
    for each in (from_sqlite, from_postgresql):
        each(rows)


WORK: dict[str, Callable[..., None]] = {
    each.__name__: each for each in (in_memory, raw, laws, pulled, delivered, everything)
}


def main() -> None:
    """Run all, or the one that is named, with sizes in place of its own."""
    if len(sys.argv) == 1:
        for name in WORK:
            in_new_process(__file__, name)
    else:
        WORK[sys.argv[1]](*map(int, sys.argv[2:]))


if __name__ == "__main__":
    main()
