"""The variance of the AUC over all rankings that make a given number of errors [CM04].

A classification is a ranking of the rows and a threshold. Over all of them that make k errors, each taken
to be equally likely, the AUC has a mean and a variance that depend on n_pos, n_neg and k only.

The paper's sums of binomial coefficients are right for k up to the smaller class only, as enumeration shows,
and in floating point their terms cancel. Here the same law is added up by the number x of positives among
the errors. Given x, the rows above the threshold are in random order, and so are those below: two
Mann-Whitney statistics with known mean and variance. All terms are positive, for any k.
"""

from __future__ import annotations

import numpy as np

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats.area.variances import Moments, Variance
from rocmonitor.stats.binomial import require_room
from rocmonitor.stats.proportion import is_number
from rocmonitor.stats.sample import Floats, Sample


def cortes_mohri(sample: Sample, of: Moments, n_errors: int | None = None) -> Variance:
    """Variance of the AUC over all classifications of the class sizes with `n_errors` errors, see `auc`.

    InputError for `n_errors` that is no whole number within [0, n], or 0 or n, so that every ranking is
    perfect or reversed, when the sample's is neither. Cost: O(k + n_errors).
    """
    fewest = fewest_errors(sample)
    errors = fewest if n_errors is None else n_errors
    n = sample.n_pos + sample.n_neg
    if not is_number(errors) or not 0 <= errors <= n or errors != int(errors):
        raise InputError(f"n_errors must be a whole number within [0, {n}], the rows; it is {n_errors}")
    lost, variance = area_given_errors(sample.n_pos, sample.n_neg, int(errors))
    certain = {0: of.lost, n: of.auc}  # no error: an area of 1; nothing else: an area of 0
    if certain.get(int(errors), 0.0) > 0:
        raise InputError(
            f"with n_errors={n_errors} every ranking is {'reversed' if errors else 'perfect'}, and the "
            f"sample's is not: its best threshold makes {fewest} errors, which is the default"
        )
    return Variance(variance, Caveat("error-of-rankings", n_errors=int(errors), mean=1 - lost))


def fewest_errors(sample: Sample) -> int:
    """Fewest errors of all thresholds, "all" and "none" too. Rows of one score are flagged together."""
    # At "all" the errors are the negatives. Each score left out adds its positives and saves its negatives.
    gain = np.cumsum(sample.pos - sample.neg)
    return sample.n_neg + min(int(gain.min()), 0)


def area_given_errors(n_pos: int, n_neg: int, n_errors: int) -> tuple[float, float]:
    """Mean of 1 - AUC, and variance of the AUC, over all rankings and thresholds with `n_errors` errors."""
    require_room(min(n_pos, n_errors) - max(0, n_errors - n_neg) + 1)
    x = np.arange(max(0, n_errors - n_neg), min(n_pos, n_errors) + 1, dtype=np.float64)
    low_pos, high_neg = x, n_errors - x  # the errors: positives not flagged, negatives flagged
    high_pos, low_neg = n_pos - low_pos, n_neg - high_neg
    share = _shares(high_pos, high_neg, low_pos, low_neg)
    pairs_high, pairs_low = high_pos * high_neg, low_pos * low_neg
    lost = low_pos * high_neg + (pairs_high + pairs_low) / 2
    within = (pairs_high * (high_pos + high_neg + 1) + pairs_low * (low_pos + low_neg + 1)) / 12
    mean = float(np.sum(share * lost))
    variance = float(np.sum(share * (within + (lost - mean) ** 2)))
    pairs = float(n_pos) * n_neg
    return mean / pairs, variance / pairs**2


def _shares(high_pos: Floats, high_neg: Floats, low_pos: Floats, low_neg: Floats) -> Floats:
    """Shares of the binomial(high, high_neg) binomial(low, low_pos) orders, by their ratios in log space."""
    high, low = (high_pos + high_neg)[:-1], (low_pos + low_neg)[:-1]
    ratio = (high_pos * high_neg)[:-1] / (high * (high - 1)) * ((low + 1) * (low + 2))
    ratio /= ((low_pos + 1) * (low_neg + 1))[:-1]
    log = np.concatenate([[0.0], np.cumsum(np.log(ratio))])
    share = np.exp(log - log.max())
    return np.asarray(share / share.sum())
