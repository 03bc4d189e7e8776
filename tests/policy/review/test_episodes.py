"""A review whose period contains a loss of the champion tells the difference before, in and after it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from reviews import review

from rocmonitor.policy.episode import Decline
from rocmonitor.policy.review.document import Decision
from rocmonitor.policy.review.supplementary import difference_by_episode
from rocmonitor.policy.windows import Window
from rocmonitor.wording.review import decision, summary

WEEK, START = timedelta(days=7), datetime(2026, 3, 2, tzinfo=UTC)
PERIOD = Window(START, START + 26 * WEEK)


def windows(differences: list[float]) -> list[dict[str, object]]:
    return [
        {
            "start": (START + at * WEEK).isoformat(),
            "end": (START + (at + 1) * WEEK).isoformat(),
            "rows": 1000,
            "difference": value,
            "se": 0.01,
            "checked": True,
        }
        for at, value in enumerate(differences)
    ]


def loss(first: int, end: int | None = None) -> Decline:
    begin = START + first * WEEK
    return Decline(
        monitor="credit",
        champion_version="3",
        alarm=Window(begin, begin + WEEK),
        start=begin,
        start_low=begin,
        start_high=begin + WEEK,
        end=None if end is None else START + end * WEEK,
    )


def test_twelve_good_weeks_are_not_averaged_with_fourteen_broken_ones() -> None:
    rng = np.random.default_rng(4)
    values = np.r_[np.full(12, 0.014), np.full(14, 0.055)] + 0.01 * rng.standard_normal(26)
    found = difference_by_episode(windows(values.tolist()), PERIOD, [loss(12)])
    assert [(each["part"], each["windows"]) for each in found] == [("before", 12), ("in", 14)]
    assert found[0]["difference"] == pytest.approx(values[:12].mean())
    assert found[1]["high"] - found[1]["low"] == pytest.approx(2 * 1.96 * 0.01 / np.sqrt(14))
    told = summary(replace(review(), tables=review().tables | {"episodes": found}))[0]
    assert told.startswith("The period contains a loss of the champion: the difference is +0.01")
    assert "before it (12 windows) and +0.05" in told


def test_after_the_loss_and_windows_without_a_difference() -> None:
    rows = windows([0.01] * 26)
    rows[3] |= {"difference": None, "se": None, "checked": False}
    found = difference_by_episode(rows, PERIOD, [loss(2, 4), loss(8, 20)])
    assert [(each["part"], each["windows"]) for each in found] == [("before", 7), ("in", 12), ("after", 6)]


def test_windows_count_by_their_rows_as_in_the_average_of_the_period() -> None:
    rows = windows([0.01, 0.05, -0.01, 0.03])
    for row, n in zip(rows, (100, 300, 500, 700), strict=True):
        row["rows"] = n
    before, within = difference_by_episode(rows, PERIOD, [loss(2)])
    assert before["difference"] == pytest.approx((100 * 0.01 + 300 * 0.05) / 400)
    assert within["difference"] == pytest.approx((-500 * 0.01 + 700 * 0.03) / 1200)
    assert before["high"] - before["low"] == pytest.approx(2 * 1.96 * 0.01 * np.hypot(100, 300) / 400)


def test_a_loss_outside_of_the_period_is_none() -> None:
    assert difference_by_episode(windows([0.01] * 26), PERIOD, [loss(-9, -2), loss(26)]) == []
    assert difference_by_episode(windows([0.01] * 26), PERIOD, []) == []


@pytest.mark.parametrize(
    ("before", "within", "said"),
    [
        (0.0, 0.05, "challenger better, but only during a loss of the champion"),
        (0.03, 0.05, "challenger better"),
    ],
)
def test_a_challenger_that_is_better_only_during_a_loss_is_said_to_be(before, within, said) -> None:
    rng = np.random.default_rng(6)
    values = np.r_[np.full(12, before), np.full(14, within)] + 0.01 * rng.standard_normal(26)
    found = difference_by_episode(windows(values.tolist()), PERIOD, [loss(12)])
    shown = review()
    better = replace(shown, decision=Decision.CHALLENGER, tables=shown.tables | {"episodes": found})
    assert decision(better) == said
    assert decision(replace(better, decision=Decision.TRADE_OFF)) == "trade-off"
