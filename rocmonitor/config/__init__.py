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
