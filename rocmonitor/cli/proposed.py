"""The configuration that ``rocmonitor init --url`` writes for a table."""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from typing import Any

import click
import yaml
from pydantic import ValidationError

from rocmonitor.cli.terminal import shown_progress
from rocmonitor.config import Database, Files
from rocmonitor.config.values import beside
from rocmonitor.errors import ConfigError, SourceError
from rocmonitor.wording.format import percent

_FEW, _MOST = 20_000, 1_000_000
"""Rows for a guess of the columns, and the newest rows for windows and reference."""
_TRIED = 2**24
"""Bytes of a text file that tell its encoding."""
_SQLITE = b"SQLite format 3\0"
_VARIABLE = "ROCMONITOR_SOURCE_URL"
_SQLITE_FILE = "sqlite:///"
_QUOTED = re.compile(r"""(?<![^.])["`[]([^."`[\]]+)["`\]](?![^.])""")
"""A part of a table's name in the quotes of SQL."""
_PATTERN = re.compile(r"[*?[]")
_REMOTE = ("s3://", "gs://", "gcs://", "r2://", "az://", "abfss://", "https://")


def proposed(path: Path, url: str, table: str | None, given: Mapping[str, str]) -> tuple[str, str]:
    """Return a configuration for a table, to be at `path`, and what to do before `check`.

    The URL is SQLAlchemy's, or the path of files, from the current folder. The table may have SQL's quotes,
    as in ``risk."Loan Scores"``. `given` are columns that are known, by role.
    """
    # Half a second that no other command has to wait.
    from jinja2 import Environment

    from rocmonitor.service.proposing import find_roles, propose, some_text
    from rocmonitor.sources import open_source

    folder = path.resolve().parent
    spec, section = _source(url, folder)
    if table is None and isinstance(spec, Database):
        raise click.UsageError("--table: which table of the database? Name it, or schema.table")
    table = _QUOTED.sub(r"\1", table or "scored")
    with open_source(spec, folder, name="data") as source, shown_progress() as progress:
        progress(f"looking at {table}")
        some = source.look(table, limit=_FEW)
        roles = find_roles(some, given, choose=_choose)
        progress(f"reading the newest rows of {table}")
        rows = source.look(table, roles.columns, newest=roles.time, limit=_MOST)
        names = (*roles.columns, *table.split("."))
        if odd := [name for name in names if not name.isprintable()]:
            raise ConfigError(f"{odd[0]!r}: names with line breaks or control characters need a view")
        # In a query :name is a parameter.
        quoted = {name: text.replace(":", "\\:") for name, text in source.quoted(names).items()}
    proposal = propose(rows, roles, datetime.now(UTC))
    if proposal.zone_known and isinstance(spec, Database) and isinstance(rows[roles.time].iloc[0], str):
        raise ConfigError(
            f"{roles.time}: holds times with an offset as text, which a database compares so: make a view "
            f"with datetime({roles.time}), and name it with --table"
        )
    form = (roles.date_format or "").replace(":", "\\:") if isinstance(spec, Files) else ""
    casts = {}
    if _needs_casts(spec, url, folder):
        textual = [name for name in (roles.time, roles.labelled_at) if name and some_text(rows[name])]
        casts = {name: _as_time(quoted[name], form, zoned=proposal.zone_known) for name in textual}
    texts = {"decimal": roles.decimal, "date_format": None if casts else roles.date_format}
    chosen = quoted | {name: f"{cast} AS {quoted[name]}" for name, cast in casts.items()}
    columns = {
        "id": roles.id,
        "time": roles.time,
        "champion": roles.score,
        "challenger": roles.challenger,
        "label": roles.label,
        "labelled_at": roles.labelled_at,
        "explain": list(roles.explain) or None,
    }
    environment = Environment(trim_blocks=True, keep_trailing_newline=True)
    environment.filters |= {"yaml": _yaml, "percent": percent}
    template = files("rocmonitor.cli").joinpath("templates", "proposed.yaml.j2").read_text(encoding="utf-8")
    text = environment.from_string(template).render(
        proposal=proposal,
        newest=len(rows) == _MOST,
        table=table,
        source=section | {key: value for key, value in texts.items() if value is not None},
        name=_name(spec, table, folder),
        select=", ".join(chosen[name] for name in roles.columns),
        quoted_table=".".join(quoted[name] for name in table.split(".")),
        quoted_time=casts.get(roles.time, quoted[roles.time]),
        columns={role: name for role, name in columns.items() if name is not None},
        unused=[name for name in some.columns if name not in roles.columns and name.isprintable()],
    )
    secret = f"set {_VARIABLE} to the URL, " if "url_env" in section else ""
    return text, f"{secret}look through it, then run"


def _source(url: str, folder: Path) -> tuple[Database | Files, dict[str, str]]:
    """Return a source and its section, which holds no password: that is in an environment variable."""
    if "://" not in url or url.startswith(_REMOTE):
        with suppress(OSError), Path(url).open("rb") as file:
            if file.read(len(_SQLITE)) == _SQLITE:
                raise click.UsageError(
                    f"--url: {url} is an SQLite database: sqlite:///{url}, and name its --table"
                )
        url = url if url.startswith(_REMOTE) else _from(folder, url)
        usual = _is_utf8(url, folder)
        try:
            spec = Files(path=url, encoding="utf-8" if usual else "latin-1")
            return spec, {"kind": "files", "path": url} | ({} if usual else {"encoding": spec.encoding})
        except ValidationError:
            raise ConfigError(
                "--url: holds a login or a token; leave it out: DuckDB keeps one with "
                "CREATE PERSISTENT SECRET"
            ) from None
    if beside(url, folder) != url:  # a relative file
        url = _SQLITE_FILE + _from(folder, url.removeprefix(_SQLITE_FILE))
    try:
        return Database(url=url), {"url": url}
    except ValidationError:
        os.environ[_VARIABLE] = url
        return Database(url_env=_VARIABLE), {"url_env": _VARIABLE}


def _from(folder: Path, place: str) -> str:
    """Return a path that was typed here as it is read from the folder: relative if it is below."""
    whole = Path(os.path.abspath(place))
    return (whole.relative_to(folder) if whole.is_relative_to(folder) else whole).as_posix()


def _is_utf8(path: str, folder: Path) -> bool:
    """Return False if a text file, or the first of several, is in another encoding.

    Its lines with an accent are left out else, and columns may look empty without them.
    """
    from rocmonitor.sources.folder import find

    with suppress(OSError, SourceError):  # what is wrong with the files is said when they are read
        first = find(path, folder, "path", lambda _: ()).names[0]
        if not first.lower().endswith((".csv", ".tsv")):
            return True
        with open(first, "rb") as file:
            start = file.read(_TRIED)
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # UTF-16 says so itself
            return True
        try:
            codecs.getincrementaldecoder("utf-8")().decode(start)
        except UnicodeDecodeError:
            return False
    return True


def _needs_casts(spec: Database | Files, url: str, folder: Path) -> bool:
    """Return True if the engine compares no text with a time: CSV, SQLite and MariaDB are read so anyway."""
    if isinstance(spec, Database):
        return url.startswith("postgres")
    from rocmonitor.sources.folder import kind_of  # start-up, as above

    return kind_of(spec.path, folder) not in (None, "csv")


def _as_time(name: str, form: str, *, zoned: bool) -> str:
    if form:
        return f"strptime({name}, '{form}')"
    return f"CAST({name} AS {'TIMESTAMP WITH TIME ZONE' if zoned else 'TIMESTAMP'})"


def _choose(role: str, candidates: Sequence[str]) -> str | None:
    if not sys.stdin.isatty():
        return None
    chosen: str = click.prompt(f"Which column is the {role}?", type=click.Choice(list(candidates)), err=True)
    return chosen


def _name(spec: Database | Files, table: str, folder: Path) -> str:
    """Return a name for the monitor: that of the table, the file, or the last folder before a pattern."""
    name = table.rpartition(".")[2]
    if isinstance(spec, Files):
        parts = (folder / spec.path).parts
        fixed = list(takewhile(lambda part: not _PATTERN.search(part), parts))
        name = Path(fixed[-1]).stem if len(fixed) == len(parts) else fixed[-1]
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-") or "model"


def _yaml(value: Any) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=1000)
    return text.strip().removesuffix("...").strip()
