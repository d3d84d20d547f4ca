"""What a store derives of listings and of data at positions: made, shown, and damaged in tables."""

from __future__ import annotations

from typing import Any

from sapwood.model import NewSession, Read, SessionQuery, SystemFields
from sapwood.store import Store
from sapwood.testing.makers import ADA, fork_of, say

LISTING_DAMAGES = {
    "no tags": "DELETE FROM {}tag",
    "a tag that it does not have": "INSERT INTO {}tag SELECT owner, 'stray', number"
    " FROM {}session WHERE id = 'listed'",
    "a tag of nobody": "INSERT INTO {}tag SELECT number, 'red', 999 FROM {}owner",
    "no titles": "UPDATE {}profile SET title_key = NULL",
    "no keys": "UPDATE {}profile SET system_key = NULL",
    "another key": "UPDATE {}profile SET system_key = title_key",
    "another state": "UPDATE {}session SET state = 'zzz'",
    "no state": "UPDATE {}session SET state = ''",
}
"""Statements, with the place before a table's name."""
DATA_DAMAGES = {
    "where all data stands": "UPDATE {}segment SET data_at = 0",
    "where data stands": "UPDATE {}segment SET data_at = data_at - 1 WHERE data_at > 0",
    "data where there is none": "UPDATE {}segment SET data_at = number * 16777216 + 1"
    " WHERE parent = 0",
}
ANOTHER_PREVIOUS = "UPDATE {}data SET previous = 0 WHERE previous > 0"
_OF_THE_MARK = " WHERE pos IN (SELECT pos FROM {}message WHERE id = 'k')"
LOST_MARK = "DELETE FROM {}data" + _OF_THE_MARK
LOST_VALUE = "UPDATE {}data SET value = CAST('x' AS BYTES)" + _OF_THE_MARK
"""With what the database calls bytes."""
_QUERIES = [
    SessionQuery(kind=None),
    SessionQuery(kind="aside"),
    SessionQuery(state="active"),
    SessionQuery(state="ended", kind=None),
    SessionQuery(state="zzz"),
    SessionQuery(tags=["red"]),
    SessionQuery(tags=["blue", "red"]),
    SessionQuery(tags=["stray"]),
    SessionQuery(title_prefix="A ti"),
    SessionQuery(title_prefix="L\u00f6w" * 30),
    SessionQuery(key=("agent",)),
    SessionQuery(key=("agent", "b"), kind=None),
    SessionQuery(order="updated"),
    SessionQuery(order="created", reverse=True),
]


def furnish_listing(store: Store) -> None:
    """Make sessions that are found by all that there is to find them by."""
    store.create_session(
        ADA,
        NewSession(
            id="listed",
            title="A title",
            tags=["red", "blue", "red"],
            system=SystemFields(key=("agent", "a")),
        ),
    )
    store.create_session(ADA, fork_of("listed", id="branch"))
    store.create_session(
        ADA,
        NewSession(
            id="aside",
            kind="aside",
            title="L\u00f6w" * 40,
            state="ended",
            tags=["red"],
            system=SystemFields(key=("agent", "b")),
        ),
    )


def listing_of(store: Store) -> list[Any]:
    """Return which sessions are found by what, and how many there are."""
    pages = [store.list_sessions(ADA, query).sessions for query in _QUERIES]
    everybody = store.admin.list_sessions(SessionQuery(kind=None, state="ended")).sessions
    found = [[it.id for it in page] for page in pages]
    return [*found, [it.session.id for it in everybody], store.statistics(ADA)]


def furnish_data(store: Store) -> None:
    """Make a session with data in two segments, marks, and a fork."""
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1")])
    store.append(ADA, "s", [say("m2")], data={"n": 1})
    store.append(ADA, "s", [], data={"n": 2}, id="k")
    store.append(ADA, "s", [say("m3")])
    store.append(ADA, "s", [say("x1")], parent="m2", data={"n": 3})
    store.create_session(ADA, fork_of("s", "k"))
    store.append(ADA, "fork", [], data={"n": 4}, id="f")
    store.checkout(ADA, "s", "m3")


def data_of(store: Store) -> list[Any]:
    """Return what is said of data, of a session and its fork."""
    found: list[Any] = []
    for session in ("s", "fork"):
        record = store.find_session(ADA, session)
        assert record is not None
        assert record.tip_position is not None
        found += [record, store.list_data(ADA, session, record.tip_position)]
        found.append([it.data_at for it in store.read(ADA, session, Read()).messages_only])
    return found
