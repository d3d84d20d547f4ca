"""Every method once: called for a session, and called with one wrong argument at a time."""

from __future__ import annotations

from ...model import (
    DocumentPut,
    Fence,
    Read,
    Search,
    SessionPatch,
    Usage,
)
from ...store import AsyncStore
from ..makers import ADA, cover, fork_of, say
from ..twin import AsyncCall
from .base import grow

SESSION_CALLS: dict[str, AsyncCall] = {
    "update_session": lambda s, o, n: s.update_session(o, n, SessionPatch(title="taken")),
    "checkout": lambda s, o, n: s.checkout(o, n, "m1"),
    "delete_session": lambda s, o, n: s.delete_session(o, n),
    "clear_session": lambda s, o, n: s.clear_session(o, n),
    "fork": lambda s, o, n: s.create_session(o, fork_of(n, "m1", id="stolen")),
    "detach": lambda s, o, n: s.create_session(o, fork_of(n, "m1", id="stolen", detach=True)),
    "append": lambda s, o, n: s.append(o, n, [say("x")]),
    "append after": lambda s, o, n: s.append(o, n, [say("x")], parent="m1"),
    "append repeated": lambda s, o, n: s.append(o, n, [say("m1")]),
    "append expecting": lambda s, o, n: s.append(o, n, [say("x")], expected_tip="m2"),
    "update_message": lambda s, o, n: s.update_message(o, n, say("m1", "taken")),
    "delete_messages": lambda s, o, n: s.delete_messages(o, n, ["m1"]),
    "find_messages": lambda s, o, n: s.find_messages(o, n, ["m1"]),
    "find_parents": lambda s, o, n: s.find_parents(o, n, ["m1"]),
    "list_messages": lambda s, o, n: s.list_messages(o, n),
    "read": lambda s, o, n: s.read(o, n, Read()),
    "read bodiless": lambda s, o, n: s.read(o, n, Read(bodies=False)),
    "read leaf": lambda s, o, n: s.read(o, n, Read(leaf="m1")),
    "list_children": lambda s, o, n: s.list_children(o, n, "m1"),
    "list_leaves": lambda s, o, n: s.list_leaves(o, n),
    "list_gaps": lambda s, o, n: s.list_gaps(o, n, "m1"),
    "add_overlay": lambda s, o, n: s.add_overlay(o, n, cover("m1", "m2")),
    "add_overlay fenced": lambda s, o, n: s.add_overlay(
        o, n, cover("m1", "m2"), fence=Fence(key="k", version=1)
    ),
    "list_overlays": lambda s, o, n: s.list_overlays(o, n),
    "undo_overlay": lambda s, o, n: s.undo_overlay(o, n, "o1"),
    "find_document": lambda s, o, n: s.find_document(o, "k", session=n),
    "put_document": lambda s, o, n: s.put_document(o, "k", b"taken", session=n),
    "put_documents": lambda s, o, n: s.put_documents(o, n, [DocumentPut(key="k", value=b"taken")]),
    "renew_document": lambda s, o, n: s.renew_document(
        o, "k", expected_version=1, expires_in_s=60, session=n
    ),
    "delete_document": lambda s, o, n: s.delete_document(o, "k", session=n),
    "delete_documents": lambda s, o, n: s.delete_documents(o, "", session=n),
    "list_documents": lambda s, o, n: s.list_documents(o, session=n),
    "search": lambda s, o, n: s.search(o, Search(text="m1", session=n)),
    "add_usage": lambda s, o, n: s.add_usage(o, n, Usage(id="u2", input_tokens=9)),
    "total_usage": lambda s, o, n: s.total_usage(o, n),
    "total_usage by message": lambda s, o, n: s.total_usage(o, n, by="message"),
}
"""Every call about a session, each of which an unknown session refuses."""


async def furnish(store: AsyncStore, session: str = "s", owner: str = ADA) -> None:
    """Make a session that has some of everything."""
    await grow(store, "m1", "m2", "m3", session=session, owner=owner)
    await store.add_overlay(owner, session, cover("m1", "m2", id="o1"))
    await store.put_document(owner, "k", b"v", session=session)
    await store.put_document(owner, "k", b"v")
    await store.add_usage(owner, session, Usage(id="u", input_tokens=1))
