"""Differences of two areas under ROC curves, on independent samples or on the same rows.

The difference of two AUCs on the same rows is itself a mean over (positive, negative) pairs, of
psi_1 - psi_2. So its variance follows from differences of placement values as that of one AUC does from its
own: no covariance is subtracted, and a model against itself gives exactly 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import plotting
from rocmonitor.stats.area.auc import AucResult
from rocmonitor.stats.area.clustered import METHOD, clustered_error, require_independent
from rocmonitor.stats.area.delong import (
    delong_variance,
    difference_placements,
    exact_bootstrap_variance,
    mean_over_pairs,
    placements,
)
from rocmonitor.stats.area.unseen import (
    FEW,
    NOTHING,
    VERY_FEW,
    Balance,
    Part,
    balance_of,
    error_at_0,
    fewest,
    reach_of,
    unseen_at_most,
)
from rocmonitor.stats.nouns import decimals
from rocmonitor.stats.proportion import quantile_beyond, require_level, require_method
from rocmonitor.stats.result import Interval, Result
from rocmonitor.stats.sample import Floats, PairedSample, on_pair

Alternative = Literal["two-sided", "greater", "less"]

_METHODS = ("delong", "exact-bootstrap")
LEAST_LIMIT = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class AucDifference(Result):
    """The difference of two areas under ROC curves, first minus second, and its test.

    Attributes
    ----------
    difference, se: ``auc_1 - auc_2`` and its standard error.
    statistic: ``difference / se``; 0 for models that rank alike.
    pvalue: Of the null hypothesis of equal areas against `alternative`: the smallest level at which the
        interval leaves out 0. It is that of `statistic`, or larger where few rows carry the difference.
    n_pos_1, n_neg_1, n_pos_2, n_neg_2: Class sizes, the same twice when `paired`.
    df: Degrees of freedom of Student's t; None for the normal law. Of clustered rows as in `AucResult`.
    paired: Whether both models scored the same rows.
    clusters: Of paired rows that are clustered: clusters with a positive, and with a negative.
    design_effect: Likewise: the variance over that of as many independent rows.
    inflation: As in `AucResult`: factor on `se` in intervals and p-value, for clusters of unequal size.
    balances: Of the positives and of the negatives, unpaired of the first sample and then of the second: mean
        and mean square of what speaks for a lower difference, then for a higher one, and their number (of
        clustered rows, of as many independent ones). None for a result that was made without them.
    error: As of `AucResult`: guaranteed errors of `difference` and `se`, of condensed samples.
    """

    _estimate: ClassVar[str | None] = "difference"
    _flat: ClassVar[bool] = True

    difference: float
    se: float
    statistic: float
    pvalue: float
    auc_1: float
    auc_2: float
    n_pos_1: int
    n_neg_1: int
    n_pos_2: int
    n_neg_2: int
    df: float | None
    paired: bool
    method: str
    alternative: str
    caveats: tuple[Caveat, ...] = ()
    clusters: tuple[int, int] | None = None
    design_effect: float | None = None
    inflation: float = 1.0
    balances: tuple[tuple[float, ...], ...] | None = None
    error: tuple[float, float] | None = None

    @property
    def rests_on(self) -> float | None:
        """The number of rows of one class that what speaks against the sign of `difference` rests on.

        As `AucResult.rests_on`: of few of them the sample may lack others. None without `balances`.
        """
        if self.balances is None:
            return None
        return min(balance.loss.carried_by(n) for balance, n in self._against(gain=self.difference < 0))

    def _against(self, *, gain: bool) -> list[tuple[Balance, float]]:
        """Return what moves an end outwards, with its rows; of independent samples one side at a time."""
        assert self.balances is not None
        against = []
        for *parts, n in self.balances:
            loss, gained = Part(*parts[:2]), Part(*parts[2:])
            ahead, behind = (gained, loss) if gain else (loss, gained)
            against.append((Balance(ahead, behind if self.paired else NOTHING), n))
        return against

    def cautious_se(self) -> float:
        """Return the standard error of a normal interval as long as the longer side of `ci`, at 95 %.

        It allows for few or unequal clusters and for cells, in sums over many samples, such as the variance
        of a sequence. It does not allow for rows that a sample may lack: `auc_sequence` does, once for all.
        """
        if self.se == 0 and self.error is None:
            return 0.0
        low, high = replace(self, balances=None).ci()
        reach = max(high - self.difference, self.difference - low)
        return max(reach / quantile_beyond(0.025), self.se)

    def ci(self, confidence_level: float = 0.95) -> Interval:
        """Two-sided confidence interval of the difference, within [-1, 1], whatever the alternative.

        Each end is at least as far as rows allow that a sample may lack: of paired rows, those which one
        model ranks much worse than the other (`reach_of`; docs/coverage.md).

        When `se` is 0 (then the difference is 0 too) it is the exact bound from the m disjoint pairs of the
        smallest class, none of which showed a difference: 1 - ((1 - confidence_level) / 2)**(1 / m) to each
        side.
        """
        tail = (1 - require_level(confidence_level)) / 2
        if self.error is not None:
            off, of_se = self.error
            low, high = replace(self, se=self.se + of_se, error=None, balances=None).ci(confidence_level)
            low, high = low - self._unseen(tail), high + self._unseen(tail, gain=True)
            low, high = low - off, high + off
            if self.se <= of_se:  # it may be 0, and the difference with it
                exact = replace(self, difference=0.0, se=0.0, error=None).ci(confidence_level)
                low, high = min(low, exact.low), max(high, exact.high)
            return Interval(max(low, -1.0), min(high, 1.0))
        if self.se == 0:
            smallest = min(self.clusters or (self.n_pos_1, self.n_neg_1, self.n_pos_2, self.n_neg_2))
            half = 1 - tail ** (1 / smallest)
        else:
            half = quantile_beyond(tail, self.df) * self.inflation * self.se
        low, high = self.difference - half, self.difference + half
        if self.se > 0:
            low, high = low - self._unseen(tail), high + self._unseen(tail, gain=True)
        return Interval(max(low, -1.0), min(high, 1.0))

    def _unseen(self, tail: float, *, gain: bool = False) -> float:
        if self.balances is None:
            return 0.0
        rows, sizes = zip(*self._against(gain=gain), strict=True)
        if self.error is not None:
            return unseen_at_most(rows, sizes, tail=tail, off=self.error[1])
        z = quantile_beyond(tail, self.df)
        areas = (self.auc_2, self.auc_1) if gain else (self.auc_1, self.auc_2)
        if self.paired:  # a row that one model scores like the other class loses half of this on average
            near = limit = min(max(abs(2 * areas[1] - 1), LEAST_LIMIT), 1.0)
        else:
            near, limit = max(2 * areas[0] - 1, 1 - 2 * areas[1]), 1.0
        reach = reach_of(rows, sizes, z=z, tail=tail, limit=limit)
        beyond = max(reach.bound - z * self.inflation * self.se, 0.0)
        carriers = min(balance.loss.carried_by(n) for balance, n in zip(rows, sizes, strict=True))
        whole = fading(carriers, VERY_FEW, 2 * VERY_FEW) * fading(1 - near, 0.2, 0.4)
        return max(min(reach.unseen, beyond), whole * beyond)

    def tested(self) -> AucDifference:
        """Return the difference with the p-value of its intervals, and a caveat if it rests on few rows."""
        if self.balances is None or self.se == 0:
            return self
        caveats, size = self.caveats, 2.0 if self.alternative == "two-sided" else 1.0
        if self._unseen(0.025, gain=self.difference < 0) > 0 and (self.rests_on or 0.0) < FEW:
            carriers = [balance.loss.carried_by(n) for balance, n in self._against(gain=self.difference < 0)]
            sizes = (self.n_pos_1, self.n_neg_1, self.n_pos_2, self.n_neg_2)[: len(carriers)]
            caveats += (Caveat("difference-rests-on-few", **fewest(carriers, sizes)),)
        agrees = self.alternative == "two-sided" or (self.difference > 0) == (self.alternative == "greater")
        least = max(self.pvalue / size, 1e-300)
        pvalue = self.pvalue
        if agrees and self.difference and self._beyond_zero(least) > 1e-12 * self.se:
            pvalue = size * error_at_0(self._beyond_zero, least, 0.5)
        return replace(self, caveats=caveats, pvalue=pvalue)

    def _beyond_zero(self, tail: float) -> float:
        """Return how far an interval reaches beyond 0, seen from the difference."""
        half = quantile_beyond(tail, self.df) * self.inflation * self.se
        return half + self._unseen(tail, gain=self.difference < 0) - abs(self.difference)

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.zero(ax, vertical=True)
        plotting.rows(
            ax,
            ["95 % interval"],
            [(self.difference, *self.ci())],
            x="difference of the AUROC, first minus second",
            note=f"{self.auc_1:.4f} - {self.auc_2:.4f}; {self.alternative} p = {self.pvalue:.3g}",
            label=label,
            sign="+",
        )

    def __str__(self) -> str:
        digits = f".{decimals(self.se)}f"
        return (
            f"AUC {self.auc_1:{digits}} - {self.auc_2:{digits}} = {self.difference:+{digits}}, "
            f"95 % interval {self.ci():+{digits}} "
            f"(standard error {self.se:{digits}}, {self.method}; {self.alternative} p = {self.pvalue:.2g})"
        )


def compare_auc(
    result_1: AucResult, result_2: AucResult, *, alternative: Alternative = "two-sided"
) -> AucDifference:
    """Difference of the AUCs of two independent samples.

    Parameters
    ----------
    result_1, result_2: From `auc`, on samples that share no row.
    alternative, {"two-sided", "greater", "less"}: "greater": the first area is the larger one.

    Notes
    -----
    Student's t with Satterthwaite's degrees of freedom, each variance taken to have as many as its sample has
    rows less one (where rows are clustered, its own `df`): the unpaired test of pROC ([R11]). Where few rows
    carry what speaks against the difference, interval and p-value are wider, as in `AucResult.ci`.

    Examples
    --------
    >>> from rocmonitor.stats.area.auc import auc
    >>> january = auc([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.3, 0.5, 0.7, 0.9])
    >>> february = auc([0, 0, 1, 0, 1, 1], [0.2, 0.6, 0.3, 0.4, 0.7, 0.5])
    >>> print(compare_auc(january, february))  # doctest: +NORMALIZE_WHITESPACE
    AUC 0.83 - 0.67 = +0.17, 95 % interval -0.71 to +0.92
    (standard error 0.33, delong; two-sided p = 0.82)
    """
    for name, result in (("result_1", result_1), ("result_2", result_2)):
        if not isinstance(result, AucResult):
            raise InputError(f"{name} must be an AucResult, as from auc(), not {type(result).__name__}")
    v1, v2 = ((result.inflation * result.se) ** 2 for result in (result_1, result_2))
    df = None
    if v1 + v2 > 0:
        df_1, df_2 = (result.df or result.n_pos + result.n_neg - 1 for result in (result_1, result_2))
        # In shares of the sum: the squares of small variances could underflow.
        share = v1 / (v1 + v2)
        df = 1 / (share**2 / df_1 + (1 - share) ** 2 / df_2)
    methods = dict.fromkeys((result_1.method, result_2.method))
    comparison = _difference_of(
        difference=result_1.auc - result_2.auc,
        variance=v1 + v2,
        areas=(result_1.auc, result_2.auc),
        sizes=(result_1.n_pos, result_1.n_neg, result_2.n_pos, result_2.n_neg),
        df=df,
        paired=False,
        method=", ".join(methods),
        alternative=alternative,
        caveats=(
            *(caveat.concerning("first") for caveat in result_1.caveats),
            *(caveat.concerning("second") for caveat in result_2.caveats),
        ),
    )
    if result_1.zeta is not None and result_2.zeta is not None:
        comparison = replace(
            comparison, balances=(*result_1.balances(), *result_2.balances(swapped=True))
        ).tested()
    errors = [result.error for result in (result_1, result_2) if result.error is not None]
    if not errors:
        return comparison
    of_auc, of_se = zip(*errors, strict=True)
    return replace(comparison, error=(sum(of_auc), math.hypot(*of_se)))


@on_pair
def compare_auc_paired(
    pair: PairedSample,
    /,
    *,
    method: str = "delong",
    alternative: Alternative = "two-sided",
    cluster: ArrayLike | None = None,
    pos_label: object = None,
) -> AucDifference:
    """Difference of the AUCs of two models on the same rows, first minus second.

    Parameters
    ----------
    method, {"delong", "exact-bootstrap"}: Variance of the difference: unbiased ([DDC88]), or over all
        stratified resamples of rows, exactly.
    alternative, {"two-sided", "greater", "less"}: "greater": the first area is the larger one.
    cluster, shape (n,): As for `auc`: the standard error is then that of clustered rows ([O97]).

    Raises
    ------
    InputError: Unusable data (see `PairedSample`), an unknown method or alternative.
    DegenerateDataError: A class without rows (with "delong", fewer than two); or the areas differ by the same
        amount in every row, so that the standard error is 0 and the statistic has no value.

    Notes
    -----
    Cost: the two sorts of the sample, then O(c) for c cells with "delong"; "exact-bootstrap" counts
    the pairs that both models order alike, O(c log k) for k distinct scores.

    Examples
    --------
    >>> y = [0, 0, 1, 0, 1, 1]
    >>> print(compare_auc_paired(y, [1, 3, 3, 5, 7, 9], [2, 6, 3, 4, 7, 5]))  # doctest: +NORMALIZE_WHITESPACE
    AUC 0.83 - 0.67 = +0.17, 95 % interval -0.35 to +0.66
    (standard error 0.19, delong; two-sided p = 0.65)
    """
    del cluster, pos_label  # they have become part of the sample
    require_method(method, _METHODS)
    require_independent(pair, method)
    pair.require_both_classes(at_least=2 if method == "delong" else 1)
    n_pos, n_neg = pair.n_pos, pair.n_neg
    first, second = placements(pair.first), placements(pair.second)
    below, above = difference_placements(pair, first, second)
    difference, zeta10, zeta01 = mean_over_pairs(below, above, pair.pos, pair.neg)
    if method == "delong":
        variance = delong_variance(zeta10, zeta01, n_pos, n_neg)
    else:
        # The mean square of psi_1 - psi_2. With sign = 2 psi - 1 it is the mean of (sign_1 - sign_2)**2 / 4,
        # and sign**2 is 0 on a tie, else 1.
        pairs = float(n_pos) * n_neg
        untied_1 = pairs - float(pair.first.pos @ pair.first.neg)
        untied_2 = pairs - float(pair.second.pos @ pair.second.neg)
        mean_square = (untied_1 + untied_2 - 2 * _sum_of_sign_products(pair)) / (4 * pairs)
        kernel = max(mean_square - difference**2, 0.0)
        variance = exact_bootstrap_variance(zeta10, zeta01, kernel, n_pos, n_neg)
    numbers: dict[str, Any] = {"caveats": (Caveat("single-row"),) if min(n_pos, n_neg) == 1 else ()}
    if pair.clusters is not None:

        def estimated(cells: NDArray[np.bool_]) -> tuple[float, float, float]:
            scores = pair.first.score[pair.index_1[cells]], pair.second.score[pair.index_2[cells]]
            own = compare_auc_paired(PairedSample.from_counts(*scores, pair.pos[cells], pair.neg[cells]))
            return own.difference, *own.ci()

        of_rows = below / n_neg - difference, above / n_pos - difference
        variance, numbers = clustered_error(of_rows, pair, (zeta10, zeta01), estimated)
        method = METHOD
    worth = max(numbers.get("design_effect") or 1.0, 1.0)
    of_pos, of_neg = balance_of(below / n_neg, pair.pos), balance_of(above / n_pos, pair.neg)
    numbers["balances"] = (
        (*of_pos.loss, *of_pos.gain, n_pos / worth),
        (*of_neg.loss, *of_neg.gain, n_neg / worth),
    )
    auc_1, auc_2 = (
        float(np.sum(model.pos * its_below)) / n_pos / n_neg
        for model, its_below in ((pair.first, first[0]), (pair.second, second[0]))
    )
    comparison = _difference_of(
        difference=difference,
        variance=variance,
        areas=(auc_1, auc_2),
        sizes=(n_pos, n_neg, n_pos, n_neg),
        df=numbers.pop("df", None),
        paired=True,
        method=method,
        alternative=alternative,
        caveats=numbers.pop("caveats"),
        inflation=numbers.pop("inflation", 1.0),
    )
    return replace(comparison, **numbers).tested()


def fading(value: float, whole: float, none: float) -> float:
    """Return 1 up to `whole`, 0 from `none` on, and a line between them."""
    return min(max((none - value) / (none - whole), 0.0), 1.0)


def _difference_of(
    *,
    difference: float,
    variance: float,
    areas: tuple[float, float],
    sizes: tuple[int, int, int, int],
    df: float | None,
    paired: bool,
    method: str,
    alternative: Alternative,
    caveats: tuple[Caveat, ...],
    inflation: float = 1.0,
) -> AucDifference:
    require_method(alternative, get_args(Alternative), "alternative")
    se = math.sqrt(variance)
    if se == 0 and difference != 0:
        raise DegenerateDataError(
            f"the areas differ by {difference:.6g} with a standard error of 0, so the test has no value: "
            "every row shows the same difference; more varied rows are needed"
        )
    if se == 0:
        caveats += (Caveat("no-difference-in-any-pair", pairs=min(sizes)),)
    statistic = difference / se if se > 0 else 0.0
    beyond = statistic / inflation
    lower = {"two-sided": -abs(beyond), "greater": -beyond, "less": beyond}[alternative]
    tail = float(scipy.special.ndtr(lower) if df is None else scipy.special.stdtr(df, lower))
    return AucDifference(
        difference=difference,
        se=se,
        statistic=statistic,
        pvalue=2 * tail if alternative == "two-sided" else tail,
        auc_1=areas[0],
        auc_2=areas[1],
        n_pos_1=sizes[0],
        n_neg_1=sizes[1],
        n_pos_2=sizes[2],
        n_neg_2=sizes[3],
        df=df,
        paired=paired,
        method=method,
        alternative=alternative,
        caveats=caveats,
        inflation=inflation,
    )


def _sum_of_sign_products(pair: PairedSample) -> float:
    """Sum over all (positive, negative) pairs of sign_1 sign_2: those ordered alike less those not.

    Two different ranks first differ, from the top, in one bit. So each pair that model 2 does not tie is
    met exactly once: at that bit, among the cells that share all higher bits of rank 2. Cells are kept
    in order of (higher bits of rank 2, rank 1) by a stable split at each bit.
    """
    rank_1, rank_2 = pair.index_1, pair.index_2
    if len(pair.first.score) < len(pair.second.score):
        rank_1, rank_2 = rank_2, rank_1  # the product is symmetric; fewer ranks have fewer bits
    order = np.argsort(rank_1)
    rank_1, rank_2 = rank_1[order], rank_2[order]
    pos, neg = pair.pos[order].astype(np.float64), pair.neg[order].astype(np.float64)
    total = 0.0
    for bit in reversed(range(int(rank_2.max()).bit_length())):
        high = (rank_2 >> bit & 1).astype(np.bool_)
        sums = [np.append(0.0, np.cumsum(rows * side)) for rows in (pos, neg) for side in (~high, high)]
        group = np.diff(rank_2 >> (bit + 1), prepend=-1) != 0
        level = group | (np.diff(rank_1, prepend=-1) != 0)
        # Rows of lower rank 1 in the group less those of higher: twice those before, plus those level,
        # less all of the group. What comes before the group cancels.
        total += _high_times_low(sums, level) - _high_times_low(sums, group)
        split = np.concatenate([np.flatnonzero(~high), np.flatnonzero(high)])
        rank_1, rank_2, pos, neg = rank_1[split], rank_2[split], pos[split], neg[split]
    return total


def _high_times_low(sums: list[Floats], first: NDArray[np.bool_]) -> float:
    """Sum over parts of the high rows in each times (low rows up to its start, and up to its end)."""
    bounds = np.append(np.flatnonzero(first), len(first))
    low_pos, high_pos, low_neg, high_neg = (running[bounds] for running in sums)
    return float(
        np.diff(high_pos) @ (low_neg[:-1] + low_neg[1:]) + np.diff(high_neg) @ (low_pos[:-1] + low_pos[1:])
    )
