"""What the machine draws to come along with a write: guards that mostly hold, and changes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from ...model import DocumentChange, DocumentDelete, DocumentPut, Fence, SessionPatch, SystemPatch
from ..oracle import NOTHING, Along, Session
from .draws import Draws

KEYS = ("a", "b", "c", "pins")
_ALONG: list[tuple[str, ...]] = [
    (),
    (),
    ("documents",),
    ("patch",),
    ("fence",),
    ("fence", "documents"),
    ("version", "patch"),
    ("fence", "version", "documents", "patch"),
]
# A document expires after a few steps, or after all of them.
_EXPIRES = st.sampled_from([None, None, 1, 1_000])
_INHERIT = st.sampled_from([True, True, False])
_SYSTEM = st.sampled_from(
    [
        SystemPatch(key=("a", "b")),
        SystemPatch(key=("a", "c", "d"), life=1),
        SystemPatch(key=("a",), next="s0"),
        SystemPatch(key=(), reason="reset"),
        SystemPatch(life=2, next=None),
    ]
)
KEYS_LOOKED_FOR = (("a",), ("a", "b"), ("a", "c"), ("b",))
"""By which keys, or beginnings of keys, sessions are looked for."""
_MERGES: list[dict[str, Any]] = [
    {"n": 1},
    {"n": None, "title": None},
    {"deep": {"x": 1}},
    {"deep": {"x": None, "y": [1]}},
    {"deep": 2, "other": {}},
]


class AlongDraws(Draws):
    """Draws what a write depends on, and what it takes along."""

    def along(self, data: st.DataObject, session: str) -> Along:
        """Draw what comes along with a write; that is nothing for many of them."""
        found = self._oracle.sessions.get(session)
        parts = data.draw(st.sampled_from(_ALONG), label="along")
        if found is None or not parts:
            return NOTHING
        return Along(
            fence=self.fences(data, session) if "fence" in parts else (),
            expected_version=self._version(data, found) if "version" in parts else None,
            documents=self.documents(data, found) if "documents" in parts else (),
            patch=self.patch(data, session) if "patch" in parts else None,
        )

    def fences(self, data: st.DataObject, session: str) -> tuple[Fence, ...]:
        """Draw up to two fences, which mostly hold; where there are no documents, mostly none."""
        found = self._oracle.sessions.get(session)
        keys = list(found.documents) if found else []
        if not keys and self.rarely(data, "any fence"):
            keys = [*KEYS]
        count = data.draw(st.sampled_from([0, 0, 0, 1, 1, 2]), label="fences")
        keys = data.draw(st.permutations(keys), label="keys")[:count] if count else []
        return tuple(Fence(key=key, version=self.held(data, session, key)) for key in keys)

    def held(self, data: st.DataObject, session: str, key: str) -> int:
        """Draw a version that a document had; most of the time that is the last one."""
        had = self._oracle.versions.get((session, key), [0])
        return data.draw(st.sampled_from([*had, *had[-1:] * 4 * len(had)]), label="held")

    def record_version(self, data: st.DataObject, session: str) -> int | None:
        """Draw a version to expect of a record: none, its own, or that of one before it."""
        found, reached = self._oracle.sessions.get(session), self._oracle.reached.get(session)
        held = [None, None, found.version if found else 1, reached]
        return data.draw(st.sampled_from(held), label="expected version")

    def _version(self, data: st.DataObject, session: Session) -> int:
        return session.version + data.draw(st.sampled_from([0, 0, 0, 1]), label="off")

    def documents(self, data: st.DataObject, session: Session) -> tuple[DocumentChange, ...]:
        """Draw changes of one document or of several."""
        keys = data.draw(
            st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True), label="keys"
        )
        return tuple(self.document(data, session, key) for key in keys)

    def document(self, data: st.DataObject, session: Session, key: str) -> DocumentChange:
        """Draw a put or a delete, at a version that mostly is the stored one, or at any."""
        kept = session.documents.get(key)
        now = 0 if kept is None else kept.version
        had = self._oracle.versions.get((session.id, key), [0])
        expected = data.draw(st.sampled_from([None, None, now, now, now, *had]), label="expected")
        if data.draw(st.sampled_from([False] * 3 + [True]), label="delete"):
            return DocumentDelete(key=key, expected_version=expected)
        return DocumentPut(
            key=key,
            value=self._value(data, session, key),
            expected_version=expected,
            expires_in_s=None if key == "pins" else data.draw(_EXPIRES, label="expires"),
            inherit=key == "pins" or data.draw(_INHERIT, label="inherit"),
        )

    def _value(self, data: st.DataObject, session: Session, key: str) -> bytes:
        if key != "pins":
            return self.fresh("d").encode()
        places = [self.place(data, session.id) for _ in range(data.draw(st.integers(0, 3)))]
        return json.dumps([place for place in places if isinstance(place, str)]).encode()

    def patch(self, data: st.DataObject, session: str) -> SessionPatch:
        """Draw a change of the record; of all sessions one is closed at a time."""
        closed = [it.id for it in self._oracle.sessions.values() if it.closed]
        kinds = ["fields", "merge", "nothing", "system", "active"]
        if closed in ([], [session]):
            kinds += ["closed", "closed"]
        kind = data.draw(st.sampled_from(kinds), label="patch")
        if kind == "closed":
            return SessionPatch(closed=not closed)
        if kind == "active":
            return SessionPatch(active_us=data.draw(st.sampled_from([7, 2_000_000_000_000_007])))
        if kind == "system":
            return SessionPatch(system=data.draw(_SYSTEM, label="system"))
        if kind == "merge":
            return SessionPatch(merge=data.draw(st.sampled_from(_MERGES), label="merge"))
        return self._fields(data) if kind == "fields" else SessionPatch()

    def _fields(self, data: st.DataObject) -> SessionPatch:
        title = data.draw(st.sampled_from([None, "x"]), label="title")
        return SessionPatch(
            title=title,
            tags=[title or "y"],
            attributes={"title": title},
            model=title,
            end_reason=title,
        )
