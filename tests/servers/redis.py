"""Redis for tests: one that is given by its URL, or one of our own.

Our own is started from the system's package when it is first asked for, once in each run of
tests, and is stopped at the end. It keeps nothing on disk unless that is asked for.
"""

from __future__ import annotations

import atexit
import shutil
import signal
import subprocess
import time
from functools import cache

from redis import Redis
from redis.exceptions import AuthenticationError, BusyLoadingError, ConnectionError

from . import running, whole_run
from .names import own
from .process import Folder, free_port, wait_for_port
from .seen import note_once

VARIABLE = "SAPWOOD_TEST_REDIS_URL"
MISSING = f"there is no Redis: run `make servers`, or set {VARIABLE}"
FAST = ("--save", "", "--appendonly", "no")
DURABLE = ("--save", "", "--appendonly", "yes", "--appendfsync", "always")


def program(name: str = "redis-server") -> str | None:
    """Find one of the server's programs."""
    return shutil.which(name)


class RedisServer:
    """A server that can be stopped, killed and started again."""

    def __init__(self, *settings: str, port: int | None = None) -> None:
        found = program()
        if found is None:
            raise FileNotFoundError(MISSING)
        self._folder = Folder("redis", "")
        self._folder.user = None
        self.port = port or free_port()
        self._command = [
            *(found, "--port", str(self.port), "--bind", "127.0.0.1"),
            *("--dir", str(self._folder.path), "--daemonize", "no"),
            *settings,
        ]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        self._process = self._folder.start(self._command)
        wait_for_port(self.port, self._process, self._folder.path / "log")
        self._wait_until_it_answers()

    def _wait_until_it_answers(self) -> None:
        with Redis(port=self.port) as client:
            while True:
                try:
                    client.ping()
                except AuthenticationError:
                    # That is an answer, too.
                    return
                except (BusyLoadingError, ConnectionError):
                    time.sleep(0.02)
                else:
                    note_once(RedisServer, lambda: version_of(self.url()))
                    return

    def url(self, *, user: str = "", parameters: str = "") -> str:
        at = f"{user}@" if user else ""
        return f"redis://{at}127.0.0.1:{self.port}/0{parameters}"

    def kill(self) -> None:
        """Kill it, as the kernel would."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """Let it end."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def pause(self) -> None:
        """Let it hang: it takes connections, and does not answer."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def remove(self) -> None:
        self.stop()
        self._folder.remove()


@cache
def shared_url() -> str | None:
    """Give the server of this run of tests; None when none can be had."""
    given = running.given(VARIABLE, "redis")
    if given:
        atexit.register(forget, given)
        return given
    return whole_run.url_of("redis")


@cache
def own_url() -> str | None:
    """Give a server that nobody but this process of tests uses; None when none can be had."""
    try:
        server = RedisServer(*FAST)
    except FileNotFoundError:
        return None
    atexit.register(server.remove)
    return server.url()


def version() -> str:
    """Tell which server this is."""
    return version_of(shared_url() or "")


def version_of(url: str) -> str:
    with Redis.from_url(url) as client:
        return f"Redis {client.info('server')['redis_version']}"


@cache
def _client(url: str | None = None) -> Redis:
    client = Redis.from_url(url or shared_url() or "")
    atexit.register(client.close)
    return client


def client() -> Redis:
    """Give a client, which is open until the end."""
    return _client()


def prefix() -> str:
    """Give a prefix that is this process's own."""
    return own()


def own_keys(url: str | None = None) -> list[bytes]:
    """List the keys of this process."""
    return sorted(_client(url).scan_iter(match=f"{prefix()}:*", count=1_000))


def empty(url: str | None = None) -> None:
    """Remove the keys of this process."""
    found = own_keys(url)
    if found:
        _client(url).delete(*found)


def forget(url: str) -> None:
    """Remove all that this process put on a server."""
    with Redis.from_url(url) as client:
        for key in list(client.scan_iter(match=f"{prefix()}:*", count=1_000)):
            client.delete(key)
