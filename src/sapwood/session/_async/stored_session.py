"""One session in its store, as the parts of a `Session` ask for it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from ...calls import AsyncAnswer
from ...errors import AlreadyExistsError, NotFoundError
from ...model import Document, History, Message, NewSession, Read, SessionRecord
from ...rules.ids import check_name
from ...store._async.contract import AsyncStore
from ..references import PlaceRef, id_of

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


class AsyncStoredSession:
    """Which session it is, what is asked of its store again and again, and its first write.

    A lazy one is created by its first write.
    """

    __slots__ = ("id", "is_lazy", "owner", "store")

    def __init__(self, store: AsyncStore, owner: str, id: str, *, is_lazy: bool) -> None:
        check_name(owner, "owner")
        check_name(id, "session")
        self.store = store
        self.owner = owner
        self.id = id
        self.is_lazy = is_lazy

    async def record(self) -> SessionRecord:
        """Return the session's record, or raise `NotFoundError`."""
        record = await self.store.find_session(self.owner, self.id)
        if record is None:
            raise NotFoundError(f"there is no session {self.id!r}", kind="session", id=self.id)
        return record

    async def get_message(self, id: str) -> Message:
        """Return a message, or raise `NotFoundError`."""
        message = await self.find_message(id)
        if message is None:
            raise NotFoundError(
                f"session {self.id!r} sees no message {id!r}", kind="message", id=id
            )
        return message

    async def find_message(self, id: str) -> Message | None:
        """Return a message, or None when it was deleted or was never there."""
        check_name(id, "id")
        [message] = await self.store.find_messages(self.owner, self.id, [id])
        return message

    async def read(self, query: Read) -> History:
        """Read a part of a path."""
        return await self.store.read(self.owner, self.id, query)

    async def is_on_path(self, id: str, depth: int, leaf: PlaceRef | None = None) -> bool:
        """Whether the message at this depth of the path to the tip, or to `leaf`, is this one."""
        here = Read(leaf=id_of(leaf), overlays=False, after=depth - 1, before=depth + 1)
        return [message.id for message in (await self.read(here)).messages_only] == [id]

    async def find_document(self, key: str) -> Document | None:
        """Return a document of the session."""
        return await self.store.find_document(self.owner, key, session=self.id)

    async def put_document(
        self, key: str, value: bytes, *, expected_version: int | None = None
    ) -> None:
        """Write a document of the session; `StaleVersionError` when it is at another version."""
        await self.store.put_document(
            self.owner, key, value, session=self.id, expected_version=expected_version
        )

    async def delete_document(self, key: str) -> bool:
        """Delete a document of the session; return whether it was there."""
        return await self.store.delete_document(self.owner, key, session=self.id)

    async def first_creating(self, write: Callable[[], AsyncAnswer[Result]]) -> Result:
        """Do a write; a lazy session is created when this is its first."""
        try:
            return await write()
        except NotFoundError as error:
            if not self.is_lazy or error.kind != "session" or error.id != self.id:
                raise
        await self.create()
        return await write()

    async def create(self) -> None:
        """Create a lazy session, unless it is there."""
        if not self.is_lazy:
            return
        # When it is there already, another process was faster.
        with suppress(AlreadyExistsError):
            await self.store.create_session(self.owner, NewSession(id=self.id))
        self.is_lazy = False

    @contextmanager
    def after_a_write(self, otherwise: str) -> Iterator[None]:
        """Do what follows a write that is stored; when it fails, the log says what is amiss.

        An error here would say that the write failed, and a caller who tries again does it twice.
        """
        try:
            yield
        except Exception:
            logger.warning("session %r of %r: %s", self.id, self.owner, otherwise, exc_info=True)
