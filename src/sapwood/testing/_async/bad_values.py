"""Bad values: what is no JSON, too large, of a wrong type or out of range."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from ...errors import MessageTooLargeError, UsageError
from ...model import (
    DocumentDelete,
    DocumentPut,
    Fence,
    FilePart,
    NewMessage,
    NewOverlay,
    NewSession,
    Position,
    Read,
    SessionPatch,
    SessionQuery,
    SystemFields,
    SystemPatch,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
)
from ...store import AsyncStore
from .. import bad_arguments
from ..makers import ADA, cover, ref, say
from ..twin import AsyncCall
from .bad_names import refuses
from .base import AsyncContractBase, state_of
from .calls import furnish


def _parts(value: Any) -> list[Any]:
    return [
        ToolCallPart(call_id="c", name="n", input={"v": value}),
        ToolResultPart(call_id="c", output=[value]),
        TextPart(text="x", extra={"v": value}),
    ]


def _json_places(value: Any) -> dict[str, AsyncCall]:
    """Put a value in every place that takes JSON."""
    places: dict[str, AsyncCall] = {}
    for n, part in enumerate(_parts(value)):
        message = NewMessage(role="user", parts=[part])
        places[f"part {n}"] = _appending([say("x"), message])
    places["metadata"] = lambda s, o, i: s.append(o, i, [say("x", metadata={"v": value})])
    places["data"] = lambda s, o, i: s.append(o, i, [say("x")], data={"v": value})
    places["a mark's data"] = lambda s, o, i: s.append(o, i, [], data={"v": value})
    places["update"] = lambda s, o, i: s.update_message(o, i, say("m1", metadata={"v": value}))
    places["attributes"] = lambda s, o, i: s.update_session(
        o, i, SessionPatch(attributes={"v": value})
    )
    places["new attributes"] = lambda s, o, i: s.create_session(
        o, NewSession(id="x", attributes={"v": value})
    )
    places["overlay"] = lambda s, o, i: s.add_overlay(
        o,
        i,
        NewOverlay(first=ref("<o1>"), last=ref("m3"), summary="x", metadata={"v": value}),
    )
    return places


def _appending(messages: list[NewMessage]) -> AsyncCall:
    return lambda s, o, n: s.append(o, n, messages)


def _any(value: Any) -> Any:
    return value


SURROGATE = "a\ud800"
PUT = DocumentPut(key="k", value=b"")
NAIVE = datetime(2024, 1, 1)  # noqa: DTZ001 - a naive time is what is wrong with it

WRONG_CALLS: dict[str, AsyncCall] = {
    "no messages": lambda s, o, n: s.append(o, n, []),
    "text with a surrogate": lambda s, o, n: s.append(o, n, [say("x", SURROGATE)]),
    "text that is bytes": lambda s, o, n: s.append(o, n, [say("x", _any(b"x"))]),
    "a part that is a string": lambda s, o, n: s.append(
        o, n, [NewMessage(role="user", parts=_any(["x"]))]
    ),
    "a part that is a dict": lambda s, o, n: s.append(
        o, n, [NewMessage(role="user", parts=_any([{"type": "text", "text": "x"}]))]
    ),
    "a file whose data is text": lambda s, o, n: s.append(
        o, n, [NewMessage(role="user", parts=[FilePart(media_type="x", data=_any(5))])]
    ),
    "metadata that is a list": lambda s, o, n: s.append(
        o, n, [NewMessage(role="user", parts=[], metadata=_any([1]))]
    ),
    "negative tokens": lambda s, o, n: s.append(o, n, [say("x", tokens=-1)]),
    "a time before 1970": lambda s, o, n: s.append(o, n, [say("x", created_us=-1)]),
    "a time after 9999": lambda s, o, n: s.append(o, n, [say("x", created_us=10**18)]),
    "a time as a number with a point": lambda s, o, n: s.append(
        o, n, [say("x", created_us=_any(1.5))]
    ),
    "a new time for an old message": lambda s, o, n: s.update_message(
        o, n, say("m1", created_us=1)
    ),
    "an empty digest": lambda s, o, n: s.append(o, n, [say("x", digest=b"")]),
    "a digest of 33 bytes": lambda s, o, n: s.append(o, n, [say("x", digest=b"d" * 33)]),
    "a digest of text": lambda s, o, n: s.append(o, n, [say("x", digest=_any("d"))]),
    "a new digest for an old message": lambda s, o, n: s.update_message(
        o, n, say("m1", digest=b"d")
    ),
    "a session before 1970": lambda s, o, n: s.create_session(o, NewSession(id="x", created_us=-1)),
    "tokens that are text": lambda s, o, n: s.append(o, n, [say("x", tokens=_any("5"))]),
    "tokens that are true": lambda s, o, n: s.append(o, n, [say("x", tokens=_any(True))]),
    "an update without an id": lambda s, o, n: s.update_message(o, n, say(None, "x")),
    "ids as one string": lambda s, o, n: s.delete_messages(o, n, "m1"),
    "ids to find as one string": lambda s, o, n: s.find_messages(o, n, "m1"),
    "tags as one string": lambda s, o, n: s.update_session(o, n, SessionPatch(tags=_any("x"))),
    "a title that is a number": lambda s, o, n: s.update_session(o, n, SessionPatch(title=_any(1))),
    "a title with a surrogate": lambda s, o, n: s.update_session(
        o, n, SessionPatch(title=SURROGATE)
    ),
    "attributes that are a list": lambda s, o, n: s.update_session(
        o, n, SessionPatch(attributes=_any([]))
    ),
    "a negative budget": lambda s, o, n: s.update_session(o, n, SessionPatch(budget=-1)),
    "a patch that is a dict": lambda s, o, n: s.update_session(o, n, _any({"title": "x"})),
    "a session that is a string": lambda s, o, n: s.create_session(o, _any("x")),
    "a limit of 0": lambda s, o, n: s.read(o, n, Read(limit=0)),
    "a limit that is a fraction": lambda s, o, n: s.read(o, n, Read(limit=_any(1.5))),
    "max_bytes of 0": lambda s, o, n: s.read(o, n, Read(max_bytes=0)),
    "a negative after": lambda s, o, n: s.read(o, n, Read(after=-1)),
    "a negative before": lambda s, o, n: s.read(o, n, Read(before=-1)),
    "bodies as a number": lambda s, o, n: s.read(o, n, Read(bodies=_any(0))),
    "ids of parents as one string": lambda s, o, n: s.find_parents(o, n, "m1"),
    "messages after a pair": lambda s, o, n: s.list_messages(o, n, after=_any(("1", 1))),
    "messages after a depth of 0": lambda s, o, n: s.list_messages(o, n, after=Position("1", 0)),
    "messages after a depth of text": lambda s, o, n: s.list_messages(
        o, n, after=Position("1", _any("1"))
    ),
    "a page of 0": lambda s, o, n: s.list_messages(o, n, limit=0),
    "a page of a million": lambda s, o, n: s.list_messages(o, n, limit=1_000_000),
    "a read that is nothing": lambda s, o, n: s.read(o, n, _any(None)),
    "a key that is a list": lambda s, o, n: s.list_sessions(o, SessionQuery(key=_any(["a"]))),
    "a key that is a text": lambda s, o, n: s.list_sessions(o, SessionQuery(key=_any("a"))),
    "a key of five parts": lambda s, o, n: s.list_sessions(o, SessionQuery(key=("a",) * 5)),
    "a key with half a letter": lambda s, o, n: s.create_session(
        o, NewSession(id="x", system=SystemFields(key=("a", "\ud800")))
    ),
    "a key of a number": lambda s, o, n: s.update_session(
        o, n, SessionPatch(system=SystemPatch(key=(_any(1),)))
    ),
    "a life below none": lambda s, o, n: s.update_session(
        o, n, SessionPatch(system=SystemPatch(life=-1))
    ),
    "a next that is no name": lambda s, o, n: s.update_session(
        o, n, SessionPatch(system=SystemPatch(next=""))
    ),
    "a reason that is no name": lambda s, o, n: s.create_session(
        o, NewSession(id="x", system=SystemFields(reason="a\nb"))
    ),
    "a system of its own": lambda s, o, n: s.create_session(
        o, NewSession(id="x", system=_any({"life": 1}))
    ),
    "an activity before all time": lambda s, o, n: s.update_session(
        o, n, SessionPatch(active_us=-1)
    ),
    "an activity that is a fraction": lambda s, o, n: s.update_session(
        o, n, SessionPatch(active_us=_any(1.5))
    ),
    "a patch by the fields themselves": lambda s, o, n: s.update_session(
        o, n, SessionPatch(system=_any(SystemFields()))
    ),
    "a list of 0": lambda s, o, n: s.list_sessions(o, SessionQuery(limit=0)),
    "a list of a million": lambda s, o, n: s.list_sessions(o, SessionQuery(limit=1_000_000)),
    "an unknown order": lambda s, o, n: s.list_sessions(o, SessionQuery(order=_any("title"))),
    "a naive time": lambda s, o, n: s.list_sessions(o, SessionQuery(created_from=NAIVE)),
    "a time that is a number": lambda s, o, n: s.list_sessions(
        o, SessionQuery(active_until=_any(1.0))
    ),
    "an empty summary": lambda s, o, n: s.add_overlay(
        o, n, NewOverlay(first=ref("<o1>"), last=ref("m3"), summary=" \n")
    ),
    "a summary with a surrogate": lambda s, o, n: s.add_overlay(
        o, n, NewOverlay(first=ref("<o1>"), last=ref("m3"), summary=SURROGATE)
    ),
    "an end that is a string": lambda s, o, n: s.add_overlay(
        o, n, NewOverlay(first=_any("m1"), last=ref("m3"), summary="x")
    ),
    "negative overlay tokens": lambda s, o, n: s.add_overlay(o, n, cover("<o1>", "m3", tokens=-1)),
    "a document of text": lambda s, o, n: s.put_document(o, "k", _any("v"), session=n),
    "an expiry of 0": lambda s, o, n: s.put_document(o, "k", b"", session=n, expires_in_s=0),
    "an endless expiry": lambda s, o, n: s.put_document(
        o, "k", b"", session=n, expires_in_s=float("inf")
    ),
    "no expiry at all": lambda s, o, n: s.put_document(
        o, "k", b"", session=n, expires_in_s=float("nan")
    ),
    "a prefix that is a number": lambda s, o, n: s.list_documents(o, _any(0), session=n),
    "a prefix that is bytes": lambda s, o, n: s.list_documents(o, _any(b""), session=n),
    "a prefix that is nothing": lambda s, o, n: s.list_documents(o, _any(None)),
    "a prefix with a surrogate": lambda s, o, n: s.list_documents(o, SURROGATE),
    "negative usage": lambda s, o, n: s.add_usage(o, n, Usage(id="u9", input_tokens=-1)),
    "usage as text": lambda s, o, n: s.add_usage(o, n, Usage(id="u9", cost_micros=_any("1"))),
    "usage by what it is not": lambda s, o, n: s.total_usage(o, n, by=_any("session")),
    "usage by nothing": lambda s, o, n: s.total_usage(o, n, by=_any(None)),
    "usage that is a dict": lambda s, o, n: s.add_usage(o, n, _any({"id": "u"})),
    "a fence that is a pair": lambda s, o, n: s.add_overlay(
        o, n, cover("m1", "m3"), fence=_any(("k", 1))
    ),
    "a fence whose key is a list": lambda s, o, n: s.add_overlay(
        o, n, cover("m1", "m3"), fence=Fence(key=_any([]), version=1)
    ),
    "an expected version of text": lambda s, o, n: s.update_session(
        o, n, SessionPatch(title="t"), expected_version=_any("1")
    ),
    "an expected document version of text": lambda s, o, n: s.put_document(
        o, "k", b"", session=n, expected_version=_any("1")
    ),
    "extra that is a list": lambda s, o, n: s.append(
        o, n, [NewMessage(role="user", parts=[], extra=_any([1]))]
    ),
    "extra with a surrogate": lambda s, o, n: s.append(o, n, [say("x", extra={"k": SURROGATE})]),
    "documents as one": lambda s, o, n: s.append(o, n, [say("x")], documents=_any(PUT)),
    "no documents at all": lambda s, o, n: s.append(o, n, [say("x")], documents=_any(None)),
    "documents as a dict": lambda s, o, n: s.put_documents(o, n, _any({})),
    "pins of its own": lambda s, o, n: s.put_documents(
        o, n, [DocumentPut(key="pins", value=b"[]", inherit=False)]
    ),
    "a document as a pair": lambda s, o, n: s.append(
        o, n, [say("x")], documents=_any([("k", b"")])
    ),
    "a document twice": lambda s, o, n: s.append(o, n, [say("x")], documents=[PUT, PUT]),
    "a document's value of text": lambda s, o, n: s.put_documents(
        o, n, [DocumentPut(key="k", value=_any("v"))]
    ),
    "a document without a key": lambda s, o, n: s.put_documents(
        o, n, [DocumentPut(key="", value=b"")]
    ),
    "a document's version of text": lambda s, o, n: s.update_message(
        o, n, say("m1"), documents=[DocumentDelete(key="k", expected_version=_any("1"))]
    ),
    "pins that expire along": lambda s, o, n: s.append(
        o, n, [say("x")], documents=[DocumentPut(key="pins", value=b"[]", expires_in_s=9)]
    ),
    "an inheritance of text": lambda s, o, n: s.put_document(
        o, "k", b"", session=n, inherit=_any("no")
    ),
    "a patch along that is a dict": lambda s, o, n: s.append(
        o, n, [say("x")], patch=_any({"title": "x"})
    ),
    "a fence among fences that is none": lambda s, o, n: s.append(
        o, n, [say("x")], fence=_any([Fence(key="k", version=1), None])
    ),
    "closed as a number": lambda s, o, n: s.update_session(o, n, SessionPatch(closed=_any(1))),
    "attributes and a merge": lambda s, o, n: s.update_session(
        o, n, SessionPatch(attributes={}, merge={})
    ),
    "a merge that is a list": lambda s, o, n: s.update_session(o, n, SessionPatch(merge=_any([]))),
    "data that is a list": lambda s, o, n: s.append(o, n, [say("x")], data=_any([])),
    "a mark's data that is text": lambda s, o, n: s.append(o, n, [], data=_any("x")),
    "a mark whose id is a number": lambda s, o, n: s.append(o, n, [], data={}, id=_any(7)),
    "a mark without an id": lambda s, o, n: s.append(o, n, [], data={}, id=""),
    "a mark's id for a message": lambda s, o, n: s.append(o, n, [say("x")], data={}, id="k"),
    "a mark without data": lambda s, o, n: s.append(o, n, [], id="k"),
    "a mark of a dict": lambda s, o, n: s.append(o, n, _any({}), data={}),
    "a mark of nothing": lambda s, o, n: s.append(o, n, _any(None), data={}),
    "expected data as text": lambda s, o, n: s.append(o, n, [say("x")], expected_data=_any("k")),
    "expected data at depth 0": lambda s, o, n: s.append(
        o, n, [say("x")], expected_data=Position("1", 0)
    ),
    "keeping data as a number": lambda s, o, n: s.clear_session(o, n, keep_data=_any(1)),
    "data at what is no position": lambda s, o, n: s.read_data(o, n, _any("m1")),
    "data at a position of numbers": lambda s, o, n: s.read_data(o, n, Position(_any(1), 1)),
    "a chain of 0": lambda s, o, n: s.list_data(o, n, Position("1", 1), limit=0),
    "a field that is bytes": lambda s, o, n: s.erase_data(o, n, _any(b"x")),
    "a field with a surrogate": lambda s, o, n: s.erase_data(o, n, SURROGATE),
    "a feed of 0": lambda s, o, n: s.changes(o, limit=0),
    "a cursor that is a number": lambda s, o, n: s.changes(o, after=_any(0)),
    "changed owners of 0": lambda s, o, n: s.admin.changed_owners(limit=0),
    "changed owners after a number": lambda s, o, n: s.admin.changed_owners(_any(0)),
}


class AsyncBadValueContract(AsyncContractBase):
    """What cannot be stored as it is, is refused."""

    @pytest.mark.parametrize("bad", sorted(bad_arguments.VALUES))
    async def test_rule_15_what_is_no_json_is_refused_everywhere(
        self, store: AsyncStore, bad: str
    ) -> None:
        await furnish(store)
        await refuses(store, _json_places(bad_arguments.VALUES[bad]), ADA, "s")

    async def test_rule_15_the_error_says_where(self, store: AsyncStore) -> None:
        await furnish(store)
        cases: list[tuple[dict[str, Any], str]] = [
            ({"a": [1, {"b": float("nan")}]}, "metadata.a[1].b"),
            ({"a": {"b": {1: 2}}}, "metadata.a.b"),
        ]
        for value, path in cases:
            with pytest.raises(UsageError) as raised:
                await store.append(ADA, "s", [say("x", metadata=value)])
            assert path in str(raised.value)
            assert raised.value.path == path

    async def test_rule_15_wrong_arguments_are_refused(self, store: AsyncStore) -> None:
        await furnish(store)
        await refuses(store, WRONG_CALLS, ADA, "s")

    async def test_rule_15_a_message_has_a_largest_size(self, store: AsyncStore) -> None:
        await furnish(store)
        before = await state_of(store)
        huge = "x" * store.max_message_bytes
        with pytest.raises(MessageTooLargeError):
            await store.append(ADA, "s", [say("x"), say("y", huge)])
        with pytest.raises(MessageTooLargeError):
            await store.update_message(ADA, "s", say("m1", huge))
        with pytest.raises(MessageTooLargeError):
            await store.put_document(ADA, "k", huge.encode() + b"x", session="s")
        with pytest.raises(MessageTooLargeError):
            new = NewOverlay(first=ref("<o1>"), last=ref("m3"), summary=huge + "x")
            await store.add_overlay(ADA, "s", new)
        assert await state_of(store) == before

    async def test_rule_15_a_message_just_under_the_limit_is_taken(self, store: AsyncStore) -> None:
        await furnish(store)
        text = "x" * (store.max_message_bytes - 100)
        await store.append(ADA, "s", [say("big", text)])
        [message] = await store.find_messages(ADA, "s", ["big"])
        assert message is not None
        assert message.text == text
