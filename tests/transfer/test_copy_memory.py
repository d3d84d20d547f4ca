"""Memory does not grow with what is copied."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import resource, sys
import sapwood
from sapwood.transfer import copy_store

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

what, source, target = sys.argv[1:]
with sapwood.open(f"sqlite:///{source}", durability="normal") as sessions:
    if what == "fill":
        chat = sessions.session("s")
        for n in range(0, 10_000, 500):
            texts = [f"{n} {i} " * 600 for i in range(500)]
            chat.append_all([("user", text) for text in texts])
    else:
        with sapwood.open(f"sqlite:///{target}", durability="normal") as others:
            before = peak()
            done = copy_store(sessions.store, others.store)
            print(peak() - before, done.written)
"""


def test_a_large_session_is_never_held_in_memory(tmp_path: Path) -> None:
    def run(what: str) -> list[int]:
        arguments = [what, str(tmp_path / "a.db"), str(tmp_path / "b.db")]
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return [int(word) for word in done.stdout.split()]

    run("fill")
    assert (tmp_path / "a.db").stat().st_size > 50_000_000
    for written in (10_000, 0):
        grown, found = run("copy")
        assert found == written
        assert grown < 40, f"copying took {grown} MB"
