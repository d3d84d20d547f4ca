"""One append, as it is handed on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ...model import Appended, OnKnown, Position, Root
from ...rules.codec import Packed
from .extras import NO_EXTRAS, Extras


class Request(NamedTuple):
    """What to append, and where."""

    owner: str
    session: str
    batch: Sequence[Packed]
    parent: str | Root | None
    expected_tip: str | Root | None
    extras: Extras = NO_EXTRAS
    on_known: OnKnown = "return"
    expected_snapshot: str | None = None
    expected_data: Position | Root | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is one message after the tip, which can go together with others."""
        return self.extras is NO_EXTRAS and self.is_next

    @property
    def is_next(self) -> bool:
        """Whether it is one message after the tip, without data, whatever comes along with it."""
        return self.is_next_with_any_data and self.batch[0].data is None

    @property
    def is_next_with_any_data(self) -> bool:
        """Whether it is one message after the tip, with data or without."""
        return (
            len(self.batch) == 1
            and not self.batch[0].is_mark
            and self.parent is None
            and self.expected_tip is None
            and self.expected_snapshot is None
            and self.expected_data is None
        )

    @property
    def data(self) -> bytes | None:
        """The data of the last message."""
        return self.batch[-1].data if self.batch else None

    @property
    def has_digests(self) -> bool:
        """Whether what its messages are compared by was given with any of them."""
        return any(it.given_digest is not None for it in self.batch)


def size_of(request: Request) -> int:
    """Return how many bytes a request has."""
    return sum(len(it.body) for it in request.batch) + len(request.data or b"")


def in_given_order(appended: Appended, batch: Sequence[Packed]) -> Appended:
    """Return an answer with its messages in the order in which they were given."""
    by_id = {message.id: message for message in appended.messages}
    return replace(appended, messages=[by_id[it.id] for it in batch if it.id in by_id])
