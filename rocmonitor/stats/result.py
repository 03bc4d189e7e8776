"""What results have in common: read-only arrays, and plain data to store and to read back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rocmonitor.caveat import Caveat

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result:
    """A frozen result whose arrays are read-only.

    Fields that a result does not describe itself: `n_pos` and `n_neg` are the class sizes of the sample,
    `caveats` (tuple of Caveat) say what a reader of the numbers should know, and a field with the name of an
    argument holds that argument.
    """

    def __post_init__(self) -> None:
        for value in self._values().values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings; infinity is ``"inf"``, a caveat what `Caveat.to_dict` gives."""
        return {name: _plain(value) for name, value in self._values().items()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The result that was stored as `to_dict` gives it; other entries are passed over.

        For results of numbers, strings and tuples. An entry that an earlier version did not store takes its
        default, and caveats that it stored as sentences are read as such.
        """
        return cls(**{f.name: _read(plain[f.name], f.type) for f in fields(cls) if f.name in plain})

    def _values(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table(Result):
    """A result with one line for each point: its arrays, shape (h,), are the columns."""

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame with one row for each point."""
        import pandas as pd

        return pd.DataFrame({n: v for n, v in self._values().items() if isinstance(v, np.ndarray)})


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray | tuple):
        return [_plain(item) for item in (value if isinstance(value, tuple) else value.tolist())]
    if isinstance(value, Caveat):
        return value.to_dict()
    # JSON has no infinity, and databases refuse it.
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _read(value: Any, annotation: object) -> Any:
    """The inverse of `_plain` for a field whose annotation is text, as under ``from __future__``."""
    if "Caveat" in str(annotation):
        return tuple(Caveat.from_dict(item) for item in value)
    if isinstance(value, list):
        return tuple(tuple(item) if isinstance(item, list) else item for item in value)
    return float(value) if value in ("inf", "-inf") else value
