"""The page inside the MLflow server: ``mlflow server --app-name rocmonitor``, or ``rocmonitor-basic-auth``.

MLflow calls one of these functions in each worker. The blueprint is part of MLflow's own Flask application,
so that its check of hosts and, with ``rocmonitor-basic-auth``, its log-in cover these pages.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def create_app() -> Any:
    """MLflow's application with our pages under ``/rocmonitor/``, behind its static prefix.

    The configuration is ``rocmonitor.yaml``, or the file that ``ROCMONITOR_CONFIG`` names; without it MLflow
    works as ever, and our pages say what is missing.
    """
    flask_app = _with_pages()
    # The server's default, uvicorn, takes an ASGI application; the others take Flask's.
    if os.environ.get("_MLFLOW_SGI_NAME") == "uvicorn":
        from mlflow.server.fastapi_app import create_fastapi_app

        return create_fastapi_app(flask_app)
    return flask_app


def create_app_with_basic_auth() -> Any:
    """Return the same behind the users and passwords of MLflow's own ``basic-auth``, which it replaces.

    Whoever has logged in may see the pages; MLflow's permissions on experiments are not asked.
    """
    from mlflow.server.auth import create_app as behind_log_in

    return behind_log_in(_with_pages())


def _with_pages() -> Any:
    from mlflow.server import app as flask_app
    from mlflow.server.handlers import _add_static_prefix

    from rocmonitor.web.pages import blueprint
    from rocmonitor.web.site import Site

    site = Site(path=Path(os.environ.get("ROCMONITOR_CONFIG", "rocmonitor.yaml")))
    flask_app.register_blueprint(blueprint(site, _add_static_prefix("/rocmonitor")))
    return flask_app
