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
from sapwood.formats.rest import NAMES

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
        stored = chat.history().messages_only
        assert encoded(format.write(stored)) == encoded(values)
        assert all(old.id in (None, it.id) for old, it in zip(new, stored, strict=True))

    check()


# The fields whose content is in a message or part; only what holds nothing may be kept of them.
IN_MESSAGE = {"content", "tool_calls", "function_call", "parts", "refusal"}
IN_PART: dict[type, set[str]] = {
    sapwood.TextPart: {"text", "refusal", "transcript"},
    sapwood.ToolCallPart: {"arguments", "input", "output", "errorText", "function", "custom"},
    sapwood.ToolResultPart: {"content", "output"},
    sapwood.FilePart: {"url", "image_url", "file_data", "data", "result", "source"},
}


def assert_not_kept(holder: Json, fields: set[str]) -> None:
    """Look through what is kept beside a message or part, also of objects in objects."""
    todo = [holder[name] for name in NAMES if isinstance(holder.get(name), dict)]
    while todo:
        rest = todo.pop()
        assert [key for key, value in rest.get("set", {}).items() if key in fields and value] == []
        todo += rest.get("within", {}).values()


@every_format
def test_nothing_is_kept_twice(format: Format) -> None:
    @given(format.conversations)
    def check(values: list[Json]) -> None:
        for message in format.read(values):
            assert_not_kept(message.metadata, IN_MESSAGE)
            for part in message.parts:
                if not isinstance(part, (sapwood.OtherPart, sapwood.ReasoningPart)):
                    assert_not_kept(part.extra, IN_PART[type(part)])

    check()
