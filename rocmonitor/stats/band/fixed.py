"""Bands in closed form: [C94] and [MH93] of `rocmonitor.stats.band.band.roc_band`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy

from rocmonitor.caveat import Caveat
from rocmonitor.stats.band.smoothing import deviations
from rocmonitor.stats.curve.kernel import class_scores
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.sample import Sample


def kolmogorov_radii(sample: Sample, alpha: float) -> tuple[float, float]:
    """Half widths in TPR and FPR ([C94]): each class's distribution function with sqrt(1 - alpha).

    The quantiles are those of the exact law of the two-sided Kolmogorov-Smirnov distance; with ties the
    distance is less, so the band covers with at least its level whatever the scores are.
    """
    from scipy import stats  # takes half a second to import

    level = math.sqrt(1 - alpha)
    return float(stats.kstwo.ppf(level, sample.n_pos)), float(stats.kstwo.ppf(level, sample.n_neg))


class LineBand(NamedTuple):
    """A band about a straight line on normal paper: ends, half width in deviations, what it assumes."""

    low: Floats
    high: Floats
    radius: float
    caveat: Caveat


def working_hotelling(sample: Sample, t: Floats, alpha: float) -> LineBand:
    """The band at the rates `t` about TPR = Phi(a + b Phi^-1(FPR)), a and b from moments.

    Working and Hotelling's band for the line of all rates at once: radius² is the quantile of chi-square
    with two degrees of freedom ([MH93]). Variances of a and b by the delta method for normal scores.
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
    return LineBand(scipy.special.ndtr(line - half), scipy.special.ndtr(line + half), radius, caveat)
