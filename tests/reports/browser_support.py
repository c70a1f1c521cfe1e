"""A headless Chromium driven through its debugging pipe, with the standard library alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hang_support import HANG

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
NEEDED = pytest.mark.skipif(not any(map(shutil.which, PROGRAMS)), reason="needs Chromium or Chrome on the PATH")


def program() -> str | None:
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Browser:
    """One tab: commands go in, answers and events come out, separated by zero bytes."""

    def __init__(self, writing: int, reading: int) -> None:
        self.writing, self.reading = writing, reading
        self.events: list[dict[str, Any]] = []
        self.answers: dict[int, dict[str, Any]] = {}
        self.changed = threading.Condition()
        self.session: str | None = None
        self.last = 0
        threading.Thread(target=self._read, daemon=True).start()
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Security"):
            self.send(f"{domain}.enable")
        self.send("Emulation.setFocusEmulationEnabled", enabled=True)  # whatever window has the focus

    def _read(self) -> None:
        pending = b""
        while chunk := os.read(self.reading, 1 << 16):
            *messages, pending = (pending + chunk).split(b"\0")
            with self.changed:
                for message in map(json.loads, messages):
                    if "id" in message:
                        self.answers[message["id"]] = message
                    else:
                        self.events.append(message)
                self.changed.notify_all()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.last += 1
        number = self.last
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writing, json.dumps(message).encode() + b"\0")
        with self.changed:
            assert self.changed.wait_for(lambda: number in self.answers, HANG), f"no answer to {method}"
            answer = self.answers.pop(number)
        assert "error" not in answer, answer
        return answer["result"]

    def open(
        self,
        page: Path,
        *,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        media: str = "",
        scripts: bool = True,
    ) -> None:
        """Load a page and wait until it and everything that it asks for has come, or failed to."""
        self.send("Emulation.setScriptExecutionDisabled", value=not scripts)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        with self.changed:
            self.events.clear()
        self.send("Page.navigate", url=page.as_uri())
        with self.changed:
            assert self.changed.wait_for(lambda: self.seen("Page.loadEventFired"), HANG), "the page did not load"
        if scripts:
            self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def evaluate(self, expression: str) -> Any:
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str, code: int, **more: Any) -> None:
        """Press and release a key, such as ("Tab", 9)."""
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more)

    def set(self, control: str, value: Any) -> None:
        """Give the control with that id a value, as a user would."""
        self.evaluate(
            f"(control => {{ control.value = {json.dumps(value)}; for (const kind of ['input', 'change']) "
            f"control.dispatchEvent(new Event(kind)); }})(document.getElementById({json.dumps(control)}))"
        )

    def seen(self, method: str) -> list[dict[str, Any]]:
        return [event["params"] for event in list(self.events) if event["method"] == method]

    @property
    def complaints(self) -> list[Any]:
        """Everything that would be red or yellow on the console."""
        return [
            *(entry["entry"] for entry in self.seen("Log.entryAdded")),
            *self.seen("Runtime.consoleAPICalled"),
            *self.seen("Runtime.exceptionThrown"),
        ]

    @property
    def requests(self) -> list[str]:
        return [request["request"]["url"] for request in self.seen("Network.requestWillBeSent")]


@contextmanager
def running(executable: str, profile: Path) -> Iterator[Browser]:
    to_browser, from_us = os.pipe()
    to_us, from_browser = os.pipe()
    os.set_inheritable(to_browser, True)
    os.set_inheritable(from_browser, True)
    redirected = f'exec "$@" 3</dev/fd/{to_browser} 4>/dev/fd/{from_browser}'  # where the browser looks for its pipe
    process = subprocess.Popen(
        ["sh", "-c", redirected, "sh", executable, *FLAGS, f"--user-data-dir={profile}"],
        pass_fds=(to_browser, from_browser),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Browser(from_us, to_us)
    finally:
        os.close(from_us)  # the browser ends with its pipe
        try:
            process.wait(HANG)
        finally:
            process.kill()
        time.sleep(0.2)  # its helpers still write to the profile
