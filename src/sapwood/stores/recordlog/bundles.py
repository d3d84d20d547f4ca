"""Messages of a large batch in bundles, so that a reader of a few need not have them all.

A batch is one record, since that is what makes it all or nothing, and a record is sent whole. Its
bundles are compressed, and each is opened by itself.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from ...errors import StoreCorruptError
from .work import Append, AppendedMessage, Bundle

MANY = 32
IN_A_BUNDLE = 64
SIZES = range(16 * 1024, 2 * 1024 * 1024)
"""Below, it does not matter; above are files more often than words, and they take their time."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[AppendedMessage]).decode


def is_large(work: Append, size: int) -> bool:
    """Whether an append that takes so many bytes is put into bundles."""
    return len(work.messages) >= MANY and size in SIZES


def bundled(work: Append) -> Append:
    """Return an append with its messages in bundles."""
    starts = range(0, len(work.messages), IN_A_BUNDLE)
    bundles = [_bundle(work.messages[start : start + IN_A_BUNDLE]) for start in starts]
    return replace(work, messages=[], bundles=bundles)


def _bundle(said: list[AppendedMessage]) -> Bundle:
    # The least effort: it leaves a third, in a tenth of the time that the most takes.
    data = zlib.compress(_encode(said), 1)
    return Bundle(len(said), sum(it.tokens for it in said), data)


def unbundled(work: Append, where: str) -> Append:
    """Return an append with its messages as they were given."""
    said = [it for bundle in work.bundles for it in _opened(bundle, where)]
    return replace(work, messages=said, bundles=[])


def runs_of(
    work: Append, first: int, last: int, where: str
) -> Iterator[tuple[int, int, list[AppendedMessage]]]:
    """Yield runs that have all messages between two depths, and maybe others.

    Of each, the depth of its first message, the tokens above it, and its messages.
    """
    if not work.bundles:
        yield work.first, work.base, work.messages
    depth, base = work.first, work.base
    for bundle in work.bundles:
        if first < depth + bundle.count and depth <= last:
            yield depth, base, _opened(bundle, where)
        depth += bundle.count
        base += bundle.tokens


def _opened(bundle: Bundle, where: str) -> list[AppendedMessage]:
    try:
        said = _decode(zlib.decompress(bundle.data))
    except (msgspec.MsgspecError, ValueError, TypeError, zlib.error) as error:
        raise StoreCorruptError(f"record {where} cannot be decoded: {error}") from error
    if len(said) != bundle.count:
        raise StoreCorruptError(f"record {where} has another number of messages than it says")
    return said
