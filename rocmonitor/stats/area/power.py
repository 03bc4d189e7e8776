"""Power and sample size of tests of the AUC: one against a value, a window against a reference, two models.

The variance of an empirical AUC is zeta10 / n_pos + zeta01 / n_neg, with the variances of the placement
values of a positive and of a negative. A pilot sample gives the two, or a model of the scores without one
(`AucSpread`, `PairedSpread`). A test rejects when the end of its interval lies beyond the value it is tested
against; its power follows from the spread at the sizes in question, estimates taken as normal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self, TypedDict, Unpack

import numpy as np
import scipy

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.auc import AucResult
from rocmonitor.stats.area.delong import difference_placements, mean_over_pairs, placements
from rocmonitor.stats.area.variances import normal_zeta
from rocmonitor.stats.nouns import classes
from rocmonitor.stats.proportion import is_number, quantile_beyond, require_level, require_method
from rocmonitor.stats.result import Result
from rocmonitor.stats.sample import PairedSample, Sample

# As printed in Obuchowski's eq. 3: 1 / (32 pi) and the square root of 2.
_PRINTED_FACTOR, _PRINTED_ROOT = 0.0099, 1.414


@dataclass(frozen=True, slots=True, kw_only=True)
class AucSpread(Result):
    """The scatter of one AUC, per positive and per negative.

    Left out is the term (kernel - zeta10 - zeta01) / (n_pos n_neg) of [H48] eq. 5.13, which is small
    (docs/coverage.md).

    Attributes
    ----------
    auc: The area it holds at, within (0, 1).
    zeta10, zeta01: Variances of the placement values of the positives and of the negatives.
    model, {"placements", "normal", "obuchowski"}: Where they come from.

    Examples
    --------
    >>> spread = AucSpread.normal(0.8)
    >>> round(spread.variance(100, 1000) ** 0.5, 4), round(spread.at(0.9).variance(100, 1000) ** 0.5, 4)
    (0.0228, 0.0157)
    """

    auc: float
    zeta10: float
    zeta01: float
    model: Literal["placements", "normal", "obuchowski"]

    @classmethod
    def from_sample(cls, pilot: Sample) -> Self:
        """Return the spread that a pilot sample shows: DeLong's placement variances, n - 1 denominators.

        DegenerateDataError for fewer than two rows of a class, or no scatter: every pair of rows compares
        alike.
        """
        pilot.require_both_classes(at_least=2)
        moments = mean_over_pairs(*placements(pilot), pilot.pos, pilot.neg)
        zeta10, zeta01 = _unbiased(moments, pilot.n_pos, pilot.n_neg)
        if zeta10 + zeta01 == 0:
            raise DegenerateDataError(
                f"the pilot shows no scatter: its AUC is {moments[0]:g}, every pair of rows compares alike; "
                "take a larger pilot, or AucSpread.normal(auc) with an AUC below 1"
            )
        return cls(auc=moments[0], zeta10=zeta10, zeta01=zeta01, model="placements")

    @classmethod
    def normal(cls, auc: float) -> Self:
        """Return the spread under two normal score distributions of equal variance, exactly.

        Two positives and one negative are ordered right with probability Phi2(z, z; 1/2), z = Phi^-1(auc): an
        orthant of the bivariate normal law, here by Owen's T: Owen (1956), Annals of Mathematical Statistics
        27, 1075-1090.
        """
        _require_area(auc)
        zeta = normal_zeta(auc)
        return cls(auc=auc, zeta10=zeta, zeta01=zeta, model="normal")

    @classmethod
    def obuchowski(cls, auc: float) -> Self:
        """Take eq. 3 of Obuchowski, Lieber and Wians (2004), Clinical Chemistry 50, 1118-1125.

        The constants are the printed ones, as in power.roc.test of pROC. It stands for two fitted normal
        distributions, the covariance of the fitted parameters left out: mostly larger than "normal", see
        docs/coverage.md.
        """
        _require_area(auc)
        square = (float(scipy.special.ndtri(auc)) * _PRINTED_ROOT) ** 2
        factor = _PRINTED_FACTOR * math.exp(-square / 2)
        return cls(
            auc=auc, zeta10=factor * (5 * square + 8), zeta01=factor * (square + 8), model="obuchowski"
        )

    def at(self, auc: float) -> AucSpread:
        """Return the spread of the same scores were their area `auc`: the model's there.

        Placement variances are scaled by the ratio of those of "normal": a pilot keeps its ratio to them.
        """
        _require_area(auc)
        if self.model == "normal":
            return AucSpread.normal(auc)
        if self.model == "obuchowski":
            return AucSpread.obuchowski(auc)
        ratio = normal_zeta(auc) / normal_zeta(self.auc)
        return AucSpread(auc=auc, zeta10=ratio * self.zeta10, zeta01=ratio * self.zeta01, model="placements")

    def variance(self, n_pos: float, n_neg: float) -> float:
        """Return the variance with `n_pos` positives and `n_neg` negatives, which may be expected counts."""
        return self.zeta10 / n_pos + self.zeta01 / n_neg


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedSpread(Result):
    """The scatter of the difference of two AUCs on the same rows, per positive and per negative.

    Attributes
    ----------
    zeta10, zeta01: Variances of the differences of the placement values.
    own10, own01, other10, other01: Variances of the placement values of the first model and of the second.
    areas: AUCs of the two; None when the spread is of parts of two curves, and cannot be moved.
    model, {"placements", "obuchowski"}

    Examples
    --------
    >>> pilot = PairedSample([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.3, 0.5, 0.7, 0.9], [2, 6, 3, 4, 7, 5])
    >>> spread = PairedSpread.from_sample(pilot)
    >>> round((spread.zeta10 / 3 + spread.zeta01 / 3) ** 0.5, 4)  # as by compare_auc_paired
    0.1925
    """

    zeta10: float
    zeta01: float
    own10: float
    own01: float
    other10: float
    other01: float
    areas: tuple[float, float] | None
    model: Literal["placements", "obuchowski"]

    @classmethod
    def from_sample(cls, pilot: PairedSample) -> Self:
        """Do as `AucSpread.from_sample` says; without scatter every row shows the same difference."""
        pilot.require_both_classes(at_least=2)
        sizes = (pilot.n_pos, pilot.n_neg)
        first, second = placements(pilot.first), placements(pilot.second)
        both = difference_placements(pilot, first, second)
        zeta10, zeta01 = _unbiased(mean_over_pairs(*both, pilot.pos, pilot.neg), *sizes)
        if zeta10 + zeta01 == 0:
            raise DegenerateDataError(
                "the pilot shows no scatter of the difference: every row shows the same one; "
                "take a larger pilot, or models that differ"
            )
        moments = [
            mean_over_pairs(*values, one.pos, one.neg)
            for values, one in ((first, pilot.first), (second, pilot.second))
        ]
        own, other = (_unbiased(moment, *sizes) for moment in moments)
        return cls(
            zeta10=zeta10,
            zeta01=zeta01,
            own10=own[0],
            own01=own[1],
            other10=other[0],
            other01=other[1],
            areas=(moments[0][0], moments[1][0]),
            model="placements",
        )

    @classmethod
    def obuchowski(
        cls,
        *,
        a: tuple[float, float],
        b: tuple[float, float],
        corr_pos: float,
        corr_neg: float,
        fpr: tuple[float, float] = (0.0, 1.0),
    ) -> Self:
        """Return the spread of two binormal curves TPR = Phi(a + b Phi^-1(FPR)), fitted to the same rows.

        Obuchowski and McClish (1997), Statistics in Medicine 16, 1529-1542, eq. 4 and 5. Their eq. 4 leaves
        out the covariance a b / 2 of the two estimates, which eq. 5 has: the variance comes out too large,
        and that of two equal curves on equal scores is not 0. Kept, so that published numbers are met.

        Parameters
        ----------
        a, b: Of the first and of the second curve; b > 0.
        corr_pos, corr_neg: Correlations of the two scores within the positives and within the negatives.
        fpr: Range of the areas, the whole curve by default.
        """
        if min(b) <= 0 or max(abs(corr_pos), abs(corr_neg)) > 1 or not 0 <= fpr[0] < fpr[1] <= 1:
            raise InputError(
                "needs b > 0, correlations within [-1, 1] and 0 <= fpr[0] < fpr[1] <= 1; given "
                f"b={b}, corr_pos={corr_pos}, corr_neg={corr_neg}, fpr={fpr}"
            )
        slopes = [_binormal_slopes(a[i], b[i], fpr) for i in (0, 1)]
        own, other = (
            (p**2 * (1 + a_i * a_i / 2) + (q * b_i) ** 2 / 2, (p * b_i) ** 2 + (q * b_i) ** 2 / 2)
            for a_i, b_i, (p, q) in zip(a, b, slopes, strict=True)
        )
        (by_a1, by_b1), (by_a2, by_b2) = slopes
        along = (by_a1 * a[0] + by_b1 * b[0]) * (by_a2 * a[1] + by_b2 * b[1])
        shared = (
            corr_pos * by_a1 * by_a2 + corr_pos**2 * along / 2,
            b[0] * b[1] * (corr_neg * by_a1 * by_a2 + corr_neg**2 * by_b1 * by_b2 / 2),
        )
        return cls(
            zeta10=own[0] + other[0] - 2 * shared[0],
            zeta01=own[1] + other[1] - 2 * shared[1],
            own10=own[0],
            own01=own[1],
            other10=other[0],
            other01=other[1],
            areas=None,
            model="obuchowski",
        )

    def at(self, difference: float) -> tuple[float, float]:
        """zeta10 and zeta01 if the area of the second were that of the first less `difference`.

        The variance of the second goes with its area as in `AucSpread.at`; its correlation with the first
        stays.
        """
        if self.areas is None:
            return self.zeta10, self.zeta01
        first, second = self.areas
        moved = first - difference
        if not (0 < moved < 1 and 0 < second < 1):
            return self.zeta10, self.zeta01
        ratio = normal_zeta(moved) / normal_zeta(second)
        root = math.sqrt(ratio)
        # own + ratio other - 2 root covariance, without the covariance: nothing is lost for equal models.
        return (
            root * self.zeta10 + (1 - root) * (self.own10 - root * self.other10),
            root * self.zeta01 + (1 - root) * (self.own01 - root * self.other01),
        )

    def null_variance(self, n_pos: float, n_neg: float) -> float:
        """Return the variance were the second curve as the first, covariance unchanged: for a score test.

        Twice a variance less twice a covariance may come out below 0: then 0.
        """
        null10, null01 = self.zeta10 + self.own10 - self.other10, self.zeta01 + self.own01 - self.other01
        return max(null10 / n_pos + null01 / n_neg, 0.0)


def _unbiased(moments: tuple[float, float, float], n_pos: int, n_neg: int) -> tuple[float, float]:
    """zeta10 and zeta01 with n - 1 denominators, from `mean_over_pairs`."""
    _, zeta10, zeta01 = moments
    return zeta10 * n_pos / (n_pos - 1), zeta01 * n_neg / (n_neg - 1)


def _require_area(auc: float) -> None:
    if not is_number(auc) or not 0 < auc < 1:
        raise InputError(f"auc must lie within (0, 1), where an area can scatter; it is {auc}")


def _binormal_slopes(a: float, b: float, fpr: tuple[float, float]) -> tuple[float, float]:
    """Return the derivatives by a and b of the binormal area over a range of false positive rates."""
    square = 1 + b * b
    ends = [(float(scipy.special.ndtri(end)) + a * b / square) * math.sqrt(square) for end in fpr]
    height = math.exp(-a * a / (2 * square)) / math.sqrt(2 * math.pi * square)
    mass = float(scipy.special.ndtr(ends[1]) - scipy.special.ndtr(ends[0]))
    drop = (math.exp(-(ends[0] ** 2) / 2) - math.exp(-(ends[1] ** 2) / 2)) / math.sqrt(2 * math.pi * square)
    return height * mass, height * (drop - a * b / square * mass)


_GRID = 64

Pilot = Sample | AucSpread | PairedSample | PairedSpread


class PowerOptions(TypedDict, total=False):
    """The kind of test; see `auc_power`."""

    reference: AucResult | tuple[float, float] | None
    against: float | None
    confidence_level: float
    alternative: Literal["two-sided", "one-sided"]
    test: Literal["wald", "score"]
    transform: Literal["none", "logit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AucSampleSize(Result):
    """The rows that a test of the AUC needs, fewest positives with their negatives, and the power reached."""

    n_pos: int
    n_neg: int
    power: float
    drop: float

    def __str__(self) -> str:
        return (
            f"{classes(self.n_pos, self.n_neg, ' and ')} see a drop of {self.drop:.4g} "
            f"with {100 * self.power:.1f} % power"
        )


def auc_power(
    pilot: Pilot, drop: float, *, n_pos: float, n_neg: float, **options: Unpack[PowerOptions]
) -> float:
    """Probability that a test of the AUC shows a drop.

    Parameters
    ----------
    pilot: How the AUC scatters: as in a sample, or by a model (`AucSpread.normal`). Of a pair, that of the
        difference of two models on the same rows.
    drop: How far the true AUC lies below that of the pilot; below 0 for a rise, the test being of a rise
        then. Of a pair, how far the second model lies below the first.
    n_pos, n_neg: Rows to be judged; expected counts need not be whole.
    reference: What the AUC is compared with: None, a known value; a result, whose squared standard error is
        added, as by `compare_auc`; or two sizes, at which the pilot's own variance is added.
    against: The value itself, by default the AUC of the pilot. With an `AucResult` reference, it is the AUC
        of the reference less the drop that would be tolerated.
    confidence_level: Of the interval the test is read from, 0.95 by default.
    alternative, {"two-sided", "one-sided"}: Whether the interval has two ends, or only the one that faces the
        drop. Only that one counts.
    test, {"wald", "score"}: Standard error of the test: "wald", as estimated from the rows that are judged,
        as in all tests here; "score", that of an AUC equal to `against` ([OM97]; power.roc.test of pROC).
    transform, {"none", "logit"}: Scale of the interval, as in ``auc(…).ci(transform=…)``; "logit" for a known
        value only.

    Raises
    ------
    InputError: A drop that takes the AUC out of (0, 1), sizes below 2, an unknown option, one that the pilot
        has no use for.
    DegenerateDataError: A pilot without scatter, or with fewer than two rows of a class.

    Notes
    -----
    [OM97] eq. 1-3: Phi((drop - z se_0) / se_1), se_0 the standard error of the test and se_1 that of the AUC
    after the drop, to which `AucSpread.at` takes the spread. They set se_0 at `against` (test="score"). With
    test="wald" the standard error is that of the estimate it sees, and is larger for lower estimates: the
    largest estimate c that still rejects is a root, and the power is Phi((c - auc) / se_1).
    How well promised powers were kept in simulations: docs/coverage.md.
    Cost: O(1), after one pass over a pilot sample.

    Examples
    --------
    >>> january = AucSpread.normal(0.8)
    >>> round(auc_power(january, 0.05, n_pos=300, n_neg=3000), 3)
    0.94
    >>> round(auc_power(january, 0.05, n_pos=300, n_neg=3000, reference=(900, 9000)), 3)
    0.87
    """
    plan = _plan(pilot, **options)
    _require_sizes(n_pos, n_neg)
    _require_drop(drop, *plan.drops)
    return plan.power(drop, n_pos, n_neg)


def auc_sample_size(
    pilot: Pilot,
    drop: float,
    *,
    power: float = 0.8,
    ratio: float | None = None,
    **options: Unpack[PowerOptions],
) -> AucSampleSize:
    """Labelled rows needed to show a drop of the AUC with a given power.

    Parameters
    ----------
    pilot, drop, **options: As for `auc_power`; the drop above 0.
    power: Within [0.5, 1).
    ratio: Negatives for each positive; by default that of the pilot sample.

    Returns
    -------
    The smallest n_pos, with n_neg = ratio n_pos rounded up.

    Raises
    ------
    InputError: As for `auc_power`; a ratio that is missing or not above 0; a power outside [0.5, 1).
    DegenerateDataError: No number of rows is enough: the error of the reference alone hides the drop.

    Examples
    --------
    >>> print(auc_sample_size(AucSpread.normal(0.8), 0.05, ratio=10))
    193 positives and 1,930 negatives see a drop of 0.05 with 80.2 % power
    """
    plan = _plan(pilot, **options)
    if ratio is None and isinstance(pilot, Sample | PairedSample):
        ratio = pilot.n_neg / pilot.n_pos
    if ratio is None or not is_number(ratio) or not 0 < ratio < math.inf:
        raise InputError(f"ratio, the negatives for each positive, must be a number above 0; it is {ratio}")
    _require_power(power)
    _require_drop(drop, *plan.drops)
    most = 1e15  # beyond any count of rows
    if plan.power(drop, most, ratio * most) < power:
        raise DegenerateDataError(
            f"no number of rows shows a drop of {drop:g} with power {power:g}: the error of the reference "
            "hides it, or the value it is tested against lies lower; take a larger reference or a larger drop"
        )
    low, high = 2 * max(1.0, 1 / ratio), most
    if plan.power(drop, low, ratio * low) < power:
        low = math.exp(
            _root(
                lambda log: plan.power(drop, math.exp(log), ratio * math.exp(log)) - power,
                math.log(low),
                math.log(high),
            )
        )
    n_pos = math.ceil(low * (1 - 1e-9))
    n_neg = math.ceil(ratio * n_pos * (1 - 1e-9))
    return AucSampleSize(n_pos=n_pos, n_neg=n_neg, power=plan.power(drop, n_pos, n_neg), drop=drop)


def detectable_drop(
    pilot: Pilot, *, n_pos: float, n_neg: float, power: float = 0.8, **options: Unpack[PowerOptions]
) -> float:
    """Return the smallest drop that a test shows with a given power: "with this window you can see 0.03".

    It is measured from the AUC of the pilot; of a pair, it is the difference of the two models.

    Parameters
    ----------
    pilot, n_pos, n_neg, **options: As for `auc_power`.
    power: Within [0.5, 1).

    Raises
    ------
    InputError: As for `auc_power`; a power outside [0.5, 1).
    DegenerateDataError: No drop is seen with these sizes.

    Notes
    -----
    Cost: at most 80 evaluations of `auc_power`, after one pass over a pilot sample.

    Examples
    --------
    >>> round(detectable_drop(AucSpread.normal(0.8), n_pos=310, n_neg=4100), 4)
    0.0382
    """
    plan = _plan(pilot, **options)
    _require_sizes(n_pos, n_neg)
    _require_power(power)
    # Power need not rise all the way (on the logit scale an AUC of 0 has an infinite error): the first
    # crossing on a grid, then its root.
    before = 0.0
    for drop in np.linspace(0, plan.drops[1], _GRID + 2)[:-1].tolist():
        if plan.power(drop, n_pos, n_neg) >= power:
            return _root(lambda d: plan.power(d, n_pos, n_neg) - power, before, drop) if drop else 0.0
        before = drop
    raise DegenerateDataError(
        f"no drop of the AUC is seen with power {power:g} by {n_pos:g} positives and {n_neg:g} negatives; "
        "take more rows or a larger reference"
    )


class _PairTest(NamedTuple):
    """A test of two models, but for the drop and the sizes."""

    spread: PairedSpread
    z: float
    score: bool

    @property
    def drops(self) -> tuple[float, float]:
        first = self.spread.areas[0] if self.spread.areas else 1.0
        return first - 1, first

    def power(self, drop: float, n_pos: float, n_neg: float) -> float:
        zeta10, zeta01 = self.spread.at(drop)
        se = se_test = math.sqrt(zeta10 / n_pos + zeta01 / n_neg)
        if self.score:
            se_test = math.sqrt(self.spread.null_variance(n_pos, n_neg))
        return float(scipy.special.ndtr((abs(drop) - self.z * se_test) / se))


class _OneTest(NamedTuple):
    """A test of one model against a value, itself known with the variance `reference`."""

    spread: AucSpread
    z: float
    against: float
    reference: float
    score: bool
    logits: bool

    @property
    def drops(self) -> tuple[float, float]:
        return self.spread.auc - 1, self.spread.auc

    def power(self, drop: float, n_pos: float, n_neg: float) -> float:
        if drop < 0:  # a rise is the drop of 1 - AUC
            flipped = replace(self.spread, auc=1 - self.spread.auc)
            return self._replace(spread=flipped, against=1 - self.against).power(-drop, n_pos, n_neg)
        true = self.spread.auc - drop
        own = self.spread.at(true).variance(n_pos, n_neg)
        scatter = own + self.reference
        if self.score:
            null = self.spread.at(self.against).variance(n_pos, n_neg) + self.reference
            critical = self.against - self.z * math.sqrt(null)
            return float(scipy.special.ndtr((critical - true) / math.sqrt(scatter)))

        def beyond(seen: float) -> float:
            area = true + own / scatter * (seen - true)  # the rest of the error is that of the reference
            se = math.sqrt(self.spread.at(area).variance(n_pos, n_neg) + self.reference)
            if self.logits:
                return float(scipy.special.logit(seen) - scipy.special.logit(self.against)) + self.z * se / (
                    seen * (1 - seen)
                )
            return seen - self.against + self.z * se

        # The largest estimate whose interval lies below `against`. The standard error is that of the
        # estimate, not of the truth: a low estimate comes with a large one.
        critical, last = -math.inf, self.against
        for step in range(1, 80):
            low = float(scipy.special.expit(scipy.special.logit(self.against) - step / 4))
            if beyond(low) < 0:
                critical = _root(beyond, low, last)
                break
            last = low
        return float(scipy.special.ndtr((critical - true) / math.sqrt(scatter)))


def _plan(
    pilot: Pilot,
    *,
    reference: AucResult | tuple[float, float] | None = None,
    against: float | None = None,
    confidence_level: float = 0.95,
    alternative: Literal["two-sided", "one-sided"] = "two-sided",
    test: Literal["wald", "score"] = "wald",
    transform: Literal["none", "logit"] = "none",
) -> _PairTest | _OneTest:
    require_method(alternative, ("two-sided", "one-sided"), "alternative")
    require_method(test, ("wald", "score"), "test")
    require_method(transform, ("none", "logit"), "transform")
    tail = (1 - require_level(confidence_level)) / (2 if alternative == "two-sided" else 1)
    if tail > 0.5:
        raise InputError(f"confidence_level must be at least 0.5 with one end; it is {confidence_level}")
    z = quantile_beyond(tail)
    if isinstance(pilot, PairedSample | PairedSpread):
        if reference is not None or against is not None or transform != "none":
            raise InputError(
                "reference, against and transform are for one model; a pair compares its two: leave them out"
            )
        pair = PairedSpread.from_sample(pilot) if isinstance(pilot, PairedSample) else pilot
        return _PairTest(pair, z, test == "score")
    spread = AucSpread.from_sample(pilot) if isinstance(pilot, Sample) else pilot
    if not isinstance(spread, AucSpread):
        raise InputError(
            "pilot must be a Sample, an AucSpread, a PairedSample or a PairedSpread, "
            f"not a {type(pilot).__name__}"
        )
    value = spread.auc if against is None else against
    if not is_number(value) or not 0 < value < 1:
        raise InputError(f"against must lie within (0, 1), as an AUC does; it is {against}")
    if transform == "logit" and (reference is not None or test == "score"):
        raise InputError("transform='logit' is for a known value and test='wald'; take transform='none'")
    reference_variance = reference.se**2 if isinstance(reference, AucResult) else 0.0
    if isinstance(reference, tuple):
        _require_sizes(*reference)
        reference_variance = spread.variance(*reference)
    return _OneTest(spread, z, value, reference_variance, test == "score", transform == "logit")


def _require_sizes(n_pos: float, n_neg: float) -> None:
    if not all(is_number(n) and 2 <= n < math.inf for n in (n_pos, n_neg)):
        raise InputError(f"n_pos and n_neg must be at least 2; they are {n_pos} and {n_neg}")


def _require_drop(drop: float, above: float, below: float) -> None:
    if not is_number(drop) or not above < drop < below:
        raise InputError(
            f"drop must lie within ({above:g}, {below:g}), so that each AUC stays within (0, 1); it is {drop}"
        )


def _require_power(power: float) -> None:
    if not is_number(power) or not 0.5 <= power < 1:
        raise InputError(f"power must lie within [0.5, 1), for example 0.8; it is {power}")


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    return float(scipy.optimize.brentq(function, low, high, xtol=1e-13))
