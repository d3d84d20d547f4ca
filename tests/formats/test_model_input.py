"""The input for a model goes to a vendor's client as it is."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types import MessageParam, TextBlockParam, ToolParam
from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageParam
from openai.types.responses import FunctionToolParam, ResponseInputItemParam

from sapwood import ROOT, FilePart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart, formats
from sapwood.errors import UsageError
from sapwood.model import ModelInput, ModelMessage, Part, ToolDefinition

from . import rules
from .typed import misfit

TOOL = ToolDefinition(
    name="search", description="Find things.", schema={"type": "object", "properties": {}}
)
IMAGE = FilePart(media_type="image/png", data=b"\0\1\2")


def model_input(
    *messages: tuple[str, list[Part]], prompt: str = "Be kind.", tools: int = 1
) -> ModelInput:
    listed = [ModelMessage(role=role, parts=parts) for role, parts in messages]
    return ModelInput(
        prompt=prompt, messages=listed, tools=[TOOL] * tools, tokens=1, budget=None, leaf=ROOT
    )


def text(text: str) -> list[Part]:
    return [TextPart(text=text)]


WHOLE = model_input(
    ("system", text("Earlier: they met.")),
    ("user", [TextPart(text="Look:"), IMAGE]),
    ("assistant", [ReasoningPart(text="hm"), ToolCallPart(call_id="1", name="search", input={})]),
    ("tool", [ToolResultPart(call_id="1", output={"found": 1}, is_error=True)]),
    ("assistant", text("Nothing.")),
    ("developer", text("Be brief.")),
    ("user", text("Why?")),
)
SYSTEM = "Be kind.\n\nEarlier: they met."


def test_the_input_for_openai_chat() -> None:
    written = formats.input_to_openai_chat(WHOLE)
    assert written.keys() == {"messages", "tools"}
    assert misfit(written["messages"], list[ChatCompletionMessageParam]) is None
    assert misfit(written["tools"], list[ChatCompletionFunctionToolParam]) is None
    assert written["messages"][0] == {"role": "system", "content": "Be kind."}
    roles = [message["role"] for message in written["messages"]]
    assert roles == [
        "system",
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "developer",
        "user",
    ]
    assert written["messages"][3]["content"] == "<reasoning>\nhm\n</reasoning>"
    assert written["messages"][4]["content"] == 'Error: {"found":1}'


def test_the_input_for_openai_responses() -> None:
    written = formats.input_to_openai_responses(WHOLE)
    assert written.keys() == {"instructions", "input", "tools"}
    assert written["instructions"] == "Be kind."
    [output] = [it["output"] for it in written["input"] if "output" in it]
    assert output == 'Error: {"found":1}'
    assert misfit(written["input"], list[ResponseInputItemParam]) is None
    assert misfit(written["tools"], list[FunctionToolParam]) is None


def test_the_input_for_anthropic() -> None:
    assert formats.input_to_anthropic(WHOLE, cache=None)["system"] == SYSTEM
    written = formats.input_to_anthropic(WHOLE)
    assert written.keys() == {"system", "messages", "tools"}
    assert [block["text"] for block in written["system"]] == [SYSTEM]
    assert misfit(written["system"], list[TextBlockParam]) is None
    assert misfit(written["messages"], list[MessageParam]) is None
    assert misfit(written["tools"], list[ToolParam]) is None
    roles = [message["role"] for message in written["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    assert [block["text"] for block in written["messages"][-1]["content"]] == [
        "<system>\nBe brief.\n</system>",
        "Why?",
    ]
    [result] = written["messages"][2]["content"]
    assert (result["is_error"], result["content"]) == (
        True,
        [{"type": "text", "text": '{"found":1}'}],
    )


@pytest.mark.parametrize(
    "write",
    [formats.input_to_openai_chat, formats.input_to_openai_responses, formats.input_to_anthropic],
)
def test_nothing_empty_is_sent(write: Any) -> None:
    empty: list[tuple[str, list[Part]]] = [("user", text("hi")), ("assistant", []), ("user", [])]
    written = write(model_input(*empty, prompt="", tools=0))
    assert len(written) == 1
    [messages] = written.values()
    assert len(messages) == 1


@pytest.mark.parametrize(
    "write",
    [formats.input_to_openai_chat, formats.input_to_openai_responses, formats.input_to_anthropic],
)
def test_reasoning_can_be_left_out(write: Any) -> None:
    assert "hm" in str(write(WHOLE))
    assert "hm" not in str(write(WHOLE, reasoning="omit"))


def test_an_assistant_who_speaks_first_gets_a_user_before_it() -> None:
    written = formats.input_to_anthropic(
        model_input(("assistant", text("Hello!")), ("user", text("hi")))
    )
    assert [message["role"] for message in written["messages"]] == ["user", "assistant", "user"]
    assert written["messages"][0]["content"][0]["text"].startswith("[the conversation begins")


def test_the_text_that_anthropic_goes_on_from_ends_without_white_space() -> None:
    said = text("So: \n")
    written = formats.input_to_anthropic(model_input(("user", text("? ")), ("assistant", said)))
    assert [it["content"][-1]["text"] for it in written["messages"]] == ["? ", "So:"]
    more = model_input(("user", text("?")), ("assistant", said), ("user", text("Well?")))
    assert formats.input_to_anthropic(more)["messages"][1]["content"][0]["text"] == "So: \n"
    kept = formats.from_anthropic({"role": "assistant", "content": "So: \n"})
    assert formats.to_anthropic(kept) == [{"role": "assistant", "content": "So: \n"}]


def test_a_call_of_a_leading_system_message_stands_before_its_result() -> None:
    call = ToolCallPart(call_id="1", name="search", input={})
    result = ToolResultPart(call_id="1", output="found")
    for results in ([("system", [result])], [("user", [result, *text("hi")])]):
        given = model_input(
            ("system", text("Be brief.")), ("system", [*text("Look:"), call]), *results
        )
        written = formats.input_to_anthropic(given)
        rules.check_anthropic(written["messages"])
        assert written["system"][0]["text"] == "Be kind.\n\nBe brief."
        assert "found" in str(written["messages"])


@pytest.mark.parametrize("vendor", ["openai_chat", "openai_responses", "anthropic"])
def test_an_unknown_wish_for_reasoning_is_refused(vendor: str) -> None:
    empty = ModelInput(prompt="", messages=[], tools=[], tokens=0, budget=None, leaf=ROOT)
    for write, given in ((f"input_to_{vendor}", empty), (f"to_{vendor}", [])):
        with pytest.raises(UsageError, match="reasoning"):
            getattr(formats, write)(given, reasoning="zap")


def test_only_role_and_content_go_to_anthropic() -> None:
    reply = {"id": "m", "type": "message", "role": "assistant", "content": "hi", "usage": {}}
    messages = formats.from_anthropic([{"role": "user", "content": "hi"}, reply])
    assert formats.to_anthropic(messages)[1] == reply
    assert formats.to_anthropic(messages, wire=True)[1].keys() == {"role", "content"}


def test_names_that_a_vendor_refuses_are_the_same_in_tools_and_calls() -> None:
    tool = ToolDefinition(name="web.search", description="", schema={"type": "object"})
    call = ToolCallPart(call_id="1", name="web.search", input={})
    given = model_input(("assistant", [call]), ("tool", [ToolResultPart(call_id="1", output="")]))
    given = ModelInput(
        prompt="", messages=given.messages, tools=[tool], tokens=1, budget=None, leaf=ROOT
    )
    chat = formats.input_to_openai_chat(given)
    called = chat["messages"][0]["tool_calls"][0]["function"]["name"]
    assert called == chat["tools"][0]["function"]["name"]
    assert called.startswith("web_search_")
    claude = formats.input_to_anthropic(given)
    assert claude["messages"][1]["content"][0]["name"] == claude["tools"][0]["name"] == called
