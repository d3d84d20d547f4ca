"""What the layers above keep of a session: its key, by which it is found, and how it ended."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import asdict

from ...errors import StaleVersionError
from ...model import (
    DocumentPut,
    NewSession,
    SessionPatch,
    SessionQuery,
    SystemFields,
    SystemPatch,
)
from ...store import AsyncStore
from ..clock import Clock
from ..makers import ADA, fork_of, say
from .base import AsyncContractBase, grow, record_of
from .listing import listed

KEY = ("support", "chat", "ada", "orders")
LONG = "p" * 300
"""One part of a key, longer than a name may be."""
ODD = ("", "a:b", "a%b", "a\x1fb", "a\0b", "é", "𐍈", "\n", " ", "%", "'", LONG, LONG + "q")


async def put(store: AsyncStore, session: str, *key: str, **fields: Any) -> None:
    """Create a session with a key."""
    system = SystemFields(key=key, **fields)
    await store.create_session(ADA, NewSession(id=session, system=system))


async def patch(store: AsyncStore, session: str = "s", **fields: Any) -> SystemFields:
    """Change what the layers above keep of a session; return what is kept then."""
    changed = SessionPatch(system=SystemPatch(**fields))
    record = (await store.update_session(ADA, session, changed)).record
    assert record == await record_of(store, session)
    return record.system


class AsyncSystemContract(AsyncContractBase):
    """It is kept as it is given, merged by a patch, and not inherited."""

    async def test_what_the_system_keeps_is_nothing_unless_given(self, store: AsyncStore) -> None:
        made = await store.create_session(ADA, NewSession(id="s"))
        assert made.system == SystemFields()
        assert asdict(made.system) == {"key": (), "life": 0, "next": None, "reason": None}
        assert await record_of(store) == made

    async def test_what_the_system_keeps_is_as_it_was_given(self, store: AsyncStore) -> None:
        fields = SystemFields(key=KEY, life=3, next="t", reason="reset")
        made = await store.create_session(ADA, NewSession(id="s", system=fields))
        assert made.system == fields
        assert await record_of(store) == made
        await store.finish_deletions()
        page = await store.list_sessions(ADA, SessionQuery(key=KEY))
        assert page.sessions == [made]

    async def test_a_patch_changes_only_the_fields_that_it_gives(self, store: AsyncStore) -> None:
        await put(store, "s", *KEY)
        assert await patch(store, life=1) == SystemFields(key=KEY, life=1)
        assert await patch(store, next="t", reason="branch") == SystemFields(
            key=KEY, life=1, next="t", reason="branch"
        )
        assert await patch(store, next=None) == SystemFields(key=KEY, life=1, reason="branch")
        assert await patch(store) == SystemFields(key=KEY, life=1, reason="branch")
        assert await patch(store, key=(), life=0, reason=None) == SystemFields()
        assert (await record_of(store)).version == 6

    async def test_other_changes_leave_it_as_it_is(self, store: AsyncStore) -> None:
        await put(store, "s", *KEY, life=2, reason="reset")
        before = (await record_of(store)).system
        changes = SessionPatch(title="t", attributes={"a": 1}, tags=["x"], state="ended")
        await store.update_session(ADA, "s", changes)
        await store.update_session(ADA, "s", SessionPatch(merge={"b": 2}, closed=True))
        await store.update_session(ADA, "s", SessionPatch(closed=False))
        await grow(store, "m1", "m2")
        await store.append(ADA, "s", [say("m3")], patch=SessionPatch(title="u"))
        await store.checkout(ADA, "s", "m1")
        await store.clear_session(ADA, "s")
        await store.finish_deletions()
        assert (await record_of(store)).system == before
        assert await listed(store, key=KEY) == ["s"]

    @pytest.mark.parametrize("how", ["append", "update_message", "update_session"])
    async def test_it_comes_along_with_a_write_all_or_nothing(
        self, store: AsyncStore, how: str
    ) -> None:
        await put(store, "s", "agent", "old")
        await grow(store, "m1")
        new = SessionPatch(system=SystemPatch(key=("agent", "new"), life=1), title="t")

        async def write(expected: int) -> None:
            along: dict[str, Any] = {
                "documents": [DocumentPut(key="k", value=b"v")],
                "expected_version": expected,
            }
            if how == "append":
                await store.append(ADA, "s", [say("m2")], patch=new, **along)
            elif how == "update_message":
                await store.update_message(ADA, "s", say("m1", "new"), patch=new, **along)
            else:
                await store.update_session(ADA, "s", new, **along)

        before = await record_of(store)
        with pytest.raises(StaleVersionError):
            await write(before.version + 1)
        assert await record_of(store) == before
        assert await listed(store, key=("agent", "new")) == []
        await write(before.version)
        record = await record_of(store)
        assert record.system == SystemFields(key=("agent", "new"), life=1)
        assert (record.title, record.version) == ("t", before.version + 1)
        assert await listed(store, key=("agent", "new")) == ["s"]
        assert await listed(store, key=("agent", "old")) == []

    @pytest.mark.parametrize("detach", [False, True])
    async def test_a_fork_does_not_inherit_it(self, store: AsyncStore, detach: bool) -> None:
        await put(store, "s", *KEY, life=2, next="t", reason="reset")
        await grow(store, "m1", "m2")
        for id, message in (("a", None), ("b", "m1")):
            made = await store.create_session(ADA, fork_of("s", message, id=id, detach=detach))
            assert made.system == SystemFields()
        fields = SystemFields(key=("other",), life=1)
        new = fork_of("s", "m1", id="c", detach=detach, system=fields)
        assert (await store.create_session(ADA, new)).system == fields
        assert await listed(store, key=("other",)) == ["c"]
        assert await listed(store, key=KEY) == ["s"]
        assert (await record_of(store)).system.life == 2


class AsyncKeyContract(AsyncContractBase):
    """Sessions are found by their keys, and by the parts that these begin with."""

    async def test_a_key_is_found_by_the_whole_parts_that_it_begins_with(
        self, store: AsyncStore
    ) -> None:
        await put(store, "a", "support")
        await put(store, "b", "support", "chat", "ada")
        await put(store, "c", *KEY)
        await put(store, "d", "support", "chatter")
        await put(store, "e", "supporter", "chat")
        await put(store, "f")
        for parts, found in (
            (("support",), ["d", "c", "b", "a"]),
            (("support", "chat"), ["c", "b"]),
            (("support", "chat", "ada"), ["c", "b"]),
            (KEY, ["c"]),
            (("support", "chatter"), ["d"]),
            (("sup",), []),
            (("chat",), []),
            ((), ["f", "e", "d", "c", "b", "a"]),
        ):
            for order in ("active", "created"):
                assert await listed(store, key=parts, order=order) == found
            assert await listed(store, key=parts, limit=1) == found
        assert (await store.list_sessions("bob", SessionQuery(key=("support",)))).sessions == []

    async def test_a_part_may_be_any_text(self, store: AsyncStore) -> None:
        for n, part in enumerate(ODD):
            await put(store, f"s{n}", "agent", part, "x")
        for n, part in enumerate(ODD):
            assert await listed(store, key=("agent", part)) == [f"s{n}"]
            assert (await record_of(store, f"s{n}")).system.key == ("agent", part, "x")
        # Parts do not run together.
        await put(store, "one", "a", "b:c")
        await put(store, "two", "a:b", "c")
        assert await listed(store, key=("a",)) == ["one"]
        assert await listed(store, key=("a:b",)) == ["two"]

    async def test_a_key_is_one_filter_among_others(self, store: AsyncStore, clock: Clock) -> None:
        for id in "abcd":
            await put(store, id, "agent", id)
        await store.create_session(
            ADA, NewSession(id="m", kind="memory", system=SystemFields(key=("agent",)))
        )
        clock.advance(2)
        await grow(store, "m1", session="b")
        await store.update_session(ADA, "c", SessionPatch(state="ended", tags=["x"], title="t"))
        assert await listed(store, key=("agent",)) == ["b", "d", "c", "a"]
        assert await listed(store, key=("agent",), state="ended", tags=["x"]) == ["c"]
        assert await listed(store, key=("agent",), title_prefix="t", limit=1) == ["c"]
        assert await listed(store, key=("agent",), kind=None, order="created", limit=2) == [
            *("m", "d"),
            *("c", "b"),
            "a",
        ]
        assert await listed(store, key=("agent",), kind="memory") == ["m"]

    async def test_another_key_takes_the_place_of_the_first(self, store: AsyncStore) -> None:
        await put(store, "s", "agent", "one")
        for key in (("agent", "two"), ("agent", "one"), ("other",)):
            await patch(store, key=key)
            assert await listed(store, key=key) == ["s"]
        assert await listed(store, key=("agent",)) == []
        await patch(store, key=())
        assert await listed(store, key=("other",)) == []

    async def test_what_is_gone_is_not_found_by_its_key(self, store: AsyncStore) -> None:
        await put(store, "s", "agent")
        await put(store, "t", "agent")
        await patch(store, "t", key=("agent", "more"))
        await store.delete_session(ADA, "s")
        assert await listed(store, key=("agent",)) == ["t"]
        await store.create_session(ADA, NewSession(id="s"))
        assert await listed(store, key=("agent",)) == ["t"]
        assert await store.admin.check() == []
        await store.erase_owner(ADA)
        await put(store, "t", "other")
        assert await listed(store, key=("agent",)) == []
        assert await listed(store, key=("other",)) == ["t"]
