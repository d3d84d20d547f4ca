"""How many bytes a number of appends writes, counted by the kernel in a process of its own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import above  # noqa: F401 - before what is imported from there
from comparison import Comparison, by_size
from contest import Contest, messages_for, raw_append
from ours import Ours, OursSync
from peer import Peer, answer_of
from raw import RawTable, schema_of
from sides import peer_class

WRITTEN = "bytes written for 1,000 appends"
_SESSION = "s"
_RAW = "raw"


async def written(contest: Contest) -> Comparison:
    """Append to a new session, close, and compare what was written on the way."""
    peer = type(contest.peer)
    names = {
        "ours": f"ours:{type(contest.ours).__name__}",
        "peer": f"{peer.__module__}:{peer.__name__}",
        _RAW: _RAW,
    }
    found = {side: _in_a_process(contest, side, name) for side, name in names.items()}
    return contest.row(WRITTEN, **by_size(**found))


def _in_a_process(contest: Contest, side: str, name: str) -> int:
    schema = contest.file_of("ours")
    arguments = [name, contest.file_of(f"{side}-written"), schema, contest.durability]
    command = [sys.executable, __file__, *map(str, arguments), str(contest.sizes.written)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return int(done.stdout.split()[-1])


def _written_so_far() -> int:
    """Read how many bytes this process has handed to the kernel to be written."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


async def _count(side: Peer, path: Path, count: int) -> int:
    await answer_of(side.open(path))
    await answer_of(side.create(_SESSION))
    ready = list(messages_for(side, count))
    begun = _written_so_far()
    for message in ready:
        await answer_of(side.append(_SESSION, message))
    await answer_of(side.close())
    return _written_so_far() - begun


def _count_raw(path: Path, schema: Path, durability: str, count: int) -> int:
    table = RawTable(path, schema_of(schema), "full" if durability == "full" else "normal")
    append = raw_append(table)
    begun = _written_so_far()
    for _ in range(count):
        append()
    table.close()
    return _written_so_far() - begun


def _main(name: str, path: str, schema: str, durability: str, count: str) -> int:
    if name == _RAW:
        return _count_raw(Path(path), Path(schema), durability, int(count))
    kind = peer_class(name)
    side = kind(durability) if issubclass(kind, (Ours, OursSync)) else kind()  # type: ignore[arg-type, call-arg]
    return asyncio.run(_count(side, Path(path), int(count)))


if __name__ == "__main__":
    print(_main(*sys.argv[1:]))
