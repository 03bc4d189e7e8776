"""Parts of a loss, counted by the groups of the reference: while it goes on, its new rows alone are read."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rocmonitor import store
from rocmonitor.policy.windows import Window

if TYPE_CHECKING:
    from rocmonitor.stats.group_reference import CountedRows, GroupReference

_EVER = Window(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))


@dataclass
class CountedParts:
    """Parts of a monitor's losses, counted, in the store or of this tick alone; no two overlap.

    `reading` names the reference and its columns; with `keep` what is added is kept in the store.
    """

    kept: store.Store
    reading: str
    keep: bool = field(kw_only=True)
    _parts: dict[Window, store.KeptCounts | None] | None = None  # None: in the store
    _sum: store.KeptCounts | None = None  # of the parts of the last period

    def inside(self, period: Window) -> list[store.KeptCounts]:
        """Return the parts that lie in a period, those that were added up before as one."""
        first, start = [], period.start
        if self._sum and self._sum.window.start == start and self._sum.window.end <= period.end:
            first, start = [self._sum], self._sum.window.end
        windows = [part for part in self._known() if start <= part.start and part.end <= period.end]
        parts = [self._known()[part] or store.counts(self.kept, self.reading, part) for part in windows]
        return first + [part for part in parts if part is not None]

    def add(
        self, counted: Sequence[tuple[Window, CountedRows]], whole: tuple[Window, CountedRows], at: datetime
    ) -> None:
        """Take in the parts of a period in place of all that overlaps them, and the sum of all its parts."""
        parts = [self._packed(window, rows, at) for window, rows in counted]
        for part in parts:
            self.forget(part.window)
            self._known()[part.window] = part
        if self.keep and parts:
            store.save_counts(self.kept, parts)
        if [window for window, _ in counted] != [whole[0]]:  # more than one
            self._sum = self._packed(*whole, at)

    def forget(self, window: Window) -> None:
        """Drop what overlaps a window: other rows count now."""
        start, end = window.start, window.end
        if self._sum and self._sum.window.start < end and start < self._sum.window.end:
            self._sum = None
        over = [part for part in self._known() if part.start < end and start < part.end]
        for part in over:
            del self._known()[part]
        if self.keep and over:
            store.forget_counts(self.kept, self.reading, over)

    def _known(self) -> dict[Window, store.KeptCounts | None]:
        if self._parts is None:
            self._parts = dict.fromkeys(store.windows_counted(self.kept, self.reading, _EVER))
        return self._parts

    def _packed(self, window: Window, rows: CountedRows, at: datetime) -> store.KeptCounts:
        return store.KeptCounts(
            reading=self.reading,
            window=window,
            data_digest="",
            labels_digest="",
            rows=int(sum(side.sum() for side in rows.whole)),
            read_at=at,
            content=zlib.compress(json.dumps(rows.to_dict()).encode()),
        )


def rows_of(part: store.KeptCounts, reference: GroupReference) -> CountedRows:
    """Return the rows of a part, counted by this reference."""
    return reference.counted_from(json.loads(zlib.decompress(part.content)))
