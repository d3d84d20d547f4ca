"""What a client may hand in as a message, made into one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from ..calls import AsyncAnswer
from ..errors import UsageError
from ..model import NewMessage, Part, TextPart
from ..rules.codec import USUAL_ROLES
from ..rules.tokens import TokenCounter, count_tokens
from ..rules.wording import a_kind, did_you_mean

ContentPiece = str | Part | Mapping[str, Any]
Content = ContentPiece | Sequence[ContentPiece]
MessageDraft = NewMessage | tuple[str, Content] | Mapping[str, Any]
Sanitizer = Callable[[NewMessage], AsyncAnswer[NewMessage] | NewMessage]
"""Sees each message before it is stored; gives back what is to be stored, or raises."""


def new_message(
    role: str,
    content: Content,
    counter: TokenCounter | None,
    *,
    id: str | None = None,
    name: str | None = None,
    metadata: dict[str, Any] | None = None,
    where: str = "",
) -> NewMessage:
    """Make a message to append, counted by the user's counter if there is one.

    `where` is what its fields are named after in an error.
    """
    if not isinstance(role, str):
        raise UsageError(
            f"{where}role is {a_kind(role)}: use append(role, content)", path=f"{where}role"
        )
    parts, kept = parts_of(content, role, f"{where}content")
    metadata = {} if metadata is None else metadata
    return NewMessage(
        role=role,
        parts=parts,
        metadata={**metadata, **kept} if kept else metadata,
        id=id,
        name=name,
        tokens=count_tokens(counter, role, parts),
    )


def parts_of(
    content: Content, role: str, where: str = "content"
) -> tuple[list[Part], dict[str, Any]]:
    """Make parts of a string, a part, a vendor's object, or a list of these; and of what it keeps.

    What it keeps is what the vendor said beside them: a part of the message's metadata.
    """
    if isinstance(content, str):
        return [TextPart(text=content)], {}
    if isinstance(content, Part):
        return [content], {}
    pieces: Any = content
    if isinstance(pieces, Mapping):
        return _read_content([pieces], role, [where])
    if isinstance(pieces, (bytes, bytearray)) or not isinstance(pieces, Sequence):
        raise UsageError(
            f"{where} is {a_kind(pieces)}: give a string, a part, a JSON object or a list of these",
            path=where,
        )
    if all(isinstance(piece, Part) for piece in pieces):
        return list(pieces), {}
    return _read_content(pieces, role, [f"{where}[{index}]" for index in range(len(pieces))])


def _read_content(
    pieces: Sequence[Any], role: str, paths: Sequence[str]
) -> tuple[list[Part], dict[str, Any]]:
    # Loaded where it is needed: who writes strings and parts does not pay for it.
    from ..formats.recognition import read_content

    return read_content(pieces, role, paths)


def as_new_message(
    role: str | NewMessage | Mapping[str, Any],
    content: Content | None,
    counter: TokenCounter | None,
    *,
    id: str | None = None,
    name: str | None = None,
    metadata: dict[str, Any] | None = None,
) -> NewMessage:
    """Make a message to append from its fields, or take the one given in place of the role."""
    if isinstance(role, str):
        if content is None:
            raise UsageError("the message has no content: give a string or parts", path="content")
        return new_message(role, content, counter, id=id, name=name, metadata=metadata)
    given: Any = role
    is_message = isinstance(given, (NewMessage, Mapping, Sequence)) or hasattr(given, "model_dump")
    if content is not None and not is_message:
        raise UsageError(
            f"role is {a_kind(role)}: it comes first, as in append('user', ...)", path="role"
        )
    if any(it is not None for it in (content, id, name, metadata)):
        raise UsageError(
            "a whole message was given: content, id, name and metadata belong into it",
            path="content",
        )
    if isinstance(role, Sequence):
        raise UsageError(
            f"role is {a_kind(role)}: give several messages to append_all", path="role"
        )
    [message] = _from_drafts([role], counter, lambda _: "message")
    return message


def new_messages(drafts: Sequence[MessageDraft], counter: TokenCounter | None) -> list[NewMessage]:
    """Make messages to append of `NewMessage`s, pairs `(role, content)` and vendors' messages."""
    if isinstance(drafts, (str, NewMessage)) or not isinstance(drafts, Sequence):
        raise UsageError("messages must be a list: give [(role, content), ...]", path="messages")
    return _from_drafts(drafts, counter, lambda index: f"messages[{index}]")


def _from_drafts(
    drafts: Sequence[Any], counter: TokenCounter | None, where: Callable[[int], str]
) -> list[NewMessage]:
    foreign = [(it, where(i)) for i, it in enumerate(drafts) if not _is_ours(it)]
    read = iter(_read_messages(foreign) if foreign else ())
    made: list[NewMessage] = []
    for index, draft in enumerate(drafts):
        if isinstance(draft, tuple):
            role, content = draft
            made.append(new_message(role, content, counter, where=f"{where(index)}."))
            continue
        message = draft if isinstance(draft, NewMessage) else next(read)
        if counter is not None and message.tokens is None:
            tokens = count_tokens(counter, message.role, message.parts)
            message = msgspec.structs.replace(message, tokens=tokens)
        made.append(message)
    return made


def _is_ours(draft: object) -> bool:
    return isinstance(draft, NewMessage) or (isinstance(draft, tuple) and len(draft) == 2)


def _read_messages(values: list[tuple[Any, str]]) -> list[NewMessage]:
    from ..formats.recognition import is_object, read_messages

    for value, path in values:
        if not is_object(value):
            raise UsageError(
                f"{path} is {a_kind(value)}: give a NewMessage, a pair (role, content), or a "
                "vendor's message",
                path=path,
            )
    return read_messages(values)


def sanitized(given: object, before: NewMessage, counter: TokenCounter | None) -> NewMessage:
    """Check what a sanitizer gave in place of a message, and count it if it was changed."""
    if not isinstance(given, NewMessage):
        raise UsageError(
            f"the sanitizer gave {a_kind(given)}: give back a NewMessage, or raise to refuse it",
            path="sanitizer",
        )
    if given is before or given.parts == before.parts or given.tokens != before.tokens:
        return given
    return msgspec.structs.replace(given, tokens=count_tokens(counter, given.role, given.parts))


def check_role(message: NewMessage, more: frozenset[str]) -> None:
    """Refuse a role that is none; `more` are those of the session beside the usual ones."""
    role = message.role
    if role in USUAL_ROLES or role in more or not isinstance(role, str):
        return  # what is no string is refused with the other fields
    known = [*USUAL_ROLES, *sorted(more)]
    match message.parts:
        case [TextPart(text=text)] if text in known:
            raise UsageError(
                f"role and content are swapped: the role comes first, append({text!r}, ...)",
                path="role",
            )
    raise UsageError(
        f"there is no role {role!r}{did_you_mean(role, known) or ': use ' + ', '.join(known)}"
        " (a session has others when it is opened with roles={...})",
        path="role",
    )
