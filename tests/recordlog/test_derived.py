"""A page has the state of its log: derived from the records before it, found by and read from."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from stores.derived import data_of, furnish_data

from recordlog._sync.dictionary import DictionaryDriver
from recordlog.stores import DictionaryStore
from sapwood.model import SessionPatch, SessionQuery
from sapwood.stores.recordlog.log_documents import LogDocument, LogKey
from sapwood.stores.recordlog.record import PAGE, decode_record, encode_record, state_at
from sapwood.stores.recordlog.state import KeptData, LogState, encode_state
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA

Documents = dict[LogKey, LogDocument]


def opened(documents: Documents) -> DictionaryStore:
    """Open a store as a process of its own, which remembers no state."""
    return DictionaryStore(ManualClock(), DictionaryDriver(documents))


@pytest.fixture
def documents() -> Documents:
    documents: Documents = {}
    store = opened(documents)
    furnish_data(store)
    store.update_session(ADA, "s", SessionPatch(title="A title", tags=["red"], state="quiet"))
    for _ in range(PAGE):
        store.put_document(ADA, "k", b"", session="s")
    assert store.admin.check() == []
    return documents


def seen(store: DictionaryStore) -> list[Any]:
    queries = [
        SessionQuery(tags=["red"]),
        SessionQuery(title_prefix="A"),
        SessionQuery(state="quiet"),
        SessionQuery(order="updated"),
    ]
    return [*data_of(store), *(store.list_sessions(ADA, it) for it in queries)]


def with_another_state(documents: Documents, **fields: Any) -> None:
    """Change what the newest page of the session has for its state."""
    pages = [(it.n, key) for key, it in documents.items() if it.is_page and it.n]
    stored = documents[max(pages, key=lambda it: it[0])[1]]
    state = state_at(stored)
    assert state.session == "s"
    wrong = encode_state(replace(state, **fields))
    record = replace(decode_record(stored.data, stored.id), state=wrong)
    key = next(key for key, it in documents.items() if it is stored)
    documents[key] = replace(stored, data=encode_record(record))


STATE = LogState(tree="", log="")


@pytest.mark.parametrize(
    "fields",
    [
        {"data": {}},
        {"data": {1: {3: KeptData(2, is_mark=True)}}},
        {"inherited_data": {}},
        {"profile": replace(STATE.profile, title="Another", tags=["blue"], state="zzz")},
        {"updated_us": 1},
        {"messages": 99},
    ],
)
def test_rule_14_a_state_that_is_not_what_its_records_add_up_to_is_rebuilt(
    documents: Documents, fields: dict[str, Any]
) -> None:
    before = seen(opened(documents))
    with_another_state(documents, **fields)
    assert "state" in {it.kind for it in opened(documents).admin.check()}
    assert opened(documents).admin.repair() == []
    assert seen(opened(documents)) == before
