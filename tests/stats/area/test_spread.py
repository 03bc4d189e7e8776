import math

import golden
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr, ndtri

from rocmonitor.stats.area.compare import compare_auc_paired
from rocmonitor.stats.area.power import AucSpread, PairedSpread, _binormal_slopes
from rocmonitor.stats.sample import PairedSample, Sample


@pytest.mark.parametrize("auc_value", [0.5, 0.62, 0.8, 0.95])
def test_normal_spread_is_the_orthant_of_three_scores(auc_value):
    """zeta10 + auc**2 is P(one positive above two negatives), by quadrature over the positive's score."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    shift = math.sqrt(2) * ndtri(auc_value)
    both = weights @ ndtr(nodes + shift) ** 2 / weights.sum()
    spread = AucSpread.normal(auc_value)
    assert spread.zeta10 == pytest.approx(both - auc_value**2, abs=1e-12)
    assert spread.zeta10 == spread.zeta01 == AucSpread.normal(1 - auc_value).zeta10


@pytest.mark.parametrize("fpr", [(0.0, 1.0), (0.0, 0.2), (0.1, 0.35)])
def test_binormal_slopes_are_derivatives(fpr):
    """Against differences of the area, by quadrature."""

    def area(a, b):
        return quad(lambda t: ndtr(a + b * ndtri(t)), *fpr, epsabs=1e-13)[0]

    a, b, step = 1.3, 0.8, 1e-4
    by_a, by_b = _binormal_slopes(a, b, fpr)
    assert by_a == pytest.approx((area(a + step, b) - area(a - step, b)) / (2 * step), abs=1e-7)
    assert by_b == pytest.approx((area(a, b + step) - area(a, b - step)) / (2 * step), abs=1e-7)


def test_placement_spread_gives_back_the_pilots_errors():
    data = golden.read(golden.ASAH)
    for marker in golden.ASAH_AUC:
        variance = AucSpread.from_sample(Sample(data.y, data[marker])).variance(41, 72)
        assert variance == pytest.approx(golden.ASAH_VARIANCE[marker], rel=1e-12)
    pair = PairedSample(data.y, data.wfns, data.s100b)
    spread = PairedSpread.from_sample(pair)
    expected = compare_auc_paired(pair).se ** 2
    assert spread.zeta10 / 41 + spread.zeta01 / 72 == pytest.approx(expected, rel=1e-12)
    cov = golden.ASAH_COVARIANCE["s100b", "wfns"]
    assert spread.null_variance(41, 72) == pytest.approx(2 * (golden.ASAH_VARIANCE["wfns"] - cov), rel=1e-12)


def test_scaled_placements_keep_what_is_special_about_the_pilot():
    spread = AucSpread.from_sample(Sample([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6]))
    assert spread.at(spread.auc).to_dict() == spread.to_dict()
    moved = spread.at(0.7)
    assert moved.zeta10 / moved.zeta01 == pytest.approx(spread.zeta10 / spread.zeta01)
    expected = AucSpread.normal(0.7).zeta10 / AucSpread.normal(spread.auc).zeta10
    assert moved.zeta10 / spread.zeta10 == pytest.approx(expected)
