"""What it takes: time and memory to import, memory to stream, bytes on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from statistics import median

from append_rows import appender, raw_appender
from measure import time_of
from row import Row, above, larger
from world import OWNER, SESSION, World

IMPORTS = 15
STREAMS = 3
STORED = 20_000
MB = 1_000_000

# The high-water mark of this process alone: the kernel hands ru_maxrss down from the parent.
_PEAK = """
def peak():
    try:
        with open("/proc/self/status") as status:
            [kilobytes] = [line.split()[1] for line in status if line.startswith("VmHWM")]
        return int(kilobytes) * 1024
    except OSError:
        import resource, sys
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
"""
_STREAM = """
import sys, sapwood
with sapwood.open("sqlite:///" + sys.argv[1], owner=sys.argv[2]) as sessions:
    chat = sessions.session(sys.argv[3])
    begun = peak()
    count = sum(1 for _ in chat.iter_history())
    print(count, begun, peak())
"""
_BARE = "print(peak())"
_IMPORT = "import sapwood\nprint(peak())"
_IMPORT_ALL = "import sapwood\nfor name in sapwood.__all__: getattr(sapwood, name)\nprint(peak())"


def imports(world: World) -> Iterator[Row]:
    """Import sapwood, against bare Python; aside, with every name that it resolves later."""
    yield from _import(world, "import sapwood", _IMPORT, aside=False)
    yield from _import(world, "import sapwood, all its names", _IMPORT_ALL, aside=True)


def _import(world: World, work: str, code: str, *, aside: bool) -> Iterator[Row]:
    _python(world, code)
    ours, bare = [], []
    for _ in range(world.times(IMPORTS)):
        ours.append(_timed(world, code))
        bare.append(_timed(world, _BARE))
    yield above(f"{work}, time", "ms", *_medians(ours, bare, 0), 80, aside=aside)
    yield above(f"{work}, memory", "MB", *_medians(ours, bare, 1), 15, aside=aside)


def _timed(world: World, code: str) -> tuple[float, float]:
    """Return the milliseconds and the megabytes that a Python took."""
    found: list[str] = []
    took_us = time_of(lambda: found.append(_python(world, code)))
    return took_us / 1_000, int(found[0]) / MB


def _medians(
    ours: list[tuple[float, float]], bare: list[tuple[float, float]], field: int
) -> tuple[float, float]:
    return median(run[field] for run in ours), median(run[field] for run in bare)


def _python(world: World, code: str, *args: str) -> str:
    """Run code in a Python of its own, with its modules compiled as in an installed package."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(world.folder / "pycache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", _PEAK + code, *args]
    return subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def stream(world: World) -> Iterator[Row]:
    """Stream histories of 100,000 and of 10,000 messages, each in a process of its own."""
    begun, peak = _streamed(world, world.size(100_000))
    yield above("memory to stream 100,000 messages", "MB", peak, begun, 20)
    short_begun, short_peak = _streamed(world, 10_000)
    grown, short_grown = peak - begun, short_peak - short_begun
    work = "memory to stream 100,000 messages, above 10,000"
    yield above(work, "MB", grown, short_grown, 2)


def _streamed(world: World, length: int) -> tuple[float, float]:
    """Return a process's megabytes at the start and at their peak: the median of three."""
    path = str(world.with_session_of(length))
    runs = []
    for _ in range(STREAMS):
        count, begun, peak = map(int, _python(world, _STREAM, path, OWNER, SESSION).split())
        assert count == length
        runs.append((begun / MB, peak / MB))
    return sorted(runs, key=lambda run: run[1] - run[0])[STREAMS // 2]


def on_disk(world: World) -> Iterator[Row]:
    """Append messages one by one, and compare the files once their logs are copied back."""
    count = world.size(STORED)
    path, store = world.new_store("disk", "normal")
    with closing(world.new_raw("disk", "normal")) as table, store:
        ours, raw = appender(store, [SESSION]), raw_appender(table)
        for _ in range(count):
            ours()
            raw()
    ours_b, raw_b = (file.stat().st_size / count for file in (path, table.path))
    yield larger("bytes on disk for each message", "B", ours_b, raw_b, 1.25)
