"""The feed, read while it is trimmed and written to."""

from __future__ import annotations

import pytest

from sapwood.errors import (
    NotFoundError,
)
from sapwood.model import (
    Search,
    Usage,
)
from sapwood.stores.recordlog.log_documents import LogDocument, LogKey, LogKind
from sapwood.testing.makers import ADA, fork_of, say

from .support import PausedStore, texts


def test_a_feed_that_is_trimmed_while_it_is_read_passes_nothing_by(
    store: PausedStore, other: PausedStore
) -> None:
    cursor = store.changes(ADA, limit=1).cursor
    seen = other.changes(ADA).cursor
    other.append(ADA, "s", [say("m3")])
    other.changes(ADA, after=other.changes(ADA, after=seen, reader="r").cursor, reader="r")
    other._runner.logs._clock.advance(2 * 3_600)  # type: ignore[attr-defined]
    store.changes(ADA)
    store.log.before("following", other.finish_deletions)
    with pytest.raises(NotFoundError):
        store.changes(ADA, after=cursor)


def test_a_reader_that_looks_for_news_writes_nothing_when_there_is_none(
    store: PausedStore, documents: dict[LogKey, LogDocument]
) -> None:
    cursor = store.changes(ADA, reader="r").cursor
    cursor = store.changes(ADA, after=cursor, reader="r").cursor
    before = len(documents)
    for _ in range(5):
        assert store.changes(ADA, after=cursor, reader="r").cursor == cursor
    assert len(documents) == before


def test_what_is_cleared_while_it_is_searched_is_not_found(
    store: PausedStore, other: PausedStore
) -> None:
    for scope in ("s", None):
        store.append(ADA, "s", [say(None, "lighthouse")])
        assert len(store.search(ADA, Search(text="lighthouse", session=scope)).hits) == 1
        store.log.before("spans", lambda: other.clear_session(ADA, "s"))
        assert store.search(ADA, Search(text="lighthouse", session=scope)).hits == []


def test_usage_of_a_session_that_is_deleted_while_it_is_summed_is_gone(
    store: PausedStore, other: PausedStore
) -> None:
    store.add_usage(ADA, "s", Usage(id="u", model="m", input_tokens=1))
    two = lambda keys: keys[0].id.endswith("002")  # noqa: E731
    store.log.before("get", lambda: other.delete_session(ADA, "s"), two)
    with pytest.raises(NotFoundError):
        store.total_usage(ADA, "s", by="message")


def test_usage_that_goes_with_its_session_leaves_no_look_ups(
    store: PausedStore, documents: dict[LogKey, LogDocument]
) -> None:
    for n in range(50):
        store.add_usage(ADA, "s", Usage(id=f"u{n}", model="m", input_tokens=1))
    store.clear_session(ADA, "s")
    assert not store.add_usage(ADA, "s", Usage(id="u1", model="m", input_tokens=1))
    store.delete_session(ADA, "s")
    store.finish_deletions()
    assert [it for it in documents.values() if it.kind is LogKind.LOOKUP] == []


def test_the_names_of_documents_go_with_their_session(
    store: PausedStore, documents: dict[LogKey, LogDocument]
) -> None:
    store.put_document(ADA, "a-name", b"v", session="s")
    store.create_session(ADA, fork_of("s"))
    cursor = store.changes(ADA).cursor
    store.delete_session(ADA, "s")
    store.delete_session(ADA, "fork")
    assert b"a-name" not in texts(documents)
    assert [it.session for it in store.changes(ADA, after=cursor).changes] == ["s", "fork"]
