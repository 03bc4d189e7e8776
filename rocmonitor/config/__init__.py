"""The configuration: rocmonitor.yaml as frozen models, with every problem reported at once."""

from rocmonitor.config.loading import load
from rocmonitor.config.models import Config
from rocmonitor.config.monitor import Monitor
from rocmonitor.config.outside import Channel, Heartbeat, Mlflow, Secret, Source, Webhook
from rocmonitor.config.review import Reviewing
from rocmonitor.config.sections import (
    Columns,
    Model,
    OperatingPoints,
    Positive,
    ReferencePeriod,
    WindowSpec,
)

__all__ = [
    "Channel",
    "Columns",
    "Config",
    "Heartbeat",
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
