"""The alternative to every exact law: percentiles over resamples that are actually drawn.

``method="empirical"`` of the intervals, as Dugas and Gadoury (2009) compare it, and ``method="bootstrap"`` of
the AUC. The ends contain the noise of the draws.
"""

from __future__ import annotations

import numpy as np

from rocmonitor.errors import InputError
from rocmonitor.stats.binomial import Floats
from rocmonitor.stats.proportion import is_number

Rng = np.random.Generator | np.random.SeedSequence | int
"""The arguments of `numpy.random.default_rng`, except None: a result must be repeatable."""


def generator(
    rng: Rng | None, n_resamples: int, *, method: str = "empirical", at_least: int = 1
) -> np.random.Generator:
    """Return the generator of a method that draws; refuses a missing `rng` and too few resamples."""
    if rng is None:
        raise InputError(
            f"method {method!r} draws resamples and needs rng: a seed, such as rng=1, or a numpy Generator"
        )
    if not is_number(n_resamples) or not at_least <= n_resamples < np.inf or n_resamples != int(n_resamples):
        raise InputError(f"n_resamples must be a whole number of at least {at_least}, not {n_resamples!r}")
    seeds = (np.random.Generator, np.random.SeedSequence, int, np.integer)
    if isinstance(rng, bool) or not isinstance(rng, seeds) or (isinstance(rng, int) and rng < 0):
        raise InputError(f"rng must be a seed (a whole number >= 0) or a numpy Generator, not {rng!r}")
    return np.random.default_rng(rng)


def percentiles(drawn: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return ends that leave `tail` of the resamples, shape (n_resamples, …), on either side: observed
    values.
    """
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0, method="inverted_cdf")
    return low, high
