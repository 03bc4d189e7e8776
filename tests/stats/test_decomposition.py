"""What groups did to a change: parts equal enumeration, errors equal derivatives and simulation; refusals."""

from __future__ import annotations

import json

import numpy as np
import oracle
import pandas as pd
import pytest
from caveats import codes
from hypothesis import given, settings
from hypothesis import strategies as st
from stats import oracle_groups
from strategies import samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import GroupChanges, auc, compare_auc, decomposition, group_changes
from rocmonitor.stats.grouping import MOST_GROUPS, grouping
from rocmonitor.wording.caveats import words_of


@st.composite
def grouped(draw, *, per_class=6, groups="abc"):
    y, s = draw(samples(max_per_class=per_class, distinct=4))
    return y, s, np.array(draw(st.lists(st.sampled_from(list(groups)), min_size=len(y), max_size=len(y))))


def weighted(rows):
    return (*rows, np.ones(len(rows[0])))


def simulated(rng, n, *, lower=None, share=None, mix=(0.5, 0.3, 0.2)):
    """Rows of three groups of unlike quality; `lower`: how much lower the positives of each group score."""
    g = rng.choice(3, n, p=mix)
    y = (rng.random(n) < np.array(share or (0.3, 0.3, 0.3))[g]).astype(int)
    shift = np.array([1.5, 1.0, 0.5]) - np.array(lower or (0, 0, 0))
    return y, rng.normal(y * shift[g], 1), np.array(["a", "b", "c"])[g]


@settings(deadline=None)
@given(grouped(), grouped())
def test_parts_equal_enumeration_and_add_up(old, new):
    ours = group_changes(old, new)
    groups = list(ours.groups)
    mix, ranking = oracle_groups.parts(weighted(old), weighted(new), groups)
    np.testing.assert_allclose(ours.mix_parts, mix, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.ranking_parts, ranking, rtol=0, atol=1e-12)
    expected = oracle_groups.excess(weighted(old), weighted(new), groups)
    np.testing.assert_allclose(ours.excess, expected, rtol=0, atol=1e-12)
    both = oracle_groups.totals(weighted(old), weighted(new), groups)
    np.testing.assert_allclose((ours.mix, ours.ranking), both, rtol=0, atol=1e-12)
    assert ours.parts.sum() == pytest.approx(ours.change, abs=1e-12)
    change = oracle.auc(*new[:2]) - oracle.auc(*old[:2])
    assert ours.change == pytest.approx(change, abs=1e-12)
    assert ours.auc - ours.reference_auc == pytest.approx(change, abs=1e-12)


@settings(deadline=None, max_examples=20)
@given(grouped(per_class=4), grouped(per_class=4, groups="bcd"))
def test_standard_errors_equal_those_of_derivatives(old, new):
    ours = group_changes(old, new)
    expected = oracle_groups.standard_errors(weighted(old), weighted(new), list(ours.groups))
    for name, values in zip(("mix_se", "ranking_se", "se", "excess_se"), expected, strict=True):
        np.testing.assert_allclose(getattr(ours, name), values, rtol=1e-6, atol=1e-7)


@settings(deadline=None, max_examples=30)
@given(grouped(), grouped())
def test_exchanged_samples_and_turned_scores_change_the_sign(old, new):
    ours = group_changes(old, new)
    back = group_changes(new, old)
    turned = group_changes(*((1 - y, s, g) for y, s, g in (old, new)))
    for other in (back, turned):
        for name in ("mix_parts", "ranking_parts"):
            np.testing.assert_allclose(getattr(other, name), -getattr(ours, name), rtol=0, atol=1e-12)
        np.testing.assert_allclose(other.se, ours.se, rtol=1e-9, atol=1e-9)


def test_one_group_is_the_difference_of_two_independent_areas():
    rng = np.random.default_rng(4)
    old, new = ((y, s, np.full(len(y), 7)) for y, s, _ in (simulated(rng, 500), simulated(rng, 300)))
    ours = group_changes(old, new)
    known = compare_auc(auc(*new[:2]), auc(*old[:2]))
    assert ours.groups == (7,)
    assert ours.change == pytest.approx(known.difference, abs=1e-14)
    assert ours.change_se == pytest.approx(known.se, rel=1e-12)
    assert ours.se[0] == ours.ranking_se[0] == pytest.approx(known.se, rel=1e-12)
    assert ours.mix_parts[0] == ours.mix_se[0] == 0


def test_a_loss_in_one_group_is_found_there():
    rng = np.random.default_rng(5)
    ours = group_changes(simulated(rng, 40_000), simulated(rng, 40_000, lower=(0, 1, 0)))
    assert np.argmin(ours.ranking_parts) == 1
    assert ours.ranking_parts[1] < 0.6 * ours.change < 0
    assert abs(ours.mix) < 0.005
    assert ours.pvalue[1] < 1e-6


def test_a_change_of_the_mix_alone_is_one():
    rng = np.random.default_rng(6)
    ours = group_changes(simulated(rng, 40_000), simulated(rng, 40_000, mix=(0.2, 0.3, 0.5)))
    assert ours.mix < -0.03
    assert abs(ours.ranking) < 0.01
    assert ours.mix_parts[0] < 0 > ours.mix_parts[2]  # fewer of the best, more of the worst
    assert abs(ours.mix_parts[1]) < 0.01
    assert np.all(np.abs(ours.ranking_parts) < 4 * ours.ranking_se)


def test_two_groups_that_cancel_are_both_found():
    rng = np.random.default_rng(7)
    mix = (0.4, 0.4, 0.2)
    ours = group_changes(
        simulated(rng, 40_000, mix=mix), simulated(rng, 40_000, mix=mix, lower=(0.8, -0.8, 0))
    )
    assert abs(ours.change) < 0.02
    assert ours.ranking_parts[0] < -0.02
    assert ours.ranking_parts[1] > 0.02
    assert max(ours.pvalue[:2]) < 1e-6


def test_nothing_happened_is_within_its_errors():
    rng = np.random.default_rng(8)
    pulls = []
    for _ in range(60):
        found = group_changes(simulated(rng, 600), simulated(rng, 400))
        pulls.append(found.parts / found.se)
    # 180 pulls: their mean square is 1, with a deviation of at most 0.2.
    assert 0.3 < np.mean(np.square(pulls)) < 1.8


@pytest.mark.slow
def test_standard_errors_are_those_of_simulation():
    rng = np.random.default_rng(9)
    drawn = [
        group_changes(simulated(rng, 900), simulated(rng, 700, lower=(0, 0.8, 0), mix=(0.3, 0.3, 0.4)))
        for _ in range(3_000)
    ]
    named = (
        ("mix_parts", "mix_se"),
        ("ranking_parts", "ranking_se"),
        ("parts", "se"),
        ("excess", "excess_se"),
    )
    for value, error in named:
        deviation = np.std([getattr(each, value) for each in drawn], axis=0)
        mean = np.sqrt(np.mean([getattr(each, error) ** 2 for each in drawn], axis=0))
        # 1.3 % is the Monte Carlo error of a deviation.
        np.testing.assert_allclose(mean, deviation, rtol=0.06)


@pytest.mark.slow
def test_standard_errors_are_those_of_a_bootstrap():
    rng = np.random.default_rng(10)
    old, new = simulated(rng, 2_000), simulated(rng, 1_500, lower=(0, 0.8, 0), mix=(0.3, 0.3, 0.4))
    ours, drawn = group_changes(old, new), []
    for _ in range(2_000):
        pair = []
        for rows in (old, new):
            pick = np.concatenate(
                [rng.choice(np.flatnonzero(rows[0] == k), np.sum(rows[0] == k)) for k in (0, 1)]
            )
            pair.append(tuple(each[pick] for each in rows))
        drawn.append(group_changes(*pair).parts)
    np.testing.assert_allclose(np.std(drawn, axis=0), ours.se, rtol=0.08)


def test_cells_of_many_scores_change_the_standard_errors_little(monkeypatch):
    rng = np.random.default_rng(11)
    old, new = (simulated(rng, 20_000, share=(0.5, 0.4, 0.5)) for _ in range(2))
    cut = group_changes(old, new)
    monkeypatch.setattr(decomposition, "CELLS", 10**6)
    whole = group_changes(old, new)
    np.testing.assert_array_equal(cut.mix_parts, whole.mix_parts)
    np.testing.assert_array_equal(cut.ranking_parts, whole.ranking_parts)
    for name in ("mix_se", "ranking_se", "se", "change_se"):
        np.testing.assert_allclose(getattr(cut, name), getattr(whole, name), rtol=1e-3)


def test_a_group_of_one_sample_is_mix():
    old = [0, 1, 0, 1, 0, 1], [1, 2, 3, 4, 2, 3], ["a"] * 6
    new = [0, 1, 0, 1, 0, 1], [1, 2, 3, 4, 4, 3], ["a"] * 4 + ["b"] * 2
    ours = group_changes(old, new)
    assert ours.groups == ("a", "b")
    assert ours.ranking_parts[1] == 0
    assert ours.parts.sum() == pytest.approx(auc(*new[:2]).auc - auc(*old[:2]).auc, abs=1e-12)
    assert codes(ours) == ["groups-lacking", "few-rows-per-group"]
    assert "1 of 2 groups is not in the reference (b)" in words_of(ours.caveats[0])


def test_results_are_plain_data():
    rng = np.random.default_rng(12)
    ours = group_changes(simulated(rng, 300), simulated(rng, 300))
    json.dumps(ours.to_dict(), allow_nan=False)
    frame = ours.to_frame()
    assert frame.shape == (3, 13)
    assert list(frame["group"]) == ["a", "b", "c"]
    assert isinstance(ours, GroupChanges)
    assert str(ours).startswith(f"AUROC {ours.change:+.3f} (standard error {ours.change_se:.3f}): mix")
    assert f"{ours:.3f}" == f"{ours.change:.3f}"


Y, S = [0, 1] * 20, list(np.linspace(0, 1, 40))
REGIONS = ["north", "south", "south", None] * 10


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ([f"customer {k}" for k in range(40)], "looks like an id: all values differ, in 40 rows"),
        (np.arange(1000, 1040), "looks like an id: whole numbers"),
        ([None] * 40, "missing in all 40 rows of the reference"),
        (Y, "group is the label itself"),
        (S, "group is the score itself"),
        (REGIONS[:-1], "reference: .*equal length"),
        (np.zeros((40, 2)), "one-dimensional"),
        (np.arange(40).astype("M8[D]"), "dates or durations"),
        ([1j] * 40, "not complex"),
        ([["a"], ["b"]] * 20, "one-dimensional"),
        ([{}, None] * 20, "single numbers, texts or truth values"),
    ],
)
def test_refuses_columns(group, message):
    with pytest.raises(InputError, match=message):
        group_changes((Y, S, group), (Y, S, group))


def test_refuses_too_many_values_and_numbers_beside_texts():
    n = 2 * MOST_GROUPS + 2
    y, s, g = [0, 1] * (n // 2), np.arange(n), [f"{k // 2}" for k in range(n)]
    with pytest.raises(
        InputError, match=f"{n // 2} values in {2 * n:,} rows, and at most {MOST_GROUPS} groups"
    ):
        group_changes((y, s, g), (y, s, g))
    with pytest.raises(InputError, match="numbers in the reference and texts in the window"):
        group_changes((Y, S, [1, 2] * 20), (Y, S, ["1", "2"] * 20))


@pytest.mark.parametrize("y", [[0] * 40, [1] * 40])
def test_one_class_is_degenerate(y):
    with pytest.raises(DegenerateDataError, match="window: needs at least 1 of each class"):
        group_changes((Y, S, REGIONS), (y, S, REGIONS))


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ((Y, S), "must be \\(y_true, y_score, group\\)"),
        ("abc", "must be \\(y_true, y_score, group\\)"),
        ((Y, [np.nan] * 40, REGIONS), "reference: y_score must be finite"),
        (([2] * 40, S, REGIONS), "reference: y_true must hold only 0 and 1"),
        ((pd.Series(Y), pd.Series(S), pd.Series(REGIONS).sample(frac=1, random_state=1)), "another order"),
    ],
)
def test_refuses_rows(reference, message):
    with pytest.raises(InputError, match=message):
        group_changes(reference, (Y, S, REGIONS))


@pytest.mark.parametrize("bins", [1, 2.5, True, "3", 10**6])
def test_refuses_bins(bins):
    with pytest.raises(InputError, match="bins must be a whole number from 2 to 500"):
        group_changes((Y, S, REGIONS), (Y, S, REGIONS), bins=bins)


# The groups of a column


def test_numbers_are_cut_at_quantiles_of_the_reference():
    rng = np.random.default_rng(1)
    old, new = rng.normal(size=1_000), rng.normal(1, 1, size=500)
    found = grouping(old, new, bins=4)
    np.testing.assert_array_equal(np.bincount(found.reference), [250] * 4)
    ends = np.sort(old)[[249, 499, 749]]
    np.testing.assert_array_equal(found.window, np.searchsorted(ends, new))
    assert [str(label).split()[0] for label in found.labels] == ["up", "above", "above", "above"]


def test_ties_are_never_split_and_bins_are_fewer():
    old = np.repeat([0.0, 1.0, 2.0, 3.0, 4.0], [90, 3, 3, 3, 1])
    found = grouping(old, [0, 5, 9], bins=4)
    assert found.labels == ("up to 0", "above 0")
    np.testing.assert_array_equal(np.bincount(found.reference), [90, 10])
    constant = grouping(np.zeros(10), np.arange(10) / 3, bins=4)
    assert constant.labels == ("up to 0", "above 0")


def test_ends_that_differ_late_have_names_of_their_own():
    found = grouping(1 + np.arange(100) * 1e-9, [1.0], bins=5)
    assert len(set(found.labels)) == 5


def test_few_numbers_are_values():
    found = grouping([3, 1, 2, 1], [2.0, np.nan, 1.0])
    assert found.labels == (1, 2, 3, None)
    assert found.reference.tolist() == [2, 0, 1, 0]
    assert found.window.tolist() == [1, 3, 0]
    assert grouping([0.5, 1.0], [0.5])[0] == (0.5, 1)


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (pd.Series(["b", None, "a"], dtype="category"), ("a", "b", None)),
        (pd.Series([2, pd.NA, 1], dtype="Int64"), (1, 2, None)),
        (pd.Series(["b", pd.NA, "a"], dtype="string"), ("a", "b", None)),
        (pd.Series([True, None, False]), (False, True, None)),
        ([True, False, True], (False, True)),
        (np.array(["10", "9"]), ("10", "9")),
        (["x", 1, None, float("nan")], (1, "x", None)),
        (np.ma.array([1, 2, 3], mask=[0, 1, 0]), (1, 3, None)),
        ([None, 1, 2.5], (1, 2.5, None)),
    ],
    ids=str,
)
def test_values_of_many_kinds(column, labels):
    assert grouping(column, column).labels == labels


def test_a_column_that_disappears_is_named():
    with pytest.raises(InputError, match="device is missing in all 2 rows of the window: see whether"):
        grouping(["a", "b"], [None, None], name="device")
