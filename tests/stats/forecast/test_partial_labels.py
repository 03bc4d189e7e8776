from __future__ import annotations

import math
from typing import Any

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import Sample, auc, expected_auc, partly_labelled_auc
from rocmonitor.stats.forecast.partial_labels import share_of_positives

EMPTY = Sample([], [])
Rows = tuple[np.ndarray, np.ndarray]


def isotonic(late: Rows, score: float) -> float:
    """The min-max formula: max over starts of the min over ends of the mean of the labels between."""
    y, s = late
    known = np.unique(s)
    at = known[min(int(np.searchsorted(known, score)), len(known) - 1)]
    return max(
        min(y[(s >= low) & (s <= high)].mean() for high in known[known >= at]) for low in known[known <= at]
    )


@given(samples(), st.lists(st.integers(-40, 40).map(lambda k: k / 8), min_size=1, max_size=6))
def test_the_share_of_positives_is_the_min_max_formula(late: Rows, scores: list[float]) -> None:
    found = share_of_positives(Sample(*late), np.array(scores))
    assert found == pytest.approx([isotonic(late, score) for score in scores], abs=1e-12)


@given(samples(), samples(), samples(), st.sampled_from([1.0, 0.75, 0.5]))
def test_pairs_counted_one_by_one(labelled: Rows, others: Rows, late: Rows, share: float) -> None:
    """The definition: a sum over all pairs of rows, each with its two weights."""
    y, s = labelled
    u = others[1]
    found = partly_labelled_auc(Sample(y, s), (u, np.ones(len(u))), Sample(*late), later_share=share)
    p = np.array([isotonic(late, score) for score in u])
    score = np.concatenate([s, u])
    pos = np.concatenate([y, share * p])
    neg = np.concatenate([1 - y, share * (1 - p)])
    wins = np.array([[float(a > b) + (a == b) / 2 for b in score] for a in score])
    assert found.auc == pytest.approx(pos @ wins @ neg / (pos.sum() * neg.sum()), abs=1e-12)
    assert found.prevalence == pytest.approx(pos.sum() / (pos.sum() + neg.sum()))
    assert found.labelled_auc == pytest.approx(oracle.auc(y, s))
    assert found.labelled_share == pytest.approx(len(s) / len(score))
    assert (found.n_pos, found.n_neg, found.n_unlabelled) == (y.sum(), (1 - y).sum(), len(u))


@given(samples(min_per_class=2), samples())
def test_once_all_labels_are_in_it_is_the_realised_auc(labelled: Rows, late: Rows) -> None:
    sample = Sample(*labelled)
    none = (np.zeros(0), np.zeros(0, dtype=int))
    for unlabelled, share in ((none, 1.0), ((late[1], np.ones(len(late[1]), dtype=int)), 0.0)):
        found = partly_labelled_auc(sample, unlabelled, Sample(*late), later_share=share)
        exact = auc(sample)
        assert found.auc == exact.auc == found.labelled_auc
        assert found.label_se == 0
        assert found.sampling_se == pytest.approx(exact.se, abs=1e-12)
    alone = partly_labelled_auc(sample, none, EMPTY)
    assert (alone.auc, alone.labelled_share, alone.caveats) == (auc(sample).auc, 1.0, ())


@given(samples(), samples())
def test_with_no_label_it_is_the_expected_auc(others: Rows, late: Rows) -> None:
    u = others[1]
    if _open(u, late):
        found = partly_labelled_auc(EMPTY, (u, np.ones(len(u))), Sample(*late), later_share=0.5)
        expected = expected_auc(Sample(*late), u)
        assert found.auc == pytest.approx(expected.auc, abs=1e-12)
        assert found.prevalence == pytest.approx(expected.prevalence, abs=1e-12)
        assert found.outside_share == expected.outside_share


@given(samples(), samples())
def test_groups_of_rows_are_rows(others: Rows, late: Rows) -> None:
    u = others[1]
    distinct, count = np.unique(u, return_counts=True)
    rows = partly_labelled_auc(EMPTY, (u, np.ones(len(u))), Sample(*late)) if _open(u, late) else None
    if rows is not None:
        groups = partly_labelled_auc(EMPTY, (distinct, count), Sample(*late))
        assert groups.auc == pytest.approx(rows.auc, abs=1e-12)
        assert groups.label_se == pytest.approx(rows.label_se, abs=1e-12)
        assert groups.labelled_auc is None


def _open(u: np.ndarray, late: Rows) -> bool:
    p = share_of_positives(Sample(*late), u)
    return 0 < p.sum() < len(u)


def test_what_missing_labels_leave_open_is_the_scatter_of_the_final_auc() -> None:
    rng = np.random.default_rng(1)
    late = _drawn(rng, 20_000)
    y, s = _drawn(rng, 4_000)
    u = _drawn(rng, 6_000)[1]
    found = partly_labelled_auc(Sample(y, s), (u, np.ones(len(u))), Sample(*late))
    p = share_of_positives(Sample(*late), u)
    finals = [
        auc(np.concatenate([y, rng.random(len(u)) < p]), np.concatenate([s, u])).auc for _ in range(300)
    ]
    assert np.std(finals) == pytest.approx(found.label_se, rel=0.15)
    assert np.mean(finals) == pytest.approx(found.auc, abs=5 * found.label_se / math.sqrt(300))


def _drawn(rng: np.random.Generator, n: int) -> Rows:
    y = (rng.random(n) < 0.3).astype(int)
    return y, np.round(rng.normal(y, 1.0), 2)


def test_labels_that_depend_on_the_score_bias_the_labelled_rows_alone() -> None:
    rng = np.random.default_rng(2)

    def known(y: np.ndarray, s: np.ndarray) -> np.ndarray:
        return rng.random(len(y)) < np.where(s > 0.5, 0.9, 0.2)

    past, (y, s) = _drawn(rng, 200_000), _drawn(rng, 200_000)
    late = ~known(*past)
    has = known(y, s)
    found = partly_labelled_auc(
        Sample(y[has], s[has]),
        (s[~has], np.ones((~has).sum())),
        Sample(past[0][late], past[1][late]),
    )
    final = auc(y, s).auc
    assert abs(found.labelled_auc - final) > 0.02
    assert found.auc == pytest.approx(final, abs=0.005)


def test_scores_beyond_the_past_rows_are_told() -> None:
    late = Sample([0, 1, 0, 1], [1, 1, 2, 2])
    found = partly_labelled_auc(EMPTY, ([0, 1, 3], [1, 2, 1]), late)
    [caveat] = found.caveats
    assert (caveat.code, caveat.values["rows"]) == ("scores-outside-reference", 2)
    assert found.outside_share == 0.5


@pytest.mark.parametrize(
    ("late", "unlabelled", "share", "message"),
    [
        (Sample([1, 1], [1, 2]), ([1], [1]), 1.0, "both classes"),
        (EMPTY, ([1], [1]), 1.0, "both classes"),
        (Sample([0, 1], [1, 2]), ([1], [4]), 1.0, "only one class is expected"),
        (Sample([0, 1], [1, 2]), ([], []), 1.0, "wait for more labels"),
    ],
)
def test_what_cannot_be_estimated(late: Sample, unlabelled: Rows, share: float, message: str) -> None:
    with pytest.raises(DegenerateDataError, match=message):
        partly_labelled_auc(EMPTY, unlabelled, late, later_share=share)


@pytest.mark.parametrize(
    ("unlabelled", "share", "message"),
    [
        (([math.nan], [1]), 1.0, "unlabelled must be finite"),
        (([1.0], [0.5]), 1.0, "whole numbers"),
        (([1.0], [1, 2]), 1.0, "equal length"),
        (([1.0], [1]), 1.5, "later_share"),
        (([1.0], [1]), math.nan, "later_share"),
    ],
)
def test_bad_input(unlabelled: Rows, share: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        partly_labelled_auc(EMPTY, unlabelled, Sample([0, 1], [1, 2]), later_share=share)
