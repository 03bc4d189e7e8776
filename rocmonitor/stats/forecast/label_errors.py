"""The errors of past estimates of the final AUC from a part of the labels, and the error of a new one.

The errors of past windows, read at the same label age, are taken in units of what their missing labels left
open (`PartlyLabelledAuc.label_se`). So windows of other sizes can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.forecast.calibration import observed_root
from rocmonitor.stats.forecast.partial_labels import PartlyLabelledAuc
from rocmonitor.stats.proportion import normal_quantile, require_level
from rocmonitor.stats.result import Interval, Result

ENOUGH = 8  # past windows from which on errors can be judged


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelErrors(Result):
    """Errors of past windows at one label age."""

    ratios: tuple[float, ...]  # final AUC minus estimate, over its `label_se`, of each window
    # By how much a new estimate may be off besides, because labels arrive at another pace than they did.
    arrival: float = 0.0
    # Root mean square of `PartlyLabelledAuc.law_se` of the windows, which is within their errors.
    law: float = 0.0

    @property
    def n_windows(self) -> int:
        """Number of past windows."""
        return len(self.ratios)

    def final_interval(
        self, estimate: PartlyLabelledAuc, confidence_level: float = 0.95
    ) -> tuple[float, float, float]:
        """Return where the final AUC will lie: low, high, and the level that this has.

        The conformal quantile of |ratio|, times `label_se` of the new window. A window that is exchangeable
        with the past ones is covered with at least the level, also where arrival and P(y | score) drift, as
        long as they drifted so before. With n windows the level is at most n / (n + 1). `arrival`, and what
        a change of P(y | score) leaves open more than in theirs, are added as errors that have nothing to do
        with theirs.
        """
        require_level(confidence_level)
        quantile, level = observed_root(np.abs(self.ratios), np.ones(self.n_windows), confidence_level)
        # What a change of P(y | score) leaves open more than in past windows.
        law_se = math.sqrt(max(estimate.law_se**2 - self.law**2, 0.0))
        beyond = normal_quantile((1 - confidence_level) / 2) * law_se
        reach = math.hypot(quantile * estimate.label_se, self.arrival, beyond)
        return max(0.0, estimate.auc - reach), min(1.0, estimate.auc + reach), level

    def label_error(self, estimate: PartlyLabelledAuc) -> float:
        """Return what the missing labels leave open, as root mean square, by the errors of past windows."""
        return math.hypot(self._label_se(estimate), self.arrival)

    def se(self, estimate: PartlyLabelledAuc) -> float:
        """Return the standard error of the estimate as one of the population's AUC.

        The final AUC has the variance of sampling S. Of that, the missing labels are L (`label_se` squared),
        which an estimate that has their probabilities instead does not have: S - L, if these are right. Past
        errors have the mean square R L, of which L is the noise of their labels; what is more is an error of
        the probabilities: S - L + max(R - 1, 0) L, with `arrival` squared. Where labelled rows tell the
        probabilities of the others, their noise counts in both: `law_se` is added to the root of S - L.
        """
        label = estimate.label_se**2
        more = max(float(np.mean(np.square(self.ratios))) - 1, 0.0) * label
        own = math.sqrt(max(estimate.sampling_se**2 - label, 0.0)) + estimate.law_se
        return math.hypot(own, math.sqrt(more), self.arrival)

    def ci(
        self,
        estimate: PartlyLabelledAuc,
        confidence_level: float = 0.95,
        *,
        minus: float | None = None,
        minus_se: float = 0.0,
    ) -> Interval:
        """Confidence interval of the population's AUC, or of its difference to an independent estimate.

        minus, minus_se: The other estimate and its standard error. Without it the interval is made on the
            logit scale.

        The standard error is `se`, in which bias counts as scatter. The mean square of the errors of past
        windows is known with n degrees of freedom; Satterthwaite's approximation gives those of the sum.
        Without missing labels it is DeLong's.
        """
        require_level(confidence_level)
        label = self._label_se(estimate)
        se = math.hypot(self.se(estimate), minus_se)
        if not se:
            raise DegenerateDataError("neither the scores nor past windows show any scatter to compare by")
        upper = (1 + confidence_level) / 2
        quantile = float(scipy.special.ndtri(upper))
        if label:
            quantile = float(scipy.special.stdtrit(self.n_windows * (se / label) ** 4, upper))
        reach = se * quantile
        if minus is not None:
            return Interval(estimate.auc - minus - reach, estimate.auc - minus + reach)
        if not 0 < estimate.auc < 1:
            return Interval(max(0.0, estimate.auc - reach), min(1.0, estimate.auc + reach))
        slope = reach / (estimate.auc * (1 - estimate.auc))
        middle = float(scipy.special.logit(estimate.auc))
        low, high = scipy.special.expit([middle - slope, middle + slope]).tolist()
        return Interval(low, high)

    def _label_se(self, estimate: PartlyLabelledAuc) -> float:
        return estimate.label_se * math.sqrt(float(np.mean(np.square(self.ratios))))


def label_errors(estimates: Sequence[PartlyLabelledAuc], finals: Sequence[float]) -> LabelErrors:
    """Return the errors of past windows.

    estimates: Of past windows at one label age, each with the p of the others.
    finals: Their AUCs once all labels were in.
    """
    if len(estimates) != len(finals):
        raise InputError(f"estimates has {len(estimates)} windows and finals has {len(finals)}")
    if len(estimates) < ENOUGH:
        raise DegenerateDataError(
            f"at this label age {len(estimates)} past windows can be used, and at least {ENOUGH} are needed: "
            "take a larger reference, or wait for the labels"
        )
    ratios = [
        (final - estimate.auc) / estimate.label_se if estimate.label_se else 0.0
        for estimate, final in zip(estimates, finals, strict=True)
    ]
    law = math.sqrt(float(np.mean([estimate.law_se**2 for estimate in estimates])))
    return LabelErrors(ratios=tuple(ratios), law=law)
