"""A headless Chromium, controlled over a pipe with the DevTools protocol. Needs only the standard library."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-extensions",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0  # seconds to wait for an answer; a busy machine is slow


def find_chromium() -> str | None:
    """The command that starts Chromium: EULERMEANS_CHROMIUM, or one of the usual names; None if there is none."""
    named = os.environ.get("EULERMEANS_CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


def _start(command: list[str]) -> tuple[int, int, int]:
    """Start Chromium, which reads commands from file descriptor 3 and answers on 4.

    Returns its process id, and our ends of the two pipes: to write to and to read from.
    """
    to_read, write = os.pipe()
    read, to_write = os.pipe()
    # Numbers above 4, so that moving one to 3 or 4 does not overwrite the other.
    theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, to_write)]
    with open(os.devnull, "w") as nothing:
        places = [(theirs[0], 3), (theirs[1], 4), (nothing.fileno(), 1), (nothing.fileno(), 2)]
        actions: list[Any] = [(os.POSIX_SPAWN_DUP2, end, place) for end, place in places]
        actions += [(os.POSIX_SPAWN_CLOSE, end) for end in theirs]
        pid = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
    for end in (to_read, to_write, *theirs):
        os.close(end)
    return pid, write, read


class Browser:
    """One Chromium process and one page in it."""

    def __init__(self, command: str, profile: Path) -> None:
        self._pid, self._write, self._read = _start([command, *FLAGS, f"--user-data-dir={profile}", "about:blank"])
        self._buffer = b""
        self._last = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        try:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the process that was started here."""
        os.close(self._write)
        os.close(self._read)
        os.kill(self._pid, signal.SIGTERM)
        end = time.monotonic() + 10
        while os.waitpid(self._pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > end:
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
                return
            time.sleep(0.02)

    def open(
        self,
        path: Path,
        *,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        media: str = "",
        scripts: bool = True,
    ) -> None:
        """Show a file in a window of this size, and wait until it is loaded; `scripts=False` switches them off."""
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        self._wait_for("Page.loadEventFired")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression on the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """Console errors and warnings, and uncaught exceptions, since the page was opened."""
        return [
            json.dumps(event["params"])
            for event in self.events
            if event["method"] in ("Log.entryAdded", "Runtime.exceptionThrown")
            or (event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning"))
        ]

    def requests(self) -> list[str]:
        """URLs requested since the page was opened, except the page itself and inline data."""
        urls = [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in urls[1:] if not url.startswith("data:")]

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """The page as a PNG file."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def hover(self, x: float, y: float) -> None:
        """Move the pointer to a place in the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        """Press and release the left button at a place in the window."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def box_of(self, selector: str) -> list[float]:
        """Corners of the first such element in the window, which is scrolled to it; works without scripts."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        try:
            self.call("DOM.scrollIntoViewIfNeeded", nodeId=node)
            corners: list[float] = self.call("DOM.getContentQuads", nodeId=node)["quads"][0]
        except RuntimeError:  # it has no box
            return [0.0] * 8
        return corners

    def middle_of(self, selector: str) -> tuple[float, float]:
        """The middle of an element in the window."""
        corners = self.box_of(selector)
        return sum(corners[0::2]) / 4, sum(corners[1::2]) / 4

    def height_of(self, selector: str) -> float:
        """The height of an element; 0 if it is not shown."""
        corners = self.box_of(selector)
        return max(corners[1::2]) - min(corners[1::2])

    def save_into(self, folder: Path) -> None:
        """Save downloads into this folder."""
        page, self._session = self._session, None  # a command to the browser, not to the page
        try:
            self.call(
                "Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder), eventsEnabled=True
            )
        finally:
            self._session = page

    def wait_for_file(self, path: Path) -> str:
        """The text of a file, once it is saved."""
        end = time.monotonic() + PATIENCE
        while not path.exists() and time.monotonic() < end:
            time.sleep(0.05)
        return path.read_text(encoding="utf-8")

    def print(self) -> bytes:
        """The page as a PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _wait_for(self, method: str) -> None:
        while not any(event["method"] == method for event in self.events):
            self._receive()

    def _receive(self) -> dict[str, Any]:
        """The next message. Events are also stored in `events`."""
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self._read, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError("Chromium was started, but does not answer.")
            self._buffer += data
        raw, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(raw)
        if "method" in message:
            self.events.append(message)
        return message
