"""Two models read as cells: the rows of the raw path, and statistics within their guaranteed errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from scored import NOON, WEEK, Row, fill, monitor, opened, pull
from sqlalchemy import Boolean, Numeric, String, text

from rocmonitor.errors import ConfigError, SourceError
from rocmonitor.sources import Rows, pairing
from rocmonitor.stats import (
    CondensedPair,
    PairedSample,
    compare_auc_condensed,
    compare_auc_paired,
    condensed_dominance,
    condensed_error,
    condensed_pair,
    threshold_dominance,
)
from rocmonitor.stats.paired_cells import JointCells

COLUMNS = {"time": "scored_at", "champion": "p1", "challenger": "p2", "label": "defaulted"}
THRESHOLDS = {"thresholds": [0.3, 0.5]}


def watched(**changes: Any) -> Any:
    plain = {"columns": COLUMNS, "grouped": "condensed", "segments": [], "operating_points": THRESHOLDS}
    return monitor(**plain | changes)


def drawn(n: int = 900, seed: int = 1) -> list[Row]:
    """Rows of which some lack a label, a score of either model, or both."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.25
    common = rng.normal(size=n) + 1.5 * y - 1.5
    p, q = (1 / (1 + np.exp(-common - 0.4 * rng.normal(size=n))) for _ in range(2))
    return [
        (
            k,
            NOON if k % 41 else WEEK.end + timedelta(days=1),
            None if k % 29 == 0 else float(p[k]),
            None if k % 23 == 0 else float(q[k]),
            None if k % 17 == 0 else 7 if k % 37 == 0 else int(y[k]),
            ("north", "South", "south", None)[k % 4],
        )
        for k in range(n)
    ]


def hold(cells: Rows, exact: Rows) -> None:
    """The cells are those of the rows, and every guarantee holds."""
    assert cells.counts == exact.counts
    assert cells.challenger_only == exact.challenger_only
    assert isinstance(cells.pair, CondensedPair)
    assert isinstance(exact.pair, PairedSample)
    assert (cells.pair.n_pos, cells.pair.n_neg) == (exact.pair.n_pos, exact.pair.n_neg)
    for own, of in ((cells.pair.first, exact.pair.first), (cells.pair.second, exact.pair.second)):
        low, high = (own.score, own.score) if own.ends is None else (own.ends.low, own.ends.high)
        at = np.searchsorted(low, of.score, side="right") - 1
        assert (of.score <= high[at]).all()
        np.testing.assert_array_equal(np.bincount(at, of.pos, len(low)), own.pos)
        np.testing.assert_array_equal(np.bincount(at, of.neg, len(low)), own.neg)
    if min(exact.pair.n_pos, exact.pair.n_neg) < 2:
        return
    rows, found = compare_auc_paired(exact.pair), compare_auc_condensed(cells.pair)
    assert found.error is not None
    assert abs(found.difference - rows.difference) <= found.error[0] + 1e-12
    assert abs(found.se - rows.se) <= found.error[1] + 1e-12
    assert found.error[0] == pytest.approx(
        condensed_error(cells.pair.first).auc + condensed_error(cells.pair.second).auc
    )
    at_thresholds = cells.pair.thresholds.tolist()
    law = threshold_dominance(exact.pair, [(each, each) for each in at_thresholds])
    own_law = condensed_dominance(cells.pair, at_thresholds)
    for name in ("first", "second", "both_higher", "both_lower", "tie"):
        np.testing.assert_allclose(getattr(own_law, name), getattr(law, name), atol=1e-12)


def in_order(joint: JointCells) -> list[Any]:
    columns = [getattr(joint, each.name) for each in fields(joint)]
    return [column[np.lexsort(columns)] for column in columns]


@pytest.mark.parametrize("grid", [{"per_unit": 30}, {"scale": "linear", "per_unit": 40}, {"per_unit": 2000}])
def test_cells_of_two_models_hold_the_rows_that_both_scored(any_database_url: str, grid: Any) -> None:
    fill(any_database_url, drawn())
    loose = "SELECT * FROM scored WHERE :start < :end"
    settings = {"segments": ["region"], "query": loose, "condense": grid}
    exact, found = (
        pull(any_database_url, watched(grouped=mode, **settings)) for mode in ("raw", "condensed")
    )
    assert found.condensed
    assert found.grouped
    assert list(found.segments) == list(exact.segments)
    for name, rows in exact.segments.items():
        hold(found.segments[name], rows)
        assert found.segments[name].caveats == rows.caveats
        assert found.segments[name].unlabelled.rows == rows.unlabelled.rows
        assert found.segments[name].unlabelled_pair is None
    assert exact.segments[""].counts.outside
    assert exact.segments[""].counts.no_challenger
    assert exact.segments[""].challenger_only


def test_cells_are_those_that_rows_have(any_database_url: str) -> None:
    """Strips, places and sums of the database are those of Python."""
    fill(any_database_url, drawn())
    settings = {"condense": {"per_unit": 300}}
    exact, found = (
        pull(any_database_url, watched(grouped=mode, **settings)).segments[""].pair
        for mode in ("raw", "condensed")
    )
    by_hand = condensed_pair(exact, grid=watched(**settings).condense.grid, thresholds=[0.3, 0.5])
    for one, other in zip(in_order(found.joint), in_order(by_hand.joint), strict=True):
        np.testing.assert_array_equal(one, other)


def test_low_scores_are_the_positive_ones_of_both(any_database_url: str) -> None:
    fill(any_database_url, drawn())
    lower = {"positive": {"label": 1, "scores": "lower"}, "condense": {"per_unit": 30}}
    exact, found = (
        pull(any_database_url, watched(grouped=mode, **lower)).segments[""] for mode in ("raw", "condensed")
    )
    assert found.pair.thresholds.tolist() == [-0.5, -0.3]
    hold(found, exact)


def test_scores_at_thresholds_and_beyond_all_probabilities(any_database_url: str) -> None:
    scores = [
        0.3,
        0.5,
        0.0,
        1.0,
        -7.31,
        12.5,
        0.29999999999999993,
        0.5000000000000001,
        1e300,
        -1e300,
        0.5,
        0.3,
    ]
    rows: list[Row] = [
        (k, NOON, p, scores[-1 - k // 2], (k * 7 % 5) % 2, "north") for k, p in enumerate(scores)
    ]
    fill(any_database_url, rows)
    for grid in ({"per_unit": 10}, {"scale": "linear", "per_unit": 10}, {"per_unit": 1e6}):
        exact, found = (
            pull(any_database_url, watched(grouped=mode, condense=grid)).segments[""]
            for mode in ("raw", "condensed")
        )
        hold(found, exact)


@pytest.mark.parametrize("kind", [Numeric(12, 3), String(10)])
def test_other_types_of_columns(any_database_url: str, kind: Any) -> None:
    """Decimals are numbers; a column of texts holds no scores, so there is nothing to compare."""
    scores = [0.25, 0.5, 0.125, 0.5, 0.75, 0.3]
    given = list(map(Decimal if isinstance(kind, Numeric) else str, map(str, scores)))
    rows: list[Row] = [(k, NOON, scores[k], given[-k], k % 2, "north") for k in range(6)]
    fill(any_database_url, rows, p2=kind)
    exact, found = (
        pull(any_database_url, watched(grouped=mode)).segments[""] for mode in ("raw", "condensed")
    )
    hold(found, exact)
    rows = [(k, NOON, given[-k], scores[k], k % 2, "north") for k in range(6)]
    fill(any_database_url, rows, p1=kind)
    exact, found = (
        pull(any_database_url, watched(grouped=mode)).segments[""] for mode in ("raw", "condensed")
    )
    hold(found, exact)


@pytest.mark.parametrize(("kind", "labels"), [(Boolean, [False, True]), (String(5), ["no", "yes"])])
def test_labels_of_other_types(any_database_url: str, kind: Any, labels: Sequence[Any]) -> None:
    rows = [(*row[:4], None if row[4] is None else labels[row[4] % 2], row[5]) for row in drawn(300)]
    fill(any_database_url, rows, defaulted=kind)
    positive = {"positive": {"label": labels[1], "negative": labels[0]}, "condense": {"per_unit": 30}}
    exact, found = (
        pull(any_database_url, watched(grouped=mode, **positive)).segments[""]
        for mode in ("raw", "condensed")
    )
    hold(found, exact)


def test_labels_that_came_later_are_left_out(any_database_url: str) -> None:
    fill(any_database_url, [(*row[:2], *row[2:]) for row in drawn(400)])
    columns = COLUMNS | {"labelled_at": "scored_at"}
    loose = "SELECT * FROM scored WHERE :start < :end"
    as_of, ages = WEEK.end + timedelta(days=9), [timedelta(days=1)]
    found = []
    for mode in ("raw", "condensed"):
        with opened(any_database_url) as source:
            own = watched(grouped=mode, columns=columns, condense={"per_unit": 20}, query=loose)
            found.append(source.pull(own, WEEK, as_of=as_of, ages=ages).segments[""])
    hold(found[1], found[0])
    for exact, cells in zip(*(each.by_age for each in found), strict=True):
        assert (exact.n_pos, exact.n_neg) == (cells.n_pos, cells.n_neg)


def test_a_window_without_rows(any_database_url: str) -> None:
    fill(any_database_url, drawn(3)[:1])
    later = replace(WEEK, start=WEEK.end, end=WEEK.end + timedelta(days=7))
    found = pull(any_database_url, watched(query=watched().query), later).segments[""]
    assert isinstance(found.pair, CondensedPair)
    assert found.pair.n_pos == found.pair.n_neg == 0


def test_auto_condenses_two_models_where_rows_are_too_many(any_database_url: str) -> None:
    fill(any_database_url, drawn())
    settings = {"grouped": "auto", "condense": {"per_unit": 20}}
    batch = pull(any_database_url, watched(**settings), max_rows=800)
    assert batch.condensed
    assert batch.cells is None  # the store keeps none
    assert isinstance(batch.segments[""].pair, CondensedPair)
    by_rows = pull(any_database_url, watched(**settings).by_rows, max_rows=800)
    assert not by_rows.condensed
    assert by_rows.segments[""].counts.truncated
    assert not pull(any_database_url, watched().by_rows).condensed


def test_too_many_pairs_of_strips_are_refused(sqlite_url: str) -> None:
    fill(sqlite_url, drawn())
    with pytest.raises(ConfigError, match=r"condense: .*max_rows \(100\) cells with logit, 1638.4 cells"):
        pull(sqlite_url, watched(), max_rows=100)


def test_the_digest_goes_with_the_cells_in_any_order(sqlite_url: str) -> None:
    settings = {"condense": {"per_unit": 30}}
    fill(sqlite_url, drawn())
    one = pull(sqlite_url, watched(**settings)).digest
    fill(sqlite_url, reversed(drawn()))
    assert pull(sqlite_url, watched(**settings)).digest == one
    swapped = [(*row[:3], drawn()[k - 1][3], *row[4:]) for k, row in enumerate(drawn())]
    fill(sqlite_url, swapped)
    assert pull(sqlite_url, watched(**settings)).digest != one


def test_rows_that_change_between_two_statements_are_not_judged(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a source that is no database: here the second statement sees fewer rows."""
    fill(sqlite_url, drawn())
    plain = pairing.challenger_cells

    def fewer(query: Any) -> Any:
        return plain(query).where(text("score < 0.5"))

    monkeypatch.setattr(pairing, "challenger_cells", fewer)
    with pytest.raises(SourceError, match="rows changed while they were read: cells_1 and joint") as caught:
        pull(sqlite_url, watched())
    assert caught.value.transient


def test_ids_with_a_challenger_need_rows() -> None:
    with pytest.raises(ValueError, match=r"columns.id with columns.challenger needs the rows"):
        watched(columns=COLUMNS | {"id": "loan_id"})
    assert not watched(columns=COLUMNS | {"id": "loan_id"}, grouped="auto").may_condense
    assert math.isfinite(watched().condense.max_error)
    assert watched().may_condense
    assert not watched().by_rows.may_condense
