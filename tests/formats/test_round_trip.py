"""What came from a format goes back to it as it came: in memory, and through a file."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sapwood
from sapwood import formats

from . import chats, claude, items, ui
from .values import Json, encoded


class Format(NamedTuple):
    name: str
    read: Callable[[Any], list[sapwood.NewMessage]]
    write: Callable[..., list[Json]]
    values: st.SearchStrategy[Json]
    conversations: st.SearchStrategy[list[Json]]


FORMATS = [
    Format(
        "openai_chat",
        formats.from_openai_chat,
        formats.to_openai_chat,
        chats.messages,
        chats.conversations,
    ),
    Format(
        "openai_responses",
        formats.from_openai_responses,
        formats.to_openai_responses,
        items.items,
        items.conversations,
    ),
    Format(
        "anthropic",
        formats.from_anthropic,
        formats.to_anthropic,
        claude.messages,
        claude.conversations,
    ),
    Format("ai_sdk", formats.from_ai_sdk, formats.to_ai_sdk, ui.messages, ui.conversations),
]
every_format = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sapwood.SessionManager]:
    file: Path = tmp_path_factory.mktemp("formats") / "formats.db"
    with sapwood.open(f"sqlite:///{file}", owner="ada", durability="normal") as sessions:
        yield sessions


@every_format
def test_a_value_comes_back_as_it_was(format: Format) -> None:
    @given(format.values)
    def check(value: Json) -> None:
        before = encoded(value)
        assert encoded(format.write(format.read(value))) == encoded([value])
        assert encoded(value) == before

    check()


@every_format
def test_a_conversation_comes_back_as_it_was(format: Format) -> None:
    @given(format.conversations)
    def check(values: list[Json]) -> None:
        assert encoded(format.write(format.read(values))) == encoded(values)

    check()


@every_format
def test_a_stored_conversation_comes_back_as_it_was(
    format: Format, sessions: sapwood.SessionManager
) -> None:
    numbers = itertools.count()

    @given(format.conversations)
    def check(values: list[Json]) -> None:
        chat = sessions.session(f"{format.name}-{next(numbers)}")
        new = format.read(values)
        if new:
            chat.append_all(new)
        stored = chat.history().messages
        assert encoded(format.write(stored)) == encoded(values)
        assert all(old.id in (None, it.id) for old, it in zip(new, stored, strict=True))

    check()
