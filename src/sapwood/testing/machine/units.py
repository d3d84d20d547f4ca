"""The rules of what others may come along with: appends, updates, and documents by themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from ...model import ROOT, DocumentPut, NewMessage, Root, SessionPatch
from ..makers import say
from ..oracle import NOTHING, Along, Node, data_node
from .along import KEYS
from .base import MachineBase
from .compare import Comparison, name

_DATA: st.SearchStrategy[dict[str, Any] | None] = st.sampled_from(
    [None, None, None, {}, {"n": 1}, {"x": "é", "n": 2}, {"x": {"deep": [1, None]}}]
)


class _QuietPlace:
    """Holds a node, or none, and prints no more than its id."""

    def __init__(self, node: Node | None) -> None:
        self.node = node

    def __repr__(self) -> str:
        return str(name(self.node))


class UnitMachine(MachineBase):
    """Units of work: all that comes along is done, or nothing is."""

    @rule(data=st.data(), how=st.sampled_from(["blind", "blind", "tip", "parent", "both"]))
    def append(self, data: st.DataObject, how: str) -> None:
        session = self.draws.session(data)
        batch = self.draws.batch(data, session)
        options: dict[str, Any] = {"along": self.draws.along(data, session)}
        if how in ("tip", "both"):
            options["expected_tip"] = self._a_tip(data, session)
        if how in ("parent", "both"):
            options["parent"] = self._a_parent(data, session, batch[0])
        if self.keeps_data:
            options |= self._data(data, session)
        self.appended.append((session, batch, options))
        self.append_both(session, batch, **options)

    @precondition(lambda self: self.keeps_data)
    @rule(data=st.data(), how=st.sampled_from(["blind", "blind", "tip", "parent"]))
    def append_mark(self, data: st.DataObject, how: str) -> None:
        session = self.draws.session(data)
        options = self._data(data, session)
        options["data"] = options.get("data") or {"mark": 1}
        is_known = self.draws.ids and self.draws.rarely(data, "a known id")
        ids = st.sampled_from(self.draws.ids)
        options["id"] = data.draw(ids) if is_known else self.draws.fresh()
        if how == "tip":
            options["expected_tip"] = self._a_tip(data, session)
        if how == "parent":
            options["parent"] = self.draws.place(data, session)
        self.appended.append((session, [], options))
        self.append_both(session, [], **options)

    def _data(self, data: st.DataObject, session: str) -> dict[str, Any]:
        """Draw data to append, and the version that is expected, which mostly is the tip's."""
        options: dict[str, Any] = {}
        value = data.draw(_DATA, label="data")
        if value is not None:
            options["data"] = value
        found = self.oracle.sessions.get(session)
        if found is not None and data.draw(st.sampled_from([False] * 4 + [True]), label="guard"):
            nodes = [found.tip, found.tip, *found.seen()[-2:]]
            held = data_node(data.draw(st.sampled_from(nodes).map(_QuietPlace), label="at").node)
            options["expected_data"] = ROOT if held is None else held.position
        return options

    @precondition(lambda self: self.appended)
    @rule(data=st.data())
    def append_again(self, data: st.DataObject) -> None:
        count = len(self.appended)
        session, batch, options = self.appended[data.draw(st.integers(0, count - 1), label="n")]
        self.append_both(session, batch, **options)

    @rule(data=st.data(), guarded=st.sampled_from([False, False, True]))
    def update_message(self, data: st.DataObject, guarded: bool) -> None:
        session = self.draws.session(data)
        place = self.draws.place(data, session, live=True)
        drawn = self.draws.message(data, "nothing" if isinstance(place, Root) else place)
        message = msgspec.structs.replace(drawn, created_us=None, digest=None)
        along, tip = self.draws.along(data, session), self._guard(data, session, guarded)
        done = self.do(
            "update_message",
            session,
            message,
            expect=lambda: self.oracle.update_message(
                session, message, expected_tip=tip, along=along, now_us=self.clock()
            ),
            expected_tip=tip,
            **along.options,
        )
        if done is not None:
            node, updated = done
            found = self.oracle.sessions[session]
            Comparison(self.places, found).message(node, updated.message)
            self.learn(found, along.documents, updated.documents)

    @rule(data=st.data(), guarded=st.sampled_from([False, False, True]))
    def update_session(self, data: st.DataObject, guarded: bool) -> None:
        session = self.draws.session(data)
        patch, tip = self.draws.patch(data, session), self._guard(data, session, guarded)
        along = replace(self.draws.along(data, session), patch=None)
        self._update(session, patch, tip, along)

    @precondition(lambda self: any(s.closed for s in self.oracle.sessions.values()))
    @rule()
    def open_again(self) -> None:
        """Open what is closed, once it has refused what stores do fastest."""
        for session in [it.id for it in self.oracle.sessions.values() if it.closed]:
            self.append_both(session, [say(self.draws.fresh(), tokens=1)])
            self._update(session, SessionPatch(closed=False), None, NOTHING)

    def _update(
        self, session: str, patch: SessionPatch, tip: str | Root | None, along: Along
    ) -> None:
        done = self.do(
            "update_session",
            session,
            patch,
            expect=lambda: self.oracle.update(
                session, patch, expected_tip=tip, along=along, now_us=self.clock()
            ),
            expected_tip=tip,
            **along.options,
        )
        if done is not None:
            found, updated = done
            Comparison(self.places, found).record(updated.record)
            self.learn(found, along.documents, updated.documents)

    @rule(data=st.data())
    def put_documents(self, data: st.DataObject) -> None:
        session = self.draws.session(data)
        if session not in self.oracle.sessions:
            return
        found = self.oracle.sessions[session]
        fence, documents = self.draws.fences(data, session), self.draws.documents(data, found)
        along = Along(fence=fence, documents=documents)
        options = {name: value for name, value in along.options.items() if name != "documents"}
        done = self.do(
            "put_documents",
            session,
            documents,
            expect=lambda: self.oracle.put_documents(session, along, self.clock()),
            **options,
        )
        if done is not None:
            self.learn(found, documents, done[1])

    @rule(data=st.data(), key=st.sampled_from(KEYS))
    def put_or_delete_one(self, data: st.DataObject, key: str) -> None:
        session = self.draws.session(data)
        if session not in self.oracle.sessions:
            return
        found = self.oracle.sessions[session]
        change = self.draws.document(data, found, key)
        kept, now_us = found.documents.get(key), self.clock()
        is_there = kept is not None and not kept.is_expired(now_us)
        done = self.do(
            "put_document" if isinstance(change, DocumentPut) else "delete_document",
            expect=lambda: self.oracle.put_documents(session, Along(documents=(change,)), now_us),
            session=session,
            **msgspec.structs.asdict(change),
        )
        if done is not None and isinstance(change, DocumentPut):
            self.learn(found, [change], {key: done[1].version})
        elif done is not None:
            assert done[1] == is_there

    @rule(data=st.data(), prefix=st.sampled_from(["", *KEYS, "p"]))
    def delete_documents(self, data: st.DataObject, prefix: str) -> None:
        session = self.draws.session(data)
        found, now_us = self.oracle.sessions.get(session), self.clock()
        kept = found.documents.items() if found else ()
        lasting = [it for key, it in kept if key.startswith(prefix) and not it.is_expired(now_us)]
        if len(prefix) == 0 and not self.draws.rarely(data, "all documents"):
            return
        done = self.do(
            "delete_documents",
            prefix,
            session=session,
            expect=lambda: self.oracle.delete_documents(session, prefix),
        )
        if done is not None:
            assert done[1] == len(lasting)

    @precondition(lambda self: any(s.expiring for s in self.oracle.sessions.values()))
    @rule(data=st.data(), seconds=st.sampled_from([1, 2_000]))
    def renew_document(self, data: st.DataObject, seconds: int) -> None:
        session = self.draws.session(data)
        found = self.oracle.sessions.get(session)
        keys = (found.expiring if found else []) * 4
        key = data.draw(st.sampled_from([*keys, *KEYS[:-1]]), label="key")
        version = max(1, self.draws.held(data, session, key))
        expires_us = self.clock() + seconds * 1_000_000
        self.do(
            "renew_document",
            key,
            expected_version=version,
            expires_in_s=seconds,
            session=session,
            expect=lambda: self.oracle.renew(session, key, version, expires_us),
        )

    def _guard(self, data: st.DataObject, session: str, guarded: bool) -> str | Root | None:
        return self._a_tip(data, session) if guarded else None

    def _a_tip(self, data: st.DataObject, session: str) -> str | Root:
        found = self.oracle.sessions.get(session)
        if found is not None and data.draw(st.booleans(), label="the tip"):
            return name(found.tip)
        return self.draws.place(data, session)

    def _a_parent(self, data: st.DataObject, session: str, first: NewMessage) -> str | Root:
        """Draw a parent; for a known message, mostly the one that it has."""
        found = self.oracle.sessions.get(session)
        known = found.find(first.id or "") if found else None
        if known is not None and not self.draws.rarely(data, "any parent"):
            return name(known.parent)
        return self.draws.place(data, session)
