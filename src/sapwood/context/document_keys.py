"""Where the documents of blocks and entries lie, by scope."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import UsageError
from ..rules.ids import MAX_KEY_BYTES, check_name


class DocumentKeys(NamedTuple):
    """Documents of a session, or without one of the owner; and what their keys begin with."""

    session: str | None
    prefix: str

    def block(self, label: str) -> str:
        """Return the key of a block's document."""
        return f"{self.prefix}block/{label}"

    def entries(self, label: str) -> str:
        """Return what the keys of a block's entries begin with."""
        return f"{self.prefix}entries/{_escaped(label)}/"


def document_keys_of(scope: str, session: str | None, agent: str | None) -> DocumentKeys:
    """Find the place of a scope."""
    if scope == "session":
        if session is None:
            raise UsageError("the scope 'session' needs a session: give its id", path="session")
        check_name(session, "session")
        return DocumentKeys(session, "")
    if scope == "owner":
        return DocumentKeys(None, "")
    if scope != "agent":
        raise UsageError(
            f"the scope must be 'session', 'agent' or 'owner', not {scope!r}", path="scope"
        )
    if agent is None:
        raise UsageError("the scope 'agent' needs an agent: give its name", path="agent")
    check_name(agent, "agent")
    return DocumentKeys(None, f"agent/{_escaped(agent)}/")


def check_scope(scope: str, agent: str | None, label: str) -> None:
    """Refuse an agent where none is meant, and names that are too long together."""
    if agent is not None and scope != "agent":
        raise UsageError(
            f"there is an agent, and the scope is {scope!r}: use scope='agent'", path="agent"
        )
    key = document_keys_of(scope, "any", agent).block(label)
    if len(key.encode()) > MAX_KEY_BYTES:
        raise UsageError(f"the label {label!r:.40} is too long, or the agent's name", path="label")


class NamedDocument(NamedTuple):
    """What a document's key names: a block, or with an entry's key one entry of a block."""

    agent: str | None
    label: str
    entry: str | None = None


def document_named_by(key: str) -> NamedDocument | None:
    """Read the key of a block's or an entry's document; None for any other document."""
    agent = None
    if key.startswith("agent/"):
        name, _, key = key.removeprefix("agent/").partition("/")
        agent = _unescaped(name)
    kind, _, rest = key.partition("/")
    if kind == "block" and rest:
        return NamedDocument(agent, rest)
    label, slash, entry = rest.partition("/")
    return NamedDocument(agent, _unescaped(label), entry) if kind == "entries" and slash else None


def _escaped(name: str) -> str:
    """Write a name so that it ends where the next slash stands."""
    return name.replace("%", "%25").replace("/", "%2F")


def _unescaped(name: str) -> str:
    return name.replace("%2F", "/").replace("%25", "%")
