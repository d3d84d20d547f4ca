"""What every part of the suite stands on: its fixtures, and a first conversation."""

from __future__ import annotations

from typing import Any

import pytest

from ...errors import SapwoodError
from ...model import ROOT, History, Message, NewSession, Read, SessionRecord
from ...store import AsyncStore
from ..clock import Clock, ManualClock
from ..makers import ADA, say, shown
from ..twin import AsyncTwin


class AsyncContractBase:
    """The fixtures: a store under test overrides `store`, and lets it read `clock` if it can."""

    pytestmark = AsyncTwin.marks

    @pytest.fixture
    def clock(self) -> Clock:
        """Return the clock that the store reads; override it for a store with its own."""
        return ManualClock()

    @pytest.fixture
    def store(self) -> AsyncStore:
        """Return an empty store."""
        raise NotImplementedError("override the fixture `store`: give an empty store")


async def grow(
    store: AsyncStore, *ids: str, session: str = "s", owner: str = ADA, tokens: int = 1
) -> list[Message]:
    """Append a message for each id, one call each; create the session where it is not there."""
    if await store.find_session(owner, session) is None:
        await store.create_session(owner, NewSession(id=session))
    grown: list[Message] = []
    for id in ids:
        done = await store.append(owner, session, [say(id, tokens=tokens)])
        grown.extend(done.messages)
    return grown


async def record_of(store: AsyncStore, session: str = "s", owner: str = ADA) -> SessionRecord:
    """Return a session's record, which must be there."""
    record = await store.find_session(owner, session)
    assert record is not None
    return record


async def history_of(
    store: AsyncStore, session: str = "s", owner: str = ADA, **query: Any
) -> History:
    """Read a session's history."""
    return await store.read(owner, session, Read(**query))


async def shown_in(
    store: AsyncStore, session: str = "s", owner: str = ADA, **query: Any
) -> list[str]:
    """Read a session's history, and write down what it shows."""
    return shown(await history_of(store, session, owner, **query))


async def message_in(store: AsyncStore, id: str, session: str = "s") -> Message:
    """Return a message, which must be there."""
    [message] = await store.find_messages(ADA, session, [id])
    assert message is not None
    return message


async def state_of(store: AsyncStore, session: str = "s", owner: str = ADA) -> list[Any]:
    """Return all that can be seen of a session, to tell that a refused call changed nothing."""
    history = await history_of(store, session, owner)
    bare = await history_of(store, session, owner, overlays=False)
    return [
        await record_of(store, session, owner),
        [history.entries, history.context_tokens, history.bytes, history.tip],
        [bare.entries, bare.context_tokens, bare.bytes, bare.tip],
        await store.list_children(owner, session, ROOT),
        await store.list_leaves(owner, session),
        await store.list_overlays(owner, session),
        await store.list_documents(owner, session=session),
        await store.total_usage(owner, session),
    ]


def names_what(error: SapwoodError) -> bool:
    """Whether an error says something and carries its code."""
    return bool(str(error).strip()) and bool(error.code)
