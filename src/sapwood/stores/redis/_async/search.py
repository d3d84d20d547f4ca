"""Searching: everything is looked at, the sessions that were active last first."""

from __future__ import annotations

from collections.abc import AsyncIterator

from ....errors import StoreCorruptError
from ....model import EntryRef, Hits, Position, Search
from ....rules.query import Query
from ....rules.text import stored_text
from ...base.found import SUMMARY_ROLE, Said, matching_text
from ...base.hit_block import HitBlock, order_of
from ..entries import split_entry
from ..rows import RedisSessionRow, overlay_of
from .context import AsyncRedisWork
from .listing import trees_of
from .loaded_tree import LoadedTree, entries_of, load_tree


class AsyncRedisSearch(AsyncRedisWork):
    """Searches by looking at everything: there is no index."""

    async def search(self, owner: str, search: Search, query: Query) -> Hits:
        """Find what matches, the best first; of equals, the newest."""
        block = HitBlock("redis", owner, search, query)
        async for tree, said in self._said(owner, search):
            profile = said.session.profile
            folded = matching_text(query, said, profile.title, profile.tags)
            if folded is not None:
                block.take(order_of(said, tree), said, folded)
        return block.hits()

    async def _said(
        self, owner: str, search: Search
    ) -> AsyncIterator[tuple[str, Said[RedisSessionRow]]]:
        only, trees, kind = None, list[str](), search.kind
        if search.session is None:
            trees = await trees_of(self._context, owner)
        else:
            look = await self._context.directory.look(owner, search.session)
            only, trees, kind = look.row, [look.tree], None
        for name in trees:
            tree = await load_tree(self._context, name)
            if kind is not None and not tree.has_kind(kind):
                continue
            async for said in self._messages(tree, only, kind):
                yield name, said
            async for said in self._summaries(tree, only, kind):
                yield name, said

    async def _messages(
        self, tree: LoadedTree, only: RedisSessionRow | None, kind: str | None
    ) -> AsyncIterator[Said[RedisSessionRow]]:
        for segment in tree.segments:
            async for place, entry in entries_of(self._context, tree, segment):
                if entry.endswith(b"\n") or (only and not tree.sees(only, place)):
                    continue
                session = tree.reported_session(place, kind)
                if session is None:
                    continue
                head, body = split_entry(entry)
                try:
                    text = stored_text(body, head.id)
                except StoreCorruptError:
                    # Whoever reads the message is told; the others are still to be found.
                    continue
                yield Said(
                    session,
                    session.id,
                    EntryRef(kind="message", id=head.id),
                    head.role,
                    Position(str(place.segment), place.depth),
                    head.created_us,
                    text,
                )

    async def _summaries(
        self, tree: LoadedTree, only: RedisSessionRow | None, kind: str | None
    ) -> AsyncIterator[Said[RedisSessionRow]]:
        shown: dict[bytes, RedisSessionRow] = {}
        told = [row for row in tree.rows.values() if kind in (None, row.profile.kind)]
        for row in sorted(told, key=lambda row: int(row.number)):
            if only is None or row.id == only.id:
                for number in tree.in_force[row.home]:
                    shown.setdefault(number, row)
        if not shown:
            return
        context = self._context
        ranges, stored = await context.client.run_all(
            [("HMGET", context.key(tree.name, part), *shown) for part in ("w", "y")]
        )
        for row, range, rest in zip(shown.values(), ranges, stored, strict=True):
            if range is None or rest is None:
                continue  # it was undone meanwhile
            overlay = overlay_of(range, rest)
            yield Said(
                row,
                row.id,
                EntryRef(kind="overlay", id=overlay.id),
                SUMMARY_ROLE,
                overlay.last,
                overlay.created_us,
                overlay.summary,
            )
