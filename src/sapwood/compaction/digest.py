"""A summary without a model: facts that can be read off the messages, in any language."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

import msgspec

from ..model import Entry, FilePart, Message, Summary, ToolCallPart, ToolResultPart
from ..rules import check
from ..rules.tokens import estimate_text
from .cuts import cut_middle, cut_to_tokens

HEADING = "Earlier summary:\n"
MAX_LINE = 300
MIN_SHARE = 40  # tokens below which a summary cut by itself would be all mark
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


def digest(entries: Sequence[Entry], max_tokens: int) -> str:
    """Write a digest of some entries, of at most so many tokens by `estimate_text`.

    It names the first request, later requests, what was decided or answered, the tools used and
    how often, the files touched and what is open, each where there is any. Earlier summaries are
    kept in full when they fit into half of the room, or into what the rest leaves free; if not,
    their middle is cut out, with a mark. The same entries always give the same digest.
    """
    check.count(max_tokens, "max_tokens", 1)
    previous = [entry.text for entry in entries if isinstance(entry, Summary)]
    sections = _sections(read_facts(entries))
    needed = estimate_text("\n\n".join(sections))
    kept = _previous(previous, max(max_tokens // 2, max_tokens - needed - 2)) if previous else ""
    room = max_tokens - estimate_text(kept) - 2
    text = "\n\n".join([*([kept] if kept else []), *_fitting(sections, room)])
    # Blank lines between the sections may tip the scales; and there may be nothing to say at all.
    return cut_to_tokens(text or "(nothing was said)", max_tokens)


def _previous(texts: Sequence[str], max_tokens: int) -> str:
    # A digest of digests would otherwise end as a column of headings.
    headed = [text if text.startswith(HEADING) else HEADING + text for text in texts]
    whole = "\n\n".join(headed)
    share = max_tokens // len(texts) - 2
    if estimate_text(whole) <= max_tokens or len(texts) == 1 or share < MIN_SHARE:
        return cut_to_tokens(whole, max_tokens)
    return "\n\n".join(cut_to_tokens(text, share) for text in headed)


def _fitting(sections: Sequence[str], room: int) -> list[str]:
    """Return sections within so many tokens: long ones lose their middle, short ones stay."""
    fitting = [*sections]
    while fitting and sum(estimate_text(text) + 1 for text in fitting) > room:
        costs = [estimate_text(text) for text in fitting]
        longest = costs.index(max(costs))
        shorter = cut_to_tokens(fitting[longest], max(costs[longest] * 3 // 4, 1))
        if estimate_text(shorter) >= costs[longest] or not shorter:
            # No room is left even for the marks: the last sections matter least.
            fitting.pop()
        else:
            fitting[longest] = shorter
    return fitting


def _sections(facts: ConversationFacts) -> list[str]:
    sections = [
        _listed("First request", facts.requests[:1]),
        _listed("Open questions", facts.open_questions),
        _listed("Decisions and answers", facts.decisions),
        _listed("Later requests", facts.requests[1:]),
        _named("Tools used", [f"{name} ({count})" for name, count in facts.tools.items()]),
        _named("Files", facts.files),
        "" if not facts.messages else f"Messages covered: {facts.messages}",
    ]
    return [section for section in sections if section]


def _listed(heading: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    return "\n".join([f"{heading}:", *(f"- {_one_line(line)}" for line in lines)])


def _named(heading: str, names: Sequence[str]) -> str:
    return f"{heading}: {', '.join(_one_line(name) for name in names)}" if names else ""


def _one_line(text: str) -> str:
    return cut_middle(" ".join(text.split()), MAX_LINE)


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
    last = [*takewhile(lambda message: message.role == spoken[-1].role, reversed(spoken))]
    sentences = [text for message in reversed(last) for text in _sentences(message.text)]
    return [text for text in sentences if _QUESTION.search(text)]


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
