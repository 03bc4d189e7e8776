"""The configuration: rocmonitor.yaml as frozen models, with every problem reported at once."""

from rocmonitor.config.loading import load
from rocmonitor.config.models import (
    Columns,
    Config,
    Model,
    Monitor,
    OperatingPoints,
    Positive,
    ReferencePeriod,
    WindowSpec,
)
from rocmonitor.config.outside import Channel, Mlflow, Secret, Source, Webhook
from rocmonitor.config.review import Reviewing

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
    "Reviewing",
    "Secret",
    "Source",
    "Webhook",
    "WindowSpec",
    "load",
]
