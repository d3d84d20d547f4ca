"""Talking with a chat that runs as a process: by events through pipes, or in a pseudo-terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import time
from typing import Any

from endpoint import Asked, Endpoint

from .command import Command

PATIENCE_S = 60
COLOUR = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def with_model(endpoint: Endpoint) -> list[str]:
    return ["--base-url", endpoint.url, "--model", "small"]


def spoken(asked: Asked) -> list[dict[str, Any]]:
    """Give the messages that a model was sent, without its system prompt."""
    first, *rest = asked.body["messages"]
    assert first["role"] == "system"
    return rest


class Talk:
    """A chat that tells events; what is written to it and read from it goes through pipes."""

    def __init__(self, sap: Command, *args: str) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = sap.start("chat", "--json", *args, **pipes)

    def say(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        self.process.stdin.flush()

    def event(self) -> dict[str, Any] | None:
        """Give the next event; None when the chat is over."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        # A kill may leave half a line, which tells nothing.
        return json.loads(line) if line.endswith(b"\n") else None

    def until(self, kind: str) -> list[dict[str, Any]]:
        """Give the events up to one of this kind."""
        seen = []
        while (event := self.event()) is not None:
            seen.append(event)
            if event["event"] == kind:
                return seen
        raise AssertionError(f"there was no {kind!r} among {seen}: {self.errors()}")

    def rest(self) -> list[dict[str, Any]]:
        """Give all events up to the end."""
        seen = []
        while (event := self.event()) is not None:
            seen.append(event)
        return seen

    def errors(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def end(self) -> int:
        """Close what it reads from, and give its exit code."""
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return self.process.wait(PATIENCE_S)

    def kill(self) -> None:
        self.process.kill()
        self.rest()
        self.end()


def talk(sap: Command, *lines: str, args: list[str] | None = None) -> list[dict[str, Any]]:
    """Say some lines to a chat that ends well, and give its events."""
    text = "".join(f"{line}\n" for line in lines).encode()
    return [json.loads(it) for it in sap("chat", "--json", *(args or []), input=text).splitlines()]


def of_kind(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["event"] == kind]


class Terminal:
    """A chat in a pseudo-terminal."""

    def __init__(self, sap: Command, *args: str) -> None:
        self._ours, theirs = pty.openpty()

        def take_over() -> None:
            # The terminal has to be the process's own, or Ctrl-C would reach nobody.
            import fcntl
            import termios

            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = sap.start(
            "chat", *args, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=take_over
        )
        os.close(theirs)
        self.seen = ""
        self._at = 0

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def interrupt(self, text: str) -> None:
        """Press Ctrl-C until a text is seen.

        One key may be lost to Python itself: a signal that comes after it looked for signals, and
        before it waits for the next key, is seen with that key. A person presses again.
        """
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.seen[self._at :]:
            assert time.monotonic() < deadline, f"no {text!r} in {self.seen[self._at :]!r}"
            self.press("\x03")
            again = time.monotonic() + 5
            while text not in self.seen[self._at :] and time.monotonic() < again:
                assert self._read(0.1), f"it ended without {text!r}: {self.seen[self._at :]!r}"
        self.expect(text)

    def expect(self, text: str) -> str:
        """Wait until a text is seen, after what was expected before; give what came up to it."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.seen[self._at :]:
            assert time.monotonic() < deadline, f"no {text!r} in {self.seen[self._at :]!r}"
            assert self._read(1), f"it ended without {text!r}: {self.seen[self._at :]!r}"
        before = self._at
        self._at += self.seen[self._at :].index(text) + len(text)
        return self.seen[before : self._at]

    def end(self) -> int:
        """Wait for the end, and give the exit code."""
        while self._read(PATIENCE_S):
            pass
        os.close(self._ours)
        return self.process.wait(PATIENCE_S)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self._ours, 65536)
        except OSError:
            return False
        self.seen += COLOUR.sub("", data.decode(errors="replace")).replace("\r\n", "\n")
        return bool(data)
