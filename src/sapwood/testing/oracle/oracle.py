"""The oracle: what a store should do, written as simply as possible and shared with none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...errors import (
    AlreadyExistsError,
    ConflictError,
    MessageConflictError,
    NotFoundError,
    SapwoodError,
    StaleTipError,
    StaleVersionError,
)
from ...model import (
    Edge,
    EdgeKind,
    Fence,
    NewMessage,
    NewSession,
    Position,
    Root,
    SessionPatch,
)
from .base import Refused, beside, name_of, refuse
from .made import mark_message, new_mark, new_node, refuse_other_data
from .node import Cover, Home, Node, content, data_node, path_to
from .overlays import OracleOverlays
from .session import Session
from .units import (
    NOTHING,
    Along,
    closed,
    inherited,
    left_by_a_clear,
    lost,
    stale_data,
    stale_tip,
    tips,
    write,
    wrong_with,
)


class Oracle(OracleOverlays):
    """One owner's sessions, kept by parent pointers and answered by walks.

    It shares no rule with the stores. Times and the versions of documents are handed in.
    """

    def count(self) -> int:
        """Count the live messages that some session sees, of chats and of homes that are gone."""
        seen = {node for session in self.sessions.values() for node in session.seen()}
        return sum(not node.deleted and self._is_a_chats(node.home) for node in seen)

    def _is_a_chats(self, home: Home) -> bool:
        return not home.alive or self.sessions[home.session].kind == "chat"

    def homes_of(self, id: str) -> list[str]:
        """Return the sessions that wrote a live message of this id, by name."""
        return sorted(
            session.id
            for session in self.sessions.values()
            if any(node.id == id and not node.deleted for node in session.own)
        )

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
        refuse(wrong)
        session = Session(new.id, Home(new.id), now_us, now_us, now_us, object(), title=new.title)
        if new.fork is not None:
            self._fork(session, new)
        session.parent = new.parent or session.parent
        session.kind = new.kind if isinstance(new.kind, str) else session.kind
        session.tags = new.tags if isinstance(new.tags, list) else session.tags
        if isinstance(new.attributes, dict):
            session.attributes = new.attributes
        session.end_reason, session.system = new.end_reason, new.system
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
        session.model, session.kind = source.model, source.kind
        session.budget, session.documents = source.budget, inherited(source)
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
                extra=node.extra,
                version=node.version,
                deleted=node.deleted,
                mark=node.mark,
                data=node.data,
            )
        session.own = list(copies.values())
        session.tip = session.own[-1] if session.own else None
        for cover in covers:
            fields = {**vars(cover), "first": copies[cover.first], "last": copies[cover.last]}
            session.covers.append(Cover(**{**fields, "number": self._next_cover()}))

    def update(
        self,
        session: str,
        patch: SessionPatch,
        *,
        expected_tip: str | Root | None = None,
        along: Along = NOTHING,
        now_us: int = 0,
    ) -> Session:
        """Change a session's record."""
        found = self.get(session)
        refuse([*wrong_with(found, along, now_us), *stale_tip(found, expected_tip)])
        write(found, replace(along, patch=patch), now_us)
        return self.written(found)

    def checkout(
        self,
        session: str,
        message: str | Root,
        expected_tip: str | Root | None = None,
        fence: Sequence[Fence] = (),
    ) -> Session:
        """Move the tip."""
        found = self.get(session)
        wrong = [*lost(found, fence), *closed(found), *stale_tip(found, expected_tip)]
        with beside(wrong):
            tip = self.place(found, message)
        refuse(wrong)
        found.tip = tip
        found.version += 1
        found.stale = False
        return self.written(found)

    def delete(self, session: str, expected_version: int | None = None) -> None:
        """Delete a session."""
        found = self.get(session)
        if expected_version not in (None, found.version):
            raise Refused(StaleVersionError)
        found.home.alive = False
        self.reached[session] = found.version
        del self.sessions[session]

    def clear(self, session: str, keep_data: bool = False, now_us: int = 0) -> Session:
        """Begin a session again; the mark that keeps its data has no name yet."""
        found = self.get(session)
        held = data_node(found.tip)
        found.home.alive = False
        found.home, found.tree = Home(session), object()
        found.tip, found.fork_point = None, None
        found.own, found.covers, found.stale = [], [], False
        found.documents = left_by_a_clear(found)
        found.version += 1
        if keep_data and held is not None:
            found.tip = new_mark("", None, found.home, now_us)
            found.tip.data = held.data
            found.own = [found.tip]
        return self.written(found)

    def adopt(self, session: Session, tip: str | Root) -> None:
        """Take over the name that a store gave to the mark of a clear."""
        if session.tip is not None and not session.tip.id and isinstance(tip, str):
            session.tip.message = mark_message(tip)

    def finish_deletions(self) -> None:
        """From now on, all sums are right."""
        for session in self.sessions.values():
            session.stale = False

    # documents

    def put_documents(self, session: str, along: Along, now_us: int) -> Session:
        """Put and delete documents, one or several."""
        found = self.get(session)
        refuse(wrong_with(found, along, now_us))
        write(found, along, now_us)
        return found

    def delete_documents(self, session: str, prefix: str) -> None:
        """Delete documents by the beginning of their keys."""
        found = self.get(session)
        kept = found.documents.items()
        found.documents = {key: it for key, it in kept if not key.startswith(prefix)}

    def renew(self, session: str, key: str, version: int, expires_us: int) -> Session:
        """Let a document expire later, or when it does."""
        found = self.get(session)
        kept = found.documents.get(key)
        if kept is None or kept.version != version:
            raise Refused(StaleVersionError)
        if kept.expires_us is None:
            raise Refused(ConflictError)
        kept.expires_us = max(kept.expires_us, expires_us)
        return found

    # messages

    def append(
        self,
        session: str,
        batch: Sequence[NewMessage],
        *,
        parent: str | Root | None = None,
        expected_tip: str | Root | None = None,
        data: dict[str, Any] | None = None,
        expected_data: Position | Root | None = None,
        id: str = "",
        along: Along = NOTHING,
        now_us: int = 0,
    ) -> tuple[list[Node], int]:
        """Append a batch, or a mark; return its nodes, known and new, and how many were new."""
        found = self.get(session)
        is_mark = not batch
        batch = batch or [mark_message(id)]
        wrong = [*wrong_with(found, along, now_us), *closed(found)]
        with beside(wrong):
            known = self._known(found, batch, parent, is_mark)
            refuse_other_data(known, batch, data)
        if len(known) == len(batch):
            return known, 0
        with beside(wrong):
            follow = self._follow(found, known, parent, expected_tip)
        refuse([*wrong, *stale_data(follow, expected_data)])
        new: list[Node] = []
        for message in batch[len(known) :]:
            make = new_mark(id, follow, found.home, now_us) if is_mark else None
            follow = make or new_node(message, follow, found.home, now_us)
            new.append(follow)
        new[-1].data = data
        found.own.extend(new)
        found.tip, found.stale = follow, False
        if not is_mark:
            found.active_us = new[-1].created_us
        write(found, along, now_us)
        self.written(found)
        return known + new, len(new)

    def _known(
        self,
        session: Session,
        batch: Sequence[NewMessage],
        parent: str | Root | None,
        is_mark: bool,
    ) -> list[Node]:
        """Return the nodes of the known messages, which must be a prefix and the same."""
        ids = [message.id for message in batch]
        nodes = [session.find(message.id or "") for message in batch]
        known = [node for node in nodes if node is not None]
        if len(set(ids)) < len(ids) or known != nodes[: len(known)]:
            raise Refused(MessageConflictError)
        for message, node in zip(batch, known, strict=False):
            is_other = node.first != content(message) or node.mark != is_mark
            if is_other or (node.deleted and not is_mark):
                raise Refused(MessageConflictError)
            if parent is not None and parent != name_of(node.parent):
                raise Refused(MessageConflictError)
            parent = None if parent is None else node.id
        return known

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
            if expected not in tips(session):
                wrong.append(StaleTipError)
        if isinstance(parent, str) and not known and session.find(parent) is None:
            wrong.append(NotFoundError)
        refuse(wrong)
        if parent is None:
            return session.tip
        return known[-1] if known else self.place(session, parent)

    def update_message(
        self,
        session: str,
        message: NewMessage,
        *,
        expected_tip: str | Root | None = None,
        along: Along = NOTHING,
        now_us: int = 0,
    ) -> Node:
        """Replace what a message says; what is kept beside it stays, unless there is another."""
        found = self.get(session)
        wrong = [*wrong_with(found, along, now_us), *closed(found)]
        wrong += stale_tip(found, expected_tip)
        with beside(wrong):
            node = self._own_message(found, message.id or "")
        refuse(wrong)
        node.message, node.tokens = message, message.tokens or 0
        node.extra = message.extra if isinstance(message.extra, dict) else node.extra
        node.version += 1
        self._touch(found, [node])
        self.written(found)
        write(found, along, now_us)
        return node

    def _own_message(self, session: Session, id: str) -> Node:
        node = session.find(id)
        if node is None or node.deleted:
            raise Refused(NotFoundError)
        if node.home is not session.home:
            raise Refused(ConflictError)
        return node

    def delete_messages(
        self, session: str, ids: Sequence[str], fence: Sequence[Fence] = ()
    ) -> tuple[list[str], list[str], list[Position | None]]:
        """Erase messages; return their ids, the overlays that cover one, where data stays."""
        found = self.get(session)
        wrong = lost(found, fence)
        gone: list[Node] = []
        for id in dict.fromkeys(ids):
            node = found.find(id)
            if node is None:
                wrong.append(NotFoundError)
            elif not node.deleted:
                if node.home is not found.home and node.home.alive:
                    wrong.append(ConflictError)
                gone.append(node)
        refuse(wrong)
        if gone:
            self.written(found)
        for node in gone:
            node.deleted = True
        self._touch(found, gone)
        data = [node.position for node in gone if node.data is not None]
        return [node.id for node in gone], self._quoting(gone), data

    def erase_data(self, session: str, field: str) -> int:
        """Take a field out of all data that a session sees."""
        found = self.get(session)
        having = [node for node in found.seen() if node.data and field in node.data]
        for node in having:
            node.data = {name: it for name, it in (node.data or {}).items() if name != field}
        return len(having)

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
