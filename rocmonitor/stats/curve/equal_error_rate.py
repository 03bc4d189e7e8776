"""The equal error rate of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rocmonitor.caveat import Caveat
from rocmonitor.stats import plotting
from rocmonitor.stats.curve.drawn_measure import draw, drawn_measure, said
from rocmonitor.stats.curve.roc import roc_curve
from rocmonitor.stats.resampling import Percentiles, Rng
from rocmonitor.stats.result import Result
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.sample import Sample, on_sample


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualErrorRate(Result):
    """The rate at which a model misses positives as often as it flags negatives, with a bootstrap interval.

    Attributes
    ----------
    rate : float
        FNR = FPR on the line through the points of the ROC curve.
    threshold : float
        The observed score whose FNR and FPR are nearest to each other; ``inf`` flags nothing.
    se : float
        Standard deviation over the resamples.
    low, high : float
        Percentiles of the resamples.
    n_resamples : int
        Resamples drawn.
    """

    _estimate: ClassVar[str | None] = "rate"
    _flat: ClassVar[bool] = True

    rate: float
    threshold: float
    se: float
    low: float
    high: float
    confidence_level: float
    percentiles: str
    n_resamples: int
    n_pos: int
    n_neg: int
    caveats: tuple[Caveat, ...] = ()

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        draw(self, self.rate, ax, "equal error rate", label)

    def __str__(self) -> str:
        return said(self, self.rate, "Equal error rate", ".4f")


@on_sample
def equal_error_rate(
    sample: Sample,
    /,
    *,
    confidence_level: float = 0.95,
    percentiles: Percentiles = "inverted_cdf",
    n_resamples: int = 2000,
    rng: Rng | None = None,
) -> EqualErrorRate:
    """Return the equal error rate with its standard error over stratified resamples.

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,)
        Labels 0 and 1, and finite scores; higher means more positive. Or one `Sample`.
    confidence_level : float within (0, 1)
    percentiles : {"inverted_cdf", "averaged_inverted_cdf"}
        Ends of the interval: observed values, or Definition 2 of Hyndman and Fan (1996), as in [WMK16].
    n_resamples : int
        At least 2; [WMK16] takes 2,000, whose standard error is known to 1.6 %.
    rng : Generator, SeedSequence or int
        Randomness, which must be given.

    Returns
    -------
    EqualErrorRate

    Raises
    ------
    DegenerateDataError, InputError
        A class without rows; unusable data (see `Sample`), an unknown option, no `rng`.

    Notes
    -----
    [WMK16] section 4, steps 1 to 6, with this statistic in step 4. Straight lines between the points of the
    curve make the rate unique, also where scores tie. Of separated classes every resample has the rate 0: the
    interval has no length, and a caveat says so. Cost: O(k) a resample for k distinct scores.

    References
    ----------
    .. [WMK16] Wu, Martin and Kacker (2016). Communications in Statistics 45, 1689-1703.

    Examples
    --------
    >>> found = equal_error_rate([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6], rng=1)
    >>> round(found.rate, 4), found.threshold
    (0.3333, 4.0)
    """
    curve = roc_curve(sample)
    nearest = int(np.argmin(np.abs(1 - curve.tpr - curve.fpr)))
    rate = float(crossing(curve.fpr[np.newaxis], 1 - curve.tpr[np.newaxis])[0])
    return EqualErrorRate(
        rate=rate,
        threshold=float(curve.threshold[nearest]),
        **drawn_measure(sample, crossing, ("EER", rate), confidence_level, percentiles, n_resamples, rng),
    )


def crossing(fpr: Floats, fnr: Floats) -> Floats:
    """Return where FPR = FNR on the lines through the points of each curve."""
    apart = fnr - fpr  # falls from 1 to -1
    after = np.argmax(apart <= 0, axis=1)
    line = np.arange(len(fpr))
    before = apart[line, after - 1], fpr[line, after - 1]
    share = before[0] / (before[0] - apart[line, after])
    return np.asarray(before[1] + share * (fpr[line, after] - before[1]))
