"""A review of a million paired rows, and what its parts take: python tests/benchmarks review."""

from __future__ import annotations

import re
import resource
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
from timing import result, title

from rocmonitor.policy.review.comparison import compare
from rocmonitor.policy.review.settings import Money, ReviewRule, ReviewSettings
from rocmonitor.policy.windows import Window
from rocmonitor.stats import PairedSample

ROWS = 1_000_000
WEEKS = 52
SETTING = 200_000
SETTINGS = ReviewSettings(
    rule=ReviewRule(fpr=(0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8)),
    thresholds=(0.5, 1.5),
    w=(0.2, 0.5, 0.8),
    money=(Money(false_positive=1, false_negative=20, prevalence=0.1),),
    flagged=101,
    n_resamples=999,
)
FIRST, WEEK = datetime(2026, 1, 5, tzinfo=UTC), timedelta(days=7)


def main() -> None:
    """Print the seconds of each step that `compare` tells of, and of all, and how much of that was work."""
    rng = np.random.default_rng(1)
    windows = [
        (Window(FIRST + i * WEEK, FIRST + (i + 1) * WEEK), drawn(rng, ROWS // WEEKS)) for i in range(WEEKS)
    ]
    segments = {f"region={name}": drawn(rng, ROWS // 4) for name in ("north", "east", "south", "west")}
    past = [drawn(rng, ROWS // WEEKS) for _ in range(20)]
    title(f"a review of {ROWS:,} paired rows, all scores different, in {WEEKS} windows")
    steps: list[tuple[str, float]] = []
    start, busy = time.perf_counter(), time.process_time()
    compare(
        windows,
        segments,
        settings=SETTINGS,
        setting=drawn(rng, SETTING),
        past=past,
        rng=1,
        progress=lambda text: steps.append((text, time.perf_counter())),
    )
    end = time.perf_counter()
    taken: dict[str, float] = {}
    for (text, since), (_, until) in zip(steps, [*steps[1:], ("", end)], strict=True):
        step = re.sub(r"\s*[\d,]+( of [\d,]+)?\s*", "", text)
        taken[step] = taken.get(step, 0.0) + until - since
    for step, seconds in taken.items():
        result(f"  {step}", f"{seconds:.1f} s")
    result(f"all, {len(steps)} steps told", f"{end - start:.1f} s", "180 s")
    result("  of it, this processor was at work", f"{time.process_time() - busy:.1f} s")
    result("longest silence", f"{max(b - a for (_, a), (_, b) in pairwise(steps)):.1f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    result("peak memory of the process", f"{peak / 1e6:.0f} MB")


def drawn(rng: np.random.Generator, rows: int) -> PairedSample:
    """Rows of two models, a tenth positive, correlated 0.7 within a class, the challenger a little better."""
    y = (rng.random(rows) < 0.1).astype(np.int64)
    common, own, other = (np.sqrt(share) * rng.normal(size=rows) for share in (0.7, 0.3, 0.3))
    return PairedSample(y, 1.2 * y + common + own, 1.22 * y + common + other)


if __name__ == "__main__":
    main()
