"""Runs of a package's tests: what they say, or that they hang."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple

from packages import Package

TIERS = ("default", "full")
HUNG = "hung"
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
INTERRUPTED = re.compile(r"^(\S+:\d+): KeyboardInterrupt$", re.MULTILINE)
PASSED = re.compile(r"\b\d+ passed\b")
# A loop that should have ended must not take all of the machine's memory.
MOST_BYTES = 6 << 30
TO_CLEAN_UP_S = 30


class Told(NamedTuple):
    """How a run ended: with the first test that failed, or with none."""

    failed: str | None
    has_passed: bool
    took_s: float
    output: str


class Tests(NamedTuple):
    """How tests are run."""

    root: Path
    jobs: int
    servers: str | None

    def run(self, package: Package, tier: str, limit_s: float | None = None) -> Told:
        """Run the tests of a package up to the first that fails."""
        began = time.monotonic()
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            code = self._wait(self._command(package), self._environment(tier), output, limit_s)
            output.seek(0)
            text = output.read()
        took_s = time.monotonic() - began
        if code is None:
            return Told(self._hung(text), False, took_s, text)
        found = FAILED.search(text)
        failed = found[1] if found else f"exit code {code}"
        return Told(failed if code else None, bool(PASSED.search(text)), took_s, text)

    def _hung(self, output: str) -> str:
        """Return that a run did not end, and where it was: a loop without an end, or just slow."""
        found = INTERRUPTED.search(output)
        return f"{HUNG} at {found[1].removeprefix(f'{self.root}/')}" if found else HUNG

    def _command(self, package: Package) -> list[str]:
        servers = ",".join(package.servers) if self.servers is None else self.servers
        paths = [path for tests in package.tests for path in sorted(self.root.glob(tests))]
        return [
            *(sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "-n", str(self.jobs)),
            # In the order of the table, and alike each time.
            *("-p", "no:randomly", "-p", "no:cacheprovider", "--hypothesis-seed=0"),
            *(("--require-backends", servers) if servers else ()),
            *(str(path.relative_to(self.root)) for path in paths),
        ]

    def _environment(self, tier: str) -> dict[str, str]:
        # Before the installed package, which is the tree that the copy was made of.
        paths = [str(self.root / "src"), str(self.root / "tests")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        environment.pop("SAPWOOD_TESTS", None)
        return environment if tier == "default" else {**environment, "SAPWOOD_TESTS": tier}

    def _wait(
        self,
        command: Sequence[str],
        environment: dict[str, str],
        output: IO[str],
        limit_s: float | None,
    ) -> int | None:
        """Run a command; return its exit code, or None when it took longer than it may."""
        process = subprocess.Popen(
            command,
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_bound,
        )
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _stop(process)


def _bound() -> None:
    """Bound what a run may take, and let it be interrupted, also one in the background."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a run that is not over: so that it can stop its servers, or with all that it started."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGINT)
    try:
        process.wait(TO_CLEAN_UP_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
