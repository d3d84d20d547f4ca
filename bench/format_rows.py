"""The vendors' formats, against `json`, by which a framework's own store keeps each value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

import vendors
from measure import take_turns
from row import Row, slower
from world import World

from sapwood import formats

TURNS = 40
RUNS = 100
BAR = 2

FORMATS = {
    "OpenAI chat": (vendors.openai_chat, formats.from_openai_chat, formats.to_openai_chat),
    "OpenAI responses": (
        vendors.openai_responses,
        formats.from_openai_responses,
        formats.to_openai_responses,
    ),
    "Anthropic": (vendors.anthropic, formats.from_anthropic, formats.to_anthropic),
    "AI SDK": (vendors.ai_sdk, formats.from_ai_sdk, formats.to_ai_sdk),
}


def conversions(world: World) -> Iterator[Row]:
    """Read conversations of 40 turns against dumping each value, and write against loading it."""
    for name, (turn, read, write) in FORMATS.items():
        values = vendors.conversation(turn, TURNS)
        messages, lines = read(values), _dumped(values)
        assert write(messages) == values
        turns = take_turns(partial(read, values), partial(_dumped, values), world.times(RUNS))
        yield slower(f"read {name}, {len(values)} values", turns, BAR)
        turns = take_turns(partial(write, messages), partial(_loaded, lines), world.times(RUNS))
        yield slower(f"write {name}, {len(values)} values", turns, BAR)


def _dumped(values: list[vendors.Json]) -> list[str]:
    return [json.dumps(value) for value in values]


def _loaded(lines: list[str]) -> list[vendors.Json]:
    return [json.loads(line) for line in lines]
