"""A write that is stored does not raise for what comes after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from sapwood import ROOT, AsyncSession, AsyncSessionManager
from sapwood.compaction import create_compact_function
from sapwood.errors import StoreUnavailableError
from sapwood.model import Event, Overlay, Usage

READS = ["find_session", "find_document"]
NOTES = ["find_document", "put_document", "delete_document"]


class Outage:
    """A server that does not answer some calls, once it has begun."""

    def __init__(self, store: object, patch: pytest.MonkeyPatch) -> None:
        self._store = store
        self._patch = patch

    def begin(self, call: str, error: type[BaseException] = StoreUnavailableError) -> None:
        async def fail(*args: object, **fields: object) -> None:
            raise error("the server is gone")

        self._patch.setattr(self._store, call, fail)

    def end(self) -> None:
        self._patch.undo()


@pytest.fixture
def outage(sessions: AsyncSessionManager) -> Iterator[Outage]:
    with pytest.MonkeyPatch.context() as patch:
        yield Outage(sessions.store, patch)


@pytest.fixture
async def chat(sessions: AsyncSessionManager) -> AsyncSession:
    def hear(event: Event) -> None:
        """Have a listener, so that every change is measured."""

    sessions.with_context("memory", default="likes tea").on_event(hear)
    return await sessions.session("chat")


@pytest.mark.parametrize("call", READS)
@pytest.mark.parametrize("threshold", [None, 1_000])
async def test_a_stored_append_does_not_raise_when_it_cannot_be_measured(
    chat: AsyncSession,
    outage: Outage,
    call: str,
    threshold: int | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if threshold is not None:
        chat.compact_after(threshold)
    outage.begin(call)
    message = await chat.append("user", "hello")
    outage.end()
    assert (await chat.history()).messages_only == [message]
    if threshold is None or call == "find_document":
        assert "chat" in caplog.text
        assert "hello" not in caplog.text


@pytest.mark.parametrize("call", READS)
async def test_a_stored_update_or_delete_does_not_raise_when_it_cannot_be_measured(
    chat: AsyncSession, outage: Outage, call: str
) -> None:
    message = await chat.append("user", "hello")
    again = just_opened(chat)
    outage.begin(call)
    updated = await again.update(message, "hello there", role="user", metadata={})
    deleted = await again.delete(message)
    outage.end()
    assert (updated.text, deleted.ids) == ("hello there", [message.id])


def just_opened(chat: AsyncSession) -> AsyncSession:
    """Give the same session as one that was just opened: nothing is known of its size."""
    return AsyncSession(chat._stored.store, chat.owner, chat.id, settings=chat._setup.settings)


@pytest.mark.parametrize("call", NOTES)
async def test_a_clear_that_is_stored_does_not_raise(
    chat: AsyncSession, outage: Outage, call: str
) -> None:
    await chat.append("user", "hello")
    await chat.system_prompt()
    outage.begin(call)
    record = await chat.clear()
    outage.end()
    assert record.tip is ROOT
    assert (await chat.history()).messages_only == []


@pytest.mark.parametrize("call", ["find_document", "put_document"])
async def test_a_prompt_that_a_clear_could_not_renew_is_renewed_before_it_is_shown(
    chat: AsyncSession, outage: Outage, call: str
) -> None:
    await chat.append("user", "hello")
    await chat.replace_context_block("memory", "drinks coffee")
    await chat.system_prompt()
    await chat.replace_context_block("memory", "drinks water")
    outage.begin(call)
    await chat.clear()
    with pytest.raises(StoreUnavailableError):
        await chat.prepare()
    outage.end()
    given = await chat.prepare()
    assert "drinks water" in given.prompt
    assert "drinks coffee" not in given.prompt
    assert (await chat.cache_report()).changes[0].reason == "clear"


@pytest.mark.parametrize("call", NOTES)
async def test_a_compaction_in_force_does_not_raise(
    chat: AsyncSession, outage: Outage, call: str
) -> None:
    def summarize(prompt: str) -> str:
        outage.begin(call)
        return "short"

    await chat.append_all([("user", "a long story " * 50)] * 6)
    await chat.system_prompt()
    chat.compact_with(create_compact_function(summarize, protect_head=0, tail_token_budget=0))
    made: list[Overlay | None] = []
    with suppress(StoreUnavailableError):
        made.append((await chat.compact()).overlay)
    outage.end()
    assert made == await chat.overlays()


async def test_a_compaction_that_is_taken_back_does_not_raise(
    chat: AsyncSession, outage: Outage
) -> None:
    await chat.append_all([("user", "a long story " * 50)] * 6)
    chat.compact_with(
        create_compact_function(lambda prompt: "short", protect_head=0, tail_token_budget=0)
    )
    await chat.compact()
    outage.begin("put_document")
    outage.begin("delete_document")
    await chat.undo_compaction()
    outage.end()
    assert await chat.overlays() == []


@pytest.mark.parametrize("call", ["find_document", "put_document"])
async def test_an_undo_that_moved_the_tip_does_not_raise(
    chat: AsyncSession, outage: Outage, call: str
) -> None:
    await chat.append("user", "one")
    answer = await chat.append("assistant", "two")
    await chat.append("user", "three")
    outage.begin(call)
    assert (await chat.undo()).tip == answer.id
    outage.end()


async def test_a_redo_that_moved_the_tip_does_not_raise(chat: AsyncSession, outage: Outage) -> None:
    message = await chat.append("user", "one")
    await chat.undo()
    outage.begin("put_document")
    assert (await chat.redo()).tip == message.id
    outage.end()


async def test_a_usage_that_is_counted_does_not_raise(chat: AsyncSession, outage: Outage) -> None:
    message = await chat.append("assistant", "hello")
    outage.begin("put_document")
    assert await chat.add_usage(Usage(id="c1", message=message.id, input_tokens=5))
    outage.end()
    assert [total.calls for total in await chat.usage()] == [1]


async def test_an_interrupt_after_a_write_passes(chat: AsyncSession, outage: Outage) -> None:
    outage.begin("find_session", KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        await chat.append("user", "hello")
    outage.end()
    assert len((await chat.history()).messages_only) == 1
