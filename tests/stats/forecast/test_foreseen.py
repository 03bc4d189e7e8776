"""Which scores moved, and the split of a change: against the definitions, with the chain rule."""

import numpy as np
import oracle
import pytest
from caveats import codes
from hypothesis import given
from stats.oracle_kld import divergence
from strategies import grouped_counts
from studies import foreseen as study
from studies.foreseen import foreseen_change
from studies.running import replicate

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import Sample, condensed, expected_auc, score_shift
from rocmonitor.stats.forecast.foreseen import error_of, thin_share

REFERENCE = Sample.from_counts([1, 2, 3], [1, 2, 4], [5, 3, 1])
WINDOW = Sample.from_counts([1, 2, 3], [2, 1, 3], [1, 4, 2])


def joint(sample, score):
    """The joint shares (2 k,) of a sample at the given scores."""
    at = np.searchsorted(score, sample.score)
    counts = np.zeros((2, len(score)))
    counts[0, at], counts[1, at] = sample.neg, sample.pos
    return counts.ravel() / counts.sum()


def test_the_shift_is_the_distance_by_cell():
    shift = score_shift(REFERENCE, [1, 3, 3, 3])
    assert shift.reference_share == pytest.approx([6 / 16, 5 / 16, 5 / 16], abs=1e-15)
    assert shift.window_share.tolist() == [0.25, 0.0, 0.75]
    assert shift.nats == pytest.approx([0.25 * np.log(2 / 3), 0, 0.75 * np.log(2.4)], abs=1e-15)
    assert shift.nats.sum() == pytest.approx(shift.score_distance, abs=1e-15)
    assert shift.score_distance == expected_auc(REFERENCE, [1, 3, 3, 3]).score_distance
    assert (shift.low.tolist(), shift.high.tolist()) == ([1, 1, 2], [1, 2, 3])
    assert shift.to_frame().shape == (3, 5)
    assert str(shift).endswith("most moved: 2 to 3, share 0.312 -> 0.750")


def test_the_ends_of_the_shift_hold_all_scores():
    shift = score_shift(REFERENCE, ([-5, 2, 8], [1, 2, 1]))
    assert (shift.low[0], shift.high[-1], shift.n_rows) == (-5, 8, 4)
    assert shift.window_share.tolist() == [0.25, 0.5, 0.25]


def test_the_cells_of_the_shift_can_be_given():
    shift = score_shift(REFERENCE, [1, 3, 3, 3], ends=(2.0,))
    assert shift.reference_share.tolist() == [11 / 16, 5 / 16]
    with pytest.raises(InputError, match="ends must be finite"):
        score_shift(REFERENCE, [1], ends=(np.nan,))


def test_a_shift_needs_rows_on_both_sides():
    with pytest.raises(DegenerateDataError, match="reference has no rows"):
        score_shift(Sample([], []), [1])
    with pytest.raises(InputError, match="scores has no rows"):
        score_shift(REFERENCE, [])


@given(grouped_counts(distinct=5), grouped_counts(distinct=5))
def test_the_distances_of_a_split_add_up_to_that_of_the_joint_laws(before, now):
    reference = Sample.from_counts(*before)
    # At the reference's scores and with both classes everywhere, the joint distance is finite.
    score = reference.score
    reference = Sample.from_counts(score, reference.pos + 1, reference.neg + 1)
    window = Sample.from_counts(np.resize(score, len(now[0])), now[1], now[2])
    split = foreseen_change(reference, window)
    expected = divergence(joint(window, score), joint(reference, score))
    assert split.distance == pytest.approx(expected, abs=1e-12)
    assert split.score_distance + split.label_distance == pytest.approx(expected, abs=1e-12)
    assert min(split.score_distance, split.label_distance) >= 0
    assert split.foreseen + split.unforeseen == pytest.approx(split.change, abs=1e-15)


def test_the_split_is_around_the_expected_auc():
    split = foreseen_change(REFERENCE, WINDOW)
    expected = expected_auc(REFERENCE, (WINDOW.score, WINDOW.pos + WINDOW.neg))
    realised = oracle.auc(*oracle.expand(WINDOW.score, WINDOW.pos, WINDOW.neg))
    assert (split.reference_auc, split.expected_auc) == (expected.reference_auc, expected.auc)
    assert split.auc == pytest.approx(realised, abs=1e-15)
    assert split.foreseen == expected.change
    assert split.score_distance == expected.score_distance


def test_all_scores_of_a_window_can_be_given_where_labels_lack():
    scores = [1, 1, 1, 2, 3]
    split = foreseen_change(REFERENCE, WINDOW, scores=scores)
    assert split.expected_auc == expected_auc(REFERENCE, scores).auc
    assert split.score_distance == expected_auc(REFERENCE, scores).score_distance
    assert split.label_distance == foreseen_change(REFERENCE, WINDOW).label_distance


def test_a_class_that_a_cell_of_the_reference_lacks_leaves_the_distance_finite():
    reference = Sample([0, 0, 1, 1], [1, 2, 2, 3])
    split = foreseen_change(reference, Sample([1, 0, 0, 1], [1, 2, 3, 3]))
    assert np.isfinite(split.label_distance)
    assert split.label_distance > 0.3


def test_a_concept_that_changes_at_equal_scores_is_not_foreseen():
    turned = Sample.from_counts(REFERENCE.score, REFERENCE.neg, REFERENCE.pos)
    same = foreseen_change(REFERENCE, turned)
    assert same.score_distance == 0
    assert same.foreseen == pytest.approx(0, abs=1e-14)
    assert same.unforeseen < -0.3
    assert same.label_distance > 0.3


def test_a_condensed_reference_gives_nearly_the_same():
    rng = np.random.default_rng(3)
    y = (rng.random(30_000) < 0.3).astype(int)
    reference = Sample(y, rng.normal(size=len(y)) + y)
    window = Sample(y[:2000], 1.2 * rng.normal(size=2000) + y[:2000])
    whole, few = foreseen_change(reference, window), foreseen_change(condensed(reference), window)
    assert few.expected_auc == pytest.approx(whole.expected_auc, abs=1e-3)
    assert few.label_distance == pytest.approx(whole.label_distance, rel=0.1)


def test_caveats_on_the_scores_are_passed_on():
    assert codes(foreseen_change(REFERENCE, WINDOW, scores=[1, 2, 9])) == ["scores-outside-reference"]
    assert str(foreseen_change(REFERENCE, WINDOW)).startswith("AUC 0.7857 -> 0.5238: -0.0135 (")


@pytest.mark.parametrize("design", study.DESIGNS[:-1], ids=str)
def test_the_interval_of_what_was_foreseen_holds_where_the_reference_has_few_rows(design):
    """A short version of the study `foreseen`: the interval holds, and no wrong split is told as known."""
    found = np.array(replicate(study.one, design, replications=40, seed=2))
    true, _, held, width, known, _ = found.T
    assert held.mean() >= 0.85  # 95 % less two Monte Carlo errors of 3.4 % and what is left of the bias
    far = np.abs(found[:, 1] - true) > np.abs(true)  # off by more than all there is to foretell
    assert not (far & (known > 0) & (width < np.abs(true))).any()


def test_the_error_of_what_was_foreseen_is_that_of_other_references_of_the_same_law():
    """Four scores, far apart in P(y | score): the isotonic levels are the shares."""
    score, share = [1.0, 2.0, 3.0, 4.0], np.array([0.1, 0.3, 0.6, 0.9])
    pos = np.array([100, 300, 600, 900])
    window = (np.array(score), np.array([1, 2, 3, 4]))
    rng = np.random.default_rng(5)
    drawn = [
        Sample.from_counts(score, rng.poisson(1000 * share), rng.poisson(1000 * (1 - share)))
        for _ in range(2000)
    ]
    found = np.array([expected_auc(each, window).change for each in drawn])
    error = error_of(Sample.from_counts(score, pos, 1000 - pos), *window)
    assert error.se == pytest.approx(found.std(), rel=0.3)  # 50 draws: three errors of 10 %
    assert abs(error.mean) < 0.5 * error.se


def test_what_was_foreseen_has_an_interval_on_few_rows_and_a_share_that_is_thin():
    split = foreseen_change(REFERENCE, WINDOW)
    low, high = split.foreseen_ci()
    assert low <= split.foreseen <= high
    assert not split.known
    assert split.foreseen_ci(0.5)[0] > low
    assert (split.thin_share, split.outside_share) == (1.0, 0.0)
    assert f"({low:+.4f} to {high:+.4f})" in str(split)
    with pytest.raises(InputError, match="confidence_level"):
        split.foreseen_ci(95)


def test_scores_in_any_order_and_with_ties_have_one_error():
    rng = np.random.default_rng(6)
    reference = Sample(rng.random(5000) < 0.3, rng.normal(size=5000))
    score = rng.normal(size=300).round(1)
    tied = np.unique(score, return_counts=True)
    assert error_of(reference, score, None) == error_of(reference, *tied)
    assert thin_share(reference, score, None) == thin_share(reference, *tied)
