import numpy as np
import pytest
from hypothesis import given
from stats import oracle_kld
from strategies import samples

from rocmonitor.stats.forecast.tilting import OneOrder, cell_shares, columns, placement
from rocmonitor.stats.sample import Sample


def shares_of(data):
    sample = Sample(*data)
    return cell_shares(sample.pos, sample.neg)


@given(samples())
def test_placements_are_sums_over_the_other_class(data):
    u, v = shares = shares_of(data)
    psi = oracle_kld.kernel(range(len(u)), range(len(u)))
    assert placement(shares) == pytest.approx(np.stack([psi @ v, u @ psi]), abs=1e-15)


@given(samples())
def test_joined_columns_place_as_their_cells_do_and_have_the_same_limit(data):
    shares = shares_of(data)
    for order in (shares, shares[:, ::-1]):
        kernel, column = OneOrder.of(order), columns(order)
        assert np.diff(column, prepend=0).tolist() == np.diff(column, prepend=0).clip(0, 1).tolist()
        placed = kernel.placement(kernel.shares)[:, column]
        assert placed[order > 0] == pytest.approx(placement(order)[order > 0], abs=1e-15)
        cells_alone = OneOrder(order, np.full(len(column), 0.5))
        assert kernel.limit().value == cells_alone.limit().value
        assert kernel.limit().distance == pytest.approx(cells_alone.limit().distance, abs=1e-13)
        assert len(kernel.starts()) == len(cells_alone.starts())


@given(samples())
def test_the_kernel_turns_by_1_at_most_which_is_what_the_proof_stands_on(data):
    y, s = data
    psi = oracle_kld.kernel(s[y == 0], s[y == 1])
    turn = oracle_kld.largest_turn(psi)
    assert turn <= 1
    assert OneOrder.unique == 4 / 1
    rng = np.random.default_rng(len(y))
    for _ in range(5):
        a, b = rng.normal(size=psi.shape[0]), rng.normal(size=psi.shape[1])
        a, b = a - a.mean(), b - b.mean()
        assert abs(a @ psi @ b) <= turn * np.abs(a).sum() * np.abs(b).sum() / 4 + 1e-12


def test_thinned_cells_keep_the_shares_and_the_distance_of_complete_separation():
    rng = np.random.default_rng(3)
    y = rng.random(20000) < 0.4
    full = OneOrder.of(shares_of((y, rng.normal(size=20000) + y)))
    thin, group = full.thinned()
    assert thin.shares.shape[1] <= 2048 < full.shares.shape[1]
    for kept, whole in zip(thin.shares, full.shares, strict=True):
        assert kept == pytest.approx(np.bincount(group, whole), abs=1e-15)
    assert thin.limit().distance == pytest.approx(full.limit().distance, abs=1e-13)
    assert thin.thinned() is None
