"""A random walk over sessions and their data, step by step beside the oracle."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any, ClassVar, TypeVar

from ...calls import AsyncAnswer
from ...model import ForkPoint, Message, NewMessage, NewSession, Position, Read
from ...store import AsyncStore, Capability
from ..counts import COUNTS
from ..machine.compare import Places, name
from ..makers import ADA, say
from ..oracle import Node, Oracle, Refused, Session, data_node, spelt, versions_above
from .base import AsyncContractBase

T = TypeVar("T")

NAMES = [f"s{n}" for n in range(6)]
STEPS_OF_A_WALK = 1_000
MOST_SEEN = 60
"""A session that sees more begins again, or goes: the oracle looks at all of it."""
KINDS = {
    "append": 30,
    "mark": 12,
    "edit": 10,
    "append_again": 8,
    "rewrite": 5,
    "undo": 12,
    "checkout": 8,
    "fork": 6,
    "delete_messages": 4,
    "clear": 3,
    "delete": 3,
    "erase": 1,
}


class AsyncWalkContract(AsyncContractBase):
    """Whatever is done to sessions, each place keeps its data. Set `walk_steps` to try harder."""

    walk_steps: ClassVar[int] = 60

    async def test_each_place_keeps_its_data_whatever_is_done(self, store: AsyncStore) -> None:
        for seed, done in enumerate(range(0, self.walk_steps, STEPS_OF_A_WALK)):
            walk = AsyncWalk(store, seed)
            await walk.go(min(STEPS_OF_A_WALK, self.walk_steps - done))
        assert await store.admin.check() == []


class AsyncWalk:
    """One owner's sessions, in a store and in the oracle. Times are not compared."""

    def __init__(self, store: AsyncStore, seed: int) -> None:
        self._store = store
        self._seed = seed
        self._owner = f"{ADA}-{seed}"
        self._dice = Random(seed)
        self._oracle = Oracle()
        self._places = Places()
        self._numbers = count(1)
        self._said: list[tuple[str, list[NewMessage], dict[str, Any]]] = []
        self._keeps_data = Capability.DATA in store.capabilities

    async def go(self, steps: int) -> None:
        """Take steps, and leave nothing."""
        for step in range(steps):
            kind = self._draw_kind()
            try:
                await self._step(kind)
                if step % 25 == 24 or step == steps - 1:
                    await self._look_at_all()
                if step % 200 == 199:
                    await self._store.finish_deletions()
            except Exception as error:
                error.add_note(f"walk {self._seed}, step {step}: {kind}")
                raise
            COUNTS[f"steps of random walks, {type(self._store).__name__}"] += 1
        await self._store.erase_owner(self._owner)

    def _draw_kind(self) -> str:
        [kind] = self._dice.choices([*KINDS], [*KINDS.values()])
        if kind in ("mark", "erase") and not self._keeps_data:
            return "append"
        return kind

    async def _step(self, kind: str) -> None:
        if not self._oracle.sessions or self._dice.random() < 0.01:
            await self._create(NewSession(id=self._free_name()))
        session = self._any_session()
        if len(session.seen()) > MOST_SEEN:
            kind = self._dice.choice(["clear", "delete"])
        await getattr(self, f"_{kind}")(session)
        for it in {session.id: session, (other := self._any_session()).id: other}.values():
            if it.id in self._oracle.sessions:
                await self._look(it)

    # what is drawn

    def _any_session(self) -> Session:
        return self._dice.choice([*self._oracle.sessions.values()])

    def _any_node(self, session: Session) -> Node | None:
        """Draw a place that a session sees: one of the last as often as any other."""
        seen = session.seen()
        return self._dice.choice([None, *seen, *seen[-4:] * (1 + len(seen) // 4)])

    def _free_name(self) -> str:
        free = [it for it in NAMES if it not in self._oracle.sessions]
        return self._dice.choice(free or NAMES)

    def _batch(self) -> list[NewMessage]:
        size = self._dice.choice((1, 1, 1, 2, 3))
        return [say(f"m{next(self._numbers)}", tokens=1) for _ in range(size)]

    def _data(self) -> dict[str, Any]:
        """Draw a value that no place has yet."""
        value: dict[str, Any] = {"n": next(self._numbers)}
        return value | ({"x": [None, "é"]} if self._dice.random() < 0.5 else {})

    def _options(self, session: Session, parent: Node | None) -> dict[str, Any]:
        """Draw data for what follows a place, and what is expected of the data there."""
        if not self._keeps_data:
            return {}
        options: dict[str, Any] = {}
        if self._dice.random() < 0.5:
            options["data"] = self._data()
        held = data_node(parent)
        if held is not None and held.position is not None and self._dice.random() < 0.2:
            options["expected_data"] = held.position
        return options

    # the steps

    async def _append(self, session: Session) -> None:
        options = self._options(session, session.tip)
        if self._dice.random() < 0.3:
            options["expected_tip"] = name(session.tip)
        await self._append_both(session.id, self._batch(), options)

    async def _mark(self, session: Session) -> None:
        options: dict[str, Any] = {"data": self._data(), "id": f"mark{next(self._numbers)}"}
        if self._dice.random() < 0.3:
            options["parent"] = name(self._any_node(session))
        await self._append_both(session.id, [], options)

    async def _edit(self, session: Session) -> None:
        """Say something else in the place of a message."""
        node = self._any_node(session)
        if node is not None:
            options = self._options(session, node.parent)
            await self._append_both(
                session.id, self._batch(), options | {"parent": name(node.parent)}
            )

    async def _append_again(self, session: Session) -> None:
        if self._said:
            await self._append_both(*self._dice.choice(self._said[-30:]))

    async def _rewrite(self, session: Session) -> None:
        node = self._any_node(session)
        new = say("nothing" if node is None else node.id, f"{next(self._numbers)}", tokens=1)
        await self._do(
            lambda: self._oracle.update_message(session.id, new),
            lambda: self._store.update_message(self._owner, session.id, new),
        )

    async def _undo(self, session: Session) -> None:
        if session.tip is not None:
            await self._move(session, session.tip.parent)

    async def _checkout(self, session: Session) -> None:
        await self._move(session, self._any_node(session))

    async def _move(self, session: Session, node: Node | None) -> None:
        place, tip = name(node), name(session.tip)
        await self._do(
            lambda: self._oracle.checkout(session.id, place, tip),
            lambda: self._store.checkout(self._owner, session.id, place, expected_tip=tip),
        )

    async def _fork(self, session: Session) -> None:
        at = None if self._dice.random() < 0.5 else name(self._any_node(session))
        detach = self._dice.random() < 0.3
        point = ForkPoint(session=session.id, message=at, detach=detach)
        await self._create(NewSession(id=self._free_name(), fork=point))

    async def _create(self, new: NewSession) -> None:
        done = await self._do(
            lambda: self._oracle.create(new, 0),
            lambda: self._store.create_session(self._owner, new),
        )
        if done is not None:
            self._oracle.begin(done[0], done[1].version)
            await self._look(done[0])

    async def _delete_messages(self, session: Session) -> None:
        node = self._any_node(session)
        ids = ["nothing" if node is None else node.id]
        done = await self._do(
            lambda: self._oracle.delete_messages(session.id, ids),
            lambda: self._store.delete_messages(self._owner, session.id, ids),
        )
        if done is not None:
            assert done[1].ids == done[0][0]

    async def _clear(self, session: Session) -> None:
        keep = self._keeps_data and self._dice.random() < 0.5
        found, record = await self._must(
            lambda: self._oracle.clear(session.id, keep),
            lambda: self._store.clear_session(self._owner, session.id, keep_data=keep),
        )
        self._oracle.adopt(found, record.tip)

    async def _delete(self, session: Session) -> None:
        await self._must(
            lambda: self._oracle.delete(session.id),
            lambda: self._store.delete_session(self._owner, session.id),
        )
        if not self._oracle.sessions:
            await self._create(NewSession(id=self._free_name()))

    async def _erase(self, session: Session) -> None:
        expected, given = await self._must(
            lambda: self._oracle.erase_data(session.id, "x"),
            lambda: self._store.erase_data(self._owner, session.id, "x"),
        )
        assert given == expected

    async def _append_both(
        self, session: str, batch: list[NewMessage], options: dict[str, Any]
    ) -> None:
        self._said.append((session, batch, options))
        done = await self._do(
            lambda: self._oracle.append(session, batch, **options),
            lambda: self._store.append(self._owner, session, batch, **options),
        )
        if done is None:
            return
        (nodes, written), appended = done
        found = self._oracle.sessions[session]
        assert (appended.written, appended.tip) == (written, name(found.tip))
        if "data" in options:
            self._place(found, nodes[-1], appended.data_at)
        self._messages(found, [it for it in nodes if not it.mark], appended.messages)

    async def _do(
        self, expect: Callable[[], T], call: Callable[[], AsyncAnswer[Any]]
    ) -> tuple[T, Any] | None:
        """Do something to both; None when both refuse."""
        try:
            expected = expect()
        except Refused as refused:
            try:
                given = await call()
            except refused.kinds as error:
                assert type(error) in refused.kinds, f"{error!r} instead of {refused}"
                return None
            raise AssertionError(f"{given} instead of {refused}") from None
        return expected, await call()

    async def _must(
        self, expect: Callable[[], T], call: Callable[[], AsyncAnswer[Any]]
    ) -> tuple[T, Any]:
        done = await self._do(expect, call)
        assert done is not None
        return done

    # what is compared

    def _place(self, session: Session, node: Node | None, position: Position | None) -> None:
        if node is None:
            assert position is None
        else:
            self._places.check(session.tree, node, position)

    def _messages(self, session: Session, nodes: list[Node], messages: list[Message]) -> None:
        assert [it.id for it in messages] == [it.id for it in nodes]
        for node, message in zip(nodes, messages, strict=True):
            self._place(session, node, message.position)
            self._place(session, data_node(node), message.data_at)

    async def _look(self, session: Session) -> None:
        """Compare a session's record, its data, and that of any place that it sees."""
        record = await self._store.find_session(self._owner, session.id)
        assert record is not None
        said = (record.tip, record.version, record.messages)
        assert said == (name(session.tip), session.version, session.count())
        self._place(session, session.tip, record.tip_position)
        self._place(session, session.fork_point, record.forked_at)
        if not self._keeps_data:
            return
        self._place(session, data_node(session.tip), record.data_at)
        for node in dict.fromkeys((session.tip, self._any_node(session))):
            if node is not None and node.position is not None:
                await self._look_at_data(session, node)

    async def _look_at_data(self, session: Session, node: Node) -> None:
        position, expected = node.position, versions_above(node)
        assert position is not None
        found = await self._store.read_data(self._owner, session.id, position)
        told = [] if found is None else [(found.id, spelt(found.value))]
        assert told == [(it.id, spelt(it.data)) for it in expected[:1]]
        chain = await self._store.list_data(self._owner, session.id, position, limit=1_000)
        assert [(it.id, spelt(it.value)) for it in chain] == [
            (it.id, spelt(it.data)) for it in expected
        ]
        for it, version in zip(expected, chain, strict=True):
            self._place(session, it, version.position)

    async def _look_at_all(self) -> None:
        """Compare the paths and the branches of all sessions."""
        for session in self._oracle.sessions.values():
            await self._look(session)
            history = await self._store.read(self._owner, session.id, Read())
            nodes = [it.node for it in session.shown(session.tip) if it.node is not None]
            self._messages(session, nodes, history.messages_only)
            self._place(session, data_node(session.tip), history.data_at)
            leaves = await self._store.list_leaves(self._owner, session.id)
            assert sorted(it.id for it in leaves) == sorted(it.id for it in session.leaves())
