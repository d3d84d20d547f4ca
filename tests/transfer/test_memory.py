"""Memory does not grow with what is carried."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import io, resource, sys
import sapwood
from sapwood.transfer import Exported, export_lines, import_file

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

what, path, file = sys.argv[1:]
with sapwood.open(f"sqlite:///{path}", durability="normal") as sessions:
    if what == "fill":
        chat = sessions.session("s")
        for n in range(0, 30_000, 500):
            texts = [f"{n} {i} " * 200 for i in range(500)]
            chat.append_all([("user", text) for text in texts])
    before = peak()
    if what == "export":
        with open(file, "wb") as out:
            for line in export_lines(sessions.store, sessions.owner, None, Exported()):
                out.write(line)
    elif what == "import":
        with open(file, "rb") as source:
            import_file(sessions.store, sessions.owner, source)
    print(peak() - before)
"""


def test_a_long_session_is_never_held_in_memory(tmp_path: Path) -> None:
    def run(what: str, path: str) -> int:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, what, str(tmp_path / path), str(tmp_path / "x.jsonl")],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    run("fill", "a.db")
    grown = run("export", "a.db")
    assert (tmp_path / "x.jsonl").stat().st_size > 40_000_000
    assert grown < 25, f"exporting took {grown} MB"
    grown = run("import", "b.db")
    assert grown < 40, f"importing took {grown} MB"
