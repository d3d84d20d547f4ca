"""The parts of the chat that time and chance would make hard to see from outside."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import sapwood
from sapwood.cli.chat.chat_model import (
    AnswerEnd,
    AnswerPiece,
    AnswerPieces,
    ModelError,
    with_ticks,
)
from sapwood.cli.chat.conversation import ChatSetup, Conversation, open_conversation
from sapwood.cli.chat.offline import OfflineChatModel
from sapwood.cli.chat.stored_answer import AnswerState, StoredAnswer, state_of
from sapwood.errors import StoreBusyError, StoreCorruptError
from sapwood.model import (
    ROOT,
    ModelInput,
    ModelMessage,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolDefinition,
)


class Clock:
    """A clock that goes when it is told to."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def conversation() -> Iterator[Conversation]:
    with sapwood.open("memory://") as sessions:
        yield open_conversation(sessions, "chat", ChatSetup())[0]


class Growing:
    """An answer, the clock it looks at, and what was told as stored."""

    def __init__(self, conversation: Conversation) -> None:
        self.saved: list[int] = []
        self.clock = Clock()
        self.conversation = conversation
        self.answer = StoredAnswer(
            conversation,
            conversation.ask("hello").id,
            model="small",
            clock_s=self.clock,
            on_saved=lambda id, characters: self.saved.append(characters),
        )

    def stored(self) -> Any:
        return self.conversation.last_messages(1)[0]


@pytest.fixture
def growing(conversation: Conversation) -> Growing:
    return Growing(conversation)


def test_an_answer_is_stored_when_it_begins_and_marked_as_unfinished(growing: Growing) -> None:
    growing.answer.add(TextPart(text="The "))
    assert (growing.stored().text, state_of(growing.stored())) == ("The ", AnswerState.UNFINISHED)
    assert growing.saved == [4]


def test_an_answer_is_stored_again_every_half_second_if_it_grew(growing: Growing) -> None:
    growing.answer.add(TextPart(text="The "))
    growing.answer.add(TextPart(text="order "))
    growing.clock.now_s += 0.4
    growing.answer.tick()
    assert growing.stored().text == "The "
    growing.clock.now_s += 0.1
    growing.answer.tick()
    assert growing.stored().text == "The order "
    growing.clock.now_s += 9
    growing.answer.tick()
    assert growing.saved == [4, 10]
    growing.answer.add(TextPart(text="left."))
    assert growing.saved == [4, 10, 15]


@pytest.mark.parametrize("state", [it for it in AnswerState if it is not AnswerState.UNFINISHED])
def test_the_end_stores_all_of_it_and_how_it_ended(growing: Growing, state: AnswerState) -> None:
    for piece in (ReasoningPart(text="hm"), TextPart(text="The "), TextPart(text="order")):
        growing.answer.add(piece)
    growing.answer.end(state, "because")
    stored = growing.stored()
    assert (stored.reasoning, stored.text, state_of(stored)) == ("hm", "The order", state)
    assert (stored.metadata["why"], stored.metadata["model"]) == ("because", "small")
    assert stored.version > 1


def test_an_answer_of_nothing_is_not_stored(growing: Growing) -> None:
    growing.answer.tick()
    growing.answer.end(AnswerState.COMPLETE)
    assert (growing.answer.id, growing.stored().role) == (None, "user")


def test_a_call_alone_is_an_answer(growing: Growing) -> None:
    growing.answer.add(ToolCallPart(call_id="c1", name="x", input={"a": 1}))
    growing.answer.end(AnswerState.COMPLETE)
    assert growing.stored().parts == [ToolCallPart(call_id="c1", name="x", input={"a": 1})]


def test_a_busy_store_does_not_end_an_answer(
    growing: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*args: Any, **named: Any) -> Any:
        raise StoreBusyError("others write")

    with monkeypatch.context() as patched:
        patched.setattr(growing.conversation.session, "append", busy)
        growing.answer.add(TextPart(text="The "))
    growing.answer.add(TextPart(text="order"))
    assert growing.stored().text == "The order"


def test_a_broken_store_is_told(growing: Growing, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **named: Any) -> Any:
        raise StoreCorruptError("damaged")

    monkeypatch.setattr(growing.conversation.session, "append", broken)
    with pytest.raises(StoreCorruptError):
        growing.answer.add(TextPart(text="The "))


def test_an_answer_follows_its_question_although_others_wrote_meanwhile(growing: Growing) -> None:
    growing.conversation.ask("another one")
    growing.answer.add(TextPart(text="The order left."))
    path = [it.text for it in growing.conversation.last_messages(9)]
    assert path == ["hello", "The order left."]


def test_a_session_of_another_program_keeps_its_record_and_its_prompt() -> None:
    with sapwood.open("memory://") as sessions:
        theirs = sessions.session("theirs").with_context("soul", default="Be brief.")
        frozen = theirs.system_prompt()
        before = sessions.store.find_document(sessions.owner, "prompt", session="theirs")
        conversation, is_new = open_conversation(sessions, "theirs", ChatSetup())
        conversation.model_input(conversation.ask("hello").id)
        record = conversation.session.record()
        after = sessions.store.find_document(sessions.owner, "prompt", session="theirs")
        assert before is not None
        assert after == before
        assert theirs.system_prompt() == frozen
    assert (is_new, record.title, record.tags, record.version) == (False, None, [], 1)


def pieces(*items: AnswerPiece | Exception) -> AnswerPieces:
    for item in items:
        if isinstance(item, Exception):
            raise item
        yield item


def test_pieces_come_in_their_order() -> None:
    given = [TextPart(text="a"), TextPart(text="b"), AnswerEnd()]
    assert [it for it in with_ticks(lambda: pieces(*given), 60) if it is not None] == given


def test_silence_is_noticed() -> None:
    go_on = threading.Event()

    def slow() -> AnswerPieces:
        yield TextPart(text="a")
        go_on.wait(60)
        yield AnswerEnd()

    seen = []
    for piece in with_ticks(slow, 0.001):
        seen.append(piece)
        if piece is None:
            go_on.set()
    assert (seen[0], seen[1], seen[-1]) == (TextPart(text="a"), None, AnswerEnd())


def test_what_a_model_raises_comes_after_what_it_said() -> None:
    seen = []
    with pytest.raises(ModelError, match="ZeroDivisionError: no") as caught:
        seen.extend(
            with_ticks(lambda: pieces(TextPart(text="a"), ZeroDivisionError("no" * 1000)), 60)
        )
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert len(str(caught.value)) == 500


def test_a_reader_that_leaves_ends_the_model() -> None:
    closed, go_on = threading.Event(), threading.Event()

    def endless() -> AnswerPieces:
        try:
            yield TextPart(text="a")
            go_on.wait(60)
            while True:
                yield TextPart(text="b")
        finally:
            closed.set()

    reader = with_ticks(endless, 60)
    assert next(reader) == TextPart(text="a")
    reader.close()
    go_on.set()
    assert closed.wait(60)


SEARCH = ToolDefinition(name="session_search", description="Search.", schema={})


def asked(*texts: str, tools: bool = True) -> ModelInput:
    messages = [
        ModelMessage(role="user", parts=[TextPart(text=text)], id=f"m{n}")
        for n, text in enumerate(texts)
    ]
    # What stands at the end and is not stored was said by nobody.
    news = ModelMessage(role="user", parts=[TextPart(text="A block has changed.")])
    return ModelInput(
        prompt="",
        messages=[*messages, news] if messages else [],
        tools=[SEARCH] if tools else [],
        tokens=0,
        budget=None,
        leaf=ROOT,
    )


@pytest.mark.parametrize(
    "text", ["find parcel", "Search for parcel?", "please look for parcel!", "FIND  parcel ."]
)
def test_the_stand_in_searches_when_asked_to(text: str) -> None:
    given = list(OfflineChatModel().answer(asked(text)))
    [call] = [it for it in given if isinstance(it, ToolCallPart)]
    assert call.input == {"query": "parcel"}
    assert not [
        it
        for it in OfflineChatModel().answer(asked(text, tools=False))
        if isinstance(it, ToolCallPart)
    ]


@pytest.mark.parametrize("text", ["finding things", "I find it good", "search", "", "x" * 5000])
def test_the_stand_in_answers_anything(text: str) -> None:
    given = list(OfflineChatModel().answer(asked(text)))
    told = "".join(it.text for it in given if isinstance(it, TextPart))
    assert told.startswith("[offline stand-in] There is no model here")
    assert len(told) < 400
    assert given[-1] == AnswerEnd()


def test_the_stand_in_answers_without_any_message() -> None:
    assert list(OfflineChatModel().answer(asked()))[-1] == AnswerEnd()
