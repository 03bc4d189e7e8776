import golden
import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import paired_samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.auc import auc
from rocmonitor.stats.area.covariance import auc_covariance

RNG = np.random.default_rng(4)
SHAPES = {
    "normal": lambda n: RNG.normal(size=n),
    "two values": lambda n: RNG.integers(0, 2, n),
    "rounded": lambda n: RNG.normal(size=n).round(1),
    "heavy tails": lambda n: RNG.standard_cauchy(n) ** 5,
    "most at one end": lambda n: np.where(RNG.random(n) < 0.9, 0.0, RNG.random(n)),
    "beyond float64": lambda n: RNG.choice([-1.7e308, -1.0, 0.0, 1.0, 1.7e308], n),
    "subnormal": lambda n: RNG.integers(0, 9, n) * 5e-324,
    "last bits": lambda n: 1 + RNG.integers(0, 9, n) * 2.0**-52,
    "signed zeros": lambda n: RNG.choice([-0.0, 0.0, 1.0], n),
}


# Definitions


@given(paired_samples(min_per_class=2))
def test_equals_the_pair_loops(data):
    y, s1, s2 = data
    scores = [s1, s2, s1 - s2]
    result = auc_covariance(y, np.column_stack(scores))
    assert result.auc == pytest.approx([oracle.auc(y, s) for s in scores], abs=1e-12)
    assert result.cov == pytest.approx(oracle.delong_covariance(y, scores), abs=1e-12)
    assert result.se**2 == pytest.approx(np.diag(result.cov))


@pytest.mark.parametrize("share", [0.02, 0.5, 0.97])
def test_every_shape_of_scores_against_the_pair_matrix(share):
    """Columns whose scores crowd, tie or leave the range of float64, beside each other."""
    y = (RNG.random(700) < share).astype(int)
    scores = np.column_stack([shape(700) for shape in SHAPES.values()])
    result = auc_covariance(y, scores)
    v10 = [oracle.psi(y, s).mean(axis=1) for s in scores.T]
    v01 = [oracle.psi(y, s).mean(axis=0) for s in scores.T]
    expected = np.cov(v10) / len(v10[0]) + np.cov(v01) / len(v01[0])
    assert result.cov == pytest.approx(expected, rel=1e-9, abs=1e-15)
    assert result.auc == pytest.approx(np.mean(v10, axis=1), rel=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_the_diagonal_is_that_of_each_model_alone(name):
    """More rows than one block, so that blocks and single steps are both met."""
    y = np.arange(200_000) % 3 == 0
    scores = SHAPES[name](len(y)) + (0 if name in ("beyond float64", "subnormal") else 0.1 * y)
    models = auc_covariance(y, scores[:, np.newaxis])
    alone = auc(y, scores)
    assert models.auc[0] == pytest.approx(alone.auc, rel=1e-12)
    assert models.se[0] == pytest.approx(alone.se, rel=1e-9)


# Outside numbers


def test_asah():
    data = golden.read(golden.ASAH)
    models = list(golden.ASAH_AUC)
    result = auc_covariance(data.y, data[models])
    assert result.auc == pytest.approx(list(golden.ASAH_AUC.values()), rel=1e-14)
    assert np.diag(result.cov) == pytest.approx(list(golden.ASAH_VARIANCE.values()), rel=1e-12)
    for (first, second), value in golden.ASAH_COVARIANCE.items():
        assert result.cov[models.index(first), models.index(second)] == pytest.approx(value, rel=1e-12)


def test_delong_1988():
    data = golden.read(golden.DELONG1988)
    result = auc_covariance(data.y, data[list(golden.DELONG1988_MODELS)])
    assert result.auc == pytest.approx(golden.DELONG1988_AUC, rel=1e-12)
    assert result.se == pytest.approx(golden.DELONG1988_SE, rel=1e-11)
    assert result.cov == pytest.approx(np.array(golden.DELONG1988_COV), abs=0.51e-8)
    for contrast, (estimate, se, interval, chi2, pvalue) in golden.DELONG1988_CONTRASTS.items():
        found = result.contrast(contrast)
        low, high = found.ci()
        assert (found.estimate[0], found.se[0]) == pytest.approx((estimate, se), rel=1e-11)
        assert (low[0], high[0]) == pytest.approx(interval, abs=2e-9)
        assert (found.statistic, found.pvalue) == pytest.approx((chi2, pvalue), rel=1e-10)
    chi2, df, pvalue = golden.DELONG1988_OVERALL
    for lines in ([[1, -1, 0], [0, -1, 1]], [[1, -1, 0], [0, -1, 1], [1, 0, -1]]):  # one line is redundant
        overall = result.contrast(lines)
        assert (overall.statistic, overall.pvalue) == pytest.approx((chi2, pvalue), rel=1e-9)
        assert overall.df == df


# Laws


@given(paired_samples(min_per_class=2, max_per_class=20), st.randoms(use_true_random=False))
def test_row_order_is_irrelevant_and_models_may_swap(data, order):
    y, s1, s2 = data
    rows = list(range(len(y)))
    order.shuffle(rows)
    result = auc_covariance(y, np.column_stack([s1, s2]))
    shuffled = auc_covariance(y[rows], np.column_stack([s2, s1])[rows])
    assert shuffled.cov[::-1, ::-1] == pytest.approx(result.cov, abs=1e-14)
    flipped = auc_covariance(1 - y, np.column_stack([-s1, -s2]))
    assert flipped.auc == pytest.approx(result.auc, abs=1e-14)
    assert flipped.cov == pytest.approx(result.cov, abs=1e-14)


# Input


def test_wrong_arguments():
    y = [0, 0, 1, 1]
    with pytest.raises(InputError, match=r"scores must have shape \(n, k\) with n = 4 rows"):
        auc_covariance(y, [1, 2, 3, 4])
    with pytest.raises(InputError, match=r"scores\[:, 1\] must be finite: 1 of 4"):
        auc_covariance(y, [[1, 2], [1, np.nan], [1, 2], [3, 4]])
    with pytest.raises(DegenerateDataError, match="at least 2 of each class"):
        auc_covariance([0, 0, 1], [[1], [2], [3]])
    models = auc_covariance(y, [[1, 2], [3, 1], [2, 3], [4, 4]])
    with pytest.raises(InputError, match="L must be finite and have 2 columns"):
        models.contrast([1, 0, -1])
    blind = auc_covariance(y, [[1, 1], [2, 1], [3, 1], [4, 1]])
    with pytest.raises(DegenerateDataError, match="is not 0 but has variance 0"):
        blind.contrast([1, -1])


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_other_types_of_numbers(dtype):
    y = np.array([0, 1, 0, 1, 1, 0])
    scores = np.array([[0, 1], [1, 1], [0, 0], [1, 0], [0, 1], [1, 0]])
    assert auc_covariance(y, scores.astype(dtype)).cov == pytest.approx(auc_covariance(y, scores).cov)


def test_intervals_of_a_contrast_stay_where_areas_can_be():
    models = auc_covariance([0, 0, 0, 1, 1, 1], np.column_stack([[1, 2, 4, 3, 5, 6], [1, 4, 5, 2, 3, 6]]))
    found = models.contrast([[1, 0], [1, -1], [0.5, 0.5]])
    low, high = found.ci(0.999)
    assert (low >= [0, -1, 0]).all()
    assert (high <= [1, 1, 1]).all()
    assert high[0] == 1
