"""Power and sample size of tests of the AUC: one against a value, a window against a reference, two models.

A test rejects when the end of its interval lies beyond the value it is tested against. Its power follows
from the spread of the AUC (`AucSpread`, `PairedSpread`) at the sizes in question, estimates taken as normal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypedDict, Unpack

import numpy as np
import scipy

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.auc import AucResult
from rocmonitor.stats.area.spread import AucSpread, PairedSpread
from rocmonitor.stats.nouns import classes
from rocmonitor.stats.proportion import is_number, normal_quantile, require_level, require_method
from rocmonitor.stats.result import Result
from rocmonitor.stats.sample import PairedSample, Sample

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
    """Return the smallest drop of the AUC that a test shows with a given power: "with this window you can
    see 0.03".

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
        else:
            critical = self._critical(true, own / scatter, n_pos, n_neg)
        return float(scipy.special.ndtr((critical - true) / math.sqrt(scatter)))

    def _critical(self, true: float, share: float, n_pos: float, n_neg: float) -> float:
        """Return the largest estimate whose interval lies below `against`.

        The standard error is that of the estimate, not of the truth: a low estimate comes with a large one.
        `share` of an estimate's error is the window's, the rest its reference's.
        """

        def beyond(seen: float) -> float:
            area = true + share * (seen - true)
            se = math.sqrt(self.spread.at(area).variance(n_pos, n_neg) + self.reference)
            if self.logits:
                return float(scipy.special.logit(seen) - scipy.special.logit(self.against)) + self.z * se / (
                    seen * (1 - seen)
                )
            return seen - self.against + self.z * se

        high = last = self.against
        for step in range(1, 80):
            low = float(scipy.special.expit(scipy.special.logit(high) - step / 4))
            if beyond(low) < 0:
                return _root(beyond, low, last)
            last = low
        return -math.inf


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
    z = normal_quantile(tail)
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
