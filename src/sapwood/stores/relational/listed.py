"""What listings find a session by: derived from its record, and compared with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from ...errors import StoreCorruptError
from ...model import Problem, SystemFields
from ...rules.system import decode_system, encode_system
from .filters import indexed_key, indexed_title


class FoundBy(NamedTuple):
    """What a session is found by; each repeats a part of its record."""

    state: str
    title_key: bytes | None
    system_key: bytes | None
    tags: frozenset[str]


def packed_system(owner: int, fields: SystemFields) -> tuple[bytes, bytes | None]:
    """Return the two columns that hold what the layers above keep of a session."""
    return encode_system(fields), system_key(owner, fields)


def system_key(owner: int, fields: SystemFields) -> bytes | None:
    """Return the column by which a key is found."""
    return indexed_key(owner, fields.key) if fields.key else None


def title_key(owner: int, title: str | bytes | None) -> bytes | None:
    """Return the column by which a title is found."""
    if title is None:
        return None
    return indexed_title(owner, title.encode() if isinstance(title, str) else title)


class ListedRow(NamedTuple):
    """A session as it is stored: what it is found by, and the parts of its record that say so."""

    tree: int
    number: int
    owner: int
    id: str
    kept: FoundBy
    state: str
    title: bytes | None
    system: bytes
    tags: Sequence[str]

    def right(self) -> FoundBy:
        """Return what it has to be found by."""
        fields = decode_system(self.system, f"session {self.id!r}")
        keys = title_key(self.owner, self.title), system_key(self.owner, fields)
        return FoundBy(self.state, *keys, frozenset(self.tags))

    def mended(self) -> FoundBy | None:
        """Return what it has to be found by, if it is not; what cannot be read stays as it is."""
        with suppress(StoreCorruptError):
            right = self.right()
            return None if right == self.kept else right
        return None

    def problems(self) -> Iterator[Problem]:
        """Return what it is not found by, though its record says so."""
        try:
            right = self.right()
        except StoreCorruptError as error:
            yield Problem(kind="session", where=self.id, what=str(error))
            return
        kept = self.kept
        faults = {
            "state": kept.state != right.state,
            "title": kept.title_key != right.title_key,
            "key": kept.system_key != right.system_key,
            "tags": not kept.tags >= right.tags,
        }
        for name in (name for name, is_wrong in faults.items() if is_wrong):
            yield Problem(kind="session", where=self.id, what=f"it is not found by its {name}")
        if kept.tags - right.tags:
            yield stray_tag(self.id)


def stray_tag(session: str) -> Problem:
    """Return that a session is found by a tag that its record does not have."""
    what = "it is found by a tag that it does not have"
    return Problem(kind="session", where=session, what=what)
