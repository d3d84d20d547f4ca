from __future__ import annotations

from typing import Any

import pytest

from sapwood import (
    AsyncSession,
    AsyncSessionManager,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from sapwood.compaction import create_compact_function
from sapwood.errors import ContextOverflowError, UsageError
from sapwood.model import ModelInput, ToolDefinition

LONG = "a long story about the harbour " * 20


async def test_five_lines_give_what_a_model_is_called_with(chat: AsyncSession) -> None:
    await chat.append("user", "Where is my order?")
    answer = await chat.append("assistant", "It left the warehouse today.")
    given = await chat.prepare()
    assert (given.prompt, given.tools, given.updates) == ("", [], "")
    assert [(m.role, m.text) for m in given.messages] == [
        ("user", "Where is my order?"),
        ("assistant", "It left the warehouse today."),
    ]
    assert (given.leaf, given.left_out, given.shortened, given.budget) == (answer.id, [], [], None)
    assert given.tokens == (await chat.record()).context_tokens


async def test_a_summary_and_its_pins_are_shown(chat: AsyncSession) -> None:
    messages = await chat.append_all([("user", f"message {n}") for n in range(5)])
    await chat.pin(messages[1])
    await chat.add_overlay(messages[0], messages[3], "Four messages.")
    given = await chat.prepare()
    assert [message.id for message in given.messages] == [None, messages[1].id, messages[4].id]
    assert "Four messages." in given.messages[0].text


async def test_a_call_without_a_result_is_answered_as_interrupted(chat: AsyncSession) -> None:
    call = ToolCallPart(call_id="c", name="sail", input={"to": "sea"})
    await chat.append("user", "go")
    await chat.append("assistant", [ReasoningPart(text="hm"), call])
    [_, said, interrupted] = (await chat.prepare()).messages
    assert said.parts[1] == call
    [result] = interrupted.parts
    assert isinstance(result, ToolResultPart)
    assert (result.call_id, result.is_error, interrupted.id) == ("c", True, None)
    # When the result comes, it takes its place.
    await chat.append("tool", ToolResultPart(call_id="c", output="at sea"))
    assert (await chat.prepare()).messages[-1].parts == [
        ToolResultPart(call_id="c", output="at sea")
    ]


async def test_a_result_without_its_call_is_not_shown(chat: AsyncSession) -> None:
    call = await chat.append("assistant", ToolCallPart(call_id="c", name="sail", input={}))
    await chat.append("tool", ToolResultPart(call_id="c", output="at sea"))
    await chat.append("user", "and now?")
    await chat.delete(call)
    assert [message.text for message in (await chat.prepare()).messages] == ["and now?"]


async def test_the_last_question_is_shown_whole_or_not_at_all(chat: AsyncSession) -> None:
    await chat.append("user", "Read this: " + "word " * 5_000 + " What does it say?")
    with pytest.raises(ContextOverflowError, match="budget is 1000"):
        await chat.prepare(budget=1_000)
    whole = await chat.prepare(budget=6_000)
    assert (whole.shortened, whole.left_out) == ([], [])


async def test_what_is_given_stays_within_the_budget_and_says_what_is_missing(
    sessions: AsyncSessionManager,
) -> None:
    sessions.with_context("soul", default="Be brief.", readonly=True)
    chat = await sessions.session("chat", budget=1_000)
    messages = await chat.append_all([("user", LONG), ("assistant", LONG)] * 10)
    last = await chat.append("user", "so?")
    given = await chat.prepare()
    assert given.budget == 1_000
    assert given.tokens <= 1_000
    assert given.messages[-1].id == last.id
    shown = {message.id for message in given.messages}
    assert shown | set(given.left_out) == {message.id for message in [*messages, last]}
    assert (await chat.prepare(budget=100_000)).left_out == []
    assert (await chat.history(overlays=False)).entries == [*messages, last]


async def test_tools_of_ones_own_are_given_along_and_counted(chat: AsyncSession) -> None:
    tool = ToolDefinition(name="sail", description="Go to sea. " * 50, schema={"type": "object"})
    await chat.append("user", "go")
    plain, more = await chat.prepare(), await chat.prepare(tools=[tool])
    assert (plain.tools, more.tools) == ([], [tool])
    assert more.tokens > plain.tokens + 100
    with pytest.raises(ContextOverflowError, match="tools alone"):
        await chat.prepare(tools=[tool], budget=50)
    with pytest.raises(UsageError, match=r"tools\[0\]"):
        await chat.prepare(tools=[{"name": "sail"}])  # type: ignore[list-item]
    assert await chat.call_model(lambda given: given.tools, tools=[tool]) == [tool]


@pytest.mark.parametrize(
    ("tools", "where"),
    [
        ([("update_context", {})], r"tools\[0\].*'update_context'"),
        ([("sail", {}), ("sail", {})], r"tools\[1\].*'sail'"),
        ([("", {})], r"tools\[0\].name"),
        ([(None, {})], r"tools\[0\].name"),
        ([("sail", None)], r"tools\[0\].schema"),
        (None, "tools"),
        ("sail", "tools"),
    ],
)
async def test_tools_that_a_model_could_not_tell_apart_are_refused(
    chat: AsyncSession, tools: Any, where: str
) -> None:
    chat.with_context("memory")
    if isinstance(tools, list):
        tools = [ToolDefinition(name=name, description="", schema=it) for name, it in tools]
    with pytest.raises(UsageError, match=where):
        await chat.prepare(tools=tools)


async def test_what_cannot_fit_is_a_clear_error(sessions: AsyncSessionManager) -> None:
    sessions.with_context("soul", default="Be brief. " * 200, readonly=True)
    chat = await sessions.session("chat")
    await chat.append("user", "so?")
    with pytest.raises(ContextOverflowError, match="prompt and the tools alone need"):
        await chat.prepare(budget=100)
    with pytest.raises(UsageError, match="budget"):
        await chat.prepare(budget=0)


async def test_changes_of_blocks_do_not_drive_the_last_step_out(
    sessions: AsyncSessionManager,
) -> None:
    sessions.with_context("memory", max_tokens=1_000)
    chat = await sessions.session("chat")
    await chat.append("user", "go")
    await chat.prepare()
    for n in range(3):
        call = ToolCallPart(call_id=f"c{n}", name="look", input={})
        await chat.append("assistant", call)
        await chat.append("tool", ToolResultPart(call_id=f"c{n}", output=f"found {n} " * 400))
    await chat.replace_context_block("memory", "likes tea " * 20)
    given = await chat.prepare(budget=800)
    assert given.tokens <= 800
    assert [message.role for message in given.messages] == ["user", "assistant", "tool"]
    assert "found 2" in str(given.messages[2].parts)
    assert "likes tea" in given.updates
    await chat.append("user", "and now?")
    given = await chat.prepare(budget=800)
    assert given.tokens <= 800
    assert "likes tea" in given.messages[-1].text
    with pytest.raises(ContextOverflowError):
        await chat.prepare(budget=100)
    # Whatever room there is, it is counted.
    for budget in range(given.tokens, 3_000, 40):
        assert (await chat.prepare(budget=budget)).tokens <= budget


async def test_without_a_cached_prompt_every_call_has_the_blocks_as_they_are(
    sessions: AsyncSessionManager,
) -> None:
    sessions.with_context("memory", default="nothing yet").with_cached_prompt(False)
    chat = await sessions.session("chat")
    assert "nothing yet" in (await chat.prepare()).prompt
    await chat.replace_context_block("memory", "likes tea")
    given = await chat.prepare()
    assert "likes tea" in given.prompt
    assert given.updates == ""


async def test_a_full_context_is_compacted_before_the_model_is_called(
    sessions: AsyncSessionManager,
) -> None:
    chat = await sessions.session("chat")
    await chat.append_all([("user", LONG)] * 20)
    function = create_compact_function(lambda prompt: "short", tail_token_budget=200)
    chat.compact_with(function).compact_after(1_000)
    given = await chat.prepare()
    assert given.tokens < 1_000
    assert len(await chat.compactions()) == 1
    assert [note.reason for note in await chat.compactions()] == ["threshold"]


class Fussy:
    """A model that takes so many tokens and no more."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.given: list[ModelInput] = []

    def __call__(self, given: ModelInput) -> str:
        self.given.append(given)
        if given.tokens > self.most:
            raise RuntimeError(f"maximum context length is {self.most} tokens")
        return "an answer"


def short(**more: Any) -> Any:
    return create_compact_function(lambda prompt: "short", tail_token_budget=200, **more)


async def test_an_overflow_is_compacted_and_tried_once_more(chat: AsyncSession) -> None:
    await chat.append_all([("user", LONG)] * 20)
    model = Fussy(1_000)
    assert await chat.compact_with(short()).call_model(model) == "an answer"
    assert [given.tokens > 1_000 for given in model.given] == [True, False]
    assert [note.reason for note in await chat.compactions()] == ["overflow"]


async def test_an_overflow_that_stays_is_a_clear_error(chat: AsyncSession) -> None:
    await chat.append_all([("user", LONG)] * 20)
    model = Fussy(10)
    with pytest.raises(ContextOverflowError, match="even after a compaction") as caught:
        await chat.compact_with(short()).call_model(model)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert len(model.given) == 2
    with pytest.raises(ContextOverflowError, match="cannot be compacted"):
        await chat.call_model(model)


async def test_another_error_is_not_tried_again(chat: AsyncSession) -> None:
    calls: list[ModelInput] = []

    def fail(given: ModelInput) -> None:
        calls.append(given)
        raise OSError("rate limit reached: tokens per minute")

    await chat.append("user", "hello")
    with pytest.raises(OSError, match="rate limit"):
        await chat.call_model(fail)
    assert len(calls) == 1


async def test_what_was_unloaded_is_not_shown(sessions: AsyncSessionManager) -> None:
    class Skills:
        def get(self) -> str:
            return "- sail: how to sail"

        def load(self, key: str) -> str | None:
            return "First, find a boat." if key == "sail" else None

    sessions.with_context("skills", provider=Skills())
    chat = await sessions.session("chat")
    arguments = {"label": "skills", "key": "sail"}
    call = ToolCallPart(call_id="c", name="load_context", input=arguments)
    await chat.append("assistant", call)
    output = await chat.call_tool("load_context", arguments)
    stored = await chat.append("tool", ToolResultPart(call_id="c", output=output))
    assert "find a boat" in str((await chat.prepare()).messages[-1].parts)
    await chat.call_tool("unload_context", arguments)
    again = await sessions.get("chat")
    assert "find a boat" not in str((await again.prepare()).messages[-1].parts)
    assert (await again.get(stored.id)).parts == stored.parts
    await again.load_context("skills", "sail")
    assert "find a boat" in str((await again.prepare()).messages[-1].parts)


async def test_text_only_parts_are_shown_as_they_are(chat: AsyncSession) -> None:
    stored = await chat.append(
        "user", [TextPart(text="look"), {"type": "image_url", "image_url": {"url": "x"}}]
    )
    [message] = (await chat.prepare()).messages
    assert message.parts == stored.parts
