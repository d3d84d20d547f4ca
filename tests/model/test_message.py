"""Messages, positions and times."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.model import (
    ROOT,
    Message,
    Part,
    Position,
    ReasoningPart,
    Root,
    TextPart,
    ToolCallPart,
    datetime_of,
    microseconds_of,
)


def message(*parts: Part) -> Message:
    return Message(
        id="m",
        role="assistant",
        parts=list(parts),
        metadata={},
        segment="7",
        depth=3,
        home="s",
        tokens=5,
        version=1,
        created_us=1_500_000,
    )


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_time_is_whole_microseconds_and_comes_back_equal(moment: datetime) -> None:
    assert datetime_of(microseconds_of(moment)) == moment


@given(st.integers(-(10**15), 10**17))
def test_microseconds_come_back_equal(microseconds: int) -> None:
    moment = datetime_of(microseconds)
    assert microseconds_of(moment) == microseconds
    assert moment.tzinfo is UTC


def test_a_time_is_the_same_in_every_zone() -> None:
    moment = datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=9)))
    assert microseconds_of(moment) == microseconds_of(moment.astimezone(UTC))
    assert datetime_of(0) == datetime(1970, 1, 1, tzinfo=UTC)


def test_a_time_without_a_zone_is_no_time() -> None:
    with pytest.raises(TypeError):
        microseconds_of(datetime(2026, 1, 1))  # noqa: DTZ001


def test_a_message_stands_at_its_position() -> None:
    stored = message()
    assert stored.position == Position("7", 3)
    assert stored.created_at == datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)


def test_text_and_reasoning_are_read_apart() -> None:
    stored = message(
        ReasoningPart(text="Hm."),
        TextPart(text="It left"),
        ToolCallPart(call_id="c", name="find", input={}),
        TextPart(text="today."),
        ReasoningPart(text="Good."),
    )
    assert stored.text == "It left\ntoday."
    assert stored.reasoning == "Hm.\nGood."
    assert message().text == ""


def test_there_is_one_root_and_no_string_is_equal_to_it() -> None:
    assert repr(ROOT) == "ROOT"
    assert ROOT not in ("root", "ROOT", None)
    assert copy.deepcopy(ROOT) is ROOT
    assert pickle.loads(pickle.dumps(ROOT)) is ROOT
    assert list(Root) == [ROOT]
