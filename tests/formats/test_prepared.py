"""What `prepare()` gives can be sent to any vendor, whatever was lost of the conversation."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sapwood
from sapwood import formats

from .test_across import RULES, TYPES
from .test_round_trip import FORMATS, Format
from .typed import misfit
from .values import Json

WRITERS = {
    "openai_chat": (formats.input_to_openai_chat, "messages"),
    "openai_responses": (formats.input_to_openai_responses, "input"),
    "anthropic": (formats.input_to_anthropic, "messages"),
}


@st.composite
def with_gaps(draw: st.DrawFn, conversations: st.SearchStrategy[list[Json]]) -> list[Json]:
    values = draw(conversations)
    return [value for value in values if draw(st.integers(0, 4)) > 0]


@pytest.mark.parametrize("source", FORMATS, ids=lambda format: format.name)
def test_a_prepared_input_is_valid_for_every_other_vendor(source: Format) -> None:
    numbers = itertools.count()
    with sapwood.open("memory://") as sessions:

        @given(with_gaps(source.conversations))
        def check(values: list[Json]) -> None:
            chat = sessions.session(f"chat-{next(numbers)}")
            if values:
                chat.append_all(source.read(values), allow_orphans=True)
            prepared = chat.prepare()
            for name, (write, field) in WRITERS.items():
                if name != source.name:
                    written = write(prepared)[field]
                    assert misfit(written, TYPES[name]) is None
                    RULES[name](written)

        check()
