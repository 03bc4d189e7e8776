from __future__ import annotations

from itertools import product

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import (
    AucResult,
    Grid,
    Sample,
    auc,
    auc_bounds,
    compare_auc,
    condensed,
    condensed_error,
    forecast_interval,
    threshold_intervals,
    vertical_intervals,
)
from rocmonitor.stats.condensed import aligned, extremes

PLACES = 3  # scores in a cell
TINY = 1e-12


@st.composite
def rows(draw: st.DrawFn, *, most: int = 5) -> tuple[list[int], list[int]]:
    """Labels and cells of a few rows, at least two of each class."""
    n = draw(st.integers(4, most))
    y = draw(
        st.permutations([1, 1, 0, 0, *draw(st.lists(st.integers(0, 1), min_size=n - 4, max_size=n - 4))])
    )
    return list(y), draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))


def in_some_cells(drawn: tuple[list[int], list[int]]) -> bool:
    return len(set(drawn[1])) > 1


def cells_of(y: list[int], cell: list[int]) -> Sample:
    """The condensed sample, of which only is known that cell c holds scores from c to c + 1/2."""
    label, at = np.array(y), np.array(cell, dtype=float)
    return Sample.from_cells(at, at + 0.5, label, 1 - label)


def orders(cell: list[int]) -> list[list[float]]:
    """All scores that the rows may have, ties within a cell included."""
    within = product(range(PLACES), repeat=len(cell))
    return [[c + place / 4 for c, place in zip(cell, places, strict=True)] for places in within]


@settings(deadline=None, max_examples=40)
@given(rows())
def test_no_order_has_an_auc_further_away_and_one_is_as_far(drawn):
    y, cell = drawn
    sample = cells_of(y, cell)
    off = [abs(oracle.auc(y, s) - auc(sample).auc) for s in orders(cell)]
    assert max(off) == pytest.approx(condensed_error(sample).auc, abs=TINY)
    worst, best = extremes(sample)
    found = [oracle.auc(y, s) for s in orders(cell)]
    assert (min(found), max(found)) == pytest.approx((auc(worst).auc, auc(best).auc), abs=TINY)


@settings(deadline=None, max_examples=25)
@given(rows())
def test_no_order_has_a_standard_error_further_away(drawn):
    y, cell = drawn
    sample = cells_of(y, cell)
    own = auc(sample)
    assert own.error is not None
    by_bootstrap = auc(sample, method="exact-bootstrap")
    assert by_bootstrap.error is not None
    for s in orders(cell):
        se = np.sqrt(oracle.delong_covariance(y, [np.array(s)])[0, 0])
        assert abs(se - own.se) <= own.error[1] + TINY
        resampled = float(np.std(oracle.resampled_means(oracle.psi(y, s))))
        assert abs(resampled - by_bootstrap.se) <= by_bootstrap.error[1] + TINY
    assert condensed_error(sample).se == max(own.error[1], by_bootstrap.error[1])


def test_delongs_bound_would_be_too_small_for_the_bootstrap():
    """Separated classes that share one cell: whether the resampled AUC varies depends on the order there."""
    n = 10
    shared = Sample.from_cells(
        range(2 * n - 1),
        [0.5 + k for k in range(2 * n - 1)],
        [0] * (n - 1) + [1] * n,
        [1] * n + [0] * (n - 1),
    )
    found = auc(shared, method="exact-bootstrap")
    moved = abs(auc(extremes(shared)[1], method="exact-bootstrap").se - found.se)
    assert auc(shared).error[1] < moved <= found.error[1]


@settings(deadline=None, max_examples=25)
@given(rows().filter(in_some_cells), st.sampled_from([0.0, 0.125, 0.25, 0.5, 1.0, 1.3, 2.5]))
def test_rates_at_a_threshold_lie_between_those_of_the_extremes(drawn, threshold):
    y, cell = drawn
    sample = cells_of(y, cell)
    positive = np.array(y) == 1
    worst, best = (
        threshold_intervals(each, [threshold]) for each in (x.with_ends(None) for x in extremes(sample))
    )
    error = condensed_error(sample)
    own = threshold_intervals(sample, [threshold])
    for s in orders(cell):
        flagged = np.array(s) >= threshold
        tpr, fpr = flagged[positive].mean(), flagged[~positive].mean()
        assert worst.tpr[0] <= tpr <= best.tpr[0]
        assert best.fpr[0] <= fpr <= worst.fpr[0]
        assert abs(tpr - own.tpr[0]) <= error.tpr + TINY
        assert abs(fpr - own.fpr[0]) <= error.fpr + TINY


@settings(deadline=None, max_examples=10)
@given(rows().filter(in_some_cells))
def test_the_rate_at_a_false_positive_rate_is_off_by_a_cell_at_most(drawn):
    """By the exact law over all resamples: each quantile lies between those of the extremes."""
    y, cell = drawn
    sample = cells_of(y, cell)
    at = [k / sample.n_neg for k in range(1, sample.n_neg)]
    tied = vertical_intervals(sample, at, method="exact")
    worst, best = (vertical_intervals(each, at, method="exact") for each in extremes(sample))
    for s in orders(cell):
        own = vertical_intervals(y, s, at, method="exact")
        for name in ("tpr", "tpr_low", "tpr_high"):
            low, found, high = (getattr(each, name) for each in (worst, own, best))
            assert (low <= found + TINY).all()
            assert (found <= high + TINY).all()
        assert (np.abs(own.tpr - tied.tpr) <= condensed_error(sample).tpr + TINY).all()


@pytest.mark.slow
@settings(deadline=None, max_examples=8)
@given(rows(), st.sampled_from([0.01, 0.1, 0.4]))
def test_no_order_has_bounds_within_a_distance_further_away_and_one_has(drawn, distance):
    y, cell = drawn
    tied = auc_bounds(cells_of(y, cell), distance)
    off = [
        max(abs(found.low - tied.low), abs(found.high - tied.high))
        for found in (auc_bounds(y, s, distance) for s in orders(cell))
    ]
    assert max(off) == pytest.approx(tied.error, abs=1e-9)


@settings(deadline=None, max_examples=15)
@given(rows(), st.sampled_from(["score", "none", "logit"]), st.sampled_from([0.8, 0.95]))
def test_an_interval_holds_those_of_every_order(drawn, transform, level):
    y, cell = drawn
    wide = auc(cells_of(y, cell)).ci(level, transform)
    for s in orders(cell):
        low, high = auc(y, s).ci(level, transform)
        assert wide.low <= low + 1e-9
        assert high <= wide.high + 1e-9


def random_sample(seed: int, n: int, cells: int = 60) -> tuple[Sample, Sample]:
    """Rows, and the same rows condensed on a grid."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.2
    s = rng.normal(size=n) + 1.2 * y
    at = np.floor(s * cells / 6)
    of = np.unique(at)
    low, high = (np.array([pick(s[at == each]) for each in of]) for pick in (np.min, np.max))
    pos, neg = (np.array([np.count_nonzero(k & (at == each)) for each in of]) for k in (y, ~y))
    return Sample(y, s), Sample.from_cells(low, high, pos, neg, grid=Grid("linear", cells / 6))


def test_a_difference_of_condensed_samples_allows_for_both():
    (a, few_a), (b, few_b) = (random_sample(seed, 800, cells=12) for seed in (1, 2))
    exact, found = compare_auc(auc(a), auc(b)), compare_auc(auc(few_a), auc(few_b))
    assert found.error is not None
    assert abs(exact.difference - found.difference) <= found.error[0]
    assert abs(exact.se - found.se) <= found.error[1]
    assert found.ci().low <= exact.ci().low
    assert exact.ci().high <= found.ci().high
    one = compare_auc(auc(few_a), auc(b))
    assert one.error == (auc(few_a).error[0], auc(few_a).error[1])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("inside", [True, False])
def test_a_forecast_from_condensed_windows_holds_the_one_from_rows(seed, inside):
    pairs = [random_sample(100 * seed + number, 600, cells=15) for number in range(8)]
    rows, few = ([pair[which] for pair in pairs] for which in (0, 1))
    options = {"inside": inside, "confidence_level": 0.8, "batch": (50, 200)}
    exact = forecast_interval(Sample.merge(rows), windows=rows, **options)
    found = forecast_interval(Sample.merge(few), windows=few, **options)
    assert found.fit.error > 0
    assert exact.fit.error == 0
    assert found.low <= exact.low
    assert exact.high <= found.high
    assert found.fit.inside is inside
    again = type(found).from_dict(found.to_dict()).for_batch(Sample.merge(few), (100, 300))
    assert again.low <= exact.for_batch(Sample.merge(rows), (100, 300)).low


def test_cells_of_one_score_are_ties_and_nothing_is_lost():
    exact = Sample([0, 1, 1, 0], [0.1, 0.4, 0.4, 0.4])
    cells = Sample.from_cells([0.4, 0.1], [0.4, 0.1], [2, 0], [1, 1])
    assert cells.ends is None
    assert auc(cells) == auc(exact)
    error = condensed_error(cells)
    assert (error.auc, error.se, error.tpr, error.fpr, error.spread_cells) == (0, 0, 0, 0, 0)
    one_class = Sample.from_cells([0.1, 0.5], [0.2, 0.6], [0, 3], [3, 0])
    assert condensed_error(one_class).auc == condensed_error(one_class).se == 0
    assert condensed_error(one_class).tpr == 1


def test_cells_that_overlap_are_joined_and_others_are_kept_in_order():
    sample = Sample.from_cells([0.5, 0.1, 0.3, 0.9], [0.6, 0.3, 0.4, 0.9], [1, 1, 1, 1], [0, 1, 2, 0])
    assert sample.ends is not None
    assert sample.score.tolist() == sample.ends.low.tolist() == [0.1, 0.5, 0.9]
    assert sample.ends.high.tolist() == [0.4, 0.6, 0.9]
    assert (sample.pos.tolist(), sample.neg.tolist()) == ([2, 1, 1], [3, 0, 0])
    assert Sample.from_cells([0.1], [0.2], [0], [0]).score.tolist() == []


def test_merging_keeps_the_ends_and_refuses_other_grids():
    fine = Sample.from_cells([0.1, 0.5], [0.2, 0.5], [1, 1], [1, 0], grid=Grid())
    other = Sample.from_cells([0.15], [0.3], [1], [1], grid=Grid())
    merged = Sample.merge([fine, other, Sample([0, 1], [0.25, 0.5])])
    assert merged.ends is not None
    assert merged.ends.grid == Grid()
    assert (merged.ends.low.tolist(), merged.ends.high.tolist()) == ([0.1, 0.5], [0.3, 0.5])
    assert (merged.pos.tolist(), merged.neg.tolist()) == ([2, 2], [3, 0])
    coarse = Sample.from_cells([0.1], [0.2], [1], [1], grid=Grid(per_unit=10))
    with pytest.raises(InputError, match=r"different grids \(logit, 1638.4 .*; logit, 10 "):
        Sample.merge([fine, coarse])
    with pytest.raises(InputError, match="different grids"):
        forecast_interval(fine, windows=[coarse])
    unknown = Sample.from_cells([0.15], [0.3], [1], [1])
    assert Sample.merge([fine, unknown]).ends.grid == Grid()
    with pytest.raises(InputError, match="clusters"):
        Sample.merge([fine, Sample([0, 1], [1, 2], cluster=[1, 2])])


def test_parts_are_brought_onto_the_cells_of_the_whole():
    one = Sample.from_cells([0.1, 0.5], [0.2, 0.5], [1, 1], [1, 0])
    two = Sample([0, 1, 1], [0.15, 0.5, 0.7])
    whole = Sample.merge([one, two])
    found = aligned(whole, [one, two])
    for part, before in zip(found, (one, two), strict=True):
        assert set(part.score) <= set(whole.score)
        assert (part.n_pos, part.n_neg) == (before.n_pos, before.n_neg)
    assert aligned(whole, [Sample([0, 1], [0.15, 9.0])])[0].ends is None  # no part of it
    assert aligned(two, [two]) == [two]


def test_condensed_knows_its_error():
    rows, _ = random_sample(5, 4000)
    few = condensed(rows, cells=40)
    error = condensed_error(few)
    assert abs(auc(few).auc - auc(rows).auc) <= error.auc
    assert abs(auc(few).se - auc(rows).se) <= error.se
    again = condensed(few, cells=10)
    assert abs(auc(again).auc - auc(rows).auc) <= condensed_error(again).auc
    assert condensed_error(again).auc > error.auc


def test_a_result_keeps_its_error():
    _, few = random_sample(5, 400, cells=10)
    found = auc(few)
    assert AucResult.from_dict(found.to_dict()) == found
    assert found.error is not None
    with pytest.raises(InputError, match="second-order"):
        found.ci(transform="second-order")
    assert found.ci().low < AucResult.from_dict(found.to_dict() | {"error": None}).ci().low


@pytest.mark.parametrize("method", ["bootstrap", "binormal", "wmk16", "upper-bound", "cortes-mohri"])
def test_methods_without_a_guarantee_are_refused(method):
    _, few = random_sample(5, 400, cells=10)
    with pytest.raises(InputError, match="the sample is condensed"):
        auc(few, method=method, rng=1 if method == "bootstrap" else None)


def test_what_is_no_condensed_sample_is_refused():
    with pytest.raises(InputError, match="must be a Sample"):
        condensed_error([1, 2])
    with pytest.raises(DegenerateDataError):
        condensed_error(Sample([1, 1], [1, 2]))
    with pytest.raises(InputError, match="low must not be above high"):
        Sample.from_cells([0.3], [0.2], [1], [1])
    with pytest.raises(InputError, match="scale"):
        Grid("log")
    for per_unit in (0, -1.0, float("nan"), 1e10):
        with pytest.raises(InputError, match="per_unit"):
            Grid(per_unit=per_unit)
