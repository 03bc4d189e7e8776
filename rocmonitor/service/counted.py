"""Rows of windows: from the store where its counts are still those of the source, else from the source."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, islice, takewhile
from typing import Any

from rocmonitor import store
from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.errors import SourceError
from rocmonitor.policy.record import digest_of
from rocmonitor.policy.windows import Window, tiling
from rocmonitor.sources import Batch, LabelCounts, SqlSource
from rocmonitor.sources.cells import packed, unpacked
from rocmonitor.sources.sql import together
from rocmonitor.store import KeptCounts

log = logging.getLogger(__name__)

Stored = Mapping[Window, Sequence[KeptCounts]]
"""The stored cells of some windows: of each one itself, or of the shorter ones that fill it."""


@dataclass(eq=False)
class InStore(Stored):
    """The stored windows, read when they are wanted; all of them are sent to another process."""

    kept: store.Store
    monitor: Monitor
    windows: Sequence[Window]
    ages: Sequence[timedelta] = ()

    def __getitem__(self, window: Window) -> Sequence[KeptCounts]:
        return stored(self.kept, self.monitor, window, self.ages)

    def __iter__(self) -> Iterator[Window]:
        return iter(self.windows)

    def __len__(self) -> int:
        return len(self.windows)

    def __reduce__(self) -> tuple[type[dict[Any, Any]], tuple[dict[Window, Sequence[KeptCounts]]]]:
        return dict, (dict(self),)


@dataclass
class ReadAhead:
    """Windows that are read before their turn, together with one that comes before them."""

    rows: int = 0
    """The largest number expected of a window; 0 if unknown: the first window is then read alone."""
    _works: bool = True
    _read: dict[Window, Batch] = field(default_factory=dict)

    def take(
        self,
        window: Window,
        following: Callable[[], Iterable[Window]],
        source: SqlSource,
        monitor: Monitor,
        read: Callable[[Sequence[Window]], list[Batch] | None],
    ) -> Batch | None:
        """Return what was read of a window, or is read now with those that follow; None: read it alone.

        `following` gives the windows to be read after it in the same way, in order; `read` reads windows side
        by side, as `SqlSource.pull_together`.
        """
        if window not in self._read and self._works and self.rows:
            some = list(islice(chain([window], following()), together(self.rows)))
            some = list(source.side_by_side(monitor, some)) if some else []
            batches = read(some) if some else None
            self._works = batches is not None
            self._read = dict(zip(some, batches or (), strict=False))
        return self._read.pop(window, None)

    def saw(self, batch: Batch) -> None:
        """Expect that other windows have about as many rows as this one."""
        self.rows = max(self.rows, batch.segments[""].counts.rows)


class Reader:
    """Reads windows of one monitor, each from its source once.

    What the store has of a window counts where the source says that number, labels, scores and segments of
    its rows are what they were: that is one statement, and no row is sent. A window without counts of its own
    is the sum of shorter ones that fill it.

    For a source that cannot be opened stands its error. Unless `confirmed`, what the store has also counts
    where the source has no row of the window any more, or does not answer; `caveats` then says so. `rows` is
    as of `ReadAhead`.
    """

    def __init__(
        self,
        kept: store.Store | Stored,
        monitor: Monitor,
        source: SqlSource | SourceError,
        *,
        confirmed: bool = True,
        rows: int = 0,
    ) -> None:
        self._known, self._monitor, self._source, self._confirmed = kept, monitor, source, confirmed
        self._silent = source if isinstance(source, SourceError) else None
        self._unconfirmed: list[Window] = []
        self._ahead = ReadAhead(rows)

    def caveats(self) -> Iterator[Caveat]:
        """Yield which windows rest on the store alone, and why."""
        if self._unconfirmed:
            first, last = min(self._unconfirmed), max(self._unconfirmed)
            period = Window(first.start, last.end).in_zone(self._monitor.timezone)
            yield Caveat(
                "rows-from-store",
                count=len(self._unconfirmed),
                period=period,
                source=self._monitor.source,
                why=None if self._silent is None else str(self._silent),
            )

    def read(
        self,
        window: Window,
        *,
        as_of: datetime | None = None,
        ages: Sequence[timedelta] = (),
        labels: LabelCounts | None = None,
        changed: bool = False,
        compared: bool = True,
        on_rows: Callable[[int], None] = lambda _: None,
        following: Sequence[Window] = (),
    ) -> Batch:
        """Return the rows of a window, as `SqlSource.pull` gives them.

        `labels` are what the source says of the window, where it was asked already; `changed` says that the
        rows are other ones than the store has. The windows `following` are read next in the same way.
        """
        batch = None if changed else self._kept(window, as_of, ages, labels)
        if batch is not None:
            log.debug("%s %s: as the store has it", self._monitor.name, window)
            return batch
        rows = None if labels is None else labels.rows
        return self._pull(
            window,
            following,
            as_of=as_of,
            ages=ages,
            expected_rows=rows,
            compared=compared,
            on_progress=on_rows,
        )

    def _pull(self, window: Window, following: Sequence[Window], **how: Any) -> Batch:
        """Return the rows of a window from the source, with those that are read next if that is possible."""
        asked, batch = {name: how[name] for name in ("as_of", "on_progress")}, None
        if not how["ages"]:
            new = partial(takewhile, lambda later: not self._stored(later, ()), following)
            read = partial(self.source.pull_together, self._monitor, **asked)
            batch = self._ahead.take(window, new, self.source, self._monitor, read)
        if batch is None:
            batch = self.source.pull(self._monitor, window, **how)
        self._ahead.saw(batch)
        return batch

    def read_and_count(
        self,
        window: Window,
        *,
        as_of: datetime,
        ages: Sequence[timedelta] = (),
        compared: bool = True,
        on_rows: Callable[[int], None] = lambda _: None,
        following: Sequence[Window] = (),
    ) -> tuple[Batch, LabelCounts]:
        """Return the rows of a window as `read` gives them, and what the source says of their labels.

        Where the rows have to be read, both come from one session; and those of windows that follow, if
        these are read next in the same way. `on_rows` is also called between two statements, with 0.
        """
        how: dict[str, Any] = {"as_of": as_of, "ages": ages, "compared": compared}
        if not self._stored(window, ages):
            batch = self._pull(window, following, **how, count_labels=True, on_progress=on_rows)
            assert batch.labels is not None  # they were asked for
            return batch, batch.labels
        # Before the rows: what is corrected in between then differs from these labels at the next look.
        labels = self.source.label_counts(self._monitor, window, as_of=as_of)
        on_rows(0)
        return self.read(window, **how, labels=labels, on_rows=on_rows), labels

    @property
    def source(self) -> SqlSource:
        """The source; the error is raised for which it could not be opened."""
        if isinstance(self._source, SourceError):
            raise self._source
        return self._source

    def rows(self, window: Window) -> int:
        """Return how many rows a window of any length has, in the source or, without it, in the store."""
        labels = self._asked(window)
        rows = 0 if labels is None else labels.rows
        if rows or not isinstance(self._known, store.Store):
            return rows
        return store.rows_counted(self._known, reading_of(self._monitor), window)

    def _kept(
        self, window: Window, as_of: datetime | None, ages: Sequence[timedelta], labels: LabelCounts | None
    ) -> Batch | None:
        kept = self._stored(window, ages)
        if not kept:
            return None
        for part in kept:
            said = labels if part.window == window and labels is not None else self._asked(part.window, as_of)
            if not self._confirmed and part.rows and (said is None or not said.rows):
                self._unconfirmed.append(part.window)
            elif said is None or (said.rows, said.digest) != (part.rows, part.labels_digest):
                return None
        return unpacked([window_counts.content for window_counts in kept], self._monitor)

    def _stored(self, window: Window, ages: Sequence[timedelta]) -> Sequence[KeptCounts]:
        if isinstance(self._known, store.Store):
            return stored(self._known, self._monitor, window, ages)
        return self._known.get(window, ())

    def _asked(self, window: Window, as_of: datetime | None = None) -> LabelCounts | None:
        """Return what the source says of a window; None where it does not answer, now or before."""
        if self._silent is None:
            try:
                return self.source.label_counts(self._monitor, window, as_of=as_of)
            except SourceError as error:
                if self._confirmed:
                    raise
                self._silent = error
        return None


def stored(
    kept: store.Store, monitor: Monitor, window: Window, ages: Sequence[timedelta] = ()
) -> Sequence[KeptCounts]:
    """Return what the store has of a window: itself, or shorter ones that fill it; nothing where one is
    missing.
    """
    reading = reading_of(monitor, ages)
    inside = store.windows_counted(kept, reading, window)
    if monitor.columns.id is not None:  # an id may be in two of them
        inside = [other for other in inside if other == window]
    parts = [store.counts(kept, reading, piece) for piece in tiling(inside, window)]
    present = [part for part in parts if part is not None]
    return present if len(present) == len(parts) else []


def to_keep(
    monitor: Monitor,
    window: Window,
    batch: Batch,
    labels: LabelCounts | None,
    now: datetime,
    ages: Sequence[timedelta] = (),
) -> list[KeptCounts]:
    """Return what the store is to have of a window.

    Nothing where `labels` is None, the batch cannot be rebuilt, or comes from there.
    """
    content = None if labels is None else packed(batch)
    if labels is None or content is None:
        return []
    made = KeptCounts(
        reading=reading_of(monitor, ages),
        window=window,
        data_digest=batch.digest,
        labels_digest=labels.digest,
        rows=labels.rows,
        read_at=now,
        content=content,
    )
    return [made]


def reading_of(monitor: Monitor, ages: Sequence[timedelta] = ()) -> str:
    """Return the name of a reading: monitors with the same query, columns and meaning of labels share it."""
    parts = {**monitor.read_as, "ages": [age.total_seconds() for age in ages]}
    if monitor.grouped in ("condensed", "auto"):  # rows and groups of equal rows make the same batch
        parts |= {"grouped": monitor.grouped, "condense": monitor.condense.model_dump()}
    return digest_of(parts)
