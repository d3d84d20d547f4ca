"""How many bytes a number of appends writes, counted by the kernel in a process of its own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import shared_path  # noqa: F401 - before what is imported from there
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
    return contest.row(WRITTEN, **by_size(**sizes_of(contest, contest.sizes.written)))


async def append_all(side: Peer, session: str, ready: Iterable[Any], every: int = 0) -> None:
    """Append messages one by one, and compact after every so many; 0 is never."""
    for number, message in enumerate(ready, 1):
        await answer_of(side.append(session, message))
        if every and number % every == 0:
            await side.compact(session)


def sizes_of(contest: Contest, count: int, every: int = 0) -> dict[str, int]:
    """Return the bytes that each side writes for so many appends."""
    peer = type(contest.peer)
    names = {
        "ours": f"ours:{type(contest.ours).__name__}",
        "peer": f"{peer.__module__}:{peer.__name__}",
        _RAW: _RAW,
    }
    return {
        side: _in_a_process(contest, side, [name, count, every]) for side, name in names.items()
    }


def _in_a_process(contest: Contest, side: str, work: list[Any]) -> int:
    name, *amount = work
    path, schema = contest.file_of(f"{side}-written-{amount[-1]}"), contest.file_of("ours")
    arguments = [name, path, schema, contest.durability, *amount]
    command = [sys.executable, __file__, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return int(done.stdout.split()[-1])


def _written_so_far() -> int:
    """Read how many bytes this process has handed to the kernel to be written."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


async def _count(side: Peer, path: Path, count: int, every: int) -> int:
    await answer_of(side.open(path))
    await answer_of((side.begin_compactable if every else side.create)(_SESSION))
    ready = list(messages_for(side, count))
    begun = _written_so_far()
    await append_all(side, _SESSION, ready, every)
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


def _main(name: str, path: str, schema: str, durability: str, count: str, every: str) -> int:
    if name == _RAW:
        summaries = int(count) // int(every) if int(every) else 0
        return _count_raw(Path(path), Path(schema), durability, int(count) + summaries)
    kind = peer_class(name)
    side = kind(durability) if issubclass(kind, (Ours, OursSync)) else kind()  # type: ignore[arg-type, call-arg]
    return asyncio.run(_count(side, Path(path), int(count), int(every)))


if __name__ == "__main__":
    print(_main(*sys.argv[1:]))
