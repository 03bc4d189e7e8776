"""Values of the configuration that need reading: durations, wall times, zones, crontab lines, URLs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from rocmonitor.errors import quoted
from rocmonitor.policy.crontab import next_fire
from rocmonitor.policy.windows import Length, Months


class Section(BaseModel):
    """A mapping of rocmonitor.yaml: frozen, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_MONTHS = {"mo": 1, "q": 3, "y": 12}
_LONGEST_MONTHS = 120
_LONGEST = 36_500 * 86_400  # a window and its delays must end within the calendar
_FIRST_YEAR, _LAST_YEAR = 1900, 2200
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_LONGEST_PATH = 4096
_LONGEST_WORD = 15  # of a name that also has digits: keys are longer


def _duration(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    match = re.fullmatch(r"(\d+)([smhd])", value.strip()) if isinstance(value, str) else None
    if not match:
        raise ValueError(
            f"must be a whole number with s, m, h or d, such as 12h or 7d; it is {quoted(value)}"
        )
    seconds = int(match[1]) * _SECONDS[match[2]]
    if seconds > _LONGEST:
        raise ValueError(f"must be at most 36500d, a hundred years; it is {quoted(value)}")
    return timedelta(seconds=seconds)


def _length(value: object) -> Length:
    """Read a duration, or months, quarters and years of the calendar."""
    if isinstance(value, Months):
        return value
    match = re.fullmatch(r"(\d+)(mo|q|y)", value.strip()) if isinstance(value, str) else None
    if match:
        months = int(match[1]) * _MONTHS[match[2]]
        if not 1 <= months <= _LONGEST_MONTHS:
            raise ValueError(f"must be 1mo to {_LONGEST_MONTHS}mo; it is {quoted(value)}")
        return Months(months)
    try:
        return _duration(value)
    except ValueError as error:
        others = ", or with mo, q or y for months, quarters and years of the calendar, such as 1mo"
        raise ValueError(str(error).replace("; it is", f"{others}; it is", 1)) from None


def written(duration: Length) -> str:
    """Return a duration as it is written in the configuration."""
    if isinstance(duration, Months):
        unit = next(unit for unit in ("y", "q", "mo") if duration.number % _MONTHS[unit] == 0)
        return f"{duration.number // _MONTHS[unit]}{unit}"
    seconds = round(duration.total_seconds())
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds and not seconds % length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def _wall_time(value: object) -> datetime:
    """Return a date or time as written, with no zone: the monitor's timezone gives it one."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            meant = _year_first(str(value))
            raise ValueError(
                f"must be a date or time such as 2026-01-31 or 2026-01-31T06:00; it is {quoted(value)}{meant}"
            ) from None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)  # noqa: DTZ001
    if not isinstance(value, datetime):
        raise ValueError(f"must be a date or time such as 2026-01-31; it is {quoted(value)}")
    require_calendar(value)
    if value.tzinfo is not None:
        raise ValueError(f"is read in the monitor's timezone: leave the offset out of {value.isoformat()}")
    return value


def require_calendar(moment: datetime) -> None:
    """Raise ValueError outside of the years for which there are time zones and room for delays."""
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise ValueError(f"must be in the years {_FIRST_YEAR} to {_LAST_YEAR}; it is {moment.isoformat()}")


def _year_first(text: str) -> str:
    """Advice on a day that was written as 31.01.2026, 31/01/2026 or 01/31/2026."""
    match = re.fullmatch(r"(\d\d?)([./])(\d\d?)[./](\d{4})", text.strip())
    if match is None:
        return ""
    year, parts = match[4], (f"{match[1]:0>2}", f"{match[3]:0>2}")
    # With slashes either the day or the month comes first, by the country.
    days = {f"{year}-{parts[1]}-{parts[0]}"} | (
        {f"{year}-{parts[0]}-{parts[1]}"} if match[2] == "/" else set()
    )
    real = []
    for day in sorted(days):
        with suppress(ValueError):  # no such day
            date.fromisoformat(day)
            real.append(day)
    return f"; write the year first: {' or '.join(real)}" if real else ""


def _zone(value: object) -> ZoneInfo:
    if isinstance(value, ZoneInfo):
        return value
    try:
        return ZoneInfo(str(value))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"is not a time zone of the IANA database: {quoted(value)}; write one, such as Europe/Berlin"
        ) from None


def _cron(value: str) -> str:
    """Return a crontab line that fires at some time."""
    try:
        next_fire(value, ZoneInfo("UTC"), datetime(2000, 1, 1, tzinfo=UTC))
    except ValueError as error:
        raise ValueError(
            f"is not a crontab line of five fields such as '0 6 * * *': {quoted(value)} ({error})"
        ) from None
    return value


def require_variable(name: str) -> str:
    """Return the name of an environment variable; refuse a secret that stands in its place, unquoted.

    That is what has other characters than capitals, digits and _, or a word as long and mixed as a key.
    """
    plain = _VARIABLE.fullmatch(name) is not None
    if not plain or any(len(word) > _LONGEST_WORD and re.search(r"\d", word) for word in name.split("_")):
        raise ValueError(
            "must be the name of an environment variable, in capitals such as WAREHOUSE_URL, "
            "not what it holds"
        )
    return name


def _file_name(name: str) -> str:
    """Return the name of a file; refuse what it should hold, unquoted."""
    if not name.strip() or "://" in name or not name.isprintable() or len(name) > _LONGEST_PATH:
        raise ValueError("must be the name of a file such as secrets/store-url, not what it holds")
    return name


def _address(value: str) -> str:
    host, colon, port = value.rpartition(":")
    if not host or not colon or not port.isascii() or not port.isdigit() or not int(port) < 2**16:
        raise ValueError(f"must be host:port, such as 127.0.0.1:8790; it is {quoted(value)}")
    return value


def host_and_port(address: str) -> tuple[str, int]:
    """Return the parts of an `Address`.

    Examples
    --------
    >>> host_and_port("[::1]:8790")
    ('::1', 8790)
    """
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


Address = Annotated[str, AfterValidator(_address)]
Variable = Annotated[
    str,
    AfterValidator(require_variable),
    WithJsonSchema({"type": "string", "pattern": f"^{_VARIABLE.pattern}$"}),
]
FileName = Annotated[str, AfterValidator(_file_name)]
Duration = Annotated[timedelta, BeforeValidator(_duration)]
WindowLength = Annotated[
    timedelta | Months,
    BeforeValidator(_length),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^\s*\d+([smhd]|mo|q|y)\s*$",
            "examples": ["12h", "7d", "1mo", "1q", "1y"],
        }
    ),
]
WallTime = Annotated[datetime, BeforeValidator(_wall_time)]
Zone = Annotated[ZoneInfo, BeforeValidator(_zone)]
Cron = Annotated[str, AfterValidator(_cron)]
NAME_PATTERN = r"^[A-Za-z0-9_.-]+$"
Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=100)]
WebAddress = Annotated[str, Field(pattern=r"^https?://\S+$")]
Text = Annotated[str, Field(min_length=1)]
Column = Annotated[str, Field(min_length=1)]
Level = Annotated[float, Field(gt=0.5, lt=1)]
FiniteFloat = Annotated[float, Field(allow_inf_nan=False)]
Rate = Annotated[float, Field(gt=0, lt=1)]


def beside(url: str, folder: Path) -> str:
    """Return the URL with a relative SQLite path taken from the folder, wherever the command is run from."""
    match = re.fullmatch(r"sqlite:///(?!/|:memory:|file:)([^?]+)(\?.*)?", url)
    return f"sqlite:///{(folder / match[1]).as_posix()}{match[2] or ''}" if match else url


def refusing_switches(rule: str) -> BeforeValidator:
    """Refuse true and false, which would be read as 1 and 0; the rule has {} for what was given."""

    def check(value: object) -> object:
        if isinstance(value, bool):
            raise ValueError(rule.format(quoted(value)))
        return value

    return BeforeValidator(check)


def require_own_names(values: Iterable[float], what: str = "") -> None:
    """Raise ValueError where two values have one name in metrics: six digits."""
    named: dict[str, float] = {}
    for value in values:
        name = f"{value:g}"
        if name in named:
            raise ValueError(
                f"{what}{named[name]!r} and {what}{value!r} would both be reported as {name}; "
                "keep one of them"
            )
        named[name] = value


def no_switch(rule: object) -> object:
    """Refuse true and false, which would be read as 1 and 0."""
    for key, value in rule.items() if isinstance(rule, dict) else ():
        if isinstance(value, bool):
            raise ValueError(f"{key} must not be true or false; write a value, or leave {key} out")
    return rule
