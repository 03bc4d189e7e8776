"""Ratios to other programs on the same rows, in one run: python tests/benchmarks peers.

A peer that is not installed is skipped with the reason. None of them is a dependency:
``pip install nannyml statsmodels confidenceinterval MLstatkit`` and, on Debian, ``apt install r-cran-proc``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from shutil import which
from tempfile import TemporaryDirectory

import numpy as np
from targets import RATES, drawn, judged_in_memory, paired
from timing import cpu, result, skipped, title

from rocmonitor.stats import auc, compare_auc_paired, roc_curve, threshold_intervals

ROWS = 1_000_000
PROC = """
options(digits=15)
suppressMessages(library(pROC))
d <- read.csv(commandArgs(TRUE)[1])
used <- function(f) { t <- proc.time(); v <- f(); t <- proc.time() - t; c(sum(t[1:2]), v) }
cat(used(function() { r <- roc(d$y, d$a, quiet=TRUE, direction="<"); c(as.numeric(r$auc), sqrt(var(r))) }),
    used(function() roc.test(roc(d$y, d$a, quiet=TRUE, direction="<"),
                             roc(d$y, d$b, quiet=TRUE, direction="<"))$p.value),
    as.character(packageVersion("pROC")))
"""


def main(rows: int = ROWS) -> None:
    """Print how many times as long each peer takes, and how far its number is from ours."""
    title(f"peers, processor seconds of theirs / ours; {rows:,} rows unless it says otherwise")
    for peer in (scikit_learn, scipy_stats, statsmodels, confidenceinterval, mlstatkit, proc, nannyml):
        try:
            peer(rows)
        except ImportError as error:
            skipped(f"{error.name or peer.__name__} is not installed")


def against(what: str, theirs: Callable[[], float], ours: Callable[[], float], rounds: int = 3) -> None:
    """One line: the ratio, and the difference of the two numbers."""
    apart = abs(theirs() - ours())
    ratio = cpu(theirs, rounds) / cpu(ours, rounds)
    result(f"{what} (numbers differ by {apart:.0e})", f"{ratio:.2g} x")


def scikit_learn(rows: int) -> None:
    """The AUC alone, and the curve."""
    import sklearn
    from sklearn import metrics

    y, score = drawn(np.random.default_rng(1), rows, 0.1)
    of = f"scikit-learn {sklearn.__version__}"
    against(
        f"{of}: roc_auc_score / auc with its error",
        lambda: float(metrics.roc_auc_score(y, score)),
        lambda: auc(y, score).auc,
    )
    against(
        f"{of}: roc_curve / roc_curve",
        lambda: float(metrics.roc_curve(y, score, drop_intermediate=False)[1].sum()),
        lambda: float(roc_curve(y, score).tpr.sum()),
    )


def scipy_stats(rows: int) -> None:
    """The statistic of Mann and Whitney."""
    import scipy

    y, score = drawn(np.random.default_rng(2), rows, 0.1)
    pos, neg = score[y == 1], score[y == 0]
    against(
        f"scipy {scipy.__version__}: mannwhitneyu / auc with its error",
        lambda: float(scipy.stats.mannwhitneyu(pos, neg).statistic) / (float(len(pos)) * len(neg)),
        lambda: auc(y, score).auc,
    )


def statsmodels(rows: int) -> None:
    """Intervals of rates at 99 thresholds, from counts that NumPy adds up."""
    import statsmodels
    from statsmodels.stats.proportion import proportion_confint

    y, score = drawn(np.random.default_rng(3), rows, 0.1)
    thresholds = np.quantile(score, RATES)

    def theirs() -> float:
        flagged = (np.sum(score[y == label] >= thresholds[:, np.newaxis], axis=1) for label in (1, 0))
        sizes = np.sum(y == 1), np.sum(y == 0)
        ends = [proportion_confint(k, n, method="beta") for k, n in zip(flagged, sizes, strict=True)]
        return float(np.sum(ends))

    def ours() -> float:
        found = threshold_intervals(y, score, thresholds, method="clopper-pearson", joint=False)
        return float(found.tpr_low.sum() + found.tpr_high.sum() + found.fpr_low.sum() + found.fpr_high.sum())

    of = f"statsmodels {statsmodels.__version__}"
    against(f"{of}: proportion_confint at 99 thresholds / threshold_intervals", theirs, ours, rounds=1)


def confidenceinterval(rows: int) -> None:
    """The interval of an AUC by DeLong's error."""
    from importlib.metadata import version

    import confidenceinterval as theirs

    y, score = drawn(np.random.default_rng(4), rows, 0.1)
    against(
        f"confidenceinterval {version('confidenceinterval')}: roc_auc_score, delong / auc",
        lambda: float(theirs.roc_auc_score(y, score, method="delong")[1][0]),
        lambda: auc(y, score).ci(transform="none")[0],
    )


def mlstatkit(rows: int) -> None:
    """DeLong's test of two models; a tenth of the rows."""
    from importlib.metadata import version

    from MLstatkit import Delong_test

    pair = paired(rows // 20)
    y = np.repeat(pair.pos > 0, 1).astype(np.int64)
    a, b = pair.first.score[pair.index_1], pair.second.score[pair.index_2]
    against(
        f"MLstatkit {version('MLstatkit')}: Delong_test / compare_auc_paired, {rows // 10:,} rows",
        lambda: float(Delong_test(y, a, b, return_ci=False, return_auc=False)[1]),
        lambda: compare_auc_paired(y, a, b).pvalue,
        rounds=1,
    )


def proc(rows: int) -> None:
    """R's pROC in a process of its own, which says what it used after reading; a tenth of the rows."""
    if which("Rscript") is None:
        raise ImportError(name="Rscript")
    pair = paired(rows // 20)
    y = (pair.pos > 0).astype(np.int64)
    a, b = pair.first.score[pair.index_1], pair.second.score[pair.index_2]
    with TemporaryDirectory() as folder:
        path = f"{folder}/rows.csv"
        np.savetxt(path, np.column_stack([y, a, b]), delimiter=",", header="y,a,b", comments="")
        done = subprocess.run(["Rscript", "-e", PROC, path], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ImportError(name="pROC")
    one, area, error, both, pvalue, version = done.stdout.split()
    own = auc(y, a)
    apart = max(abs(own.auc - float(area)), abs(own.se - float(error)))
    what = f"pROC {version}: roc and var / auc with its error, {rows // 10:,} rows"
    result(
        f"{what} (numbers differ by {apart:.0e})", f"{float(one) / max(cpu(lambda: auc(y, a)), 1e-6):.2g} x"
    )
    ours = compare_auc_paired(y, a, b)
    taken = cpu(lambda: compare_auc_paired(y, a, b))
    apart = abs(ours.pvalue - float(pvalue))
    what = f"pROC {version}: roc.test / compare_auc_paired, {rows // 10:,} rows"
    result(f"{what} (numbers differ by {apart:.0e})", f"{float(both) / max(taken, 1e-6):.2g} x")


def nannyml(rows: int, windows: int = 50) -> None:
    """Fit and calculate of the AUC alone, against all that a window is judged by, on the same windows."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"  # it would report to its makers
        import nannyml as theirs

        size = rows // 10
        rng = np.random.default_rng(1)
        data = [drawn(rng, size, 0.1, gap) for gap in rng.normal(1.2, 0.02, windows)]
        frame = pd.DataFrame(
            {"y": np.concatenate([y for y, _ in data]), "p": np.concatenate([s for _, s in data])}
        )
        frame["p"] = 1 / (1 + np.exp(-frame["p"]))
        known = 3 * windows // 5 * size

        def fit_and_calculate() -> float:
            calculator = theirs.PerformanceCalculator(
                metrics=["roc_auc"],
                y_true="y",
                y_pred_proba="p",
                problem_type="classification_binary",
                chunk_size=size,
            )
            found = calculator.fit(frame[:known]).calculate(frame[known:])
            return float(found.filter(period="analysis").to_df()[("roc_auc", "value")].iloc[0])

        apart = abs(fit_and_calculate() - auc(*data[3 * windows // 5]).auc)
        peer = cpu(fit_and_calculate, rounds=2)
    own = cpu(lambda: judged_in_memory(data), rounds=2)
    only = cpu(lambda: [auc(*each) for each in data], rounds=2)
    of = f"{windows} windows of {size:,} rows"
    result(f"ours: AUROC, two errors, 101 thresholds, 99 rates, forecast; {of}", f"{own:.2f} s")
    result(f"NannyML {theirs.__version__}: AUROC alone, fit and calculate", f"{peer:.2f} s")
    result(
        f"ours, all that / NannyML's AUROC (numbers differ by {apart:.0e})", f"{own / peer:.2f} x", "0.4 x"
    )
    result("ours, AUROC with its error / NannyML's AUROC", f"{only / peer:.2f} x")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
