"""The sections of rocmonitor.yaml as frozen models; each checks what can be checked within it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from rocmonitor.config.outside import Channel, Mlflow, Secret, Source, Webhook
from rocmonitor.config.query import Query, binds
from rocmonitor.config.review import Reviewing
from rocmonitor.config.values import Column, Cron, Duration, Name, Rate, Section, WallTime, Zone, no_switch
from rocmonitor.policy.budget import AlarmBudget
from rocmonitor.policy.review.settings import ReviewRule, ReviewSettings
from rocmonitor.policy.rules import Challenger, Rule, before_labels
from rocmonitor.policy.status import Alarm
from rocmonitor.policy.windows import A_MONDAY, Calendar, Labels, Window, split


class Model(Section):
    """The model: aliases of MLflow's registry, looked up on every tick, or versions by name, or none."""

    name: str = Field(min_length=1)
    champion: str | None = None
    challenger: str | None = None
    version: int | str | None = None
    challenger_version: int | str | None = None

    @field_validator("version", "challenger_version", mode="before")
    @classmethod
    def _no_switch(cls, version: object) -> object:
        if isinstance(version, bool):  # would be read as 1 or 0
            raise ValueError(f"must be a number or a text; it is {version!r} (write it in quotes)")
        return version

    @model_validator(mode="after")
    def _alias_or_version(self) -> Model:
        if self.champion is not None and self.version is not None:
            raise ValueError("has both champion (a registry alias) and version; keep one")
        if self.challenger is not None and self.challenger_version is not None:
            raise ValueError("has both challenger (a registry alias) and challenger_version; keep one")
        return self

    @property
    def names_champion(self) -> bool:
        """Whether the champion's version can be known."""
        return self.champion is not None or self.version is not None

    @property
    def names_challenger(self) -> bool:
        """Whether the challenger's version can be known."""
        return self.challenger is not None or self.challenger_version is not None


class Columns(Section):
    """Which column of the query holds what."""

    time: Column
    champion: Column
    label: Column
    challenger: Column | None = None
    id: Column | None = None
    labelled_at: Column | None = None


class Positive(Section):
    """How labels and scores are to be read."""

    label: bool | int | float | str = 1
    negative: bool | int | float | str | None = None
    scores: Literal["higher", "lower"] = "higher"

    @property
    def low_is_positive(self) -> bool:
        """Whether low scores are the positive ones."""
        return self.scores == "lower"

    @model_validator(mode="after")
    def _two_labels(self) -> Positive:
        if self.negative is None:
            if self.label not in (0, 1):
                raise ValueError(
                    f"negative is needed when label is {self.label!r}: which value is the other class?"
                )
            object.__setattr__(self, "negative", 1 - int(self.label))
        if self.negative == self.label:
            raise ValueError(f"label and negative are both {self.label!r}")
        return self


class WindowSpec(Section):
    """How time is cut and when labels are there."""

    every: Duration
    label_delay: Duration = timedelta()
    min_labelled: float | None = Field(default=None, gt=0, le=1)
    revise_for: Duration = timedelta()
    align: WallTime = A_MONDAY
    start: WallTime | None = None
    end: WallTime | None = None

    @field_validator("every")
    @classmethod
    def _some_time(cls, every: timedelta) -> timedelta:
        if every < timedelta(minutes=1):
            raise ValueError("must be at least 1m")
        return every


class OutlookSpec(Section):
    """The forecast of a window from its scores, before its labels."""

    after: Duration


class ReferencePeriod(Section):
    """The period that later windows are compared with."""

    start: WallTime = Field(alias="from")
    end: WallTime = Field(alias="to")
    windows: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _in_order(self) -> ReferencePeriod:
        if self.start >= self.end:
            raise ValueError(f"from ({self.start}) must come before to ({self.end})")
        return self


class CostPoint(Section):
    """An operating condition of a cost curve."""

    w: float

    @field_validator("w", mode="before")
    @classmethod
    def _share(cls, w: object) -> object:
        if isinstance(w, bool) or not isinstance(w, int | float) or not 0 <= w <= 1:
            raise ValueError(f"must be a number from 0 to 1; it is {w!r}")
        return abs(w)  # -0.0 is 0


class OperatingPoints(Section):
    """Where on the curve to report."""

    fpr: tuple[Rate, ...] = (0.01, 0.05, 0.1)
    thresholds: tuple[float, ...] = ()
    cost: tuple[CostPoint, ...] = ()

    @field_validator("cost")
    @classmethod
    def _a_name_each(cls, cost: tuple[CostPoint, ...]) -> tuple[CostPoint, ...]:
        named: dict[str, float] = {}
        for point in cost:
            name = f"{point.w:g}"  # of the metrics
            if name in named:
                raise ValueError(
                    f"w {named[name]!r} and w {point.w!r} would both be reported as {name}; keep one of them"
                )
            named[name] = point.w
        return cost


class AlarmPolicy(Section):
    """When a verdict becomes an alarm: see `rocmonitor.policy.status.Alarm`."""

    after: int = Field(default=1, ge=1)
    of: int | None = Field(default=None, ge=1, le=10)
    recover_after: int = Field(default=1, ge=1, le=10)
    cool_down: Duration = timedelta()

    @model_validator(mode="after")
    def _k_of_n(self) -> AlarmPolicy:
        if self.of is not None and self.of < self.after:
            raise ValueError(f"of ({self.of}) must be at least after ({self.after})")
        return self

    def policy(self) -> Alarm:
        """The same, as the status machine takes it."""
        return Alarm(
            after=self.after,
            of=self.of or self.after,
            recover_after=self.recover_after,
            cool_down=self.cool_down,
        )


class Monitor(Section):
    """A model, its scored rows, its windows and its rules."""

    name: Name
    model: Model
    source: str
    query: Query
    columns: Columns
    segments: tuple[Column, ...] = ()
    positive: Positive = Positive()
    window: WindowSpec
    grouped: Literal["raw", "database", "auto"] = "auto"
    reference: ReferencePeriod
    min_per_class: int = Field(default=50, ge=2)
    operating_points: OperatingPoints = OperatingPoints()
    outlook: OutlookSpec | None = None
    rules: tuple[Annotated[Annotated[Rule, Field(discriminator="kind")], BeforeValidator(no_switch)], ...] = (
        Field(min_length=1)
    )
    alarm: AlarmPolicy = AlarmPolicy()
    review: Reviewing | None = None
    schedule: Cron = "0 6 * * *"
    timezone: Zone = ZoneInfo("UTC")
    notify: tuple[str, ...] = ()
    owner: str | None = Field(default=None, min_length=1)
    runbook: str | None = Field(default=None, min_length=1)

    @field_validator("review")
    @classmethod
    def _two_to_compare(cls, review: Reviewing | None, info: ValidationInfo) -> Reviewing | None:
        columns, model = info.data.get("columns"), info.data.get("model")
        missing = []
        if columns is not None and columns.challenger is None:
            missing.append("columns.challenger (the column with its scores)")
        if model is not None and not model.names_challenger:
            missing.append("model.challenger (a registry alias) or model.challenger_version")
        if review is not None and missing:
            raise ValueError(f"compares a challenger with the champion: set {' and '.join(missing)}")
        return review

    @model_validator(mode="after")
    def _challenger_complete(self) -> Monitor:
        if self.columns.challenger is None:
            named = ["model names a challenger"] if self.model.names_challenger else []
            named += (
                ["rules has kind challenger"] if any(isinstance(r, Challenger) for r in self.rules) else []
            )
            if named:
                raise ValueError(
                    f"{' and '.join(named)}, but columns.challenger does not say where its scores are"
                )
        return self

    @model_validator(mode="after")
    def _outlook_when_asked(self) -> Monitor:
        names = [rule.kind for rule in self.rules if before_labels(rule)]
        if names and self.outlook is None:
            raise ValueError(
                f"rules has kind {' and '.join(names)}, which is judged before the labels; say how long "
                "after the end of a window its rows are in, such as outlook: {after: 6h}"
            )
        delay = self.window.label_delay
        if self.outlook is not None and self.outlook.after > delay:
            raise ValueError(
                f"outlook.after ({self.outlook.after}) is longer than window.label_delay ({delay}): an "
                "outlook comes before the labels; shorten outlook.after"
            )
        return self

    @property
    def read_as(self) -> dict[str, Any]:
        """What is read and how, in plain JSON types, for those who want to read it again."""
        return {
            "source": self.source,
            "query": self.query,
            "columns": self.columns.model_dump(exclude_none=True),
            "segments": list(self.segments),
            "positive": self.positive.model_dump(),
            "timezone": str(self.timezone),
        }

    @property
    def reads_as_of(self) -> bool:
        """Whether the query asks for the instant of judging."""
        return "as_of" in binds(self.query)

    @property
    def cost_w(self) -> tuple[float, ...]:
        """Operating conditions at which the cost is reported."""
        return tuple(point.w for point in self.operating_points.cost)

    @property
    def calendar(self) -> Calendar:
        """How time is cut."""
        return Calendar(every=self.window.every, zone=self.timezone, align=self.window.align)

    @property
    def labels(self) -> Labels:
        """How labels come."""
        return Labels(
            delay=self.window.label_delay,
            min_labelled=self.window.min_labelled,
            revise_for=self.window.revise_for,
        )

    @property
    def reference_period(self) -> Window:
        """The whole reference."""
        return Window(self._instant(self.reference.start), self._instant(self.reference.end))

    @property
    def reference_windows(self) -> list[Window]:
        """The reference in `reference.windows` equal parts, else the monitor's own windows inside it."""
        period = self.reference_period
        if self.reference.windows is not None:
            return split(self.reference.start, self.reference.end, self.reference.windows, self.timezone)
        return self.calendar.within(period.start, period.end)

    @property
    def start(self) -> datetime:
        """From when windows are judged: `window.start`, else the end of the reference."""
        return self._instant(self.window.start or self.reference.end)

    def outlook_at(self, window: Window) -> datetime | None:
        """When the outlook of a window is made; None without outlooks."""
        return None if self.outlook is None else window.end + self.outlook.after

    def windows(self, now: datetime, start: datetime | None = None) -> list[Window]:
        """The windows to be judged that have ended by `now`, oldest first; `start` replaces the usual one."""
        end = now if self.window.end is None else min(now, self._instant(self.window.end))
        return self.calendar.within(self.start if start is None else start, end)

    def judges(self, window: Window) -> bool:
        """Whether a window is one of those that are judged, by the calendar as it is now."""
        return self.windows(window.end, max(self.start, window.start)) == [window]

    @property
    def review_start(self) -> datetime | None:
        """From when windows are reviewed, where that is said."""
        said = None if self.review is None else self.review.start
        return None if said is None else self._instant(said)

    @property
    def review_settings(self) -> ReviewSettings:
        """How champion and challenger are compared; without a section by the defaults."""
        said, points = self.review or Reviewing(), self.operating_points
        return ReviewSettings(
            rule=ReviewRule(
                margin=said.margin,
                confidence_level=said.confidence_level,
                fpr=points.fpr if said.fpr is None else said.fpr,
                tuned_for=said.tuned_for,
                correlation=said.correlation,
            ),
            min_per_class=self.min_per_class,
            thresholds=points.thresholds if said.thresholds is None else said.thresholds,
            w=self.cost_w,
            money=said.money,
            n_resamples=said.n_resamples,
        )

    def _instant(self, wall: datetime) -> datetime:
        return wall.replace(tzinfo=self.timezone).astimezone(UTC)


class Config(Section):
    """All of rocmonitor.yaml."""

    folder: Path
    store: Secret = Secret(url="sqlite:///rocmonitor.db")
    mlflow: Mlflow = Mlflow()
    webhook: Webhook | None = None
    alarm_budget: AlarmBudget | None = None
    page: str | None = Field(default=None, pattern=r"^https?://\S+$")
    sources: dict[Name, Source] = Field(min_length=1)
    channels: dict[Name, Channel] = Field(default={})
    monitors: dict[Name, Monitor] = Field(min_length=1)

    @property
    def store_url(self) -> str:
        """SQLAlchemy URL of rocmonitor's own database."""
        return self.store.read(self.folder)

    @property
    def tracking_uri(self) -> str:
        """Where MLflow is; default a SQLite file beside the configuration."""
        return self.mlflow.read(self.folder)
