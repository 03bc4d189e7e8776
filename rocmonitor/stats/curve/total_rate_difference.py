"""Two models at the same total positive rate: each flags the top share of all rows, by its own threshold.

In a stratified resample of n rows, model i has the r-th largest of its scores as threshold, repeats counted,
as in `rocmonitor.stats.curve.total_rate`. Both thresholds hang on the positives and on the negatives, so the
difference of the true positives is no mixture of trinomial differences as at a fixed false positive rate.
`rocmonitor.stats.curve.joint_ranks` has its law. Dugas and Gadoury (2009) close with the wish for this case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.caveat import Caveat
from rocmonitor.stats import plotting
from rocmonitor.stats.binomial import Counts, Floats, law_ends, require_room
from rocmonitor.stats.curve.joint_ranks import NetLaw, RankedPair, enumerable, net_laws
from rocmonitor.stats.curve.laws import BootstrapLaw, IntervalTable, interval_options, measured
from rocmonitor.stats.curve.roc import nearest_ranks, only_rank
from rocmonitor.stats.proportion import AGRESTI_MIN, Rng, Smoothing
from rocmonitor.stats.result import Result
from rocmonitor.stats.sample import PairedSample, on_pair

TotalRateDifferenceMethod = Literal["agresti", "wald", "exact", "empirical"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TotalRateDifference(IntervalTable):
    """Differences of two models' rates (first minus second) at given total positive rates.

    The rest is as in `IntervalTable`.

    Attributes
    ----------
    rate, shape (h,): The total positive rates r / n that were used: the nearest to those asked for.
    dtpr, dtpr_low, dtpr_high, dfpr, dfpr_low, dfpr_high, shape (h,): Means of the bootstrap laws, and ends of
        the intervals, each with the confidence level by itself.
    method: As asked for; ``agresti-approximated`` and so on where the joint law was approximated.
    """

    _points: ClassVar[str] = "Differences at {} total positive rates"

    rate: Floats
    dtpr: Floats
    dtpr_low: Floats
    dtpr_high: Floats
    dfpr: Floats
    dfpr_low: Floats
    dfpr_high: Floats

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.zero(ax)
        plotting.along(ax, self.rate, self.dtpr, self.dtpr_low, self.dtpr_high, label=label)
        plotting.along(ax, self.rate, self.dfpr, self.dfpr_low, self.dfpr_high)
        about = self._about("intervals: TPR, then FPR")
        plotting.describe(ax, x="total positive rate", y="difference, first minus second", note=about)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TotalRateDifferenceLaw(Result):
    """Bootstrap laws of the differences of the flagged counts of two models at a total positive rate.

    Attributes
    ----------
    rate: The rate r / n that was used.
    dtp, shape (2 n_pos + 1,): Probabilities of -n_pos, …, n_pos: true positives of model 1 minus those of
        model 2.
    dfp, shape (2 n_neg + 1,): Likewise of the false positives.
    method: ``exact`` or ``approximated``.
    """

    rate: float
    dtp: Floats
    dfp: Floats
    method: str
    n_pos: int
    n_neg: int

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.laws(ax, [("false positives", self.dfp), ("true positives", self.dtp)], centred=True)
        note = f"{self.method}, stratified resamples; {self.rate:g} of all rows flagged"
        plotting.describe(
            ax, x="flagged by the first less by the second", y="probability", note=note, label=label
        )


@on_pair
def total_rate_difference(
    pair: PairedSample,
    rates: ArrayLike,
    *,
    method: TotalRateDifferenceMethod = "agresti",
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> TotalRateDifference:
    """Intervals of TPR and FPR of model 1 minus those of model 2 when each flags a given share of all rows.

    Parameters
    ----------
    rates, confidence_level, n_resamples, rng: As for `total_rate_intervals`.
    method: ``agresti``: normal, with the moments of the law after adding 1/2 row of the class that only model
        1 flags, 1/2 that only model 2 flags and 1 on which they agree; ``wald``: the same, nothing added;
        ``exact``: quantiles of the law; ``empirical``: percentiles over drawn resamples.

    Returns
    -------
    ``agresti`` never gives an interval of zero length; the others do where the models never disagree.

    Notes
    -----
    Up to about 16 rows the law is exact. Beyond, means are exact and the rest is approximated: see
    `total_rate_difference_law`. Resamples are stratified.
    Cost of a rate: O(n + w sqrt(n)) with w thresholds that may be the one, and about 5 ms more; up to 16 rows
    at most 1 s.

    Examples
    --------
    >>> result = total_rate_difference([0, 0, 1, 1], [1, 3, 2, 4], [2, 1, 3, 4], [0.5], method="wald")
    >>> result.rate.tolist(), result.dtpr.round(4).tolist(), result.dfpr.round(4).tolist()
    ([0.5], [-0.25], [0.375])
    """
    ranked = RankedPair.of(pair)
    options = interval_options(
        method, get_args(TotalRateDifferenceMethod), confidence_level, n_resamples=n_resamples, rng=rng
    )
    n = pair.n_pos + pair.n_neg
    r, moved = nearest_ranks(rates, n, "rates")
    laws = dict(zip(("dtpr", "dfpr"), _laws(ranked, r), strict=True))
    if not enumerable(ranked) and method != "empirical":
        moved += (Caveat("joint-law-approximated", rows=ranked.own_1.total + ranked.other_1.total),)
    fields = measured(pair, laws, options, r / n, moved)
    if not enumerable(ranked) and method != "empirical":
        fields["method"] = f"{method}-approximated"
    return TotalRateDifference(rate=r / n, **fields)


@on_pair
def total_rate_difference_law(pair: PairedSample, rate: float) -> TotalRateDifferenceLaw:
    """Laws of the differences of true and of false positives of two models at a total positive rate.

    Parameters
    ----------
    y_true, score_1, score_2: As for `total_rate_difference`, with its errors.
    rate: Within (0, 1); the nearest r / n is used and reported.

    Notes
    -----
    Up to about 16 rows: every pair of thresholds is enumerated, with an absolute error about 1e-12; the cost
    grows as n^5. Beyond, the law is approximated. Each model's own threshold keeps its exact law, on at most
    48 thresholds; the two are tied together by a normal law with the exact correlation of the flagged counts;
    given both, the difference has the mean and the variance that normal counts would have, and means are
    moved to the exact one. Where at least 20 rows are flagged and 20 are not, deviations were off by 11 % at
    most, mostly by 2 %, and distribution functions by 0.04, mostly by 0.01; with 5 such rows by 40 % and 0.13
    (docs/coverage.md).

    Examples
    --------
    >>> law = total_rate_difference_law([0, 0, 1, 1], [1, 3, 2, 4], [2, 1, 3, 4], 0.5)
    >>> law.method, law.dtp.round(6).tolist()
    ('exact', [0.0625, 0.375, 0.5625, 0.0, 0.0])
    """
    ranked = RankedPair.of(pair)
    n = pair.n_pos + pair.n_neg
    r = only_rank(rate, n, "rate")
    require_room(2 * n + 2)
    laws = []
    for difference in _laws(ranked, r):
        m, (low, mass) = difference.ranked.own_1.total, difference.nets[0].law()
        law = np.zeros(2 * m + 1)
        law[m + low : m + low + len(mass)] = mass
        laws.append(law)
    return TotalRateDifferenceLaw(
        rate=int(r[0]) / n,
        dtp=laws[0],
        dfp=laws[1],
        method="exact" if enumerable(ranked) else "approximated",
        n_pos=pair.n_pos,
        n_neg=pair.n_neg,
    )


@dataclass(frozen=True, eq=False)
class _DifferenceLaw(BootstrapLaw):
    """The law of the difference of the flagged shares of the class `own` at the r-th largest scores."""

    ranked: RankedPair
    r: Counts
    nets: Sequence[NetLaw]
    gap: Floats  # (h,): mean of one row's share, by rank
    apart: Floats  # its mean square
    together: Floats  # covariance of two rows
    smoothing = AGRESTI_MIN
    least = -1.0

    @property
    def mean(self) -> Floats:
        return self.gap

    def moments(self, added: Smoothing) -> tuple[Floats, Floats]:
        """(apart - gap²) / m + (1 - 1/m) together for the variance, as in [DG09] eq. 24 to 27."""
        m = self.ranked.own_1.total
        rows = m + added.rows
        gap, apart = m / rows * self.gap, (m * self.apart + 2 * added.kind) / rows
        together = (m / rows) ** 2 * self.together
        return gap, np.maximum((apart - gap**2) / rows + (1 - 1 / rows) * together, 0.0)

    def quantiles(self, i: int, tail: float) -> tuple[float, float]:
        return law_ends(*self.nets[i].law(), self.ranked.own_1.total, tail)

    def drawn(self, n_resamples: int, rng: np.random.Generator) -> Floats:
        """Return values of resamples that serve all rates."""
        ranked = self.ranked
        rows = [
            rng.multinomial(counts.sum(), counts / counts.sum(), n_resamples)
            for counts in (ranked.rows, ranked.others)
        ]
        drawn = np.zeros((n_resamples, len(self.r)))
        for sign, level in ((1, ranked.level_1), (-1, ranked.level_2)):
            for line, own, other in zip(drawn, *rows, strict=True):
                above = np.cumsum(np.bincount(level, weights=own))
                both = above + np.cumsum(np.bincount(level, weights=other))
                line += sign * above[np.searchsorted(both, self.r)]
        return drawn / ranked.own_1.total


def _laws(ranked: RankedPair, r: Counts) -> tuple[_DifferenceLaw, _DifferenceLaw]:
    pairs = {rank: net_laws(ranked, rank) for rank in set(r.tolist())}
    own, other = zip(*(pairs[rank] for rank in r.tolist()), strict=True)
    laws = []
    for side, nets in ((ranked, own), (ranked.turned(), other)):
        m = side.own_1.total
        spreads = np.array([net.spread for net in nets])
        gap, apart = spreads[:, 0] / m, spreads[:, 1] / m
        alone = np.maximum(apart - gap**2, 0.0) / m
        together = (spreads[:, 2] / m**2 - alone) / (1 - 1 / m) if m > 1 else np.zeros(len(r))
        laws.append(_DifferenceLaw(side, r, nets, gap, apart, together))
    return laws[0], laws[1]
