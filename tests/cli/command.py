"""Running the real command: as a process, with pipes or in a pseudo-terminal, or in this one."""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tier import FULL

from sapwood.cli import main

# Compiled once for all the processes, as an installed package is.
COMPILED = tempfile.TemporaryDirectory(prefix="sapwood-compiled-")
SAPWOOD = str(Path(sys.executable).with_name("sapwood"))


class Command:
    """The command `sapwood`, in one folder."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder = folder
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("SAPWOOD_", "_SAPWOOD"))}
        self.env = {
            **keep,
            "SAPWOOD_STORE": store,
            "HOME": str(folder),
            "TZ": "UTC",
            "PYTHONPYCACHEPREFIX": COMPILED.name,
            "PYTHONWARNINGS": "error",
            "TERM": "xterm-256color",
            "PAGER": "cat",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONDONTWRITEBYTECODE"):
            self.env.pop(name, None)
        for name in list(self.env):
            if name.startswith(("OPENAI_", "ANTHROPIC_")) or name.lower().endswith("_proxy"):
                del self.env[name]

    def run(
        self, *args: str, input: bytes | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end.

        A process of its own takes as long to load its modules as most tests take for the rest, so
        that is left to the full tier, and to what starts one by another method.
        """
        how = self.run_process if FULL else self._run_here
        return how(*args, input=input, **env)

    def run_process(
        self, *args: str, input: bytes | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as a process of its own."""
        done = subprocess.run(
            [SAPWOOD, *args],
            cwd=self.folder,
            env={**self.env, **env},
            input=input if input is not None else b"",
            capture_output=True,
            timeout=120,
        )
        return _told(args, done.returncode, done.stdout, done.stderr)

    def _run_here(
        self, *args: str, input: bytes | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        with (
            _process_state(self.folder, {**self.env, **env}, args),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            sys.stdin = io.TextIOWrapper(io.BytesIO(input or b""), "utf-8")
            try:
                main()
            except SystemExit as end:
                code = end.code
        assert isinstance(code, int)
        return _told(args, code, *(_bytes_of(stream) for stream in (out, err)))

    def __call__(self, *args: str, input: bytes | None = None) -> str:
        """Run a command that succeeds, and give what it printed."""
        done = self.run(*args, input=input)
        assert done.returncode == 0, f"{args}: {done.stderr}"
        return done.stdout

    def json(self, *args: str) -> Any:
        return json.loads(self(*args, "--json"))

    def fails(self, *args: str, input: bytes | None = None) -> tuple[int, str]:
        """Run a command that fails, and give its exit code and what it said."""
        done = self.run(*args, input=input)
        assert done.returncode != 0
        return done.returncode, done.stderr

    def shell(self, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def start(self, *args: str, **options: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen([SAPWOOD, *args], cwd=self.folder, env=self.env, **options)

    def in_terminal(self, *args: str, columns: int = 80, answer: bytes = b"") -> tuple[int, str]:
        """Run a command in a terminal of this width; give its exit code and what was seen."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = self.start(*args, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        if answer:
            os.write(ours, answer)
        seen = _read_all(ours)
        os.close(ours)
        return process.wait(60), seen.decode().replace("\r\n", "\n")


def _bytes_of(stream: io.TextIOWrapper) -> bytes:
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue()


def _told(
    args: tuple[str, ...], code: int, out: bytes, err: bytes
) -> subprocess.CompletedProcess[str]:
    assert b"Traceback" not in err, err.decode()
    return subprocess.CompletedProcess(args, code, out.decode(), err.decode())


@contextlib.contextmanager
def _process_state(folder: Path, env: dict[str, str], args: tuple[str, ...]) -> Iterator[None]:
    """Make this process what a new one would be, for a while."""
    before = dict(os.environ), sys.argv, sys.stdin
    try:
        _set_environment(env)
        sys.argv = ["sapwood", *args]
        with contextlib.chdir(folder):
            yield
    finally:
        environment, sys.argv, sys.stdin = before
        _set_environment(environment)


def _set_environment(env: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)
    time.tzset()


def _read_all(handle: int) -> bytes:
    seen = b""
    # A terminal whose other end is closed is an error on this system, not an end.
    with contextlib.suppress(OSError):
        while data := os.read(handle, 65536):
            seen += data
    return seen


def wait_until(condition: Any, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.01)
