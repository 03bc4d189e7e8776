"""The schema of rocmonitor's own database: bringing it to the newest version, and checking that it is there.

Forwards only: to go back, restore the backup. Alembic works without its ini file here; its scripts lie in
``migrations``, beside the package in a checkout and inside it once installed. The version is kept in a table
of our own, for the database may be shared with MLflow, which uses Alembic too. Alembic is slow to import:
opening a store reads the version without it.
"""

from __future__ import annotations

import shutil
import stat
import weakref
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Literal

from sqlalchemy import Column, MetaData, String, Table, inspect, select

from rocmonitor.errors import StoreError
from rocmonitor.store.connection import Store, connect, shown, sqlite_file
from rocmonitor.store.saving import instance_id
from rocmonitor.store.tables import PREFIX, Instant, Packed, Plain, metadata

NEWEST = "0001"
"""The version that this program needs: the last file in ``migrations/versions``."""

_UPGRADE_LOCK = 7_626_637  # any number that no other program takes


def _ours(name: str | None, kind: str, parents: object) -> bool:  # noqa: ARG001
    return kind != "table" or (name or "").startswith(PREFIX)


def _rendered(kind: str, item: object, _: object) -> str | Literal[False]:
    """Return how our types are written in a migration, which must not change when they do."""
    if kind == "type" and isinstance(item, Instant):
        return "sa.DateTime(timezone=True)"
    if kind == "type" and isinstance(item, Plain):
        return "sa.JSON()"
    if kind == "type" and isinstance(item, Packed):
        return "sa.LargeBinary()"
    return False


# What migrations/env.py and the check here give to Alembic: others' tables are not even looked at.
OPTIONS: dict[str, Any] = {
    "version_table": PREFIX + "alembic_version",
    "target_metadata": metadata,
    "include_name": _ours,
    "render_item": _rendered,
    "render_as_batch": True,
}


def open_store(url: str, *, make: bool = True) -> Store:
    """Open the database at `url`, ready for use.

    The tables are made in a SQLite file that is absent or empty. Without `make` an empty database in a
    temporary folder stands in for it, and nothing is made beside the configuration.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rocmonitor.store import instance_id
    >>> with TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/rocmonitor.db") as store:
    ...     len(instance_id(store))
    36
    """
    if not make and is_made_by_opening(url):
        folder = mkdtemp(prefix="rocmonitor-")  # deleted with the store, or at the end of the process
        try:
            store = replace(open_store(f"sqlite:///{folder}/empty.db"), stands_in=True)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        weakref.finalize(store.engine, shutil.rmtree, folder, ignore_errors=True)
        return store

    store = connect(url)
    try:
        if _is_empty(store):
            _upgrade(store)
        else:
            _require_newest(store)
    except BaseException:
        store.close()
        raise
    return store


def upgrade(url: str) -> None:
    """Bring the database to the newest version, in one transaction; a repeat does nothing."""
    with connect(url) as store:
        _upgrade(store)


def check(url: str) -> None:
    """See that the database is at the newest version and its tables are what the program takes them for."""
    from alembic.autogenerate import compare_metadata
    from alembic.runtime.migration import MigrationContext

    with connect(url) as store:
        file = sqlite_file(store.engine.url)
        if file is not None and not file.exists():  # looking at it would make it
            raise StoreError(
                f"store {shown(store.engine.url)}: does not exist; run `rocmonitor db upgrade`",
                transient=False,
            )
        _require_newest(store)
        with store.reading() as connection:
            differences = compare_metadata(MigrationContext.configure(connection, opts=OPTIONS), metadata)
        if differences:
            raise StoreError(
                f"store {shown(store.engine.url)}: its tables were changed by hand; the differences are "
                f"{differences}",
                transient=False,
            )


def is_made_by_opening(url: str) -> bool:
    """Return True if `open_store` makes the tables by itself: in a SQLite file that is absent or empty."""
    with connect(url) as store:
        file = sqlite_file(store.engine.url)
        return (file is not None and not file.exists()) or _is_empty(store)


def read_by_everybody(url: str) -> Path | None:
    """Return the SQLite file, if every user of this machine may read it, as an old or a copied one."""
    with connect(url) as store:
        file = sqlite_file(store.engine.url)
    return file if file is not None and file.exists() and file.stat().st_mode & stat.S_IROTH else None


def _upgrade(store: Store) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    package, config = Path(__file__).parents[1], Config()
    installed = package / "migrations"
    folder = installed if installed.is_dir() else package.parent / "migrations"
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    with store.writing(patiently=True) as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_UPGRADE_LOCK})")
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise StoreError(
                f"store {shown(store.engine.url)}: {error}; a newer rocmonitor made it: install that one",
                transient=False,
            ) from error
    instance_id(store)  # from now on copies of the store are the same one


def _is_empty(store: Store) -> bool:
    with store.reading() as connection:
        return store.engine.dialect.name == "sqlite" and not inspect(connection).get_table_names()


def _require_newest(store: Store) -> None:
    revisions = _versions(store)
    if revisions == (NEWEST,):
        return
    versions = f"its schema is {', '.join(revisions) or 'not there'}, this program needs {NEWEST}"
    newer = any(version > NEWEST for version in revisions)  # they are numbered in order
    way_out = "a newer rocmonitor made it: install that one" if newer else "run `rocmonitor db upgrade`"
    raise StoreError(f"store {shown(store.engine.url)}: {versions}; {way_out}", transient=False)


def schema_version(store: Store) -> str:
    """Return the version of the schema now: another process may have upgraded it."""
    return ", ".join(_versions(store))


def _versions(store: Store) -> tuple[str, ...]:
    """Return the version of the schema; none where there are no tables yet."""
    table = Table(OPTIONS["version_table"], MetaData(), Column("version_num", String))
    with store.reading() as connection:
        if not inspect(connection).has_table(table.name):
            return ()
        return tuple(connection.scalars(select(table.c.version_num)))
