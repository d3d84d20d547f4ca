"""A turn is what the user says, and all that follows until the user speaks again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import UsageError
from sapwood.model import (
    ModelMessage,
    NewMessage,
    OtherPart,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from sapwood.rules.turns import place_before_last_turns, turn_starts

TEXT = TextPart(text="hello")
RESULT = ToolResultPart(call_id="c", output="done")
CALL = ToolCallPart(call_id="c", name="look", input={})


def new(role: str, *parts: Part) -> NewMessage:
    return NewMessage(role=role, parts=list(parts))


users = st.sampled_from(
    [
        new("user", TEXT),
        new("user"),
        new("user", RESULT, TEXT),
        new("user", TEXT, RESULT),
        new("user", OtherPart(value={"type": "tool_result_of_ours"})),
    ]
)
others = st.sampled_from(
    [
        new("assistant", TEXT),
        new("assistant", CALL),
        new("assistant"),
        new("tool", RESULT),
        new("user", RESULT),
        new("user", RESULT, RESULT),
        new("system", TEXT),
        new("User", TEXT),
        new("assistant", RESULT),
    ]
)
turns = st.tuples(st.lists(users, min_size=1, max_size=3), st.lists(others, min_size=1, max_size=4))
paths = st.tuples(
    st.lists(others, max_size=2), st.lists(turns, max_size=6), st.lists(users, max_size=2)
)
Path = tuple[list[NewMessage], list[tuple[list[NewMessage], list[NewMessage]]], list[NewMessage]]


def laid_out(path: Path) -> list[list[NewMessage]]:
    """Give a path turn by turn: what stands before the user speaks, turns, an unanswered one."""
    before, middle, last = path
    whole = [before, *[asked + answered for asked, answered in middle], last]
    return [turn for turn in whole if turn]


@given(paths)
def test_each_turn_begins_where_the_user_speaks_after_somebody_else(path: Path) -> None:
    turns = laid_out(path)
    flat = [message for turn in turns for message in turn]
    starts = [sum(map(len, turns[:n])) for n in range(len(turns))]
    assert turn_starts(flat) == starts


@given(paths, st.integers(1, 10))
def test_undoing_turns_leaves_the_turns_before_them_whole(path: Path, count: int) -> None:
    turns = laid_out(path)
    flat = [message for turn in turns for message in turn]
    if count > len(turns):
        with pytest.raises(UsageError) as caught:
            place_before_last_turns(flat, count)
        assert caught.value.path == "turns"
        return
    kept = [message for turn in turns[:-count] for message in turn]
    place = place_before_last_turns(flat, count)
    assert flat[: 0 if place is None else place + 1] == kept
    assert (place is None) == (not kept)


@given(st.lists(users | others, max_size=12), st.integers(1, 6), st.integers(1, 6))
def test_undoing_twice_is_undoing_all_of_them(
    messages: list[NewMessage], first: int, second: int
) -> None:
    if len(turn_starts(messages)) < first + second:
        return
    place = place_before_last_turns(messages, first)
    assert place is not None
    assert place_before_last_turns(messages[: place + 1], second) == place_before_last_turns(
        messages, first + second
    )


@given(st.lists(users | others, max_size=12), st.integers(0, 12), st.integers(1, 6))
def test_of_a_path_cut_at_its_start_a_place_is_right(
    messages: list[NewMessage], cut: int, count: int
) -> None:
    window = messages[cut:]
    if len(turn_starts(window)) < count:
        return
    place = place_before_last_turns(window, count)
    if place is not None:
        assert place + cut == place_before_last_turns(messages, count)


@given(st.lists(users | others, min_size=1, max_size=12))
def test_all_turns_undone_is_the_root(messages: list[NewMessage]) -> None:
    starts = turn_starts(messages)
    assert starts[0] == 0
    assert starts == sorted(set(starts))
    assert place_before_last_turns(messages, len(starts)) is None


def test_results_in_the_users_name_belong_to_the_turn() -> None:
    path = [
        new("user", TEXT),
        new("assistant", CALL),
        new("user", RESULT),
        new("assistant", TEXT),
        new("user", TEXT),
    ]
    assert turn_starts(path) == [0, 4]
    assert place_before_last_turns(path, 1) == 3


def test_the_user_speaks_right_after_a_result() -> None:
    path = [new("user", TEXT), new("assistant", CALL), new("user", RESULT), new("user", TEXT)]
    assert turn_starts(path) == [0, 3]


def test_a_system_prompt_stays_when_the_first_turn_is_undone() -> None:
    path = [new("system", TEXT), new("user", TEXT), new("assistant", TEXT)]
    assert place_before_last_turns(path, 1) == 0
    assert place_before_last_turns(path, 2) is None


def test_what_a_model_is_shown_has_turns_too() -> None:
    path = [ModelMessage(role=role, parts=[TEXT]) for role in ("user", "assistant", "user")]
    assert turn_starts(path) == [0, 2]


def test_an_empty_path_has_no_turns() -> None:
    assert turn_starts([]) == []
    with pytest.raises(UsageError, match="nothing was said") as caught:
        place_before_last_turns([], 1)
    assert caught.value.path == "turns"


def test_too_many_turns_are_refused_with_how_many_there_are() -> None:
    with pytest.raises(UsageError, match="the path has 1"):
        place_before_last_turns([new("user", TEXT)], 2)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "1", None])
def test_what_is_no_number_of_turns_is_refused(bad: Any) -> None:
    with pytest.raises(UsageError) as caught:
        place_before_last_turns([new("user", TEXT)], bad)
    assert caught.value.path == "turns"
