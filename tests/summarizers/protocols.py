"""The two protocols, so that one test can hold both summarisers to a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import anthropic
import openai
from endpoint import Endpoint, Reply, completions, messages

SUMMARY = "The order left the warehouse."


class Protocol(NamedTuple):
    """What differs between the protocols, where the rules do not."""

    name: str
    sdk: Any
    path: str
    answer: Callable[..., Reply]
    id: str
    overflow: dict[str, Any]

    def address(self, endpoint: Endpoint) -> str:
        return endpoint.url if self.name == "openai" else endpoint.root


PROTOCOLS = [
    Protocol(
        "openai",
        openai,
        "/v1/chat/completions",
        completions.answer,
        "chatcmpl-1",
        completions.OVERFLOW,
    ),
    Protocol("anthropic", anthropic, "/v1/messages", messages.answer, "msg_1", messages.OVERFLOW),
]
