"""The AUC of rows of which some have a label and others wait for theirs: docs/method.md, section 6.

A labelled row counts by its label, every other one with score s as p(s) of a positive and 1 - p(s) of a
negative. p(s) = P(y = 1 | s, no label at this age) is isotonic on past rows that had none at the same age and
got one later. Where the labelled rows show that P(y | s) has changed, the slope of its log odds is carried to
the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.delong import mean_over_pairs, placements
from rocmonitor.stats.forecast.calibration import observed_root
from rocmonitor.stats.forecast.distance import require_sample
from rocmonitor.stats.forecast.projection import at_scores, rising
from rocmonitor.stats.proportion import is_number, quantile_beyond, require_level
from rocmonitor.stats.result import Interval, Result
from rocmonitor.stats.rows import same_length, same_order, valid_counts, valid_scores
from rocmonitor.stats.sample import Floats, Sample
from rocmonitor.stats.series import scatter_between


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartlyLabelledAuc(Result):
    """The present estimate of the AUC that rows will have once their labels are in.

    Attributes
    ----------
    auc: Labelled rows by their labels, the others by p(score).
    labelled_auc: Of the labelled rows alone; None where they have one class only. Biased when the arrival of
        labels depends on the score within a class.
    labelled_share: Share of all rows that have a label.
    prevalence: Share of positives expected among the rows that count.
    label_se: What the missing labels leave open: the standard deviation of the final AUC around `auc` if
        p(score) holds and they are independent. 0 when none is missing.
    sampling_se: Standard error that the final AUC has as an estimate of the AUC of the population; it does
        not include `label_se`.
    outside_share: Share of the unlabelled scores beyond those of the past rows that p is fitted to.
    later_share: The share of unlabelled rows that get a label.
    n_pos, n_neg: Labelled rows by class.
    n_unlabelled
    law_change, law_se: By how much `auc` is higher because the labelled rows show that P(y | score) has
        changed, and the standard deviation that this leaves open; 0 where they were not asked.
    """

    _estimate: ClassVar[str | None] = "auc"

    auc: float
    labelled_auc: float | None
    labelled_share: float
    prevalence: float
    label_se: float
    sampling_se: float
    outside_share: float
    later_share: float
    n_pos: int
    n_neg: int
    n_unlabelled: int
    law_change: float = 0.0
    law_se: float = 0.0
    caveats: tuple[Caveat, ...] = ()

    def __str__(self) -> str:
        alone = "" if self.labelled_auc is None else f" (labelled rows alone {self.labelled_auc:.4f})"
        return f"AUC {self.auc:.4f} with {100 * self.labelled_share:.3g} % of the labels{alone}"


def partly_labelled_auc(
    labelled: Sample,
    unlabelled: tuple[ArrayLike, ArrayLike],
    late: Sample,
    *,
    later_share: float = 1.0,
    past: PastLaw | None = None,
) -> PartlyLabelledAuc:
    """Return the AUC of rows with and without labels.

    Parameters
    ----------
    labelled: Rows with a label; may be empty.
    unlabelled : tuple of two array_like, shape (k,): Scores of the rows without one, finite, and the rows at
        each.
    late: Past rows that had no label at the same age and got one later. Not used when nothing is missing.
    later_share: The share of the unlabelled rows, within [0, 1], that gets a label at all: the others never
        count. With 0 the labels are complete.
    past: Past rows that had their label at the same age, and how windows differ. With it, p(score) is changed
        as far as the labelled rows show that P(y | score) has. Default: it is not.

    Returns
    -------
    `auc` equals the expected AUC of the scores when no row has a label, and the realised one exactly when
    none is missing.

    Raises
    ------
    InputError: Something that is no `Sample`, scores that are not finite, counts that are no whole numbers, a
        share outside [0, 1].
    DegenerateDataError: Missing labels and past rows of one class; no row expected in one of the classes.

    Notes
    -----
    p is fitted by pool adjacent violators to the counts of `late`. A score between two of its scores takes
    the p of the next one above, one beyond them that of the nearest. The AUC is the sweep over the sorted
    scores with fractional counts, ties one half. A positive in place of a negative at s adds about
    V(s) = (F(s) - A) / P - (1 - G(s) - A) / N (F, G: shares of negatives and positives below s), so
    label_se² = sum of n(s) p (1 - p) V(s)² over the unlabelled rows.

    Selection by class alone biases neither the labelled rows nor this; selection by score within a class
    biases the labelled rows alone. p assumes that labels arrive as they did then; without `past` also that
    P(y | score) is what it was.
    Cost: O(n log n) for n distinct scores.

    Examples
    --------
    >>> past = Sample([0, 0, 0, 1, 0, 1, 1, 1], [1, 1, 2, 2, 3, 3, 4, 4])
    >>> found = partly_labelled_auc(Sample([0, 1, 1], [1, 2, 4]), ([2, 3], [1, 1]), past)
    >>> found.auc, found.labelled_auc, found.labelled_share
    (0.7916666666666666, 1.0, 0.6)
    """
    require_sample(labelled, "labelled")
    require_sample(late, "late")
    if not is_number(later_share) or not 0 <= later_share <= 1:
        raise InputError(f"later_share must lie within [0, 1]; it is {later_share!r}")
    same_order(unlabelled=unlabelled[0], rows=unlabelled[1])
    score, rows = valid_scores(unlabelled[0], "unlabelled"), valid_counts(unlabelled[1], "unlabelled rows")
    same_length(unlabelled=score, rows=rows)
    missing = np.asarray(rows * later_share, dtype=np.float64)
    p = share_of_positives(late, score) if missing.any() else np.zeros(len(score))
    both = _Weighted.of(labelled, score, missing, p)
    n, waiting = labelled.n_pos + labelled.n_neg, int(rows.sum())
    if min(both.pos.sum(), both.neg.sum()) <= 0:
        raise DegenerateDataError(
            f"needs positives and negatives: {labelled.n_pos} and {labelled.n_neg} are labelled, and of the "
            f"{waiting} others only one class is expected; wait for more labels"
        )
    auc, label_se, sampling_se = both.moments(score, missing, p)
    unchanged, law_se = auc, 0.0
    if past is not None and n and missing.any():
        beta, spread = slope(labelled, past).shrunk(past.scatter)
        both = _Weighted.of(labelled, score, missing, np.ones(len(score)))
        change = ChangedLaw(past, score, p, (both.score, both.pos + both.neg))

        def changed(beta: float) -> tuple[_Weighted, Floats]:
            """Return the counts and P(y | score) at a change of the law."""
            p = change.p(beta)
            return _Weighted.of(labelled, score, missing, p), p

        both, p = changed(beta)
        auc, label_se, sampling_se = both.moments(score, missing, p)
        ends = [
            counts.moments(score, missing, p)[0] for counts, p in map(changed, (beta - spread, beta + spread))
        ]
        law_se = abs(ends[1] - ends[0]) / 2
    outside = int(rows[(score < late.score[0]) | (score > late.score[-1])].sum()) if missing.any() else 0
    share = outside / waiting if waiting else 0.0
    caveats: tuple[Caveat, ...] = ()
    if outside:
        caveats = (Caveat("scores-outside-reference", share=share, rows=outside, n_rows=waiting),)
    alone = None
    if min(labelled.n_pos, labelled.n_neg) > 0:
        alone = mean_over_pairs(*placements(labelled), labelled.pos, labelled.neg)[0]
    return PartlyLabelledAuc(
        auc=auc,
        labelled_auc=alone,
        labelled_share=n / (n + waiting),
        prevalence=float(both.pos.sum() / (both.pos.sum() + both.neg.sum())),
        label_se=label_se,
        sampling_se=sampling_se,
        outside_share=share,
        later_share=later_share,
        n_pos=labelled.n_pos,
        n_neg=labelled.n_neg,
        n_unlabelled=waiting,
        law_change=auc - unchanged,
        law_se=law_se,
        caveats=caveats,
    )


def share_of_positives(late: Sample, score: Floats) -> Floats:
    """Return the p at each score, shape (k,): isotonic on the counts of `late`, which needs both classes."""
    if min(late.n_pos, late.n_neg) == 0:
        raise DegenerateDataError(
            f"past rows that got their label later must have both classes; there are {late.n_pos} positives "
            f"and {late.n_neg} negatives: take a larger reference"
        )
    start, level = rising(late.pos, late.neg)
    return at_scores(level, start, late, score)


@dataclass(frozen=True, slots=True)
class _Weighted:
    """Fractional counts at distinct scores."""

    score: Floats
    pos: Floats
    neg: Floats

    @classmethod
    def of(cls, labelled: Sample, score: Floats, rows: Floats, p: Floats) -> _Weighted:
        distinct, place = np.unique(np.concatenate([labelled.score, score]), return_inverse=True)
        pos, neg = (
            np.bincount(place, weights=np.concatenate(parts), minlength=len(distinct)).astype(np.float64)
            for parts in ((labelled.pos, rows * p), (labelled.neg, rows * (1 - p)))
        )
        return cls(distinct, pos, neg)

    def moments(self, score: Floats, rows: Floats, p: Floats) -> tuple[float, float, float]:
        """Return the AUC, what missing labels leave open of it, and the standard error of the final one."""
        n_pos, n_neg = float(self.pos.sum()), float(self.neg.sum())
        below = np.cumsum(self.neg) - self.neg / 2
        above = n_pos - (np.cumsum(self.pos) - self.pos / 2)
        auc, zeta10, zeta01 = mean_over_pairs(below, above, self.pos, self.neg)
        swap = ((below / n_neg - auc) / n_pos - (above / n_pos - auc) / n_neg)[
            np.searchsorted(self.score, score)
        ]
        left_open = float(np.sum(rows * p * (1 - p) * swap**2))
        sampling = zeta10 / max(n_pos - 1, 1.0) + zeta01 / max(n_neg - 1, 1.0)
        return auc, math.sqrt(left_open), math.sqrt(sampling)


CHANGED = 0.95
"""Weight, before labels are seen, of the law that something has changed: a choice between the bias after a
decline and the scatter of quiet windows, made by simulation, tests/studies/results.md."""

SPREAD = 0.6  # standard deviation of beta where something has: 0.2 takes about 0.06 off an AUC of 0.85

_STEPS, _LARGEST = 25, 2.0  # of Newton's method; of a step

_RIDGE = 1e-4  # information on a slope without any


_FAR = 20.0  # log odds


class PastLaw(NamedTuple):
    """The laws of past rows that had their label at an age, and of all; how they differ between windows."""

    known: Sample  # past rows that had their label at that age, and all that have one now
    whole: Sample
    scatter: float = 0.0  # variance of beta between past windows


class Slope(NamedTuple):
    """The beta of a window: as its labelled rows show it, and its sampling variance."""

    value: float
    variance: float

    def shrunk(self, scatter: float) -> tuple[float, float]:
        """Return mean and standard deviation of beta, given how past windows scatter.

        It has the variance `scatter` about 0 or, with the chance `CHANGED`, besides that of `SPREAD`.
        """
        prior = np.array([scatter, scatter + SPREAD**2])
        total = prior + self.variance
        log = np.log([1 - CHANGED, CHANGED]) - (np.log(total) + self.value**2 / total) / 2
        weight = np.exp(log - log.max())
        weight /= weight.sum()
        means = prior / total * self.value
        mean = float(weight @ means)
        variance = float(weight @ (prior / total * self.variance + means**2)) - mean**2
        return mean, math.sqrt(max(variance, 0.0))


def slope(labelled: Sample, past: PastLaw) -> Slope:
    """Return the beta of a window: logistic regression by Newton's method, O(k) a step for k scores."""
    base, log_odds = (_log_odds(sample, labelled.score) for sample in (past.known, past.whole))
    x = np.stack([np.ones_like(log_odds), log_odds])
    rows = labelled.pos + labelled.neg
    coefficients = np.zeros(2)
    for _ in range(_STEPS):
        p = expit(base + coefficients @ x)
        information = (x * (rows * p * (1 - p))) @ x.T + _RIDGE * np.eye(2)
        step = np.linalg.solve(information, x @ (labelled.pos - rows * p) - _RIDGE * coefficients)
        coefficients = coefficients + np.clip(step, -_LARGEST, _LARGEST)
        if np.abs(step).max() < 1e-9:
            break
    return Slope(float(coefficients[1]), float(np.linalg.inv(information)[1, 1]))


def scatter_of(slopes: list[Slope]) -> float:
    """Return the variance of beta between windows, beyond what sampling makes."""
    if len(slopes) < 2:
        return 0.0
    values, variances = np.array(slopes).T
    return scatter_between(values, variances)


class ChangedLaw:
    """The law of a window's rows without labels, at any beta."""

    def __init__(self, past: PastLaw, score: Floats, p: Floats, window: tuple[Floats, Floats]) -> None:
        """Take P(y | s) of the past at the scores of these rows, and (score, rows) of the whole window."""
        with np.errstate(divide="ignore"):
            self._own = logit(p)
        self._log_odds = _log_odds(past.whole, score)
        self._all, self._rows = _log_odds(past.whole, window[0]), window[1]

    def p(self, beta: float) -> Floats:
        """Return P(y | s) at the scores."""
        if not beta:
            return np.asarray(expit(self._own))
        positives = float(self._rows @ expit(self._all))

        def more(shift: float) -> float:
            return float(self._rows @ expit((1 + beta) * self._all + shift)) - positives

        # Beyond this many log odds the sum is level: there may be no root.
        shift = -_FAR if more(-_FAR) > 0 else _FAR
        if more(-_FAR) <= 0 < more(_FAR):
            shift = scipy.optimize.brentq(more, -_FAR, _FAR, xtol=1e-13)
        return np.asarray(expit(self._own + shift + beta * self._log_odds))


def _log_odds(sample: Sample, score: Floats) -> Floats:
    """Return the log odds of a positive at each score: isotonic, with half a row of each class more."""
    start = rising(sample.pos, sample.neg).start
    pos, neg = (np.add.reduceat(counts, start) + 0.5 for counts in (sample.pos, sample.neg))
    return at_scores(np.log(pos / neg), start, sample, score)


ENOUGH = 8  # past windows from which on errors can be judged


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelErrors(Result):
    """Errors of past windows at one label age."""

    ratios: tuple[float, ...]  # final AUC minus estimate, over its `label_se`, of each window
    # By how much a new estimate may be off besides, because labels arrive at another pace than they did.
    arrival: float = 0.0
    # Root mean square of `PartlyLabelledAuc.law_change` of the windows, which is within their errors.
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
        a change of P(y | score) leaves open beyond the changes that were read from theirs, are added as
        errors that have nothing to do with theirs.
        """
        require_level(confidence_level)
        quantile, level = observed_root(np.abs(self.ratios), np.ones(self.n_windows), confidence_level)
        law_se = math.sqrt(max(estimate.law_se**2 - self.law**2, 0.0))
        beyond = quantile_beyond((1 - confidence_level) / 2) * law_se
        reach = math.hypot(quantile * estimate.label_se, self.arrival, beyond)
        return max(0.0, estimate.auc - reach), min(1.0, estimate.auc + reach), level

    def label_error(self, estimate: PartlyLabelledAuc) -> float:
        """Return what the missing labels leave open, as root mean square, by the errors of past windows."""
        label = estimate.label_se * math.sqrt(float(np.mean(np.square(self.ratios))))
        return math.hypot(label, self.arrival)

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
        label = estimate.label_se * math.sqrt(float(np.mean(np.square(self.ratios))))
        se = math.hypot(self.se(estimate), minus_se)
        if not se:
            raise DegenerateDataError("neither the scores nor past windows show any scatter to compare by")
        df = self.n_windows * (se / label) ** 4 if label else None
        reach = se * quantile_beyond((1 - confidence_level) / 2, df)
        if minus is not None:
            return Interval(estimate.auc - minus - reach, estimate.auc - minus + reach)
        if not 0 < estimate.auc < 1:
            return Interval(max(0.0, estimate.auc - reach), min(1.0, estimate.auc + reach))
        slope = reach / (estimate.auc * (1 - estimate.auc))
        middle = float(scipy.special.logit(estimate.auc))
        low, high = scipy.special.expit([middle - slope, middle + slope]).tolist()
        return Interval(low, high)


def label_errors(estimates: Sequence[PartlyLabelledAuc], finals: Sequence[float]) -> LabelErrors:
    """Return the errors of past windows at one label age, each estimated with the p of the others."""
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
    law = math.sqrt(float(np.mean([estimate.law_change**2 for estimate in estimates])))
    return LabelErrors(ratios=tuple(ratios), law=law)
