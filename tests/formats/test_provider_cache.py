"""Fifty turns as a provider's cache sees them: nearly all that is sent was sent before."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

import sapwood
from sapwood import ToolCallPart, ToolResultPart
from sapwood.compaction import create_compact_function
from sapwood.formats import input_to_anthropic, input_to_openai_chat, input_to_openai_responses
from sapwood.model import ModelInput, ToolDefinition

from .provider_caches import STEP, AnthropicCache, OpenAICache, anthropic_blocks, openai_pieces

Json = dict[str, Any]
Cache = OpenAICache | AnthropicCache
Write = Callable[[ModelInput], Json]
TURNS = 50
LOADS, UNLOADS, COMPACTS, ELSEWHERE = 12, 18, 33, 24
WRITES = {5: "Ada sails.", 15: "She likes tea.", 27: "Berth 7 is hers.", 40: "She left."}
NAMES = ("berths", "weather", "ships")
WORDS = [
    "the",
    "harbour",
    "is",
    "calm",
    "and",
    "every",
    "berth",
    "from",
    "seven",
    "to",
    "nine",
    "has",
    "a",
    "ship",
    "with",
    "tea",
    "in",
    "it",
]


class Skills:
    """A provider with one skill."""

    def get(self) -> str:
        return "- knots: How to teach knots."

    def load(self, key: str) -> str | None:
        return said(random.Random(3), 500) if key == "knots" else None


def said(dice: random.Random, words: int) -> str:
    return " ".join(dice.choices(WORDS, k=words))


def own_tools() -> list[ToolDefinition]:
    schema = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}
    return [
        ToolDefinition(name=name, description=said(random.Random(name), 60), schema=schema)
        for name in NAMES
    ]


class Play:
    """Plays the script: what a user says, what a model calls and answers, the same each time."""

    def __init__(self, sessions: sapwood.SessionManager, *, in_turns: bool) -> None:
        soul = "You are a harbour master. " + said(random.Random(1), 500)
        sessions.with_context("soul", default=soul, readonly=True)
        sessions.with_context("skills", provider=Skills())
        sessions.with_context("memory", description="What you know", max_tokens=400)
        sessions.compact_with(create_compact_function(strategy="digest", tail_token_budget=800))
        self.chat = sessions.session("port")
        self.given: list[tuple[int, ModelInput]] = []
        self._in_turns = in_turns
        self._dice = random.Random(2)
        self._calls = 0

    def run(self) -> None:
        for number in range(1, TURNS + 1):
            if number == ELSEWHERE:
                self.chat.append_context_block("memory", "A note from elsewhere.")
            if number == COMPACTS:
                assert self.chat.compact().status == "done"
            if not self._in_turns:
                self._turn(number, self.chat)
                continue
            with self.chat.turn() as turn:
                self._turn(number, turn)

    def _turn(self, number: int, at: Any) -> None:
        at.append("user", f"{number}: {said(self._dice, self._dice.randint(10, 60))}")
        for calls in self._steps(number):
            self._prepare(number, at)
            at.append("assistant", calls)
            results = [ToolResultPart(call_id=it.call_id, output=self._do(it)) for it in calls]
            at.append_all([("tool", result) for result in results])
        self._prepare(number, at)
        at.append("assistant", said(self._dice, self._dice.randint(20, 120)))

    def _prepare(self, number: int, at: Any) -> None:
        self.given.append((number, at.prepare(tools=own_tools())))

    def _steps(self, number: int) -> list[list[ToolCallPart]]:
        """Return the calls of each step of a turn."""
        steps = []
        if number % 3 == 0:
            steps.append([self._call(name, what=str(number)) for name in NAMES[: number % 2 + 1]])
        if number == 21:  # more blocks than the vendor looks back over
            steps.append([self._call(NAMES[n % 3], what=str(n)) for n in range(14)])
        if number in WRITES:
            content = WRITES[number]
            steps.append(
                [self._call("update_context", label="memory", content=content, action="append")]
            )
        if number == LOADS:
            steps.append([self._call("load_context", label="skills", key="knots")])
        if number == UNLOADS:
            steps.append([self._call("unload_context", label="skills", key="knots")])
        return steps

    def _call(self, name: str, **arguments: str) -> ToolCallPart:
        self._calls += 1
        return ToolCallPart(call_id=f"call_{self._calls}", name=name, input=arguments)

    def _do(self, call: ToolCallPart) -> str:
        if call.name in NAMES:
            return said(self._dice, self._dice.randint(20, 150))
        done = self.chat.call_tool(call.name, call.input)
        assert not done.startswith("Error"), done
        return done


@pytest.fixture(scope="module", params=["turns", "prepare"])
def played(request: pytest.FixtureRequest) -> Iterator[Play]:
    with sapwood.open("memory://") as sessions:
        play = Play(sessions, in_turns=request.param == "turns")
        play.run()
        yield play


def anthropic_pieces(request: Json) -> list[str]:
    return [text for text, _ in anthropic_blocks(request)]


Vendor = tuple[Write, Callable[[], Cache], Callable[[Json], Iterable[str]]]
FORMATS: dict[str, Vendor] = {
    "openai_chat": (input_to_openai_chat, OpenAICache, openai_pieces),
    "openai_responses": (input_to_openai_responses, OpenAICache, openai_pieces),
    "anthropic": (input_to_anthropic, AnthropicCache, anthropic_pieces),
}


@pytest.mark.parametrize("vendor", FORMATS)
def test_nine_tokens_in_ten_come_from_the_cache(played: Play, vendor: str) -> None:
    write, make_cache, _ = FORMATS[vendor]
    cache = make_cache()
    counts = [cache.ask(write(given)) for _, given in played.given]
    sent, cached = sum(it.tokens for it in counts), sum(it.cached for it in counts)
    assert cached >= 0.9 * sent


@pytest.mark.parametrize("vendor", FORMATS)
def test_each_input_begins_with_all_of_the_one_before(played: Play, vendor: str) -> None:
    write, make_cache, pieces_of = FORMATS[vendor]
    cache = make_cache()
    before, last = [""], 0
    broken = []
    for number, given in played.given:
        pieces = list(pieces_of(write(given)))
        count = cache.ask(write(given))
        if pieces[: len(before)] != before:
            broken.append(number)
        else:
            assert last - STEP < count.cached <= last
        before, last = pieces, count.tokens
    # What is unloaded is no longer shown, and a summary stands where messages stood.
    assert broken == [1, UNLOADS, COMPACTS]
