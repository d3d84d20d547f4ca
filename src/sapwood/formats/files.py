"""Files in parts: inline bytes, data URLs, addresses, and ids of files at a vendor."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from ..model import FilePart

ANY_IMAGE = "image/*"
ANY_FILE = "application/octet-stream"
PDF = "application/pdf"
# What models take inline, all vendors alike.
IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")

_DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.S)


def inline(media_type: str, encoded: str) -> FilePart:
    """Make a part of Base64; what would not come out as it went in stays a data URL."""
    data = _bytes(encoded)
    if data is None or base64.b64encode(data).decode() != encoded:
        return FilePart(media_type=media_type, uri=f"data:{media_type};base64,{encoded}")
    return FilePart(media_type=media_type, data=data)


def by_url(url: str, media_type: str | None, otherwise: str = ANY_FILE) -> FilePart:
    """Make a part of a URL; of a data URL its bytes, if it says the same media type."""
    found = _DATA_URL.fullmatch(url)
    if found is not None:
        covers = media_type == ANY_IMAGE and found[1].startswith("image/")
        if covers or media_type in (None, found[1]):
            return inline(found[1], found[2])
    return FilePart(media_type=media_type or otherwise, uri=url)


def by_id(vendor: str, id: str, media_type: str) -> FilePart:
    """Make a part of the id that a file has at a vendor."""
    return FilePart(media_type=media_type, uri=f"{vendor}:{id}")


def named(part: FilePart, name: Any) -> FilePart:
    """Set a file's name, if it is one."""
    if not isinstance(name, str):
        return part
    return FilePart(media_type=part.media_type, uri=part.uri, data=part.data, name=name)


def name_as(field: str, part: FilePart) -> dict[str, str]:
    """Return a file's name as a field of an object, if it has one."""
    return {} if part.name is None else {field: part.name}


def id_at(vendor: str, part: FilePart) -> str | None:
    """Return the id that a file has at a vendor."""
    uri = part.uri or ""
    return uri.removeprefix(f"{vendor}:") if uri.startswith(f"{vendor}:") else None


def encoded(part: FilePart) -> str | None:
    """Return a file's bytes in Base64, when they are inline."""
    if part.data is not None:
        return base64.b64encode(part.data).decode()
    found = _DATA_URL.fullmatch(part.uri or "")
    return None if found is None else found[2]


def is_inline(part: FilePart) -> bool:
    """Whether a file's bytes are there, in Base64 that can be read."""
    return part.data is not None or _bytes(encoded(part)) is not None


def url_of(part: FilePart) -> str:
    """Return a URL of a file, a data URL when it is inline."""
    if part.data is not None:
        return f"data:{part.media_type};base64,{encoded(part)}"
    return part.uri or ""


def is_on_the_web(part: FilePart) -> bool:
    """Whether a file is known by an address that anybody can fetch."""
    return (part.uri or "").startswith(("https://", "http://"))


def is_image(part: FilePart) -> bool:
    """Whether a file is an image."""
    return part.media_type.startswith("image/")


def is_inline_image(part: FilePart) -> bool:
    """Whether a file is an image that models take inline."""
    return part.media_type in IMAGES and is_inline(part)


def text_of(part: FilePart) -> str | None:
    """Return the text of an inline text file."""
    if part.data is None or not part.media_type.startswith("text/"):
        return None
    try:
        return part.data.decode()
    except UnicodeDecodeError:
        return None


def _bytes(encoded: str | None) -> bytes | None:
    try:
        return None if encoded is None else base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
