"""Things are written anew as they lie: nobody but who reads them can tell."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ...errors import MessageConflictError, UsageError
from ...model import (
    DataVersion,
    Document,
    Message,
    NewSession,
    Overlay,
    Rewritable,
    Rewritten,
    Search,
    SessionPatch,
    SessionQuery,
    SessionRecord,
    TextPart,
)
from ...store import AsyncStore
from ..makers import ADA, cover, fork_of, ids_of, say
from .base import AsyncContractBase, grow, history_of, message_in, record_of, shown_in

SEAL = "sealed"


def sealed(given: Rewritable) -> Rewritable:
    """Return a thing sealed; one that is sealed already is given back as it is."""
    match given:
        case SessionRecord(title=title, attributes=held) if SEAL not in held:
            return replace(given, title=title and f"{SEAL} {title}", attributes={SEAL: held})
        case Message(metadata=held) if SEAL not in held:
            name = given.name and f"{SEAL} {given.name}"
            parts: list[Any] = [TextPart(text=f"{SEAL} {given.text}")]
            extra = {SEAL: given.extra}
            return replace(given, parts=parts, metadata={SEAL: held}, extra=extra, name=name)
        case DataVersion(value=held) if SEAL not in held:
            return replace(given, value={SEAL: held})
        case Overlay(summary=summary, metadata=held) if SEAL not in held:
            return replace(given, summary=f"{SEAL} {summary}", metadata={SEAL: held})
        case Document(value=value) if not value.startswith(SEAL.encode()):
            return replace(given, value=SEAL.encode() + value)
    return given


def named(given: Rewritable) -> str:
    """Write down which thing it is."""
    match given:
        case Document():
            return f"document {given.key}"
        case SessionRecord():
            return f"record {given.id}"
        case Overlay():
            return f"overlay {given.id}"
        case DataVersion():
            return f"data {given.id}"
    return given.id


async def seal_all(
    store: AsyncStore, function: Any = sealed, owner: str = ADA, limit: int = 1_000
) -> tuple[int, int]:
    """Rewrite all that an owner has; return how many things were seen, and changed."""
    done: Rewritten | None = None
    seen = changed = 0
    while done is None or done.cursor is not None:
        after = "" if done is None else done.cursor or ""
        done = await store.admin.rewrite(owner, function, after=after, limit=limit)
        assert done.seen <= limit
        seen, changed = seen + done.seen, changed + done.changed
    return seen, changed


async def found(store: AsyncStore, text: str, session: str | None = None) -> list[str]:
    """Return the ids of what a search finds, in the order of their names."""
    hits = await store.search(ADA, Search(text=text, session=session, kind=None))
    return sorted(it.entry.id for it in hits.hits)


async def converse(store: AsyncStore) -> None:
    """Make a session with some of everything."""
    await store.put_document(ADA, "route", b"one")
    new = NewSession(id="s", title="A title", attributes={"a": 1})
    await store.create_session(ADA, new)
    first = say("m1", "apple", metadata={"k": "v"}, extra={"e": 1}, name="Bea", tokens=3)
    await store.append(ADA, "s", [first, say("m2", "pear", tokens=4), say("m3", tokens=5)])
    await store.update_message(ADA, "s", say("m2", "plum", tokens=6))
    await store.put_document(ADA, "notes", b"two", session="s")
    await store.add_overlay(ADA, "s", cover("m1", "m2", id="o1", summary="a quince"))


class AsyncRewriteContract(AsyncContractBase):
    """An owner's things are rewritten, and nothing else of them changes."""

    async def test_what_is_rewritten_is_read_back_and_all_else_stays(
        self, store: AsyncStore
    ) -> None:
        await converse(store)
        messages = await store.find_messages(ADA, "s", ["m1", "m2", "m3"])
        record, history = await record_of(store), await history_of(store)
        [overlay] = await store.list_overlays(ADA, "s")
        owned = await store.list_documents(ADA)
        documents = await store.list_documents(ADA, session="s")
        assert (await seal_all(store))[1] == 7
        assert await record_of(store) == sealed(record)
        assert (await record_of(store)).title == "sealed A title"
        for prefix, listed in (("sealed A", ["s"]), ("A title", [])):
            page = await store.list_sessions(ADA, SessionQuery(title_prefix=prefix))
            assert [it.id for it in page.sessions] == listed
        assert await store.find_messages(ADA, "s", ["m1", "m2", "m3"]) == [
            None if it is None else sealed(it) for it in messages
        ]
        assert await store.list_overlays(ADA, "s") == [sealed(overlay)]
        assert await store.list_documents(ADA) == [sealed(it) for it in owned]
        assert await store.list_documents(ADA, session="s") == [sealed(it) for it in documents]
        now = await history_of(store)
        assert now.context_tokens == history.context_tokens
        assert [it.text for it in now.entries] == ["sealed a quince", "sealed m3"]
        assert (await seal_all(store))[1] == 0
        await store.finish_deletions()
        assert await store.admin.check() == []

    async def test_no_feed_tells_of_it(self, store: AsyncStore) -> None:
        await converse(store)
        before = (await store.changes(ADA)).changes
        cursor = await store.feed_cursor(ADA)
        await seal_all(store)
        assert (await store.changes(ADA, after=cursor)).changes == []
        assert (await store.changes(ADA)).changes == before

    async def test_a_search_goes_by_the_new_text(self, store: AsyncStore) -> None:
        await converse(store)
        await store.create_session(ADA, fork_of("s", "m2"))
        await store.finish_deletions()

        def swapped(given: Rewritable) -> Rewritable:
            if isinstance(given, Message):
                return replace(given, parts=[TextPart(text=f"cherry {given.id}")])
            if isinstance(given, Overlay):
                return replace(given, summary="a medlar")
            return given

        await seal_all(store, swapped)
        for _ in range(2):
            assert await found(store, "cherry") == ["m1", "m2", "m3"]
            assert await found(store, "cherry", "fork") == ["m1", "m2"]
            assert await found(store, "medlar") == ["o1"]
            assert await found(store, "apple OR plum OR quince") == []
            assert await found(store, "apple") == await found(store, "quince") == []
            await store.finish_deletions()

    async def test_a_repeated_append_is_still_known(self, store: AsyncStore) -> None:
        await converse(store)
        await store.append(ADA, "s", [say("m4", "x", digest=b"given")])
        await seal_all(store)
        first = say("m1", "apple", metadata={"k": "v"}, name="Bea")
        again = await store.append(ADA, "s", [first, say("m2", "pear"), say("m3")])
        assert again.written == 0
        assert [it.text for it in again.messages] == ["sealed apple", "sealed plum", "sealed m3"]
        assert (await store.append(ADA, "s", [say("m4", "y", digest=b"given")])).written == 0
        for other in ("sealed m3", "plum"):
            with pytest.raises(MessageConflictError):
                await store.append(ADA, "s", [say("m3", other)])
        await store.update_message(ADA, "s", say("m3", "anew"))
        assert (await message_in(store, "m3")).version == 2
        assert (await store.append(ADA, "s", [say("m3")])).written == 0
        await store.create_session(ADA, fork_of("s", id="copy", detach=True))
        assert (await store.append(ADA, "copy", [first, say("m3"), say("m5")])).written == 1

    async def test_what_was_read_before_may_be_compacted_and_followed(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.update_message(ADA, "s", say("m1", "new"))
        snapshot = (await history_of(store)).snapshot
        await seal_all(store)
        await store.append(ADA, "s", [say("m4")], expected_snapshot=snapshot)
        await store.add_overlay(ADA, "s", cover("m1", "m2", id="o1", snapshot=snapshot))
        assert await shown_in(store) == ["<o1>", "m3", "m4"]

    async def test_everything_is_given_once_a_bit_at_a_time(self, store: AsyncStore) -> None:
        await converse(store)
        await store.create_session(ADA, NewSession(id="other", kind="review"))
        await store.append(ADA, "other", [say(f"r{n}") for n in range(120)])
        await store.update_session(ADA, "other", SessionPatch(closed=True))
        expected = ["document route", "record s", "m1", "m2", "m3", "overlay o1"]
        expected += ["document notes", "record other", *(f"r{n}" for n in range(120))]
        given: list[str] = []

        def noted(thing: Rewritable) -> Rewritable:
            given.append(named(thing))
            return sealed(thing)

        for limit in (1, 7, 1_000):
            given.clear()
            _, changed = await seal_all(store, noted, limit=limit)
            assert sorted(given) == sorted(expected)
            assert changed == (len(expected) if limit == 1 else 0)
        assert (await message_in(store, "r119", "other")).text == "sealed r119"
        assert await seal_all(store, owner="nobody") == (0, 0)

    async def test_what_forks_share_is_given_once(self, store: AsyncStore) -> None:
        await converse(store)
        await store.create_session(ADA, fork_of("s", "m2", id="f"))
        await store.append(ADA, "f", [say("f1")])
        await store.create_session(ADA, fork_of("f", "f1", id="g"))
        await store.create_session(ADA, fork_of("s", "m2", id="d", detach=True))
        given: list[str] = []

        def noted(thing: Rewritable) -> Rewritable:
            if isinstance(thing, Message):
                given.append(f"{thing.home}/{thing.id}")
            return sealed(thing)

        await seal_all(store, noted)
        assert given == ["s/m1", "s/m2", "s/m3", "f/f1", "d/m1", "d/m2"]
        for session in ("s", "f", "g", "d"):
            assert (await message_in(store, "m2", session)).text == "sealed plum"
            assert [it.summary for it in await store.list_overlays(ADA, session)] == [
                "sealed a quince"
            ]
            [notes] = await store.list_documents(ADA, session=session)
            assert notes.value == b"sealedtwo"
        assert (await seal_all(store, noted))[1] == 0
        await store.update_message(ADA, "s", say("m1", "of s"))
        assert (await message_in(store, "m1", "g")).text == "of s"
        assert (await message_in(store, "m1", "d")).text == "sealed apple"

    async def test_what_is_left_of_a_home_that_is_gone_is_rewritten(
        self, store: AsyncStore
    ) -> None:
        await converse(store)
        await store.create_session(ADA, fork_of("s", "m2", id="f"))
        await store.create_session(ADA, fork_of("f", "m1", id="g"))
        await grow(store, "c1", "c2", session="c")
        await store.create_session(ADA, fork_of("c", "c1", id="h"))
        await store.delete_session(ADA, "s")
        await store.clear_session(ADA, "c")
        await store.finish_deletions()
        await seal_all(store)
        for _ in range(2):
            for session in ("f", "g"):
                assert (await message_in(store, "m1", session)).text == "sealed apple"
            assert (await message_in(store, "m2", "f")).version == 2
            assert (await message_in(store, "c1", "h")).text == "sealed c1"
            assert await found(store, "sealed") == ["c1", "m1", "m2", "o1"]
            await store.finish_deletions()
        assert (await seal_all(store))[1] == 0
        await store.delete_messages(ADA, "g", ["m1"])
        await seal_all(store)
        assert ids_of(await store.find_messages(ADA, "f", ["m1", "m2"])) == [None, "m2"]
        await store.finish_deletions()
        assert await store.admin.check() == []

    async def test_another_owner_has_what_they_had(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await grow(store, "m1", owner="bob")
        await store.put_document("bob", "k", b"v")
        await seal_all(store)
        assert (await history_of(store, owner="bob")).messages_only[0].text == "m1"
        assert [it.value for it in await store.list_documents("bob")] == [b"v"]

    async def test_pins_and_what_has_expired_are_not_given(self, store: AsyncStore) -> None:
        await converse(store)
        await store.put_document(ADA, "pins", b'["m1"]', session="s")
        await store.put_document(ADA, "pins", b"the owner's")
        await store.put_document(ADA, "lease", b"", session="s", expires_in_s=600)
        held = await store.find_document(ADA, "lease", session="s")
        await seal_all(store)
        assert await shown_in(store) == ["<o1>+m1", "m3"]
        pins = await store.find_document(ADA, "pins")
        assert pins is not None
        assert pins.value == b"sealedthe owner's"
        kept = await store.find_document(ADA, "lease", session="s")
        assert kept is not None
        assert held is not None
        assert kept == sealed(held)

    async def test_what_cannot_be_stored_is_refused(self, store: AsyncStore) -> None:
        await converse(store)
        message, record = await message_in(store, "m1"), await record_of(store)
        made: list[Any] = [
            replace(message, role="assistant"),
            replace(message, tokens=99),
            replace(message, version=9),
            replace(message, metadata={"k": object()}),
            replace(message, parts=[TextPart(text="\ud800")]),
            replace(message, parts=[TextPart(text="x" * (store.max_message_bytes + 1))]),
            record,
            None,
        ]
        before = await history_of(store)
        for other in made:

            def swapped(it: Rewritable, other: Any = other) -> Any:
                return other if isinstance(it, Message) else it

            with pytest.raises(UsageError):
                await store.admin.rewrite(ADA, swapped)
        with pytest.raises(UsageError):
            await store.admin.rewrite(
                ADA, lambda it: replace(it, state="x") if isinstance(it, SessionRecord) else it
            )
        with pytest.raises(UsageError):
            await store.admin.rewrite(
                ADA, lambda it: replace(it, summary=" ") if isinstance(it, Overlay) else it
            )
        with pytest.raises(UsageError):
            await store.admin.rewrite(
                ADA, lambda it: replace(it, value="x") if isinstance(it, Document) else it
            )
        assert await history_of(store) == before

    async def test_bad_arguments_are_refused(self, store: AsyncStore) -> None:
        right: dict[str, Any] = {"owner": ADA, "function": sealed}
        calls: list[dict[str, Any]] = [
            {"after": "no cursor"},
            {"after": '["s",99,null]'},
            {"after": 1},
            {"limit": 0},
            {"limit": "1"},
            {"owner": ""},
            {"function": None},
        ]
        for call in calls:
            with pytest.raises(UsageError):
                await store.admin.rewrite(**right | call)
