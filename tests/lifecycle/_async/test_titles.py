"""Titles are unique for an owner; the user's own is never overwritten."""

from __future__ import annotations

import pytest

import sapwood
from sapwood.errors import AlreadyExistsError, UsageError
from sapwood.model import SessionKey

Sessions = sapwood.AsyncSessionManager


async def test_a_users_own_title_is_refused_with_the_holders_name(sessions: Sessions) -> None:
    await sessions.session("a")
    await sessions.session("b")
    await sessions.rename("a", "Plan")
    with pytest.raises(AlreadyExistsError, match=r"'a'.*'PLAN #2'"):
        await sessions.rename("b", "PLAN")
    assert (await sessions.rename("b", "Plan #2")).title == "Plan #2"
    assert (await sessions.rename("a", "plan")).title == "plan"


async def test_another_owner_may_have_the_same_title(sessions: Sessions) -> None:
    await sessions.session("a")
    await sessions.rename("a", "Plan")
    other = sessions.for_owner("eve")
    await other.session("a")
    assert (await other.rename("a", "Plan")).title == "Plan"


async def test_a_title_that_was_let_go_is_free(sessions: Sessions) -> None:
    await sessions.session("a")
    await sessions.session("b")
    await sessions.rename("a", "Plan")
    await sessions.rename("a", "Trip")
    assert (await sessions.rename("b", "Plan")).title == "Plan"
    await sessions.rename("b", None)
    assert (await sessions.rename("a", "Plan")).title == "Plan"
    await sessions.delete("a")
    assert (await sessions.rename("b", "Plan")).title == "Plan"


async def test_a_claim_that_was_never_written_is_taken_and_comes_to_nothing(
    sessions: Sessions,
) -> None:
    await sessions.session("a")
    chat = await sessions.session("b")
    await sessions.store.put_document("ada", "title/plan", b"b")
    version = (await chat.record()).version
    assert (await sessions.rename("a", "Plan")).title == "Plan"
    # What "b" would write now, it would write at the version from before its claim.
    assert (await chat.record()).version > version


async def test_new_with_a_taken_title_changes_nothing(sessions: Sessions, key: SessionKey) -> None:
    old = await sessions.new(key, title="Plan")
    with pytest.raises(AlreadyExistsError):
        await sessions.new(key, title="plan")
    current = await sessions.current(key)
    assert current is not None
    assert current.id == old.id
    assert len((await sessions.list_sessions()).sessions) == 1


async def test_a_title_leads_to_the_highest_number_of_its_lineage(
    sessions: Sessions, key: SessionKey
) -> None:
    for id, title in (("c", "Plan #10"), ("a", "Plan"), ("d", "Plan #draft"), ("b", "Plan #9")):
        await sessions.session(id)
        await sessions.rename(id, title)
    assert (await sessions.resume(key, "Plan")).id == "c"
    assert (await sessions.resume(key, "plan #9")).id == "b"
    assert (await sessions.resume(key, "Plan #draft")).id == "d"


async def test_a_title_that_was_never_claimed_is_found(sessions: Sessions, key: SessionKey) -> None:
    await sessions.session("a", title="Imported")
    assert (await sessions.resume(key, "Imported")).id == "a"


async def test_a_title_goes_over_to_what_continues_its_session(
    sessions: Sessions, key: SessionKey
) -> None:
    old = await sessions.new(key, title="Plan")
    new = await sessions.branch(key)
    assert (await sessions.rename(new.id, "Plan")).title == "Plan"
    assert (await old.record()).title is None


async def test_a_title_is_cleaned_and_bounded(sessions: Sessions) -> None:
    await sessions.session("a")
    assert (await sessions.rename("a", " A\u202e\u200b  plan\n")).title == "A plan"
    for wrong in ("", "\u200b", "x" * 101):
        with pytest.raises(UsageError):
            await sessions.rename("a", wrong)


async def test_a_title_comes_from_the_first_message_and_then_from_a_model(
    sessions: Sessions,
) -> None:
    asked: list[str] = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        return "Trains to Lisbon"

    sessions.with_titles(model)
    chat = await sessions.session("chat")
    await chat.append("user", "# Which trains go to Lisbon?\nI have a week.")
    await chat.append("user", "And back?")
    assert (await sessions.stop()).left == ()
    assert (await chat.record()).title == "Trains to Lisbon"
    [prompt] = asked
    assert "Which trains" in prompt


async def test_the_users_own_title_stays(sessions: Sessions) -> None:
    sessions.with_titles(lambda prompt: "A model's")
    await sessions.session("chat")
    await sessions.rename("chat", "Mine")
    chat = await sessions.get("chat")
    await chat.append("user", "Which trains go to Lisbon?")
    await sessions.stop()
    assert (await chat.record()).title == "Mine"


async def test_a_title_that_the_user_gives_meanwhile_stays(sessions: Sessions) -> None:
    async def model(prompt: str) -> str:
        await sessions.rename("chat", "Mine")
        return "A model's"

    sessions.with_titles(model)
    chat = await sessions.session("chat")
    await chat.append("user", "Which trains go to Lisbon?")
    assert (await sessions.stop(timeout_s=50)).left == ()
    assert (await chat.record()).title == "Mine"


async def test_a_model_that_fails_or_says_too_much_leaves_the_derived_title(
    sessions: Sessions,
) -> None:
    sessions.with_titles(lambda prompt: "word " * 13)
    for id, numbered in (("a", "Which trains?"), ("b", "Which trains? #2")):
        chat = await sessions.session(id)
        await chat.append("user", "Which trains?")
        assert (await chat.record()).title == numbered
    await sessions.stop()
    assert (await chat.record()).title == "Which trains? #2"
