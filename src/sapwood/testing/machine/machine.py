"""The state machine: random calls, each compared with the oracle."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from msgspec.structs import replace

from ...model import (
    ROOT,
    DocumentPut,
    Entry,
    ForkPoint,
    Message,
    NewOverlay,
    NewSession,
    Read,
    Root,
    SessionCount,
    SessionQuery,
    Statistics,
)
from ...store import Capability
from ..makers import ADA, say
from ..oracle import Along, Shown
from .along import KEYS_LOOKED_FOR
from .compare import Comparison
from .draws import KINDS, NAMES
from .units import UnitMachine

DEEP = 70
"""More segments than the nearest ones that a segment knows on its way to the root."""


class StoreMachine(UnitMachine):
    """One owner's sessions, in a store and in the oracle. Made for a store by `machine_for`."""

    @initialize(data=st.data(), length=st.integers(2, 7), often=st.sampled_from([0, 2, 2, 3]))
    def begin(self, data: st.DataObject, length: int, often: int) -> None:
        """Begin with a conversation and forks of it, where things are most likely to go wrong."""
        self.create_both(NewSession(id=NAMES[0]))
        batch = [say(self.draws.fresh(), tokens=n, extra={"n": n}) for n in range(length)]
        own = DocumentPut(key="a", value=b"own", inherit=False)
        everyones = DocumentPut(key="b", value=b"everyone's")
        self.append_both(NAMES[0], batch, along=Along(documents=(own, everyones)))
        for _ in range(often):
            self.fork(data, False, False)

    @rule(data=st.data(), title=st.sampled_from([None, "", "title"]))
    def create(self, data: st.DataObject, title: str | None) -> None:
        kind = self.draws.new_kind(data)
        self.create_both(NewSession(id=self.draws.name(data), title=title, kind=kind))

    @rule(data=st.data(), detach=st.sampled_from([False] * 5 + [True]), at_tip=st.booleans())
    def fork(self, data: st.DataObject, detach: bool, at_tip: bool) -> None:
        source = self.draws.session(data)
        message = None if at_tip else self.draws.place(data, source)
        point = ForkPoint(session=source, message=message, detach=detach)
        kind = self.draws.new_kind(data)
        self.create_both(NewSession(id=self.draws.name(data), fork=point, kind=kind))

    @precondition(lambda self: not self.is_deep)
    @rule(data=st.data(), often=st.sampled_from([3] * 8 + [DEEP]))
    def regenerate_often(self, data: st.DataObject, often: int) -> None:
        """Branch off the last message but one, again and again."""
        session = self.draws.session(data)
        found = self.oracle.sessions.get(session)
        if found is None or found.closed:
            return
        self.is_deep = often == DEEP
        parent: str | Root | None = None
        for _ in range(often):
            batch = [say(self.draws.fresh(), tokens=1) for _ in range(2)]
            self.append_both(session, batch, parent=parent)
            parent = batch[0].id

    @rule(data=st.data())
    def checkout(self, data: st.DataObject) -> None:
        session = self.draws.session(data)
        place, fence = self.draws.place(data, session), self.draws.fences(data, session)
        guarded = data.draw(st.booleans(), label="guarded")
        tip = self._a_tip(data, session) if guarded else None
        self.do(
            "checkout",
            session,
            place,
            expected_tip=tip,
            fence=fence,
            expect=lambda: self.oracle.checkout(session, place, tip, fence),
        )

    @rule(data=st.data())
    def delete_messages(self, data: st.DataObject) -> None:
        session = self.draws.session(data)
        count = data.draw(st.sampled_from([1, 1, 1, 2, 3]), label="how many")
        places = [self.draws.place(data, session) for _ in range(count)]
        ids = [place for place in places if isinstance(place, str)]
        fence = self.draws.fences(data, session)
        done = self.do(
            "delete_messages",
            session,
            ids,
            fence=fence,
            expect=lambda: self.oracle.delete_messages(session, ids, fence),
        )
        if done is not None:
            expected, deleted = done
            assert (deleted.ids, deleted.quoting_overlays, deleted.data) == expected

    @rule(data=st.data(), with_snapshot=st.booleans())
    def add_overlay(self, data: st.DataObject, with_snapshot: bool) -> None:
        session = self.draws.session(data)
        new = self.draws.overlay(data, session)
        taken = self.snapshots.get(session, [])
        snapshot = data.draw(st.sampled_from(taken)) if taken and with_snapshot else (None, None)
        fields = {field: getattr(new, field) for field in new.__struct_fields__}
        new = NewOverlay(**{**fields, "snapshot": snapshot[0]})
        fence = self.draws.fences(data, session)
        self.do(
            "add_overlay",
            session,
            new,
            fence=fence,
            expect=lambda: self.oracle.add_overlay(
                session, new, snapshot=snapshot[1], fence=fence, now_us=self.clock()
            ),
        )

    @precondition(lambda self: any(s.covers for s in self.oracle.sessions.values()))
    @rule(data=st.data())
    def undo_overlay(self, data: st.DataObject) -> None:
        session = self.draws.session(data)
        found = self.oracle.sessions.get(session)
        mine = [cover.id for cover in found.covers] if found else []
        everywhere = [c.id for s in self.oracle.sessions.values() for c in s.covers]
        id = data.draw(st.sampled_from(mine * 6 + everywhere), label="overlay")
        fence = self.draws.fences(data, session)
        self.do(
            "undo_overlay",
            session,
            id,
            fence=fence,
            expect=lambda: self.oracle.undo(session, id, fence),
        )

    @rule(data=st.data())
    def take_snapshot(self, data: st.DataObject) -> None:
        session = self.draws.session(data)
        if session in self.oracle.sessions:
            history = self.driver.call("read", ADA, session, Read())
            taken = (history.snapshot, self.oracle.changes)
            self.snapshots.setdefault(session, []).append(taken)

    @precondition(lambda self: len(self.oracle.sessions) > 2)
    @rule(data=st.data())
    def delete_session(self, data: st.DataObject) -> None:
        session = self.draws.session(data)
        version = self.draws.record_version(data, session)
        done = self.do(
            "delete_session",
            session,
            expected_version=version,
            expect=lambda: self.oracle.delete(session, version),
        )
        if done:
            self.snapshots.pop(session, None)
            self.retired += 1

    @precondition(lambda self: len(self.oracle.sessions) > 2)
    @rule(data=st.data(), keep=st.booleans())
    def clear_session(self, data: st.DataObject, keep: bool) -> None:
        session = self.draws.session(data)
        self.snapshots.pop(session, None)
        keep = keep and self.keeps_data
        if self.do(
            "clear_session",
            session,
            keep_data=keep,
            expect=lambda: self.oracle.clear(session, keep, self.clock()),
        ):
            self.retired += 1

    @precondition(lambda self: self.keeps_data)
    @rule(data=st.data(), field=st.sampled_from(["n", "x", "none"]))
    def erase_data(self, data: st.DataObject, field: str) -> None:
        session = self.draws.session(data)
        done = self.do(
            "erase_data", session, field, expect=lambda: self.oracle.erase_data(session, field)
        )
        if done is not None:
            assert done[0] == done[1]

    @rule()
    def finish_deletions(self) -> None:
        self.driver.call("finish_deletions")
        self.oracle.finish_deletions()
        sessions = self.oracle.sessions.values()
        assert self.driver.call("statistics", ADA) == Statistics(
            sessions=sum(it.kind == "chat" for it in sessions),
            messages=self.oracle.count(),
            overlays=len({cover for session in sessions for cover in session.covers}),
            documents=sum(
                not kept.is_expired(self.clock())
                for session in sessions
                for kept in session.documents.values()
            ),
            counts=[
                SessionCount(kind=kind, state=state, sessions=count)
                for (kind, state), count in sorted(
                    Counter((it.kind, it.state) for it in sessions).items()
                )
            ],
        )
        for kind in (*KINDS, None):
            self._compare_list([it.id for it in sessions if kind in (None, it.kind)], kind=kind)
        for key in KEYS_LOOKED_FOR:
            found = [it.id for it in sessions if it.system.key[: len(key)] == key]
            self._compare_list(found, kind=None, key=key)

    def _compare_list(self, found: list[str], **asked: Any) -> None:
        """See that a listing has these sessions, the newest first."""
        query = SessionQuery(order="created", limit=len(NAMES), **asked)
        page = self.driver.call("list_sessions", ADA, query)
        assert [it.id for it in page.sessions] == found[::-1]

    @rule(
        data=st.data(),
        everywhere=st.booleans(),
        kind=st.sampled_from(["chat", "chat", "memory", None]),
    )
    def search(self, data: st.DataObject, everywhere: bool, kind: str | None) -> None:
        session = None if everywhere else self.draws.session(data)
        self.search_both(self.draws.query(data), session, kind)

    @precondition(lambda self: Capability.DURABLE in self.driver.store.capabilities)
    @rule()
    def reopen(self) -> None:
        self.driver.reopen()

    @rule(
        data=st.data(),
        limit=st.none() | st.integers(1, 5),
        bounds=st.tuples(st.integers(0, 6), st.none() | st.integers(0, 9)),
        backwards=st.booleans(),
        overlays=st.booleans(),
        part=st.none() | st.integers(1, 10),
    )
    def read_a_part(
        self,
        data: st.DataObject,
        limit: int | None,
        bounds: tuple[int, int | None],
        backwards: bool,
        overlays: bool,
        part: int | None,
    ) -> None:
        session = self.draws.session(data)
        place = self.draws.place(data, session)
        found = self.oracle.sessions.get(session)
        leaf = None if isinstance(place, Root) or found is None else found.find(place)
        if found is None or (leaf is None and place is not ROOT):
            return
        whole = [e for e in found.shown(leaf, overlays) if _is_within(e, *bounds)]
        sizes = [self._size(session, place, overlays, entry) for entry in whole]
        max_bytes = None if part is None else max(1, sum(sizes) * part // 10)
        taken = _take(sizes[::-1] if backwards else sizes, limit, max_bytes)
        query = Read(
            leaf=place,
            overlays=overlays,
            limit=limit,
            max_bytes=max_bytes,
            after=bounds[0],
            before=bounds[1],
            backwards=backwards,
        )
        history = self.driver.call("read", ADA, session, query)
        bare = self.driver.call("read", ADA, session, replace(query, bodies=False))
        # The store may have swept up after a deletion between the two.
        entries = [_bare(it) for it in history.entries]
        assert bare == replace(history, entries=entries, snapshot=bare.snapshot)
        start = len(whole) - taken if backwards else 0
        Comparison(self.places, found).entries(whole[start : start + taken], history.entries)
        assert history.more == (taken < len(whole))
        assert history.bytes == sum(sizes[start : start + taken])
        assert history.context_tokens == found.context_tokens(leaf)

    @rule(data=st.data(), page=st.sampled_from([1, 2, 3, 5, 500]))
    def look_around(self, data: st.DataObject, page: int) -> None:
        session = self.draws.session(data)
        found = self.oracle.sessions.get(session)
        if found is None:
            return
        given: list[Message] = []
        more = True
        while more:
            after = given[-1].position if given else None
            listed = self.driver.call("list_messages", ADA, session, after=after, limit=page)
            given, more = given + listed.messages, listed.more
        compare = Comparison(self.places, found)
        compare.stream(given)
        ids = self.draws.ids[-40:]
        [recent] = self.driver.call("find_recent", ADA, [session])
        compare.recent(recent)
        compare.parents(ids, self.driver.call("find_parents", ADA, session, ids))
        id = data.draw(st.sampled_from([*ids, "nothing"]), label="id")
        assert self.driver.call("find_homes", ADA, id) == self.oracle.homes_of(id)

    def _size(self, session: str, leaf: str | Root, overlays: bool, entry: Shown) -> int:
        first, last = entry.depths
        query = Read(leaf=leaf, overlays=overlays, after=last - 1, before=first + 1)
        if first < last:
            query = Read(leaf=leaf, overlays=overlays, after=first - 1, before=last + 1)
        history = self.driver.call("read", ADA, session, query)
        assert len(history.entries) == 1
        assert isinstance(history.bytes, int)
        return history.bytes


def _bare(entry: Entry) -> Entry:
    if isinstance(entry, Message):
        return replace(entry, parts=[], metadata={}, extra={}, name=None)
    pinned = [replace(it, parts=[], metadata={}, extra={}, name=None) for it in entry.pinned]
    return replace(entry, pinned=pinned)


def _is_within(entry: Shown, after: int, before: int | None) -> bool:
    first, last = entry.depths
    return last > after and (before is None or first < before)


def _take(sizes: list[int], limit: int | None, max_bytes: int | None) -> int:
    """Count how many entries fit."""
    taken, total = 0, 0
    for size in sizes:
        total += size
        full = max_bytes is not None and total > max_bytes
        if (full and taken) or taken == limit:
            break
        taken += 1
    return taken
