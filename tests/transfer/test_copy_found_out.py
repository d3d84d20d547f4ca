"""A target that does not keep what it is given is found out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from sapwood.errors import ConflictError, StoreCorruptError
from sapwood.model import ROOT, Edge, EdgeKind, NewMessage, NewSession, Read, Usage
from sapwood.store import Store
from sapwood.stores.memory import MemoryStore
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, say
from sapwood.transfer import copy_store

from .copies import furnished, statuses
from .worlds import new_ids


@pytest.fixture
def source() -> Iterator[MemoryStore]:
    with furnished() as store:
        yield store


class Lying(MemoryStore):
    """A store that does not keep what it is given."""

    lie: str = ""

    def append(
        self, owner: str, session: str, messages: Any, *, parent: Any = None, **options: Any
    ) -> Any:
        told = [self._twisted(it) for it in messages]
        if self.lie == "extra" and session == "f":
            told.append(say("zz"))
        if self.lie == "order" and messages[0].id == "x4":
            parent = "m1"
        if self.lie == "deeper" and messages[0].id == "x4":
            parent = "m5"
        if self.lie == "loss" and messages[0].id == "x4":
            return super().append(owner, session, self._first(), parent=ROOT)
        return super().append(owner, session, told, parent=parent, **options)

    def _first(self) -> list[NewMessage]:
        return [say("m1", created_us=self.find_messages(ADA, "s", ["m1"])[0].created_us)]  # type: ignore[union-attr]

    def _twisted(self, it: NewMessage) -> NewMessage:
        if it.id == "m2" and self.lie == "content":
            return msgspec.structs.replace(it, metadata={"n": 1.0})
        if it.id == "m2" and self.lie == "tokens":
            return msgspec.structs.replace(it, tokens=1_000)
        if it.id == "m2" and self.lie == "time":
            return msgspec.structs.replace(it, created_us=1)
        return it

    def create_session(self, owner: str, session: NewSession) -> Any:
        if self.lie == "title":
            session = msgspec.structs.replace(session, title="x")
        if self.lie == "edge" and session.id == "f":
            edge = Edge(kind=EdgeKind.DELEGATE, session="s")
            session = msgspec.structs.replace(session, parent=edge)
        if self.lie == "fork" and session.fork is not None:
            fork = msgspec.structs.replace(session.fork, detach=True)
            session = msgspec.structs.replace(session, fork=fork)
        if self.lie == "created":
            session = msgspec.structs.replace(session, created_us=1)
        return super().create_session(owner, session)

    def update_session(self, owner: str, session: str, *args: Any, **options: Any) -> Any:
        return self.find_session(owner, session)

    def update_message(self, owner: str, session: str, message: NewMessage, **options: Any) -> Any:
        return self.find_messages(owner, session, [message.id or ""])[0]

    def delete_messages(self, owner: str, session: str, ids: Any, **options: Any) -> Any:
        return None if self.lie == "gap" else super().delete_messages(owner, session, ids)

    def read(self, owner: str, session: str, query: Read) -> Any:
        if self.lie == "shown" and query.leaf == "x4":
            query = msgspec.structs.replace(query, overlays=False)
        return super().read(owner, session, query)

    def list_leaves(self, owner: str, session: str) -> Any:
        leaves = super().list_leaves(owner, session)
        return leaves[::-1] if self.lie == "branches" else leaves

    def add_overlay(self, owner: str, session: str, overlay: Any, **options: Any) -> Any:
        if self.lie == "overlay":
            overlay = msgspec.structs.replace(overlay, summary="x")
        return super().add_overlay(owner, session, overlay, **options)

    def put_document(self, owner: str, key: str, value: bytes, **options: Any) -> Any:
        wrong = self.lie == "document" and key == "k"
        return super().put_document(owner, key, b"x" if wrong else value, **options)

    def delete_document(self, owner: str, key: str, **options: Any) -> bool:
        return self.lie == "late" or super().delete_document(owner, key, **options)

    def checkout(self, owner: str, session: str, message: Any, **options: Any) -> Any:
        wrong = self.lie == "tip"
        return super().checkout(owner, session, "m1" if wrong else message, **options)

    def add_usage(self, owner: str, session: str, usage: Usage) -> bool:
        return self.lie == "usage" or super().add_usage(owner, session, usage)


LIES = {
    "content": "'m2' has other metadata",
    "tokens": "'m2' has other tokens",
    "time": "'m2' has another time",
    "loss": "'x4' is missing",
    "order": "'x4' follows another message",
    "deeper": "'x4' follows another message",
    "extra": "session 'f'.*'zz' is not in the source",
    "title": "its title is another",
    "created": "it was created at another time",
    "edge": "session 'f'.*came out of another session",
    "fork": "session 'f'.*it is no fork of 's' at 'm3'",
    "branches": "its branches come in another order",
    "overlay": "overlay 'both' is another",
    "shown": "at the leaf 'x4' message 'm2' is shown, and in the source overlay 'both'",
    "gap": "'m4' was deleted from the source",
    "document": "document 'k' is another",
    "late": "session 'f'.*document 'late' is not in the source",
    "tip": "its tip is not 'm5'",
    "usage": "the usage of message 'm2', model 'a'",
}


@pytest.mark.parametrize("lie", LIES)
def test_a_target_that_does_not_keep_what_it_is_given_is_found_out(source: Store, lie: str) -> None:
    source.update_message(ADA, "s", NewMessage(id="m2", role="user", parts=[], metadata={"n": 1}))
    source.delete_messages(ADA, "s", ["m4"])
    with Lying(clock=ManualClock(), new_id=new_ids()) as target:
        target.lie = lie
        with pytest.raises((StoreCorruptError, ConflictError), match=LIES[lie]) as caught:
            copy_store(source, target)
        assert "owner 'ada', session" in str(caught.value)
        assert set(statuses(source, target).values()) & {"store_corrupt", "conflict"}
