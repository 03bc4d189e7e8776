"""The scatter of areas under ROC curves, at any number of positives and negatives.

The variance of an empirical AUC is zeta10 / n_pos + zeta01 / n_neg, with the variances of the placement
values of a positive and of a negative. A pilot sample gives the two, or a model of the scores without one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Self

import scipy

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.delong import difference_placements, mean_over_pairs, placements
from rocmonitor.stats.area.variances import normal_zeta
from rocmonitor.stats.proportion import is_number
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
        """Return the spread by eq. 3 of Obuchowski, Lieber and Wians (2004), Clinical Chemistry 50,
        1118-1125.

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
        """Return the variance were the second curve as the first, the covariance unchanged: what a score
        test takes.

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
