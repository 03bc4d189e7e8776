"""Champion and challenger of the demo: they learn from three months and score every later flight."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import mlflow.sklearn
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from rocmonitor.demo.flights import CATEGORIES, features
from rocmonitor.tracking import Tracking, access

SCORED_FROM = pd.Timestamp(2013, 4, 1)
"""Earlier flights are learned from, later ones are scored."""

_NUMBERS = ("distance", "origin_delay", "carrier_delay", "dest_delay", "waiting")


def _champion() -> Pipeline:
    """Logistic regression; hour and weekday are categories, numbers are scaled."""
    encode = OneHotEncoder(min_frequency=30, handle_unknown="infrequent_if_exist")
    columns = ColumnTransformer(
        [
            ("categories", encode, [*CATEGORIES, "weekday", "hour"]),
            ("numbers", StandardScaler(), list(_NUMBERS)),
        ]
    )
    return make_pipeline(columns, LogisticRegression(max_iter=1000))


def _challenger() -> Pipeline:
    encode = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = ColumnTransformer(
        [
            ("categories", encode, list(CATEGORIES)),
            ("numbers", "passthrough", ["weekday", "hour", *_NUMBERS]),
        ]
    )
    boosting = HistGradientBoostingClassifier(
        categorical_features=list(range(len(CATEGORIES))), random_state=2013
    )
    return make_pipeline(columns, boosting)


ROLES: Mapping[str, Callable[[], Pipeline]] = {"champion": _champion, "challenger": _challenger}
"""Scoring functions by alias in the registry, in the order of the versions."""


def train(flights: pd.DataFrame, on_progress: Callable[[str], None]) -> dict[str, Pipeline]:
    """Return both models, fitted to the flights before `SCORED_FROM` that have a label."""
    learned = (flights["scored_at"] < SCORED_FROM) & flights["late"].notna()
    inputs, late = features(flights)[learned], flights.loc[learned, "late"].astype(int)
    trained = {}
    for role, model in ROLES.items():
        on_progress(f"Training the {role} on {len(inputs):,} flights of January to March 2013")
        # On a busy machine OpenMP's threads wait for one another: two took fifty times as long as one.
        with threadpool_limits(1):
            trained[role] = model().fit(inputs, late)
    return trained


def score(
    flights: pd.DataFrame, trained: Mapping[str, Pipeline], on_progress: Callable[[str], None]
) -> pd.DataFrame:
    """Return the table ``scored`` as a scoring job leaves it: flights from `SCORED_FROM` on, by time."""
    on_progress("Scoring every flight from April on with both models")
    later = flights["scored_at"] >= SCORED_FROM
    inputs, flights = features(flights)[later], flights[later]
    with threadpool_limits(1):
        champion, challenger = (trained[role].predict_proba(inputs)[:, 1] for role in ROLES)
    scored = pd.DataFrame(
        {
            "flight_id": flights["flight_id"],
            "scored_at": _written(flights["scored_at"]),
            "origin": flights["origin"],
            "carrier": flights["carrier"],
            "p_champion": champion,
            "p_challenger": challenger,
            "late": flights["late"].astype(object).where(flights["late"].notna(), None),
            "label_known_at": _written(flights["label_known_at"]),
        }
    )
    return scored.sort_values(["scored_at", "flight_id"], ignore_index=True)


def _written(moments: pd.Series[pd.Timestamp]) -> pd.Series[str]:
    text = moments.dt.strftime("%Y-%m-%d %H:%M:%S")
    return text.astype(object).where(moments.notna(), None)


_PACKAGES = ("scikit-learn", "numpy", "pandas", "cloudpickle")


def registered(tracking: Tracking, name: str) -> set[str]:
    """Return the aliases that the registered model has; none when there is no such model."""
    with access.translate_errors(tracking.uri, f"looking up {name}"):
        models = tracking.client.search_registered_models(f"name = '{name}'")
        return {alias for model in models for alias in model.aliases}


def register(tracking: Tracking, name: str, alias: str, model: Pipeline) -> str:
    """Make the next version of the registered model, give it the alias, and return its number."""
    client = tracking.client
    with (
        access.translate_errors(tracking.uri, f"registering {name}@{alias}"),
        TemporaryDirectory() as scratch,
    ):
        title = f"{name} training"  # beside the experiment that the monitor's windows are logged to
        known = client.get_experiment_by_name(title)
        if known is not None:
            experiment = known.experiment_id
        else:
            location = None if tracking.files is None else (tracking.files / title).as_uri()
            experiment = client.create_experiment(title, artifact_location=location)
        run = client.create_run(experiment, run_name=alias).info.run_id
        logged = client.create_logged_model(experiment, name=alias, source_run_id=run)
        path = Path(scratch) / "model"
        # MLflow warns of pickles from strangers. This one is our own, and whoever loads it is warned again.
        logging.getLogger("mlflow.sklearn").setLevel(logging.ERROR)
        mlflow.sklearn.save_model(
            model,
            str(path),
            serialization_format=mlflow.sklearn.SERIALIZATION_FORMAT_CLOUDPICKLE,
            pip_requirements=[f"{package}=={version(package)}" for package in _PACKAGES],
        )
        client.log_model_artifacts(logged.model_id, str(path))
        client.finalize_logged_model(logged.model_id, "READY")
        client.log_param(run, "model", type(model[-1]).__name__)
        client.set_terminated(run)
        if not client.search_registered_models(f"name = '{name}'"):
            client.create_registered_model(name)
        mlflow.set_tracking_uri(tracking.uri)  # where MLflow looks for the logged model
        source = f"models:/{logged.model_id}"
        made = client.create_model_version(name, source, run, model_id=logged.model_id)
        client.set_registered_model_alias(name, alias, made.version)
        versions = json.dumps([{"name": name, "version": made.version}])
        # As MLflow links them.
        client.set_logged_model_tags(logged.model_id, {"mlflow.modelVersions": versions})
        return str(made.version)
