"""Sessions as Markdown: what was said, for people to read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..model import (
    FilePart,
    Message,
    Part,
    Read,
    ReasoningPart,
    SessionRecord,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ..rules.wording import counted
from ..session import SessionManager
from ..transfer import Exported
from .output import Output, clean, encode_json
from .records import lineage_of, local
from .settings import iter_pages

PAGE = 200
PAGE_BYTES = 4 * 1024 * 1024
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.M)
_MEANT = re.compile(r"([\\`*_{}\[\]<>#|!])")


def markdown_lines(
    sessions: SessionManager, ids: Sequence[str] | None, done: Exported, output: Output
) -> Iterator[bytes]:
    """Write sessions, or all of the owner, each with the messages on the path to its tip."""
    for record in _records(sessions, ids):
        yield ("\n" if done.names else "").encode()
        done.names.add(record.id)
        yield _heading(record, output).encode()
        depth, more = 0, True
        while more:
            query = Read(overlays=False, after=depth, limit=PAGE, max_bytes=PAGE_BYTES)
            history = sessions.store.read(sessions.owner, record.id, query)
            for message in history.messages_only:
                yield _passage(message).encode()
                done.messages += 1
                depth = message.depth
            more = history.more


def _records(sessions: SessionManager, ids: Sequence[str] | None) -> Iterator[SessionRecord]:
    if ids is not None:
        yield from (sessions.get(id).record() for id in ids)
        return
    for page in iter_pages(sessions, kind=None, order="created", reverse=True, limit=PAGE):
        yield from page.sessions


def _heading(record: SessionRecord, output: Output) -> str:
    facts = [
        f"`{output.id(record.id)}`",
        counted(record.messages, "message"),
        f"begun {local(record.created_at)}",
        *(f"#{_plain(tag)}" for tag in record.tags),
    ]
    origin = lineage_of(record, {})
    if origin:
        facts.insert(1, f"from {_plain(origin)}")
    return f"# {_plain(record.title or output.id(record.id))}\n\n{' · '.join(facts)}\n"


def _plain(text: str) -> str:
    """Return a line in which nothing has a meaning in Markdown."""
    return _MEANT.sub(r"\\\1", clean(text))


def _passage(message: Message) -> str:
    said_by = message.role if message.name is None else f"{message.role} ({message.name})"
    said = "\n\n".join(filter(None, map(_words_of, message.parts)))
    return f"\n## {_plain(said_by)} · {local(message.created_at)}\n\n{said}\n"


def _words_of(part: Part) -> str:
    if isinstance(part, TextPart):
        return _closed(part.text)
    if isinstance(part, ReasoningPart):
        return "\n".join(f"> {line}".rstrip() for line in _closed(part.text).splitlines())
    if isinstance(part, ToolCallPart):
        return f"→ {_plain(part.name)}\n\n{_fenced(part.input)}"
    if isinstance(part, ToolResultPart):
        return f"← {'error' if part.is_error else 'result'}\n\n{_fenced(part.output)}"
    if isinstance(part, FilePart):
        return _file(part)
    return _fenced(part.to_json())


def _closed(text: str) -> str:
    """Close a block of code that a text leaves open, so that it does not take in what follows."""
    is_open = ""
    for fence in _FENCE.findall(text):
        if not is_open:
            is_open = fence
        elif fence[0] == is_open[0] and len(fence) >= len(is_open):
            is_open = ""
    return f"{text}\n{is_open}" if is_open else text


def _fenced(value: object) -> str:
    """Write a value as a block of code, by a fence that does not occur in it."""
    is_text = isinstance(value, str)
    text = value if isinstance(value, str) else encode_json(value, indent=2)
    longest = max((len(it) for it in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{'' if is_text else 'json'}\n{text}\n{fence}"


def _file(part: FilePart) -> str:
    name = _plain(part.name or part.uri or part.media_type)
    size = "" if part.data is None else f", {counted(len(part.data), 'byte')}"
    where = f" <{clean(part.uri)}>" if part.uri and part.name else ""
    return f"[file {name}: {_plain(part.media_type)}{size}]{where}"
