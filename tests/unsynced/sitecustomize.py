"""For the processes that tests start: SQLite need not wait for the disk, as ``environment.py`` has it.

Python imports this by itself when it starts with the folder on its path.
"""

import sqlite3.dbapi2
from contextlib import suppress
from typing import Any

_connect = sqlite3.dbapi2.connect


def _without_waiting(*arguments: Any, **options: Any) -> sqlite3.Connection:
    connection = _connect(*arguments, **options)
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA synchronous = OFF")
    return connection


sqlite3.connect = sqlite3.dbapi2.connect = _without_waiting
