"""What the vendors' answers say that a call cost."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types import Message
from endpoint import completions, messages, responses
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from sapwood.formats import usage_of_completion, usage_of_message, usage_of_response
from sapwood.model import Usage

ANSWERS: list[tuple[Any, Any, dict[str, Any]]] = [
    (usage_of_completion, ChatCompletion, completions.completion("x", id="a")),
    (usage_of_message, Message, messages.message("x", id="a")),
    (usage_of_response, Response, responses.response([], id="a", usage=responses.USAGE)),
]


@pytest.mark.parametrize(("read", "kind", "answer"), ANSWERS)
def test_all_counts_are_read_from_objects_and_from_json(
    read: Any, kind: Any, answer: dict[str, Any]
) -> None:
    wanted = Usage(
        id="a",
        model="small-1",
        input_tokens=1200,
        output_tokens=80,
        cached_tokens=1024,
        reasoning_tokens=30,
    )
    assert read(answer) == read(kind.model_validate(answer), "other") == wanted


@pytest.mark.parametrize(("read", "kind", "answer"), ANSWERS)
def test_without_usage_or_an_id_there_is_none(read: Any, kind: Any, answer: dict[str, Any]) -> None:
    assert read({**answer, "usage": None}) is None
    assert read({**answer, "id": ""}) is None
    assert read(None) is None


@pytest.mark.parametrize(("read", "kind", "answer"), ANSWERS)
def test_what_is_no_count_is_none(read: Any, kind: Any, answer: dict[str, Any]) -> None:
    odd = dict.fromkeys(answer["usage"], -1)
    assert read({**answer, "usage": odd, "model": None}, "mine") == Usage(id="a", model="mine")
