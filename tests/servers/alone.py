"""One test at a time, where a server is shared and one test would disturb another.

On PostgreSQL anybody's open transaction holds the change feed back for all.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from pathlib import Path
from typing import IO

_held: dict[str, IO[bytes]] = {}


def be_alone_on(url: str) -> None:
    """Wait until no test of another process uses this server; it is ours until the test ends."""
    if url in _held:
        return
    file = lock_of(url).open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
    except BaseException:
        file.close()
        raise
    _held[url] = file


def lock_of(url: str) -> Path:
    """Name the file that is locked; it says nothing of the URL, which may hold a password."""
    name = hashlib.sha256(url.encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"sapwood-test-{os.getuid()}-{name}.lock"


def let_others() -> None:
    """Let others use the servers that were ours alone."""
    while _held:
        _held.popitem()[1].close()
