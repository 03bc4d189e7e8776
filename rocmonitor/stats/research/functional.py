"""One number of the whole ROC curve, with its bootstrap interval.

What holds for the curve holds for a smooth function of it ([BCV08], Bertail, Clémençon and Vayatis 2008,
remark 4): Phi(R*) - Phi(R) over resampled curves stands for the empirical curve's value around the true one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats.band.drawing import (
    Curve,
    Rule,
    band_ranks,
    bandwidths,
    drawn_curves,
    empirical_curve,
    require_curve,
    smoothed_curve,
    whole_resamples,
)
from rocmonitor.stats.curve.kernel import Bandwidth
from rocmonitor.stats.nouns import classes
from rocmonitor.stats.proportion import (
    Rng,
    clipped_intervals,
    generator,
    interval_caveats,
    require_level,
    require_method,
)
from rocmonitor.stats.result import Result
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.sample import Sample, on_sample

Functional = Callable[[Floats, Floats], float]
FunctionalMethod = Literal["smoothed", "naive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RocFunctional(Result):
    """A number of the ROC curve, with a bootstrap interval; the rest is as in `IntervalTable`.

    Attributes
    ----------
    name: The functional's.
    value, se: Of the empirical curve, and the standard deviation over the replicates.
    low, high: Ends of the interval; those of "auc" and "youden" are clipped to [0, 1].
    n_resamples: Resamples drawn.
    """

    name: str
    value: float
    se: float
    low: float
    high: float
    method: str
    confidence_level: float
    n_resamples: int
    n_pos: int
    n_neg: int
    caveats: tuple[Caveat, ...]

    def __str__(self) -> str:
        return (
            f"{self.name} {self.value:.4f}, {100 * self.confidence_level:g} % {self.low:.4f} to "
            f"{self.high:.4f} ({self.method} bootstrap), {classes(self.n_pos, self.n_neg)}"
        )


_NAMED: dict[str, Functional] = {
    "auc": lambda fpr, tpr: float(np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2)),
    "youden": lambda fpr, tpr: float(np.max(tpr - fpr)),
}


@on_sample
def roc_functional(
    sample: Sample,
    functional: Functional | Literal["auc", "youden"],
    *,
    method: FunctionalMethod = "smoothed",
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    rng: Rng | None = None,
    bandwidth: Bandwidth | Rule = "normal",
) -> RocFunctional:
    """Return a function of the ROC curve with its bootstrap interval ([BCV08], remark 4).

    Parameters
    ----------
    functional: ``functional(fpr, tpr)`` takes a curve, straight lines through points that go up from (0, 0)
        to (1, 1), shape (h,) each, and returns one finite number. It should be smooth in the curve. The
        arrays are read-only. Or by name: "auc", "youden" (the largest TPR - FPR).
    method, confidence_level, n_resamples, rng, bandwidth: As for `roc_pointwise`, without ``studentized``.

    Returns
    -------
    The ends lie as far from `value` as the opposite quantiles of the fluctuation from 0, which takes off the
    bias of a maximum such as "youden".

    Raises
    ------
    DegenerateDataError, InputError: As for `roc_pointwise`; a functional that is unknown, cannot be called,
        or returns what is not one finite number.

    Notes
    -----
    `value` is taken on all points of the empirical curve, fluctuations on the rates of `roc_band`, so that a
    rate between two of them is interpolated. Coverage: docs/coverage.md. Cost after sorting: O(k), then O(h)
    and one call of the functional a replicate.

    Examples
    --------
    >>> y, s = [0, 0, 1, 0, 1, 1], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    >>> round(roc_functional(y, s, "youden", method="naive", rng=1).value, 4)
    0.6667
    >>> roc_functional(y, s, lambda fpr, tpr: float(np.interp(0.5, fpr, tpr)), rng=1).value
    1.0
    """
    if isinstance(functional, str) and functional in _NAMED:
        name, of_curve = str(functional), _NAMED[functional]
    elif callable(functional):
        name, of_curve = str(getattr(functional, "__name__", type(functional).__name__)), functional
    else:
        raise InputError(
            f"functional must be a function of (fpr, tpr) or one of {', '.join(_NAMED)}; it is {functional!r}"
        )
    require_method(method, get_args(FunctionalMethod))
    tail = (1 - require_level(confidence_level)) / 2
    require_curve(sample)
    resamples, place, adjusted = whole_resamples(n_resamples, tail, method)
    source = generator(rng, resamples, method=method)
    curve = empirical_curve(sample)
    law = curve if method == "naive" else smoothed_curve(sample, bandwidths(sample, bandwidth)).curve
    value = _called(of_curve, name, curve)
    ranks = band_ranks(sample.n_neg)
    fpr = np.concatenate([[0.0], ranks / sample.n_neg, [1.0]])
    drawn = drawn_curves(law, ranks, sample.n_pos, sample.n_neg, resamples, source)
    whole = (np.concatenate([[0.0], tpr, [1.0]]) for tpr in (law.at(fpr[1:-1]), *drawn))
    centre, *values = (_called(of_curve, name, Curve(fpr, tpr)) for tpr in whole)
    fluctuation = np.array(values) - centre
    se = float(fluctuation.std(ddof=1)) if resamples > 1 else 0.0
    fluctuation.sort()
    low, high = value - fluctuation[[place]], value - fluctuation[[resamples - 1 - place]]
    clipping: tuple[Caveat, ...] = ()
    if name in _NAMED:
        ends = clipped_intervals(low, high)
        low, high, clipping = ends.low, ends.high, interval_caveats(name, np.array([value]), ends)
    return RocFunctional(
        name=name,
        value=value,
        se=se,
        low=float(low[0]),
        high=float(high[0]),
        method=method,
        confidence_level=float(confidence_level),
        n_resamples=resamples,
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
        caveats=adjusted + clipping,
    )


def _called(of_curve: Functional, name: str, curve: Curve) -> float:
    """Return the functional of a curve that it cannot change."""
    for values in curve:
        values.setflags(write=False)
    value = np.asarray(of_curve(curve.fpr, curve.tpr))
    if value.shape != () or value.dtype.kind not in "fiub" or not np.isfinite(value):
        raise InputError(
            f"functional must return one finite number for a curve; {name} returned "
            f"{value.item() if value.shape == () else f'an array of shape {value.shape}'}"
        )
    return float(value)
