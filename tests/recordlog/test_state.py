"""The state of a log as it is stored."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from sapwood.model import CHAT
from sapwood.stores.recordlog.record import Record, decode_record, encode_record
from sapwood.stores.recordlog.state import KeptDocument, LogState, decode_state, encode_state
from sapwood.stores.recordlog.work import ChangeProfile, LogProfile, LogWork, PutDocument

PROFILE = LogProfile("t", "active", ["x"], b"{}", None)


def since_closing(profile: list[object]) -> list[object]:
    """Take from a stored profile what was added when sessions could be closed, and after that."""
    added = profile[LogProfile.__struct_fields__.index("closed") :]
    del profile[-len(added) :]
    return added


def test_a_state_that_lacks_the_newest_field_is_read() -> None:
    """Fields are added at the end: what was stored before them has fewer."""
    state = LogState(tree="t", log="l", session="s", version=7)
    stored = msgspec.msgpack.decode(encode_state(state))
    found = [decode_state(msgspec.msgpack.encode(it), "here") for it in (stored, stored[:-1])]
    assert [replace(it, page_bytes=0) for it in found] == [state, state]


def test_a_state_from_before_sessions_were_closed_and_documents_not_inherited_is_read() -> None:
    kept = KeptDocument(5, 5, 9, None)
    state = LogState(tree="t", log="l", profile=PROFILE, documents={"k": kept})
    stored = msgspec.msgpack.decode(encode_state(state))
    names = LogState.__struct_fields__
    assert since_closing(stored[names.index("profile")]) == [False, CHAT, {}]
    document = stored[names.index("documents")]["k"]
    assert [document.pop(), document.pop()] == [None, True]
    found = decode_state(msgspec.msgpack.encode(stored), "here")
    assert replace(found, page_bytes=0) == state


def test_a_record_from_before_anything_came_along_is_read() -> None:
    works: list[LogWork] = [PutDocument("k", 9, None, b"v"), ChangeProfile(PROFILE)]
    for work in works:
        record = Record("m", 1, work)
        *fields, also = msgspec.msgpack.decode(encode_record(record))
        if isinstance(work, PutDocument):
            assert ([fields[2].pop(), fields[2].pop()], also) == ([False, True], [])
        else:
            assert (since_closing(fields[2][1]), also) == ([False, CHAT, {}], [])
        assert decode_record(msgspec.msgpack.encode(fields), "here") == record
