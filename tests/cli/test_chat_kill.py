"""Kill the chat at any moment: what it told as stored is there when it starts again."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from endpoint import Asked, Endpoint, Stream, completions
from tier import often

import sapwood

from .command import Command
from .talking import Talk, of_kind, spoken, talk, with_model

KILLS = often(4, 24)
WORDS = [f"word{n} " for n in range(60)]
MOST_EVENTS = 75


def long_answer(asked: Asked) -> Stream:
    """Answer in a good second, and every third time by a tool call first."""
    users = sum(it["role"] == "user" for it in asked.body["messages"])
    if users % 3 == 0 and asked.body["messages"][-1]["role"] == "user":
        return Stream(completions.call_chunks("session_search", '{"query": "word1"}'), 0.02)
    return Stream(slowly(completions.chunks(*WORDS)), 0.02)


def slowly(chunks: Iterable[Any]) -> Iterator[Any]:
    """Fall silent after a few words: what came by then is stored."""
    for at, chunk in enumerate(chunks):
        if at == 4:
            time.sleep(0.4)
        yield chunk


def pass_a_minute(sessions: sapwood.SessionManager, session: str) -> None:
    """Let the lease of a chat that was killed be over."""
    sessions.store.delete_document(sessions.owner, "turn", session=session)


class Told:
    """What the chat told as stored, over all its lives."""

    def __init__(self) -> None:
        self.asked: dict[str, str] = {}
        self.saved: dict[str, int] = {}
        self.ended: set[str] = set()

    def note(self, event: dict[str, Any]) -> None:
        if event["event"] == "asked":
            self.asked[event["id"]] = event["text"]
        elif event["event"] == "saved":
            self.saved[event["id"]] = event["characters"]
        elif event["event"] == "ended" and event["state"] == "complete":
            self.ended.add(event["id"])

    def check(self, chat: sapwood.Session) -> None:
        for id, text in self.asked.items():
            assert chat.get(id).text == text
        for id, characters in self.saved.items():
            text = chat.get(id).text
            assert len(text) >= characters
            assert "".join(WORDS).startswith(text)
        for id in self.ended:
            message = chat.get(id)
            assert message.metadata["agent"]["name"] == "chat"
            assert message.text in ("".join(WORDS), "")


def live_and_be_killed(talking: Talk, line: str, moment: int, told: Told) -> None:
    """Say a line, and kill the chat after so many events, or when it has answered."""
    talking.say(line)
    goes_on = True
    for _ in range(moment):
        event = talking.event()
        assert event is not None
        told.note(event)
        goes_on = event["event"] == "call" or (goes_on and event["event"] != "text")
        if event["event"] == "ended" and not goes_on:
            break
    time.sleep(random.random() * 0.03)
    talking.process.kill()
    for event in talking.rest():
        told.note(event)
    talking.end()


@pytest.mark.fault
def test_nothing_that_was_told_as_stored_is_lost(empty: Command, endpoint: Endpoint) -> None:
    endpoint.usual = long_answer
    told = Told()
    moments = [0, 3, 4, 6, 8, 9, *(random.randrange(6, MOST_EVENTS) for _ in range(KILLS - 6))]
    random.shuffle(moments)
    for life, moment in enumerate(moments):
        talking = Talk(empty, "killed", *with_model(endpoint))
        live_and_be_killed(talking, f"question {life}", moment, told)
        with sapwood.open(f"sqlite:///{empty.folder}/agent.db") as sessions:
            chat = sessions.session("killed")
            told.check(chat)
            pass_a_minute(sessions, chat.id)
            last = chat.history(limit=1).messages_only
        [entered] = of_kind(talk(empty, "/quit", args=["killed"]), "entered")
        if last and last[0].role == "assistant":
            is_cut_off = "agent" not in last[0].metadata
            assert (entered["standing"] == "cut_off") is is_cut_off
        elif last:
            assert entered["standing"] == "unanswered"
    assert len(told.asked) > KILLS / 3
    assert told.saved
    assert empty("doctor").splitlines()[-1] == "nothing is wrong"


@pytest.mark.fault
def test_a_killed_chat_goes_on_where_it_was(empty: Command, endpoint: Endpoint) -> None:
    endpoint.prepare(Stream([completions.chunk({"content": "The or"})], hangs=True))
    talking = Talk(empty, *with_model(endpoint))
    talking.say("Where is it?")
    talking.until("saved")
    talking.kill()
    endpoint.prepare(Stream(completions.chunks("It left.")))
    events = talk(empty, "/again", "/branch", args=with_model(endpoint))
    assert of_kind(events, "entered")[0]["standing"] == "cut_off"
    assert len(of_kind(events, "branches")[0]["branches"]) == 2
    assert spoken(endpoint.asked[1]) == [{"role": "user", "content": "Where is it?"}]
