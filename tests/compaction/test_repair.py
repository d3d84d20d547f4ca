"""What a model is given is valid, whatever came in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.compaction import SUMMARY_HEADING, is_valid_input, model_messages, repair_messages
from sapwood.model import Entry, ModelMessage, Part, TextPart, ToolCallPart, ToolResultPart

from . import histories
from .histories import call, result, said, shown, summed_up


def outline(messages: list[ModelMessage]) -> list[str]:
    """Write messages down: `a+` is a call, `a` its result, `a!` one that failed."""
    return [
        f"{message.role}: {' '.join(_short(part) for part in message.parts)}"
        for message in messages
    ]


def _short(part: Part) -> str:
    match part:
        case TextPart(text=text):
            return repr(text)
        case ToolCallPart(call_id=id):
            return f"{id}+"
        case ToolResultPart(call_id=id, is_error=is_error):
            return f"{id}!" if is_error else id
        case _:
            return "?"


def repaired(*entries: Entry) -> list[str]:
    return outline(repair_messages(shown(*entries)))


def test_what_is_valid_is_not_touched() -> None:
    messages = shown(
        said("go"), call("a", "b"), result("a"), result("b"), said("ok", "assistant"), call("a"),
        result("a", is_error=True), said("bye"),
    )  # fmt: skip
    again = repair_messages(messages)
    assert all(new is old for new, old in zip(again, messages, strict=True))


def test_a_result_without_its_call_before_it_is_dropped() -> None:
    assert repaired(result("a"), said("go"), call("a"), result("a")) == [
        "user: 'go'",
        "assistant: a+",
        "tool: a",
    ]


def test_only_the_lost_result_goes_from_a_message() -> None:
    assert repaired(call("a"), result("x", "a")) == ["assistant: a+", "tool: a"]


def test_an_unanswered_call_is_followed_by_interrupted_after_the_other_results() -> None:
    messages = repair_messages(shown(call("a", "b", "c"), result("b"), said("well?")))
    assert outline(messages) == [
        "assistant: a+ b+ c+",
        "tool: b",
        "tool: a!",
        "tool: c!",
        "user: 'well?'",
    ]
    [stub] = messages[2].parts
    assert isinstance(stub, ToolResultPart)
    assert stub.output.startswith("[interrupted: ")
    assert messages[2].id is None


def test_results_that_came_late_are_moved_up() -> None:
    assert repaired(call("a"), said("hm"), said("yes", "assistant"), result("a"), said("x")) == [
        "assistant: a+",
        "tool: a",
        "user: 'hm'",
        "assistant: 'yes'",
        "user: 'x'",
    ]


def test_calls_in_messages_of_their_own_get_their_results_each() -> None:
    assert repaired(call("a"), call("b"), result("a"), result("b")) == [
        "assistant: a+",
        "tool: a",
        "assistant: b+",
        "tool: b",
    ]


def test_the_first_of_several_results_counts() -> None:
    messages = repair_messages(shown(call("a"), result("a", output=1), result("a", output=2)))
    assert [part.output for message in messages[1:] for part in message.parts] == [1]  # type: ignore[union-attr]


def test_a_call_given_twice_in_one_message_is_made_once() -> None:
    assert repaired(call("a", "a"), result("a", "a")) == ["assistant: a+", "tool: a"]


def test_an_id_used_again_gets_its_own_result() -> None:
    assert repaired(call("a"), call("a"), result("a")) == [
        "assistant: a+",
        "tool: a!",
        "assistant: a+",
        "tool: a",
    ]


def test_empty_messages_are_dropped() -> None:
    assert repaired(said([]), said("go"), result("x")) == ["user: 'go'"]


def test_a_result_in_the_message_of_its_call_stays_there() -> None:
    both = [*call("a").parts, *result("a").parts, TextPart(text="so")]
    assert repaired(said(both, "assistant"), said("x")) == ["assistant: a+ a 'so'", "user: 'x'"]


def test_a_users_message_of_results_and_text_stays_whole() -> None:
    mixed = said([*result("a").parts, TextPart(text="and then?")])
    assert repaired(call("a"), mixed) == ["assistant: a+", "user: a 'and then?'"]
    assert repaired(call("a", "b"), result("b"), mixed) == [
        "assistant: a+ b+",
        "tool: b",
        "user: a 'and then?'",
    ]


def test_a_message_of_results_and_text_is_split_where_it_cannot_stay() -> None:
    mixed = said([*result("a").parts, TextPart(text="and?")], id="mixed")
    late = said([TextPart(text="and?"), *result("a").parts])
    split = ["assistant: a+", "tool: a", "user: 'and?'"]
    assert repaired(call("a"), late) == split
    assert repaired(call("a", "b"), mixed) == [
        "assistant: a+ b+",
        "tool: a",
        "tool: b!",
        "user: 'and?'",
    ]
    assert repaired(call("a", "b"), mixed, result("b")) == [
        "assistant: a+ b+",
        "tool: a",
        "tool: b",
        "user: 'and?'",
    ]
    assert [message.id for message in repair_messages(shown(call("a", "b"), mixed))][1:] == [
        None,
        None,
        "mixed",
    ]


def test_a_model_that_speaks_in_the_message_of_a_result_speaks_after_it() -> None:
    mixed = said([*result("a").parts, *call("b").parts], "assistant")
    assert repaired(call("a"), mixed, result("b")) == [
        "assistant: a+",
        "tool: a",
        "assistant: b+",
        "tool: b",
    ]


def test_metadata_ids_and_roles_are_kept() -> None:
    message = ModelMessage(
        id="m1", role="tool", parts=[*result("x").parts, *result("a").parts], metadata={"k": 1}
    )
    [_, kept] = repair_messages([*shown(call("a")), message])
    assert (kept.id, kept.role, kept.metadata) == ("m1", "tool", {"k": 1})


def test_the_checker_knows_what_is_wrong() -> None:
    text = TextPart(text="x")
    wrong = [
        [said([])],
        [result("a")],
        [call("a")],
        [call("a"), said("x"), result("a")],
        [call("a", "a"), result("a")],
        [call("a"), result("a"), result("a")],
        [call("a", "b"), said([*result("a").parts, text]), result("b")],
        [call("a"), said([text, *result("a").parts])],
        [call("a"), said([*result("a").parts, text], "assistant")],
        [call("a"), call("b"), result("a"), result("b")],
    ]
    for entries in wrong:
        assert not is_valid_input(shown(*entries))
    assert is_valid_input([])


conversations = st.lists(
    st.one_of(histories.messages().map(lambda m: [m]), histories.steps()), max_size=12
)


@given(conversations)
def test_what_comes_out_is_valid_and_stays_as_it_is(groups: list[list[Entry]]) -> None:
    messages = shown(*(entry for group in groups for entry in group))
    once = repair_messages(messages)
    assert is_valid_input(once)
    assert repair_messages(once) == once
    if is_valid_input(messages):
        assert once == messages


@given(conversations)
def test_nothing_but_tool_parts_is_touched(groups: list[list[Entry]]) -> None:
    messages = shown(*(entry for group in groups for entry in group))
    once = repair_messages(messages)
    texts = [(m.id, m.role, p) for m in messages for p in m.parts if isinstance(p, TextPart)]
    assert [(m.id, m.role, p) for m in once for p in m.parts if isinstance(p, TextPart)] == texts
    before = [part for message in messages for part in message.parts]
    for message in once:
        for part in message.parts:
            stub = isinstance(part, ToolResultPart) and str(part.output).startswith("[interrupted")
            assert stub or any(part is known for known in before)
    calls = {(m.id, p.call_id) for m in messages for p in m.parts if isinstance(p, ToolCallPart)}
    kept = {(m.id, p.call_id) for m in once for p in m.parts if isinstance(p, ToolCallPart)}
    assert kept == calls


def test_entries_become_what_a_model_is_shown() -> None:
    pin = said("never forget")
    entries = [said("hello", id="m1"), summed_up("We met.", pin), said("hi", "assistant")]
    messages = model_messages(entries)
    assert [(message.id, message.role, message.text) for message in messages] == [
        ("m1", "user", "hello"),
        (None, "user", SUMMARY_HEADING + "We met."),
        (pin.id, "user", "never forget"),
        (entries[2].id, "assistant", "hi"),  # type: ignore[attr-defined]
    ]
    assert SUMMARY_HEADING == "[Summary of the conversation so far]\n"
