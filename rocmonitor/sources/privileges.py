"""What a source's account may do besides reading."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sqlalchemy import Connection, text

from rocmonitor.caveat import Caveat

_POSTGRES_ROLES = (
    "pg_execute_server_program",
    "pg_read_server_files",
    "pg_write_server_files",
    "pg_write_all_data",
)
_POSTGRES_HAS_ROLES = text(
    "SELECT rolname::text FROM pg_roles WHERE rolname = ANY(:roles) AND pg_has_role(oid, 'USAGE') ORDER BY 1"
)
_POSTGRES_TABLES = text(
    """
    SELECT format('%I.%I', nspname, relname) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
    WHERE relkind IN ('r', 'p', 'v', 'f') AND nspname !~ '^pg_' AND nspname <> 'information_schema'
      AND (
        has_table_privilege(c.oid, 'DELETE, TRUNCATE') OR has_any_column_privilege(c.oid, 'INSERT, UPDATE')
      )
    ORDER BY 1
    """
)
_POSTGRES_CREATE = text(
    """
    SELECT format('SCHEMA %I', nspname) FROM pg_namespace
    WHERE nspname !~ '^pg_' AND has_schema_privilege(oid, 'CREATE')
    UNION ALL SELECT format('DATABASE %I', current_database())
    WHERE has_database_privilege(current_database(), 'CREATE') ORDER BY 1
    """
)
# Everybody may call lo_create and its like: the configuration refuses them by name.
_POSTGRES_FUNCTIONS = text(
    """
    SELECT DISTINCT proname::text FROM pg_proc
    WHERE proname ~ '^(dblink(_.*)?|lo_import|lo_export|pg_read_(binary_)?file|pg_file_write)$'
      AND has_function_privilege(oid, 'EXECUTE') ORDER BY 1
    """
)
_READERS_GRANTS = frozenset({"USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES", "PROCESS", "LOCK TABLES"})


def beyond_reading(connection: Connection) -> Caveat | None:
    """What the account of a connection may do besides reading; None where it is nothing, or cannot be known.

    SQLite is no question of accounts: its files are opened for reading only.

    Notes
    -----
    A few queries of the catalogue on PostgreSQL, ``SHOW GRANTS`` on MariaDB and MySQL.
    """
    match connection.dialect.name:
        case "postgresql":
            return _postgres(connection)
        case "mysql" | "mariadb":
            return _mysql(connection)
        case _:
            return None


def _postgres(connection: Connection) -> Caveat | None:
    who = text("SELECT current_user::text, rolsuper FROM pg_roles WHERE rolname = current_user")
    account, superuser = connection.execute(who).one()
    if superuser:
        return Caveat("account-superuser", account=account)
    may = {
        "role": connection.execute(_POSTGRES_HAS_ROLES, {"roles": list(_POSTGRES_ROLES)}).scalars().all(),
        "write": connection.execute(_POSTGRES_TABLES).scalars().all(),
        "create": connection.execute(_POSTGRES_CREATE).scalars().all(),
        "call": connection.execute(_POSTGRES_FUNCTIONS).scalars().all(),
    }
    found = {kind: list(names) for kind, names in may.items() if names}
    return Caveat("account-may-write", account=account, may=found) if found else None


def _mysql(connection: Connection) -> Caveat | None:
    account = str(connection.exec_driver_sql("SELECT CURRENT_USER()").scalar_one())
    grants = [str(line) for line in connection.exec_driver_sql("SHOW GRANTS").scalars()]
    more = granted(grants)
    return Caveat("account-has-grants", account=account, grants=more) if more else None


def granted(grants: Iterable[str]) -> list[str]:
    """Of the lines of ``SHOW GRANTS``, what is more than a reader needs, each once.

    Examples
    --------
    >>> granted(["GRANT USAGE ON *.* TO `a`@`%`", "GRANT SELECT, INSERT (x, y) ON `d`.* TO `a`@`%`"])
    ['INSERT on `d`.*']
    """
    may = []
    for line in grants:
        found = re.match(r"GRANT (.+?) ON (.+?) TO ", line)
        if found is None:  # membership of a role, whose own grants have lines of their own
            continue
        names = [name.strip() for name in re.sub(r"\([^)]*\)", "", found[1]).split(",")]
        may += [f"{name} on {found[2]}" for name in names if name not in _READERS_GRANTS]
        if line.rstrip().endswith("WITH GRANT OPTION"):
            may.append(f"GRANT OPTION on {found[2]}")
    return list(dict.fromkeys(may))
