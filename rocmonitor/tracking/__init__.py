"""MLflow, as a projection of the store that can be rebuilt from it at any time; the only importer of mlflow.

One experiment per monitor, ``rocmonitor/<monitor>``; one **window** run per window and revision; one
**series** run per segment for the line charts. Importing this does not import mlflow: connecting does.
"""

from __future__ import annotations

from pathlib import Path

from rocmonitor.tracking import access
from rocmonitor.tracking.access import require_made
from rocmonitor.tracking.projection import Tracking

__all__ = ["Tracking", "connect", "require_made"]

_SERVERS = ("http://", "https://", "databricks", "uc:")


def connect(uri: str, folder: Path, *, page: str | None = None, own_page: str | None = None) -> Tracking:
    """Open MLflow.

    Sets, for this process and where the user has not, MLflow's environment variables for one retry, a 10 s
    timeout, no telemetry, and nothing printed to stdout. A server is not contacted yet, so this succeeds
    while it is down; a SQLite database that does not exist is created, which takes some seconds.

    The URI is of a server (``http://…``) or a database (``sqlite:///…``); without a server files go to
    ``folder/mlartifacts/<monitor>``. People open MLflow at `page`, by default the URI of a server without a
    path, and rocmonitor's pages at `own_page`: runs and experiments link to both.
    """
    return Tracking(
        client=access.open_client(uri),
        uri=uri,
        files=None if uri.startswith(_SERVERS) else folder.absolute() / "mlartifacts",
        page=page or (uri if access.has_page(uri) else None),
        own_page=own_page,
    )
