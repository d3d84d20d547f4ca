"""A scripted stand-in for a model, so that the examples run without one.

It has as much of the interface of the `openai` package's client as they use, follows a few rules,
and says so. With OPENAI_API_KEY in the environment, `connect` gives the real client.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

MODEL = os.environ.get("MODEL", "gpt-5-mini")
UPDATES = "These blocks of the system prompt have changed"
CHUNK = 8
Said = str | tuple[str, dict[str, str]]


def connect() -> Any:
    """Give a client for the endpoint that the environment names, or the stand-in."""
    if "OPENAI_API_KEY" not in os.environ:
        return StandIn()
    from openai import OpenAI

    return OpenAI()


class TooLongError(Exception):
    """What a model says to an input that it has no room for."""


class StandIn:
    """Answers by rule. `window` is how many tokens it takes."""

    def __init__(self, window: int = 1_000_000) -> None:
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self.create))
        self.window = window
        self.calls = 0

    def create(self, *, messages: list[Any], stream: bool = False, **options: Any) -> Any:
        tokens = len(json.dumps([messages, options.get("tools")])) // 4
        if tokens > self.window:
            raise TooLongError(f"This model's maximum context length is {self.window} tokens.")
        self.calls += 1
        offered = [tool["function"]["name"] for tool in options.get("tools", [])]
        said = reply_to(messages)
        if isinstance(said, tuple) and said[0] not in offered:
            said = f"I have no tool {said[0]!r}."
        return chunks(said) if stream else self.completion(said, tokens)

    def completion(self, said: Said, tokens: int) -> Any:
        """Give a whole answer, in the form that the client gives."""
        message: dict[str, Any] = {"role": "assistant", "content": said}
        if isinstance(said, tuple):
            function = {"name": said[0], "arguments": json.dumps(said[1])}
            call = {"id": f"call-{uuid.uuid4()}", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return SimpleNamespace(
            id=f"stand-in-{self.calls}",
            model="stand-in",
            choices=[SimpleNamespace(message=message)],
            usage=SimpleNamespace(prompt_tokens=tokens, completion_tokens=len(str(said)) // 4),
        )


def reply_to(messages: list[Any]) -> Said:
    """Say something, or ask for a tool: its name and arguments."""
    # What `prepare` adds about changed blocks is to be known, and not to be answered.
    message = [it for it in messages if not (it["content"] or "").startswith(UPDATES)][-1]
    text = message["content"] or ""
    if message["role"] == "tool":
        return f"The tool says: {text}"
    if found := re.search(r"remember that (.+)", text, re.IGNORECASE):
        return "update_context", {"label": "memory", "content": found[1], "action": "append"}
    if found := re.search(r"\d+ *\* *\d+", text):
        return "multiply", {"expression": found[0]}
    return f"I am a stand-in for a model. You said: {text}"


def chunks(said: Said) -> Iterator[Any]:
    """Give an answer piece by piece, as a model that streams does."""
    text = str(said)
    for start in range(0, len(text), CHUNK):
        delta = SimpleNamespace(content=text[start : start + CHUNK])
        yield SimpleNamespace(choices=[SimpleNamespace(delta=delta)])
