"""The bytes of a message's files, which are stored as they are, behind its JSON.

Compact JSON has no NUL: what is before the first one is the JSON of a stored body, and what is
behind it the files, as MessagePack, by the numbers of their parts. A body without a NUL has none:
earlier versions kept their bytes in the JSON, as Base64.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec.structs import replace

from ..model import FilePart, Part

FilesByPart = dict[Annotated[int, msgspec.Meta(ge=0)], bytes]

END_OF_JSON = b"\0"

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(FilesByPart).decode


def files_in(parts: list[Part]) -> FilesByPart:
    """Return the bytes of the files among parts, by the numbers of these."""
    return {
        number: bytes(part.data)
        for number, part in enumerate(parts)
        if type(part) is FilePart and isinstance(part.data, (bytes, bytearray, memoryview))
    }


def without_files(parts: list[Part], files: FilesByPart) -> list[Part]:
    """Return parts as their JSON has them: without the bytes of their files."""
    return [replace(it, data=None) if number in files else it for number, it in enumerate(parts)]


def with_files(parts: list[Part], stored: bytes) -> list[Part]:
    """Return parts with the bytes of their files, which stand in a stored body."""
    files = _decode(memoryview(stored)[stored.index(END_OF_JSON) + 1 :])
    whole = parts.copy()
    for number, data in files.items():
        if number >= len(whole) or type(whole[number]) is not FilePart:
            raise ValueError(f"part {number} is no file")
        whole[number] = replace(whole[number], data=data)
    return whole


def joined(json: bytes, files: FilesByPart) -> bytes:
    """Return a body as it is stored."""
    return END_OF_JSON.join((json, _encode(files))) if files else json


def json_in(stored: bytes) -> bytes:
    """Return the JSON of a stored body, without the files behind it."""
    # What is no bytes is a TypeError, for whoever decodes it.
    return stored[: stored.index(END_OF_JSON)] if END_OF_JSON in stored else stored
