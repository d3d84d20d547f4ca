"""What the state machine stands on: calls compared with the oracle, and then everything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis.stateful import RuleBasedStateMachine, invariant

from ...model import (
    ChangeKind,
    DocumentChange,
    NewMessage,
    NewSession,
    Read,
    Search,
    SessionRecord,
)
from ...store import Capability
from ..clock import ManualClock
from ..counts import COUNTS
from ..makers import ADA
from ..oracle import FOUND_BY, NOTHING, Along, Oracle, Refused, Session, found_by
from .along import AlongDraws
from .compare import Comparison, Places, compare_hits, name
from .draws import NAMES
from .driver import Driver, Place

T = TypeVar("T")


class MachineBase(RuleBasedStateMachine):
    """A store and the oracle, side by side."""

    subject: str = ""
    new_place: Callable[[ManualClock], Place]

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.driver = Driver(type(self).new_place(self.clock))
        self.oracle = Oracle(self.clock)
        self.draws = AlongDraws(self.oracle)
        self.places = Places()
        self.appended: list[tuple[str, list[NewMessage], dict[str, Any]]] = []
        self.snapshots: dict[str, list[tuple[str, int]]] = {}
        self.is_deep = False
        self.retired = 0

    @invariant()
    def every_session_is_as_the_oracle_says(self) -> None:
        COUNTS[f"state machine steps, {type(self).subject}"] += 1
        self.clock.advance(0.3)
        for id in NAMES:
            session = self.oracle.sessions.get(id)
            record = self.driver.call("find_session", ADA, id)
            assert (record is None) == (session is None)
            if session is not None:
                self._compare(session, record)

    def teardown(self) -> None:
        """See that the store finds nothing wrong with itself, and that the feed tells all."""
        try:
            self.driver.call("finish_deletions")
            self.oracle.finish_deletions()
            self.every_session_is_as_the_oracle_says()
            self._compare_all_searches()
            assert self.driver.check() == []
            self._compare_feed()
        finally:
            self.driver.end()

    def do(
        self, method: str, *args: Any, expect: Callable[[], T], **options: Any
    ) -> tuple[T, Any] | None:
        """Make a call and see that its outcome is the oracle's; None when both refuse."""
        try:
            expected = expect()
        except Refused as refused:
            self._expect_refusal(refused, method, args, options)
            return None
        given = self.driver.call(method, ADA, *args, **options)
        if isinstance(given, SessionRecord) and isinstance(expected, Session):
            self.oracle.adopt(expected, given.tip)
            if not expected.version:
                self.oracle.begin(expected, given.version)
            Comparison(self.places, expected).record(given)
        return expected, given

    def _expect_refusal(
        self, refused: Refused, method: str, args: tuple[Any, ...], options: dict[str, Any]
    ) -> None:
        try:
            given = self.driver.call(method, ADA, *args, **options)
        except refused.kinds as error:
            assert type(error) in refused.kinds, f"{error!r} instead of {refused}"
        else:
            raise AssertionError(f"{given} instead of {refused}")

    def create_both(self, new: NewSession) -> None:
        self.do("create_session", new, expect=lambda: self.oracle.create(new, self.clock()))

    def append_both(
        self, session: str, batch: list[NewMessage], *, along: Along = NOTHING, **options: Any
    ) -> None:
        done = self.do(
            "append",
            session,
            batch,
            expect=lambda: self.oracle.append(
                session, batch, along=along, now_us=self.clock(), **options
            ),
            **options,
            **along.options,
        )
        if done is None:
            return
        (nodes, written), appended = done
        found = self.oracle.sessions[session]
        assert (appended.written, appended.tip) == (written, name(found.tip))
        if options.get("data") is not None:
            Comparison(self.places, found).place(nodes[-1], appended.data_at)
        nodes = [node for node in nodes if not node.mark]
        assert [message.id for message in appended.messages] == [node.id for node in nodes]
        record = self.driver.call("find_session", ADA, session)
        assert appended.context_tokens in (None, record.context_tokens)
        for node, message in zip(nodes, appended.messages, strict=True):
            Comparison(self.places, found).message(node, message)
        self.learn(found, along.documents, appended.documents)

    def learn(
        self, session: Session, changes: Sequence[DocumentChange], versions: dict[str, int]
    ) -> None:
        """See that a write told the version of each document, and take it over from there."""
        assert set(versions) == {change.key for change in changes}
        for key, version in versions.items():
            kept = session.documents.get(key)
            if kept is None:
                assert version == 0
            elif version or not kept.is_expired(self.clock()):
                self.oracle.learn(session, key, version)

    def search_both(self, text: str, session: str | None, kind: str | None = None) -> None:
        COUNTS[f"searches of the state machine, {type(self).subject}"] += 1
        search = Search(text=text, session=session, kind=kind, limit=1_000)
        done = self.do("search", search, expect=lambda: found_by(self.oracle, text, session, kind))
        if done is not None:
            compare_hits(*done)

    def _compare_all_searches(self) -> None:
        for text in (*FOUND_BY, "says", "summary"):
            for session in (None, *self.oracle.sessions):
                self.search_both(text, session)

    def _compare(self, session: Session, record: SessionRecord) -> None:
        compare = Comparison(self.places, session)
        compare.record(record)
        for overlays in (True, False):
            history = self.driver.call("read", ADA, session.id, Read(overlays=overlays))
            compare.history(history, session.tip, overlays)
        compare.leaves(self.driver.call("list_leaves", ADA, session.id))
        for leaf in session.leaves():
            compare.gaps(leaf, self.driver.call("list_gaps", ADA, session.id, leaf.id))
        self._compare_documents(session)
        if self.keeps_data:
            self._compare_data(session)
        compare.overlays(self.driver.call("list_overlays", ADA, session.id))
        ids = self.draws.ids[-40:]
        compare.found(ids, self.driver.call("find_messages", ADA, session.id, ids))
        for node in [None, *session.seen()[-6:]]:
            children = self.driver.call("list_children", ADA, session.id, name(node))
            compare.messages(session.children(node), children)

    @property
    def keeps_data(self) -> bool:
        """Whether the store declares DATA."""
        return Capability.DATA in self.driver.store.capabilities

    def _compare_data(self, session: Session) -> None:
        for node in {session.tip, *session.seen()[-3:]}:
            if node is not None and node.position is not None:
                found = self.driver.call("list_data", ADA, session.id, node.position, limit=1_000)
                Comparison(self.places, session).data(node, found)

    def _compare_documents(self, session: Session) -> None:
        given = self.driver.call("list_documents", ADA, session=session.id)
        Comparison(self.places, session).documents(given, self.clock())
        for document in given:
            self.oracle.learn(session, document.key, document.version)

    def _compare_feed(self) -> None:
        after, more, appended, retired = "", True, dict[str, list[str]](), 0
        versions: dict[str, int] = {}
        while more:
            page = self.driver.call("changes", ADA, after=after, limit=50)
            after, more = page.cursor, page.more
            for change in page.changes:
                if change.kind is ChangeKind.APPEND:
                    appended.setdefault(change.session, []).append(change.message)
                if change.kind is ChangeKind.RETIRE:
                    appended.pop(change.session, None)
                    retired += 1
                    versions[change.session] = change.version + 1
                if change.kind is ChangeKind.RECORD:
                    versions[change.session] = change.version
        assert retired >= self.retired
        for session in self.oracle.sessions.values():
            assert versions[session.id] == session.version
            told = dict.fromkeys(appended.get(session.id, []))
            own = [node.id for node in session.own if not node.deleted]
            assert [id for id in told if id in set(own)] == own
