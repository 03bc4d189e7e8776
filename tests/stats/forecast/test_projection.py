"""The expected AUC: against a constrained minimisation, pair loops and the minimax formula, with ties."""

import time
from fractions import Fraction

import numpy as np
import oracle
import pytest
from caveats import codes
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from stats.oracle_kld import divergence, weighted_auc
from strategies import grouped_counts

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import (
    PairedSample,
    Sample,
    auc_bounds,
    expected_auc,
    expected_auc_difference,
)
from rocmonitor.stats.forecast.projection import rising
from rocmonitor.wording.caveats import words_of

REFERENCE = Sample.from_counts([1, 2, 3, 4], [1, 3, 2, 5], [6, 4, 4, 1])


def isotonic(pos, neg):
    """By the minimax formula: max over starts of min over ends of the mean between them."""
    k = len(pos)

    def mean(a, b):
        return Fraction(int(pos[a : b + 1].sum()), int((pos + neg)[a : b + 1].sum()))

    return [max(min(mean(a, b) for b in range(i, k)) for a in range(i + 1)) for i in range(k)]


def projected(reference, rows):
    """(2, k): the projection's shares of all rows, negatives first, at the reference's scores."""
    level = np.array([float(p) for p in isotonic(reference.pos, reference.neg)])
    share = np.asarray(rows) / np.sum(rows)
    return np.stack([share * (1 - level), share * level])


def pair_loop(law):
    """AUC of shares (2, k) at increasing scores."""
    return weighted_auc(law[0] / law[0].sum(), law[1] / law[1].sum())


def random_reference(seed):
    """Up to 6 scores with ties, both classes at each, so that every law of the scores is near some law."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    return Sample.from_counts(np.arange(k), rng.integers(1, 6, k), rng.integers(1, 6, k)), rng


# Isotonic shares


@given(grouped_counts(distinct=7))
def test_isotonic_shares_are_those_of_the_minimax_formula(cells):
    sample = Sample.from_counts(*cells)
    fit = rising(sample.pos, sample.neg)
    levels = fit.level[np.searchsorted(fit.start, np.arange(len(sample.score)), side="right") - 1]
    expected = [float(p) for p in isotonic(sample.pos, sample.neg)]
    assert levels == pytest.approx(expected, abs=1e-15)


# The projection


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")  # of an older scipy
@pytest.mark.parametrize("seed", range(12))
def test_the_projection_is_the_closest_joint_law_with_the_observed_scores(seed):
    reference, rng = random_reference(seed)
    k = len(reference.score)
    rows = rng.integers(1, 9, k)
    level = np.array([float(p) for p in isotonic(reference.pos, reference.neg)])
    share = (reference.pos + reference.neg) / (reference.n_pos + reference.n_neg)
    old = np.concatenate([share * (1 - level), share * level])
    observed = rows / rows.sum()
    sums = np.hstack([np.eye(k), np.eye(k)])
    start = np.concatenate([observed, observed]) / 2

    def slope(q):
        return np.log(np.maximum(q, 1e-300) / old) + 1

    found = minimize(
        lambda q: float(np.sum(q * np.log(np.maximum(q, 1e-300) / old))),
        start,
        jac=slope,
        bounds=[(1e-12, 1)] * (2 * k),
        constraints={"type": "eq", "fun": lambda q: sums @ q - observed, "jac": lambda q: sums},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-15},
    )
    law = found.x.reshape(2, k)
    expected = expected_auc(reference, (reference.score, rows))
    assert expected.auc == pytest.approx(pair_loop(law), abs=1e-6)
    assert expected.prevalence == pytest.approx(law[1].sum(), abs=1e-6)
    assert expected.score_distance == pytest.approx(found.fun, abs=1e-8)


@given(grouped_counts(distinct=6), st.data())
def test_the_expected_auc_is_that_of_the_pair_loop(cells, data):
    reference = Sample.from_counts(*cells)
    k = len(reference.score)
    rows = np.array(data.draw(st.lists(st.integers(0, 5), min_size=k, max_size=k).filter(any)))
    law = projected(reference, rows)
    expected = expected_auc(reference, (reference.score, rows))
    one_class = not law.sum(axis=1).all()
    assert expected.auc == pytest.approx(0.5 if one_class else pair_loop(law), abs=1e-13)
    assert ("scores-of-one-class" in codes(expected)) == one_class
    assert expected.prevalence == pytest.approx(law[1].sum(), abs=1e-13)
    assert expected.n_rows == rows.sum()


@given(grouped_counts(distinct=6), st.data())
def test_the_chain_rule_holds_for_the_projection(cells, data):
    reference = Sample.from_counts(*cells)
    k = len(reference.score)
    rows = np.array(data.draw(st.lists(st.integers(1, 5), min_size=k, max_size=k)))
    law = projected(reference, rows)
    share = (reference.pos + reference.neg) / (reference.n_pos + reference.n_neg)
    level = np.array([float(p) for p in isotonic(reference.pos, reference.neg)])
    joint = divergence(law.ravel(), np.stack([share * (1 - level), share * level]).ravel())
    expected = expected_auc(reference, (reference.score, rows))
    assert expected.score_distance == pytest.approx(joint, abs=1e-12)


def test_rows_groups_and_order_make_no_difference():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 400)
    s = np.round(rng.normal(size=400) + y, 1)
    reference = Sample(y, s)
    scores = np.round(rng.normal(size=300) + 0.4, 1)
    value, count = np.unique(scores, return_counts=True)
    by_rows = expected_auc(reference, scores)
    assert expected_auc(reference, rng.permutation(scores)).to_dict() == by_rows.to_dict()
    assert expected_auc(reference, (value[::-1], count[::-1])).to_dict() == by_rows.to_dict()
    halves = (np.concatenate([value, value]), np.concatenate([count - 1, np.ones_like(count)]))
    assert expected_auc(reference, halves).to_dict() == by_rows.to_dict()
    grouped = Sample.from_counts(reference.score, reference.pos, reference.neg)
    assert expected_auc(grouped, scores).to_dict() == by_rows.to_dict()


def test_the_reference_expects_its_own_auc_where_its_shares_rise():
    reference = Sample.from_counts([1, 2, 3], [1, 2, 4], [5, 3, 1])
    own = expected_auc(reference, (reference.score, reference.pos + reference.neg))
    assert own.auc == pytest.approx(own.reference_auc, abs=1e-14)
    assert own.reference_auc == oracle.auc(*oracle.expand(reference.score, reference.pos, reference.neg))
    assert own.change == pytest.approx(0, abs=1e-14)
    assert (own.score_distance, own.outside_share, own.caveats) == (0.0, 0.0, ())
    assert own.prevalence == pytest.approx(7 / 16, abs=1e-15)


def test_a_score_between_two_of_the_reference_counts_as_the_upper_one():
    between = expected_auc(REFERENCE, [1.5, 2.5, 3.5])
    assert between.auc == expected_auc(REFERENCE, [2, 3, 4]).auc
    assert between.score_distance == expected_auc(REFERENCE, [2, 3, 4]).score_distance
    assert between.outside_share == 0


# What the scores can be


def test_scores_beyond_the_reference_count_as_its_ends_and_are_named():
    found = expected_auc(REFERENCE, [-7, 0.5, 2, 3, 99])
    inside = expected_auc(REFERENCE, [1, 1, 2, 3, 4])
    assert (found.auc, found.score_distance) == (inside.auc, inside.score_distance)
    assert found.outside_share == 0.6
    assert codes(found) == ["scores-outside-reference"]
    assert found.caveats[0].values == {"share": 0.6, "rows": 3, "n_rows": 5}
    assert "60 % of the scores (3 of 5)" in words_of(found.caveats[0])


def test_all_scores_outside():
    found = expected_auc(REFERENCE, [8, 9, 10])
    assert (found.auc, found.outside_share) == (0.5, 1.0)
    assert codes(found) == ["scores-outside-reference"]


def test_equal_scores():
    found = expected_auc(REFERENCE, [2.0] * 50)
    assert found.auc == 0.5
    assert codes(found) == ["scores-all-equal"]
    assert found.score_distance == pytest.approx(np.log(26 / 7), abs=1e-13)


def test_a_reference_whose_shares_fall_with_the_score_expects_one_half():
    found = expected_auc(Sample([1, 1, 0, 0], [1, 2, 3, 4]), [1, 2, 3, 4, 4])
    assert found.auc == 0.5
    assert codes(found) == ["scores-without-order"]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([], "scores has no rows"),
        (([1.0], [0]), "scores has no rows"),
        ([1.0, np.nan], "scores must be finite: 1 of 2"),
        ([1.0, np.inf], "scores must be finite: 1 of 2"),
        ([[1.0, 2.0], [3.0, 4.0]], "scores must be one-dimensional"),
        (3.0, "scores must be one-dimensional"),
        (["a", "b"], "scores must be numbers"),
        (([1.0, 2.0], [1, -1]), "the counts of scores must be whole numbers >= 0"),
        (([1.0, 2.0], [1, 0.5]), "the counts of scores must be whole numbers >= 0"),
        (([1.0, 2.0], [1, 2, 3]), "must have equal length"),
    ],
)
def test_unusable_scores_are_refused(scores, message):
    with pytest.raises(InputError, match=message):
        expected_auc(REFERENCE, scores)


def test_a_pair_of_single_scores_is_no_pair_of_arrays():
    assert expected_auc(REFERENCE, (2.0, 3.0)).n_rows == 2


def test_a_reference_needs_both_classes():
    with pytest.raises(DegenerateDataError, match="there are 0 positives and 2 negatives"):
        expected_auc(Sample([0, 0], [1, 2]), [1, 2])
    with pytest.raises(InputError, match="reference must be a Sample, not a list"):
        expected_auc([0, 1], [1, 2])


def test_scores_where_the_reference_has_one_class_say_nothing():
    separated = Sample([0, 0, 1, 1], [1, 2, 3, 4])
    assert expected_auc(separated, [1, 3, 4]).auc == 1
    for scores, kind, prevalence in (([1, 2], "negatives", 0), ([3, 4, 9], "positives", 1)):
        found = expected_auc(separated, scores)
        assert (found.auc, found.prevalence) == (0.5, prevalence)
        assert "scores-of-one-class" in codes(found)
        assert any(f"only {kind}" in words_of(caveat) for caveat in found.caveats)


# Distance


def test_the_distance_is_over_the_distinct_scores_if_they_are_few():
    found = expected_auc(REFERENCE, ([1, 4], [1, 3]))
    expected = divergence([0.25, 0, 0, 0.75], np.array([7, 7, 6, 6]) / 26)
    assert found.score_distance == pytest.approx(expected, abs=1e-14)
    assert found.n_cells == 4
    assert found.sampling_distance == pytest.approx(1.5 * (1 / 4 + 1 / 26), abs=1e-15)


def test_the_distance_is_over_quantile_cells_otherwise():
    rng = np.random.default_rng(8)
    y = rng.integers(0, 2, 2000)
    reference = Sample(y, rng.normal(size=2000) + y)
    found = expected_auc(reference, rng.normal(size=500) + 2)
    assert found.n_cells == 20
    assert 0.3 < found.score_distance < 3
    same = [expected_auc(reference, rng.normal(size=500) + (rng.random(500) < 0.5)) for _ in range(60)]
    distances = [each.score_distance for each in same]
    error = np.std(distances) / 60**0.5
    assert np.mean(distances) == pytest.approx(same[0].sampling_distance, abs=5 * error)


# Paired


def test_the_expected_difference_is_that_of_the_two_models():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 300)
    pair = PairedSample(y, np.round(rng.normal(size=300) + y, 1), np.round(rng.normal(size=300) + 2 * y, 1))
    scores = rng.normal(size=(2, 100)).round(1) + 0.5
    found = expected_auc_difference(pair, *scores)
    first, second = expected_auc(pair.first, scores[0]), expected_auc(pair.second, scores[1])
    assert (found.auc_1, found.auc_2) == (first.auc, second.auc)
    assert found.difference == first.auc - second.auc
    assert found.reference_difference == first.reference_auc - second.reference_auc
    swapped = expected_auc_difference(pair.swapped(), scores[1], scores[0])
    assert swapped.difference == -found.difference
    assert {caveat.about[0] for caveat in found.caveats} <= {"first", "second"}


def test_paired_scores_are_of_the_same_rows():
    pair = PairedSample([0, 1, 0, 1], [1, 2, 2, 3], [1, 1, 2, 2])
    with pytest.raises(InputError, match="score_1 has 2 and score_2 has 3"):
        expected_auc_difference(pair, [1, 2], [1, 2, 3])
    with pytest.raises(InputError, match="score_2 must be finite"):
        expected_auc_difference(pair, [1, 2], [1, np.nan])
    with pytest.raises(InputError, match="reference must be a PairedSample"):
        expected_auc_difference(pair.first, [1, 2], [1, 2])


def test_results_are_plain_data():
    found = expected_auc(REFERENCE, [0, 2, 3])
    assert type(found).from_dict(found.to_dict()).to_dict() == found.to_dict()
    assert str(found).startswith("expected AUC 0.")


# Speed


@pytest.mark.slow
def test_a_million_scores_take_no_longer_than_the_bounds_of_a_million_rows():
    rng = np.random.default_rng(1)
    y = (rng.random(1_000_000) < 0.2).astype(int)
    reference = Sample(y, rng.normal(size=len(y)) + y)
    scores = rng.normal(size=1_000_000) + 0.3

    def seconds(call):
        start = time.process_time()
        call()
        return time.process_time() - start

    seconds(lambda: expected_auc(reference, scores[:1000]))  # imports
    expected = min(seconds(lambda: expected_auc(reference, scores)) for _ in range(3))
    bounds = min(seconds(lambda: auc_bounds(reference, 0.02)) for _ in range(2))
    assert expected <= 1.5 * bounds


@settings(max_examples=20)
@given(grouped_counts(distinct=5))
def test_a_shift_of_all_scores_changes_nothing(cells):
    reference = Sample.from_counts(*cells)
    rows = (reference.score, reference.pos + reference.neg)
    moved = Sample.from_counts(reference.score * 2 + 1, reference.pos, reference.neg)
    if reference.n_pos and reference.n_neg:
        one, other = expected_auc(reference, rows), expected_auc(moved, (rows[0] * 2 + 1, rows[1]))
        assert one.to_dict() == other.to_dict()
