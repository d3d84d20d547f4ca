"""One session in its store, as the parts of a `Session` ask for it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from ...calls import AsyncAnswer, AsyncCall
from ...errors import AlreadyExistsError, NotFoundError, StaleVersionError
from ...model import Document, Event, History, Message, NewSession, Read, Root, SessionRecord
from ...rules.codec import decode_stored
from ...rules.ids import check_name
from ...store._async.contract import AsyncStore
from ..references import PlaceRef, id_of
from ..settings import Setup

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


class AsyncStoredSession:
    """Which session it is, how it is set up, and what is asked of its store again and again.

    One that is lazy is created by its first write, as what it says.
    """

    __slots__ = ("_store", "id", "lazy", "owner", "setup")

    def __init__(
        self, store: AsyncStore, owner: str, id: str, setup: Setup, *, lazy: NewSession | None
    ) -> None:
        check_name(owner, "owner")
        check_name(id, "session")
        self._store = store
        self.owner = owner
        self.id = id
        self.setup = setup
        self.lazy = lazy

    @property
    def store(self) -> AsyncStore:
        """Where it is stored."""
        AsyncCall.warn_on_loop()
        return self._store

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
            raise self._no_message(id)
        return message

    def _no_message(self, id: str) -> NotFoundError:
        return NotFoundError(f"session {self.id!r} sees no message {id!r}", kind="message", id=id)

    async def find_message(self, id: str) -> Message | None:
        """Return a message, or None when it was deleted or was never there."""
        check_name(id, "id")
        [message] = await self.store.find_messages(self.owner, self.id, [id])
        return message

    async def get_parent(self, id: str) -> str | Root:
        """Return the id of what a message follows, deleted or not, or raise `NotFoundError`."""
        check_name(id, "id")
        [parent] = await self.store.find_parents(self.owner, self.id, [id])
        if parent is None:
            raise self._no_message(id)
        return parent

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

    async def load_document(self, key: str, kind: type[Result]) -> Result:
        """Return what a document of the session holds, or an empty one of its kind."""
        return self.decoded(key, await self.find_document(key), kind)

    def decoded(self, key: str, document: Document | None, kind: type[Result]) -> Result:
        """Return what a document holds that was found, or an empty one of its kind."""
        if document is None:
            return kind()
        otherwise = f"the document {key!r} of session {self.id!r} cannot be read"
        return decode_stored(msgspec.json.Decoder(kind).decode, document.value, otherwise)

    async def change_document(
        self, key: str, kind: type[Result], edit: Callable[[Result], Result]
    ) -> Result:
        """Change what a document holds and return it; the changes of all writers are kept."""
        # Every failed turn means that another writer's went through, so this ends.
        while True:
            document = await self.find_document(key)
            before = self.decoded(key, document, kind)
            after = edit(before)
            if after == before:
                return after
            version = 0 if document is None else document.version
            with suppress(StaleVersionError):
                await self.put_document(key, msgspec.json.encode(after), expected_version=version)
                return after

    async def first_creating(
        self, write: Callable[[], AsyncAnswer[Result]], *, may_be_first: bool = True
    ) -> Result:
        """Do a write; a lazy session is created when this is its first, and may be."""
        # Another thread's first write may create it while this one is refused.
        creates = may_be_first and self.lazy is not None
        try:
            written = await write()
        except NotFoundError as error:
            if not creates or error.kind != "session" or error.id != self.id:
                raise
        else:
            self.lazy = None  # It was there: when it is deleted, it is not to come back.
            return written
        await self.create()
        return await write()

    async def create(self) -> None:
        """Create a lazy session, unless it is there."""
        if self.lazy is None:
            return
        # When it is there already, another process was faster.
        with suppress(AlreadyExistsError):
            await self.store.create_session(self.owner, replace(self.lazy, id=self.id))
        self.lazy = None

    @contextmanager
    def after_a_write(self, otherwise: str) -> Iterator[None]:
        """Do what follows a write that is stored; when it fails, the log says what is amiss.

        An error here would say that the write failed, and a caller who tries again does it twice.
        """
        try:
            yield
        except Exception:
            logger.warning("session %r of %r: %s", self.id, self.owner, otherwise, exc_info=True)

    async def tell(self, event: Event) -> None:
        """Call each listener with an event, one after the other; one that fails harms nothing."""
        for listener in self.setup.settings.listeners:
            try:
                await AsyncCall.now(listener, event)
            except Exception:  # what others supplied must not undo what was stored
                # What was said stands in the event, and belongs into no log.
                logger.warning(
                    "a listener failed at a %s of session %r of %r",
                    type(event).__name__,
                    event.session,
                    event.owner,
                    exc_info=True,
                )
