"""`make servers`: what it starts runs on, is found again and used, and is stopped by its ids."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from . import redis, running
from .process import free_port, kept_in
from .running import Server, what_is

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "SAPWOOD_TEST_REDIS_URL"

pytestmark = pytest.mark.skipif(redis.program() is None, reason=redis.MISSING)


def make_servers(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "tools/servers/run.py",
            "--folder",
            str(folder),
            "--start-only",
            *arguments,
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/tests{os.pathsep}{ROOT}/src"},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder that any user can get to, and in which no server is left running."""
    with tempfile.TemporaryDirectory(prefix="sw-run-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        yield folder
        for server in running.read(folder).values():
            running.stop(server)


@pytest.fixture
def started(folder: Path) -> Iterator[Server]:
    place = folder / "running" / "redis"
    place.mkdir(parents=True)
    with kept_in(place) as kept:
        made = redis.RedisServer(*redis.FAST)
    processes = {str(it.pid): what_is(it.pid) or "" for it in kept.processes}
    server = Server("Redis", made.url(), str(place), processes)
    running.write({"redis": server}, folder)
    yield server
    made.remove()


def url_of(folder: Path) -> str | None:
    return running.given.__wrapped__(VARIABLE, "redis", folder)


@pytest.fixture(autouse=True)
def nothing_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(running, "_disregarded", False)


def test_servers_run_on_are_found_again_and_are_stopped_by_their_ids(folder: Path) -> None:
    told = make_servers(folder, "--only", "redis")
    server = running.read(folder)["redis"]
    [pid] = server.processes
    with Redis.from_url(server.url) as client:
        info = client.info("server")
    assert (info["process_id"], f"Redis {info['redis_version']}") == (int(pid), server.version)
    assert Path(server.folder) == folder.resolve() / "running" / "redis"
    assert [*Path(server.folder).glob("*/log")] != []
    assert url_of(folder) == server.url
    again = make_servers(folder, "--only", "redis")
    assert running.read(folder) == {"redis": server}
    for output, word in ((told.stdout, " started "), (again.stdout, " was running ")):
        [line] = [line for line in output.splitlines() if line.startswith("redis ")]
        assert word in line
        assert server.version in line
        assert server.url in line
        assert "make servers-stop" in output
    ended = make_servers(folder, "--stop")
    assert (ended.returncode, "was stopped" in ended.stdout) == (0, True)
    assert what_is(int(pid)) is None
    assert not Path(server.folder).exists()
    assert running.read(folder) == {}
    assert url_of(folder) is None


def test_one_that_is_gone_is_not_used_and_is_started_anew(folder: Path, started: Server) -> None:
    [pid], [data] = started.processes, Path(started.folder).iterdir()
    os.kill(int(pid), signal.SIGKILL)
    while what_is(int(pid)):
        pass
    assert url_of(folder) is None
    assert " started " in make_servers(folder, "--only", "redis").stdout
    assert not data.exists()
    again = running.read(folder)["redis"]
    assert again.processes.keys() != started.processes.keys()
    assert url_of(folder) == again.url


def test_one_that_does_not_answer_or_is_anothers_is_not_used(folder: Path, started: Server) -> None:
    elsewhere = started._replace(url=f"redis://127.0.0.1:{free_port()}/0")
    anothers = started._replace(processes=dict.fromkeys(started.processes, "redis-server 1"))
    for server in (elsewhere, anothers):
        running.write({"redis": server}, folder)
        assert url_of(folder) is None
    running.write({"redis": started}, folder)
    assert url_of(folder) == started.url


def test_an_id_that_another_program_has_by_now_is_left_alone(folder: Path) -> None:
    other = subprocess.Popen(["sleep", "60"])
    try:
        was = {str(other.pid): "redis-server 12345"}
        stale = Server("Redis", "redis://127.0.0.1:1/0", str(folder / "data"), was)
        running.write({"redis": stale}, folder)
        assert url_of(folder) is None
        assert "did not run any more" in make_servers(folder, "--stop").stdout
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"redis": {"url": "x"}}', '{"redis": 1}'])
def test_a_file_that_says_nothing_is_as_good_as_none(folder: Path, text: str) -> None:
    (folder / "running.json").write_text(text)
    assert url_of(folder) is None


def test_the_environment_comes_first_and_own_servers_come_before_those_that_run(
    folder: Path, started: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    running.disregard()
    assert url_of(folder) is None
    monkeypatch.setenv(VARIABLE, "redis://theirs")
    assert url_of(folder) == "redis://theirs"
    monkeypatch.setattr(running, "_disregarded", False)
    assert url_of(folder) == "redis://theirs"


def test_what_cannot_be_started_leaves_nothing_behind(folder: Path) -> None:
    told = make_servers(folder, "--only", "pgbouncer")
    assert told.returncode == 1
    assert "there is no PostgreSQL" in told.stdout
    assert [*(folder / "running").iterdir()] == []
    assert running.read(folder) == {}
