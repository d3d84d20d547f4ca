"""Erased data: a field is taken out of the versions."""

from __future__ import annotations

import pytest

from ...errors import (
    MessageConflictError,
    SessionClosedError,
)
from ...model import (
    NewSession,
    SessionPatch,
)
from ...store import AsyncStore
from ..makers import ADA, fork_of, say
from .base import (
    AsyncContractBase,
)
from .data import ONE, TWO, chain, held, mark


class AsyncErasedDataContract(AsyncContractBase):
    """A field of the data is erased from all that a session sees."""

    async def test_a_field_is_erased_from_every_version_that_is_seen(
        self, store: AsyncStore
    ) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        await store.append(ADA, "s", [say("m1")], data={"secret": "x", "n": 1})
        await store.append(ADA, "s", [say("m2")], data={"n": 2})
        await mark(store, {"secret": "y"}, id="k")
        await store.append(ADA, "s", [say("b")], data={"secret": "z"}, parent="m1")
        await store.create_session(ADA, fork_of("s", "k"))
        await mark(store, {"secret": "fork"}, "fork", id="f")
        assert await store.erase_data(ADA, "s", "secret") == 3
        assert await store.erase_data(ADA, "s", "secret") == 0
        assert await store.erase_data(ADA, "s", "no such field") == 0
        assert await held(store) == {}
        values = [it.value for it in await chain(store, "fork")]
        assert values == [{"secret": "fork"}, {}, {"n": 2}, {"n": 1}]
        await mark(store, {"secret": "new"})
        assert await held(store) == {"secret": "new"}
        await store.finish_deletions()
        assert [it.value for it in await chain(store)] == [{"secret": "new"}, {}, {"n": 1}]
        assert await store.admin.check() == []

    async def test_a_fork_erases_what_it_sees(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        await mark(store, {"x": 1, "n": 1}, id="k1")
        await mark(store, {"x": 2, "n": 2}, id="k2")
        await store.create_session(ADA, fork_of("s", "k1"))
        await mark(store, {"x": 3}, "fork", id="k3")
        assert await store.erase_data(ADA, "fork", "x") == 2
        assert [it.value for it in await chain(store, "fork")] == [{}, {"n": 1}]
        assert [it.value for it in await chain(store)] == [{"x": 2, "n": 2}, {"n": 1}]
        await store.finish_deletions()
        assert [it.value for it in await chain(store)] == [{"x": 2, "n": 2}, {"n": 1}]
        assert (await mark(store, {"n": 1}, id="k1")).written == 0
        with pytest.raises(MessageConflictError):
            await mark(store, {"x": 1, "n": 1}, id="k1")
        assert await store.admin.check() == []

    async def test_data_is_erased_in_a_closed_session(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        await mark(store, ONE, id="k")
        await store.update_session(ADA, "s", SessionPatch(closed=True))
        with pytest.raises(SessionClosedError):
            await mark(store, TWO)
        assert (await mark(store, ONE, id="k")).written == 0
        assert await store.erase_data(ADA, "s", "n") == 1
        assert await held(store) == {}
