"""Hashes of rows that were read: the same ones each time, in every process."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b, md5
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]


def row_hashes(columns: Sequence[Sequence[Any]]) -> Words:
    """64 bits of the values of each row, shape (n,), for columns of n values each."""
    hashes = np.zeros(len(columns[0]), dtype=np.uint64)
    for values in columns:
        hashes = mixed(hashes + _words(values))
    return hashes


def _words(values: Sequence[Any]) -> Words:
    """64 bits of each value; 1 and 1.0 have others, 0.0 and -0.0 the same."""
    if set(map(type, values)) == {float}:
        return (np.array(values) + 0.0).view(np.uint64)
    is_number = np.fromiter((type(value) is float for value in values), np.bool_, len(values))
    others = [value for value in values if type(value) is not float]
    texts = {value: repr(value).encode("utf-8", "surrogatepass") for value in set(others)}
    word_of = {
        value: int.from_bytes(blake2b(text, digest_size=8).digest(), "big") for value, text in texts.items()
    }
    words = np.empty(len(values), dtype=np.uint64)
    words[~is_number] = np.fromiter(map(word_of.__getitem__, others), np.uint64, len(others))
    if len(others) < len(values):
        words[is_number] = _words([value for value in values if type(value) is float])
    return words


def mixed(words: Words) -> Words:
    """SplitMix64 (Steele, Lea and Flood, 2014): each bit depends on all bits of its word."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def hashed_text(text: str) -> str:
    """Return the hexadecimal digits that other databases than SQLite have a function for."""
    return md5(text.encode(), usedforsecurity=False).hexdigest()
