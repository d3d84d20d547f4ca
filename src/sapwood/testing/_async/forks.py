"""Forks: new sessions in the tree of an old one, and detached copies."""

from __future__ import annotations

import pytest

from ...errors import AlreadyExistsError, ConflictError, NotFoundError
from ...model import ROOT, Edge, EdgeKind, ForkPoint, NewSession, SessionPatch, Usage
from ...store import AsyncStore
from ..makers import ADA, cover, fork_of, ids_of, say
from .base import AsyncContractBase, grow, history_of, message_in, record_of, shown_in


class AsyncForkContract(AsyncContractBase):
    """A fork sees the path to its fork point, and shares nothing that comes later."""

    async def test_a_fork_stands_on_its_message_and_copies_none(self, store: AsyncStore) -> None:
        [_, two, _] = await grow(store, "m1", "m2", "m3", tokens=5)
        record = await store.create_session(ADA, fork_of("s", "m2"))
        assert (record.tip, record.tip_position) == ("m2", two.position)
        assert record.forked_at == two.position
        assert (record.messages, record.context_tokens, record.version) == (0, 10, 1)
        assert record.parent == Edge(kind=EdgeKind.BRANCH, session="s")
        assert await shown_in(store, "fork") == ["m1", "m2"]
        assert (await message_in(store, "m1", "fork")).home == "s"

    async def test_a_fork_without_a_message_is_one_of_the_tip(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.checkout(ADA, "s", "m1")
        assert (await store.create_session(ADA, fork_of("s"))).tip == "m1"

    async def test_a_fork_of_the_root_sees_nothing(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        record = await store.create_session(ADA, fork_of("s", ROOT))
        assert (record.tip, record.forked_at, record.context_tokens) == (ROOT, None, 0)
        assert await store.find_messages(ADA, "fork", ["m1"]) == [None]
        await grow(store, "m1", session="fork")
        assert await shown_in(store, "fork") == ["m1"]

    async def test_a_fork_of_an_empty_session_is_empty(self, store: AsyncStore) -> None:
        await grow(store)
        assert (await store.create_session(ADA, fork_of("s"))).tip == ROOT

    async def test_neither_sees_what_the_other_writes_later(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.create_session(ADA, fork_of("s", "m1"))
        await grow(store, "f1", session="fork")
        await grow(store, "m3")
        assert await shown_in(store) == ["m1", "m2", "m3"]
        assert await shown_in(store, "fork") == ["m1", "f1"]
        assert ids_of(await store.find_messages(ADA, "fork", ["m2", "m3", "f1"])) == [
            None,
            None,
            "f1",
        ]
        assert ids_of(await store.find_messages(ADA, "s", ["f1", "m3"])) == [None, "m3"]

    async def test_both_go_on_from_the_same_tip(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        await store.create_session(ADA, fork_of("s"))
        await grow(store, "f1", session="fork")
        await grow(store, "m2")
        await grow(store, "f2", session="fork")
        assert await shown_in(store) == ["m1", "m2"]
        assert await shown_in(store, "fork") == ["m1", "f1", "f2"]

    async def test_a_fork_of_a_fork_sees_both_paths(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.create_session(ADA, fork_of("s", "m1", id="a"))
        await grow(store, "a1", "a2", session="a")
        await store.create_session(ADA, fork_of("a", "a1", id="b"))
        await grow(store, "b1", session="b")
        assert await shown_in(store, "b") == ["m1", "a1", "b1"]
        assert ids_of(await store.find_messages(ADA, "b", ["m2", "a2", "m1"])) == [
            None,
            None,
            "m1",
        ]

    async def test_a_fork_may_branch_above_its_fork_point(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.create_session(ADA, fork_of("s", "m3"))
        await store.append(ADA, "fork", [say("f1")], parent="m1")
        assert await shown_in(store, "fork") == ["m1", "f1"]
        await store.checkout(ADA, "fork", "m3")
        assert await shown_in(store, "fork") == ["m1", "m2", "m3"]
        assert [leaf.id for leaf in await store.list_leaves(ADA, "s")] == ["m3"]

    async def test_a_fork_takes_what_describes_its_source_but_not_title_state_or_usage(
        self, store: AsyncStore
    ) -> None:
        new = NewSession(
            id="s",
            title="t",
            state="idle",
            tags=["x"],
            attributes={"a": [1]},
            budget=9,
            model="large",
            source="cli",
            end_reason="timeout",
        )
        await store.create_session(ADA, new)
        await store.add_usage(ADA, "s", Usage(id="u", input_tokens=1))
        fork = await store.create_session(ADA, fork_of("s"))
        assert (fork.tags, fork.attributes, fork.budget) == (["x"], {"a": [1]}, 9)
        assert (fork.model, fork.source) == ("large", "cli")
        assert (fork.title, fork.state, fork.end_reason) == (None, "active", None)
        assert await store.total_usage(ADA, "fork") == []
        point = ForkPoint(session="s")
        own = NewSession(
            id="own",
            fork=point,
            tags=[],
            attributes={},
            budget=None,
            title="mine",
            model=None,
            source="web",
            end_reason="copied",
        )
        record = await store.create_session(ADA, own)
        assert (record.tags, record.attributes, record.budget, record.title) == (
            [],
            {},
            None,
            "mine",
        )
        assert (record.model, record.source, record.end_reason) == (None, "web", "copied")
        await store.update_session(ADA, "s", SessionPatch(attributes={}, tags=[]))
        assert await record_of(store, "fork") == fork

    async def test_a_fork_may_name_another_edge(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        edge = Edge(kind=EdgeKind.DELEGATE, session="s")
        new = NewSession(id="fork", fork=ForkPoint(session="s"), parent=edge)
        assert (await store.create_session(ADA, new)).parent == edge

    async def test_a_fork_gets_copies_of_the_documents_without_an_expiry(
        self, store: AsyncStore
    ) -> None:
        await grow(store)
        await store.put_document(ADA, "prompt", b"\x00frozen\xff", session="s")
        await store.put_document(ADA, "lease", b"1", session="s", expires_in_s=60)
        await store.create_session(ADA, fork_of("s"))
        await store.put_document(ADA, "prompt", b"new", session="s")
        [copy] = await store.list_documents(ADA, session="fork")
        assert (copy.key, copy.value) == ("prompt", b"\x00frozen\xff")
        await store.delete_document(ADA, "prompt", session="fork")
        assert await store.find_document(ADA, "prompt", session="s") is not None

    async def test_rule_07_an_unknown_fork_point_is_an_error(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.create_session(ADA, fork_of("s", "m1", id="a"))
        for new in (fork_of("nobody"), fork_of("s", "nothing"), fork_of("a", "m2")):
            with pytest.raises(NotFoundError) as raised:
                await store.create_session(ADA, new)
            assert raised.value.kind in ("session", "message")
            assert await store.find_session(ADA, "fork") is None

    async def test_a_fork_under_a_taken_id_is_refused(self, store: AsyncStore) -> None:
        await grow(store, "m1")
        for detach in (False, True):
            with pytest.raises(AlreadyExistsError):
                await store.create_session(ADA, fork_of("s", id="s", detach=detach))
        assert await shown_in(store) == ["m1"]

    async def test_an_edit_shows_in_forks_and_goes_through_the_home_only(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2", tokens=5)
        await store.create_session(ADA, fork_of("s"))
        with pytest.raises(ConflictError):
            await store.update_message(ADA, "fork", say("m1", "changed"))
        with pytest.raises(ConflictError):
            await store.delete_messages(ADA, "fork", ["m1"])
        await store.update_message(ADA, "s", say("m1", "changed", tokens=7))
        assert (await message_in(store, "m1", "fork")).text == "changed"
        assert (await history_of(store, "fork")).context_tokens == 12
        await store.delete_messages(ADA, "s", ["m2"])
        assert await shown_in(store, "fork") == ["m1"]
        assert (await record_of(store, "fork")).tip == "m2"
        await store.finish_deletions()
        assert (await record_of(store, "fork")).context_tokens == 7

    async def test_a_chain_of_many_forks_is_read_whole(self, store: AsyncStore) -> None:
        await grow(store, "m0", "x0")
        for n in range(1, 70):
            source = f"f{n - 1}" if n > 1 else "s"
            await store.create_session(ADA, fork_of(source, f"m{n - 1}", id=f"f{n}"))
            await grow(store, f"m{n}", f"x{n}", session=f"f{n}")
        expected = [f"m{n}" for n in range(70)] + ["x69"]
        assert await shown_in(store, "f69") == expected
        for n in range(1, 69, 2):
            await store.delete_session(ADA, f"f{n}")
        await store.finish_deletions()
        assert await shown_in(store, "f69") == expected
        assert await shown_in(store, "f68") == [*expected[:69], "x68"]
        done = await store.append(ADA, "f69", [say("m5", tokens=1)])
        assert done.written == 0


class AsyncDetachedForkContract(AsyncContractBase):
    """A detached fork is a copy in a tree of its own."""

    async def test_it_copies_the_path_at_the_same_depths(self, store: AsyncStore) -> None:
        originals = await grow(store, "m1", "m2", "m3", tokens=5)
        await store.update_message(ADA, "s", say("m1", "edited", tokens=6))
        record = await store.create_session(ADA, fork_of("s", "m2", detach=True))
        assert (record.tip, record.forked_at, record.messages) == ("m2", None, 2)
        assert (record.context_tokens, record.parent) == (
            11,
            Edge(kind=EdgeKind.BRANCH, session="s"),
        )
        copies = (await history_of(store, "fork")).messages_only
        assert [(m.id, m.depth, m.home, m.version) for m in copies] == [
            ("m1", 1, "fork", (await message_in(store, "m1")).version),
            ("m2", 2, "fork", originals[1].version),
        ]
        assert [m.created_us for m in copies] == [m.created_us for m in originals[:2]]
        assert copies[0].text == "edited"

    async def test_changes_of_one_do_not_show_in_the_other(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.create_session(ADA, fork_of("s", detach=True))
        await store.update_message(ADA, "fork", say("m1", "changed"))
        await store.delete_messages(ADA, "s", ["m2"])
        assert (await message_in(store, "m1")).text == "m1"
        assert await shown_in(store, "fork") == ["m1", "m2"]
        await store.delete_session(ADA, "s")
        await store.finish_deletions()
        assert await shown_in(store, "fork") == ["m1", "m2"]

    async def test_rule_02_the_copies_keep_the_digests_of_their_first_append(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m1", "m2")
        await store.update_message(ADA, "s", say("m1", "changed"))
        await store.delete_messages(ADA, "s", ["m2"])
        record = await store.create_session(ADA, fork_of("s", detach=True))
        assert (record.tip, record.messages) == ("m2", 1)
        assert (await store.append(ADA, "fork", [say("m1")])).written == 0
        for message in (say("m1", "changed"), say("m2")):
            with pytest.raises(ConflictError):
                await store.append(ADA, "fork", [message])

    async def test_it_copies_the_overlays_in_force_on_the_path(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3", "m4")
        await store.add_overlay(ADA, "s", cover("m1", "m2", id="o1"))
        await store.add_overlay(ADA, "s", cover("m3", "m4", id="o2"))
        await store.create_session(ADA, fork_of("s", "m3", detach=True))
        assert await shown_in(store, "fork") == ["<o1>", "m3"]
        assert [o.id for o in await store.list_overlays(ADA, "fork")] == ["o1"]
        await store.undo_overlay(ADA, "fork", "o1")
        assert await shown_in(store, "s") == ["<o1>", "<o2>"]

    async def test_a_detached_fork_goes_on_by_itself(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2")
        await store.create_session(ADA, fork_of("s", "m1", detach=True))
        await grow(store, "m2", "m3", session="fork")
        assert await shown_in(store, "fork") == ["m1", "m2", "m3"]
        assert await shown_in(store) == ["m1", "m2"]
