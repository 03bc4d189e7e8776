from __future__ import annotations

import json
from datetime import timedelta

import numpy as np
import pytest

from rocmonitor.stats import Sample, auc, partly_labelled_auc
from rocmonitor.stats.forecast.label_history import CELLS, LabelHistory, PastWindow, label_history
from rocmonitor.stats.forecast.partial_labels import PastLaw, scatter_of, slope
from rocmonitor.stats.sample import ScoreCounts

DAY = timedelta(days=1)
AGES = (0 * DAY, 10 * DAY, 30 * DAY)


class Rows:
    """A window of rows, each with the age at which its label was known; infinity for never."""

    def __init__(self, seed: int, n: int = 300, digits: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.y = rng.random(n) < 0.4
        self.s = np.round(rng.normal(self.y, 1), digits)
        self.age = np.where(rng.random(n) < 0.1, np.inf, rng.choice([0, 5, 10, 20, 30, 70], n))

    def past(self, known_for: timedelta = 90 * DAY) -> PastWindow:
        edges = [age / DAY for age in AGES]
        place = np.searchsorted(edges, self.age)
        return PastWindow(
            tuple(
                self.sample(place == k) if k < 3 else self.sample((place == 3) & (self.age < 90))
                for k in range(4)
            ),
            ScoreCounts.of(self.s[np.isinf(self.age)]),
            known_for,
        )

    def sample(self, among: np.ndarray) -> Sample:
        return Sample(self.y[among], self.s[among])


WINDOWS = [Rows(seed) for seed in range(10)]


def whole(**more: timedelta) -> LabelHistory:
    history = label_history([rows.past(**more) for rows in WINDOWS], AGES)
    assert history is not None
    return history


@pytest.mark.parametrize(("asked", "read"), [(0, 0), (4, 0), (6, 10), (12, 10), (30, 30), (500, 30)])
def test_it_is_read_at_the_nearest_age_as_if_by_hand(asked: int, read: int) -> None:
    reading = whole().at(asked * DAY)
    assert reading.age == read * DAY
    assert reading.numbers == tuple(range(10))
    known = [rows.sample(rows.age <= read) for rows in WINDOWS]
    whole_of = [rows.sample(rows.age < 90) for rows in WINDOWS]
    laws = [
        PastLaw(*(Sample.merge([*of[:at], *of[at + 1 :]]) for of in (known, whole_of))) for at in range(10)
    ]
    scatter = scatter_of([slope(*of) for of in zip(known, laws, strict=True)])
    for number, found in zip(reading.numbers, reading.estimates, strict=True):
        rows, others = WINDOWS[number], [each for each in WINDOWS if each is not WINDOWS[number]]
        late = [each.sample((each.age > read) & (each.age < 90)) for each in others]
        never = sum(np.isinf(each.age).sum() for each in others)
        all_late = Sample.merge(late)
        expected = partly_labelled_auc(
            rows.sample(rows.age <= read),
            ScoreCounts.of(rows.s[rows.age > read]),
            all_late,
            later_share=(n := all_late.n_pos + all_late.n_neg) / (n + never),
            past=laws[number]._replace(scatter=scatter),
        )
        assert found.law_se == pytest.approx(expected.law_se, abs=1e-12)
        assert found.auc == pytest.approx(expected.auc, abs=1e-12)
        assert found.label_se == pytest.approx(expected.label_se, abs=1e-12)
        final = rows.sample(rows.age < 90)
        assert auc(reading.finals[number]).auc == pytest.approx(auc(final).auc)


def share_at(days: int, windows: list[Rows]) -> float:
    """The share of all rows that have a label by then, counted by hand."""
    return float(np.mean([np.mean(rows.age <= days) for rows in windows]))


@pytest.mark.parametrize("days", [0, 10, 30])
def test_it_is_read_at_the_age_that_had_such_a_share_of_labels(days: int) -> None:
    history, share = whole(), share_at(days, WINDOWS)
    for near in (share - 0.02, share, share + 0.02):
        assert history.at_share(near) is history.at(days * DAY)


def test_more_labels_than_ever_are_read_at_the_last_age_at_which_some_were_to_come() -> None:
    complete = [Rows(seed) for seed in range(10)]
    for rows in complete:
        rows.age = np.minimum(rows.age, 25.0)  # nothing comes after 30 days
    history = label_history([rows.past() for rows in complete], AGES)
    assert history is not None
    assert history.at(30 * DAY).later_share == 0
    assert history.at_share(1.0).age == 10 * DAY


def test_it_survives_json() -> None:
    history = whole()
    again = LabelHistory.from_dict(json.loads(json.dumps(history.to_dict(), allow_nan=False)))
    assert again.to_dict() == history.to_dict()
    assert [each.auc for each in again.at(10 * DAY).estimates] == [
        each.auc for each in history.at(10 * DAY).estimates
    ]


def test_a_window_that_was_read_too_early_is_left_out() -> None:
    parts = [rows.past(known_for=5 * DAY if number < 3 else 90 * DAY) for number, rows in enumerate(WINDOWS)]
    history = label_history(parts, AGES)
    assert history is not None
    assert history.at(0 * DAY).numbers == tuple(range(10))
    assert history.at(10 * DAY).numbers == tuple(range(3, 10))


def test_many_scores_are_joined_and_hardly_move_an_auc() -> None:
    windows = [Rows(seed, n=2000, digits=6) for seed in range(4)]
    history = label_history([rows.past() for rows in windows], AGES)
    assert history is not None
    assert len(history.score) <= CELLS
    for rows, final in zip(windows, history.at(10 * DAY).finals, strict=True):
        assert auc(final).auc == pytest.approx(auc(rows.sample(rows.age < 90)).auc, abs=2e-4)


def test_without_labels_there_is_no_history() -> None:
    empty = PastWindow((Sample([], []),), ScoreCounts.of(np.array([1.0, 2.0])), DAY)
    assert label_history([empty] * 3, AGES) is None


def test_when_no_label_came_later_nothing_is_to_be_expected() -> None:
    parts = [PastWindow((rows.sample(rows.age < 90),), rows.past().unlabelled, 90 * DAY) for rows in WINDOWS]
    history = label_history(parts, AGES)
    assert history is not None
    reading = history.at(10 * DAY)
    assert reading.later_share == 0
    assert [each.auc for each in reading.estimates] == [auc(each).auc for each in reading.finals]


def cells(sample: Sample) -> Sample:
    """The sample on cells of a tenth, with the lowest and the highest score in each."""
    at = np.floor(sample.score * 10)
    starts = np.flatnonzero(np.diff(at, prepend=-np.inf)) if len(at) else np.zeros(0, dtype=np.intp)
    if not len(starts):
        return sample
    last = np.append(starts[1:], len(at)) - 1
    counts = (np.add.reduceat(each, starts) for each in (sample.pos, sample.neg))
    return Sample.from_cells(sample.score[starts], sample.score[last], *counts)


def test_windows_of_cells_are_put_on_the_cells_of_all() -> None:
    fine = [Rows(seed, digits=3) for seed in range(10)]
    past = [rows.past() for rows in fine]
    condensed = [each._replace(by_age=tuple(map(cells, each.by_age))) for each in past]
    history = label_history(condensed, AGES)
    assert history is not None
    finals = history.at(500 * DAY).finals
    by_tenths = [rows.sample(rows.age < 90) for rows in fine]
    for found, exact in zip(finals, by_tenths, strict=True):
        tenth = np.floor(exact.score * 10)
        of_cell = np.floor(found.score * 10)
        for own, counts in ((found.pos, exact.pos), (found.neg, exact.neg)):
            assert {k: own[of_cell == k].sum() for k in np.unique(tenth)} == {
                k: counts[tenth == k].sum() for k in np.unique(tenth)
            }
