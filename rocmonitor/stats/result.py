"""What results have in common: read-only arrays, and one way out as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result:
    """A frozen result whose arrays are read-only."""

    def __post_init__(self) -> None:
        for value in self._values().values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings; an infinite value becomes ``"inf"`` or ``"-inf"``."""
        return {name: _plain(value) for name, value in self._values().items()}

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
    if isinstance(value, np.ndarray):
        return [_plain(item) for item in value.tolist()]
    if isinstance(value, tuple):
        return list(value)
    # JSON has no infinity, and databases refuse it.
    return str(value) if isinstance(value, float) and math.isinf(value) else value
