from __future__ import annotations

import pytest

import sapwood
from sapwood import AsyncSessionManager
from sapwood.errors import AlreadyExistsError, ClosedError, NotFoundError, UsageError


async def test_session_gets_or_creates_at_once(sessions: AsyncSessionManager) -> None:
    first = await sessions.session("chat", title="Chat", tags=["x"])
    again = await sessions.session("chat", title="Other")
    assert first.id == again.id == "chat"
    assert (await again.record()).title == "Chat"
    assert (await (await sessions.get("chat")).record()).tags == ["x"]


async def test_create_makes_an_id_or_refuses_a_taken_one(sessions: AsyncSessionManager) -> None:
    one, two = await sessions.create(), await sessions.create(attributes={"k": 1})
    assert one.id < two.id
    assert (await two.record()).attributes == {"k": 1}
    with pytest.raises(AlreadyExistsError):
        await sessions.create(one.id)


async def test_rule_7_an_unknown_session_is_an_error(sessions: AsyncSessionManager) -> None:
    assert await sessions.find("nobody") is None
    with pytest.raises(NotFoundError) as caught:
        await sessions.get("nobody")
    assert (caught.value.kind, caught.value.id) == ("session", "nobody")
    with pytest.raises(NotFoundError):
        await sessions.delete("nobody")


async def test_sessions_are_listed_by_what_they_are(sessions: AsyncSessionManager) -> None:
    for n in range(5):
        await sessions.create(f"s{n}", title=f"Title {n}", tags=["odd"] if n % 2 else ["even"])
    page = await sessions.list_sessions(order="created", limit=3)
    assert [record.id for record in page.sessions] == ["s4", "s3", "s2"]
    rest = await sessions.list_sessions(order="created", limit=3, cursor=page.cursor)
    assert [record.id for record in rest.sessions] == ["s1", "s0"]
    assert rest.cursor is None
    odd = await sessions.list_sessions(tags=["odd"], order="created")
    assert [record.id for record in odd.sessions] == ["s3", "s1"]
    with pytest.raises(UsageError):
        await sessions.list_sessions(limit=0)


async def test_rule_13_another_owner_sees_nothing(sessions: AsyncSessionManager) -> None:
    await (await sessions.session("chat")).append("user", "a")
    other = AsyncSessionManager(sessions.store, owner="bob", new_id=lambda: "x")
    assert await other.find("chat") is None
    assert (await other.list_sessions()).sessions == []
    assert (await (await other.session("chat")).history()).entries == []


async def test_a_manager_for_another_owner_stands_on_the_same_store(
    sessions: AsyncSessionManager,
) -> None:
    sessions.with_sanitizer(lambda message: message)
    bob = sessions.for_owner("bob")
    async with bob:
        chat = await bob.session("chat")
        assert (chat.owner, bob.owner, sessions.owner) == ("bob", "bob", "ada")
    bob.on_event(print)
    assert sessions._setup.settings.listeners == ()
    # It closed nothing, and is bob's.
    await (await bob.get("chat")).append("user", "hello")
    assert await sessions.find("chat") is None
    with pytest.raises(UsageError):
        sessions.for_owner("")


async def test_a_store_is_opened_by_itself(url: str) -> None:
    async with sapwood.open_store_async(url) as store:
        sessions = AsyncSessionManager(store, owner="bob")
        await sessions.create("chat")
        assert await store.admin.list_owners() == ["bob"]
        with pytest.raises(UsageError, match="needs the session's id"):
            await sessions.create()


async def test_a_closed_manager_says_so(url: str) -> None:
    async with sapwood.open_async(url) as sessions:
        chat = await sessions.session("chat")
    with pytest.raises(ClosedError):
        await chat.append("user", "a")
    await sessions.aclose()


async def test_deleting_begins_anew(sessions: AsyncSessionManager) -> None:
    chat = await sessions.session("chat")
    await chat.append("user", "a", id="m1")
    await sessions.delete("chat")
    assert await sessions.find("chat") is None
    again = await sessions.session("chat")
    assert (await again.history()).entries == []
    await again.append("user", "other", id="m1")


async def test_names_say_who_they_are(sessions: AsyncSessionManager) -> None:
    chat = await sessions.session("chat")
    assert (chat.owner, sessions.owner) == ("ada", "ada")
    assert repr(chat).endswith("Session 'chat' of 'ada'>")
    assert repr(sessions).endswith("SessionManager of 'ada'>")
    for owner in ("", "a\nb", "x" * 257):
        with pytest.raises(UsageError):
            AsyncSessionManager(sessions.store, owner=owner, new_id=lambda: "x")
