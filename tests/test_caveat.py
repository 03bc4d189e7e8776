"""Caveats: codes with values that survive storing, copying, and versions that do not know them."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

from rocmonitor.caveat import Caveat
from rocmonitor.wording.caveats import words_of

NESTED = Caveat(
    "one-score", rows=np.int64(9), score=np.float64(0.5), at=(1.0, [np.float64(2.0)]), more={"a": (1,)}
)


def test_values_are_plain_whatever_was_given() -> None:
    assert NESTED.values == {"rows": 9, "score": 0.5, "at": [1.0, [2.0]], "more": {"a": [1]}}
    stored = NESTED.concerning("band").concerning("review").to_dict()
    assert Caveat.from_dict(json.loads(json.dumps(stored))) == NESTED.concerning("band").concerning("review")
    stored["values"]["at"].append(3)
    assert NESTED.values["at"] == [1.0, [2.0]]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_are_equal(again) -> None:
    assert again(NESTED) == NESTED
    assert hash(again(NESTED)) == hash(NESTED)


def test_equal_caveats_hash_alike() -> None:
    one, other = Caveat("one-score", rows=1, score=0.0), Caveat("one-score", score=-0.0, rows=1.0)
    assert one == other
    assert len({one, other}) == 1
    assert one != Caveat("one-score", rows=2, score=0.0)
    assert one != one.concerning("band")


def test_a_caveat_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="cannot be changed"):
        NESTED.code = "other"  # type: ignore[misc]


def test_what_a_newer_version_stored_is_shown_as_it_is() -> None:
    newer = Caveat.from_dict({"code": "of-tomorrow", "values": {"rows": 9}, "about": ["band"]})
    assert words_of(newer) == "band: of-tomorrow (rows 9)"
    assert str(NESTED.bare()).startswith("one-score (rows 9, score 0.5, at ")
    fewer = Caveat.from_dict({"code": "one-score", "values": {}})
    assert words_of(fewer) == "one-score"


def test_signs_of_formats_in_values_are_shown_as_they_are() -> None:
    assert words_of(Caveat("error", text="no column {x!r} in {0}\n{")) == "no column {x!r} in {0}\n{"
