"""Every error that rocmonitor raises on purpose.

    RocmonitorError
    ├── InputError (ValueError)          an argument or the data is not usable
    │   └── DegenerateDataError          too little of something: one class, no variance
    ├── ConfigError (ValueError)         rocmonitor.yaml, or the environment it names
    └── ExternalError                    an outside system; `.transient` says whether a later try may succeed
        ├── SourceError                  the database the scored rows are read from
        ├── StoreError                   rocmonitor's own database
        ├── TrackingError                MLflow
        ├── AlertError                   a notification channel
        └── ExecutorError                processes that windows are judged by

A message names the argument or key, the rule, the value and the way out, and never holds a secret.
"""

from __future__ import annotations

import re
from datetime import timedelta

_LONGEST = 80
_USER = re.compile(r"(?<=://)[^\s'\"]*@")
_IN_A_QUERY = re.compile(r"(?i)((?:password|passwd|pwd|token|secret|api_?key)=)[^&\s'\"]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def quoted(value: object) -> str:
    r"""Return a value as messages quote it: control characters escaped, and at most 80 characters.

    Examples
    --------
    >>> print(quoted("a\nb"))
    'a\nb'
    >>> quoted("x" * 1000)[70:]
    "xxxxxxxxxxx'… (920 more characters)"
    """
    if isinstance(value, str):
        more = len(value) - _LONGEST
        return repr(value) if more <= 0 else f"{value[:_LONGEST]!r}… ({more:,} more characters)"
    try:
        text = repr(value)
    except ValueError:  # Python writes no number of more than 4,300 digits
        return "a number of thousands of digits"
    more = len(text) - _LONGEST
    return text if more <= 0 else f"{text[:_LONGEST]}… ({more:,} more characters)"


def printable(text: str) -> str:
    r"""Text from outside with its control characters written out: a line break in it begins no line of ours.

    Examples
    --------
    >>> print(printable("north\nStatus ok"))
    north\nStatus ok
    """
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text
    )


def escape_controls(text: str) -> str:
    r"""Text of many lines with what would steer a terminal, or turn the text after it, written out.

    Tabs and line breaks stay: where a value must not begin a line, it goes through `printable` first.

    Examples
    --------
    >>> print(escape_controls("north\x1b[2J"))
    north\x1b[2J
    """
    return _CONTROL.sub(_written_out, text)


def without_passwords(text: str) -> str:
    """Return the text without the users of its URLs, and the passwords and tokens of their queries.

    Examples
    --------
    >>> without_passwords("postgresql://me:pw@db/x, https://host/?token=abc&page=2")
    'postgresql://db/x, https://host/?token=***&page=2'
    """
    return _IN_A_QUERY.sub(r"\1***", _USER.sub("", text))


def _written_out(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


class RocmonitorError(Exception):
    """Base of all errors raised on purpose."""


def unforeseen(error: Exception) -> RocmonitorError:
    """Return an error that nobody raised on purpose as one of ours."""
    return RocmonitorError(f"unforeseen {type(error).__name__}: {error}")


class InputError(RocmonitorError, ValueError):
    """An argument or the data cannot be used."""


class DegenerateDataError(InputError):
    """The data are well-formed, but the statistic is not defined on them."""


class ConfigError(RocmonitorError, ValueError):
    """The configuration, or something it names, is wrong."""


class ExternalError(RocmonitorError):
    """An outside system failed: the message says what, and what to do, and holds no secret.

    It is `transient` where trying again later may succeed without anybody changing anything.
    """

    unconfirmed = False  # it did not answer in time, and may have done what was asked all the same
    # The pause that it asks for, 0 where it names none; None where it does not ask to be tried later.
    retry_after: timedelta | None = None

    def __init__(self, message: str, *, transient: bool = True) -> None:
        super().__init__(message)
        self.transient = transient


class SourceError(ExternalError):
    """The database the scored rows are read from."""


class StoreError(ExternalError):
    """rocmonitor's own database."""


class TrackingError(ExternalError):
    """MLflow."""


class AlertError(ExternalError):
    """A notification channel."""


class ExecutorError(ExternalError):
    """Processes that windows are judged by."""
