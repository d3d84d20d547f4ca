"""The documents of an owner, which belong to no session."""

from __future__ import annotations

import hashlib

import msgspec

from ...errors import ConflictError, StoreCorruptError
from ..import_marks import KEEP_S
from ..lines import MOST_TOLD
from ..named_session import lasting_documents
from .events import CopyStatus
from .sides import Sides

KEY = "copied:documents"
"""A document of the owner with an expiry, in which a copy notes what it has written."""
MOST_ROUNDS = 5
DocumentValues = dict[str, bytes]
KnownDigests = dict[str, list[str]]
"""By key, the digests of what copies wrote: only that may be replaced."""


def copy_documents(sides: Sides) -> CopyStatus:
    """Copy an owner's documents, but for those that expire; return what became of them.

    Raises `ConflictError`, before anything is written, when others wrote one on the target.
    """
    status: CopyStatus = "equal"
    written: DocumentValues | None = None
    for _ in range(MOST_ROUNDS):
        wanted, there = (
            {it.key: it.value for it in lasting_documents(store, sides.owner)}
            for store in (sides.source, sides.target)
        )
        known = _known(sides)
        todo = _todo(wanted, there, known)
        if not todo:
            _note(sides, known, {key: [_digest(value)] for key, value in wanted.items()})
            return status
        if wanted == written:
            names = ", ".join(repr(key) for key in sorted(todo)[:MOST_TOLD])
            raise StoreCorruptError(f"the copy is not equal to its source: documents {names}")
        status = "updated" if there else "copied"
        _write(sides, known, wanted, there, todo)
        written = wanted
    raise ConflictError("they change faster than they are copied: copy them again later")


def _todo(wanted: DocumentValues, there: DocumentValues, known: KnownDigests) -> set[str]:
    """Return the keys to write or delete; one that others wrote is a conflict."""
    differ = {key for key, value in wanted.items() if there.get(key) != value}
    gone = {key for key in known.keys() - wanted.keys() if key in there}
    theirs = [
        key
        for key in sorted(differ | gone)
        if key in there and _digest(there[key]) not in known.get(key, ())
    ]
    refused = [key for key in theirs if key in wanted]
    if refused:
        names = ", ".join(repr(key) for key in refused[:MOST_TOLD])
        more = len(refused) - MOST_TOLD
        rest = f" and {more} more" if more > 0 else ""
        raise ConflictError(f"none was written, the target has others: {names}{rest}")
    return (differ | gone) - set(theirs)


def _write(
    sides: Sides, known: KnownDigests, wanted: DocumentValues, there: DocumentValues, todo: set[str]
) -> None:
    # What is going to be written is noted first: after a kill, it is known to be ours.
    changed = {key: [_digest(side[key]) for side in (there, wanted) if key in side] for key in todo}
    _note(sides, known, {**known, **changed})
    for key in sorted(todo):
        if key in wanted:
            sides.target.put_document(sides.owner, key, wanted[key])
        else:
            sides.target.delete_document(sides.owner, key)


def _known(sides: Sides) -> KnownDigests:
    document = sides.target.find_document(sides.owner, KEY)
    try:
        return {} if document is None else msgspec.json.decode(document.value, type=KnownDigests)
    except msgspec.MsgspecError:
        return {}


def _note(sides: Sides, known: KnownDigests, changed: KnownDigests) -> None:
    if changed != known:
        value = msgspec.json.encode(changed)
        sides.target.put_document(sides.owner, KEY, value, expires_in_s=KEEP_S)


def _digest(value: bytes) -> str:
    return hashlib.blake2b(value, digest_size=16).hexdigest()
