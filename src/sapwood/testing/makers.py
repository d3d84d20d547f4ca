"""Short ways to write messages down in a test, and to write down what a history shows."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from ..model import (
    ChangeKind,
    Changes,
    Entry,
    EntryRef,
    ForkPoint,
    History,
    Message,
    NewMessage,
    NewOverlay,
    NewSession,
    Part,
    Summary,
    SystemFields,
    TextPart,
)

ADA = "ada"
"""The owner in most tests."""


def say(
    id: str | None,
    text: str | None = None,
    *,
    role: str = "user",
    tokens: int | None = None,
    metadata: dict[str, Any] | None = None,
    created_us: int | None = None,
    extra: dict[str, Any] | UnsetType = UNSET,
    name: str | None = None,
    digest: bytes | None = None,
) -> NewMessage:
    """Write a message of one text; without a text, it says its own id."""
    parts = [TextPart(text=(id or "") if text is None else text)]
    return NewMessage(
        id=id,
        role=role,
        parts=[*parts],
        metadata=metadata or {},
        tokens=tokens,
        created_us=created_us,
        extra=extra,
        name=name,
        digest=digest,
    )


def say_parts(id: str | None, *parts: Part, role: str = "assistant") -> NewMessage:
    """Write a message of several parts, or of one that is no text."""
    return NewMessage(id=id, role=role, parts=[*parts])


def fork_of(
    source: str,
    message: Any = None,
    *,
    id: str = "fork",
    detach: bool = False,
    kind: str | UnsetType = UNSET,
    system: SystemFields | None = None,
) -> NewSession:
    """Write a fork of a session, at a message or at its tip."""
    point = ForkPoint(session=source, message=message, detach=detach)
    return NewSession(id=id, kind=kind, system=system or SystemFields(), fork=point)


def cover(
    first: str,
    last: str,
    *,
    id: str | None = None,
    tokens: int | None = 1,
    leaf: str | None = None,
    snapshot: str | None = None,
    summary: str | None = None,
) -> NewOverlay:
    """Write an overlay over a range; an end in angle brackets names an overlay."""
    return NewOverlay(
        first=ref(first),
        last=ref(last),
        summary=f"from {first} to {last}" if summary is None else summary,
        tokens=tokens,
        id=id,
        leaf=leaf,
        snapshot=snapshot,
    )


def ref(name: str) -> EntryRef:
    """Read a name as `shown` writes it: `m1` is a message, `<o1>` an overlay."""
    if name.startswith("<"):
        return EntryRef(kind="overlay", id=name.strip("<>"))
    return EntryRef(kind="message", id=name)


def shown(history: History) -> list[str]:
    """Write down what a history shows: messages by id, summaries as `<o1>` or `<o1>+pin+pin`."""
    return [_written(entry) for entry in history.entries]


def _written(entry: Entry) -> str:
    if isinstance(entry, Summary):
        return "+".join([f"<{entry.overlay.id}>", *(message.id for message in entry.pinned)])
    return entry.id


def ids_told(page: Changes) -> list[str | None]:
    """Return the ids that a page of the feed tells of; what it tells of records is passed over."""
    return [it.message for it in page.changes if it.kind is not ChangeKind.RECORD]


def ids_of(messages: list[Message] | list[Message | None]) -> list[str | None]:
    """Write down messages by id, None for what was not found."""
    return [None if message is None else message.id for message in messages]
