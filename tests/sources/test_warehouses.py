"""Warehouses: their SQLAlchemy dialects compile every statement. No server of theirs is here to run one.

`make test-warehouses` installs the dialects; elsewhere they are skipped.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from warnings import catch_warnings

import pytest
from scored import WEEK, monitor
from sqlalchemy import BindParameter, Select
from sqlalchemy.dialects import registry
from sqlalchemy.exc import NoSuchModuleError
from sqlalchemy.sql.visitors import iterate

from rocmonitor.sources.clock import Clock
from rocmonitor.sources.query import Query

WAREHOUSES = ("bigquery", "snowflake", "databricks", "trino", "redshift", "clickhousedb")
COLUMNS = {"time": "scored_at", "champion": "p1", "label": "defaulted"}
TWO = COLUMNS | {"challenger": "p2"}
WITH_ID = COLUMNS | {"id": "loan_id"}
KNOWN = WITH_ID | {"labelled_at": "known_at"}


@pytest.fixture(params=WAREHOUSES)
def dialect(request: pytest.FixtureRequest) -> Any:
    """The dialect, as SQLAlchemy finds it by the name in a URL."""
    try:
        with catch_warnings(action="ignore"):  # theirs, of each other's packages
            return registry.load(request.param)()
    except (NoSuchModuleError, ImportError):
        pytest.skip(f"the SQLAlchemy dialect of {request.param} is not installed: `make test-warehouses`")


def asked(backend: str, **changes: Any) -> Query:
    watched = monitor(**changes)
    names = [*(name for _, name in watched.columns if name is not None), *watched.segments]
    known = watched.columns.labelled_at is not None
    return Query(
        monitor=watched,
        window=WEEK,
        backend=backend,
        types=dict.fromkeys(names),
        clock=Clock(None),
        bound={"start": WEEK.start, "end": WEEK.end},
        known_clock=Clock(None) if known else None,
        instants=(WEEK.end + timedelta(days=7), WEEK.end + timedelta(days=14)) if known else (),
    )


def statements(query: Query) -> dict[str, Select[Any]]:
    found = {"rows": query.rows(11), "groups": query.groups(11), "labels": query.labels()}
    if query.monitor.columns.challenger is not None:
        found |= {"comparable": query.comparable(11), "count": query.count_comparable()}
        found |= {"drawn": query.drawn(11)}
    return found | ({"cells": query.cells(11)} if query.monitor.may_condense else {})


def every(backend: str) -> list[Select[Any]]:
    """All statements of monitors that have one or two models, ids, instants of labels, and each grid."""
    monitors: list[dict[str, Any]] = [
        {},
        {"segments": [], "columns": COLUMNS, "grouped": "condensed", "condense": {"scale": "linear"}},
        {"columns": WITH_ID, "grouped": "condensed"},
        {"columns": KNOWN, "grouped": "condensed"},
        {"columns": TWO, "grouped": "condensed", "operating_points": {"thresholds": [0.3, 0.5]}},
    ]
    return [each for changes in monitors for each in statements(asked(backend, **changes)).values()]


def test_every_statement_compiles(dialect: Any) -> None:
    for statement in every(dialect.name):
        written = str(statement.compile(dialect=dialect))
        assert "rocmonitor_rows" in written
        assert "None" not in written


def test_cells_are_a_group_by_with_both_ends(dialect: Any) -> None:
    written = str(
        asked(dialect.name, columns=WITH_ID, grouped="condensed").cells(11).compile(dialect=dialect)
    )
    chosen, _, grouped = written.lower().partition("group by")
    assert "floor(ln(" in grouped
    for aggregate in ("min(", "max(", "count(*)"):
        assert aggregate in chosen


@pytest.mark.parametrize("backend", ["postgresql", "mariadb", "duckdb", "spark", "trino"])
def test_nothing_is_grouped_by_an_expression_with_bound_values(backend: str) -> None:
    """Engines that bind each ``?`` by itself take two such expressions for different ones."""
    grouped = [each for statement in every(backend) for each in statement._group_by_clauses]
    assert grouped
    assert not [each for key in grouped for each in iterate(key) if isinstance(each, BindParameter)]
