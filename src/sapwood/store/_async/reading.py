"""What users have read: marks, and how many messages are unread; and previews of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from ...errors import NotFoundError, StaleVersionError
from ...model import (
    DocumentPut,
    Message,
    Position,
    ReadMark,
    Recent,
    Root,
    SessionPage,
    SessionRecord,
)
from ...rules.recent import (
    common_depth,
    mark_at,
    preview_of,
    read_key,
    read_mark_of,
    unread_after,
)
from .recent import common_depth_by_reads

if TYPE_CHECKING:
    from .contract import AsyncStore


async def get_recent(
    store: AsyncStore, owner: str, session: str, *, user: str | None = None
) -> Recent:
    """Return the end of a session's path, with a user's mark, or raise `NotFoundError`."""
    key = None if user is None else read_key(user)
    [recent] = await store.find_recent(owner, [session], document=key)
    if recent is None:
        raise NotFoundError(f"there is no session {session!r}", kind="session", id=session)
    return recent


async def mark_read(
    store: AsyncStore,
    owner: str,
    session: str,
    user: str,
    *,
    upto: Message | str | Root | None = None,
    back: bool = False,
) -> ReadMark | None:
    """Note that a user has read down to a message, or to the tip; return the mark that holds.

    One that reads no further on the path to the tip is ignored, unless it is to go `back`.
    """
    key = read_key(user)
    # Every failed turn means that another one's mark went through, so this ends.
    while True:
        recent = await get_recent(store, owner, session, user=user)
        before = None if recent.document is None else read_mark_of(recent.document)
        mark = await _mark(store, owner, session, recent, upto)
        if not back and (mark is None or before is not None):
            reached = await _depth(store, owner, session, recent, mark)
            if reached <= await _depth(store, owner, session, recent, before):
                return before
        version = 0 if recent.document is None else recent.document.version
        try:
            if mark is None:
                await store.delete_document(owner, key, session=session, expected_version=version)
            else:
                value = msgspec.json.encode(mark)
                put = DocumentPut(key=key, value=value, expected_version=version, inherit=False)
                await store.put_documents(owner, session, [put])
        except StaleVersionError:
            continue
        return mark


async def _mark(
    store: AsyncStore, owner: str, session: str, recent: Recent, upto: Message | str | Root | None
) -> ReadMark | None:
    """Return the mark that is asked for; None above the first message."""
    if upto is None:
        tip = recent.tip
        return None if isinstance(tip, Root) else mark_at(recent, tip, recent.trail[0])
    if isinstance(upto, Root):
        return None
    id = upto.id if isinstance(upto, Message) else upto
    [found] = await store.find_messages(owner, session, [id])
    if found is None:
        raise NotFoundError(f"session {session!r} sees no message {id!r}", kind="message", id=id)
    return mark_at(recent, id, Position(found.segment, found.depth))


async def count_unread(store: AsyncStore, owner: str, session: str, recent: Recent) -> int:
    """Count the messages on the path to a tip that a user's mark does not reach."""
    mark = None if recent.document is None else read_mark_of(recent.document)
    return unread_after(recent, await _depth(store, owner, session, recent, mark))


async def _depth(
    store: AsyncStore, owner: str, session: str, recent: Recent, mark: ReadMark | None
) -> int:
    """Return how far down the path to the tip a mark reaches."""
    if mark is None:
        return 0
    known = common_depth(recent, mark)
    if known is not None:
        return known
    return await common_depth_by_reads(store, owner, session, recent, mark)


async def look_into(
    store: AsyncStore, owner: str, page: SessionPage, *, previews: bool, unread_for: str | None
) -> SessionPage:
    """Return a page of sessions with previews, or with what is unread for a user, or both."""
    key = None if unread_for is None else read_key(unread_for)
    ids = [it.id for it in page.sessions]
    found = await store.find_recent(owner, ids, document=key)
    sessions: list[SessionRecord] = []
    for record, recent in zip(page.sessions, found, strict=True):
        # One that was deleted since it was listed has neither.
        if recent is not None:
            preview = preview_of(recent.messages) if previews else None
            unread = None
            if unread_for is not None:
                unread = await count_unread(store, owner, record.id, recent)
            record = replace(record, preview=preview, unread=unread)
        sessions.append(record)
    return replace(page, sessions=sessions)
