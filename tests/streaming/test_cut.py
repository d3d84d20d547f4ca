"""Wherever a stream is cut, what came before is told as it would have been, and the cut is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import UsageError
from sapwood.model import ToolCallPart
from sapwood.streaming import (
    CallEvent,
    DoneEvent,
    ErrorEvent,
    EventStream,
    StreamEvent,
    TextEvent,
    UsageEvent,
)

from .answers import ALL, Json

ENDED = (UsageEvent, DoneEvent)


@given(st.sampled_from(sorted(ALL)), st.data())
def test_a_cut_gives_the_events_before_it_and_says_so(vendor: str, data: st.DataObject) -> None:
    items = ALL[vendor]()
    whole = list(EventStream(items))
    place = data.draw(st.integers(0, len(items)))
    *events, done = EventStream(items[:place])
    assert isinstance(done, DoneEvent)
    assert whole[: len(events)] == events or done.reason != "cut"
    if done.reason == "cut":
        assert not [it for it in events if isinstance(it, ENDED)]
        calls = [it.part for it in events if isinstance(it, CallEvent)]
        kept = [it for it in done.message.parts if isinstance(it, ToolCallPart)]
        assert [it for it in kept if it in calls] == calls
    else:
        assert done.reason == "tool_calls"
        assert done.message == whole[-1].message  # type: ignore[union-attr]


@given(st.sampled_from(sorted(ALL)), st.data())
def test_an_exception_comes_through_after_the_events_before_it(
    vendor: str, data: st.DataObject
) -> None:
    items = ALL[vendor]()
    place = data.draw(st.integers(0, len(items)))

    def source() -> Any:
        yield from items[:place]
        raise ConnectionResetError("gone")

    events: list[StreamEvent] = []
    stream = EventStream(source())
    with pytest.raises(ConnectionResetError, match="gone"):
        events.extend(stream)
    whole = list(EventStream(items))
    assert events == whole[: len(events)]
    assert stream.message.role == "assistant"


@given(st.lists(st.text()))
def test_plain_text(pieces: list[str]) -> None:
    *events, done = EventStream(iter(pieces))
    assert [it.text for it in events if isinstance(it, TextEvent)] == [it for it in pieces if it]
    assert isinstance(done, DoneEvent)
    assert done.reason == ("stop" if pieces else "cut")
    assert [it.text for it in done.message.parts] == (  # type: ignore[union-attr]
        ["".join(pieces)] if any(pieces) else []
    )


@pytest.mark.parametrize("items", [[1], [None], [{"a": 1}], [{"type": "x"}], ["x", 1], [("id", 1)]])
def test_a_stream_of_something_else_is_refused(items: list[Any]) -> None:
    with pytest.raises(UsageError) as caught:
        list(EventStream(items))
    assert caught.value.path == "response"


def test_an_error_is_told_once() -> None:
    error: Json = {"type": "error", "error": {"message": "no"}}
    assert [type(it) for it in EventStream([error])] == [ErrorEvent, DoneEvent]


def test_a_loop_that_is_left_closes_the_source() -> None:
    closed = []

    def source() -> Any:
        try:
            yield from ["a", "b"]
        finally:
            closed.append(True)

    for _ in EventStream(source()):
        break
    assert closed
