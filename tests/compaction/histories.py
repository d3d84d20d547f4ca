"""Histories for these tests: written down in short, drawn at random, and checked by brute force."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from hypothesis import strategies as st

from sapwood.model import (
    Entry,
    Message,
    ModelMessage,
    Overlay,
    Part,
    Position,
    Summary,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from sapwood.rules.tokens import estimate_parts, estimate_text

_numbers = count(1)


def said(
    content: str | Part | Sequence[Part],
    role: str = "user",
    *,
    tokens: int | None = None,
    id: str | None = None,
) -> Message:
    """Write a stored message."""
    number = next(_numbers)
    if isinstance(content, str):
        parts: list[Part] = [TextPart(text=content)]
    else:
        parts = [*content] if isinstance(content, Sequence) else [content]
    return Message(
        id=id or f"m{number}",
        role=role,
        parts=parts,
        metadata={},
        segment="s",
        depth=number,
        home="chat",
        tokens=estimate_parts(parts) if tokens is None else tokens,
        version=1,
        created_us=number,
    )


def call(*ids: str, name: str = "look", input: Any = None) -> Message:
    """Write a message that calls a tool, once for each id."""
    return said([ToolCallPart(call_id=id, name=name, input=input) for id in ids], "assistant")


def result(*ids: str, output: Any = "found", role: str = "tool", is_error: bool = False) -> Message:
    """Write a message with results."""
    return said([ToolResultPart(call_id=id, output=output, is_error=is_error) for id in ids], role)


def summed_up(text: str, *pinned: Message, tokens: int | None = None) -> Summary:
    """Write a summary."""
    number = next(_numbers)
    place = Position("s", number)
    return Summary(
        overlay=Overlay(
            id=f"o{number}",
            first=place,
            last=place,
            summary=text,
            tokens=estimate_text(text) if tokens is None else tokens,
            covered_tokens=0,
            metadata={},
            created_by="chat",
            created_us=number,
        ),
        pinned=[*pinned],
    )


def talk(number: int, tokens: int = 10) -> list[Entry]:
    """Write so many messages, of the user and the assistant in turn."""
    return [
        said(f"line {at}", "assistant" if at % 2 else "user", tokens=tokens) for at in range(number)
    ]


def shown(*entries: Entry) -> list[ModelMessage]:
    """Turn messages into what a model is shown, without the code under test."""
    return [
        ModelMessage(id=entry.id, role=entry.role, parts=entry.parts)
        for entry in entries
        if isinstance(entry, Message)
    ]


def parted(entries: Sequence[Entry], first: int, last: int) -> list[str]:
    """Name the calls of which one side is in the range and a result is not; by brute force.

    A result that is sent again after eight further turns is not looked at.
    """
    found = []
    for at, entry in enumerate(entries):
        for part in entry.parts if isinstance(entry, Message) else []:
            if not isinstance(part, ToolResultPart):
                continue
            caller = nearest_call(entries, at, part)
            if caller is None or is_late_repeat(entries, caller, at, part.call_id):
                continue
            if (first <= caller <= last) != (first <= at <= last):
                found.append(part.call_id)
    return found


def nearest_call(entries: Sequence[Entry], at: int, result: ToolResultPart) -> int | None:
    """Find the entry with the nearest call before a result."""
    entry = entries[at]
    assert isinstance(entry, Message)
    for part in entry.parts:
        if part is result:
            break
        if isinstance(part, ToolCallPart) and part.call_id == result.call_id:
            return at
    for before in range(at - 1, -1, -1):
        if result.call_id in calls_of(entries[before]):
            return before
    return None


def is_late_repeat(entries: Sequence[Entry], caller: int, at: int, call_id: str) -> bool:
    """Tell whether a result answers a call that was answered before, eight turns later."""
    earlier = entries[caller + 1 : at]
    repeated = any(call_id in results_of(entry) for entry in earlier)
    same = [part for part in parts_of(entries[caller]) if getattr(part, "call_id", "") == call_id]
    repeated = repeated or isinstance(same[-1], ToolResultPart)
    repeated = repeated or results_of(entries[at]).count(call_id) > 1
    return repeated and turns_between(entries, caller, at) >= 8


def parts_of(entry: Entry) -> list[Part]:
    return entry.parts if isinstance(entry, Message) else []


def calls_of(entry: Entry) -> list[str]:
    return [part.call_id for part in parts_of(entry) if isinstance(part, ToolCallPart)]


def results_of(entry: Entry) -> list[str]:
    return [part.call_id for part in parts_of(entry) if isinstance(part, ToolResultPart)]


def turns_between(entries: Sequence[Entry], first: int, last: int) -> int:
    """Count how often a role that makes calls began to speak after one entry, up to another."""
    roles = {entry.role for entry in entries if isinstance(entry, Message) and calls_of(entry)}
    turns = 0
    for at in range(first + 1, last + 1):
        turns += speaks(entries[at], roles) and not speaks(entries[at - 1], roles)
    return turns


def speaks(entry: Entry, roles: set[str]) -> bool:
    if isinstance(entry, Summary) or entry.role not in roles:
        return False
    return any(not isinstance(part, ToolResultPart) for part in entry.parts)


def in_flight(entries: Sequence[Entry]) -> list[int]:
    """Find the entries with calls in flight, by brute force."""
    flat = [(at, part) for at, entry in enumerate(entries) for part in parts_of(entry)]
    found = []
    for number, (at, part) in enumerate(flat):
        if not isinstance(part, ToolCallPart):
            continue
        # The next part with its id is its result, or a call that took the id over.
        settled = any(
            getattr(later, "call_id", "") == part.call_id for _, later in flat[number + 1 :]
        )
        if not settled and turns_between(entries, at, len(entries) - 1) < 8:
            found.append(at)
    return found


# Random histories.

CALL_IDS = st.sampled_from(["c1", "c2", "c3", "c4"])
TEXTS = st.sampled_from(["yes", "Where is it?", "We decided.\nIt is 部署完成。", "word " * 300])
VALUES = st.sampled_from(["done", {"rows": list(range(400))}, [1, {"a": "x" * 3000}], None, 7])


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """Draw a message: text, calls, results, several of them, or nothing."""
    role = draw(st.sampled_from(["user", "assistant", "assistant", "tool"]))
    parts = draw(st.lists(_parts, max_size=3))
    return said(parts, role, tokens=draw(st.sampled_from([0, 1, 10, 50, 500])))


_parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, text=TEXTS),
    st.builds(ToolCallPart, call_id=CALL_IDS, name=st.just("look"), input=VALUES),
    st.builds(ToolResultPart, call_id=CALL_IDS, output=VALUES, is_error=st.booleans()),
)


@st.composite
def steps(draw: st.DrawFn) -> list[Entry]:
    """Draw what an agent does: parallel calls, with results in one message or in several."""
    ids = draw(st.lists(CALL_IDS, min_size=1, max_size=3, unique=True))
    answered = draw(st.lists(st.sampled_from(ids), unique=True))
    together = draw(st.booleans())
    between = draw(st.lists(messages(), max_size=1))
    results = [result(*answered)] if together and answered else [result(id) for id in answered]
    return [call(*ids), *between, *results]


@st.composite
def summaries(draw: st.DrawFn) -> Summary:
    """Draw a summary, perhaps with pins."""
    number = next(_numbers)
    return summed_up(f"Summary number {number}.", *draw(st.lists(messages(), max_size=2)))


entries: st.SearchStrategy[list[Entry]] = st.lists(
    st.one_of(messages().map(lambda each: [each]), steps(), summaries().map(lambda each: [each])),
    max_size=14,
).map(lambda groups: [entry for group in groups for entry in group])
"""Any history."""
