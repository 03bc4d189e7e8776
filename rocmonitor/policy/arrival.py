"""Windows whose labels are not all in: what they show, and what the rules may say of it.

With a history of the reference's labels a window is estimated and compared with what the reference windows
showed at the same label age; where labels come sooner or later now, when they had as many labels. Without one
only the shares of labelled rows can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from statistics import fmean

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.evaluation import Counts
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference, ages
from rocmonitor.policy.windows import DAY, Window, day_of
from rocmonitor.rules import Rule
from rocmonitor.rules.evidence import Evidence, PartOfLabels, Past
from rocmonitor.rules.forecast import window_weights
from rocmonitor.stats import (
    ForecastInterval,
    PartlyLabelledAuc,
    Sample,
    WindowAuc,
    partly_labelled_auc,
)
from rocmonitor.stats.forecast.kld import area
from rocmonitor.stats.forecast.label_history import Reading
from rocmonitor.stats.forecast.partial_labels import LabelErrors, label_errors
from rocmonitor.stats.sample import ScoreCounts

MIN_LABELLED = 0.5
"""Share of labelled rows below which a window is not judged, unless the reference has as few."""

ALIKE = 0.1
"""Shares of labelled rows that differ by more are told apart."""

LEVEL = 0.95
"""The level of the interval for the final AUROC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaiting:
    """The rows of a window that wait for a label."""

    unlabelled: ScoreCounts  # champion scores
    age: timedelta  # from the end of the window to the instant of judging
    min_labelled: float | None = None  # as configured


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The AUROC that a window will have once its labels are in.

    `reading` is the reference at the age of the labels, or when it had such a share of them. `errors` says
    how far such estimates of the reference windows were off; it is None, with a reason in `lacks`, when
    nothing can be compared at this age.
    """

    partly: PartlyLabelledAuc
    age: timedelta
    reading: Reading
    errors: LabelErrors | None
    lacks: tuple[Caveat, ...] = ()  # why no rule can be applied
    doubts: tuple[Caveat, ...] = ()

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics of an estimate.

        ``estimate/auc``, the AUROC that the window will have, with ``estimate/auc_low`` and
        ``estimate/auc_high``, between which it will lie; ``estimate/label_age_days``,
        ``estimate/labelled_share`` and ``estimate/reference_labelled_share`` (the mean of the reference
        windows at that age). ``champion/auc`` with ``_se``, ``_low``, ``_high``: the estimate as one of
        the population's AUROC, which the rules judge.
        """
        values = {
            "auc": self.partly.auc,
            "label_age_days": self.age / DAY,
            "labelled_share": self.partly.labelled_share,
        }
        if self.errors is not None:
            values["auc_low"], values["auc_high"], _ = self.errors.final_interval(self.partly, LEVEL)
        if shares := [past.labelled_share for past in self.reading.estimates]:
            values["reference_labelled_share"] = fmean(shares)
        named = {f"estimate/{name}": value for name, value in values.items()}
        if self.errors is not None:
            low, high = self.errors.ci(self.partly, LEVEL)
            ends = {"": self.partly.auc, "_se": self.errors.se(self.partly), "_low": low, "_high": high}
            named |= {f"champion/auc{end}": value for end, value in ends.items()}
        return named

    @property
    def sizes(self) -> tuple[int, int]:
        """Positives and negatives expected once all labels are in."""
        partly = self.partly
        rows = partly.n_pos + partly.n_neg + partly.later_share * partly.n_unlabelled
        n_pos = max(1, round(partly.prevalence * rows))
        return n_pos, max(1, round(rows) - n_pos)

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """The caveats of missing labels, and of the estimate that replaces them."""
        level = None
        values = self.metrics
        if self.errors is not None:
            level = self.errors.final_interval(self.partly, LEVEL)[2]
        awaited = Caveat(
            "labels-awaited",
            labelled_share=self.partly.labelled_share,
            label_age_days=self.age / DAY,
            auc=self.partly.auc,
            low=values.get("estimate/auc_low"),
            high=values.get("estimate/auc_high"),
            confidence_level=level,
            labelled_auc=self.partly.labelled_auc,
        )
        return (awaited, *self.partly.caveats, *self.doubts, *self.lacks)


def estimate(reference: Reference, champion: Sample, awaiting: Awaiting) -> Estimate | Caveat | None:
    """Return the estimate of a window some of whose labels are missing.

    None when no more labels will come, or nothing is known of when they come; a caveat that says why nothing
    can be estimated.
    """
    if reference.labels is None or not awaiting.unlabelled.rows:
        return None
    by_age = reference.labels.at(awaiting.age)
    if not by_age.later_share:
        return None
    shares = [past.labelled_share for past in by_age.estimates]
    try:
        partly = _partly(champion, awaiting, by_age)
        reading, moved = by_age, 0.0
        otherwise = bool(shares) and not min(shares) <= partly.labelled_share <= max(shares)
        if otherwise:
            reading = reference.labels.at_share(partly.labelled_share)
            before, partly = partly, _partly(champion, awaiting, reading)
            moved = abs(_unchanged(partly) - _unchanged(before))
            moved += _pace_error(partly, champion, awaiting, reading)
    except DegenerateDataError as error:
        return Caveat("labels-not-estimated", why=str(error))
    errors, lacks, doubts = None, list[Caveat](), list[Caveat]()
    known_for, complete = reference.labels.known_for, reference.labels.ages[-1]
    if still := sum(known_for[number] < complete for number in reading.numbers):
        doubts.append(Caveat("reference-labels-open", windows=still, n_windows=len(reading.numbers)))
    try:
        errors = label_errors(reading.estimates, [area(sample) for sample in reading.finals])
        errors = replace(errors, arrival=moved)
    except DegenerateDataError as error:
        lacks.append(Caveat("not-computed", why=str(error)))
    if otherwise:
        # It is judged all the same when its missing labels leave no more open than sampling does once they
        # are all in, for then the reference need not vouch for more, and at the latest with the share with
        # which it would be judged if nothing were known of when labels come. Without labelled rows of both
        # classes there is nothing but the scores, and these never make a window ok.
        enough = needed_share(awaiting.min_labelled, labelled_share(reference), dated=False)
        borne = errors is None or (
            partly.labelled_auc is not None
            and (partly.labelled_share >= enough or errors.label_error(partly) <= partly.sampling_se)
        )
        caveat = Caveat(
            "labels-arrive-otherwise",
            labelled_share=partly.labelled_share,
            label_age_days=awaiting.age / DAY,
            lowest=min(shares),
            highest=max(shares),
            read_at_days=reading.age / DAY if borne else None,
        )
        (doubts if borne else lacks).insert(0, caveat)
    return Estimate(
        partly=partly,
        age=awaiting.age,
        reading=reading,
        errors=errors,
        lacks=tuple(lacks),
        doubts=tuple(doubts),
    )


def _pace_error(partly: PartlyLabelledAuc, champion: Sample, awaiting: Awaiting, reading: Reading) -> float:
    """Return what an estimate may be off by, because the reading has other shares of labels.

    With fewer labels than there, the missing rows are its late ones and some of all; in between the error
    grows with the share of the latter, as of one that gave all missing rows the P(y | score) of all rows.
    With more, the missing rows are a part of its late ones, and it is taken to grow alike.
    """
    share = fmean(past.labelled_share for past in reading.estimates) if reading.estimates else 1.0
    gap = partly.labelled_share - share
    if not gap:
        return 0.0
    part = gap / (1 - share) if gap > 0 else -gap / share
    of_all = _partly(champion, awaiting, reading._replace(late=Sample.merge(reading.finals)))
    return part * abs(_unchanged(of_all) - _unchanged(partly))


def _unchanged(partly: PartlyLabelledAuc) -> float:
    """Return the estimate by the P(y | score) of the past: a change of it is none of the pace of labels."""
    return partly.auc - partly.law_change


def _partly(champion: Sample, awaiting: Awaiting, reading: Reading) -> PartlyLabelledAuc:
    return partly_labelled_auc(
        champion,
        awaiting.unlabelled,
        reading.late,
        later_share=reading.later_share,
        past=reading.past,
    )


def needed_share(min_labelled: float | None, past: float | None, *, dated: bool) -> float:
    """Return the share of labelled rows below which a window is not judged.

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
    """Warn of different shares of labelled rows in window and reference."""
    share, past = counts.labelled_share, labelled_share(reference)
    if past is None or not counts.used or abs(share - past) <= ALIKE:
        return ()
    return (Caveat("labelled-shares-differ", labelled_share=share, reference_share=past),)


def labelled_share(reference: Reference) -> float | None:
    """Share of the reference's rows that have a label; None where they were not counted."""
    if not reference.windows or any("unlabelled" not in window for window in reference.windows):
        return None
    labelled = sum(window["n_pos"] + window["n_neg"] for window in reference.windows)
    total = labelled + sum(window["unlabelled"] for window in reference.windows)
    return labelled / total if total else None


def forecasts(
    estimated: Estimate, rules: Mapping[str, Rule], ranges: NormalRanges, day: float | None = None
) -> dict[str, ForecastInterval]:
    """Return the forecast intervals of an estimate by rule, calibrated on estimates at its label age."""
    reference = ranges.reference
    if estimated.lacks or reference.cells is None:
        return {}
    windows, intervals = [Window.from_dict(reference.learned[at]) for at in estimated.reading.numbers], {}
    days = [day_of(window) for window in windows]
    for name, full in reference.fits.items():
        if (rule := rules.get(name)) is None:
            continue
        weights = window_weights(rule, ages(windows))
        fit, centre = estimated.reading.fit(
            full, reference.cells, batch=estimated.sizes, weights=weights, days=days
        )
        pace = 0.0 if estimated.errors is None else estimated.errors.arrival
        intervals[name] = ranges.range(name, fit.batch, day=day, fit=fit, around=centre, scatter=pace)
    return intervals


def evidence(
    estimated: Estimate,
    intervals: Mapping[str, ForecastInterval],
    ranges: NormalRanges,
    past: Past | None,
) -> Evidence:
    """Return the evidence of a window whose AUROC is estimated."""
    return Evidence(
        law=None
        if estimated.errors is None
        else PartOfLabels(estimated.partly, estimated.errors, estimated.sizes),
        now=WindowAuc(estimated.partly.auc, estimated.partly.n_pos, estimated.partly.n_neg),
        sample=None,  # rules that look at rows need all labels
        forecasts=intervals,
        charts=ranges.charts,
        derived=ranges.derived,
        past=past,
        partly=Caveat("rule-needs-all-labels", labelled_share=estimated.partly.labelled_share),
        lacks=estimated.lacks,
        stated={
            "label_age_days": estimated.age / DAY,
            "labelled_share": estimated.partly.labelled_share,
            "labelled_auc": estimated.partly.labelled_auc,
        },
    )
