"""Two models at pairs of thresholds: intervals of the differences of their rates, and which one dominates.

Within a class and a resample, (rows that only model 1 flags) - (rows that only model 2 flags) is a trinomial
difference, and the classes are independent: given their sizes, when those are random. [DG09] is Dugas and
Gadoury (2009), section 3.2 and appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rocmonitor.stats import plotting
from rocmonitor.stats.binomial import Counts, Floats, binomial_window, trinomial_difference
from rocmonitor.stats.curve.laws import (
    BootstrapLaw,
    ClassSize,
    IntervalTable,
    Sampling,
    both_class_sizes,
    interval_options,
    measured,
    sampled_sizes,
)
from rocmonitor.stats.curve.roc import disagreements, threshold_pairs
from rocmonitor.stats.nouns import classes
from rocmonitor.stats.proportion import (
    AGRESTI_MIN,
    Rng,
    Smoothing,
    require_method,
    resample_caveats,
    resample_sizes,
)
from rocmonitor.stats.result import Table
from rocmonitor.stats.sample import PairedSample, on_pair

DifferenceMethod = Literal["agresti-min", "wald", "exact", "empirical"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThresholdDifference(IntervalTable):
    """Differences of the rates of two models (first minus second) at pairs of thresholds.

    As `ThresholdIntervals`, with `threshold_1` and `threshold_2` of the two models, and `dtpr` and `dfpr`,
    each with its ends, in place of the rates.
    """

    _points: ClassVar[str] = "Differences at {} pairs of thresholds"

    threshold_1: Floats
    threshold_2: Floats
    dtpr: Floats
    dtpr_low: Floats
    dtpr_high: Floats
    dfpr: Floats
    dfpr_low: Floats
    dfpr_high: Floats
    joint: bool

    @property
    def pairs(self) -> Floats:
        """The pairs of thresholds, shape (h, 2)."""
        return np.column_stack([self.threshold_1, self.threshold_2])

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.zero(ax)
        plotting.zero(ax, vertical=True)
        plotting.crosses(
            ax,
            (self.dfpr, self.dfpr_low, self.dfpr_high),
            (self.dtpr, self.dtpr_low, self.dtpr_high),
            names=[f"{plotting.named(t1)} | {plotting.named(t2)}" for t1, t2 in self.pairs],
            boxes=self.joint,
            label=label,
        )
        plotting.describe(
            ax,
            x="FPR difference, first minus second",
            y="TPR difference, first minus second",
            note=self._about(),
        )


@on_pair
def threshold_difference(
    pair: PairedSample,
    pairs: ArrayLike,
    *,
    method: DifferenceMethod = "agresti-min",
    confidence_level: float = 0.95,
    joint: bool = True,
    sampling: Sampling = "stratified",
    m_pos: int | None = None,
    m_neg: int | None = None,
    n_resamples: int = 999,
    rng: Rng | None = None,
) -> ThresholdDifference:
    """Intervals of TPR and FPR of model 1 minus those of model 2 at pairs of thresholds ([DG09] alg. 3).

    Parameters
    ----------
    pairs, shape (h, 2): Thresholds (t1, t2) of model 1 and model 2; may be infinite.
    method: ``agresti-min``: normal, after adding 1/2 row that only model 1 flags, 1/2 that only model 2 flags
        and 1 on which they agree; ``wald``: normal, nothing added; ``exact``: quantiles of the exact
        bootstrap law; ``empirical``: percentiles over drawn resamples.
    confidence_level, joint, sampling, m_pos, m_neg, n_resamples, rng: As for `threshold_intervals`.

    Returns
    -------
    ``agresti-min`` never gives an interval of zero length; ``wald`` and ``exact`` do where the models never
    disagree, or always to the same side. Cost: O(c + h log c) for c cells; ``exact`` O(h sqrt(m) log m) more.

    Examples
    --------
    >>> result = threshold_difference([0, 1, 1], [0.2, 0.9, 0.8], [0.6, 0.4, 0.7], [(0.5, 0.5)])
    >>> result.dtpr.tolist(), result.dfpr.tolist()
    ([0.5], [-1.0])
    """
    pair.require_both_classes()
    pair.require_distinct_scores()
    at = threshold_pairs(pairs)
    options = interval_options(
        method, get_args(DifferenceMethod), confidence_level, joint=joint, n_resamples=n_resamples, rng=rng
    )
    m_pos, m_neg = resample_sizes(m_pos, pair.n_pos, m_neg, pair.n_neg)
    rows_pos, rows_neg = sampled_sizes(sampling, m_pos, m_neg, pair.n_pos, pair.n_neg)
    pos_1, pos_2, neg_1, neg_2 = disagreements(pair, at)
    laws = {
        "dtpr": _Difference(pos_1, pos_2, pair.n_pos, rows_pos),
        "dfpr": _Difference(neg_1, neg_2, pair.n_neg, rows_neg),
    }
    at_1, at_2 = at.T.copy()
    fields = measured(pair, laws, options, at, resample_caveats(m_pos, pair.n_pos, m_neg, pair.n_neg))
    return ThresholdDifference(threshold_1=at_1, threshold_2=at_2, joint=joint, **fields)


@dataclass(frozen=True, eq=False)
class _Difference(BootstrapLaw):
    """The law of a class of `n` rows: `only_1` flagged by model 1 only and `only_2` by model 2 only."""

    only_1: Counts
    only_2: Counts
    n: int
    size: ClassSize
    smoothing = AGRESTI_MIN
    least = -1.0

    @property
    def mean(self) -> Floats:
        return np.asarray((self.only_1 - self.only_2) / self.n)

    def moments(self, added: Smoothing) -> tuple[Floats, Floats]:
        p1, p2 = added.share(self.only_1, self.n), added.share(self.only_2, self.n)
        return p1 - p2, np.maximum(p1 + p2 - (p1 - p2) ** 2, 0.0) * self.size.mean_inverse(added.rows)

    def quantiles(self, i: int, tail: float) -> tuple[float, float]:
        a, b = int(self.only_1[i]) / self.n, int(self.only_2[i]) / self.n
        return self.size.rate_quantiles(partial(trinomial_difference, a=a, b=b), tail)

    def drawn(self, n_resamples: int, rng: np.random.Generator) -> Floats:
        rows = self.size.drawn((n_resamples, len(self.only_1)), rng)
        agreeing = self.n - self.only_1 - self.only_2
        drawn = rng.multinomial(rows, np.column_stack([self.only_1, self.only_2, agreeing]) / self.n)
        return np.asarray((drawn[..., 0] - drawn[..., 1]) / rows)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThresholdDominance(Table):
    """Probabilities of the five outcomes of comparing two models at pairs of thresholds.

    Attributes
    ----------
    threshold_1, threshold_2, shape (h,): Thresholds of the first and of the second model.
    first, second, both_higher, both_lower, tie, shape (h,): Probabilities, adding up to 1; defined in
        `threshold_dominance`.
    """

    threshold_1: Floats
    threshold_2: Floats
    first: Floats
    second: Floats
    both_higher: Floats
    both_lower: Floats
    tie: Floats
    n_pos: int
    n_neg: int

    @property
    def pairs(self) -> Floats:
        """The pairs of thresholds, shape (h, 2)."""
        return np.column_stack([self.threshold_1, self.threshold_2])

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        names = [f"{plotting.named(t1)} | {plotting.named(t2)}" for t1, t2 in self.pairs]
        parts = [
            ("first better", self.first, plotting.BLUE),
            ("both rates higher", self.both_higher, "#9A9A9A"),
            ("tie", self.tie, "#EDEDED"),
            ("both rates lower", self.both_lower, "#C4C4C4"),
            ("second better", self.second, plotting.PURPLE),
        ]
        plotting.stacks(ax, names, parts)
        note = f"{classes(self.n_pos, self.n_neg)}"
        plotting.describe(ax, x="probability in bootstrap resamples", y="thresholds", note=note, label=label)

    def __str__(self) -> str:
        return f"Dominance at {len(self.first)} pairs of thresholds, {classes(self.n_pos, self.n_neg)}"


@on_pair
def threshold_dominance(
    pair: PairedSample,
    pairs: ArrayLike,
    *,
    sampling: Sampling = "stratified",
    m_pos: int | None = None,
    m_neg: int | None = None,
) -> ThresholdDominance:
    """Probability that one model dominates the other at pairs of thresholds ([DG09] eq. 2, alg. 2).

    With dTP = TPR of model 1 minus TPR of model 2 in a bootstrap resample, and dFP likewise:

    ===========  =======================================================================
    first        dTP >= 0 and dFP <= 0, not both zero: model 1 dominates (the paper's f1)
    second       dTP <= 0 and dFP >= 0, not both zero: model 2 dominates (the paper's f2)
    both_higher  dTP > 0 and dFP > 0: undecided, model 1 flags more of either class
    both_lower   dTP < 0 and dFP < 0: undecided, model 1 flags less of either class
    tie          dTP = 0 and dFP = 0: the same ROC point
    ===========  =======================================================================

    Parameters
    ----------
    y_true, score_1, score_2, pairs, sampling, m_pos, m_neg: As for `threshold_difference`, with its errors;
        resamples without a class do not count.

    Notes
    -----
    As a test this is weak (docs/coverage.md): use it to describe, not to decide.

    Exact. Given the number k of rows of a class that the models disagree on, k ~ Bin(m, q), those that only
    model 1 flags are Bin(k, p): only O(sqrt(m)) values of k carry mass. Cost: O(c + h (log c + sqrt(m))) for
    c cells. Under ``full`` O(sqrt(m)) class sizes matter, at O(h) each by a recursion in the size.

    Examples
    --------
    >>> result = threshold_dominance([0, 1], [0.2, 0.9], [0.6, 0.4], [(0.5, 0.5)])
    >>> result.first.tolist(), result.tie.tolist()
    ([1.0], [0.0])
    """
    pair.require_both_classes()
    pair.require_distinct_scores()
    at = threshold_pairs(pairs)
    require_method(sampling, get_args(Sampling), "sampling")
    pos_1, pos_2, neg_1, neg_2 = disagreements(pair, at)
    n_pos, n_neg = pair.n_pos, pair.n_neg
    m_pos, m_neg = resample_sizes(m_pos, n_pos, m_neg, n_neg)
    if sampling == "full":
        of_pos, of_neg = both_class_sizes(m_pos, m_neg, n_pos / (n_pos + n_neg))
        in_pos = _signs_by_size(pos_1, pos_2, n_pos, of_pos.rows)
        in_neg = _signs_by_size(neg_1, neg_2, n_neg, of_neg.rows[::-1])[:, ::-1]
        chances = np.einsum("w,iwh,jwh->ijh", of_pos.weight, in_pos, in_neg)
    else:
        in_pos = _signs(pos_1, pos_2, n_pos, m_pos)
        in_neg = _signs(neg_1, neg_2, n_neg, m_neg)
        chances = np.einsum("ih,jh->ijh", in_pos, in_neg)
    # Signs are in the order less, equal, more: chances[2, 0] is P(dTP > 0, dFP < 0).
    at_1, at_2 = at.T.copy()
    return ThresholdDominance(
        threshold_1=at_1,
        threshold_2=at_2,
        first=chances[2, 0] + chances[2, 1] + chances[1, 0],
        second=chances[0, 2] + chances[0, 1] + chances[1, 2],
        both_higher=chances[2, 2].copy(),
        both_lower=chances[0, 0].copy(),
        tie=chances[1, 1].copy(),
        n_pos=n_pos,
        n_neg=n_neg,
    )


def _signs(only_1: Counts, only_2: Counts, n: int, m: int) -> Floats:
    """P(D < 0), P(D = 0), P(D > 0) of trinomial differences in `m` draws out of `n`, shape (3, h).

    Given the number k of disagreements, D is a walk of k steps +1 (probability p) or -1. With e_j =
    P(D = 0 | 2j) and A_j = P(D > 0 | 2j - 1), one more pair of steps gives e_(j+1) = e_j 4 p (1-p)
    (2j+1) / (2j+2) and A_(j+1) = A_j + (p - 1/2) e_j, A_0 = 1/2; and P(D > 0 | 2j) = A_j - e_j / 2.
    """
    rows = []
    for a, b in zip(only_1.tolist(), only_2.tolist(), strict=True):
        disagree = a + b
        if disagree == 0:
            rows.append((0.0, 1.0, 0.0))
            continue
        low, mass = binomial_window(m, disagree / n)
        p = a / disagree
        j = np.arange(low // 2, (low + len(mass)) // 2 + 1)
        # e_j and A_j at consecutive j, from their values at the first.
        first = int(j[0])
        begin = float(scipy.special.betainc(first, first, p)) if first else 0.5
        # P(X >= j) of 2j - 1 trials less P(X > j) of 2j trials is half of P(X = j of 2j).
        even_begin = 2 * max(begin - float(scipy.special.betainc(first + 1, first, p)), 0.0) if first else 1.0
        steps = 4 * p * (1 - p) * (2 * j[:-1] + 1) / (2 * j[:-1] + 2)
        at_zero = even_begin * np.concatenate([[1.0], np.cumprod(steps)])
        above = begin + (p - 0.5) * np.concatenate([[0.0], np.cumsum(at_zero[:-1])])
        k = np.arange(low, low + len(mass))
        even = k % 2 == 0
        equal = float(mass[even] @ at_zero[k[even] // 2 - j[0]])
        reach = min(float(mass @ above[(k + 1) // 2 - j[0]]), 1.0)
        rows.append((max(1.0 - reach - equal / 2, 0.0), equal, max(reach - equal / 2, 0.0)))
    return np.array(rows, dtype=np.float64).T


def _signs_by_size(only_1: Counts, only_2: Counts, n: int, sizes: Counts) -> Floats:
    """`_signs` for each of some consecutive resample sizes of at least 1, shape (3, w, h).

    With shares a, b of the two kinds and c = 1 - a - b, u_m = P(D = 0) of m draws is the constant term of
    (c + a z + b / z)^m, a scaled Legendre polynomial: m u_m = (2m - 1) c u_(m-1) - (m - 1)(c² - 4ab) u_(m-2).
    One more draw adds (a - b) u_m / 2 to P(D > 0) + u_m / 2. Stable: u is the dominant solution.
    """
    a, b = only_1 / n, only_2 / n
    c = (n - only_1 - only_2) / n
    contrast = c**2 - 4 * a * b
    start = _signs(only_1, only_2, n, int(sizes[0]))
    equal = np.empty((len(sizes), len(a)))
    equal[0] = start[1]
    if len(sizes) > 1:
        equal[1] = _signs(only_1, only_2, n, int(sizes[1]))[1]
    for line, m in enumerate(sizes[2:].tolist(), start=2):
        equal[line] = (2 - 1 / m) * c * equal[line - 1] - (1 - 1 / m) * contrast * equal[line - 2]
    above = np.cumsum(np.vstack([start[2] + start[1] / 2, (a - b) / 2 * equal[:-1]]), axis=0)
    more = np.maximum(above - equal / 2, 0.0)
    return np.array([np.maximum(1 - above - equal / 2, 0.0), equal, more])
