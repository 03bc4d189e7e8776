"""The page inside the MLflow server: ``mlflow server --app-name rocmonitor``, or ``rocmonitor-basic-auth``.

MLflow calls one of these functions in each worker. The blueprint is part of MLflow's own Flask application,
so that its check of hosts and, with ``rocmonitor-basic-auth``, its log-in cover these pages.
"""

from __future__ import annotations

import os
from functools import partial
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

    MLflow shows the pages to its administrators, and with ``MLFLOW_BASIC_AUTH_FAIL_CLOSED=false`` to all
    users; buttons are for those who may change the monitor's experiment.
    """
    from mlflow.server.auth import create_app as behind_log_in

    return behind_log_in(_with_pages())


def _with_pages() -> Any:
    from mlflow.server import app as flask_app
    from mlflow.server.handlers import _add_static_prefix

    from rocmonitor.web.pages import blueprint
    from rocmonitor.web.site import Site

    site = Site(path=Path(os.environ.get("ROCMONITOR_CONFIG", "rocmonitor.yaml")))
    permit = partial(_permit, flask_app, _add_static_prefix("/api/2.0/mlflow/experiments/update"))
    flask_app.register_blueprint(blueprint(site, _add_static_prefix("/rocmonitor"), permit))
    return flask_app


def _permit(flask_app: Any, update: str, monitor: str) -> str | None:
    """Return the user's name if MLflow would let this request change the monitor's experiment."""
    from mlflow.exceptions import MlflowException
    from mlflow.server.handlers import _get_tracking_store

    from rocmonitor.tracking.content import experiment_name
    from rocmonitor.web.actions import name_if_accepted

    tracking: Any = _get_tracking_store()
    try:
        experiment = tracking.get_experiment_by_name(experiment_name(monitor))
        asked = {"experiment_id": "" if experiment is None else experiment.experiment_id}
        return name_if_accepted(flask_app, update, asked)
    except MlflowException:
        return None
