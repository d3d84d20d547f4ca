from __future__ import annotations

from contextlib import suppress

import pytest

from sapwood import AsyncSession, AsyncSessionManager
from sapwood.compaction import CompactFunction, create_compact_function
from sapwood.errors import CompactionError, StoreBusyError
from sapwood.model import (
    AppendEvent,
    ClearEvent,
    CompactEvent,
    ContextEvent,
    DeleteEvent,
    Event,
    StatusEvent,
    UpdateEvent,
)


class Heard:
    """A listener that writes everything down."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def kinds(self) -> list[type[Event]]:
        return [type(event) for event in self.events]

    def phases(self) -> list[str]:
        return [event.phase for event in self.events if isinstance(event, CompactEvent)]


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def chat(sessions: AsyncSessionManager, heard: Heard) -> AsyncSession:
    sessions.on_event(heard.events.append).with_context("memory")
    return await sessions.session("chat")


async def test_every_change_is_told_with_owner_and_session(
    chat: AsyncSession, heard: Heard
) -> None:
    message = await chat.append("user", "hello")
    await chat.update(message, "hello there")
    await chat.replace_context_block("memory", "likes tea")
    await chat.delete(message)
    await chat.clear()
    kinds = [kind for kind in heard.kinds() if kind is not StatusEvent]
    assert kinds == [AppendEvent, UpdateEvent, ContextEvent, DeleteEvent, ContextEvent, ClearEvent]
    assert {(event.owner, event.session) for event in heard.events} == {("ada", "chat")}


async def test_a_repeated_append_says_that_nothing_was_written(
    chat: AsyncSession, heard: Heard
) -> None:
    for _ in range(2):
        await chat.append("user", "hello", id="m1")
    appended = [event for event in heard.events if isinstance(event, AppendEvent)]
    assert [event.written for event in appended] == [1, 0]
    assert appended[0].messages == appended[1].messages


async def test_a_status_follows_with_the_estimate_and_the_threshold(
    sessions: AsyncSessionManager, heard: Heard
) -> None:
    sessions.on_event(heard.events.append).compact_after(1_000)
    chat = await sessions.session("full")
    await chat.append("user", "hello")
    [status] = [event for event in heard.events if isinstance(event, StatusEvent)]
    assert status.tokens == await chat.context_tokens()
    assert (status.threshold, status.crossed) == (1_000, None)
    await chat.append("user", "word " * 750)
    await chat.append("user", "word " * 300)
    await chat.append("user", "word " * 500)
    crossed = [event.crossed for event in heard.events if isinstance(event, StatusEvent)]
    assert crossed == [None, "soft", "hard", None]


async def test_a_jump_over_the_threshold_is_told_once_also_after_a_restart(
    sessions: AsyncSessionManager, heard: Heard
) -> None:
    sessions.on_event(heard.events.append).compact_after(0)
    await (await sessions.session("full")).append("user", "hello")
    await (await sessions.session("full")).append("user", "again")
    crossed = [event.crossed for event in heard.events if isinstance(event, StatusEvent)]
    assert crossed == ["hard", None]


async def test_a_listener_that_fails_harms_nothing(
    sessions: AsyncSessionManager, heard: Heard, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(event: Event) -> None:
        raise RuntimeError("out of order")

    sessions.on_event(fail).on_event(heard.events.append)
    chat = await sessions.session("chat")
    await chat.append("user", "hello")
    assert [message.text for message in (await chat.history()).messages_only] == ["hello"]
    assert heard.kinds() == [AppendEvent, StatusEvent]
    assert "out of order" in caplog.text


async def test_the_log_does_not_say_what_was_said(
    sessions: AsyncSessionManager, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(event: Event) -> None:
        raise RuntimeError("out of order")

    chat = await sessions.on_event(fail).session("chat")
    message = await chat.append("user", "my password is hunter2")
    await chat.update(message, "my password was hunter2")
    assert "AppendEvent of session 'chat' of 'ada'" in caplog.text
    assert "UpdateEvent of session 'chat' of 'ada'" in caplog.text
    assert "hunter2" not in caplog.text


async def test_a_compaction_that_starts_always_ends(
    sessions: AsyncSessionManager, heard: Heard
) -> None:
    def fail(prompt: str) -> str:
        raise RuntimeError("no model today")

    sessions.on_event(heard.events.append)
    for answer, phases in [("short", ["started", "done"]), ("", ["started", "refused"])]:
        chat = await sessions.create()
        await chat.append_all([("user", "a long story " * 50)] * 6)
        heard.events.clear()
        await chat.compact_with(answering(answer)).compact()
        assert heard.phases() == phases
    chat = await sessions.create()
    await chat.append_all([("user", "a long story " * 50)] * 6)
    heard.events.clear()
    chat.compact_with(create_compact_function(fail, protect_head=0, tail_token_budget=0))
    with pytest.raises(CompactionError, match="no model today"):
        await chat.compact()
    assert heard.phases() == ["started", "failed"]


def answering(answer: str) -> CompactFunction:
    return create_compact_function(lambda prompt: answer, protect_head=0, tail_token_budget=0)


@pytest.mark.parametrize("breaks", ["put_document", "delete_document", "find_document"])
async def test_a_store_that_fails_afterwards_does_not_leave_a_compaction_open(
    sessions: AsyncSessionManager, heard: Heard, monkeypatch: pytest.MonkeyPatch, breaks: str
) -> None:
    async def fail(*args: object, **fields: object) -> None:
        raise StoreBusyError("the disk is busy")

    def answer(prompt: str) -> str:
        monkeypatch.setattr(type(sessions.store), breaks, fail)
        return "short"

    sessions.on_event(heard.events.append).with_context("memory")
    chat = await sessions.session("chat")
    await chat.append_all([("user", "a long story " * 50)] * 6)
    for summarize in (answer, lambda prompt: answer(prompt)[:0]):
        heard.events.clear()
        function = create_compact_function(summarize, protect_head=0, tail_token_budget=0)
        with suppress(StoreBusyError):
            await chat.compact_with(function).compact()
        monkeypatch.undo()
        phases, overlays = heard.phases(), await chat.overlays()
        assert phases[0] == "started"
        assert phases[1:] in ([["done"]] if overlays else [["refused"], ["failed"]])
        for overlay in overlays:
            await chat.undo_overlay(overlay)
        # A lease that could not be given back ends by itself; here, it is taken away.
        await sessions.store.delete_document("ada", "compaction", session="chat")
    assert len((await chat.history(overlays=False)).entries) == 6


async def test_one_that_is_refused_for_anothers_sake_is_told(
    sessions: AsyncSessionManager, heard: Heard
) -> None:
    sessions.on_event(heard.events.append)
    chat = await sessions.session("chat")
    await chat.append_all([("user", "a long story " * 50)] * 6)
    await sessions.store.put_document("ada", "compaction", b"{}", session="chat", expires_in_s=60)
    outcome = await chat.compact_with(answering("short")).compact()
    assert (outcome.status, heard.phases()) == ("refused", ["refused"])
