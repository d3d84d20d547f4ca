"""The names that are made of keys and titles: of documents, and of owners."""

from __future__ import annotations

import hashlib

from ..model import SessionKey
from .ids import MAX_KEY_BYTES, MAX_NAME_BYTES
from .titles import fold_title

ROUTE_PREFIX = "route/"
TITLE_PREFIX = "title/"
# No printed key is without a colon, and no folded title has a capital: none is taken for a digest.
_DIGEST = "SHA256-"


def route_key(key: SessionKey) -> str:
    """Return the key of the document that says which session is current for a session's key."""
    return _within(ROUTE_PREFIX, str(key), MAX_KEY_BYTES)


def title_key(title: str) -> str:
    """Return the key of the document by which a session claims a title of its owner's."""
    return _within(TITLE_PREFIX, fold_title(title), MAX_KEY_BYTES)


def owner_of(key: SessionKey) -> str:
    """Return the owner of a key's sessions: one for each agent, channel and peer."""
    return _within("", str(SessionKey(key.agent, key.channel, key.peer)), MAX_NAME_BYTES)


def _within(prefix: str, name: str, most: int) -> str:
    """Return a name after its prefix, or where that is too long the digest of the name."""
    if len(prefix.encode()) + len(name.encode()) <= most:
        return prefix + name
    return prefix + _DIGEST + hashlib.sha256(name.encode()).hexdigest()
