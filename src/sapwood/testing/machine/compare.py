"""Compares what a store says with what the oracle says."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from ...model import (
    ROOT,
    DataVersion,
    Document,
    Entry,
    Gap,
    History,
    Hits,
    Leaf,
    Message,
    Overlay,
    Position,
    Recent,
    Root,
    SessionRecord,
    Summary,
)
from ..oracle import Cover, FoundByOracle, Node, Session, Shown, data_node, spelt, versions_above
from ..oracle.node import path_to

SECOND_US = 1_000_000


class Places:
    """Every position that was ever seen: each is one node's for ever, and segments are runs."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[object, str, int], Node] = {}

    def check(self, tree: object, node: Node, position: Position | None) -> None:
        """See that a node stands where it always stood, and nowhere that another one did."""
        assert position is not None
        assert position.depth == node.depth
        if node.position is not None:
            assert position == node.position
            return
        key = (tree, position.segment, position.depth)
        assert key not in self._nodes, f"{position} was given twice"
        above = self._nodes.get((tree, position.segment, position.depth - 1))
        assert above in (None, node.parent), f"segment {position.segment} branches"
        self._nodes[key] = node
        node.position = position


def name(node: Node | None) -> str | Root:
    """Return a node's id, or the root."""
    return ROOT if node is None else node.id


def compare_hits(expected: set[FoundByOracle], hits: Hits) -> None:
    """Compare what was found, which may come in any order but only once."""
    found = [
        FoundByOracle(
            hit.session, hit.entry.kind, hit.entry.id, hit.role, hit.created_us, hit.position
        )
        for hit in hits.hits
    ]
    assert set(found) == expected
    assert len(found) == len(expected)
    assert hits.cursor is None
    assert all(hit.marks for hit in hits.hits)
    scores = [hit.score for hit in hits.hits]
    assert scores == sorted(scores, reverse=True)


class Comparison:
    """What a session shows, compared field by field."""

    def __init__(self, places: Places, session: Session) -> None:
        self._places = places
        self._session = session

    def message(self, node: Node, message: Message) -> None:
        """Compare a message."""
        expected = node.message
        assert (message.id, message.role) == (expected.id, expected.role)
        assert message.name == expected.name
        assert message.parts == expected.parts
        assert message.metadata == expected.metadata
        assert message.extra == node.extra
        assert message.tokens == node.tokens
        assert message.version == node.version
        assert message.created_us == node.created_us
        assert message.home == (node.home.session if node.home.alive else None)
        self.place(data_node(node), message.data_at)
        self._places.check(self._session.tree, node, message.position)

    def messages(self, nodes: Sequence[Node], messages: Sequence[Message]) -> None:
        """Compare messages whose order is the store's own."""
        by_id = {node.id: node for node in nodes}
        assert sorted(message.id for message in messages) == sorted(by_id)
        for message in messages:
            self.message(by_id[message.id], message)

    def found(self, ids: Sequence[str], messages: Sequence[Message | None]) -> None:
        """Compare what was found by ids."""
        nodes = {node.id: node for node in self._session.seen() if not node.deleted}
        assert [message and message.id for message in messages] == [
            id if id in nodes else None for id in ids
        ]
        for message in messages:
            if message is not None:
                self.message(nodes[message.id], message)

    def stream(self, messages: Sequence[Message]) -> None:
        """Compare all that a session sees, each message after those above it."""
        self.messages([node for node in self._session.seen() if not node.deleted], messages)
        nodes = {node.id: node for node in self._session.seen()}
        given: list[Node] = []
        for message in messages:
            node = nodes[message.id]
            above = [it for it in path_to(node.parent) if not it.deleted]
            assert above == [] or above[-1] in given
            given.append(node)
        segments = [key for key, _ in groupby(message.segment for message in messages)]
        assert len(set(segments)) == len(segments), "a segment comes in two pieces"

    def recent(self, recent: Recent) -> None:
        """Compare the end of the path to the tip: of the last 32 places, 4 messages of no tool."""
        path = path_to(self._session.tip)
        last = path[-32:]
        said = [it for it in last if not it.deleted and it.message.role != "tool"][-4:]
        assert recent.tip == name(self._session.tip)
        assert recent.empty == [it.depth for it in last if it.deleted]
        assert [it.id for it in recent.messages] == [it.id for it in said]
        for node, message in zip(said, recent.messages, strict=True):
            self.message(node, replace(message, data_at=self._data_at(node)))
        assert [it.depth for it in recent.trail[:1]] == [it.depth for it in path[-1:]]
        for it in recent.trail:
            self.place(path[it.depth - 1], it)

    def _data_at(self, node: Node) -> Position | None:
        held = data_node(node)
        return None if held is None else held.position

    def parents(self, ids: Sequence[str], found: Sequence[str | Root | None]) -> None:
        """Compare what messages follow."""
        nodes = {node.id: node for node in self._session.seen()}
        assert [*found] == [name(nodes[id].parent) if id in nodes else None for id in ids]

    def overlay(self, cover: Cover, overlay: Overlay) -> None:
        """Compare an overlay."""
        assert (overlay.id, overlay.summary) == (cover.id, cover.summary)
        assert (overlay.tokens, overlay.covered_tokens) == (cover.tokens, cover.covered_tokens)
        assert (overlay.created_by, overlay.created_us) == (cover.created_by, cover.created_us)
        self._places.check(self._session.tree, cover.first, overlay.first)
        self._places.check(self._session.tree, cover.last, overlay.last)

    def overlays(self, overlays: Sequence[Overlay]) -> None:
        """Compare the overlays in force, oldest first."""
        covers = sorted(self._session.covers, key=lambda cover: cover.number)
        assert [overlay.id for overlay in overlays] == [cover.id for cover in covers]
        for cover, overlay in zip(covers, overlays, strict=True):
            self.overlay(cover, overlay)

    def entries(self, shown: Sequence[Shown], entries: Sequence[Entry]) -> None:
        """Compare what a history shows."""
        assert [entry.name for entry in shown] == [_name(entry) for entry in entries]
        for expected, entry in zip(shown, entries, strict=True):
            if isinstance(entry, Message):
                assert expected.node is not None
                self.message(expected.node, entry)
            else:
                assert expected.cover is not None
                self.overlay(expected.cover, entry.overlay)
                assert [pin.id for pin in expected.pins] == [pin.id for pin in entry.pinned]
                self.messages(expected.pins, entry.pinned)

    def history(self, history: History, leaf: Node | None, overlays: bool) -> None:
        """Compare a whole history."""
        self.entries(self._session.shown(leaf, overlays), history.entries)
        assert (history.leaf, history.tip) == (name(leaf), name(self._session.tip))
        assert history.context_tokens == self._session.context_tokens(leaf)
        assert not history.more
        self.place(data_node(leaf), history.data_at)

    def leaves(self, leaves: Sequence[Leaf]) -> None:
        """Compare the ends of the branches."""
        nodes = {node.id: node for node in self._session.leaves()}
        assert sorted(leaf.id for leaf in leaves) == sorted(nodes)
        for leaf in leaves:
            node = nodes[leaf.id]
            self._places.check(self._session.tree, node, leaf.position)
            assert (leaf.message is None) == node.deleted
            if leaf.message is not None:
                self.message(node, leaf.message)

    def gaps(self, leaf: Node, gaps: Sequence[Gap]) -> None:
        """Compare what was deleted on the path to a leaf, from the root down."""
        nodes = [node for node in path_to(leaf) if node.deleted and not node.mark]
        assert [gap.id for gap in gaps] == [node.id for node in nodes]
        for node, gap in zip(nodes, gaps, strict=True):
            assert gap.home == (node.home.session if node.home.alive else None)
            self._places.check(self._session.tree, node, gap.position)

    def data(self, leaf: Node | None, versions: Sequence[DataVersion]) -> None:
        """Compare the versions of the data at and above a place."""
        nodes = versions_above(leaf)
        assert [it.id for it in versions] == [node.id for node in nodes]
        for node, version in zip(nodes, versions, strict=True):
            assert spelt(version.value) == spelt(node.data)
            assert version.created_us == node.created_us
            self.place(node, version.position)
            self.place(data_node(node.parent), version.previous)

    def documents(self, documents: Sequence[Document], now_us: int) -> None:
        """Compare the documents that have not expired, by key."""
        kept = self._session.documents
        told = [(it.key, it.value, it.created_us, it.expires_us) for it in documents]
        assert told == [
            (key, kept[key].value, kept[key].created_us, kept[key].expires_us)
            for key in sorted(kept)
            if not kept[key].is_expired(now_us)
        ]

    def record(self, record: SessionRecord) -> None:
        """Compare a session's record."""
        session = self._session
        assert (record.id, record.tip) == (session.id, name(session.tip))
        self.place(session.tip, record.tip_position)
        self.place(session.fork_point, record.forked_at)
        self.place(data_node(session.tip), record.data_at)
        assert _fields(record) == _fields(session)
        assert abs(record.updated_us - session.updated_us) < SECOND_US
        assert record.messages == session.count()
        if not session.stale:
            assert record.context_tokens == session.context_tokens(session.tip)

    def place(self, node: Node | None, position: Position | None) -> None:
        """Compare where a node stands; None stands nowhere."""
        if node is None:
            assert position is None
        else:
            self._places.check(self._session.tree, node, position)


def _fields(record: SessionRecord | Session) -> list[Any]:
    return [
        record.title,
        record.kind,
        sorted(record.tags),
        record.attributes,
        record.budget,
        record.model,
        record.end_reason,
        record.closed,
        record.system,
        record.parent,
        record.version,
        record.created_us,
        record.active_us,
    ]


def _name(entry: Entry) -> tuple[str, str]:
    return ("overlay", entry.overlay.id) if isinstance(entry, Summary) else ("message", entry.id)
