"""Bad names in every place that takes one: refused before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ...errors import UsageError
from ...model import (
    DocumentPut,
    Edge,
    EdgeKind,
    EntryRef,
    Fence,
    ForkPoint,
    NewMessage,
    NewOverlay,
    NewSession,
    Position,
    Read,
    SessionPatch,
    SessionQuery,
    TextPart,
    Usage,
)
from ...store import AsyncStore
from .. import bad_arguments
from ..makers import ADA, cover, ref, say
from ..twin import AsyncCall
from .base import AsyncContractBase, names_what, state_of
from .calls import SESSION_CALLS, furnish

Placed = Callable[[Any], AsyncCall]


def _edge(session: Any) -> Edge:
    return Edge(kind=EdgeKind.RESET, session=session)


def _covering(first: Any, last: Any) -> NewOverlay:
    return NewOverlay(
        first=EntryRef(kind="message", id=first),
        last=EntryRef(kind="overlay", id=last),
        summary="text",
    )


def _message(**fields: Any) -> NewMessage:
    return NewMessage(**{"role": "user", "parts": [TextPart(text="x")], **fields})


PLACES: dict[str, Placed] = {
    "create.id": lambda bad: lambda s, o, n: s.create_session(o, NewSession(id=bad)),
    "create.state": lambda bad: lambda s, o, n: s.create_session(o, NewSession(id="x", state=bad)),
    "create.kind": lambda bad: lambda s, o, n: s.create_session(o, NewSession(id="x", kind=bad)),
    "create.tags": lambda bad: (
        lambda s, o, n: s.create_session(o, NewSession(id="x", tags=["t", bad]))
    ),
    "create.parent": lambda bad: (
        lambda s, o, n: s.create_session(o, NewSession(id="x", parent=_edge(bad)))
    ),
    "fork.session": lambda bad: (
        lambda s, o, n: s.create_session(o, NewSession(id="x", fork=ForkPoint(session=bad)))
    ),
    "update.state": lambda bad: lambda s, o, n: s.update_session(o, n, SessionPatch(state=bad)),
    "update.tags": lambda bad: lambda s, o, n: s.update_session(o, n, SessionPatch(tags=[bad])),
    "checkout": lambda bad: lambda s, o, n: s.checkout(o, n, bad),
    "list.tags": lambda bad: lambda s, o, n: s.list_sessions(o, SessionQuery(tags=[bad])),
    "append.role": lambda bad: lambda s, o, n: s.append(o, n, [say("x"), _message(role=bad)]),
    "delete": lambda bad: lambda s, o, n: s.delete_messages(o, n, ["m1", bad]),
    "find": lambda bad: lambda s, o, n: s.find_messages(o, n, [bad]),
    "find_parents": lambda bad: lambda s, o, n: s.find_parents(o, n, ["m1", bad]),
    "find_homes": lambda bad: lambda s, o, n: s.find_homes(o, bad),
    "find_recent": lambda bad: lambda s, o, n: s.find_recent(o, [n, bad]),
    "list_messages.after": lambda bad: (
        lambda s, o, n: s.list_messages(o, n, after=Position(bad, 1))
    ),
    "children": lambda bad: lambda s, o, n: s.list_children(o, n, bad),
    "update_message.id": lambda bad: lambda s, o, n: s.update_message(o, n, _message(id=bad)),
    "overlay.first": lambda bad: lambda s, o, n: s.add_overlay(o, n, _covering(bad, "o1")),
    "overlay.last": lambda bad: lambda s, o, n: s.add_overlay(o, n, _covering("m1", bad)),
    "undo": lambda bad: lambda s, o, n: s.undo_overlay(o, n, bad),
    "usage.id": lambda bad: lambda s, o, n: s.add_usage(o, n, Usage(id=bad)),
}
"""The places that must have a name."""

KEY_PLACES: dict[str, Placed] = {
    "find_document": lambda bad: lambda s, o, n: s.find_document(o, bad, session=n),
    "put_document": lambda bad: lambda s, o, n: s.put_document(o, bad, b"", session=n),
    "renew_document": lambda bad: (
        lambda s, o, n: s.renew_document(o, bad, expected_version=1, expires_in_s=60, session=n)
    ),
    "find_recent.document": lambda bad: (
        lambda s, o, n: s.find_recent(o, [n], document="" if bad is None else bad)
    ),
    "delete_document": lambda bad: lambda s, o, n: s.delete_document(o, bad, session=n),
    "list_documents.after": lambda bad: (
        lambda s, o, n: s.list_documents(o, session=n, after="" if bad is None else bad)
    ),
    "put_documents": lambda bad: (
        lambda s, o, n: s.put_documents(o, n, [DocumentPut(key=bad, value=b"")])
    ),
    "fence": lambda bad: (
        lambda s, o, n: s.append(o, n, [say("x")], fence=Fence(key=bad, version=1))
    ),
}
"""The places that must have the key of a document."""

OPTIONAL_PLACES: dict[str, Placed] = {
    "append.id": lambda bad: lambda s, o, n: s.append(o, n, [say("x"), _message(id=bad)]),
    "append.name": lambda bad: lambda s, o, n: s.append(o, n, [say("x"), _message(name=bad)]),
    "update_message.name": lambda bad: (
        lambda s, o, n: s.update_message(o, n, _message(id="m1", name=bad))
    ),
    "append.parent": lambda bad: lambda s, o, n: s.append(o, n, [say("x")], parent=bad),
    "append.expected_tip": lambda bad: lambda s, o, n: s.append(o, n, [say("x")], expected_tip=bad),
    "fork.message": lambda bad: (
        lambda s, o, n: s.create_session(
            o, NewSession(id="x", fork=ForkPoint(session=n, message=bad))
        )
    ),
    "read.leaf": lambda bad: lambda s, o, n: s.read(o, n, Read(leaf=bad)),
    "overlay.leaf": lambda bad: lambda s, o, n: s.add_overlay(o, n, cover("<o1>", "m3", leaf=bad)),
    "overlay.id": lambda bad: (
        lambda s, o, n: s.add_overlay(
            o, n, NewOverlay(first=ref("<o1>"), last=ref("m3"), summary="x", id=bad)
        )
    ),
    "list.state": lambda bad: lambda s, o, n: s.list_sessions(o, SessionQuery(state=bad)),
    "list.kind": lambda bad: lambda s, o, n: s.list_sessions(o, SessionQuery(kind=bad)),
    "list.parent": lambda bad: lambda s, o, n: s.list_sessions(o, SessionQuery(parent=bad)),
    "usage.message": lambda bad: lambda s, o, n: s.add_usage(o, n, Usage(id="u9", message=bad)),
    "changes.reader": lambda bad: lambda s, o, n: s.changes(o, reader=bad),
    "documents.session": lambda bad: lambda s, o, n: s.put_document(o, "k", b"", session=bad),
}
"""The places where a name may be left out."""


async def refuses(store: AsyncStore, calls: dict[str, AsyncCall], owner: Any, session: Any) -> None:
    """See that every call is refused as wrong, and that nothing changed."""
    before = [await state_of(store), await store.statistics(ADA)]
    for name, call in calls.items():
        with pytest.raises(UsageError) as raised:
            await call(store, owner, session)
            pytest.fail(f"{name} was not refused")
        assert names_what(raised.value), name
        assert raised.value.path, name
    assert [await state_of(store), await store.statistics(ADA)] == before


class AsyncBadNameContract(AsyncContractBase):
    """A name is 1 to 256 bytes of UTF-8 without control characters."""

    @pytest.mark.parametrize("bad", sorted(bad_arguments.NAMES))
    async def test_rule_15_a_bad_name_is_refused_everywhere(
        self, store: AsyncStore, bad: str
    ) -> None:
        await furnish(store)
        value = bad_arguments.NAMES[bad]
        places = PLACES if value is None else {**PLACES, **OPTIONAL_PLACES}
        await refuses(store, {n: place(value) for n, place in places.items()}, ADA, "s")

    @pytest.mark.parametrize("bad", sorted(bad_arguments.KEYS))
    async def test_rule_15_a_bad_key_is_refused_everywhere(
        self, store: AsyncStore, bad: str
    ) -> None:
        await furnish(store)
        value = bad_arguments.KEYS[bad]
        places = dict(KEY_PLACES)
        if value not in ("", None):
            # An empty prefix means all.
            places["list"] = lambda bad: lambda s, o, n: s.list_documents(o, bad, session=n)
            places["delete"] = lambda bad: lambda s, o, n: s.delete_documents(o, bad, session=n)
        await refuses(store, {n: place(value) for n, place in places.items()}, ADA, "s")

    @pytest.mark.parametrize("bad", sorted(bad_arguments.NAMES))
    async def test_rule_15_a_bad_owner_is_refused_by_every_method(
        self, store: AsyncStore, bad: str
    ) -> None:
        await furnish(store)
        calls = {
            **SESSION_CALLS,
            "create": lambda s, o, n: s.create_session(o, NewSession(id="x")),
            "find": lambda s, o, n: s.find_session(o, n),
            "list": lambda s, o, n: s.list_sessions(o, SessionQuery()),
            "statistics": lambda s, o, n: s.statistics(o),
            "changes": lambda s, o, n: s.changes(o),
            "feed cursor": lambda s, o, n: s.feed_cursor(o),
            "forget reader": lambda s, o, n: s.forget_reader(o, "r"),
            "erase": lambda s, o, n: s.erase_owner(o),
            "homes": lambda s, o, n: s.find_homes(o, "m1"),
            "recent": lambda s, o, n: s.find_recent(o, [n]),
            "document": lambda s, o, n: s.put_document(o, "k", b""),
        }
        await refuses(store, calls, bad_arguments.NAMES[bad], "s")

    @pytest.mark.parametrize("bad", sorted(bad_arguments.NAMES.keys() - {"nothing"}))
    async def test_rule_15_a_bad_session_is_refused_by_every_method(
        self, store: AsyncStore, bad: str
    ) -> None:
        await furnish(store)
        calls = {**SESSION_CALLS, "find": lambda s, o, n: s.find_session(o, n)}
        await refuses(store, calls, ADA, bad_arguments.NAMES[bad])

    async def test_names_up_to_256_bytes_are_taken(self, store: AsyncStore) -> None:
        for name in ("x" * 256, "é" * 128, "日" * 85, "👩‍🚀", " ", "..", "a/b", "'", '"', "\\"):
            await store.create_session(name, NewSession(id=name, tags=[name], state=name))
            done = await store.append(name, name, [_message(id=name, role=name)])
            assert (done.messages[0].id, done.messages[0].role) == (name, name)
            await store.put_document(name, name, b"", session=name)
            await store.add_usage(name, name, Usage(id=name, model=name, message=name))
            assert (await store.read(name, name, Read(leaf=name))).tip == name
