"""Keys of entries, made from their titles."""

from __future__ import annotations

import hashlib
import re
import unicodedata

MAX_SLUG = 60
_HASH = 10

_SEPARATORS = re.compile(r"[\s_-]+")
_LOST = re.compile(r"[^a-z0-9-]+")
_HASHED = re.compile(rf"(?:^|-)[0-9a-f]{{{_HASH}}}$")


def entry_key(title: str | None, content: str) -> str:
    """Return the key of an entry: the same for the same title, another for another one.

    Case, blanks, dashes and underscores between words do not make another title. What a slug
    cannot say (other scripts, punctuation, more than 60 characters) is told apart by a hash.
    Without a title the content is what names it.
    """
    plain = _plain(title or "")
    if not plain:
        return _hashed(_slug(_plain(content))[:MAX_SLUG], content)
    slug = _slug(plain)
    if slug == plain and len(slug) <= MAX_SLUG and not _HASHED.search(slug):
        return slug
    return _hashed(slug[:MAX_SLUG], plain)


def _plain(text: str) -> str:
    """Write a title in small letters, with one dash between words."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return _SEPARATORS.sub("-", folded).strip("-")


def _slug(plain: str) -> str:
    return _SEPARATORS.sub("-", _LOST.sub("-", plain)).strip("-")


def _hashed(slug: str, of: str) -> str:
    digest = hashlib.sha256(of.encode()).hexdigest()[:_HASH]
    return f"{slug.strip('-') or 'entry'}-{digest}"
