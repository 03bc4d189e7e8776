"""False alarms a year and the drops that are seen: laws, and a simulation of the judge himself."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from scipy.special import expit, logit, ndtr, ndtri

from rocmonitor.policy import measure
from rocmonitor.policy.evaluation import Counts, Status
from rocmonitor.policy.false_alarms import (
    YEAR,
    Scenario,
    false_alarms_a_year,
    first_window_drop,
    forecast_weights,
    improved_a_year,
    sampling_only,
    uncounted,
    window_rate,
)
from rocmonitor.policy.judge import judge
from rocmonitor.policy.reference import Reference, freeze
from rocmonitor.policy.rules import Challenger, Drop, Floor, Forecast, by_name
from rocmonitor.policy.status import Alarm, Health
from rocmonitor.policy.windows import Window
from rocmonitor.stats import AucResult, AucSpread, Sample, compare_auc, detectable_drop

ALARMS = [Alarm(), Alarm(after=2, of=3), Alarm(after=2, of=4, recover_after=3), Alarm(recover_after=5)]


def scenario(*rules, auc=0.8, se=0.01, n_pos=300, n_neg=1200, windows=20, forecasts=None):
    return Scenario(
        rules=by_name(rules),
        reference=Reference(
            auc=AucResult(auc=auc, se=se, n_pos=5000, n_neg=20_000, method="delong"),
            forecasts=forecasts or {},
            windows=[{"n_pos": n_pos, "n_neg": n_neg}] * windows,
        ),
        spread=AucSpread.normal(auc),
        n_pos=n_pos,
        n_neg=n_neg,
    )


def at_its_floor(chance: float) -> Scenario:
    """Windows of which this share is found degraded, one like another."""
    return scenario(Floor(value=0.8, confidence_level=1 - 2 * chance), se=1e-9)


# One window


@pytest.mark.parametrize("chance", [0.005, 0.05, 0.2])
def test_a_model_at_its_floor_is_found_below_it_with_half_of_the_rest(chance):
    assert window_rate(at_its_floor(chance)) == pytest.approx(chance, rel=1e-6)


def test_a_floor_counts_as_far_as_the_model_is_above_it():
    rates = [window_rate(scenario(Floor(value=value))) for value in (0.6, 0.7, 0.77, 0.79, 0.8, 0.85, 0.95)]
    assert rates == sorted(rates)
    assert rates[0] < 1e-9
    assert rates[-1] > 1 - 1e-9


@pytest.mark.parametrize("se", [1e-6, 0.01, 0.03])
@pytest.mark.parametrize(("alternative", "sides"), [("two-sided", 2), ("less", 1)])
def test_a_calibrated_forecast_has_its_own_level(se, alternative, sides):
    """Whatever the reference's error: a conformal level holds over the reference and the window."""
    rule = Forecast(confidence_level=0.9, alternative=alternative)
    assert window_rate(scenario(rule, se=se)) == pytest.approx(0.1 / sides, rel=0.01)
    assert window_rate(scenario(rule, se=se, windows=4)) == pytest.approx(0.2 / sides, rel=0.01)


def test_a_drop_counts_as_it_compares():
    """The chance by its definition: of a window below the one that `compare_auc` just calls degraded."""
    rule = Drop(value=0.01, confidence_level=0.9)
    seen = scenario(rule, se=1e-9)
    grid = np.linspace(0.6, 0.8, 20_001)
    found = [compare_auc(seen.window(a), seen.auc).ci(0.9).high < -0.01 for a in grid[::100].tolist()]
    edge = grid[::100][np.flatnonzero(found)[-1]]
    se = seen.window(edge).se / (edge * (1 - edge))
    assert window_rate(seen) == pytest.approx(ndtr((logit(edge) - logit(0.8)) / se), rel=0.1)


def test_rules_on_one_auroc_are_not_independent():
    forecast, drop = Forecast(confidence_level=0.9), Drop(confidence_level=0.9)
    alone = [window_rate(scenario(rule)) for rule in (forecast, drop)]
    both = window_rate(scenario(forecast, drop))
    assert max(alone) <= both < 1 - (1 - alone[0]) * (1 - alone[1])
    assert window_rate(scenario(forecast, forecast)) == pytest.approx(alone[0])


def test_rules_that_never_alarm_by_chance_count_nothing():
    assert false_alarms_a_year(scenario(Floor(value=0.5), Challenger()), Alarm(), timedelta(days=7)) < 1e-9
    assert false_alarms_a_year(scenario(Challenger()), Alarm(), timedelta(days=7)) == 0
    assert false_alarms_a_year(scenario(), Alarm(), timedelta(days=7)) == 0


def test_a_forecast_without_a_level_counts_when_its_interval_is_known():
    fixed = Forecast(method="fixed", distance=0.01)
    unknown = scenario(fixed, se=1e-9)
    assert uncounted(unknown) == ["forecast"]
    assert window_rate(unknown) == 0
    rng = np.random.default_rng(2)
    sample = drawn(rng, 0.8, 300, 1200)
    known = freeze([(WINDOW, sample)], by_name([fixed]))
    low = known.forecasts["forecast"].low
    seen = replace(unknown, reference=replace(known, auc=replace(known.auc, auc=0.8, se=1e-9)))
    se = seen.window(low).se / (low * (1 - low))
    assert uncounted(seen) == []
    assert window_rate(seen) == pytest.approx(ndtr((logit(low) - logit(0.8)) / se), rel=1e-4)


def test_only_calibrated_forecasts_count_drift():
    fixed = Forecast(method="fixed", distance=0.01)
    rules = (Forecast(), Floor(value=0.7), Drop(), Challenger(), fixed)
    assert sampling_only(scenario(*rules)) == ["floor", "drop"]  # the fixed one is not counted at all
    known = freeze([(WINDOW, drawn(np.random.default_rng(2), 0.8, 300, 1200))], by_name([fixed]))
    assert sampling_only(replace(scenario(fixed), reference=known)) == ["forecast"]


def test_windows_weigh_the_same_whether_they_were_read_or_counted():
    """The second of five lacks a class: it counts nothing, but the first is as old as before."""
    rng = np.random.default_rng(7)
    samples = [drawn(rng, 0.8, 30, 70) for _ in range(5)]
    samples[1] = Sample(np.zeros(70, int), rng.normal(size=70))
    week = timedelta(days=7)
    windows = [Window(WINDOW.start + age * week, WINDOW.end + age * week) for age in range(5)]
    rules = by_name([Forecast(half_life=2), Forecast(), Drop()])
    read = freeze(list(zip(windows, samples, strict=True)), rules)
    counted = replace(read, forecasts={})
    by_definition = [0.5 ** (age / 2) for age in (4, 2, 1, 0)]
    assert sorted(forecast_weights("forecast", rules, read)) == pytest.approx(sorted(by_definition))
    assert sorted(forecast_weights("forecast", rules, counted)) == pytest.approx(sorted(by_definition))
    assert forecast_weights("forecast_2", rules, read) == forecast_weights("forecast_2", rules, counted)
    assert forecast_weights("drop", rules, read) is None


# A year


@pytest.mark.parametrize("chance", [0.001, 0.05, 0.2])
def test_one_of_one_is_the_rate_of_going_from_good_to_bad(chance):
    yearly = false_alarms_a_year(at_its_floor(chance), Alarm(), timedelta(days=1))
    assert yearly == pytest.approx(chance * (1 - chance) * (YEAR / timedelta(days=1)), rel=1e-5)


def alarms_in(found: np.ndarray, alarm: Alarm) -> int:
    """Changes to degraded of the real status machine."""
    health, alarms = Health(), 0
    for bad in found.tolist():
        before, health = health, health.after(Status.DEGRADED if bad else Status.OK, alarm)
        alarms += health.status is Status.DEGRADED and before.status is not Status.DEGRADED
    return alarms


@pytest.mark.parametrize("alarm", ALARMS)
def test_the_rate_agrees_with_a_simulation_of_the_status_machine(alarm: Alarm):
    chance, windows = 0.2, 40_000
    expected = false_alarms_a_year(at_its_floor(chance), alarm, YEAR / windows)
    alarms = alarms_in(np.random.default_rng(8).random(windows) < chance, alarm)
    # Alarms exclude one another, so their number varies less than a Poisson number would.
    assert abs(alarms - expected) < 5 * expected**0.5


def test_the_reference_is_wrong_all_year():
    """Windows that share a reference are found degraded together: 3 of 3 is no cube of the chance."""
    alarm, windows, years = Alarm(after=3, of=3), 100, 300
    seen = scenario(Drop(confidence_level=0.8), se=0.012)
    rng = np.random.default_rng(3)
    edge = next(
        a for a in np.arange(0.8, 0.6, -1e-4) if compare_auc(seen.window(a), seen.auc).ci(0.8).high < 0
    )
    centre, error = logit(0.8), seen.auc.se / 0.16
    scatter = seen.window(edge).se / (edge * (1 - edge))
    counts = [
        alarms_in(expit(rng.normal(true, scatter, windows)) < edge, alarm)
        for true in rng.normal(centre, error, years)
    ]
    expected = false_alarms_a_year(seen, alarm, YEAR / windows)
    assert abs(np.mean(counts) - expected) < 5 * np.std(counts) / years**0.5
    rate = window_rate(seen)
    assert expected > 1.5 * false_alarms_a_year(at_its_floor(rate), alarm, YEAR / windows)


def test_the_largest_machine():
    alarm = Alarm(after=5, of=10, recover_after=10)
    assert 0 < false_alarms_a_year(at_its_floor(0.2), alarm, timedelta(days=7)) < 1


def test_a_calibrated_forecast_finds_rises_as_often_as_losses():
    week = timedelta(days=7)
    seen = scenario(Forecast(), auc=0.85)
    assert improved_a_year(seen, Alarm(), week) == pytest.approx(
        false_alarms_a_year(seen, Alarm(), week),
        rel=0.05,  # errors differ at the two limits
    )
    for silent in (Forecast(alternative="less"), Floor(value=0.85), Challenger()):
        assert improved_a_year(scenario(silent), Alarm(), week) == 0


def test_a_drop_finds_rises_as_it_compares():
    """By its definition: of windows above the one that `compare_auc` just calls better."""
    seen = scenario(Drop(value=0.01, confidence_level=0.8), se=1e-9)
    grid = np.linspace(0.8, 0.95, 1501).tolist()
    edge = next(a for a in grid if compare_auc(seen.window(a), seen.auc).ci(0.8).low > 0.01)
    se = seen.window(edge).se / (edge * (1 - edge))
    chance = float(ndtr((logit(0.8) - logit(edge)) / se))
    yearly = improved_a_year(seen, Alarm(), timedelta(days=7))
    assert yearly == pytest.approx(chance * (1 - chance) * (YEAR / timedelta(days=7)), rel=0.05)


def test_always_degraded_is_no_series_of_alarms():
    seen = scenario(Floor(value=0.95))
    assert window_rate(seen) == pytest.approx(1)
    assert false_alarms_a_year(seen, Alarm(), timedelta(days=7)) < 1e-6


# What is seen


def test_the_drop_that_is_seen_is_that_of_the_most_sensitive_rule():
    options = {"n_pos": 300, "n_neg": 1200}
    drop = Drop(value=0.02, confidence_level=0.95)
    name, size = first_window_drop(scenario(drop))
    seen = scenario(drop)
    direct = detectable_drop(
        seen.spread, reference=seen.auc, against=0.78, confidence_level=0.95, power=0.8, **options
    )
    assert (name, size) == ("drop", pytest.approx(direct, rel=0.02))
    assert first_window_drop(scenario(drop, Floor(value=0.7))) == (name, size)
    assert first_window_drop(scenario(drop, Floor(value=0.795)))[0] == "floor"
    assert first_window_drop(scenario(Challenger())) is None
    assert first_window_drop(scenario(drop, n_pos=3000, n_neg=12_000))[1] < size


# The judge himself

WINDOW = Window(datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 12, tzinfo=UTC))


def drawn(rng, area, n_pos, n_neg):
    y = np.repeat([1, 0], [n_pos, n_neg])
    return Sample(y, rng.standard_normal(n_pos + n_neg) + np.sqrt(2) * ndtri(area) * y)


@pytest.mark.slow
def test_the_judge_alarms_as_often_and_sees_as_much_as_told(monkeypatch):
    """Real references and windows, the real rules and status machine; the chances are of the order of 0.1."""
    monkeypatch.setattr(measure, "CURVE_POINTS", 1)
    area, n_pos, n_neg, references, windows = 0.8, 60, 240, 30, 20
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
        # Without its cells the reference keeps the intervals that it has, and nothing is explained: quicker.
        reference = replace(freeze([(WINDOW, sample) for sample in past], rules), cells=None)
        told = Scenario(
            rules=rules,
            reference=reference,
            spread=AucSpread.from_sample(Sample.merge(past)),
            n_pos=n_pos,
            n_neg=n_neg,
        )
        _, drop = first_window_drop(told)
        found = [
            [
                judge(
                    drawn(rng, at, n_pos, n_neg),
                    None,
                    counts,
                    reference=reference,
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
                np.mean(bad) - window_rate(told),
                alarms_in(np.array(bad), alarm) - false_alarms_a_year(told, alarm, YEAR / windows),
                alarms_in(np.array(better), alarm) - improved_a_year(told, alarm, YEAR / windows),
                np.mean(seen) - 0.8,
            )
        )
    # References differ, windows that share one do not: the scatter is that between references.
    errors = np.std(rows, axis=0) / references**0.5
    assert (abs(np.mean(rows, axis=0)) < 4.5 * errors + [0.01, 0.02, 0.02, 0.03]).all()
    assert (errors < [0.03, 0.2, 0.2, 0.03]).all()
