"""The demo's models in MLflow: registered under one name, found by alias."""

from __future__ import annotations

import logging
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import mlflow.sklearn
from sklearn.pipeline import Pipeline

from rocmonitor.tracking import Tracking, access

_PACKAGES = ("scikit-learn", "numpy", "pandas", "cloudpickle")


def registered(tracking: Tracking, name: str) -> set[str]:
    """The aliases that the registered model has; none when there is no such model."""
    with access.translate_errors(tracking.uri, f"looking up {name}"):
        found = tracking.client.search_registered_models(f"name = '{name}'")
        return {alias for model in found for alias in model.aliases}


def register(tracking: Tracking, name: str, alias: str, model: Pipeline) -> str:
    """Make the next version of the registered model and give it the alias.

    Returns
    -------
    str
        The version.

    Raises
    ------
    TrackingError
    """
    client = tracking.client
    with (
        access.translate_errors(tracking.uri, f"registering {name}@{alias}"),
        TemporaryDirectory() as scratch,
    ):
        run = client.create_run(_experiment(tracking, name), run_name=alias).info.run_id
        path = Path(scratch) / "model"
        _save(model, path)
        client.log_artifacts(run, str(path), "model")
        client.log_param(run, "model", type(model[-1]).__name__)
        client.set_terminated(run)
        if not client.search_registered_models(f"name = '{name}'"):
            client.create_registered_model(name)
        made = client.create_model_version(name, f"runs:/{run}/model", run)
        client.set_registered_model_alias(name, alias, made.version)
        return str(made.version)


def _save(model: Pipeline, path: Path) -> None:
    # MLflow warns of pickles from strangers. This one is our own, and MLflow warns again whoever loads it.
    logging.getLogger("mlflow.sklearn").setLevel(logging.ERROR)
    mlflow.sklearn.save_model(
        model,
        str(path),
        serialization_format=mlflow.sklearn.SERIALIZATION_FORMAT_CLOUDPICKLE,
        pip_requirements=[f"{package}=={version(package)}" for package in _PACKAGES],
    )


def _experiment(tracking: Tracking, name: str) -> str:
    """Its own, beside the one that the monitor's windows are logged to."""
    title = f"{name} training"
    found = tracking.client.get_experiment_by_name(title)
    if found is not None:
        return str(found.experiment_id)
    location = None if tracking.files is None else (tracking.files / title).as_uri()
    return str(tracking.client.create_experiment(title, artifact_location=location))
