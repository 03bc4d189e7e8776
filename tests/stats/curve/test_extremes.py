"""At rates of 0 and 1 the smoothing methods keep a length; the others say that they have none."""

from __future__ import annotations

import numpy as np
import pytest

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats.cost.curve import cost_curve
from rocmonitor.stats.curve.difference import threshold_difference
from rocmonitor.stats.curve.threshold import threshold_intervals, threshold_law
from rocmonitor.stats.curve.total_rate import total_rate_intervals, total_rate_law
from rocmonitor.stats.curve.vertical import vertical_intervals
from rocmonitor.stats.curve.vertical_difference import vertical_difference
from rocmonitor.stats.sample import PairedSample

Y = np.repeat([1, 0], [6, 9])
APART = np.concatenate([np.arange(6) + 20.0, np.arange(9)])
SIZES = {"same": {}, "other": {"m_pos": 4, "m_neg": 7}}
RESAMPLED = ("agresti-coull", "wald", "exact")
SMOOTHING = {"agresti-coull", "wilson", "clopper-pearson", "jeffreys", "agresti", "agresti-min"}


def _check(result, method, names):
    """Lengths are kept, or said to be lost; an end at a bound is the method's own, or said to be cut."""
    for name in names:
        low, high = getattr(result, name + "_low"), getattr(result, name + "_high")
        told = "zero-length" in [caveat.code for caveat in result.caveats]
        assert np.all(low <= high)
        if method in SMOOTHING:
            assert np.all(low < high), name
        elif np.any(low == high):
            assert told, name
    assert np.isfinite([v for v in result.to_frame().to_numpy().ravel() if not np.isinf(v)]).all()


@pytest.mark.parametrize("sampling", ["stratified", "full"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(
    "method", ["agresti-coull", "wald", "wilson", "clopper-pearson", "jeffreys", "exact", "empirical"]
)
def test_thresholds(method, sizes, sampling):
    if method not in (*RESAMPLED, "empirical") and (SIZES[sizes] or sampling == "full"):
        with pytest.raises(InputError, match="does not support"):
            threshold_intervals(Y, APART, [15.0], method=method, sampling=sampling, **SIZES[sizes])
        return
    # TPR and FPR are (0, 0), (1, 0) and (1, 1), and swapped with the labels.
    for y in (Y, 1 - Y):
        ours = threshold_intervals(
            y, APART, [np.inf, 15.0, -np.inf], method=method, sampling=sampling, rng=1, **SIZES[sizes]
        )
        _check(ours, method, ("tpr", "fpr"))
        cut = "clipped" in [caveat.code for caveat in ours.caveats]
        assert cut == (method == "agresti-coull")  # at 0 its lower end is negative; the others stay inside


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("method", ["agresti", "wald", "exact", "empirical", "kernel"])
def test_rates(method, sizes):
    if method == "kernel" and SIZES[sizes]:
        with pytest.raises(InputError, match="does not support"):
            vertical_intervals(Y, APART, [0.5], method=method, **SIZES[sizes])
        return
    for y, tpr in ((Y, 1), (1 - Y, 0)):
        ours = vertical_intervals(y, APART, [0.1, 0.5, 0.9], method=method, rng=1, **SIZES[sizes])
        np.testing.assert_allclose(ours.tpr[:2], tpr, atol=0.1)
        _check(ours, method, ("tpr",))


@pytest.mark.parametrize("sampling", ["stratified", "full"])
@pytest.mark.parametrize("method", ["agresti", "wald", "exact", "empirical"])
def test_total_rates(method, sampling):
    for y in (Y, 1 - Y):
        ours = total_rate_intervals(y, APART, [0.1, 0.4, 0.9], method=method, sampling=sampling, rng=1)
        _check(ours, method, ("tpr", "fpr"))


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("method", ["smoothed", "wald", "exact", "empirical"])
def test_differences(method, sizes):
    pairs = [(np.inf, -np.inf), (15.0, 15.0), (-np.inf, np.inf)]
    how = {"rng": 1, **SIZES[sizes]}
    kind = "agresti-min" if method == "smoothed" else method
    _check(threshold_difference(Y, APART, -APART, pairs, method=kind, **how), kind, ("dtpr", "dfpr"))
    kind = "agresti" if method == "smoothed" else method
    _check(vertical_difference(Y, APART, -APART, [0.2, 0.8], method=kind, **how), kind, ("dtpr",))


@pytest.mark.parametrize("threshold", [-np.inf, -1.0, 0.5, 3.0, np.inf])
def test_threshold_laws_at_scale_sum_to_one(threshold):
    rng = np.random.default_rng(2)
    y = np.repeat([1, 0], 10_000)
    law = threshold_law(y, rng.normal(size=20_000) + y, threshold)
    assert law.tp.sum() == pytest.approx(1, abs=1e-10)
    assert law.fp.sum() == pytest.approx(1, abs=1e-10)


def test_total_rate_law_at_scale_sums_to_one():
    rng = np.random.default_rng(2)
    y = np.repeat([1, 0], 10_000)
    law = total_rate_law(y, np.round(rng.normal(size=20_000) + y, 2), 0.3)
    assert law.tp.sum() == pytest.approx(1, abs=1e-10)
    assert law.fp.sum() == pytest.approx(1, abs=1e-10)


def test_other_sizes_of_resamples_are_told():
    pair = PairedSample([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6], [1, 4, 2, 3, 6, 5])
    said = Caveat("resample-sizes", m_pos=30, m_neg=3)
    for result in (
        threshold_intervals(pair.first, 3, m_pos=30),
        threshold_difference(pair, [(3, 3)], m_pos=30),
        vertical_intervals(pair.first, [1 / 3], m_pos=30),
        vertical_difference(pair, [1 / 3], m_pos=30),
        cost_curve(pair.first, [0.5], 3, m_pos=30),
    ):
        assert said in result.caveats
