"""A simultaneous confidence band for a whole ROC curve.

What is drawn is the fluctuation R* - R of a resampled curve around the curve R of the distribution it was
drawn from; its quantile is laid around the empirical curve. Three things differ from [BCV08] (Bertail,
Clémençon and Vayatis 2008). Its step 2 swaps n_pos / n and n_neg / n. It centres the fluctuations of the
smoothed bootstrap on the empirical curve, which adds the bias of the smoothing to them. It draws the class
sizes too; here each class is resampled on its own.

d_B of curves f and g at t is the smaller of |f(t) - g(t)| and |g^-1(f(t)) - t|, where g is the curve drawn
from. The curves f within a distance d_B of g then lie between g moved up or left by it and g moved down or
right. A true curve is monotone: so a band that covers it at the rates of the table also covers it between
them, from the lower end on the left to the upper end on the right.

"studentized-sup" measures in standard deviations, which vary along the curve. It takes the arcsine of the
root of TPR, whose deviation hardly depends on TPR: near the corners fluctuations are skewed. A replicate is
measured in the deviations of the others, as the true curve is in those of the replicates. The smoothed scores
of a class keep its deviation, as noise alone lowers the curve. What is smoothed are the normal scores of the
midranks of all rows, so that increasing maps of the scores change nothing. Within log10(n_neg) negatives of
either end it claims only that the curve is monotone: most misses near FPR 0 came from there
(docs/coverage.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import scipy

from rocmonitor.caveat import Caveat
from rocmonitor.stats import plotting
from rocmonitor.stats.band.drawing import (
    Curve,
    Progress,
    Rule,
    band_ranks,
    bandwidths,
    deviations,
    drawn_curves,
    empirical_curve,
    normal_scores,
    require_curve,
    smoothed_curve,
    whole_resamples,
)
from rocmonitor.stats.curve.kernel import Bandwidth, class_scores
from rocmonitor.stats.curve.laws import IntervalTable
from rocmonitor.stats.nouns import classes
from rocmonitor.stats.proportion import Rng, generator, require_level, require_method
from rocmonitor.stats.rows import Counts, Floats
from rocmonitor.stats.sample import Sample, on_sample

BandMethod = Literal[
    "smoothed-db",
    "smoothed-sup",
    "naive-db",
    "naive-sup",
    "studentized-sup",
    "kolmogorov-smirnov",
    "working-hotelling",
]


_LEAST = 0.5  # of a binomial proportion's variance, added so that no deviation is near 0
_SMOOTHING = ("smoothed-db", "smoothed-sup", "studentized-sup")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RocBand(IntervalTable):
    """A band that holds the whole true curve with the confidence level; the rest is as in `IntervalTable`.

    Attributes
    ----------
    fpr, shape (h,): False positive rates, from 0 to 1. Between two of them the band reaches from `low` at the
        left one to `high` at the right one.
    tpr, shape (h,): The empirical curve: its lower end where it rises vertically, straight lines across ties.
    low, high, shape (h,): Ends of the band, non-decreasing, within [0, 1].
    radius: Half of the band's height before it is clipped: in TPR; with "studentized-sup" in standard
        deviations of the arcsine of its root, with "working-hotelling" of its normal quantile, both varying
        with FPR.
    fpr_radius: How far the band reaches to either side in FPR: `radius` with the two of d_B, a length of its
        own with "kolmogorov-smirnov", 0 with the others.
    n_resamples: Resamples drawn; 0 with the methods that draw none.
    bandwidth: Of the positives and the negatives, in the units of the scores ("studentized-sup": of their
        normal scores); empty where nothing is smoothed.
    """

    fpr: Floats
    tpr: Floats
    low: Floats
    high: Floats
    radius: float
    fpr_radius: float
    n_resamples: int
    bandwidth: tuple[float, ...]

    @property
    def area(self) -> float:
        """Area of the band within the unit square: its mean height."""
        return float(np.sum(np.diff(self.fpr) * (self.high[1:] - self.low[:-1])))

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.roc_plane(ax, self._about("band for the whole curve"))
        plotting.band(ax, self.fpr, self.tpr, self.low, self.high, label=label)

    def __str__(self) -> str:
        return (
            f"ROC band, {100 * self.confidence_level:g} % for the whole curve ({self.method}), "
            f"area {self.area:.4f}, {classes(self.n_pos, self.n_neg)}"
        )


class _Ends(NamedTuple):
    low: Floats
    high: Floats
    radius: float
    fpr_radius: float = 0.0
    n_resamples: int = 0
    bandwidth: tuple[float, ...] = ()
    caveats: tuple[Caveat, ...] = ()


@on_sample
def roc_band(
    sample: Sample,
    *,
    method: BandMethod = "studentized-sup",
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    rng: Rng | None = None,
    bandwidth: Bandwidth | Rule = "normal",
    progress: Progress | None = None,
) -> RocBand:
    """Confidence band for the whole ROC curve.

    The methods with "db" or "sup" are those of [BCV08], section 3.1, corrected (see the module).

    Parameters
    ----------
    method:
        - "smoothed-db", "smoothed-sup": smoothed bootstrap, resamples of the scores with Gaussian noise; the
          distance of two curves is d_B, vertical or horizontal, whichever is less, or the sup norm
        - "naive-db", "naive-sup": the same, resamples of the scores as they are
        - "studentized-sup": recommended (Notes). Smoothed bootstrap of the normal scores, sup norm in
          standard deviations of the arcsine of the root of TPR
        - "kolmogorov-smirnov": fixed width, a Kolmogorov-Smirnov band for each class ([C94]). Never below its
          level, and wide
        - "working-hotelling": around a straight line on normal paper, for normal scores ([MH93])
    confidence_level: Of the whole band, within (0, 1).
    n_resamples: Resamples B. (1 + B) times 1 - `confidence_level` should be a whole number; B is raised until
        it is.
    rng: Randomness of the five methods that draw, which need it.
    bandwidth: Of the smoothed methods, in the units of the scores ("studentized-sup": of the normal quantiles
        of their midranks among all rows), for both classes or for (positives, negatives); or a rule, for each
        class by its own n and standard deviation: "normal" 1.06 sd n^(-1/5), "robust" 0.9 min(sd,
        interquartile range / 1.349) n^(-1/5), "undersmoothed" 1.06 sd n^(-1/3).
    progress: Called with a short text up to ten times.

    Raises
    ------
    DegenerateDataError, InputError: No positive, fewer than two negatives, one score only; by a rule of
        bandwidth, and with "working-hotelling", a class with one score only. An unknown method, rule or
        level, no `rng`, fewer resamples than the level needs, a bandwidth not above 0.

    Notes
    -----
    "studentized-sup" covered 94.3 to 96.2 % at 95 % with 100 to 100,000 rows of normal scores, and of any
    increasing map of them, with half to nine tenths of the area of "smoothed-db", which is safe. Other laws,
    scores of few levels among them: docs/coverage.md, which names the designs that it does not hold for. The
    other methods fell below in some designs, or are wider.

    Increasing maps of the scores change nothing, but for "smoothed-db" and "smoothed-sup", which smooth on
    the scale of the scores, and "working-hotelling". The naive bootstrap breaks ties at random.

    Cost after sorting: O(k), a table of the smoothed curve (below 1 s), then O(h) a replicate for h rates:
    n_neg of them up to 2,048, at most 8,192. Memory: 16 h bytes a replicate.

    Examples
    --------
    >>> band = roc_band([0, 0, 0, 1, 1, 1], [1.0, 2.0, 4.0, 3.0, 5.0, 6.0], method="naive-sup", rng=1)
    >>> band.fpr.round(2).tolist(), band.tpr.round(2).tolist()
    ([0.0, 0.33, 0.67, 1.0], [0.0, 0.67, 1.0, 1.0])
    """
    require_method(method, get_args(BandMethod))
    alpha = 1 - require_level(confidence_level)
    require_curve(sample)
    t = band_ranks(sample.n_neg) / sample.n_neg
    curve = empirical_curve(sample)
    if method == "kolmogorov-smirnov":
        # By the exact law of the two-sided distance, each class with sqrt(1 - alpha) ([C94]); with ties the
        # distance is less, so the band still covers.
        law = scipy.stats.kstwo
        in_tpr, in_fpr = (float(law.ppf(math.sqrt(1 - alpha), n)) for n in (sample.n_pos, sample.n_neg))
        ends = _Ends(curve.at(t - in_fpr) - in_tpr, curve.at(t + in_fpr) + in_tpr, in_tpr, in_fpr)
    elif method == "working-hotelling":
        ends = working_hotelling(sample, t, alpha)
    else:
        ends = _drawn_ends(sample, curve, method, alpha, n_resamples, rng, bandwidth, progress)
    tpr = np.concatenate([[0.0], curve.at(t), [1.0]])
    # As the true curve is monotone, so are the ends. At FPR 0 it may rise as high as at the first rate.
    low = np.maximum.accumulate(np.clip(ends.low, 0.0, 1.0))
    high = np.minimum.accumulate(np.clip(ends.high, 0.0, 1.0)[::-1])[::-1]
    low, high = np.concatenate([[0.0], low, [1.0]]), np.concatenate([high[:1], high, [1.0]])
    caveats = list(ends.caveats)
    if tied := np.count_nonzero((sample.pos > 0) & (sample.neg > 0)):
        caveats.append(Caveat("ties-between-classes", tied=tied, distinct=len(sample.score), model=None))
    if outside := np.count_nonzero((tpr < low) | (tpr > high)):
        caveats.append(Caveat("curve-outside-band", outside=outside, rates=len(tpr)))
    return RocBand(
        fpr=np.concatenate([[0.0], t, [1.0]]),
        tpr=tpr,
        low=low,
        high=high,
        radius=ends.radius,
        fpr_radius=ends.fpr_radius,
        method=method,
        confidence_level=float(confidence_level),
        n_resamples=ends.n_resamples,
        bandwidth=ends.bandwidth,
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
        caveats=tuple(caveats),
    )


def _drawn_ends(
    sample: Sample,
    curve: Curve,
    method: str,
    alpha: float,
    n_resamples: int,
    rng: Rng | None,
    bandwidth: Bandwidth | Rule,
    progress: Progress | None,
) -> _Ends:
    """Return the bands that draw: what they draw from, the replicates, and the band from their distances."""
    resamples, place, adjusted = whole_resamples(n_resamples, alpha, method)
    source = generator(rng, resamples, method=method)
    law: Curve = curve
    width: tuple[float, float] | None = None
    if method == "studentized-sup":
        sample = normal_scores(sample)
    if method in _SMOOTHING:
        width = bandwidths(sample, bandwidth)
        law = smoothed_curve(sample, width, shrunk=method == "studentized-sup").curve
    ranks = band_ranks(sample.n_neg)
    drawn = drawn_curves(law, ranks, sample.n_pos, sample.n_neg, resamples, source, progress)
    if method == "studentized-sup":
        ends = _studentized(sample, curve, law, ranks, drawn, place)
    else:
        t = ranks / sample.n_neg
        at, distance = curve.at(t), np.abs(drawn - law.at(t))
        if method.endswith("db"):
            np.minimum(distance, np.abs(law.back(drawn) - t), out=distance)
        radius = float(np.partition(distance.max(axis=1), place)[place])
        ends = _Ends(at - radius, at + radius, radius)
        if method.endswith("db"):
            low = np.minimum(ends.low, curve.at(t - radius))
            high = np.maximum(ends.high, curve.at(t + radius))
            ends = _Ends(low, high, radius, radius)
    return ends._replace(n_resamples=resamples, bandwidth=width or (), caveats=adjusted)


def _studentized(sample: Sample, curve: Curve, law: Curve, ranks: Counts, drawn: Floats, place: int) -> _Ends:
    """Return the band of "studentized-sup": ends as many deviations away as the replicate in this place."""
    t, n_pos = ranks / sample.n_neg, sample.n_pos
    # The r-th negative from an end scatters by 1 / sqrt(r) of its rate: no law of it is known well.
    spared = max(1, int(math.log10(sample.n_neg)))
    inner = slice(*np.searchsorted(ranks, (spared, sample.n_neg - spared + 1)))
    square = _stable(drawn[:, inner], n_pos)
    square -= _stable(law.at(t[inner]), n_pos)
    square *= square
    total, least = square.sum(axis=0), _LEAST / (4 * n_pos)
    square /= (total - square) / max(len(drawn) - 1, 1) + least
    radius = math.sqrt(np.partition(square.max(axis=1), place)[place])
    half = radius * np.sqrt(total / len(drawn) + least)
    low, high, at = np.zeros(len(t)), np.ones(len(t)), _stable(curve.at(t[inner]), n_pos)
    # `_stable` undone; a little outside [0, 1] at the ends.
    shares = np.sin(np.clip([at - half, at + half], 0.0, np.pi / 2)) ** 2
    low[inner], high[inner] = ((n_pos + 0.75) * shares - 0.375) / n_pos
    return _Ends(low, high, radius)


def _stable(proportion: Floats, n: int) -> Floats:
    """Return the arcsine of the root (Anscombe 1948): a share of n then has the variance 1 / (4 n)."""
    return np.asarray(np.arcsin(np.sqrt((n * proportion + 0.375) / (n + 0.75))))


def working_hotelling(sample: Sample, t: Floats, alpha: float) -> _Ends:
    """Return the band at the rates `t` about TPR = Phi(a + b Phi^-1(FPR)), a and b from moments ([MH93]).

    Radius² is the quantile of chi-square with two degrees of freedom; variances of a and b by the delta
    method.
    """
    sample.require_both_classes(at_least=2)
    pos, neg, _ = class_scores(sample)
    sd_pos, sd_neg = deviations(sample, "working-hotelling", "use 'kolmogorov-smirnov'")
    a = float(np.sum(pos.share * pos.score) - np.sum(neg.share * neg.score)) / sd_pos
    b = sd_neg / sd_pos
    x = scipy.special.ndtri(t)
    # Variances of the log deviations are 1 / (2 n); of the means, in units of sd_pos, 1 / n_pos and b²/n_neg.
    of_a = 1 / pos.total + b * b / neg.total + a * a / (2 * pos.total)
    of_b = b * b * (0.5 / neg.total + 0.5 / pos.total)
    of_both = a * b / (2 * pos.total)
    radius = math.sqrt(scipy.special.chdtri(2, alpha))
    half = radius * np.sqrt(of_a + 2 * of_both * x + of_b * x * x)
    line = a + b * x
    caveat = Caveat("normal-scores-assumed", a=a, b=b)
    low, high = scipy.special.ndtr(line - half), scipy.special.ndtr(line + half)
    return _Ends(low, high, radius, caveats=(caveat,))
