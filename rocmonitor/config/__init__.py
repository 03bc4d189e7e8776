"""The configuration: rocmonitor.yaml as frozen models, with every problem reported at once."""

from rocmonitor.config.loading import load
from rocmonitor.config.models import Config, Processes
from rocmonitor.config.monitor import Monitor
from rocmonitor.config.outside import (
    AnySource,
    Channel,
    Database,
    Files,
    Heartbeat,
    Mlflow,
    Secret,
    Source,
    Spark,
    Webhook,
)
from rocmonitor.config.sections import (
    Columns,
    Model,
    OperatingPoints,
    Positive,
    ReferencePeriod,
    Reviewing,
    WindowSpec,
)

__all__ = [
    "AnySource",
    "Channel",
    "Columns",
    "Config",
    "Database",
    "Files",
    "Heartbeat",
    "Mlflow",
    "Model",
    "Monitor",
    "OperatingPoints",
    "Positive",
    "Processes",
    "ReferencePeriod",
    "Reviewing",
    "Secret",
    "Source",
    "Spark",
    "Webhook",
    "WindowSpec",
    "load",
]
