"""What kind of disk a folder is on, in words that name no place of this machine."""

from __future__ import annotations

from pathlib import Path

_MOUNTS = Path("/proc/self/mounts")
_TELLING = ("data=", "nobarrier", "sync", "commit=")


def kind_of_disk(folder: Path) -> str | None:
    """Return a folder's file system and its options that matter to a commit; None if not known."""
    if not _MOUNTS.exists():
        return None
    mounts = [line.split() for line in _MOUNTS.read_text(encoding="utf-8").splitlines()]
    above = [folder.resolve(), *folder.resolve().parents]
    holding = [mount for mount in mounts if Path(mount[1]) in above]
    _, _, kind, options, *_ = max(holding, key=lambda mount: len(mount[1]))
    return ", ".join([kind, *(it for it in options.split(",") if it.startswith(_TELLING))])
