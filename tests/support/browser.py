"""Debian's Chromium without a window, controlled by the DevTools protocol over a pipe.

The poll loop of the test watches the pipe and runs the server that the browser visits, so
nothing sleeps and every wait is for an event.
"""

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from larbinpy.loop.poller import READ, Poller

#: Time limit for events (s). They come within milliseconds unless the machine is stuck.
PATIENCE = 30.0

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--disable-extensions", "--disable-dev-shm-usage", "--mute-audio",
    "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
#: Chromium reads commands from descriptor 3 and writes to 4; both are ends of one socket.
_START = "import os, sys; os.dup2(fd := int(sys.argv[1]), 4); os.dup2(4, 3); os.execvp(*{})"


def chromium() -> str:
    """The path of Chromium; skips the test if it is not installed."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("needs Debian's package chromium")
    return found


class BrowserError(Exception):
    """Raised if the browser reports an error."""


class Browser:
    """A Chromium with its profile in `folder`; `step` is called in each turn."""

    def __init__(self, folder: Path, poller: Poller, step: Callable[[], None], *flags: str) -> None:
        self._poller = poller
        self._step = step
        self._sock, theirs = socket.socketpair()
        command = [chromium(), *_FLAGS, *flags, f"--user-data-dir={folder}"]
        start = _START.format((command[0], command))
        self.process = subprocess.Popen(
            [sys.executable, "-c", start, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={**os.environ, "HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        self._sock.setblocking(False)
        self._heard = bytearray()
        self._replies: dict[int, dict[str, Any]] = {}
        self._last = 0
        self.tabs: dict[str, Tab] = {}
        poller.register(self._sock.fileno(), READ, self._read)

    def _read(self, _fd: int, _events: int) -> None:
        data = self._sock.recv(1 << 20)
        assert data, "the browser has ended"
        self._heard += data
        *messages, rest = self._heard.split(b"\0")
        self._heard = bytearray(rest)
        for message in messages:
            self._take(json.loads(message))

    def _take(self, message: dict[str, Any]) -> None:
        if "id" in message:
            self._replies[message["id"]] = message
        elif message.get("sessionId") in self.tabs:
            self.tabs[message["sessionId"]].take(message["method"], message["params"])

    def until(self, condition: Callable[[], Any]) -> None:
        """Serve until `condition` holds; it is checked after each turn."""
        late = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < late, condition
            self._step()
            self._poller.wait(0.02)

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Call a method of the browser; returns the result."""
        self._last = number = self._last + 1
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        self._sock.setblocking(True)
        self._sock.sendall(json.dumps(message).encode() + b"\0")
        self._sock.setblocking(False)
        self.until(lambda: number in self._replies)
        reply = self._replies.pop(number)
        if "error" in reply:
            raise BrowserError(method, reply["error"])
        result: dict[str, Any] = reply["result"]
        return result

    def tab(self, width: int = 1280, height: int = 800, *, dark: bool = False) -> "Tab":
        """An empty tab of this size."""
        return Tab(self, width, height, dark)

    def close(self) -> None:
        with suppress(AssertionError, BrowserError, OSError):
            self.call("Browser.close")
        self._poller.unregister(self._sock.fileno())
        self._sock.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Tab:
    """One page of the browser, with its error messages and the URLs that it requested."""

    def __init__(self, browser: Browser, width: int, height: int, dark: bool) -> None:
        self._browser = browser
        context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=context)
        self._target = target["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session = attached["sessionId"]
        #: Errors and warnings of the console, exceptions, broken policies.
        self.complaints: list[str] = []
        #: All URLs that were requested.
        self.requests: list[str] = []
        self._loaded = False
        browser.tabs[self._session] = self
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def take(self, method: str, params: dict[str, Any]) -> None:
        """An event of the protocol."""
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] != "info":
            self.complaints.append(str(params["entry"]))
        elif method == "Audits.issueAdded":
            self.complaints.append(str(params["issue"]))

    def go(self, url: str) -> None:
        """Load `url` completely."""
        self._loaded = False
        self.call("Page.navigate", url=url)
        self._browser.until(lambda: self._loaded)

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def until(self, script: str) -> None:
        """Wait until an expression holds in the page."""
        self._browser.until(lambda: self._holds(script))

    def _holds(self, script: str) -> bool:
        # The page may be replaced by another one during the call.
        try:
            return bool(self.run(script))
        except BrowserError:
            return False

    def without_scripts(self) -> None:
        self.call("Emulation.setScriptExecutionDisabled", value=True)

    def picture(self, height: int = 0) -> bytes:
        """The page as PNG: its first `height` pixels, or all of it."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {
            "x": 0, "y": 0, "width": size["width"], "height": height or size["height"], "scale": 1
        }  # fmt: skip
        shot = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def close(self) -> None:
        del self._browser.tabs[self._session]
        self._browser.call("Target.closeTarget", targetId=self._target)
