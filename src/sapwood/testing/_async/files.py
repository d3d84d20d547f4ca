"""Bytes of files: kept beside the JSON of a message, and all else is as for what is in it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from ...errors import MessageConflictError, MessageTooLargeError
from ...model import FilePart, Part, Search, TextPart
from ...store import AsyncStore
from ..makers import ADA, fork_of, say, say_parts
from .base import AsyncContractBase, grow, history_of, message_in, shown_in, state_of

ANY_BYTES = bytes(range(256)) * 5 + b'\n\0"}]}\0\n{' + b"\x1f\xff\xfe"
IMAGE = FilePart(media_type="image/png", data=ANY_BYTES)


def image(data: bytes) -> FilePart:
    """Return an image of some bytes."""
    return FilePart(media_type="image/png", data=data)


class AsyncFileContract(AsyncContractBase):
    """What a file holds comes out as it went in, and is neither searched nor counted as text."""

    async def test_bytes_come_back_wherever_the_message_does(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        named = replace(image(b"{}"), name="a.png", uri="s3://a", extra={"data": None})
        parts: list[Part] = [
            TextPart(text="é\0"),
            IMAGE,
            image(b""),
            FilePart(media_type="a/b"),
            named,
        ]
        [said] = (await store.append(ADA, "s", [say_parts("m2", *parts)])).messages
        assert said.parts == parts
        assert await message_in(store, "m2") == said
        assert (await history_of(store)).messages_only[-1] == said
        assert (await history_of(store, backwards=True, limit=1)).messages_only == [said]
        assert await store.list_children(ADA, "s", "m1") == [said]
        assert [leaf.message for leaf in await store.list_leaves(ADA, "s")] == [said]
        assert (await store.list_messages(ADA, "s")).messages[-1] == said
        assert (await store.append(ADA, "s", [say_parts("m2", *parts)])).messages == [said]

    async def test_bytes_come_back_from_a_batch(self, store: AsyncStore) -> None:
        await grow(store)
        batch = [say_parts(f"m{n}", image(bytes([n % 256]) * n)) for n in range(0, 400, 5)]
        said = (await store.append(ADA, "s", batch)).messages
        assert [it.parts for it in said] == [it.parts for it in batch]
        assert (await history_of(store)).messages_only == said
        assert await store.find_messages(ADA, "s", [it.id for it in said]) == said

    async def test_rule_02_bytes_are_compared(self, store: AsyncStore) -> None:
        await grow(store)
        await store.append(ADA, "s", [say_parts("m1", IMAGE), say("m2")])
        before = await state_of(store)
        assert (await store.append(ADA, "s", [say_parts("m1", IMAGE)])).written == 0
        for other in (image(ANY_BYTES + b"\0"), image(b""), FilePart(media_type="image/png")):
            with pytest.raises(MessageConflictError):
                await store.append(ADA, "s", [say_parts("m1", other)])
        assert await state_of(store) == before

    async def test_an_update_replaces_bytes_and_keeps_the_extra(self, store: AsyncStore) -> None:
        await grow(store)
        first = replace(say_parts("m1", IMAGE), extra={"k": 1})
        await store.append(ADA, "s", [first])
        sent: Sequence[Sequence[Part]] = ([image(b"\0")], [TextPart(text="x")], [IMAGE, IMAGE])
        for parts in sent:
            updated = (await store.update_message(ADA, "s", say_parts("m1", *parts))).message
            assert (updated.parts, updated.extra) == (parts, {"k": 1})
            assert await message_in(store, "m1") == updated
        assert (await store.append(ADA, "s", [first])).written == 0

    async def test_bytes_are_inherited_and_copied(self, store: AsyncStore) -> None:
        await grow(store)
        await store.append(ADA, "s", [say_parts("m1", IMAGE), say_parts("m2", image(b"\0"))])
        await store.create_session(ADA, fork_of("s"))
        await store.create_session(ADA, fork_of("s", id="copy", detach=True))
        await store.delete_session(ADA, "s")
        await store.finish_deletions()
        for session in ("fork", "copy"):
            assert (await message_in(store, "m1", session)).parts == [IMAGE]
            assert (await store.append(ADA, session, [say_parts("m1", IMAGE)])).written == 0
            with pytest.raises(MessageConflictError):
                await store.append(ADA, session, [say_parts("m2", IMAGE)])

    async def test_deleted_bytes_are_gone(self, store: AsyncStore) -> None:
        await grow(store)
        await store.append(ADA, "s", [say_parts("m1", IMAGE), say("m2")])
        await store.delete_messages(ADA, "s", ["m1"])
        assert await store.find_messages(ADA, "s", ["m1"]) == [None]
        assert await shown_in(store) == ["m2"]
        assert (await history_of(store)).bytes < len(ANY_BYTES)
        with pytest.raises(MessageConflictError):
            await store.append(ADA, "s", [say_parts("m1", IMAGE)])

    async def test_bytes_are_neither_searched_nor_in_the_way(self, store: AsyncStore) -> None:
        await grow(store)
        hidden = b"\xff lighthouse \0 lighthouse"
        texts = {"m1": "harbour", "m2": "ÉTÉ", "m3": "部署线"}
        for id, text in texts.items():
            parts: list[Part] = [image(hidden), TextPart(text=text), image(hidden)]
            await store.append(ADA, "s", [say_parts(id, *parts)])
        await store.append(ADA, "s", [say_parts("m4", image(hidden))])
        words = ["lighthouse", base64.b64encode(hidden)[:20].decode(), "image OR png"]
        found = {word: await _found(store, word) for word in [*words, *texts.values()]}
        assert found == {word: [] for word in words} | {text: [id] for id, text in texts.items()}

    async def test_bytes_are_not_counted_as_text(self, store: AsyncStore) -> None:
        await grow(store)
        sent = [say_parts(f"m{n}", image(b"word " * n)) for n in (0, 1, 2_000)]
        tokens = {it.tokens for it in (await store.append(ADA, "s", sent)).messages}
        assert len(tokens) == 1

    async def test_a_file_has_the_size_of_its_bytes(self, store: AsyncStore) -> None:
        await grow(store)
        await store.append(ADA, "s", [say_parts("m1", image(ANY_BYTES * 20)), say("m2")])
        await store.append(ADA, "s", [say_parts("m3", image(ANY_BYTES * 20))])
        size = 2 * 20 * len(ANY_BYTES)
        whole, bare = await history_of(store), await history_of(store, bodies=False)
        assert size < whole.bytes < size + 300
        assert bare == replace(whole, entries=bare.entries)
        limits: list[dict[str, Any]] = [{}, {"backwards": True}]
        for limit in limits:
            part = await history_of(store, max_bytes=size * 3 // 4, **limit)
            assert (len(part.entries), part.more) == (2, True)

    async def test_rule_15_a_file_may_be_nearly_as_large_as_a_message(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        before = await state_of(store)
        data = b"\xfe\0" * (store.max_message_bytes // 2)
        with pytest.raises(MessageTooLargeError):
            await store.append(ADA, "s", [say_parts("x", image(data))])
        with pytest.raises(MessageTooLargeError):
            await store.update_message(ADA, "s", say_parts("m1", image(data)))
        assert await state_of(store) == before
        [said] = (await store.append(ADA, "s", [say_parts("x", image(data[:-200]))])).messages
        assert await message_in(store, "x") == said

    async def test_bytes_that_an_earlier_version_kept_in_the_json_are_read(
        self, store: AsyncStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await grow(store)
        sent = [say_parts("m1", IMAGE, TextPart(text="harbour")), say_parts("m2", IMAGE)]
        with monkeypatch.context() as earlier:
            earlier.setattr("sapwood.rules.codec.files_in", lambda parts: {})
            await store.append(ADA, "s", [*sent, say_parts("m3", IMAGE)])
        await store.update_message(ADA, "s", say_parts("m3", image(b"\0")))
        await store.create_session(ADA, fork_of("s", id="copy", detach=True))
        for session in ("s", "copy"):
            held = [it.parts for it in (await history_of(store, session)).messages_only]
            assert held == [sent[0].parts, sent[1].parts, [image(b"\0")]]
            assert (await store.append(ADA, session, sent)).written == 0
            with pytest.raises(MessageConflictError):
                await store.append(ADA, session, [say_parts("m1", image(b"x"))])
        assert await _found(store, "harbour") == ["m1", "m1"]


async def _found(store: AsyncStore, word: str) -> list[str]:
    hits = (await store.search(ADA, Search(text=word))).hits
    return [hit.entry.id for hit in hits]
