"""The common part of results: read-only arrays, plain data to store and read back, how they are shown."""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import timedelta
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats import plotting
from rocmonitor.stats.explained import explained

if TYPE_CHECKING:
    import pandas as pd

    from rocmonitor.stats.plotting import Axes


class Interval(NamedTuple):
    """A confidence interval, both ends included; printed with four digits, kept with all."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self:#.4g}"

    def __repr__(self) -> str:
        return f"Interval(low={self.low:.4g}, high={self.high:.4g})"

    def __format__(self, spec: str) -> str:
        return f"{self.low:{spec}} to {self.high:{spec}}" if spec else str(self)

    def plot(self, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Draw the interval, as `Result.plot` draws a result."""
        ax = plotting.new_axes(flat=True) if ax is None else ax
        plotting.rows(ax, ["interval"], [(None, *self)], x="confidence interval", note="", label=label)
        return ax


_FIELDS = {
    "n_pos": "Positives of the sample.",
    "n_neg": "Negatives of the sample.",
    "method": "How the uncertainty was computed.",
    "caveats": "What a reader of the numbers should know.",
}
"""Fields that many results have."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result:
    """A frozen result whose arrays are read-only.

    `help` adds the fields that a docstring leaves out: class sizes, method, caveats, arguments.

    A result is shown by three things it declares: `_estimate` names the field that ``format(result, ".3f")``
    formats and ``float(result)`` gives, `_draw` draws it with the functions of `rocmonitor.stats.plotting`,
    and `_flat` says that a few rows are drawn, so that new axes are low ones. What it does not declare is
    refused with a TypeError. `_unstored` says why `from_dict` cannot restore a result whose `to_dict` leaves
    fields out.
    """

    _estimate: ClassVar[str | None] = None
    _flat: ClassVar[bool] = False
    _unstored: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        # A dataclass writes a __repr__ with every number of every array, unless its class body has one.
        cls.__repr__ = Result.__repr__  # type: ignore[method-assign]
        if cls.__doc__:
            also = " ".join([str(method.__doc__) for method in vars(cls).values()])
            described = dict[str, str]()  # what `help` says of each field that no docstring describes
            for base in reversed(cls.__mro__):
                why = f"As of `{base.__name__}`."
                if base is cls:
                    why = "As the text says, or the argument of this name."
                for name, kind in vars(base).get("__annotations__", {}).items():
                    if not name.startswith("_"):
                        described[name] = f"{kind}. {_FIELDS.get(name, why)}"
            cls.__doc__ = explained(cls.__doc__, {"Attributes": described}, also)

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings; infinity is ``"inf"``, a caveat what `Caveat.to_dict` gives."""
        return {n: v if type(v) in (str, int) else _plain(v) for n, v in self._values().items()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the result that was stored as `to_dict` gives it; other entries are passed over.

        Fields are read by their annotations: arrays, tuples, results and caveats come back as such. An entry
        that is absent takes its default.
        """
        given = {}
        for name, reader in _readers(cls).items():  # type: ignore[arg-type]
            if name not in plain:
                continue
            try:
                given[name] = reader(plain[name])
            except InputError:
                raise
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
                raise InputError(f"{cls.__name__}.{name} cannot be restored: it does not fit") from None
        absent = [
            field.name
            for field in fields(cls)
            if field.name not in given and field.default is MISSING and field.default_factory is MISSING
        ]
        if absent:
            why = cls._unstored or f"the data have no {absent[0]}"
            raise InputError(f"{cls.__name__} cannot be restored: {why}")
        return cls(**given)

    def plot(self, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Draw the result, intervals included; matplotlib is imported here. TypeError if it has no picture.

        Parameters
        ----------
        ax: Where to draw; default new axes of pyplot. A second result on the same axes has another colour.
        label: What the result is of, such as a model's name, written beside it.
        """
        if type(self)._draw is Result._draw:
            raise TypeError(f"{type(self).__name__} has no picture; to_dict() gives its numbers")
        ax = plotting.new_axes(flat=self._flat) if ax is None else ax
        self._draw(ax, label)
        return ax

    def __repr__(self) -> str:
        return plotting.one_line(type(self).__name__, self._estimate_first(), tabular=isinstance(self, Table))

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def __float__(self) -> float:
        if self._estimate is None:
            names = ", ".join(field.name for field in fields(self) if field.name != "caveats")
            raise TypeError(f"{type(self).__name__} has no single estimate; take one of its fields: {names}")
        estimate = getattr(self, self._estimate)
        if estimate is None:
            raise TypeError(f"{type(self).__name__}.{self._estimate} is None: there is no number")
        return float(estimate)

    def _repr_html_(self) -> str:
        picture = ""
        if type(self)._draw is not Result._draw:
            drawn = plotting.png(lambda ax: self._draw(ax, None), flat=self._flat)
            data = base64.b64encode(drawn).decode("ascii")
            picture = f'<img src="data:image/png;base64,{data}" alt="{html.escape(repr(self))}">'
        tabular = isinstance(self, Table)
        return plotting.table(self._estimate_first(), line=str(self), tabular=tabular, picture=picture)

    def _estimate_first(self) -> dict[str, Any]:
        """Return the fields that are shown, the estimate first."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.repr}
        return values if self._estimate is None else {self._estimate: values[self._estimate]} | values

    def _draw(self, ax: Axes, label: str | None) -> None:
        raise NotImplementedError  # `plot` refuses before

    def _values(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name[0] != "_"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table(Result):
    """A result with one line for each point: its arrays, shape (h,), are the columns."""

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one row for each point."""
        import pandas as pd

        return pd.DataFrame({n: v for n, v in self._values().items() if isinstance(v, np.ndarray)})


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray | tuple):
        items = value if isinstance(value, tuple) else value.tolist()
        # No call for each number of an array.
        kept = (str, int)
        return [v if type(v) in kept or (type(v) is float and math.isfinite(v)) else _plain(v) for v in items]
    if isinstance(value, Caveat | Result):
        return value.to_dict()
    if isinstance(value, timedelta):
        return value.total_seconds()
    # JSON has no infinity, and databases refuse it.
    return str(value) if isinstance(value, float) and math.isinf(value) else value


_Reader = Callable[[Any], Any]  # the inverse of `_plain` for one kind of field


@cache
def _readers(cls: type[Result]) -> dict[str, _Reader]:
    hints = get_type_hints(cls)
    return {field.name: _reader(hints[field.name]) for field in fields(cls)}


def _reader(annotation: Any) -> _Reader:
    """Return the inverse of `_plain` for a field with this annotation."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is np.ndarray:
        (dtype,) = get_args(arguments[1])
        return lambda value: np.array(value, dtype=dtype)
    if origin is tuple and arguments[-1] is Ellipsis:
        item_reader = _reader(arguments[0])
        return tuple if item_reader is _as_it_is else lambda value: tuple(map(item_reader, value))
    if origin is tuple:
        parts = [_reader(one) for one in arguments]
        return lambda value: tuple(part(item) for part, item in zip(parts, value, strict=True))
    if origin in (UnionType, Union):
        kinds = [_reader(one) for one in arguments if one is not NoneType]
        if len(kinds) == 1:
            return lambda value: None if value is None else kinds[0](value)
    if isinstance(annotation, type) and issubclass(annotation, Result | Caveat):
        return annotation.from_dict
    if annotation is timedelta:
        return lambda value: timedelta(seconds=value)
    return float if annotation is float else _as_it_is  # infinity was stored as a text


def _as_it_is(value: Any) -> Any:
    return value
