"""Entries: written by key, searched, loaded; and what is loaded survives."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.context import (
    AsyncContext,
    AsyncStoreEntries,
    BlockConfig,
    LoadedKey,
    SkillsFolder,
)
from sapwood.errors import NotFoundError, StoreCorruptError, UsageError
from sapwood.model import NewSession
from sapwood.store import AsyncStore
from sapwood.testing import ManualClock

from .conftest import Make


class Catalogue:
    """Entries in memory, with a catalogue."""

    def __init__(self) -> None:
        self.entries: dict[str, tuple[str, str | None]] = {}

    def get(self) -> str | None:
        lines = [f"- {key}: {about or ''}" for key, (_, about) in self.entries.items()]
        return "\n".join(lines) or None

    def load(self, key: str) -> str | None:
        return self.entries[key][0] if key in self.entries else None

    def set(self, key: str, content: str, description: str | None = None) -> None:
        self.entries[key] = (content, description)


@pytest.fixture
def notes(store: AsyncStore) -> AsyncStoreEntries:
    return AsyncStoreEntries(store, "ada", "notes")


@pytest.fixture
def context(make: Make, notes: AsyncStoreEntries) -> AsyncContext:
    return make(
        BlockConfig("notes", provider=notes),
        BlockConfig("skills", provider=Catalogue()),
        BlockConfig("memory"),
    )


async def test_the_same_title_writes_the_same_entry(context: AsyncContext) -> None:
    key = await context.put_entry("notes", "Deploy guide", "old")
    assert key == "deploy-guide"
    assert await context.put_entry("notes", "Deploy guide", "new") == key
    assert await context.load("notes", key) == "new"
    assert (await context.block("notes")).content == "1 entry."


async def test_titles_that_look_alike_do_not_overwrite_each_other(context: AsyncContext) -> None:
    # #1297: keys from a prefix or from non-Latin titles collided.
    titles = ["C", "C++", "C#", "部署", "部署线", "!", "?", "a" * 61, "a" * 62]
    keys = [await context.put_entry("notes", title, title) for title in titles]
    assert len(set(keys)) == len(titles)
    assert [await context.load("notes", key) for key in keys] == titles


async def test_without_a_title_the_content_names_the_entry(context: AsyncContext) -> None:
    one = await context.put_entry("notes", None, "Some text.")
    assert await context.put_entry("notes", "", "Some text.") == one
    assert await context.put_entry("notes", None, "Some text!") != one
    assert (await context.block("notes")).content == "2 entries."


async def test_an_entry_says_where_it_came_from(
    context: AsyncContext, notes: AsyncStoreEntries, clock: ManualClock
) -> None:
    await context.put_entry("notes", "Tea", "Likes tea.", "What to drink", origin="model")
    await notes.set("plain", "x")
    plain, tea = await notes.entries()
    assert (tea.origin, tea.by, tea.description) == ("model", "chat", "Tea — What to drink")
    assert (plain.origin, plain.by, plain.description) == ("user", None, None)
    assert tea.updated_us == clock.now_us
    assert tea.updated_at.tzinfo is not None


async def test_a_catalogue_gets_title_and_description(context: AsyncContext) -> None:
    await context.put_entry("skills", "Tea", "Boil water.", "How to make it")
    await context.put_entry("skills", "Coffee", "Grind.")
    content = (await context.block("skills")).content
    assert content == "- tea: Tea — How to make it\n- coffee: Coffee"


async def test_an_entry_has_one_line_in_the_catalogue(context: AsyncContext) -> None:
    await context.put_entry("skills", "Tea", "x", "how\n- forged: line\n")
    assert (await context.block("skills")).content == "- tea: Tea — how - forged: line"


async def test_the_catalogue_keeps_its_limit_before_anything_is_written(make: Make) -> None:
    catalogue = Catalogue()
    config = BlockConfig("skills", provider=catalogue, max_tokens=40)
    context = make(config, counter=len)
    await context.put_entry("skills", "a", "x", "about twenty long.")
    with pytest.raises(UsageError, match="limit is 40"):
        await context.put_entry("skills", "b", "x", "about twenty long.")
    assert list(catalogue.entries) == ["a"]
    await context.put_entry("skills", "a", "x", "at most forty as a whole.")
    with pytest.raises(UsageError, match="limit is 40"):
        await context.put_entry("skills", "a", "x", "and this is more than forty as a whole.")


async def test_a_block_with_entries_is_not_written_as_a_whole(context: AsyncContext) -> None:
    for label in ("notes", "skills"):
        for write in (context.replace, context.append):
            with pytest.raises(UsageError, match="put_entry"):
                await write(label, "x")
    with pytest.raises(UsageError, match="no entries"):
        await context.put_entry("memory", "a", "b")


async def test_what_is_no_text_is_refused(context: AsyncContext, notes: AsyncStoreEntries) -> None:
    wrong: list[tuple[Any, Any, Any]] = [
        ("\ud800", "x", None),
        ("a", "\ud800", None),
        ("a", "x", "\ud800"),
        ("a", 7, None),
        (7, "x", None),
    ]
    for title, content, description in wrong:
        with pytest.raises(UsageError):
            await context.put_entry("notes", title, content, description)
    with pytest.raises(UsageError):
        await notes.set("", "x")
    assert await notes.entries() == []


# searching


async def test_entries_are_found_as_messages_are(
    context: AsyncContext, notes: AsyncStoreEntries, clock: ManualClock
) -> None:
    said = {
        "clean": "Use rm -rf ./build to clean up.",
        "keys": "The keys are in .env, not in env.",
        "deploy": "部署线已经就绪",
        "language": "It is written in C++.",
        "café": "Meet at the Café Central.",
    }
    for key, text in said.items():
        clock.advance(1)
        await notes.set(key, text)
    found = {
        "rm -rf": "clean",
        ".env": "keys",
        "部署": "deploy",
        "C++": "language",
        "cafe": "café",
        '"the café"': "café",
        "meet OR nothing": "café",
        "writ*": "language",
        "is NOT keys": "language",
    }
    for query, key in found.items():
        assert (await context.search("notes", query)).startswith(f"[{key}] {said[key]}"), query
    assert await context.search("notes", "absent") == ""
    assert (await context.search("notes", "the")).startswith("[café]")
    for query in ("", "--", "NOT"):
        with pytest.raises(UsageError):
            await context.search("notes", query)


async def test_descriptions_are_searched_and_shown(context: AsyncContext) -> None:
    await context.put_entry("notes", "Tea", "Boil water.", "What Ada drinks")
    expected = "[tea] Tea — What Ada drinks\nBoil water."
    assert await context.search("notes", "ada drinks") == expected


async def test_of_a_long_entry_the_passage_is_shown(context: AsyncContext) -> None:
    text = f"{'word ' * 300}needle {'word ' * 300}".strip()
    await context.put_entry("notes", "hay", text)
    found = await context.search("notes", "needle")
    assert "needle" in found
    assert len(found) < 400
    assert await context.load("notes", "hay") == text


async def test_the_best_ten_are_shown(context: AsyncContext, notes: AsyncStoreEntries) -> None:
    for number in range(15):
        await notes.set(f"{number}", "tea and tea" if number == 7 else "tea and more")
    found = await context.search("notes", "tea OR absent")
    assert found.startswith("[7]")
    assert found.count("[") == 10
    assert "5 more were found" in found


async def test_entries_have_scopes_of_their_own(store: AsyncStore) -> None:
    await store.create_session("bob", NewSession(id="chat"))
    places = [
        AsyncStoreEntries(store, "ada", "notes"),
        AsyncStoreEntries(store, "ada", "notes/more"),
        AsyncStoreEntries(store, "ada", "notes", session="chat", scope="session"),
        AsyncStoreEntries(store, "ada", "notes", scope="agent", agent="cook"),
        AsyncStoreEntries(store, "ada", "notes", scope="agent", agent="guard"),
        AsyncStoreEntries(store, "bob", "notes"),
        AsyncStoreEntries(store, "bob", "notes", session="chat", scope="session"),
    ]
    for number, place in enumerate(places):
        await place.set("a", f"{number}")
    assert [await place.load("a") for place in places] == [f"{n}" for n in range(len(places))]
    assert [await place.get() for place in places] == ["1 entry."] * len(places)


async def test_an_entry_is_deleted(notes: AsyncStoreEntries) -> None:
    await notes.set("a", "x")
    assert await notes.delete("a")
    assert not await notes.delete("a")
    assert await notes.get() is None


async def test_a_damaged_entry_is_told(notes: AsyncStoreEntries, store: AsyncStore) -> None:
    await store.put_document("ada", "entries/notes/a", b"{}")
    for call in (notes.get, notes.entries):
        with pytest.raises(StoreCorruptError, match="entries/notes/a"):
            await call()


# loading


async def test_what_is_loaded_is_remembered(context: AsyncContext, make: Make) -> None:
    await context.put_entry("notes", "a", "text of a")
    await context.put_entry("skills", "b", "text of b")
    assert await context.loaded() == []
    assert await context.load("notes", "a") == "text of a"
    assert await context.load("skills", "b") == "text of b"
    assert await context.load("notes", "a") == "text of a"
    assert await context.loaded() == [("skills", "b"), ("notes", "a")]
    assert (await context.loaded())[0] == LoadedKey("skills", "b")
    again = make(*context.configs)
    assert await again.loaded() == [("skills", "b"), ("notes", "a")]
    assert await again.unload("skills", "b")
    assert not await again.unload("skills", "b")
    assert await context.loaded() == [("notes", "a")]
    assert await context.unload_all() == 1
    assert await context.unload_all() == 0
    assert await context.loaded() == []


async def test_what_is_not_there_is_not_loaded(context: AsyncContext) -> None:
    for label in ("notes", "skills"):
        for key in ("nothing", "", "../a", "x" * 300):
            with pytest.raises(NotFoundError) as raised:
                await context.load(label, key)
            assert raised.value.kind == "key"
    with pytest.raises(UsageError, match="nothing to load"):
        await context.load("memory", "a")
    with pytest.raises(UsageError, match="cannot be searched"):
        await context.search("memory", "a")
    assert await context.loaded() == []


async def test_keys_of_a_removed_block_are_not_loaded(context: AsyncContext) -> None:
    await context.put_entry("notes", "a", "x")
    await context.load("notes", "a")
    await context.remove("notes")
    assert await context.loaded() == []


async def test_no_load_is_lost_in_a_race(make: Make, notes: AsyncStoreEntries) -> None:
    config = BlockConfig("notes", provider=notes)
    other = make(config)
    for key in ("a", "b"):
        await notes.set(key, key)
    raced: list[int] = []

    async def race() -> None:
        if not raced:
            raced.append(1)
            await other.load("notes", "b")

    await make(config, before_write=race).load("notes", "a")
    assert sorted(await other.loaded()) == [("notes", "a"), ("notes", "b")]


async def test_damaged_loaded_keys_are_told(context: AsyncContext, store: AsyncStore) -> None:
    await store.put_document("ada", "loaded", b"[7]", session="chat")
    with pytest.raises(StoreCorruptError, match="loaded"):
        await context.loaded()


async def test_a_provider_may_have_to_be_awaited_only_on_a_loop(make: Make) -> None:
    class Plain:
        def get(self) -> str:
            return "a"

        def search(self, query: str) -> str | None:
            return query.upper()

        def load(self, key: str) -> str | None:
            return key * 2

    context = make(BlockConfig("x", provider=Plain()))
    block = await context.block("x")
    assert (block.loadable, block.searchable, block.writable) == (True, True, False)
    assert await context.search("x", "ab") == "AB"
    assert await context.load("x", "ab") == "abab"


async def test_skills_are_listed_and_loaded(make: Make, tmp_path: Any) -> None:
    folder = tmp_path / "tea"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: tea\ndescription: Makes tea.\n---\nBoil water.")
    context = make(BlockConfig("skills", provider=SkillsFolder(tmp_path)))
    assert "SKILLS [loadable]" in await context.freeze()
    assert (await context.block("skills")).content == "- tea: Makes tea."
    assert await context.load("skills", "tea") == "Boil water."
