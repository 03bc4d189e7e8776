"""Rows on which two models are compared, drawn from a window with too many of them."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from scored import NOON, WEEK, Row, cells, fill, monitor, opened, pull
from sqlalchemy import Boolean, Numeric, String

from rocmonitor.caveat import Caveat
from rocmonitor.sources import Batch
from rocmonitor.stats import compare_auc_paired
from rocmonitor.wording.caveats import words_of

COLUMNS = {"time": "scored_at", "champion": "p1", "challenger": "p2", "label": "defaulted"}
WITH_ID = COLUMNS | {"id": "loan_id"}
LOOSE = "SELECT * FROM scored WHERE :start < :end"


def watched(**changes: Any) -> Any:
    return monitor(**{"columns": COLUMNS, "segments": []} | changes)


def condensed(**changes: Any) -> Any:
    return watched(**{"grouped": "condensed", "condense": {"per_unit": 30}} | changes)


def scored(n: int = 900, seed: int = 1) -> list[Row]:
    """Rows of which some lack a label, a score of either model, or both, and some are alike."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.25
    common = rng.normal(size=n) + 1.5 * y - 1.5
    p, q = (np.round(1 / (1 + np.exp(-common - 0.4 * rng.normal(size=n))), 2) for _ in range(2))
    return [
        (
            k,
            NOON if k % 41 else WEEK.end + timedelta(days=1),
            None if k % 29 == 0 else float(p[k]),
            None if k % 23 == 0 else float(q[k]),
            None if k % 17 == 0 else int(y[k]),
            ("north", "South", "south", None)[k % 4],
        )
        for k in range(n)
    ]


def said(batch: Batch, segment: str = "") -> list[dict[str, Any]]:
    found = batch.segments[segment].caveats
    return [dict(each.values) for each in found if each.code == "rows-drawn"]


def number(batch: Batch, segment: str = "") -> int:
    pair = batch.segments[segment].pair
    assert pair is not None
    return int(pair.n_pos + pair.n_neg)


@pytest.mark.parametrize("grid", [{"per_unit": 30}, {"scale": "linear", "per_unit": 40}, {"per_unit": 2000}])
def test_beside_cells_of_the_champion_the_rows_of_both_are_read(any_database_url: str, grid: Any) -> None:
    fill(any_database_url, scored())
    settings = {"segments": ["region"], "query": LOOSE, "condense": grid}
    exact, found = (
        pull(any_database_url, watched(grouped=mode, **settings)) for mode in ("raw", "condensed")
    )
    assert (found.condensed, found.cells) == (True, None)
    assert list(found.segments) == list(exact.segments)
    for name, rows in exact.segments.items():
        assert found.segments[name].counts == rows.counts
        assert found.segments[name].challenger_only == rows.challenger_only
        assert found.segments[name].caveats == rows.caveats
        assert cells(found.segments[name].pair) == cells(rows.pair)
    assert exact.segments[""].counts.outside
    assert exact.segments[""].counts.no_challenger
    assert exact.segments[""].challenger_only


def test_of_too_many_rows_the_same_ones_are_drawn_each_time(any_database_url: str) -> None:
    fill(any_database_url, scored())
    settings = {"segments": ["region"], "query": LOOSE, "condense": {"per_unit": 5}}
    exact = pull(any_database_url, condensed(**settings))
    one = pull(any_database_url, condensed(**settings), max_rows=300)
    fill(any_database_url, reversed(scored()))
    other = pull(any_database_url, condensed(**settings), max_rows=300)
    assert one.digest == other.digest != exact.digest
    assert number(one) == 300
    for name, rows in one.segments.items():
        assert said(one, name) == [{"drawn": 300, "rows": number(exact)}]
        assert rows.counts == exact.segments[name].counts
        np.testing.assert_array_equal(rows.champion.score, exact.segments[name].champion.score)
        assert cells(rows.pair) == cells(other.segments[name].pair)
        known = {each[:2]: each[2:] for each in cells(exact.segments[name].pair)}
        for *scores, pos, neg in cells(rows.pair):
            assert pos <= known[tuple(scores)][0]
            assert neg <= known[tuple(scores)][1]
    assert sum(number(one, name) for name in one.segments if name) == 300
    renamed = pull(any_database_url, condensed(**settings, name="other"), max_rows=300)
    assert cells(renamed.segments[""].pair) != cells(one.segments[""].pair)


@pytest.mark.parametrize("mode", ["raw", "database", "auto", "condensed"])
def test_a_review_draws_the_same_rows(any_database_url: str, mode: str) -> None:
    fill(any_database_url, scored())
    few = {"condense": {"per_unit": 5}}
    drawn = pull(any_database_url, condensed(**few), max_rows=250)
    found = pull(any_database_url, watched(grouped=mode, **few).by_rows, max_rows=250)
    assert not found.condensed
    assert not found.segments[""].counts.truncated
    assert cells(found.segments[""].pair) == cells(drawn.segments[""].pair)
    assert said(found) == said(drawn) == [{"drawn": 250, "rows": number(pull(any_database_url, watched()))}]


def test_no_row_is_more_likely_to_be_drawn_than_another(sqlite_url: str) -> None:
    """Nor do equal rows come together: of 30 a third is drawn, give or take what is chance."""
    alike: list[Row] = [(k, NOON, 0.5, 0.5, 0, "a") for k in range(30)]
    others: list[Row] = [(k, NOON, k / 200, 1 - k / 200, int(k % 3 == 0), "a") for k in range(30, 90)]
    fill(sqlite_url, alike + others)
    draws, of_alike, seen = 200, list[int](), Counter[Any]()
    with opened(sqlite_url, max_rows=30) as source:
        for seed in range(draws):
            drawn = cells(source.pull(watched(name=f"m{seed}").by_rows, WEEK).segments[""].pair)
            rows = {each[:2]: each[2] + each[3] for each in drawn}
            of_alike.append(rows.pop((0.5, 0.5), 0))
            seen.update(rows)
    # Hypergeometric: a mean of 10 and a variance of 30 * (1 / 3) * (2 / 3) * 60 / 89.
    assert np.mean(of_alike) == pytest.approx(10, abs=4 * np.sqrt(4.5 / draws))
    assert np.var(of_alike) == pytest.approx(4.5, rel=0.4)
    times = np.array(list(seen.values()))
    assert len(times) == 60
    chi = float(np.sum((times - draws / 3) ** 2) / (draws / 3 * 2 / 3))
    assert chi == pytest.approx(60, abs=4 * np.sqrt(2 * 60))


def test_the_difference_is_that_of_all_rows_within_its_error(sqlite_url: str) -> None:
    fill(sqlite_url, scored(4_000))
    coarse = condensed(condense={"per_unit": 5})
    exact, drawn = (pull(sqlite_url, coarse, max_rows=rows).segments[""].pair for rows in (9_000, 1_500))
    assert exact is not None
    assert drawn is not None
    whole, part = compare_auc_paired(exact), compare_auc_paired(drawn)
    assert abs(part.difference - whole.difference) < 3 * part.se
    assert part.se == pytest.approx(whole.se * np.sqrt((exact.n_pos + exact.n_neg) / 1_500), rel=0.15)


@pytest.mark.parametrize("mode", ["raw", "auto"])
def test_rows_that_share_an_id_are_drawn_together(any_database_url: str, mode: str) -> None:
    """Of each id the later row counts; an earlier row that was drawn alone would show its scores."""
    late = NOON + timedelta(hours=1)
    rows: list[Row] = [(k, NOON, 0.1, 0.1, 0, "a") for k in range(200)]
    rows += [(k, late, 0.5 + k / 1000, 0.6, k % 2, "a") for k in range(200)]
    rows += [(None, NOON, 0.9, 0.9, 1, "a")] * 100
    fill(any_database_url, rows)
    review = watched(columns=WITH_ID, grouped=mode).by_rows
    found, again = (pull(any_database_url, review, max_rows=140) for _ in range(2))
    assert said(found) == [{"drawn": 140, "rows": 500}]
    assert found.digest == again.digest
    counts, drawn = found.segments[""].counts, cells(found.segments[""].pair)
    assert counts.rows == 140
    assert counts.duplicates >= 40
    assert sum(each[3] for each in drawn if each[0] == 0.1) <= 1  # at the end of the draw
    assert 10 < sum(each[2] for each in drawn if each[0] == 0.9) < 50


def test_labels_that_came_later_are_not_drawn(any_database_url: str) -> None:
    fill(any_database_url, scored())
    own = condensed(columns=COLUMNS | {"labelled_at": "scored_at"}, query=LOOSE, condense={"per_unit": 5})
    as_of, ages = WEEK.end + timedelta(days=9), [timedelta(days=1)]
    with opened(any_database_url, max_rows=900) as source:
        exact = source.pull(own.by_rows, WEEK, as_of=as_of, ages=ages)
        whole = source.pull(own, WEEK, as_of=as_of, ages=ages)
    with opened(any_database_url, max_rows=200) as source:
        part = source.pull(own, WEEK, as_of=as_of, ages=ages)
        early = source.pull(own, WEEK, as_of=NOON - timedelta(hours=1))
    assert cells(whole.segments[""].pair) == cells(exact.segments[""].pair)
    assert (number(part), number(early)) == (200, 0)
    for one, other in zip(exact.segments[""].by_age, part.segments[""].by_age, strict=True):
        assert (one.n_pos, one.n_neg) == (other.n_pos, other.n_neg)


def test_low_scores_are_the_positive_ones_of_both(any_database_url: str) -> None:
    fill(any_database_url, scored())
    lower = {"positive": {"label": 1, "scores": "lower"}}
    exact, found = pull(any_database_url, watched(**lower)), pull(any_database_url, condensed(**lower))
    assert found.segments[""].counts == exact.segments[""].counts
    assert cells(found.segments[""].pair) == cells(exact.segments[""].pair)


@pytest.mark.parametrize("kind", [Numeric(12, 3), String(10)])
@pytest.mark.parametrize("column", ["p1", "p2"])
def test_other_types_of_columns(any_database_url: str, kind: Any, column: str) -> None:
    scores = [0.25, 0.5, 0.125, 0.5, 0.75, 0.3]
    given = list(map(Decimal if isinstance(kind, Numeric) else str, map(str, scores)))
    rows: list[Row] = [
        (k, NOON, *((given[k], scores[-k]) if column == "p1" else (scores[k], given[-k])), k % 2, "north")
        for k in range(6)
    ]
    fill(any_database_url, rows, **{column: kind})
    exact, found = pull(any_database_url, watched(grouped="raw")), pull(any_database_url, condensed())
    assert found.segments[""].counts == exact.segments[""].counts
    assert cells(found.segments[""].pair) == cells(exact.segments[""].pair)
    assert number(pull(any_database_url, watched(grouped="raw").by_rows, max_rows=4)) == 4


@pytest.mark.parametrize(("kind", "labels"), [(Boolean, [False, True]), (String(5), ["no", "yes"])])
def test_labels_of_other_types(any_database_url: str, kind: Any, labels: list[Any]) -> None:
    rows = [(*row[:4], None if row[4] is None else labels[row[4]], row[5]) for row in scored(300)]
    fill(any_database_url, rows, defaulted=kind)
    own = {"positive": {"label": labels[1], "negative": labels[0]}, "condense": {"per_unit": 5}}
    exact, found = pull(any_database_url, watched(**own)), pull(any_database_url, condensed(**own))
    assert cells(found.segments[""].pair) == cells(exact.segments[""].pair)
    assert number(pull(any_database_url, condensed(**own), max_rows=90)) == 90


def test_infinite_scores_that_are_refused_are_no_scores_of_the_challenger(sqlite_url: str) -> None:
    rows = [(k, NOON, k / 10, (float("inf"), k / 10)[k % 2], int(k % 3 == 0), "a") for k in range(10)]
    fill(sqlite_url, rows)
    for infinite in ("rank", "refuse"):
        exact, found = (
            pull(sqlite_url, watched(grouped=mode, infinite_scores=infinite)).segments[""]
            for mode in ("raw", "condensed")
        )
        assert found.counts == exact.counts
        assert cells(found.pair) == cells(exact.pair)


def test_a_window_without_rows(any_database_url: str) -> None:
    fill(any_database_url, scored(3)[:1])
    assert number(pull(any_database_url, condensed())) == 0


def test_auto_condenses_two_models_where_rows_are_too_many(any_database_url: str) -> None:
    fill(any_database_url, scored())
    batch = pull(any_database_url, condensed(grouped="auto", condense={"per_unit": 5}), max_rows=600)
    assert batch.condensed
    assert batch.cells is None  # the store keeps none
    assert number(batch) == 600


def test_rows_are_drawn_only_where_models_are_compared(sqlite_url: str) -> None:
    fill(sqlite_url, scored())
    with opened(sqlite_url, max_rows=300) as source:
        found = source.pull(condensed(condense={"per_unit": 5}), WEEK, compared=False)
    assert found.segments[""].pair is None
    assert said(found) == []


def test_ids_with_a_challenger_need_rows() -> None:
    with pytest.raises(ValueError, match=r"columns.id with columns.challenger needs the rows"):
        watched(columns=WITH_ID, grouped="condensed")
    assert not watched(columns=WITH_ID).may_condense
    assert condensed().may_condense
    assert not condensed().by_rows.may_condense
    assert condensed().by_rows.draws_rows
    assert not condensed().draws_rows


def test_the_caveat_says_how_many_of_how_many() -> None:
    assert "on 1,000 of 5,000 rows, drawn at random" in words_of(
        Caveat("rows-drawn", drawn=1_000, rows=5_000)
    )
