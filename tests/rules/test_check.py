"""A wrong call is refused whatever is stored, and the error says where it is wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any

import msgspec
import pytest

from sapwood.errors import MessageTooLargeError, UsageError
from sapwood.model import (
    ROOT,
    Edge,
    EdgeKind,
    EntryRef,
    ForkPoint,
    NewMessage,
    NewOverlay,
    NewSession,
    Read,
    SessionPatch,
    SessionQuery,
    Usage,
)
from sapwood.rules import check, document_checks
from sapwood.rules.tokens import MAX_TOKENS

replace = msgspec.structs.replace

BAD_NAMES = ["", "x" * 257, "a\nb", "\ud800", None, 5, b"a", ROOT]
BAD_TEXTS = ["\ud800", b"a", 5, ["a"]]


def path_of(call: Callable[..., object], *args: Any) -> str:
    with pytest.raises(UsageError) as caught:
        call(*args)
    assert caught.value.path
    return caught.value.path


# Names and places


@pytest.mark.parametrize("bad", BAD_NAMES)
def test_names_are_refused_by_what_they_name(bad: Any) -> None:
    assert path_of(check.owner, bad) == "owner"
    assert path_of(check.owner_and_session, bad, "s") == "owner"
    assert path_of(check.owner_and_session, "o", bad) == "session"
    assert path_of(check.name, bad, "overlay") == "overlay"
    assert path_of(check.message_ids, ["a", bad]) == "ids[1]"


def test_a_place_is_an_id_or_root() -> None:
    check.place(ROOT, "parent")
    check.place("root", "parent")
    for bad in (None, "", 5):
        assert path_of(check.place, bad, "parent") == "parent"


@pytest.mark.parametrize("bad", ["abc", None, 5, {"a": 1}, {"a"}, NewMessage(role="u", parts=[])])
def test_ids_are_a_list(bad: Any) -> None:
    check.message_ids([])
    check.message_ids(("a", "b"))
    assert path_of(check.message_ids, bad) == "ids"


def test_a_message_to_update_has_an_id() -> None:
    check.has_id(NewMessage(role="user", parts=[], id="m"))
    assert path_of(check.has_id, NewMessage(role="user", parts=[])) == "message id"
    assert path_of(check.has_id, {"id": "m"}) == "message"


# Numbers


def test_a_whole_number_keeps_its_bounds() -> None:
    for fine in (None, 1, 2, 10):
        check.whole(fine, "limit", 1, 10)
    for bad in (0, 11, -1, 1.0, True, "5", float("nan"), [1]):
        assert path_of(check.whole, bad, "limit", 1, 10) == "limit"


def test_a_count_has_to_be_given() -> None:
    check.count(0, "after", 0)
    assert path_of(check.count, None, "after", 0) == "after"


def test_a_number_that_no_store_can_hold_is_refused() -> None:
    check.whole(2**53, "limit", 1)
    assert path_of(check.whole, 2**63 - 1, "limit", 1) == "limit"
    assert path_of(check.whole, 2**64, "limit", 1) == "limit"


def test_an_expiry_is_given_in_microseconds() -> None:
    assert document_checks.expiry(None, "s", "k") is None
    assert document_checks.expiry(1, "s", "k") == 1_000_000
    assert document_checks.expiry(0.25, None, "k") == 250_000
    assert document_checks.expiry(1e-9, None, "k") == 1, "more than nothing is not nothing"
    assert document_checks.expiry(100 * 365 * 86_400, None, "k") == 100 * 365 * 86_400 * 1_000_000


def test_only_a_sessions_pins_cannot_expire() -> None:
    assert document_checks.expiry(None, "s", "pins") is None
    assert document_checks.expiry(1, None, "pins") == 1_000_000
    assert path_of(document_checks.expiry, 1, "s", "pins") == "expires_in_s"


@pytest.mark.parametrize(
    "bad", [0, -1, -0.5, float("nan"), float("inf"), 1e300, 10**400, True, "5", timedelta(1)]
)
def test_an_expiry_is_a_time_to_live_that_ends(bad: Any) -> None:
    assert path_of(document_checks.expiry, bad, "s", "k") == "expires_in_s"


# Sessions

SESSION = NewSession(
    id="s",
    title="",
    tags=["a", "é"],
    attributes={"k": [1, None]},
    budget=0,
    model="large",
    source=None,
    end_reason="completed",
    parent=Edge(kind=EdgeKind.BRANCH, session="p"),
    fork=ForkPoint(session="p", message=ROOT),
)


def test_a_right_session_is_not_refused() -> None:
    for fine in (
        NewSession(id="s"),
        SESSION,
        replace(SESSION, title=None, budget=None, fork=ForkPoint(session="p")),
        replace(SESSION, title="x" * 5_000 + "\n", fork=ForkPoint(session="p", message="m")),
    ):
        check.new_session(fine)
    check.patch(SessionPatch())
    check.patch(SessionPatch(title=None, budget=None, tags=[], attributes={}))


@pytest.mark.parametrize("bad", BAD_NAMES)
def test_a_sessions_names_are_checked(bad: Any) -> None:
    edge, fork = Edge(kind=EdgeKind.RESET, session=bad), ForkPoint(session=bad)
    assert path_of(check.new_session, replace(SESSION, id=bad)) == "session"
    assert path_of(check.new_session, replace(SESSION, parent=edge)) == "parent.session"
    assert path_of(check.new_session, replace(SESSION, fork=fork)) == "fork.session"
    if bad is not None and bad is not ROOT:
        fork = ForkPoint(session="p", message=bad)
        assert path_of(check.new_session, replace(SESSION, fork=fork)) == "fork.message"


@pytest.mark.parametrize(
    ("field", "bad", "path"),
    [
        *[("title", bad, "title") for bad in BAD_TEXTS],
        *[("state", bad, "state") for bad in BAD_NAMES],
        *[("tags", ["a", bad], "tags[1]") for bad in BAD_NAMES],
        *[("tags", bad, "tags") for bad in ("abc", None, 5, {"a"})],
        *[("attributes", bad, "attributes") for bad in (None, [], "a", 5, b"")],
        ("attributes", {"a": [float("nan")]}, "attributes.a[0]"),
        ("attributes", {1: 2}, "attributes"),
        ("attributes", {"\ud800": 2}, "attributes"),
        ("attributes", {"a": {"b": {1}}}, "attributes.a.b"),
        *[("model", bad, "model") for bad in BAD_NAMES if bad is not None],
        ("source", "", "source"),
        ("end_reason", "a\nb", "end_reason"),
        *[("budget", bad, "budget") for bad in (-1, 1.5, True, "5", MAX_TOKENS + 1)],
    ],
)
def test_a_wrong_field_of_a_session_is_refused_with_its_path(
    field: str, bad: Any, path: str
) -> None:
    assert path_of(check.new_session, replace(SESSION, **{field: bad})) == path
    assert path_of(check.patch, SessionPatch(**{field: bad})) == path


def test_records_of_another_type_are_refused() -> None:
    assert path_of(check.new_session, {"id": "s"}) == "session"
    assert path_of(check.new_session, "s") == "session"
    assert path_of(check.new_session, replace(SESSION, parent="p")) == "parent"
    assert path_of(check.new_session, replace(SESSION, fork="p")) == "fork"
    edge = Edge(kind="branch", session="p")  # type: ignore[arg-type]
    assert path_of(check.new_session, replace(SESSION, parent=edge)) == "parent.kind"
    assert path_of(check.patch, {"title": "a"}) == "patch"
    assert path_of(check.patch, SESSION) == "patch"
    assert path_of(check.session_query, {"limit": 5}) == "query"
    assert path_of(check.read, "leaf") == "query"
    assert path_of(check.new_overlay, "overlay", 100) == "overlay"
    assert path_of(check.usage, {"id": "u"}) == "usage"


class Timeless(tzinfo):
    """A time zone that does not say its offset makes a naive datetime."""

    def utcoffset(self, moment: datetime | None) -> None:
        return None


def test_a_right_query_is_not_refused() -> None:
    moment = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=9)))
    check.session_query(SessionQuery())
    check.session_query(
        SessionQuery(
            kind=None,
            state="active",
            tags=["a"],
            title_prefix="",
            parent="p",
            created_from=datetime.min.replace(tzinfo=UTC),
            created_until=moment,
            active_from=moment,
            active_until=moment,
            order="created",
            limit=check.MAX_PAGE,
            cursor="abc",
        )
    )


@pytest.mark.parametrize(
    ("field", "bad", "path"),
    [
        *[("kind", bad, "kind") for bad in BAD_NAMES if bad is not None],
        *[("state", bad, "state") for bad in BAD_NAMES if bad is not None],
        *[("parent", bad, "parent") for bad in BAD_NAMES if bad is not None],
        *[("title_prefix", bad, "title_prefix") for bad in BAD_TEXTS],
        *[("cursor", bad, "cursor") for bad in BAD_TEXTS],
        *[("tags", bad, "tags") for bad in ("abc", None, 5)],
        ("tags", ["a", ""], "tags[1]"),
        *[("order", bad, "order") for bad in ("newest", None, 5, [])],
        *[("limit", bad, "limit") for bad in (0, -1, check.MAX_PAGE + 1, None, 5.0, True)],
        *[
            (field, bad, field)
            for field in ("created_from", "created_until", "active_from", "active_until")
            for bad in (
                datetime(2026, 1, 1),  # noqa: DTZ001
                datetime(2026, 1, 1, tzinfo=Timeless()),
                "2026-01-01",
                0,
            )
        ],
    ],
)
def test_a_wrong_field_of_a_query_is_refused_with_its_path(field: str, bad: Any, path: str) -> None:
    assert path_of(check.session_query, SessionQuery(**{field: bad})) == path


# Reading


def test_a_right_read_is_not_refused() -> None:
    check.read(Read())
    check.read(Read(leaf=ROOT))
    check.read(Read(leaf="m", limit=1, max_bytes=1, after=0, before=0, backwards=True))


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        *[("leaf", bad) for bad in ("", 5, b"a", "x" * 257)],
        *[("limit", bad) for bad in (0, -1, 1.0, True, "5", sys.maxsize)],
        *[("max_bytes", bad) for bad in (0, -1, 1.0, True, "5", sys.maxsize)],
        *[("after", bad) for bad in (-1, 1.0, True, "5", None, sys.maxsize)],
        *[("before", bad) for bad in (-1, 1.0, True, "5", sys.maxsize)],
    ],
)
def test_a_wrong_field_of_a_read_is_refused_with_its_path(field: str, bad: Any) -> None:
    assert path_of(check.read, Read(**{field: bad})) == field


@pytest.mark.parametrize(
    ("args", "path"),
    [
        *[((bad, 5, None), "after") for bad in (None, 5, b"", "\ud800")],
        *[(("", bad, None), "limit") for bad in (0, None, check.MAX_PAGE + 1, 1.0, True)],
        *[(("", 5, bad), "reader") for bad in ("", 5, "a\n")],
    ],
)
def test_a_wrong_read_of_the_feed_is_refused_with_its_path(
    args: tuple[Any, Any, Any], path: str
) -> None:
    check.feed("", 1, None)
    check.feed("cursor", check.MAX_PAGE, "indexer")
    assert path_of(check.feed, *args) == path


# Overlays, documents, usage

ENTRY = EntryRef(kind="message", id="m")
OVERLAY = NewOverlay(first=ENTRY, last=EntryRef(kind="overlay", id="o"), summary="They met.")


def test_a_right_overlay_is_not_refused() -> None:
    check.new_overlay(OVERLAY, 100)
    check.new_overlay(
        replace(OVERLAY, tokens=0, metadata={"k": 1}, leaf="m", snapshot="7", id="o"), 100
    )


@pytest.mark.parametrize(
    ("field", "bad", "path"),
    [
        *[(end, bad, end) for end in ("first", "last") for bad in ("m", None, ROOT)],
        *[(end, EntryRef(kind="message", id=""), end) for end in ("first", "last")],
        ("first", EntryRef(kind="session", id="m"), "first"),  # type: ignore[arg-type]
        ("last", EntryRef(kind=None, id="m"), "last"),  # type: ignore[arg-type]
        *[("summary", bad, "summary") for bad in ("", " \n\t", None, 5, b"a", "\ud800")],
        *[("metadata", bad, "metadata") for bad in (None, [], "a", {1: 2})],
        ("metadata", {"a": (1,)}, "metadata.a"),
        *[("tokens", bad, "tokens") for bad in (-1, 1.5, True, MAX_TOKENS + 1)],
        *[("leaf", bad, "leaf") for bad in ("", 5)],
        *[("id", bad, "id") for bad in ("", 5, "a\n")],
        *[("snapshot", bad, "snapshot") for bad in (5, b"a")],
    ],
)
def test_a_wrong_field_of_an_overlay_is_refused_with_its_path(
    field: str, bad: Any, path: str
) -> None:
    assert path_of(check.new_overlay, replace(OVERLAY, **{field: bad}), 100) == path


def test_a_summary_is_limited_in_bytes() -> None:
    check.new_overlay(replace(OVERLAY, summary="é" * 50), 100)
    with pytest.raises(MessageTooLargeError) as caught:
        check.new_overlay(replace(OVERLAY, summary="é" * 51), 100)
    assert caught.value.path == "summary"


@pytest.mark.parametrize("bad", BAD_NAMES)
def test_a_documents_names_are_checked(bad: Any) -> None:
    document_checks.document("o", None, "k")
    document_checks.document("o", "s", "k")
    assert path_of(document_checks.document, bad, "s", "k") == "owner"
    if bad is not None:
        assert path_of(document_checks.document, "o", bad, "k") == "session"


@pytest.mark.parametrize("bad", [*(it for it in BAD_NAMES if it != "x" * 257), "x" * 1025])
def test_a_documents_key_may_be_longer_than_other_names(bad: Any) -> None:
    for longest in ("x" * 1024, "é" * 512):
        document_checks.document("o", "s", longest)
        document_checks.documents("o", "s", longest)
    assert path_of(document_checks.document, "o", "s", bad) == "key"
    if bad != "":
        assert path_of(document_checks.documents, "o", "s", bad) == "prefix"


def test_a_documents_value_is_bytes_within_the_limit() -> None:
    document_checks.document_value(b"", 3)
    document_checks.document_value(b"abc", 3)
    for bad in ("abc", None, {"a": 1}, bytearray(b"a")):
        assert path_of(document_checks.document_value, bad, 3) == "value"
    with pytest.raises(MessageTooLargeError) as caught:
        document_checks.document_value(b"abcd", 3)
    assert caught.value.path == "value"


COUNTS = ["input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cost_micros"]


def test_a_right_usage_is_not_refused() -> None:
    check.usage(Usage(id="u"))
    check.usage(Usage(id="u", model="m-1", message="m", **dict.fromkeys(COUNTS, 10**9)))


def test_usage_is_summed_by_model_or_message() -> None:
    check.usage_by("model")
    check.usage_by("message")
    for bad in ("session", "", None, 5, ["model"]):
        assert path_of(check.usage_by, bad) == "by"


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        *[("id", bad) for bad in BAD_NAMES],
        *[("model", bad) for bad in (None, 5, 0, b"", "a\n", "x" * 257)],
        *[("message", bad) for bad in ("", 5, "a\n")],
        *[(field, bad) for field in COUNTS for bad in (-1, 1.5, True, None, "5", 2**63)],
    ],
)
def test_a_wrong_field_of_a_usage_is_refused_with_its_path(field: str, bad: Any) -> None:
    assert path_of(check.usage, Usage(**{"id": "u", field: bad})) == f"usage.{field}"
