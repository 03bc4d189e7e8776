from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from scored import monitor

from rocmonitor.conventions import group_name, text_of_group
from rocmonitor.sources.values import (
    BAD,
    FARTHEST,
    NEGATIVE,
    POSITIVE,
    UNLABELLED,
    Encoder,
    encoded,
    identities,
    name_of,
)

SPECIAL = [None, "", "(none)", "(empty text)", "x(none)x", "north"]


def test_no_value_of_a_segment_has_the_name_of_another() -> None:
    encoder = Encoder(monitor(segments=["region"]))
    codes = [encoder.segment(0, value) for value in SPECIAL]
    assert codes == list(range(len(SPECIAL)))
    [names] = encoder.sorted_values()
    assert {text_of_group(name) for name in names} == set(SPECIAL)
    assert [text_of_group(group_name(value)) for value in SPECIAL] == SPECIAL


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "(none)"),
        ("", ""),
        (True, "1"),
        (0.0, "0"),
        (0.1, "0.1"),
        (Decimal("1.50"), "1.5"),
        (Decimal("1E+3"), "1000"),
        (b"\xc3\xa1", "á"),
        (b"\xff", "\\xff"),
    ],
)
def test_names(value: object, name: str) -> None:
    assert name_of(value) == name


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (1, POSITIVE),
        (Decimal("1.0"), POSITIVE),
        (False, NEGATIVE),
        (None, UNLABELLED),
        ("1", POSITIVE),
        (" 0.0 ", NEGATIVE),
        ("True", POSITIVE),
        ("no", NEGATIVE),
        ("", UNLABELLED),
        ("  ", UNLABELLED),
        ("2", BAD),
        ("\\N", BAD),
        ("N/A", BAD),
        (float("nan"), BAD),
        ([1], BAD),
    ],
)
def test_labels(value: object, code: int) -> None:
    encoder = Encoder(monitor())
    assert encoded([value, value], encoder.label, np.int8).tolist() == [code, code]
    assert bool(encoder.bad_labels) == (code == BAD)


@pytest.mark.parametrize(("infinite", "read"), [("rank", FARTHEST), ("refuse", np.nan)])
def test_scores_that_are_no_number_are_nan(infinite: str, read: float) -> None:
    encoder = Encoder(monitor(infinite_scores=infinite))
    texts = ["0.5", " 1e-3", "N/A", "0,5", "1_000", "85 %", "", "nan", "Infinity"]
    values = [1, 0.5, Decimal("0.25"), None, float("inf"), *texts, b"1", -0.0]
    expected = [1, 0.5, 0.25, np.nan, read, 0.5, 0.001, *[np.nan] * 6, read, np.nan, 0]
    scores = encoder.scores(values)
    np.testing.assert_array_equal(scores, expected)
    assert not np.signbit(scores[-1])
    assert encoder.text_scores == ("'0,5'", "'1_000'", "'85 %'")


@pytest.mark.parametrize(
    ("positive", "negative", "read"),
    [
        ("yes", "no", {"yes": 1, "no": 0, "Yes": 1, "FALSE": 0, True: 1, 0: 0, "1": 1, "maybe": -1}),
        (True, False, {"t": 1, "f": 0, "Y": 1, 1: 1, 2: -1}),
        ("1", "2", {1: 1, 2.0: 0, "2.0": 0, 0: -1}),
        ("t", "c", {"t": 1, "c": 0, "T": -1, 1: -1}),
        ("bad", "good", {" bad": 1, "good ": 0, "Bad": -1, "": -2}),
        ("A", "a", {"A": 1, "a": 0}),
    ],
)
def test_texts_are_read_as_the_labels_they_mean(positive: Any, negative: Any, read: dict[Any, int]) -> None:
    encoder = Encoder(monitor(positive={"label": positive, "negative": negative}))
    assert {value: encoder.label(value) for value in read} == read


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        ([7, None, 7, -7], [0, None, 0, 1]),
        (["7", "8", "7", None], [0, 1, 0, None]),
        ([2**63, 2**63 + 1, 2**63], [0, 1, 0]),
        ([Decimal("7"), Decimal("7.0"), Decimal("7.5")], [0, 0, 1]),
        ([UUID(int=7), UUID(int=8), UUID(int=7)], [0, 1, 0]),
        ([b"\x07", b"\x08", b"\x07"], [0, 1, 0]),
        (["7", 7, "7", 7, 7.0, None], [0, 1, 0, 1, 1, None]),
        ([float("inf"), 0.5, float("inf"), Decimal("Infinity")], [0, 1, 0, 2]),
        ([Decimal(10**40 + 1), Decimal(10**40), Decimal(10**40 + 1)], [0, 1, 0]),
    ],
)
def test_identities_are_equal_where_the_values_are(values: list[Any], groups: list[int | None]) -> None:
    has_id, words = identities(values)
    assert has_id.tolist() == [group is not None for group in groups]
    for one, first in enumerate(groups):
        for other, second in enumerate(groups):
            if first is not None and second is not None:
                assert (words[one] == words[other]).all() == (first == second)
