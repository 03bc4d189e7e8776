"""The groups of columns that made the change of a period, from its rows and the counts of the reference."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from rocmonitor import store
from rocmonitor.config import Monitor
from rocmonitor.errors import ConfigError, DegenerateDataError, InputError
from rocmonitor.policy.explanation import Explanation, candidate_pairs, group_parts, name_of_group, with_pairs
from rocmonitor.policy.record import digest_of
from rocmonitor.policy.windows import Window, gaps
from rocmonitor.service import references
from rocmonitor.service.progress import Step
from rocmonitor.sources import SqlSource
from rocmonitor.sources.batch import Explaining
from rocmonitor.sources.frame import Frame, bare_frame, read_frame
from rocmonitor.sources.groups import grouped_columns, grouped_rows
from rocmonitor.sources.sql import together
from rocmonitor.sources.values import name_of
from rocmonitor.stats.group_reference import ColumnRows, CountedRows, GroupReference, group_reference
from rocmonitor.stats.grouping import BINS

_FORM = 2
"""The form of stored counts; those of another one are counted again."""
_EVER = Window(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """An explanation, the counts of the reference that it rests on, and the labelled rows it explains.

    These are counted by the reference: the parts of the period that were read for it, and all of it.
    """

    explanation: Explanation
    reference: GroupReference
    counted: Sequence[tuple[Window, CountedRows]] = ()
    whole: tuple[Window, CountedRows]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainRequest:
    """A period to be explained by some columns, by whichever process."""

    monitor: Monitor
    window: Window
    """A window, or all of a loss."""
    as_of: datetime | None
    """When labels must have been known; None: all count."""
    columns: tuple[str, ...]
    reference: GroupReference | None
    """The counts of the reference, if it was counted before; else `windows` are read."""
    windows: Sequence[Window]
    reference_as_of: datetime
    grouped: bool = False
    """True if the engine of the source counts the rows, one column at a time; else they are read."""
    expected: bool = False
    """True if the labels are not in yet: then the AUROC that the scores lead to is explained."""
    read: Explaining | None = None
    """The rows of the window, where they were read before."""
    counted: Sequence[store.KeptCounts] = ()
    """Parts of it that were counted before by the same reference; all others are read."""

    @property
    def size(self) -> int:
        """The number of windows to read."""
        return 1 + (0 if self.reference else len(self.windows))

    def run(self, source: SqlSource, on_step: Callable[[str], None]) -> Explained:
        """Read what is not counted of the period and the reference; `on_step` is called with each window.

        Raises
        ------
        ConfigError: A column that the query does not give.
        DegenerateDataError: Window or reference have one class only.
        SourceError: As `read_frame`.
        """
        monitor = self.monitor
        if self.grouped:
            given = source.explain(monitor)
            if missing := [name for name in self.columns if name not in given]:
                raise ConfigError(
                    f"monitors.{monitor.name}.query does not give {', '.join(missing)}, which should explain "
                    f"a change; it gives {', '.join(given)}"
                )
        reference = self.reference
        if reference is None:
            if not self.windows:
                raise DegenerateDataError(f"{monitor.name} has no reference window to compare with")
            reference = (self._counted if self.grouped else self._read)(source, on_step)
        on_step("")  # the step of the one who asks is still the one
        fewest, windows = monitor.min_group, gaps([part.window for part in self.counted], self.window)
        new = {window: self._rows(source, reference, window, on_step) for window in windows}
        counted = [(window, reference.counted(rows, fewest=fewest)) for window, rows in new.items()]
        if windows == [self.window] and not self.expected:
            whole = reference.counted(new[self.window], fewest=fewest, own=True)
        else:
            known = (
                reference.counted_from(json.loads(zlib.decompress(part.content))) for part in self.counted
            )
            whole = reduce(CountedRows.plus, chain(known, (rows for _, rows in counted)))
        drawn = hashlib.sha256(f"{monitor.name}|{self.window}".encode()).digest()  # the same in a second run
        seed = int.from_bytes(drawn[:8])
        explained = explanation(reference, whole, fewest=fewest, seed=seed, expected=self.expected)
        return Explained(
            explanation=explained, reference=reference, counted=counted, whole=(self.window, whole)
        )

    def _rows(
        self, source: SqlSource, reference: GroupReference, window: Window, on_step: Callable[[str], None]
    ) -> dict[str, ColumnRows]:
        """Read a part of the period."""
        monitor, labelled = self.monitor, not self.expected
        groups = {name: column.groups for name, column in reference.columns.items()}
        if self.grouped:
            return grouped_rows(source, monitor, [window], self.as_of, groups, labelled=labelled)
        numbers = [name for name, cut in groups.items() if cut.kind == "numbers"]
        if self.read is not None and window == self.window:
            parts = [bare_frame(monitor, self.columns, self.read, labelled=labelled)]
        else:
            parts = self._frames(source, [window], self.as_of, on_step, labelled=labelled)
        return _rows(parts, monitor, self.columns, numbers)

    def _read(self, source: SqlSource, on_step: Callable[[str], None]) -> GroupReference:
        monitor, parts = self.monitor, list[Frame]()
        most = 1  # until the rows of a window are known
        while len(parts) < len(self.windows):
            some = source.side_by_side(monitor, self.windows[len(parts) :], most=max(most, 1))
            what = f"{monitor.name} reference {some[0].in_zone(monitor.timezone)}, groups"
            on_step(Step(what, len(parts) + len(some), len(self.windows)))
            parts += self._frames(source, some, self.reference_as_of, on_step, labelled=True)
            most = together(max(len(frame.rows) for frame in parts))
        rows = _rows(parts, self.monitor, self.columns)
        return group_reference(rows, fewest=self.monitor.min_group)

    def _counted(self, source: SqlSource, on_step: Callable[[str], None]) -> GroupReference:
        monitor, period = self.monitor, Window(self.windows[0].start, self.windows[-1].end)
        on_step(f"{monitor.name} reference {period.in_zone(monitor.timezone)}")
        groups, refused = grouped_columns(source, monitor, period, self.columns)
        if not groups:
            raise InputError("; ".join(refused.values()))
        rows = grouped_rows(source, monitor, self.windows, self.reference_as_of, groups)
        cuts = {name: cut for name, cut in groups.items() if cut.ends}
        counted = group_reference(rows, fewest=monitor.min_group, groups=cuts)
        return replace(counted, refused=counted.refused | refused)

    def _frames(
        self,
        source: SqlSource,
        windows: Sequence[Window],
        as_of: datetime | None,
        on_step: Callable[[str], None],
        *,
        labelled: bool,
    ) -> list[Frame]:
        monitor, columns = self.monitor, self.columns
        read = source.explaining(monitor, windows, columns, as_of=as_of, on_progress=lambda _: on_step(""))
        if read is not None:
            return [bare_frame(monitor, columns, frame, labelled=labelled) for frame in read]
        how: dict[str, Any] = {"as_of": as_of, "extra": columns, "labelled": labelled, "bare": True}
        return [read_frame(source, monitor, window, **how) for window in windows]


@dataclass
class CountedParts:
    """Parts of a monitor's losses, counted, in the store or of this tick alone; no two overlap.

    While a loss goes on, its new rows alone are read. `reading` names the reference and its columns; with
    `keep` what is added is kept in the store.
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
        if self._sum and self._sum.window.overlaps(window):
            self._sum = None
        over = [part for part in self._known() if part.overlaps(window)]
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


def explanation(
    reference: GroupReference,
    rows: CountedRows,
    *,
    fewest: int,
    seed: int,
    expected: bool = False,
) -> Explanation:
    """Return what the groups did to the rows of a window, and two together where these explain more than
    either; if `expected` to the AUROC that the scores lead to, before the labels.

    Groups with fewer than `fewest` rows are pooled; `seed` is for standard errors that are drawn.

    Raises
    ------
    DegenerateDataError: Window or reference have one class only.
    """
    if expected:
        split = reference.expected(rows, rng=seed, fewest=fewest)
        parts = group_parts(split)
    else:
        split = reference.split(rows, fewest=fewest)
        parts, order = group_parts(split), list(reference.columns)
        labels = {
            (column, name_of_group(group)): group
            for column, changes in split.columns.items()
            for group in changes.groups
        }
        asked = [
            sorted(pair, key=lambda part: order.index(part.column))
            for pair in candidate_pairs(parts, split.whole.change)
        ]
        pair_changes = [
            reference.pair_change(
                rows,
                (a.column, labels[a.column, a.group]),
                (b.column, labels[b.column, b.group]),
                rng=seed,
                fewest=fewest,
            )
            for a, b in asked
        ]
        parts = with_pairs(parts, [change for change in pair_changes if change is not None], len(asked))
    return Explanation(
        reference_auc=split.whole.reference_auc,
        auc=split.whole.auc,
        parts=tuple(parts),
        refused=split.refused,
        expected=expected,
    )


def request(
    monitor: Monitor,
    window: Window,
    source: SqlSource,
    kept: store.Store,
    *,
    now: datetime,
    as_of: datetime | None = None,
    columns: Sequence[str] = (),
    grouped: bool = False,
    expected: bool = False,
    reference: GroupReference | None = None,
    read: Explaining | None = None,
    counted: Sequence[store.KeptCounts] = (),
) -> ExplainRequest:
    """Return what to ask to explain a period, with the counts of the reference if they are known.

    The fields of `ExplainRequest` say more. By default the columns are those of the monitor, and the counts
    of the reference those that the store has; with `grouped` the engine of the source counts rows also where
    the monitor does not say so.
    """
    columns = tuple(dict.fromkeys(columns or monitor.columns.explain))
    if reference is None:
        plain = store.reference(kept, monitor.name, digest(monitor, columns))
        reference = None if plain is None else GroupReference.from_dict(plain[""])
    return ExplainRequest(
        monitor=monitor,
        window=window,
        as_of=as_of,
        columns=columns,
        reference=reference,
        windows=() if reference is not None else references.frozen_windows(monitor, source, kept, now),
        reference_as_of=references.read_at(monitor, now)[0],
        grouped=grouped or monitor.grouped in ("database", "condensed") or source.kind == "spark",
        expected=expected,
        read=read,
        counted=counted,
    )


def keep(monitor: Monitor, kept: store.Store, now: datetime, explained: Explained) -> None:
    """Keep the counts of the reference, once all its labels are due."""
    if now >= references.complete_at(monitor):
        name = digest(monitor, monitor.columns.explain)
        store.save_reference(kept, monitor.name, name, {"": explained.reference.to_dict()})


def digest(monitor: Monitor, columns: Sequence[str]) -> str:
    """Return a name of all that the counts of the reference depend on."""
    parts = {"reference": references.digest(monitor), "columns": columns, "min_group": monitor.min_group}
    return digest_of(parts | {"form": _FORM})


def _rows(
    parts: Sequence[Frame], monitor: Monitor, columns: Sequence[str], numbers: Sequence[str] = ()
) -> dict[str, ColumnRows]:
    rows = pd.concat([part.rows for part in parts], ignore_index=True)
    score = rows[monitor.columns.champion].to_numpy(dtype=float)
    score = 0.0 - score if monitor.positive.low_is_positive else score
    label = np.concatenate([part.positive for part in parts]).astype(np.int8)
    return {name: ColumnRows(label, score, _values(rows[name], name in numbers)) for name in columns}


def _values(column: pd.Series[Any], are_numbers: bool) -> Any:
    """Return plain values; texts that are all numbers as numbers, if they are many or were numbers before."""
    if column.dtype.kind != "O":
        return column.to_numpy()
    if are_numbers or column.nunique() > BINS:
        first = column.dropna().head(1)  # tells of most texts that they are no numbers
        if not pd.to_numeric(first, errors="coerce").isna().any():
            is_other = pd.to_numeric(column, errors="coerce").isna() & column.notna()
            if not is_other.any():
                return pd.to_numeric(column).to_numpy(dtype=float)
    if pd.api.types.infer_dtype(column) == "string":  # and missing ones
        return column.to_numpy(dtype=object)
    return column.map(_plain).to_numpy(dtype=object)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    return value if value is None or isinstance(value, str | bool | int | float) else name_of(value)
