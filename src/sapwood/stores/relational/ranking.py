"""What a query finds of the candidates that a store has."""

from __future__ import annotations

from ...errors import StoreCorruptError
from ...model import EntryRef, Hits, Search
from ...rules.query import Query
from ...rules.text import stored_text
from ..base.found import SUMMARY_ROLE, Said, matching_text
from ..base.hit_block import HitBlock, HitOrder
from .position import public
from .rows import summary_text


class Ranking:
    """One search: looks at what was said, the newest first, until enough of it matches."""

    def __init__(self, kind: str, owner: str, search: Search, query: Query) -> None:
        self._query = query
        self._block = HitBlock(kind, owner, search, query)
        self.below = self._block.below
        self.most = self._block.most

    @property
    def is_enough(self) -> bool:
        """Whether nothing older needs to be looked at."""
        return self._block.is_full

    def take(
        self,
        order: HitOrder,
        is_message: bool,
        id: str,
        role: str | None,
        pos: int,
        created_us: int,
        data: bytes,
        session: str,
        title: bytes | None,
        tags: list[str],
    ) -> None:
        """Look at a message, or at a summary, which has no role; it is told as a session's."""
        try:
            text = stored_text(data, id) if is_message else summary_text(data, id)
        except StoreCorruptError:
            # Whoever reads it is told; the others are still to be found.
            return
        role = SUMMARY_ROLE if role is None else role
        entry = EntryRef(kind="message" if is_message else "overlay", id=id)
        said = Said(None, session, entry, role, public(pos), created_us, text)
        shown = None if title is None else title.decode()
        folded = matching_text(self._query, said, shown, tags)
        if folded is not None:
            self._block.take(order, said, folded)

    def hits(self) -> Hits:
        """Return the best matches: of equals, the newest."""
        return self._block.hits()
