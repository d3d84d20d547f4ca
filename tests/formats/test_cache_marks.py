"""What is written for the vendors' caches: marks for Anthropic, a key for OpenAI."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sapwood import ROOT, TextPart, ToolCallPart, ToolResultPart, formats
from sapwood.errors import UsageError
from sapwood.formats import from_anthropic, input_to_anthropic
from sapwood.model import ModelInput, ModelMessage, NewMessage, Part, ToolDefinition

TOOLS = [ToolDefinition(name=name, description="Find.", schema={"type": "object"}) for name in "ab"]
MARK = {"type": "ephemeral"}


def given(*messages: tuple[str, list[Part]], **fields: Any) -> ModelInput:
    listed = [ModelMessage(role=role, parts=parts) for role, parts in messages]
    whole = ModelInput(
        prompt="Be kind.", messages=listed, tools=TOOLS, tokens=1, budget=None, leaf=ROOT
    )
    return msgspec.structs.replace(whole, **fields)


def marked(written: Any, place: str = "") -> list[str]:
    """Name the places of all marks, wherever they are."""
    if isinstance(written, list):
        return [it for n, each in enumerate(written) for it in marked(each, f"{place}/{n}")]
    if not isinstance(written, dict):
        return []
    own = [place] if "cache_control" in written else []
    return own + [it for key, each in written.items() for it in marked(each, f"{place}/{key}")]


TALK: list[tuple[str, list[Part]]] = [
    ("user", [TextPart(text="one")]),
    ("assistant", [TextPart(text="1")]),
    ("user", [TextPart(text="two")]),
    ("assistant", [ToolCallPart(call_id=str(n), name="a", input={}) for n in range(30)]),
    ("tool", [ToolResultPart(call_id=str(n), output="") for n in range(30)]),
]


def test_tools_prompt_and_the_ends_of_this_input_and_of_the_last_one_are_marked() -> None:
    written = input_to_anthropic(given(*TALK))
    ends = ["/messages/2/content/0", "/messages/4/content/29"]
    assert sorted(marked(written)) == [*ends, "/system/0", "/tools/1"]
    assert written["tools"][1]["cache_control"] == MARK
    first = input_to_anthropic(given(*TALK[:1], tools=[], prompt=""))
    assert marked(first) == ["/messages/0/content/0"]
    assert "system" not in first
    before = input_to_anthropic(given(*TALK[:3]))
    assert before["messages"][2] == written["messages"][2]


def test_marks_change_nothing_else() -> None:
    plain = input_to_anthropic(given(*TALK), cache=None)
    written = input_to_anthropic(given(*TALK))
    assert marked(plain) == []
    assert plain["system"] == written["system"][0]["text"]
    del written["tools"][1]["cache_control"]
    for at in (2, 4):
        del written["messages"][at]["content"][-1]["cache_control"]
    assert plain["tools"] == written["tools"]
    assert plain["messages"] == written["messages"]


def test_the_time_is_said() -> None:
    written = input_to_anthropic(given(*TALK), cache="1h")
    assert written["system"][0]["cache_control"] == {**MARK, "ttl": "1h"}
    with pytest.raises(UsageError, match="'5m', '1h', or None"):
        input_to_anthropic(given(*TALK), cache="2h")  # type: ignore[arg-type]


@pytest.mark.parametrize("fields", [{"left_out": ["m"]}, {"shortened": ["m"]}, {"more": True}])
def test_messages_that_do_not_stay_are_not_marked(fields: dict[str, Any]) -> None:
    assert marked(input_to_anthropic(given(*TALK, **fields))) == ["/system/0", "/tools/1"]


def test_marks_that_were_stored_go_and_what_is_stored_stays() -> None:
    block = {"type": "text", "text": "x", "cache_control": {**MARK, "ttl": "1h"}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": [block]}
    call = {"type": "tool_use", "id": "1", "name": "a", "input": {}, "cache_control": MARK}
    came = [
        {"role": "user", "content": [block, block]},
        {"role": "assistant", "content": [block, call]},
        {"role": "user", "content": [result, block]},
        {"role": "assistant", "content": [block]},
        {"role": "user", "content": "so?"},
    ]
    messages = [as_shown(message) for message in from_anthropic(came)]
    written = input_to_anthropic(given(messages=messages))
    assert marked(written["messages"]) == ["/2/content/1", "/4/content/0"]
    assert written["messages"][2]["content"][1]["cache_control"] == MARK
    assert input_to_anthropic(given(messages=messages), cache=None)["messages"][:4] == came[:4]


def as_shown(new: NewMessage) -> ModelMessage:
    return ModelMessage(role=new.role, parts=new.parts, metadata=new.metadata)


def test_what_takes_no_mark_gets_none() -> None:
    unknown = {"type": "container_upload", "file_id": "f"}
    [message] = from_anthropic(
        {"role": "user", "content": [{"type": "text", "text": "x"}, unknown]}
    )
    [alone] = from_anthropic({"role": "user", "content": [unknown]})
    written = input_to_anthropic(given(messages=[as_shown(message)]))
    assert marked(written["messages"]) == ["/0/content/0"]
    assert marked(input_to_anthropic(given(messages=[as_shown(alone)]))["messages"]) == []


@pytest.mark.parametrize("vendor", ["openai_chat", "openai_responses"])
def test_openai_gets_a_key(vendor: str) -> None:
    write = getattr(formats, f"input_to_{vendor}")
    assert write(given(*TALK, cache_key="k"))["prompt_cache_key"] == "k"
    assert "prompt_cache_key" not in write(given(*TALK, cache_key="k"), cache=False)
    assert "prompt_cache_key" not in write(given(*TALK))
