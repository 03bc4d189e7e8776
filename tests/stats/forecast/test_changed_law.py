"""The change of P(y | score) that labelled rows show, and the estimate that follows it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import norm

from rocmonitor.stats import Sample, auc, partly_labelled_auc
from rocmonitor.stats.forecast.partial_labels import (
    CHANGED,
    SPREAD,
    ChangedLaw,
    PastLaw,
    Slope,
    scatter_of,
    slope,
)
from rocmonitor.stats.forecast.projection import rising


def drawn(rng: np.random.Generator, rows: int, apart: float) -> tuple[np.ndarray, np.ndarray]:
    y = rng.random(rows) < 0.3
    return y, np.round(rng.normal(size=rows) + apart * y, 1)


def log_odds(sample: Sample, score: np.ndarray) -> np.ndarray:
    """By the definition: of the rows of each isotonic block, with half a row of each class more."""
    start = [*rising(sample.pos, sample.neg).start, len(sample.score)]
    found = []
    for s in score:
        block = next(
            (low, high)
            for low, high in itertools.pairwise(start)
            if s <= sample.score[high - 1] or high == len(sample.score)
        )
        pos, neg = sample.pos[slice(*block)].sum(), sample.neg[slice(*block)].sum()
        found.append(math.log((pos + 0.5) / (neg + 0.5)))
    return np.array(found)


def test_the_slope_is_that_of_a_logistic_regression_of_rows() -> None:
    rng = np.random.default_rng(1)
    known, late = (Sample(*drawn(rng, 3000, 1.2)) for _ in range(2))
    past = PastLaw(known, Sample.merge([known, late]))
    y, s = drawn(rng, 2000, 0.8)
    found = slope(Sample(y, s), past)
    base, x = log_odds(past.known, s), log_odds(past.whole, s)

    def loss(of: np.ndarray) -> float:
        at = base + of[0] + of[1] * x
        return float(np.sum(np.logaddexp(0, at) - y * at))

    best = minimize(loss, np.zeros(2), tol=1e-12)
    assert found.value == pytest.approx(best.x[1], abs=1e-4)
    p = expit(base + best.x[0] + best.x[1] * x)
    design = np.stack([np.ones_like(x), x])
    assert found.variance == pytest.approx(np.linalg.inv((design * (p * (1 - p))) @ design.T)[1, 1], rel=1e-3)
    assert found.value == pytest.approx(0.8 / 1.2 - 1, abs=3 * math.sqrt(found.variance))


@pytest.mark.parametrize(
    ("value", "error", "scatter"), [(-0.3, 0.1, 0.0025), (0.05, 0.1, 0.01), (-0.2, 0.2, 0.0)]
)
def test_the_shrunk_slope_is_the_mean_of_its_posterior(value: float, error: float, scatter: float) -> None:
    prior = [(1 - CHANGED, scatter), (CHANGED, scatter + SPREAD**2)]

    def moment(power: int) -> float:
        total = 0.0
        for weight, variance in prior:
            if variance == 0:
                total += weight * float(norm.pdf(value, 0, error)) * (0.0**power)
                continue
            total += quad(
                lambda b, v=variance, w=weight: (
                    w * b**power * norm.pdf(b, 0, math.sqrt(v)) * norm.pdf(value, b, error)
                ),
                -3,
                3,
                points=[0.0, value],
                limit=200,
            )[0]
        return total

    mean, deviation = Slope(value, error**2).shrunk(scatter)
    assert mean == pytest.approx(moment(1) / moment(0), abs=1e-8)
    assert deviation**2 == pytest.approx(moment(2) / moment(0) - mean**2, abs=1e-8)


def test_a_slope_that_is_not_known_is_shrunk_to_nothing() -> None:
    rng = np.random.default_rng(2)
    past = PastLaw(*(Sample(*drawn(rng, 500, 1.0)) for _ in range(2)), scatter=0.01)
    assert slope(Sample([1, 1], [0.5, 0.5]), past).shrunk(past.scatter)[0] == pytest.approx(0, abs=0.05)
    assert abs(Slope(-0.1, SPREAD**2).shrunk(0.0)[0]) <= 0.05  # an error as large as what it may be
    assert Slope(-0.5, 0.01).shrunk(0.0)[0] < -0.4


def test_a_change_moves_no_positives_into_a_window_or_out_of_it() -> None:
    rng = np.random.default_rng(3)
    whole = Sample(*drawn(rng, 5000, 1.2))
    score, rows = whole.score, (whole.pos + whole.neg).astype(float)
    p = expit(log_odds(whole, score))
    change = ChangedLaw(PastLaw(whole, whole), score, p, (score, rows))
    assert change.p(0.0) == pytest.approx(p)
    for beta in (-0.4, 0.3):
        found = change.p(beta)
        assert rows @ found == pytest.approx(rows @ p, rel=1e-9)
        moved = logit(found) - (1 + beta) * logit(p)
        assert moved == pytest.approx(np.full(len(p), moved[0]), abs=1e-8)


def test_the_scatter_is_what_sampling_does_not_make() -> None:
    rng = np.random.default_rng(4)
    errors = 0.05 + 0.1 * rng.random(2000)
    for deviation in (0.0, 0.15):
        values = rng.normal(size=2000) * np.hypot(errors, deviation)
        found = scatter_of([Slope(*of) for of in zip(values, errors**2, strict=True)])
        assert found == pytest.approx(deviation**2, abs=0.002)
    assert scatter_of([Slope(0.3, 0.01)]) == 0


def test_after_a_fall_missing_labels_no_longer_hide_it() -> None:
    """Labels of high scores come late; the AUC falls by 0.06. Errors are 0.001 to 0.0015."""
    rng = np.random.default_rng(5)

    def window(apart: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        y, s = drawn(rng, 800, apart)
        return y, s, rng.random(800) < expit(0.7 - 1.2 * (s - 0.4))

    past = [window(1.47) for _ in range(40)]
    y, s, k = (np.concatenate(of) for of in zip(*past, strict=True))
    late = Sample(y[~k], s[~k])
    law = PastLaw(Sample(y[k], s[k]), Sample(y, s), scatter=0.001)
    for apart, plain, changed in ((1.14, 0.006, 0.004), (1.47, -0.002, 0.002)):
        errors = []
        for _ in range(60):
            y, s, k = window(apart)
            missing = (s[~k], np.ones(int((~k).sum()), dtype=int))
            found = [partly_labelled_auc(Sample(y[k], s[k]), missing, late, past=of) for of in (None, law)]
            assert found[1].auc == pytest.approx(found[0].auc + found[1].law_change)
            assert found[0].law_se == found[0].law_change == 0 < found[1].law_se
            errors.append([each.auc - auc(y, s).auc for each in found])
        mean = np.mean(errors, axis=0)
        assert mean[0] > plain
        assert abs(mean[1]) < changed + 0.002
