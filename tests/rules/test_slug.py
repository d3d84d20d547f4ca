"""Keys of entries: the same for the same title, another for another one."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sapwood.rules.slug import entry_key

TITLES = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


def same_title(one: str, other: str) -> bool:
    """Say by another way than the code whether two titles are one."""
    import unicodedata

    def words(text: str) -> list[str]:
        nfc = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
        return [word for word in re.split(r"[\s_-]+", nfc) if word]

    return words(one) == words(other)


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("deploy", "deploy"),
        ("Deploy Guide", "deploy-guide"),
        ("  deploy_guide - 2 ", "deploy-guide-2"),
    ],
)
def test_a_plain_title_is_its_key(title: str, key: str) -> None:
    assert entry_key(title, "text") == key


@pytest.mark.parametrize("title", ["C++", "C#", "Über uns", "a.b", "x" * 61])
def test_what_a_slug_cannot_say_is_told_apart_by_a_hash(title: str) -> None:
    assert re.fullmatch(r"[a-z0-9-]{1,60}-[0-9a-f]{10}", entry_key(title, "text"))


@pytest.mark.parametrize("title", ["部署", "نص", "!!!", "🙂"])
def test_a_title_without_latin_letters_has_a_key(title: str) -> None:
    assert re.fullmatch(r"entry-[0-9a-f]{10}", entry_key(title, "text"))


def test_without_a_title_the_content_names_the_entry() -> None:
    keys = {entry_key(title, "Some text.") for title in (None, "", "  ", "-")}
    assert len(keys) == 1
    assert keys != {entry_key(None, "Some text!")}
    assert keys.pop().startswith("some-text-")


def test_titles_that_collide_as_slugs_do_not_collide_as_keys() -> None:
    titles = ["c", "c++", "c#", "c!", "ç", "部", "署", "a b", "a.b", "a/b", "x" * 61, "x" * 62]
    assert len({entry_key(title, "") for title in titles}) == len(titles)


def test_a_title_that_looks_like_a_key_does_not_collide_with_it() -> None:
    key = entry_key("C++", "")
    assert entry_key(key, "") != key


@given(TITLES, TITLES)
def test_different_titles_have_different_keys(one: str, other: str) -> None:
    assume(one.strip(" -_") and other.strip(" -_"))
    assume(not same_title(one, ""))
    assume(not same_title(other, ""))
    assert (entry_key(one, "x") == entry_key(other, "x")) == same_title(one, other)


@given(st.text("aA -_+.ä", max_size=4), st.text("aA -_+.ä", max_size=4))
def test_titles_that_are_nearly_the_same_are_told_apart(one: str, other: str) -> None:
    assume(not same_title(one, ""))
    assume(not same_title(other, ""))
    assert (entry_key(one, "x") == entry_key(other, "x")) == same_title(one, other)


@given(TITLES, st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_a_key_is_short_and_plain(title: str, content: str) -> None:
    key = entry_key(title, content)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", key)
    assert len(key) <= 71
