"""Rule 10: whatever the tree looks like, what `prepare()` gives is valid for a model."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import sapwood
from sapwood import (
    ROOT,
    Message,
    NewMessage,
    ReasoningPart,
    Session,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from sapwood.compaction import create_compact_function
from sapwood.errors import ContextOverflowError, NotFoundError, UsageError
from sapwood.model import ModelInput, Part
from sapwood.testing import COUNTS

from .conversations import check_messages

CALL_IDS = st.sampled_from(["c1", "c2", "c3"])
TEXTS = st.sampled_from(["yes", "Where is it?", "word " * 300, "部署完成。" * 60])
SKILL = {"label": "skills", "key": "sail"}
BOAT = "First, find a boat. " * 40
VALUES = st.sampled_from(["done", {"rows": list(range(300))}, [{"a": "x" * 3000}], None, BOAT])
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, text=TEXTS),
    st.builds(ReasoningPart, text=TEXTS),
    st.builds(ToolCallPart, call_id=CALL_IDS, name=st.just("look"), input=VALUES),
    st.builds(ToolCallPart, call_id=CALL_IDS, name=st.just("load_context"), input=st.just(SKILL)),
    st.builds(ToolResultPart, call_id=CALL_IDS, output=VALUES, is_error=st.booleans()),
)
ROLES = st.sampled_from(["user", "assistant", "assistant", "tool", "system"])
NUMBERS = st.integers(0, 1_000)
ACTS = st.one_of(
    st.tuples(st.just("append"), ROLES, st.lists(PARTS, max_size=3)),
    st.tuples(st.sampled_from(["checkout", "branch", "delete", "pin", "unpin", "undo"]), NUMBERS),
    st.tuples(st.sampled_from(["cover", "uncover", "block", "load", "unload"]), NUMBERS, NUMBERS),
)


class Skills:
    """A catalogue with one skill."""

    def get(self) -> str:
        return "- sail: how to sail"

    def load(self, key: str) -> str | None:
        return BOAT if key == "sail" else None


class Hand:
    """Does to a session whatever it is told, sense or no sense."""

    def __init__(self, chat: Session) -> None:
        self.chat = chat
        self.ids: list[str] = []
        self.numbers = count(1)

    def act(self, what: str, *args: Any) -> None:
        # What is refused is refused with a clear error, and changes nothing.
        with suppress(UsageError, NotFoundError, sapwood.errors.ConflictError):
            getattr(self, what)(*args)

    def append(self, role: str, parts: list[Part]) -> None:
        message = NewMessage(role=role, parts=parts, id=f"m{next(self.numbers)}")
        self.ids.append(self.chat.append(message).id)

    def some(self, number: int) -> str:
        return self.ids[number % len(self.ids)] if self.ids else "nobody"

    def checkout(self, number: int) -> None:
        self.chat.checkout(self.some(number) if number % 10 else ROOT)

    def branch(self, number: int) -> None:
        self.ids.append(self.chat.edit(self.some(number), "I mean this").id)

    def delete(self, number: int) -> None:
        self.chat.delete(self.some(number))

    def pin(self, number: int) -> None:
        self.chat.pin(self.some(number))

    def unpin(self, number: int) -> None:
        self.chat.unpin(self.some(number))

    def undo(self, number: int) -> None:
        if number % 3:
            self.chat.undo(1 + number % 2)
        else:
            self.chat.redo()

    def cover(self, first: int, length: int) -> None:
        """Cover any range: by hand, pairs may be parted."""
        entries = self.chat.history().entries
        if entries:
            first %= len(entries)
            last = min(first + length % 4, len(entries) - 1)
            self.chat.add_overlay(entries[first], entries[last], f"Summary {first} {length}.")

    def uncover(self, number: int, _: int) -> None:
        overlays = self.chat.overlays()
        if overlays:
            self.chat.undo_overlay(overlays[number % len(overlays)])

    def block(self, number: int, length: int) -> None:
        self.chat.replace_context_block("memory", f"fact {number} " * (1 + length % 50))
        if number % 5 == 0:
            self.chat.refresh_system_prompt()

    def load(self, number: int, _: int) -> None:
        self.chat.load_context("skills", "sail")

    def unload(self, number: int, _: int) -> None:
        self.chat.unload_context("skills", "sail")


@given(
    st.lists(ACTS, max_size=25),
    st.sampled_from([None, 400, 600, 1_000, 3_000]),
    NUMBERS,
    st.sampled_from([None, "", "short"]),
)
def test_whatever_the_tree_looks_like_the_input_is_valid(
    acts: list[tuple[Any, ...]], budget: int | None, leaf: int, summary: str | None
) -> None:
    with sapwood.open("memory://") as sessions:
        if summary is not None:
            function = create_compact_function(lambda prompt: summary, tail_token_budget=50)
            sessions.compact_with(function).compact_after(500)
        sessions.with_context("memory", max_tokens=500).with_context("skills", provider=Skills())
        hand = Hand(sessions.session("chat"))
        for act in acts:
            hand.act(*act)
        before = hand.chat.history(overlays=False).entries
        for place in (None, *([hand.some(leaf)] if hand.ids else [])):
            check_prepared(hand.chat, place, budget)
        assert hand.chat.history(overlays=False).entries == before
    COUNTS["trees of which an input was prepared"] += 1


def check_prepared(chat: Session, leaf: str | None, budget: int | None) -> None:
    try:
        input = chat.prepare(leaf=leaf, budget=budget)
    except ContextOverflowError:
        assert budget is not None
        # It is only refused where even the least is too much.
        assert chat.prepare(leaf=leaf).tokens > budget
        return
    check_messages(input.messages)
    assert budget is None or input.tokens <= budget
    assert (input.budget, input.prompt) == (budget, chat.system_prompt())
    check_told(chat, leaf, input)
    check_skill(chat, input)


def check_told(chat: Session, leaf: str | None, input: ModelInput) -> None:
    """Check that what is not shown is named, and that what the blocks have to say is said."""
    entries = chat.history(leaf).entries
    stored = {entry.id for entry in entries if isinstance(entry, Message)}
    stored |= {it.id for entry in entries if not isinstance(entry, Message) for it in entry.pinned}
    shown = {message.id for message in input.messages if message.id is not None}
    assert shown <= stored
    assert shown.isdisjoint(input.left_out)
    assert set(input.left_out) <= stored
    assert set(input.shortened) <= shown
    if input.budget is None:
        assert (input.left_out, input.shortened) == ([], [])
    said = [input.updates, *(message.text for message in input.messages)]
    for change in chat.context_updates().split("\n\n")[1:]:
        assert any(change in text for text in said)
    # What is not shown, as a message without parts, is no question that changes go along with.
    last = entries[-1] if entries else None
    if isinstance(last, Message) and input.messages and input.messages[-1].id == last.id:
        assert not input.updates or input.messages[-1].role != "user"


def check_skill(chat: Session, input: ModelInput) -> None:
    """Check that what was unloaded is not shown; the calls of it stay."""
    names: dict[str, str] = {}
    for message in input.messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                names[part.call_id] = part.name
            elif isinstance(part, ToolResultPart) and not part.is_error:
                if names[part.call_id] != "load_context":
                    continue
                assert chat.loaded_context() or "find a boat" not in str(part.output)
