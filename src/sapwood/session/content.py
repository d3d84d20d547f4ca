"""What a client may hand in as a message, made into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..errors import UsageError
from ..model import NewMessage, Part, TextPart, part_from_json
from ..rules.tokens import TokenCounter, count_tokens

ContentPiece = str | Part | Mapping[str, Any]
Content = ContentPiece | Sequence[ContentPiece]
MessageDraft = NewMessage | tuple[str, Content]


def parts_of(content: Content, where: str = "content") -> list[Part]:
    """Make a string, a part, a JSON object or a list of these into parts."""
    if isinstance(content, (str, Mapping, Part)):
        return [_part_of(content, where)]
    pieces: object = content
    if isinstance(pieces, (bytes, bytearray)) or not isinstance(pieces, Sequence):
        raise _not_content(pieces, where)
    return [_part_of(piece, f"{where}[{index}]") for index, piece in enumerate(pieces)]


def _part_of(piece: ContentPiece, where: str) -> Part:
    if isinstance(piece, str):
        return TextPart(text=piece)
    if isinstance(piece, Part):
        return piece
    if not isinstance(piece, Mapping):
        raise _not_content(piece, where)
    try:
        return part_from_json(piece)
    except RecursionError:
        raise UsageError(f"{where} is nested too deeply", path=where) from None


def _not_content(value: object, where: str) -> UsageError:
    return UsageError(
        f"{where} is a {type(value).__name__}: give a string, a part, a JSON object "
        "or a list of these",
        path=where,
    )


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
        raise _no_role(role, f"{where}role")
    parts = parts_of(content, f"{where}content")
    return NewMessage(
        role=role,
        parts=parts,
        metadata={} if metadata is None else metadata,
        id=id,
        name=name,
        tokens=count_tokens(counter, role, parts),
    )


def _no_role(role: object, where: str) -> UsageError:
    hint = "append(role, content)"
    if isinstance(role, Mapping):
        hint += ", or for messages of a vendor append_all(from_openai_chat(messages)) and the like"
    return UsageError(f"{where} is a {type(role).__name__}: use {hint}", path=where)


def as_new_message(
    role: str | NewMessage,
    content: Content | None,
    counter: TokenCounter | None,
    *,
    id: str | None = None,
    name: str | None = None,
    metadata: dict[str, Any] | None = None,
) -> NewMessage:
    """Make a message to append from its fields, or take the one given in place of the role."""
    if isinstance(role, NewMessage):
        if any(it is not None for it in (content, id, name, metadata)):
            raise UsageError(
                "a whole message was given: content, id, name and metadata belong into it",
                path="content",
            )
        return _from_draft(role, counter, "message")
    if content is None and isinstance(role, str):
        raise UsageError("the message has no content: give a string or parts", path="content")
    return new_message(role, content, counter, id=id, name=name, metadata=metadata)


def new_messages(drafts: Sequence[MessageDraft], counter: TokenCounter | None) -> list[NewMessage]:
    """Make messages to append from a mix of `NewMessage` and `(role, content)`."""
    if isinstance(drafts, (str, NewMessage)) or not isinstance(drafts, Sequence):
        raise UsageError("messages must be a list: give [(role, content), ...]", path="messages")
    return [_from_draft(draft, counter, f"messages[{i}]") for i, draft in enumerate(drafts)]


def _from_draft(draft: MessageDraft, counter: TokenCounter | None, where: str) -> NewMessage:
    if isinstance(draft, NewMessage):
        if counter is None or draft.tokens is not None:
            return draft
        tokens = count_tokens(counter, draft.role, draft.parts)
        return msgspec.structs.replace(draft, tokens=tokens)
    if isinstance(draft, tuple) and len(draft) == 2:
        return new_message(draft[0], draft[1], counter, where=f"{where}.")
    raise UsageError(
        f"{where} is a {type(draft).__name__}: give a NewMessage or a pair (role, content)",
        path=where,
    )
