"""Titles that are unique for an owner: claimed by a document, then written to the record."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count

import msgspec

from ...errors import AlreadyExistsError, NotFoundError, StaleVersionError
from ...model import (
    Document,
    DocumentChange,
    DocumentDelete,
    DocumentPut,
    SessionPatch,
    SessionQuery,
    SessionRecord,
)
from ...rules.keys import TITLE_PREFIX, title_key
from ...rules.titles import (
    TitleSource,
    clean_title,
    fold_title,
    may_retitle,
    next_number,
    number_in_lineage,
    numbered,
    split_number,
)
from ...stores.base.queues import AsyncCallerQueues
from ..back_off import pause_s
from .closings import AsyncClosings
from .lineage import AsyncLineage

SOURCE = "title-source"
"""The session's document that says where its title came from."""
MOST_LISTED = 100


class AsyncTitles:
    """The titles of one owner's sessions."""

    def __init__(
        self, closings: AsyncClosings, lineage: AsyncLineage, random: Callable[[], float]
    ) -> None:
        self._closings = closings
        self._lineage = lineage
        self._random = random
        self._store = closings.store
        self._owner = closings.owner

    async def set(self, session: str, title: str | None, source: TitleSource) -> SessionRecord:
        """Give a session a title, unless it has one of more authority.

        The user's own is refused with `AlreadyExistsError` when another session has it; any other
        takes the next number.
        """
        wanted = None if title is None else clean_title(title)
        for attempt in count():
            record = await self._closings.get(session)
            if not may_retitle(record.title, await self._source_of(session), source):
                return record
            old = None if record.title is None else await self._find(record.title)
            try:
                chosen = wanted and await self._claim(record, wanted, source)
                updated = await self._write(record, chosen, source)
            except StaleVersionError:
                await AsyncCallerQueues.pause(pause_s(attempt, self._random()))
                continue
            if chosen is None or title_key(chosen) != title_key(record.title or ""):
                await self._release(session, old)
            return updated
        raise AssertionError

    async def release(self, record: SessionRecord) -> None:
        """Let go the title of a session that is deleted."""
        if record.title is not None:
            await self._release(record.id, await self._find(record.title))

    async def find(self, title: str) -> SessionRecord | None:
        """Find the session of a title: of a lineage the one with the highest number."""
        base, number = split_number(title)
        if number > 1:
            exact = await self._holder(await self._find(title), title)
            if exact is not None:
                return exact
            base = title
        known = await self._lineage_of(base)
        for _, document in sorted(known, key=lambda it: it[0], reverse=True):
            record = await self._closings.find(_session_in(document))
            if record is not None and number_in_lineage(record.title or "", base) is not None:
                return record
        return await self._find_unclaimed(base)

    async def next_title(self, title: str) -> str:
        """Return the next free title in the lineage of a title."""
        base, _ = split_number(title)
        known = [key for key, _ in await self._claimed(base)]
        return numbered(base, next_number(base, [*known, title]))

    async def _claim(self, record: SessionRecord, title: str, source: TitleSource) -> str:
        """Claim a title, or one like it; return which."""
        while True:
            claim = await self._find(title)
            holder = await self._holder(claim, title)
            if claim is None or holder is None or holder.id == record.id:
                if claim is not None and _session_in(claim) != record.id:
                    await self._overtake(_session_in(claim))
                await self._put(title, record.id, 0 if claim is None else claim.version)
                return title
            if source != "user":
                title = await self.next_title(title)
            elif not await self._gives_way(holder, record):
                raise AlreadyExistsError(
                    f"the title {holder.title!r} is that of session {holder.id!r}: give another "
                    f"one, as {await self.next_title(title)!r}"
                )

    async def _overtake(self, session: str) -> None:
        """See that a session does not get a title any more which it claimed and never wrote."""
        record = await self._closings.find(session)
        if record is not None:
            with suppress(NotFoundError):
                await self._store.update_session(
                    self._owner, session, SessionPatch(), expected_version=record.version
                )

    async def _gives_way(self, holder: SessionRecord, record: SessionRecord) -> bool:
        """Take a title from a session that goes on in this one, and is not seen any more."""
        if not holder.closed or (await self._lineage.end_of_chain(holder.id)).id != record.id:
            return False
        patch = SessionPatch(title=None)
        await self._store.update_session(
            self._owner, holder.id, patch, expected_version=holder.version
        )
        return True

    async def _write(
        self, record: SessionRecord, title: str | None, source: TitleSource
    ) -> SessionRecord:
        value = msgspec.json.encode(source)
        along: DocumentChange = DocumentPut(key=SOURCE, value=value, inherit=False)
        if title is None:
            along = DocumentDelete(key=SOURCE)
        updated = await self._store.update_session(
            self._owner,
            record.id,
            SessionPatch(title=title),
            expected_version=record.version,
            documents=[along],
        )
        return updated.record

    async def _source_of(self, session: str) -> str | None:
        found = await self._store.find_document(self._owner, SOURCE, session=session)
        return None if found is None else msgspec.json.decode(found.value, type=str)

    async def _find(self, title: str) -> Document | None:
        return await self._store.find_document(self._owner, title_key(title))

    async def _put(self, title: str, session: str, version: int) -> None:
        await self._store.put_document(
            self._owner, title_key(title), session.encode(), expected_version=version
        )

    async def _release(self, session: str, claim: Document | None) -> None:
        if claim is None or _session_in(claim) != session:
            return
        with suppress(StaleVersionError):  # it is somebody else's by now
            await self._store.delete_document(
                self._owner, claim.key, expected_version=claim.version
            )

    async def _holder(self, claim: Document | None, title: str) -> SessionRecord | None:
        """Return the session that claimed a title and has it."""
        record = None if claim is None else await self._closings.find(_session_in(claim))
        if record is None or record.title is None:
            return None
        return record if fold_title(record.title) == fold_title(title) else None

    async def _claimed(self, base: str) -> list[tuple[str, Document]]:
        """List the claims of titles that begin so, with the titles as they are compared."""
        found = await self._store.list_documents(self._owner, TITLE_PREFIX + fold_title(base))
        return [(document.key.removeprefix(TITLE_PREFIX), document) for document in found]

    async def _lineage_of(self, base: str) -> list[tuple[int, Document]]:
        known = ((number_in_lineage(key, base), it) for key, it in await self._claimed(base))
        return [(number, document) for number, document in known if number is not None]

    async def _find_unclaimed(self, base: str) -> SessionRecord | None:
        """Find a title that was never claimed, as that of a session that was imported."""
        query = SessionQuery(title_prefix=base, limit=MOST_LISTED)
        page = await self._store.list_sessions(self._owner, query)
        found = [(number_in_lineage(it.title or "", base), it) for it in page.sessions]
        known = [(number, it) for number, it in found if number is not None]
        return max(known, key=lambda it: it[0])[1] if known else None


def _session_in(claim: Document) -> str:
    return claim.value.decode()
