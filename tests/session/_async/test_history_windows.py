"""Parts of a history: by size, by place, and what each message takes."""

from __future__ import annotations

import pytest

from sapwood import ROOT, AsyncSession, AsyncSessionManager, FilePart, NewMessage, TextPart
from sapwood.errors import NotFoundError


@pytest.fixture
async def chat(sessions: AsyncSessionManager) -> AsyncSession:
    chat = await sessions.session("chat")
    for n in range(1, 9):
        await chat.append("user" if n % 2 else "assistant", f"{n} " * n * 10, id=f"m{n}")
    return chat


async def ids(chat: AsyncSession, **window: object) -> list[str]:
    return [message.id for message in (await chat.history(**window)).messages_only]  # type: ignore[arg-type]


async def test_bytes_keep_a_least_number_of_messages(chat: AsyncSession) -> None:
    assert await ids(chat, max_bytes=1) == ["m8"]
    assert await ids(chat, max_bytes=1, min_messages=3) == ["m6", "m7", "m8"]
    assert await ids(chat, max_bytes=1, min_messages=3, limit=2) == ["m7", "m8"]
    assert (await chat.history(max_bytes=1, min_messages=3)).more
    whole = await chat.history(max_bytes=1_000_000, min_messages=3)
    assert (len(whole.entries), whole.more) == (8, False)
    assert not (await chat.history(max_bytes=1, min_messages=8)).more


async def test_a_window_of_bytes_applies_its_overlays(chat: AsyncSession) -> None:
    await chat.add_overlay("m2", "m7", "what was said")
    history = await chat.history(max_bytes=1, min_messages=2)
    assert history.entries[0].text == "what was said"
    assert history.more


async def test_before_and_after_are_places_on_the_path(chat: AsyncSession) -> None:
    assert await ids(chat, before="m3") == ["m1", "m2"]
    assert await ids(chat, before="m6", limit=2) == ["m4", "m5"]
    assert await ids(chat, after="m6") == ["m7", "m8"]
    assert await ids(chat, after=await chat.get("m2"), limit=2) == ["m3", "m4"]
    assert await ids(chat, after="m2", before="m5") == ["m3", "m4"]
    assert await ids(chat, after=ROOT, limit=1) == ["m1"]
    with pytest.raises(NotFoundError):
        await chat.history(before="m99")


async def test_pages_upwards_give_the_whole_history(chat: AsyncSession) -> None:
    seen: list[str] = []
    page = await chat.history(limit=3)
    while True:
        seen = [message.id for message in page.messages_only] + seen
        if not page.more:
            break
        page = await chat.history(before=page.messages_only[0], limit=3)
    assert seen == [f"m{n}" for n in range(1, 9)]


async def test_row_statistics_tell_the_size_of_each_message(chat: AsyncSession) -> None:
    await chat.add_overlay("m2", "m7", "what was said")
    rows = await chat.row_statistics()
    assert [row.id for row in rows] == [f"m{n}" for n in range(1, 9)]
    assert [row.role for row in rows][:2] == ["user", "assistant"]
    assert sum(row.bytes for row in rows) == (await chat.history(overlays=False)).bytes
    assert [row.tokens for row in rows] == sorted(row.tokens for row in rows)
    assert [row.id for row in await chat.row_statistics("m2")] == ["m1", "m2"]


async def test_the_size_of_a_message_is_what_is_stored_of_it(chat: AsyncSession) -> None:
    image = FilePart(media_type="image/png", data=b"\xff" * 9_000)
    for parts in ([image], [image, TextPart(text="look")], [TextPart(text="look")]):
        more = NewMessage(
            role="user", parts=[*parts], metadata={"m": 1}, extra={"e": 2}, name="Ann"
        )
        await chat.append(more)
    rows = await chat.row_statistics()
    assert sum(row.bytes for row in rows) == (await chat.history()).bytes
    assert [9_000 < row.bytes < 9_200 for row in rows[-3:]] == [True, True, False]


async def test_a_session_searches_what_it_sees(
    chat: AsyncSession, sessions: AsyncSessionManager
) -> None:
    await (await sessions.session("other")).append("user", "tram 28 is yellow")
    await chat.append("user", "the yellow tram", id="m9")
    fork = await chat.fork("fork", "m2")
    await chat.checkout("m1")
    assert [hit.entry.id for hit in (await chat.search("tram yellow")).hits] == ["m9"]
    assert (await fork.search("tram")).hits == []
    everywhere = await sessions.search("tram", limit=1)
    assert (len(everywhere.hits), everywhere.cursor is None) == (1, False)
    assert [hit.session for hit in (await sessions.search("tram", session="chat")).hits] == ["chat"]


async def test_an_update_of_what_is_not_there_leaves_nothing_to_be_found(
    chat: AsyncSession, sessions: AsyncSessionManager
) -> None:
    with pytest.raises(NotFoundError):
        await chat.update("m99", "a phantom")
    assert (await sessions.search("phantom")).hits == []
