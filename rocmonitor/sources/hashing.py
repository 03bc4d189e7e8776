"""Python's hash of many rows at once: numbers that are the same in every process.

Python's own hashes of texts and of None are not: CRC-32 of how a value is written stands for each value that
is no float. The sums are stored, so the formulas must stay those of CPython, `Python/pyhash.c` and
`Objects/tupleobject.c`, which took the second from xxHash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_MODULUS_BITS = 61  # of a Mersenne prime, by which numbers are hashed
_MODULUS = np.uint64((1 << _MODULUS_BITS) - 1)
_MANTISSA_BITS = 53
_PRIMES = tuple(map(np.uint64, (11400714785074694791, 14029467366897019727, 2870177450012600261)))
_ROTATED = np.uint64(31)
_OF_LENGTH = 3527539
_NO_HASH = np.uint64(2**64 - 1)  # -1 is the error of a hash function


def row_hashes(columns: Sequence[Sequence[Any]]) -> NDArray[np.int64]:
    """``hash((a, b, …))`` of each row, with CRC-32 of ``repr`` for values that are no float, shape (n,)."""
    first, second, last = _PRIMES
    found = np.full(len(columns[0]), last)
    for values in columns:
        found += _value_hashes(values) * second
        found = _rotated(found, _ROTATED, np.uint64(64)) * first
    found += np.uint64(len(columns) ^ (int(last) ^ _OF_LENGTH))
    found[found == _NO_HASH] = np.uint64(1546275796)
    return found.view(np.int64)


def float_hashes(values: NDArray[np.float64]) -> Words:
    """``hash(x)`` of finite numbers, as words, shape (n,).

    A float is m 2^e with a whole m below 2^53. Modulo 2^61 - 1, multiplying by 2^e rotates 61 bits.
    """
    fraction, exponent = np.frexp(np.abs(values))
    whole = np.ldexp(fraction, _MANTISSA_BITS).astype(np.uint64)
    places = ((exponent - _MANTISSA_BITS) % _MODULUS_BITS).astype(np.uint64)
    size = _rotated(whole, places, np.uint64(_MODULUS_BITS)) & _MODULUS
    found = np.where(values < 0, np.uint64(0) - size, size)
    found[found == _NO_HASH] = _NO_HASH - np.uint64(1)
    return found


def _value_hashes(values: Sequence[Any]) -> Words:
    kinds = set(map(type, values))
    if kinds == {float}:
        numbers = np.array(values)
        if np.isfinite(numbers).all():
            return float_hashes(numbers)
    if float not in kinds:  # 1 and 1.0 are one key, and two hashes
        known = {value: crc32(repr(value).encode()) for value in set(values)}
        return np.fromiter(map(known.__getitem__, values), np.uint64, len(values))
    each = [hash(value) if type(value) is float else crc32(repr(value).encode()) for value in values]
    return np.array(each, dtype=np.int64).view(np.uint64)


def _rotated(words: Words, places: Words | np.uint64, width: np.uint64) -> Words:
    """Words of `width` bits, rotated to the left; bits above are not cleared."""
    return (words << places) | (words >> (width - places))
