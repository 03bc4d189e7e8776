"""Windows that are joined from pieces until they hold enough: by the number of rows, or of rows of a class.

Pieces are consecutive windows of the calendar with what was counted in them. Windows that were judged are
fixed: only the time outside of them is cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rocmonitor.errors import InputError
from rocmonitor.policy.windows import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Joining:
    """When consecutive pieces are enough for a window; give `rows`, or the two others."""

    rows: int | None = None  # that are enough, labelled or not
    min_per_class: int = 0  # labelled rows of each class that are enough
    most: int | None = None  # so many pieces are enough, whatever they hold

    def __post_init__(self) -> None:
        if (self.rows is None) == (self.most is None):
            raise InputError(f"a window ends by rows or by most pieces; they are {self.rows} and {self.most}")

    def is_enough(self, counted: Counted) -> bool:
        """Return True if these pieces are a window."""
        if self.rows is not None:
            return counted.rows >= self.rows
        return counted.pieces == self.most or min(counted.n_pos, counted.n_neg) >= self.min_per_class


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A piece, or consecutive ones together."""

    window: Window
    rows: int  # all, and in n_pos and n_neg the labelled ones
    n_pos: int
    n_neg: int
    pieces: int = 1

    def then(self, other: Counted) -> Counted:
        """Return both together; the other comes next."""
        return Counted(
            window=Window(self.window.start, other.window.end),
            rows=self.rows + other.rows,
            n_pos=self.n_pos + other.n_pos,
            n_neg=self.n_neg + other.n_neg,
            pieces=self.pieces + other.pieces,
        )


def free(windows: Iterable[Window], fixed: Iterable[Window]) -> list[Window]:
    """Return what of some windows in order lies outside of those that are fixed: whole ones, and parts.

    The cost is that of sorting the fixed ones.
    """
    taken: list[Window] = []  # without overlaps, in order
    for window in sorted(fixed):
        if taken and window.start <= taken[-1].end:
            taken[-1] = Window(taken[-1].start, max(taken[-1].end, window.end))
        else:
            taken.append(window)
    pieces, at = [], 0
    for window in windows:
        start = window.start
        while at < len(taken) and taken[at].start < window.end:
            if start < taken[at].start:
                pieces.append(Window(start, taken[at].start))
            start = max(start, taken[at].end)
            if start >= window.end:
                break  # it may reach into the next window, too
            at += 1
        if start < window.end:
            pieces.append(Window(start, window.end))
    return pieces


def join(pieces: Iterable[Counted], joining: Joining) -> tuple[list[Counted], Counted | None]:
    """Windows that are enough, each as short as can be, and the pieces at the end that are none yet.

    Pieces come in order. Where one does not start at the end of the last, something fixed lies between:
    pieces before it that are not enough can never become more. They belong to the window before them, if
    there is one beside them that may be so long, else they are a window as they are: no row is left out.
    """
    closed: list[Counted] = []
    rest: Counted | None = None
    for piece in pieces:
        if rest is not None and rest.window.end != piece.window.start:
            closed = with_rest(closed, rest, joining)
            rest = None
        rest = piece if rest is None else rest.then(piece)
        if joining.is_enough(rest):
            closed.append(rest)
            rest = None
    return closed, rest


def with_rest(closed: Sequence[Counted], rest: Counted | None, joining: Joining) -> list[Counted]:
    """Return the windows with pieces at their end that are not enough and never will be."""
    if rest is None:
        return list(closed)
    if closed and closed[-1].window.end == rest.window.start:
        joined = closed[-1].then(rest)
        if joining.most is None or joined.pieces <= joining.most:
            return [*closed[:-1], joined]
    return [*closed, rest]
