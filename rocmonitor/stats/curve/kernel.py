"""The kernel interval of the true positive rate at a fixed false positive rate: a rival of the exact laws.

[HHF] is P. Hall, R. J. Hyndman and Y. Fan (2004). Both distribution functions are smoothed by a Gaussian
kernel; the interval is the normal one about the smoothed curve R(p), with the asymptotic variance
R (1 - R) / n_pos + (g / f)² p (1 - p) / n_neg, f and g the densities of negatives and positives at the
threshold. The bandwidths are those of [HHF]'s published software, but for a pilot (see `bandwidths`).
Unlike the exact laws it changes when the scores are mapped.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.binomial import LOG_NEGLIGIBLE, Floats
from rocmonitor.stats.proportion import quantile_beyond
from rocmonitor.stats.sample import Sample

Bandwidth = float | tuple[float, float]
"""One bandwidth for both classes, or (positives, negatives), in the units of the scores."""

_REACH = 9.0  # bandwidths from which a row counts as wholly above or below
_PILOT_ROWS = 400  # a class's distribution is summed up by as many means for the pilots
_STEPS = 80  # bisection alone would need 60
_OVERLAP = 1 / math.sqrt(math.pi)  # 2 ∫ u K(u) L(u) du, L the integral of the Gaussian kernel K
_PEAK = 2 / math.sqrt(2 * math.pi)  # 2 K(0)
_FINEST = 1e-50  # of the largest score: powers of less underflow
_WIDEST = 2.0  # spreads: where a mean curvature is nearly 0 its rule would give any width


class Bandwidths(NamedTuple):
    """Bandwidths of the two distribution functions, and of the two densities of the variance."""

    pos: float
    neg: float
    density_pos: float
    density_neg: float


class ClassScores(NamedTuple):
    """Distinct scores of a class, increasing, their shares, and the share strictly above each, (k,)."""

    score: Floats
    share: Floats
    above: Floats
    total: int


def kernel_ends(
    sample: Sample, p: Floats, tail: float, bandwidth: Bandwidth | None = None
) -> tuple[Floats, Floats]:
    """Return ends of the intervals of the TPR at false positive rates `p`, not clipped, shape (h,).

    Each leaves `tail` on its side. O(k) for the bandwidths; O(k + rows within 9 bandwidths) for each rate.
    """
    pos, neg, unit = class_scores(sample)
    if bandwidth is None:
        h = bandwidths(pos, neg, tail)
    else:
        h_pos, h_neg = (max(given / unit, _FINEST) for given in given_bandwidths(bandwidth))
        h = Bandwidths(h_pos, h_neg, h_pos, h_neg)
    low, high = np.empty(len(p)), np.empty(len(p))
    for line, rate in enumerate(p.tolist()):
        at = _threshold(neg, rate, h.neg)
        tpr = _share_above(pos, at, h.pos)
        # By logarithms: the density of the negatives may be too small for a number.
        slope = 2 * (_log_density(pos, at, h.density_pos) - _log_density(neg, at, h.density_neg))
        by_threshold = math.exp(min(slope, 2 * LOG_NEGLIGIBLE)) * rate * (1 - rate) / neg.total
        half = quantile_beyond(tail) * math.sqrt(tpr * (1 - tpr) / pos.total + by_threshold)
        low[line], high[line] = tpr - half, tpr + half
    return low, high


def bandwidths(pos: ClassScores, neg: ClassScores, tail: float) -> Bandwidths:
    """[HHF]'s rule: half of the plug-in bandwidth for the curve, and what the level asks of the variance.

    The curve is smoothed by half of the bandwidth that is best for a distribution function (order n^(-1/3)):
    its bias would harm coverage. The densities take (mean of q / mean curvature)^(1/3) n^(-1/3), means over
    the negatives, where q weighs the two parts of the variance at this level; 2^(-1/3) of it where the ratio
    is negative. The densities in q's weights a take the normal rule 1.06 spread n^(-1/5), in [HHF]'s software
    Sheather and Jones's. Theirs has no bounds; ours stays within 0.002 and 2 spreads of the class.
    """
    of_curve = [_plug_in(rows, name) for rows, name in ((pos, "positives"), (neg, "negatives"))]
    few_pos, few_neg = _thinned(pos), _thinned(neg)
    at, weight = few_neg.score, few_neg.share
    f, g = (
        _derivative(rows, at, 1.06 * spread(rows) * rows.total ** (-1 / 5), 0) for rows in (few_neg, few_pos)
    )
    r, p = (
        scipy.special.ndtr((rows.score - at[:, np.newaxis]) / h) @ rows.share
        for rows, h in zip((few_pos, few_neg), of_curve, strict=True)
    )
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        by_threshold = pos.total / neg.total * (g / f) ** 2 * p * (1 - p)
        a = np.nan_to_num(by_threshold / (r * (1 - r) + by_threshold), nan=1.0)
    z2 = quantile_beyond(tail) ** 2
    wanted = (_OVERLAP * (a - 1 - a * z2), _OVERLAP * (3 - a - a * z2) + _PEAK * (a + a * z2 - 1))
    of_density = []
    for rows, few, q in ((pos, few_pos, wanted[0]), (neg, few_neg, wanted[1])):
        width = deviation(rows) * (4 / 7 / rows.total) ** (1 / 9)
        curvature = float(weight @ _derivative(few, at, width, 2))
        widest = _WIDEST * spread(rows)
        ratio = float(weight @ q) / curvature if curvature else math.inf
        h = (abs(ratio) / (2 if ratio < 0 else 1) / rows.total) ** (1 / 3)
        of_density.append(min(max(h, 1e-3 * widest), widest))
    return Bandwidths(of_curve[0] / 2, of_curve[1] / 2, of_density[0], of_density[1])


def class_scores(sample: Sample) -> tuple[ClassScores, ClassScores, float]:
    """Positives, negatives, and the unit in which their scores are now: within [-1, 1], the median near 0."""
    unit = max(float(np.abs(sample.score).max()), np.finfo(float).tiny)
    score = sample.score / unit
    score = score - score[len(score) // 2]
    classes = []
    for count, total in ((sample.pos, sample.n_pos), (sample.neg, sample.n_neg)):
        seen = count > 0
        share = count[seen] / total
        above = (total - np.cumsum(count[seen])) / total
        classes.append(ClassScores(score[seen], share, above, total))
    return classes[0], classes[1], unit


def given_bandwidths(bandwidth: Bandwidth, hint: str = "") -> tuple[float, float]:
    """Bandwidths of positives and negatives as given; `hint` ends the message that refuses them."""
    try:
        pair = np.broadcast_to(np.asarray(bandwidth, dtype=np.float64), (2,))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"bandwidth must be one number or (positives, negatives); it is {bandwidth!r}"
        ) from error
    if not np.all(np.isfinite(pair) & (pair > 0)):
        raise InputError(
            f"bandwidth must be above 0 and finite, in the units of the scores; it is {bandwidth!r}{hint}"
        )
    return float(pair[0]), float(pair[1])


def _share_above(rows: ClassScores, at: float, h: float) -> float:
    first, last = np.searchsorted(rows.score, (at - _REACH * h, at + _REACH * h))
    wholly = rows.above[last - 1] if last else 1.0
    near = slice(first, last)
    return float(wholly + scipy.special.ndtr((rows.score[near] - at) / h) @ rows.share[near])


def _log_density(rows: ClassScores, at: float, h: float) -> float:
    """Logarithm of the kernel density at `at`, over all rows that matter beside the nearest."""
    place = int(np.searchsorted(rows.score, at))
    nearest = np.abs(rows.score[max(place - 1, 0) : place + 1] - at).min()
    reach = math.hypot(nearest, h * math.sqrt(2 * LOG_NEGLIGIBLE))
    first, last = np.searchsorted(rows.score, (at - reach, at + reach))
    near = slice(min(first, max(place - 1, 0)), max(last, place + 1))
    away = ((rows.score[near] - at) / h) ** 2 / 2
    least = away.min()
    return float(
        np.log(np.exp(least - away) @ rows.share[near]) - least - math.log(h * math.sqrt(2 * math.pi))
    )


def _threshold(rows: ClassScores, p: float, h: float) -> float:
    """Return where the smoothed share above is `p`: Newton's steps within a bracket that only shrinks."""
    empirical = rows.score[np.searchsorted(-rows.above, -p)]  # the first with at most p above it
    low, high = float(empirical - _REACH * h), float(empirical + _REACH * h)
    at = float(empirical)
    # Not SciPy's search: between distant scores the share is level, and any end of a bracket would be a root.
    for _ in range(_STEPS):
        excess = _share_above(rows, at, h) - p
        low, high = (at, high) if excess > 0 else (low, at)
        step = excess * math.exp(min(-_log_density(rows, at, h), 700.0)) if excess else 0.0
        new = at + step if low < at + step < high else (low + high) / 2
        if abs(new - at) <= 1e-13 * h or not excess:
            break
        at = new
    return at


def _plug_in(rows: ClassScores, name: str) -> float:
    """Return the bandwidth of a distribution function, [HHF] after Lloyd: two pilots, the first normal."""
    width = spread(rows)
    if width < _FINEST:
        raise DegenerateDataError(
            f"method 'kernel' finds no bandwidth: the scores of the {rows.total} {name} do not spread; "
            "give bandwidth, or use another method"
        )
    few = _thinned(rows)
    normal = float(1.583 * width * rows.total ** (-1 / 3))
    pilot = width * (6 / 0.5289 / rows.total) ** (1 / 7)
    fourth = float(few.share @ _derivative(few, few.score, pilot, 4))
    if not fourth > 0:
        return normal
    pilot = (math.sqrt(2 / math.pi) / fourth / rows.total) ** (1 / 5)
    second = float(few.share @ _derivative(few, few.score, pilot, 2))
    return float((_OVERLAP / -second / rows.total) ** (1 / 3)) if second < 0 else normal


def _derivative(rows: ClassScores, at: Floats, h: float, order: int) -> Floats:
    """Return a derivative of the kernel density, order 0, 2 or 4, at each of `at`."""
    u2 = ((at[:, np.newaxis] - rows.score) / h) ** 2
    hermite = {0: 1.0, 2: u2 - 1, 4: 3 - 6 * u2 + u2 * u2}[order]
    return np.asarray((hermite * np.exp(-u2 / 2)) @ rows.share / (math.sqrt(2 * math.pi) * h ** (order + 1)))


def _thinned(rows: ClassScores) -> ClassScores:
    """Return the means of some hundred groups of neighbours of equal mass; a small class itself."""
    if len(rows.score) <= _PILOT_ROWS:
        return rows
    group = np.minimum(((1 - rows.above - rows.share / 2) * _PILOT_ROWS).astype(np.intp), _PILOT_ROWS - 1)
    mass = np.bincount(group, weights=rows.share)
    moment = np.bincount(group, weights=rows.share * rows.score)
    share = np.asarray(mass[mass > 0], dtype=np.float64)
    score = np.asarray(moment[mass > 0] / share, dtype=np.float64)
    return ClassScores(score, share, 1 - np.cumsum(share), rows.total)


def deviation(rows: ClassScores) -> float:
    """Return the standard deviation of a class, n - 1 in the denominator."""
    mean = np.sum(rows.share * rows.score)
    square = np.sum(rows.share * (rows.score - mean) ** 2)
    return math.sqrt(float(square) * rows.total / max(rows.total - 1, 1))


def spread(rows: ClassScores) -> float:
    """Interquartile range over that of a standard normal law, or the deviation if that is less."""
    below = 1 - rows.above
    lower, upper = rows.score[np.searchsorted(below, (0.25 - 1e-12, 0.75 - 1e-12))]
    quartiles = float(upper - lower) / 1.349
    return min(quartiles, deviation(rows)) if quartiles > 0 else deviation(rows)
