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


def found_by(
    oracle: Oracle, word: str, session: str | None, kind: str | None
) -> set[FoundByOracle]:
    """Look for one of `FOUND_BY`, or for a word as it stands, in a session or in all of a kind."""
    every = [*oracle.sessions.values()]
    among = [it for it in every if kind in (None, it.kind)]
    telling = every if session is not None else among
    if session is not None:
        among = [oracle.get(session)]
    wanted = FOUND_BY.get(word, {word})
    nodes = dict.fromkeys(node for each in among for node in each.seen() if not node.deleted)
    said = [node for node in nodes if wanted & _words_of(node)]
    told = {_message(node, teller) for node in said if (teller := _teller(telling, node))}
    covers: dict[Cover, Session] = {}
    for each in among:
        for cover in each.covers:
            covers.setdefault(cover, each)
    summed_up = {c: s for c, s in covers.items() if wanted & set(c.summary.split())}
    return told | {_summary(cover, each) for cover, each in summed_up.items()}


def _words_of(node: Node) -> set[str]:
    texts = [part.text for part in node.message.parts if isinstance(part, TextPart)]
    return set(" ".join(texts).split())


def _message(node: Node, session: str) -> FoundByOracle:
    role = node.message.role
    return FoundByOracle(session, "message", node.id, role, node.created_us, node.position)


def _teller(among: list[Session], node: Node) -> str | None:
    """Return the session that wrote it; when that is gone, the oldest that stands on it."""
    if node.home.alive:
        return next((each.id for each in among if each.home is node.home), None)
    return next((each.id for each in among if node in path_to(each.fork_point)), None)


def _summary(cover: Cover, session: Session) -> FoundByOracle:
    last = cover.last.position
    return FoundByOracle(session.id, "overlay", cover.id, "summary", cover.created_us, last)
