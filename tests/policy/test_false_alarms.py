"""False alarms a year and how soon drops are found: laws, and simulations of the judge himself."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import numpy as np
import pytest
from scipy.special import betaincinv, ndtr, ndtri
from studies import check_alarms, weekly

from rocmonitor.policy import measure
from rocmonitor.policy.budget import YEAR
from rocmonitor.policy.evaluation import Counts, Status
from rocmonitor.policy.judge import judge
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference, freeze
from rocmonitor.policy.scenario import Scenario, sampling_only, simulation, uncounted
from rocmonitor.policy.status import Alarm, StatusSoFar
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Challenger, Drop, Floor, Forecast, Lasting, by_name
from rocmonitor.stats import (
    AucResult,
    AucSpread,
    Sample,
    WindowAuc,
    coming,
    compare_auc,
    detectable_drop,
    lasting_chart,
)
from rocmonitor.stats.lasting.windows import scaled, unscaled
from rocmonitor.stats.simulated import TOGETHER, gravest, statuses

WEEK = timedelta(days=7)
WINDOW = Window(datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 12, tzinfo=UTC))


def scenario(*rules, auc=0.8, se=0.01, n_pos=300, n_neg=1200, windows=20, aucs: Sequence[float] = ()):
    sizes = {"n_pos": n_pos, "n_neg": n_neg}
    return Scenario(
        rules=by_name(rules),
        ranges=NormalRanges.of(
            Reference(
                auc=AucResult(auc=auc, se=se, n_pos=5000, n_neg=20_000, method="delong"),
                windows=[sizes | {"auc": each} for each in aucs] or [sizes] * windows,
            )
        ),
        spread=AucSpread.normal(auc),
        n_pos=n_pos,
        n_neg=n_neg,
    )


def rate_of(one: Scenario) -> float:
    return simulation(one, WEEK).window_rate()


def false_alarms_a_year(one: Scenario, alarm: Alarm, every: timedelta) -> float:
    return simulation(one, every).false_alarms(alarm).expected


def at_its_floor(chance: float) -> Scenario:
    """Windows of which this share is found degraded, one like another."""
    return scenario(Floor(value=0.8, confidence_level=1 - 2 * chance), se=1e-9)


# One window


@pytest.mark.parametrize("chance", [0.005, 0.05, 0.2])
def test_a_model_at_its_floor_is_found_below_it_with_half_of_the_rest(chance):
    # On the scale of the simulation, the noise at the limit is that at the reference.
    assert rate_of(at_its_floor(chance)) == pytest.approx(chance, rel=0.1, abs=0.002)


def test_a_floor_counts_as_far_as_the_model_is_above_it():
    rates = [rate_of(scenario(Floor(value=value))) for value in (0.6, 0.7, 0.77, 0.79, 0.8, 0.85, 0.95)]
    assert rates == sorted(rates)
    assert rates[0] < 1e-9
    assert rates[-1] > 1 - 1e-9


@pytest.mark.parametrize("se", [1e-6, 0.01, 0.03])
@pytest.mark.parametrize(("alternative", "sides"), [("two-sided", 2), ("less", 1)])
def test_a_calibrated_forecast_has_its_own_level(se, alternative, sides):
    """Whatever the reference's error: a conformal level holds over the reference and the window."""
    rule = Forecast(confidence_level=0.9, alternative=alternative)
    assert rate_of(scenario(rule, se=se)) == pytest.approx(0.1 / sides, rel=0.01)
    assert rate_of(scenario(rule, se=se, windows=4)) == pytest.approx(0.1 / sides, rel=0.01)  # by a model


def test_a_drop_counts_as_it_compares():
    """The chance by its definition: of a window below the one that `compare_auc` just calls degraded."""
    rule = Drop(value=0.01, confidence_level=0.9)
    seen = scenario(rule, se=1e-9)
    grid = np.linspace(0.6, 0.8, 20_001)
    found = [compare_auc(seen.window(a), seen.auc).ci(0.9).high < -0.01 for a in grid[::100].tolist()]
    edge = grid[::100][np.flatnonzero(found)[-1]]
    below = ndtr((scaled(edge) - scaled(0.8)) / seen.noise(0.8) ** 0.5)
    assert rate_of(seen) == pytest.approx(below, rel=0.1)


def test_rules_on_one_auroc_are_not_independent():
    forecast, drop = Forecast(confidence_level=0.9), Drop(confidence_level=0.9)
    alone = [rate_of(scenario(rule)) for rule in (forecast, drop)]
    both = rate_of(scenario(forecast, drop))
    assert max(alone) <= both < 1 - (1 - alone[0]) * (1 - alone[1])
    assert rate_of(scenario(forecast, forecast)) == pytest.approx(alone[0])


def test_rules_that_never_alarm_by_chance_count_nothing():
    assert false_alarms_a_year(scenario(Floor(value=0.5), Challenger()), Alarm(), timedelta(days=7)) < 1e-9
    assert false_alarms_a_year(scenario(Challenger()), Alarm(), timedelta(days=7)) == 0
    assert false_alarms_a_year(scenario(), Alarm(), timedelta(days=7)) == 0


def test_a_forecast_without_a_level_counts_when_its_interval_is_known():
    fixed = Forecast(method="fixed", distance=0.01)
    unknown = scenario(fixed, se=1e-9)
    assert uncounted(unknown) == ["forecast"]
    assert rate_of(unknown) == 0
    rng = np.random.default_rng(2)
    sample = drawn(rng, 0.8, 300, 1200)
    known = freeze([(WINDOW, sample)], by_name([fixed]))
    low = NormalRanges.of(known).range("forecast").low
    known = replace(known, auc=replace(known.auc, auc=0.8, se=1e-9))
    seen = replace(unknown, ranges=NormalRanges.of(known))
    assert uncounted(seen) == []
    below = ndtr((scaled(low) - scaled(0.8)) / seen.noise(0.8) ** 0.5)
    assert rate_of(seen) == pytest.approx(below, rel=1e-4)


def test_without_the_windows_only_calibrated_forecasts_count_drift():
    fixed = Forecast(method="fixed", distance=0.01)
    rules = (Forecast(), Floor(value=0.7), Drop(), Challenger(), fixed)
    assert sampling_only(scenario(*rules)) == ["floor", "drop"]  # the fixed one is not counted at all
    known = freeze([(WINDOW, drawn(np.random.default_rng(2), 0.8, 300, 1200))], by_name([fixed]))
    assert sampling_only(replace(scenario(fixed), ranges=NormalRanges.of(known))) == ["forecast"]
    assert sampling_only(scenario(*rules, aucs=[0.79, 0.8, 0.81])) == []


# A year


@pytest.mark.parametrize("chance", [0.01, 0.05, 0.2])
def test_one_of_one_is_the_rate_of_going_from_good_to_bad(chance):
    one = at_its_floor(chance)
    yearly, exact = false_alarms_a_year(one, Alarm(), WEEK), rate_of(one)
    windows = YEAR / WEEK
    assert yearly == pytest.approx(windows * exact * (1 - exact) + exact**2, rel=0.03)


ALARMS = [
    Alarm(),
    Alarm(after=2, of=3),
    Alarm(after=2, of=4, recover_after=3),
    Alarm(recover_after=5),
    Alarm(after=3, of=3, recover_after=2),
]
KINDS = {-1: Status.DEGRADED, 0: Status.OK, 1: Status.IMPROVED}


@pytest.mark.parametrize("alarm", ALARMS)
def test_statuses_are_those_of_the_status_machine(alarm: Alarm):
    """Every series of eight outcomes."""
    series = np.array(list(product((-1, 0, 1), repeat=8)), np.int8).T
    found = statuses(series, alarm)
    for outcomes, of in zip(series.T[::7].tolist(), found.T[::7].tolist(), strict=True):
        health = StatusSoFar()
        for outcome, status in zip(outcomes, of, strict=True):
            health = health.after(KINDS[outcome], alarm)
            assert KINDS[status] is health.status


def test_rules_together_are_degraded_before_improved():
    found = {"a": np.array([[-1, 1, 0, 1]], np.int8), "b": np.array([[1, 0, 0, -1]], np.int8)}
    assert gravest(list(found.values())).tolist() == [[-1, 1, 0, -1]]
    assert gravest([found["a"]]).tolist() == [[-1, 1, 0, 1]]


def alarms_in(found: np.ndarray, alarm: Alarm) -> int:
    """Changes to degraded of the real status machine."""
    health, alarms = StatusSoFar(), 0
    for bad in found.tolist():
        before, health = health, health.after(Status.DEGRADED if bad else Status.OK, alarm)
        alarms += health.status is Status.DEGRADED and before.status is not Status.DEGRADED
    return alarms


def test_a_reference_that_was_not_read_ranges_as_conformal_coverage_does():
    """Given its 19 windows, the coverage of an interval is a Beta(19, 1) variable ([V12])."""
    yearly = simulation(scenario(Forecast(), windows=19), WEEK).false_alarms(Alarm())
    for share, told in ((0.1, yearly.high), (0.9, yearly.low)):
        miss = (1 - betaincinv(19, 1, share)) / 2
        assert told == pytest.approx(YEAR / WEEK * miss * (1 - miss), rel=0.15, abs=0.05)
    assert yearly.low < yearly.expected < yearly.high


def test_always_degraded_is_one_alarm_a_window():
    """It never ends, which is no merit: the fewer windows are ok, the more alarms are counted."""
    drawn = simulation(scenario(Floor(value=0.95)), WEEK)
    assert drawn.window_rate() == pytest.approx(1)
    assert drawn.false_alarms(Alarm()).expected == pytest.approx(YEAR / WEEK, rel=0.01)


def test_hourly_windows_are_scaled_to_a_year():
    daily = false_alarms_a_year(at_its_floor(0.05), Alarm(), timedelta(days=1))
    assert false_alarms_a_year(at_its_floor(0.05), Alarm(), timedelta(hours=1)) == pytest.approx(
        24 * daily, rel=0.01
    )


def test_a_calibrated_forecast_finds_rises_as_often_as_losses():
    drawn = simulation(scenario(Forecast(), auc=0.85), WEEK)
    losses = drawn.false_alarms(Alarm()).expected
    assert drawn.improvements(Alarm()).expected == pytest.approx(losses, rel=0.05)
    for silent in (Forecast(alternative="less"), Floor(value=0.85), Challenger()):
        assert simulation(scenario(silent), WEEK).improvements(Alarm()).expected == 0


def test_a_drop_finds_rises_as_it_compares():
    """By its definition: of windows above the one that `compare_auc` just calls better."""
    seen = scenario(Drop(value=0.01, confidence_level=0.8), se=1e-9)
    grid = np.linspace(0.8, 0.95, 1501).tolist()
    edge = next(a for a in grid if compare_auc(seen.window(a), seen.auc).ci(0.8).low > 0.01)
    chance = float(ndtr((scaled(0.8) - scaled(edge)) / seen.noise(0.8) ** 0.5))
    yearly = simulation(seen, WEEK).improvements(Alarm()).expected
    assert yearly == pytest.approx(chance * (1 - chance) * (YEAR / WEEK), rel=0.1)


# The scatter of the reference windows


def drawn_aucs(scatter: float, windows: int, rng: np.random.Generator) -> list[float]:
    return [unscaled(x) for x in scaled(0.8) + rng.normal(0, scatter, windows)]


def test_windows_that_differ_alarm_more_often():
    """The same rules and sizes; the rate is that of the scatter which the windows show."""
    rng = np.random.default_rng(1)
    noise = scenario().noise(0.8) ** 0.5
    rules = (Drop(), Floor(value=0.75))
    alike, apart = (
        simulation(scenario(*rules, aucs=drawn_aucs(scatter, 200, rng)), WEEK)
        for scatter in (noise, 2 * noise)
    )
    for name, rule in alike.rules.items():
        low = rule.steps.edges[0][0] - scaled(0.8)
        below = [float(ndtr(low / scatter)) for scatter in (noise, 2 * noise)]
        found = [drawn.window_rate([name]) for drawn in (alike, apart)]
        assert found == pytest.approx(below, rel=0.4, abs=0.003)
        assert found[1] > 2 * found[0]


def test_a_short_reference_leaves_more_open():
    rng = np.random.default_rng(2)
    short, long = (
        simulation(scenario(Drop(), aucs=drawn_aucs(0.06, n, rng)), WEEK).false_alarms(Alarm())
        for n in (8, 200)
    )
    assert (long.high - long.low) / long.expected < 0.7 * (short.high - short.low) / short.expected


# What is found


def test_the_drop_that_is_seen_is_that_of_the_most_sensitive_rule():
    def seen(*rules, **options):
        return simulation(scenario(*rules, **options), WEEK).single_window_drop()

    drop, one = Drop(value=0.02, confidence_level=0.95), scenario(Drop(value=0.02))
    name, size = seen(drop)
    direct = detectable_drop(
        one.spread, reference=one.auc, against=0.78, confidence_level=0.95, power=0.8, n_pos=300, n_neg=1200
    )
    assert (name, size) == ("drop", pytest.approx(direct, rel=0.05))
    assert seen(drop, Floor(value=0.7)) == (name, size)
    assert seen(drop, Floor(value=0.795))[0] == "floor"
    assert seen(Challenger()) is None
    assert seen(drop, n_pos=3000, n_neg=12_000)[1] < size


def test_a_drop_is_found_when_a_window_of_it_would_be():
    """Windows that differ by sampling alone: a geometric time with the chance of one window."""
    one = scenario(Floor(value=0.78), Challenger(), se=1e-9)
    drawn = simulation(one, WEEK)
    [low] = drawn.rules["floor"].steps.edges[0].tolist()
    [found] = [each for name, each in drawn.detections(0.03, Alarm()).items() if name == "floor"]
    chance = float(ndtr((low - scaled(0.77)) / one.noise(0.8) ** 0.5))
    assert found.once == pytest.approx(chance, abs=0.01)
    ends = [int(np.ceil(np.log(1 - share) / np.log(1 - chance))) for share in (0.5, 0.8)]
    assert found.windows == pytest.approx(ends, abs=1)
    assert drawn.detections(0.0, Alarm())["floor"].windows == (None, None)
    two = drawn.detections(0.2, Alarm(after=2, of=2))["floor"]
    assert (two.windows, two.once) == ((2, 2), pytest.approx(0, abs=0.01))


def test_rules_together_find_as_soon_as_the_first_of_them():
    drawn = simulation(
        scenario(Floor(value=0.78), Drop(), aucs=drawn_aucs(0.05, 19, np.random.default_rng(3))), WEEK
    )
    found = drawn.detections(0.05, Alarm())
    assert list(found) == ["floor", "drop", TOGETHER]
    assert found[TOGETHER].once >= max(found["floor"].once, found["drop"].once)


# Windows that follow one another


@pytest.mark.parametrize(
    "serial", [0.5, *(pytest.param(serial, marks=pytest.mark.slow) for serial in (0.0, 0.9))]
)
def test_alarms_and_times_are_those_of_series_that_go_on_from_the_reference(serial, monkeypatch):
    """Given the true scatter and correlation: the limits of each reference, and its later windows drawn."""
    monkeypatch.setattr(coming, "SERIES", 520)
    coming._numbers.cache_clear()
    rng, alarm = np.random.default_rng(4), Alarm(after=2, of=3)
    noise = scenario(n_pos=100, n_neg=300).noise(0.8)
    rows = []
    for _ in range(25):
        states = check_alarms.true_values(serial, 19, rng)
        aucs = [unscaled(x) for x in rng.normal(states, noise**0.5)]
        one = scenario(Drop(), Lasting(), n_pos=100, n_neg=300, aucs=aucs, auc=float(np.mean(aucs)), se=0.006)
        numbers = [WindowAuc(each, 100, 300) for each in aucs]
        one.ranges.charts["lasting"] = lasting_chart(numbers, weekly.PAIRS)
        given = check_alarms.known(*one.numbers(), serial=serial, between=check_alarms.SCATTER)
        told = simulation(one, WEEK, given)
        really = simulation(one, WEEK, check_alarms.truth(states[-1], serial))
        found = [drawn.detections(0.05, alarm)[TOGETHER] for drawn in (told, really)]
        rows.append(
            [
                *(drawn.false_alarms(Alarm()).expected for drawn in (told, really)),
                *(drawn.false_alarms(alarm).expected for drawn in (told, really)),
                *(np.log(each.windows[0] or 100) for each in found),
            ]
        )
    coming._numbers.cache_clear()
    means, columns = np.mean(rows, axis=0), np.array(rows)
    for told_at, really_at in ((0, 1), (2, 3)):
        error = np.std(columns[:, told_at] - columns[:, really_at]) / len(rows) ** 0.5
        assert abs(means[told_at] - means[really_at]) < 0.2 * means[really_at] + 3 * error
    assert abs(means[4] - means[5]) < np.log(1.4)


@pytest.mark.slow
@pytest.mark.parametrize("serial", [0.0, 0.5])
def test_what_is_told_of_52_reference_windows_is_right_on_average_and_its_range_covers(serial, monkeypatch):
    """All is learned from the reference; drops too. Monte Carlo errors are some 0.1 of each number."""
    monkeypatch.setattr(coming, "SERIES", 520)
    coming._numbers.cache_clear()
    rng = np.random.default_rng(8)
    noise = scenario(n_pos=100, n_neg=300).noise(0.8)
    rates, times, within = [], [], []
    for _ in range(30):
        states = check_alarms.true_values(serial, 52, rng)
        aucs = [unscaled(x) for x in rng.normal(states, noise**0.5)]
        rules = (Drop(), Floor(value=0.75))
        one = scenario(*rules, n_pos=100, n_neg=300, aucs=aucs, auc=float(np.mean(aucs)), se=0.0035)
        ahead = [simulation(one, WEEK), simulation(one, WEEK, check_alarms.truth(states[-1], serial))]
        told, true = ([of.false_alarms(Alarm(), rules=[n]) for n in ("drop", "floor")] for of in ahead)
        rates.append([[each.expected for each in of] for of in (told, true)])
        within.append([said.low <= of.expected <= said.high for said, of in zip(told, true, strict=True)])
        times.append([np.log(of.detections(0.05, Alarm())["drop"].windows[1] or 60) for of in ahead])
    coming._numbers.cache_clear()
    told, true = np.mean(rates, axis=0)
    errors = np.std(np.diff(rates, axis=1)[:, 0], axis=0) / len(rates) ** 0.5
    assert (abs(told - true) < 0.2 * true + 3 * errors).all()
    assert np.mean(within) > 0.65
    assert abs(np.diff(np.mean(times, axis=0))[0]) < np.log(1.3)


@pytest.mark.slow
@pytest.mark.parametrize("serial", [0.0, 0.9])
def test_the_judge_alarms_as_often_as_is_told_of_windows_that_are_alike(serial):
    """A short run of the study `check-alarms`: rows, the real judge, the real status machine."""
    rng = np.random.default_rng(5)
    found = [check_alarms.one(serial, rng) for _ in range(10)]
    for alarm in check_alarms.ALARMS:
        judged, true, given, told, within = (
            np.array(each) for each in zip(*(one[alarm] for one in found), strict=True)
        )
        for said in (true, given):
            # Of what is rare there may be none in so few, and no scatter to see.
            errors = np.sqrt(np.maximum(np.var(judged - said, axis=0), np.mean(said, axis=0)) / len(found))
            allowed = 0.2 * np.mean(judged, axis=0) + 3.5 * errors + 0.05
            assert (abs(np.mean(judged - said, axis=0)) < allowed).all()
        assert np.mean(within) > 0.7
        assert told[:, 0].mean() == pytest.approx(judged[:, 0].mean(), rel=0.8)


@pytest.mark.slow
def test_the_range_of_nineteen_windows_has_the_rate_of_four_references_in_five():
    """Another short run of the study, of 40 references: by a chance of 1 in 1,000 less than 0.6 at 0.8."""
    serial = 0.9
    coming._numbers.cache_clear()
    rng = np.random.default_rng(14)
    found = np.array([check_alarms.ahead_of(serial, 19, rng) for _ in range(40)])
    coming._numbers.cache_clear()
    true, given, _, _, low, high = np.moveaxis(found, 1, 0)
    within = ((low <= true) & (true <= high)).mean(axis=0)
    assert (within > 0.6).all()
    assert within.mean() > 0.75
    # Who knows the process, but not this reference, is right on average.
    errors = (given - true).std(axis=0) / len(found) ** 0.5
    assert (abs((given - true).mean(axis=0)) < 0.2 * true.mean(axis=0) + 3.5 * errors).all()


# The judge himself


def drawn(rng, area, n_pos, n_neg):
    y = np.repeat([1, 0], [n_pos, n_neg])
    return Sample(y, rng.standard_normal(n_pos + n_neg) + np.sqrt(2) * ndtri(area) * y)


@pytest.mark.slow
def test_the_judge_alarms_as_often_and_sees_as_much_as_told(monkeypatch):
    """Real references and windows, the real rules and status machine; the chances are of the order of 0.1."""
    monkeypatch.setattr(measure, "CURVE_POINTS", 1)
    area, n_pos, n_neg, references, windows = 0.8, 60, 240, 18, 20
    rules = by_name(
        [
            Forecast(confidence_level=0.8),
            Drop(confidence_level=0.8),
            Floor(value=0.77, confidence_level=0.8),
        ]
    )
    counts = Counts(rows=n_pos + n_neg, n_pos=n_pos, n_neg=n_neg)
    rng = np.random.default_rng(6)
    alarm = Alarm(after=2, of=3)
    rows = []
    for _ in range(references):
        past = [drawn(rng, area, n_pos, n_neg) for _ in range(9)]
        ranges = NormalRanges.of(freeze([(WINDOW, sample) for sample in past], rules))
        told = Scenario(
            rules=rules,
            ranges=ranges,
            spread=AucSpread.from_sample(Sample.merge(past)),
            n_pos=n_pos,
            n_neg=n_neg,
        )
        drawn_ahead = simulation(told, YEAR / windows)
        _, drop = drawn_ahead.single_window_drop()
        found = [
            [
                judge(
                    drawn(rng, at, n_pos, n_neg),
                    None,
                    counts,
                    ranges=ranges,
                    rules=rules,
                    min_per_class=20,
                ).outcome
                for _ in range(windows)
            ]
            for at in (area, area - drop)
        ]
        bad, seen = ([outcome is Status.DEGRADED for outcome in outcomes] for outcomes in found)
        better = [outcome is Status.IMPROVED for outcome in found[0]]
        rows.append(
            (
                np.mean(bad) - drawn_ahead.window_rate(),
                alarms_in(np.array(bad), alarm) - drawn_ahead.false_alarms(alarm).expected,
                alarms_in(np.array(better), alarm) - drawn_ahead.improvements(alarm).expected,
                np.mean(seen) - 0.8,
            )
        )
    # References differ, windows that share one do not: the scatter is that between references.
    errors = np.std(rows, axis=0) / references**0.5
    assert (abs(np.mean(rows, axis=0)) < 4.5 * errors + [0.01, 0.02, 0.02, 0.03]).all()
    assert (errors < [0.03, 0.2, 0.2, 0.03]).all()
