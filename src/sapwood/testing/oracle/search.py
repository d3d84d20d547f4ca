"""What a search for one word finds, by looking at everything. Words are what blanks part."""

from __future__ import annotations

from dataclasses import dataclass

from ...model import Position, TextPart
from .node import Cover, Node, path_to
from .oracle import Oracle
from .session import Session

VOCABULARY = ("deploy", "Deploy,", "redeploy", "部署", "请部署服务", "部", ".env", "env", "C++")
"""Words that messages and summaries say, some of them in others."""

FOUND_BY = {
    "deploy": {"deploy", "Deploy,"},
    "dep*": {"deploy", "Deploy,"},
    "redeploy": {"redeploy"},
    "部署": {"部署", "请部署服务"},
    "部": {"部署", "请部署服务", "部"},
    ".env": {".env"},
    "env": {".env", "env"},
    "c++": {"C++"},
}
"""What to search for, and the words that it finds."""


@dataclass(frozen=True)
class FoundByOracle:
    """A message or a summary, and the session that it is told as."""

    session: str
    kind: str
    id: str
    role: str
    created_us: int
    position: Position | None


def found_by(oracle: Oracle, word: str, session: str | None) -> set[FoundByOracle]:
    """Look for one of `FOUND_BY`, or for a word as it stands, in a session or in all."""
    among = [*oracle.sessions.values()] if session is None else [oracle.get(session)]
    wanted = FOUND_BY.get(word, {word})
    nodes = dict.fromkeys(node for each in among for node in each.seen() if not node.deleted)
    told = {_message(oracle, node) for node in nodes if wanted & _words_of(node)}
    covers: dict[Cover, Session] = {}
    for each in among:
        for cover in each.covers:
            covers.setdefault(cover, each)
    said = {c: s for c, s in covers.items() if wanted & set(c.summary.split())}
    return told | {_summary(cover, each) for cover, each in said.items()}


def _words_of(node: Node) -> set[str]:
    texts = [part.text for part in node.message.parts if isinstance(part, TextPart)]
    return set(" ".join(texts).split())


def _message(oracle: Oracle, node: Node) -> FoundByOracle:
    role = node.message.role
    return FoundByOracle(
        _told_as(oracle, node), "message", node.id, role, node.created_us, node.position
    )


def _told_as(oracle: Oracle, node: Node) -> str:
    """Return the session that wrote it; when that is gone, the oldest that stands on it."""
    if node.home.alive:
        return node.home.session
    standing = (each for each in oracle.sessions.values() if node in path_to(each.fork_point))
    return next(standing).id


def _summary(cover: Cover, session: Session) -> FoundByOracle:
    last = cover.last.position
    return FoundByOracle(session.id, "overlay", cover.id, "summary", cover.created_us, last)
