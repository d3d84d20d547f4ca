"""A stand-in for a model, for when there is none: it counts, repeats and searches, and says so."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence

from ..model import ModelInput, ModelMessage, TextPart, ToolCallPart, ToolResultPart
from ..rules.wording import counted

MARK = "[offline stand-in]"
SEARCH = "session_search"
_LOOK_FOR = re.compile(
    r"\s*(?:please\s+)?(?:search|find|look)(?:\s+for)?\s+(.+?)[\s?.!]*", re.I | re.S
)
_MOST_REPEATED = 80


class OfflineModel:
    """Answers the same to the same, without a network. It understands nothing."""

    name = "offline stand-in"

    def __init__(self, pause_s: float = 0.0) -> None:
        self._pause_s = pause_s

    def __call__(self, given: ModelInput) -> Iterator[TextPart | ToolCallPart]:
        """Answer word by word; a request to find something calls the tool for it."""
        # What is not stored, as a summary or news of a block, is not what somebody said.
        messages = [message for message in given.messages if message.id is not None]
        last = messages[-1] if messages else ModelMessage(role="user", parts=[])
        found = [part for part in last.parts if isinstance(part, ToolResultPart)]
        wanted = _LOOK_FOR.fullmatch(last.text)
        can_search = any(tool.name == SEARCH for tool in given.tools)
        if wanted and not found and can_search:
            call_id = f"call-{len(messages)}"
            yield from self._words(f"{MARK} I look for it in your conversations.")
            yield ToolCallPart(call_id=call_id, name=SEARCH, input={"query": wanted[1]})
        else:
            answered = f"The search answered: {' '.join(str(it.output) for it in found)}"
            yield from self._words(f"{MARK} {answered if found else _about(messages, last)}")

    def _words(self, text: str) -> Iterator[TextPart]:
        for word in re.findall(r"\s*\S+", text):
            if self._pause_s:
                time.sleep(self._pause_s)
            yield TextPart(text=word)


def _about(messages: Sequence[ModelMessage], last: ModelMessage) -> str:
    words = last.text.split()
    said = " ".join(words)
    if len(said) > _MOST_REPEATED:
        said = said[:_MOST_REPEATED].rstrip() + "…"
    questions = sum(message.role == "user" for message in messages)
    return (
        "There is no model here, so nobody understood this. Your message number "
        f"{questions} has {counted(len(words), 'word')}: “{said}”. "
        "Write “find” and a word, and I search your conversations."
    )
