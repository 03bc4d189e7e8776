"""A lasting change: the chart against its definition, its start and size against least squares, bad input."""

from __future__ import annotations

import json
import math
from functools import partial

import numpy as np
import pytest
from scipy.special import ndtri
from studies.weekly import PAIRS, Weeks, charted, dropped

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import (
    LastingChart,
    Sample,
    WindowAuc,
    auc,
    lasting_change,
    lasting_chart,
)
from rocmonitor.stats.area.delong import moments
from rocmonitor.stats.lasting.result import step_sums, steps
from rocmonitor.stats.lasting.windows import CAP, DECAY, PairVariances, alarms, running, scaled, unscaled
from rocmonitor.stats.series import NormalMixture, possible, scatter_between
from rocmonitor.wording import caveats
from rocmonitor.wording.caveats import words_of


def sample(seed: int, shift: float = 1.2, n_pos: int = 100, n_neg: int = 200) -> Sample:
    rng = np.random.default_rng([seed, n_pos])
    y = np.repeat([1, 0], [n_pos, n_neg])
    return Sample(y, rng.normal(size=len(y)) + shift * y)


REFERENCE = [sample(number) for number in range(19)]


def known(*aucs: float, n_pos: int = 300, n_neg: int = 2700) -> list[WindowAuc]:
    return [WindowAuc(each, n_pos, n_neg) for each in aucs]


def quiet(n: int = 19, seed: int = 3) -> list[WindowAuc | None]:
    return Weeks(reference=n).draw(0, np.random.default_rng(seed))


def chart(reference=None, **options) -> LastingChart:
    return lasting_chart(reference or quiet(), PAIRS, **options)


class TestScale:
    @pytest.mark.parametrize("area", [0.0, 0.3, 0.5, 0.97, 1.0])
    def test_there_and_back(self, area: float) -> None:
        assert unscaled(scaled(area)) == pytest.approx(area, abs=1e-15)

    def test_the_noise_is_that_of_the_auc_on_the_scale(self) -> None:
        window = sample(1, n_pos=40, n_neg=70)
        found = auc(window, method="exact-bootstrap")

        of = moments(window)
        noise = PairVariances(of.auc, of.zeta10, of.zeta01, of.kernel).noise(40, 70)
        step = 1e-6
        slope = (scaled(of.auc + step) - scaled(of.auc - step)) / (2 * step)
        assert noise == pytest.approx((slope * found.se) ** 2, rel=1e-6)


class TestChart:
    def test_it_is_the_weighted_mean_over_its_standard_error(self) -> None:
        z, size, share = np.array([0.5, 9.0, -1.0, 2.0]), np.array([1.0, 0.5, 0.0, 1.2]), 0.07
        found = running(z, size, share).statistic
        for k in range(4):
            weight = (1 - DECAY) ** (np.cumsum(size[: k + 1][::-1] > 0)[::-1] - 1.0) * (size[: k + 1] > 0)
            u = size[: k + 1] * weight
            mean = u @ np.clip(z[: k + 1], -CAP, CAP)
            error = math.sqrt(np.sum(u**2) + share * (u @ size[: k + 1]) ** 2)
            assert found[k] == pytest.approx(mean / error, rel=1e-12)

    def test_a_gap_leaves_it_as_it_was(self) -> None:
        later = known(0.8, 0.7, 0.75)
        whole, gaps = chart().apply(later), chart().apply([None, later[0], None, *later[1:], None])
        assert gaps.statistic.tolist() == pytest.approx(
            [0.0, *whole.statistic[[0, 0, 1, 2]].tolist(), whole.statistic[2]]
        )

    def test_a_small_window_counts_less(self) -> None:
        large, small = (chart().apply(known(0.76, n_pos=n, n_neg=9 * n)).statistic[0] for n in (300, 30))
        assert large > 1.2 * small > 0
        mixed = [chart().apply([*known(0.78, 0.78), *known(0.6, n_pos=n, n_neg=n)]) for n in (300, 5)]
        assert mixed[0].statistic[2] > mixed[0].statistic[1] + 1.2 * (
            mixed[1].statistic[2] - mixed[1].statistic[1]
        )

    def test_one_window_alone_is_no_lasting_change(self) -> None:
        found = chart().apply(known(0.3))
        assert found.crossed is None
        assert found.statistic[0] < CAP

    def test_stored_and_read_back_it_finds_the_same(self) -> None:
        first = chart([None, *quiet()[:9], None, *quiet()[9:]], alternative="two-sided")
        read = LastingChart.from_dict(json.loads(json.dumps(first.to_dict(), allow_nan=False)))
        later = known(0.8, 0.74, 0.73, 0.72, 0.74)
        assert read.apply(later).to_dict() == first.apply(later).to_dict()

    def test_numbers_and_samples_lead_to_the_same(self) -> None:
        later = [sample(number, shift=0.8) for number in range(100, 108)]
        found = lasting_change(REFERENCE, later)
        assert found.crossed is not None
        assert found.since == 0
        assert found.change == pytest.approx(-0.086, abs=0.02)
        assert found.ci().low < found.change < found.ci().high < 0
        assert list(found.to_frame()) == ["statistic", "mean_change", "alarm_change", "alarm"]
        assert str(found).startswith("AUC -0.0")
        assert str(lasting_change(REFERENCE, REFERENCE[:3])).startswith("No lasting change in 3 windows")

    def test_a_rise_is_found_when_it_is_looked_for(self) -> None:
        later = known(*[0.88] * 8)
        assert chart().apply(later).crossed is None
        found = chart(alternative="two-sided").apply(later)
        assert found.active
        assert found.change > 0

    def test_after_a_recovery_it_is_no_longer_active(self) -> None:
        found = chart().apply(known(*[0.72] * 6, *[0.81] * 20))
        assert found.crossed is not None
        assert not found.active
        assert found.until < 25

    def test_an_alarm_ends_below_half_of_the_limit_and_begins_above_it(self) -> None:
        statistic = np.array([1.9, 2.1, 1.5, 1.1, 2.1, 0.9, 1.9, 2.5, -2.5, -1.2, -0.8, -2.1])
        fall = [0, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
        assert alarms(statistic, 2.0, two_sided=False).tolist() == fall
        assert alarms(statistic, 2.0, two_sided=True).tolist() == [*fall[:8], -1, -1, 0, -1]

    def test_one_lasting_drop_is_one_alarm_and_one_recovery(self) -> None:
        """The chart itself crosses its limit twice on average; of 60 drops at most 6 are told twice."""
        rng, weeks, several = np.random.default_rng(12), Weeks(), []
        for _ in range(60):
            windows = dropped(weeks.draw(26, rng), 0.03, 19)
            found = charted(weeks, windows)[1]
            several.append(np.count_nonzero(np.diff(found.alarm, prepend=0) == 1))
        assert np.count_nonzero(np.array(several) > 1) <= 6
        assert np.mean(several) == pytest.approx(0.95, abs=0.15)

    @pytest.mark.parametrize("length", [30, 200, 500])
    def test_a_loss_is_dated_by_its_beginning_however_long_it_lasts(self, length: int) -> None:
        """Starts were looked for among the latest 156 windows: a year of days was dated in its middle."""
        rng = np.random.default_rng(length)
        level = np.repeat([0.80, 0.75], [60, length])
        found = chart().apply(known(*(level + rng.normal(0, 0.01, len(level)))))
        assert found.active
        first, last = found.since_ci()
        assert first <= 60 <= last
        assert abs(found.since - 60) <= 3
        assert found.ci().low <= -0.05 <= found.ci().high

    def test_the_weighted_mean_is_that_of_the_latest_windows_and_the_limit_is_on_the_same_scale(self) -> None:
        found = chart().apply([None, *known(0.78, 0.76), None, *known(0.79)])
        weight = 0.85 ** np.array([2.0, 1.0, 0.0])
        mean = weight @ [scaled(each) for each in (0.78, 0.76, 0.79)] / weight.sum()
        assert found.mean_change[-1] == pytest.approx(unscaled(mean) - found.reference_auc, abs=1e-12)
        centre = scaled(found.reference_auc)
        apart = [
            centre - scaled(found.reference_auc + of[-1]) for of in (found.mean_change, found.alarm_change)
        ]
        assert apart[0] / apart[1] == pytest.approx(found.statistic[-1] / found.limit)
        assert (found.mean_change[0], found.alarm_change[0]) == (0.0, -found.reference_auc)

    def test_more_is_asked_of_a_rarer_alarm_a_longer_horizon_and_fewer_windows(self) -> None:
        limit = chart().limit
        assert chart(false_alarm_probability=0.01).limit > limit > chart(false_alarm_probability=0.2).limit
        assert chart(horizon=200).limit > limit > chart(horizon=10).limit
        assert chart(alternative="two-sided").limit > limit


class TestReference:
    def test_the_scatter_makes_the_squares_what_is_expected(self) -> None:
        rng = np.random.default_rng(1)
        noise = rng.uniform(0.5, 4, 30)
        values = rng.normal(0, np.sqrt(noise + 2))
        between = scatter_between(values, noise)
        weight = 1 / (noise + between)
        apart = values - weight @ values / weight.sum()
        assert weight @ apart**2 == pytest.approx(29, rel=1e-9)
        assert scatter_between(values / 10, noise) == 0

    def test_alternating_windows_are_not_thought_alike_and_slow_ones_are(self) -> None:
        slow, quick = (np.sin(np.arange(40) * pace) for pace in (0.15, 2.0))
        noise = np.full(40, 0.01)
        found = [possible(each, noise, tuple(range(40))).mean_serial for each in (slow, quick)]
        assert found[0] > 0.5 > 0.05 > found[1]

    def test_a_slow_reference_has_a_higher_limit_and_a_caveat(self) -> None:
        wave = [0.8 + 0.03 * math.sin(0.3 * number) for number in range(39)]
        found = chart(known(*wave))
        assert found.limit > 1.3 * chart().limit
        assert [caveat.code for caveat in found.caveats] == ["reference-windows-alike"]

    def test_the_season_is_learned_from_two_years_and_not_from_half_a_year(self) -> None:
        weeks = Weeks(reference=104, dated=True, wave=0.03)
        windows = weeks.draw(52, np.random.default_rng(2))
        with_season, found = charted(weeks, windows)
        without, _ = charted(weeks, [each._replace(day=None) for each in windows])
        assert math.hypot(*with_season.wave) / 2 * math.sqrt(0.64) == pytest.approx(0.03, abs=0.008)
        assert with_season.between < 0.75 * without.between
        assert found.caveats == ()
        half = lasting_chart(windows[:26], PAIRS)
        assert half.wave == (0, 0)
        assert half.caveats[-1] == Caveat("season-not-seen", days=182)


class TestChange:
    @staticmethod
    def dense(noise, serial, between):
        apart = np.abs(np.subtract.outer(range(len(noise)), range(len(noise))))
        return between**2 * serial**apart + np.diag(noise)

    def test_the_filter_gives_the_products_of_the_whole_covariance(self) -> None:
        rng = np.random.default_rng(5)
        values, noise = rng.normal(size=9), rng.uniform(0.5, 2, 9)
        noise[3] = np.inf
        serial, between = np.array([0.0, 0.6, 0.9]), np.array([0.3, 1.0, 2.0])
        found = step_sums(values, noise, [4, 6], serial, between)
        seen = np.isfinite(noise)
        for at in range(3):
            whole = self.dense(np.where(seen, noise, 0.0), serial[at], between[at])[np.ix_(seen, seen)]
            inverse = np.linalg.inv(whole)
            y, ones = values[seen], np.ones(8)
            assert found.log_det[at] == pytest.approx(np.linalg.slogdet(whole)[1])
            assert found.square[at] == pytest.approx(y @ inverse @ y)
            assert found.values[at] == pytest.approx(ones @ inverse @ y)
            for number, start in enumerate((4, 6)):
                step = (np.arange(9) >= start)[seen].astype(float)
                assert found.steps[number, at] == pytest.approx(step @ inverse @ step)
                assert found.steps_ones[number, at] == pytest.approx(step @ inverse @ ones)
                assert found.steps_values[number, at] == pytest.approx(step @ inverse @ y)

    def test_without_noise_a_step_is_found_where_it_is(self) -> None:
        values = np.r_[np.tile([0.01, -0.01], 10), np.full(5, -0.5) + 0.001 * np.arange(5)]
        noise = np.full(25, 1e-4)
        found = steps(
            values, noise, [18, 19, 20, 21, 22], possible(values[:20], noise[:20], tuple(range(20)))
        )
        assert found.starts[int(np.argmax(found.start_log_likelihood))] == 20
        assert found.start_size[2] == pytest.approx(-0.498, abs=0.002)

    def test_a_quantile_of_one_normal_law_is_its_own(self) -> None:
        found = NormalMixture(np.array([1.0]), np.array([2.0]), np.array([3.0])).quantile(0.975)
        assert found == pytest.approx(2 + 3 * 1.959964, abs=1e-5)

    def test_start_and_size_are_within_their_intervals_as_often_as_stated(self) -> None:
        """Of 120 series with a drop that is found; fewer than 88 % have a chance below 1e-3 at 95 %."""
        inside, covered = [], []
        weeks, rng = Weeks(), np.random.default_rng(8)
        for _ in range(120):
            windows = weeks.draw(26, rng)
            found = charted(weeks, dropped(windows, 0.05, 19 + 10))[1]
            if found.since is not None:
                first, last = found.since_ci()
                inside.append(first <= 10 <= last)
                low, high = found.ci()
                covered.append(low <= -0.05 <= high)
        assert len(inside) > 100
        assert np.mean(inside) > 0.88
        assert np.mean(covered) > 0.88


class TestBadInput:
    def test_a_reference_of_one_window(self) -> None:
        with pytest.raises(DegenerateDataError, match=r"at least 3 reference windows .* 1 of 1 can be used"):
            lasting_change(REFERENCE[:1], REFERENCE)
        with pytest.raises(DegenerateDataError, match="1 of 3 can be used: give more or shorter windows"):
            lasting_change([REFERENCE[0], None, Sample([1], [2])], REFERENCE)

    def test_few_windows_are_said(self) -> None:
        [caveat] = chart(quiet(4)).caveats
        assert caveat == Caveat("few-reference-windows", n_windows=4, enough=8)
        assert chart(quiet(4)).limit > chart().limit

    def test_equal_windows_are_said_and_count_their_sampling_error(self) -> None:
        found = lasting_change([REFERENCE[0]] * 10, [sample(number, 0.6) for number in range(9)])
        assert [caveat.code for caveat in found.caveats] == ["reference-windows-equal"]
        assert found.active

    def test_windows_without_any_scatter(self) -> None:
        separated = Sample([0, 0, 1, 1], [1, 2, 3, 4])
        with pytest.raises(DegenerateDataError, match="show no scatter: each has the AUC 1 and no sampling"):
            lasting_change([separated] * 9, REFERENCE)

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"false_alarm_probability": 5}, "false_alarm_probability must lie within 0.001 and 0.5"),
            ({"horizon": 2.5}, "horizon must be a whole number from 1 to"),
            ({"alternative": "more"}, "alternative must be one of two-sided, less; it is 'more'"),
            ({"days": ([1], [1])}, "days must be two sequences"),
            ({"days": ([1] * 19, [math.inf])}, r"later\[0\].day must be a number of days"),
        ],
    )
    def test_arguments(self, options, text) -> None:
        with pytest.raises(InputError, match=text):
            lasting_change(REFERENCE, REFERENCE[:1], **options)

    def test_windows(self) -> None:
        with pytest.raises(InputError, match="later is empty"):
            lasting_change(REFERENCE, [])
        with pytest.raises(InputError, match=r"reference\[1\] must be a Sample or None, not a int"):
            lasting_change([REFERENCE[0], 3], REFERENCE)
        with pytest.raises(InputError, match="later must be a list of Sample, not a Sample"):
            lasting_change(REFERENCE, REFERENCE[0])
        with pytest.raises(InputError, match=r"later\[0\].n_pos must be a whole number"):
            chart().apply([(0.8, 2.5, 3)])
        with pytest.raises(InputError, match=r"later\[1\] must be a WindowAuc or None for a gap"):
            chart().apply([None, 0.8])


def test_every_caveat_has_an_example() -> None:
    examples = [
        Caveat("few-reference-windows", n_windows=4, enough=8),
        Caveat("reference-windows-equal", n_windows=4, auc=0.8),
        Caveat("reference-windows-alike", correlation=0.4, n_windows=19),
        Caveat("season-not-seen", days=182),
    ]
    assert {each.code for each in examples} <= caveats.SENTENCES.keys()
    assert not [each for each in examples if "{" in words_of(each) or words_of(each).startswith(each.code)]


@pytest.mark.parametrize(
    "weeks",
    [
        Weeks(),
        *(
            pytest.param(weeks, marks=pytest.mark.slow)
            for weeks in (Weeks(reference=8), Weeks(heavy=True), Weeks(uneven=True))
        ),
    ],
    ids=str,
)
def test_quiet_years_alarm_no_more_often_than_stated(weeks: Weeks) -> None:
    """200 years; more than 21 have a chance of 1e-3 at 5 %."""
    rng = np.random.default_rng(11)
    draw = partial(weeks.draw, 52)
    alarms = sum(charted(weeks, draw(rng))[1].crossed is not None for _ in range(200))
    assert alarms <= 21


def test_a_change_is_known_as_well_as_the_window_itself_is() -> None:
    """From 0.9 to 0.62 the scores overlap more: with the noise of the reference 95 % would be some 75 %."""

    def moved(rng: np.random.Generator, area: float, n_pos: int = 100, n_neg: int = 900) -> Sample:
        y = np.repeat([1, 0], [n_pos, n_neg])
        return Sample(y, rng.normal(size=len(y)) + math.sqrt(2) * ndtri(area) * y)

    rng, inside, without = np.random.default_rng(11), 0, 0
    reference = [moved(rng, 0.9) for _ in range(20)]
    pairs = moments(Sample.merge(reference))
    windows = [WindowAuc(auc(one).auc, 100, 900) for one in reference]
    level = lasting_chart(windows, (pairs.auc, pairs.zeta10, pairs.zeta01, pairs.kernel))
    for _ in range(200):
        later = auc(moved(rng, 0.62))
        window = WindowAuc(later.auc, 100, 900)
        inside += abs(later.auc - 0.62) <= 1.96 * level.change(window, later.se).error
        without += abs(later.auc - 0.62) <= 1.96 * level.change(window).error
    assert inside >= 182  # 95 % less two and a half errors
    assert without < 175
