"""The parts of the chat that time and chance would make hard to see from outside."""

from __future__ import annotations

import pytest

import sapwood
from sapwood.agent import OfflineModel
from sapwood.cli.chat.conversation import ChatSetup, open_conversation
from sapwood.cli.chat.markdown_screen import split_blocks
from sapwood.model import (
    ROOT,
    ModelInput,
    ModelMessage,
    TextPart,
    ToolCallPart,
    ToolDefinition,
)


def test_a_session_of_another_program_keeps_its_record_and_its_prompt() -> None:
    with sapwood.open("memory://") as sessions:
        theirs = sessions.session("theirs").with_context("soul", default="Be brief.")
        frozen = theirs.system_prompt()
        before = sessions.store.find_document(sessions.owner, "prompt", session="theirs")
        conversation, is_new = open_conversation(sessions, "theirs", ChatSetup())
        conversation.answering(lambda event: None, iter).append("user", "hello")
        conversation.session.prepare()
        record = conversation.session.record()
        after = sessions.store.find_document(sessions.owner, "prompt", session="theirs")
        assert before is not None
        assert after == before
        assert theirs.system_prompt() == frozen
    assert (is_new, record.title, record.tags, record.version) == (False, None, [], 1)


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("one", ""),
        ("one\n\n", ""),
        ("one\n\ntwo", "one"),
        ("one\n\n- a\n\n- b", "one\n\n- a"),
        ("1. a\n\n   of a", ""),
        ("```\na\n\nb", ""),
        ("```\na\n\nb\n```\n\nc", "```\na\n\nb\n```"),
        ("````\n```\n\nb", ""),
        ("~~~\n```\n\nb\n~~~\n\nc", "~~~\n```\n\nb\n~~~"),
    ],
)
def test_a_block_is_done_when_the_next_one_begins_outside_of_code(text: str, done: str) -> None:
    before, rest = split_blocks(text)
    assert before == done
    assert text == before + text[len(before) : len(text) - len(rest)] + rest
    assert not text[len(before) : len(text) - len(rest)].strip()


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
    given = list(OfflineModel()(asked(text)))
    [call] = [it for it in given if isinstance(it, ToolCallPart)]
    assert call.input == {"query": "parcel"}
    assert not [
        it for it in OfflineModel()(asked(text, tools=False)) if isinstance(it, ToolCallPart)
    ]


@pytest.mark.parametrize("text", ["finding things", "I find it good", "search", "", "x" * 5000])
def test_the_stand_in_answers_anything(text: str) -> None:
    given = list(OfflineModel()(asked(text)))
    told = "".join(it.text for it in given if isinstance(it, TextPart))
    assert told.startswith("[offline stand-in] There is no model here")
    assert len(told) < 400


def test_the_stand_in_answers_without_any_message() -> None:
    assert list(OfflineModel()(asked()))
