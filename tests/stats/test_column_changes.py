"""Columns that explain a change: what lost is found, what did not is not; refusals."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from caveats import codes

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import group_changes, group_changes_by_column
from rocmonitor.wording.caveats import words_of


def drawn(rng, n, *, columns=6, lower=0.0, lower_there=0.0):
    """Irrelevant columns but for the first, where positives of group 2 may score lower."""
    table = {f"c{k}": rng.normal(size=n) if k % 2 else rng.integers(0, 4, n) for k in range(columns)}
    y = (rng.random(n) < 0.3).astype(int)
    score = rng.normal(y * (1.2 - lower - lower_there * (table["c0"] == 2)))
    return y, score, table


def test_the_group_that_lost_is_found_and_no_other_column():
    rng = np.random.default_rng(1)
    old, new = drawn(rng, 4_000), drawn(rng, 4_000, lower_there=1.0)
    ours = group_changes_by_column(old, new)
    assert (ours.columns[0], ours.groups[0], ours.kinds[0]) == ("c0", 2, "ranking")
    assert ours.effect[0] < 0
    assert 0 in ours.found()
    assert {ours.columns[at] for at in ours.found()} == {"c0"}
    assert str(ours).startswith(f"AUROC {ours.change:+.4f} (standard error")
    assert "c0 = 2, ranking" in str(ours)


def test_lines_are_those_of_each_column_and_adjusted_together():
    rng = np.random.default_rng(2)
    old, new = drawn(rng, 500, columns=3), drawn(rng, 400, columns=3, lower_there=1.0)
    ours = group_changes_by_column(old, new, bins=4)
    for name in old[2]:
        alone = group_changes((*old[:2], old[2][name]), (*new[:2], new[2][name]), bins=4)
        for kind, part, effect, se in (
            ("mix", alone.mix_parts, alone.mix_parts, alone.mix_se),
            ("ranking", alone.ranking_parts, alone.excess, alone.excess_se),
        ):
            lines = {
                ours.groups[at]: at
                for at in range(len(ours.part))
                if (ours.columns[at], ours.kinds[at]) == (name, kind)
            }
            at = [lines[group] for group in alone.groups]
            np.testing.assert_array_equal(ours.part[at], part)
            np.testing.assert_array_equal(ours.effect[at], effect)
            np.testing.assert_array_equal(ours.se[at], se)
    assert (np.diff(ours.pvalue) >= 0).all()
    place = np.arange(1, len(ours.pvalue) + 1)
    rates = [np.min(ours.pvalue[at - 1 :] * len(place) / place[at - 1 :]) for at in place]  # [BH95]
    np.testing.assert_allclose(ours.adjusted_pvalue, rates, rtol=1e-12)
    assert (ours.change, ours.change_se) == pytest.approx((alone.change, alone.change_se), abs=1e-12)


def test_a_group_that_ranks_as_all_others_do_has_no_excess():
    rng = np.random.default_rng(3)
    pulls = []
    for _ in range(60):
        (y0, s0, t0), (y1, s1, t1) = drawn(rng, 900), drawn(rng, 700, lower=0.6)
        ours = group_changes((y0, s0, t0["c0"]), (y1, s1, t1["c0"]))
        assert (ours.ranking_parts < 0).all()
        pulls.append(ours.excess / ours.excess_se)
    # 240 pulls, of which each run has three independent ones.
    assert 0.5 < np.mean(np.square(pulls)) < 1.6


@pytest.mark.slow
@pytest.mark.parametrize("lower", [0.0, 0.5])
def test_irrelevant_columns_are_seldom_found(lower):
    """At most 5 % of runs have a finding; 120 runs: more than 15 come with a chance of 1e-4."""
    rng = np.random.default_rng(4)
    found = 0
    for _ in range(120):
        ours = group_changes_by_column(drawn(rng, 800, columns=30), drawn(rng, 600, columns=30, lower=lower))
        found += bool(ours.found())
    assert found <= 15


def test_nothing_found_is_said():
    rng = np.random.default_rng(5)
    ours = group_changes_by_column(drawn(rng, 600), drawn(rng, 600))
    assert ours.found() == []
    assert "no column explains it" in str(ours)
    json.dumps(ours.to_dict(), allow_nan=False)
    frame = ours.to_frame()
    assert list(frame)[:3] == ["column", "group", "kind"]
    assert len(frame) == len(ours.part) == 2 * (3 * 4 + 3 * 10)


def test_a_column_of_one_group_is_never_found():
    rng = np.random.default_rng(6)
    y, s, _ = drawn(rng, 400)
    ours = group_changes_by_column((y, s, {"a": ["x"] * 400}), (y, -s, {"a": ["x"] * 400}))
    assert ours.found() == []
    assert ours.adjusted_pvalue.tolist() == [1.0, 1.0]


def test_columns_that_cannot_be_used_are_left_out_with_a_reason():
    rng = np.random.default_rng(7)
    y, s, table = drawn(rng, 100, columns=1)
    table |= {
        "id": [f"customer {k}" for k in range(100)],
        "score": s,
        "outcome": y,
        "day": np.arange(100).astype("M8[D]"),
        "empty": [None] * 100,
        "short": [1, 2],
    }
    ours = group_changes_by_column((y, s, table), (y, s, table))
    assert set(ours.columns) == {"c0"}
    assert codes(ours) == ["column-left-out"] * 6
    assert [each.values["column"] for each in ours.caveats] == [
        "id",
        "score",
        "outcome",
        "day",
        "empty",
        "short",
    ]
    assert words_of(ours.caveats[0]).startswith("id is left out: id looks like an id")
    assert "short has 2 rows, and y_true 100" in words_of(ours.caveats[-1])


def test_a_frame_is_columns_by_name():
    rng = np.random.default_rng(8)
    (y0, s0, t0), (y1, s1, t1) = drawn(rng, 200), drawn(rng, 200)
    frames = group_changes_by_column((y0, s0, pd.DataFrame(t0)), (y1, s1, pd.DataFrame(t1)))
    assert frames.to_dict() == group_changes_by_column((y0, s0, t0), (y1, s1, t1)).to_dict()


Y, S = [0, 1] * 20, list(range(40))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "columns of the reference must map at least one name"),
        ([1, 2], "columns of the reference must map at least one name"),
        ({"b": [1, 2] * 20}, "same names in both samples: a, b is in one only"),
        ({1: [1, 2] * 20}, "texts as names"),
        (
            {"a": [None] * 40},
            "none that can be used: a is missing in all 40 rows of the reference",
        ),
    ],
)
def test_refuses_columns(columns, message):
    with pytest.raises(InputError, match=message):
        group_changes_by_column((Y, S, columns), (Y, S, {"a": [1, 2] * 20}))


def test_refuses_rows():
    good = {"a": [1, 2] * 20}
    with pytest.raises(InputError, match=r"window must be \(y_true, y_score, columns\)"):
        group_changes_by_column((Y, S, good), (Y, S))
    with pytest.raises(DegenerateDataError, match="window: needs at least 1 of each class"):
        group_changes_by_column((Y, S, good), ([1] * 40, S, good))
    with pytest.raises(InputError, match="confidence_level"):
        group_changes_by_column((Y, S, good), (Y, S, good)).found(2)
