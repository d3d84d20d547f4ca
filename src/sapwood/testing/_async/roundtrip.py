"""Round trips: what comes in comes out again, whatever JSON it is."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ...model import NewMessage, NewSession, OtherPart, SessionPatch, TextPart, part_from_json
from ...store import AsyncStore
from .. import strategies
from ..makers import ADA, say
from .base import AsyncContractBase, grow, history_of, record_of

SHARED = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    deadline=None,
)
"""The examples of one test share a store; each has a message of its own."""

HARD_TEXTS = ["", "\0", "\x1b[0m", "\u2028", "é", "e\u0301", "👩‍🚀", "\uffff", "'; --", "\\u0000"]


async def ensure(store: AsyncStore) -> None:
    """Create the session where an earlier example has not."""
    if await store.find_session(ADA, "s") is None:
        await store.create_session(ADA, NewSession(id="s"))


class AsyncRoundTripContract(AsyncContractBase):
    """Nothing is lost, added or turned into something else on its way."""

    @SHARED
    @given(message=strategies.new_messages)
    async def test_any_message_comes_out_as_it_went_in(
        self, store: AsyncStore, message: NewMessage
    ) -> None:
        await ensure(store)
        [appended] = (await store.append(ADA, "s", [message])).messages
        [found] = await store.find_messages(ADA, "s", [appended.id])
        assert found == appended
        assert (found.role, found.parts) == (message.role, message.parts)
        assert found.name == message.name
        assert [part.to_json() for part in found.parts] == [p.to_json() for p in message.parts]
        assert repr(found.metadata) == repr(message.metadata)

    @SHARED
    @given(message=strategies.new_messages, other=strategies.new_messages)
    async def test_any_message_can_be_updated_to_any_other(
        self, store: AsyncStore, message: NewMessage, other: NewMessage
    ) -> None:
        await ensure(store)
        [old] = (await store.append(ADA, "s", [message])).messages
        changed = replace(other, id=old.id, tokens=None)
        new = (await store.update_message(ADA, "s", changed)).message
        assert (new.role, new.parts, new.metadata) == (other.role, other.parts, other.metadata)
        assert new.name == other.name
        [shown] = (await history_of(store, backwards=True, limit=1)).messages_only
        assert shown == new
        retry = replace(message, id=old.id)
        assert (await store.append(ADA, "s", [retry])).written == 0

    @SHARED
    @given(value=strategies.json_objects, title=strategies.unicode_text)
    async def test_any_data_and_title_come_out_as_they_went_in(
        self, store: AsyncStore, value: dict[str, Any], title: str
    ) -> None:
        await ensure(store)
        await store.update_session(ADA, "s", SessionPatch(attributes=value, title=title))
        record = await record_of(store)
        assert repr(record.attributes) == repr(value)
        assert record.title == title

    @SHARED
    @given(name=strategies.names)
    async def test_any_name_is_a_name(self, store: AsyncStore, name: str) -> None:
        await ensure(store)
        await store.append(ADA, "s", [say(name)])
        [message] = await store.find_messages(ADA, "s", [name])
        assert message is not None
        assert (message.id, message.text) == (name, name)
        await store.put_document(ADA, name, name.encode())
        assert [d.key for d in await store.list_documents(ADA, name) if d.key == name] == [name]

    @SHARED
    @given(value=st.binary(max_size=200))
    async def test_any_bytes_are_a_document(self, store: AsyncStore, value: bytes) -> None:
        await store.put_document(ADA, "k", value)
        found = await store.find_document(ADA, "k")
        assert found is not None
        assert found.value == value

    async def test_hard_texts_come_out_as_they_went_in(self, store: AsyncStore) -> None:
        await grow(store)
        for text in HARD_TEXTS:
            [message] = (await store.append(ADA, "s", [say(None, text)])).messages
            assert message.text == text
        assert [m.text for m in (await history_of(store)).messages_only] == HARD_TEXTS

    async def test_fields_that_we_do_not_know_are_kept(self, store: AsyncStore) -> None:
        await grow(store)
        written: list[dict[str, Any]] = [
            {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}},
            {"type": "tool_result", "call_id": "c", "output": None, "is_error": False},
            {"type": "file", "media_type": "image/png", "data": "not base64!"},
            {"type": "text", "text": None},
            {"type": "thinking", "signature": "abc", "deep": [{"er": [1, 2.5, None]}]},
            {"no": "type"},
            {},
        ]
        parts = [part_from_json(value) for value in written]
        [message] = (await store.append(ADA, "s", [NewMessage(role="user", parts=parts)])).messages
        [found] = await store.find_messages(ADA, "s", [message.id])
        assert found is not None
        assert [part.to_json() for part in found.parts] == written
        assert isinstance(found.parts[0], TextPart)
        assert isinstance(found.parts[-1], OtherPart)

    async def test_large_and_small_numbers_are_exact(self, store: AsyncStore) -> None:
        await grow(store)
        numbers = [0, -1, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1, 1e308, 5e-324, -0.5]
        numbers += [10**30, -(10**30)]
        [message] = (await store.append(ADA, "s", [say("m", metadata={"n": numbers})])).messages
        [found] = await store.find_messages(ADA, "s", ["m"])
        assert found == message
        assert found.metadata == {"n": numbers}
        assert [type(n) for n in found.metadata["n"]] == [type(n) for n in numbers]
