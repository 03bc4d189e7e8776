"""The area under the ROC curve and its sampling error.

With psi = 1, 1/2, 0 for a positive above, level with or below a negative, the AUC is the mean of psi
over all pairs. After one sort, every closed form of its error is O(k) in the number of distinct scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import plotting
from rocmonitor.stats.area.clustered import METHOD, clustered_error, require_independent
from rocmonitor.stats.area.delong import Moments, moments
from rocmonitor.stats.area.skewness import deviations, second_order_ends, studentised
from rocmonitor.stats.area.unseen import FEW, NOTHING, Balance, Part, fewest, reach_of
from rocmonitor.stats.area.variances import CLOSED_FORMS, Variance, cortes_mohri, drawn_areas, score_ends
from rocmonitor.stats.condensed import error_of_auc
from rocmonitor.stats.nouns import classes, decimals
from rocmonitor.stats.proportion import (
    Percentiles,
    Rng,
    generator,
    quantile_beyond,
    require_level,
    require_method,
    resample_sizes,
)
from rocmonitor.stats.proportion import percentiles as drawn_ends
from rocmonitor.stats.result import Interval, Result
from rocmonitor.stats.sample import Floats, Sample, on_sample


def outermost(result: AucResult, confidence_level: float, transform: Transform) -> tuple[float, float]:
    """Return the interval around those of all areas and standard errors that the guarantee leaves open.

    Each end is monotone in the standard error, and in the variances of the placement values, and has no turn
    inwards between two areas, so the corners suffice. A standard error that may be 0 counts too: its interval
    is another one.
    """
    assert result.error is not None
    off, of_se = result.error
    areas = {max(result.auc - off, 0.0), result.auc, min(result.auc + off, 1.0)}
    errors = [result.se + of_se, *([0.0] if result.se <= of_se else [])]
    zeta = result.zeta
    if zeta is not None:  # if the error were that of one class alone
        pos, neg = result.n_pos, result.n_neg
        most = max(pos / max(pos - 1, 1), neg / max(neg - 1, 1))
        zeta = (
            (math.sqrt(zeta[0]) + of_se * math.sqrt(pos * most)) ** 2,
            (math.sqrt(zeta[1]) + of_se * math.sqrt(neg * most)) ** 2,
        )
    intervals = [
        replace(result, auc=auc, se=se, zeta=zeta, error=None).ci(confidence_level, transform)
        for auc in areas
        for se in errors
    ]
    return min(interval.low for interval in intervals), max(interval.high for interval in intervals)


Transform = Literal["score", "none", "logit", "second-order"]

_METHODS = (*CLOSED_FORMS, "cortes-mohri", "bootstrap")
_STUDENTISING = ("delong", "exact-bootstrap")  # by these the skewness of the studentised AUC is known
_GUARANTEED = ("delong", "exact-bootstrap")  # of these the error of a condensed sample is known
_OF_TWO_ROWS = ("delong", "binormal")  # these estimate a variance within each class
_NEAR_AN_END = 0.1  # the AUC, from 0 or 1: where a caveat says that it rests on few rows
# These describe resamples of other sizes, and include no variance of a single row.
_OF_RESAMPLES = ("exact-bootstrap", "wmk16", "bootstrap")


@dataclass(frozen=True, slots=True, kw_only=True)
class AucResult(Result):
    """An area under the ROC curve and how well it is known.

    Attributes
    ----------
    auc: Share of (positive, negative) pairs in the right order; ties count one half.
    se: Standard error by `method`. It is 0 only when every pair compares alike (see `ci`).
    studentised: Mean and skewness of (auc - true area) / `se` to first order, for "second-order" intervals.
        None unless `method` is "delong" or "exact-bootstrap" at the sample's own sizes, when `se` is 0, and
        for clustered rows and condensed samples.
    clusters: Clusters with a positive, and with a negative; None for independent rows.
    design_effect: The variance over that of as many independent rows ("delong"); None without clusters, and
        when that is 0.
    df: Of clustered rows: degrees of freedom of Student's t, by the number of clusters of equal size that
        would show the standard error as well ([S46], [BM02]). None for the normal law.
    inflation: Factor on `se` in intervals, 1 or more: unequal clusters make it too small on average ([BM02]).
    zeta: Variances of the placement values of the positives and of the negatives (n denominators). None for a
        result that was made without them; its intervals then allow for no rows that the sample lacks.
    error: Guaranteed errors of `auc` and `se`, of a condensed sample; intervals hold whatever they leave
        open.
    """

    _estimate: ClassVar[str | None] = "auc"
    _flat: ClassVar[bool] = True

    auc: float
    se: float
    n_pos: int
    n_neg: int
    method: str
    caveats: tuple[Caveat, ...] = ()
    studentised: tuple[float, float] | None = field(default=None, repr=False)
    clusters: tuple[int, int] | None = None
    design_effect: float | None = None
    df: float | None = field(default=None, repr=False)
    inflation: float = field(default=1.0, repr=False)
    zeta: tuple[float, float] | None = field(default=None, repr=False)
    error: tuple[float, float] | None = field(default=None, repr=False)

    @property
    def rests_on(self) -> float | None:
        """The number of positives, or of negatives, that the distance from 1 (or from 0, if nearer) rests on.

        A positive loses 1 less its placement value, its share of wrong pairs; likewise a negative. In each
        class the square of the sum of the losses over the sum of their squares is the number of rows that
        carry it, were they alike. The smaller of the two numbers; 0 if nothing is lost, None without `zeta`.
        Of clustered rows, the number of as many independent ones as show as much.
        """
        return None if self.zeta is None else min(self._carriers())

    def balances(self, *, swapped: bool = False) -> tuple[tuple[float, ...], ...]:
        """Return what a result with `zeta` adds to `AucDifference.balances` as the first, or second, area."""
        ends = (0.0, 1.0) if swapped else (1.0, 0.0)
        parts = zip(*(self._away_from(end) for end in ends), self._sizes, strict=True)
        return tuple((*low, *high, n) for low, high, n in parts)

    def _carriers(self) -> list[float]:
        parts = self._away_from(1.0 if self.auc >= 0.5 else 0.0)
        return [part.carried_by(n) for part, n in zip(parts, self._sizes, strict=True)]

    def _away_from(self, end: float) -> list[Part]:
        """Return how far the placement values of the positives, and of the negatives, lie from 0 or 1."""
        assert self.zeta is not None
        mean = abs(end - self.auc)
        return [Part(mean, zeta + mean * mean) for zeta in self.zeta]

    def ci(self, confidence_level: float = 0.95, transform: Transform = "score") -> Interval:
        """Two-sided confidence interval, within [0, 1].

        Parameters
        ----------
        confidence_level: Between 0 and 1, exclusive.
        transform, {"score", "none", "logit", "second-order"}: What is taken as normal. By default the AUC,
            with the standard error that it has at the end of the interval instead of the one that was seen
            ([W27], see `score_ends`), and the logit: at each end the wider of the two, and at least as far as
            rows allow that the sample may lack (`reach_of`). "none": the AUC, clipped. "logit": its logit,
            which stays inside (0, 1). "second-order": the studentised AUC, its skewness removed ([H92b]).

        Raises
        ------
        InputError: A level outside (0, 1), an unknown transform, "second-order" without `studentised`.

        Notes
        -----
        The default covers 93 % or more at 95 % with normal scores, from 10 rows of a class on and up to an
        AUC of 0.99, where the others fall to 63 to 88 %; away from 0 and 1 all agree. It does so, too, where
        a few rows of one class score like the other class, which the others do not allow for. Of rows that
        score below all of the other class, and are as few, it may miss more. Tables: docs/coverage.md.

        When `se` is 0 (perfect separation, or all scores equal) a normal interval would be a single point,
        which the data cannot justify. All m = min(n_pos, n_neg) disjoint pairs then have the same psi, which
        happens with probability P(psi)**m. So P(psi) >= q = ((1 - confidence_level) / 2)**(1 / m) ([CP34], m
        successes in m trials), and the AUC lies in [q psi, 1 - q (1 - psi)] whatever the distributions. Of
        clustered rows m is the smaller number of clusters.
        """
        tail = (1 - require_level(confidence_level)) / 2
        if transform not in get_args(Transform):
            names = ", ".join(map(repr, get_args(Transform)[:-1]))
            raise InputError(f"transform must be {names} or 'second-order', not {transform!r}")
        if self.error is not None:
            return Interval(*outermost(self, confidence_level, transform))
        if self.se == 0:
            q = tail ** (1 / min(self.clusters or (self.n_pos, self.n_neg)))
            return Interval(q * self.auc, 1 - q * (1 - self.auc))
        if transform == "second-order":
            if self.studentised is None:
                raise InputError(
                    "transform 'second-order' needs the standard error of method 'delong' or "
                    "'exact-bootstrap' at the sample's own sizes; this result, by "
                    f"{self.method!r}, does not have it: leave transform out"
                )
            return Interval(*second_order_ends(self.auc, self.se, self.studentised, tail))
        z, se = quantile_beyond(tail, self.df), self.inflation * self.se
        if transform == "none" or not 0 < self.auc < 1:
            return Interval(max(self.auc - z * se, 0.0), min(self.auc + z * se, 1.0))
        half = z * se / (self.auc * (1 - self.auc))
        centre = float(scipy.special.logit(self.auc))
        low, high = (float(scipy.special.expit(end)) for end in (centre - half, centre + half))
        if transform == "score":
            by_score = score_ends(self.auc, se, self._sizes, z)
            low, high = min(low, by_score[0]), max(high, by_score[1])
            if self.zeta is not None:  # the ends that rows leave possible which the sample may lack
                rows = [[Balance(part, NOTHING) for part in self._away_from(end)] for end in (1.0, 0.0)]
                lost, won = (reach_of(side, self._sizes, z=z, tail=tail).bound for side in rows)
                low, high = min(low, max(self.auc - lost, 0.0)), max(high, min(self.auc + won, 1.0))
        return Interval(low, high)

    @property
    def _sizes(self) -> tuple[float, float]:
        """The class sizes that `se` is for; of clustered rows, as many independent ones as show as much."""
        for caveat in self.caveats:
            if caveat.code == "error-of-other-sizes":
                return caveat.values["m_pos"], caveat.values["m_neg"]
        worth = max(self.design_effect or 1.0, 1.0)
        return self.n_pos / worth, self.n_neg / worth

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.rows(
            ax,
            ["95 % interval"],
            [(self.auc, *self.ci())],
            x="AUROC",
            note=f"{self.method}; {classes(self.n_pos, self.n_neg)}",
            label=label,
        )

    def __str__(self) -> str:
        within = "" if self.clusters is None else " in {} and {} clusters".format(*self.clusters)
        digits = f".{decimals(self.se)}f"
        error = f"{self.se:{digits}}, {self.method}"
        if self.se == 0 and self.error is None:
            error = "0: the interval is an exact bound"
        return (
            f"AUC {self.auc:{digits}}, 95 % interval {self.ci():{digits}} "
            f"(standard error {error}; {classes(self.n_pos, self.n_neg)}{within})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapAucResult(AucResult):
    """An `AucResult` whose `se` is the standard deviation over resamples that were drawn.

    Attributes
    ----------
    replicates, shape (n_resamples,): Area of each resample, in the order drawn. Not part of `to_dict`: an
        `AucResult` read back from plain data has only the normal intervals.
    """

    _unstored: ClassVar[str] = (
        "its resamples are not stored; AucResult.from_dict reads the rest, with the normal intervals"
    )

    replicates: Floats = field(repr=False, compare=False)

    def ci(
        self,
        confidence_level: float = 0.95,
        transform: Transform | Literal["percentile"] = "percentile",
        *,
        percentiles: Percentiles = "inverted_cdf",
    ) -> Interval:
        """Return `AucResult.ci`, by default the "percentile" interval; refuse "second-order".

        Its ends are areas that leave (1 - confidence_level) / 2 of the resamples on either side; with
        `percentiles` "averaged_inverted_cdf", Definition 2 of Hyndman and Fan (1996) as in [WMK16] section 4,
        the mean of two areas where that share of the resamples is a whole number. Where the ends coincide, as
        near AUC 0 and 1 at low levels, the interval is that of "none". A caveat reports it when half of all
        resamples agree.
        """
        if transform != "percentile":
            return AucResult.ci(self, confidence_level, transform)
        normal = AucResult.ci(self, confidence_level, "none")
        if self.se == 0:
            return normal
        low, high = drawn_ends(self.replicates, (1 - confidence_level) / 2, percentiles)
        return Interval(float(low), float(high)) if low < high else normal

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of `AucResult` as plain numbers and strings."""
        plain = AucResult.to_dict(self)
        del plain["replicates"]
        return plain


@on_sample
def auc(
    sample: Sample,
    /,
    *,
    method: str = "delong",
    m_pos: int | None = None,
    m_neg: int | None = None,
    n_errors: int | None = None,
    n_resamples: int = 2000,
    rng: Rng | None = None,
    cluster: ArrayLike | None = None,
    pos_label: object = None,
) -> AucResult:
    """Return the AUROC, the chance that a positive scores above a negative, with its standard error.

    It is the area under the ROC curve: 0.5 tells nothing, 1 ranks every positive above every negative.

    Parameters
    ----------
    pos_label: The label of the positives, where labels are two other values, such as texts.
    method:
        How the variance is estimated; the area itself is the empirical one for all of them.

        - "delong": unbiased (n - 1 denominators), [DDC88] eq. 4-6.
        - "exact-bootstrap": the variance over all stratified resamples, in closed form and for any
          ties ([N67], [B75]): what a Monte Carlo bootstrap converges to.
        - "bootstrap": the standard deviation over `n_resamples` stratified resamples that are drawn.
          Needs `rng`; the result is a `BootstrapAucResult`, whose ``.ci()`` is the percentile interval.
        - "wmk16": [WMK16] eq. 13-15, which is what [HM82] compute when they take Q1 and Q2 from the data. It
          treats rows of one score as spread out evenly, and so is larger than "exact-bootstrap" on ties: by
          7 to 15 % in the paper's three outliers.
        - "hanley-mcneil": [HM82] eq. 1 and 2 with Q1 = A / (2 - A), Q2 = 2 A² / (1 + A), the
          values of two exponential laws. It depends on the area and the class sizes only.
        - "binormal": delta method for the area under two fitted normal distributions of unequal variance
          ([D12]). The only one that changes under increasing transformations of the scores.
        - "upper-bound": A (1 - A) / min(n_pos, n_neg), the largest variance that any two distributions
          with this area have ([BK57]; [M18] eq. 20).
        - "cortes-mohri": variance over all rankings and thresholds with `n_errors` errors, all taken to be
          equally likely ([CM04]).
    m_pos, m_neg: Resample sizes of "exact-bootstrap", "bootstrap" and "wmk16"; the class sizes by default.
        With other sizes, the result describes the scatter of the AUC of a batch of m_pos positives and m_neg
        negatives.
    n_errors: Errors that "cortes-mohri" assumes, within [0, n]. By default the fewest that a threshold makes
        on the sample; rows of one score fall on the same side of it.
    n_resamples: Resamples of "bootstrap", at least 2.
    rng: Randomness of "bootstrap".
    cluster, shape (n,): Which rows belong together, such as those of one customer; a cluster may have rows of
        both classes. The standard error is then that of [O97], with "delong" only; the result's method is
        "obuchowski". A `Sample` has its own.

    Returns
    -------
    Its `caveats` give the area of the model that "binormal" and "cortes-mohri" take the error from.

    Raises
    ------
    InputError: Unusable data (see `Sample`), an unknown method, sizes that are not positive, an option of
        another method, "bootstrap" without `rng`.
    DegenerateDataError: A class without rows; with "delong" and "binormal" fewer than two of a class (a
        variance is undefined); a "bootstrap" whose resamples all agree by chance; a class from one cluster
        only.

    Notes
    -----
    Cost: the sort of the sample, then O(k) for k distinct scores; "bootstrap" see `drawn_areas`.

    Examples
    --------
    >>> result = auc([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.3, 0.5, 0.7, 0.9])
    >>> print(result)
    AUC 0.83, 95 % interval 0.04 to 0.99 (standard error 0.19, delong; 3 positives, 3 negatives)
    >>> low, high = result.ci(transform="logit")
    >>> round(low, 3), round(high, 3)
    (0.249, 0.987)
    """
    del cluster, pos_label  # they have become part of the sample
    require_method(method, _METHODS)
    require_independent(sample, method)
    sample.require_both_classes(at_least=2 if method in _OF_TWO_ROWS else 1)
    if sample.ends is not None and method not in _GUARANTEED:
        raise InputError(
            f"method {method!r} needs the order of the rows, and the sample is condensed: use 'delong' or "
            "'exact-bootstrap', or read the rows (grouped: raw)"
        )
    if method not in _OF_RESAMPLES and not (m_pos is None and m_neg is None):
        raise InputError(f"m_pos and m_neg are for {', '.join(_OF_RESAMPLES)}; {method!r} resamples nothing")
    if n_errors is not None and method != "cortes-mohri":
        raise InputError(f"n_errors is for method='cortes-mohri'; {method!r} assumes no number of errors")
    sizes = resample_sizes(m_pos, sample.n_pos, m_neg, sample.n_neg)
    pairs = moments(sample)
    numbers: dict[str, Any] = {"auc": pairs.auc, "n_pos": sample.n_pos, "n_neg": sample.n_neg}
    numbers["zeta"] = (pairs.zeta10, pairs.zeta01)
    if (clusters := sample.clusters) is not None:

        def estimated(cells: NDArray[np.bool_]) -> tuple[float, float, float]:
            score = sample.score[clusters.index[cells]]
            own = auc(Sample.from_counts(score, clusters.pos[cells], clusters.neg[cells]))
            return own.auc, *own.ci()

        of_rows = tuple(values[clusters.index] for values in deviations(sample, pairs))
        variance_of_clusters, of_clusters = clustered_error(of_rows, sample, numbers["zeta"], estimated)
        if variance_of_clusters == 0:
            of_clusters["caveats"] += (Caveat("no-scatter", pairs=min(of_clusters["clusters"])),)
        return _with_carriers(
            AucResult(se=math.sqrt(variance_of_clusters), method=METHOD, **numbers | of_clusters)
        )
    drawn = None
    if method == "bootstrap":
        source = generator(rng, n_resamples, method=method, at_least=2)
        drawn, variance = _bootstrap(sample, pairs, sizes, int(n_resamples), source)
    elif method == "cortes-mohri":
        variance = cortes_mohri(sample, pairs, n_errors)
    else:
        variance = CLOSED_FORMS[method](sample, pairs, *sizes)
    se = math.sqrt(variance.value)
    has_skewness = se > 0 and method in _STUDENTISING and sizes == (sample.n_pos, sample.n_neg)
    numbers |= {
        "se": se,
        "method": method,
        "caveats": _caveats(sample, method, sizes, variance),
        "studentised": studentised(sample, pairs, se) if has_skewness and sample.ends is None else None,
        "error": error_of_auc(sample, method, *sizes),
    }
    return _with_carriers(
        AucResult(**numbers) if drawn is None else BootstrapAucResult(**numbers, replicates=drawn)
    )


def _with_carriers(result: AucResult) -> AucResult:
    rests_on = result.rests_on
    near = min(result.auc, 1 - result.auc) <= _NEAR_AN_END
    if result.se == 0 or not near or rests_on is None or rests_on >= FEW:
        return result
    least = fewest(result._carriers(), (result.n_pos, result.n_neg))
    caveat = Caveat("rests-on-few", **least, end=round(result.auc))
    return replace(result, caveats=(*result.caveats, caveat))


def _bootstrap(
    sample: Sample, pairs: Moments, sizes: tuple[int, int], n_resamples: int, rng: np.random.Generator
) -> tuple[Floats, Variance]:
    if pairs.alike:
        return np.full(n_resamples, pairs.auc), Variance(0.0)
    drawn = drawn_areas(sample, *sizes, n_resamples, rng)
    middle, _ = drawn_ends(drawn, 0.5)
    agreeing = float(np.mean(drawn == middle))
    if agreeing == 1:
        raise DegenerateDataError(
            f"all {n_resamples} resamples have the same area, though not every pair compares alike: raise "
            "n_resamples, or use method 'exact-bootstrap', which draws nothing"
        )
    caveat = Caveat("resamples-agree", share=agreeing) if agreeing >= 0.5 else None
    return drawn, Variance(float(np.var(drawn, ddof=1)), caveat)


def _caveats(sample: Sample, method: str, sizes: tuple[int, int], variance: Variance) -> tuple[Caveat, ...]:
    caveats, smaller = [], min(sample.n_pos, sample.n_neg)
    if sizes != (sample.n_pos, sample.n_neg):
        caveats.append(Caveat("error-of-other-sizes", m_pos=sizes[0], m_neg=sizes[1]))
    if variance.caveat is not None:
        caveats.append(variance.caveat)
    if variance.value == 0:
        caveats.append(Caveat("no-scatter", pairs=smaller))
    elif smaller == 1 and method in _OF_RESAMPLES:
        caveats.append(Caveat("single-row"))
    return tuple(caveats)
