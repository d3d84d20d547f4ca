"""What is compared and kept, whatever the database would make of it."""

from __future__ import annotations

import pytest

from sapwood.errors import StoreCorruptError
from sapwood.model import NewMessage, NewSession, Read, SessionQuery, TextPart
from sapwood.stores.sqlalchemy import SqlAlchemyStore
from sapwood.testing.makers import ADA, say

from .support import engine_of

ALIKE = [
    "id",
    "ID",
    "íd",
    "id ",
    "id  ",
    " id",
    "i\u0301d",
    "\u0131d",
    "\U0001d48ad",
    "ss",
    "ß",
    "SS",
]


def test_ids_are_compared_byte_by_byte(store: SqlAlchemyStore) -> None:
    for owner in ALIKE:
        store.create_session(owner, NewSession(id="s", title=owner))
    for id in ALIKE:
        store.create_session(ADA, NewSession(id=id, title=id, tags=[id], state=id))
        store.append(ADA, id, [say(other, text=f"{id}/{other}") for other in ALIKE])
        store.put_document(ADA, id, id.encode())
    for id in ALIKE:
        assert store.find_session(ADA, id).title == id  # type: ignore[union-attr]
        assert store.find_session(id, "s").title == id  # type: ignore[union-attr]
        found = store.find_messages(ADA, id, ALIKE)
        assert [it and it.text for it in found] == [f"{id}/{other}" for other in ALIKE]
        document = store.find_document(ADA, id)
        assert document is not None
        assert document.value == id.encode()
        for query in ({"tags": [id]}, {"state": id}):
            page = store.list_sessions(ADA, SessionQuery(**query))  # type: ignore[arg-type]
            assert [it.id for it in page.sessions] == [id]
    assert store.admin.list_owners() == sorted([ADA, *ALIKE], key=str.encode)


def test_every_character_and_byte_comes_back(store: SqlAlchemyStore) -> None:
    odd = "".join(map(chr, [0, 1, 10, 34, 37, 39, 58, 92, 0x85, 0x2028, 0xFFFF, 0x1F600, 0x10FFFF]))
    store.create_session(ADA, NewSession(id="s", title=odd, attributes={odd: odd}))
    store.append(ADA, "s", [NewMessage(role="user", parts=[TextPart(text=odd)])])
    every_byte = bytes(range(256)) * 40
    store.put_document(ADA, "k", every_byte)
    record = store.find_session(ADA, "s")
    assert record is not None
    assert (record.title, record.attributes) == (odd, {odd: odd})
    assert store.read(ADA, "s", Read()).messages_only[0].text == odd
    document = store.find_document(ADA, "k")
    assert document is not None
    assert document.value == every_byte


def test_the_longest_names_can_be_kept_and_found(store: SqlAlchemyStore) -> None:
    long = "é" * 128
    store.create_session(long, NewSession(id=long, state=long, tags=[long]))
    store.append(long, long, [say(long)])
    store.put_document(long, long, b"v", session=long)
    assert store.find_messages(long, long, [long])[0] is not None
    assert [it.key for it in store.list_documents(long, "éé", session=long)] == [long]


def test_an_append_after_a_message_that_is_missing_says_so(store: SqlAlchemyStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1"), say("m2"), say("m3")])
    store.checkout(ADA, "s", "m2")
    message = store._runner.here()._worker._tables.message
    with engine_of(store).begin() as conn:
        conn.execute(message.delete().where(message.c.id == "m2"))
    with pytest.raises(StoreCorruptError, match="is missing"):
        store.append(ADA, "s", [say("m4"), say("m5")])
