"""Windows whose labels are not all in: what they show, and what the rules may say of it.

With a history of the reference's labels a window is estimated and compared with what the reference windows
showed at the same label age. Without one only the shares of labelled rows can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.evaluation import Counts, Status, Verdict
from rocmonitor.policy.label_history import LabelHistory, Reading
from rocmonitor.policy.levels import as_judged, of_model, of_season, scatter_reach
from rocmonitor.policy.reference import Reference, weights
from rocmonitor.policy.rules import Calibration, Challenger, Cost, Drop, Floor, Forecast, Rule
from rocmonitor.policy.windows import DAY, Window, day_of
from rocmonitor.stats import ForecastInterval, PartlyLabelledAuc, Sample, auc_distance, partly_labelled_auc
from rocmonitor.stats.forecast.interval import finished
from rocmonitor.stats.forecast.kld import area
from rocmonitor.stats.forecast.label_errors import LabelErrors, label_errors
from rocmonitor.stats.forecast.seasonal import with_season
from rocmonitor.stats.forecast.windows import carried
from rocmonitor.stats.unlabelled import ScoreCounts

MIN_LABELLED = 0.5
"""Share of labelled rows below which a window is not judged, unless the reference has as few."""

ALIKE = 0.1
"""Shares of labelled rows that differ by more are told apart."""

LEVEL = 0.95
"""Of the interval in which the final AUROC will lie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaiting:
    """The rows of a window that wait for a label.

    Attributes
    ----------
    unlabelled : ScoreCounts
        Champion scores of the rows without a label.
    age : timedelta
        From the end of the window to the instant of judging.
    min_labelled : float or None
        As configured.
    """

    unlabelled: ScoreCounts
    age: timedelta
    min_labelled: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The AUROC that a window will have once its labels are in.

    Attributes
    ----------
    found : PartlyLabelledAuc
    age : timedelta
        Of the labels.
    reading : Reading
        The reference at that age.
    errors : LabelErrors or None
        How far such estimates of the reference windows were off; None, with a reason in `lacks`, when
        nothing can be compared at this age.
    lacks, doubts : tuple of Caveat
        Why no rule can be applied, and what is doubtful.
    """

    found: PartlyLabelledAuc
    age: timedelta
    reading: Reading
    errors: LabelErrors | None
    lacks: tuple[Caveat, ...] = ()
    doubts: tuple[Caveat, ...] = ()

    @property
    def metrics(self) -> dict[str, float]:
        """What is reported of an estimate.

        ``estimate/auc``, the AUROC that the window will have, with ``estimate/auc_low`` and
        ``estimate/auc_high``, between which it will lie; ``estimate/label_age_days``,
        ``estimate/labelled_share`` and ``estimate/reference_labelled_share`` (the mean of the reference
        windows at that age). ``champion/auc`` with ``_se``, ``_low``, ``_high``: the estimate as one of
        the population's AUROC, which the rules judge.
        """
        values = {
            "auc": self.found.auc,
            "label_age_days": self.age / DAY,
            "labelled_share": self.found.labelled_share,
        }
        if self.errors is not None:
            values["auc_low"], values["auc_high"], _ = self.errors.final_interval(self.found, LEVEL)
        if shares := self.past_shares:
            values["reference_labelled_share"] = float(np.mean(shares))
        named = {f"estimate/{name}": value for name, value in values.items()}
        if self.errors is not None:
            low, high = self.errors.ci(self.found, LEVEL)
            ends = {"": self.found.auc, "_se": self.errors.se(self.found), "_low": low, "_high": high}
            named |= {f"champion/auc{end}": value for end, value in ends.items()}
        return named

    @property
    def sizes(self) -> tuple[int, int]:
        """Positives and negatives expected once all labels are in."""
        found = self.found
        rows = found.n_pos + found.n_neg + found.later_share * found.n_unlabelled
        n_pos = max(1, round(found.prevalence * rows))
        return n_pos, max(1, round(rows) - n_pos)

    @property
    def past_shares(self) -> list[float]:
        """Shares of labelled rows of the reference windows at the same age."""
        return [each.labelled_share for each in self.reading.estimates]

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """That labels are missing, and what is doubtful about what stands in for them."""
        level = None
        values = self.metrics
        if self.errors is not None:
            level = self.errors.final_interval(self.found, LEVEL)[2]
        awaited = Caveat(
            "labels-awaited",
            labelled_share=self.found.labelled_share,
            label_age_days=self.age / DAY,
            auc=self.found.auc,
            low=values.get("estimate/auc_low"),
            high=values.get("estimate/auc_high"),
            confidence_level=level,
            labelled_auc=self.found.labelled_auc,
        )
        return (awaited, *self.found.caveats, *self.doubts, *self.lacks)


def estimate(reference: Reference, champion: Sample, awaiting: Awaiting) -> Estimate | Caveat | None:
    """The estimate of a window some of whose labels are missing.

    Returns
    -------
    Estimate, Caveat or None
        None when no more labels are to be expected, or nothing is known of when they come; a caveat that
        says why nothing can be estimated.
    """
    if reference.labels is None or not awaiting.unlabelled.rows:
        return None
    reading = reference.labels.at(awaiting.age)
    if not reading.later_share:
        return None
    try:
        found = partly_labelled_auc(
            champion, awaiting.unlabelled, reading.late, later_share=reading.later_share
        )
    except DegenerateDataError as error:
        return Caveat("labels-not-estimated", why=str(error))
    errors, lacks = None, list(_other_arrival(found, reading, awaiting.age))
    doubts = _open_reference(reference.labels, reading)
    try:
        errors = label_errors(reading.estimates, [area(sample) for sample in reading.finals])
    except DegenerateDataError as error:
        lacks.append(Caveat("not-computed", why=str(error)))
    return Estimate(
        found=found, age=awaiting.age, reading=reading, errors=errors, lacks=tuple(lacks), doubts=doubts
    )


def _open_reference(history: LabelHistory, reading: Reading) -> tuple[Caveat, ...]:
    """Reference windows whose own labels are not all in."""
    still = sum(history.known_for[number] < history.ages[-1] for number in reading.numbers)
    return (Caveat("reference-labels-open", windows=still, n_windows=len(reading.numbers)),) if still else ()


def _other_arrival(found: PartlyLabelledAuc, reading: Reading, age: timedelta) -> list[Caveat]:
    """Awaiting that come much sooner or later than in any reference window: nothing is alike then."""
    shares = [each.labelled_share for each in reading.estimates]
    if not shares or min(shares) - ALIKE <= found.labelled_share <= max(shares) + ALIKE:
        return []
    return [
        Caveat(
            "labels-arrive-otherwise",
            labelled_share=found.labelled_share,
            label_age_days=age / DAY,
            lowest=min(shares),
            highest=max(shares),
        )
    ]


def needed_share(min_labelled: float | None, past: float | None, *, dated: bool) -> float:
    """The share of labelled rows below which a window is not judged.

    What is configured; else none where a history of labels shows what the others will be, and `MIN_LABELLED`
    where there is none, or less if the reference has hardly more (`past` is its share, None if not known).
    """
    if min_labelled is not None:
        return min_labelled
    if dated:
        return 0.0
    return MIN_LABELLED if past is None else min(MIN_LABELLED, past - ALIKE)


def refused(reference: Reference, counts: Counts, min_labelled: float | None) -> Caveat | None:
    """Why a window with so few labels is not judged; None when it is."""
    share, past = counts.labelled_share, labelled_share(reference)
    needed = needed_share(min_labelled, past, dated=reference.labels is not None)
    if share >= needed or not counts.unlabelled:
        return None
    return Caveat(
        "too-few-labels",
        labelled_share=share,
        needed=needed,
        labelled=counts.used + counts.bad_label,
        unlabelled=counts.unlabelled,
        reference_share=past,
    )


def shares_differ(reference: Reference, counts: Counts) -> tuple[Caveat, ...]:
    """That the window and the reference are labelled to different shares, when they are."""
    share, past = counts.labelled_share, labelled_share(reference)
    if past is None or not counts.used or abs(share - past) <= ALIKE:
        return ()
    return (Caveat("labelled-shares-differ", labelled_share=share, reference_share=past),)


def labelled_share(reference: Reference) -> float | None:
    """Share of the reference's rows that have a label; None when an earlier version froze it."""
    if not reference.windows or any("unlabelled" not in window for window in reference.windows):
        return None
    labelled = sum(window["n_pos"] + window["n_neg"] for window in reference.windows)
    total = labelled + sum(window["unlabelled"] for window in reference.windows)
    return labelled / total if total else None


def forecasts(
    found: Estimate, rules: Mapping[str, Rule], reference: Reference
) -> dict[str, ForecastInterval]:
    """The forecast intervals of an estimate, by rule, calibrated on estimates at the same label age.

    How far the estimates of the reference windows at that age, each with the p of the others, lay from the
    mean of the others takes the place of how far their final AUROCs lay from that of the others. Distances
    and bounds are those of the reference's rows, carried to that mean. A window is taken to have the noise
    of all its rows with labels, which is more than an estimate has: a small one gets an interval that is
    rather too wide.
    """
    if found.lacks or reference.cells is None:
        return {}
    intervals = {}
    for name, full in reference.forecasts.items():
        rule = rules.get(name)
        if isinstance(rule, Forecast) and rule.given is None:
            intervals[name] = _at_this_age(name, found, rule, reference, full)
    return intervals


def _worth(found: Estimate, rule: Forecast, reference: Reference) -> NDArray[np.float64]:
    """(n,): what each past estimate counts."""
    if rule.half_life is None:
        return np.ones(len(found.reading.estimates))
    windows = [Window.from_dict(reference.windows[number]) for number in found.reading.numbers]
    return np.array(weights(windows, rule.half_life))


def _at_this_age(
    name: str, found: Estimate, rule: Forecast, reference: Reference, full: ForecastInterval
) -> ForecastInterval:
    reading, cells = found.reading, reference.cells
    assert cells is not None
    past, worth = np.array([each.auc for each in reading.estimates]), _worth(found, rule, reference)
    centre = float(np.average(past, weights=worth))
    others = (worth @ past - worth * past) / (worth.sum() - worth)
    at = full
    if full.method == "calibrated":
        pairs = zip(past.tolist(), others.tolist(), strict=True)
        distances = np.array([auc_distance(cells, carried(*pair, area(cells))) for pair in pairs])
        draft = replace(
            full,
            batch=found.sizes,
            n_windows=len(past),
            window_distances=tuple(distances.tolist()),
            window_shifts=tuple((np.sign(past - others) * np.sqrt(2 * distances)).tolist()),
            window_n_pos=tuple(sample.n_pos for sample in reading.finals),
            window_n_neg=tuple(sample.n_neg for sample in reading.finals),
            weights=() if rule.half_life is None else tuple(worth.tolist()),
            set_aside=(),
        )
        if full.season:
            windows = [Window.from_dict(reference.windows[number]) for number in reading.numbers]
            draft = with_season(draft, [day_of(each) for each in windows])
        at = as_judged(name, reference, finished(draft, cells, reference.bounds))
    low, high = carried(at.low, at.auc, centre), carried(at.high, at.auc, centre)
    return replace(
        at,
        auc=centre,
        low=low,
        high=high,
        seasonal_auc=None if at.seasonal_auc is None else carried(at.seasonal_auc, at.auc, centre),
        sampling_low=None,  # known of a window with all its labels only
        sampling_high=None,
        sampling_distance=None,
        drift_distance=None,
    )


def verdict(
    name: str, rule: Rule, found: Estimate, reference: Reference, intervals: Mapping[str, ForecastInterval]
) -> Verdict | None:
    """What a rule finds on an estimate; None for a rule that does not need it."""
    needs_all = Caveat("rule-needs-all-labels", labelled_share=found.found.labelled_share)
    if isinstance(rule, Cost | Calibration):
        return Verdict.lacking(name, rule.kind, needs_all)
    if isinstance(rule, Challenger) or not isinstance(rule, Forecast | Floor | Drop):
        return None
    stated = details(found)
    if found.lacks or found.errors is None:
        return Verdict.lacking(name, rule.kind, *found.lacks)
    if isinstance(rule, Forecast):
        if name not in intervals:
            return Verdict.lacking(name, rule.kind, needs_all)
        return _forecast(name, found, intervals[name], stated)
    if isinstance(rule, Floor):
        low, high = found.errors.ci(found.found, rule.confidence_level)
        return Verdict(
            rule=name,
            kind="floor",
            outcome=Status.DEGRADED if high < rule.value else Status.OK,
            estimate=found.found.auc,
            low=low,
            high=high,
            confidence_level=rule.confidence_level,
            limit=(rule.value, None),
            margin=high - rule.value,
            details=stated,
        )
    return _drop(name, rule, found, reference, stated)


def _forecast(name: str, found: Estimate, interval: ForecastInterval, stated: dict[str, Any]) -> Verdict:
    auc = found.found.auc
    below, above = auc < interval.low, auc > interval.high
    return Verdict(
        rule=name,
        kind="forecast",
        outcome=Status.DEGRADED if below else Status.IMPROVED if above else Status.OK,
        estimate=auc,
        confidence_level=interval.achieved_level,
        limit=(interval.low, interval.high),
        margin=interval.margin(auc),
        details=stated
        | {"method": interval.method, "sampling_low": None, "sampling_high": None}
        | of_season(interval)
        | of_model(interval),
    )


def _drop(name: str, rule: Drop, found: Estimate, reference: Reference, stated: dict[str, Any]) -> Verdict:
    assert found.errors is not None
    if reference.auc is None:
        return Verdict.lacking(name, rule.kind, *(reference.caveats or (Caveat("segment-not-in-reference"),)))
    past = reference.auc
    low, high = found.errors.ci(found.found, rule.confidence_level, minus=past.auc, minus_se=past.se)
    reach = scatter_reach(name, rule, reference, found.sizes)
    difference = found.found.auc - past.auc
    low, high = min(low, difference - reach), max(high, difference + reach)
    outcome = Status.DEGRADED if high < -rule.value else Status.IMPROVED if low > rule.value else Status.OK
    return Verdict(
        rule=name,
        kind="drop",
        outcome=outcome,
        estimate=difference,
        low=low,
        high=high,
        confidence_level=rule.confidence_level,
        limit=(-rule.value, rule.value),
        margin=high + rule.value,
        details=stated | {"auc": found.found.auc, "reference_auc": past.auc},
    )


def details(found: Estimate) -> dict[str, Any]:
    """What every verdict on an estimate states besides."""
    return {
        "label_age_days": found.age / DAY,
        "labelled_share": found.found.labelled_share,
        "labelled_auc": found.found.labelled_auc,
    }
