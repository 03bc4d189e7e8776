"""Sources: scored rows that are read by SQL, and never written to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sqlalchemy import Select, column, literal_column, select
from sqlalchemy import table as sql_table

from rocmonitor.caveat import Caveat
from rocmonitor.config import AnySource, Database, Files, Monitor, Source, Spark
from rocmonitor.errors import ConfigError, SourceError
from rocmonitor.policy.windows import Window
from rocmonitor.sources.arrival import LATER
from rocmonitor.sources.batch import Batch, Explaining, Rows, to_batch
from rocmonitor.sources.chunk import Chunk
from rocmonitor.sources.connect import Session, Sessions, new_engine, source_url
from rocmonitor.sources.counting import LabelCounts, RowCounter
from rocmonitor.sources.database import DatabaseSessions
from rocmonitor.sources.failures import Origin, translate_errors
from rocmonitor.sources.preparing import prepared, type_name
from rocmonitor.sources.query import Query
from rocmonitor.sources.side_by_side import is_divisible
from rocmonitor.sources.values import DECIMAL_COMMA, NEGATIVE, POSITIVE, UNLABELLED, Encoder, encoded, name_of

if TYPE_CHECKING:
    import pandas as pd


_MOST_NAMED = 20
_COUNTED_AT_ONCE = 100
"""Windows that one statement tells apart."""
MOST_TOGETHER = 50
"""Windows that one query reads."""
ROWS_TOGETHER = 200_000
"""Rows of them that are held."""
_IN_ARROW = ("files", "postgresql")
_HASHING = (*_IN_ARROW, "mariadb", "mysql")
"""Databases that know what a time is, and have a hash."""
_WIDER = timedelta(days=2)
"""More than texts of one day may be out of order."""

Kind = Literal["rows", "groups", "cells", "drawn"]
"""The kind of the lines of an answer; `drawn` are rows on which two models are compared."""


def open_source(spec: AnySource, folder: Path, *, name: str = "source") -> SqlSource:
    """Connect to a source and check that it answers; relative paths start in `folder`.

    A SourceError is transient for a missing SQLite file, a folder without files, a server that cannot be
    reached, and not for an invalid URL, a driver that is not installed, a refused login. No message contains
    the password.

    Examples
    --------
    >>> import sqlite3, tempfile
    >>> from rocmonitor.config import Database
    >>> folder = Path(tempfile.mkdtemp())
    >>> sqlite3.connect(folder / "scored.db").close()
    >>> with open_source(Database(url="sqlite:///scored.db"), folder, name="warehouse") as source:
    ...     print(source)
    SqlSource(warehouse, sqlite)
    """
    origin = Origin(name=name, spec=spec)
    if isinstance(spec, Database):
        url = source_url(name, spec, folder)
        origin = replace(origin, secrets=(url.password,) if url.password else ())
        source = SqlSource(DatabaseSessions(new_engine(url, origin)), origin)
    else:
        source = _with_extra(spec, folder, origin)
    try:
        with source._reading():
            return source
    except BaseException:
        source.close()
        raise


def together(rows: int) -> int:
    """Return how many windows of at most so many rows one query reads; 0 where one is too large."""
    return min(MOST_TOGETHER, ROWS_TOGETHER // max(rows, 1))


class SqlSource:
    """Scored rows that are read by SQL; made by `open_source`, and safe to share between threads.

    Each call is one read-only session of its own, which sees one state of the source, and raises ConfigError
    or SourceError as `pull` does.
    """

    def __init__(self, sessions: Sessions, origin: Origin) -> None:
        self._sessions = sessions
        self._origin = origin
        self.kind = sessions.kind  # such as ``sqlite``, ``files`` or ``spark``

    @property
    def compares_texts(self) -> bool:
        """True if the source compares times as they are written; the others know what a time is."""
        return self.kind == "sqlite"

    def explain(self, monitor: Monitor) -> dict[str, str]:
        """Return the columns of the monitor's query and their types, if the driver has any; reads no rows."""
        with self.reading(monitor, monitor.reference_period, explains=True) as (_, query, _):
            return {name: type_name(query.backend, code) for name, code in query.types.items()}

    def beyond_reading(self) -> Caveat | None:
        """Return what the account may do besides reading; None for nothing, or if the database hides it."""
        with self._reading() as session:
            return session.beyond_reading()

    def label_counts(self, monitor: Monitor, window: Window, *, as_of: datetime | None = None) -> LabelCounts:
        """Count rows and labels of a window in the database; later labels than `as_of` count as missing."""
        with self.reading(monitor, window, as_of=as_of) as (session, query, _):
            return _label_counts(query, session.labels(query))

    def label_counts_together(
        self, monitor: Monitor, windows: Sequence[Window], *, as_of: datetime | None = None
    ) -> Iterator[tuple[Window, LabelCounts]]:
        """Yield windows with their `label_counts`, in order: side by side by one query, if it allows that."""
        rest = list(windows)
        while rest:
            some, counts = self.side_by_side(monitor, rest), dict[Window, LabelCounts]()
            lines = defaultdict[int, list[Sequence[Any]]](list)
            if len(some) > 1:
                span = Window(some[0].start, some[-1].end)
                together = self.reading(monitor, span, as_of=as_of)
                with suppress(ConfigError, SourceError), together as (session, query, _):
                    query = replace(query, parts=tuple(some))
                    for *line, place in session.labels(query):
                        lines[place].append(line)
                    if 0 not in lines:  # else the query gives rows of other windows
                        counts = {
                            window: _label_counts(query, lines[at]) for at, window in enumerate(some, 1)
                        }
            for window in some:
                yield window, counts.get(window) or self.label_counts(monitor, window, as_of=as_of)
            rest = rest[len(some) :]

    def side_by_side(
        self, monitor: Monitor, windows: Sequence[Window], *, most: int = MOST_TOGETHER
    ) -> Sequence[Window]:
        """Return the first of some windows, and at most `most` in all that follow it without a gap.

        One alone where rows of a span need not be those of its windows: where times are compared as text, or
        the query is not as `rocmonitor.sources.side_by_side` says.
        """
        if self.kind not in _HASHING or not is_divisible(monitor.query, monitor.columns.time):
            return windows[:1]
        pairs = enumerate(pairwise(windows[:most]), 1)
        gap = next((at for at, (one, other) in pairs if one.end != other.start), most)
        return windows[: max(gap, 1)]

    def pull_together(
        self,
        monitor: Monitor,
        windows: Sequence[Window],
        *,
        as_of: datetime | None = None,
        explain: Sequence[str] = (),
        on_progress: Callable[[int], None] = lambda _: None,
    ) -> list[Batch] | None:
        """Read windows `side_by_side` by one query: rows, labels, and the columns that may explain a change.

        Each comes as `pull` gives it with ``count_labels=True``. None where windows must be read one by one:
        not ``grouped: raw`` or ``auto``, another source than files or PostgreSQL, more than 200,000 (or
        ``max_rows``) rows, rows of other windows, or what `pull` tells as an error. At most 200,000 rows are
        held, of at most 50 windows.
        """
        most = min(self._origin.spec.max_rows, ROWS_TOGETHER)
        if self.kind not in _IN_ARROW or monitor.grouped not in ("raw", "auto"):
            return None
        span, several = Window(windows[0].start, windows[-1].end), len(windows) > 1
        together = self.reading(monitor, span, as_of=as_of, explains=bool(explain))
        with suppress(ConfigError, SourceError), together as (session, query, _):
            query = replace(query, parts=tuple(windows))
            statement = query.hashed_rows(most + 1, explain)
            table = session.table(statement, query, explain, lambda: on_progress(0))
            if table is None or len(table) > most or (several and not table.inside.all()):
                return None
            from rocmonitor.sources.arrow import chunk_of

            on_progress(len(table))
            batches = []
            for part in table.cut(len(windows)) if several else [table]:
                counter = RowCounter()
                encoder = Encoder(monitor, counter, query.decimal)
                chunk = chunk_of(part.columns, encoder, part.values)
                chunk.inside, encoder.counter = part.inside > 0, None
                batch = to_batch(
                    [chunk],
                    encoder,
                    monitor,
                    grouped=False,
                    truncated=False,
                    ages=len(query.instants),
                    explain=[part.plain(f"extra_{at}") for at in range(len(explain))],
                )
                self._require_decimal(batch, monitor)
                labels = _label_counts(query, counter.lines())
                batches.append(_with_caveats(replace(batch, labels=labels), session.caveats))
            return batches
        return None

    def explaining(
        self, monitor: Monitor, windows: Sequence[Window], columns: Sequence[str], **how: Any
    ) -> list[Explaining] | None:
        """Return the rows of windows with some columns, as `pull_together` reads them."""
        batches = self.pull_together(monitor, windows, explain=columns, **how)
        return None if batches is None else [batch.explaining for batch in batches if batch.explaining]

    def require_complete(
        self,
        monitor: Monitor,
        read: Mapping[Window, int],
        in_window: Mapping[Window, tuple[int, object, object]] | None = None,
    ) -> None:
        """Require that the query gives each of some windows all of its rows.

        They are counted once over a span that is wider than all windows, as the source compares times: a
        query whose condition compares something else (texts written in two ways, days) loses rows of single
        windows without a word.

        `read` are the rows that were read of each window, without those whose time is outside of it,
        `in_window` what `rows_by_window` said of them, if it was asked. The ConfigError names the first
        window that lacks rows, and its first and last time.
        """
        counted = self.rows_by_window(monitor, sorted(read)) if in_window is None else in_window
        time = monitor.columns.time
        way_out = f"compare {time} itself, as a time, with >= :start and < :end"
        if self.compares_texts:
            way_out = (
                f"SQLite compares them as text; use datetime({time}) in the SELECT and the WHERE, and set "
                f"sources.{monitor.source}.timezone"
            )
        for window, (rows, first, last) in counted.items():
            if rows > read[window]:
                raise ConfigError(
                    f"monitors.{monitor.name}.query: gives {read[window]:,} of the {rows:,} rows of the "
                    f"window {window.in_zone(monitor.timezone)}; their times go from {first} to {last}: "
                    f"{way_out}"
                )

    def rows_by_window(
        self, monitor: Monitor, windows: Sequence[Window]
    ) -> dict[Window, tuple[int, object, object]]:
        """Return the rows of some windows, in order, with first and last time; see `require_complete`."""
        by_window: dict[Window, tuple[int, object, object]] = {}
        for first in range(0, len(windows), _COUNTED_AT_ONCE):
            some = windows[first : first + _COUNTED_AT_ONCE]
            span = Window(some[0].start - _WIDER, some[-1].end + _WIDER)
            with self.reading(monitor, span) as (session, query, _):
                lines = session.lines(query.by_window(some), query)
            by_window |= {
                some[place - 1]: (rows, *times)
                for place, rows, *times in sorted(lines, key=itemgetter(0))
                if place
            }
        return by_window

    def pull(
        self,
        monitor: Monitor,
        window: Window,
        *,
        as_of: datetime | None = None,
        ages: Sequence[timedelta] = (),
        expected_rows: int | None = None,
        count_labels: bool = False,
        compared: bool = True,
        bins: Mapping[str, Sequence[float]] = MappingProxyType({}),
        on_progress: Callable[[int], None] | None = None,
    ) -> Batch:
        """Read a window.

        ``grouped: raw`` reads rows; ``database`` reads groups of equal rows, which the source counts: the
        batch is the same. ``condensed`` reads cells of neighbouring scores (`condensed_error` of
        `rocmonitor.stats` says what that may change). ``auto`` reads rows (of Spark: groups), and when there
        are more than ``max_rows`` cells, or groups where a monitor cannot be condensed. Beside cells the
        rows that two models scored are read (`Rows.pair`); of more than ``max_rows`` so many are drawn at
        random, the same ones each time, and a caveat says so. For reviews (`Monitor.by_rows`) these are all
        that is read of such a window.

        Parameters
        ----------
        as_of: The instant of judging, bound to ``:as_of``. With ``columns.labelled_at``, rows whose label
            became known later count as unlabelled. Left out, all labels count.
        ages: With ``columns.labelled_at`` and `as_of`: increasing ages after the window's end by which the
            labelled rows are divided (`Rows.by_age`), at most 100.
        expected_rows: Rows of the window where they were counted: with more than ``max_rows``, ``auto`` does
            not try to read them first.
        count_labels: Count the labels, too (`Batch.labels`): on the way where possible, else before.
        compared: Otherwise `Rows.pair` is None where rows would have to be read for it beside cells.
        bins: Upper ends of the bins of segment columns that hold numbers.
        on_progress: Called with the number of rows read so far, after each chunk of 50,000.

        Notes
        -----
        A SourceError is transient where the database cannot be reached, is locked or took too long.

        Only the configured columns are read, streamed, and held as 18 bytes a row with a challenger, 17 more
        with ids of whole numbers (25 with others) and 1 for each segment column. PostgreSQL is read by
        ``COPY``. Scores are float64. At most ``max_rows`` rows (or groups) are read; if there are more, the
        batch is marked truncated and has a caveat.

        Rows outside the window, repeats of an id (`rocmonitor.sources.batch.to_batch` says which one is
        kept), bad scores, rows without a label and bad labels are set aside and counted, each once, in this
        order.
        """
        report = on_progress or (lambda _: None)
        with_labels = self._kind_with_labels(monitor) if count_labels else None
        labels: LabelCounts | None = None
        with self._reading(monitor) as session:
            query = prepared(session, monitor, self._origin.spec, window, as_of=as_of, ages=ages)
            query = replace(query, bins=bins)
            by_label = replace(query, instants=query.instants[-1:])  # of all ages together
            if count_labels and with_labels is None:
                labels = _label_counts(by_label, session.labels(by_label))
                expected_rows = labels.rows
                report(0)
            for kind in self._kinds(session, monitor, expected_rows or 0):
                counter = RowCounter() if kind == with_labels else None
                batch = _with_caveats(self._read(session, query, kind, report, counter), session.caveats)
                if not batch.segments[""].counts.truncated:
                    break
            if compared and batch.condensed and monitor.columns.challenger is not None:
                drawn = self._read(session, query, "drawn", report, None)
                notes = tuple(note for note in drawn.segments[""].caveats if note.code == "rows-drawn")
                none = Rows.none(paired=True)
                segments = {
                    name: replace(
                        rows, pair=drawn.segments.get(name, none).pair, caveats=rows.caveats + notes
                    )
                    for name, rows in batch.segments.items()
                }
                digest = sha256(f"{batch.digest} {drawn.digest}".encode()).hexdigest()
                batch = replace(batch, segments=segments, digest=digest)
            if with_labels is not None:
                cut = batch.segments[""].counts.truncated
                lines = session.labels(by_label) if counter is None or cut else counter.lines()
                labels = _label_counts(by_label, lines)
        self._require_decimal(batch, monitor)
        return replace(batch, labels=labels)

    def distinct(self, monitor: Monitor, window: Window, name: str, *, most: int) -> list[Any]:
        """Return the distinct values of a column of the monitor's query, at most `most`."""
        with self.reading(monitor, window) as (session, query, _):
            return [line[0] for line in session.lines(query.values(name, most), query)]

    def quantiles(self, monitor: Monitor, window: Window, name: str, parts: int) -> list[float]:
        """Return the largest number of each of some parts with equally many rows, increasing."""
        with self.reading(monitor, window) as (session, query, _):
            lines = session.lines(query.quantiles(name, parts), query)
        return sorted({float(line[0]) for line in lines})

    @contextmanager
    def reading(
        self, monitor: Monitor, window: Window, *, as_of: datetime | None = None, explains: bool = False
    ) -> Iterator[tuple[Session, Query, Source]]:
        """Open a session with the monitor's query over a window, and the source's limits.

        With `explains`, the query must also give the columns that may explain a change.
        """
        with self._reading(monitor) as session:
            query = prepared(session, monitor, self._origin.spec, window, as_of=as_of, explains=explains)
            yield session, query, self._origin.spec

    def look(
        self, table: str, columns: Sequence[str] = (), *, newest: str | None = None, limit: int
    ) -> pd.DataFrame:
        """Return rows of a table, the newest by a column, for a first look; ConfigError if there is none."""
        with self._reading() as session:
            schema, _, name = table.rpartition(".")
            if not schema and table not in session.tables():
                tables = session.tables(everywhere=True)
                names = ", ".join(tables[:_MOST_NAMED]) + (" …" if len(tables) > _MOST_NAMED else "")
                raise ConfigError(f"--table: there is no table {table}; there are {names or 'none'}")
            wanted: list[Any] = [column(column_name) for column_name in columns] or [literal_column("*")]
            statement = select(*wanted).select_from(sql_table(name, schema=schema or None)).limit(limit)
            return session.rows(statement if newest is None else statement.order_by(column(newest).desc()))

    def quoted(self, names: Iterable[str]) -> dict[str, str]:
        """Return names of columns and tables, quoted where its SQL asks for that."""
        with self._reading() as session:
            return {name: str(session.dialect.identifier_preparer.quote(name)) for name in names}

    def close(self) -> None:
        """Give back what is kept between calls, such as connections."""
        self._sessions.close()

    def __enter__(self) -> SqlSource:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"SqlSource({self._origin.name}, {self.kind})"

    def _require_decimal(self, batch: Batch, monitor: Monitor) -> None:
        """Raise where no score of a window of files is a number, and all have a decimal comma."""
        rows = batch.segments[""]
        if not isinstance(self._origin.spec, Files) or rows.scored:
            return
        shown = [caveat.values["examples"] for caveat in rows.caveats if caveat.code == "text-scores"]
        if shown and all(DECIMAL_COMMA.fullmatch(example) for example in shown[0]):
            raise ConfigError(
                f"{self._origin.key}.decimal: needed, because {monitor.columns.champion} "
                f"(monitors.{monitor.name}.columns.champion) holds {shown[0][0]}; set it to ','"
            )

    @contextmanager
    def _reading(self, monitor: Monitor | None = None) -> Iterator[Session]:
        origin = self._origin if monitor is None else replace(self._origin, monitor=monitor.name)
        with translate_errors(origin), self._sessions.open(origin, monitor) as session:
            yield session

    def _kind_with_labels(self, monitor: Monitor) -> Kind | None:
        """Return what is read where its labels can be counted on the way.

        Rows of SQLite are hashed here anyway; in cells, files and clusters add up checksums.
        """
        if self.kind == "sqlite" and monitor.grouped in ("raw", "auto"):
            return "rows"
        if self.kind in ("files", "spark") and monitor.grouped == "condensed":
            return "cells"
        return None

    def _kinds(self, session: Session, monitor: Monitor, expected_rows: int) -> tuple[Kind, ...]:
        """Return what to read, and what instead where that is truncated."""
        drawn: tuple[Kind, ...] = ("drawn",) if monitor.draws_rows else ()
        match monitor.grouped:
            case "raw":
                return ("rows", *drawn)
            case "database":
                return ("groups", *drawn)
            case "condensed":
                return ("cells",)
        exact: Kind = "groups" if session.backend == "spark" else "rows"  # no rows leave a cluster
        small: Kind = "cells" if monitor.may_condense else "groups"
        if exact == small or expected_rows > self._origin.spec.max_rows:
            return (small, *drawn)
        return (exact, small, *drawn)

    def _read(
        self,
        session: Session,
        query: Query,
        kind: Kind,
        report: Callable[[int], None],
        counter: RowCounter | None,
    ) -> Batch:
        most, all_rows = self._origin.spec.max_rows, 0
        if kind == "drawn":
            all_rows = int(session.first(query.count_comparable(), query.bound))
        statements: dict[Kind, Callable[[int], Select[Any]]] = {
            "rows": query.rows,
            "groups": query.groups,
            "cells": partial(query.cells, sums=counter is not None),
            "drawn": query.drawn if all_rows > most else query.comparable,
        }
        encoder = Encoder(query.monitor, counter, query.decimal)
        chunks: list[Chunk] = []
        cells = rows = 0
        for chunk in session.chunks(statements[kind](most if kind == "drawn" else most + 1), query, encoder):
            cells += len(chunk)
            chunks.append(chunk if cells <= most else chunk.take(slice(len(chunk) - (cells - most))))
            rows += chunks[-1].rows
            report(rows)
        if kind == "cells" and cells > most:
            monitor = query.monitor
            raise ConfigError(  # nothing is judged from some of them
                f"monitors.{monitor.name}.condense: the window has more than sources.{monitor.source}."
                f"max_rows ({most:,}) cells with {monitor.condense.grid}; lower per_unit, drop segments, or "
                "raise max_rows"
            )
        batch = to_batch(
            chunks,
            encoder,
            query.monitor,
            grouped=kind in ("groups", "cells"),
            truncated=cells > most,
            ages=len(query.instants),
        )
        if kind == "cells" and query.monitor.columns.challenger is not None:
            return replace(batch, cells=None)  # they say nothing of the pairs
        if all_rows <= most:
            return batch
        caveat = Caveat("rows-drawn", drawn=cells, rows=all_rows)
        segments = {
            name: replace(rows, caveats=(caveat, *rows.caveats)) for name, rows in batch.segments.items()
        }
        return replace(batch, segments=segments, cells=None)


def _with_caveats(batch: Batch, caveats: tuple[Caveat, ...]) -> Batch:
    if not caveats:
        return batch
    every = batch.segments[""]
    return replace(batch, segments=batch.segments | {"": replace(every, caveats=every.caveats + caveats)})


def _label_counts(query: Query, lines: Sequence[Sequence[Any]]) -> LabelCounts:
    at = 2 if query.instants else 1  # where the number of rows stands: after the label and its arrival
    is_labelled = encoded([line[0] for line in lines], Encoder(query.monitor).label, np.int8) != UNLABELLED
    labelled = [
        line
        for line, is_known in zip(lines, is_labelled, strict=True)
        if is_known and (at == 1 or line[1] != LATER)
    ]
    by_label: Counter[str] = Counter()
    for line in labelled:
        by_label[name_of(line[0])] += line[at]
    codes = encoded([line[0] for line in labelled], Encoder(query.monitor).label, np.int8)
    rows = np.array([line[at] for line in labelled], dtype=np.int64)
    # Of a float only nine digits count: its last ones depend on the order in which the database adds.
    texts = sorted(
        "|".join(
            f"{value:.9g}" if isinstance(value, float) else str(value) for value in (name_of(label), *rest)
        )
        for label, *rest in labelled
    )
    return LabelCounts(
        rows=sum(line[at] for line in lines),
        labelled=sum(by_label.values()),
        by_label=dict(sorted(by_label.items())),
        n_pos=int(rows[codes == POSITIVE].sum()),
        n_neg=int(rows[codes == NEGATIVE].sum()),
        digest=sha256("\n".join(texts).encode()).hexdigest()[:32] if texts else "",
    )


def _with_extra(spec: Files | Spark, folder: Path, origin: Origin) -> SqlSource:
    extra = "duckdb" if isinstance(spec, Files) else "spark"
    try:
        if isinstance(spec, Files):
            from rocmonitor.sources.lake import Lake

            return SqlSource(Lake(spec, folder), origin)
        import pyspark.sql  # noqa: F401 to say at once that it is missing

        from rocmonitor.sources.cluster import Cluster, secrets_of
    except ModuleNotFoundError as error:
        raise SourceError(
            f"{origin.where_key}: needs the Python package {error.name}: pip install 'rocmonitor[{extra}]'",
            transient=False,
        ) from None
    try:
        address = spec.read(folder)
    except ConfigError as error:
        raise ConfigError(f"{origin.key}.{error}") from None
    return SqlSource(Cluster(spec, address), replace(origin, secrets=secrets_of(address)))
