"""Wherever calls and results stand among the messages, they are written where they must."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import NewMessage, TextPart, ToolCallPart, ToolResultPart, formats
from sapwood.model import Part

from . import rules
from .test_across import RULES, SENDABLE, TYPES, shown_of
from .test_round_trip import FORMATS, Format
from .typed import misfit
from .values import Json


@st.composite
def scattered(draw: st.DrawFn) -> list[NewMessage]:
    """Messages in which every call has one result, anywhere after it, in a message of any role."""
    rows: list[list[Part]] = [[] for _ in range(draw(st.integers(1, 7)))]
    roles = [draw(st.sampled_from(["user", "assistant", "tool", "system"])) for _ in rows]
    for number in range(draw(st.integers(0, 4))):
        call = draw(st.integers(0, len(rows) - 1))
        result = draw(st.integers(call, len(rows) - 1))
        id = f"call_{number}"
        rows[call].append(ToolCallPart(call_id=id, name="search", input={"n": number}))
        rows[result].append(ToolResultPart(call_id=id, output=f"found {number}"))
    for number, row in enumerate(rows):
        if draw(st.booleans()):
            row.insert(draw(st.integers(0, len(row))), TextPart(text=f"said {number}"))
    return [NewMessage(role=role, parts=row) for role, row in zip(roles, rows, strict=True) if row]


@pytest.mark.parametrize("target", SENDABLE, ids=lambda format: format.name)
def test_scattered_results_are_brought_to_their_calls(target: Format) -> None:
    @given(scattered())
    def check(messages: list[NewMessage]) -> None:
        written = target.write(messages, wire=True)
        assert misfit(written, TYPES[target.name]) is None
        RULES[target.name](written)
        text = str(written)
        for message in messages:
            for part in message.parts:
                said = part.text if isinstance(part, TextPart) else None
                said = part.output if isinstance(part, ToolResultPart) else said
                assert said is None or text.count(said) == 1

    check()


@given(scattered())
def test_scattered_results_are_shown_in_the_part_of_their_call(messages: list[NewMessage]) -> None:
    written = formats.to_ai_sdk(messages)
    rules.check_ui(written)
    calls = sum(isinstance(part, ToolCallPart) for it in messages for part in it.parts)
    parts = [part for message in written for part in message["parts"] if "toolCallId" in part]
    assert len(parts) == calls
    assert all(part["output"] == f"found {part['input']['n']}" for part in parts)


@pytest.mark.parametrize("target", SENDABLE, ids=lambda format: format.name)
def test_a_conversation_from_several_vendors_is_valid_for_one(target: Format) -> None:
    others = [format for format in FORMATS if format.name != target.name]

    @given(st.tuples(*(format.conversations for format in others)))
    def check(conversations: tuple[list[Json], ...]) -> None:
        shown = [
            message
            for format, values in zip(others, conversations, strict=True)
            for message in shown_of(format, values)
        ]
        written = target.write(shown, wire=True)
        assert misfit(written, TYPES[target.name]) is None
        RULES[target.name](written)

    check()


def call(id: str) -> ToolCallPart:
    return ToolCallPart(call_id=id, name="search", input={})


def result(id: str) -> ToolResultPart:
    return ToolResultPart(call_id=id, output=f"of {id}")


def said(role: str, *parts: Part | str) -> NewMessage:
    return NewMessage(
        role=role, parts=[TextPart(text=it) if isinstance(it, str) else it for it in parts]
    )


def outline(messages: list[Json]) -> list[Any]:
    """Give roles, with the ids of calls and results."""
    lines: list[Any] = []
    for message in messages:
        calls = [it["id"] for it in message.get("tool_calls", [])]
        lines.append((message["role"], *calls, *filter(None, [message.get("tool_call_id")])))
    return lines


def test_calls_side_by_side_become_one_message() -> None:
    messages = [said("assistant", call("a")), said("assistant", call("b"))]
    messages += [said("tool", result("b")), said("tool", result("a"))]
    written = formats.to_openai_chat(messages)
    assert outline(written) == [("assistant", "a", "b"), ("tool", "b"), ("tool", "a")]
    assert [it["role"] for it in formats.to_anthropic(messages)] == ["assistant", "user"]


def test_what_was_said_between_a_call_and_its_result_comes_after_it() -> None:
    messages = [said("assistant", call("a")), said("user", "hurry"), said("tool", result("a"))]
    assert outline(formats.to_openai_chat(messages)) == [
        ("assistant", "a"),
        ("tool", "a"),
        ("user",),
    ]


def test_results_that_a_user_hands_in_with_text_become_messages_before_it() -> None:
    messages = [
        said("assistant", call("a"), call("b")),
        said("user", "so", result("a"), result("b")),
    ]
    written = formats.to_openai_chat(messages)
    assert outline(written) == [("assistant", "a", "b"), ("tool", "a"), ("tool", "b"), ("user",)]
    assert written[-1]["content"] == "so"


def test_the_steps_of_one_message_become_messages() -> None:
    step = formats.from_ai_sdk({"id": "m", "role": "assistant", "parts": [{"type": "step-start"}]})[
        0
    ].parts[0]
    message = said("assistant", step, "a?", call("a"), result("a"), call("b"), result("b"))
    message = said("assistant", *message.parts, step, call("c"), result("c"), "done")
    assert outline(formats.to_openai_chat([message])) == [
        ("assistant", "a", "b"),
        ("tool", "a"),
        ("tool", "b"),
        ("assistant", "c"),
        ("tool", "c"),
        ("assistant",),
    ]


def test_a_result_belongs_to_the_nearest_call_before_it() -> None:
    messages = [said("assistant", call("a")), said("tool", result("a"))] * 2
    assert outline(formats.to_openai_chat(messages)) == [("assistant", "a"), ("tool", "a")] * 2
    shown = formats.to_ai_sdk(messages)
    assert [part["state"] for it in shown for part in it["parts"]] == ["output-available"] * 2


def test_a_result_before_its_call_in_one_message_is_brought_after_it() -> None:
    for role in ("user", "assistant", "tool", "system"):
        for parts in ([result("a"), call("a")], ["so", result("a"), "now", call("a")]):
            messages = [said("user", "hi"), said(role, *parts)]
            for target in SENDABLE:
                RULES[target.name](target.write(messages, wire=True))
            [part] = [it for it in formats.to_ai_sdk(messages)[1]["parts"] if "toolCallId" in it]
            assert part["output"] == "of a"


def test_a_call_that_uses_the_id_of_a_result_before_it_begins_a_message_of_its_own() -> None:
    messages = [said("assistant", call("a")), said("user", result("a"), call("a"))]
    messages += [said("tool", result("a"))]
    alone = [said("assistant", call("a"), result("a"), call("a"), result("a"))]
    for conversation in (messages, alone):
        written = formats.to_openai_chat(conversation, wire=True)
        assert outline(written) == [("assistant", "a"), ("tool", "a")] * 2
        rules.check_anthropic(formats.to_anthropic(conversation, wire=True))


def test_a_second_result_of_a_call_is_not_lost() -> None:
    messages = [said("assistant", call("a")), said("tool", result("a"), result("a"))]
    [asked, again] = formats.to_ai_sdk(messages)
    assert asked["parts"][0]["output"] == again["parts"][0]["output"] == "of a"


def test_a_call_in_flight_and_a_lost_result_stay_where_they_are() -> None:
    messages = [said("tool", result("x")), said("assistant", call("a")), said("user", "well?")]
    assert outline(formats.to_openai_chat(messages)) == [
        ("tool", "x"),
        ("assistant", "a"),
        ("user",),
    ]
    [lost, flying, _] = formats.to_ai_sdk(messages)
    assert lost["parts"][0]["toolName"] == "unknown"
    assert lost["parts"][0]["output"] == "of x"
    assert flying["parts"][0]["state"] == "input-available"


def test_ids_that_a_vendor_refuses_are_replaced_alike_in_call_and_result() -> None:
    id = "functions.search:0/" + "x" * 60
    messages = [said("user", "hi"), said("assistant", call(id)), said("tool", result(id))] * 2
    chat = formats.to_openai_chat(messages, wire=True)
    rules.check_chat(chat)
    claude = formats.to_anthropic(messages, wire=True)
    rules.check_anthropic(claude)
    rules.check_items(formats.to_openai_responses(messages, wire=True))
    other = formats.to_openai_chat([said("assistant", call(id + "y"))], wire=True)
    assert other[0]["tool_calls"][0]["id"] != chat[1]["tool_calls"][0]["id"]


def test_ids_that_begin_anew_in_every_turn_are_used_once() -> None:
    messages = [said("user", "hi"), said("assistant", call("a")), said("tool", result("a"))] * 3
    messages.append(said("assistant", call("a_2")))
    written = formats.to_anthropic(messages, wire=True)
    used = [it["id"] for message in written for it in message["content"] if "id" in it]
    answered = [it.get("tool_use_id") for message in written for it in message["content"]]
    assert used == ["a", "a_2", "a_3", "a_2_2"]
    assert [id for id in answered if id] == ["a", "a_2", "a_3"]


def test_without_the_limits_of_the_wire_every_id_is_kept() -> None:
    id = "functions.search:0/" + "x" * 60
    messages = [said("assistant", call(id)), said("tool", result(id))]
    assert outline(formats.to_openai_chat(messages)) == [("assistant", id), ("tool", id)]
