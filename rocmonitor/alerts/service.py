"""Handing a message to a service. The only importer of apprise."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

import requests
from apprise import Apprise, AppriseAsset, NotifyBase, NotifyFormat, NotifyType

from rocmonitor.alerts.message import PICTURE, Kind, Message
from rocmonitor.errors import AlertError

CONNECT_SECONDS, ANSWER_SECONDS = 15.0, 40.0
"""Seconds for a service to be reached and to answer: together less than a delivery may take."""

_PAGER, _MAIL = 1024, 20_000  # characters that a service carries, at most and at least

# What the system says of a request that was sent and not answered; an address that was not reached has none.
_NO_ANSWER = re.compile(
    r"(?i)read timed out|reset by peer|connection aborted|unexpectedly closed|: timed out$", re.M
)

# What Slack, Discord, Mattermost, Teams and Telegram take for a call of all who are in a room.
_CALLS = re.compile(r"(?<!\w)@(?=(?:everyone|here|channel|all|online|team|room)\b)|<(?=!)", re.IGNORECASE)

# Apprise 2 has a time limit of its own, for which it sends in a thread that the end of the process waits for.
_IN_THIS_THREAD: dict[str, Any] = {"service_timeout": 0} if hasattr(AppriseAsset, "_service_timeout") else {}

_NOTIFY_TYPES: dict[Kind, NotifyType] = {
    "alarm": NotifyType.FAILURE,
    "recovery": NotifyType.SUCCESS,
    "notice": NotifyType.INFO,
    "test": NotifyType.INFO,
}


def send(url: str, message: Message, *, folder: Path, picture: Callable[[], bytes] | None = None) -> None:
    """Hand a message to one service, and return once the service has taken it.

    The URL is Apprise's of one service, or ``file:///absolute/path`` or ``file://relative/path`` (from the
    `folder` of the configuration), which appends the message to a file, after the time in UTC. `picture`
    returns a PNG, attached where the service can carry it, and shown within a mail; else it is not asked.

    An AlertError is not `transient` when no later try can succeed with this URL. Its text holds nothing of
    the URL but its service and host.

    A mail gets the HTML; a service of at most 1,024 characters gets as many lines for a pager as fit; every
    other one, a web hook too, as many lines of the text. A value that calls everybody of a chat
    (``@everyone``, ``<!channel>``) calls nobody.

    A service is given up when it is not reached within 15 seconds or does not answer within 40, or after its
    URL's ``cto`` and ``rto`` (Apprise's parameters, in seconds) if these are less: Apprise's own 4 seconds
    would send the same alarm to a slow service again and again.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> message = Message("OK credit-default: AUROC 0.76", "no alarm stands", "recovery")
    >>> send("file://alarms.log", message, folder=folder)
    >>> time, message = (folder / "alarms.log").read_text().split(" ", 1)
    >>> print(message, end="")
    OK credit-default: AUROC 0.76
    no alarm stands
    <BLANKLINE>
    """
    path = _file(url, folder)
    if path is not None:
        _append(path, message)
        return
    services = _one_service(url)
    service = services[0]
    _answer.asks = None
    with _apprise_log() as log, _attached(service, picture) as attached:
        body, body_format = _body(service, message, attached=attached is not None)
        taken = services.notify(
            body=body if body_format is NotifyFormat.HTML else without_calls(body),
            title=without_calls(message.title),
            notify_type=_NOTIFY_TYPES[message.kind],
            body_format=body_format,
            attach=attached,
        )
    if not taken:
        shown = re.match(r"\w+://(?:[^/@]*@)?([^/:?]*)", service.url(privacy=True))  # type: ignore[no-untyped-call]
        # Warnings and, from debug lines, what the system said of the connection.
        system = re.search(r"\[Errno -?\d+\] [\w ]+|timed out|certificate verify failed", str(log))
        told = _lines(str(log), "WARNING", "ERROR") + (f" ({system[0]})" if system else "")
        text = _without_url(told, url, keep=shown[1] if shown else "")
        asks = f"; it asks for a pause of {_answer.asks}" if _answer.asks else ""
        error = AlertError(
            f"{service.service_name} did not take the message: {text or 'no reason was given'}{asks}"
        )
        error.unconfirmed = bool(_NO_ANSWER.search(str(log)))
        error.retry_after = _answer.asks
        raise error


class _Answer(threading.local):
    """Answer that this thread got last, and the time it asks for: Apprise tells its status alone."""

    asks: timedelta | None = None


_answer = _Answer()
_send = requests.Session.send


@wraps(_send)
def _heard(self: requests.Session, *args: Any, **options: Any) -> requests.Response:
    response = _send(self, *args, **options)
    _answer.asks = retry_after(response.status_code, response.headers.get("Retry-After"), datetime.now(UTC))
    return response


requests.Session.send = _heard  # type: ignore[method-assign]


def retry_after(status: int, header: str | None, now: datetime) -> timedelta | None:
    """Return the pause that an HTTP answer asks for: 0 of a 429 that names none, None where nothing is asked.

    Examples
    --------
    >>> now = datetime(2026, 6, 1, tzinfo=UTC)
    >>> print(retry_after(429, "90", now), retry_after(503, "Mon, 01 Jun 2026 00:01:00 GMT", now))
    0:01:30 0:01:00
    >>> print(retry_after(429, "soon", now), retry_after(500, None, now))
    0:00:00 None
    """
    if status not in (429, 503) or (status == 503 and header is None):
        return None
    with suppress(ValueError, OverflowError):
        return timedelta(seconds=max(0.0, float(header or "")))
    with suppress(ValueError, TypeError):
        return max(timedelta(), parsedate_to_datetime(header or "") - now)
    return timedelta()


def check_url(url: str, *, folder: Path) -> None:
    """See that `send` could make something of a URL; nothing is sent and no host is asked.

    AlertError: as `send` raises it; for ``file://``, also when the folder of the file is not there.

    Examples
    --------
    >>> check_url("json://localhost/hook", folder=Path())
    >>> check_url("file://alarms.log", folder=Path())
    """
    path = _file(url, folder)
    if path is None:
        _one_service(url)
    elif not path.parent.is_dir():
        raise AlertError(f"cannot append to {path}: there is no folder {path.parent}; make it")


def _body(service: NotifyBase, message: Message, *, attached: bool) -> tuple[str, NotifyFormat]:
    """Return the message in the length and format that suits a service."""
    longest = service.body_maxlen
    formats: Any = service.notify_format  # one, or in Apprise 2 several, the preferred one first
    preferred = formats[0] if isinstance(formats, tuple) else formats
    if message.html and preferred == NotifyFormat.HTML and longest >= _MAIL:
        if attached and hasattr(service, "inline"):  # of Apprise 2; before, a picture is only attached
            service.inline = True
            shown = (
                f'<p><img src="cid:{PICTURE}" style="max-width: 100%" alt="AUROC of the last windows"></p>'
            )
            return message.html.replace("<!--chart-->", shown), NotifyFormat.HTML
        return message.html.replace("<!--chart-->\n", ""), NotifyFormat.HTML
    # Without a title of its own a service puts ours in front of the text.
    room = longest - (0 if service.title_maxlen else len(message.title) + 2)
    lines = message.pager if message.pager and longest <= _PAGER else message.body.splitlines()
    return _fitting(lines, room) or message.title[:longest], NotifyFormat.TEXT


def without_calls(text: str) -> str:
    """Return a text in which nothing calls everybody of a chat: values of data are in it.

    Examples
    --------
    >>> without_calls("@everyone <!channel|x> ana@allianz.example").replace("\u2060", "|")
    '@|everyone <|!channel|x> ana@allianz.example'
    """
    return _CALLS.sub(lambda call: f"{call[0]}\u2060", text)


def _fitting(lines: Sequence[str], room: int) -> str:
    """Return the first lines that fit, each of them whole: half an address is of no use."""
    shown: list[str] = []
    for line in lines:
        if len("\n".join([*shown, line])) <= room:
            shown.append(line)
    return "\n".join(shown)


@contextmanager
def _attached(service: NotifyBase, picture: Callable[[], bytes] | None) -> Iterator[str | None]:
    """Write the picture as a file for Apprise; none where the service takes no attachments."""
    if picture is None or not service.attachment_support:
        yield None
        return
    with TemporaryDirectory(prefix="rocmonitor-") as folder:
        path = Path(folder, PICTURE)
        path.write_bytes(picture())
        yield str(path)


def _one_service(url: str) -> Apprise:
    services = Apprise(
        asset=AppriseAsset(app_id="rocmonitor", app_desc="rocmonitor", async_mode=False, **_IN_THIS_THREAD)
    )
    with _apprise_log() as log:
        check_url = services.add(url)
    if len(services) > 1:
        raise AlertError(
            f"a channel is one service; its URL holds {len(services)}: make each a channel of its own "
            "and name them all under notify",
            transient=False,
        )
    if not check_url:
        raise AlertError(
            f"the channel's URL is not one that Apprise understands{_why_not(url, str(log))}",
            transient=False,
        )
    service = services[0]
    service.socket_connect_timeout = _seconds(url, "cto", CONNECT_SECONDS)
    service.socket_read_timeout = _seconds(url, "rto", ANSWER_SECONDS)
    return services


def _seconds(url: str, parameter: str, longest: float) -> float:
    """Return the seconds that a URL asks for, within what we bear."""
    match = re.search(rf"[?&]{parameter}=(\d+(?:\.\d+)?)(?:&|$)", url)
    return min(float(match[1]), longest) if match else longest


def _why_not(url: str, log: str) -> str:
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", url)
    if scheme is None:
        return ": it does not start with a service such as json://, slack:// or mailto://"
    if scheme[1].lower() in ("http", "https"):
        return ": for a webhook of your own write json:// in place of http://, and jsons:// for https://"
    # At level ERROR Apprise repeats the URL, shortened to the ends of its parts; warnings say what is wrong.
    reason = _without_url(_lines(log, "WARNING"), url, keep="")
    return f" ({scheme[1]}://): {reason or 'no such service, or a part of it is missing'}"


class _LogLines(logging.Handler):
    """The log lines of Apprise in one thread: another thread may log another channel's URL."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self._thread, self._lines = threading.get_ident(), list[str]()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record of our thread."""
        if record.thread == self._thread:
            self._lines.append(f"{record.levelname} {record.getMessage()}")

    def __str__(self) -> str:
        return "\n".join(self._lines)


_listening: set[_LogLines] = set()
_changing = threading.Lock()


@contextmanager
def _apprise_log() -> Iterator[_LogLines]:
    """Keep Apprise's records out of the process's own log: they may hold parts of the URL."""
    logger, listener = logging.getLogger("apprise"), _LogLines()
    logger.addHandler(listener)
    with _changing:
        _listening.add(listener)
        logger.propagate = False
        logger.setLevel(logging.DEBUG)
    try:
        yield listener
    finally:
        logger.removeHandler(listener)
        with _changing:
            _listening.discard(listener)
            if not _listening:
                logger.propagate = True
                logger.setLevel(logging.NOTSET)


def _lines(log: str, *levels: str) -> str:
    parts = [line.partition(" ") for line in log.splitlines()]
    return " ".join(text.strip() for level, _, text in parts if level in levels)


def _without_url(text: str, url: str, *, keep: str) -> str:
    """Return the text with all parts of the URL but `keep` starred out: services hide secrets anywhere."""
    values = re.sub(r"[?&][^=&]*=", "/", url.partition("://")[2])
    pieces = [piece for piece in re.split(r"[/:@?&=,;#\s]+", values) if piece]
    parts = sorted({*pieces, *map(unquote, pieces)}, key=len, reverse=True)
    if not parts:
        return text
    # Short parts only as whole words: a port or a "yes" would tear up the sentence.
    words = [re.escape(part) if len(part) > 3 else rf"(?<!\w){re.escape(part)}(?!\w)" for part in parts]
    pattern = "|".join([*([re.escape(keep)] if keep else []), *words])
    return re.sub(pattern, lambda match: keep if match[0] == keep else "****", text)


def _file(url: str, folder: Path) -> Path | None:
    """Return what ``file://`` names; None for a service."""
    return folder / unquote(url.removeprefix("file://")) if url.startswith("file://") else None


def _append(path: Path, message: Message) -> None:
    """One write, on the disk before it counts as sent; a new file is for its owner's eyes only."""
    text = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {message.title}\n{message.body}\n\n".encode()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            written = os.write(descriptor, text)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise AlertError(f"cannot append to {path}: {error.strerror}") from error
    if written < len(text):
        raise AlertError(f"cannot append to {path}: only the beginning was written; is the disk full?")
