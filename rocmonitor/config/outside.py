"""The sections of rocmonitor.yaml that say where outside systems are."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote

from pydantic import Field, field_validator, model_validator

from rocmonitor.config.values import Duration, Section, Zone, beside
from rocmonitor.errors import ConfigError

# SQLAlchemy takes the user up to the first colon and the password up to the first @ after it.
_LOGIN = re.compile(r"[^:/?#]+://[^:/]*:[^@]+@")
_PASSWORD = re.compile(r"[?&;=][^?&;=]*(?:password|passwd|pwd)=", re.IGNORECASE)
_OPEN_CHANNEL = re.compile(r"(?:file|jsons?|xmls?|forms?)://[^@\s]*")


class Secret(Section):
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
        value = self.url or _read("url", self.url_env, self.url_file, folder)
        return beside(value, folder)


class Source(Secret):
    """A database that scored rows are read from."""

    timeout: Duration = timedelta(seconds=60)
    max_rows: int = Field(default=20_000_000, gt=0)
    timezone: Zone | None = None


class Channel(Secret):
    """Where alerts go: an Apprise URL; most of these are secrets as a whole."""

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


class Webhook(Section):
    """Where ``serve`` listens to MLflow's registry, and the secret of the webhook that calls it."""

    listen: str = "127.0.0.1:8790"
    secret_env: str | None = None
    secret_file: str | None = None

    @field_validator("listen")
    @classmethod
    def _host_and_port(cls, listen: str) -> str:
        host, colon, port = listen.rpartition(":")
        if not host or not colon or not port.isascii() or not port.isdigit() or not int(port) < 2**16:
            raise ValueError(f"must be host:port, such as 127.0.0.1:8790; it is {listen!r}")
        return listen

    @model_validator(mode="after")
    def _one_secret(self) -> Webhook:
        if (self.secret_env is None) == (self.secret_file is None):
            raise ValueError(
                "needs either secret_env or secret_file: the secret that the webhook was made with in MLflow"
            )
        return self

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)

    def read(self, folder: Path) -> str:
        """The secret; never to be printed."""
        return _read("webhook.secret", self.secret_env, self.secret_file, folder)


def _read(name: str, variable: str | None, file: str | None, folder: Path) -> str:
    """What a variable or a file holds; `name` is what messages call it."""
    if variable is not None:
        value = os.environ.get(variable, "")
        if not value:
            raise ConfigError(f"{name}_env: the environment variable {variable} is not set; export it")
        return value
    try:
        value = (folder / (file or "")).read_text().strip()
    except OSError as error:
        raise ConfigError(f"{name}_file: cannot read {file}: {error.strerror}") from None
    if not value:
        raise ConfigError(f"{name}_file: {file} is empty")
    return value
