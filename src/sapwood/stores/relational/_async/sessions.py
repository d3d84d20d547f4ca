"""Work on sessions: make, find, list, change, move, retire."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal

from msgspec import UNSET
from msgspec.structs import asdict

from ....model import (
    CHAT,
    EdgeKind,
    Fence,
    NewSession,
    OwnedSessionPage,
    Root,
    SessionPage,
    SessionPatch,
    SessionQuery,
    SessionRecord,
    Statistics,
    UpdatedSession,
)
from ....rules.codec import Packed, decode_json, encode_json
from ....rules.data import mark_of
from ....rules.merge import merge_json
from ....rules.system import decode_system, merged
from ...base.counting import statistics_of
from ...base.extras import Extras
from ...base.refusals import no_session, refuse_stale_session, session_exists
from ..listed import packed_system, title_key
from ..rows import CONTEXT_IN_RECORD, Profile, Row, SessionRow, Touches
from ..statements import SubjectStatements, T
from .data import data_at, own_data, refuse_other_tip
from .extras import get_open_session, refuse_by_extras, write_extras
from .fork import fork_session
from .listing import list_of_all, list_page
from .lookup import get_pos, get_session

if TYPE_CHECKING:
    from .dialect import AsyncDialect

ERASED_AT_ONCE = 100
"""How many sessions one transaction erases: a server has room for so many locks only."""


class AsyncSessionStatements(SubjectStatements[T]):
    """Statements about sessions. The columns of a record's row stand in `relational.rows`."""

    @abstractmethod
    async def find_record(self, owner: str, session: str) -> Row | None:
        """Return a record's row."""

    @abstractmethod
    def record_of(self, row: Row, context: int) -> SessionRecord:
        """Return the record of a row; `context` is what the row has, or was worked out."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Let several statements read the same state, if the unit does not do so already."""
        return nullcontext()

    def pack_title(self, title: str | None) -> Any:
        """Return a title as its column holds it."""
        return None if title is None else title.encode()

    @abstractmethod
    def pack_tags(self, tags: list[str]) -> Any:
        """Return tags as their column holds them."""

    @abstractmethod
    async def inherited_profile(self, source: SessionRow) -> Row:
        """Return what a fork inherits of a profile, as it is held.

        These are tags, budget, attributes, model and source.
        """

    @abstractmethod
    async def insert(
        self,
        owner: str,
        number: int,
        id: str,
        now: int,
        tree: int | None,
        kind: str,
        profile: Profile,
    ) -> SessionRow | None:
        """Write a new, empty session of an owner; None when another has its id meanwhile.

        Its version is above that of every session that was ever deleted. This is looked up where
        nobody who deletes one of its name can come between.

        A store that places rows by their tree is given that which the session will stand in, if
        it is another's.
        """

    @abstractmethod
    async def put_profile(self, session: SessionRow, columns: Mapping[str, Any]) -> None:
        """Write columns of a profile, one at least, and nothing else."""

    @abstractmethod
    async def change(
        self,
        session: SessionRow,
        columns: Mapping[str, Any],
        closed: bool | None,
        active_us: int | None,
    ) -> None:
        """Write columns of a profile, maybe none, and count that in the session's version.

        With `closed`, the session is closed or opened; with a time, that is when it was active.
        """

    @abstractmethod
    async def tell(self, session: SessionRow) -> None:
        """Tell the change feed of a record that was made or changed; the row has its version."""

    @abstractmethod
    async def held(self, session: SessionRow, column: Literal["attributes", "system"]) -> bytes:
        """Return what a column of a session's profile holds that is JSON."""

    async def patch(self, session: SessionRow, patch: SessionPatch) -> None:
        """Change a session's record, and count that in its version."""
        given = {name: value for name, value in asdict(patch).items() if value is not UNSET}
        closed, merge = given.pop("closed", None), given.pop("merge", None)
        active_us = given.pop("active_us", None)
        where = f"session {session.id!r}"
        if merge is not None:
            attributes = decode_json(await self.held(session, "attributes"), where)
            given["attributes"] = merge_json(attributes, merge)
        if "system" in given:
            system = decode_system(await self.held(session, "system"), where)
            packed = packed_system(session.owner, merged(system, given["system"]))
            given["system"], given["system_key"] = packed
        if "title" in given:
            given["title_key"] = title_key(session.owner, given["title"])
            given["title"] = self.pack_title(given["title"])
        if "tags" in given:
            given["tags"] = self.pack_tags(given["tags"])
        if "attributes" in given:
            given["attributes"] = encode_json(given["attributes"], "attributes")
        await self.change(session, given, closed, active_us)
        await self.tell(session._replace(version=session.version + 1))

    @abstractmethod
    async def place(self, session: SessionRow) -> None:
        """Let a session stand where its row says, with the figures that the row has."""

    @abstractmethod
    async def empty(self, session: SessionRow) -> None:
        """Let a session go on in a new tree, without its pins and leases, after it was retired."""

    @abstractmethod
    async def delete(self, session: SessionRow) -> None:
        """Delete a session that was retired, and all that is its own; note its version."""

    @abstractmethod
    async def lock_owner(self, name: str) -> int | None:
        """Return an owner's number, for whom nobody else makes a session then."""

    @abstractmethod
    async def lock_some(self, owner: str, number: int, most: int) -> list[SessionRow | None]:
        """Return so many of an owner's sessions, locked; None for each that is gone by then."""

    @abstractmethod
    async def erase_rest(self, owner: int) -> None:
        """Delete all that an owner without sessions has, and the owner."""

    @abstractmethod
    async def count(self, owner: int, now: int) -> Row:
        """Return how many messages, overlays and documents an owner has.

        Of messages, those of chats, and those that are seen of homes that are gone.
        """

    @abstractmethod
    async def count_sessions(self, owner: int) -> list[Row]:
        """Return how many sessions there are of each kind and state, with these before it."""


class AsyncRelationalSessions:
    """Work on sessions."""

    def __init__(self, dialect: AsyncDialect) -> None:
        self._dialect = dialect
        self._statements = dialect.sessions

    async def create(self, owner: str, new: NewSession) -> SessionRecord:
        """Create a session."""
        if new.fork is not None and not new.fork.detach:
            made = await self._dialect.fork.fork_at_once(owner, new, new.fork)
            if made is not None:
                return made
        lookup = self._dialect.lookup
        # The owner comes first: where it is locked, that is before any tree.
        number = await lookup.own_number(owner)
        if await lookup.find_session(owner, new.id) is not None:
            raise session_exists(new.id)
        parent = None if new.parent is None else new.parent.session
        if parent is not None and await lookup.find_session(owner, parent) is None:
            raise no_session(parent)
        source = None
        if new.fork is not None:
            source = await get_session(self._dialect, owner, new.fork.session)
        row = await self._insert(owner, number, new, source)
        if new.fork is not None and source is not None:
            await fork_session(self._dialect, row, source, new.fork)
        return await self._get(owner, new.id)

    async def _insert(
        self, owner: str, number: int, new: NewSession, source: SessionRow | None
    ) -> SessionRow:
        is_attached = new.fork is not None and not new.fork.detach
        tree = source.tree if source is not None and is_attached else None
        now = await self._dialect.now() if new.created_us is None else new.created_us
        inherited = CHAT if source is None else source.kind
        kind = inherited if new.kind is UNSET else new.kind
        profile = await self._profile(number, new, source)
        row = await self._statements.insert(owner, number, new.id, now, tree, kind, profile)
        if row is None:
            raise session_exists(new.id)
        await self._statements.tell(row if tree is None else row._replace(tree=tree))
        return row

    async def _profile(self, owner: int, new: NewSession, source: SessionRow | None) -> Profile:
        inherited: Row = (self._statements.pack_tags([]), None, b"{}", None, None)
        kind, parent = None, None
        if source is not None:
            inherited = await self._statements.inherited_profile(source)
            kind, parent = EdgeKind.BRANCH.value, source.id
        if new.parent is not None:
            kind, parent = new.parent.kind.value, new.parent.session
        tags, budget, attributes, model, where_from = inherited
        if new.attributes is not UNSET:
            attributes = encode_json(new.attributes, "attributes")
        system, system_key = packed_system(owner, new.system)
        return Profile(
            title=self._statements.pack_title(new.title),
            state=new.state,
            tags=tags if new.tags is UNSET else self._statements.pack_tags(new.tags),
            budget=budget if new.budget is UNSET else new.budget,
            parent_kind=kind,
            parent=parent,
            attributes=attributes,
            model=model if new.model is UNSET else new.model,
            source=where_from if new.source is UNSET else new.source,
            end_reason=new.end_reason,
            system=system,
            system_key=system_key,
            title_key=title_key(owner, new.title),
        )

    async def find(self, owner: str, session: str) -> SessionRecord | None:
        """Find a session's record; its context is worked out if it is not known."""
        is_enough, record = await self.glance(owner, session)
        return record if is_enough else await self._find_with_context(owner, session)

    async def glance(self, owner: str, session: str) -> tuple[bool, SessionRecord | None]:
        """Find a record with one statement; return also whether that was enough."""
        found = await self._statements.find_record(owner, session)
        if found is None or found[CONTEXT_IN_RECORD] is None:
            return found is None, None
        return True, self._statements.record_of(found, found[CONTEXT_IN_RECORD])

    async def _find_with_context(self, owner: str, session: str) -> SessionRecord | None:
        with self._statements.snapshot():
            row = await self._dialect.lookup.find_session(owner, session)
            found = await self._statements.find_record(owner, session)
            if row is None or found is None:
                return None
            context = await self._dialect.sums.context_at(row, row.tip)
            return self._statements.record_of(found, context)

    async def _get(self, owner: str, session: str) -> SessionRecord:
        found = await self.find(owner, session)
        assert found is not None
        return found

    async def update(
        self, owner: str, session: str, expected_tip: str | Root | None, extras: Extras
    ) -> UpdatedSession:
        """Change a session's record, and some of its documents."""
        row = await get_session(self._dialect, owner, session, Touches.APPENDS)
        await refuse_by_extras(self._dialect, row, expected_tip, extras)
        versions = await write_extras(self._dialect, row, extras)
        return UpdatedSession(record=await self._get(owner, session), documents=versions)

    async def checkout(
        self,
        owner: str,
        session: str,
        message: str | Root,
        expected_tip: str | Root | None,
        fences: Sequence[Fence],
    ) -> SessionRecord:
        """Move the tip."""
        row = await get_open_session(self._dialect, owner, session, fences, Touches.APPENDS)
        await refuse_other_tip(self._dialect, row, expected_tip)
        tip = await get_pos(self._dialect, row, message)
        moved = row._replace(tip=tip, version=row.version + 1)
        context = await self._dialect.sums.keep_context_at(moved, moved.tip)
        await self._statements.place(moved._replace(context=context))
        await self._statements.tell(moved)
        return await self._get(owner, session)

    async def list_page(self, owner: str, query: SessionQuery) -> SessionPage:
        """List an owner's sessions."""
        return await list_page(self._dialect, self._get, owner, query)

    async def list_of_all(self, query: SessionQuery) -> OwnedSessionPage:
        """List sessions of all owners."""
        return await list_of_all(self._dialect, self._get, query)

    async def delete(self, owner: str, session: str, expected_version: int | None) -> None:
        """Delete a session; its messages are left to be swept."""
        row = await get_session(self._dialect, owner, session, Touches.CHANGES)
        refuse_stale_session(row.id, row.version, expected_version)
        await self._delete(row)

    async def _delete(self, row: SessionRow) -> None:
        await self._dialect.sweep.retire(row)
        await self._statements.delete(row)

    async def clear(self, owner: str, session: str, mark: str | None) -> SessionRecord:
        """Retire a session's messages and go on under a new number; with a mark, keep its data."""
        row = await get_session(self._dialect, owner, session, Touches.CHANGES)
        at = 0 if mark is None else await data_at(self._dialect, row, row.tip)
        kept = await own_data(self._dialect, row, [at]) if at else {}
        await self._dialect.sweep.retire(row)
        await self._statements.empty(row)
        if mark is not None and at:
            await self._keep(owner, session, mark_of(mark, kept[at]))
        return await self._get(owner, session)

    async def _keep(self, owner: str, session: str, mark: Packed) -> None:
        """Begin a session that was cleared with a mark."""
        row = await get_session(self._dialect, owner, session, Touches.CHANGES)
        now = await self._dialect.now()
        pos, _ = await self._dialect.messages.write_after(row, 0, [mark], now)
        assert mark.data is not None
        await self._dialect.data.put(row, pos, 0, mark.data)

    async def erase_owner(self, owner: str) -> None:
        """Delete all that an owner still has; whoever creates a session meanwhile waits."""
        number = await self._statements.lock_owner(owner)
        if number is None:
            return
        while await self.erase_some(owner):
            continue
        await self._statements.erase_rest(number)

    async def erase_some(self, owner: str) -> bool:
        """Delete some of an owner's sessions; return whether there may be more."""
        number = await self._dialect.lookup.find_owner(owner)
        if number is None:
            return False
        rows = await self._statements.lock_some(owner, number, ERASED_AT_ONCE)
        for row in rows:
            if row is not None:
                await self._delete(row)
        return len(rows) == ERASED_AT_ONCE

    async def statistics(self, owner: str) -> Statistics:
        """Count what an owner has."""
        number = await self._dialect.lookup.find_owner(owner)
        if number is None:
            return Statistics(sessions=0, messages=0, overlays=0, documents=0)
        sessions = await self._statements.count_sessions(number)
        messages, overlays, documents = await self._statements.count(
            number, await self._dialect.now()
        )
        return statistics_of(sessions, messages, overlays, documents)
