"""The ends of paths, and what is made of them: previews, marks of what was read, and counts."""

from __future__ import annotations

from typing import Any

from ...model import (
    ROOT,
    FilePart,
    NewSession,
    Recent,
    SessionPatch,
    SessionQuery,
    SessionRecord,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ...rules.recent import RECENT_MESSAGES, RECENT_PLACES, preview_of, read_key
from ...store import AsyncStore
from ...store._async.reading import count_unread, get_recent, look_into, mark_read
from ...store._async.recent import recent_by_reads
from ..clock import Clock
from ..makers import ADA, cover, fork_of, ids_of, say, say_parts
from .base import AsyncContractBase, grow, message_in, record_of


def call(id: str) -> Any:
    """Write an answer that only calls a tool."""
    return say_parts(id, ToolCallPart(call_id=id, name="look", input={"text": "not shown"}))


def result(id: str) -> Any:
    """Write what a tool answered."""
    return say_parts(id, ToolResultPart(call_id=id, output="not shown"), role="tool")


async def recent_in(store: AsyncStore, session: str = "s", document: str | None = None) -> Recent:
    """Return the end of a session's path; see that reads say the same."""
    [found] = await store.find_recent(ADA, [session], document=document)
    assert found is not None
    [expected] = await recent_by_reads(store, ADA, [session], document)
    assert expected is not None
    assert (found.tip, found.messages, found.empty) == (
        expected.tip,
        expected.messages,
        expected.empty,
    )
    assert found.document == expected.document
    assert found.trail[:1] == expected.trail[:1]
    return found


async def unread(store: AsyncStore, session: str = "s", user: str = ADA) -> int:
    """Count what a user has not read."""
    recent = await get_recent(store, ADA, session, user=user)
    return await count_unread(store, ADA, session, recent)


async def read_to(store: AsyncStore, upto: str | None = None, session: str = "s") -> str | None:
    """Mark what was read, and return down to which message that is."""
    mark = await mark_read(store, ADA, session, ADA, upto=upto)
    return None if mark is None else mark.message


async def listed(store: AsyncStore, user: str = ADA) -> dict[str, SessionRecord]:
    """List all sessions with previews, and with what a user has not read."""
    page = await store.list_sessions(ADA, SessionQuery())
    seen = await look_into(store, ADA, page, previews=True, unread_for=user)
    return {it.id: it for it in seen.sessions}


async def preview_in(store: AsyncStore, session: str = "s") -> str | None:
    """Return the text of a session's preview."""
    preview = preview_of((await recent_in(store, session)).messages)
    return None if preview is None else preview.text


class AsyncRecentContract(AsyncContractBase):
    """The end of a path is found without reading the rest."""

    async def test_an_empty_session_has_an_empty_end(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        assert await recent_in(store) == Recent(tip=ROOT)

    async def test_ends_come_in_the_order_asked_and_none_for_what_is_not_there(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "a1", session="a")
        await grow(store, "b1", session="b")
        await grow(store, "c1", session="c", owner="bob")
        found = await store.find_recent(ADA, ["b", "x", "a", "c", "b"])
        assert [it and it.tip for it in found] == ["b1", None, "a1", None, "b1"]
        assert await store.find_recent(ADA, []) == []
        assert await store.find_recent("nobody", ["a"]) == [None]

    async def test_the_last_messages_are_given_as_they_are_found(self, store: AsyncStore) -> None:
        ids = [f"m{n}" for n in range(1, RECENT_MESSAGES + 3)]
        await grow(store, *ids)
        recent = await recent_in(store)
        found = await store.find_messages(ADA, "s", ids[-RECENT_MESSAGES:])
        assert (recent.messages, recent.empty) == (found, [])
        assert (recent.trail, recent.is_whole) == ([(await record_of(store)).tip_position], True)

    async def test_what_tools_answered_and_what_was_deleted_is_passed_over(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.append(ADA, "s", [call("c1"), result("r1"), result("r2"), say("m4")])
        await store.delete_messages(ADA, "s", ["m3", "m4"])
        recent = await recent_in(store)
        assert (ids_of([*recent.messages]), recent.empty) == (["m1", "m2", "c1"], [3, 7])
        assert recent.tip == "m4"

    async def test_only_the_last_places_are_looked_at(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        results = [result(f"r{n}") for n in range(RECENT_PLACES - 1)]
        await store.append(ADA, "s", results)
        assert ids_of([*(await recent_in(store)).messages]) == ["m2"]
        await store.append(ADA, "s", [result("last")])
        assert (await recent_in(store)).messages == []

    async def test_a_path_through_many_segments_is_followed(self, store: AsyncStore) -> None:
        await grow(store, "m0")
        for n in range(1, 9):
            await store.append(ADA, "s", [say(f"old{n}")])
            await store.append(ADA, "s", [say(f"m{n}")], parent=f"m{n - 1}")
        recent = await recent_in(store)
        assert ids_of([*recent.messages]) == ["m5", "m6", "m7", "m8"]
        assert [it.depth for it in recent.trail] == [9, 8, 7, 6, 5, 4, 3, 2, 1]
        await store.delete_messages(ADA, "s", ["m7"])
        assert (await recent_in(store)).empty == [8]

    async def test_a_fork_shows_what_it_inherited_until_something_is_said(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.create_session(ADA, fork_of("s", "m2"))
        await store.create_session(ADA, fork_of("s", "m2", id="copy", detach=True))
        assert [await preview_in(store, it) for it in ("fork", "copy")] == ["m2", "m2"]
        await grow(store, "f3", session="fork")
        recent = await recent_in(store, "fork")
        assert ids_of([*recent.messages]) == ["m1", "m2", "f3"]
        assert [it.home for it in recent.messages] == ["s", "s", "fork"]
        await store.delete_session(ADA, "s")
        assert [it.home for it in (await recent_in(store, "fork")).messages] == [None, None, "fork"]
        assert await preview_in(store, "copy") == "m2"

    async def test_the_end_follows_the_tip(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.checkout(ADA, "s", "m1")
        assert await preview_in(store) == "m1"
        await store.append(ADA, "s", [say("e2")], parent="m1")
        assert await preview_in(store) == "e2"
        await store.checkout(ADA, "s", "m3")
        assert await preview_in(store) == "m3"
        await store.checkout(ADA, "s", ROOT)
        assert await recent_in(store) == Recent(tip=ROOT)

    async def test_an_edit_shows_at_once(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.update_message(ADA, "s", say("m2", "another text"))
        assert await preview_in(store) == "another text"

    async def test_a_message_under_a_summary_is_still_the_last_one_said(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.add_overlay(ADA, "s", cover("m1", "m3", id="o1"))
        assert await preview_in(store) == "m3"
        assert ids_of([*(await recent_in(store)).messages]) == ["m1", "m2", "m3"]

    async def test_a_cleared_session_begins_anew(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.clear_session(ADA, "s")
        assert await recent_in(store) == Recent(tip=ROOT)
        await grow(store, "n1")
        assert await preview_in(store) == "n1"

    async def test_a_document_comes_along(self, store: AsyncStore, clock: Clock) -> None:
        await grow(store, "m1")
        await store.create_session(ADA, NewSession(id="other"))
        kept = await store.put_document(ADA, "k", b"value", session="s")
        assert (await recent_in(store, document="k")).document == kept
        assert (await recent_in(store, document="no")).document is None
        assert (await recent_in(store, "other", document="k")).document is None
        await store.put_document(ADA, "lease", b"", session="other", expires_in_s=10)
        assert (await recent_in(store, "other", document="lease")).document is not None
        clock.advance(11)
        assert (await recent_in(store, "other", document="lease")).document is None

    async def test_rule_13_nobody_elses_ends_are_found(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        assert await store.find_recent("bob", ["s"]) == [None]


class AsyncPreviewContract(AsyncContractBase):
    """A listing shows what was said last, in one line."""

    async def test_a_preview_says_who_said_what_and_when(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        new = say("m1", "  Two\n\tlines ", role="assistant", name="Bo", created_us=7_000_000)
        await store.append(ADA, "s", [new])
        preview = (await listed(store))["s"].preview
        message = await message_in(store, "m1")
        assert preview is not None
        assert (preview.id, preview.role, preview.name) == ("m1", "assistant", "Bo")
        assert (preview.text, preview.position) == ("Two lines", message.position)
        assert preview.created_at == message.created_at

    async def test_the_nearest_message_with_text_or_a_file_is_shown(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        await store.append(ADA, "s", [call("c1"), result("r1"), call("c2")])
        assert await preview_in(store) == "m1"
        file = FilePart(media_type="image/png", name="cat.png")
        await store.append(ADA, "s", [say_parts("f1", TextPart(text=" "), file)])
        assert await preview_in(store) == "cat.png"

    async def test_without_any_text_nearby_the_last_message_is_shown_without(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1")
        calls = [call(f"c{n}") for n in range(RECENT_MESSAGES)]
        await store.append(ADA, "s", calls)
        preview = preview_of((await recent_in(store)).messages)
        assert preview is not None
        assert (preview.id, preview.text) == (f"c{RECENT_MESSAGES - 1}", "")

    async def test_a_long_text_is_cut(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        await store.append(ADA, "s", [say("m1", "x" * 120)])
        assert await preview_in(store) == "x" * 120
        await store.append(ADA, "s", [say("m2", "x" * 121)])
        assert await preview_in(store) == "x" * 119 + "…"

    async def test_a_page_has_previews_and_what_is_unread(self, store: AsyncStore) -> None:
        await grow(store, "a1", "a2", session="a")
        await grow(store, "b1", session="b")
        await store.create_session(ADA, NewSession(id="empty"))
        await read_to(store, "a1", "a")
        seen = await listed(store)
        assert {id: it.preview and it.preview.text for id, it in seen.items()} == {
            "a": "a2",
            "b": "b1",
            "empty": None,
        }
        assert {id: it.unread for id, it in seen.items()} == {"a": 1, "b": 1, "empty": 0}
        assert {id: it.unread for id, it in (await listed(store, "bob")).items()} == {
            "a": 2,
            "b": 1,
            "empty": 0,
        }


class AsyncReadMarkContract(AsyncContractBase):
    """What a user has read is kept, and what came after it is counted."""

    async def test_all_is_unread_until_it_is_marked(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3")
        assert await unread(store) == 3
        assert await read_to(store, "m2") == "m2"
        assert await unread(store) == 1
        assert await read_to(store) == "m3"
        assert (await unread(store), await unread(store, user="bob")) == (0, 3)
        await grow(store, "m4")
        assert await unread(store) == 1

    async def test_an_empty_session_has_nothing_to_read(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        assert (await read_to(store), await unread(store)) == (None, 0)

    async def test_a_late_older_mark_is_ignored_unless_it_is_asked_for(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2", "m3")
        assert await read_to(store, "m3") == "m3"
        assert (await read_to(store, "m1"), await unread(store)) == ("m3", 0)
        version = (await recent_in(store, document=read_key(ADA))).document
        assert (await read_to(store), await unread(store)) == ("m3", 0)
        assert (await recent_in(store, document=read_key(ADA))).document == version
        back = await mark_read(store, ADA, "s", ADA, upto="m1", back=True)
        assert back is not None
        assert (back.message, await unread(store)) == ("m1", 2)
        assert await mark_read(store, ADA, "s", ADA, upto=ROOT) == back
        assert await mark_read(store, ADA, "s", ADA, upto=ROOT, back=True) is None
        assert await unread(store) == 3

    async def test_after_an_undo_nothing_is_unread_and_what_follows_is(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2", "m3", "m4")
        await read_to(store)
        await store.checkout(ADA, "s", "m2")
        assert await unread(store) == 0
        await store.append(ADA, "s", [say("e3"), say("e4")])
        assert await unread(store) == 2
        assert (await read_to(store), await unread(store)) == ("e4", 0)
        await store.checkout(ADA, "s", "m4")
        assert await unread(store) == 2

    async def test_another_answer_is_unread(self, store: AsyncStore) -> None:
        await grow(store, "q1", "a1")
        await read_to(store)
        await store.append(ADA, "s", [say("a2")], parent="q1")
        assert await unread(store) == 1
        await read_to(store)
        await store.append(ADA, "s", [say("a3")], parent="q1")
        assert (await unread(store), await read_to(store)) == (1, "a3")
        assert await read_to(store, "a1") == "a3"

    async def test_another_first_message_is_unread(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await read_to(store)
        await store.append(ADA, "s", [say("n1")], parent=ROOT)
        assert await unread(store) == 1

    async def test_it_is_counted_past_many_branches(self, store: AsyncStore) -> None:
        await grow(store, "m0")
        await read_to(store)
        for n in range(1, 70):
            await store.append(ADA, "s", [say(f"old{n}")])
            await store.append(ADA, "s", [say(f"m{n}")], parent=f"m{n - 1}")
        assert await unread(store) == 69
        assert (await read_to(store, "m3"), await unread(store)) == ("m3", 66)
        assert (await read_to(store, "m2"), await unread(store)) == ("m3", 66)
        assert (await read_to(store, "m65"), await unread(store)) == ("m65", 4)
        await store.checkout(ADA, "s", "old5")
        assert await unread(store) == 1

    async def test_deleted_messages_are_not_counted(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3", "m4")
        await read_to(store, "m2")
        await store.delete_messages(ADA, "s", ["m1", "m2", "m4"])
        assert await unread(store) == 1
        await store.delete_messages(ADA, "s", ["m3"])
        assert await unread(store) == 0

    async def test_a_mark_is_not_inherited(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await read_to(store)
        await store.create_session(ADA, fork_of("s"))
        await store.create_session(ADA, fork_of("s", id="copy", detach=True))
        assert [await unread(store, it) for it in ("s", "fork", "copy")] == [0, 2, 2]
        await read_to(store, "m1", "fork")
        await grow(store, "f3", session="fork")
        assert await unread(store, "fork") == 2

    async def test_a_clear_takes_marks(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await read_to(store)
        await store.clear_session(ADA, "s")
        await grow(store, "n1")
        assert await unread(store) == 1

    async def test_a_summary_hides_nothing_that_is_unread(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3")
        await read_to(store, "m1")
        await store.add_overlay(ADA, "s", cover("m1", "m3", id="o1"))
        assert await unread(store) == 2

    async def test_a_user_may_mark_in_a_closed_session(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await store.update_session(ADA, "s", SessionPatch(closed=True))
        assert (await read_to(store), await unread(store)) == ("m1", 0)


class AsyncRecentMarkContract(AsyncContractBase):
    """Where there is data at positions: a place without a message is no message."""

    async def test_marks_of_data_are_passed_over_and_not_counted(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await store.append(ADA, "s", [], data={"n": 1}, id="k1")
        recent = await recent_in(store)
        assert (recent.tip, ids_of([*recent.messages]), recent.empty) == ("k1", ["m1"], [2])
        assert (await preview_in(store), await unread(store)) == ("m1", 1)
        assert (await read_to(store), await unread(store)) == ("k1", 0)
        await store.append(ADA, "s", [], data={"n": 2}, id="k2")
        assert await unread(store) == 0
        await grow(store, "m2")
        assert (await preview_in(store), await unread(store)) == ("m2", 1)
        assert (await recent_in(store)).messages[-1].data_at is None
