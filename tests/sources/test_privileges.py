"""What a source's account may do besides reading: real accounts of real databases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from scored import opened, writing
from sqlalchemy import make_url, text

from rocmonitor.caveat import Caveat
from rocmonitor.sources.database import granted
from rocmonitor.wording.caveats import words_of


@contextmanager
def account(url: str, *grants: str, host: str = "") -> Iterator[str]:
    """A URL of the same database with an account that has these grants alone."""
    name = f"rocmonitor_{uuid4().hex[:12]}"
    who = f"{name}{host}"
    how = "IDENTIFIED BY" if host else "LOGIN PASSWORD"
    with writing(url) as connection:
        connection.execute(text(f"CREATE {'USER' if host else 'ROLE'} {who} {how} 'secret'"))
        for grant in grants:
            connection.execute(text(grant.format(who)))
    try:
        yield make_url(url).set(username=name, password="secret").render_as_string(hide_password=False)
    finally:
        with writing(url) as connection:
            if not host:
                connection.execute(text(f"DROP OWNED BY {who}"))
            connection.execute(text(f"DROP {'USER' if host else 'ROLE'} {who}"))


def found(url: str) -> Caveat | None:
    with opened(url) as source:
        return source.beyond_reading()


@pytest.fixture
def postgres(postgres_url: str) -> str:
    with writing(postgres_url) as connection:
        connection.execute(text("REVOKE CREATE ON SCHEMA public FROM PUBLIC"))  # as from version 15 on
        connection.execute(text("CREATE TABLE scored (id int, score float8)"))
        connection.execute(text('CREATE TABLE "Other" (id int)'))
    return postgres_url


def test_a_superuser_of_postgresql(postgres: str) -> None:
    caveat = found(postgres)
    assert caveat is not None
    assert caveat == Caveat("account-superuser", account="postgres")
    assert "GRANT SELECT ON" in words_of(caveat)


@pytest.mark.parametrize(
    ("grant", "may"),
    [
        (None, None),
        ("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {}", None),
        ("GRANT INSERT ON scored TO {}", {"write": ["public.scored"]}),
        ("GRANT UPDATE (score) ON scored TO {}", {"write": ["public.scored"]}),
        ("GRANT DELETE ON ALL TABLES IN SCHEMA public TO {}", {"write": ['public."Other"', "public.scored"]}),
        ("GRANT CREATE ON SCHEMA public TO {}", {"create": ["SCHEMA public"]}),
        ("GRANT pg_read_server_files TO {}", {"role": ["pg_read_server_files"]}),
        ("GRANT EXECUTE ON FUNCTION pg_read_file(text) TO {}", {"call": ["pg_read_file"]}),
    ],
)
@pytest.mark.slow
def test_an_account_of_postgresql(postgres: str, grant: str | None, may: dict[str, list[str]] | None) -> None:
    with account(postgres, *([grant] if grant else [])) as url:
        caveat = found(url)
    assert (None if caveat is None else caveat.values["may"]) == may


def test_everybody_may_call_dblink_once_it_is_installed(postgres: str) -> None:
    with writing(postgres) as connection:
        connection.execute(text("CREATE EXTENSION dblink"))
    with account(postgres) as url:
        caveat = found(url)
    assert caveat is not None
    assert "dblink_exec" in caveat.values["may"]["call"]
    assert "FROM PUBLIC" in words_of(caveat)


def test_an_account_of_mariadb(mariadb_url: str) -> None:
    database = make_url(mariadb_url).database
    owner = found(mariadb_url)
    assert owner is not None
    assert "ALL PRIVILEGES on *.*" in owner.values["grants"]
    for rights, more in (
        ("SELECT", None),
        ("SELECT, INSERT", [f"INSERT on `{database}`.*"]),
        ("EXECUTE", [f"EXECUTE on `{database}`.*"]),
    ):
        with account(mariadb_url, f"GRANT {rights} ON {database}.* TO {{}}", host="@'127.0.0.1'") as url:
            caveat = found(url)
        assert (None if caveat is None else caveat.values["grants"]) == more


def test_grants_that_apply_everywhere_and_to_columns() -> None:
    lines = [
        "GRANT FILE, SUPER ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD '*SECRET'",
        "GRANT `readers` TO `a`@`%`",
        "GRANT SELECT (a, b), UPDATE (a) ON `d`.`t` TO `a`@`%` WITH GRANT OPTION",
    ]
    assert granted(lines) == ["FILE on *.*", "SUPER on *.*", "UPDATE on `d`.`t`", "GRANT OPTION on `d`.`t`"]


def test_a_sqlite_file_is_opened_for_reading_only(sqlite_url: str) -> None:
    with writing(sqlite_url) as connection:
        connection.execute(text("CREATE TABLE scored (id)"))
    assert found(sqlite_url) is None
