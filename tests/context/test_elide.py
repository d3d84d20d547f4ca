"""What is not loaded is not shown; nothing stored is changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.context import elide_unloaded
from sapwood.model import (
    ModelMessage,
    OtherPart,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    part_from_json,
)

GONE = "['a' was unloaded; load it again to read it]"
LATER = "['a' was loaded again; its text is further down]"


def call(id: str, key: str = "a", name: str = "load_context", label: str = "skills") -> Part:
    return ToolCallPart(call_id=id, name=name, input={"label": label, "key": key})


def result(id: str, output: object = "text") -> ToolResultPart:
    return ToolResultPart(call_id=id, output=output)


def messages_of(*parts: Part) -> list[ModelMessage]:
    return [ModelMessage(role="assistant", parts=[part]) for part in parts]


def outputs(messages: list[ModelMessage]) -> list[object]:
    parts = [part for message in messages for part in message.parts]
    return [part.output for part in parts if isinstance(part, ToolResultPart)]


def test_what_is_loaded_is_shown() -> None:
    messages = messages_of(call("1"), result("1"))
    assert elide_unloaded(messages, [("skills", "a")]) == messages


def test_what_is_not_loaded_is_a_mark() -> None:
    messages = messages_of(call("1"), result("1"), call("2", "b"), result("2"))
    shown = elide_unloaded(messages, [("skills", "b")])
    assert outputs(shown) == [GONE, "text"]
    assert outputs(messages) == ["text", "text"]


def test_of_several_loads_only_the_newest_is_shown() -> None:
    messages = messages_of(call("1"), result("1", "old"), call("2"), result("2", "new"))
    assert outputs(elide_unloaded(messages, [("skills", "a")])) == [LATER, "new"]
    assert outputs(elide_unloaded(messages, [])) == [GONE, GONE]


def test_a_result_belongs_to_the_nearest_call_before_it() -> None:
    messages = messages_of(
        call("1"),
        result("1"),
        ToolCallPart(call_id="1", name="weather", input={}),
        result("1", "rain"),
        call("1", "b"),
        result("1", "text of b"),
    )
    assert outputs(elide_unloaded(messages, [("skills", "b")])) == [GONE, "rain", "text of b"]


def test_other_tools_and_other_blocks_are_left_alone() -> None:
    messages = messages_of(
        call("1", name="unload_context"),
        result("1", "Unloaded"),
        call("2", label="other"),
        result("2"),
        result("never called"),
        TextPart(text="hello"),
    )
    assert elide_unloaded(messages, [("other", "a")]) == messages
    assert elide_unloaded(messages, [("skills", "a")]) != messages


def test_an_answer_that_there_is_none_is_no_text() -> None:
    failed = ToolResultPart(call_id="2", output="no such thing", is_error=True)
    messages = messages_of(
        call("1"), result("1", "Error: 'skills' has no entry 'a'."), call("2"), failed
    )
    assert elide_unloaded(messages, []) == messages
    again = [*messages_of(call("0"), result("0")), *messages]
    assert outputs(elide_unloaded(again, [("skills", "a")]))[0] == "text"


def test_a_long_text_that_begins_like_an_error_is_a_text() -> None:
    messages = messages_of(call("1"), result("1", "Error: " + "how to read them " * 100))
    assert outputs(elide_unloaded(messages, [])) == [GONE]


@pytest.mark.parametrize(
    "given", ['{"label": "skills", "key": "a"}', {"label": "SKILLS", "key": "a"}]
)
def test_arguments_may_be_json_and_labels_in_capitals(given: object) -> None:
    messages = messages_of(ToolCallPart(call_id="1", name="load_context", input=given), result("1"))
    assert outputs(elide_unloaded(messages, [])) == [GONE]
    assert elide_unloaded(messages, [("skills", "a")]) == messages


@pytest.mark.parametrize("given", ["{", "7", None, {"label": "skills"}, {"label": 1, "key": "a"}])
def test_a_call_that_makes_no_sense_is_left_alone(given: object) -> None:
    messages = messages_of(ToolCallPart(call_id="1", name="load_context", input=given), result("1"))
    assert elide_unloaded(messages, []) == messages


@pytest.mark.parametrize(
    "part",
    [
        {"type": "tool-load_context"},
        {"type": "dynamic-tool", "toolName": "load_context"},
    ],
)
def test_parts_of_the_ai_sdk_are_known(part: dict[str, object]) -> None:
    # L11: static parts have no toolName, and were not recognised.
    value = {
        **part,
        "toolCallId": "1",
        "state": "output-available",
        "input": {"label": "skills", "key": "a"},
        "output": "text",
    }
    messages = messages_of(part_from_json(value))
    [shown] = elide_unloaded(messages, [])
    assert shown.parts == [OtherPart(value={**value, "output": GONE})]
    assert elide_unloaded(messages, [("skills", "a")]) == messages
    unfinished = messages_of(part_from_json({**value, "state": "input-available", "output": None}))
    assert elide_unloaded(unfinished, []) == unfinished


def test_what_else_a_result_has_stays() -> None:
    part = ToolResultPart(call_id="1", output="text", extra={"cache": {"ttl": 5}})
    [_, shown] = elide_unloaded(messages_of(call("1"), part), [])
    assert shown.parts == [ToolResultPart(call_id="1", output=GONE, extra={"cache": {"ttl": 5}})]


EVENTS = st.lists(st.tuples(st.sampled_from(["load", "unload", "say"]), st.sampled_from("ab")))


@given(EVENTS)
def test_exactly_the_newest_text_of_what_is_loaded_is_shown(
    events: list[tuple[str, str]],
) -> None:
    messages: list[ModelMessage] = []
    loaded: dict[str, int] = {}
    for number, (what, key) in enumerate(events):
        if what == "load":
            text = result("id", f"text {number}")
            messages += messages_of(call("id", key), text)
            loaded[key] = number
        elif what == "unload":
            messages += messages_of(call("id", key, "unload_context"), result("id", "ok"))
            loaded.pop(key, None)
        else:
            messages += messages_of(TextPart(text="hm"))
    keys = [("skills", key) for key in loaded]
    shown = elide_unloaded(messages, keys)
    texts = [out for out in outputs(shown) if str(out).startswith("text")]
    assert texts == [f"text {number}" for number in sorted(loaded.values())]
    assert elide_unloaded(shown, keys) == shown
    assert len(shown) == len(messages)
