"""The oracle: what a store should do, written as simply as possible and shared with none."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import (
    AlreadyExistsError,
    ConflictError,
    MessageConflictError,
    NotFoundError,
    SapwoodError,
    StaleTipError,
    StaleVersionError,
    UsageError,
)
from ...model import (
    ROOT,
    Edge,
    EdgeKind,
    EntryRef,
    NewMessage,
    NewOverlay,
    NewSession,
    Root,
    SessionPatch,
)
from .node import Cover, Home, Node, content, path_to
from .session import Session, Shown


class Refused(Exception):  # noqa: N818 - it is what is expected, and no error
    """The oracle expects an error: any of these kinds, where several things are wrong at once."""

    def __init__(self, *kinds: type[SapwoodError]) -> None:
        super().__init__(", ".join(kind.__name__ for kind in kinds))
        self.kinds = kinds


class Oracle:
    """One owner's sessions, kept by parent pointers and answered by walks.

    It shares no rule with the stores. Times are handed in.
    """

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self.changes = 0
        self._covers = 0

    def get(self, session: str) -> Session:
        """Return a session, or expect that it is not found."""
        if session not in self.sessions:
            raise Refused(NotFoundError)
        return self.sessions[session]

    def place(self, session: Session, id: str | Root) -> Node | None:
        """Return a place that a session sees, or expect that it is not found."""
        if isinstance(id, Root):
            return None
        node = session.find(id)
        if node is None:
            raise Refused(NotFoundError)
        return node

    def count(self) -> int:
        """Count the live messages that some session sees."""
        seen = {node for session in self.sessions.values() for node in session.seen()}
        return sum(not node.deleted for node in seen)

    # sessions

    def create(self, new: NewSession, now_us: int) -> Session:
        """Create an empty session or a fork."""
        wrong: list[type[SapwoodError]] = []
        if new.id in self.sessions:
            wrong.append(AlreadyExistsError)
        if new.fork is not None and not self._can_fork(new):
            wrong.append(NotFoundError)
        if new.parent is not None and new.parent.session not in self.sessions:
            wrong.append(NotFoundError)
        if wrong:
            raise Refused(*wrong)
        session = Session(new.id, Home(new.id), now_us, now_us, object(), title=new.title)
        if new.fork is not None:
            self._fork(session, new)
        session.parent = new.parent or session.parent
        session.tags = new.tags if isinstance(new.tags, list) else session.tags
        if isinstance(new.attributes, dict):
            session.attributes = new.attributes
        session.end_reason = new.end_reason
        if new.model is None or isinstance(new.model, str):
            session.model = new.model
        self.sessions[new.id] = session
        return session

    def _can_fork(self, new: NewSession) -> bool:
        assert new.fork is not None
        source = self.sessions.get(new.fork.session)
        message = new.fork.message
        return source is not None and (
            message is None or isinstance(message, Root) or source.find(message) is not None
        )

    def _fork(self, session: Session, new: NewSession) -> None:
        assert new.fork is not None
        source = self.get(new.fork.session)
        message = new.fork.message
        point = source.tip if message is None else self.place(source, message)
        path = path_to(point)
        covers = [cover for cover in source.covers if cover.last in path]
        session.parent = Edge(kind=EdgeKind.BRANCH, session=source.id)
        session.tags, session.attributes = source.tags, source.attributes
        session.model = source.model
        session.budget, session.pins = source.budget, source.pins
        if new.fork.detach:
            self._copy(session, path, covers)
        else:
            session.tree, session.tip, session.fork_point = source.tree, point, point
            session.covers = covers

    def _copy(self, session: Session, path: list[Node], covers: list[Cover]) -> None:
        copies: dict[Node, Node] = {}
        for node in path:
            copies[node] = Node(
                node.message,
                node.first,
                copies[node.parent] if node.parent else None,
                session.home,
                node.tokens,
                node.created_us,
                version=node.version,
                deleted=node.deleted,
            )
        session.own = list(copies.values())
        session.tip = session.own[-1] if session.own else None
        for cover in covers:
            fields = {**vars(cover), "first": copies[cover.first], "last": copies[cover.last]}
            session.covers.append(Cover(**{**fields, "number": self._next_cover()}))

    def _next_cover(self) -> int:
        self._covers += 1
        return self._covers

    def update(
        self, session: str, patch: SessionPatch, expected_version: int | None = None
    ) -> Session:
        """Change a session's title, tags, attributes, model or end reason."""
        found = self.get(session)
        if expected_version not in (None, found.version):
            raise Refused(StaleVersionError)
        if isinstance(patch.title, str) or patch.title is None:
            found.title = patch.title
        found.tags = patch.tags if isinstance(patch.tags, list) else found.tags
        if isinstance(patch.attributes, dict):
            found.attributes = patch.attributes
        if patch.model is None or isinstance(patch.model, str):
            found.model = patch.model
        if patch.end_reason is None or isinstance(patch.end_reason, str):
            found.end_reason = patch.end_reason
        found.version += 1
        return found

    def checkout(
        self, session: str, message: str | Root, expected_tip: str | Root | None = None
    ) -> Session:
        """Move the tip."""
        found = self.get(session)
        wrong: list[type[SapwoodError]] = []
        if expected_tip is not None and _name(found.tip) != expected_tip:
            wrong.append(StaleTipError)
        if isinstance(message, str) and found.find(message) is None:
            wrong.append(NotFoundError)
        if wrong:
            raise Refused(*wrong)
        found.tip = self.place(found, message)
        found.version += 1
        found.stale = False
        return found

    def delete(self, session: str) -> None:
        """Delete a session."""
        self.get(session).home.alive = False
        del self.sessions[session]

    def clear(self, session: str) -> Session:
        """Begin a session again."""
        found = self.get(session)
        found.home.alive = False
        found.home, found.tree = Home(session), object()
        found.tip, found.fork_point, found.pins = None, None, None
        found.own, found.covers, found.stale = [], [], False
        found.version += 1
        return found

    def finish_deletions(self) -> None:
        """From now on, all sums are right."""
        for session in self.sessions.values():
            session.stale = False

    # messages

    def append(
        self,
        session: str,
        batch: Sequence[NewMessage],
        *,
        parent: str | Root | None = None,
        expected_tip: str | Root | None = None,
        now_us: int = 0,
    ) -> tuple[list[Node], int]:
        """Append a batch; return its nodes, known and new, and how many were new."""
        found = self.get(session)
        known = self._known(found, batch)
        if parent is not None:
            self._compare_parents(known, parent)
        if len(known) == len(batch):
            return known, 0
        follow = self._follow(found, known, parent, expected_tip)
        new: list[Node] = []
        for message in batch[len(known) :]:
            said = now_us if message.created_us is None else message.created_us
            follow = Node(message, content(message), follow, found.home, message.tokens or 0, said)
            new.append(follow)
        found.own.extend(new)
        found.tip, found.active_us, found.stale = follow, new[-1].created_us, False
        return known + new, len(new)

    def _known(self, session: Session, batch: Sequence[NewMessage]) -> list[Node]:
        """Return the nodes of the known messages, which must be a prefix and the same."""
        ids = [message.id for message in batch]
        nodes = [session.find(message.id or "") for message in batch]
        known = [node for node in nodes if node is not None]
        if len(set(ids)) < len(ids) or known != nodes[: len(known)]:
            raise Refused(MessageConflictError)
        for message, node in zip(batch, known, strict=False):
            if node.deleted or node.first != content(message):
                raise Refused(MessageConflictError)
        return known

    def _compare_parents(self, known: list[Node], parent: str | Root) -> None:
        for node in known:
            if parent != _name(node.parent):
                raise Refused(MessageConflictError)
            parent = node.id

    def _follow(
        self,
        session: Session,
        known: list[Node],
        parent: str | Root | None,
        expected_tip: str | Root | None,
    ) -> Node | None:
        """Return the node that new messages follow."""
        wrong: list[type[SapwoodError]] = []
        if expected_tip is not None:
            expected = known[-1].id if known else expected_tip
            if _name(session.tip) != expected:
                wrong.append(StaleTipError)
        if isinstance(parent, str) and not known and session.find(parent) is None:
            wrong.append(NotFoundError)
        if wrong:
            raise Refused(*wrong)
        if parent is None:
            return session.tip
        return known[-1] if known else self.place(session, parent)

    def update_message(self, session: str, message: NewMessage) -> Node:
        """Replace what a message says."""
        found = self.get(session)
        node = found.find(message.id or "")
        if node is None or node.deleted:
            raise Refused(NotFoundError)
        if node.home is not found.home:
            raise Refused(ConflictError)
        node.message, node.tokens = message, message.tokens or 0
        node.version += 1
        self._touch(found, [node])
        return node

    def delete_messages(self, session: str, ids: Sequence[str]) -> tuple[list[str], list[str]]:
        """Erase messages; return their ids, and the overlays that cover one of them."""
        found = self.get(session)
        wrong: list[type[SapwoodError]] = []
        gone: list[Node] = []
        for id in dict.fromkeys(ids):
            node = found.find(id)
            if node is None:
                wrong.append(NotFoundError)
            elif not node.deleted:
                if node.home is not found.home and node.home.alive:
                    wrong.append(ConflictError)
                gone.append(node)
        if wrong:
            raise Refused(*wrong)
        for node in gone:
            node.deleted = True
        self._touch(found, gone)
        return [node.id for node in gone], self._quoting(gone)

    def _touch(self, session: Session, nodes: list[Node]) -> None:
        self.changes += 1
        session.stale = session.stale and not nodes
        for node in nodes:
            node.changed = self.changes
        for other in self.sessions.values():
            if other is not session and any(node in other.seen() for node in nodes):
                other.stale = True

    def _quoting(self, nodes: list[Node]) -> list[str]:
        covers = {cover for session in self.sessions.values() for cover in session.covers}
        quoting = [cover for cover in covers if cover.nodes & set(nodes)]
        return [cover.id for cover in sorted(quoting, key=lambda cover: cover.number)]

    # overlays

    def add_overlay(
        self, session: str, new: NewOverlay, *, snapshot: int | None = None, now_us: int = 0
    ) -> Cover:
        """Put an overlay over a range; `snapshot` is what `changes` was when it was read."""
        found = self.get(session)
        leaf = found.tip if new.leaf is None else self.place(found, new.leaf)
        entries = found.shown(leaf)
        names = [entry.name for entry in entries]
        self._expect_ends(found, new, names)
        first, last = (
            names.index((new.first.kind, new.first.id)),
            names.index((new.last.kind, new.last.id)),
        )
        inside = entries[first : last + 1]
        cover = self._cover(session, new, inside, now_us)
        changed = any(node.changed > (snapshot or 0) for node in cover.nodes)
        wrong: list[type[SapwoodError]] = []
        if snapshot is not None and changed:
            wrong.append(ConflictError)
        if new.id in self.overlay_ids(found):
            wrong.append(AlreadyExistsError)
        if wrong:
            raise Refused(*wrong)
        found.covers.append(cover)
        found.stale = False
        return cover

    def overlay_ids(self, session: Session) -> set[str]:
        """Return the ids of the overlays in force anywhere in a session's tree."""
        same = [other for other in self.sessions.values() if other.tree is session.tree]
        return {cover.id for other in same for cover in other.covers}

    def _expect_ends(self, session: Session, new: NewOverlay, names: list[tuple[str, str]]) -> None:
        missing = [end for end in (new.first, new.last) if (end.kind, end.id) not in names]
        wrong = [ConflictError if _exists(session, end) else NotFoundError for end in missing]
        if wrong:
            raise Refused(*wrong)
        first, last = (names.index((end.kind, end.id)) for end in (new.first, new.last))
        if first > last:
            raise Refused(UsageError)

    def _cover(self, session: str, new: NewOverlay, inside: list[Shown], now_us: int) -> Cover:
        first, last = inside[0], inside[-1]
        pins = sum(pin.tokens for entry in inside for pin in entry.pins)
        return Cover(
            id=new.id or "",
            first=first.cover.first if first.cover else _node(first),
            last=last.cover.last if last.cover else _node(last),
            summary=new.summary,
            tokens=new.tokens or 0,
            covered_tokens=sum(entry.tokens for entry in inside) - pins,
            created_by=session,
            created_us=now_us,
            number=self._next_cover(),
        )

    def undo(self, session: str, overlay: str) -> Cover:
        """Take an overlay out of force."""
        found = self.get(session)
        for cover in found.covers:
            if cover.id == overlay:
                found.covers.remove(cover)
                found.stale = False
                return cover
        raise Refused(NotFoundError)


def _exists(session: Session, end: EntryRef) -> bool:
    if end.kind == "overlay":
        return any(cover.id == end.id for cover in session.covers)
    return session.find(end.id) is not None


def _node(entry: Shown) -> Node:
    assert entry.node is not None
    return entry.node


def _name(node: Node | None) -> str | Root:
    return ROOT if node is None else node.id
