"""A disk that forgets what was not synced: a VFS, and what is left of its files after a cut.

Writes go through to the real files, so that the store works as ever. Beside that each file is kept
as it would be found after a power cut: the bytes at its last sync, and the writes since then, of
which a cut lets any part survive, in any order, torn at the sector.
"""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import apsw

SECTOR = 512


class PowerCutError(apsw.IOError):
    """The power is gone."""


class Disk:
    """What would be found after a cut; counts operations and cuts the power at a chosen one."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.is_cut = False
        self.is_over = False
        self._files: dict[str, _Image] = {}
        self._lock = threading.RLock()
        self._left: int | None = None

    def cut_after(self, operations: int) -> None:
        """Let the power go after so many writes and syncs."""
        self._left = operations

    def step(self) -> bool:
        """Count an operation; refuse it after the cut. Tell whether it is to be carried out."""
        with self._lock:
            if self.is_over:
                return False
            if self._left is not None:
                self._left -= 1
                self.is_cut = self.is_cut or self._left < 0
            if self.is_cut:
                raise PowerCutError("the power is gone")
            return True

    def cut(self) -> None:
        """Cut the power now, if it is not cut yet."""
        with self._lock:
            self.is_cut = True

    def image(self, name: str) -> _Image:
        with self._lock:
            if name not in self._files:
                self._files[name] = _Image.of(Path(name))
            return self._files[name]

    def forget(self, name: str) -> None:
        with self._lock:
            self._files.pop(name, None)

    def write_survivors(self, folder: Path) -> None:
        """Write down what is found after the cut; from then on nothing is done or refused."""
        self.is_over = True
        for name, image in self._files.items():
            (folder / Path(name).name).write_bytes(image.survivor(self.dice))


class _Image:
    """A file: as it was when last synced, and what was done to it since."""

    def __init__(self, synced: bytes) -> None:
        self._synced = bytearray(synced)
        self._since: list[tuple[int, bytes | None]] = []
        self._lock = threading.Lock()

    @classmethod
    def of(cls, path: Path) -> _Image:
        return cls(path.read_bytes() if path.exists() else b"")

    def change(self, offset: int, data: bytes | None) -> None:
        """Note a write, or without data that the file was cut there."""
        with self._lock:
            self._since.append((offset, data))

    def sync(self) -> None:
        with self._lock:
            for offset, data in self._since:
                _apply(self._synced, offset, data)
            self._since.clear()

    def survivor(self, dice: random.Random) -> bytes:
        """Give the file after a cut: all, none or any part of what was not synced is there."""
        luck = dice.choice((0.0, 0.5, 0.9, 1.0))
        found = bytearray(self._synced)
        for offset, data in self._since:
            if data is None:
                if dice.random() < luck:
                    _apply(found, offset, None)
                continue
            for start, piece in _sectors(offset, data):
                if dice.random() < luck:
                    _apply(found, start, piece)
        return bytes(found)


def _sectors(offset: int, data: bytes) -> list[tuple[int, bytes]]:
    """Cut a write at the sectors' borders."""
    first = SECTOR - offset % SECTOR
    starts = [0, *range(first, len(data), SECTOR)]
    ends = [*starts[1:], len(data)]
    return [(offset + a, data[a:b]) for a, b in zip(starts, ends, strict=True)]


def _apply(file: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del file[offset:]
        return
    file.extend(bytes(max(0, offset - len(file))))
    file[offset : offset + len(data)] = data


class PowerVfs(apsw.VFS):
    """The default VFS on a disk that forgets."""

    def __init__(self, name: str, disk: Disk) -> None:
        self.disk = disk
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> PowerFile:  # noqa: N802
        return PowerFile(name, flags, self.disk)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        if self.disk.step():
            super().xDelete(filename, syncdir)
            # Whether the folder's entry outlives a cut is not simulated: it does.
            self.disk.forget(filename)


class PowerFile(apsw.VFSFile):
    """A file on a disk that forgets."""

    def __init__(self, name: Any, flags: list[int], disk: Disk) -> None:
        super().__init__("", name, flags)
        self._disk = disk
        self._image = disk.image(name.filename() if hasattr(name, "filename") else str(name))

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if self._disk.step():
            super().xWrite(data, offset)
            self._image.change(offset, bytes(data))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        if self._disk.step():
            super().xTruncate(newsize)
            self._image.change(newsize, None)

    def xSync(self, flags: int) -> None:  # noqa: N802
        # The real disk need not be asked: what counts as synced is what the image says.
        if self._disk.step():
            self._image.sync()
