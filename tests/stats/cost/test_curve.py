from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import expand
from scipy.special import ndtr
from scipy.stats import betabinom, binom
from stats import oracle_costs as oracle
from strategies import grouped_counts, increasing_maps, paired_samples, samples

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import (
    CostCurve,
    PairedSample,
    Sample,
    cost_curve,
    cost_difference,
    cost_thresholds,
    threshold_difference,
    threshold_intervals,
)
from rocmonitor.stats.cost.law import CostDifferenceLaw, CostLaw, ErrorCounts
from rocmonitor.stats.curve.laws import interval_options

SAMPLINGS = ("stratified", "full")
METHODS = ("wald", "agresti", "exact", "mover")
conditions = st.sampled_from([0.0, 0.07, 0.3, 0.5, 0.85, 1.0])
cuts = st.integers(-33, 33).map(lambda k: k / 8)
Y = np.array([0, 0, 0, 1, 1, 1, 0, 1])
S = np.array([0.1, 0.4, 0.6, 0.5, 0.9, 0.3, 0.2, 0.7])


class TestOneModel:
    @pytest.mark.parametrize("sampling", SAMPLINGS)
    @settings(max_examples=40)
    @given(samples(max_per_class=3), conditions, cuts, st.integers(1, 3), st.integers(1, 3))
    def test_law_is_that_of_all_resamples(self, sampling, sample, w, threshold, m_pos, m_neg):
        y, s = sample
        row = oracle.row_costs(y, [s], [threshold])
        drawn = oracle.costs(y, row, w, sampling, m_pos, m_neg)
        options = {"sampling": sampling, "m_pos": m_pos, "m_neg": m_neg, "confidence_level": 0.8}
        curve = cost_curve(y, s, [w], threshold, method="exact", **options)
        assert curve.cost[0] == pytest.approx(drawn.mean(), abs=1e-12)
        assert curve.variance[0] == pytest.approx(drawn.var(), abs=1e-12)
        assert (curve.low[0], curve.high[0]) == pytest.approx(oracle.ends(drawn, 0.1), abs=1e-11)

    def test_lines_meet_the_axes_at_the_error_rates(self):
        points = threshold_intervals(Y, S, [0.5])
        curve = cost_curve(Y, S, [0, 1], 0.5)
        assert curve.cost.tolist() == [points.fpr[0], 1 - points.tpr[0]]

    def test_wald_is_the_normal_interval_of_the_moments(self):
        n, miss, alarm, w = 400, 0.2, 0.1, 0.3
        sample = Sample.from_counts([0.0, 1.0], [miss * n, (1 - miss) * n], [(1 - alarm) * n, alarm * n])
        curve = cost_curve(sample, [w], 0.5, confidence_level=0.9)
        variance = w**2 * miss * (1 - miss) / n + (1 - w) ** 2 * alarm * (1 - alarm) / n
        assert curve.variance[0] == pytest.approx(variance, rel=1e-12)
        assert curve.high[0] - curve.cost[0] == pytest.approx(1.6448536269514722 * variance**0.5, rel=1e-12)

    def test_agresti_adds_two_errors_and_two_right_decisions_to_a_class(self):
        plain = Sample.from_counts([0.0, 1.0], [3 + 2, 7 + 2], [8 + 2, 4 + 2])
        of_more = cost_curve(plain, [0.3], 0.5)
        smoothed = cost_curve(Sample.from_counts([0.0, 1.0], [3, 7], [8, 4]), [0.3], 0.5, method="agresti")
        assert smoothed.low[0] == pytest.approx(of_more.low[0], abs=1e-14)
        assert smoothed.high[0] == pytest.approx(of_more.high[0], abs=1e-14)

    def test_full_sampling_at_equal_shares_and_equal_costs_is_the_error_rate(self):
        curve = cost_curve(Y, S, [0.5], 0.5, sampling="full")
        wrong = np.mean((S >= 0.5) != (Y == 1))
        assert curve.cost[0] == pytest.approx(wrong)
        assert curve.variance[0] == pytest.approx(wrong * (1 - wrong) / len(Y))

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("sampling", SAMPLINGS)
    @settings(max_examples=20)
    @given(grouped_counts(), increasing_maps)
    def test_counts_are_rows_and_only_the_order_counts(self, method, sampling, counts, increasing):
        score = counts[0]
        w, at = [0.0, 0.2, 1.0], np.sort(score)[[0, len(score) // 2, -1]]
        whole = cost_curve(Sample.from_counts(*counts), w, at, method=method, sampling=sampling)
        y, s = expand(*counts)
        rows = cost_curve(y, increasing(s), w, increasing(at), method=method, sampling=sampling)
        for name in ("cost", "low", "high", "variance"):
            np.testing.assert_array_equal(getattr(rows, name), getattr(whole, name))
        assert (whole.low >= 0).all()
        assert (whole.low <= whole.high).all()
        assert (whole.high <= 1).all()


class TestTwoModels:
    @pytest.mark.slow
    @pytest.mark.parametrize("sampling", SAMPLINGS)
    @settings(max_examples=40)
    @given(paired_samples(max_per_class=3), conditions, cuts, cuts, st.integers(1, 3), st.integers(1, 3))
    def test_law_is_that_of_all_resamples(self, sampling, sample, w, t1, t2, m_pos, m_neg):
        y, s1, s2 = sample
        drawn = oracle.costs(y, oracle.row_costs(y, [s1, s2], [t1, t2]), w, sampling, m_pos, m_neg)
        options = {"sampling": sampling, "m_pos": m_pos, "m_neg": m_neg, "confidence_level": 0.8}
        saved = cost_difference(y, s1, s2, [w], t1, t2, method="exact", **options)
        assert saved.cost[0] == pytest.approx(drawn.mean(), abs=1e-12)
        assert saved.variance[0] == pytest.approx(drawn.var(), abs=1e-12)
        assert (saved.low[0], saved.high[0]) == pytest.approx(oracle.ends(drawn, 0.1), abs=1e-11)

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("sampling", SAMPLINGS)
    @settings(max_examples=20)
    @given(paired_samples(), cuts, cuts)
    def test_swapping_mirrors_and_a_model_saves_nothing_against_itself(
        self, method, sampling, sample, t1, t2
    ):
        y, s1, s2 = sample
        w, options = [0.1, 0.6], {"method": method, "sampling": sampling}
        one = cost_difference(y, s1, s2, w, t1, t2, **options)
        other = cost_difference(y, s2, s1, w, t2, t1, **options)
        np.testing.assert_allclose(one.cost, -other.cost, atol=1e-14)
        np.testing.assert_allclose(one.variance, other.variance, atol=1e-14)
        if method != "exact":  # quantiles of a lattice are not symmetric
            np.testing.assert_allclose(one.low, -other.high, atol=1e-12)
        same = cost_difference(y, s1, s1, w, t1, t1, **options)
        assert not same.cost.any()
        assert not same.variance.any()

    def test_ends_of_the_lines_are_the_differences_of_the_rates(self):
        rng = np.random.default_rng(1)
        y = np.arange(60) % 2
        s1, s2 = rng.random((2, 60))
        points = threshold_difference(y, s1, s2, [(0.4, 0.7)], joint=False, method="wald")
        saved = cost_difference(y, s1, s2, [0, 1], 0.4, 0.7)
        # rates are first minus second, costs second minus first; a lower TPR costs more
        np.testing.assert_allclose(saved.cost, [-points.dfpr[0], points.dtpr[0]], atol=1e-14)
        np.testing.assert_allclose(saved.low, [-points.dfpr_high[0], points.dtpr_low[0]], atol=1e-12)

    def test_cost_is_the_difference_of_two_curves(self):
        rng = np.random.default_rng(2)
        y = (rng.random(200) < 0.3).astype(int)
        s1, s2 = rng.normal(size=(2, 200)) + y
        w, t1, t2 = [0.1, 0.5, 0.9], [2.0, 0.5, -1.0], [1.0, 0.4, -0.5]
        saved = cost_difference(y, s1, s2, w, t1, t2)
        expected = cost_curve(y, s2, w, t2).cost - cost_curve(y, s1, w, t1).cost
        np.testing.assert_allclose(saved.cost, expected, atol=1e-14)


def normal_rates(spread, w):
    """FNR and FPR at the best threshold of normal scores, sd 3, means +-spread ([DG08] section 5)."""
    threshold = 9 * np.log((1 - w) / w) / (2 * spread)
    return ndtr((threshold - spread) / 3), ndtr(-(threshold + spread) / 3)


def coverage(method, spread, n, w):
    """Exact, stratified: every pair of counts that has any probability."""
    miss, alarm = normal_rates(spread, w)
    laws = [binom.pmf(np.arange(n + 1), n, p) for p in (miss, alarm)]
    seen = [np.flatnonzero(mass > 1e-10) for mass in laws]
    x, z = (grid.ravel() for grid in np.meshgrid(*seen, indexing="ij"))
    none = np.zeros_like(x)
    law = CostLaw(np.full(len(x), w), ErrorCounts(x, none, n, n), ErrorCounts(z, none, n, n), "stratified")
    low, high = law.ends(interval_options(method, (method,), 0.9))
    true = w * miss + (1 - w) * alarm
    return np.sum((laws[0][x] * laws[1][z])[(low <= true) & (true <= high)])


class TestCoverage:
    @pytest.mark.parametrize(("spread", "n"), [(0.75, 250), (3, 25), (3, 250), (5, 250)])
    def test_mover_holds_its_level_at_every_condition(self, spread, n):
        for w in (0.001, 0.01, 0.03, 0.1, 0.3, 0.5, 0.75, 0.95, 0.98, 0.995):
            assert coverage("mover", spread, n, w) >= 0.88

    def test_wald_breaks_as_the_paper_says_and_a_caveat_names_the_conditions(self):
        assert coverage("wald", 3, 250, 0.01) < 0.6
        assert coverage("wald", 3, 250, 0.5) == pytest.approx(0.9, abs=0.02)
        n = 250
        rng = np.random.default_rng(3)
        y = np.repeat([1, 0], n)
        s = np.concatenate([rng.normal(3, 3, n), rng.normal(-3, 3, n)])
        w = np.array([0.01, 0.5, 0.99])
        curve = cost_curve(y, s, w, 9 * np.log((1 - w) / w) / 6)
        assert curve.caveats[0] == Caveat("few-errors", at=[0.01, 0.99], errors=10, instead="mover")
        assert not cost_curve(y, s, w, 9 * np.log((1 - w) / w) / 6, method="mover").caveats

    @pytest.mark.parametrize("sampling", SAMPLINGS)
    def test_mover_holds_its_level_for_differences(self, sampling):
        rng = np.random.default_rng(4)
        n, rounds = 100, 4000
        for w, misses, alarms in [(0.3, (0.1, 0.04), (0.05, 0.08)), (0.02, (0.3, 0.1), (0.002, 0.004))]:
            p = np.array([[*pair, 1 - sum(pair)] for pair in (misses, alarms)])
            if sampling == "full":
                drawn = rng.multinomial(2 * n, p.ravel() / 2, rounds).reshape(rounds, 2, 3)
            else:
                drawn = np.stack([rng.multinomial(n, share, rounds) for share in p], axis=1)
            both = [ErrorCounts(drawn[:, c, 0], drawn[:, c, 1], n, n) for c in (0, 1)]
            law = CostDifferenceLaw(np.full(rounds, w), *both, sampling)
            true = w * (misses[0] - misses[1]) + (1 - w) * (alarms[0] - alarms[1])
            true /= 2 * max(w, 1 - w) if sampling == "full" else 1
            low, high = law.ends(interval_options("mover", ("mover",), 0.9))
            assert np.mean((low <= true) & (true <= high)) >= 0.88 - 3 * 0.005


class TestDrawn:
    """``method="empirical"`` and another law of the class shares ([DG08] sections 6 and 4)."""

    @pytest.mark.parametrize("sampling", SAMPLINGS)
    @pytest.mark.parametrize("w", [0.2, 0.5])
    def test_ends_are_quantiles_of_all_resamples(self, sampling, w):
        y, s1, s2 = np.array([1, 1, 1, 0, 0, 0]), np.array([2, 4, 1, 1, 3, 3]), np.array([1, 4, 3, 3, 1, 2])
        options = {"sampling": sampling, "confidence_level": 0.8, "n_resamples": 20_000, "rng": 1}
        one = cost_curve(y, s1, [w], 2.5, method="empirical", **options)
        two = cost_difference(y, s1, s2, [w], 2.5, 2.5, method="empirical", **options)
        for found, scores in ((one, [s1]), (two, [s1, s2])):
            drawn = oracle.costs(y, oracle.row_costs(y, scores, [2.5] * len(scores)), w, sampling)
            for end, level in ((found.low[0], 0.1), (found.high[0], 0.9)):
                before, until = np.mean(drawn < end - 1e-9), np.mean(drawn <= end + 1e-9)
                assert before - 0.02 <= level <= until + 0.02  # Dvoretzky, Kiefer and Wolfowitz at 1e-6

    @pytest.mark.parametrize("sd", [0.3, 0.4])
    @pytest.mark.parametrize("w", [0.2, 0.5, 0.9])
    def test_moments_are_those_of_a_beta_binomial_share(self, w, sd):
        y, s1, s2 = np.array([1, 1, 0, 0, 0]), np.array([2, 4, 1, 3, 3]), np.array([1, 4, 3, 1, 2])
        for scores in ([s1], [s1, s2]):
            drawn, chance = shared(y, oracle.row_costs(y, scores, [2.5] * len(scores)), w, sd)
            options = {"sampling": "full", "prevalence_sd": sd}
            call = cost_curve if len(scores) == 1 else cost_difference
            thresholds = [2.5] * len(scores)
            found = call(y, *scores, [w], *thresholds, **options)
            mean = chance @ drawn
            assert found.cost[0] == pytest.approx(mean, abs=1e-12)
            assert found.variance[0] == pytest.approx(chance @ (drawn - mean) ** 2, rel=1e-9)
            options |= {"confidence_level": 0.8, "n_resamples": 20_000, "rng": 1}
            found = call(y, *scores, [w], *thresholds, method="empirical", **options)
            for end, level in ((found.low[0], 0.1), (found.high[0], 0.9)):
                before, until = (chance[drawn < end - 1e-9].sum(), chance[drawn <= end + 1e-9].sum())
                assert before - 0.02 <= level <= until + 0.02

    def test_the_binomial_share_is_the_default(self):
        p = np.mean(Y == 1)
        sd = (p * (1 - p) / len(Y)) ** 0.5
        for method in ("wald", "agresti"):
            plain = cost_curve(Y, S, [0.2, 0.7], 0.5, sampling="full", method=method)
            same = cost_curve(Y, S, [0.2, 0.7], 0.5, sampling="full", method=method, prevalence_sd=sd)
            np.testing.assert_allclose(same.low, plain.low, atol=1e-13)
            np.testing.assert_allclose(same.variance, plain.variance, atol=1e-13)

    def test_a_share_that_varies_more_makes_wider_intervals_unless_errors_cost_alike(self):
        wide = cost_curve(Y, S, [0.2, 0.7], 0.5, sampling="full", prevalence_sd=0.4)
        plain = cost_curve(Y, S, [0.2, 0.7], 0.5, sampling="full")
        assert (wide.variance > plain.variance).all()
        alike = Sample.from_counts([0.0, 1.0], [2, 8], [8, 2])
        one, other = (
            cost_curve(alike, [0.5], 0.5, sampling="full", **of) for of in ({}, {"prevalence_sd": 0.4})
        )
        assert one.variance[0] == pytest.approx(other.variance[0])

    def test_it_repeats_with_its_seed_and_needs_one(self):
        first, again = (cost_curve(Y, S, [0.2], 0.5, method="empirical", rng=3) for _ in "12")
        assert (first.low, first.high) == (again.low, again.high)
        with pytest.raises(InputError, match="needs rng"):
            cost_curve(Y, S, [0.2], 0.5, method="empirical")

    @pytest.mark.parametrize(
        "wrong",
        [
            {"sampling": "stratified"},
            {"method": "exact"},
            {"method": "mover"},
            {"prevalence_sd": 0.1},
            {"prevalence_sd": 0.5},
            {"prevalence_sd": np.nan},
        ],
    )
    def test_a_share_that_no_law_has_is_refused(self, wrong):
        with pytest.raises(
            InputError, match=r"prevalence_sd (is for sampling='full'|must be at least 0\.1768)"
        ):
            cost_curve(Y, S, [0.2], 0.5, **{"sampling": "full", "prevalence_sd": 0.3} | wrong)


def shared(y, row, w, sd):
    """Costs of all resamples whose positives are beta-binomial with this deviation, and their chances."""
    n, p = len(y), np.mean(y == 1)
    alike = (sd**2 * n / (p * (1 - p)) - 1) / (n - 1)
    law = betabinom(n, p * (1 - alike) / alike, (1 - p) * (1 - alike) / alike)
    assert law.std() / n == pytest.approx(sd)
    miss, alarm = w / p, (1 - w) / (1 - p)
    drawn, chance = [], []
    for k in range(n + 1):
        pos, neg = (
            list(product(of.tolist(), repeat=m)) for of, m in ((row[y == 1], k), (row[y == 0], n - k))
        )
        sums = np.add.outer([miss * sum(of) for of in pos], [alarm * sum(of) for of in neg]).ravel()
        drawn.append(sums / n / max(miss, alarm))
        chance.append(np.full(len(sums), law.pmf(k) / len(sums)))
    return np.concatenate(drawn), np.concatenate(chance)


class TestResult:
    def test_table(self):
        curve = cost_curve(Y, S, [0.2, 0.5], [0.6, 0.4])
        assert isinstance(curve, CostCurve)
        frame = curve.to_frame()
        assert list(frame) == ["w", "threshold", "cost", "low", "high", "variance"]
        assert frame["threshold"].tolist() == [0.6, 0.4]
        assert curve.to_dict()["sampling"] == "stratified"
        assert str(curve) == (
            "Cost at 2 operating conditions, 95 % intervals (wald, stratified), 4 positives, 4 negatives"
        )

    def test_no_interval_collapses_silently(self):
        perfect = Sample([0, 0, 1, 1], [1, 2, 3, 4])
        for method in ("wald", "exact"):
            curve = cost_curve(perfect, [0.5], 3, method=method)
            assert curve.low == curve.high
            assert "zero-length" in [caveat.code for caveat in curve.caveats]
        for method in ("agresti", "mover"):
            curve = cost_curve(perfect, [0.5], 3, method=method)
            assert curve.low < curve.high

    def test_thresholds_from_a_reference(self):
        w = np.linspace(0, 1, 11)
        chosen = cost_thresholds(Y, S, w)
        np.testing.assert_allclose(cost_curve(Y, S, w, chosen.threshold).cost, chosen.cost, atol=1e-14)


class TestBadInput:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"w": [0.2, 1.2]}, r"w must lie within \[0, 1\]: 1 of 2 do not"),
            ({"w": [np.nan]}, "w must lie within"),
            ({"w": []}, "w must be a list of at least one number"),
            ({"w": "much"}, "w must be numbers"),
            ({"thresholds": [0.1, 0.2, 0.3]}, "one for each w: there are 2 w, and thresholds has shape"),
            ({"thresholds": [0.1, np.nan]}, "thresholds must be numbers: 1 of 2 are not"),
            ({"thresholds": "low"}, "thresholds must be numbers"),
            ({"sampling": "half"}, "sampling must be one of stratified, full"),
            ({"method": "guess"}, "method must be one of wald, agresti, exact, mover, empirical"),
            ({"confidence_level": 95}, "confidence_level must lie within"),
            ({"m_pos": 0}, "m_pos must be a whole number of at least 1"),
            ({"method": "mover", "m_neg": 7}, "method 'mover' does not resample"),
        ],
    )
    def test_says_what_is_wrong(self, change, message):
        arguments = {"w": [0.2, 0.5], "thresholds": [0.5, 0.5]} | change
        with pytest.raises(InputError, match=message):
            cost_curve(Y, S, **arguments)

    def test_one_class(self):
        with pytest.raises(DegenerateDataError):
            cost_curve([1, 1], [0.1, 0.2], [0.5], 0.15)
        with pytest.raises(DegenerateDataError):
            cost_difference(PairedSample([0, 0], [0.1, 0.2], [0.3, 0.1]), [0.5], 0.1, 0.1)

    def test_pairs_have_two_lists_of_thresholds(self):
        with pytest.raises(InputError, match="thresholds_2 must be one number, or one for each w"):
            cost_difference(Y, S, S, [0.1, 0.2], 0.5, [0.1])
