"""Things are written anew as they lie, while others write, and so are versions of the data."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ...errors import MessageConflictError
from ...model import (
    DataVersion,
    Document,
    Message,
    NewSession,
    Overlay,
    Rewritable,
    SessionPatch,
    SessionRecord,
    TextPart,
)
from ...store import AsyncStore
from ..makers import ADA, cover, fork_of, ids_of, say
from .base import AsyncContractBase, grow, message_in, record_of, shown_in
from .data import chain, held, mark
from .rewriting import SEAL, converse, found, named, seal_all, sealed


class AsyncRewriteMeanwhileContract(AsyncContractBase):
    """Nothing that others write meanwhile is lost, and a rewriting that was stopped goes on."""

    async def test_what_changes_meanwhile_is_not_overwritten(self, store: AsyncStore) -> None:
        await converse(store)
        changed: set[str] = set()

        async def late(thing: Rewritable) -> Rewritable:
            name = named(thing)
            if name not in changed:
                changed.add(name)
                await self._change(store, thing)
            return sealed(thing)

        await seal_all(store, late)
        assert (await record_of(store)).title == "sealed new"
        texts = [(await message_in(store, id)).text for id in ("m1", "m2", "m3")]
        assert texts == ["sealed new m1", "sealed new m2", "sealed new m3"]
        versions = [(await message_in(store, id)).version for id in ("m1", "m2", "m3")]
        assert versions == [2, 3, 2]
        [owned], [own] = (
            await store.list_documents(ADA),
            await store.list_documents(ADA, session="s"),
        )
        assert (owned.value, own.value) == (b"sealednew", b"sealednew")
        assert [it.summary for it in await store.list_overlays(ADA, "s")] == ["sealed new"]
        assert await store.admin.check() == []

    async def _change(self, store: AsyncStore, thing: Rewritable) -> None:
        match thing:
            case Message():
                await store.update_message(ADA, "s", say(thing.id, f"new {thing.id}"))
            case SessionRecord():
                await store.update_session(ADA, "s", SessionPatch(title="new"))
            case Document():
                session = "s" if thing.key == "notes" else None
                await store.put_document(ADA, thing.key, b"new", session=session)
            case Overlay():
                await store.undo_overlay(ADA, "s", "o1")
                await store.add_overlay(ADA, "s", cover("m1", "m2", id="o1", summary="new"))

    async def test_two_who_rewrite_at_once_do_not_undo_each_other(self, store: AsyncStore) -> None:
        await converse(store)
        is_first = True

        async def overtaken(thing: Rewritable) -> Rewritable:
            nonlocal is_first
            if not isinstance(thing, Message) or SEAL in thing.metadata:
                return thing
            if is_first:
                is_first = False
                await seal_all(store)
            return replace(thing, parts=[TextPart(text="late")])

        await seal_all(store, overtaken)
        texts = [(await message_in(store, id)).text for id in ("m1", "m2", "m3")]
        assert texts == ["sealed apple", "sealed plum", "sealed m3"]

    async def test_it_goes_on_where_a_function_failed(self, store: AsyncStore) -> None:
        await grow(store, *(f"m{n}" for n in range(1, 6)))
        is_broken = True

        def failing(thing: Rewritable) -> Rewritable:
            if is_broken and named(thing) == "m3":
                raise ZeroDivisionError
            return sealed(thing)

        done = await store.admin.rewrite(ADA, failing, limit=3)
        assert (done.seen, done.changed) == (3, 3)
        assert done.cursor is not None
        before = await store.find_messages(ADA, "s", ["m3", "m4", "m5"])
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                await store.admin.rewrite(ADA, failing, after=done.cursor)
        assert await store.find_messages(ADA, "s", ["m3", "m4", "m5"]) == before
        assert (await message_in(store, "m2")).text == "sealed m2"
        is_broken = False
        rest = await store.admin.rewrite(ADA, failing, after=done.cursor)
        assert (rest.changed, rest.cursor) == (3, None)
        assert (await message_in(store, "m5")).text == "sealed m5"

    async def test_what_was_erased_stays_erased(self, store: AsyncStore) -> None:
        await grow(store, "m1", "m2", "m3")
        await store.delete_messages(ADA, "s", ["m1"])
        given: list[str] = []

        async def erasing(thing: Rewritable) -> Rewritable:
            given.append(named(thing))
            if named(thing) == "m2":
                await store.delete_messages(ADA, "s", ["m2"])
            return sealed(thing)

        await seal_all(store, erasing)
        assert given == ["record s", "m2", "m3"]
        await store.finish_deletions()
        assert ids_of(await store.find_messages(ADA, "s", ["m1", "m2", "m3"])) == [None, None, "m3"]
        assert await shown_in(store) == ["m3"]
        assert await found(store, SEAL) == ["m3"]
        for id in ("m1", "m2"):
            with pytest.raises(MessageConflictError):
                await store.append(ADA, "s", [say(id)])
        assert await store.admin.check() == []

    async def test_sessions_may_go_and_come_meanwhile(self, store: AsyncStore) -> None:
        for session in ("a", "b", "c"):
            await grow(store, f"{session}1", f"{session}2", session=session)
            await store.put_document(ADA, "k", b"", session=session)
        await store.create_session(ADA, fork_of("b", "b1", id="f"))

        async def busy(thing: Rewritable) -> Rewritable:
            if named(thing) == "a1":
                await store.delete_session(ADA, "b")
                await store.clear_session(ADA, "a")
                await store.create_session(ADA, fork_of("c", "c2", id="late"))
                await store.delete_session(ADA, "c")
            return sealed(thing)

        await seal_all(store, busy, limit=2)
        assert (await message_in(store, "b1", "f")).text == "sealed b1"
        assert (await message_in(store, "c2", "late")).text == "sealed c2"
        for session in ("a", "f", "late"):
            [kept] = await store.list_documents(ADA, session=session)
            assert kept.value == b"sealed"
        assert await shown_in(store, "a") == []


class AsyncRewriteDataContract(AsyncContractBase):
    """Versions of the data are rewritten like all else."""

    async def test_data_is_rewritten_wherever_it_stands(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        await store.append(ADA, "s", [say("m1")], data={"n": 1})
        await mark(store, {"n": 2}, id="k")
        await store.append(ADA, "s", [say("m2")], data={"n": 3})
        await store.append(ADA, "s", [say("b1")], data={"n": 4}, parent="m1")
        await store.delete_messages(ADA, "s", ["m2"])
        await store.create_session(ADA, fork_of("s", "k"))
        await mark(store, {"n": 5}, "fork")
        await store.create_session(ADA, fork_of("s", "b1", id="copy", detach=True))
        before = [await chain(store, it) for it in ("s", "fork", "copy")]
        given: list[int] = []

        def noted(thing: Rewritable) -> Rewritable:
            if isinstance(thing, DataVersion):
                given.append(thing.value.get("n", 0))
            return sealed(thing)

        await seal_all(store, noted, limit=2)
        assert given == [1, 2, 3, 4, 5, 1, 4]
        for _ in range(2):
            for session, versions in zip(("s", "fork", "copy"), before, strict=True):
                assert await chain(store, session) == [sealed(it) for it in versions]
            await store.finish_deletions()
        assert (await seal_all(store))[1] == 0
        await store.create_session(ADA, fork_of("s", id="later", detach=True))
        assert await held(store, "later") == {SEAL: {"n": 4}}
        assert await store.admin.check() == []

    async def test_data_of_a_home_that_is_gone_is_rewritten(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        await store.append(ADA, "s", [say("m1")], data={"n": 1})
        await mark(store, {"n": 2, "x": 1}, id="k")
        await mark(store, {"n": 3})
        await store.create_session(ADA, fork_of("s", "k"))
        await store.delete_session(ADA, "s")
        await store.erase_data(ADA, "fork", "x")
        await seal_all(store)
        for _ in range(2):
            assert [it.value for it in await chain(store, "fork")] == [
                {SEAL: {"n": 2}},
                {SEAL: {"n": 1}},
            ]
            await store.finish_deletions()
        assert await store.admin.check() == []

    async def test_data_is_not_overwritten_and_is_erased_after_it(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        await mark(store, {"n": 1, "x": 1}, id="k1")
        await mark(store, {"n": 2, "x": 2}, id="k2")

        async def erasing(thing: Rewritable) -> Rewritable:
            if named(thing) == "data k1":
                await store.erase_data(ADA, "s", "x")
            return sealed(thing)

        await seal_all(store, erasing)
        values = [it.value for it in await chain(store)]
        assert values == [{SEAL: {"n": 2}}, {SEAL: {"n": 1}}]
        assert await store.erase_data(ADA, "s", SEAL) == 2
        await store.finish_deletions()
        assert [it.value for it in await chain(store)] == [{}, {}]
        await seal_all(store)
        await store.clear_session(ADA, "s", keep_data=True)
        assert (await seal_all(store))[1] == 0
        assert await store.admin.check() == []

    async def test_a_digest_speaks_for_the_data_too(self, store: AsyncStore) -> None:
        await store.create_session(ADA, NewSession(id="s"))
        first = say("m1", digest=b"given")
        await store.append(ADA, "s", [first], data={"n": 1})
        await store.append(ADA, "s", [say("m2")], data={"n": 2})
        await seal_all(store)
        assert (await store.append(ADA, "s", [first], data={"n": "anew"})).written == 0
        assert (await store.append(ADA, "s", [say("m2")], data={SEAL: {"n": 2}})).written == 0
        with pytest.raises(MessageConflictError):
            await store.append(ADA, "s", [say("m2")], data={"n": 2})
