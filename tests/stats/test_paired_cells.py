from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import (
    AucDifference,
    CondensedPair,
    Grid,
    PairedSample,
    Sample,
    compare_auc_condensed,
    compare_auc_paired,
    condensed_dominance,
    condensed_pair,
    threshold_dominance,
)
from rocmonitor.stats.ends import STRIP

PLACES = 3  # scores in a cell
TINY = 1e-12


def one_a_cell(y: list[int], cell_1: list[int], cell_2: list[int], strip: int) -> CondensedPair:
    """The pair of which only is known that cell c holds scores from c to c + 1/2, both ends taken."""
    pair = condensed_pair(PairedSample(y, cell_1, cell_2), grid=Grid("linear", 1), strip=strip)
    wide = (replace(each, high=each.low + 0.5) for each in (pair.cells_1, pair.cells_2))
    return CondensedPair(*wide, pair.joint)


def orders(cell: list[int]) -> list[np.ndarray]:
    """All scores that the rows may have, ties within a cell included."""
    within = product(range(PLACES), repeat=len(cell))
    return [np.array(cell) + np.array(places) / 4 for places in within]


@st.composite
def rows(draw: st.DrawFn) -> tuple[list[int], list[int], list[int]]:
    """Labels of four or five rows, at least two of each class, and their cells in two models."""
    y = draw(st.permutations([1, 1, 0, 0, *draw(st.lists(st.integers(0, 1), max_size=1))]))
    cells = [draw(st.lists(st.integers(0, 3), min_size=len(y), max_size=len(y))) for _ in range(2)]
    return list(y), *cells


@settings(deadline=None, max_examples=60)
@given(rows(), st.sampled_from([1, 2, 4]))
def test_no_orders_have_a_difference_or_a_standard_error_further_away(drawn, strip):
    """All orders of the first model with all orders of the second one."""
    y, cell_1, cell_2 = drawn
    try:
        found = compare_auc_condensed(one_a_cell(y, cell_1, cell_2, strip))
    except DegenerateDataError:
        return
    assert found.error is not None
    off, of_se = found.error
    first, second = (np.array([oracle.psi(y, s) for s in orders(cell)]) for cell in (cell_1, cell_2))
    kernels = (first[:, np.newaxis] - second).reshape(-1, *first.shape[1:])
    assert np.abs(kernels.mean(axis=(1, 2)) - found.difference).max() <= off + TINY
    by_class = [kernels.mean(axis=axis) for axis in (2, 1)]
    se = np.sqrt(sum(each.var(axis=1, ddof=1) / each.shape[1] for each in by_class))
    assert np.abs(se - found.se).max() <= of_se + TINY


def test_an_order_of_both_models_is_as_far_as_the_difference_may_be():
    y, cell = [1, 0, 1, 0], [0, 0, 1, 1]
    found = compare_auc_condensed(one_a_cell(y, cell, [1, 1, 0, 0], 1))
    far = [
        oracle.auc(y, s) - oracle.auc(y, t) - found.difference
        for s, t in product(orders(cell), orders([1, 1, 0, 0]))
    ]
    assert found.error is not None
    assert (min(far), max(far)) == pytest.approx((-found.error[0], found.error[0]), abs=TINY)


@settings(deadline=None, max_examples=25)
@given(rows(), st.sampled_from([1, 2, 4]), st.sampled_from([0.8, 0.95]))
def test_an_interval_holds_those_of_all_orders(drawn, strip, level):
    y, cell_1, cell_2 = drawn
    try:
        wide = compare_auc_condensed(one_a_cell(y, cell_1, cell_2, strip)).ci(level)
    except DegenerateDataError:
        return
    picked = np.random.default_rng(0).permutation
    for first, second in zip(picked(orders(cell_1))[:60], picked(orders(cell_2))[:60], strict=True):
        try:
            own = compare_auc_paired(y, first, second).ci(level)
        except DegenerateDataError:  # no interval
            continue
        assert wide.low <= own.low + TINY
        assert own.high <= wide.high + TINY


def drawn_pair(seed: int, n: int, *, alike: float = 0.8, kind: str = "logistic") -> PairedSample:
    """Two models on the same rows: `alike` is their correlation given the label."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.1
    common = rng.normal(size=n)
    first, second = (
        shift * y + np.sqrt(alike) * common + np.sqrt(1 - alike) * rng.normal(size=n) - 2.0
        for shift in (1.5, 1.4)
    )
    if kind == "rounded":
        first, second = np.round(first, 1), np.round(second, 1)
    if kind == "two scales":
        return PairedSample(y, 1 / (1 + np.exp(-first)), 300 + 50 * second)
    return PairedSample(y, 1 / (1 + np.exp(-first)), 1 / (1 + np.exp(-second)))


@pytest.mark.parametrize("kind", ["logistic", "rounded", "two scales"])
@pytest.mark.parametrize("alike", [0.0, 0.8, 0.99])
@pytest.mark.parametrize("seed", range(3))
def test_rows_lie_within_the_errors_and_these_are_small(seed, alike, kind):
    pair = drawn_pair(seed, 100_000, alike=alike, kind=kind)
    exact, found = compare_auc_paired(pair), compare_auc_condensed(condensed_pair(pair))
    off, of_se = found.error
    assert abs(found.difference - exact.difference) <= off + TINY < 2e-4
    assert abs(found.se - exact.se) <= of_se + TINY < 0.06 * exact.se
    assert abs(found.se - exact.se) < 0.002 * exact.se
    assert found.ci().low <= exact.ci().low + TINY
    assert exact.ci().high <= found.ci().high + TINY
    assert (found.paired, found.method, found.n_pos_1, found.df) == (True, "delong", pair.n_pos, None)


def test_a_wider_strip_leaves_more_open_and_one_cell_a_strip_leaves_ties_alone():
    pair = drawn_pair(5, 20_000)
    errors = [
        compare_auc_condensed(condensed_pair(pair, grid=Grid(per_unit=200), strip=strip)).error[1]
        for strip in (1, 16, 128)
    ]
    assert errors == sorted(errors)
    tied = PairedSample(*(np.array([0, 1, 1, 0, 1, 0]), np.arange(6) / 8, np.array([1, 3, 2, 2, 0, 0]) / 4))
    exact, found = compare_auc_paired(tied), compare_auc_condensed(condensed_pair(tied, strip=1))
    assert found.error == pytest.approx((0, 0), abs=TINY)
    assert (found.difference, found.se) == pytest.approx((exact.difference, exact.se), abs=TINY)


def test_a_model_against_itself_differs_by_exactly_nothing():
    pair = drawn_pair(1, 5_000)
    same = PairedSample.from_counts(*(pair.first.score[pair.index_1] for _ in range(2)), pair.pos, pair.neg)
    found = compare_auc_condensed(condensed_pair(same))
    assert (found.difference, found.se, found.pvalue) == (0, 0, 1)
    assert found.ci().low < 0 < found.ci().high


@pytest.mark.parametrize("kind", ["logistic", "rounded"])
def test_dominance_at_thresholds_that_cut_the_cells_is_that_of_the_rows(kind):
    pair, at = drawn_pair(2, 3_000, kind=kind), [0.05, 0.3, 0.5]
    exact = threshold_dominance(pair, [(each, each) for each in at])
    cells = condensed_pair(pair, grid=Grid(per_unit=5), thresholds=at)
    found = condensed_dominance(cells, at)
    for name in ("first", "second", "both_higher", "both_lower", "tie"):
        np.testing.assert_allclose(getattr(found, name), getattr(exact, name), atol=1e-12)
    assert (found.n_pos, found.threshold_1.tolist()) == (pair.n_pos, at)
    np.testing.assert_allclose(condensed_dominance(cells, [0.3]).tie, exact.tie[1:2], atol=1e-12)
    with pytest.raises(InputError, match=r"some of \[0.05, 0.3, 0.5\].*; 0.4 is not"):
        condensed_dominance(cells, [0.3, 0.4])
    with pytest.raises(InputError, match="must be a CondensedPair"):
        condensed_dominance(pair, [0.3])
    with pytest.raises(DegenerateDataError, match="at least 1 of each class"):
        condensed_dominance(CondensedPair.none(), [])


def test_cells_of_other_rows_are_refused():
    one, other = (condensed_pair(drawn_pair(seed, 2_000)) for seed in (1, 2))
    with pytest.raises(InputError, match="cells_2 and joint must hold the same rows"):
        CondensedPair(one.cells_1, other.cells_2, one.joint)
    with pytest.raises(InputError, match="one state of the table"):
        CondensedPair(one.cells_1, one.cells_2, replace(one.joint, sum_1=one.joint.sum_1 + 1))
    with pytest.raises(InputError, match="thresholds must increase"):
        CondensedPair(one.cells_1, one.cells_2, one.joint, thresholds=[0.5, 0.2])
    clustered = PairedSample([0, 1], [1, 2], [2, 1], cluster=[1, 1])
    for wrong, message in ((clustered, "clusters"), ("rows", "must be a PairedSample, not a str")):
        with pytest.raises(InputError, match=message):
            condensed_pair(wrong)
    with pytest.raises(InputError, match="strip must be at least 1"):
        condensed_pair(PairedSample([0, 1], [1, 2], [2, 1]), strip=0)
    with pytest.raises(InputError, match="compare_auc_paired takes rows"):
        compare_auc_condensed(PairedSample([0, 1], [1, 2], [2, 1]))
    with pytest.raises(DegenerateDataError, match="at least 2 of each class"):
        compare_auc_condensed(CondensedPair.none())


def test_each_model_alone_is_a_condensed_sample():
    pair = drawn_pair(3, 3_000)
    found = condensed_pair(pair, grid=Grid(per_unit=50))
    for own, of in ((found.first, pair.first), (found.second, pair.second)):
        assert (own.n_pos, own.n_neg) == (of.n_pos, of.n_neg)
        assert own.ends is not None
        assert own.ends.grid == Grid(per_unit=50)
        at = np.searchsorted(own.score, of.score, side="right") - 1
        assert (of.score <= own.ends.high[at]).all()
        np.testing.assert_array_equal(np.bincount(at, of.pos, len(own.pos)), own.pos)
    assert repr(found).startswith("CondensedPair(n_pos=")


def test_numbers_of_cells_cut_the_scale():
    score = np.array([-1.55, -0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 7.3, 1e300, -1e300])
    beside = 10**12
    number = Grid("logit", 10).numbers(score)
    assert number[:3].tolist() == [-beside - 16, -beside - 1, -beside - 1]
    assert number[3:8].tolist() == [-11, 0, 10, beside + 10, beside + 73]
    assert number[8:].tolist() == [2**53, -(2**53)]  # one more is no float
    assert Grid("linear", 10).numbers(score)[:8].tolist() == [-16, -1, -1, 2, 5, 7, 10, 73]
    assert STRIP & (STRIP - 1) == 0  # dividing by it is exact


@pytest.mark.parametrize("per_unit", [1, 1638.4, 1e6, 1e9])
def test_no_score_shares_a_cell_with_one_beside_the_log_odds(per_unit):
    inside = np.array([5e-324, 1e-9, 0.5, np.nextafter(1.0, 0.0)])
    beside = np.concatenate([[-1e300, -800, -1, -5e-324, 0], [1, 30, 37, 745, 800, 1e300]])
    first, second = (Grid("logit", per_unit).numbers(score) for score in (inside, beside))
    assert not set(first) & set(second)
    assert (second[:5] < first.min()).all()
    assert (second[5:] > first.max()).all()


def test_the_result_reads_back():
    found = compare_auc_condensed(condensed_pair(drawn_pair(4, 2_000)), alternative="greater")
    assert isinstance(found, AucDifference)
    assert list(found.to_dict()["error"]) == list(found.error)
    assert isinstance(condensed_pair(PairedSample([], [], [])).first, Sample)
