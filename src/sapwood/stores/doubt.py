"""What is told of an append whose outcome is not known."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import StoreUnavailableError
from ..rules.codec import Packed


def in_doubt(error: StoreUnavailableError, batch: Sequence[Packed]) -> StoreUnavailableError:
    """Give the error for messages that may have been sent before a server was out of reach."""
    first, last = batch[0].id, batch[-1].id
    what = (
        f"message {first!r} may have been stored: append it again under this id, and it is"
        if len(batch) == 1
        else f"the {len(batch)} messages from {first!r} to {last!r} may have been stored: append "
        "them again under the same ids, and they are"
    )
    return StoreUnavailableError(f"{error}; {what} stored once")
