"""Servers can be hidden from a command, so that tests are tried on a machine that has none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOOK = """
import shutil
from servers import mariadb, mongodb, opensearch, postgres, redis, redis_cluster
print([it.shared_url() for it in (postgres, redis, redis_cluster, mariadb, mongodb, opensearch)])
print(shutil.which("pgbouncer", path="/usr/sbin"))
"""


def test_a_command_finds_no_server_and_others_still_do(tmp_path: Path) -> None:
    before = {it: it.exists() for it in (ROOT / ".servers", *ROOT.glob(".servers/*"))}
    given = {"SAPWOOD_TEST_REDIS_URL": "redis://127.0.0.1:1"}
    found = subprocess.run(
        [
            *(sys.executable, "tools/servers/hidden.py", "env", f"SAPWOOD_TEST_RUN={tmp_path}"),
            *(sys.executable, "-c", LOOK),
        ],
        cwd=ROOT,
        env={**os.environ, **given, "PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
    )
    assert (found.stdout, found.stderr) == (f"{[None] * 6}\nNone\n", "")
    assert before == {it: it.exists() for it in before}


def test_each_reason_for_skipped_tests_is_told_once(tmp_path: Path) -> None:
    found = subprocess.run(
        [
            *(sys.executable, "tools/servers/hidden.py", "env", f"SAPWOOD_TEST_RUN={tmp_path}"),
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"),
            *("tests/contract/test_redis.py", "-k", "TestAsyncRedisStore and rule_02"),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
    )
    told = [line for line in found.stdout.splitlines() if "there is no" in line]
    [(count, why)] = [line.strip().split("  ") for line in told]
    assert int(count) > 1
    assert why == "there is no Redis: run `make servers`, or set SAPWOOD_TEST_REDIS_URL"
    assert found.returncode == 0
