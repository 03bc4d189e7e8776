from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scored import cells, monitor

from rocmonitor.sources.batch import Batch, to_batch
from rocmonitor.sources.chunk import Chunk
from rocmonitor.sources.values import Encoder, encoded, identities

Row = tuple[Any, ...]

WATCHED = monitor()
scores = st.sampled_from([None, -0.5, 0.0, 0.25, 0.5])
rows = st.lists(
    st.tuples(
        st.sampled_from([None, 1, 2, 3, "a", "b"]),  # id
        st.integers(0, 2),  # time
        st.booleans(),  # inside
        scores,
        scores,
        st.sampled_from([None, 0, 1, 2]),
        st.sampled_from([None, "n", "s"]),
        st.integers(0, 1),  # when the label became known
    ),
    min_size=1,
    max_size=12,
)


def chunk(
    encoder: Encoder, given: list[Row], weight: list[int] | None = None, *, dated: bool = True
) -> Chunk:
    ids, times, inside, champion, challenger, labels, regions, known = zip(*given, strict=True)
    has_id, words = identities(ids)
    return Chunk(
        inside=np.array(inside),
        champion=encoder.scores(champion),
        challenger=encoder.scores(challenger),
        label=encoded(labels, encoder.label, np.int8),
        segments=(encoded(regions, lambda value: encoder.segment(0, value), np.uint8),),
        weight=None if weight is None else np.array(weight),
        time=np.array(times),
        known=np.array(known) if dated else None,
        has_id=has_id,
        id=words,
    )


def batch(*parts: list[Row], dated: bool = True) -> Batch:
    encoder = Encoder(WATCHED)
    chunks = [chunk(encoder, part, dated=dated) for part in parts]
    return to_batch(chunks, encoder, WATCHED, grouped=False, truncated=False)


def labels_of(kept: Row, given: list[Row], *, at: str) -> set[int]:
    """The labels of the id of a row that is kept: at its time, or of those also those that are as late."""
    return {
        row[5]
        for row in given
        if row[2] and row[:2] == kept[:2] and type(row[0]) is type(kept[0]) and row[5] in (0, 1)
        if at == "time" or row[7] == kept[7]
    }


def place(row: Row, kept: Row | None, given: list[Row], at: str = "known") -> str:
    """The first that applies, as `Counts` has it."""
    if not row[2]:
        return "outside"
    if kept is not None and row is not kept:
        return "duplicates"
    if kept is not None and row[5] is not None and len(labels_of(row, given, at=at)) == 2:
        return "two_labels"
    if row[3] is None:
        return "bad_score"
    if row[5] is None:
        return "unlabelled"
    return {0: "n_neg", 1: "n_pos"}.get(row[5], "bad_label")


def best(row: Row) -> Row:
    lowest = float("-inf")
    label = -2 if row[5] is None else row[5] if row[5] in (0, 1) else -1
    region = "(none)" if row[6] is None else row[6]
    return (
        row[1],
        row[5] is not None,
        row[7],
        label,
        *(lowest if score is None else score for score in row[3:5]),
        region,
    )


def expected(given: list[Row]) -> tuple[dict[str, Counter[str]], list[Row]]:
    kept: dict[Any, Row] = {}
    for row in given:
        key = (type(row[0]), row[0])
        if row[2] and row[0] is not None and (key not in kept or best(row) > best(kept[key])):
            kept[key] = row
    counts: dict[str, Counter[str]] = {"": Counter()}
    pairs: Counter[Row] = Counter()
    for row in given:
        where = place(row, kept.get((type(row[0]), row[0])), given)
        for name in ("", f"region={'(none)' if row[6] is None else row[6]}"):
            counts.setdefault(name, Counter())[where] += 1
            counts[name]["challenger_only"] += (
                where == "bad_score" and row[4] is not None and row[5] in (0, 1)
            )
        if where in ("n_pos", "n_neg") and row[4] is not None:
            pairs[row[3], row[4], row[5]] += 1
    scored = sorted({key[:2] for key in pairs})
    return counts, [(*key, pairs[*key, 1], pairs[*key, 0]) for key in scored]


def where_unlabelled(given: list[Row]) -> list[str]:
    return ["", *{f"region={'(none)' if row[6] is None else row[6]}" for row in given}]


def awaiting(given: list[Row], segment: str, scores: list[int]) -> list[Row]:
    """Scores of the rows that wait for a label, with their number."""
    kept: dict[Any, Row] = {}
    for row in given:
        key = (type(row[0]), row[0])
        if row[2] and row[0] is not None and (key not in kept or best(row) > best(kept[key])):
            kept[key] = row
    found: Counter[Row] = Counter()
    for row in given:
        where = place(row, kept.get((type(row[0]), row[0])), given)
        inside = segment in ("", f"region={'(none)' if row[6] is None else row[6]}")
        if where == "unlabelled" and inside and all(row[at] is not None for at in scores):
            found[tuple(row[at] for at in scores)] += 1
    return sorted((*key, count) for key, count in found.items())


@given(rows)
def test_rows_go_where_the_rules_say(given: list[Row]) -> None:
    given = [tuple(row) for row in given]
    found = batch(given)
    counts, pairs = expected(given)
    assert set(found.segments) == set(counts)
    for name, where in counts.items():
        told = found.segments[name].counts
        plain = {key: count for key, count in where.items() if key != "challenger_only"}
        assert {key: getattr(told, key) for key in plain} == plain
        assert told.rows == sum(plain.values())
        assert told.rows == (
            sum(getattr(told, name) for name in ("unlabelled", "bad_score", "bad_label", "duplicates"))
            + sum(getattr(told, name) for name in ("used", "two_labels", "outside"))
        )
    assert cells(found.segments[""].pair) == pairs
    for name in where_unlabelled(given):
        rows = found.segments[name]
        assert list(zip(*map(np.ndarray.tolist, rows.unlabelled), strict=True)) == awaiting(given, name, [3])
        assert rows.unlabelled.rows == rows.counts.unlabelled
        both: Counter[Row] = Counter()
        for *scores, count in zip(*map(np.ndarray.tolist, rows.unlabelled_pair or ()), strict=True):
            both[tuple(scores)] += count
        assert sorted((*key, count) for key, count in both.items()) == awaiting(given, name, [4, 3])
    assert {name: found.segments[name].challenger_only for name in counts} == {
        name: where["challenger_only"] for name, where in counts.items()
    }


@given(rows, st.randoms(use_true_random=False), st.integers(1, 11))
def test_order_chunks_and_grouping_change_nothing(given: list[Row], random: Any, cut: int) -> None:
    whole = batch(given)
    shuffled = random.sample(given, len(given))
    parts = [part for part in (shuffled[:cut], shuffled[cut:]) if part]
    assert batch(*parts).digest == whole.digest
    encoder = Encoder(WATCHED)
    groups = Counter(shuffled)
    grouped = chunk(encoder, list(groups), list(groups.values()))
    counted = to_batch([grouped], encoder, WATCHED, grouped=True, truncated=False)
    assert counted.digest == whole.digest
    for name, rows in whole.segments.items():
        assert counted.segments[name].challenger_only == rows.challenger_only


@given(rows, st.data())
def test_the_digest_sees_a_used_row(given: list[Row], data: st.DataObject) -> None:
    row = (None, 0, True, 0.25, 0.5, 1, "n", 0)
    changed = data.draw(
        st.sampled_from(
            [
                (*row[:3], 0.5, *row[4:]),
                (*row[:4], 0.25, *row[5:]),
                (*row[:5], 0, *row[6:]),
                (*row[:6], "s", 0),
            ]
        )
    )
    assert batch([*given, row]).digest != batch([*given, changed]).digest


def test_the_pair_has_the_challenger_first_and_the_digest_is_unchanged() -> None:
    """The expected digests were computed when pairs had the champion first; stored digests rely on them."""
    given: list[Row] = [
        (
            n,
            n % 3,
            True,
            [0.25, -0.5, 0.5, 0.0][n % 4],
            [0.5, 0.25, None][n % 3],
            [1, 0, 0, None, 2][n % 5],
            "n",
            0,
        )
        for n in range(40)
    ]
    found = batch(given)
    rows = found.segments[""]
    assert rows.pair is not None
    assert set(rows.pair.first.score) == {0.25, 0.5}
    assert set(rows.pair.second.score) == {0.25, -0.5, 0.5, 0.0}
    assert found.digest == "f94be2811fca180d064aebfae4ddbc126b39c9613b6f4226214da392322d0d85"
    lower = monitor(positive={"label": 1, "scores": "lower"})
    encoder = Encoder(lower)
    negated = to_batch([chunk(encoder, given)], encoder, lower, grouped=False, truncated=False)
    assert negated.digest == "d7c0647e6364d34984966421f33b4fff3957c7bac66282ce1c37816f55520c8b"
    np.testing.assert_array_equal(negated.segments[""].champion.score, -rows.champion.score[::-1] + 0.0)


def test_an_id_with_two_labels_counts_by_the_later_one_or_not_at_all() -> None:
    """In every order: nothing is positive only because it says so somewhere."""
    row: Row = (1, 0, True, 0.25, 0.5, 1, "n", 0)
    other = (2, 0, True, 0.5, 0.5, 1, "n", 0)
    for label in (0, 1):
        first, later = (*row[:5], 1 - label, "n", 0), (*row[:5], label, "n", 1)
        for order in ([first, later, other], [later, other, first]):
            counts = batch(order).segments[""].counts
            assert (counts.n_pos, counts.n_neg, counts.duplicates) == (1 + label, 1 - label, 1)
            rows = batch(order, dated=False).segments[""]
            assert (rows.counts.n_pos, rows.counts.n_neg, rows.counts.two_labels) == (1, 0, 1)
            [caveat] = [each for each in rows.caveats if each.code == "ids-with-two-labels"]
            assert (caveat.values["count"], caveat.values["set_aside"]) == (1, 1)
    unlabelled = (*row[:5], None, "n", 1)  # known later, and none: it is no label
    assert batch([row, unlabelled]).segments[""].counts.n_pos == 1
