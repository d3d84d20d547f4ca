"""What is told of an append whose outcome is not known."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import StoreUnavailableError
from ..rules.codec import Packed


def in_doubt(error: StoreUnavailableError, batch: Sequence[Packed]) -> StoreUnavailableError:
    """Give the error for messages that may have been sent before a server was out of reach."""
    if len(batch) == 1:
        what = f"message {batch[0].id!r} may have been stored: append it again under this id"
    else:
        what = "the messages may have been stored: append them again under the same ids"
    return StoreUnavailableError(f"{error}; {what}, and it is stored once")
