"""When the labels of the reference became known: kept as counts, so that it can be read at any label age."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats.condensed import aligned
from rocmonitor.stats.forecast.interval import ForecastFit, season_of
from rocmonitor.stats.forecast.kld import area, auc_distance
from rocmonitor.stats.forecast.partial_labels import (
    PartlyLabelledAuc,
    PastLaw,
    partly_labelled_auc,
    scatter_of,
    slope,
)
from rocmonitor.stats.forecast.windows import carried
from rocmonitor.stats.result import Result
from rocmonitor.stats.rows import Counts, Floats
from rocmonitor.stats.sample import Sample, ScoreCounts

CELLS = 200  # scores that are told apart: more do not change an AUC by 0.0001


class PastWindow(NamedTuple):
    """A reference window as it was read: by age of the label, and how old its labels can be."""

    by_age: Sequence[Sample]
    unlabelled: ScoreCounts
    known_for: timedelta
    unusable: float = 0.0


class Reading(NamedTuple):
    """The reference at one label age, each window as it was when it was so old."""

    age: timedelta  # the age that was read: of those kept, the one nearest to what was asked for
    late: Sample  # all rows that had no label at that age and got one later
    past: PastLaw | None  # the laws of the other rows, and of all; None where these have no label
    later_share: float  # the share of the rows without a label at that age that got one later
    numbers: tuple[int, ...]  # positions in the reference of the windows that could be estimated
    # Of these windows at that age, each with `late`, `past` and `later_share` of the others.
    estimates: tuple[PartlyLabelledAuc, ...]
    finals: tuple[Sample, ...]  # the same windows with all their labels, on joined scores

    def fit(
        self,
        full: ForecastFit,
        cells: Sample,
        *,
        batch: tuple[int, int],
        weights: Sequence[float] | None,
        days: Sequence[float],
    ) -> tuple[ForecastFit, float]:
        """Return the fit by estimates at this age, and the AUC that its intervals lie around.

        How far the estimates of the windows lay from the mean of the others takes the place of how far their
        final AUCs did. A window is taken to have the noise of all its rows with labels, which is more than an
        estimate has.

        full: By the final AUCs. One that is not calibrated is unchanged.
        cells: What `condensed` left of the reference.
        batch: Positives and negatives of the coming window in the end.
        weights, days: Of the windows, as in `forecast_fit`.
        """
        past = np.array([estimate.auc for estimate in self.estimates])
        worth = np.ones(len(past)) if weights is None else np.array(weights)
        centre = float(np.average(past, weights=worth))
        if full.method != "calibrated":
            return full, centre
        others = (worth @ past - worth * past) / (worth.sum() - worth)
        pairs = zip(past.tolist(), others.tolist(), strict=True)
        distances = np.array([auc_distance(cells, carried(*pair, area(cells))) for pair in pairs])
        shifts = tuple((np.sign(past - others) * np.sqrt(2 * distances)).tolist())
        wave, rests = season_of(shifts, days if full.season else None, inside=full.inside)
        fit = replace(
            full,
            batch=batch,
            window_distances=tuple(distances.tolist()),
            window_shifts=shifts,
            window_n_pos=tuple(sample.n_pos for sample in self.finals),
            window_n_neg=tuple(sample.n_neg for sample in self.finals),
            weights=() if weights is None else tuple(weights),
            set_aside=(),
            season=wave,
            window_rests=rests,
            usual=None,
        )
        return fit, centre


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelHistory(Result):
    """Rows of the reference by window, age of the label, class and cell of the score."""

    score: NDArray[np.float64]  # (c,): The highest score of each cell
    # Increasing, after the end of a window. Age class k holds labels known by ``ages[k]`` and not by the one
    # before; the last class, those known later.
    ages: tuple[timedelta, ...]
    # How long after its end each window was read: what its labels did later is not known.
    known_for: tuple[timedelta, ...]
    # (k,): Labelled rows where there are any; the place counts windows x age classes x (negative, positive) x
    # cells.
    place: Counts
    rows: Counts
    waiting_place: Counts  # (m,): Rows that had no label when the reference was read, by window x cell
    waiting_rows: Counts
    _read: dict[int, Reading] = field(default_factory=dict, repr=False)

    def at(self, age: timedelta) -> Reading:
        """Return the reference at a label age, computed once for each age that is kept."""
        nearest = min(range(len(self.ages)), key=lambda number: abs(self.ages[number] - age))
        if nearest in self._read:
            return self._read[nearest]
        cells, windows, classes = len(self.score), len(self.known_for), len(self.ages) + 1
        left, cell = np.divmod(self.place, cells)
        left, label = np.divmod(left, 2)
        window, age_class = np.divmod(left, classes)
        at = (age_class > nearest, window, label, cell)
        by_time = np.zeros((2, windows, 2, cells), dtype=np.int64)  # known by then, later
        np.add.at(by_time, tuple(np.asarray(index, dtype=np.intp) for index in at), self.rows)
        waiting = np.zeros((windows, cells), dtype=np.int64)
        waiting.reshape(-1)[self.waiting_place] = self.waiting_rows
        known, late = by_time
        total = late.sum(axis=0)
        read = [known_for >= self.ages[nearest] for known_for in self.known_for]
        whole = known.sum(axis=0)
        law, *others = (  # of all windows, and of the others of each; None if none was known at that age
            PastLaw(self._sample(early), self._sample(early + later)) if early.any() else None
            for early, later in [(whole, total), *zip(whole - known, total - late, strict=True)]
        )
        scatter = scatter_of(
            [
                slope(self._sample(known[at]), other)
                for at, other in enumerate(others)
                if read[at] and other is not None and known[at].sum(axis=1).all()
            ]
        )
        law, *others = (past and past._replace(scatter=scatter) for past in (law, *others))
        estimates, finals = {}, []  # each window with the p of the others
        for number in np.flatnonzero(read).tolist():
            final, rest = known[number] + late[number], total - late[number]
            if (final.sum(axis=1) == 0).any():
                continue
            with suppress(DegenerateDataError):
                estimates[number] = partly_labelled_auc(
                    self._sample(known[number]),
                    (self.score, late[number].sum(axis=0) + waiting[number]),
                    self._sample(rest),
                    later_share=_share(int(rest.sum()), int(waiting.sum()) - int(waiting[number].sum())),
                    past=others[number],
                )
                finals.append(self._sample(final))
        reading = Reading(
            age=self.ages[nearest],
            late=self._sample(total),
            past=law,
            later_share=_share(int(total.sum()), int(waiting.sum())),
            numbers=tuple(estimates),
            estimates=tuple(estimates.values()),
            finals=tuple(finals),
        )
        self._read[nearest] = reading
        return reading

    def at_share(self, share: float) -> Reading:
        """Return the reference at the age at which about such a share of its rows had a label.

        Of the ages at which some labels were still to come, or the first one.
        """
        by_window, rows, old = self._known()
        known = (by_window[:, :-1] * old).sum(axis=0)
        total = (rows[:, np.newaxis] * old).sum(axis=0)
        later = (by_window[:, -1:] * old).sum(axis=0) - known
        shares = np.where(later > 0, known / np.maximum(total, 1), math.inf)
        return self.at(self.ages[int(np.argmin(np.abs(shares - share)))])

    def window_shares(self) -> list[tuple[timedelta, list[float]]]:
        """Return each age with the shares of labelled rows of the windows that were known that long."""
        known, rows, old = self._known()
        old = old & (rows > 0)[:, np.newaxis]
        shares = known[:, :-1] / np.maximum(rows, 1)[:, np.newaxis]
        return [(age, shares[old[:, place], place].tolist()) for place, age in enumerate(self.ages)]

    def _known(self) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return labelled rows by window and age (the last of all), all rows, and which were known when."""
        cells, classes, windows = len(self.score), len(self.ages) + 1, len(self.known_for)
        place = self.place // (2 * cells)
        by_age = np.bincount(place, weights=self.rows, minlength=windows * classes)
        known = by_age.reshape(windows, classes).cumsum(axis=1)
        waiting = np.bincount(self.waiting_place // cells, weights=self.waiting_rows, minlength=windows)
        old = np.array([[length >= age for age in self.ages] for length in self.known_for], dtype=bool)
        return known, known[:, -1] + waiting, old.reshape(windows, len(self.ages))

    def _sample(self, counts: Counts) -> Sample:
        """Return the sample of negatives and positives by cell, shape (2, c)."""
        return Sample.from_counts(self.score, counts[1], counts[0])


def label_history(windows: Sequence[PastWindow], ages: Sequence[timedelta]) -> LabelHistory | None:
    """Return the history of the windows of a reference; None when it has no labelled row.

    At most 2 x `CELLS` x (ages + 1) numbers a window, and no more than it has distinct rows.
    """
    samples = [sample for window in windows for sample in window.by_age if len(sample.score)]
    if not samples:
        return None
    whole = Sample.merge(samples)
    score = whole.score
    if len(score) > CELLS:
        mass = whole.pos / max(whole.n_pos, 1) + whole.neg / max(whole.n_neg, 1)
        ends = np.searchsorted(np.cumsum(mass), np.arange(1, CELLS + 1) / CELLS * mass.sum() * (1 - 1e-12))
        score = np.asarray(score[np.unique(np.minimum(ends, len(mass) - 1))])
    shape = (len(windows), len(ages) + 1, 2, len(score))
    known, waiting = np.zeros(shape[1:], dtype=np.int64), np.zeros((len(windows), len(score)), dtype=np.int64)
    place, rows, last = [], [], len(score) - 1
    for number, window in enumerate(windows):
        known[:] = 0
        for age, sample in enumerate(aligned(whole, window.by_age)):
            cell = np.minimum(np.searchsorted(score, sample.score), last)
            np.add.at(known[age, 0], cell, sample.neg)
            np.add.at(known[age, 1], cell, sample.pos)
        cell = np.minimum(np.searchsorted(score, window.unlabelled.score), last)
        np.add.at(waiting[number], cell, window.unlabelled.counts)
        seen = np.flatnonzero(known)
        place.append(seen + number * known.size)
        rows.append(known.reshape(-1)[seen])
    seen = np.flatnonzero(waiting)
    return LabelHistory(
        score=score,
        ages=tuple(ages),
        known_for=tuple(window.known_for for window in windows),
        place=np.concatenate(place).astype(np.int64),
        rows=np.concatenate(rows),
        waiting_place=seen.astype(np.int64),
        waiting_rows=waiting.reshape(-1)[seen],
    )


def _share(later: int, never: int) -> float:
    return later / (later + never) if later + never else 0.0
