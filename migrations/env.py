"""How Alembic runs the migrations: on the connection that rocmonitor gives, else on one of its own.

On the command line:

    alembic -c pyproject.toml -x url=sqlite:///rocmonitor.db check

Without ``-x url=…``: the environment variable ROCMONITOR_STORE_URL, else rocmonitor.db in the current folder.
"""

import os

from alembic import context
from sqlalchemy import Connection

from rocmonitor.store.connection import connect
from rocmonitor.store.migrate import OPTIONS


def migrate(connection: Connection) -> None:
    context.configure(connection=connection, **OPTIONS)
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    default = os.environ.get("ROCMONITOR_STORE_URL") or "sqlite:///rocmonitor.db"
    url = context.get_x_argument(as_dictionary=True).get("url", default)
    with connect(url) as store, store.writing() as own:
        migrate(own)
