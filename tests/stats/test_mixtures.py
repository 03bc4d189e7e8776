"""Mixtures of many laws are those of a few."""

from __future__ import annotations

import numpy as np
import pytest

from rocmonitor.stats.binomial import few_differences, trinomial_difference


def mixture(weight, gap, apart, m):
    """Term by term."""
    law = np.zeros(2 * m + 1)
    for chance, a, b in zip(weight, (apart + gap) / 2, (apart - gap) / 2, strict=True):
        first, mass = trinomial_difference(m, a, b)
        law[m + first : m + first + len(mass)] += chance * mass
    return law


@pytest.mark.parametrize(("m", "centre"), [(2_000, (0.1, 0.12)), (3_000, (0.2, 0.15))])
def test_few_differences_give_the_law_of_all(m, centre):
    rng = np.random.default_rng(m)
    spread = np.sqrt(np.array(centre) / m)
    shares = np.array(centre)[:, np.newaxis] + spread[:, np.newaxis] * np.clip(
        rng.normal(size=(2, 12_000)), -3, 3
    )
    weight = rng.dirichlet(np.ones(shares.shape[1]))
    terms = weight, shares[0] - shares[1], shares.sum(axis=0)
    few = few_differences(*terms, m)
    assert len(few[0]) < len(weight) / 2
    np.testing.assert_allclose(mixture(*few, m), mixture(*terms, m), atol=1e-14)


@pytest.mark.parametrize(
    ("gap", "apart"),
    [
        ([0.0, 0.0], [0.1, 0.2]),  # no scatter of one of the two
        ([-0.15, 0.15, 0.0], [0.2, 0.2, 0.12]),  # a corner where one share would be below 0
    ],
)
def test_terms_that_no_nodes_can_stand_for_are_kept(gap, apart):
    gap, apart = np.repeat(gap, 5_000), np.repeat(apart, 5_000)
    weight = np.full(len(gap), 1 / len(gap))
    for given, found in zip((weight, gap, apart), few_differences(weight, gap, apart, 500), strict=True):
        assert found is given
