"""A browser without a window, asked over its DevTools pipe: pages run in their own time, and are looked at when ready."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = ("--headless", "--no-sandbox", "--no-first-run", "--disable-background-networking", "--disable-extensions")
LOADED = "new Promise((go) => document.readyState === 'complete' ? go() : addEventListener('load', go))"
PATIENCE = 600.0
"""Seconds after which a browser is ended."""


class Pipe:
    """Messages to and from a browser: JSON with a zero byte after each."""

    def __init__(self, write: int, read: int) -> None:
        self._write = write
        self._messages = self._read(read)
        self._last = 0
        self.events: list[Any] = []
        """What the browser said by itself."""

    @staticmethod
    def _read(read: int) -> Iterator[Any]:
        rest = b""
        while chunk := os.read(read, 1 << 16):
            *whole, rest = (rest + chunk).split(b"\0")
            yield from map(json.loads, whole)

    def ask(self, method: str, session: str = "", **parameters: Any) -> Any:
        """The result of a method."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        os.write(self._write, json.dumps(message).encode() + b"\0")
        for answer in self._messages:
            if answer.get("id") == self._last:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)
        raise AssertionError(f"the browser ended before it answered {method}")


@contextmanager
def browser(program: str, profile: Path, *options: str) -> Iterator[Pipe]:
    """A browser that ends with the block."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()

    def connect() -> None:  # the browser reads from 3 and writes to 4
        reads, writes = os.dup(theirs_in), os.dup(theirs_out)
        os.dup2(reads, 3)
        os.dup2(writes, 4)

    words = [program, *FLAGS, *options, "--remote-debugging-pipe", f"--user-data-dir={profile}"]
    process = subprocess.Popen(words, preexec_fn=connect, pass_fds=(3, 4), stderr=subprocess.DEVNULL)
    watch = threading.Timer(PATIENCE, process.kill)
    watch.start()
    try:
        os.close(theirs_in)
        os.close(theirs_out)
        yield Pipe(ours_out, ours_in)
    finally:
        watch.cancel()
        process.kill()
        process.wait()
        os.close(ours_out)
        os.close(ours_in)


class Page:
    """A page in a browser."""

    def __init__(self, pipe: Pipe, page: Path, width: int = 1000, height: int = 900) -> None:
        self._pipe = pipe
        target = pipe.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = pipe.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Runtime.enable")
        self.ask("Log.enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Page.navigate", url=page.as_uri())  # answered when the page has taken the place of the blank one
        self.value(f"{LOADED}.then(() => true)")

    def ask(self, method: str, **parameters: Any) -> Any:
        return self._pipe.ask(method, self._session, **parameters)

    def value(self, expression: str) -> Any:
        """The value of an expression, once its promise holds."""
        found = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        """Until a condition holds."""
        look = f"const look = () => ({condition}) ? go(true) : setTimeout(look, 50); look();"
        self.value(f"new Promise((go) => {{ {look} }})")

    @property
    def console(self) -> tuple[str, ...]:
        """Everything that was logged, and every error of a script or of a forbidden access."""
        said = []
        for event in self._pipe.events:
            given = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                details = given["exceptionDetails"]
                said.append(f"{details['text']} {details.get('exception', {}).get('description', '')}")
            elif event.get("method") == "Log.entryAdded":
                said.append(given["entry"]["text"])
            elif event.get("method") == "Runtime.consoleAPICalled":
                said.append(" ".join(str(a.get("value", a.get("description", ""))) for a in given["args"]))
        return tuple(said)
