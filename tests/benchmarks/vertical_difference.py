"""Time of `vertical_difference` as n grows, and the fitted exponent of the growth."""

from __future__ import annotations

import time

import numpy as np

from rocmonitor.stats import PairedSample, vertical_difference

SIZES = (500, 1_000, 2_000, 4_000, 8_000, 16_000)  # the largest is the last whose law is exact
RATES = np.arange(1, 10) / 10


def models(n: int) -> PairedSample:
    """Two models of equal quality on `n` rows a class, correlated 0.7 within a class."""
    rng = np.random.default_rng(n)
    y, common = np.repeat([1, 0], n), rng.normal(size=2 * n)
    s1, s2 = (1.2 * y + np.sqrt(0.7) * common + np.sqrt(0.3) * rng.normal(size=2 * n) for _ in range(2))
    return PairedSample(y, s1, s2)


def seconds_per_rate(n: int, method: str) -> float:
    """Best of three runs over nine rates, after sorting."""
    pair = models(n)
    runs = []
    for _ in range(3):
        start = time.perf_counter()
        result = vertical_difference(pair, RATES, method=method)
        runs.append(time.perf_counter() - start)
        if result.method != method:
            raise SystemExit(f"the law at n = {n} is not exact: {result.caveats}")
    return min(runs) / len(RATES)


def main() -> None:
    """Print seconds for each size, and the slope of their logarithms."""
    print("vertical_difference: seconds for one rate, exact law, n rows a class")  # noqa: T201
    for method in ("agresti", "exact"):
        seconds = [seconds_per_rate(n, method) for n in SIZES]
        for n, value in zip(SIZES, seconds, strict=True):
            print(f"  {method:8} n = {n:6}  {value:8.4f} s")  # noqa: T201
        exponent = np.polyfit(np.log(SIZES), np.log(seconds), 1)[0]
        print(f"  {method:8} grows as n^{exponent:.2f} (the paper's algorithm: n^3 a rate)")  # noqa: T201


if __name__ == "__main__":
    main()
