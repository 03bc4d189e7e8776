"""How the time of every public statistic grows with the rows: python tests/benchmarks growth."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from targets import drawn
from timing import result, skipped, title

from rocmonitor import stats
from rocmonitor.stats import PairedSample, Sample

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
LONGEST = 20.0  # seconds: a size that is expected to take longer is not tried
RATES, THRESHOLDS, W = np.array([0.05, 0.2, 0.5]), np.array([0.0, 1.0]), np.array([0.2, 0.8])
BATCH = (100, 900)


@dataclass(frozen=True, slots=True)
class Rows:
    """The same rows in every shape, sorted already: what is measured is the statistic, not the sort."""

    y: np.ndarray[tuple[int], np.dtype[np.int64]]
    score: stats.sample.Floats
    sample: Sample
    pair: PairedSample | None
    windows: list[Sample]

    @property
    def two(self) -> PairedSample:
        """The pair, where it is not too large."""
        if self.pair is None:
            raise MemoryError
        return self.pair


Call = Callable[[Rows], object]
CAPPED = 1_000_000  # rows of two models on the same rows: 10 times as many take more than the memory here
STATISTICS: dict[str, Call] = {
    "Sample": lambda of: Sample(of.y, of.score),
    "auc": lambda of: stats.auc(of.sample),
    "auc, exact-bootstrap": lambda of: stats.auc(of.sample, method="exact-bootstrap"),
    "auc, bootstrap (20 drawn)": lambda of: stats.auc(of.sample, method="bootstrap", n_resamples=20, rng=1),
    "partial_auc": lambda of: stats.partial_auc(of.sample, fpr=(0.0, 0.1)),
    "compare_auc": lambda of: stats.compare_auc(stats.auc(of.sample), stats.auc(of.windows[0])),
    "compare_auc_paired": lambda of: stats.compare_auc_paired(of.two),
    "auc_covariance": lambda of: stats.auc_covariance(of.y, np.column_stack([of.score, -of.score])),
    "threshold_intervals": lambda of: stats.threshold_intervals(of.sample, THRESHOLDS),
    "threshold_law": lambda of: stats.threshold_law(of.sample, 1.0),
    "threshold_difference": lambda of: stats.threshold_difference(
        of.two, np.column_stack([THRESHOLDS, THRESHOLDS])
    ),
    "threshold_dominance": lambda of: stats.threshold_dominance(
        of.two, np.column_stack([THRESHOLDS, THRESHOLDS])
    ),
    "matched_pairs": lambda of: stats.matched_pairs(of.two, RATES),
    "vertical_intervals": lambda of: stats.vertical_intervals(of.sample, RATES),
    "vertical_intervals, exact": lambda of: stats.vertical_intervals(of.sample, RATES, method="exact"),
    "vertical_law": lambda of: stats.vertical_law(of.sample, 0.2),
    "vertical_difference": lambda of: stats.vertical_difference(of.two, RATES),
    "vertical_difference, exact": lambda of: stats.vertical_difference(of.two, RATES, method="exact"),
    "vertical_difference_unpaired": lambda of: stats.vertical_difference_unpaired(
        of.windows[0], of.windows[1], RATES
    ),
    "threshold_difference_unpaired": lambda of: stats.threshold_difference_unpaired(
        of.windows[0], of.windows[1], THRESHOLDS
    ),
    "total_rate_intervals": lambda of: stats.total_rate_intervals(of.sample, RATES),
    "total_rate_law": lambda of: stats.total_rate_law(of.sample, 0.2),
    "total_rate_difference": lambda of: stats.total_rate_difference(of.two, RATES),
    "total_rate_difference_law": lambda of: stats.total_rate_difference_law(of.two, 0.2),
    "roc_curve": lambda of: stats.roc_curve(of.sample),
    "roc_band": lambda of: stats.roc_band(of.sample, rng=1, n_resamples=20),
    "roc_difference_band": lambda of: stats.roc_difference_band(of.two, rng=1, n_resamples=20),
    "roc_pointwise": lambda of: stats.roc_pointwise(of.sample, fpr=RATES, rng=1),
    "cost_thresholds": lambda of: stats.cost_thresholds(of.sample, W),
    "cost_curve": lambda of: stats.cost_curve(of.sample, W, np.array([0.0, 1.0])),
    "cost_difference": lambda of: stats.cost_difference(of.two, W, THRESHOLDS, THRESHOLDS),
    "auc_bounds": lambda of: stats.auc_bounds(of.sample, 0.01),
    "auc_distance": lambda of: stats.auc_distance(of.sample, 0.7),
    "binned_distance": lambda of: stats.binned_distance(of.sample, of.windows),
    "forecast_interval": lambda of: stats.forecast_interval(
        of.sample, windows=of.windows, batch=BATCH, confidence_level=0.5
    ),
    "explain_shift": lambda of: stats.explain_shift(of.sample, of.windows[0]),
    "group_changes": lambda of: stats.group_changes(
        *(
            (of.y[part], of.score[part], part_of(of.y[part]))
            for part in (slice(0, None, 2), slice(1, None, 2))
        )
    ),
    "condensed": lambda of: stats.condensed(of.sample),
    "condensed_error": lambda of: stats.condensed_error(stats.condensed(of.sample)),
    "expected_auc": lambda of: stats.expected_auc(of.sample, of.score),
    "score_shift": lambda of: stats.score_shift(of.sample, of.score),
    "calibration": lambda of: stats.calibration(of.y, 1 / (1 + np.exp(-of.score))),
}
# Their cost depends on the number of windows, or on a few numbers, not on rows.
NOT_OF_ROWS = {
    "auc_power",
    "auc_sample_size",
    "detectable_drop",
    "auc_sequence",
    "confidence_sequence",
    "windows_to_decide",
    "lasting_change",
    "lasting_chart",
    "score_history",
    "expected_cost",
}
# As another one that is measured, with other arguments.
AS_ANOTHER = {
    "calibrated_pairs": "matched_pairs",
    "vertical_difference_law": "vertical_difference, exact",
    "forecast_fit": "forecast_interval",
    "forecast_difference": "forecast_interval",
    "expected_auc_difference": "expected_auc",
    "group_changes_by_column": "group_changes",
    "partly_labelled_auc": "auc",
}


def part_of(rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Ten groups, as a column of a table has them."""
    return np.arange(len(rows)) % 10


def rows_of(size: int) -> Rows:
    """One row in ten is positive; four windows are the parts of the whole."""
    rng = np.random.default_rng(size)
    y, score = drawn(rng, size, 0.1)
    pair = PairedSample(y, score, score + rng.normal(size=size)) if size <= CAPPED else None
    return Rows(y, score, Sample(y, score), pair, [Sample(y[i::4], score[i::4]) for i in range(4)])


def measured(call: Call, sizes: tuple[int, ...], known: dict[int, Rows]) -> dict[int, float]:
    """Processor seconds at each size, until one is expected to take too long."""
    taken: dict[int, float] = {}
    for size in sizes:
        if len(taken) > 1 and expected(taken, size) > LONGEST:
            break
        rows = known.setdefault(size, rows_of(size))
        try:
            rounds = []
            for _ in range(3 if size < 1_000_000 else 1):
                start = time.process_time()
                call(rows)
                rounds.append(time.process_time() - start)
        except MemoryError:
            break
        taken[size] = max(min(rounds), 1e-7)
    return taken


def expected(taken: dict[int, float], size: int) -> float:
    """Seconds at another size, by the growth between the last two."""
    (n, before), (m, last) = list(taken.items())[-2:]
    return last * float(size / m) ** (np.log(last / before) / np.log(m / n))


def exponent(taken: dict[int, float]) -> float:
    """Fitted over the sizes that take more than a millisecond, where calls no longer hide the rows."""
    used = {size: seconds for size, seconds in taken.items() if seconds > 1e-3}
    used = used if len(used) > 1 else dict(list(taken.items())[-2:])
    return float(np.polyfit(np.log(list(used)), np.log(list(used.values())), 1)[0])


def main(largest: int = SIZES[-1]) -> None:
    """Print processor seconds at the largest size, and the fitted exponent."""
    sizes = tuple(size for size in SIZES if size <= largest)
    title(f"growth from {sizes[0]:,} to {sizes[-1]:,} rows, a tenth positive, processor seconds")
    known: dict[int, Rows] = {}
    capped = []
    for name, call in STATISTICS.items():
        taken = measured(call, sizes, known)
        last = list(taken)[-1]
        if last < sizes[-1]:
            capped.append(f"{name} at {last:,}")
        result(
            f"{name}: {taken[last]:.3g} s at {last:,} rows, grows as",
            f"n^{exponent(taken):.2f}" if len(taken) > 1 else "one size",
        )
    if capped:
        skipped("sizes above these, for time or memory: " + ", ".join(capped))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
