"""Caveats: what a reader of a result should know, as a code with values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Caveat:
    """One thing that a reader of a result should know.

    Programs look at `code` and `values`; `rocmonitor.wording.caveats.words_of` has the sentence for people.

    code: Names the sentence, in lower case with hyphens, such as ``"single-row"``.
    values: What the sentence is about: plain numbers, texts, or lists of them.
    about: The part of a larger result that it belongs to, from the outside in, such as ``("band",)``.

    Examples
    --------
    >>> caveat = Caveat("few-windows", windows=3, needed=20)
    >>> str(caveat.concerning("band"))
    'band: few-windows (windows 3, needed 20)'
    """

    __slots__ = ("about", "code", "values")

    code: str
    values: dict[str, Any]
    about: tuple[str, ...]

    def __init__(self, code: str, /, **values: Any) -> None:
        object.__setattr__(self, "code", code)
        object.__setattr__(self, "values", {name: _plain(value) for name, value in values.items()})
        object.__setattr__(self, "about", ())

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a caveat cannot be changed: {name}")

    def concerning(self, part: str) -> Caveat:
        """Return the same caveat, as one of a larger result's part."""
        return self._copied(about=(part, *self.about))

    def bare(self) -> Caveat:
        """Return the same caveat, on its own: about no part of anything."""
        return self._copied(about=())

    def replacing(self, **values: Any) -> Caveat:
        """Return the same caveat with some of its values replaced; names it does not have are passed over."""
        known = {name: value for name, value in values.items() if name in self.values}
        return self._copied(values=self.values | known)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; `from_dict` is the inverse."""
        return {"code": self.code, "values": _plain(self.values), "about": list(self.about)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Caveat:
        """Return the caveat that `to_dict` gave."""
        caveat = cls(plain["code"], **plain["values"])
        return caveat._copied(about=tuple(plain.get("about", ())))

    def __str__(self) -> str:
        shown = ", ".join(f"{name} {value}" for name, value in self.values.items())
        return ": ".join([*self.about, f"{self.code} ({shown})" if shown else self.code])

    def __repr__(self) -> str:
        return f"Caveat({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Caveat):
            return NotImplemented
        return (self.code, self.about, self.values) == (other.code, other.about, other.values)

    def __hash__(self) -> int:
        return hash((self.code, self.about, *sorted(self.values)))  # 1 and 1.0 are equal, and hash alike

    def __reduce__(self) -> tuple[Any, ...]:
        return Caveat.from_dict, (self.to_dict(),)

    def _copied(self, **changes: Any) -> Caveat:
        copy = Caveat(self.code)
        for name in ("values", "about"):
            object.__setattr__(copy, name, changes.get(name, getattr(self, name)))
        return copy


def _plain(value: Any) -> Any:
    """Return a copy in plain Python values."""
    if hasattr(value, "tolist"):  # of numpy, which is not imported for this
        return value.tolist()
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
