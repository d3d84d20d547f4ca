"""Wrong input is a UsageError that says where, never anything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sapwood
from sapwood import formats
from sapwood.errors import UsageError
from sapwood.testing.strategies import json_values

from .test_round_trip import FORMATS, Format, every_format
from .values import encoded

USER = {"role": "user", "content": "hi"}
CASES: list[tuple[Callable[[Any], Any], Any, str]] = [
    (formats.from_openai_chat, [USER, {"content": "hi"}], "messages[1].role"),
    (formats.from_openai_chat, {"role": "user", "content": 5}, "message.content"),
    (formats.from_openai_chat, [{"role": "user", "content": ["hi"]}], "messages[0].content[0]"),
    (
        formats.from_openai_chat,
        [{"role": "user", "content": [{"text": "hi"}]}],
        "messages[0].content[0].type",
    ),
    (
        formats.from_openai_chat,
        [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}],
        "messages[0].content[0].image_url.url",
    ),
    (
        formats.from_openai_chat,
        [USER, USER, USER, {"role": "assistant", "tool_calls": [{"id": "a", "type": "function"}]}],
        "messages[3].tool_calls[0].function",
    ),
    (
        formats.from_openai_chat,
        [{"role": "assistant", "tool_calls": [{"function": {}, "type": "function"}]}],
        "messages[0].tool_calls[0].id",
    ),
    (formats.from_openai_chat, [{"role": "assistant", "tool_calls": 1}], "messages[0].tool_calls"),
    (formats.from_openai_chat, [{"role": "tool", "content": "x"}], "messages[0].tool_call_id"),
    (formats.from_openai_chat, "hi", "message"),
    (formats.from_openai_chat, ["hi"], "messages[0]"),
    (
        formats.from_openai_chat,
        [{"role": "user", "content": "a", "x": [1, {2}]}],
        "messages[0].x[1]",
    ),
    (formats.from_openai_chat, [{"role": "user", "content": "\ud800"}], "messages[0].content"),
    (formats.from_openai_responses, [{}], "items[0].type"),
    (formats.from_openai_responses, [{"role": "user"}], "items[0].content"),
    (formats.from_openai_responses, {"type": "function_call", "call_id": "a"}, "item.name"),
    (
        formats.from_openai_responses,
        [{"role": "user", "content": [{"type": "input_text"}]}],
        "items[0].content[0].text",
    ),
    (formats.from_anthropic, [USER, {"role": "assistant"}], "messages[1].content"),
    (
        formats.from_anthropic,
        [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "b"}]}],
        "messages[0].content[0].input",
    ),
    (
        formats.from_anthropic,
        [{"role": "user", "content": [{"type": "tool_result", "content": "x"}]}],
        "messages[0].content[0].tool_use_id",
    ),
    (
        formats.from_anthropic,
        [{"role": "user", "content": [{"type": "image"}]}],
        "messages[0].content[0].source",
    ),
    (formats.from_ai_sdk, [{"id": "a", "role": "user", "content": "hi"}], "messages[0].parts"),
    (
        formats.from_ai_sdk,
        {"id": "a", "role": "assistant", "parts": [{"type": "tool-x", "toolCallId": "b"}]},
        "message.parts[0].state",
    ),
    (
        formats.from_ai_sdk,
        [{"id": "a", "role": "user", "parts": [{"type": "file", "url": "x"}]}],
        "messages[0].parts[0].mediaType",
    ),
]


@pytest.mark.parametrize(("read", "value", "path"), CASES, ids=[case[2] for case in CASES])
def test_the_error_says_where(read: Callable[[Any], Any], value: Any, path: str) -> None:
    with pytest.raises(UsageError) as raised:
        read(value)
    assert raised.value.path == path
    assert path in str(raised.value)


def broken(value: Any) -> st.SearchStrategy[Any]:
    """Replace one thing somewhere in a value, or leave it out."""

    @st.composite
    def breaking(draw: st.DrawFn) -> Any:
        return _broken(draw, value)

    return breaking()


def _broken(draw: st.DrawFn, value: Any) -> Any:
    if not isinstance(value, (dict, list)) or not value or draw(st.integers(0, 3)) == 0:
        return draw(json_values)
    if isinstance(value, list):
        index = draw(st.integers(0, len(value) - 1))
        return [_broken(draw, it) if number == index else it for number, it in enumerate(value)]
    key = draw(st.sampled_from(sorted(value)))
    if draw(st.booleans()):
        return {name: it for name, it in value.items() if name != key}
    return {**value, key: _broken(draw, value[key])}


@every_format
def test_a_broken_value_is_refused_or_comes_back_as_it_was(format: Format) -> None:
    @given(format.values.flatmap(broken))
    def check(value: Any) -> None:
        try:
            read = format.read([value])
        except UsageError:
            return
        assert encoded(format.write(read)) == encoded([value])

    check()


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_what_is_no_message_is_refused(format: Format) -> None:
    with pytest.raises(UsageError, match=r"messages\[0\] is a dict: give messages"):
        format.write([{"role": "user", "content": "hi"}])
    with pytest.raises(UsageError, match="messages is an int"):
        format.write(5)


def test_what_is_no_input_is_refused() -> None:
    for write in (
        formats.input_to_anthropic,
        formats.input_to_openai_chat,
        formats.input_to_openai_responses,
    ):
        with pytest.raises(UsageError, match="give what prepare\\(\\) gave"):
            write([])  # type: ignore[arg-type]


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_the_error_for_a_summary_names_what_has_it_as_a_message(format: Format) -> None:
    with sapwood.open("memory://") as sessions:
        chat = sessions.session("s")
        messages = chat.append_all([("user", "one"), ("assistant", "two"), ("user", "three")])
        chat.add_overlay(messages[0], messages[1], "Counting.")
        with pytest.raises(UsageError) as raised:
            format.write(chat.history().entries)
        format.write(chat.prepare().messages)
    assert "a summary" in str(raised.value)
    assert "prepare().messages" in str(raised.value)
    assert "history().messages_only" not in str(raised.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "server_tool_use", "id": ["1"], "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": ["1"], "content": []},
    ],
)
def test_an_id_of_another_type_in_a_block_that_anthropic_serves_is_carried(wrong: Any) -> None:
    called = {"type": "server_tool_use", "id": "1", "name": "web_search", "input": {}}
    message = {"role": "assistant", "content": [called, wrong]}
    [read] = formats.from_anthropic([message])
    assert formats.to_anthropic([read]) == [message]
