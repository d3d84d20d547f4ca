"""What can be read off messages without understanding their language."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ..model import Entry, FilePart, Message, ToolCallPart, ToolResultPart

MAX_FILES = 100
MAX_LINES = 200  # more than any digest has room for

# The keys under which tools are commonly given a file.
_FILE_KEYS = {"path", "file", "filename", "file_name", "file_path", "filepath", "uri", "url"}
_FILE_KEYS |= {"paths", "files", "notebook_path", "target_file", "source", "destination"}
# A sentence ends with one of these; the full stops of East Asian scripts need no blank after them.
_SENTENCE = re.compile(r"(?<=[.!?…؟।])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_QUESTION = re.compile(r"[?\uff1f؟⸮\u037e]\W*$")
# Words by which a decision is told in some of the most spoken languages.
_DECISION = re.compile(
    r"\b(decid|agreed?\b|let's|we will|we'll|i will|i'll|go with|settled on|entschied|einigen|décid"
    r"|d'accord|acord|vamos a|решен|решил|договор|kararlaş)|决定|決定|決め|同意|결정|قرر|तय",
    re.IGNORECASE,
)


class ConversationFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked, answered, used and left open."""

    messages: int
    requests: list[str]
    decisions: list[str]
    open_questions: list[str]
    tools: dict[str, int]
    files: list[str]


def read_facts(entries: Sequence[Entry]) -> ConversationFacts:
    """Read the facts off the messages among the entries; summaries are left to the caller."""
    messages = [entry for entry in entries if isinstance(entry, Message)]
    spoken = [message for message in messages if message.text.strip()]
    requests = [_lead(message.text) for message in spoken if message.role == "user"]
    return ConversationFacts(
        messages=len(messages),
        requests=requests[:MAX_LINES],
        decisions=_decisions(spoken)[-MAX_LINES:],
        open_questions=(_open_questions(spoken) + _open_calls(messages))[:MAX_LINES],
        tools=_tools(messages),
        files=_files(messages),
    )


def _sentences(text: str) -> list[str]:
    return [sentence.strip() for sentence in _SENTENCE.split(text) if sentence.strip()]


def _lead(text: str) -> str:
    """Return the first sentences of a text, of about 200 characters."""
    lead = ""
    for sentence in _sentences(text):
        if lead and len(lead) + len(sentence) > 200:
            break
        lead = f"{lead} {sentence}".strip()
    return lead


def _decisions(spoken: Sequence[Message]) -> list[str]:
    """Return the sentences that tell of a decision, and the lead of each turn's last answer."""
    found: list[str] = []
    for index, message in enumerate(spoken):
        found += [text for text in _sentences(message.text) if _DECISION.search(text)]
        ends_turn = index + 1 == len(spoken) or spoken[index + 1].role == "user"
        if message.role not in ("user", "tool", "system") and ends_turn:
            found.append(_lead(message.text))
    return list(dict.fromkeys(found))


def _open_questions(spoken: Sequence[Message]) -> list[str]:
    """Return the questions of the last turn that nobody has answered yet."""
    found: list[str] = []
    for message in reversed(spoken):
        if message.role != spoken[-1].role:
            break
        questions = [text for text in _sentences(message.text) if _QUESTION.search(text)]
        found = questions + found
    return found


def _open_calls(messages: Sequence[Message]) -> list[str]:
    open_calls: dict[str, str] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                open_calls[part.call_id] = part.name
            elif isinstance(part, ToolResultPart):
                open_calls.pop(part.call_id, None)
    return [f"the call of {name} has no result" for name in open_calls.values()]


def _tools(messages: Sequence[Message]) -> dict[str, int]:
    calls = Counter(
        part.name
        for message in messages
        for part in message.parts
        if isinstance(part, ToolCallPart)
    )
    return dict(calls.most_common())


def _files(messages: Sequence[Message]) -> list[str]:
    found: dict[str, None] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, FilePart):
                found[part.name or part.uri or part.media_type] = None
            elif isinstance(part, ToolCallPart):
                found.update(dict.fromkeys(_named_files(part.input)))
            if len(found) >= MAX_FILES:
                return list(found)[:MAX_FILES]
    return list(found)


def _named_files(value: Any) -> Iterator[str]:
    """Yield the texts under keys that name files, at the top of an input or one level below."""
    for item in value if isinstance(value, list) else [value]:
        for key, child in item.items() if isinstance(item, dict) else ():
            if str(key).lower() in _FILE_KEYS:
                for name in child if isinstance(child, list) else [child]:
                    if isinstance(name, str) and 0 < len(name) <= 1_000:
                        yield name
