"""Short ways to use a memory store in a test, and to write down what it shows."""

from __future__ import annotations

from sapwood.model import (
    EntryRef,
    ForkPoint,
    Message,
    NewMessage,
    NewOverlay,
    NewSession,
    Read,
    Summary,
    TextPart,
)
from sapwood.stores.memory import MemoryStore

OWNER = "ada"


class Clock:
    """Microseconds that a test moves by hand; each look takes one."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000_000

    def __call__(self) -> int:
        self.now += 1
        return self.now


def new(id: str, text: str = "", tokens: int = 10) -> NewMessage:
    return NewMessage(role="user", parts=[TextPart(text=text or id)], id=id, tokens=tokens)


def append(store: MemoryStore, ids: str, session: str = "a", **options: object) -> None:
    store.append(OWNER, session, [new(id) for id in ids.split()], **options)  # type: ignore[arg-type]


def fork(
    store: MemoryStore, id: str, message: str, source: str = "a", detach: bool = False
) -> None:
    point = ForkPoint(session=source, message=message, detach=detach)
    store.create_session(OWNER, NewSession(id=id, fork=point))


def cover(store: MemoryStore, first: str, last: str, session: str = "a", **fields: object) -> str:
    def ref(name: str) -> EntryRef:
        kind, _, id = name.rpartition(":")
        return EntryRef(kind="overlay" if kind else "message", id=id)

    overlay = NewOverlay(first=ref(first), last=ref(last), summary="so far", tokens=3, **fields)  # type: ignore[arg-type]
    return store.add_overlay(OWNER, session, overlay).id


def shown(store: MemoryStore, session: str = "a", **query: object) -> str:
    """Show a history as ids; a summary as its id in brackets, with its pins."""
    history = store.read(OWNER, session, Read(**query))  # type: ignore[arg-type]
    names = []
    for entry in history.entries:
        if isinstance(entry, Summary):
            pins = "".join(f"+{message.id}" for message in entry.pinned)
            names.append(f"[{entry.overlay.id}{pins}]")
        else:
            names.append(entry.id)
    return " ".join(names)


def context(store: MemoryStore, session: str = "a") -> int:
    """Give a session's sum of tokens, and see that reading agrees."""
    record = store.find_session(OWNER, session)
    assert record is not None
    assert store.read(OWNER, session, Read()).context_tokens == record.context_tokens
    return record.context_tokens


def find(store: MemoryStore, session: str, id: str) -> Message:
    [message] = store.find_messages(OWNER, session, [id])
    assert message is not None
    return message
