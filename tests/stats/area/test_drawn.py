"""The drawn bootstrap: the law of all resamples, its percentiles, its memory, and what it refuses."""

import json
import math
import tracemalloc

import golden
import numpy as np
import oracle
import pytest
from caveats import codes
from hypothesis import given
from strategies import samples

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.auc import AucResult, auc
from rocmonitor.stats.area.variances import drawn_areas
from rocmonitor.stats.sample import Sample

DRAWS = 20_000
DKW = math.sqrt(math.log(2e9) / (2 * DRAWS))  # Dvoretzky, Kiefer and Wolfowitz at 1e-9


def bootstrap(*data, rng=1, **options):
    return auc(*data, method="bootstrap", rng=rng, **options)


def assert_same_law(drawn, law):
    """Both distribution functions, at the values of the law and between them, within the empirical error."""
    values = np.unique(np.round(law, 12))
    gap = np.concatenate([values - 1e-9, values + 1e-9])
    exact = np.searchsorted(np.sort(law), gap) / len(law)
    found = np.searchsorted(np.sort(drawn), gap) / len(drawn)
    assert np.max(np.abs(exact - found)) < DKW


@pytest.mark.parametrize("sizes", [(4, 3), (2, 5), (6, 1)])
@pytest.mark.parametrize("scores", [[3, 1, 4, 1, 5, 0, 2], [3, 1, 4, 1, 4, 1, 3], [3, 3, 3, 3, 3, 3, 9]])
def test_the_law_is_that_of_all_resamples(scores, sizes):
    y = [1, 1, 1, 1, 0, 0, 0]
    law = oracle.resampled_means(oracle.psi(y, scores), *sizes)
    assert_same_law(drawn_areas(Sample(y, scores), *sizes, DRAWS, np.random.default_rng(2)), law)


@pytest.mark.parametrize("sizes", [(100, 100), (100, 3), (2, 100)])
def test_many_rows_of_a_score_follow_the_same_law(sizes):
    """Counts are drawn in place of rows; the same shares in few rows give the same law."""
    many = Sample.from_counts([1, 2, 3], [10**6, 0, 3 * 10**6], [10**6, 10**6, 0])
    few = Sample.from_counts([1, 2, 3], [1, 0, 3], [1, 1, 0])
    drawn = drawn_areas(many, *sizes, DRAWS, np.random.default_rng(3))
    expected = auc(few, method="exact-bootstrap", m_pos=sizes[0], m_neg=sizes[1])
    assert drawn.std() == pytest.approx(expected.se, rel=5 / math.sqrt(DRAWS))
    assert drawn.mean() == pytest.approx(expected.auc, abs=6 * expected.se / math.sqrt(DRAWS))


@pytest.mark.parametrize(("n", "share", "digits"), [(300, 0.5, 3), (300, 0.1, 1), (4000, 0.3, 9)])
def test_agrees_with_the_exact_bootstrap(n, share, digits):
    rng = np.random.default_rng(n)
    y = (np.arange(n) < share * n).astype(int)
    s = np.round(y + rng.normal(size=n), digits)
    for sizes in ({}, {"m_pos": 50, "m_neg": 700}):
        exact, drawn = auc(y, s, method="exact-bootstrap", **sizes), bootstrap(y, s, **sizes)
        assert drawn.se == pytest.approx(exact.se, rel=6 / math.sqrt(2 * 2000))
        assert drawn.auc == exact.auc
        assert drawn.caveats == exact.caveats


def assert_ends(result, published, last_digit):
    """The published ends leave 2.5 % of our resamples on either side, up to their rounding and to chance."""
    error = 6 * math.sqrt(0.025 * 0.975 / len(result.replicates))
    low, high = published
    assert np.mean(result.replicates < low - last_digit) - error < 0.025
    assert np.mean(result.replicates <= low + last_digit) + error > 0.025
    assert np.mean(result.replicates > high + last_digit) - error < 0.025
    assert np.mean(result.replicates >= high - last_digit) + error > 0.025
    # And our ends lie near: quantiles of a nearly normal law, whose density there is about 0.058 / se.
    assert result.ci() == pytest.approx(published, abs=result.se * error / 0.058 + 5e-3 * result.se)


@pytest.mark.parametrize("marker", golden.ASAH_BOOTSTRAP_ENDS)
def test_asah(marker):
    data = golden.read(golden.ASAH)
    result = bootstrap(data.y, data[marker], n_resamples=DRAWS)
    assert result.se == pytest.approx(golden.ASAH_BOOTSTRAP_SD[marker], rel=6 / math.sqrt(2 * DRAWS))
    assert_ends(result, golden.ASAH_BOOTSTRAP_ENDS[marker], 1e-5)


def test_hanley_mcneil_1982():
    result = bootstrap(
        Sample.from_counts([1, 2, 3, 4, 5], golden.HM1982_POS, golden.HM1982_NEG), n_resamples=DRAWS
    )
    assert result.se == pytest.approx(golden.HM1982_BOOTSTRAP_SD, rel=6 / math.sqrt(2 * DRAWS))
    assert_ends(result, golden.HM1982_BOOTSTRAP_ENDS, 1e-4)


@pytest.mark.parametrize("marker", golden.WIEAND_BOOTSTRAP_ENDS)
def test_wieand(marker):
    data = golden.read(golden.WIEAND)
    result = bootstrap(data.y, data[marker], n_resamples=DRAWS)
    assert result.se == pytest.approx(golden.WIEAND_BOOTSTRAP_SD[marker], rel=6 / math.sqrt(2 * DRAWS))
    assert_ends(result, golden.WIEAND_BOOTSTRAP_ENDS[marker], 1e-5)


# The result

ONE_WRONG_PAIR = [0] * 50 + [1] * 50, [*range(49), 50, 49, *range(51, 100)]


def test_a_seed_repeats_rows_and_counts_alike():
    cells = [0.5, 1, 2, 4], [3, 0, 5, 9], [8, 4, 4, 0]
    first, again = bootstrap(Sample.from_counts(*cells), rng=7), bootstrap(*oracle.expand(*cells), rng=7)
    assert first == again
    assert first.replicates.tolist() == again.replicates.tolist()
    assert first.replicates.tolist() != bootstrap(Sample.from_counts(*cells), rng=8).replicates.tolist()
    assert np.var(first.replicates, ddof=1) == pytest.approx(first.se**2)
    with pytest.raises(ValueError, match="read-only"):
        first.replicates[0] = 0


@given(samples(min_per_class=2))
def test_percentiles_are_areas_of_resamples(data):
    result = bootstrap(*data, n_resamples=400)
    low, high = result.ci(0.9)
    if result.se == 0:
        assert (low, high) == result.ci(0.9, "none")
    elif low in result.replicates and high in result.replicates:
        assert np.mean(result.replicates < low) <= 0.05 <= np.mean(result.replicates <= low)
        assert np.mean(result.replicates > high) <= 0.05 + 1 / 400
    assert 0 <= low < high <= 1
    narrower = result.ci(0.5)
    assert low <= narrower.low < narrower.high <= high or narrower == result.ci(0.5, "none")


def test_percentiles_that_fall_together():
    """Most resamples leave out the one wrong pair: the interval is then the normal one, and that is said."""
    result = bootstrap(*ONE_WRONG_PAIR)
    share = np.mean(result.replicates == 1)
    assert share > 0.5
    level = share - 0.5  # both ends are within the upper `share` of the resamples
    assert result.ci(level) == result.ci(level, "none")
    assert result.ci().low < result.ci().high == 1
    assert result.caveats[0] == Caveat("resamples-agree", share=share)
    assert [each.code for each in result.caveats[1:]] == ["rests-on-few"]


@pytest.mark.parametrize(("scores", "area"), [([1, 1, 2, 2, 2], 1.0), ([2, 2, 1, 1, 0], 0.0), ([7] * 5, 0.5)])
def test_no_variance(scores, area):
    result = bootstrap([0, 0, 1, 1, 1], scores, n_resamples=2)
    assert (result.auc, result.se, result.replicates.tolist()) == (area, 0.0, [area, area])
    exact = auc([0, 0, 1, 1, 1], scores)
    assert result.ci() == result.ci(transform="none") == result.ci(transform="logit") == exact.ci()
    assert result.caveats == exact.caveats


def test_resamples_that_agree_by_chance():
    sample = Sample(*ONE_WRONG_PAIR)
    alike = (k for k in range(50) if np.ptp(drawn_areas(sample, 50, 50, 2, np.random.default_rng(k))) == 0)
    with pytest.raises(DegenerateDataError, match="all 2 resamples have the same area"):
        bootstrap(sample, rng=next(alike), n_resamples=2)


def test_as_plain_data():
    result = bootstrap([0, 0, 1, 1], [1, 3, 2, 4])
    plain = json.loads(json.dumps(result.to_dict()))
    assert set(plain) == {
        "auc",
        "se",
        "n_pos",
        "n_neg",
        "method",
        "caveats",
        "studentised",
        "clusters",
        "design_effect",
        "df",
        "inflation",
        "zeta",
        "error",
    }
    read = AucResult.from_dict(plain)
    assert read.ci() == result.ci(transform="score")
    with pytest.raises(InputError, match="transform must be 'score', 'none', 'logit' or 'second-order'"):
        read.ci(transform="percentile")
    with pytest.raises(InputError, match="confidence_level"):
        result.ci(95)
    with pytest.raises(InputError, match="transform"):
        result.ci(transform="log")


def test_memory_does_not_grow_with_the_resamples():
    n = 20_000
    y, s = np.arange(n) % 2, np.random.default_rng(0).normal(size=n)
    sample = Sample(y, s)
    tracemalloc.start()
    bootstrap(sample, n_resamples=300)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * 8 * n  # some twenty arrays of the rows; all resamples together would be 300


@pytest.mark.parametrize("wrong", [1, 0, -3, 2.5, float("nan"), float("inf")])
def test_too_few_resamples(wrong):
    with pytest.raises(InputError, match="n_resamples must be a whole number of at least 2"):
        bootstrap([0, 1, 0, 1], [1, 2, 3, 4], n_resamples=wrong)


def test_needs_rng():
    with pytest.raises(InputError, match="method 'bootstrap' draws resamples and needs rng"):
        auc([0, 1], [1, 2], method="bootstrap")
    for rng in (4, np.random.SeedSequence(4), np.random.default_rng(np.random.SeedSequence(4))):
        assert "single-row" in codes(bootstrap([1, 0, 0], [2, 1, 3], rng=rng))


def test_percentiles_by_definition_2_average_where_the_law_is_level():
    result = auc([0, 0, 0, 1, 0, 1, 1, 1], range(8), method="bootstrap", n_resamples=40, rng=1)
    ordered = np.sort(result.replicates)
    first, second = result.ci(), result.ci(percentiles="averaged_inverted_cdf")
    assert first == (ordered[0], ordered[38])  # 40 x 0.025 = 1
    assert second == pytest.approx((ordered[:2].mean(), ordered[38:].mean()))
    assert result.ci(0.9, percentiles="averaged_inverted_cdf")[0] == pytest.approx(ordered[1:3].mean())
    assert result.ci(0.93, percentiles="averaged_inverted_cdf")[0] == ordered[1]  # 40 x 0.035 = 1.4
    with pytest.raises(InputError, match="percentiles must be one of inverted_cdf, averaged_inverted_cdf"):
        result.ci(percentiles="linear")
