"""Intervals of a proportion, arguments that all intervals share, and resamples that are actually drawn.

A rate of the ROC curve at a fixed threshold is a proportion within one class, and its count in a stratified
resample is binomial. [DG09] is Dugas and Gadoury (2009), see `proportion_ends`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import scipy
from numpy.typing import NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats.binomial import LEVEL_ROUNDING, Floats

ProportionMethod = Literal["agresti-coull", "wald", "wilson", "clopper-pearson", "jeffreys", "exact"]


class Smoothing(NamedTuple):
    """Rows that are added to a class before the moments of a rate are taken, [DG09] eq. 1.

    `rows` in all, `kind` of each kind that is counted: flagged and not; or flagged by the first model only,
    and by the second only.
    """

    kind: float
    rows: float

    def share(self, count: NDArray[Any], n: float) -> Floats:
        """Return the share of `count` rows of one kind in `n`, with the added rows."""
        return np.asarray((count + self.kind) / (n + self.rows))


NOT_SMOOTHED = Smoothing(0.0, 0.0)
AGRESTI_COULL = Smoothing(2.0, 4.0)  # for one model: 2 flagged rows and 2 others
AGRESTI_MIN = Smoothing(0.5, 2.0)
"""For two models: 1/2 row that only the first flags, 1/2 that only the second does, 1 on which they agree."""

AGRESTI_CAFFO = Smoothing(1.0, 2.0)  # for two samples of different rows: 1 flagged row and 1 other in each


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Intervals:
    """Intervals of several proportions, or of differences of two, within [0, 1] or [-1, 1], shape (h,).

    `clipped` says where the method's own end lay outside.
    """

    low: Floats
    high: Floats
    clipped: NDArray[np.bool_]


def proportion_ends(count: NDArray[Any], n: int, m: int, method: str, tail: float) -> tuple[Floats, Floats]:
    """Return ends of two-sided intervals of a proportion, not clipped; each leaves `tail` on its side.

    count, shape (h,): Whole numbers in [0, n].
    n: Trials, at least 1.
    m: Size of a resample. ``agresti-coull``, ``wald`` and ``exact`` describe the rate in a resample of that
        size ([DG09] alg. 1); the others do not support another size than `n`.
    method: ``agresti-coull``: normal, after adding 2 successes and 2 failures ([DG09] eq. 1); ``wald``:
        normal, nothing added; ``wilson``: inverted score test; ``clopper-pearson``: inverted binomial test;
        ``jeffreys``: equal tails of the posterior under Beta(1/2, 1/2), with end 0 when nothing was seen and
        1 when everything was [BCD01]; ``exact``: quantiles of the exact bootstrap law Bin(m, count/n) / m.
    tail: Within (0, 1/2)

    ``wald`` and ``exact`` have zero length where nothing or everything was seen; the others never do.
    Cost: O(h), and O(h log m) for ``exact``. At levels below about 0.84 the interval of ``agresti-coull``
    need not contain an observed rate of 0 or 1.
    """
    if method == "exact":
        # The smallest counts whose distribution function reaches `tail` and 1 - `tail`, by bisection.
        p, ends = count / n, []
        for level in (tail, 1 - tail):
            below, reached = np.full(len(p), -1), np.full(len(p), m)
            while (apart := reached - below > 1).any():
                middle = (below + reached) // 2
                hit = scipy.special.betaincc(middle + 1, m - middle, p) >= level - LEVEL_ROUNDING
                reached = np.where(apart & hit, middle, reached)
                below = np.where(apart & ~hit, middle, below)
            ends.append(reached / m)
        return ends[0], ends[1]
    if method in ("agresti-coull", "wald"):
        added = AGRESTI_COULL if method == "agresti-coull" else NOT_SMOOTHED
        p = added.share(count, n)
        half = quantile_beyond(tail) * np.sqrt(p * (1 - p) / (m + added.rows))
        return p - half, p + half
    if m != n:
        raise InputError(
            f"method {method!r} does not support resamples of {m} rows, only of the class size, {n}; use "
            "agresti-coull, wald or exact"
        )
    if method == "clopper-pearson":
        low = scipy.special.betaincinv(np.maximum(count, 1), n - count + 1, tail)
        high = scipy.special.betainccinv(count + 1, np.maximum(n - count, 1), tail)
    elif method == "jeffreys":
        low = scipy.special.betaincinv(count + 0.5, n - count + 0.5, tail)
        high = scipy.special.betainccinv(count + 0.5, n - count + 0.5, tail)
    else:
        z = quantile_beyond(tail)
        p, z2 = count / n, z * z / n
        half = z * np.sqrt(p * (1 - p) / n + z2 / (4 * n))
        low, high = (p + z2 / 2 - half) / (1 + z2), (p + z2 / 2 + half) / (1 + z2)
    # There Wilson's formula is 0 or 1 but for rounding.
    return np.where(count == 0, 0.0, low), np.where(count == n, 1.0, high)


def clipped_intervals(low: Floats, high: Floats, *, least: float = 0.0) -> Intervals:
    """Cut intervals to [least, 1] and say which ones were cut."""
    return Intervals(
        low=np.clip(low, least, 1.0), high=np.clip(high, least, 1.0), clipped=(low < least) | (high > 1.0)
    )


def interval_caveats(
    rate: str,
    estimate: Floats,
    intervals: Intervals,
    *,
    within: str = "[0, 1]",
    at: NDArray[Any] | None = None,
) -> tuple[Caveat, ...]:
    """Intervals that were clipped, have no length (`zero-length`) or miss their estimate (`off-estimate`).

    Values: `rate`, `count` of `total` intervals, and `at`, the points they belong to, if these are given.
    """
    low, high = intervals.low, intervals.high
    affected = {
        "clipped": intervals.clipped,
        "zero-length": low == high,
        "off-estimate": (estimate < low) | (estimate > high),
    }
    return tuple(
        Caveat(
            code,
            rate=rate,
            count=np.count_nonzero(where),
            total=len(where),
            **({"within": within} if code == "clipped" else {}),
            **({} if at is None else {"at": plain_points(at[where])}),
        )
        for code, where in affected.items()
        if where.any()
    )


def plain_points(values: NDArray[Any]) -> list[Any]:
    """Points as the values of a caveat: JSON has no infinity, so it becomes ``"inf"`` or ``"-inf"``."""
    if values.ndim > 1:
        return [plain_points(row) for row in values]
    return [value if np.isfinite(value) else str(value) for value in values.tolist()]


def normal_density(z: float) -> float:
    """Return the standard normal density."""
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def resample_size(m: int | None, n: int, name: str) -> int:
    """Return the resample size `m`, or the class size `n` when none is given."""
    return n if m is None else whole_number(m, name)


def resample_sizes(m_pos: int | None, n_pos: int, m_neg: int | None, n_neg: int) -> tuple[int, int]:
    """Return the positives and negatives of a resample: as given, or else of the sample."""
    return resample_size(m_pos, n_pos, "m_pos"), resample_size(m_neg, n_neg, "m_neg")


def resample_caveats(m_pos: int, n_pos: int, m_neg: int, n_neg: int) -> tuple[Caveat, ...]:
    """`resample-sizes`, when resamples are not as large as the classes."""
    same = (m_pos, m_neg) == (n_pos, n_neg)
    return () if same else (Caveat("resample-sizes", m_pos=m_pos, m_neg=m_neg),)


def require_level(confidence_level: float) -> float:
    """Refuse a confidence level outside (0, 1)."""
    if not is_number(confidence_level) or not 0 < confidence_level < 1:
        raise InputError(
            f"confidence_level must lie within (0, 1), for example 0.95; it is {confidence_level!r}"
        )
    return float(confidence_level)


def quantile_beyond(tail: float, df: float | None = None) -> float:
    """Return the quantile that Student's t exceeds with this probability; df None: the normal law."""
    return -float(scipy.special.ndtri(tail) if df is None else scipy.special.stdtrit(df, tail))


def is_number(value: object) -> bool:
    """Return True if a value is one real number, of Python or NumPy; True and False are not numbers here."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def whole_number(value: float, name: str, least: int = 1, most: int = 2**53) -> int:
    """Return a whole number within [least, most] as int; refuse all else."""
    if not is_number(value) or not least <= value <= most or value != int(value):
        ends = f"of at least {least}" if most == 2**53 else f"from {least} to {most:,}"
        raise InputError(f"{name} must be a whole number {ends}, not {value!r}")
    return int(value)


def require_method(method: str, offered: tuple[str, ...], name: str = "method") -> None:
    """Refuse a method that is not offered."""
    if method not in offered:
        raise InputError(f"{name} must be one of {', '.join(offered)}; it is {method!r}")


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
    whole_number(n_resamples, "n_resamples", at_least)
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
    if definition == "inverted_cdf":
        low, high = np.quantile(drawn, [tail, 1 - tail], axis=0, method=definition)
        return low, high
    # NumPy takes a `tail` that is off by rounding as another one.
    ordered, n = np.sort(drawn, axis=0), len(drawn)
    place = n * tail
    whole = round(place)
    if abs(place - whole) < 1e-9 * n:  # level: the value that reaches `tail`, and the next
        before, after = max(whole, 1), min(whole + 1, n)
        return (ordered[before - 1] + ordered[after - 1]) / 2, (ordered[n - before] + ordered[n - after]) / 2
    return ordered[int(place)], ordered[n - int(place) - 1]
