"""The area under the curve on a million rows, against scikit-learn: python tests/benchmarks area."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import roc_auc_score
from timing import result, seconds, title

from rocmonitor.stats import Sample, auc, auc_bounds, auc_covariance

ROWS = 1_000_000
MODELS = 10
DISTANCE = 0.01


def main() -> None:
    """Print ratios to one `roc_auc_score` of the same arrays."""
    rng = np.random.default_rng(1)
    y = (rng.random(ROWS) < 0.1).astype(np.int64)
    scores = y[:, np.newaxis] + rng.normal(size=(ROWS, MODELS))
    score = np.ascontiguousarray(scores[:, 0])

    def both_errors() -> None:
        sample = Sample(y, score)
        auc(sample, method="delong")
        auc(sample, method="exact-bootstrap")

    title(f"{ROWS:,} rows, a tenth positive, all scores different")
    peer, one = seconds(lambda: roc_auc_score(y, score), both_errors)
    result("auc, both standard errors / roc_auc_score", f"{one / peer:.2f} x", "1.0 x")
    bounds, peer = seconds(
        lambda: auc_bounds(y, score, distance=DISTANCE), lambda: roc_auc_score(y, score), rounds=3
    )
    result(f"auc_bounds, both ends, distance {DISTANCE}", f"{bounds:.2f} s", "3 s")
    result("auc_bounds / roc_auc_score", f"{bounds / peer:.1f} x")
    many, one = seconds(lambda: auc_covariance(y, scores), lambda: auc(y, score), rounds=2)
    result(f"auc_covariance of {MODELS} models / auc of one", f"{many / one:.1f} x", f"{MODELS} x")


if __name__ == "__main__":
    main()
