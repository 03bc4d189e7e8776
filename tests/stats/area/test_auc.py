import json
import math
from itertools import product

import golden
import numpy as np
import oracle
import pytest
from caveats import codes
from hypothesis import given
from hypothesis import strategies as st
from strategies import grouped_counts, increasing_maps, labels, samples

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.auc import AucResult, auc
from rocmonitor.stats.area.compare import compare_auc
from rocmonitor.stats.area.covariance import auc_covariance
from rocmonitor.stats.sample import Sample

METHODS = (
    "delong",
    "exact-bootstrap",
    "wmk16",
    "hanley-mcneil",
    "binormal",
    "upper-bound",
    "cortes-mohri",
    "bootstrap",
)
OF_TWO_ROWS = ("delong", "binormal")


def area(*data, method, **options):
    """Of any method: the bootstrap with a seed."""
    return auc(
        *data, method=method, **(options | ({"rng": 1, "n_resamples": 200} if method == "bootstrap" else {}))
    )


def close(value, expected, digits):
    """Agrees with a printed number of that many decimals."""
    return value == pytest.approx(expected, abs=0.5001 * 10.0**-digits, rel=0)


# Definitions


@given(samples(min_per_class=2))
def test_delong_equals_the_pair_loops(data):
    y, s = data
    result = auc(y, s)
    assert result.auc == pytest.approx(oracle.auc(y, s), abs=1e-12)
    assert result.se**2 == pytest.approx(oracle.delong_covariance(y, [s])[0, 0], abs=1e-12)


@given(samples(max_per_class=4), st.integers(1, 5), st.integers(1, 4))
def test_exact_bootstrap_equals_the_enumeration_of_all_resamples(data, m_pos, m_neg):
    y, s = data
    kernel = oracle.psi(y, s)
    result = auc(y, s, method="exact-bootstrap")
    assert result.auc == pytest.approx(oracle.resampled_means(kernel).mean(), abs=1e-12)
    assert result.se**2 == pytest.approx(oracle.resampled_means(kernel).var(), abs=1e-12)
    other = auc(y, s, method="exact-bootstrap", m_pos=m_pos, m_neg=m_neg)
    assert other.se**2 == pytest.approx(oracle.resampled_means(kernel, m_pos, m_neg).var(), abs=1e-12)


@pytest.mark.parametrize("ties", [[0, 1, 2, 3, 4], [0, 0, 1, 1, 2], [5, 5, 5, 5, 5]])
def test_exact_bootstrap_with_five_of_each_class(ties):
    y = np.array([1] * 5 + [0] * 5)
    s = np.array([2.0, 1, 4, 1, 3, *ties])
    resampled = oracle.resampled_means(oracle.psi(y, s))
    assert auc(y, s, method="exact-bootstrap").se ** 2 == pytest.approx(resampled.var(), abs=1e-12)


# Outside numbers


@pytest.mark.parametrize("marker", golden.ASAH_AUC)
def test_asah(marker):
    data = golden.read(golden.ASAH)
    result = auc(data.y, data[marker])
    assert result.auc == pytest.approx(golden.ASAH_AUC[marker], rel=1e-13)
    assert result.se**2 == pytest.approx(golden.ASAH_VARIANCE[marker], rel=1e-12)
    bootstrap = auc(data.y, data[marker], method="exact-bootstrap").se
    assert abs(bootstrap / golden.ASAH_BOOTSTRAP_SD[marker] - 1) < 4 / math.sqrt(2e6)


def test_asah_intervals():
    data = golden.read(golden.ASAH)
    assert auc(data.y, data.ndka).ci(transform="none") == pytest.approx(golden.ASAH_CI_NDKA, rel=1e-12)
    women = data[data.gender == "Female"]
    result = auc(women.y, women.ndka)
    low, area, high = golden.ASAH_CI_NDKA_WOMEN
    assert close(result.auc, area, 10)
    assert close(result.ci(transform="none").low, low, 10)
    assert close(result.ci(transform="none").high, high, 10)


def test_near_ties_stay_apart():
    assert auc(golden.NEAR_TIE_CASE, golden.NEAR_TIE_SCORE).auc == pytest.approx(
        golden.NEAR_TIE_AUC, rel=1e-15
    )


def test_hanley_mcneil_1982():
    sample = Sample.from_counts([1, 2, 3, 4, 5], golden.HM1982_POS, golden.HM1982_NEG)
    result = auc(sample)
    assert result.auc == pytest.approx(golden.HM1982["auc"], rel=1e-14)
    assert result.se == pytest.approx(golden.HM1982["se"], rel=1e-12)
    assert result.ci(transform="none") == pytest.approx(golden.HM1982_CI, rel=1e-12)
    assert close(auc(sample, method="exact-bootstrap").se, golden.HM1982_BOOTSTRAP_SD, 4)


def test_hanley_mcneil_1983():
    sample = Sample.from_counts(range(1, 7), golden.HM1983_POS, golden.HM1983_NEG)
    result = auc(sample, method="exact-bootstrap")
    assert close(result.auc, golden.HM1983["auc"], 6)
    # The published bootstrap has 2,000 replicates.
    assert abs(result.se / golden.HM1983["bootstrap"] - 1) < 3 / math.sqrt(2 * 2000)


@pytest.mark.parametrize("marker", golden.WIEAND_AUC)
def test_wieand(marker):
    data = golden.read(golden.WIEAND)
    result = auc(data.y, data[marker])
    assert close(result.auc, golden.WIEAND_AUC[marker], 8)
    assert close(result.se, golden.WIEAND_SE[marker], 8)
    assert result.ci(transform="none") == pytest.approx(golden.WIEAND_CI[marker], abs=1e-9)
    bootstrap = auc(data.y, data[marker], method="exact-bootstrap").se
    assert abs(bootstrap / golden.WIEAND_BOOTSTRAP_SD[marker] - 1) < 4 / math.sqrt(2e6)


def test_employment_stream():
    data = golden.read(golden.EMPLOYMENT)
    for year, (area, se) in golden.EMPLOYMENT_BY_YEAR.items():
        rows = data[data.year == year]
        result = auc(rows.employed, rows.predicted_probability)
        assert result.auc == pytest.approx(area, abs=1e-9)
        assert result.se == pytest.approx(se, abs=1e-9)


def test_games_stream():
    data = golden.read(golden.GAMES).dropna(subset=["y"])
    for league, (area, se, games) in golden.GAMES_BY_LEAGUE.items():
        rows = data[data.league == league]
        result = auc(rows.y, rows.prob1)
        assert result.n_pos + result.n_neg == games
        assert result.auc == pytest.approx(area, abs=1e-9)
        assert result.se == pytest.approx(se, abs=1e-9)


# Several models at once


def test_asah_covariances():
    data = golden.read(golden.ASAH)
    models = ["wfns", "s100b", "ndka"]
    result = auc_covariance(data.y, data[models])
    for (first, second), covariance in golden.ASAH_COVARIANCE.items():
        entry = result.cov[models.index(first), models.index(second)]
        assert entry == pytest.approx(covariance, rel=1e-12)
    assert np.diag(result.cov) == pytest.approx([golden.ASAH_VARIANCE[m] for m in models], rel=1e-12)
    assert result.auc == pytest.approx([golden.ASAH_AUC[m] for m in models], rel=1e-13)


def test_delong_1988():
    data = golden.read(golden.DELONG1988)
    result = auc_covariance(data.y, data[list(golden.DELONG1988_MODELS)])
    assert result.auc == pytest.approx(golden.DELONG1988_AUC, rel=1e-14)
    assert result.se == pytest.approx(golden.DELONG1988_SE, rel=1e-11)
    assert result.cov == pytest.approx(np.array(golden.DELONG1988_COV), abs=0.51e-8)
    for model, interval in zip(golden.DELONG1988_MODELS, golden.DELONG1988_CI, strict=True):
        assert auc(data.y, data[model]).ci(transform="none") == pytest.approx(interval, abs=2e-9)
    for line, (estimate, se, interval, chi2, pvalue) in golden.DELONG1988_CONTRASTS.items():
        contrast = result.contrast(line)
        assert contrast.estimate == pytest.approx([estimate], rel=1e-11)
        assert contrast.se == pytest.approx([se], rel=1e-12)
        assert np.ravel(contrast.ci()) == pytest.approx(interval, abs=2e-9)
        assert contrast.statistic == pytest.approx(chi2, rel=1e-11)
        assert contrast.pvalue == pytest.approx(pvalue, rel=1e-11)


@pytest.mark.parametrize(
    "lines", [[[1, -1, 0], [0, -1, 1]], [[1, -1, 0], [0, -1, 1], [1, 0, -1], [3, -2, -1]]]
)
def test_delong_1988_overall(lines):
    """Redundant lines change neither the statistic nor its degrees of freedom."""
    data = golden.read(golden.DELONG1988)
    contrast = auc_covariance(data.y, data[list(golden.DELONG1988_MODELS)]).contrast(lines)
    chi2, df, pvalue = golden.DELONG1988_OVERALL
    assert contrast.statistic == pytest.approx(chi2, rel=1e-10)
    assert contrast.df == df
    assert contrast.pvalue == pytest.approx(pvalue, rel=1e-10)


@given(labels(min_per_class=2), st.data())
def test_covariance_equals_the_pair_loops(y, data):
    column = st.lists(st.integers(0, 4).map(float), min_size=len(y), max_size=len(y))
    scores = [np.array(data.draw(column)) for _ in range(3)]
    result = auc_covariance(y, np.column_stack(scores))
    assert result.cov == pytest.approx(oracle.delong_covariance(y, scores), abs=1e-12)
    assert result.auc == pytest.approx([oracle.auc(y, s) for s in scores], abs=1e-12)


def test_contrast_of_a_model_with_itself():
    y, s = [0, 1, 0, 1, 1], [0.1, 0.4, 0.5, 0.6, 0.2]
    models = auc_covariance(y, np.column_stack([s, np.exp(s), [5, 1, 2, 7, 4]]))
    contrast = models.contrast([1, -1, 0])
    assert contrast.estimate == pytest.approx([0.0], abs=1e-15)
    assert (contrast.statistic, contrast.df, contrast.pvalue) == (0.0, 0, 1.0)
    assert contrast.se.tolist() == [0.0]
    assert models.contrast([[1, -1, 0], [0, 1, -1]]).df == 1


def test_contrast_without_variance():
    y = [0, 0, 1, 1]
    models = auc_covariance(y, np.column_stack([[1, 2, 3, 4], [4, 3, 2, 1]]))
    with pytest.raises(DegenerateDataError, match="variance 0"):
        models.contrast([1, -1])
    for wrong in ([1, -1, 0], [np.nan, 1], [[[1, -1]]]):
        with pytest.raises(InputError, match="L must be finite and have 2 columns"):
            models.contrast(wrong)


@pytest.mark.parametrize("shape", [(4,), (3, 2), (4, 2, 2)])
def test_covariance_refuses_other_shapes(shape):
    with pytest.raises(InputError, match=r"shape \(n, k\) with n = 4"):
        auc_covariance([0, 0, 1, 1], np.zeros(shape))


def test_covariance_names_the_bad_column():
    with pytest.raises(InputError, match=r"scores\[:, 1\] must be finite: 1 of 4"):
        auc_covariance([0, 0, 1, 1], [[1, 1], [2, np.nan], [3, 3], [4, 4]])
    with pytest.raises(DegenerateDataError, match="1 positive and 3 negatives"):
        auc_covariance([0, 0, 0, 1], np.ones((4, 2)))


# Laws


@given(samples(min_per_class=2), increasing_maps, st.randoms(use_true_random=False))
def test_laws(data, increasing, order):
    y, s = data
    rows = list(range(len(y)))
    order.shuffle(rows)
    for method in METHODS:
        result = area(y, s, method=method)
        assert result.auc == auc(y, s).auc
        assert area(y[rows], s[rows], method=method) == result
        if method != "binormal":  # which knows the distances of the scores
            assert area(y, increasing(s), method=method) == result


@given(samples(min_per_class=2))
def test_opposite_scores_and_swapped_classes(data):
    y, s = data
    for method in ("delong", "exact-bootstrap", "wmk16", "binormal", "upper-bound"):
        result = auc(y, s, method=method)
        for mirrored in (auc(y, -s, method=method), auc(1 - y, s, method=method)):
            assert mirrored.auc == pytest.approx(1 - result.auc, abs=1e-14)
            assert mirrored.se == pytest.approx(result.se, abs=1e-14)


@given(data=samples())
def test_models_that_know_positives_from_negatives(data):
    """Swapping classes swaps the two exponential laws; errors stay errors if the scores turn round too."""
    y, s = data
    swapped = auc(1 - y, s, method="hanley-mcneil")
    assert swapped.se == pytest.approx(auc(y, s, method="hanley-mcneil").se, abs=1e-14)
    turned = auc(1 - y, -s, method="cortes-mohri")
    assert turned.se == pytest.approx(auc(y, s, method="cortes-mohri").se, abs=1e-14)


@given(grouped_counts(min_per_class=2))
def test_grouped_counts_equal_rows(cells):
    grouped, rows = Sample.from_counts(*cells), oracle.expand(*cells)
    for method in METHODS:
        assert area(grouped, method=method) == area(*rows, method=method)


@given(samples(min_per_class=2), st.floats(0.01, 0.999))
def test_intervals_are_honest(data, level):
    for method in METHODS:
        result = area(*data, method=method)
        studentised = () if result.studentised is None else ("second-order",)
        for transform in ("score", "none", "logit", *studentised):
            low, high = result.ci(level, transform)
            assert 0 <= low <= result.auc <= high <= 1
            assert low < high
            narrower = result.ci(level / 2, transform)
            assert low <= narrower.low <= narrower.high <= high
        low, high = result.ci(level)  # percentiles of the bootstrap may pass the area by at a low level
        assert 0 <= low < high <= 1
        assert ("no-scatter" in codes(result)) == (result.se == 0)


def test_results_of_any_two_methods_compare():
    y, s = np.array([0, 0, 1, 0, 1, 1]), np.array([0.1, 0.3, 0.3, 0.5, 0.7, 0.9])
    for method, other in product(METHODS, repeat=2):
        first, second = area(y, s, method=method), area(y, s[::-1], method=other)
        difference = compare_auc(first, second)
        assert difference.se == pytest.approx(math.hypot(first.se, second.se))
        assert difference.difference == first.auc - second.auc
        assert {caveat.concerning("first") for caveat in first.caveats} <= set(difference.caveats)


# The ends


SPREAD_TIES = ("wmk16", "hanley-mcneil", "upper-bound", "cortes-mohri")  # see variance in one score for all


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("scores", "value", "ends"),
    [
        ([1, 1, 2, 2, 2], 1.0, lambda q: (q, 1)),
        ([2, 2, 1, 1, 0], 0.0, lambda q: (0, 1 - q)),
        ([7, 7, 7, 7, 7], 0.5, lambda q: (q / 2, 1 - q / 2)),
    ],
)
@pytest.mark.parametrize("transform", ["score", "none", "logit", "second-order"])
def test_no_variance_gives_the_exact_bound(method, scores, value, ends, transform):
    result = area([0, 0, 1, 1, 1], scores, method=method)
    assert result.auc == value
    if (value == 0.5 and method in SPREAD_TIES) or (value == 0 and method in ("cortes-mohri", "binormal")):
        assert result.se > 0
        return
    assert result.se == 0
    # Two disjoint pairs, both alike: q**2 = 0.05.
    assert result.ci(0.9, transform) == pytest.approx(ends(math.sqrt(0.05)), abs=1e-12)
    assert Caveat("no-scatter", pairs=2) in result.caveats


def test_the_bound_covers_in_the_worst_case():
    """Perfect separation seen with probability A**m has a bound above A just when that is < 2.5 %."""
    y, m = [1] * 20 + [0] * 30, 20
    low = auc(y, y).ci().low
    assert (low**m) == pytest.approx(0.025, rel=1e-12)


def test_a_few_wrong_pairs_among_many():
    # 1e9 of each class and one pair in the wrong order: the AUC rounds to 1, its error is not 0.
    result = auc(Sample.from_counts([0, 1, 2, 3], [0, 1, 0, 10**9 - 1], [10**9 - 1, 0, 1, 0]))
    for transform in ("score", "none", "logit", "second-order"):
        low, high = result.ci(transform=transform)
        assert 0.9999 < low <= high == 1


@pytest.mark.parametrize("method", METHODS)
def test_single_row_of_a_class(method):
    y, s = [1, 0, 0], [2, 1, 3]
    if method in OF_TWO_ROWS:
        with pytest.raises(DegenerateDataError, match="at least 2 of each class; there are 1 positive and 2"):
            area(y, s, method=method)
        return
    result = area(y, s, method=method)
    assert 0 < result.se < 1
    assert ("single-row" in codes(result)) == (method in ("exact-bootstrap", "wmk16", "bootstrap"))
    if method == "exact-bootstrap":
        assert result.se == pytest.approx(math.sqrt(0.25 / 2))


@pytest.mark.parametrize("y", [[1, 1, 1], [0, 0, 0], []])
@pytest.mark.parametrize("method", METHODS)
def test_one_class(method, y):
    with pytest.raises(DegenerateDataError, match=f"{sum(y)} positives and {len(y) - sum(y)} negatives"):
        area(y, np.arange(len(y)), method=method)


# Input and output


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint16, bool, object])
def test_kinds_of_numbers(dtype):
    y, s = np.array([0, 1, 1, 0, 1]), np.array([0, 1, 0, 0, 1])
    expected = auc(y, s.astype(float))
    for kind in (int, bool, float, np.uint8, object):
        assert auc(y.astype(kind), s.astype(dtype)) == expected


def test_float32_scores_keep_their_ties_with_each_other():
    s = np.array([0.1, 0.3, 0.3, 0.9], dtype=np.float32)
    assert auc([0, 0, 1, 1], s).auc == 0.875


@pytest.mark.parametrize("method", METHODS)
def test_huge_scores_and_signed_zeros(method):
    wide = area([0, 0, 1, 1], [-1e300, 0.0, -0.0, 1e300], method=method)
    assert wide.auc == 0.875
    assert wide.se > 0
    assert wide == area([0, 0, 1, 1], [-1e300, -0.0, 0.0, 1e300], method=method)
    assert area([0, 0, 1, 1], [-1e300, 5e-324, 1e300, 1e300], method=method).auc == 1.0
    assert area([0, 0, 1, 1], [0.0, 5e-324, 0.0, 1e-323], method=method).auc == 0.625


def test_wrong_arguments():
    y, s = [0, 0, 1, 1], [1, 3, 2, 4]
    with pytest.raises(InputError, match=f"method must be one of {', '.join(METHODS)}"):
        auc(y, s, method="DeLong")
    for method in set(METHODS) - {"exact-bootstrap", "wmk16", "bootstrap"}:
        with pytest.raises(InputError, match=f"m_pos and m_neg are for exact-bootstrap, wmk16, .*'{method}'"):
            auc(y, s, method=method, m_pos=3)
    with pytest.raises(InputError, match="m_neg must be a whole number"):
        auc(y, s, method="exact-bootstrap", m_neg=0)
    with pytest.raises(InputError, match="confidence_level"):
        auc(y, s).ci(95)
    with pytest.raises(InputError, match="transform must be 'score', 'none', 'logit' or 'second-order', not"):
        auc(y, s).ci(transform="log")


@pytest.mark.parametrize("method", ["exact-bootstrap", "wmk16", "bootstrap"])
def test_other_resample_sizes_are_said(method):
    result = area([0, 0, 1, 1], [1, 3, 2, 4], method=method, m_pos=20)
    assert result.caveats == (Caveat("error-of-other-sizes", m_pos=20, m_neg=2),)


@pytest.mark.parametrize("method", METHODS)
def test_plain_data_is_read_back(method):
    result = area([0, 0, 1, 1, 1], [1, 3, 2, 4, 5], method=method)
    plain = json.loads(json.dumps(result.to_dict()))
    read = AucResult.from_dict(plain)
    assert read.to_dict() == result.to_dict()
    assert read.ci() == result.ci(transform="score")


def test_as_plain_data():
    result = auc([0, 0, 1, 1], [1, 2, 3, 4])
    plain = json.loads(json.dumps(result.to_dict()))
    names = {"auc", "se", "n_pos", "n_neg", "method", "caveats", "studentised", "clusters", "design_effect"}
    names |= {"df", "inflation", "zeta"}
    assert set(plain) == names | {"error"}
    assert plain["auc"] == 1.0
    assert plain["caveats"] == [{"code": "no-scatter", "values": {"pairs": 2}, "about": []}]
    assert str(result) == (
        "AUC 1.0000, 95 % interval 0.1581 to 1.0000 "
        "(standard error 0: the interval is an exact bound; 2 positives, 2 negatives)"
    )
