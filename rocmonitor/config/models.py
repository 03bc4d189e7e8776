"""The whole of rocmonitor.yaml as a frozen model."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from pydantic import Field

from rocmonitor.config.monitor import Monitor
from rocmonitor.config.outside import Channel, Errors, Heartbeat, Keep, Mlflow, Secret, Source, Webhook
from rocmonitor.config.values import Address, Name, Section
from rocmonitor.policy.budget import AlarmBudget, Allotment, Levels, allotments
from rocmonitor.policy.rules import by_name


class Config(Section):
    """All of rocmonitor.yaml."""

    folder: Path
    store: Secret = Secret(url="sqlite:///rocmonitor.db")
    mlflow: Mlflow = Mlflow()
    keep: Keep = Keep()
    errors: Errors = Errors()
    webhook: Webhook | None = None
    listen: Address | None = None
    heartbeat: Heartbeat | None = None
    alarm_budget: AlarmBudget | None = None
    page: str | None = Field(default=None, pattern=r"^https?://\S+$")
    sources: dict[Name, Source] = Field(min_length=1)
    channels: dict[Name, Channel] = Field(default={})
    monitors: dict[Name, Monitor] = Field(min_length=1)

    @cached_property
    def allotments(self) -> tuple[Allotment, ...]:
        """How each alarm budget is shared by its monitors; empty without any."""
        if self.alarm_budget is None:
            return ()
        return tuple(allotments(self.alarm_budget, [each.load for each in self.monitors.values()]))

    def levels(self, monitor: str) -> Levels:
        """The rules of a monitor at the levels at which they are judged."""
        for each in self.allotments:
            if monitor in each.levels:
                return each.levels[monitor]
        return Levels(rules=by_name(self.monitors[monitor].rules))

    @property
    def store_url(self) -> str:
        """SQLAlchemy URL of rocmonitor's own database."""
        return self.store.read(self.folder)

    @property
    def tracking_uri(self) -> str:
        """Where MLflow is; default a SQLite file beside the configuration."""
        return self.mlflow.read(self.folder)
