"""The files that a part of the full tier rests on: while they stay, it need not run again."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

from parts import APART, OPTIONAL, Part

RUN_BY = ("tools/full", "tools/servers")
"""What every part is run by, and on."""


def digests(root: Path) -> dict[PurePath, str]:
    """Return a digest of each file that is, or would be, in the project."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(listed, cwd=root, check=True, capture_output=True).stdout
    names = sorted({os.fsdecode(name) for name in found.split(b"\0") if name})
    return {
        PurePath(name): hashlib.sha256((root / name).read_bytes()).hexdigest()
        for name in names
        if (root / name).is_file()
    }


def fingerprint(part: Part, files: Mapping[PurePath, str]) -> str:
    """Return what tells one state of the files that a part rests on from others."""
    lines = [f"{path} {digest}" for path, digest in files.items() if rests_on(part, path)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def rests_on(part: Part, path: PurePath) -> bool:
    """Whether a change of a file may change what a part says.

    Tests of other parts do not count, nor prose, tools and optional pieces of the package, unless
    it names them. All else does: the rest of the package, and what tests share.
    """
    if part.python or _is_in(path, (*part.paths, *part.reads, *RUN_BY)):
        return True
    if _is_in(path, [f"src/sapwood/{it}" for it in OPTIONAL]):
        return _is_in(path, [f"src/sapwood/{it}" for it in part.uses])
    if path.parts[0] in APART or path.suffix == ".md":
        return False
    if path.parts[0] != "tests" or len(path.parts) == 2:
        return True
    return not path.name.startswith("test_") and _is_in(path, part.helpers)


def _is_in(path: PurePath, folders: Sequence[str]) -> bool:
    return any(path.is_relative_to(it) for it in folders)
