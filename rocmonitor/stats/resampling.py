"""The alternative to every exact law: percentiles over resamples that are actually drawn.

``method="empirical"`` of the intervals, as Dugas and Gadoury (2009) compare it, and ``method="bootstrap"`` of
the AUC. The ends contain the noise of the draws.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from rocmonitor.errors import InputError
from rocmonitor.stats.binomial import Floats
from rocmonitor.stats.proportion import is_number, require_method

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


Percentiles = Literal["inverted_cdf", "averaged_inverted_cdf"]
"""Definitions 1 and 2 of sample quantiles (Hyndman and Fan 1996), by NumPy's names."""


def percentiles(
    drawn: Floats, tail: float, definition: Percentiles = "inverted_cdf"
) -> tuple[Floats, Floats]:
    """Return ends that leave `tail` of resamples, (n_resamples, …), on either side, by a definition."""
    require_method(definition, get_args(Percentiles), "percentiles")
    if definition == "averaged_inverted_cdf":
        return _averaged(np.sort(drawn, axis=0), tail)
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0, method=definition)
    return low, high


def _averaged(ordered: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return quantiles by Definition 2; NumPy's takes a `tail` that is off by rounding as another one."""
    n = len(ordered)
    place = n * tail
    whole = round(place)
    before, after = (whole, whole) if abs(place - whole) < 1e-9 * n else (int(place), int(place) + 1)
    if before == after:  # level: the value that reaches `tail`, and the next
        before, after = max(whole, 1), min(whole + 1, n)
        return (ordered[before - 1] + ordered[after - 1]) / 2, (ordered[n - before] + ordered[n - after]) / 2
    return ordered[after - 1], ordered[n - after]
