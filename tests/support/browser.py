"""A real browser for tests: headless Chromium, controlled by its DevTools protocol over a pipe, without other dependencies."""

from __future__ import annotations

import base64
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
QUIET = (
    *("--headless=new", "--no-sandbox", "--no-first-run", "--disable-quic", "--disable-sync", "--disable-extensions"),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-dev-shm-usage",
    ),
    *("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", "--force-color-profile=srgb"),
    "--remote-debugging-pipe",
)


def find_browser() -> str | None:
    """Return the path of the browser, from EIGENSPAN_BROWSER or the usual names."""
    return os.environ.get("EIGENSPAN_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A running Chromium; a thread reads its answers."""

    def __init__(self, folder: Path, flags: tuple[str, ...] = ()) -> None:
        program = find_browser()
        assert program is not None
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()

        def arrange() -> None:  # the browser reads from 3 and writes to 4
            os.dup2(theirs_in, 13), os.dup2(theirs_out, 14)
            os.dup2(13, 3), os.dup2(14, 4)

        command = [program, *QUIET, *flags, f"--user-data-dir={folder}", "about:blank"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=arrange
        )
        os.close(theirs_in), os.close(theirs_out)
        self._number, self._answers, self.events = 0, queue.Queue[dict[str, Any]](), list[dict[str, Any]]()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        rest = b""
        while chunk := os.read(self._in, 1 << 16):
            *messages, rest = (rest + chunk).split(b"\0")
            for message in map(json.loads, messages):
                if "id" in message:
                    self._answers.put(message)
                else:
                    self.events.append(message)

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Send a command and wait for the answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        message |= {} if session is None else {"sessionId": session}
        os.write(self._out, json.dumps(message).encode() + b"\0")
        answer = self._answers.get(timeout=600)
        assert answer["id"] == self._number
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def close(self) -> None:
        self.call("Browser.close")
        self.process.wait(timeout=200)
        os.close(self._out), os.close(self._in)


class Page:
    """One tab, with its requests, its errors, and control of mouse and keyboard."""

    def __init__(self, browser: Browser, width: int, height: int, dark: bool, downloads: Path) -> None:
        self.browser, self.downloads = browser, downloads
        context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self._target = target
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{part}.enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        browser.call(
            "Browser.setDownloadBehavior", behavior="allow", browserContextId=context, downloadPath=str(downloads)
        )
        self.resize(width, height)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.browser.call(method, self._session, **params)

    def resize(self, width: int, height: int, ratio: float = 1.0) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio, mobile=False
        )

    def open(self, path: Path) -> None:
        """Open a file, and wait until the panels are drawn."""
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.body && document.body.dataset.state && location.protocol === 'file:'")

    def run(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression: str, seconds: float = 600) -> None:
        end = time.monotonic() + seconds
        while not self.run(f"Boolean({expression})"):
            assert time.monotonic() < end, f"{expression} did not come true in {seconds} s"
            time.sleep(0.02)

    def settle(self) -> None:
        """Wait for two animation frames."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def _mine(self, method: str) -> list[dict[str, Any]]:
        mine = [event for event in list(self.browser.events) if event.get("sessionId") == self._session]
        return [event["params"] for event in mine if event["method"] == method]

    def requests(self) -> list[str]:
        """Return the requested URLs, without those that the page created."""
        urls = [event["request"]["url"] for event in self._mine("Network.requestWillBeSent")]
        return [url for url in urls if not url.startswith(("data:", "blob:"))]

    def complaints(self) -> list[str]:
        """Return errors and warnings of the console, and exceptions."""
        thrown = [str(event["exceptionDetails"]) for event in self._mine("Runtime.exceptionThrown")]
        called = [event for event in self._mine("Runtime.consoleAPICalled") if event["type"] in ("error", "warning")]
        logged = [event["entry"] for event in self._mine("Log.entryAdded")]
        return thrown + [str(event["args"]) for event in called] + [entry["text"] for entry in logged]

    # ------------------------------------------------------------------------------ mouse and keys
    def mouse(self, kind: str, x: float, y: float, shift: bool = False, **more: Any) -> None:
        modifiers = 8 if shift else 0
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, modifiers=modifiers, **more)

    def drag(self, points: list[tuple[float, float]], shift: bool = False) -> None:
        """Drag the mouse from the first point through the others to the last."""
        held: dict[str, Any] = {"button": "left", "clickCount": 1}
        self.mouse("mouseMoved", *points[0], shift)
        self.mouse("mousePressed", *points[0], shift, **held)
        for point in points[1:]:
            self.mouse("mouseMoved", *point, shift, button="left", buttons=1)
        self.mouse("mouseReleased", *points[-1], shift, **held)
        self.settle()

    def click(self, selector: str) -> None:
        self.run(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'nearest'}})")
        place = self.box(selector)
        self.drag([(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)])

    def box(self, selector: str, number: int = 0) -> dict[str, float]:
        found = f"document.querySelectorAll({json.dumps(selector)})[{number}].getBoundingClientRect().toJSON()"
        return dict(self.run(found))

    def key(self, name: str, times: int = 1, shift: bool = False) -> None:
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39}
        code = (codes | {"ArrowDown": 40}).get(name, ord(name[0].upper()))
        text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
        for _ in range(times):
            event = {"key": name, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
            self.call(
                "Input.dispatchKeyEvent",
                type="keyDown" if text else "rawKeyDown",
                **event,
                **({"text": text} if text else {}),
            )
            self.call("Input.dispatchKeyEvent", type="keyUp", **event)
        self.settle()

    # ------------------------------------------------------------------------------ what is seen and saved
    def picture(self, clip: dict[str, float] | None = None, whole: bool = False) -> bytes:
        """Return a PNG of the visible page, of a part of it, or of its full length."""
        more: dict[str, Any] = {"captureBeyondViewport": whole}
        if clip is not None:
            across, down = self.run("[scrollX, scrollY]")
            place = {"x": clip["x"] + across, "y": clip["y"] + down, "width": clip["width"], "height": clip["height"]}
            more["clip"] = place | {"scale": 1}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **more)["data"])

    def saved(self, act: Callable[[], None]) -> Path:
        """Return the file that an action downloads; earlier downloads are deleted."""
        for old in self.downloads.iterdir():
            old.unlink()
        act()
        end = time.monotonic() + 200
        while not (new := [file for file in self.downloads.iterdir() if file.suffix not in (".crdownload", ".tmp")]):
            assert time.monotonic() < end, "nothing was downloaded"
            time.sleep(0.05)
        return new[0]

    def close(self) -> None:
        self.browser.call("Target.closeTarget", targetId=self._target)


@contextmanager
def started(flags: tuple[str, ...] = ()) -> Iterator[Browser]:
    """Yield a browser with a temporary home directory."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(Path(folder), flags)
        try:
            yield browser
        finally:
            browser.close()
