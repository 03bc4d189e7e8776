"""Matched and calibrated pairs of thresholds: by definition, by scikit-learn's own answers; refusals."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from strategies import differing, increasing_maps, paired_samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.curve.matching import calibrated_pairs, matched_pairs
from rocmonitor.stats.sample import PairedSample


def _scores(n=400, seed=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return y, np.round(y + rng.normal(size=n), 1), 100 * (y + 2 * rng.normal(size=n))


@settings(deadline=None, max_examples=60)
@given(paired_samples().filter(differing), st.floats(0.01, 0.99))
def test_no_score_flags_a_nearer_share(drawn, share):
    y, s1, s2 = drawn
    for threshold, s in zip(matched_pairs(y, s1, s2, [share])[0], (s1, s2), strict=True):
        assert threshold in s
        distance = {float(t): abs(np.mean(s >= t) - share) for t in s}
        nearest = min(distance.values())
        assert distance[float(threshold)] == pytest.approx(nearest, abs=1e-12)
        clear = [t for t, away in distance.items() if away <= nearest + 1e-12]
        assert threshold in clear


@settings(deadline=None, max_examples=30)
@given(paired_samples(max_per_class=6).filter(differing), st.sampled_from([0.1, 0.25, 0.5, 0.8]))
def test_isotonic_by_the_largest_of_smallest_means(drawn, wanted):
    # Min-max formula of isotonic regression: max over a <= k of min over b >= k of the mean of a…b.
    y, s1, s2 = drawn
    for threshold, s in zip(calibrated_pairs(y, s1, s2, [wanted])[0], (s1, s2), strict=True):
        score = np.unique(s)
        fit = [
            max(min(y[(s >= a) & (s <= b)].mean() for b in score[k:]) for a in score[: k + 1])
            for k in range(len(score))
        ]
        reached = [t for t, p in zip(score, fit, strict=True) if p >= wanted - 1e-12]
        assert threshold == (reached[0] if reached else np.inf)


def test_platt_minimises_the_smoothed_likelihood():
    y, s1, s2 = _scores()
    n_pos, n_neg = y.sum(), len(y) - y.sum()
    target = np.where(y == 1, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))
    ours = calibrated_pairs(y, s1, s2, [0.2, 0.5, 0.9], method="platt")
    for column, s in enumerate((s1, s2)):
        x = s / s.std()

        def loss(at, x=x):
            z = at[0] * x + at[1]
            return np.sum(np.logaddexp(0, z) - target * z)

        a, b = optimize.minimize(loss, [1.0, 0.0], tol=1e-12).x
        odds = np.log(np.array([0.2, 0.5, 0.9]) / np.array([0.8, 0.5, 0.1]))
        np.testing.assert_allclose(ours[:, column], (odds - b) / a * s.std(), rtol=1e-4, atol=1e-4 * s.std())


@settings(deadline=None, max_examples=30)
@given(paired_samples().filter(differing), increasing_maps)
def test_pairs_follow_an_increasing_map(drawn, increasing):
    y, s1, s2 = drawn
    shares = [0.1, 0.5, 0.9]
    plain, mapped = matched_pairs(y, s1, s2, shares), matched_pairs(y, increasing(s1), s2, shares)
    np.testing.assert_array_equal(mapped, np.column_stack([increasing(plain[:, 0]), plain[:, 1]]))


def test_grouped_counts_equal_rows():
    y, s1, _ = _scores()
    s2 = np.round(s1 * 3 + y, 0)
    cells, index = np.unique(np.column_stack([s1, s2]), axis=0, return_inverse=True)
    n_pos, n_neg = (np.bincount(index.ravel(), weights=y == label).astype(int) for label in (1, 0))
    grouped = PairedSample.from_counts(cells[:, 0], cells[:, 1], n_pos, n_neg)
    np.testing.assert_array_equal(matched_pairs(grouped, [0.3]), matched_pairs(y, s1, s2, [0.3]))
    for method in ("isotonic", "platt"):
        np.testing.assert_allclose(
            calibrated_pairs(grouped, [0.3, 0.6], method=method),
            calibrated_pairs(y, s1, s2, [0.3, 0.6], method=method),
        )


def test_scikit_learn_is_imported_only_when_it_is_needed():
    code = "import sys, rocmonitor.stats.curve.matching; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_separated_classes_are_calibrated_too():
    ours = calibrated_pairs([0, 0, 1, 1], [1, 2, 3, 4], [1, 2, 3, 4], [0.5], method="platt")
    np.testing.assert_allclose(ours, [[2.5, 2.5]], atol=1e-6)


def test_platt_refuses_scores_that_fall_or_stay():
    for s in ([4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 1.0, 2.0]):
        with pytest.raises(DegenerateDataError, match="fitted slope is"):
            calibrated_pairs([0, 0, 1, 1], s, s, [0.5], method="platt")


@pytest.mark.parametrize("values", [[], [0.0, 0.5], [np.nan], ["a"], [[0.5]]])
def test_refuses_values(values):
    with pytest.raises(InputError, match="flagged_shares must"):
        matched_pairs([0, 1], [1, 2], [1, 2], values)
    with pytest.raises(InputError, match="probabilities must"):
        calibrated_pairs([0, 1], [1, 2], [1, 2], values)


def test_refuses_what_cannot_be_matched():
    with pytest.raises(DegenerateDataError, match="the reference is empty"):
        matched_pairs([], [], [], [0.5])
    with pytest.raises(DegenerateDataError, match="at least 1 of each class"):
        calibrated_pairs([1, 1], [1, 2], [1, 2], [0.5])
    with pytest.raises(InputError, match="method must be one of isotonic, platt"):
        calibrated_pairs([0, 1], [1, 2], [1, 2], [0.5], method="sigmoid")
