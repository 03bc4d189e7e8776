"""The area under the curve against scikit-learn and SciPy: python tests/benchmarks area."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import roc_auc_score
from timing import result, seconds, title

from rocmonitor.stats import Sample, auc, auc_bounds, auc_covariance

ROWS = 1_000_000
MODELS = 10
DISTANCE = 0.01
CLOSED_FORMS = (
    "delong",
    "exact-bootstrap",
    "wmk16",
    "hanley-mcneil",
    "binormal",
    "upper-bound",
    "cortes-mohri",
)
RESAMPLES = 2_000


def main() -> None:
    """Print ratios to one `roc_auc_score` of the same arrays."""
    rng = np.random.default_rng(1)
    y = (rng.random(ROWS) < 0.1).astype(np.int64)
    scores = y[:, np.newaxis] + rng.normal(size=(ROWS, MODELS))
    score = np.ascontiguousarray(scores[:, 0])

    def every_error() -> None:
        sample = Sample(y, score)
        for method in CLOSED_FORMS:
            auc(sample, method=method)

    title(f"{ROWS:,} rows, a tenth positive, all scores different")
    calls = [lambda method=method: auc(y, score, method=method) for method in CLOSED_FORMS]
    peer, every, *ours = seconds(lambda: roc_auc_score(y, score), every_error, *calls)
    for method, one in zip(CLOSED_FORMS, ours, strict=True):
        result(f"auc, {method} / roc_auc_score", f"{one / peer:.2f} x", "0.75 x")
    result("auc, all of these from one sort / roc_auc_score", f"{every / peer:.2f} x")
    bounds, peer = seconds(
        lambda: auc_bounds(y, score, distance=DISTANCE), lambda: roc_auc_score(y, score), rounds=3
    )
    result(f"auc_bounds, both ends, distance {DISTANCE}", f"{bounds:.2f} s", "3 s")
    result("auc_bounds / roc_auc_score", f"{bounds / peer:.1f} x")
    many, one = seconds(lambda: auc_covariance(y, scores), lambda: auc(y, score), rounds=2)
    result(f"auc_covariance of {MODELS} models / auc of one", f"{many / one:.1f} x", f"{MODELS} x")
    for share in (0.5, 0.1):
        drawn(share)


def drawn(share: float) -> None:
    """Print ratios of scipy.stats.bootstrap, stratified and with percentiles too, to the drawn bootstrap."""
    rng = np.random.default_rng(1)
    y = (rng.random(10_000) < share).astype(np.int64)
    score = y + rng.normal(size=len(y))
    classes = score[y == 1], score[y == 0]
    how = {"n_resamples": RESAMPLES, "method": "percentile"}

    title(f"{RESAMPLES:,} stratified resamples of {len(y):,} rows, {share:.0%} positive")
    ours, peer, lean = seconds(
        lambda: auc(y, score, method="bootstrap", n_resamples=RESAMPLES, rng=1).ci(),
        lambda: stats.bootstrap(classes, _mann_whitney, batch=100, **how),
        lambda: stats.bootstrap(classes, _by_search, vectorized=False, **how),
        rounds=2,
    )
    result("scipy.stats.bootstrap of mannwhitneyu, vectorised / auc", f"{peer / ours:.1f} x", "10 x")
    result("scipy.stats.bootstrap of one sort and one search / auc", f"{lean / ours:.1f} x")


def _mann_whitney(pos: NDArray[np.float64], neg: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    found = stats.mannwhitneyu(pos, neg, axis=axis, method="asymptotic").statistic
    return found / (pos.shape[axis] * neg.shape[axis])


def _by_search(pos: NDArray[np.float64], neg: NDArray[np.float64]) -> float:
    """The leanest statistic that a user would write by hand."""
    ordered = np.sort(neg)
    below = np.searchsorted(ordered, pos, "left") + np.searchsorted(ordered, pos, "right")
    return float(below.sum() / (2 * len(pos) * len(neg)))


if __name__ == "__main__":
    main()
