"""The sections of rocmonitor.yaml as frozen models; each checks what can be checked within it."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from rocmonitor.config.values import Column, Cron, Duration, Name, Rate, WallTime, Zone, beside
from rocmonitor.errors import ConfigError
from rocmonitor.policy.rules import Challenger, Rule
from rocmonitor.policy.status import Alarm
from rocmonitor.policy.windows import A_MONDAY, Calendar, Labels, Window, split

_BIND = re.compile(r"(?<![:\w\\]):(\w+)(?!:)")
# Quotes and comments of SQL, as the standard reads a backslash in a text, and as MySQL does.
_QUOTED = tuple(
    re.compile(rf"""{text}|"[^"]*"|`[^`]*`|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$""", re.DOTALL)
    for text in (r"'[^']*'", r"'(?:[^'\\]|\\.)*'")
)
# SQLAlchemy takes the user up to the first colon and the password up to the first @ after it.
_LOGIN = re.compile(r"[^:/?#]+://[^:/]*:[^@]+@")
_PASSWORD = re.compile(r"[?&;=][^?&;=]*(?:password|passwd|pwd)=", re.IGNORECASE)
_OPEN_CHANNEL = re.compile(r"(?:file|jsons?|xmls?|forms?)://[^@\s]*")


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class Secret(_Model):
    """A URL: written here (`url`), in a variable (`url_env`, its name) or in a file (`url_file`)."""

    url: str | None = None
    url_env: str | None = None
    url_file: str | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Secret:
        given = [key for key in ("url", "url_env", "url_file") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(
                f"needs exactly one of url, url_env and url_file; it has {' and '.join(given) or 'none'}"
            )
        if self.url_env is not None and not self.url_env.isidentifier():
            raise ValueError("url_env must be the name of an environment variable, not what it holds")
        if self.url is not None and (_LOGIN.match(self.url) or _PASSWORD.search(unquote(self.url))):
            raise ValueError(
                "url holds a password; put it in an environment variable (url_env) or a file (url_file)"
            )
        return self

    def read(self, folder: Path) -> str:
        """The URL itself; never to be printed."""
        if self.url_env is not None:
            value = os.environ.get(self.url_env, "")
            if not value:
                raise ConfigError(f"url_env: the environment variable {self.url_env} is not set; export it")
        elif self.url_file is not None:
            try:
                value = (folder / self.url_file).read_text().strip()
            except OSError as error:
                raise ConfigError(f"url_file: cannot read {self.url_file}: {error.strerror}") from None
            if not value:
                raise ConfigError(f"url_file: {self.url_file} is empty")
        else:
            value = self.url or ""
        return beside(value, folder)


class Source(Secret):
    """A database that scored rows are read from."""

    timeout: Duration = timedelta(seconds=60)
    max_rows: int = Field(default=20_000_000, gt=0)
    timezone: Zone | None = None


class Channel(Secret):
    """Where alarms are told: an Apprise URL, most of which are secrets as a whole."""

    @field_validator("url")
    @classmethod
    def _no_secret(cls, url: str | None) -> str | None:
        if url is not None and not _OPEN_CHANNEL.fullmatch(url):
            raise ValueError(
                "holds a token or a login for most services; put it in an environment variable (url_env) or "
                "a file (url_file); only file://, and json://, xml:// and form:// (or jsons://, xmls://, "
                "forms://) without a user may stand here"
            )
        return url


class Mlflow(_Model):
    """Where MLflow is."""

    tracking_uri: str | None = None
    tracking_uri_env: str | None = None
    page: str | None = None

    @model_validator(mode="after")
    def _not_both(self) -> Mlflow:
        if self.tracking_uri is not None and self.tracking_uri_env is not None:
            raise ValueError("has both tracking_uri and tracking_uri_env; keep one")
        return self

    def read(self, folder: Path) -> str:
        """The tracking URI."""
        if self.tracking_uri_env is None:
            return beside(self.tracking_uri or "sqlite:///mlflow.db", folder)
        value = os.environ.get(self.tracking_uri_env, "")
        if not value:
            raise ConfigError(
                f"mlflow.tracking_uri_env: the environment variable {self.tracking_uri_env} is not set; "
                "export it, or leave the section out to use a SQLite file beside the configuration"
            )
        return beside(value, folder)


class Model(_Model):
    """The registered model: aliases looked up on every tick, or fixed versions."""

    name: str = Field(min_length=1)
    champion: str | None = None
    challenger: str | None = None
    version: int | str | None = None
    challenger_version: int | str | None = None

    @model_validator(mode="after")
    def _alias_or_version(self) -> Model:
        if (self.champion is None) == (self.version is None):
            raise ValueError("needs either champion (a registry alias) or version")
        if self.challenger is not None and self.challenger_version is not None:
            raise ValueError("has both challenger (a registry alias) and challenger_version; keep one")
        return self


class Columns(_Model):
    """Which column of the query holds what."""

    time: Column
    champion: Column
    label: Column
    challenger: Column | None = None
    id: Column | None = None


class Positive(_Model):
    """How labels and scores are to be read."""

    label: bool | int | float | str = 1
    negative: bool | int | float | str | None = None
    scores: Literal["higher", "lower"] = "higher"

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


class WindowSpec(_Model):
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


class ReferencePeriod(_Model):
    """The period that later windows are compared with."""

    start: WallTime = Field(alias="from")
    end: WallTime = Field(alias="to")
    windows: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _in_order(self) -> ReferencePeriod:
        if self.start >= self.end:
            raise ValueError(f"from ({self.start}) must come before to ({self.end})")
        return self


class CostPoint(_Model):
    """An operating condition of a cost curve."""

    w: float

    @field_validator("w", mode="before")
    @classmethod
    def _share(cls, w: object) -> object:
        if isinstance(w, bool) or not isinstance(w, int | float) or not 0 <= w <= 1:
            raise ValueError(f"must be a number from 0 to 1; it is {w!r}")
        return abs(w)  # -0.0 is 0


class OperatingPoints(_Model):
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


class AlarmPolicy(_Model):
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


def _no_switch(rule: object) -> object:
    """Refuse true and false, which would be read as 1 and 0."""
    for key, value in rule.items() if isinstance(rule, dict) else ():
        if isinstance(value, bool):
            raise ValueError(f"{key} must not be true or false; write a value, or leave {key} out")
    return rule


class Monitor(_Model):
    """A model, its scored rows, its windows and its rules."""

    name: Name
    model: Model
    source: str
    query: str
    columns: Columns
    segments: tuple[Column, ...] = ()
    positive: Positive = Positive()
    window: WindowSpec
    grouped: Literal["raw", "database", "auto"] = "auto"
    reference: ReferencePeriod
    min_per_class: int = Field(default=50, ge=2)
    operating_points: OperatingPoints = OperatingPoints()
    rules: tuple[
        Annotated[Annotated[Rule, Field(discriminator="kind")], BeforeValidator(_no_switch)], ...
    ] = Field(min_length=1)
    alarm: AlarmPolicy = AlarmPolicy()
    schedule: Cron = "0 6 * * *"
    timezone: Zone = ZoneInfo("UTC")
    notify: tuple[str, ...] = ()

    @field_validator("query")
    @classmethod
    def _one_bounded_select(cls, query: str) -> str:
        query = query.strip().rstrip(";").strip()
        if not re.match(r"(select|with)\b", query, re.IGNORECASE):
            raise ValueError("must be one SELECT (or WITH … SELECT); it is only ever read from")
        if quoted := _quoted_binds(query):
            raise ValueError(
                f"has {' and '.join(quoted)} within quotes or a comment, where nothing can be bound; "
                "write :start and :end outside of quotes and comments, and \\: for a colon that is text"
            )
        binds = set(_BIND.findall(query))
        if missing := [f":{bind}" for bind in ("start", "end") if bind not in binds]:
            raise ValueError(
                f"must bound its rows by :start and :end (WHERE time >= :start AND time < :end); "
                f"{' and '.join(missing)} missing"
            )
        if unknown := sorted(binds - {"start", "end"}):
            raise ValueError(
                f"binds :{', :'.join(unknown)}, which nothing gives a value; only :start and :end are bound"
            )
        return query

    @model_validator(mode="after")
    def _challenger_complete(self) -> Monitor:
        scored = self.columns.challenger is not None
        named = self.model.challenger is not None or self.model.challenger_version is not None
        if named and not scored:
            raise ValueError(
                "model names a challenger, but columns.challenger does not say where its scores are"
            )
        if any(isinstance(rule, Challenger) for rule in self.rules) and not scored:
            raise ValueError(
                "rules has kind challenger, but columns.challenger does not say where its scores are"
            )
        return self

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

    def windows(self, now: datetime) -> list[Window]:
        """The windows to be judged that have ended by `now`, oldest first."""
        end = now if self.window.end is None else min(now, self._instant(self.window.end))
        return self.calendar.within(self.start, end)

    def _instant(self, wall: datetime) -> datetime:
        return wall.replace(tzinfo=self.timezone).astimezone(UTC)


def _quoted_binds(query: str) -> list[str]:
    """Binds in quotes or comments, whichever way a backslash is read."""
    readings = [[found.span() for found in quoted.finditer(query)] for quoted in _QUOTED]
    inside = {
        bind[0]
        for bind in _BIND.finditer(query)
        if all(any(start < bind.start() < end for start, end in spans) for spans in readings)
    }
    return sorted(inside)


class Config(_Model):
    """All of rocmonitor.yaml."""

    folder: Path
    store: Secret = Secret(url="sqlite:///rocmonitor.db")
    mlflow: Mlflow = Mlflow()
    sources: dict[Name, Source] = Field(min_length=1)
    channels: dict[Name, Channel] = {}
    monitors: dict[Name, Monitor] = Field(min_length=1)

    @property
    def store_url(self) -> str:
        """SQLAlchemy URL of rocmonitor's own database."""
        return self.store.read(self.folder)

    @property
    def tracking_uri(self) -> str:
        """Where MLflow is; default a SQLite file beside the configuration."""
        return self.mlflow.read(self.folder)
