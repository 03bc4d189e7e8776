"""One threshold for both classes, the r-th largest score of all rows: what it flags of each class.

In a stratified resample of m rows of the one class and m' of the other, the rows above a score are a sum of
two binomials. In a full one m is random, and they are one binomial.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmonitor.stats.binomial import (
    LOG_NEGLIGIBLE,
    Counts,
    Floats,
    bernstein,
    binomial_range,
    binomial_window,
    log_binomial,
    log_characteristic,
    require_room,
)
from rocmonitor.stats.curve.laws import ClassSize
from rocmonitor.stats.sample import Sample

Complex = NDArray[np.complex128]

_NEAR = 0.1  # from the centre, relative: within it the series of a logarithm needs 16 terms at most
_FEW = 12.0  # rows of a resample at a score: so few may all be absent
_TOGETHER = 32  # scores
_KEPT = 2_000_000  # probabilities of each kind, in the blocks that ranks share
MANY = 200  # rows of a class expected in a resample: none of them has probability exp(-200)


class ClassCounts(NamedTuple):
    """Rows of a class at, and strictly above, each distinct score, decreasing, (k,); `m` in a resample."""

    at: Counts
    above: Counts
    total: int
    m: int


def class_rows(sample: Sample) -> tuple[ClassCounts, ClassCounts]:
    """Positives and negatives; a resample holds as many as the sample."""
    pos, neg = (
        ClassCounts(
            count[::-1].astype(np.int64), np.cumsum(count[::-1]).astype(np.int64) - count[::-1], total, total
        )
        for count, total in ((sample.pos, sample.n_pos), (sample.neg, sample.n_neg))
    )
    return pos, neg


class _Window(NamedTuple):
    """Shares of the classes above, and of the own class at, the scores that may be the threshold, (w,).

    `sure` is the own share at scores that surely are flagged; scores without own rows are left out.
    """

    sure: float
    own: Floats
    other: Floats
    at: Floats


def windows(r: Counts, own: ClassCounts, other: ClassCounts, *, full: bool = False) -> Counts:
    """For each rank the last score that is surely flagged, and the first that is not: O(k + h log k)."""
    if full:
        n = own.total + other.total
        mean, variance = _spread(n, (own.above + other.above) / n, 0, np.zeros(1))
    else:
        mean, variance = _spread(own.m, own.above / own.total, other.m, other.above / other.total)
    reach = bernstein(variance)
    flagged = np.minimum.accumulate((mean + reach)[::-1])[::-1]
    unflagged = np.maximum.accumulate(mean - reach)
    first = np.maximum(np.searchsorted(flagged, r, side="left") - 1, 0)
    return np.column_stack([first, np.searchsorted(unflagged, r, side="right")])


def _spread(m1: int, p: Floats, m2: int, q: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of Bin(m1, p) + Bin(m2, q)."""
    return m1 * p + m2 * q, m1 * p * (1 - p) + m2 * q * (1 - q)


def _inside(own: ClassCounts, other: ClassCounts, first: int, stop: int) -> _Window:
    inside = first + np.flatnonzero(own.at[first:stop])
    return _Window(
        sure=own.above[first] / own.total,
        own=own.above[inside] / own.total,
        other=other.above[inside] / other.total,
        at=own.at[inside] / own.total,
    )


def moments(r: int, own: ClassCounts, other: ClassCounts, first: int, stop: int) -> tuple[float, float]:
    """Chance that a row of a class is flagged, and that two of its rows are; stratified.

    A row is flagged when fewer than r of the other rows score above it, two rows when the lower one is.
    """
    seen = _inside(own, other, first, stop)
    m1, m2 = max(own.m - 2, 0), other.m
    lattice = _lattice(r, m1, seen.own, m2, seen.other)
    log_phi = m1 * _log_near(lattice.angle, seen.own) + m2 * _log_near(lattice.angle, seen.other)
    fewer, few = lattice.below((r - 1, r), log_phi)
    above = seen.own if own.m > 1 else 0.0 * seen.own  # a single row has no other of its class
    one = seen.sure + seen.at @ (above * fewer + (1 - above) * few)
    two = seen.sure**2 + seen.at @ (2 * above * fewer + seen.at * few)
    return float(one), float(two)


class Flagging(NamedTuple):
    """The scores from `first` up to `stop` that may be the threshold, stratified.

    `reach`, shape (stop - first,), is the chance that the threshold is at or above each; `own` and `other`
    are the chances of a row of either class to be flagged.
    """

    first: int
    stop: int
    reach: Floats
    own: float
    other: float


def flagging(r: int, own: ClassCounts, other: ClassCounts) -> Flagging:
    """Chances about one threshold for both classes, from the same characteristic functions."""
    first, stop = windows(np.array([r]), own, other)[0].tolist()
    p, q = (np.append(rows.above, rows.total)[first : stop + 1] / rows.total for rows in (own, other))
    lattice = _lattice(r, own.m, p, other.m, q)
    log_phi = (own.m - 1) * _log_near(lattice.angle, p) + (other.m - 1) * _log_near(lattice.angle, q)

    # P(S < r) of sums S with these functions and a row of p and of q more, one of q, one of p.
    turn = log_phi.imag - (lattice.low * lattice.angle)[:, np.newaxis]
    count = min(max(r - lattice.low, 0), lattice.size)
    step = np.expm1(1j * lattice.angle)
    kernel = -np.expm1(-1j * count * lattice.angle) / np.conj(-step) * step ** np.arange(3)[:, np.newaxis]
    # By the tangent of half the turn, as in `binomial.waves`.
    half = np.tan(turn / 2)
    scaled = np.exp(log_phi.real) / (1 + half * half)
    real, imag = scaled * (1 - half * half), 2 * scaled * half
    # The function of a row is 1 + p step, of two 1 + (p + q) step + p q step^2. Not @: see `_Lattice`.
    none, one, two = np.einsum("ja,aw->jw", kernel.real, real) - np.einsum("ja,aw->jw", kernel.imag, imag)
    sums = (none + (p + q) * one + p * q * two, none + q * one, none + p * one)
    few, of_own, of_other = (np.clip((count + 2 * total) / lattice.size, 0.0, 1.0) for total in sums)

    chances = [
        rows.above[first] / rows.total + float(np.sum(rows.at[first:stop] * of_rows[:-1])) / rows.total
        for rows, of_rows in ((own, of_own), (other, of_other))
    ]
    return Flagging(first, stop, 1 - few[1:], chances[0], chances[1])


def full_moments(
    r: int, own: ClassCounts, other: ClassCounts, size: ClassSize, first: int, stop: int
) -> tuple[float, float]:
    """Mean and second moment of the rate of a class under full sampling; `size` is the law of its rows.

    Few rows are expected: the mixture of the stratified moments over their number M. Many: the mixture has a
    closed form. With A, B the characteristic functions of a row of either class and rho the own share, the
    mean over M of A^M B^(n - M) is (rho A + (1 - rho) B)^n, one binomial's, and that of A^M B^(n - M) / M is
    the same times the mean of 1/M at the tilted share rho A / (rho A + (1 - rho) B).
    """
    n = own.total + other.total
    if own.total < MANY:
        mean = square = 0.0
        for m, weight in zip(size.rows.tolist(), size.weight.tolist(), strict=True):
            sized = own._replace(m=m), other._replace(m=n - m)
            one, two = moments(r, *sized, *windows(np.array([r]), *sized)[0].tolist())
            mean += weight * one
            square += weight * (one / m + (1 - 1 / m) * two)
        return mean, square
    rho, inverse = own.total / n, size.mean_inverse(0.0)
    seen = _inside(own, other, first, stop)
    share = rho * seen.own + (1 - rho) * seen.other
    lattice = _lattice(r, n, share, 0, share)
    log_one, log_all = _log_near(lattice.angle, seen.own), _log_near(lattice.angle, share)
    # Where a row's own function is small, the power of all is negligible.
    keep = log_one.real > math.log(0.5)
    log_one = np.where(keep, log_one, 0.0)
    tilted = np.asarray(rho * np.exp(np.where(keep, log_one - log_all, 0.0)), dtype=np.complex128)
    by_rows = np.log(_mean_inverse(n, tilted) / inverse)
    log_phi = np.where(keep, n * log_all - log_one, -1e3)
    (single,), (weighted,) = (lattice.below((r,), log) for log in (log_phi, log_phi + by_rows))
    chance = seen.sure + seen.at @ single
    alone = inverse * (seen.sure + seen.at @ weighted)
    log_phi = log_phi - log_one
    pairs = np.zeros_like(share)
    for sign, log in ((1.0, log_phi), (-inverse, log_phi + by_rows)):
        fewer, few = lattice.below((r - 1, r), log)
        pairs += sign * (2 * seen.own * fewer + seen.at * few)
    return float(chance), float(alone + (1 - inverse) * seen.sure**2 + seen.at @ pairs)


def _mean_inverse(n: int, share: Complex) -> Complex:
    """Mean of 1/M, M ~ Bin(n, share) without 0, by inverse factorials: those of 1/(M+1)…(M+j) are closed."""
    term = 1 / ((n + 1) * share)
    total = term
    for j in range(1, 40):
        term = term * (j / ((n + j + 1) * share))
        total = total + term
        if np.abs(term / total).max(initial=0.0) < 1e-17:
            break
    return total


class _Lattice(NamedTuple):
    """Angles at which a characteristic function is summed to tails; `size` counts from `low` on."""

    low: int
    size: int
    angle: Floats

    def below(self, bounds: tuple[int, ...], log_phi: Complex) -> list[Floats]:
        """P(S < bound) of sums S with these logarithms of characteristic functions, (angles, w): (w,)."""
        length = np.exp(log_phi.real)
        turn = log_phi.imag - (self.low * self.angle)[:, np.newaxis]
        real, imag = length * np.cos(turn), length * np.sin(turn)
        tails = []
        for bound in bounds:
            count = min(max(bound - self.low, 0), self.size)
            kernel = -np.expm1(-1j * count * self.angle) / -np.expm1(-1j * self.angle)
            # Not @: threads cost more than so small products.
            sums = np.einsum("a,aw->w", kernel.real, real) - np.einsum("a,aw->w", kernel.imag, imag)
            total = count + 2 * sums
            tails.append(np.clip(total / self.size, 0.0, 1.0))
        return tails


def _lattice(r: int, m1: int, p: Floats, m2: int, q: Floats) -> _Lattice:
    """Return the angles that matter to tails at `r`: |phi(angle)| <= exp(-variance (1 - cos angle))."""
    mean, variance = _spread(m1, p, m2, q)
    reach = bernstein(variance)
    low = max(int(np.floor((mean - reach).min(initial=r))), 0)
    high = min(int(np.ceil((mean + reach).max(initial=r))), m1 + m2)
    size = (high - low + 1) | 1
    require_room(size)
    angle = 2 * np.pi * np.arange(1, size // 2 + 1) / size
    least = float(variance.min(initial=np.inf))
    return _Lattice(low, size, angle[least * (1 - np.cos(angle)) <= LOG_NEGLIGIBLE + 3])


def _log_near(angle: Floats, p: Floats) -> Complex:
    """`log_characteristic` for shares that lie close together: a series about their centre is faster."""
    if not len(p) or not len(angle):
        return log_characteristic(angle, p)
    centre = (p.min() + p.max()) / 2
    step = np.expm1(1j * angle)
    step = step / (1 + centre * step)
    ratio = float(np.abs(step).max() * np.abs(p - centre).max())
    # (ratio^j) / j is negligible from here on, times any number of rows.
    order = np.arange(1, 2 + int((LOG_NEGLIGIBLE + 10) / -math.log(min(max(ratio, 1e-12), _NEAR))))
    if ratio >= _NEAR or len(p) < 4 * len(order):
        return log_characteristic(angle, p)
    terms = np.cumprod(np.repeat(-step[:, np.newaxis], len(order), axis=1), axis=1) / -order
    away, series = p - centre, np.zeros((len(angle), len(p)), dtype=np.complex128)
    for term in terms.T[::-1]:
        series += term[:, np.newaxis]
        series *= away
    series += log_characteristic(angle, np.array([centre]))
    return series


class Block(NamedTuple):
    """The part of the laws at neighbouring scores that all ranks share; few rows of a resample have each.

    `mass` are the laws of the rows of the class above each score, (w, counts) from `low` on, and `none` the
    chances that none of the rest is at it; `reached` are the laws of the other class, summed, from `least`
    on.
    """

    at: NDArray[np.intp]
    low: int
    mass: Floats
    none: Floats
    least: int
    reached: Floats


def stratified_law(
    r: int, own: ClassCounts, other: ClassCounts, kept: dict[int, Block] | None = None
) -> Floats:
    """Law of the flagged rows of a class, shape (m + 1,), stratified.

    Going down the distinct scores s_k, let B_k rows of the class and F_k of the other score above s_k, and
    h_k(b) = P(B_k = b) P(F_k < r - b), the law of B_k where s_k still is flagged. Passing s_k, b grows by
    Bin(m - b, c_k / (rows not above)), c_k the rows of the class at s_k. The law is the sum over k of what
    that moves: h_k after the step less h_k.

    `kept`, at first empty, spares the ranks that follow what they share with this one.
    """
    require_room(own.m + 1)
    kept = {} if kept is None else kept
    first, stop = windows(np.array([r]), own, other)[0].tolist()
    law = np.zeros(own.m + 1)
    low, mass = binomial_window(own.m, own.above[first] / own.total)
    law[low : low + len(mass)] = mass
    at = first + np.flatnonzero(own.at[first:stop])
    few = _are_few(own, at)
    if few.any():
        _pass_few(law, r, own, other, at[few], kept)
    for k in at[~few]:
        low, mass = binomial_window(own.m, own.above[k] / own.total)
        least, of_other = binomial_window(other.m, other.above[k] / other.total)
        reached = np.concatenate([[0.0], np.cumsum(of_other)])
        room = r - np.arange(low, low + len(mass))
        held = mass * reached[np.clip(room - least, 0, len(of_other))]
        law[low : low + len(mass)] -= held
        _pass(law, low, held, own.at[k] / (own.total - own.above[k]))
    return np.maximum(law, 0.0)


def _are_few(own: ClassCounts, at: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return True where few rows of a resample are at a score: their number is counted from 0 on."""
    return np.asarray(
        (own.m * own.at[at] <= _FEW * own.total) & (own.at[at] <= 0.5 * (own.total - own.above[at]))
    )


def _pass_few(
    law: Floats, r: int, own: ClassCounts, other: ClassCounts, at: NDArray[np.intp], kept: dict[int, Block]
) -> None:
    """Do the steps of `stratified_law` at scores that few rows of a resample have.

    A count b grows by j with probability C(rest, j) share^j (1 - share)^(rest - j). Only the number of ways
    depends on b and j alone, and it is multiplied in last: the sum over scores is a product of two matrices.
    """
    share = own.at[at] / (own.total - own.above[at])
    odds = share / (1 - share)
    largest = float(odds.max())
    low = binomial_range(own.m, own.above[at[0]] / own.total)[0]
    high = binomial_range(own.m, own.above[at[-1]] / own.total)[1]
    rest = own.m - np.arange(low, high + 1)
    most = float(rest[0] * share.max())
    j = np.arange(min(math.ceil(most + bernstein(most)), int(rest[0])) + 1)
    require_room(len(j) * len(rest))
    grown = np.zeros((len(j), len(rest)))
    powers = (odds / largest)[:, np.newaxis] ** j
    for number in np.unique(at // _TOGETHER).tolist():
        if number not in kept:
            if sum(block.mass.size for block in kept.values()) > _KEPT:
                kept.clear()
            kept[number] = _block(own, other, number * _TOGETHER)
        block = kept[number]
        lines = slice(*np.searchsorted(block.at, [at[0], at[-1] + 1]))
        first = max(block.low, low)
        counts = slice(first - block.low, high + 1 - block.low)
        # The laws of the rows above some scores where these still are flagged: fewer of the other class than
        # the first count leaves room for are above.
        held, reached = block.mass[lines, counts], block.reached[lines]
        place = r - first - 1 - block.least - np.arange(held.shape[1])
        held = held * np.where(place >= 0, reached[:, np.clip(place, 0, reached.shape[1] - 1)], 0.0)
        law[first : first + held.shape[1]] -= held.sum(axis=0)
        held *= block.none[lines, counts]
        # Not @: threads cost more than so small products.
        sums = np.einsum("wb,wj->jb", held, powers[np.searchsorted(at, block.at[lines])])
        grown[:, first - low : first - low + held.shape[1]] += sums
    ways = np.ones(len(rest))
    for count, line in zip(j.tolist(), grown, strict=True):
        end = min(low + count + len(rest), len(law))
        law[low + count : end] += (line * ways)[: end - low - count]
        ways *= np.maximum(rest - count, 0) * (largest / (count + 1))


def _block(own: ClassCounts, other: ClassCounts, start: int) -> Block:
    at = start + np.flatnonzero(own.at[start : start + _TOGETHER])
    at = at[_are_few(own, at)]
    low, mass = _binomials(own.m, own.above[at] / own.total)
    least, reached = _binomials(other.m, other.above[at] / other.total)
    share = (own.at[at] / (own.total - own.above[at]))[:, np.newaxis]
    none = np.exp((own.m - low - np.arange(mass.shape[1])) * np.log1p(-share))
    return Block(at, low, mass, none, least, np.cumsum(reached, axis=1))


def _binomials(m: int, p: Floats) -> tuple[int, Floats]:
    """Return the laws Bin(m, p) of several p: the first count, and probabilities, shape (w, counts)."""
    ends = [binomial_range(m, float(chance)) for chance in (p.min(), p.max())]
    low, high = ends[0][0], ends[1][1]
    require_room(len(p) * (high - low + 1))
    return low, np.exp(log_binomial(m, np.arange(low, high + 1), p[:, np.newaxis]))


def _pass(law: Floats, low: int, held: Floats, share: float) -> None:
    """Add to `law` the mass `held` of the counts from `low` on, each grown by Bin(the rest, share).

    The rarer kind is counted, those that are added or those that stay behind: its laws for different counts
    lie so close together that none of them is lost by starting all at one number.
    """
    n = len(law) - 1
    rest = n - np.arange(low, low + len(held))
    staying = share > 0.5
    p = 1 - share if staying else share
    least, most = rest[-1] * p, rest[0] * p
    reach = bernstein(most * (1 - p))
    start, last = max(int(least - reach), 0), min(math.ceil(most + reach), int(rest[0]))
    grown = held * np.exp(log_binomial(rest, np.minimum(start, rest), np.asarray(p)))
    for j in range(start, last + 1):
        if staying:
            law[n - j] += grown.sum()
        else:
            inside = min(len(held), n + 1 - low - j)
            law[low + j : low + j + inside] += grown[:inside]
        grown = grown * (np.maximum(rest - j, 0) * (p / (1 - p) / (j + 1)))
