"""Data at positions is exported, imported and copied with its places."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import ConflictError, MessageConflictError
from sapwood.model import NewSession, Read
from sapwood.rules.ids import IdMaker
from sapwood.store import Store
from sapwood.stores.memory import MemoryStore
from sapwood.stores.sqlite import SqliteStore
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, fork_of, say
from sapwood.transfer.copying.store import copy_store
from sapwood.transfer.export import Exported, export_lines
from sapwood.transfer.file_import import import_file


@pytest.fixture
def source() -> Iterator[Store]:
    """Return a store with data on branches, at marks, at a deleted message and in forks."""
    clock = ManualClock()
    with MemoryStore(clock=clock, new_id=IdMaker(clock, os.urandom)) as store:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [], data={"n": 0}, id="k0")
        store.append(ADA, "s", [say("m1"), say("m2")], data={"n": 1})
        store.append(ADA, "s", [], data={"n": 2}, id="k1")
        store.append(ADA, "s", [], data={"n": 3}, id="k2")
        store.append(ADA, "s", [say("m3")])
        store.append(ADA, "s", [say("m4")], data={"n": 4})
        store.append(ADA, "s", [say("b1")], parent="k1")
        store.append(ADA, "s", [say("b2")], parent="m2", data={"b": 2})
        store.append(ADA, "s", [], data={"end": 1}, id="k3", parent="m3")
        store.create_session(ADA, fork_of("s", "k2", id="f1"))
        store.append(ADA, "f1", [say("f1 m")])
        store.append(ADA, "f1", [], data={"f": 1}, id="fk")
        store.create_session(ADA, fork_of("s", "m4", id="f2"))
        store.append(ADA, "f2", [say("f2 m")], data={"f": 2})
        store.create_session(ADA, fork_of("f1", "fk", id="f3"))
        store.delete_messages(ADA, "s", ["m4"])
        yield store


@pytest.fixture(params=["memory", "SQLite"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Return an empty store."""
    clock = ManualClock()
    options: dict[str, Any] = {"clock": clock, "new_id": IdMaker(clock, os.urandom)}
    is_memory = request.param == "memory"
    with MemoryStore(**options) if is_memory else SqliteStore(tmp_path / "t.db", **options) as made:
        yield made


def seen(store: Store) -> dict[str, Any]:
    """Return what each session has at its ends, and where it stands."""
    found: dict[str, Any] = {}
    for name in ("s", "f1", "f2", "f3"):
        record = store.find_session(ADA, name)
        assert record is not None
        found[name] = [(record.tip, record.messages, record.forked_at and record.forked_at.depth)]
        for leaf in sorted(store.list_leaves(ADA, name), key=lambda it: it.id):
            versions = store.list_data(ADA, name, leaf.position)
            read = store.read(ADA, name, Read(leaf=leaf.id))
            found[name] += [
                leaf.id,
                [(it.id, it.value, it.position.depth) for it in versions],
                [message.id for message in read.messages_only],
            ]
    return found


def test_data_is_exported_and_imported(source: Store, target: Store) -> None:
    data = b"".join(export_lines(source, ADA, None, Exported()))
    done = import_file(target, ADA, io.BytesIO(data))
    assert (done.written, done.notes) == (7, [])
    assert seen(target) == seen(source)
    assert b"".join(export_lines(target, ADA, None, Exported())) == data
    again = import_file(target, ADA, io.BytesIO(data))
    assert (again.written, again.skipped) == (0, 7)
    assert seen(target) == seen(source)
    assert target.admin.check() == []


def test_an_import_goes_on_where_the_store_has_a_part(source: Store, target: Store) -> None:
    data = b"".join(export_lines(source, ADA, ["s"], Exported()))
    import_file(target, ADA, io.BytesIO(data))
    source.append(ADA, "s", [], data={"later": 1}, id="k4", parent="m1")
    source.append(ADA, "s", [say("m5")], data={"later": 2})
    data = b"".join(export_lines(source, ADA, None, Exported()))
    assert import_file(target, ADA, io.BytesIO(data)).written == 3
    expected, found = seen(source), seen(target)
    # The tip stays where the store has it.
    assert [it[1:] for it in found.values()] == [it[1:] for it in expected.values()]


@pytest.mark.parametrize("other", [b'"data":{"n":2}', b'"data":{"n":1}'])
def test_other_data_in_the_store_is_a_conflict(source: Store, target: Store, other: bytes) -> None:
    data = b"".join(export_lines(source, ADA, ["s"], Exported()))
    import_file(target, ADA, io.BytesIO(data))
    before = target.list_data(ADA, "s", target.list_leaves(ADA, "s")[0].position)
    with pytest.raises(MessageConflictError, match="other data"):
        import_file(target, ADA, io.BytesIO(data.replace(other, b'"data":{"n":-1}')))
    assert target.list_data(ADA, "s", target.list_leaves(ADA, "s")[0].position) == before


def test_data_is_copied_and_followed(source: Store, target: Store) -> None:
    assert copy_store(source, target).copied == 4
    assert seen(target) == seen(source)
    assert copy_store(source, target).equal == 4
    source.append(ADA, "s", [], data={"later": 1}, id="k4", parent="m1")
    assert copy_store(source, target).updated == 1
    source.append(ADA, "s", [say("m5")], data={"later": 2})
    assert copy_store(source, target).updated == 1
    assert seen(target) == seen(source)
    assert target.admin.check() == []


def test_a_copy_that_has_other_data_is_told(source: Store, target: Store) -> None:
    target.create_session(ADA, NewSession(id="s"))
    target.append(ADA, "s", [], data={"n": "other"}, id="k0")
    with pytest.raises(ConflictError):
        copy_store(source, target)
