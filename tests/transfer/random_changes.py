"""What can be done to a store, drawn at random."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from sapwood.errors import SapwoodError
from sapwood.model import ROOT, SessionPatch
from sapwood.store import Store
from sapwood.testing.makers import ADA, cover, fork_of, say

from .worlds import names_in, seen_of

OPS = st.tuples(
    st.sampled_from(
        [
            *["append"] * 4,
            *["branch"] * 3,
            *["cover"] * 3,
            "fork",
            "fork",
            "detach",
            "checkout",
            "undo",
            "update",
            "delete",
            "put",
            "own",
            "close",
            "open",
            "open",
            "pin",
            "remove",
            "clear",
        ]
    ),
    st.integers(0, 1_000),
    st.integers(0, 1_000),
    st.integers(0, 1_000),
)


def act(store: Store, number: int, op: tuple[str, int, int, int]) -> None:
    """Do something to a store; a call that is refused does nothing, as it should."""
    kind, a, b, c = op
    names = names_in(store) or ["s"]
    session = names[a % len(names)]
    seen = sorted(seen_of(store, session)["messages"]) if names_in(store) else []
    one = seen[b % len(seen)] if seen else ROOT
    two = seen[c % len(seen)] if seen else ROOT
    calls: dict[str, Any] = {
        "append": lambda: store.append(ADA, session, [say(f"m{number}"), say(f"n{number}")]),
        "branch": lambda: store.append(
            ADA,
            session,
            [say(f"m{number}", tokens=7, extra={"n": number}, name=f"n{number % 3}")],
            parent=one,
        ),
        "cover": lambda: store.add_overlay(
            ADA, session, cover(str(one), str(two), id=f"o{number}", leaf=str(two))
        ),
        "fork": lambda: store.create_session(ADA, fork_of(session, one, id=f"s{number}")),
        "detach": lambda: store.create_session(
            ADA, fork_of(session, one, id=f"s{number}", detach=True)
        ),
        "checkout": lambda: store.checkout(ADA, session, one),
        "undo": lambda: store.undo_overlay(ADA, session, store.list_overlays(ADA, session)[0].id),
        "update": lambda: store.update_message(ADA, session, say(str(one), f"changed {number}")),
        "delete": lambda: store.delete_messages(ADA, session, [str(one)]),
        "put": lambda: store.put_document(ADA, f"k{b % 3}", b"\xff%d" % number, session=session),
        "own": lambda: store.put_document(
            ADA, "own", b"%d" % b, session=session, inherit=b % 2 > 0
        ),
        "close": lambda: store.update_session(ADA, session, SessionPatch(closed=True)),
        "open": lambda: store.update_session(ADA, session, SessionPatch(closed=False)),
        "pin": lambda: store.put_document(
            ADA, "pins", b'["%s"]' % str(one).encode(), session=session
        ),
        "remove": lambda: store.delete_session(ADA, session),
        "clear": lambda: store.clear_session(ADA, session),
    }
    try:
        calls[kind]()
    except (SapwoodError, IndexError):
        return
