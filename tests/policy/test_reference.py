"""The reference: frozen as JSON, and read back the same."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference, freeze, large_enough
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Floor, Forecast
from rocmonitor.stats import Sample, auc_bounds, cost_thresholds
from rocmonitor.wording.caveats import words_of

FIRST = datetime(2026, 1, 5, tzinfo=UTC)
WEEK = timedelta(days=7)
FORECAST = {"forecast": Forecast()}


def drawn(seed: int, n_pos: int, n_neg: int, shift: float = 1.2, digits: int = 9) -> Sample:
    rng = np.random.default_rng([seed, n_pos])
    y = np.repeat([1, 0], [n_pos, n_neg])
    return Sample(y, np.round(rng.normal(size=n_pos + n_neg) + shift * y, digits))


def weeks(*samples: Sample) -> list[tuple[Window, Sample]]:
    return [
        (Window(FIRST + number * WEEK, FIRST + (number + 1) * WEEK), sample)
        for number, sample in enumerate(samples)
    ]


def through_json(reference: Reference) -> Reference:
    return Reference.from_dict(json.loads(json.dumps(reference.to_dict())))


@pytest.mark.parametrize("digits", [1, 9])
def test_it_comes_back_from_json_as_it_was(digits: int) -> None:
    past = weeks(*(drawn(seed, 40 + seed, 60, digits=digits) for seed in range(20)))
    frozen = freeze(past, {"forecast": Forecast(), "forecast_2": Forecast(method="fixed", distance=0.01)})
    back = through_json(frozen)
    assert back.to_dict() == frozen.to_dict()
    assert back.joined is (digits == 9)
    batch = (30, 50)
    for name, fit in frozen.fits.items():
        again = back.fits[name].interval(back.cells, batch)
        assert again.to_dict() == fit.interval(frozen.cells, batch).to_dict()


def test_its_cells_hold_all_rows_and_nearly_all_of_its_order() -> None:
    past = weeks(*(drawn(seed, 400, 600) for seed in range(12)))
    frozen = freeze(past, FORECAST)
    assert (frozen.cells.n_pos, frozen.cells.n_neg) == (4800, 7200)
    assert len(frozen.cells.score) < 1000
    assert len(json.dumps(frozen.to_dict()["cells"])) < 40_000
    # For windows of the sizes it was frozen for, the cells give the interval of the rows.
    known = frozen.fits["forecast"].interval(frozen.cells)
    again = replace(known.fit, usual=None).interval(frozen.cells)
    assert (again.low, again.high) == pytest.approx((known.low, known.high), abs=5e-5)
    bounds = auc_bounds(Sample.merge(sample for _, sample in past), known.distance)
    assert (known.low, known.high) == pytest.approx((bounds.low, bounds.high), abs=5e-5)


def test_it_expects_a_batch_as_large_as_the_median_window() -> None:
    past = weeks(*(drawn(seed, n, 2 * n) for seed, n in enumerate([50, 10, 30, 20, 40])), Sample([], []))
    assert freeze(past, FORECAST).fits["forecast"].batch == (30, 60)


def test_recent_windows_count_for_more_when_a_rule_says_so() -> None:
    past = weeks(*(drawn(seed, 40, 60) for seed in range(6)))
    frozen = freeze(past, {"forecast": Forecast(half_life=2)})
    expected = [0.5 ** (age / 2) for age in (5, 4, 3, 2, 1, 0)]
    assert frozen.fits["forecast"].weights == pytest.approx(expected)
    # A week without rows of the segment is a week of age all the same.
    frozen = freeze(past[:2] + past[4:], {"forecast": Forecast(half_life=2)})
    assert frozen.fits["forecast"].weights == pytest.approx([expected[n] for n in (0, 1, 4, 5)])


def test_a_loss_only_has_no_upper_end() -> None:
    past = weeks(*(drawn(seed, 40, 60) for seed in range(25)))
    both, less = (
        NormalRanges.of(freeze(past, {"forecast": Forecast(alternative=each)})).range("forecast")
        for each in ("two-sided", "less")
    )
    assert less.high == 1
    assert less.low > both.low


def test_without_an_auc_there_are_no_cells() -> None:
    frozen = freeze(weeks(Sample([1, 1], [0.1, 0.2])), FORECAST)
    assert (frozen.auc, frozen.cells) == (None, None)
    assert through_json(frozen).to_dict() == frozen.to_dict()


def test_the_thresholds_of_operating_conditions_are_chosen_on_it() -> None:
    past = weeks(*(drawn(seed, 40, 60) for seed in range(5)))
    frozen = freeze(past, FORECAST, (0.0, 0.3))
    whole = Sample.merge(sample for _, sample in past)
    assert frozen.cost_thresholds == {0.0: np.inf, 0.3: cost_thresholds(whole, 0.3).threshold[0]}
    assert through_json(frozen).cost_thresholds == frozen.cost_thresholds


def test_other_rules_need_no_forecast() -> None:
    assert freeze(weeks(drawn(1, 40, 60)), {"floor": Floor(value=0.5)}).fits == {}


def test_a_window_that_would_not_be_judged_counts_together_with_its_neighbour():
    """One of 39 rows among twenty of 4,300 made the interval four times as wide, whoever learned from it."""
    rng = np.random.default_rng(12)

    def sized(n_pos, n_neg):
        y = np.repeat([1, 0], [n_pos, n_neg])
        return Sample(y, rng.standard_normal(n_pos + n_neg) + 1.2 * y)

    past = weeks(*(sized(900, 3400) for _ in range(10)), sized(9, 30), *(sized(900, 3400) for _ in range(10)))
    plain, pooled = (freeze(past, FORECAST, min_per_class=least) for least in (1, 50))
    found = [NormalRanges.of(each).range("forecast") for each in (plain, pooled)]
    widths = [each.high - each.low for each in found]
    assert widths[1] == pytest.approx(widths[0], rel=0.1)
    assert pooled.fits["forecast"].n_windows == 20
    assert len(pooled.windows) == 21  # for charts
    assert pooled.auc == plain.auc
    [caveat] = [each for each in pooled.caveats if each.code == "reference-windows-pooled"]
    assert "1 reference window has fewer than 50 rows of a class" in words_of(caveat)


def test_windows_are_pooled_until_they_are_large_enough_and_no_row_is_lost():
    sizes = [(5, 5), (30, 40), (0, 0), (8, 90), (30, 9), (2, 1)]
    past = weeks(
        *(drawn(at, *of) if min(of) else Sample.from_counts([], [], []) for at, of in enumerate(sizes))
    )
    found, caveats = large_enough(past, 20)
    assert [(each.n_pos, each.n_neg) for _, each in found] == [(35, 45), (0, 0), (40, 100)]
    assert found[0][0].start == past[0][0].start
    assert found[-1][0].end == past[-1][0].end
    assert caveats[0].values == {"windows": 4, "min_per_class": 20}
    assert large_enough(past, 1000) == (past, ())  # one window would be left
    assert large_enough(past[1:2], 20) == (past[1:2], ())
