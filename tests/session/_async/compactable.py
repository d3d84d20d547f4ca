"""What tests of compaction share: a model, a tight plan, a long history."""

from __future__ import annotations

from typing import Any

from sapwood import (
    AsyncSession,
    Message,
    Summary,
)
from sapwood.compaction import (
    CompactFunction,
    create_compact_function,
)

LONG = "a long story about the harbour " * 20


class Model:
    """A summariser that writes down what it was asked, and does something else first if told."""

    def __init__(self, answer: str = "It was about the harbour.") -> None:
        self.answer = answer
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self.answer


def tight(model: Any, **more: Any) -> CompactFunction:
    settings = {"protect_head": 1, "tail_token_budget": 0, "min_tail_messages": 2, **more}
    return create_compact_function(model, **settings)


async def fill(chat: AsyncSession, count: int) -> list[Message]:
    return await chat.append_all([("user", f"{n}: {LONG}") for n in range(count)])


async def shown(chat: AsyncSession) -> list[str]:
    entries = (await chat.history()).entries
    return [f"<{e.text}>" if isinstance(e, Summary) else e.id for e in entries]
