"""A real browser for tests: Debian's Chromium without a window, spoken to over a pipe.

An absent browser skips the test, and fails it where ``CI`` is set. ``ROCMONITOR_TEST_BROWSER`` names another
binary than ``chromium``.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import shutil
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = os.environ.get("ROCMONITOR_TEST_BROWSER", "chromium")

_SECONDS = 60
# Chromium reads commands from descriptor 3 and answers on 4; through higher ones, so that neither is lost.
_EXEC = """import os, sys
for number, high in zip(sys.argv[1:3], (30, 31)):
    os.dup2(int(number), high)
os.dup2(30, 3), os.dup2(31, 4)
os.execvp(sys.argv[3], sys.argv[3:])"""


class Browser:
    """A running Chromium and one page in it.

    Attributes
    ----------
    requests : list of str
        What the page asked for since it was opened, data within the page aside.
    problems : list of str
        What its console has had since: errors, warnings, exceptions, and what its policy refused.
    """

    def __init__(self, folder: Path) -> None:
        self.requests: list[str] = []
        self.problems: list[str] = []
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._loaded = False
        self._log = open(folder / "browser.log", "wb")  # noqa: SIM115 closed by `close`
        hears, self._says = os.pipe()
        self._hears, says = os.pipe()
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        options += ["--disable-background-networking", "--hide-scrollbars", "--remote-debugging-pipe"]
        command = [sys.executable, "-c", _EXEC, str(hears), str(says), CHROMIUM, *options]
        self.process = subprocess.Popen(
            [*command, f"--user-data-dir={folder / 'profile'}", "about:blank"],
            pass_fds=(hears, says),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        os.close(hears)
        os.close(says)
        self._session = ""
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def open(self, path: Path, *, width: int, height: int = 900) -> None:
        """Show a file at a width in CSS pixels, and wait until all of it is loaded."""
        self.visit(path.resolve().as_uri(), width=width, height=height)

    def visit(self, url: str, *, width: int, height: int = 900, dark: bool | None = None) -> None:
        """The same for an address, in the light or the dark theme of the system where that is said."""
        if dark is not None:
            theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            self.call("Emulation.setEmulatedMedia", features=[theme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self._go("about:blank")  # what the page before still asks for is not asked by this one
        self.requests.clear()
        self.problems.clear()
        self._go(url)

    def follow(self, expression: str) -> None:
        """Evaluate an expression that leads to another page, and wait until all of that is loaded."""
        self._loaded = False
        self.measure(f"setTimeout(() => {{ {expression} }}); 0")  # first the answer, then the page goes
        self._wait()

    def _go(self, url: str) -> None:
        self._loaded = False
        self.call("Page.navigate", url=url)
        self._wait()

    def _wait(self) -> None:
        while not self._loaded:
            self._take(self._message())

    def measure(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page, as plain JSON types."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def later(self, promise: str) -> Any:
        """What a promise in the page comes to."""
        found = self.call("Runtime.evaluate", expression=promise, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, condition: str) -> None:
        """Wait until a JavaScript expression is true, looking once a frame."""
        look = f"() => ({condition}) ? done(1) : requestAnimationFrame(look)"
        self.later(f"new Promise(done => {{ const look = {look}; look(); }})")

    def press(self, key: str) -> None:
        """A key, where the focus is."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def click(self, x: float, y: float) -> None:
        """The left button, at a place of the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def pdf(self) -> bytes:
        """The page, printed as its own style wants it."""
        printed = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        return b64decode(printed["data"])

    def screenshot(self) -> bytes:
        """All of the page, as PNG."""
        taken = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        return b64decode(taken["data"])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the DevTools protocol, and its answer."""
        number = next(self._numbers)
        command = {"id": number, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._says, json.dumps(command).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                return dict(message["result"])
            self._take(message)

    def close(self) -> None:
        """End it and wait until it is gone."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for descriptor in (self._says, self._hears):
            os.close(descriptor)
        self._log.close()

    def _take(self, message: dict[str, Any]) -> None:
        """Note an event."""
        if message.get("method") == "Page.loadEventFired":
            self._loaded = True
        if message.get("method") == "Network.requestWillBeSent":
            url = message["params"]["request"]["url"]
            if not url.startswith("data:"):
                self.requests.append(url)
        if text := _problem(message):
            self.problems.append(text)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._hears], [], [], _SECONDS)
            read = os.read(self._hears, 1 << 20) if ready else b""
            if not read:
                self._log.flush()
                pytest.fail(f"the browser says no more: {Path(self._log.name).read_text()[-2000:]}")
            self._buffer += read
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))


def _problem(message: dict[str, Any]) -> str:
    """What an event says is wrong with the page; empty for any other event."""
    given = message.get("params", {})
    if message.get("method") == "Runtime.exceptionThrown":
        return json.dumps(given["exceptionDetails"])
    if message.get("method") == "Runtime.consoleAPICalled" and given["type"] in (
        "error",
        "warning",
        "assert",
    ):
        return json.dumps(given["args"])
    if message.get("method") == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
        return str(given["entry"]["text"])
    return ""


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for the session."""
    if shutil.which(CHROMIUM) is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"no browser: {CHROMIUM} is not installed")
    running = Browser(tmp_path_factory.mktemp("browser"))
    yield running
    running.close()
