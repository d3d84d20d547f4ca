"""What is special to the memory store, and a walk through the rest of it."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator

import pytest

from sapwood.errors import (
    ClosedError,
    ConflictError,
    LeaseLostError,
    MessageConflictError,
    NotFoundError,
    StaleTipError,
    StoreCorruptError,
)
from sapwood.model import (
    ROOT,
    ChangeKind,
    EntryRef,
    Fence,
    ForkPoint,
    Message,
    NewMessage,
    NewOverlay,
    NewSession,
    Read,
    Summary,
    TextPart,
)
from sapwood.stores.memory import AsyncMemoryStore, MemoryStore

OWNER = "ada"


class Clock:
    """Microseconds that a test moves by hand; each look takes one."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000_000

    def __call__(self) -> int:
        self.now += 1
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> Iterator[MemoryStore]:
    numbers = itertools.count(1)
    with MemoryStore(clock=clock, new_id=lambda: f"new-{next(numbers)}") as store:
        store.create_session(OWNER, NewSession(id="a"))
        yield store
        store.settle()
        assert store.admin.check() == []


def new(id: str, text: str = "", tokens: int = 10) -> NewMessage:
    return NewMessage(role="user", parts=[TextPart(text=text or id)], id=id, tokens=tokens)


def append(store: MemoryStore, ids: str, session: str = "a", **options: object) -> None:
    store.append(OWNER, session, [new(id) for id in ids.split()], **options)  # type: ignore[arg-type]


def fork(
    store: MemoryStore, id: str, message: str, source: str = "a", detach: bool = False
) -> None:
    point = ForkPoint(session=source, message=message, detach=detach)
    store.create_session(OWNER, NewSession(id=id, fork=point))


def cover(store: MemoryStore, first: str, last: str, session: str = "a", **fields: object) -> str:
    def ref(name: str) -> EntryRef:
        kind, _, id = name.rpartition(":")
        return EntryRef(kind="overlay" if kind else "message", id=id)

    overlay = NewOverlay(first=ref(first), last=ref(last), summary="so far", tokens=3, **fields)  # type: ignore[arg-type]
    return store.add_overlay(OWNER, session, overlay).id


def shown(store: MemoryStore, session: str = "a", **query: object) -> str:
    """Show a history as ids; a summary as its id in brackets, with its pins."""
    history = store.read(OWNER, session, Read(**query))  # type: ignore[arg-type]
    names = []
    for entry in history.entries:
        if isinstance(entry, Summary):
            pins = "".join(f"+{message.id}" for message in entry.pinned)
            names.append(f"[{entry.overlay.id}{pins}]")
        else:
            names.append(entry.id)
    return " ".join(names)


def context(store: MemoryStore, session: str = "a") -> int:
    """Give a session's sum of tokens, and see that reading agrees."""
    record = store.find_session(OWNER, session)
    assert record is not None
    assert store.read(OWNER, session, Read()).context_tokens == record.context_tokens
    return record.context_tokens


def find(store: MemoryStore, session: str, id: str) -> Message:
    [message] = store.find_messages(OWNER, session, [id])
    assert message is not None
    return message


# what is special to memory


def test_changing_what_was_given_or_handed_out_does_not_change_what_is_stored(
    store: MemoryStore,
) -> None:
    metadata = {"k": ["v"]}
    data = {"n": [1]}
    given = NewMessage(role="user", parts=[TextPart(text="t")], metadata=metadata, id="m")
    appended = store.append(OWNER, "a", [given])
    store.create_session(OWNER, NewSession(id="b", data=data, tags=["t"]))
    metadata["k"].append("mine")
    data["n"].append(2)
    appended.messages[0].metadata.clear()
    appended.messages[0].parts.clear()
    record = store.find_session(OWNER, "b")
    assert record is not None
    record.data.clear()
    record.tags.clear()

    assert find(store, "a", "m").metadata == {"k": ["v"]}
    assert find(store, "a", "m").parts == [TextPart(text="t")]
    record = store.find_session(OWNER, "b")
    assert record is not None
    assert (record.data, record.tags) == ({"n": [1]}, ["t"])


def test_changing_an_overlays_metadata_does_not_change_what_is_stored(store: MemoryStore) -> None:
    append(store, "m1 m2")
    cover(store, "m1", "m2", id="o", metadata={"k": 1})
    store.list_overlays(OWNER, "a")[0].metadata.clear()
    assert store.list_overlays(OWNER, "a")[0].metadata == {"k": 1}


def test_a_closed_store_refuses_every_call(clock: Clock) -> None:
    store = MemoryStore(clock=clock, new_id=lambda: "x")
    store.close()
    store.close()
    for call in (
        lambda: store.find_session(OWNER, "a"),
        lambda: store.append(OWNER, "a", [new("m")]),
        lambda: store.settle(),
        lambda: store.admin.migrate(),
    ):
        with pytest.raises(ClosedError):
            call()


def test_it_declares_neither_durable_nor_shared(store: MemoryStore) -> None:
    assert store.capabilities == frozenset() == AsyncMemoryStore.capabilities


async def test_the_async_twin_does_the_same(clock: Clock) -> None:
    numbers = itertools.count(1)
    async with AsyncMemoryStore(clock=clock, new_id=lambda: f"id-{next(numbers)}") as store:
        await store.create_session(OWNER, NewSession(id="a"))
        await store.append(OWNER, "a", [NewMessage(role="user", parts=[TextPart(text="hi")])])
        history = await store.read(OWNER, "a", Read())
        assert [message.id for message in history.messages] == ["id-1"]
        await store.settle()
        assert await store.admin.check() == []
        assert await store.admin.migrate() == await store.admin.schema_version()
    with pytest.raises(ClosedError):
        await store.read(OWNER, "a", Read())


def test_blind_appends_of_many_threads_all_land_on_one_branch(store: MemoryStore) -> None:
    def work(name: int) -> None:
        for number in range(50):
            append(store, f"t{name}-{number}")

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.read(OWNER, "a", Read()).entries) == 400
    assert len(store.list_leaves(OWNER, "a")) == 1


# a walk through the rest


def test_a_refused_batch_changes_nothing(store: MemoryStore) -> None:
    append(store, "m1 m2")
    before = store.read(OWNER, "a", Read())
    for batch, error in (
        ({"ids": "m3 m3"}, MessageConflictError),
        ({"ids": "m3 m1"}, MessageConflictError),
        ({"ids": "m3", "parent": "unknown"}, NotFoundError),
        ({"ids": "m3", "expected_tip": "m1"}, StaleTipError),
    ):
        with pytest.raises(error):
            append(store, **batch)
    assert store.read(OWNER, "a", Read()) == before


def test_a_retry_writes_nothing_and_leaves_the_tip(store: MemoryStore) -> None:
    append(store, "m1 m2 m3")
    again = store.append(OWNER, "a", [new("m1"), new("m2")], expected_tip=ROOT)
    assert (again.written, again.tip) == (0, "m3")
    more = store.append(OWNER, "a", [new("m3"), new("m4")], expected_tip="m2")
    assert (more.written, more.tip) == (1, "m4")


def test_branches_in_one_session(store: MemoryStore) -> None:
    append(store, "m1 m2 m3")
    append(store, "n3", parent="m2")
    append(store, "n1", parent=ROOT)
    assert [leaf.id for leaf in store.list_leaves(OWNER, "a")] == ["m3", "n3", "n1"]
    assert [m.id for m in store.list_children(OWNER, "a", "m2")] == ["m3", "n3"]
    assert [m.id for m in store.list_children(OWNER, "a", ROOT)] == ["m1", "n1"]
    assert shown(store, leaf="n3") == "m1 m2 n3"
    store.checkout(OWNER, "a", "m3")
    assert context(store) == 30
    append(store, "m4")
    assert shown(store) == "m1 m2 m3 m4"
    store.checkout(OWNER, "a", ROOT)
    assert context(store) == 0


def test_limits_count_what_is_shown(store: MemoryStore) -> None:
    append(store, "m1 m2 m3 m4 m5")
    store.delete_messages(OWNER, "a", ["m4"])
    assert shown(store, limit=3) == "m1 m2 m3"
    assert shown(store, limit=3, backwards=True) == "m2 m3 m5"
    assert shown(store, after=1, before=5) == "m2 m3"
    assert store.read(OWNER, "a", Read(after=1, before=5, limit=2)).more is False
    assert store.read(OWNER, "a", Read(max_bytes=1)).more is True
    assert shown(store, max_bytes=1, backwards=True) == "m5"


def test_a_fork_shares_the_path_and_nothing_after_it(store: MemoryStore) -> None:
    append(store, "m1 m2 m3")
    store.put_document(OWNER, "block", b"text", session="a")
    store.put_document(OWNER, "lease", b"x", session="a", expires_in_s=60)
    fork(store, "b", "m2")
    append(store, "b3", session="b")
    append(store, "m3", session="b")
    assert shown(store, "b") == "m1 m2 b3 m3"
    assert shown(store) == "m1 m2 m3"
    assert [d.key for d in store.list_documents(OWNER, session="b")] == ["block"]
    with pytest.raises(MessageConflictError):
        store.append(OWNER, "b", [new("m1", "other")])
    with pytest.raises(ConflictError):
        store.update_message(OWNER, "b", new("m1", "edited"))
    with pytest.raises(ConflictError):
        store.delete_messages(OWNER, "b", ["m1"])
    assert [m.id for m in store.list_children(OWNER, "b", "m2")] == ["b3"]
    assert [leaf.id for leaf in store.list_leaves(OWNER, "b")] == ["m3"]


def test_sums_of_sessions_that_share_an_edited_message_follow(store: MemoryStore) -> None:
    append(store, "m1 m2 m3")
    fork(store, "b", "m2")
    fork(store, "c", "m2")
    append(store, "b3", session="b")
    store.update_message(OWNER, "a", new("m1", "longer", tokens=100))
    assert context(store) == 120
    append(store, "b4", session="b")
    assert context(store, "b") == 130
    store.delete_messages(OWNER, "a", ["m1"])
    store.settle()
    assert (context(store), context(store, "b"), context(store, "c")) == (20, 30, 10)


def test_a_detached_fork_has_a_tree_of_its_own(store: MemoryStore) -> None:
    append(store, "m1 m2 m3")
    cover(store, "m1", "m2", id="o")
    store.delete_messages(OWNER, "a", ["m2"])
    fork(store, "b", "m3", detach=True)
    store.update_message(OWNER, "a", new("m3", "edited"))
    record = store.find_session(OWNER, "b")
    assert record is not None
    assert (record.messages, record.forked_at, record.tip) == (2, None, "m3")
    assert shown(store, "b") == "[o] m3"
    assert shown(store, "b", overlays=False) == "m1 m3"
    assert find(store, "b", "m3").text == "m3"
    assert find(store, "b", "m3").home == "b"


def test_overlays_nest_and_are_undone_one_by_one(store: MemoryStore) -> None:
    append(store, "m1 m2 m3 m4 m5 m6")
    cover(store, "m2", "m3", id="inner")
    assert context(store) == 43
    cover(store, "overlay:inner", "m5", id="outer")
    assert shown(store) == "m1 [outer] m6"
    assert store.list_overlays(OWNER, "a")[1].covered_tokens == 23
    fork(store, "b", "m6")
    with pytest.raises(ConflictError):
        cover(store, "m2", "m6")
    with pytest.raises(ConflictError):
        cover(store, "overlay:inner", "m6")
    store.undo_overlay(OWNER, "a", "outer")
    assert shown(store) == "m1 [inner] m4 m5 m6"
    assert shown(store, "b") == "m1 [outer] m6"
    assert store.delete_messages(OWNER, "a", ["m3"]).quoting_overlays == ["inner", "outer"]
    store.undo_overlay(OWNER, "b", "outer")
    store.undo_overlay(OWNER, "b", "inner")
    assert shown(store, "b") == "m1 m2 m4 m5 m6"
    with pytest.raises(NotFoundError):
        store.undo_overlay(OWNER, "b", "inner")


def test_an_overlay_across_segments_shows_on_every_branch_below_it(store: MemoryStore) -> None:
    append(store, "m1 m2 m3")
    append(store, "n3 n4", parent="m2")
    cover(store, "m2", "n3", id="o")
    assert shown(store) == "m1 [o] n4"
    assert shown(store, leaf="m3") == "m1 m2 m3"
    append(store, "p4", parent="n3")
    assert shown(store) == "m1 [o] p4"
    assert context(store) == 23


def test_an_overlay_is_refused_after_an_edit_and_without_its_lease(store: MemoryStore) -> None:
    append(store, "m1 m2 m3")
    snapshot = store.read(OWNER, "a", Read()).snapshot
    store.update_message(OWNER, "a", new("m3", "edited"))
    cover(store, "m1", "m2", id="o", snapshot=snapshot)
    with pytest.raises(ConflictError):
        cover(store, "overlay:o", "m3", snapshot=snapshot)
    lease = store.put_document(OWNER, "lease", b"", session="a", expires_in_s=0.000001)
    over = NewOverlay(first=EntryRef.of("m3"), last=EntryRef.of("m3"), summary="s", id="p")
    with pytest.raises(LeaseLostError):
        store.add_overlay(OWNER, "a", over, fence=Fence(key="lease", version=lease.version + 1))
    store.add_overlay(OWNER, "a", over, fence=Fence(key="lease", version=lease.version))


def test_pins_are_shown_with_the_summary_that_covers_them(store: MemoryStore) -> None:
    append(store, "m1 m2 m3 m4")
    cover(store, "m1", "m3", id="o")
    store.put_document(OWNER, "pins", b'["m3", "m4", "m1", "unknown"]', session="a")
    assert shown(store) == "[o+m1+m3] m4"
    assert context(store) == 33
    store.delete_messages(OWNER, "a", ["m1"])
    assert context(store) == 23
    store.put_document(OWNER, "pins", b"{}", session="a")
    with pytest.raises(StoreCorruptError):
        shown(store)
    assert shown(store, overlays=False) == "m2 m3 m4"
    store.delete_document(OWNER, "pins", session="a")
    assert context(store) == 13


def test_a_fork_keeps_what_it_stands_on_when_its_source_is_deleted(store: MemoryStore) -> None:
    append(store, "m1 m2 m3 m4")
    append(store, "n3", parent="m2")
    cover(store, "m1", "m2", id="o")
    fork(store, "b", "m3")
    fork(store, "c", "m2", source="b")
    append(store, "c3", session="c")
    store.delete_session(OWNER, "a")
    assert shown(store, "b", overlays=False) == "m1 m2 m3"
    assert shown(store, "b") == "[o] m3"
    assert find(store, "b", "m3").home is None
    with pytest.raises(ConflictError):
        store.update_message(OWNER, "b", new("m3", "edited"))
    assert store.delete_messages(OWNER, "c", ["m1"]).quoting_overlays == ["o"]
    assert store.admin.check() == []
    store.delete_session(OWNER, "b")
    assert shown(store, "c") == "[o] c3"
    assert shown(store, "c", overlays=False) == "m2 c3"
    store.create_session(OWNER, NewSession(id="a"))
    append(store, "m1")
    assert shown(store) == "m1"
    store.delete_session(OWNER, "c")
    assert store.statistics(OWNER).overlays == 0


def test_nothing_is_left_of_what_nobody_stands_on(store: MemoryStore) -> None:
    append(store, "m1 m2 m3")
    fork(store, "b", "m2")
    append(store, "b3", session="b")
    fork(store, "c", "b3", source="b")
    for session in "abc":
        store.delete_session(OWNER, session)
    state = store._runner.read(lambda unit: unit.messages._state)  # type: ignore[attr-defined]
    assert not (state.segments)
    assert not (state.places)
    assert not (state.trees)
    assert not (state.homes)


def test_a_cleared_session_goes_on_empty(store: MemoryStore) -> None:
    append(store, "m1 m2")
    cover(store, "m1", "m2", id="o")
    fork(store, "b", "m1")
    store.put_document(OWNER, "pins", b'["m1"]', session="a")
    store.put_document(OWNER, "block", b"text", session="a")
    store.put_document(OWNER, "lease", b"", session="a", expires_in_s=60)
    record = store.clear_session(OWNER, "a")
    assert (record.tip, record.messages, record.context_tokens, record.version) == (ROOT, 0, 0, 2)
    assert [d.key for d in store.list_documents(OWNER, session="a")] == ["block"]
    assert store.list_overlays(OWNER, "a") == []
    assert store.list_leaves(OWNER, "a") == []
    store.append(OWNER, "a", [new("m1", "another")])
    assert find(store, "a", "m1").text == "another"
    assert find(store, "b", "m1").text == "m1"
    assert store.delete_messages(OWNER, "b", ["m1"]).ids == ["m1"]
    assert store.delete_messages(OWNER, "b", ["m1"]).ids == []
    assert shown(store) == "m1"


def test_the_feed_tells_what_happened_and_what_went(store: MemoryStore) -> None:
    append(store, "m1 m2")
    store.create_session(OWNER, NewSession(id="b"))
    append(store, "x", session="b")
    page = store.changes(OWNER, limit=2)
    assert ([c.message for c in page.changes], page.more) == (["m1", "m2"], True)
    store.delete_session(OWNER, "b")
    rest = store.changes(OWNER, after=page.cursor)
    assert [(c.kind, c.session) for c in rest.changes] == [(ChangeKind.RETIRE, "b")]
    assert store.changes(OWNER, after=rest.cursor).changes == []


def test_the_feed_is_trimmed_behind_its_slowest_reader(store: MemoryStore, clock: Clock) -> None:
    append(store, "m1 m2")
    first = store.changes(OWNER, limit=1).cursor
    store.changes(OWNER, after=store.changes(OWNER).cursor, reader="fast")
    store.changes(OWNER, after=first, reader="slow")
    clock.now += 10_000_000_000
    store.settle()
    assert [c.message for c in store.changes(OWNER, after=first).changes] == ["m2"]
    store.changes(OWNER, after=store.changes(OWNER).cursor, reader="slow")
    store.settle()
    with pytest.raises(NotFoundError):
        store.changes(OWNER, after=first)
    assert store.changes(OWNER).changes == []


def test_an_erased_owner_has_nothing_left(store: MemoryStore) -> None:
    append(store, "m1 m2")
    fork(store, "b", "m1")
    fork(store, "c", "m2", source="a")
    store.put_document(OWNER, "note", b"x")
    store.create_session("bob", NewSession(id="a"))
    store.erase_owner(OWNER)
    store.erase_owner(OWNER)
    assert store.admin.list_owners() == ["bob"]
    assert store.changes(OWNER).changes == []
    assert store.find_session("bob", "a") is not None
