import itertools
import json
import math
from random import Random

import golden
import numpy as np
import oracle
import pytest
from caveats import codes
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import increasing_maps, paired_samples, samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.auc import auc
from rocmonitor.stats.area.compare import compare_auc, compare_auc_paired
from rocmonitor.stats.area.covariance import auc_covariance
from rocmonitor.stats.sample import PairedSample, Sample

METHODS = ("delong", "exact-bootstrap")

# One positive loses against every negative, which all lose alike: their loss has no variance.
EVERY_NEGATIVE_ALIKE = (
    np.array([1, 1, 0, 0, 0, 0, 0, 1, 0]),
    np.array([0, 0, 0, 0, 0, 0, 0, -0.125, 0]),
    np.zeros(9),
)


def try_paired(*data, **options):
    """The comparison, or None where the areas differ without any variance."""
    try:
        return compare_auc_paired(*data, **options)
    except DegenerateDataError:
        return None


# Definitions


@given(paired_samples(min_per_class=2))
def test_delong_equals_the_pair_loops(data):
    y, s1, s2 = data
    cov = oracle.delong_covariance(y, [s1, s2])
    variance = cov[0, 0] + cov[1, 1] - 2 * cov[0, 1]
    result = try_paired(y, s1, s2)
    if result is None:
        assert variance < 1e-12
        return
    assert result.difference == pytest.approx(oracle.auc(y, s1) - oracle.auc(y, s2), abs=1e-12)
    assert (result.auc_1, result.auc_2) == pytest.approx((oracle.auc(y, s1), oracle.auc(y, s2)), abs=1e-12)
    assert result.se**2 == pytest.approx(variance, abs=1e-12)
    assert result.se == pytest.approx(auc_covariance(y, np.column_stack([s1, s2])).contrast([1, -1]).se[0])


@given(paired_samples(max_per_class=4))
def test_exact_bootstrap_equals_the_enumeration_of_all_resamples(data):
    y, s1, s2 = data
    resampled = oracle.resampled_means(oracle.psi(y, s1) - oracle.psi(y, s2))
    result = try_paired(y, s1, s2, method="exact-bootstrap")
    if result is None:
        assert resampled.var() < 1e-12
        return
    assert result.difference == pytest.approx(resampled.mean(), abs=1e-12)
    assert result.se**2 == pytest.approx(resampled.var(), abs=1e-12)


@pytest.mark.parametrize("distinct", [(2, 3), (40, 5), (60, 60), (10**6, 10**6)])
def test_exact_bootstrap_against_the_pair_matrix(distinct):
    """Sizes that enumeration cannot reach: Bamber 1975 from the (n_pos, n_neg) matrix."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, 150)
    s1, s2 = (rng.integers(0, d, y.size) + y * d // 4 for d in distinct)
    kernel = oracle.psi(y, s1) - oracle.psi(y, s2)
    n_pos, n_neg = kernel.shape
    expected = (
        kernel.var() + (n_neg - 1) * kernel.mean(axis=1).var() + (n_pos - 1) * kernel.mean(axis=0).var()
    ) / kernel.size
    result = compare_auc_paired(y, s1, s2, method="exact-bootstrap")
    assert result.se**2 == pytest.approx(expected, rel=1e-12)


# Outside numbers


@pytest.mark.parametrize("models", golden.ASAH_PAIRED)
def test_asah_paired(models):
    data = golden.read(golden.ASAH)
    scores = [data[model] for model in models]
    statistic, pvalue, low, high = golden.ASAH_PAIRED[models]
    result = compare_auc_paired(data.y, *scores)
    assert result.statistic == pytest.approx(statistic, rel=1e-12)
    assert result.pvalue == pytest.approx(pvalue, rel=1e-12)
    assert result.ci() == pytest.approx((low, high), rel=1e-12)
    bootstrap = compare_auc_paired(data.y, *scores, method="exact-bootstrap").se
    assert abs(bootstrap / golden.ASAH_BOOTSTRAP_SD_PAIRED[models] - 1) < 4 / math.sqrt(2e6)


@pytest.mark.parametrize("models", golden.ASAH_UNPAIRED)
def test_asah_unpaired(models):
    data = golden.read(golden.ASAH)
    statistic, df, pvalue = golden.ASAH_UNPAIRED[models]
    result = compare_auc(*(auc(data.y, data[model]) for model in models))
    assert result.statistic == pytest.approx(statistic, rel=1e-12)
    assert result.df == pytest.approx(df, abs=0.51e-9)
    assert result.pvalue == pytest.approx(pvalue, rel=1e-12)


@pytest.mark.parametrize(("design", "alternative"), golden.ASAH_ONE_SIDED_P)
def test_asah_one_sided(design, alternative):
    data = golden.read(golden.ASAH)
    if design == "paired":
        result = compare_auc_paired(data.y, data.wfns, data.s100b, alternative=alternative)
    else:
        result = compare_auc(auc(data.y, data.wfns), auc(data.y, data.s100b), alternative=alternative)
    assert result.pvalue == pytest.approx(golden.ASAH_ONE_SIDED_P[design, alternative], rel=1e-12)


def test_delong_1988():
    data = golden.read(golden.DELONG1988)
    result = compare_auc_paired(data.y, data.albumin, data.kg_score)
    estimate, se, interval, chi2, pvalue = golden.DELONG1988_CONTRASTS[1, -1, 0]
    assert result.difference == pytest.approx(estimate, rel=1e-11)
    assert result.se == pytest.approx(se, rel=1e-12)
    assert result.ci() == pytest.approx(interval, abs=2e-9)
    assert result.statistic**2 == pytest.approx(chi2, rel=1e-11)
    assert result.pvalue == pytest.approx(pvalue, rel=1e-11)


def test_wieand():
    data = golden.read(golden.WIEAND)
    result = compare_auc_paired(data.y, data.ca19_9, data.ca125)
    for name, value in golden.WIEAND_PAIRED.items():
        assert getattr(result, name) == pytest.approx(value, abs=0.51e-12)
    assert result.ci() == pytest.approx(golden.WIEAND_PAIRED_CI, abs=0.51e-12)
    assert auc_covariance(data.y, data[["ca19_9", "ca125"]]).cov[0, 1] == pytest.approx(
        golden.WIEAND_COV, rel=1e-9
    )
    bootstrap = compare_auc_paired(data.y, data.ca19_9, data.ca125, method="exact-bootstrap").se
    assert abs(bootstrap / golden.WIEAND_PAIRED_BOOTSTRAP_SD - 1) < 4 / math.sqrt(2e6)


# Laws


@pytest.mark.parametrize("method", METHODS)
@given(data=samples(min_per_class=2), increasing=increasing_maps)
def test_a_model_against_itself(method, data, increasing):
    y, s = data
    result = compare_auc_paired(y, s, increasing(s), method=method)
    assert (result.difference, result.se, result.statistic, result.pvalue) == (0.0, 0.0, 0.0, 1.0)
    low, high = result.ci()
    assert low == -high < 0
    assert codes(result)[0] == "no-difference-in-any-pair"


@pytest.mark.parametrize("method", METHODS)
@given(
    data=paired_samples(min_per_class=2), increasing=increasing_maps, order=st.randoms(use_true_random=False)
)
def test_laws(method, data, increasing, order):
    y, s1, s2 = data
    result = try_paired(y, s1, s2, method=method)
    rows = list(range(len(y)))
    order.shuffle(rows)
    shuffled = try_paired(y[rows], increasing(s1[rows]), s2[rows], method=method)
    swapped = try_paired(y, s2, s1, method=method, alternative="less")
    if result is None:
        assert shuffled is swapped is None
        return
    for name in ("difference", "se", "statistic", "pvalue"):
        assert getattr(shuffled, name) == pytest.approx(getattr(result, name), rel=1e-9, abs=1e-12)
    assert swapped.statistic == pytest.approx(-result.statistic, rel=1e-9, abs=1e-12)
    assert swapped.se == pytest.approx(result.se, rel=1e-9)
    greater, less = (
        compare_auc_paired(y, s1, s2, method=method, alternative=each).pvalue for each in ("greater", "less")
    )
    assert swapped.pvalue == pytest.approx(greater, rel=1e-9)
    assert 2 * min(greater, less, 0.5) == pytest.approx(result.pvalue, rel=1e-9, abs=1e-12)
    low, high = result.ci()
    assert -1 <= low <= result.difference <= high <= 1
    assert low < high


@pytest.mark.parametrize("method", METHODS)
@given(data=paired_samples(min_per_class=2, distinct=3), order=st.randoms(use_true_random=False))
@example(data=EVERY_NEGATIVE_ALIKE, order=Random(0))
def test_grouped_counts_equal_rows(method, data, order):
    y, s1, s2 = data
    cells = sorted(set(zip(s1, s2, strict=True)))
    order.shuffle(cells)
    pos, neg = ([int(np.sum((y == label) & (s1 == a) & (s2 == b))) for a, b in cells] for label in (1, 0))
    first, second = zip(*cells, strict=True)
    grouped = try_paired(PairedSample.from_counts(first, second, pos, neg), method=method)
    raw = try_paired(y, s1, s2, method=method)
    assert (grouped is None) == (raw is None)
    if raw is not None:
        for name in ("difference", "se", "statistic", "pvalue", "auc_1", "auc_2"):
            assert getattr(grouped, name) == pytest.approx(getattr(raw, name), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_cells_are_never_expanded(method):
    cells = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 1)]
    s1, s2 = zip(*cells, strict=True)
    pos, neg = np.array([1, 2, 3, 9, 9]), np.array([9, 5, 4, 2, 1])
    small = compare_auc_paired(PairedSample.from_counts(s1, s2, pos, neg), method=method)
    large = compare_auc_paired(PairedSample.from_counts(s1, s2, pos * 10**9, neg * 10**9), method=method)
    assert large.difference == pytest.approx(small.difference, rel=1e-12)
    assert large.se == pytest.approx(small.se / math.sqrt(1e9), rel=0.1)


@pytest.mark.slow
def test_every_pair_of_small_orderings():
    """All weak orders of 2 + 2 rows against each other: never NaN, and the interval never a point."""
    y = [1, 1, 0, 0]
    orders = list(itertools.product(range(4), repeat=4))[::7]
    for s1, s2 in itertools.product(orders, repeat=2):
        for method in METHODS:
            result = try_paired(y, s1, s2, method=method)
            if result is not None:
                assert all(math.isfinite(v) for v in (result.statistic, result.pvalue, result.se))
                assert result.ci().low < result.ci().high


def test_one_model_perfect_the_other_blind():
    y = [0, 0, 1, 1, 1]
    for method in METHODS:
        with pytest.raises(DegenerateDataError, match=r"differ by 0\.5 with a standard error of 0"):
            compare_auc_paired(y, y, [1] * 5, method=method)
    with pytest.raises(DegenerateDataError, match=r"differ by 0\.5 with a standard error of 0"):
        compare_auc(auc(y, y), auc(y, [1] * 5))


# Independent samples


@given(samples(min_per_class=2), samples(min_per_class=2))
def test_independent_samples(data_1, data_2):
    first, second = auc(*data_1), auc(*data_2)
    if first.se == second.se == 0 and first.auc != second.auc:
        with pytest.raises(DegenerateDataError):
            compare_auc(first, second)
        return
    result, swapped = compare_auc(first, second), compare_auc(second, first)
    assert result.difference == first.auc - second.auc == -swapped.difference
    assert result.se == pytest.approx(math.hypot(first.se, second.se))
    assert result.pvalue == pytest.approx(swapped.pvalue)
    low, high = result.ci()
    assert -1 <= low <= result.difference <= high <= 1
    assert low < high
    assert (result.df is None) == (result.se == 0)


def test_both_perfect():
    result = compare_auc(auc([0, 0, 1, 1], [1, 2, 3, 4]), auc([0, 0, 0, 1, 1, 1], [1, 2, 2, 3, 4, 5]))
    assert (result.difference, result.statistic, result.pvalue) == (0.0, 0.0, 1.0)
    half = 1 - math.sqrt(0.025)
    assert result.ci() == pytest.approx((-half, half))
    assert [caveat.about for caveat in result.caveats] == [("first",), ("second",), ()]


def test_degrees_of_freedom_do_not_underflow():
    tiny = auc(Sample.from_counts([0, 1], [1, 10**15], [10**15, 1]))
    assert compare_auc(tiny, tiny).df == pytest.approx(2 * (2 * 10**15 + 1), rel=1e-9)


# Input and output


def test_wrong_arguments():
    y, s = [0, 0, 1, 1], [1, 3, 2, 4]
    result = auc(y, s)
    with pytest.raises(InputError, match="method must be one of delong, exact-bootstrap"):
        compare_auc_paired(y, s, s, method="hanley-mcneil")
    for call in (
        lambda a: compare_auc_paired(y, s, s, alternative=a),
        lambda a: compare_auc(result, result, alternative=a),
    ):
        with pytest.raises(InputError, match=r"alternative must be one of .*it is 'larger'"):
            call("larger")
    with pytest.raises(InputError, match="result_2 must be an AucResult, as from auc"):
        compare_auc(result, 0.9)
    with pytest.raises(InputError, match="confidence_level"):
        compare_auc(result, result).ci(1.0)


def test_too_few_rows():
    with pytest.raises(DegenerateDataError, match="at least 2 of each class; there are 1 positive"):
        compare_auc_paired([0, 0, 1], [1, 2, 3], [2, 1, 3])
    for method in METHODS:
        with pytest.raises(DegenerateDataError, match="0 positives and 3 negatives"):
            compare_auc_paired([0, 0, 0], [1, 2, 3], [2, 1, 3], method=method)
    result = compare_auc_paired([0, 0, 1], [1, 4, 3], [2, 1, 3], method="exact-bootstrap")
    assert result.se == pytest.approx(math.sqrt(0.25 / 2))
    assert codes(result)[0] == "single-row"


def test_as_plain_data():
    data = [0, 0, 1, 1, 1], [1, 3, 2, 4, 5], [3, 1, 2, 4, 0]
    result = compare_auc_paired(*data)
    assert json.loads(json.dumps(result.to_dict()))["alternative"] == "two-sided"
    assert str(result).startswith("AUC 0.83 - 0.50 = +0.33, 95 % interval -0.59 to +1.00 (standard")
    plain = json.loads(json.dumps(auc_covariance(data[0], np.column_stack(data[1:])).to_dict()))
    assert np.shape(plain["cov"]) == (2, 2)
