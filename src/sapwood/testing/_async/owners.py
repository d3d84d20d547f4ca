"""Owners: no call reaches another owner's data, and nothing unknown is invented."""

from __future__ import annotations

import pytest

from ...errors import NotFoundError
from ...model import Edge, EdgeKind, NewSession, SessionQuery
from ...store import AsyncStore
from ..makers import ADA, say
from .base import AsyncContractBase, grow, shown_in, state_of
from .calls import SESSION_CALLS, furnish

REACHING = {
    "checkout",
    "fork",
    "detach",
    "append after",
    "update_message",
    "delete_messages",
    "read leaf",
    "list_children",
    "list_gaps",
    "add_overlay",
    "undo_overlay",
}
"""The calls that name something in the session, besides the session."""


async def not_found(store: AsyncStore, session: str) -> None:
    """See that every call about a session says that it is not there."""
    for name, call in SESSION_CALLS.items():
        with pytest.raises(NotFoundError) as raised:
            await call(store, ADA, session)
            pytest.fail(f"{name} was not refused")
        assert (raised.value.kind, raised.value.id) == ("session", session), name


class AsyncOwnerContract(AsyncContractBase):
    """What belongs to somebody else is not found."""

    async def test_rule_13_a_session_of_another_owner_is_not_found(self, store: AsyncStore) -> None:
        await furnish(store, owner="bob")
        before = await state_of(store, owner="bob")
        await not_found(store, "s")
        assert await state_of(store, owner="bob") == before
        assert await store.find_session(ADA, "stolen") is None

    @pytest.mark.parametrize("call", sorted(SESSION_CALLS))
    async def test_rule_13_ids_of_another_owner_mean_nothing_in_ones_own_session(
        self, store: AsyncStore, call: str
    ) -> None:
        await furnish(store, owner="bob")
        await grow(store)
        before = await state_of(store, owner="bob")
        refused = None
        try:
            await SESSION_CALLS[call](store, ADA, "s")
        except Exception as error:  # noqa: BLE001 - whatever it says, it must not reach bob
            refused = error
        assert await state_of(store, owner="bob") == before
        assert isinstance(refused, NotFoundError) == (call in REACHING)

    async def test_rule_07_an_unknown_session_is_an_error(self, store: AsyncStore) -> None:
        await furnish(store, session="other")
        before = await state_of(store, "other")
        await not_found(store, "nobody")
        assert await store.find_session(ADA, "nobody") is None
        assert await state_of(store, "other") == before

    async def test_rule_07_a_deleted_session_is_an_error(self, store: AsyncStore) -> None:
        await furnish(store)
        await store.delete_session(ADA, "s")
        await not_found(store, "s")
        assert await store.find_session(ADA, "s") is None

    async def test_rule_13_owners_share_names_and_nothing_else(self, store: AsyncStore) -> None:
        owners = ["ada", "Ada", "ada ", "bob", "%", "a_a", "é", "x" * 256]
        for owner in owners:
            await store.create_session(owner, NewSession(id="s"))
            await store.append(owner, "s", [say("m1", f"of {owner}")])
            await store.put_document(owner, "k", owner.encode())
        await store.finish_deletions()
        for owner in owners:
            [message] = await store.find_messages(owner, "s", ["m1"])
            assert message is not None
            assert message.text == f"of {owner}"
            page = await store.list_sessions(owner, SessionQuery())
            assert [record.id for record in page.sessions] == ["s"]
            document = await store.find_document(owner, "k")
            assert document is not None
            assert document.value == owner.encode()
            assert (await store.statistics(owner)).sessions == 1
        assert sorted(await store.admin.list_owners()) == sorted(owners)

    async def test_rule_13_a_parent_of_another_owner_is_not_found(self, store: AsyncStore) -> None:
        await grow(store, owner="bob")
        edge = Edge(kind=EdgeKind.DELEGATE, session="s")
        with pytest.raises(NotFoundError):
            await store.create_session(ADA, NewSession(id="mine", parent=edge))

    async def test_rule_13_deleting_and_erasing_concern_one_owner(self, store: AsyncStore) -> None:
        for owner in (ADA, "bob"):
            await furnish(store, owner=owner)
        before = await state_of(store, owner="bob")
        await store.delete_session(ADA, "s")
        await store.erase_owner(ADA)
        await store.erase_owner("nobody")
        await store.finish_deletions()
        assert await state_of(store, owner="bob") == before
        assert await shown_in(store, owner="bob") == ["<o1>", "m3"]
