"""The progress of a piece of work, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable


class Step(str):
    """The work being done, in words: piece `done` of `total` like it."""

    what: str
    done: int
    total: int

    def __new__(cls, what: str, done: int, total: int) -> Step:
        """Piece `done`, counted from 1."""
        step = super().__new__(cls, f"{what} ({done} of {total})")
        step.what, step.done, step.total = what, done, total
        return step

    def __getnewargs__(self) -> tuple[str, int, int]:  # type: ignore[override]  # steps come from other processes
        return self.what, self.done, self.total


Progress = Callable[[str], None]
"""Called with what is being done: a text, or a `Step` where it is known how much of it there is."""
