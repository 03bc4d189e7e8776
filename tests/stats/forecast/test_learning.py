"""Limits that learn from what came of earlier windows: the bound holds for every sequence."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmonitor.stats.forecast.learning import Answer, answer, tracked_margin

RIGHT, WRONG, UNDECIDED = Answer


def beyond(shortfalls: list[float], tail: float, step: float) -> int:
    """Windows beyond the limit with the margin that was known before each."""
    return sum(each > tracked_margin(shortfalls[:place], tail, step) for place, each in enumerate(shortfalls))


def test_without_windows_beyond_there_is_no_margin() -> None:
    assert tracked_margin([], 0.05, 0.01) == 0
    assert tracked_margin([-0.1, 0.0, -0.2], 0.05, 0.01) == 0


def test_a_window_beyond_moves_the_limit_to_it_and_one_step_further() -> None:
    assert tracked_margin([0.001], 0.05, 0.01) == pytest.approx(0.011)
    assert tracked_margin([0.2, 0.205], 0.05, 0.01) == pytest.approx(0.21 - 0.0005)
    assert tracked_margin([0.2, -1.0], 0.05, 0.01) == pytest.approx(0.21 - 0.0005)


def test_a_worse_window_that_the_margin_hid_takes_off_a_step() -> None:
    within = pytest.approx(0.21 - 0.0005)
    assert tracked_margin([0.2, 0.1], 0.05, 0.01, [WRONG, RIGHT]) == pytest.approx(0.2)
    assert tracked_margin([0.2, -0.1], 0.05, 0.01, [WRONG, RIGHT]) == within  # not beyond
    assert tracked_margin([0.2, 0.3], 0.05, 0.01, [WRONG, RIGHT]) == pytest.approx(0.21)  # not hidden
    assert tracked_margin([0.3], 0.05, 0.01, [RIGHT]) == 0


def test_an_undecided_window_beyond_the_limit_changes_nothing() -> None:
    for shortfall in (0.1, 0.3):
        assert tracked_margin([0.2, shortfall], 0.05, 0.01, [WRONG, UNDECIDED]) == pytest.approx(0.21)
    assert tracked_margin([0.3], 0.05, 0.01, [UNDECIDED]) == 0


@pytest.mark.parametrize(
    ("foretold", "auc", "half", "found"),
    [
        (0.90, 0.90, 0.02, RIGHT),
        (0.90, 0.85, 0.02, RIGHT),  # more than foretold
        (0.90, 0.93, 0.01, RIGHT),  # nearer to it
        (0.90, 0.93, 0.08, UNDECIDED),
        (0.90, 0.95, 0.01, WRONG),  # nearer to the reference
        (0.90, 0.97, 0.02, WRONG),
        (0.90, 0.99, 0.02, WRONG),
        (0.90, 0.97, 0.08, UNDECIDED),
        (0.97, 0.97, 0.02, WRONG),  # a loss of unknown size
        (0.97, 0.96, 0.02, UNDECIDED),
        (0.99, 0.94, 0.02, RIGHT),
    ],
)
def test_a_warning_was_right_wrong_or_is_undecided(
    foretold: float, auc: float, half: float, found: Answer
) -> None:
    assert answer(foretold, 0.97, auc, (auc - half, auc + half)) is found


@given(*[st.floats(0.0, 1.0)] * 3, st.floats(0.0, 0.3))
def test_the_answer_is_the_definition(foretold: float, reference: float, auc: float, half: float) -> None:
    low, high = auc - half, auc + half
    found = answer(foretold, reference, auc, (low, high))
    if foretold < reference:
        both = low <= foretold <= high and low <= reference <= high
        assert (found is UNDECIDED) == (both or abs(auc - foretold) == abs(auc - reference))
        assert (found is RIGHT) <= (abs(auc - foretold) < abs(auc - reference))
        assert (found is WRONG) <= (abs(auc - foretold) > abs(auc - reference))
    else:
        assert (found is WRONG) == (auc >= reference)
        assert (found is RIGHT) == (auc < reference and high < reference)


def test_three_losses_that_came_as_foretold_leave_the_limit_where_it_was() -> None:
    """The limit 0.9695 fell to 0.9602, and the next two windows, in which the alarm came, were silent."""
    limit, reference = 0.9695, 0.97
    windows = [(0.9621, 0.9634), (0.9611, 0.9609), (0.9606, 0.9616)]
    short = [limit - foretold for foretold, _ in windows]
    for half in (0.001, 0.004, 0.02):
        answers = [
            answer(foretold, reference, came, (came - half, came + half)) for foretold, came in windows
        ]
        assert WRONG not in answers
        assert tracked_margin(short, 0.05, 0.0005, answers) == 0


@given(st.lists(st.tuples(st.floats(-0.5, 0.5), st.sampled_from(Answer)), max_size=40))
def test_with_right_windows_the_hidden_ones_are_added_to_the_bound(
    windows: list[tuple[float, Answer]],
) -> None:
    tail, step = 0.1, 0.02
    margins = [tracked_margin(*_apart(windows[:place], tail, step)) for place in range(len(windows) + 1)]
    wrong = sum(of is WRONG and short > max(margins[at], 0) for at, (short, of) in enumerate(windows))
    hidden = sum(of is RIGHT and 0 < short <= margins[at] for at, (short, of) in enumerate(windows))
    assert wrong <= tail * len(windows) + margins[-1] / step + hidden + 1e-6


def _apart(
    windows: list[tuple[float, Answer]], tail: float, step: float
) -> tuple[list[float], float, float, list[Answer]]:
    return [short for short, _ in windows], tail, step, [of for _, of in windows]


def test_the_share_beyond_is_bounded_for_every_sequence() -> None:
    """All sequences of 5 windows with 5 shortfalls."""
    tail, step = 0.2, 0.02
    for sequence in product([-0.05, 0.0, 0.01, 0.03, 0.2], repeat=5):
        shortfalls, margin = list(sequence), tracked_margin(sequence, tail, step)
        assert beyond(shortfalls, tail, step) <= tail * len(shortfalls) + margin / step + 1e-9
        assert margin <= max(max(sequence), 0.0) + step + 1e-12


@given(st.lists(st.floats(-0.5, 0.5), max_size=60), st.floats(0.01, 0.4), st.floats(1e-3, 0.1))
def test_the_bound_holds_for_any_numbers(shortfalls: list[float], tail: float, step: float) -> None:
    margin = tracked_margin(shortfalls, tail, step)
    assert beyond(shortfalls, tail, step) <= tail * len(shortfalls) + margin / step + 1e-6
    assert 0 <= margin <= max([0.0, *shortfalls]) + step + 1e-9


def test_a_limit_that_is_wrong_by_a_constant_is_wrong_a_few_times_only() -> None:
    rng = np.random.default_rng(1)
    shortfalls = (0.05 + 0.01 * rng.normal(size=300)).tolist()
    assert beyond(shortfalls, 0.05, 0.01) / 300 < 0.05 + 0.07 / 0.01 / 300
    assert beyond(shortfalls, 1e-9, 0.01) < 10


def test_without_a_change_wrong_warnings_keep_to_the_level_in_the_long_run() -> None:
    """The limit is too high by two standard deviations, so at first half of the windows are warned of."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        limit, reference, short, answers, wrong = 0.80, 0.80, [], [], 0
        for _ in range(600):
            foretold, came = 0.80 + 0.005 * rng.normal(), 0.80 + 0.004 * rng.normal()
            margin = tracked_margin(short, 0.05, 0.005, answers)
            short.append(limit - foretold)
            answers.append(answer(foretold, reference, came, (came - 0.008, came + 0.008)))
            wrong += short[-1] > margin and answers[-1] is WRONG
        hidden = answers.count(RIGHT)
        assert wrong <= 0.05 * 600 + tracked_margin(short, 0.05, 0.005, answers) / 0.005 + hidden
        assert wrong / 600 <= 0.05


def test_losses_that_come_as_foretold_go_on_being_warned_of() -> None:
    rng = np.random.default_rng(1)
    limit, reference, short, answers, warned = 0.79, 0.80, [], [], 0
    for _ in range(100):
        foretold = 0.77 + 0.005 * rng.normal()
        came = foretold + 0.006 * rng.normal()
        warned += limit - foretold > tracked_margin(short, 0.05, 0.005, answers)
        short.append(limit - foretold)
        answers.append(answer(foretold, reference, came, (came - 0.012, came + 0.012)))
    assert warned > 90
