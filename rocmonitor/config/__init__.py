"""The configuration: rocmonitor.yaml as frozen models, with every problem told at once."""

from rocmonitor.config.loading import load
from rocmonitor.config.models import (
    Channel,
    Columns,
    Config,
    Mlflow,
    Model,
    Monitor,
    OperatingPoints,
    Positive,
    ReferencePeriod,
    Secret,
    Source,
    WindowSpec,
)

__all__ = [
    "Channel",
    "Columns",
    "Config",
    "Mlflow",
    "Model",
    "Monitor",
    "OperatingPoints",
    "Positive",
    "ReferencePeriod",
    "Secret",
    "Source",
    "WindowSpec",
    "load",
]
