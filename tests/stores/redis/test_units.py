"""What comes along with a write to Redis: what it costs, how it is stored, and who is first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from redis import Redis
from servers.redis_watch import Watch

from sapwood.errors import LeaseLostError, SessionClosedError, StaleTipError, StaleVersionError
from sapwood.model import (
    DocumentDelete,
    DocumentPut,
    Fence,
    NewSession,
    Read,
    SessionPatch,
    SessionRecord,
    SystemPatch,
)
from sapwood.stores.redis import RedisStore
from sapwood.testing.makers import ADA, cover, fork_of, say, shown

from .acts import key_of
from .between import before

Open = Callable[..., RedisStore]

PATCHES = {
    "all": SessionPatch(
        title='a "title" \\ / \x7f é \U0001f600',
        state="ended",
        tags=["x", 'é"'],
        budget=2**40,
        model="m",
        source="cli",
        end_reason="done",
        attributes={"a": [1.5, 10**15, {}]},
        closed=True,
    ),
    "nothing": SessionPatch(),
    "one": SessionPatch(title="t"),
    "none": SessionPatch(title=None, tags=[], budget=None, model=None, attributes={}),
    "attributes": SessionPatch(attributes={"b": None}),
    "merge": SessionPatch(merge={"k": None, "b": {"c": 1}}, tags=[]),
    "open": SessionPatch(closed=False, state="active"),
    "system": SessionPatch(system=SystemPatch(key=("a", "b"), life=1, reason="é"), title="t"),
}
FULL = NewSession(
    id="s", title="[old]\n\0", tags=["{", "]"], attributes={"k": 1}, budget=10**12, model="é/"
)


def record_in(store: RedisStore, session: str = "s") -> SessionRecord:
    record = store.find_session(ADA, session)
    assert record is not None
    return record


def version_of(store: RedisStore, key: str) -> int:
    document = store.find_document(ADA, key, session="s")
    return 0 if document is None else document.version


@pytest.fixture
def one(open_store: Open) -> RedisStore:
    """Open a store with a session of two messages and a lease, and a fork of it."""
    store = open_store()
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1"), say("m2")])
    store.put_document(ADA, "lease", b"", session="s", expires_in_s=60)
    store.create_session(ADA, fork_of("s"))
    return store


class TestCosts:
    def test_an_append_is_one_call_whatever_comes_along(
        self, one: RedisStore, watch: Watch
    ) -> None:
        fence = Fence(key="lease", version=version_of(one, "lease"))
        for n, extras in enumerate(
            [
                {"documents": [DocumentPut(key="k", value=b"1", expected_version=0)]},
                {"documents": [DocumentPut(key="l", value=b"", expires_in_s=1)], "fence": fence},
                {"patch": SessionPatch(title="t", tags=["x"]), "expected_version": 1},
                {"documents": [DocumentDelete(key="k")], "patch": SessionPatch(attributes={})},
                {"expected_tip": "n3", "fence": [fence]},
            ]
        ):
            batch = [say(f"n{n}")] if n % 2 else [say(f"b{n}"), say(f"n{n}")]
            calls = watch.calls(lambda it=batch, at=extras: one.append(ADA, "s", it, **at))
            assert calls == ["EVALSHA"]

    def test_an_append_with_nothing_along_looks_at_no_document(
        self, one: RedisStore, watch: Watch
    ) -> None:
        one.append(ADA, "s", [say(None)])
        inside = watch.inside(lambda: one.append(ADA, "s", [say(None)]))
        assert sorted(inside) == [
            *("HINCRBY", "HMGET", "HSET", "HSETNX", "LLEN", "RPUSH", "RPUSH", "TIME")
        ]


class TestPatches:
    @pytest.mark.parametrize("named", PATCHES)
    def test_a_patch_does_the_same_with_an_append_as_by_itself(
        self, store: RedisStore, named: str
    ) -> None:
        for id in ("by itself", "with an append"):
            store.create_session(ADA, replace(FULL, id=id))
        before = record_in(store, "by itself")
        store.update_session(ADA, "by itself", PATCHES[named])
        done = store.append(ADA, "with an append", [say("m1")], patch=PATCHES[named])
        alone, along = record_in(store, "by itself"), record_in(store, "with an append")
        assert _patched(along) == _patched(alone)
        assert along.version == before.version + 1
        assert done.stamp == (along.version, along.created_us)
        again = SessionPatch(title="again", closed=False)
        for id in ("by itself", "with an append"):
            store.update_session(ADA, id, SessionPatch(closed=False))
            store.append(ADA, id, [say("m2")], patch=again)
        assert _patched(record_in(store, "by itself")) == _patched(
            record_in(store, "with an append")
        )

    def test_what_the_script_does_not_know_is_left_to_python(
        self, one: RedisStore, raw: Redis, prefix: str
    ) -> None:
        key = key_of(raw, prefix, "s", "s:s")
        for n, unknown in enumerate((b"{}", b"[]", b'{"a":1}', b"1.5")):
            raw.hset(key, "p", b'{"title":"old","later":' + unknown + b',"model":"m"}')
            one.append(ADA, "s", [say(f"n{n}")], patch=SessionPatch(state=f"s{n}"))
            record = record_in(one)
            assert (record.title, record.state, record.model) == ("old", f"s{n}", "m")

    def test_attributes_of_earlier_versions_are_replaced_with_an_append(
        self, one: RedisStore, raw: Redis, prefix: str
    ) -> None:
        key = key_of(raw, prefix, "s", "s:s")
        raw.hset(key, "data", b'{"secret":1}')
        raw.hdel(key, "attributes")
        one.append(ADA, "s", [say("m3")], patch=SessionPatch(title="t"))
        assert record_in(one).attributes == {"secret": 1}
        one.append(ADA, "s", [say("m4")], patch=SessionPatch(attributes={"a": 1}))
        assert record_in(one).attributes == {"a": 1}
        assert not raw.hget(key, "data")


def _patched(record: SessionRecord) -> list[Any]:
    moved = {"id", "tip", "tip_position", "messages", "context_tokens", "created_us"}
    moved |= {"active_us", "updated_us"}
    return [getattr(record, it) for it in record.__struct_fields__ if it not in moved]


class TestDocuments:
    def test_what_was_stored_before_there_were_others_is_inherited(
        self, one: RedisStore, raw: Redis, prefix: str
    ) -> None:
        number = raw.hget(key_of(raw, prefix, "s", "s:s"), "n")
        assert isinstance(number, bytes)
        key = key_of(raw, prefix, "s", f"k:{number.decode()}")
        raw.hset(key, "old", b"5 7 \nvalue")
        found = one.find_document(ADA, "old", session="s")
        assert found is not None
        assert (found.value, found.version, found.expires_us) == (b"value", 5, None)
        put = DocumentPut(key="new", value=b"", expected_version=0)
        one.append(ADA, "s", [say("m3")], fence=Fence(key="old", version=5), documents=[put])
        one.create_session(ADA, fork_of("s", id="other"))
        assert [it.key for it in one.list_documents(ADA, session="other")] == ["new", "old"]

    def test_a_lease_that_is_renewed_stays_a_sessions_own(
        self, one: RedisStore, raw: Redis, prefix: str
    ) -> None:
        own = DocumentPut(key="own", value=b"", expires_in_s=60, inherit=False)
        version = one.append(ADA, "s", [say("m3")], documents=[own]).documents["own"]
        number = raw.hget(key_of(raw, prefix, "s", "s:s"), "n")
        assert isinstance(number, bytes)
        key = key_of(raw, prefix, "s", f"k:{number.decode()}")
        for _ in range(2):
            stored = raw.hget(key, "own")
            assert isinstance(stored, bytes)
            assert stored.endswith(b" -\n")
            one.renew_document(ADA, "own", session="s", expected_version=version, expires_in_s=600)
        assert one.statistics(ADA).documents == 2

    def test_versions_go_up_however_documents_are_written(self, one: RedisStore) -> None:
        put, seen = DocumentPut(key="k", value=b""), list[int]()
        for n in range(3):
            seen.append(one.append(ADA, "s", [say(f"n{n}")], documents=[put]).documents["k"])
            seen.append(one.put_document(ADA, "k", b"", session="s").version)
            one.append(ADA, "s", [say(f"d{n}")], documents=[DocumentDelete(key="k")])
            seen.append(one.put_documents(ADA, "s", [put])["k"])
        assert seen == sorted(set(seen))


GUARDED: dict[str, Callable[[RedisStore], Any]] = {
    "checkout": lambda it: it.checkout(ADA, "s", "m1", expected_tip="m2"),
    "update_message": lambda it: it.update_message(ADA, "s", say("m1"), expected_tip="m2"),
    "update_session": lambda it: it.update_session(ADA, "s", SessionPatch(), expected_tip="m2"),
}
REFUSED_IF_CLOSED: dict[str, tuple[str, Callable[[RedisStore], Any]]] = {
    "append": ("append", lambda it: it.append(ADA, "s", [say("new")])),
    "append of a merge": (
        "append",
        lambda it: it.append(ADA, "s", [say("new")], patch=SessionPatch(merge={})),
    ),
    "checkout": ("apply", lambda it: it.checkout(ADA, "s", "m1")),
    "update_message": ("apply", lambda it: it.update_message(ADA, "s", say("m1", "new"))),
    "add_overlay": ("apply", lambda it: it.add_overlay(ADA, "s", cover("m1", "m1"))),
}
FENCED: dict[str, tuple[str, Callable[..., Any]]] = {
    "append": ("append", lambda it, **at: it.append(ADA, "s", [say("new")], **at)),
    "append of a merge": (
        "append",
        lambda it, **at: it.append(ADA, "s", [say("n")], patch=SessionPatch(merge={}), **at),
    ),
    "checkout": ("apply", lambda it, **at: it.checkout(ADA, "s", "m1", **at)),
    "put_documents": (
        "apply",
        lambda it, **at: it.put_documents(ADA, "s", [DocumentPut(key="k", value=b"")], **at),
    ),
    "delete_messages": (
        "apply_freeing",
        lambda it, **at: it.delete_messages(ADA, "s", ["m1"], **at),
    ),
}


class TestBetween:
    """Another store comes first, after the look and before the write."""

    @pytest.mark.parametrize("call", GUARDED)
    def test_an_append_in_the_tree_does_not_matter_to_who_expects_a_tip(
        self, one: RedisStore, open_store: Open, call: str
    ) -> None:
        other = open_store()
        looks = count_scripts(one, "look")
        done = before(one, "apply", lambda: other.append(ADA, "fork", [say("f1")]))
        GUARDED[call](one)
        assert done
        assert len(looks) == 1

    @pytest.mark.parametrize("call", GUARDED)
    def test_an_append_to_the_session_is_a_stale_tip(
        self, one: RedisStore, open_store: Open, call: str
    ) -> None:
        other = open_store()
        done = before(one, "apply", lambda: other.append(ADA, "s", [say("m3")]))
        with pytest.raises(StaleTipError):
            GUARDED[call](one)
        assert done
        assert shown(one.read(ADA, "s", Read())) == ["m1", "m2", "m3"]

    @pytest.mark.parametrize("call", REFUSED_IF_CLOSED)
    def test_a_session_that_is_closed_meanwhile_is_closed(
        self, one: RedisStore, open_store: Open, call: str
    ) -> None:
        other, (step, go) = open_store(), REFUSED_IF_CLOSED[call]
        closing = SessionPatch(closed=True)
        done = before(one, step, lambda: other.append(ADA, "s", [say("last")], patch=closing))
        with pytest.raises(SessionClosedError):
            go(one)
        assert done
        assert shown(one.read(ADA, "s", Read())) == ["m1", "m2", "last"]

    @pytest.mark.parametrize("call", FENCED)
    def test_a_lease_that_is_taken_meanwhile_is_lost(
        self, one: RedisStore, open_store: Open, call: str
    ) -> None:
        other, (step, go) = open_store(), FENCED[call]
        fence = Fence(key="lease", version=version_of(one, "lease"))
        take = DocumentPut(key="lease", value=b"mine", expires_in_s=60)
        done = before(one, step, lambda: other.append(ADA, "s", [say("m3")], documents=[take]))
        with pytest.raises(LeaseLostError):
            go(one, fence=fence)
        assert done
        assert shown(one.read(ADA, "s", Read())) == ["m1", "m2", "m3"]
        assert version_of(one, "k") == 0

    def test_a_record_that_is_patched_meanwhile_is_merged_anew(
        self, one: RedisStore, open_store: Open
    ) -> None:
        other = open_store()
        first = SessionPatch(attributes={"a": 1}, title="t")
        done = before(one, "append", lambda: other.append(ADA, "s", [say("m3")], patch=first))
        one.append(ADA, "s", [say("m4")], patch=SessionPatch(merge={"b": 2}))
        assert done
        record = record_in(one)
        assert (record.attributes, record.title, record.version) == ({"a": 1, "b": 2}, "t", 3)

    def test_a_record_that_is_patched_with_an_append_is_not_overwritten(
        self, one: RedisStore, open_store: Open
    ) -> None:
        other = open_store()
        titled = SessionPatch(title="t")
        done = before(one, "apply", lambda: other.append(ADA, "s", [say("m3")], patch=titled))
        one.update_session(ADA, "s", SessionPatch(tags=["x"]))
        assert done
        record = record_in(one)
        assert (record.title, record.tags, record.version) == ("t", ["x"], 3)

    def test_a_document_that_is_put_meanwhile_is_stale(
        self, one: RedisStore, open_store: Open
    ) -> None:
        other, put = open_store(), DocumentPut(key="k", value=b"", expected_version=0)
        done = before(one, "append", lambda: other.put_document(ADA, "k", b"1", session="s"))
        with pytest.raises(StaleVersionError):
            one.append(ADA, "s", [say("m3")], documents=[put])
        assert done
        assert shown(one.read(ADA, "s", Read())) == ["m1", "m2"]


def count_scripts(store: RedisStore, name: str) -> list[str]:
    """Note each run of a script."""
    client: Any = store._runner.here()._client
    run_script, runs = client.run_script, list[str]()

    def note(script: str, *args: Any) -> Any:
        if script == name:
            runs.append(script)
        return run_script(script, *args)

    client.run_script = note
    return runs
