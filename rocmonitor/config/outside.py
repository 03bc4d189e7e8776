"""The sections of rocmonitor.yaml that say where outside systems are."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import unquote, urlsplit

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from rocmonitor.config.values import (
    Address,
    Duration,
    FileName,
    Section,
    Variable,
    WebAddress,
    Zone,
    beside,
    written,
)
from rocmonitor.errors import ConfigError, quoted
from rocmonitor.policy.outages import TOLERANCE

# SQLAlchemy takes the user up to the first colon and the password up to the first @ after it.
_LOGIN = re.compile(r"[^:/?#]+://[^:/]*:[^@]+@")
_PASSWORD = re.compile(r"[?&;=][^?&;=]*(?:password|passwd|pwd|token|secret|api_?key)=", re.IGNORECASE)
_WEB_LOGIN = re.compile(r"https?://[^/?#]*@", re.IGNORECASE)
_OPEN_CHANNEL = re.compile(r"(?:file|jsons?|xmls?|forms?)://[^@\s]*")


class Secret(Section):
    """A URL: written here (`url`), in a variable (`url_env`, its name) or in a file (`url_file`)."""

    url: str | None = None
    url_env: Variable | None = None
    url_file: FileName | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Secret:
        given = [key for key in ("url", "url_env", "url_file") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(
                f"needs exactly one of url, url_env and url_file; it has {' and '.join(given) or 'none'}"
            )
        if self.url is not None and _holds_secret(self.url):
            raise ValueError(
                "url holds a password; put it in an environment variable (url_env) or a file (url_file)"
            )
        return self

    def read(self, folder: Path) -> str:
        """Return the URL itself; never to be printed."""
        value = self.url or _read("url", self.url_env, self.url_file, folder)
        return beside(value, folder)


class Source(Section):
    """The source of scored rows, of any kind."""

    kind: str
    timeout: Duration = timedelta(seconds=60)
    deadline: Duration = timedelta(minutes=30)
    max_rows: int = Field(default=20_000_000, gt=0)
    timezone: Zone | None = None


class Database(Secret, Source):
    """A database with a SQLAlchemy URL."""

    kind: Literal["database"] = "database"


class Files(Source):
    """Parquet, CSV or DuckDB files, or a Delta table: the query reads them as the table ``scored``."""

    kind: Literal["files"] = "files"
    path: str = Field(min_length=1)
    delimiter: str | None = Field(default=None, min_length=1, max_length=1)
    decimal: Literal[".", ","] = "."
    date_format: str | None = None
    encoding: Literal["utf-8", "utf-16", "latin-1"] = "utf-8"

    @field_validator("decimal")
    @classmethod
    def _not_both(cls, decimal: str, info: ValidationInfo) -> str:
        if decimal == info.data.get("delimiter"):
            raise ValueError(f"{quoted(decimal)} is the delimiter; a file needs another one, such as ';'")
        return decimal

    @field_validator("date_format")
    @classmethod
    def _whole_day(cls, form: str | None) -> str | None:
        """Refuse a form that does not give back what it wrote."""
        if form is None:
            return None
        day = datetime(2026, 12, 31)  # noqa: DTZ001 a day of the calendar
        try:
            parsed = datetime.strptime(day.strftime(form), form)  # noqa: DTZ007
        except ValueError:
            parsed = None
        if parsed is None or parsed.date() != day.date():
            raise ValueError(
                f"must say where year, month and day stand, such as '%d.%m.%Y' for 31.12.2026; it is "
                f"{quoted(form)}"
            )
        return form

    @field_validator("path")
    @classmethod
    def _no_secret(cls, path: str) -> str:
        if _holds_secret(path):
            raise ValueError(
                "holds a login or a token; leave it out: DuckDB keeps one with CREATE PERSISTENT SECRET, and "
                "a Delta table takes it from the environment variables of its cloud"
            )
        return path


class Spark(Source):
    """A Spark session: the one of this process, or Spark Connect at an address."""

    kind: Literal["spark"] = "spark"
    remote_env: Variable | None = None

    def read(self, folder: Path) -> str | None:
        """Return the address of Spark Connect, which may hold a token; None for this process's session."""
        return None if self.remote_env is None else _read("remote", self.remote_env, None, folder)


def _database(section: object) -> object:
    return {"kind": "database", **section} if isinstance(section, Mapping) else section


AnySource = Annotated[
    Annotated[Database | Files | Spark, Field(discriminator="kind")], BeforeValidator(_database)
]


class Channel(Secret):
    """The destination of alerts: an Apprise URL; most of these are secrets as a whole."""

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


class Mlflow(Section):
    """The address of MLflow, and the windows that log every number, table and figure."""

    tracking_uri: str | None = None
    tracking_uri_env: Variable | None = None
    tracking_uri_file: FileName | None = None
    page: WebAddress | None = None
    detail: Literal["degraded", "all"] = "degraded"

    @field_validator("tracking_uri", "page")
    @classmethod
    def _no_secret(cls, uri: str | None) -> str | None:
        if uri is not None and _holds_secret(uri):
            raise ValueError(
                "holds a login or a token; put the tracking URI in an environment variable "
                "(tracking_uri_env) or a file (tracking_uri_file), and leave it out of page"
            )
        return uri

    @model_validator(mode="after")
    def _only_one(self) -> Mlflow:
        names = ("tracking_uri", "tracking_uri_env", "tracking_uri_file")
        given = [name for name in names if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"has {' and '.join(given)}; keep one")
        return self

    def read(self, folder: Path) -> str:
        """Return the tracking URI, which may hold a secret."""
        uri = self.tracking_uri or "sqlite:///mlflow.db"
        if self.tracking_uri_env or self.tracking_uri_file:
            uri = _read("mlflow.tracking_uri", self.tracking_uri_env, self.tracking_uri_file, folder)
        return beside(uri, folder)


class Keep(Section):
    """For how long what has been delivered, and what is large, is kept; counts of 0d are never kept."""

    outbox: Duration = timedelta(days=30)
    mlflow: Duration = timedelta(days=400)
    tables: Duration = timedelta(days=1825)
    counts: Duration = timedelta(days=400)

    @field_validator("outbox", "mlflow", "tables", "counts")
    @classmethod
    def _a_day(cls, age: timedelta, info: ValidationInfo) -> timedelta:
        if age < timedelta(days=1) and not (info.field_name == "counts" and not age):
            more = ", or 0d: no counts are kept" if info.field_name == "counts" else ""
            raise ValueError(f"must be at least 1d{more}; it is {written(age)}")
        return age


class Errors(Section):
    """When people are notified of what fails: sources, MLflow, channels, the store."""

    notify_after: Duration = TOLERANCE


class Webhook(Section):
    """The address where ``serve`` listens to MLflow's registry, and the secret of that webhook."""

    listen: Address = "127.0.0.1:8790"
    secret_env: Variable | None = None
    secret_file: FileName | None = None

    @model_validator(mode="after")
    def _one_secret(self) -> Webhook:
        if (self.secret_env is None) == (self.secret_file is None):
            raise ValueError(
                "needs either secret_env or secret_file: the secret that the webhook was made with in MLflow"
            )
        return self

    def read(self, folder: Path) -> str:
        """Return the secret; never to be printed."""
        return _read("webhook.secret", self.secret_env, self.secret_file, folder)


class Heartbeat(Section):
    """The address that is called while the service is healthy, and how often."""

    url_env: Variable | None = None
    url_file: FileName | None = None
    every: Duration = timedelta(minutes=5)

    @field_validator("every")
    @classmethod
    def _not_at_once(cls, every: timedelta) -> timedelta:
        if every < timedelta(seconds=1):
            raise ValueError(f"must be at least 1s; it is {written(every)!r}")
        return every

    @model_validator(mode="after")
    def _one_address(self) -> Heartbeat:
        if (self.url_env is None) == (self.url_file is None):
            raise ValueError(
                "needs either url_env or url_file: whoever knows the address can report for this service"
            )
        return self

    def read(self, folder: Path) -> str:
        """Return the address; never to be printed."""
        value = _read("heartbeat.url", self.url_env, self.url_file, folder)
        try:
            parts = urlsplit(value)
            _ = parts.port  # asked for, it is checked
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            is_address = False
        if not is_address or not value.isascii() or not value.isprintable() or " " in value:
            key = "url_env" if self.url_env else "url_file"
            raise ConfigError(f"heartbeat.{key}: must hold an address such as https://hc-ping.com/…")
        return value


def _holds_secret(url: str) -> bool:
    plain = unquote(url)
    return bool(_LOGIN.match(url) or _WEB_LOGIN.match(url) or _PASSWORD.search(plain))


def _read(name: str, variable: str | None, file: str | None, folder: Path) -> str:
    """Return what a variable or file holds; messages name the key: the file's name may be the secret."""
    if variable is not None:
        value = os.environ.get(variable, "")
        if not value:
            raise ConfigError(f"{name}_env: the environment variable {variable} is not set; export it")
        return value
    path = folder / (file or "")
    try:
        kind = path.stat().st_mode
    except (OSError, ValueError):  # the attempt to read it says why
        kind = stat.S_IFREG
    if not stat.S_ISREG(kind):  # a pipe or a device would be read without an end
        what = "a folder" if stat.S_ISDIR(kind) else "a pipe or device"
        raise ConfigError(f"{name}_file: cannot read the file named there: it is {what}; name a regular file")
    try:
        value = path.read_text(encoding="utf-8-sig").strip()  # Windows writes a byte order mark
    except OSError as error:
        raise ConfigError(f"{name}_file: cannot read the file named there: {error.strerror}") from None
    except ValueError:  # no text, or a name that no file can have
        raise ConfigError(f"{name}_file: the file named there holds no UTF-8 text") from None
    if not value:
        raise ConfigError(f"{name}_file: the file named there is empty")
    return value
