"""Search: what was said is found as it stands now, and as soon as it stands."""

from __future__ import annotations

from functools import partial

import pytest

from ...errors import ConflictError
from ...model import FilePart, OtherPart, Part, ReasoningPart, Search, TextPart, ToolCallPart
from ...model import ToolResultPart as Result
from ...store import AsyncStore
from ..makers import ADA, cover, say, say_parts
from ..twin import AsyncTwin
from .search_base import AsyncSearchBase, AsyncSearcher, make, tell, tell_part, written

CALL = ToolCallPart(call_id="c", name="fetch_page", input={"url": "lighthouse", "n": [7, "quartz"]})

SEARCHED: dict[str, tuple[Part, str]] = {
    "a text": (TextPart(text="the lighthouse"), "lighthouse"),
    "a tool's name": (CALL, "fetch_page"),
    "a tool's input": (CALL, "lighthouse"),
    "a key of an input": (CALL, "url"),
    "a value deep in an input": (CALL, "quartz"),
    "a result": (Result(call_id="c", output="the lighthouse"), "lighthouse"),
    "a value in a result": (Result(call_id="c", output={"a": ["x", {"b": "lighthouse"}]}), "x"),
    "a number in a result": (Result(call_id="c", output={"port": 8443}), "8443"),
    "a small number in a result": (Result(call_id="c", output=[0.00001]), "0.00001"),
    "a tiny number in a result": (Result(call_id="c", output=[1.5e-9]), "1.5e-9"),
    "an error": (Result(call_id="c", output="the lighthouse fell", is_error=True), "fell"),
    "a file's name": (FilePart(media_type="image/png", name="lighthouse.png"), "lighthouse.png"),
    "another part": (OtherPart(value={"type": "audio", "said": "lighthouse"}), "lighthouse"),
}
"""Parts, and a word by which the message is found."""

NOT_SEARCHED: dict[str, tuple[Part, str]] = {
    "reasoning": (ReasoningPart(text="the lighthouse"), "lighthouse"),
    "a file's data": (FilePart(media_type="text/plain", data=b"lighthouse"), "lighthouse"),
    "a call's id": (ToolCallPart(call_id="lighthouse", name="n", input={}), "lighthouse"),
    "a field that only a client knows": (
        TextPart(text="x", extra={"cache": "lighthouse"}),
        "lighthouse",
    ),
    "encoded data in a result": (Result(call_id="c", output="lighthouse" * 60), "lighthouse*"),
}
"""Parts, and a word by which the message is not found."""


async def found(store: AsyncStore, text: str) -> list[str]:
    """Search once, with nothing done before."""
    return written((await store.search(ADA, Search(text=text))).hits)


class AsyncSearchContract(AsyncSearchBase):
    """What is found, and what is not found any more."""

    async def test_what_was_just_written_is_found(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="the lighthouse", m2="a harbour")
        assert await find("lighthouse") == ["s/m1"]
        assert await find("harbour", "s") == ["s/m2"]
        assert await find("storm") == []
        await store.append(ADA, "s", [say("m3", "Lighthouse, again")])
        assert await find("lighthouse") == ["s/m1", "s/m3"]

    async def test_each_word_of_many_messages_is_found(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, **{f"m{n}": f"number w{n} of all" for n in range(30)})
        await find.rest()
        await tell(store, **{f"m{n}": f"number w{n} of all" for n in range(30, 60)})
        for n in range(0, 60, 7):
            assert await find(f"w{n} number") == [f"s/m{n}"]
        assert len(await find("all")) == 60

    async def test_what_was_edited_is_found_by_its_new_text_only(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="the lighthouse stands", m2="a lighthouse")
        await find.rest()
        await store.update_message(ADA, "s", say("m1", "the harbour stands"))
        assert await find("harbour") == ["s/m1"]
        assert await find("lighthouse") == ["s/m2"]
        assert await find("stands", "s") == ["s/m1"]
        await store.update_message(ADA, "s", say("m1", "the lighthouse, again"))
        assert await find("lighthouse") == ["s/m1", "s/m2"]
        assert await find("harbour") == []

    async def test_what_was_deleted_is_not_found(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="the lighthouse", m2="a lighthouse", m3="one lighthouse")
        await find.rest()
        await store.delete_messages(ADA, "s", ["m3", "m1"])
        assert await find("lighthouse") == ["s/m2"]
        assert await find("lighthouse", "s") == ["s/m2"]
        assert await find("the OR one") == []

    async def test_what_was_edited_and_then_deleted_is_not_found(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="the lighthouse", m2="end")
        await find.rest()
        await store.update_message(ADA, "s", say("m1", "the harbour"))
        await find.rest()
        await store.delete_messages(ADA, "s", ["m1"])
        assert await find("lighthouse OR harbour") == []

    async def test_rule_02_a_repeated_append_is_found_once(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        for _ in range(3):
            await tell(store, m1="the lighthouse", m2="a lighthouse")
            await find.rest()
        assert await find("lighthouse") == ["s/m1", "s/m2"]
        with pytest.raises(ConflictError):
            await tell(store, m1="the harbour")
        assert await find("harbour") == []

    @pytest.mark.parametrize("where", sorted(SEARCHED))
    async def test_what_a_message_says_in_any_part_is_found(
        self, store: AsyncStore, find: AsyncSearcher, where: str
    ) -> None:
        part, word = SEARCHED[where]
        await tell(store, m0="nothing of it")
        await tell_part(store, "m1", part)
        await tell_part(store, "m2", TextPart(text="before"), part, TextPart(text="after"))
        assert await find(word) == ["s/m1", "s/m2"]
        assert await find(f"{word} before", "s") == ["s/m2"]

    @pytest.mark.parametrize("where", sorted(NOT_SEARCHED))
    async def test_what_is_no_text_is_not_searched(
        self, store: AsyncStore, find: AsyncSearcher, where: str
    ) -> None:
        part, word = NOT_SEARCHED[where]
        await tell_part(store, "m1", part)
        await tell_part(store, "m2", part, TextPart(text="harbour"))
        assert await find(word) == []
        assert await find("harbour") == ["s/m2"]

    async def test_metadata_and_ids_are_not_searched(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, lighthouse="harbour")
        await store.append(ADA, "s", [say("m2", "harbour", metadata={"k": "lighthouse"})])
        assert await find("lighthouse") == []
        assert await find("s OR user") == []

    async def test_a_number_is_found_however_small(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        """A number's text is the one that it is stored as, whether it was indexed or not."""
        await tell_part(store, "m1", Result(call_id="c", output=[1e-05, 1e16, 1e-7]))
        for word in ("05", "1e-05", "07", "1e+16"):
            assert await find(word) == []
        for word in ("0.00001", "1e16", "1e-7", "00001"):
            assert await find(word) == ["s/m1"]

    async def test_what_a_writer_just_wrote_is_found_while_others_write(
        self, store: AsyncStore
    ) -> None:
        await make(store, "s")

        async def write_and_search(writer: int) -> None:
            for n in range(8):
                id, word = f"w{writer}-{n}", f"word{writer}x{n}"
                await store.append(ADA, "s", [say(id, f"lighthouse {word}")])
                assert await found(store, word) == [f"s/{id}"]
                await store.update_message(ADA, "s", say(id, f"lighthouse new{word}"))
                assert await found(store, word) == []
                assert await found(store, f"new{word}") == [f"s/{id}"]
                await store.delete_messages(ADA, "s", [id])
                assert await found(store, f"new{word}") == []

        await AsyncTwin.together([partial(write_and_search, writer) for writer in range(5)])
        assert await found(store, "lighthouse") == []

    async def test_empty_messages_are_passed_over(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="", m2=" \n", m3="x")
        await store.append(ADA, "s", [say_parts("m4"), say("m5", "x")])
        assert await find("x") == ["s/m3", "s/m5"]


class AsyncSummarySearchContract(AsyncSearchBase):
    """Summaries are found while they are in force, and what they cover all the same."""

    async def test_the_summary_and_what_it_covers_are_found(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="the lighthouse", m2="a harbour", m3="a ship")
        await find.rest()
        await store.add_overlay(ADA, "s", cover("m1", "m2", id="o1", summary="of lighthouse trips"))
        assert await find("lighthouse") == ["s/<o1>", "s/m1"]
        assert await find("trips", "s") == ["s/<o1>"]
        assert await find("harbour", "s") == ["s/m2"]

    async def test_a_summary_is_told_with_its_role_and_the_position_of_its_end(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        messages = await tell(store, m1="one", m2="two", m3="three")
        await store.add_overlay(ADA, "s", cover("m1", "m2", id="o1", summary="the lighthouse"))
        [hit] = (await find.hits("lighthouse")).hits
        assert (hit.session, hit.entry.kind, hit.entry.id) == ("s", "overlay", "o1")
        assert (hit.role, hit.position) == ("summary", messages[1].position)

    async def test_an_undone_summary_is_not_found(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="the lighthouse", m2="a harbour")
        await store.add_overlay(ADA, "s", cover("m1", "m2", id="o1", summary="lighthouse trips"))
        await find.rest()
        await store.undo_overlay(ADA, "s", "o1")
        assert await find("trips") == []
        assert await find("lighthouse") == ["s/m1"]
        await store.add_overlay(ADA, "s", cover("m1", "m2", id="o1", summary="other trips"))
        assert await find("trips") == ["s/<o1>"]

    async def test_a_summary_of_summaries_and_the_one_under_it_are_both_found(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="one", m2="two", m3="three")
        await store.add_overlay(ADA, "s", cover("m1", "m2", id="o1", summary="lighthouse one"))
        await find.rest()
        await store.add_overlay(ADA, "s", cover("<o1>", "m3", id="o2", summary="lighthouse two"))
        assert await find("lighthouse") == ["s/<o1>", "s/<o2>"]
        assert await find("one", "s") == ["s/<o1>", "s/m1"]

    async def test_a_deleted_message_leaves_its_summary_to_be_found(
        self, store: AsyncStore, find: AsyncSearcher
    ) -> None:
        await tell(store, m1="the lighthouse", m2="two")
        await store.add_overlay(ADA, "s", cover("m1", "m2", id="o1", summary="said lighthouse"))
        await find.rest()
        await store.delete_messages(ADA, "s", ["m1"])
        assert await find("lighthouse") == ["s/<o1>"]
