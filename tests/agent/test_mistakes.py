"""What is given to an agent by mistake is answered with what to do, before a model is asked."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pytest

import sapwood
from sapwood.agent import (
    Agent,
    AnthropicMessages,
    AsyncAgent,
    AsyncAnthropicMessages,
    AsyncOpenAIChat,
    AsyncOpenAIResponses,
    OpenAIChat,
    OpenAIResponses,
    tool,
)
from sapwood.errors import UsageError

OPENAI = openai.OpenAI(api_key="a-key")
ASYNC_OPENAI = openai.AsyncOpenAI(api_key="a-key")
CLAUDE = anthropic.Anthropic(api_key="a-key")
ASYNC_CLAUDE = anthropic.AsyncAnthropic(api_key="a-key")


make: Any = Agent


async def later(text: str) -> str:
    return text


def add(one: int, two: int = 2) -> int:
    """Add two numbers."""
    return one + two


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "client": (lambda: Agent(OPENAI), r"wrap it, OpenAIChat\(client, "),
    "async client": (lambda: AsyncAgent(ASYNC_OPENAI), r"wrap it, AsyncOpenAIChat\(client, "),
    "other client": (lambda: Agent(CLAUDE), r"wrap it, AnthropicMessages\(client, "),
    "name": (lambda: Agent("gpt-5"), r"as OpenAIChat\(openai.OpenAI\(\), 'gpt-5'\)"),
    "swapped": (lambda: OpenAIChat("gpt-5", "x"), r"client is a str, .* OpenAIChat\(client, model"),
    "vendor": (lambda: AnthropicMessages(OPENAI, "x"), r"has no messages\.create"),
    "async in sync": (
        lambda: OpenAIChat(ASYNC_OPENAI, "x"),
        r"take AsyncOpenAIChat, or .* without",
    ),
    "async responses": (lambda: OpenAIResponses(ASYNC_OPENAI, "x"), r"take AsyncOpenAIResponses"),
    "async claude": (lambda: AnthropicMessages(ASYNC_CLAUDE, "x"), r"take AsyncAnthropicMessages"),
    "sync in async": (lambda: AsyncOpenAIChat(OPENAI, "x"), r"take OpenAIChat, or .* with await"),
    "sync claude": (lambda: AsyncAnthropicMessages(CLAUDE, "x"), r"take AnthropicMessages"),
    "sync responses": (lambda: AsyncOpenAIResponses(OPENAI, "x"), r"take OpenAIResponses"),
    "async tool": (
        lambda: Agent(str, tools=[later]),
        r"tool 'later' has to be awaited.*AsyncAgent",
    ),
    "async model": (lambda: Agent(later), r"model has to be awaited.*take AsyncAgent"),
    "async agent": (lambda: Agent(str, tools=[AsyncAgent(str)]), r"an AsyncAgent: take Agent"),
    "sync agent": (lambda: AsyncAgent(str, tools=[Agent(str)]), r"is an Agent: take AsyncAgent"),
    "lambda": (lambda: Agent(str, tools=[lambda one: one]), r"no name: use tool\(name=\.\.\.\)"),
    "partial": (
        lambda: Agent(str, tools=[functools.partial(add, two=3)]),
        r"no name: use tool\(name=\.\.\.\)",
    ),
    "dict": (lambda: Agent(str, tools=[{"name": "add"}]), r"a tool is a dict: give a function"),
    "keyword": (lambda: make(str, instruction="x"), r"did you mean 'instructions'"),
    "run": (lambda: make(str).run("?", sesion="chat"), r"'sesion': did you mean 'session'"),
    "resume": (lambda: make(str).resume("chat", aprove=True), r"did you mean 'approve'"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_with_what_to_do(mistake: str) -> None:
    attempt, told = MISTAKES[mistake]
    with pytest.raises(UsageError, match=told):
        attempt()


def test_a_partial_function_with_a_name_is_a_tool() -> None:
    made = tool(name="add_three")(functools.partial(add, two=3))
    assert made.definition.schema["properties"]["one"] == {"type": "integer"}
    assert made.function(one=1) == 4


def test_an_async_tool_is_taken_where_it_is_awaited() -> None:
    AsyncAgent(later, tools=[later, add])


def test_a_stream_of_parts_names_what_it_cannot_take() -> None:
    def model(given: Any) -> Any:
        yield sapwood.TextPart(text="a")
        yield 5

    with (
        sapwood.open("memory://") as sessions,
        pytest.raises(UsageError, match="gave an int after"),
    ):
        Agent(model, sessions=sessions).run("?")
